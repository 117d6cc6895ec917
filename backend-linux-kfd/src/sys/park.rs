//! Sleeping on futexes.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use rukh_core::backend::Park;
use rustix::thread::{MembarrierCommand, futex, membarrier};
use rustix::time::Timespec;

const BUCKETS: usize = 64;

#[derive(Debug)]
struct Bucket {
    /// Changes at each unpark of an address that belongs here.
    turn: AtomicU32,
    /// Threads that sleep or are about to.
    sleepers: AtomicU32,
}

/// Sleeps by address on futexes of its own.
///
/// Addresses share a fixed number of futex words, because a word that is woken may be gone already
/// while the buckets never are. Two addresses in one bucket cost a wake-up for nothing.
#[derive(Debug)]
pub struct FutexPark {
    buckets: [Bucket; BUCKETS],
    membarrier: bool,
}

impl Default for FutexPark {
    fn default() -> Self {
        Self::new()
    }
}

impl FutexPark {
    /// A place to sleep. Registers the process for expedited memory barriers where the kernel has them.
    pub fn new() -> Self {
        Self {
            buckets: [const {
                Bucket {
                    turn: AtomicU32::new(0),
                    sleepers: AtomicU32::new(0),
                }
            }; BUCKETS],
            membarrier: membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok(),
        }
    }

    fn bucket(&self, word: *const AtomicU32) -> &Bucket {
        // Words are 4-byte aligned; multiplying spreads neighbours over the buckets.
        let hash = (word.addr() as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.buckets[(hash >> 58) as usize]
    }
}

impl Park for FutexPark {
    fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) {
        let bucket = self.bucket(word);
        let timeout = nanoseconds.map(|ns| Timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        bucket.sleepers.fetch_add(1, Ordering::SeqCst);
        // The turn before the word: an unpark changes the word (its caller did), then the turn, then looks
        // for sleepers. Either the word is seen changed here, or the turn changes after it was read, and then
        // the kernel refuses to sleep on the old turn or the unpark sees the sleeper and wakes it.
        let turn = bucket.turn.load(Ordering::SeqCst);
        if word.load(Ordering::SeqCst) == expected {
            // Any answer is a reason to look again: woken, late, changed already, interrupted.
            let _ = futex::wait(&bucket.turn, futex::Flags::PRIVATE, turn, timeout.as_ref());
        }
        bucket.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn unpark(&self, word: *const AtomicU32) {
        let bucket = self.bucket(word);
        bucket.turn.fetch_add(1, Ordering::SeqCst);
        if bucket.sleepers.load(Ordering::SeqCst) != 0 {
            let _ = futex::wake(&bucket.turn, futex::Flags::PRIVATE, i32::MAX as u32);
        }
    }

    fn has_heavy_barrier(&self) -> bool {
        self.membarrier
    }

    fn heavy_barrier(&self) {
        if !self.membarrier || membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // Not registered: then nobody was promised more than a fence.
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_sleeper_is_woken_by_the_address_of_its_word() {
        let park = Arc::new(FutexPark::new());
        let word = Arc::new(AtomicU32::new(0));
        let sleeper = {
            let (park, word) = (park.clone(), word.clone());
            thread::spawn(move || {
                while word.load(Ordering::Acquire) == 0 {
                    park.park(&word, 0, None);
                }
            })
        };
        thread::sleep(Duration::from_millis(20));
        word.store(1, Ordering::Release);
        park.unpark(&*word);
        sleeper.join().unwrap();
    }

    #[test]
    fn a_park_ends_when_its_time_is_over_or_its_word_has_changed() {
        let park = FutexPark::new();
        let word = AtomicU32::new(7);
        let start = Instant::now();
        park.park(&word, 7, Some(5_000_000));
        assert!(start.elapsed() >= Duration::from_millis(5));
        park.park(&word, 8, None);
    }
}
