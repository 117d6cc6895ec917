//! Workers that have nothing to do sleep; whoever brings work wakes them without taking a lock.

#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU64, Ordering};

/// Workers at most.
pub(crate) const MAX_WORKERS: usize = 256;

/// Which workers sleep.
#[derive(Default)]
pub(crate) struct Parking {
    #[cfg(feature = "std")]
    sleeping: [AtomicU64; MAX_WORKERS / 64],
    #[cfg(feature = "std")]
    threads: std::sync::OnceLock<std::vec::Vec<std::thread::Thread>>,
}

#[cfg(not(feature = "std"))]
impl Parking {
    pub(crate) fn wake(&self, _count: u64) {}
}

#[cfg(feature = "std")]
impl Parking {
    /// The workers' threads, by their number. Once.
    pub(crate) fn set_threads(&self, threads: std::vec::Vec<std::thread::Thread>) {
        let _ = self.threads.set(threads);
    }

    /// Wakes up to `count` sleeping workers. What they are woken for must have been stored
    /// before, with sequential consistency or a fence.
    pub(crate) fn wake(&self, count: u64) {
        let mut left = count;
        for (word, bits) in self.sleeping.iter().enumerate() {
            while left > 0 {
                let seen = bits.load(Ordering::SeqCst);
                if seen == 0 {
                    break;
                }
                let bit = seen.trailing_zeros();
                if bits.fetch_and(!(1 << bit), Ordering::SeqCst) & 1 << bit == 0 {
                    continue;
                }
                left -= 1;
                if let Some(thread) = self
                    .threads
                    .get()
                    .and_then(|threads| threads.get(word * 64 + bit as usize))
                {
                    thread.unpark();
                }
            }
        }
    }

    /// Sleeps until woken, or until `timeout` is over, unless `idle` (looked at after the worker
    /// is marked as sleeping) says that there is work.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        timeout: Option<core::time::Duration>,
        idle: impl FnOnce() -> bool,
    ) {
        let bits = &self.sleeping[worker / 64];
        let bit = 1u64 << (worker % 64);
        bits.fetch_or(bit, Ordering::SeqCst);
        if idle() {
            match timeout {
                Some(timeout) => std::thread::park_timeout(timeout),
                None => {
                    while bits.load(Ordering::SeqCst) & bit != 0 {
                        std::thread::park();
                    }
                }
            }
        }
        bits.fetch_and(!bit, Ordering::SeqCst);
    }
}
