//! Copies and fills by a GPU's SDMA engine, through a queue of the backend's own on each GPU that was asked.

use crate::backend::{INHERITED, KfdBackend};
use crate::memory::{Block, Source, Want};
use crate::queues::out_of_memory;
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::{
    AgentId, Dma, DmaCompletion, DmaEngine, DmaError, DmaRequest, DmaWork, Doorbell, HardwareQueue,
    Park, QueueCreateError, QueueKind, QueuePriority, QueueRequest, Queues,
};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;
use rukh_core::wire::sdma::{Full, Generation, Writer};

const PAGE: u64 = 4096;
const RING_BYTES: u64 = 64 << 10;
const RING_DWORDS: u64 = RING_BYTES / 4;

/// Dwords that are written to the ring at once: the engine works on some while others are written.
const PIECE: usize = RING_DWORDS as usize / 4;

/// Places in the page beside the ring.
const WRITE: usize = 8;
const READ: usize = 16;
const DONE: usize = 128;

/// How long an engine may take for nothing, and beside that for each MiB: slower than any bus.
const TIMEOUT_NS: u64 = 5_000_000_000;
const NS_PER_MIB: u64 = 100_000_000;
/// Looks before the first sleep, and nanoseconds between two looks after it.
const LOOKS: u32 = 1000;
const LOOK_NS: u64 = 20_000;

/// The queue of one GPU.
#[derive(Debug)]
struct DmaQueue {
    queue: HardwareQueue,
    generation: Generation,
    page: (Block, NonNull<u8>),
    ring: (Block, NonNull<u8>),
    /// Bytes that were written to the ring, ever.
    write: u64,
}

/// The queues, by GPU.
#[derive(Debug, Default)]
pub(crate) struct DmaQueues(BTreeMap<usize, DmaQueue>);

// SAFETY: the host addresses are of the queue's own memory, reached under the lock that this lies in.
unsafe impl Send for DmaQueues {}

impl DmaQueue {
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: one of three places in the queue's page, aligned to 8 bytes; the page lives as long as the queue, and
        // host and device use it as an atomic.
        unsafe { self.page.1.add(offset).cast().as_ref() }
    }

    /// Dwords that the ring has room for. One stays free: equal indices are an empty ring.
    fn room(&self) -> u64 {
        let read = self.word(READ).load(Ordering::Acquire);
        let used = self.write.wrapping_sub(read).min(RING_BYTES) / 4;
        (RING_DWORDS - 1).saturating_sub(used)
    }

    /// Writes packets to the ring, which has room for them, and tells the engine.
    fn publish(&mut self, dwords: &[u32]) {
        for (dword, at) in dwords.iter().zip(self.write / 4..) {
            let slot = (at % RING_DWORDS) as usize;
            // SAFETY: within the ring's block, which lives as long as the queue; the engine has consumed what was there.
            let slot = unsafe { self.ring.1.cast::<AtomicU32>().add(slot).as_ref() };
            slot.store(*dword, Ordering::Relaxed);
        }
        self.write += dwords.len() as u64 * 4;
        self.word(WRITE).store(self.write, Ordering::Release);
        if let Doorbell::Mmio(register) = self.queue.doorbell {
            // SAFETY: a doorbell is valid as long as its queue.
            unsafe { register.as_ref() }.store(self.write, Ordering::Release);
        }
    }
}

/// What there is no room for in a piece of the ring cannot be: pieces are larger than any packet.
fn full(_: Full) -> DmaError {
    DmaError::NotSupported("a DMA packet that is larger than the ring")
}

impl<P: KfdPort> KfdBackend<P> {
    fn dma_block(&self, gpu: usize, size: u64) -> Result<(Block, NonNull<u8>), QueueCreateError> {
        let block = self
            .acquire(&Want {
                source: Source::Queue,
                gpu: Some(gpu),
                size,
                align: PAGE,
                flags: AllocFlags::WRITABLE
                    | AllocFlags::EXECUTABLE
                    | AllocFlags::NO_SUBSTITUTE
                    | AllocFlags::COHERENT
                    | AllocFlags::UNCACHED,
            })
            .map_err(out_of_memory)?;
        match block.host {
            Some(host) => Ok((block, host)),
            None => {
                self.drop_block(&block);
                Err(QueueCreateError::NotSupported(
                    "a queue that the host does not map",
                ))
            }
        }
    }

    fn drop_block(&self, block: &Block) {
        // SAFETY: this room's own memory, whose queue is gone or was never there. What the driver does not take back now is
        // tried again when the backend goes.
        let _ = unsafe { self.relinquish(block.handle) };
    }

