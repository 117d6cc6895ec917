//! Where the bytes of simulated memory come from.

use super::{PAGE_SIZE, Rights};
use core::alloc::Layout;
use core::ptr::NonNull;
use thiserror_no_std::Error;

/// A block of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first byte.
    pub host: NonNull<u8>,
    /// Its size in bytes.
    pub size: u64,
    /// For the source of the block: where it is in the source's own terms.
    pub token: u64,
}

// SAFETY: a block is a description; using the address takes `unsafe` code that answers for it.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Why there is no host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HostMemoryError {
    /// There is not enough.
    #[error("the host has no {size} bytes left")]
    Exhausted {
        /// The size asked for.
        size: u64,
    },
    /// The operating system refused.
    #[error("{call} of {size} bytes failed with errno {errno}")]
    Os {
        /// The call that failed.
        call: &'static str,
        /// The size concerned.
        size: u64,
        /// What the system answered.
        errno: i32,
    },
}

impl core::error::Error for HostMemoryError {}

/// Gives out host memory for simulated banks.
///
/// # Implementation safety
/// A block must be valid for reads and writes, zero, aligned as asked, and belong to nobody else until
/// it is released. Two blocks must never touch: at least a page between them must belong to
/// neither, so that overruns are noticed.
pub unsafe trait HostMemory: Send + Sync {
    /// A block of `size` bytes at a multiple of `align`. Size is a multiple of the page size and not
    /// zero, `align` a power of two that is at least the page size. Pages that are never
    /// touched should cost nothing.
    ///
    /// # Errors
    /// See [`HostMemoryError`].
    fn allocate(&self, size: u64, align: u64) -> Result<Block, HostMemoryError>;

    /// Takes a block back.
    ///
    /// # Safety
    /// The block came from [`Self::allocate`] of `self` with this `align` and nothing touches it any
    /// more.
    unsafe fn release(&self, block: Block, align: u64);

    /// Addresses for `size` bytes (whole pages) at which nothing is mapped, or `None` if there is no saying
    /// what they are used for. Registered host memory gets its address on the devices there, another one
    /// than on the host, as hardware gives it: HIP counts on the difference.
    fn reserve(&self, size: u64) -> Option<u64> {
        let _ = size;
        None
    }

    /// Gives addresses back.
    ///
    /// # Safety
    /// They came from [`Self::reserve`] of `self` with this size.
    unsafe fn unreserve(&self, base: u64, size: u64) {
        let _ = (base, size);
    }

    /// What an operating system's memory can do besides; None elsewhere.
    fn shared(&self) -> Option<&dyn SharedMemory> {
        None
    }
}

/// What came of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedBlock {
    /// The block; what is there is shared with whoever has the descriptor's file.
    pub block: Block,
    /// What [`SharedMemory::allocate_alone`] was told.
    pub label: u32,
}

/// Blocks that other processes can map, and that can be mapped at addresses of the client's choice.
///
/// # Implementation safety
/// As for [`HostMemory`]; [`HostMemory::release`] of the same source takes these blocks back. A range of
/// [`Self::take_range`] belongs to nobody else until it is given back.
pub unsafe trait SharedMemory {
    /// A block as [`HostMemory::allocate`] gives, that shares its file with no other one. `label` is what another process
    /// is to know of it.
    ///
    /// # Errors
    /// See [`HostMemoryError`]; [`HostMemoryError::Exhausted`] if descriptors are short.
    fn allocate_alone(&self, size: u64, align: u64, label: u32) -> Result<Block, HostMemoryError>;

    /// A descriptor of the file of such a block, the caller's to close; None for other blocks.
    ///
    /// # Errors
    /// See [`HostMemoryError`].
    fn export(&self, block: &Block) -> Result<Option<i32>, HostMemoryError>;

    /// The block behind a descriptor of [`Self::export`], of this process or another one; None for other descriptors.
    ///
    /// # Errors
    /// See [`HostMemoryError`].
    fn import(&self, descriptor: i32) -> Result<Option<SharedBlock>, HostMemoryError>;

    /// Takes addresses at which nothing is mapped: at `wish` if they are free there and it is not 0, otherwise anywhere at a
    /// multiple of `align`.
    ///
    /// # Errors
    /// See [`HostMemoryError`].
    fn take_range(&self, size: u64, align: u64, wish: u64) -> Result<u64, HostMemoryError>;

    /// Gives addresses back, with what is mapped there.
    ///
    /// # Safety
    /// They came from [`Self::take_range`] of `self` with this size, and nothing uses them.
    unsafe fn give_range(&self, base: u64, size: u64);

    /// Has the host reach a block at an address as well, with these rights; with none of them, nothing is there.
    ///
    /// # Safety
    /// The address is of a range of [`Self::take_range`] that the block fits into, and the caller's to replace.
    ///
    /// # Errors
    /// See [`HostMemoryError`].
    unsafe fn map_at(
        &self,
        block: &Block,
        address: u64,
        rights: Rights,
    ) -> Result<(), HostMemoryError>;
}

/// Host memory from the global allocator: for systems without an operating system's.
#[derive(Clone, Copy, Default, Debug)]
pub struct HeapMemory;

impl HeapMemory {
    /// Room for a page that stays unused behind the block. The space before it is as large as its
    /// alignment.
    fn layout(size: u64, align: u64) -> Result<Layout, HostMemoryError> {
        let exhausted = HostMemoryError::Exhausted { size };
        let total = size
            .checked_add(align)
            .and_then(|n| n.checked_add(PAGE_SIZE))
            .ok_or(exhausted)?;
        Layout::from_size_align(total as usize, align as usize).map_err(|_| exhausted)
    }
}

// SAFETY: the allocator gives zeroed memory that is ours until it is deallocated; the layout adds
// at least a page on both sides, so that no two blocks touch.
unsafe impl HostMemory for HeapMemory {
    fn allocate(&self, size: u64, align: u64) -> Result<Block, HostMemoryError> {
        let layout = Self::layout(size, align)?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc::alloc_zeroed(layout) })
            .ok_or(HostMemoryError::Exhausted { size })?;
        Ok(Block {
            // SAFETY: `align` bytes are part of the allocation, before `size` bytes and a page.
            host: unsafe { start.add(align as usize) },
            size,
            token: 0,
        })
    }

    unsafe fn release(&self, block: Block, align: u64) {
        if let Ok(layout) = Self::layout(block.size, align) {
            // SAFETY: the caller gives back what `allocate` made with this layout, `align` bytes
            // after its start.
            unsafe {
                alloc::alloc::dealloc(block.host.as_ptr().sub(align as usize), layout);
            }
        }
    }
}
