//! Giving a queue the scratch memory that its packet processor asks for.

use super::agent::Agent;
use super::queue::QueueRing;
use super::reactor::Reactor;
use crate::backend::{Backend, BankId, HeapKind, MemoryFlags, MemoryRequest};
use crate::mem::Block;
use crate::queue::{QueueStatus, RingMemory, ScratchRequest};
use crate::scratch::{Generation, ScratchDevice, ScratchLayout, layout};
use crate::signal::MemoryOrder;
use crate::wire::aql::{Header, PacketType};
use crate::wire::queue::{AmdQueue, QueueProperties};
use core::sync::atomic::Ordering;

/// What becomes of a queue's scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScratchEvent {
    /// A dispatch needs more than the queue has.
    AllocStart {
        /// The address of the queue's `hsa_queue_t`.
        queue: u64,
        /// The index of the dispatch's packet.
        packet: u64,
    },
    /// The queue has more, or cannot have it.
    AllocEnd {
        /// The address of the queue's `hsa_queue_t`.
        queue: u64,
        /// The index of the dispatch's packet.
        packet: u64,
        /// Bytes that the queue has now; 0 if there was not enough memory.
        bytes: u64,
        /// How many waves have a slice.
        waves: u32,
        /// Whether it is taken back after this dispatch.
        once: bool,
    },
    /// The queue's scratch is being freed.
    FreeStart {
        /// The address of the queue's `hsa_queue_t`.
        queue: u64,
        /// Whether it was given for one dispatch.
        once: bool,
    },
    /// The queue's scratch is free.
    FreeEnd {
        /// The address of the queue's `hsa_queue_t`.
        queue: u64,
        /// Whether it was given for one dispatch.
        once: bool,
    },
}

/// A queue's scratch memory.
pub(crate) struct QueueScratch<B: Backend + ?Sized> {
    block: Option<Block<B>>,
    /// The packet that it was last given for, and the request.
    given: Option<(u64, u32, ScratchRequest)>,
    device: Option<ScratchDevice>,
    bank: Option<BankId>,
    on_event: Option<fn(&ScratchEvent)>,
}

impl<B: Backend + ?Sized> QueueScratch<B> {
    /// None yet, for a queue of this agent.
    pub fn new(agent: &Agent, on_event: Option<fn(&ScratchEvent)>) -> Self {
        let device = agent.gpu().and_then(|gpu| {
            let major = u32::from(agent.isa?.processor().version.major);
            Some(ScratchDevice {
                generation: Generation::from_major(major)?,
                compute_units: gpu.compute_units,
                shader_engines: gpu.shader_engines,
                slots_per_cu: gpu.max_slots_scratch_cu,
                xcc_count: gpu.xcc_count,
            })
        });
        let bank = agent
            .banks
            .iter()
            .position(|bank| matches!(bank.heap, HeapKind::VramPublic | HeapKind::VramPrivate))
            .map(|index| BankId {
                agent: agent.id,
                index: index as u32,
            });
        Self {
            block: None,
            given: None,
            device,
            bank,
            on_event,
        }
    }

    fn tell(&self, event: &ScratchEvent) {
        if let Some(tell) = self.on_event {
            tell(event);
        }
    }

    /// Allocates what the packet that the queue stopped at needs and describes it to the hardware.
    /// The packet processor has drained the queue before it asks, so what it had may go.
    pub fn provide(
        &mut self,
        reactor: &Reactor<B>,
        ring: &QueueRing<B>,
        request: ScratchRequest,
    ) -> Result<(), QueueStatus> {
        let wanted = wanted(ring).ok_or(QueueStatus::InvalidPacketFormat)?;
        let amd_queue = ring.memory().amd_queue();
        let (queue, packet) = (address(amd_queue), wanted.read);
        self.tell(&ScratchEvent::AllocStart { queue, packet });
        let given = self.give(reactor, amd_queue, &wanted, request);
        let (bytes, waves) = match &given {
            Ok(figures) => (figures.total_bytes, figures.waves),
            Err(_) => (0, 0),
        };
        let once = is_once(amd_queue);
        self.tell(&ScratchEvent::AllocEnd {
            queue,
            packet,
            bytes,
            waves,
            once,
        });
        given.map(drop)
    }

    fn give(
        &mut self,
        reactor: &Reactor<B>,
        queue: &AmdQueue,
        wanted: &Wanted,
        request: ScratchRequest,
    ) -> Result<ScratchLayout, QueueStatus> {
        let Wanted {
            read,
            lane_bytes,
            group_items,
        } = *wanted;
        let asked = Some((read, lane_bytes, request));
        if self.given == asked && self.block.is_some() {
            // It has what it asks for, and asks again: giving it once more would go on for ever.
            return Err(QueueStatus::OutOfScratch {
                bytes: queue
                    .scratch_backing_memory_byte_size
                    .load(Ordering::Relaxed),
            });
        }
        self.given = asked;
        self.clear(queue);
        let Some((device, bank)) = self.device.zip(self.bank) else {
            return Err(QueueStatus::OutOfScratch { bytes: 0 });
        };
        let mut device = device;
        // A work-group is on one shader engine, all its waves at once.
        let least = group_items
            .div_ceil(u64::from(request.wave_lanes.max(1)))
            .max(1)
            .saturating_mul(u64::from(device.shader_engines));
        loop {
            let figures = layout(&device, lane_bytes, request.wave_lanes)
                .map_err(|_| QueueStatus::OutOfScratch { bytes: 0 })?;
            let page = reactor.backend.page_size();
            let block = Block::new(
                &reactor.backend,
                &MemoryRequest {
                    bank,
                    size: figures.total_bytes.max(1).next_multiple_of(page),
                    align: page.max(64 << 10),
                    flags: MemoryFlags::WRITABLE | MemoryFlags::NO_SUBSTITUTE,
                },
                &[],
            );
            match block {
                Ok(block) => {
                    self.install(queue, &figures, block, reactor.config.scratch_keep_bytes);
                    return Ok(figures);
                }
                // Fewer waves at a time then.
                Err(_) if has_fewer(&mut device, least) => {}
                Err(_) => {
                    return Err(QueueStatus::OutOfScratch {
                        bytes: figures.total_bytes,
                    });
                }
            }
        }
    }

