//! Execution of machine code on wavefronts.
//!
//! [`run`] executes a [`Wave`] in a [`Context`] until it ends, waits, faults or has used its budget.
//! On the way an instruction passes through:
//!
//! - [`CodeCache`] (`code`): pages of code, decoded lazily, an instruction at a time;
//! - `lower`: from a decoded instruction to a micro-op: a function and its operands in a cache line;
//! - `fuse`: micro-ops that stand for several instructions, where nobody looks at single ones;
//! - `gang`: waves of a work-group that go together, as long as their scalars are the same;
//! - `run`: the loop over micro-ops; `trap`: where a wave goes that cannot go on, or has met one of `exceptions`;
//! - `salu`, `smem`: scalar instructions;
//! - `vector`, with `modifiers`, `dpp`, `lane`, `matrix`, `scaled` and the handlers of [`valu`]: vector instructions; the
//!   commonest in one function each (`valu::hot`);
//! - `flat`, `ds`, `buffer`, on top of `fast`, `access` and `tlb`: memory instructions.
//!
//! A tier that compiles code would stand beside `code` and `run`: it needs the same [`Wave`],
//! [`Context`] and [`Exit`], and may hand any instruction back to the loop.

mod access;
mod alignment;
mod atomic;
mod barrier;
mod buffer;
mod code;
mod context;
mod coverage;
mod crossbar;
mod descriptor;
mod dpp;
mod ds;
mod dual;
mod exceptions;
mod fast;
mod fault;
mod flat;
mod format;
mod fuse;
mod gang;
mod gds;
mod hwreg;
mod image;
mod lane;
mod leveled;
mod lower;
mod machine;
mod matrix;
mod microop;
mod modifiers;
mod private;
mod rows;
mod run;
mod salu;
mod scalars;
mod scaled;
mod shared;
mod smem;
#[cfg(test)]
mod tests;
mod tlb;
mod trace;
mod transpose;
mod trap;
pub mod valu;
mod vector;
mod wave;

pub use alignment::Alignment;
pub use barrier::Barriers;
pub use code::CodeCache;
pub use context::{Apertures, Clock, Context, Place, Worker};
pub use coverage::{Coverage, Encoding, Status, coverage, status};
pub use fault::{Fault, FaultKind};
pub(crate) use gang::{MOST as MOST_TOGETHER, run_gang};
pub use lower::check;
pub use run::{Exit, run, step};
pub use shared::Shared;
pub use trace::{TraceEvent, TraceHook, Tracer};
pub use wave::{Wave, WaveConfig, WaveIds};
