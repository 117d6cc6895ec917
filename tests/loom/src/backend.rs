//! What core's files name: locks, parking, events and time.

#[path = "../../../core/src/backend/clock.rs"]
mod clock;
#[path = "../../../core/src/backend/events.rs"]
mod events;
#[path = "../../../core/src/backend/lock.rs"]
mod lock;
#[path = "../../../core/src/backend/park.rs"]
mod park;

pub use clock::{Clock, ClockCounters};
pub use dma::{DmaProgress, DmaTicket};
pub use events::*;
pub use lock::{Lock, LockGuard};
pub use park::{Park, SpinPark};
pub use queues::{QueueHandle, QueuePriority, QueueUpdate};
pub use topology::AgentId;

mod dma {
    pub use rukh_core::backend::{DmaProgress, DmaTicket};
}
mod queues {
    pub use rukh_core::backend::{QueueHandle, QueuePriority, QueueUpdate};
}
mod topology {
    pub use rukh_core::backend::AgentId;
}

/// What core asks of hardware queues when it serves one.
pub trait Queues {
    /// Stops it or has it go on.
    #[allow(clippy::missing_errors_doc, clippy::result_unit_err)]
    fn update_queue(&self, queue: QueueHandle, update: &QueueUpdate) -> Result<(), ()>;

    /// Ends it.
    #[allow(clippy::missing_errors_doc, clippy::result_unit_err)]
    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), ()>;

    /// Whether it has not been destroyed yet: for the models.
    fn queue_is_there(&self, queue: QueueHandle) -> bool;
}

/// What core asks of engines that copy.
pub trait Dma {
    /// How far a copy is.
    fn dma_progress(&self, agent: AgentId, ticket: DmaTicket) -> DmaProgress;

    /// Has all copies be lost that are not done.
    fn abandon_dma(&self, agent: AgentId);
}

/// The parts of the seam that waiting, calling back, serving queues and looking after copies need.
pub trait Backend: Events + Clock + Queues + Dma + Send + Sync {}
impl<T: Events + Clock + Queues + Dma + Send + Sync> Backend for T {}
