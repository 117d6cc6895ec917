//! An allocation that is freed when dropped.

use super::Runtime;
use super::error::AllocError;
use crate::backend::{AgentId, Backend};
use crate::mem::{Address, AllocFlags, PoolId};
use alloc::sync::Arc;

/// Memory of a pool, freed when dropped. Devices that may use it must be done by then.
pub struct Buffer<B: Backend + ?Sized> {
    runtime: Arc<Runtime<B>>,
    address: Address,
    size: u64,
}

impl<B: Backend + ?Sized> Buffer<B> {
    /// Its address on agents, and on the host if the host maps it.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Its size in bytes, as asked for.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Lets exactly these agents and the owner reach it.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allow_access(&self, agents: &[AgentId]) -> Result<(), AllocError> {
        self.runtime.allow_access(agents, self.address)
    }

    /// Copies bytes into it from `offset` on. No kernel may use it meanwhile.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), AllocError> {
        let size = bytes.len() as u64;
        self.check(offset, size)?;
        // SAFETY: the range lies in this buffer and the source is a slice; bytes of a buffer are
        // only reached through copies, whose races with kernels concern the bytes' values alone.
        unsafe {
            self.runtime.copy(
                self.address.offset(offset),
                Address::from(bytes.as_ptr()),
                size,
            )
        }
    }

    /// Copies bytes out of it from `offset` on. No kernel may use it meanwhile.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), AllocError> {
        let size = bytes.len() as u64;
        self.check(offset, size)?;
        // SAFETY: as in `write`; the target is borrowed exclusively.
        unsafe {
            self.runtime.copy(
                Address::from(bytes.as_mut_ptr()),
                self.address.offset(offset),
                size,
            )
        }
    }

    fn check(&self, offset: u64, size: u64) -> Result<(), AllocError> {
        match offset.checked_add(size) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(AllocError::OutOfRange {
                address: self.address.offset(offset),
                size,
            }),
        }
    }
}

impl<B: Backend + ?Sized> Drop for Buffer<B> {
    fn drop(&mut self) {
        // SAFETY: a buffer hands out no references into its memory, and it is being dropped.
        if unsafe { self.runtime.free(self.address) }.is_err() {
            crate::trace::event!(
                error,
                "a buffer at {:#x} could not be freed",
                self.address.0
            );
        }
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Buffer<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Buffer")
            .field("address", &self.address)
            .field("size", &self.size)
            .finish()
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// Allocates memory that is freed when dropped, reachable by `agents`.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn create_buffer(
        self: &Arc<Self>,
        pool: PoolId,
        size: u64,
        agents: &[AgentId],
    ) -> Result<Buffer<B>, AllocError> {
        let buffer = Buffer {
            address: self.allocate(pool, size, AllocFlags::empty())?,
            size,
            runtime: self.clone(),
        };
        if !agents.is_empty() {
            buffer.allow_access(agents)?;
        }
        Ok(buffer)
    }
}
