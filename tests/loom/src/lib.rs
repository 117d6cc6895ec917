//! Core's concurrent parts under loom, which runs all interleavings and all weak memory orders (with few
//! preemptions) of a model.
//!
//! [`ring`]: the queue ring is generic over its memory, and loom's atomics are one. Signals, their arena,
//! locks and waits are not: their files are compiled here a second time, **as they are**, in a crate
//! whose `sync` has loom's atomics. What stands around them is as small as can be: a device that is a few events
//! ([`device`]), capacities ([`config`]), a reactor that does nothing but wait ([`runtime`]). Nothing times out here: a
//! wake-up that is lost is a deadlock, which loom finds.
//!
//! Not in the models: the barrier that waiters impose on all threads where the platform can (here both sides have a
//! fence), and x86-64's stronger read-modify-writes (here they have a fence, as on other processors).

extern crate alloc;

pub mod backend;
pub mod config;
pub mod device;
pub mod ring;
pub mod runtime;
mod sync;
pub mod wire;

#[path = "../../../core/src/signal/mod.rs"]
pub mod signal;

mod queue {
    pub use rukh_core::queue::QueueStatus;
}

mod trace {
    macro_rules! event {
        ($level:ident, $($format:tt)*) => {{
            let _ = format_args!($($format)*);
        }};
    }
    pub(crate) use event;
}

macro_rules! impl_error {
    ($($ty:ty),+ $(,)?) => { $(impl core::error::Error for $ty {})+ };
}
pub(crate) use impl_error;

/// Loom's atomics are larger than the words they stand for: the layouts are asserted in core.
#[macro_export]
#[doc(hidden)]
macro_rules! assert_layout {
    ($($anything:tt)*) => {};
}
