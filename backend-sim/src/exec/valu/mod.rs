//! Vector ALU instructions: what each one does to a row of lanes.
//!
//! A *row* is one vector register of a wavefront: 32 or 64 consecutive dwords, lane 0 first. A 64-bit value is
//! two consecutive rows, low dwords first. The interpreter turns every operand into rows (constants are
//! broadcast, input modifiers, `op_sel`, SDWA and DPP are applied), calls one handler, and then merges the
//! result under EXEC. A handler therefore depends on the opcode alone, and computes every lane.
//!
//! - [`levels`]: the host instruction sets handlers are compiled for; results are the same bytes at each.
//! - [`mode`]: the part of a wavefront's MODE register that changes arithmetic.
//! - `vop1`, `vop2`, `vopc`, `vop3`, `vop3p`: one line per operation, by encoding. A new operation is a line there;
//!   `table` makes the handlers.
//! - `lanes`: loops over rows. `arith`: float operations in every mode, on host arithmetic where that rounds as asked,
//!   on `soft` arithmetic elsewhere. `float`: formats and the rules for NaN. `narrow`: formats of eight bits and fewer.
//! - `convert`, `integral`, `order`, `division`, `dot`, `sad`, `transcendental`: families of operations.
//!
//! # Choices where silicon is undocumented
//!
//! - The first NaN source comes back quiet; invalid operations give the positive default NaN (`v_div_fixup` the
//!   negative one, as documented). Of two NaN sources of `min` or `max` the first is returned.
//! - A result is flushed if it is subnormal after rounding. Compares, `min` and `max` flush their sources as MODE says.
//! - Exponential, logarithm, reciprocal, roots, sine and cosine round to nearest in every mode. Those of f32 are
//!   correctly rounded, and except sine and cosine always flush subnormals; f64 roots are within one unit.
//! - Sine and cosine are exact in their argument's range reduction, over the whole range.
//! - Dot products add in order, lowest index first, rounding at each step.
//! - Stochastic rounding rounds up in magnitude where the part cut off and the random number, as a fraction of 2^32,
//!   reach one unit of the result. (AMD's pseudocode lets the fraction wrap around instead of carrying, and then rounds
//!   to nearest; its software model does neither.) NaN in FP6 and FP4 is the largest magnitude.

#[macro_use]
mod table;

mod arith;
mod convert;
mod division;
mod dot;
mod float;
pub(crate) mod fused;
pub(crate) mod hot;
mod integral;
mod lanes;
pub mod levels;
pub mod mode;
mod narrow;
mod order;
mod partition;
mod sad;
mod soft;
mod transcendental;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use crate::isa::Op;

pub use levels::Level;
pub use mode::{Denorm, FloatMode, Round};

/// Everything a vector handler reads and writes.
///
/// # Contract
///
/// - `lanes` is 32 or 64.
/// - Each source the instruction has points to as many readable rows as the operand's type needs (one for up to
///   32 bits, two for 64 bits, three for 96, four for 128); sources it has not are ignored and may be null.
/// - `dst` points to as many writable rows as the result needs; null for an instruction without a vector result
///   (VOPC). `dst2` likewise, for the few instructions with a second vector result.
/// - `dst` may be the very rows of a source, or disjoint from it; it never overlaps a source partly.
/// - 16-bit sources arrive in the low half of each dword; the high half is ignored. 16-bit results are returned in
///   the low half with zero above.
/// - Sources of packed operations have their halves selected; those of the `mix` operations are f32, widened already.
/// - Input modifiers (neg, abs) are applied already; output modifiers (clamp on floats, omod) are the caller's.
#[derive(Clone, Copy, Debug)]
pub struct VArgs {
    /// First row of the result.
    pub dst: *mut u32,
    /// First row of a second vector result, or null.
    pub dst2: *mut u32,
    /// First rows of the sources, in assembly order: the literal of `v_fmamk` is the second, that of `v_fmaak` the
    /// third. An accumulating instruction (`v_fmac`, `v_mac`, `v_dot2c`) has the old value of its destination as the
    /// third. Lane masks are not among them.
    pub src: [*const u32; 3],
    /// Lanes in a row: 32 or 64.
    pub lanes: u32,
    /// Execution mask. Only instructions whose meaning depends on it read it.
    pub exec: u64,
    /// Lane mask input: carry in, the selector of `v_cndmask_b32`, VCC of `v_div_fmas`.
    pub mask_in: u64,
    /// Rounding, denormals, DX10_CLAMP and IEEE of the wavefront's MODE register.
    pub mode: FloatMode,
    /// The instruction's clamp bit, for integer saturation. Float clamp is applied by the caller.
    pub clamp: bool,
    /// What else the instruction says, zero if nothing: the signedness of A and B in bits 0 and 1 (`v_dot4_i32_iu8`,
    /// `v_dot8_i32_iu4`); that eight-bit floats are gfx942's in bit 0 (conversions); the truth table of `v_bitop3`.
    pub imm: u32,
}

/// One vector instruction over all lanes.
///
/// Returns the lane mask of a compare, or the carry-out of an add; other instructions return zero. Bits of lanes
/// that EXEC disables are computed too, and are for the caller to drop. Bits from `lanes` upward are zero.
///
/// Host arithmetic must round to nearest even and keep subnormals (on x86_64, MXCSR as a process starts with): results
/// are wrong otherwise.
///
/// # Safety
///
/// The arguments keep the contract of [`VArgs`], and the host has the [`Level`] that the handler was chosen for.
pub type VHandler = unsafe fn(&VArgs) -> u64;

/// The handler of a vector operation for a host level, or `None` if the operation has no semantics here: it is not a
/// vector ALU operation, or is a matrix operation, or moves data between lanes and is the
/// interpreter's, or is not supported.
///
/// The level must be available on this host ([`Level::is_available`]) before the handler may be called.
pub fn handler(op: Op, level: Level) -> Option<VHandler> {
    vop1::handler(op, level)
        .or_else(|| vop2::handler(op, level))
        .or_else(|| vopc::handler(op, level))
        .or_else(|| vop3::handler(op, level))
        .or_else(|| vop3p::handler(op, level))
}

/// Formats that matrix operations share.
pub(crate) mod formats {
    pub(crate) use super::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
    pub(crate) use super::narrow::{Narrow, Rounding};
}
