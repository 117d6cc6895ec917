//! VOPC: compares into a lane mask. `v_cmpx` computes the same mask and writes EXEC, which is the caller's part.

// A negated comparison is what these instructions are for: it holds for NaN.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

use super::VArgs;
use super::float::{
    F16, F32, F64, Format, f16_to_f32, flush_if, is_infinite, is_nan, is_negative, is_subnormal,
    is_zero,
};
use super::lanes::{compare, lanes};
use super::levels::Host;

/// Compares f32, flushed as MODE says.
#[inline(always)]
unsafe fn f32<H: Host>(args: &VArgs, f: impl Fn(f32, f32) -> bool) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        if F32::denorm(args.mode).flush_in {
            let flush = |x: u32| f32::from_bits(flush_if::<F32>(true, x));
            compare::<H, u32, u32>(args, |x, y| f(flush(x), flush(y)))
        } else {
            compare::<H, f32, f32>(args, f)
        }
    }
}

/// Compares f64, flushed as MODE says.
#[inline(always)]
unsafe fn f64<H: Host>(args: &VArgs, f: impl Fn(f64, f64) -> bool) -> u64 {
    let flush = F64::denorm(args.mode).flush_in;
    let value = |x: u64| f64::from_bits(flush_if::<F64>(flush, x));
    // SAFETY: the caller keeps the contract for f64.
    unsafe { compare::<H, u64, u64>(args, |x, y| f(value(x), value(y))) }
}

/// Compares f16, flushed as MODE says.
#[inline(always)]
unsafe fn f16<H: Host>(args: &VArgs, f: impl Fn(f32, f32) -> bool) -> u64 {
    let flush = F16::denorm(args.mode).flush_in;
    let value = |x: u16| f16_to_f32(flush_if::<F16>(flush, x));
    // SAFETY: the caller keeps the contract for f16.
    unsafe { compare::<H, u16, u16>(args, |x, y| f(value(x), value(y))) }
}

/// The bit of a class mask that a value belongs to. Subnormals count as such in every mode.
#[inline(always)]
fn class_bit<F: Format>(x: F::Bits) -> u32 {
    let finite = if is_subnormal::<F>(x) { 4 } else { 3 };
    let finite = if is_zero::<F>(x) { 5 } else { finite };
    let magnitude = if is_infinite::<F>(x) { 2 } else { finite };
    let number = if is_negative::<F>(x) {
        magnitude
    } else {
        11 - magnitude
    };
    let nan = (x & F::QUIET != F::ZERO) as u32;
    if is_nan::<F>(x) { nan } else { number }
}

/// Lanes whose first source belongs to a class in the mask that is the second source.
#[inline(always)]
unsafe fn class<H: Host, F: Format>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format and u32.
    unsafe {
        compare::<H, F::Bits, u32>(args, |x, classes| (classes >> class_bit::<F>(x)) & 1 != 0)
    }
}

/// Every lane of the row.
#[inline(always)]
fn all(args: &VArgs) -> u64 {
    if lanes(args) == 64 {
        u64::MAX
    } else {
        u32::MAX as u64
    }
}

