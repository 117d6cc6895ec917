//! Memory and queues may go away only when no worker can still be using them.
//!
//! A worker publishes the epoch in which each of its turns began. Whoever takes something away
//! advances the epoch afterwards, and waits, or comes back later, until every worker is between turns
//! or has begun one since.

use super::park::MAX_WORKERS;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};

#[repr(align(64))]
struct Turn(AtomicU64);

pub(crate) struct Quiescence {
    epoch: AtomicU64,
    /// The epoch of each worker's turn; 0 between turns.
    turns: Box<[Turn]>,
}

impl Quiescence {
    /// For so many workers, at least one.
    pub(crate) fn new(workers: usize) -> Self {
        let workers = workers.clamp(1, MAX_WORKERS);
        Self {
            epoch: AtomicU64::new(1),
            turns: (0..workers).map(|_| Turn(AtomicU64::new(0))).collect(),
        }
    }

    /// A worker's turn begins.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        // The store must be visible before anything that the turn reads.
        self.turns[worker].0.swap(epoch, Ordering::SeqCst);
    }

    /// It is over.
    #[inline]
    pub(crate) fn leave(&self, worker: usize) {
        self.turns[worker].0.store(0, Ordering::Release);
    }

    /// Something was taken away before this call: gives the epoch to pass to [`Self::passed`].
    pub(crate) fn advance(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether no turn is left that began before the epoch.
    pub(crate) fn passed(&self, epoch: u64) -> bool {
        self.turns.iter().all(|turn| {
            let began = turn.0.load(Ordering::SeqCst);
            began == 0 || began >= epoch
        })
    }

    /// Waits for [`Self::passed`].
    pub(crate) fn wait(&self, epoch: u64) {
        while !self.passed(epoch) {
            // A turn takes longer than it makes sense to spin.
            #[cfg(feature = "std")]
            std::thread::yield_now();
            core::hint::spin_loop();
        }
    }
}
