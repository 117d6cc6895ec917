//! The memory of simulated devices: pages of a range of RAM that the kernel set aside.
//!
//! This is all that the software GPU asks of a kernel: [`HostMemory`] over its own page allocator.

use crate::arch::Ram;
use alloc::collections::BTreeMap;
use core::ptr::{self, NonNull};
use rukh_backend_sim::mem::{Block, HostMemory, HostMemoryError};
use spin::Mutex;

/// Unused space behind each block, so that no two touch: a page, as [`HostMemory`] asks.
const GUARD: usize = 4096;

/// Pages of one range.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Free ranges: start to size. Kept outside of the memory that it describes.
    free: Mutex<BTreeMap<usize, usize>>,
}

impl Pages {
    /// Pages of this range.
    ///
    /// # Safety
    /// The range is RAM that nobody else uses while this lives.
    pub(crate) unsafe fn new(ram: Ram) -> Self {
        Self {
            free: Mutex::new(BTreeMap::from([(ram.start, ram.size)])),
        }
    }
}

fn takes(start: usize, free: usize, size: usize, align: usize) -> Option<(usize, usize)> {
    let at = start.checked_next_multiple_of(align)?;
    let end = at.checked_add(size)?.checked_add(GUARD)?;
    (end <= start + free).then_some((at, end))
}

// SAFETY: what is taken leaves the free list with a page behind it, and comes back by `release` alone; the
// range is ours by the contract of `new`. Blocks are zeroed when they are taken.
unsafe impl HostMemory for Pages {
    fn allocate(&self, size: u64, align: u64) -> Result<Block, HostMemoryError> {
        let exhausted = HostMemoryError::Exhausted { size };
        let (bytes, align) = (size as usize, align as usize);
        let at = {
            let mut free = self.free.lock();
            let (start, length, at, end) = free
                .iter()
                .find_map(|(&start, &length)| {
                    takes(start, length, bytes, align).map(|(at, end)| (start, length, at, end))
                })
                .ok_or(exhausted)?;
            free.remove(&start);
            if at > start {
                free.insert(start, at - start);
            }
            if end < start + length {
                free.insert(end, start + length - end);
            }
            at
        };
        let host = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(at)).ok_or(exhausted)?;
        // SAFETY: just taken from the range, so ours, and identity-mapped.
        unsafe { host.write_bytes(0, bytes) };
        Ok(Block {
            host,
            size,
            token: 0,
        })
    }

    unsafe fn release(&self, block: Block, _: u64) {
        let mut free = self.free.lock();
        let mut start = block.host.addr().get();
        let mut end = start + block.size as usize + GUARD;
        let after = free.get(&end).copied();
        if let Some(length) = after {
            free.remove(&end);
            end += length;
        }
        let before = free
            .range(..start)
            .next_back()
            .map(|(&at, &length)| (at, length));
        if let Some((at, length)) = before
            && at + length == start
        {
            start = at;
        }
        free.insert(start, end - start);
    }
}
