//! The steps of division: `v_div_scale`, `v_div_fmas`, `v_div_fixup`, and `v_trig_preop`.
//!
//! Compilers divide by a Newton iteration on scaled operands. The steps here make its quotient the correctly
//! rounded one. Where AMD's pseudocode is at odds with that, they follow what a correct quotient needs: a huge
//! denominator is scaled down, not up, and `v_div_fmas` undoes the scaling that `v_div_scale` did, in either
//! direction, before its one rounding.

use super::VArgs;
use super::arith::{Env, exact_lane, ops::HostFormat, ops::fma};
use super::float::{
    F16, F32, F64, Format, default_nan, flush_if, is_infinite, is_nan, is_negative, is_subnormal,
    is_zero, magnitude, nan_result, quiet,
};
use super::lanes::{Lane, build, carry3, lane_of, lanes, map1, map2, map3};
use super::levels::Host;
use super::mode::{Denorm, Round};
use super::soft;

/// The constants of the division steps for one format.
pub(super) trait Divisible: HostFormat {
    /// Exponent difference from which a quotient is near overflow.
    const LARGE: i32;
    /// Power of two that operands are scaled by.
    const SCALE: i32;
    /// Biased exponent up to which a numerator is too small for exact remainders.
    const TINY: i32;
    /// Exponent difference below which a quotient rounds to zero.
    const UNDERFLOW: i32;
}

impl Divisible for F32 {
    const LARGE: i32 = 96;
    const SCALE: i32 = 64;
    const TINY: i32 = 23;
    const UNDERFLOW: i32 = -150;
}

impl Divisible for F64 {
    const LARGE: i32 = 768;
    const SCALE: i32 = 128;
    const TINY: i32 = 53;
    const UNDERFLOW: i32 = -1075;
}

/// The exponent field.
fn field<F: Format>(x: F::Bits) -> i32 {
    (F::to_u64(magnitude::<F>(x)) >> F::FRACTION) as i32
}

const fn bias<F: Format>() -> i32 {
    (1 << (F::EXPONENT - 1)) - 1
}

/// Whether `|n / d|` is below the smallest normal number, for finite `n` and `d` other than zero.
fn quotient_is_subnormal<F: Format>(n: F::Bits, d: F::Bits) -> bool {
    let normal = |x: F::Bits| {
        let v = soft::unpack::<F>(F::to_u64(x));
        let up = v.significand.leading_zeros();
        (v.exponent - up as i32, v.significand << up)
    };
    let (n, d) = (normal(n), normal(d));
    let exponent = n.0 - d.0 - (n.1 < d.1) as i32;
    exponent < 1 - bias::<F>()
}

/// `v_div_scale`: the operand scaled, and whether `v_div_fmas` has to undo it.
fn scale<F: Divisible>(x: F::Bits, denominator: F::Bits, numerator: F::Bits) -> (F::Bits, bool) {
    let by = |e: i32| {
        if is_nan::<F>(x) {
            quiet::<F>(x)
        } else {
            F::from_u64(soft::scale::<F, F>(F::to_u64(x), e, Round::NearestEven))
        }
    };
    let same = |y: F::Bits| (x == y && !is_nan::<F>(x)) || (is_zero::<F>(x) && is_zero::<F>(y));
    if is_zero::<F>(denominator) || is_zero::<F>(numerator) {
        return (default_nan::<F>(), false);
    }
    let special = |y: F::Bits| is_nan::<F>(y) || is_infinite::<F>(y);
    if special(denominator) || special(numerator) {
        // The quotient is decided by `v_div_fixup`.
        return (by(0), false);
    }
    let (d, n) = (field::<F>(denominator), field::<F>(numerator));
    if n - d >= F::LARGE {
        return (
            if same(denominator) {
                by(F::SCALE)
            } else {
                by(0)
            },
            true,
        );
    }
    if is_subnormal::<F>(denominator) {
        return (by(F::SCALE), false);
    }
    // 1 / d is subnormal for d above 2^(bias - 1).
    let reciprocal = d > 2 * bias::<F>() - 1
        || (d == 2 * bias::<F>() - 1 && F::to_u64(denominator) & ((1 << F::FRACTION) - 1) != 0);
    let quotient = quotient_is_subnormal::<F>(numerator, denominator);
    if reciprocal && quotient {
        return (
            if same(denominator) {
                by(-F::SCALE)
            } else {
                by(0)
            },
            true,
        );
    }
    if reciprocal {
        return (by(-F::SCALE), false);
    }
    if quotient {
        return (if same(numerator) { by(F::SCALE) } else { by(0) }, true);
    }
    (by(if n <= F::TINY { F::SCALE } else { 0 }), false)
}

