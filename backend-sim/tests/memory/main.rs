//! What memory, scalar, LDS and control instructions do, on programs that LLVM assembles here and now.
//!
//! Needs `llvm-mc-22` (package llvm-22). Expectations are worked out by hand, by exact
//! arithmetic, or from AMD's published pseudocode; never by the executor's own functions.

mod alignment;
mod bed;
mod buffer;
mod control;
mod exceptions;
mod flat;
mod formats;
mod forms;
mod graphics;
mod handler;
mod image;
mod lds;
mod moves;
mod scalar;