    fn make_dma_queue(&self, agent: AgentId, gpu: usize) -> Result<DmaQueue, DmaError> {
        let device = &self.gpus[gpu];
        let properties = &device.properties;
        let kind = match (properties.sdma_engines, properties.sdma_xgmi_engines) {
            (0, 0) => return Err(DmaError::NotSupported("DMA: the agent has no engines")),
            (0, _) => QueueKind::SdmaXgmi,
            _ => QueueKind::Sdma,
        };
        let generation = Generation::of_processor(device.identity.processor).ok_or(
            DmaError::NotSupported("DMA packets of this processor's engines"),
        )?;
        let page = self.dma_block(gpu, PAGE).map_err(DmaError::Queue)?;
        let ring = match self.dma_block(gpu, RING_BYTES) {
            Ok(ring) => ring,
            Err(error) => {
                self.drop_block(&page.0);
                return Err(DmaError::Queue(error));
            }
        };
        let queue = self.create_queue(&QueueRequest {
            agent,
            kind,
            ring: ring.0.gpu_va,
            ring_bytes: RING_BYTES,
            write_index: page.0.gpu_va + WRITE as u64,
            read_index: page.0.gpu_va + READ as u64,
            descriptor: 0,
            priority: QueuePriority::Normal,
            error_event: None,
        });
        match queue {
            Ok(queue) => Ok(DmaQueue {
                queue,
                generation,
                page,
                ring,
                write: 0,
            }),
            Err(error) => {
                self.drop_block(&ring.0);
                self.drop_block(&page.0);
                Err(DmaError::Queue(error))
            }
        }
    }

    /// Waits until `done`, or gives up.
    fn wait_for_engine(
        &self,
        agent: AgentId,
        bytes: u64,
        mut done: impl FnMut() -> bool,
    ) -> Result<(), DmaError> {
        let nanoseconds = TIMEOUT_NS.saturating_add((bytes >> 20).saturating_mul(NS_PER_MIB));
        let deadline = sys::now().saturating_add(nanoseconds);
        let mut looks = 0u32;
        while !done() {
            looks = looks.saturating_add(1);
            if looks < LOOKS {
                core::hint::spin_loop();
            } else if sys::now() > deadline {
                return Err(DmaError::Stuck { agent, nanoseconds });
            } else {
                self.park.park(&AtomicU32::new(0), 0, Some(LOOK_NS));
            }
        }
        Ok(())
    }