handlers! {
    (args, H)
    v_cmp_f_f16 | v_cmpx_f_f16 | v_cmp_f_f32 | v_cmpx_f_f32 | v_cmp_f_f64 | v_cmpx_f_f64 | v_cmp_f_i16 | v_cmpx_f_i16 | v_cmp_f_u16 | v_cmpx_f_u16 | v_cmp_f_i32 | v_cmpx_f_i32 | v_cmp_f_u32 | v_cmpx_f_u32 | v_cmp_f_i64 | v_cmpx_f_i64 | v_cmp_f_u64 | v_cmpx_f_u64 => {
        let _ = args;
        0
    };
    v_cmp_tru_f16 | v_cmpx_tru_f16 | v_cmp_tru_f32 | v_cmpx_tru_f32 | v_cmp_tru_f64 | v_cmpx_tru_f64 | v_cmp_t_i16 | v_cmpx_t_i16 | v_cmp_t_u16 | v_cmpx_t_u16 | v_cmp_t_i32 | v_cmpx_t_i32 | v_cmp_t_u32 | v_cmpx_t_u32 | v_cmp_t_i64 | v_cmpx_t_i64 | v_cmp_t_u64 | v_cmpx_t_u64 => all(args);
    v_cmp_class_f16 | v_cmpx_class_f16 => class::<H, F16>(args);
    v_cmp_lt_f16 | v_cmpx_lt_f16 => f16::<H>(args, |x, y| x < y);
    v_cmp_eq_f16 | v_cmpx_eq_f16 => f16::<H>(args, |x, y| x == y);
    v_cmp_le_f16 | v_cmpx_le_f16 => f16::<H>(args, |x, y| x <= y);
    v_cmp_gt_f16 | v_cmpx_gt_f16 => f16::<H>(args, |x, y| x > y);
    v_cmp_lg_f16 | v_cmpx_lg_f16 => f16::<H>(args, |x, y| (x < y) | (x > y));
    v_cmp_ge_f16 | v_cmpx_ge_f16 => f16::<H>(args, |x, y| x >= y);
    v_cmp_o_f16 | v_cmpx_o_f16 => f16::<H>(args, |x, y| !x.is_nan() & !y.is_nan());
    v_cmp_u_f16 | v_cmpx_u_f16 => f16::<H>(args, |x, y| x.is_nan() | y.is_nan());
    v_cmp_nge_f16 | v_cmpx_nge_f16 => f16::<H>(args, |x, y| !(x >= y));
    v_cmp_nlg_f16 | v_cmpx_nlg_f16 => f16::<H>(args, |x, y| !((x < y) | (x > y)));
    v_cmp_ngt_f16 | v_cmpx_ngt_f16 => f16::<H>(args, |x, y| !(x > y));
    v_cmp_nle_f16 | v_cmpx_nle_f16 => f16::<H>(args, |x, y| !(x <= y));
    v_cmp_neq_f16 | v_cmpx_neq_f16 => f16::<H>(args, |x, y| x != y);
    v_cmp_nlt_f16 | v_cmpx_nlt_f16 => f16::<H>(args, |x, y| !(x < y));
    v_cmp_class_f32 | v_cmpx_class_f32 => class::<H, F32>(args);
    v_cmp_lt_f32 | v_cmpx_lt_f32 => f32::<H>(args, |x, y| x < y);
    v_cmp_eq_f32 | v_cmpx_eq_f32 => f32::<H>(args, |x, y| x == y);
    v_cmp_le_f32 | v_cmpx_le_f32 => f32::<H>(args, |x, y| x <= y);
    v_cmp_gt_f32 | v_cmpx_gt_f32 => f32::<H>(args, |x, y| x > y);
    v_cmp_lg_f32 | v_cmpx_lg_f32 => f32::<H>(args, |x, y| (x < y) | (x > y));
    v_cmp_ge_f32 | v_cmpx_ge_f32 => f32::<H>(args, |x, y| x >= y);
    v_cmp_o_f32 | v_cmpx_o_f32 => f32::<H>(args, |x, y| !x.is_nan() & !y.is_nan());
    v_cmp_u_f32 | v_cmpx_u_f32 => f32::<H>(args, |x, y| x.is_nan() | y.is_nan());
    v_cmp_nge_f32 | v_cmpx_nge_f32 => f32::<H>(args, |x, y| !(x >= y));
    v_cmp_nlg_f32 | v_cmpx_nlg_f32 => f32::<H>(args, |x, y| !((x < y) | (x > y)));
    v_cmp_ngt_f32 | v_cmpx_ngt_f32 => f32::<H>(args, |x, y| !(x > y));
    v_cmp_nle_f32 | v_cmpx_nle_f32 => f32::<H>(args, |x, y| !(x <= y));
    v_cmp_neq_f32 | v_cmpx_neq_f32 => f32::<H>(args, |x, y| x != y);
    v_cmp_nlt_f32 | v_cmpx_nlt_f32 => f32::<H>(args, |x, y| !(x < y));
    v_cmp_class_f64 | v_cmpx_class_f64 => class::<H, F64>(args);
    v_cmp_lt_f64 | v_cmpx_lt_f64 => f64::<H>(args, |x, y| x < y);
    v_cmp_eq_f64 | v_cmpx_eq_f64 => f64::<H>(args, |x, y| x == y);
    v_cmp_le_f64 | v_cmpx_le_f64 => f64::<H>(args, |x, y| x <= y);
    v_cmp_gt_f64 | v_cmpx_gt_f64 => f64::<H>(args, |x, y| x > y);
    v_cmp_lg_f64 | v_cmpx_lg_f64 => f64::<H>(args, |x, y| (x < y) | (x > y));
    v_cmp_ge_f64 | v_cmpx_ge_f64 => f64::<H>(args, |x, y| x >= y);
    v_cmp_o_f64 | v_cmpx_o_f64 => f64::<H>(args, |x, y| !x.is_nan() & !y.is_nan());
    v_cmp_u_f64 | v_cmpx_u_f64 => f64::<H>(args, |x, y| x.is_nan() | y.is_nan());
    v_cmp_nge_f64 | v_cmpx_nge_f64 => f64::<H>(args, |x, y| !(x >= y));
    v_cmp_nlg_f64 | v_cmpx_nlg_f64 => f64::<H>(args, |x, y| !((x < y) | (x > y)));
    v_cmp_ngt_f64 | v_cmpx_ngt_f64 => f64::<H>(args, |x, y| !(x > y));
    v_cmp_nle_f64 | v_cmpx_nle_f64 => f64::<H>(args, |x, y| !(x <= y));
    v_cmp_neq_f64 | v_cmpx_neq_f64 => f64::<H>(args, |x, y| x != y);
    v_cmp_nlt_f64 | v_cmpx_nlt_f64 => f64::<H>(args, |x, y| !(x < y));
    v_cmp_lt_i16 | v_cmpx_lt_i16 => compare::<H, i16, i16>(args, |x, y| x < y);
    v_cmp_eq_i16 | v_cmpx_eq_i16 | v_cmp_eq_u16 | v_cmpx_eq_u16 => compare::<H, i16, i16>(args, |x, y| x == y);
    v_cmp_le_i16 | v_cmpx_le_i16 => compare::<H, i16, i16>(args, |x, y| x <= y);
    v_cmp_gt_i16 | v_cmpx_gt_i16 => compare::<H, i16, i16>(args, |x, y| x > y);
    v_cmp_ne_i16 | v_cmpx_ne_i16 | v_cmp_ne_u16 | v_cmpx_ne_u16 => compare::<H, i16, i16>(args, |x, y| x != y);
    v_cmp_ge_i16 | v_cmpx_ge_i16 => compare::<H, i16, i16>(args, |x, y| x >= y);
    v_cmp_lt_u16 | v_cmpx_lt_u16 => compare::<H, u16, u16>(args, |x, y| x < y);
    v_cmp_le_u16 | v_cmpx_le_u16 => compare::<H, u16, u16>(args, |x, y| x <= y);
    v_cmp_gt_u16 | v_cmpx_gt_u16 => compare::<H, u16, u16>(args, |x, y| x > y);
    v_cmp_ge_u16 | v_cmpx_ge_u16 => compare::<H, u16, u16>(args, |x, y| x >= y);
    v_cmp_lt_i32 | v_cmpx_lt_i32 => compare::<H, i32, i32>(args, |x, y| x < y);
    v_cmp_eq_i32 | v_cmpx_eq_i32 | v_cmp_eq_u32 | v_cmpx_eq_u32 => compare::<H, i32, i32>(args, |x, y| x == y);
    v_cmp_le_i32 | v_cmpx_le_i32 => compare::<H, i32, i32>(args, |x, y| x <= y);
    v_cmp_gt_i32 | v_cmpx_gt_i32 => compare::<H, i32, i32>(args, |x, y| x > y);
    v_cmp_ne_i32 | v_cmpx_ne_i32 | v_cmp_ne_u32 | v_cmpx_ne_u32 => compare::<H, i32, i32>(args, |x, y| x != y);
    v_cmp_ge_i32 | v_cmpx_ge_i32 => compare::<H, i32, i32>(args, |x, y| x >= y);
    v_cmp_lt_u32 | v_cmpx_lt_u32 => compare::<H, u32, u32>(args, |x, y| x < y);
    v_cmp_le_u32 | v_cmpx_le_u32 => compare::<H, u32, u32>(args, |x, y| x <= y);
    v_cmp_gt_u32 | v_cmpx_gt_u32 => compare::<H, u32, u32>(args, |x, y| x > y);
    v_cmp_ge_u32 | v_cmpx_ge_u32 => compare::<H, u32, u32>(args, |x, y| x >= y);
    v_cmp_lt_i64 | v_cmpx_lt_i64 => compare::<H, i64, i64>(args, |x, y| x < y);
    v_cmp_eq_i64 | v_cmpx_eq_i64 | v_cmp_eq_u64 | v_cmpx_eq_u64 => compare::<H, i64, i64>(args, |x, y| x == y);
    v_cmp_le_i64 | v_cmpx_le_i64 => compare::<H, i64, i64>(args, |x, y| x <= y);
    v_cmp_gt_i64 | v_cmpx_gt_i64 => compare::<H, i64, i64>(args, |x, y| x > y);
    v_cmp_ne_i64 | v_cmpx_ne_i64 | v_cmp_ne_u64 | v_cmpx_ne_u64 => compare::<H, i64, i64>(args, |x, y| x != y);
    v_cmp_ge_i64 | v_cmpx_ge_i64 => compare::<H, i64, i64>(args, |x, y| x >= y);
    v_cmp_lt_u64 | v_cmpx_lt_u64 => compare::<H, u64, u64>(args, |x, y| x < y);
    v_cmp_le_u64 | v_cmpx_le_u64 => compare::<H, u64, u64>(args, |x, y| x <= y);
    v_cmp_gt_u64 | v_cmpx_gt_u64 => compare::<H, u64, u64>(args, |x, y| x > y);
    v_cmp_ge_u64 | v_cmpx_ge_u64 => compare::<H, u64, u64>(args, |x, y| x >= y);
}