/// Whether `v_div_scale` leaves a quotient of these alone: both near enough to one.
#[inline(always)]
fn is_middling<F: Divisible>(d: F::Bits, n: F::Bits) -> bool {
    let inside = |x: F::Bits| {
        let magnitude = F::to_u64(magnitude::<F>(x));
        let least = ((bias::<F>() - F::LARGE / 2 + 1) as u64) << F::FRACTION;
        let range = ((F::LARGE - 1) as u64) << F::FRACTION;
        F::from_u64(magnitude.wrapping_sub(least)) < F::from_u64(range)
    };
    inside(d) & inside(n)
}

/// `v_div_scale`: sources are the operand to scale, denominator and numerator. Returns the lanes to scale back.
#[inline(always)]
pub(super) unsafe fn div_scale<F: Divisible>(args: &VArgs) -> u64 {
    let (n, [x, d, num]) = (lanes(args), args.src);
    let mut odd = F::denorm(args.mode).flush_in as u32;
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        for i in 0..n {
            let (d, num) = (F::Bits::get(d, i, n), F::Bits::get(num, i, n));
            odd |= !is_middling::<F>(d, num) as u32 | is_nan::<F>(F::Bits::get(x, i, n)) as u32;
        }
        if odd == 0 {
            map1(args, |x: F::Bits| x)
        } else {
            div_scale_odd::<F>(args)
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn div_scale_odd<F: Divisible>(args: &VArgs) -> u64 {
    let flush = F::denorm(args.mode).flush_in;
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        carry3(args, |x: F::Bits, d: F::Bits, n: F::Bits| {
            let [x, d, n] = [x, d, n].map(|v| flush_if::<F>(flush, v));
            scale::<F>(x, d, n)
        })
    }
}

/// `v_div_fmas`: fused multiply-add, scaled by the power of two that `v_div_scale` left to undo.
#[inline(always)]
pub(super) unsafe fn div_fmas<F: Divisible, H: Host>(args: &VArgs) -> u64 {
    let n = lanes(args);
    let wanted = if n == 64 {
        args.mask_in
    } else {
        args.mask_in as u32 as u64
    };
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        if wanted == 0 {
            fma::<F, H>(args)
        } else {
            div_fmas_scaled::<F>(args)
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn div_fmas_scaled<F: Divisible>(args: &VArgs) -> u64 {
    let (n, mask, src) = (lanes(args), args.mask_in, args.src);
    let env = Env::of::<F>(args);
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        build(args.dst, n, |i| {
            let x = src.map(|row| F::Bits::get(row, i, n));
            if !lane_of(mask, i) {
                exact_lane::<F, 3>(x, env, |[x, y, z], round| soft::fma::<F>(x, y, z, round))
            } else if field::<F>(x[2]) > bias::<F>() {
                exact_lane::<F, 3>(x, env, |[x, y, z], round| {
                    soft::fma_scaled::<F, F>(x, y, z, F::SCALE, round)
                })
            } else {
                exact_lane::<F, 3>(x, env, |[x, y, z], round| {
                    soft::fma_scaled::<F, F>(x, y, z, -F::SCALE, round)
                })
            }
        });
    }
    0
}

/// The cases of a quotient that need no arithmetic; `None` leaves it to the iteration's result.
#[inline(always)]
fn fixed<F: Format>(d: F::Bits, n: F::Bits) -> Option<F::Bits> {
    let sign = (d ^ n) & F::SIGN;
    let (inf_d, inf_n) = (is_infinite::<F>(d), is_infinite::<F>(n));
    let (zero_d, zero_n) = (is_zero::<F>(d), is_zero::<F>(n));
    if is_nan::<F>(n) | is_nan::<F>(d) {
        Some(nan_result::<F, 2>([n, d]))
    } else if (zero_d & zero_n) | (inf_d & inf_n) {
        Some(default_nan::<F>() | F::SIGN)
    } else if zero_d | inf_n {
        Some(sign | F::INFINITY)
    } else if inf_d | zero_n {
        Some(sign)
    } else {
        None
    }
}

/// `v_div_fixup`: sources are the quotient, denominator and numerator.
#[inline(always)]
pub(super) unsafe fn div_fixup<F: Divisible>(args: &VArgs) -> u64 {
    let (n, [q, d, num]) = (lanes(args), args.src);
    let Denorm {
        flush_in,
        flush_out,
    } = F::denorm(args.mode);
    let mut odd = (flush_in | flush_out) as u32;
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        for i in 0..n {
            let (d, num) = (F::Bits::get(d, i, n), F::Bits::get(num, i, n));
            odd |= !is_middling::<F>(d, num) as u32 | is_nan::<F>(F::Bits::get(q, i, n)) as u32;
        }
        if odd != 0 {
            return div_fixup_odd::<F>(args);
        }
        map3(args, |q: F::Bits, d: F::Bits, n: F::Bits| {
            magnitude::<F>(q) | ((d ^ n) & F::SIGN)
        })
    }
}

#[cold]
#[inline(never)]
unsafe fn div_fixup_odd<F: Divisible>(args: &VArgs) -> u64 {
    let env = Env::of::<F>(args);
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        map3(args, |q: F::Bits, d: F::Bits, n: F::Bits| {
            let [q, d, n] = [q, d, n].map(|v| flush_if::<F>(env.denorm.flush_in, v));
            let sign = (d ^ n) & F::SIGN;
            let underflow = field::<F>(n) - field::<F>(d) < F::UNDERFLOW;
            match fixed::<F>(d, n) {
                Some(result) => result,
                None if underflow => {
                    let tiny =
                        soft::pack::<F>(is_negative::<F>(sign), -100_000, 1, false, env.round);
                    flush_if::<F>(env.denorm.flush_out, F::from_u64(tiny))
                }
                // Finite operands leave no quotient only if an intermediate step overflowed.
                None if is_nan::<F>(q) => F::from_u64(soft::pack::<F>(
                    is_negative::<F>(sign),
                    100_000,
                    1,
                    false,
                    env.round,
                )),
                None => flush_if::<F>(env.denorm.flush_out, magnitude::<F>(q) | sign),
            }
        })
    }
}

