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
pub use events::*;
pub use lock::{Lock, LockGuard};
pub use park::{Park, SpinPark};
pub use queues::QueueHandle;
pub use topology::AgentId;

mod queues {
    pub use rukh_core::backend::QueueHandle;
}
mod topology {
    pub use rukh_core::backend::AgentId;
}

/// The parts of the seam that waiting needs.
pub trait Backend: Events + Clock + Send + Sync {}
impl<T: Events + Clock + Send + Sync> Backend for T {}
