//! Where loaded code goes: the little that an executable asks of a backend.

use crate::backend::{AgentId, MemoryError, QueueCreateError};
use alloc::boxed::Box;
use alloc::sync::Arc;
use thiserror_no_std::Error;

/// Memory for one loaded code object, as its [`LoaderMemory`] made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentMemory {
    /// The agent that executes it.
    pub agent: AgentId,
    /// Its address on that agent.
    pub gpu_va: u64,
    /// Its size in bytes: what was asked for, or more.
    pub size: u64,
    /// Whatever names it to its maker.
    pub key: u64,
}

/// Why memory for code cannot be had or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// It cannot be allocated or mapped.
    #[error("{0}")]
    Memory(#[from] MemoryError),
    /// It could not be copied, or the agent's instruction caches could not be invalidated, by way of a
    /// queue.
    #[error("{0}")]
    Queue(#[from] QueueCreateError),
    /// A write beyond the end.
    #[error("{size} bytes at {offset:#x} lie outside of memory of {memory:#x} bytes")]
    Outside {
        /// Where the write begins.
        offset: u64,
        /// Its size.
        size: u64,
        /// Size of the memory.
        memory: u64,
    },
}

crate::impl_error!(SegmentError);

/// Gives an executable its memory. The runtime implements it over a backend: executable device
/// memory, written through the host or by DMA from a shadow.
pub trait LoaderMemory {
    /// Memory of `size` bytes that `agent` can read, write and execute. `size` is not 0, `align` a
    /// power of two.
    ///
    /// # Errors
    /// See [`SegmentError`].
    fn allocate(
        &self,
        agent: AgentId,
        size: u64,
        align: u64,
    ) -> Result<SegmentMemory, SegmentError>;

    /// Writes at `offset`. What is written need not be visible to the agent before [`Self::finish`].
    ///
    /// # Errors
    /// See [`SegmentError`].
    fn write(&self, memory: &SegmentMemory, offset: u64, bytes: &[u8]) -> Result<(), SegmentError>;

    /// Writes zeros.
    ///
    /// # Errors
    /// See [`SegmentError`].
    fn zero(&self, memory: &SegmentMemory, offset: u64, size: u64) -> Result<(), SegmentError> {
        static ZEROS: [u8; 4096] = [0; 4096];
        let (mut at, mut left) = (offset, size);
        while left != 0 {
            let n = left.min(ZEROS.len() as u64);
            self.write(memory, at, &ZEROS[..n as usize])?;
            at += n;
            left -= n;
        }
        Ok(())
    }

    /// Makes everything written visible to the agent, instruction caches included. Called once, when
    /// the executable is frozen (again if freezing failed before).
    ///
    /// # Errors
    /// See [`SegmentError`].
    fn finish(&self, memory: &SegmentMemory) -> Result<(), SegmentError>;

    /// Takes the memory back. Called once for each memory that was allocated.
    fn free(&self, memory: SegmentMemory);
}

macro_rules! forward {
    ($($ty:ty),*) => {$(
        impl<M: LoaderMemory + ?Sized> LoaderMemory for $ty {
            fn allocate(
                &self,
                agent: AgentId,
                size: u64,
                align: u64,
            ) -> Result<SegmentMemory, SegmentError> {
                (**self).allocate(agent, size, align)
            }
            fn write(
                &self,
                memory: &SegmentMemory,
                offset: u64,
                bytes: &[u8],
            ) -> Result<(), SegmentError> {
                (**self).write(memory, offset, bytes)
            }
            fn zero(
                &self,
                memory: &SegmentMemory,
                offset: u64,
                size: u64,
            ) -> Result<(), SegmentError> {
                (**self).zero(memory, offset, size)
            }
            fn finish(&self, memory: &SegmentMemory) -> Result<(), SegmentError> {
                (**self).finish(memory)
            }
            fn free(&self, memory: SegmentMemory) {
                (**self).free(memory);
            }
        }
    )*};
}
forward!(&M, Box<M>, Arc<M>);