/// `v_div_fixup_f16`, which has no underflow case.
#[inline(always)]
pub(super) unsafe fn div_fixup_f16(args: &VArgs) -> u64 {
    let denorm = F16::denorm(args.mode);
    // SAFETY: the caller keeps the contract for f16.
    unsafe {
        map3(args, |q: u16, d: u16, n: u16| {
            let [q, d, n] = [q, d, n].map(|v| flush_if::<F16>(denorm.flush_in, v));
            let sign = (d ^ n) & F16::SIGN;
            let quotient = flush_if::<F16>(denorm.flush_out, magnitude::<F16>(q) | sign);
            fixed::<F16>(d, n).unwrap_or(if is_nan::<F16>(q) {
                quiet::<F16>(quotient)
            } else {
                quotient
            })
        })
    }
}

/// The first 1201 bits of 2 / pi after the binary point, highest first, in words.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b0000,
];

/// 53 bits of 2 / pi from bit `shift` after the binary point.
fn two_over_pi(shift: u32) -> u64 {
    let word = |i: usize| TWO_OVER_PI.get(i).copied().unwrap_or(0);
    let (at, offset) = ((shift / 64) as usize, shift % 64);
    let pair = (word(at) as u128) << 64 | word(at + 1) as u128;
    (pair << offset >> 75) as u64
}

/// `v_trig_preop_f64`: segment `src1` of 2 / pi, for reducing an argument of the size of `src0`.
#[inline(always)]
pub(super) unsafe fn trig_preop(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for f64 and u32.
    unsafe {
        map2(args, |x: u64, segment: u32| {
            let exponent = (x >> 52) as u32 & 0x7ff;
            let shift = (segment & 31) * 53 + exponent.saturating_sub(1077);
            let scale = -53 - shift as i32 + if exponent >= 1968 { 128 } else { 0 };
            soft::pack::<F64>(
                false,
                scale,
                two_over_pi(shift) as u128,
                false,
                Round::NearestEven,
            )
        })
    }
}
