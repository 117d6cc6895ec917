//! The seam: what a backend gives to the runtime.
//!
//! A backend is the sum of small, object-safe traits, one file each. It is asked on slow paths
//! only: packets, indices and signal values are loads and stores on memory that the backend
//! has mapped, and a doorbell is a register wherever the hardware has one.
//!
//! | trait | what it is for | must be written |
//! |---|---|---|
//! | [`Topology`] | which agents there are and what they can do | yes |
//! | [`Memory`] | memory that host and devices share by address | yes |
//! | [`Queues`] | hardware queues and their doorbells | yes |
//! | [`Events`] | sleeping until a device has something to say | yes |
//! | [`Clock`] | time, on the host and on a device | yes |
//! | [`Dma`], [`Ipc`], [`Svm`], [`VirtualMemory`], [`Debug`], [`Profiling`] | what a device may offer besides | `impl Dma for MyBackend {}` answers not-supported (`unsafe impl VirtualMemory`) |
//!
//! [`guide`] (feature `alloc`) shows how to write one, with a complete program.
//!
//! [`Backend`] is their sum and implements itself. Middleware wraps any backend: [`Wrap`] implements the
//! traits around one and shows every call to a [`Hook`], such as [`Trace`] or [`FaultInjector`].

mod clock;
mod dma;
mod events;
mod fault;
#[cfg(feature = "alloc")]
pub mod guide;
mod lock;
mod memory;
mod optional;
mod park;
mod queues;
mod topology;
mod trace;
mod virtual_memory;
mod wrap;

pub use clock::{Clock, ClockCounters};
pub use dma::{
    Dma, DmaCompletion, DmaEngine, DmaError, DmaProgress, DmaRequest, DmaTicket, DmaWork,
};
pub use events::{
    EventError, EventId, EventKind, EventOutcome, EventReport, Events, HardwareEvent,
    MemoryFaultInfo, Timeout, WaitMode,
};
pub use fault::{FaultInjector, FaultPlan};
pub use lock::{Lock, LockGuard};
pub use memory::{
    Allocation, BankId, Memory, MemoryError, MemoryFlags, MemoryHandle, MemoryRequest,
};
pub use optional::{
    Debug, Ipc, NotSupported, Profiling, Svm, SvmAccess, SvmAttribute, SvmError, SvmFlags,
    SvmLocation, WaveStop,
};
#[cfg(feature = "std")]
pub use park::StdPark;
pub use park::{Park, SpinPark};
pub use queues::{
    Doorbell, HardwareQueue, QueueCreateError, QueueHandle, QueueKind, QueuePriority, QueueRequest,
    QueueUpdate, Queues,
};
pub use topology::{
    AgentId, AgentInfo, AgentKind, CacheInfo, CacheKind, GpuInfo, HeapKind, LinkInfo, LinkKind,
    MemoryBank, Name, SkipReason, SkippedAgent, Topology, TopologyError,
};
pub use trace::Trace;
pub use virtual_memory::{ImportedMemory, MappedMemory, MemoryAccess, VirtualMemory};
pub use wrap::{Call, Hook, Verdict, Wrap};

crate::impl_error!(
    TopologyError,
    MemoryError,
    QueueCreateError,
    EventError,
    NotSupported,
    DmaError,
    SvmError
);

/// Everything that the runtime asks of a backend.
///
/// Implemented for whatever implements the parts; there is nothing to write.
pub trait Backend:
    Topology
    + Memory
    + Queues
    + Events
    + Clock
    + Dma
    + Ipc
    + Svm
    + VirtualMemory
    + Debug
    + Profiling
    + Send
    + Sync
{
}

impl<T> Backend for T where
    T: Topology
        + Memory
        + Queues
        + Events
        + Clock
        + Dma
        + Ipc
        + Svm
        + VirtualMemory
        + Debug
        + Profiling
        + Send
        + Sync
        + ?Sized
{
}
