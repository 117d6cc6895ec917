//! Floating-point formats as bit patterns: classes, NaN rules, subnormal flushing.
//!
//! NaN results are never left to the host. An operation with NaN sources returns the first of them, in source
//! order, quieted; an invalid operation without NaN sources returns the format's default NaN (positive, quiet, no
//! payload).

use core::ops::{BitAnd, BitOr, BitXor, Not};

use super::lanes::Lane;
use super::mode::{Denorm, FloatMode, Round};

/// A floating-point format. `Bits` is how a value of it lies in a lane.
pub(super) trait Format: Copy + 'static {
    /// The bit pattern.
    type Bits: Lane
        + Eq
        + Ord
        + BitAnd<Output = Self::Bits>
        + BitOr<Output = Self::Bits>
        + BitXor<Output = Self::Bits>
        + Not<Output = Self::Bits>;
    /// Bits of the exponent field.
    const EXPONENT: u32;
    /// Bits of the fraction field.
    const FRACTION: u32;
    /// The sign bit.
    const SIGN: Self::Bits;
    /// Positive infinity: also the mask of the exponent field.
    const INFINITY: Self::Bits;
    /// The fraction's top bit, set in quiet NaNs.
    const QUIET: Self::Bits;
    /// The bit pattern of plus zero.
    const ZERO: Self::Bits;
    /// Rounding for results of this format.
    fn round(mode: FloatMode) -> Round;
    /// Subnormal treatment for this format.
    fn denorm(mode: FloatMode) -> Denorm;
    /// Widens the pattern.
    fn to_u64(bits: Self::Bits) -> u64;
    /// Narrows a pattern that `to_u64` widened.
    fn from_u64(bits: u64) -> Self::Bits;
}

/// IEEE binary16, in the low half of a lane.
#[derive(Clone, Copy)]
pub(super) struct F16;
/// IEEE binary32.
#[derive(Clone, Copy)]
pub(super) struct F32;
/// IEEE binary64, in two rows.
#[derive(Clone, Copy)]
pub(super) struct F64;
/// bfloat16, in the low half of a lane. Shares the MODE fields of f32.
#[derive(Clone, Copy)]
pub(super) struct Bf16;

macro_rules! format {
    ($name:ident, $bits:ty, $exponent:expr, $fraction:expr, $round:ident, $denorm:ident) => {
        impl Format for $name {
            type Bits = $bits;
            const EXPONENT: u32 = $exponent;
            const FRACTION: u32 = $fraction;
            const SIGN: $bits = 1 << ($exponent + $fraction);
            const INFINITY: $bits = ((1 << $exponent) - 1) << $fraction;
            const QUIET: $bits = 1 << ($fraction - 1);
            const ZERO: $bits = 0;
            #[inline(always)]
            fn round(mode: FloatMode) -> Round {
                mode.$round()
            }
            #[inline(always)]
            fn denorm(mode: FloatMode) -> Denorm {
                mode.$denorm()
            }
            #[inline(always)]
            fn to_u64(bits: $bits) -> u64 {
                bits as u64
            }
            #[inline(always)]
            fn from_u64(bits: u64) -> $bits {
                bits as $bits
            }
        }
    };
}

format!(F16, u16, 5, 10, round_f16_f64, denorm_f16_f64);
format!(F32, u32, 8, 23, round_f32, denorm_f32);
format!(F64, u64, 11, 52, round_f16_f64, denorm_f16_f64);
format!(Bf16, u16, 8, 7, round_f32, denorm_f32);

/// The pattern without its sign.
#[inline(always)]
pub(super) fn magnitude<F: Format>(x: F::Bits) -> F::Bits {
    x & !F::SIGN
}

#[inline(always)]
pub(super) fn is_nan<F: Format>(x: F::Bits) -> bool {
    magnitude::<F>(x) > F::INFINITY
}

#[inline(always)]
pub(super) fn is_signalling<F: Format>(x: F::Bits) -> bool {
    is_nan::<F>(x) & (x & F::QUIET == F::ZERO)
}

#[inline(always)]
pub(super) fn is_infinite<F: Format>(x: F::Bits) -> bool {
    magnitude::<F>(x) == F::INFINITY
}

#[inline(always)]
pub(super) fn is_zero<F: Format>(x: F::Bits) -> bool {
    magnitude::<F>(x) == F::ZERO
}

#[inline(always)]
pub(super) fn is_subnormal<F: Format>(x: F::Bits) -> bool {
    (x & F::INFINITY == F::ZERO) & (magnitude::<F>(x) != F::ZERO)
}

#[inline(always)]
pub(super) fn is_negative<F: Format>(x: F::Bits) -> bool {
    x & F::SIGN != F::ZERO
}

/// A NaN made quiet.
#[inline(always)]
pub(super) fn quiet<F: Format>(x: F::Bits) -> F::Bits {
    x | F::QUIET
}

