//! The devices of a simulated system, and what they share.

mod clock;
mod engines;
mod events;
mod fault;
mod system;

pub(crate) use clock::SimClock;
pub(crate) use engines::NoEngine;
pub(crate) use events::{MAX_EVENTS, Wait};
pub use fault::{FaultCause, FaultReport, PacketError, QueueCode, WaveFault};
pub(crate) use system::{Gpu, Interrupts, System};
