//! Sleeping until a device has something to say.
//!
//! A device that has changed a signal writes an event id to the signal's mailbox and raises the
//! event. Events are few; signals are many, so the runtime binds many signals to one event, and
//! one thread at a time (whichever waits first) sleeps here on behalf of all that wait.

use super::park::{Park, SpinPark};
use super::queues::QueueHandle;
use super::topology::AgentId;
use crate::queue::QueueStatus;
use thiserror_no_std::Error;

/// An event. Ids are small numbers that a device writes to a mailbox.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventId(pub u32);

impl core::fmt::Display for EventId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// What raises an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A device's interrupt, or [`Events::set_event`].
    Signal,
    /// A memory fault on any agent. Reported with [`EventReport::Memory`].
    MemoryFault,
    /// A hardware exception on any agent. Reported with [`EventReport::Hardware`].
    HardwareException,
}

/// How long to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// Do not sleep.
    Poll,
    /// Until [`Clock::now`](super::Clock::now) reaches this many nanoseconds.
    At(u64),
    /// As long as it takes.
    Never,
}

/// Which of several events end a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitMode {
    /// Any of them.
    Any,
    /// All of them.
    All,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventOutcome {
    /// The events were raised.
    Raised,
    /// The time was over. Also the answer of a wait that ended early for no reason.
    TimedOut,
}

/// A memory fault as the hardware reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryFaultInfo {
    /// The page's address.
    pub address: u64,
    /// The page is not mapped to the agent.
    pub not_present: bool,
    /// A write to a page that is read-only.
    pub read_only: bool,
    /// An execution of a page that is not executable.
    pub no_execute: bool,
    /// The address may be imprecise.
    pub imprecise: bool,
    /// The queue whose packet it was, if the backend can tell: it alone is stopped. Hardware cannot, and
    /// all queues of the agent are.
    pub queue: Option<QueueHandle>,
}

/// A hardware exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HardwareEvent {
    /// Kind of reset: 0 whole GPU, 1 one engine.
    pub reset_kind: u32,
    /// What was lost.
    pub cause: u32,
    /// Whether memory was lost.
    pub memory_lost: bool,
}

/// What came with a raised event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventReport {
    /// A memory fault on an agent.
    Memory(AgentId, MemoryFaultInfo),
    /// A hardware exception on an agent.
    Hardware(AgentId, HardwareEvent),
    /// A queue was stopped, and the driver says why: newer packet processors report to it instead of to the queue's
    /// inactive signal.
    Queue(QueueHandle, QueueStatus),
}

/// Why an event cannot be had or waited for.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EventError {
    /// All events are taken.
    #[error("all {limit} events are in use")]
    NoneLeft {
        /// How many there are.
        limit: u32,
    },
    /// No such event, or one of a kind that cannot be set.
    #[error("there is no event {0} to do this with")]
    NoEvent(EventId),
    /// The event was destroyed during the wait.
    #[error("event {0} was destroyed during the wait")]
    Destroyed(EventId),
    /// The operating system refused.
    #[error("{call} failed with errno {errno}")]
    Os {
        /// The call that failed.
        call: &'static str,
        /// What the system answered.
        errno: i32,
    },
    /// The backend does not do this.
    #[error("this backend does not support {0}")]
    NotSupported(&'static str),
}

/// Creates events and sleeps on them.
///
/// An event that is raised while nobody waits for it stays raised for the next wait, which
/// consumes it (auto-reset). One that is raised while several wait wakes all of them.
pub trait Events {
    /// How host threads sleep while another one is in [`Events::wait_events`] for them. The
    /// default does not sleep; systems with threads give a futex, or
    /// `StdPark` of feature `std`.
    fn parker(&self) -> &dyn Park {
        &SpinPark
    }

    /// Creates an event.
    ///
    /// # Errors
    /// See [`EventError`].
    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError>;

    /// Destroys an event; waits on it end.
    ///
    /// # Errors
    /// [`EventError::NoEvent`].
    fn destroy_event(&self, event: EventId) -> Result<(), EventError>;

    /// Address of the 64-bit mailbox that a device writes the event's id to before it raises
    /// it, or 0 if devices of this backend raise by id alone.
    fn mailbox(&self, event: EventId) -> u64;

    /// Raises an event of kind [`EventKind::Signal`] from the host.
    ///
    /// # Errors
    /// [`EventError::NoEvent`].
    fn set_event(&self, event: EventId) -> Result<(), EventError>;

    /// Sleeps until events are raised. May end early with [`EventOutcome::TimedOut`]. A backend
    /// whose devices only make progress when called (the software GPU in step mode, a kernel
    /// that polls) makes it here.
    ///
    /// # Errors
    /// See [`EventError`].
    fn wait_events(
        &self,
        events: &[EventId],
        mode: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError>;
}
