//! What a device may offer besides. Every method answers [`NotSupported`] unless a backend
//! says otherwise, so that `impl Ipc for MyBackend {}` is a complete implementation.
//!
//! The parts that no backend offers yet have no methods: they are here so that a backend
//! written today is complete tomorrow.

use super::memory::MemoryHandle;
use super::topology::AgentId;
use thiserror_no_std::Error;

/// The backend does not do this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("this backend does not support {0}")]
pub struct NotSupported(pub &'static str);

/// Copies by engines of the device, outside of queues.
pub trait Dma {
    /// Copies between device addresses and returns when the bytes are there.
    ///
    /// # Safety
    /// Both ranges are mapped, and nothing else writes them meanwhile.
    ///
    /// # Errors
    /// [`NotSupported`]: the runtime then copies through host mappings or a queue.
    unsafe fn copy(
        &self,
        agent: AgentId,
        to: u64,
        from: u64,
        bytes: u64,
    ) -> Result<(), NotSupported> {
        let _ = (agent, to, from, bytes);
        Err(NotSupported("copies by DMA engines outside of queues"))
    }
}

/// Sharing memory with other processes.
pub trait Ipc {
    /// A file descriptor that another process can import.
    ///
    /// # Errors
    /// [`NotSupported`].
    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, NotSupported> {
        let _ = handle;
        Err(NotSupported("dmabuf export"))
    }
}

/// Shared virtual memory attributes.
pub trait Svm {}

/// Address ranges and physical memory apart.
pub trait VirtualMemory {}

/// Debugger support.
pub trait Debug {}

/// Performance counters and program-counter sampling.
pub trait Profiling {}
