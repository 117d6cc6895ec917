//! An allocation of the runtime's own.

use crate::backend::{AgentId, Allocation, Backend, MemoryError, MemoryRequest};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Memory that goes back to the backend when dropped.
pub struct Block<B: Backend + ?Sized> {
    backend: Arc<B>,
    allocation: Allocation,
}

// SAFETY: the host pointer in the allocation is an address of memory that no thread owns; whoever
// uses it states in its own unsafe block why that is sound.
unsafe impl<B: Backend + ?Sized> Send for Block<B> {}
// SAFETY: as above; the block itself never follows the pointer.
unsafe impl<B: Backend + ?Sized> Sync for Block<B> {}

impl<B: Backend + ?Sized> Block<B> {
    /// Allocates and maps to `agents` besides the bank's own.
    ///
    /// # Errors
    /// See [`MemoryError`]; nothing is kept then.
    pub fn new(
        backend: &Arc<B>,
        request: &MemoryRequest,
        agents: &[AgentId],
    ) -> Result<Self, MemoryError> {
        let block = Self {
            backend: backend.clone(),
            allocation: backend.allocate(request)?,
        };
        if !agents.is_empty() {
            backend.map(block.allocation.handle, agents)?;
        }
        Ok(block)
    }

    /// The address on devices.
    pub const fn gpu_va(&self) -> u64 {
        self.allocation.gpu_va
    }

    /// The address on the host, if it maps the memory.
    pub const fn host(&self) -> Option<NonNull<u8>> {
        self.allocation.host
    }

    /// How threads sleep, for what is kept in the block.
    pub fn parker(&self) -> &dyn crate::backend::Park {
        self.backend.parker()
    }

    /// Size in bytes.
    pub const fn size(&self) -> u64 {
        self.allocation.size
    }
}

impl<B: Backend + ?Sized> Drop for Block<B> {
    fn drop(&mut self) {
        // SAFETY: whoever holds pointers into a block holds the block, or has stopped what used them
        // before letting go of it; it is being dropped.
        let freed = unsafe { self.backend.free(self.allocation.handle) };
        if freed.is_err() {
            crate::trace::event!(
                error,
                "memory at {:#x} could not be freed",
                self.allocation.gpu_va
            );
        }
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Block<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Block")
            .field("allocation", &self.allocation)
            .finish()
    }
}
