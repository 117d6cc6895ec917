//! Waiting by looking at the value.

use super::ops::{MemoryOrder, SignalOps};
use crate::backend::{Clock, Timeout};
use crate::wire::signal::{AmdSignal, Condition};

/// How a spin ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinOutcome {
    /// The condition held for this value. What was written before the value was is visible.
    Met(i64),
    /// The time was over; the value last seen.
    TimedOut(i64),
}

/// Looks until `(value condition compare)` holds or the time is over, letting devices that need
/// it make progress in between ([`Clock::relax`]).
///
/// Looks once whatever the timeout. The clock is read at every 64th look only.
pub fn spin_wait<C: Clock + ?Sized>(
    signal: &AmdSignal,
    condition: Condition,
    compare: i64,
    timeout: Timeout,
    clock: &C,
) -> SpinOutcome {
    let mut looks = 0u32;
    loop {
        let value = signal.load(MemoryOrder::Acquire);
        if condition.holds(value, compare) {
            return SpinOutcome::Met(value);
        }
        match timeout {
            Timeout::Poll => return SpinOutcome::TimedOut(value),
            Timeout::At(deadline) if looks.is_multiple_of(64) && clock.now() >= deadline => {
                return SpinOutcome::TimedOut(value);
            }
            Timeout::At(_) | Timeout::Never => {}
        }
        looks = looks.wrapping_add(1);
        clock.relax();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{AgentId, ClockCounters};
    use crate::signal::slot::SignalSlot;
    use core::sync::atomic::{AtomicU64, Ordering};

    /// A clock that only moves when somebody relaxes, and a device that decrements then.
    struct Device<'a> {
        time: AtomicU64,
        signal: &'a AmdSignal,
    }

    impl Clock for Device<'_> {
        fn now(&self) -> u64 {
            self.time.load(Ordering::Relaxed)
        }
        fn counters(&self, _: AgentId) -> ClockCounters {
            ClockCounters::default()
        }
        fn device_frequency(&self, _: AgentId) -> u64 {
            1
        }
        fn relax(&self) {
            self.time.fetch_add(10, Ordering::Relaxed);
            self.signal.subtract(1, MemoryOrder::Release);
        }
    }

    #[test]
    fn a_device_that_moves_only_when_asked_completes_a_spin() {
        let slot = SignalSlot::new();
        slot.signal.store(500, MemoryOrder::Relaxed);
        let device = Device {
            time: AtomicU64::new(0),
            signal: &slot.signal,
        };
        let outcome = spin_wait(&slot.signal, Condition::Lt, 1, Timeout::Never, &device);
        assert_eq!(outcome, SpinOutcome::Met(0));
    }

    #[test]
    fn a_spin_ends_at_its_deadline_with_the_value_last_seen() {
        let slot = SignalSlot::new();
        let device = Device {
            time: AtomicU64::new(0),
            signal: &slot.signal,
        };
        let outcome = spin_wait(&slot.signal, Condition::Eq, 1, Timeout::At(1000), &device);
        assert!(matches!(outcome, SpinOutcome::TimedOut(value) if value < 0));
        assert!(device.now() >= 1000);
        assert_eq!(
            spin_wait(&slot.signal, Condition::Eq, 1, Timeout::Poll, &device),
            SpinOutcome::TimedOut(slot.signal.load(MemoryOrder::Relaxed))
        );
    }
}
