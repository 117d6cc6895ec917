//! The host's clock.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_BOOTTIME in nanoseconds: the clock that the driver pairs with a GPU's counter.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
