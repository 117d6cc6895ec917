//! Operations on a signal's value, as the HSA runtime specification 1.2, section 2.4 lists them.

use crate::sync::Ordering;
use crate::wire::signal::AmdSignal;

/// Memory order of an operation. The specification's `scacquire`, `screlease` and
/// `scacq_screl` are `Acquire`, `Release` and `AcqRel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryOrder {
    /// Atomic, orders nothing else.
    Relaxed,
    /// Later accesses stay behind it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    #[default]
    AcqRel,
}

impl MemoryOrder {
    /// For a load, which cannot release: that part is dropped.
    #[inline(always)]
    pub const fn load(self) -> Ordering {
        match self {
            Self::Relaxed | Self::Release => Ordering::Relaxed,
            Self::Acquire | Self::AcqRel => Ordering::Acquire,
        }
    }

    /// For a store, which cannot acquire: that part is dropped.
    #[inline(always)]
    pub const fn store(self) -> Ordering {
        match self {
            Self::Relaxed | Self::Acquire => Ordering::Relaxed,
            Self::Release | Self::AcqRel => Ordering::Release,
        }
    }

    /// For a read-modify-write.
    #[inline(always)]
    pub const fn rmw(self) -> Ordering {
        match self {
            Self::Relaxed => Ordering::Relaxed,
            Self::Acquire => Ordering::Acquire,
            Self::Release => Ordering::Release,
            Self::AcqRel => Ordering::AcqRel,
        }
    }
}

/// The operations, without waking anybody: a device that polls sees them, a thread that sleeps
/// does not. `hsa_signal_silent_store_*` is [`SignalOps::store`]; the runtime's operations are
/// these and a wake-up.
///
/// Arithmetic wraps. None of them takes a lock, allocates or enters the system.
pub trait SignalOps {
    /// The value.
    fn load(&self, order: MemoryOrder) -> i64;
    /// Replaces the value.
    fn store(&self, value: i64, order: MemoryOrder);
    /// Replaces the value; gives the old one.
    fn exchange(&self, value: i64, order: MemoryOrder) -> i64;
    /// Replaces the value if it is `expected`; gives the value found, which is `expected` exactly
    /// if it was replaced. A value found to differ is loaded with the acquiring part of `order`.
    fn cas(&self, expected: i64, value: i64, order: MemoryOrder) -> i64;
    /// Adds; gives the old value.
    fn add(&self, value: i64, order: MemoryOrder) -> i64;
    /// Subtracts; gives the old value.
    fn subtract(&self, value: i64, order: MemoryOrder) -> i64;
    /// Bitwise and; gives the old value.
    fn and(&self, value: i64, order: MemoryOrder) -> i64;
    /// Bitwise or; gives the old value.
    fn or(&self, value: i64, order: MemoryOrder) -> i64;
    /// Bitwise exclusive or; gives the old value.
    fn xor(&self, value: i64, order: MemoryOrder) -> i64;
}

impl SignalOps for AmdSignal {
    #[inline]
    fn load(&self, order: MemoryOrder) -> i64 {
        self.value.load(order.load())
    }

    #[inline]
    fn store(&self, value: i64, order: MemoryOrder) {
        self.value.store(value, order.store());
    }

    #[inline]
    fn exchange(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.swap(value, order.rmw())
    }

    #[inline]
    fn cas(&self, expected: i64, value: i64, order: MemoryOrder) -> i64 {
        match self
            .value
            .compare_exchange(expected, value, order.rmw(), order.load())
        {
            Ok(found) | Err(found) => found,
        }
    }

    #[inline]
    fn add(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.fetch_add(value, order.rmw())
    }

    #[inline]
    fn subtract(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.fetch_sub(value, order.rmw())
    }

    #[inline]
    fn and(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.fetch_and(value, order.rmw())
    }

    #[inline]
    fn or(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.fetch_or(value, order.rmw())
    }

    #[inline]
    fn xor(&self, value: i64, order: MemoryOrder) -> i64 {
        self.value.fetch_xor(value, order.rmw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::slot::SignalSlot;

    const ORDERS: [MemoryOrder; 4] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
    ];

    const VALUES: [i64; 7] = [0, 1, -1, i64::MIN, i64::MAX, 0x5555_5555_5555_5555, 42];

    #[test]
    fn every_operation_in_every_order_does_what_wrapping_arithmetic_does() {
        type Op = (fn(&AmdSignal, i64, MemoryOrder) -> i64, fn(i64, i64) -> i64);
        let ops: [Op; 6] = [
            (AmdSignal::exchange, |_, b| b),
            (AmdSignal::add, i64::wrapping_add),
            (AmdSignal::subtract, i64::wrapping_sub),
            (AmdSignal::and, |a, b| a & b),
            (AmdSignal::or, |a, b| a | b),
            (AmdSignal::xor, |a, b| a ^ b),
        ];
        let slot = SignalSlot::new();
        let signal = &slot.signal;
        for order in ORDERS {
            for old in VALUES {
                for operand in VALUES {
                    for (operation, model) in ops {
                        signal.store(old, order);
                        assert_eq!(operation(signal, operand, order), old);
                        assert_eq!(signal.load(order), model(old, operand));
                    }
                }
            }
        }
    }

    #[test]
    fn cas_replaces_exactly_the_expected_value() {
        let slot = SignalSlot::new();
        let signal = &slot.signal;
        for order in ORDERS {
            signal.store(5, order);
            assert_eq!(signal.cas(4, 9, order), 5);
            assert_eq!(signal.load(order), 5);
            assert_eq!(signal.cas(5, 9, order), 5);
            assert_eq!(signal.load(order), 9);
        }
    }
}
