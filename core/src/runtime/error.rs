//! What can go wrong, by what was being done.

use crate::backend::{AgentId, DmaError, EventError, MemoryError, QueueCreateError, TopologyError};
use crate::loader::{CodeObjectError, LoadError, Text, kernarg};
use crate::mem::{Address, KernargError, PoolId, RangeError};
use crate::queue::{QueueStatus, RingError};
use crate::signal::{ArenaError, SignalHandle};
use thiserror_no_std::Error;

crate::impl_error!(
    InitError,
    AllocError,
    VirtualError,
    SignalError,
    QueueError,
    SpawnError,
    ProgramError,
    DispatchError
);

/// Why a runtime did not start.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InitError {
    /// The topology cannot be read.
    #[error("the topology cannot be read: {0}")]
    Topology(#[from] TopologyError),
    /// No agent has host memory, which signals and queues live in.
    #[error("no agent has host memory")]
    NoHostMemory,
    /// Memory for signals was not to be had.
    #[error("no memory for signals: {0}")]
    Signals(#[from] SignalError),
    /// Events for faults were not to be had.
    #[error("no event for faults: {0}")]
    Events(#[from] EventError),
}

/// Why memory was not allocated, freed or shared.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AllocError {
    /// No such pool.
    #[error("there is no pool {}", .pool.0)]
    NoPool {
        /// The pool given.
        pool: PoolId,
    },
    /// The pool cannot be allocated from.
    #[error("pool {} cannot be allocated from", .pool.0)]
    NotAllocatable {
        /// The pool given.
        pool: PoolId,
    },
    /// Zero bytes.
    #[error("an allocation of no bytes")]
    ZeroSize,
    /// More than the pool gives at once.
    #[error("{size} bytes are more than pool {} gives at once, {max}", .pool.0)]
    TooLarge {
        /// The pool.
        pool: PoolId,
        /// Bytes wanted.
        size: u64,
        /// Most bytes at once.
        max: u64,
    },
    /// No allocation starts at, or contains, this address.
    #[error("{address} is not memory that this runtime gave")]
    UnknownAddress {
        /// The address given.
        address: Address,
    },
    /// No such agent.
    #[error("there is no agent {}", .agent.0)]
    NoAgent {
        /// The agent given.
        agent: AgentId,
    },
    /// A range that leaves its allocation.
    #[error("{size} bytes from {address} leave the allocation they start in")]
    OutOfRange {
        /// Where the range starts.
        address: Address,
        /// Its bytes.
        size: u64,
    },
    /// Bytes that neither the host nor a copy engine reaches.
    #[error("{address} cannot be reached by the host or by a copy engine")]
    NotReachable {
        /// The address.
        address: Address,
    },
    /// A copy engine did not do its work.
    #[error("{0}")]
    Engine(DmaError),
    /// The backend refused.
    #[error("{0}")]
    Backend(#[from] MemoryError),
}

/// Why something was not done with virtual memory.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum VirtualError {
    /// By the books it cannot be.
    #[error("{0}")]
    Range(#[from] RangeError),
    /// The pool does not give it, or there is no such agent.
    #[error("{0}")]
    Alloc(#[from] AllocError),
    /// The backend refused.
    #[error("{0}")]
    Backend(#[from] MemoryError),
}

/// Why a signal operation did not happen.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SignalError {
    /// The handle names no signal of this runtime.
    #[error("{handle} is not a signal")]
    BadHandle {
        /// The handle given.
        handle: SignalHandle,
    },
    /// The signal was destroyed while it was waited for.
    #[error("signal {handle} was destroyed during the wait")]
    Destroyed {
        /// Its handle.
        handle: SignalHandle,
    },
    /// A doorbell can only be stored to.
    #[error("{handle} is a doorbell, which can only be stored to")]
    Doorbell {
        /// The handle given.
        handle: SignalHandle,
    },
    /// All slots are in use, and no memory for more.
    #[error("{0}")]
    Arena(#[from] ArenaError),
    /// No memory for more signals.
    #[error("no memory for signals: {0}")]
    Memory(#[from] MemoryError),
    /// No thread for callbacks.
    #[error("{0}")]
    Spawn(#[from] SpawnError),
}

/// Why a queue was not created, or a packet not sent.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum QueueError {
    /// No such agent.
    #[error("there is no agent {}", .agent.0)]
    NoAgent {
        /// The agent given.
        agent: AgentId,
    },
    /// The agent consumes no queues.
    #[error("agent {} is not a GPU and has no queues", .agent.0)]
    NotAGpu {
        /// The agent given.
        agent: AgentId,
    },
    /// The size is no power of two from 64 up.
    #[error("a queue of {packets} packets: the size must be a power of two, at least {min}")]
    BadSize {
        /// Packets wanted.
        packets: u32,
        /// Fewest packets.
        min: u32,
    },
    /// The size is a power of two and more than a queue can have.
    #[error("a queue of {packets} packets is larger than the largest, {max}")]
    TooLarge {
        /// Packets wanted.
        packets: u32,
        /// Most packets.
        max: u32,
    },
    /// More private memory per work-item than a wave can have.
    #[error("{bytes} bytes of private memory per work-item are more than {max}")]
    PrivateTooLarge {
        /// Bytes wanted.
        bytes: u32,
        /// Most bytes.
        max: u32,
    },
    /// All entries of the runtime's table of queues are taken.
    #[error("all {limit} queues are in use")]
    NoneLeft {
        /// How many there can be.
        limit: usize,
    },
    /// Memory for the queue was not to be had.
    #[error("no memory for the queue: {0}")]
    Memory(#[from] MemoryError),
    /// Signals for the queue were not to be had.
    #[error("no signal for the queue: {0}")]
    Signal(#[from] SignalError),
    /// The backend refused.
    #[error("{0}")]
    Backend(#[from] QueueCreateError),
    /// No slot was claimed.
    #[error("{0}")]
    Ring(#[from] RingError),
    /// The queue was stopped.
    #[error("the queue was stopped: {0}")]
    Stopped(#[from] QueueStatus),
    /// The time was over before a slot was free or a packet complete.
    #[error("the time was over")]
    TimedOut,
    /// No thread for callbacks.
    #[error("{0}")]
    Spawn(#[from] SpawnError),
    /// Something that this runtime does not do.
    #[error("{0} are not supported")]
    Unsupported(&'static str),
}

/// Why there is no thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the thread for callbacks could not be started (errno {errno})")]
pub struct SpawnError {
    /// What the system answered, or 0.
    pub errno: i32,
}

/// Why code was not loaded.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProgramError {
    /// No such agent.
    #[error("there is no agent {}", .agent.0)]
    NoAgent {
        /// The agent given.
        agent: AgentId,
    },
    /// The agent executes no code, or code of an instruction set that is not known here.
    #[error("agent {} has no instruction set that is known here", .agent.0)]
    NoIsa {
        /// The agent given.
        agent: AgentId,
    },
    /// The bytes are no code object.
    #[error("{0}")]
    CodeObject(#[from] CodeObjectError),
    /// It cannot be loaded.
    #[error("{0}")]
    Load(#[from] LoadError),
}

/// Why a kernel was not dispatched.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DispatchError {
    /// The kernel was loaded for another agent than the queue's.
    #[error("the kernel is loaded for agent {}, the queue is agent {}'s", .kernel.0, .queue.0)]
    WrongAgent {
        /// The kernel's.
        kernel: AgentId,
        /// The queue's.
        queue: AgentId,
    },
    /// The code object says nothing about the kernel's arguments.
    #[error("the code object has no metadata for kernel {kernel}, so its arguments are not known")]
    NoMetadata {
        /// The kernel's name.
        kernel: Text,
    },
    /// The arguments do not fit the kernel, or the grid is none.
    #[error("{0}")]
    Arguments(#[from] kernarg::KernargError),
    /// Raw arguments of another size than the kernel's.
    #[error("the kernel has {expected} bytes of arguments; {given} were given")]
    ArgumentBytes {
        /// How many it has.
        expected: u32,
        /// How many were given.
        given: usize,
    },
    /// No memory for the arguments.
    #[error("{0}")]
    Memory(#[from] KernargError),
    /// More work-items in a work-group than an agent takes.
    #[error("a work-group of {items} work-items; agents take {max}")]
    GroupTooLarge {
        /// Work-items wanted.
        items: u64,
        /// Most work-items.
        max: u32,
    },
    /// More group memory than the agent has.
    #[error("{bytes} bytes of group memory per work-group; the agent has {max}")]
    GroupMemory {
        /// Bytes wanted.
        bytes: u32,
        /// Bytes there are.
        max: u32,
    },
    /// The packet was not sent.
    #[error("{0}")]
    Queue(#[from] QueueError),
    /// No completion signal.
    #[error("{0}")]
    Signal(#[from] SignalError),
}
