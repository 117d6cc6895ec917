//! Signals: 64-bit values in memory that hosts and devices change and wait for.
//!
//! - [`ops`]: every operation of the HSA specification on a signal structure, in every memory order.
//! - [`slot`]: a signal and what the runtime keeps beside it, 128 bytes.
//! - [`arena`]: where slots come from, what makes a handle valid, and when a slot is used again.
//! - [`spin`]: waiting by looking.
//!
//! Sleeping until a device or another thread changes a signal needs somebody to wake: that is
//! the runtime's reactor (feature `alloc`).

pub mod arena;
pub mod ops;
pub mod slot;
pub mod spin;

pub use crate::wire::signal::{AmdSignal, Condition, SignalKind};
pub use arena::{ArenaError, SignalArena};
pub use ops::{MemoryOrder, SignalOps};
pub use slot::{SignalFlags, SignalHandle, SignalSlot};
pub use spin::{SpinOutcome, spin_wait};

crate::impl_error!(ArenaError);
