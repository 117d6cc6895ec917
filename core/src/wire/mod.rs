//! The structures that software and AMD's hardware share, bit by bit.
//!
//! Each file describes one structure once: its layout as a `repr(C)` type with compile-time
//! asserts on size, alignment and field offsets, its field values as typed constants, and a
//! parsed form where software takes decisions. Unknown values survive a round trip: a view
//! never loses what it does not understand.
//!
//! Sources: HSA Platform System Architecture 1.2 (packets, signals, queues) and the AMD
//! extensions of the public `amd_hsa_queue.h`, `amd_hsa_signal.h` and `hsa_ext_amd.h`.

pub mod aql;
pub mod dword;
pub mod kernel_descriptor;
pub mod pm4;
pub mod queue;
pub mod sdma;
pub mod signal;

/// Asserts a structure's size, alignment and field offsets at compile time.
#[macro_export]
#[doc(hidden)]
macro_rules! assert_layout {
    ($ty:ty, size $size:literal, align $align:literal $(, $field:ident @ $offset:literal)* $(,)?) => {
        const _: () = {
            assert!(core::mem::size_of::<$ty>() == $size);
            assert!(core::mem::align_of::<$ty>() == $align);
            $(assert!(core::mem::offset_of!($ty, $field) == $offset);)*
        };
    };
}
