//! The lock of slow paths: the operating system's with `std`, a spin lock without.

#[cfg(feature = "std")]
mod imp {
    use std::sync::{Mutex as StdMutex, MutexGuard, PoisonError, TryLockError};

    /// A mutual exclusion lock that a panicking holder does not poison: what it guards is kept
    /// consistent at every step.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(StdMutex<T>);

    impl<T> Mutex<T> {
        /// A lock around `value`.
        pub const fn new(value: T) -> Self {
            Self(StdMutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// The value, of a lock that nobody else can hold.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
        }

        /// The lock, unless somebody has it.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }
}

#[cfg(not(feature = "std"))]
mod imp {
    /// A mutual exclusion lock.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(spin::Mutex<T>);

    impl<T> Mutex<T> {
        /// A lock around `value`.
        pub const fn new(value: T) -> Self {
            Self(spin::Mutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> spin::MutexGuard<'_, T> {
            self.0.lock()
        }

        /// The value, of a lock that nobody else can hold.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        /// The lock, unless somebody has it.
        pub fn try_lock(&self) -> Option<spin::MutexGuard<'_, T>> {
            self.0.try_lock()
        }
    }
}

pub(crate) use imp::Mutex;
