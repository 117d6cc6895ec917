//! What a device may offer besides. Every method answers [`NotSupported`] unless a backend
//! says otherwise, so that `impl Ipc for MyBackend {}` is a complete implementation.
//!
//! The parts that no backend offers yet have no methods: they are here so that a backend
//! written today is complete tomorrow.

use super::memory::{Allocation, MemoryError, MemoryHandle};
use super::queues::QueueHandle;
use super::topology::AgentId;
use core::fmt;
use thiserror_no_std::Error;

/// The backend does not do this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("this backend does not support {0}")]
pub struct NotSupported(pub &'static str);

/// Sharing memory with other processes.
pub trait Ipc {
    /// Whether memory can be shared with other processes by file descriptors.
    fn has_dmabufs(&self) -> bool {
        false
    }

    /// A file descriptor, the caller's to close, that another process can import: of all of an allocation's memory, or of what
    /// [`VirtualMemory::create_memory`](super::VirtualMemory::create_memory) made.
    ///
    /// # Errors
    /// [`MemoryError::NotSupported`] for what is not shared, such as the client's own memory.
    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, MemoryError> {
        let _ = handle;
        Err(MemoryError::NotSupported("dmabuf export"))
    }

    /// The memory behind a dmabuf, mapped to an agent; [`Memory::free`](super::Memory::free) gives it back. The
    /// descriptor stays the caller's.
    ///
    /// # Errors
    /// [`MemoryError::NotShared`] for a descriptor that is no dmabuf; see [`MemoryError`].
    fn import_dmabuf(&self, agent: AgentId, descriptor: i32) -> Result<Allocation, MemoryError> {
        let _ = (agent, descriptor);
        Err(MemoryError::NotSupported("dmabuf import"))
    }
}

/// Where pages of shared virtual memory are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SvmLocation {
    /// Host memory.
    Host,
    /// An agent's memory.
    Agent(AgentId),
    /// Nowhere in particular, or in several places.
    Undefined,
}

/// How an agent reaches pages of shared virtual memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SvmAccess {
    /// Not at all.
    None,
    /// Wherever that is best; pages may move.
    Any,
    /// Where the pages are.
    InPlace,
}

bitflags::bitflags! {
    /// Properties of pages of shared virtual memory. Values are those of KFD's flags.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct SvmFlags: u32 {
        /// The host reaches them.
        const HOST_ACCESS = 1 << 0;
        /// Host and devices see each other's writes within a kernel.
        const COHERENT = 1 << 1;
        /// Only devices of one XGMI hive reach them.
        const HIVE_LOCAL = 1 << 2;
        /// Devices only read.
        const GPU_READ_ONLY = 1 << 3;
        /// Devices may execute them.
        const GPU_EXECUTABLE = 1 << 4;
        /// Mostly read: a copy on each device may be worth it.
        const READ_MOSTLY = 1 << 5;
        /// Mapped to devices as long as the range exists.
        const ALWAYS_MAPPED = 1 << 6;
        /// Coherent across devices as well.
        const EXT_COHERENT = 1 << 7;
    }
}

/// An attribute of a range of shared virtual memory, to set or to ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SvmAttribute {
    /// Where pages are best.
    Preferred(SvmLocation),
    /// Where they were, or are to be, moved.
    Prefetch(SvmLocation),
    /// How an agent reaches them. Asked for, the agent is what the answer is about.
    Access(AgentId, SvmAccess),
    /// Flags to set. Asked for, those that all pages have.
    Set(SvmFlags),
    /// Flags to clear. Asked for, those that no page has.
    Clear(SvmFlags),
    /// Pages move in blocks of 2 to this power of pages, at most 63.
    Granularity(u8),
}

/// Why attributes cannot be set or told.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SvmError {
    /// The backend, or the system, has no shared virtual memory.
    #[error("no support for {0}")]
    NotSupported(&'static str),
    /// A range that is not of whole pages, is empty, or is not all mapped.
    #[error("the range {address:#x}, {size} bytes, has no attributes")]
    BadRange {
        /// Where it starts.
        address: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// No such agent.
    #[error("there is no agent {}", .agent.0)]
    BadAgent {
        /// The agent given.
        agent: AgentId,
    },
    /// The operating system refused.
    #[error("{call} failed with errno {errno}")]
    Os {
        /// The call that failed.
        call: &'static str,
        /// What the system answered.
        errno: i32,
    },
}

/// Attributes of shared virtual memory: ranges of the host's own addresses, in whole pages.
pub trait Svm {
    /// Whether there are any: ranges of the host's own memory can be given to devices.
    fn has_svm(&self) -> bool {
        false
    }

    /// Sets attributes of a range.
    ///
    /// # Errors
    /// See [`SvmError`]; nothing is set then.
    fn set_svm(&self, address: u64, size: u64, set: &[SvmAttribute]) -> Result<(), SvmError> {
        let _ = (address, size, set);
        Err(SvmError::NotSupported("shared virtual memory"))
    }

    /// Replaces each attribute by the range's.
    ///
    /// # Errors
    /// See [`SvmError`]; nothing is replaced then.
    fn svm(&self, address: u64, size: u64, ask: &mut [SvmAttribute]) -> Result<(), SvmError> {
        let _ = (address, size, ask);
        Err(SvmError::NotSupported("shared virtual memory"))
    }
}

/// Where a wave stood that stopped its queue.
#[derive(Clone, Copy)]
pub struct WaveStop<'a> {
    /// Address of the instruction in memory.
    pub pc: u64,
    /// Address of the kernel's descriptor, as the dispatch packet names it.
    pub kernel_object: u64,
    /// What happened, in the backend's words.
    pub account: &'a dyn fmt::Display,
}

impl fmt::Debug for WaveStop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pc, account, .. } = self;
        write!(f, "WaveStop at {pc:#x}: {account}")
    }
}

/// Debugger support.
pub trait Debug {
    /// Shows where the wave stood that stopped a queue. Nothing is shown of a queue that no wave stopped, nor by a backend
    /// that cannot tell, as hardware cannot without a debugger.
    fn wave_stop(&self, queue: QueueHandle, show: &mut dyn FnMut(&WaveStop<'_>)) {
        let _ = (queue, show);
    }
}

/// Performance counters and program-counter sampling.
pub trait Profiling {}
