//! `amd_signal_t`: the 64 bytes that a signal handle points to. The packet processor, shaders
//! and DMA engines decrement [`AmdSignal::value`], then write the event id to the mailbox and
//! raise an interrupt if the mailbox is not null.

use crate::assert_layout;
use crate::sync::{AtomicI64, AtomicU64};

/// What a signal structure stands for (`amd_signal_kind64_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum SignalKind {
    /// Not a signal; a freed slot.
    Invalid = 0,
    /// A value in memory.
    User = 1,
    /// A doorbell register behind a pointer: only stores are allowed.
    Doorbell = -1,
    /// A 32-bit doorbell of GFX8 and before.
    LegacyDoorbell = -2,
}

/// `amd_signal_t`. Devices and other threads write it at any time: fields that they write are
/// atomics, the others are written before the handle is given away.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct AmdSignal {
    /// A [`SignalKind`], as its number.
    pub kind: AtomicI64,
    /// The signal's value, or the address of the hardware doorbell.
    pub value: AtomicI64,
    /// Address that receives [`Self::event_id`] when a device has changed the value, or 0.
    pub event_mailbox_ptr: AtomicU64,
    /// The event that wakes waiters (32 bits; the upper half is reserved).
    pub event_id: AtomicU64,
    /// When the packet that completes on this signal started, in device clock ticks.
    pub start_ts: AtomicU64,
    /// When it ended, in device clock ticks.
    pub end_ts: AtomicU64,
    /// Address of the `amd_queue_t` that a doorbell signal belongs to, or 0.
    pub queue_ptr: AtomicU64,
    /// Reserved.
    pub reserved3: [u32; 2],
}
assert_layout!(AmdSignal, size 64, align 64, kind @ 0, value @ 8, event_mailbox_ptr @ 16, event_id @ 24,
    start_ts @ 32, end_ts @ 40, queue_ptr @ 48);

/// How a wait compares the signal's value with the caller's (`hsa_signal_condition_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Condition {
    /// Equal.
    Eq = 0,
    /// Not equal.
    Ne = 1,
    /// Less than, signed.
    Lt = 2,
    /// Greater than or equal, signed.
    Gte = 3,
}

impl Condition {
    /// From the number that a packet or a C client gives.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            0 => Some(Self::Eq),
            1 => Some(Self::Ne),
            2 => Some(Self::Lt),
            3 => Some(Self::Gte),
            _ => None,
        }
    }

    /// Whether `value` meets the condition against `compare`.
    pub const fn holds(self, value: i64, compare: i64) -> bool {
        match self {
            Self::Eq => value == compare,
            Self::Ne => value != compare,
            Self::Lt => value < compare,
            Self::Gte => value >= compare,
        }
    }
}
