//! A lock that sleeps as the backend's threads sleep.

use super::park::Park;
use crate::config::LOCK_SPINS;
use crate::sync::{AtomicU32, Ordering, spin_loop};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A mutual exclusion lock over [`Park`]: it spins where nothing sleeps and sleeps where threads
/// can be preempted, so that a preempted holder does not stall a spinning core.
///
/// Takes the parker at each call, because the lock may live where the backend does not.
#[derive(Debug, Default)]
pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached through a guard, and at most one guard exists (state leaves
// FREE once per guard). Handing the lock to another thread hands over a T, hence T: Send.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock, waiting for it. Not recursive.
    pub fn lock<'a>(&'a self, park: &'a dyn Park) -> LockGuard<'a, T> {
        if self
            .state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.wait(park);
        }
        LockGuard { lock: self, park }
    }

    /// Takes the lock if it is free.
    pub fn try_lock<'a>(&'a self, park: &'a dyn Park) -> Option<LockGuard<'a, T>> {
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| LockGuard { lock: self, park })
    }

    /// The value, when nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[cold]
    fn wait(&self, park: &dyn Park) {
        for _ in 0..LOCK_SPINS {
            if self.state.load(Ordering::Relaxed) == FREE
                && self
                    .state
                    .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            spin_loop();
        }
        // Whoever takes the lock here leaves it CONTENDED, for it cannot know whether others sleep.
        while self.state.swap(CONTENDED, Ordering::Acquire) != FREE {
            park.park(&self.state, CONTENDED, None);
        }
    }
}

/// The locked value.
#[must_use]
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    park: &'a dyn Park,
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock, so no other guard and no `get_mut` exists.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard itself is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    fn drop(&mut self) {
        let word: *const AtomicU32 = &self.lock.state;
        if self.lock.state.swap(FREE, Ordering::Release) == CONTENDED {
            self.park.unpark(word);
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::backend::{SpinPark, StdPark};
    use std::thread;

    fn excludes(park: &dyn Park) {
        let lock = Lock::new(0u64);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        let mut value = lock.lock(park);
                        let seen = *value;
                        core::hint::black_box(seen);
                        *value = seen + 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock(park), 20_000);
    }

    #[test]
    fn threads_exclude_each_other_whether_they_spin_or_sleep() {
        excludes(&StdPark::new());
        excludes(&SpinPark);
    }

    #[test]
    fn a_held_lock_is_not_taken_twice() {
        let lock = Lock::new(());
        let guard = lock.lock(&SpinPark);
        assert!(lock.try_lock(&SpinPark).is_none());
        drop(guard);
        assert!(lock.try_lock(&SpinPark).is_some());
    }
}
