//! Scalar instructions: one row an instruction, with what it computes.

pub(crate) mod float;
pub(crate) mod fork;
pub(crate) mod sop1;
pub(crate) mod sop2;
pub(crate) mod sopc;
pub(crate) mod sopk;
pub(crate) mod sopp;

use super::barrier;
use super::machine::Machine;
use super::microop::{MicroOp, OpFn};
use crate::isa::Op;

/// A scalar value as a source.
pub(crate) trait Value: Sized {
    /// Reads source `i`.
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> Self;
}

impl Value for u32 {
    #[inline(always)]
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> u32 {
        m.s32(op, i)
    }
}

impl Value for i32 {
    #[inline(always)]
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> i32 {
        m.s32(op, i) as i32
    }
}

impl Value for u64 {
    #[inline(always)]
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> u64 {
        m.s64(op, i)
    }
}

impl Value for i64 {
    #[inline(always)]
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> i64 {
        m.s64(op, i) as i64
    }
}

impl Value for f32 {
    #[inline(always)]
    fn read(m: &Machine<'_>, op: &MicroOp, i: usize) -> f32 {
        f32::from_bits(m.s32(op, i))
    }
}

/// What a scalar instruction produces: a value, a value and SCC, or SCC alone.
pub(crate) trait Outcome {
    /// Writes it.
    fn put(self, m: &mut Machine<'_>, dst: u16);
}

impl Outcome for u32 {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, dst: u16) {
        m.put32(dst, self);
    }
}

impl Outcome for i32 {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, dst: u16) {
        m.put32(dst, self as u32);
    }
}

impl Outcome for u64 {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, dst: u16) {
        m.put64(dst, self);
    }
}

impl Outcome for i64 {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, dst: u16) {
        m.put64(dst, self as u64);
    }
}

impl Outcome for bool {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, _: u16) {
        m.set_scc(self);
    }
}

impl<T: Outcome> Outcome for (T, bool) {
    #[inline(always)]
    fn put(self, m: &mut Machine<'_>, dst: u16) {
        self.0.put(m, dst);
        m.set_scc(self.1);
    }
}

/// A value with SCC telling whether it is nonzero, as the logical instructions set it.
pub(crate) trait NonZero: Sized {
    /// The pair.
    fn nz(self) -> (Self, bool);
}

macro_rules! non_zero {
    ($($t:ty)*) => { $(impl NonZero for $t {
        #[inline(always)]
        fn nz(self) -> (Self, bool) { (self, self != 0) }
    })* };
}
non_zero!(u32 i32 u64 i64);

/// Rows `name(a: type, b: type…) |scc| => outcome;` make a lookup from an operation to its function.
macro_rules! scalar_ops {
    ($(#[$doc:meta])* $vis:vis fn $lookup:ident; $($name:ident ($($a:ident : $t:ty),*) $(|$c:ident|)? => $e:expr;)*) => {
        $(#[$doc])*
        $vis fn $lookup(op: crate::isa::Op) -> Option<crate::exec::microop::OpFn> {
            use crate::exec::{code::Page, machine::Machine, microop::{Flow, MicroOp}};
            use crate::exec::salu::{Outcome, Value};
            match op {
                $(crate::isa::Op::$name => {
                    fn run(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
                        let mut _i = 0;
                        $(let $a = <$t as Value>::read(m, op, _i); _i += 1;)*
                        $(let $c = m.wave.s[crate::exec::scalars::SCC];)?
                        Outcome::put($e, m, op.dst);
                        Flow::Next
                    }
                    Some(run)
                })*
                _ => None,
            }
        }
    };
}
pub(crate) use scalar_ops;

/// The function of a scalar ALU operation whose sources and destination are its operands in
/// assembly order. SOPP and the branches of SOPK have their own lowering.
pub(crate) fn lookup(op: Op) -> Option<OpFn> {
    sop2::lookup(op)
        .or_else(|| sop1::lookup(op))
        .or_else(|| sop1::lookup_control(op))
        .or_else(|| sopc::lookup(op))
        .or_else(|| match op {
            Op::s_set_gpr_idx_on => Some(sop1::gpr_index_on as OpFn),
            Op::s_setvskip => Some(fork::set_vskip),
            Op::s_cbranch_g_fork => Some(fork::to_register),
            _ => barrier::lookup(op),
        })
        .or_else(|| sopk::lookup(op))
}

/// Whether an instruction of SOP1, SOP2, SOPC or SOPK reads and writes nothing but scalars and the program counter.
pub(crate) fn is_of_scalars(op: Op) -> bool {
    let plain = [
        sop2::lookup,
        sop1::lookup,
        sop1::lookup_moves,
        sopc::lookup,
        sopk::lookup_of_scalars,
    ];
    plain.iter().any(|lookup| lookup(op).is_some())
}
