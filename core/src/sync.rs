//! Atomics by one name. The models of `tests/loom` compile the files that take them from here as they are, with
//! loom's atomics in their place.

pub(crate) use core::hint::spin_loop;
#[cfg(feature = "alloc")]
pub(crate) use core::sync::atomic::compiler_fence;
pub(crate) use core::sync::atomic::{
    AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// Whether a read-modify-write orders a store before it and a load behind it, whatever its memory order.
#[cfg(feature = "alloc")]
pub(crate) const RMW_IS_BARRIER: bool = cfg!(target_arch = "x86_64");
