//! Core's concurrent parts under loom, which runs all interleavings and all weak memory orders (with few
//! preemptions) of a model.
//!
//! [`ring`]: the queue ring is generic over its memory, and loom's atomics are one. Signals, their arena,
//! locks and waits are not: their files are compiled here a second time, **as they are**, in a crate
//! whose `sync` has loom's atomics; so are the files of waiting, of callbacks and their thread, of what is due, of
//! serving and stopping queues, and of copies by engines. What stands around them is as small as can be: a device that is
//! a few events, one queue and one engine ([`device`]), capacities ([`config`]), the structures that core's files are
//! methods of ([`runtime`]). Nothing that waits times out here: a wake-up that is lost is a deadlock, which loom finds.
//!
//! Waits are modelled twice: with a fence on both sides, and with the barrier that waiters impose on all threads where
//! the platform can ([`device::Barrier`]).
//!
//! Not in the models: x86-64's stronger read-modify-writes (here they have a fence, as on other processors).

extern crate alloc;

pub mod backend;
pub mod config;
pub mod device;
pub mod model;
pub mod ring;
pub mod runtime;
mod sync;
pub mod wire;

#[path = "../../../core/src/signal/mod.rs"]
pub mod signal;

mod queue {
    pub use rukh_core::queue::{Inactive, QueueStatus, RingMemory, ScratchRequest};
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
