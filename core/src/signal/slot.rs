//! One slot of an arena: the 64 bytes that devices know, and 64 of the runtime's.

use crate::assert_layout;
use crate::sync::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::wire::signal::{AmdSignal, SignalKind};

/// Kind of a doorbell without a register: a store calls the backend. Not part of the ABI, and not
/// a number that it uses.
pub const KIND_CALLBACK_DOORBELL: i64 = -0x1000;

/// A signal's handle: the address of its `amd_signal_t`, or 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SignalHandle(pub u64);

impl SignalHandle {
    /// No signal.
    pub const NULL: Self = Self(0);

    /// Whether this names no signal.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl core::fmt::Display for SignalHandle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

bitflags::bitflags! {
    /// What is special about a signal.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct SignalFlags: u32 {
        /// No event announces its changes: waiters look (`HSA_AMD_SIGNAL_AMD_GPU_ONLY`, or no events left).
        const BUSY = 1 << 0;
        /// May be shared with other processes (`HSA_AMD_SIGNAL_IPC`).
        const IPC = 1 << 1;
        /// The runtime's own: what a device says by it is for the runtime's thread.
        const RUNTIME = 1 << 2;
    }
}

/// A signal and what the runtime keeps beside it.
///
/// All of it lies in memory that devices can write. What the runtime reads back is either harmless
/// when wrong (a waiters count costs a wake-up) or checked (the next index of the free list).
#[derive(Debug)]
#[repr(C, align(128))]
pub struct SignalSlot {
    /// What the handle points to.
    pub signal: AmdSignal,
    /// Threads and handlers that sleep until the value changes. A store looks here.
    pub waiters: AtomicU32,
    /// How often the slot was given out. Odd while in use.
    pub generation: AtomicU32,
    /// [`SignalFlags`].
    pub flags: AtomicU32,
    /// Index of the slot after this one in the free list, or [`NO_SLOT`].
    pub(crate) next: AtomicU32,
    /// A doorbell signal: index of its doorbell in the runtime's table.
    pub(crate) doorbell: AtomicU32,
    reserved: [u32; 11],
}
assert_layout!(SignalSlot, size 128, align 128, signal @ 0, waiters @ 64, generation @ 68, flags @ 72,
    next @ 76, doorbell @ 80);

/// No slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;

impl SignalSlot {
    /// A slot that is not in use: as fresh memory, which is all zeros.
    pub const fn new() -> Self {
        Self {
            signal: AmdSignal {
                kind: AtomicI64::new(SignalKind::Invalid as i64),
                value: AtomicI64::new(0),
                event_mailbox_ptr: AtomicU64::new(0),
                event_id: AtomicU64::new(0),
                start_ts: AtomicU64::new(0),
                end_ts: AtomicU64::new(0),
                queue_ptr: AtomicU64::new(0),
                reserved3: [0; 2],
            },
            waiters: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            flags: AtomicU32::new(0),
            next: AtomicU32::new(0),
            doorbell: AtomicU32::new(0),
            reserved: [0; 11],
        }
    }

    /// The handle of this signal.
    #[inline]
    pub fn handle(&self) -> SignalHandle {
        SignalHandle(core::ptr::from_ref(&self.signal).addr() as u64)
    }

    /// The flags that it was created with.
    pub fn flags(&self) -> SignalFlags {
        SignalFlags::from_bits_truncate(self.flags.load(Ordering::Relaxed))
    }

    /// Whether the slot is a signal with a value.
    #[inline]
    pub fn is_user(&self) -> bool {
        self.signal.kind.load(Ordering::Acquire) == SignalKind::User as i64
    }

    /// Which event a device raises: its mailbox's address and its id, (0, 0) for none. Set before the
    /// handle is given away.
    pub fn bind_event(&self, mailbox: u64, id: u32) {
        self.signal
            .event_mailbox_ptr
            .store(mailbox, Ordering::Relaxed);
        self.signal.event_id.store(u64::from(id), Ordering::Relaxed);
    }
}

impl Default for SignalSlot {
    fn default() -> Self {
        Self::new()
    }
}
