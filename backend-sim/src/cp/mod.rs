//! The packet processor: consumes AQL queues.
//!
//! A queue's packets are read once each, in order, checked, and launched: a dispatch goes to the
//! scheduler, everything else is done here. Packets without the barrier bit run beside each other;
//! their slots in the ring are given back in order all the same, so that a kernel can read its own
//! packet for as long as it runs.

mod any;
mod memory;
mod pm4;
mod queue;
mod scratch;
mod table;

pub(crate) use any::AnyQueue;
pub(crate) use memory::QueueMemory;
pub(crate) use pm4::Pm4Queue;
pub(crate) use queue::{Queue, Served};
pub(crate) use scratch::ScratchSlots;
#[cfg(feature = "std")]
pub(crate) use table::NOT_RUNG;
pub(crate) use table::QueueTable;
