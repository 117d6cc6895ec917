//! Memory that the host and devices share by address.

use super::topology::AgentId;
use core::ptr::NonNull;
use thiserror_no_std::Error;

/// A memory bank: the `index`-th that [`Topology::memory_banks`](super::Topology::memory_banks)
/// lists for `agent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BankId {
    /// Whose bank.
    pub agent: AgentId,
    /// Which of its banks.
    pub index: u32,
}

bitflags::bitflags! {
    /// What an allocation is for. Names follow KFD's allocation flags.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MemoryFlags: u32 {
        /// The host maps it: [`Allocation::host`] is set.
        const HOST_ACCESS = 1 << 0;
        /// Devices may write it.
        const WRITABLE = 1 << 1;
        /// Devices may execute it.
        const EXECUTABLE = 1 << 2;
        /// Fine-grained: host and devices see each other's writes within a kernel.
        const COHERENT = 1 << 3;
        /// Coherent across devices as well (extended-scope fine-grained).
        const EXT_COHERENT = 1 << 4;
        /// Not cached by devices (kernel arguments, rings).
        const UNCACHED = 1 << 5;
        /// Holds a queue's ring or its `amd_queue_t`.
        const QUEUE = 1 << 6;
        /// Physically contiguous.
        const CONTIGUOUS = 1 << 7;
        /// Only this bank will do.
        const NO_SUBSTITUTE = 1 << 8;
        /// An address range alone; memory is bound later (scratch pools).
        const ADDRESS_ONLY = 1 << 9;
    }
}

/// What to allocate.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRequest {
    /// From which bank.
    pub bank: BankId,
    /// Size in bytes; not zero, a multiple of [`Memory::page_size`].
    pub size: u64,
    /// Alignment of the address: a power of two, at least [`Memory::page_size`].
    pub align: u64,
    /// What it is for.
    pub flags: MemoryFlags,
}

/// The backend's name of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryHandle(pub u64);

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Names it to the backend.
    pub handle: MemoryHandle,
    /// Its address on every device that it is mapped to.
    pub gpu_va: u64,
    /// Its address on the host, if the host maps it. The same number as `gpu_va` wherever
    /// the backend allocated it; another one for host memory that was registered.
    pub host: Option<NonNull<u8>>,
    /// Its size in bytes.
    pub size: u64,
}

/// Why memory was not to be had.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum MemoryError {
    /// The agent has no such bank, or the bank cannot be allocated from.
    #[error("agent {} has no allocatable memory bank {}", .bank.agent.0, .bank.index)]
    NoBank {
        /// The bank asked for.
        bank: BankId,
    },
    /// The size is zero or no multiple of the page size, or the alignment is no power of two.
    #[error("a size of {size} bytes aligned to {align} cannot be allocated (pages of {page})")]
    BadSize {
        /// The size asked for.
        size: u64,
        /// The alignment asked for.
        align: u64,
        /// The page size.
        page: u64,
    },
    /// Not enough memory.
    #[error("{size} bytes are not available: {available} are")]
    OutOfMemory {
        /// The size asked for.
        size: u64,
        /// What was left in the bank, in bytes.
        available: u64,
    },
    /// No such allocation.
    #[error("there is no allocation {:#x}", .handle.0)]
    NoAllocation {
        /// The handle given.
        handle: MemoryHandle,
    },
    /// The allocation is in use (a live queue's ring) and cannot be freed.
    #[error("allocation {:#x} is in use by {user}", .handle.0)]
    InUse {
        /// The handle given.
        handle: MemoryHandle,
        /// What uses it.
        user: &'static str,
    },
    /// There is no such agent, or it cannot have the memory mapped.
    #[error("agent {} cannot map this memory", .agent.0)]
    BadAgent {
        /// The agent given.
        agent: AgentId,
    },
    /// A host range that cannot be registered.
    #[error("the host range {address:#x}, {size} bytes, cannot be registered")]
    BadHostRange {
        /// Where it starts.
        address: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// A file descriptor that no backend of this kind has exported.
    #[error("descriptor {descriptor} is not shared memory")]
    NotShared {
        /// The descriptor given.
        descriptor: i32,
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
    /// The backend does not do this.
    #[error("this backend does not support {0}")]
    NotSupported(&'static str),
}

/// Allocates memory and maps it to devices.
///
/// # Implementation safety
/// The runtime reads and writes through the addresses that this trait hands out. For every
/// `Ok` answer with a host address, `host..host + size` must stay valid for reads and writes by
/// this process, and belong to nobody else, until [`Memory::free`] is called with its handle
/// (for [`Memory::register_host`]: must be the caller's range). `gpu_va` must name the same
/// bytes on each device that the allocation is mapped to. Fresh memory reads as zero.
pub unsafe trait Memory {
    /// Allocation granule in bytes: a power of two.
    fn page_size(&self) -> u64 {
        4096
    }

    /// Allocates. The memory is mapped to the bank's own agent; other agents need [`Memory::map`].
    ///
    /// # Errors
    /// See [`MemoryError`]; nothing is allocated then.
    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError>;

    /// Gives an allocation back (or ends a registration).
    ///
    /// # Safety
    /// Nothing on the host touches the memory afterwards. Devices that do are faulted.
    ///
    /// # Errors
    /// [`MemoryError::NoAllocation`], or [`MemoryError::InUse`] if a live queue needs it; the
    /// allocation stays then.
    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError>;

    /// Maps an allocation to further agents. CPU agents and repeated agents are fine.
    ///
    /// # Errors
    /// On an error every agent that was not mapped before is unmapped again.
    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError>;

    /// Takes an allocation away from agents.
    ///
    /// # Errors
    /// [`MemoryError::NoAllocation`].
    fn unmap(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError>;

    /// Makes the caller's host memory reachable by devices, mapped to `agents`. Whole pages around
    /// the range become reachable.
    ///
    /// # Safety
    /// `address..address + size` stays mapped until the handle is given to [`Memory::free`].
    ///
    /// # Errors
    /// See [`MemoryError`].
    unsafe fn register_host(
        &self,
        address: NonNull<u8>,
        size: u64,
        flags: MemoryFlags,
        agents: &[AgentId],
    ) -> Result<Allocation, MemoryError> {
        let _ = (address, size, flags, agents);
        Err(MemoryError::NotSupported("registering host memory"))
    }

    /// Makes what the host has written to an agent's device memory visible to that agent, before a packet or
    /// a doorbell says that it is there. Does nothing where writes need no such help (the default).
    fn flush_host_writes(&self, agent: AgentId) {
        let _ = agent;
    }

    /// Bytes that a bank can still give.
    ///
    /// # Errors
    /// [`MemoryError::NoBank`].
    fn available(&self, bank: BankId) -> Result<u64, MemoryError>;
}