/// The NaN of an invalid operation.
#[inline(always)]
pub(super) fn default_nan<F: Format>() -> F::Bits {
    F::INFINITY | F::QUIET
}

/// The result of an operation that gives NaN: the first NaN source quieted, or the default NaN.
#[inline(always)]
pub(super) fn nan_result<F: Format, const N: usize>(sources: [F::Bits; N]) -> F::Bits {
    let mut result = default_nan::<F>();
    let mut i = N;
    while i > 0 {
        i -= 1;
        result = if is_nan::<F>(sources[i]) {
            quiet::<F>(sources[i])
        } else {
            result
        };
    }
    result
}

/// A subnormal becomes zero of its sign.
#[inline(always)]
pub(super) fn flush<F: Format>(x: F::Bits) -> F::Bits {
    if x & F::INFINITY == F::ZERO {
        x & F::SIGN
    } else {
        x
    }
}

/// `flush` if asked for.
#[inline(always)]
pub(super) fn flush_if<F: Format>(condition: bool, x: F::Bits) -> F::Bits {
    if condition { flush::<F>(x) } else { x }
}

/// An exact f16 in f32. NaN payloads shift along.
#[inline(always)]
pub(crate) fn f16_to_f32(h: u16) -> f32 {
    let magnitude = ((h & 0x7fff) as u32) << 13;
    // 2^112 moves the bias; a subnormal f16 is a subnormal f32 at this point, and the product is exact.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = magnitude | 0x7f80_0000;
    let bits = if magnitude >= 0x0f80_0000 {
        special
    } else {
        scaled
    };
    f32::from_bits(bits | ((h & 0x8000) as u32) << 16)
}

/// f32 to f16, rounded to nearest even. NaN payloads shift along, quieted.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Below 2^-14 the sum with 0.5 leaves the f16 fraction, rounded by the host, in the low bits.
    let small = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    // Otherwise: rebias, and add just under half an ulp, or half if the kept part is odd.
    let normal = magnitude
        .wrapping_sub(0x3800_0000)
        .wrapping_add(0xfff + ((magnitude >> 13) & 1))
        >> 13;
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let finite = if magnitude < 0x3880_0000 {
        small
    } else {
        normal
    };
    let finite = if magnitude >= 0x477f_f000 {
        0x7c00
    } else {
        finite
    };
    let result = if magnitude > 0x7f80_0000 { nan } else { finite };
    result as u16 | ((bits >> 16) & 0x8000) as u16
}

/// `near + error` rounded to odd, where `near` is the sum rounded to nearest: rounding the result again to a format
/// of at most 22 significant bits gives what one rounding would have given. A NaN error means no error.
#[inline(always)]
pub(super) fn odd_f32(near: f32, error: f32) -> f32 {
    let bits = near.to_bits();
    let inexact = (error > 0.0) | (error < 0.0);
    let away = (error > 0.0) == (bits >> 31 == 0);
    let step = if away { 1u32 } else { u32::MAX };
    let step = if inexact & (bits & 1 == 0) { step } else { 0 };
    f32::from_bits(bits.wrapping_add(step))
}

/// f64 to f32 rounded to odd.
#[inline(always)]
pub(super) fn f64_to_f32_odd(x: f64) -> f32 {
    let near = x as f32;
    let error = x - near as f64;
    // Only the sign of the error matters, which a conversion might lose to underflow.
    let sign = if error > 0.0 { 1.0 } else { -1.0 };
    odd_f32(
        near,
        if (error > 0.0) | (error < 0.0) {
            sign
        } else {
            0.0
        },
    )
}

/// f64 to f16, rounded once to nearest even. The bits of NaNs are those of the conversions in between.
#[inline(always)]
pub(super) fn f64_to_f16(x: f64) -> u16 {
    f32_to_f16(f64_to_f32_odd(x))
}

/// f32 to bfloat16, rounded to nearest even. NaN payloads shift along, quieted.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    (if bits & 0x7fff_ffff > 0x7f80_0000 {
        nan
    } else {
        rounded
    }) as u16
}

/// Square root, rounded to nearest even. NaN bits are unspecified.
#[inline(always)]
pub(super) fn sqrt_f32(x: f32) -> f32 {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        use core::arch::x86_64::{_mm_cvtss_f32, _mm_set_ss, _mm_sqrt_ss};
        // SAFETY: SSE2 is part of the target.
        unsafe { _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    libm::sqrtf(x)
}

/// Square root, rounded to nearest even. NaN bits are unspecified.
#[inline(always)]
pub(super) fn sqrt_f64(x: f64) -> f64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        use core::arch::x86_64::{_mm_cvtsd_f64, _mm_set_sd, _mm_setzero_pd, _mm_sqrt_sd};
        // SAFETY: SSE2 is part of the target.
        unsafe { _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x))) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    libm::sqrt(x)
}

/// An exact bfloat16 in f32.
#[inline(always)]
pub(crate) fn bf16_to_f32(x: u16) -> f32 {
    f32::from_bits((x as u32) << 16)
}
