//! Conversions between formats and integers, in every rounding and denormal mode.

use super::VArgs;
use super::float::{self, F16, F32, Format, is_nan};
use super::integral::Integral;
use super::lanes::{Lane, map1};
use super::mode::Round;
use super::soft;

/// A NaN in another format: sign and as much of the payload as fits, quiet.
#[inline(always)]
pub(super) fn convert_nan<S: Format, R: Format>(x: S::Bits) -> R::Bits {
    let bits = S::to_u64(x);
    let payload = bits & ((1 << S::FRACTION) - 1);
    let payload = if R::FRACTION >= S::FRACTION {
        payload << R::FRACTION.saturating_sub(S::FRACTION)
    } else {
        payload >> S::FRACTION.saturating_sub(R::FRACTION)
    };
    let sign = (bits >> (S::EXPONENT + S::FRACTION)) << (R::EXPONENT + R::FRACTION);
    R::from_u64(sign | payload) | R::INFINITY | R::QUIET
}

/// One lane of a conversion by host arithmetic, which rounds to nearest even; `host` never sees a NaN's result used.
#[inline(always)]
pub(super) fn convert_lane<S: Format, R: Format>(
    x: S::Bits,
    flush_in: bool,
    flush_out: bool,
    host: impl Fn(S::Bits) -> R::Bits,
) -> R::Bits {
    let result = float::flush_if::<R>(flush_out, host(float::flush_if::<S>(flush_in, x)));
    if is_nan::<S>(x) {
        convert_nan::<S, R>(x)
    } else {
        result
    }
}

/// One lane of a conversion in soft arithmetic.
pub(super) fn convert_exact<S: Format, R: Format>(
    args: &VArgs,
    x: S::Bits,
    round: Round,
) -> R::Bits {
    convert_lane::<S, R>(
        x,
        S::denorm(args.mode).flush_in,
        R::denorm(args.mode).flush_out,
        |x| R::from_u64(soft::convert::<S, R>(S::to_u64(x), round)),
    )
}

/// A conversion between formats. Rounding is that of the result's format.
///
/// # Safety
///
/// The contract of [`VArgs`], for these formats.
#[inline(always)]
pub(super) unsafe fn convert<S: Format, R: Format>(
    args: &VArgs,
    host: impl Fn(S::Bits) -> R::Bits,
) -> u64 {
    let (flush_in, flush_out) = (
        S::denorm(args.mode).flush_in,
        R::denorm(args.mode).flush_out,
    );
    let round = R::round(args.mode);
    // SAFETY: the caller's contract.
    unsafe {
        if round != Round::NearestEven {
            convert_slow::<S, R>(args, round)
        } else {
            map1(args, |x: S::Bits| {
                convert_lane::<S, R>(x, flush_in, flush_out, &host)
            })
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn convert_slow<S: Format, R: Format>(args: &VArgs, round: Round) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { map1(args, |x: S::Bits| convert_exact::<S, R>(args, x, round)) }
}

/// An integer to a float.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn from_int<I: Lane + Into<i64>, R: Format>(
    args: &VArgs,
    host: impl Fn(I) -> R::Bits,
) -> u64 {
    let round = R::round(args.mode);
    // SAFETY: the caller's contract.
    unsafe {
        if round != Round::NearestEven {
            map1(args, |x: I| {
                R::from_u64(soft::from_int::<R>(x.into(), round))
            })
        } else {
            map1(args, host)
        }
    }
}

/// f32 to f16 in the mode's rounding and denormal treatment, for instructions that pack two.
#[inline(always)]
pub(super) fn f32_to_f16_in(args: &VArgs, x: u32, round: Round) -> u16 {
    if round == Round::NearestEven {
        let (flush_in, flush_out) = (
            F32::denorm(args.mode).flush_in,
            F16::denorm(args.mode).flush_out,
        );
        convert_lane::<F32, F16>(x, flush_in, flush_out, |x| {
            float::f32_to_f16(f32::from_bits(x))
        })
    } else {
        convert_exact::<F32, F16>(args, x, round)
    }
}

/// f32 to f16, rounded toward zero, subnormals kept.
#[inline(always)]
pub(super) fn f32_to_f16_toward_zero(x: u32) -> u16 {
    let magnitude = x & 0x7fff_ffff;
    let normal = magnitude.wrapping_sub(0x3800_0000) >> 13;
    // Subnormal results count in units of 2^-24, which the product makes whole; the conversion truncates.
    let small = f32_to_i32(f32::from_bits(magnitude) * 16777216.0) as u32;
    let finite = if magnitude < 0x3880_0000 {
        small
    } else {
        normal
    };
    // Finite values beyond the range stay finite.
    let finite = if magnitude >= 0x4780_0000 {
        0x7bff
    } else {
        finite
    };
    let result = if magnitude == 0x7f80_0000 {
        0x7c00
    } else {
        finite
    };
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let result = if magnitude > 0x7f80_0000 { nan } else { result };
    (result | (x >> 16 & 0x8000)) as u16
}

/// f32 to a signed normalised 16-bit integer: [-1, 1] onto [-32767, 32767], nearest even; zero for NaN.
#[inline(always)]
pub(super) fn snorm16(x: f32) -> u16 {
    let x = if x > 1.0 { 1.0 } else { x };
    let x = if x < -1.0 { -1.0 } else { x };
    // The product is exact in f64.
    (x as f64 * 32767.0).nearest_even() as i32 as u16
}

/// f32 to an unsigned normalised 16-bit integer: [0, 1] onto [0, 65535], nearest even; zero for NaN.
#[inline(always)]
pub(super) fn unorm16(x: f32) -> u16 {
    let x = if x > 1.0 { 1.0 } else { x };
    let x = if x < 0.0 { 0.0 } else { x };
    (x as f64 * 65535.0).nearest_even() as i32 as u16
}

/// f32 to an unsigned byte in the given rounding, saturating; zero for NaN.
pub(super) fn f32_to_u8(x: f32, round: Round) -> u8 {
    if x.is_nan() {
        return 0;
    }
    soft::round_to_integral(x as f64, round) as u8
}

/// f64 to f32, rounded to nearest even.
#[inline(always)]
pub(super) fn f64_to_f32(x: u64) -> u32 {
    (f64::from_bits(x) as f32).to_bits()
}

/// f32 to i32, truncated, saturating; zero for NaN. As `as`, in a form that vectorises.
#[inline(always)]
pub(super) fn f32_to_i32(x: f32) -> i32 {
    const LIMIT: f32 = 2147483648.0;
    let fits = (-LIMIT..LIMIT).contains(&x);
    let inside = if fits { x } else { 0.0 };
    // SAFETY: the value is in range.
    let result = unsafe { inside.to_int_unchecked::<i32>() };
    let result = if x >= LIMIT { i32::MAX } else { result };
    if x < -LIMIT { i32::MIN } else { result }
}

/// f32 to u32, truncated, saturating; zero for NaN. As `as`, in a form that vectorises.
#[inline(always)]
pub(super) fn f32_to_u32(x: f32) -> u32 {
    const HALF: f32 = 2147483648.0;
    let high = x >= HALF;
    let rest = f32_to_i32(if high { x - HALF } else { x });
    let rest = if rest < 0 { 0 } else { rest as u32 };
    // Saturated low parts are all ones but the top bit.
    let result = if high { rest | 1 << 31 } else { rest };
    if x >= 2.0 * HALF { u32::MAX } else { result }
}
