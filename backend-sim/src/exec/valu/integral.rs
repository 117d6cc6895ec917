//! Rounding to integral values, splitting into fraction and exponent, scaling by powers of two.

use super::float::{self, F64, Format, f16_to_f32, f32_to_f16};
use super::mode::Round;
use super::soft;

/// Rounding to an integral value in each direction, by host arithmetic. Zero results keep the sign of the source;
/// NaN and infinity stay.
pub(super) trait Integral: Copy {
    fn trunc(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn nearest_even(self) -> Self;
}

macro_rules! integral {
    ($float:ident, $integral_from:expr) => {
        impl Integral for $float {
            #[inline(always)]
            fn nearest_even(self) -> Self {
                let magnitude = $float::from_bits(self.to_bits() << 1 >> 1);
                // From here on every value is integral, and below it the sum has no fraction bits.
                const LIMIT: $float = $integral_from;
                let rounded = (magnitude + LIMIT) - LIMIT;
                let rounded = if magnitude < LIMIT {
                    rounded
                } else {
                    magnitude
                };
                let sign = self.to_bits() ^ magnitude.to_bits();
                $float::from_bits(rounded.to_bits() | sign)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                let magnitude = $float::from_bits(self.to_bits() << 1 >> 1);
                let sign = self.to_bits() ^ magnitude.to_bits();
                let near = magnitude.nearest_even();
                let down = if near > magnitude { near - 1.0 } else { near };
                $float::from_bits(down.to_bits() | sign)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                let t = self.trunc();
                if t > self { t - 1.0 } else { t }
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                let t = self.trunc();
                if t < self { t + 1.0 } else { t }
            }
        }
    };
}

integral!(f32, 8388608.0);
integral!(f64, 4503599627370496.0);

/// `x - floor(x)` for f32, below one: a result that would round up to one is the largest value under it.
#[inline(always)]
pub(super) fn fract_f32(x: u32) -> u32 {
    let x = f32::from_bits(x);
    let fraction = x - x.floor();
    let limit = f32::from_bits(0x3f7f_ffff);
    (if fraction > limit { limit } else { fraction }).to_bits()
}

/// As [`fract_f32`].
#[inline(always)]
pub(super) fn fract_f64(x: u64) -> u64 {
    let x = f64::from_bits(x);
    let fraction = x - x.floor();
    let limit = f64::from_bits(0x3fef_ffff_ffff_ffff);
    (if fraction > limit { limit } else { fraction }).to_bits()
}

/// As [`fract_f32`].
#[inline(always)]
pub(super) fn fract_f16(x: u16) -> u16 {
    let x = f16_to_f32(x);
    let fraction = f32_to_f16(x - x.floor());
    if (0x3c00..=0x7c00).contains(&fraction) {
        0x3bff
    } else {
        fraction
    }
}

/// `x - floor(x)` in soft arithmetic.
pub(super) fn fract_exact<F: Format>([x]: [u64; 1], round: Round) -> Option<u64> {
    let wide = f64::from_bits(soft::convert::<F, F64>(x, Round::NearestEven));
    let floor = soft::round_to_integral(wide, Round::Down);
    // An integral f64 of this magnitude is exact in the narrower format, or beyond its range only with x infinite.
    let floor = soft::convert::<F64, F>((-floor).to_bits(), Round::NearestEven);
    let fraction = soft::add::<F>(x, floor, round)?;
    let one = soft::from_int::<F>(1, Round::NearestEven);
    Some(if fraction >= one && fraction < F::to_u64(F::INFINITY) {
        one - 1
    } else {
        fraction
    })
}

/// The exponent `e` of `x = m * 2^e` with `m` in [1/2, 1); zero for zero, infinity and NaN.
#[inline(always)]
pub(super) fn frexp_exponent<F: Format>(x: F::Bits) -> i32 {
    let magnitude = F::to_u64(float::magnitude::<F>(x));
    let field = (magnitude >> F::FRACTION) as i32;
    // Where the top bit of a subnormal stands, counted from the hidden bit.
    let deficit = magnitude.leading_zeros() as i32 - (63 - F::FRACTION as i32);
    let bias = (1 << (F::EXPONENT - 1)) - 2;
    let exponent = if field == 0 { 1 - deficit } else { field } - bias;
    let special = magnitude == 0 || magnitude >= F::to_u64(F::INFINITY);
    if special { 0 } else { exponent }
}

/// The `m` of `x = m * 2^e`; `x` itself for zero, infinity and NaN.
#[inline(always)]
pub(super) fn frexp_mantissa<F: Format>(x: F::Bits) -> F::Bits {
    let bits = F::to_u64(x);
    let magnitude = F::to_u64(float::magnitude::<F>(x));
    let hidden = 1 << F::FRACTION;
    let deficit = magnitude.leading_zeros().saturating_sub(63 - F::FRACTION) & 63;
    let fraction = if magnitude < hidden {
        magnitude << deficit
    } else {
        magnitude
    } & (hidden - 1);
    let half = ((1u64 << (F::EXPONENT - 1)) - 2) << F::FRACTION;
    let special = magnitude == 0 || magnitude >= F::to_u64(F::INFINITY);
    if special {
        x
    } else {
        F::from_u64((bits ^ magnitude) | half | fraction)
    }
}

/// `x * 2^e` for f32, rounded once to nearest even.
#[inline(always)]
pub(super) fn ldexp_f32(x: u32, e: i32) -> u32 {
    // Beyond these the result is zero or infinite anyway, and f64 holds the unrounded one exactly.
    let e = e.clamp(-400, 400);
    let scale = f64::from_bits(((1023 + e) as u64) << 52);
    ((f32::from_bits(x) as f64 * scale) as f32).to_bits()
}

/// `x * 2^e` for f16, rounded once to nearest even.
#[inline(always)]
pub(super) fn ldexp_f16(x: u16, e: i32) -> u16 {
    let e = e.clamp(-60, 60);
    let scale = f32::from_bits(((127 + e) as u32) << 23);
    f32_to_f16(f16_to_f32(x) * scale)
}

/// `x * 2^e` for f64, rounded once to nearest even; infinity stays.
#[inline(always)]
pub(super) fn ldexp_f64(x: u64, e: i32) -> u64 {
    let field = (x >> 52) as i32 & 0x7ff;
    let moved = field.saturating_add(e);
    if field == 0x7ff || x << 1 == 0 {
        x
    } else if field != 0 && (1..0x7ff).contains(&moved) {
        (x & !(0x7ff << 52)) | (moved as u64) << 52
    } else {
        soft::scale::<F64, F64>(x, e, Round::NearestEven)
    }
}