    /// Writes packets in pieces that the ring has room for.
    fn send(
        &self,
        agent: AgentId,
        queue: &mut DmaQueue,
        bytes: u64,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<(), DmaError> {
        let mut buffer = vec![0; PIECE];
        let mut writer = Writer::new(queue.generation, &mut buffer);
        write(&mut writer).map_err(full)?;
        let dwords = writer.written();
        self.wait_for_engine(agent, bytes, || queue.room() >= dwords.len() as u64)?;
        queue.publish(dwords);
        Ok(())
    }

    fn send_work(
        &self,
        agent: AgentId,
        queue: &mut DmaQueue,
        work: DmaWork,
    ) -> Result<(), DmaError> {
        let generation = queue.generation;
        // As much as half of a piece's dwords can say; a copy of everything takes a few.
        let packets = PIECE as u64 / 2 / 8;
        let mut done = 0;
        match work {
            DmaWork::Copy { to, from, bytes } => {
                let most = generation.max_copy().saturating_mul(packets);
                while done < bytes {
                    let part = (bytes - done).min(most);
                    let (to, from) = (to.wrapping_add(done), from.wrapping_add(done));
                    self.send(agent, queue, bytes, |w| w.copy(to, from, part))?;
                    done += part;
                }
            }
            DmaWork::Fill { to, value, words } => {
                let most = (generation.max_fill() / 4).max(1).saturating_mul(packets);
                while done < words {
                    let part = (words - done).min(most);
                    let to = to.wrapping_add(done.wrapping_mul(4));
                    let bytes = words.saturating_mul(4);
                    self.send(agent, queue, bytes, |w| w.fill(to, value, part))?;
                    done += part;
                }
            }
        }
        Ok(())
    }

    fn send_all(
        &self,
        queue: &mut DmaQueue,
        request: &DmaRequest<'_>,
        end: &DmaCompletion,
    ) -> Result<(), DmaError> {
        let agent = request.agent;
        for &address in request.after {
            self.send(agent, queue, 0, |w| w.wait_for_zero(address))?;
        }
        self.send(agent, queue, 0, |w| {
            if end.timestamps.0 != 0 {
                w.timestamp(end.timestamps.0)?;
            }
            w.caches(true)
        })?;
        self.send_work(agent, queue, request.work)?;
        self.send(agent, queue, 0, |w| {
            w.caches(false)?;
            if end.timestamps.1 != 0 {
                w.timestamp(end.timestamps.1)?;
            }
            if end.value != 0 {
                w.add_64(end.value, -1)?;
            }
            if end.event != 0 {
                if end.mailbox != 0 {
                    w.fence(end.mailbox, end.event)?;
                }
                w.trap(end.event)?;
            }
            Ok(())
        })
    }

    /// Runs `work` with an agent's queue. One that is stuck is destroyed: the next work gets another.
    fn with_dma_queue(
        &self,
        agent: AgentId,
        work: impl FnOnce(&mut DmaQueue) -> Result<(), DmaError>,
    ) -> Result<(), DmaError> {
        let gpu = self
            .gpu_index(agent)
            .ok_or(DmaError::NotSupported("DMA by an agent that is no GPU"))?;
        if self.kfd.inherited() {
            // What is mapped of the queue's is not in a child.
            return Err(DmaError::NotSupported(INHERITED));
        }
        let mut queues = self.dma.lock(&self.park);
        let queue = match queues.0.entry(gpu) {
            Entry::Occupied(queue) => queue.into_mut(),
            Entry::Vacant(place) => place.insert(self.make_dma_queue(agent, gpu)?),
        };
        // What the host wrote to device memory is there before the engine reads it.
        self.flush_hdp(gpu);
        let outcome = work(queue);
        if matches!(outcome, Err(DmaError::Stuck { .. }))
            && let Some(queue) = queues.0.remove(&gpu)
            && self.destroy_queue(queue.queue.handle).is_ok()
        {
            self.drop_block(&queue.ring.0);
            self.drop_block(&queue.page.0);
        }
        outcome
    }
}

fn check(work: &DmaWork, completion: Option<&DmaCompletion>) -> Result<(), DmaError> {
    let mut places = vec![];
    if let DmaWork::Fill { to, .. } = *work {
        places.push(("filled range", to, 4));
    }
    if let Some(end) = completion {
        places.push(("completion value", end.value, 8));
        places.push(("mailbox", end.mailbox, 4));
        places.push(("start time", end.timestamps.0, 8));
        places.push(("end time", end.timestamps.1, 8));
    }
    let odd = places
        .into_iter()
        .find(|&(_, address, align)| !u64::is_multiple_of(address, align));
    match odd {
        Some((what, address, _)) => Err(DmaError::Alignment { what, address }),
        None => Ok(()),
    }
}

/// Bytes of device memory from which an engine is used although the host maps them. Each read by the host is a round trip
/// over the bus, of 64 bytes at most; starting an engine costs some tens of microseconds.
const WORTHWHILE: u64 = 64 << 10;

impl<P: KfdPort> Dma for KfdBackend<P> {
    fn dma_engine(&self, agent: AgentId) -> Option<DmaEngine> {
        let gpu = self.gpu_index(agent)?;
        let device = self.gpus.get(gpu)?;
        let properties = &device.properties;
        let engines = properties.sdma_engines + properties.sdma_xgmi_engines;
        if engines == 0 || self.kfd.inherited() {
            return None;
        }
        Generation::of_processor(device.identity.processor)?;
        // Whoever waits for a copy has the lock.
        let idle = self.dma.try_lock(&self.park).is_some_and(|queues| {
            queues
                .0
                .get(&gpu)
                .is_none_or(|queue| queue.word(READ).load(Ordering::Acquire) == queue.write)
        });
        Some(DmaEngine {
            worthwhile: WORTHWHILE,
            idle,
        })
    }

    unsafe fn copy(&self, agent: AgentId, to: u64, from: u64, bytes: u64) -> Result<(), DmaError> {
        let request = DmaRequest {
            agent,
            work: DmaWork::Copy { to, from, bytes },
            after: &[],
            completion: None,
        };
        self.with_dma_queue(agent, |queue| {
            let done = queue.page.0.gpu_va + DONE as u64;
            queue.word(DONE).store(1, Ordering::Release);
            let end = DmaCompletion {
                value: done,
                mailbox: 0,
                event: 0,
                timestamps: (0, 0),
            };
            self.send_all(queue, &request, &end)?;
            self.wait_for_engine(agent, bytes, || {
                queue.word(DONE).load(Ordering::Acquire) == 0
            })
        })
    }

    unsafe fn submit(&self, request: &DmaRequest<'_>) -> Result<(), DmaError> {
        check(&request.work, request.completion.as_ref())?;
        let odd = request.after.iter().find(|a| !a.is_multiple_of(8));
        if let Some(&address) = odd {
            return Err(DmaError::Alignment {
                what: "value to wait for",
                address,
            });
        }
        let none = DmaCompletion {
            value: 0,
            mailbox: 0,
            event: 0,
            timestamps: (0, 0),
        };
        let end = request.completion.unwrap_or(none);
        self.with_dma_queue(request.agent, |queue| self.send_all(queue, request, &end))
    }
}