    fn install(&mut self, queue: &AmdQueue, figures: &ScratchLayout, block: Block<B>, keep: u64) {
        let base = block.gpu_va();
        for (word, value) in queue
            .scratch_resource_descriptor
            .iter()
            .zip(figures.descriptor(base))
        {
            word.store(value, Ordering::Relaxed);
        }
        queue
            .scratch_backing_memory_location
            .store(base, Ordering::Relaxed);
        queue
            .scratch_backing_memory_byte_size
            .store(figures.total_bytes, Ordering::Relaxed);
        queue
            .scratch_wave64_lane_byte_size
            .store((figures.wave_bytes / 64) as u32, Ordering::Relaxed);
        let once = QueueProperties::USE_SCRATCH_ONCE.bits();
        if figures.total_bytes > keep {
            queue.queue_properties.fetch_or(once, Ordering::Relaxed);
        } else {
            queue.queue_properties.fetch_and(!once, Ordering::Relaxed);
        }
        queue
            .compute_tmpring_size
            .store(figures.tmpring_size(), Ordering::Release);
        self.block = Some(block);
    }

    /// Takes the scratch back that the packet processor is done with.
    pub fn reclaim(&mut self, queue: &AmdQueue) {
        self.clear(queue);
    }

    fn clear(&mut self, queue: &AmdQueue) {
        let (address, once) = (address(queue), is_once(queue));
        if self.block.is_some() {
            self.tell(&ScratchEvent::FreeStart {
                queue: address,
                once,
            });
        }
        queue.compute_tmpring_size.store(0, Ordering::Relaxed);
        queue
            .scratch_backing_memory_location
            .store(0, Ordering::Relaxed);
        queue
            .scratch_backing_memory_byte_size
            .store(0, Ordering::Relaxed);
        queue
            .scratch_wave64_lane_byte_size
            .store(0, Ordering::Relaxed);
        queue
            .queue_properties
            .fetch_and(!QueueProperties::USE_SCRATCH_ONCE.bits(), Ordering::Relaxed);
        if self.block.take().is_some() {
            self.tell(&ScratchEvent::FreeEnd {
                queue: address,
                once,
            });
        }
    }
}

/// What the client calls a queue.
fn address(queue: &AmdQueue) -> u64 {
    core::ptr::from_ref(queue).addr() as u64
}

/// Whether the queue's scratch is for one dispatch.
fn is_once(queue: &AmdQueue) -> bool {
    let properties = queue.queue_properties.load(Ordering::Relaxed);
    properties & QueueProperties::USE_SCRATCH_ONCE.bits() != 0
}

/// Halves the wave slots, unless fewer than `least` would be left; gives whether it did. Units without a slot of their own
/// wait for others'.
fn has_fewer(device: &mut ScratchDevice, least: u64) -> bool {
    let mut fewer = *device;
    if fewer.slots_per_cu > 1 {
        fewer.slots_per_cu /= 2;
    } else {
        fewer.compute_units /= 2;
    }
    let slots = u64::from(fewer.compute_units) * u64::from(fewer.slots_per_cu);
    let enough = fewer.compute_units != 0 && slots >= least;
    if enough {
        *device = fewer;
    }
    enough
}

/// What the packet at the read index asks for.
struct Wanted {
    read: u64,
    /// Bytes of private memory per work-item.
    lane_bytes: u32,
    /// Work-items of a work-group.
    group_items: u64,
}

/// The read index and the packet there, if that is a dispatch.
fn wanted<B: Backend + ?Sized>(ring: &QueueRing<B>) -> Option<Wanted> {
    let memory = ring.memory();
    let read = ring.read_index(MemoryOrder::Acquire);
    let words = memory.packet((read & u64::from(memory.packets() - 1)) as u32);
    let word = |at: usize| words[at].load(Ordering::Relaxed);
    let header = Header(words[0].load(Ordering::Acquire) as u16);
    (header.packet_type() == PacketType::KernelDispatch).then(|| Wanted {
        read,
        // private_segment_size, at byte 24.
        lane_bytes: word(6),
        // workgroup_size_x, _y and _z, from byte 4 on.
        group_items: [word(1) & 0xffff, word(1) >> 16, word(2) & 0xffff]
            .into_iter()
            .map(|size| u64::from(size.max(1)))
            .product(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_halved_down_to_one_work_group_for_each_engine() {
        let mut device = ScratchDevice {
            generation: Generation::Gfx9,
            compute_units: 104,
            shader_engines: 8,
            slots_per_cu: 4,
            xcc_count: 1,
        };
        let mut seen = alloc::vec::Vec::new();
        while has_fewer(&mut device, 2 * 8) {
            seen.push(device.compute_units * device.slots_per_cu);
        }
        assert_eq!(seen, [208, 104, 52, 26]);
        // Groups of 16 waves do not fit 13 slots of an engine.
        device.compute_units = 104;
        assert!(!has_fewer(&mut device, 16 * 8));
        assert_eq!(device.compute_units, 104);
    }
}
