//! A queue of any kind: what the table of queues and the backend do with all of them.

use super::pm4::Pm4Queue;
use super::queue::{Queue, Served};
use crate::device::System;
use crate::sdma::SdmaQueue;
use alloc::boxed::Box;
use rukh_core::backend::{QueueHandle, QueuePriority};

/// A queue.
pub(crate) enum AnyQueue {
    /// AQL packets.
    Aql(Box<Queue>),
    /// SDMA packets.
    Sdma(Box<SdmaQueue>),
    /// PM4 commands.
    Pm4(Box<Pm4Queue>),
}

impl AnyQueue {
    pub(crate) fn handle(&self) -> QueueHandle {
        match self {
            Self::Aql(queue) => queue.handle,
            Self::Sdma(queue) => queue.handle,
            Self::Pm4(queue) => queue.handle,
        }
    }

    /// Index of its GPU among the system's.
    pub(crate) fn gpu(&self) -> usize {
        match self {
            Self::Aql(queue) => queue.gpu,
            Self::Sdma(queue) => queue.gpu,
            Self::Pm4(queue) => queue.gpu,
        }
    }

    /// The SDMA engine that it is on.
    pub(crate) fn engine(&self) -> Option<usize> {
        match self {
            Self::Aql(_) | Self::Pm4(_) => None,
            Self::Sdma(queue) => Some(queue.engine),
        }
    }

    /// Does what can be done now.
    pub(crate) fn service(&mut self, system: &System, doorbell: u64) -> Served {
        match self {
            Self::Aql(queue) => queue.service(system, doorbell),
            Self::Sdma(queue) => queue.service(system, doorbell),
            Self::Pm4(queue) => queue.service(system, doorbell),
        }
    }

    /// Abandons everything.
    pub(crate) fn abandon(&mut self) {
        match self {
            Self::Aql(queue) => queue.abandon(),
            Self::Sdma(queue) => queue.abandon(),
            Self::Pm4(queue) => queue.abandon(),
        }
    }

    /// Whether nothing is under way outside of [`Self::service`].
    pub(crate) fn is_drained(&self) -> bool {
        match self {
            Self::Aql(queue) => queue.is_drained(),
            Self::Sdma(_) => true,
            Self::Pm4(queue) => queue.is_drained(),
        }
    }

    pub(crate) fn update(&mut self, active: bool, priority: QueuePriority) {
        match self {
            Self::Aql(queue) => (queue.active, queue.priority) = (active, priority),
            // An engine's queues take turns, whatever their priorities.
            Self::Sdma(queue) => queue.active = active,
            Self::Pm4(queue) => (queue.active, queue.priority) = (active, priority),
        }
    }

    /// Restricts it to so many compute units, if it uses any.
    pub(crate) fn set_compute_units(&mut self, count: u32) {
        match self {
            Self::Aql(queue) => queue.compute_units = count,
            Self::Sdma(_) => {}
            Self::Pm4(queue) => queue.compute_units = count,
        }
    }
}
