//! Time: the host's, or, in step mode, a clock that advances with the work done.

use core::sync::atomic::{AtomicU64, Ordering};

/// Where time comes from.
pub(crate) enum SimClock {
    /// The host's monotonic clock.
    #[cfg(feature = "std")]
    Host,
    /// Nanoseconds that have been made to pass: one for each instruction, and one for each look.
    Virtual(AtomicU64),
}

impl SimClock {
    /// A virtual clock. It does not start at zero, which clients take for "no time".
    pub(crate) const fn virtual_from_start() -> Self {
        Self::Virtual(AtomicU64::new(1_000_000_000))
    }

    /// Nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        match self {
            #[cfg(feature = "std")]
            Self::Host => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
            }
            Self::Virtual(now) => now.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// So much work has been done.
    pub(crate) fn tick(&self, work: u64) {
        match self {
            #[cfg(feature = "std")]
            Self::Host => {}
            Self::Virtual(now) => {
                now.fetch_add(work, Ordering::Relaxed);
            }
        }
    }

    /// Nothing will happen before `time`: a virtual clock goes there at once.
    pub(crate) fn skip_to(&self, time: u64) {
        match self {
            #[cfg(feature = "std")]
            Self::Host => {}
            Self::Virtual(now) => {
                now.fetch_max(time, Ordering::Relaxed);
            }
        }
    }
}
