//! What memory, scalar, LDS and control instructions do, on programs that LLVM assembles here and now.
//!
//! Needs `llvm-mc-19` and `llvm-objcopy-19` (package llvm-19). Expectations are worked out by hand, by exact
//! arithmetic, or from AMD's published pseudocode; never by the executor's own functions.

mod bed;
mod buffer;
mod formats;
