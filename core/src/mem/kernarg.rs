//! Pieces of one block for kernel arguments, so that a dispatch costs no allocation of pages.

use super::block::Block;
use crate::backend::{Backend, Lock, Park};
use alloc::sync::Arc;
use core::alloc::Layout;
use core::ptr::NonNull;
use linked_list_allocator::Heap;
use thiserror_no_std::Error;

/// Why there is no piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum KernargError {
    /// No free range is large enough.
    #[error("no {size} bytes for kernel arguments are free: {free} of {total} are, in pieces")]
    Full {
        /// Bytes wanted.
        size: usize,
        /// Bytes free, not in one piece.
        free: usize,
        /// Bytes there are.
        total: usize,
    },
    /// The size or alignment is not one of memory.
    #[error("{size} bytes aligned to {align} cannot be had")]
    BadLayout {
        /// Bytes wanted.
        size: usize,
        /// Alignment wanted.
        align: usize,
    },
    /// The block is not mapped to the host.
    #[error("the block for kernel arguments is not mapped to the host")]
    NotMapped,
}

/// A block of kernel argument memory, given out in pieces.
///
/// The free list lies between the pieces, in memory that kernels can write: a kernel that writes
/// past its arguments can break it, as it can break the arguments themselves. Clients that run kernels
/// they do not trust bring argument memory of their own.
pub struct KernargArena<B: Backend + ?Sized> {
    heap: Lock<Heap>,
    // After the heap, whose list lies in it.
    block: Block<B>,
}

impl<B: Backend + ?Sized> KernargArena<B> {
    /// Gives out pieces of `block`.
    ///
    /// # Errors
    /// [`KernargError::NotMapped`].
    pub fn new(block: Block<B>) -> Result<Self, KernargError> {
        let host = block.host().ok_or(KernargError::NotMapped)?;
        let mut heap = Heap::empty();
        // SAFETY: the block is mapped host memory that belongs to nobody else, and is kept as
        // long as the heap.
        unsafe { heap.init(host.as_ptr(), block.size() as usize) };
        Ok(Self {
            heap: Lock::new(heap),
            block,
        })
    }

    /// Takes a piece of at least `size` bytes.
    ///
    /// # Errors
    /// See [`KernargError`].
    pub fn allocate(
        self: &Arc<Self>,
        size: usize,
        align: usize,
        park: &dyn Park,
    ) -> Result<KernargPiece<B>, KernargError> {
        // Arguments start on cache lines, so that a kernel's loads do not meet a neighbour's stores.
        let layout = Layout::from_size_align(size.max(1), align.max(64))
            .map_err(|_| KernargError::BadLayout { size, align })?
            .pad_to_align();
        let mut heap = self.heap.lock(park);
        let host = heap
            .allocate_first_fit(layout)
            .map_err(|()| KernargError::Full {
                size,
                free: heap.free(),
                total: heap.size(),
            })?;
        drop(heap);
        Ok(KernargPiece {
            arena: self.clone(),
            host,
            layout,
        })
    }

    /// Bytes that are free.
    pub fn free_bytes(&self, park: &dyn Park) -> usize {
        self.heap.lock(park).free()
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for KernargArena<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KernargArena")
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}

/// A piece; goes back when dropped, which must be after the kernel that reads it is complete.
pub struct KernargPiece<B: Backend + ?Sized> {
    arena: Arc<KernargArena<B>>,
    host: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a piece is the only owner of its range of a block that any thread may touch.
unsafe impl<B: Backend + ?Sized> Send for KernargPiece<B> {}
// SAFETY: through a shared piece only addresses can be had.
unsafe impl<B: Backend + ?Sized> Sync for KernargPiece<B> {}

impl<B: Backend + ?Sized> KernargPiece<B> {
    /// The address on devices.
    pub fn gpu_va(&self) -> u64 {
        let block = &self.arena.block;
        let base = block.host().map_or(0, |host| host.addr().get());
        block.gpu_va() + (self.host.addr().get() - base) as u64
    }

    /// Size in bytes, at least what was asked for.
    pub const fn size(&self) -> usize {
        self.layout.size()
    }

    /// Writes the arguments. What does not fit is not written.
    pub fn write(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.layout.size());
        // SAFETY: the piece owns `size` bytes at `host`; no kernel was given them before it is
        // written, and the exclusive borrow keeps other writers out.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host.as_ptr(), len) };
    }
}

impl<B: Backend + ?Sized> Drop for KernargPiece<B> {
    fn drop(&mut self) {
        let park = self.arena.block.parker();
        let mut heap = self.arena.heap.lock(park);
        // SAFETY: the piece came from this heap with this layout and goes back once.
        unsafe { heap.deallocate(self.host, self.layout) };
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for KernargPiece<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KernargPiece")
            .field("host", &self.host)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
