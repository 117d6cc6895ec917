//! Doorbells: a page pair of registers for each process and GPU.

use crate::backend::KfdBackend;
use crate::device::Gpu;
use crate::memory::{Source, Want};
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use rukh_core::backend::QueueCreateError;
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;

/// Bytes of a process's doorbells on GFX9 and later: 1024 of 64 bits.
const BYTES: u64 = 0x2000;

/// A GPU's doorbells, mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doorbells {
    base: NonNull<u8>,
    /// Offset that they are mapped at.
    offset: u64,
}

// SAFETY: registers that any thread may store to; the address outlives every queue.
unsafe impl Send for Doorbells {}

impl<P: KfdPort> KfdBackend<P> {
    /// The register at an offset that CREATE_QUEUE answered: the low bits are within the pages, the others where to
    /// map them. The pages are mapped once and stay. The GPU maps them as well, for kernels that enqueue.
    pub(super) fn doorbell(
        &self,
        index: usize,
        gpu: &Gpu,
        offset: u64,
    ) -> Result<NonNull<AtomicU64>, QueueCreateError> {
        let (page, within) = (offset & !(BYTES - 1), offset & (BYTES - 1));
        let bad = QueueCreateError::BadAddress {
            what: "doorbell",
            address: offset,
        };
        if !within.is_multiple_of(8) {
            return Err(bad);
        }
        let mut doorbells = gpu.doorbells.lock(&self.park);
        let mapped = match *doorbells {
            Some(mapped) if mapped.offset == page => mapped,
            // A process has one set of doorbells on a GPU, at one offset.
            Some(_) => return Err(bad),
            None => {
                let block = self
                    .acquire(&Want {
                        source: Source::Doorbells(page),
                        gpu: Some(index),
                        size: BYTES,
                        align: 4096,
                        flags: AllocFlags::WRITABLE
                            | AllocFlags::NO_SUBSTITUTE
                            | AllocFlags::COHERENT,
                    })
                    .map_err(super::out_of_memory)?;
                let Some(base) = block.host else {
                    return Err(bad);
                };
                let mapped = Doorbells { base, offset: page };
                *doorbells = Some(mapped);
                mapped
            }
        };
        // SAFETY: `within` is less than the bytes that are mapped.
        Ok(unsafe { mapped.base.add(within as usize) }.cast())
    }
}
