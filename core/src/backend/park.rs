//! Putting a thread of the host to sleep until another one wakes it.

use crate::sync::{AtomicU32, Ordering, fence, spin_loop};

/// How host threads sleep, given by [`Events::parker`](super::Events::parker).
///
/// A word in memory and a place to sleep by its address, as a futex gives it. The
/// caller always re-checks what it waits for, so a park may end early for no reason.
pub trait Park: Send + Sync {
    /// Sleeps if `word` holds `expected`, until [`Park::unpark`] is called with its address or, if
    /// given, that many nanoseconds have passed. The check and falling asleep must be
    /// one step for an `unpark` that follows a change of the word.
    fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>);

    /// Wakes all threads that sleep on this word. The word may be gone already: only its
    /// address counts.
    fn unpark(&self, word: *const AtomicU32);

    /// Whether [`Park::heavy_barrier`] reaches all threads. The same answer at every call.
    fn has_heavy_barrier(&self) -> bool {
        false
    }

    /// If [`Park::has_heavy_barrier`]: when this returns, every thread of the process has
    /// passed a full memory barrier since it was called (membarrier on Linux, an
    /// interrupt to all processors in a kernel). Stores to signals then need no fence of their
    /// own, and the waiter that is about to sleep pays. Otherwise a fence of this thread.
    fn heavy_barrier(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Does not sleep at all: for kernels without a scheduler, and for one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinPark;

impl Park for SpinPark {
    fn park(&self, _: &AtomicU32, _: u32, _: Option<u64>) {
        spin_loop();
    }

    fn unpark(&self, _: *const AtomicU32) {}
}

#[cfg(feature = "std")]
mod threads {
    use super::{AtomicU32, Ordering, Park};
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    const BUCKETS: usize = 64;

    /// Sleeps on the standard library's mutexes and condition variables, by address.
    #[derive(Debug)]
    pub struct StdPark {
        buckets: [(Mutex<()>, Condvar); BUCKETS],
    }

    impl StdPark {
        /// A place to sleep.
        pub const fn new() -> Self {
            Self {
                buckets: [const { (Mutex::new(()), Condvar::new()) }; BUCKETS],
            }
        }

        fn bucket(&self, word: *const AtomicU32) -> &(Mutex<()>, Condvar) {
            // Words are aligned to 4 and often sit in structures of 64 bytes and more: mix the bits.
            let hash = (word.addr() as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            &self.buckets[(hash >> 58) as usize]
        }
    }

    impl Default for StdPark {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Park for StdPark {
        fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) {
            let (mutex, condition) = self.bucket(word);
            let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
            // An unpark comes after its change of the word and takes the mutex: either the change is
            // seen here, or the unpark finds this thread asleep.
            if word.load(Ordering::SeqCst) != expected {
                return;
            }
            match nanoseconds {
                None => drop(condition.wait(guard)),
                Some(ns) => drop(condition.wait_timeout(guard, Duration::from_nanos(ns))),
            }
        }

        fn unpark(&self, word: *const AtomicU32) {
            let (mutex, condition) = self.bucket(word);
            drop(mutex.lock().unwrap_or_else(PoisonError::into_inner));
            condition.notify_all();
        }
    }
}
#[cfg(feature = "std")]
pub use threads::StdPark;
