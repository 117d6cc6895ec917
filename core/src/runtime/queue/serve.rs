//! What the reactor does for a queue: it gives the scratch that the packet processor asks for, and stops the queue for
//! good when something has gone wrong. Any thread that waits may do so, several at once, while another destroys it.

use super::QueueInner;
use crate::backend::{Backend, QueueUpdate};
use crate::queue::{Inactive, QueueStatus, RingMemory};
use crate::runtime::reactor::service::Pending;
use crate::signal::{MemoryOrder, SignalOps};
use crate::sync::Ordering;

impl<B: Backend + ?Sized> QueueInner<B> {
    /// Looks at the inactive signal and does what it asks for.
    pub fn serve(&self) {
        let Ok(slot) = self.reactor.slot(self.inactive) else {
            return;
        };
        if slot.signal.load(MemoryOrder::Relaxed) == 0 {
            return;
        }
        // One thread at a time; and not once the hardware queue is gone, whose scratch would be freed.
        let mut scratch = self.scratch.lock(self.reactor.park());
        if self.failed.load(Ordering::Acquire) {
            return;
        }
        let outcome = match Inactive::decode(slot.signal.load(MemoryOrder::Acquire)) {
            Inactive::Running => return,
            Inactive::Failed(status) => Err(status),
            Inactive::Reclaim => {
                scratch.reclaim(self.amd_queue());
                Ok(())
            }
            Inactive::Scratch(request) => scratch.provide(&self.reactor, &self.ring, request),
        };
        match outcome {
            Ok(()) => {
                // The packet processor goes on when it sees 0; the doorbell makes one look that sleeps.
                // Under the lock, which whoever destroys the queue, and its doorbell, takes first.
                slot.signal.store(0, MemoryOrder::Release);
                let write = self.ring.write_index(MemoryOrder::Relaxed);
                self.ring.memory().ring_doorbell(write.wrapping_sub(1));
                drop(scratch);
            }
            Err(status) => {
                drop(scratch);
                self.fail(status);
            }
        }
    }

    /// Marks the queue as stopped for good, stops the hardware, wakes who waits for its packets
    /// and has its callback called. Does nothing the second time.
    pub fn fail(&self, status: QueueStatus) {
        if !self.set_status(status) {
            return;
        }
        {
            let hardware = self.hardware.lock(self.reactor.park());
            if let Some(queue) = *hardware {
                let update = QueueUpdate {
                    active: false,
                    priority: *self.priority.lock(self.reactor.park()),
                };
                if self.reactor.backend.update_queue(queue, &update).is_err() {
                    crate::trace::event!(warn, "queue {} could not be deactivated", self.id);
                }
            }
        }
        self.announce();
        let callback = self.callback.lock(self.reactor.park()).take();
        match callback {
            Some(callback) => self
                .reactor
                .make_due(Pending::Queue(callback, self.failure(status))),
            None => crate::trace::event!(error, "queue {} was stopped by an error", self.id),
        }
    }

    fn set_status(&self, new: QueueStatus) -> bool {
        let mut status = self.status.lock(self.reactor.park());
        if status.is_some() {
            return false;
        }
        *status = Some(new);
        self.failed.store(true, Ordering::Release);
        true
    }

    fn announce(&self) {
        if let Ok(slot) = self.reactor.slot(self.failure) {
            slot.signal.store(1, MemoryOrder::Release);
            self.reactor.wake_after_store(slot);
        }
    }

    /// Destroys the hardware queue: afterwards the device touches none of its memory.
    pub(super) fn stop(&self) {
        self.set_status(QueueStatus::Destroyed);
        // Waits for a thread that is serving the queue; none begins any more.
        drop(self.scratch.lock(self.reactor.park()));
        let queue = self.hardware.lock(self.reactor.park()).take();
        if let Some(queue) = queue {
            self.reactor.free_doorbell(self.doorbell_index);
            self.reactor.queue_count.fetch_sub(1, Ordering::AcqRel);
            if self.reactor.backend.destroy_queue(queue).is_err() {
                crate::trace::event!(error, "queue {} could not be destroyed", self.id);
            } else {
                let mut scratch = self.scratch.lock(self.reactor.park());
                scratch.reclaim(self.amd_queue());
            }
            self.announce();
        }
        let kept = core::mem::take(&mut *self.kept.lock(self.reactor.park()));
        drop(kept);
    }
}
