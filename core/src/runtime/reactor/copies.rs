//! Copies by engines that nobody waits for in a call: who is told if an engine does not do them.
//!
//! An engine counts a copy's signal down by itself. One that stops at a fault, or is lost without a word, counts nothing,
//! and whoever waits for the signal would wait for ever. So each copy that is under way is written down here, and looked
//! after by whoever serves the queues, which every sleeping waiter does now and then: a copy that the backend
//! has lost sets its signal to -1, as the specification of asynchronous copies says of errors.

use super::Reactor;
use crate::backend::{AgentId, Backend, DmaProgress, DmaTicket};
use crate::config::POLL_NS;
use crate::signal::{MemoryOrder, SignalHandle, SignalOps, SignalSlot};
use crate::sync::{AtomicU32, Ordering};
use alloc::vec::Vec;

/// A copy that an engine was given.
#[derive(Debug)]
pub(crate) struct Flight {
    agent: AgentId,
    ticket: DmaTicket,
    signal: SignalHandle,
    /// The signal's slot may be another's by the time that the copy fails.
    generation: u32,
}

impl Flight {
    /// A copy that was submitted, and the signal that it counts down.
    pub fn new(agent: AgentId, ticket: DmaTicket, slot: &SignalSlot) -> Self {
        Self {
            agent,
            ticket,
            signal: slot.handle(),
            generation: slot.generation.load(Ordering::Acquire),
        }
    }
}

/// Nanoseconds between two looks at the copies that are under way, but after faults.
const SWEEP_NS: u64 = 10_000_000;

/// Copies in the list from which on it is looked through for those that are done when others come.
const MANY: usize = 16;

/// What an engine's failure leaves in the signal of a copy.
const FAILED: i64 = -1;

impl<B: Backend + ?Sized> Reactor<B> {
    /// Looks after a copy until it has ended. If its engine has been given up already, its signal says so on return.
    pub fn look_after(&self, flight: Flight) {
        // Once it is in the list, whoever hears of a fault finds it; what was given up before that is seen here.
        let (agent, ticket) = (flight.agent, flight.ticket);
        let mut copies = self.copies.lock(self.park());
        copies.push(flight);
        let count = copies.len();
        self.copy_count.store(count, Ordering::Release);
        drop(copies);
        let lost = self.backend.dma_progress(agent, ticket) == DmaProgress::Lost;
        // Those that are done are forgotten now and then.
        if lost || count >= MANY && count.is_power_of_two() {
            self.sweep_copies();
        }
    }

    /// As [`sweep_copies`](Self::sweep_copies), if it was not done just now.
    pub fn serve_copies(&self) {
        if self.copy_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let now = self.backend.now();
        let due = self.copies_due.load(Ordering::Relaxed);
        if now >= due || due - now > SWEEP_NS {
            self.copies_due
                .store(now.saturating_add(SWEEP_NS), Ordering::Relaxed);
            self.sweep_copies();
        }
    }

    /// Forgets the copies that are done, and has those that are lost fail.
    pub fn sweep_copies(&self) {
        if self.copy_count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut lost = Vec::new();
        let mut copies = self.copies.lock(self.park());
        copies.retain(|flight| {
            match self.backend.dma_progress(flight.agent, flight.ticket) {
                DmaProgress::UnderWay => return true,
                DmaProgress::Done => {}
                DmaProgress::Lost => lost.push((flight.signal, flight.generation)),
            }
            false
        });
        self.copy_count.store(copies.len(), Ordering::Release);
        drop(copies);
        for (signal, generation) in lost {
            if let Ok(slot) = self.slot(signal)
                && slot.generation.load(Ordering::Acquire) == generation
            {
                slot.signal.store(FAILED, MemoryOrder::Release);
                self.wake_after_store(slot);
            }
        }
    }

    /// After a fault of an agent's that names no queue: what its engines were at is lost.
    pub fn lose_copies(&self, agent: AgentId) {
        self.backend.abandon_dma(agent);
        self.sweep_copies();
    }

    /// Waits until no engine has a copy of this runtime's: before the memory of its signals goes. Ends, since an engine that
    /// does not get on is given up.
    pub fn finish_copies(&self) {
        loop {
            self.sweep_copies();
            if self.copy_count.load(Ordering::Acquire) == 0 {
                return;
            }
            // Nobody else is there any more to hear of a fault.
            self.poll_events();
            self.backend.relax();
            self.park().park(&AtomicU32::new(0), 0, Some(POLL_NS));
        }
    }
}
