//! A queue of an engine: its ring, its indices, the word that says how much of its work is done.

use crate::backend::KfdBackend;
use crate::memory::{Block, Source, Want};
use crate::queues::out_of_memory;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::{
    AgentId, DmaError, Doorbell, HardwareQueue, QueueCreateError, QueueKind, QueuePriority,
    QueueRequest, Queues,
};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;
use rukh_core::wire::sdma::Generation;

const PAGE: u64 = 4096;
const RING_BYTES: u64 = 64 << 10;
const RING_DWORDS: u64 = RING_BYTES / 4;

/// Dwords that are written to the ring at once: the engine works on some while others are written.
pub(super) const PIECE: usize = RING_DWORDS as usize / 4;

/// Places in the page beside the ring.
const WRITE: usize = 8;
const READ: usize = 16;
const DONE: usize = 128;

/// The queue.
#[derive(Debug)]
pub(super) struct DmaQueue {
    hardware: HardwareQueue,
    pub generation: Generation,
    page: (Block, NonNull<u8>),
    ring: (Block, NonNull<u8>),
    /// Bytes that were written to the ring, ever.
    write: u64,
}

// SAFETY: the host addresses are of the queue's own memory, reached under the lock that the queue lies in.
unsafe impl Send for DmaQueue {}

impl DmaQueue {
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: one of two places in the queue's page, aligned to 8 bytes; the page lives as long as the queue, and
        // host and device use it as an atomic.
        unsafe { self.page.1.add(offset).cast().as_ref() }
    }

    /// The number that the engine stored last after work of its: a count of that work, as far as 32 bits go.
    pub fn done(&self) -> u32 {
        // SAFETY: as for `word`, of four bytes.
        let word: &AtomicU32 = unsafe { self.page.1.add(DONE).cast().as_ref() };
        word.load(Ordering::Acquire)
    }

    /// Where the engine stores that number.
    pub const fn done_address(&self) -> u64 {
        self.page.0.gpu_va + DONE as u64
    }

    /// How far the engine has read.
    pub fn read(&self) -> u64 {
        self.word(READ).load(Ordering::Acquire)
    }

    /// Dwords that the ring has room for. One stays free: equal indices are an empty ring.
    pub fn room(&self) -> usize {
        let used = self.write.wrapping_sub(self.read()).min(RING_BYTES) / 4;
        (RING_DWORDS - 1).saturating_sub(used) as usize
    }

    /// Whether the engine has read all that was written.
    pub fn is_empty(&self) -> bool {
        self.read() == self.write
    }

    /// Writes packets to the ring, which has room for them, and tells the engine.
    pub fn publish(&mut self, dwords: &[u32]) {
        for (dword, at) in dwords.iter().zip(self.write / 4..) {
            let slot = (at % RING_DWORDS) as usize;
            // SAFETY: within the ring's block, which lives as long as the queue; the engine has consumed what was there.
            let slot = unsafe { self.ring.1.cast::<AtomicU32>().add(slot).as_ref() };
            slot.store(*dword, Ordering::Relaxed);
        }
        self.write += dwords.len() as u64 * 4;
        self.word(WRITE).store(self.write, Ordering::Release);
        if let Doorbell::Mmio(register) = self.hardware.doorbell {
            // SAFETY: a doorbell is valid as long as its queue.
            unsafe { register.as_ref() }.store(self.write, Ordering::Release);
        }
    }
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

    pub(super) fn make_dma_queue(&self, agent: AgentId, gpu: usize) -> Result<DmaQueue, DmaError> {
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
            Ok(hardware) => Ok(DmaQueue {
                hardware,
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

    /// Takes the queue from the engine, which then touches nothing of it any more; gives whether the driver did so. The
    /// memory of one that it did not take away is kept until the backend goes.
    pub(super) fn stop_dma_queue(&self, queue: &DmaQueue) -> bool {
        let handle = queue.hardware.handle;
        // Once more if the driver refuses: work that goes on after it was said to be lost is the worst that can happen.
        self.destroy_queue(handle).is_ok() || self.destroy_queue(handle).is_ok()
    }

    /// Gives back the memory of a queue that was stopped.
    pub(super) fn drop_dma_queue(&self, queue: &DmaQueue) {
        self.drop_block(&queue.ring.0);
        self.drop_block(&queue.page.0);
    }
}
