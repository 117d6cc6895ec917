//! Exact arithmetic in integers, rounded in any direction.
//!
//! The slow path: whatever the host's round-to-nearest arithmetic does not give directly. Values are 64-bit
//! patterns of a [`Format`]. NaN sources are the caller's business ([`nan_result`](super::float::nan_result));
//! invalid operations return `None`. Subnormals are kept: flushing is the caller's as well.

use super::float::{F64, Format};
use super::mode::Round;

/// A non-NaN value: `significand * 2^exponent`, or infinite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub negative: bool,
    pub infinite: bool,
    pub exponent: i32,
    pub significand: u128,
}

/// Reads a pattern that is not a NaN.
pub(super) fn unpack<F: Format>(bits: u64) -> Value {
    let field = (bits >> F::FRACTION) & ((1 << F::EXPONENT) - 1);
    let fraction = bits & ((1 << F::FRACTION) - 1);
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let hidden = if field == 0 { 0 } else { 1 << F::FRACTION };
    Value {
        negative: (bits >> (F::EXPONENT + F::FRACTION)) & 1 != 0,
        infinite: field == (1 << F::EXPONENT) - 1,
        exponent: field.max(1) as i32 - bias - F::FRACTION as i32,
        significand: (fraction | hidden) as u128,
    }
}

fn infinity<F: Format>(negative: bool) -> u64 {
    F::to_u64(F::INFINITY) | signed_zero::<F>(negative)
}

fn signed_zero<F: Format>(negative: bool) -> u64 {
    (negative as u64) << (F::EXPONENT + F::FRACTION)
}

/// Whether rounding moves away from zero, for a magnitude between `m` and `m + 1`.
fn rounds_away(
    round: Round,
    negative: bool,
    odd: bool,
    half: core::cmp::Ordering,
    inexact: bool,
) -> bool {
    match round {
        Round::NearestEven => match half {
            core::cmp::Ordering::Greater => true,
            core::cmp::Ordering::Equal => odd,
            core::cmp::Ordering::Less => false,
        },
        Round::Up => inexact && !negative,
        Round::Down => inexact && negative,
        Round::Zero => false,
    }
}

/// `significand * 2^exponent`, rounded to the format. `sticky` says that the exact magnitude is larger by less than
/// one unit of the significand, which then has at least two bits more than the format keeps.
pub(super) fn pack<F: Format>(
    negative: bool,
    exponent: i32,
    significand: u128,
    sticky: bool,
    round: Round,
) -> u64 {
    let sign = signed_zero::<F>(negative);
    if significand == 0 {
        return sign;
    }
    let bias = (1 << (F::EXPONENT - 1)) - 1;
    let top = 127 - significand.leading_zeros() as i32;
    let top_exponent = (exponent + top).max(1 - bias);
    let shift = top_exponent - F::FRACTION as i32 - exponent;
    let (kept, half, inexact) = if shift <= 0 {
        (significand << -shift, core::cmp::Ordering::Less, sticky)
    } else if shift > 127 {
        (0, core::cmp::Ordering::Less, true)
    } else {
        let rest = significand & ((1 << shift) - 1);
        let half = rest.cmp(&(1 << (shift - 1)));
        let half = if half.is_eq() && sticky {
            core::cmp::Ordering::Greater
        } else {
            half
        };
        (significand >> shift, half, rest != 0 || sticky)
    };
    let away = rounds_away(round, negative, kept & 1 != 0, half, inexact);
    let biased = top_exponent + bias;
    let limit = F::to_u64(F::INFINITY);
    // The hidden bit of a normal number adds one to the exponent field; a subnormal has none.
    let magnitude = if biased >= 1 << F::EXPONENT {
        limit
    } else {
        (((biased - 1) as u64) << F::FRACTION) + kept as u64 + away as u64
    };
    if magnitude < limit {
        return sign | magnitude;
    }
    let to_infinity = match round {
        Round::NearestEven => true,
        Round::Up => !negative,
        Round::Down => negative,
        Round::Zero => false,
    };
    sign | if to_infinity { limit } else { limit - 1 }
}

/// `x + y` for values whose significands are below 2^107.
fn add_values<F: Format>(x: Value, y: Value, round: Round) -> Option<u64> {
    if x.infinite || y.infinite {
        if x.infinite && y.infinite && x.negative != y.negative {
            return None;
        }
        return Some(infinity::<F>(if x.infinite {
            x.negative
        } else {
            y.negative
        }));
    }
    if x.significand == 0 && y.significand == 0 {
        let negative = if x.negative == y.negative {
            x.negative
        } else {
            round == Round::Down
        };
        return Some(signed_zero::<F>(negative));
    }
    if y.significand == 0 {
        return Some(pack::<F>(
            x.negative,
            x.exponent,
            x.significand,
            false,
            round,
        ));
    }
    if x.significand == 0 {
        return Some(pack::<F>(
            y.negative,
            y.exponent,
            y.significand,
            false,
            round,
        ));
    }
    // Put both top bits at bit 125, leaving room for a carry, and shift the smaller one down. It loses bits only
    // when it is so far down that no more than one bit can cancel.
    let normal = |v: Value| {
        let up = v.significand.leading_zeros() as i32 - 2;
        (v.exponent - up, v.significand << up, v.negative)
    };
    let (x, y) = (normal(x), normal(y));
    let (big, small) = if (x.0, x.1) >= (y.0, y.1) {
        (x, y)
    } else {
        (y, x)
    };
    let down = (big.0 - small.0) as u32;
    let (shifted, lost) = if down > 127 {
        (0, true)
    } else {
        (small.1 >> down, small.1 & ((1u128 << down) - 1) != 0)
    };
    if big.2 == small.2 {
        return Some(pack::<F>(big.2, big.0, big.1 + shifted, lost, round));
    }
    let difference = big.1 - shifted - lost as u128;
    if difference == 0 && !lost {
        return Some(signed_zero::<F>(round == Round::Down));
    }
    Some(pack::<F>(big.2, big.0, difference, lost, round))
}

/// `x + y`.
pub(super) fn add<F: Format>(x: u64, y: u64, round: Round) -> Option<u64> {
    add_values::<F>(unpack::<F>(x), unpack::<F>(y), round)
}

fn product(x: Value, y: Value) -> Option<Value> {
    let infinite = x.infinite || y.infinite;
    if infinite && ((!x.infinite && x.significand == 0) || (!y.infinite && y.significand == 0)) {
        return None;
    }
    Some(Value {
        negative: x.negative != y.negative,
        infinite,
        exponent: x.exponent + y.exponent,
        significand: x.significand * y.significand,
    })
}

/// `x * y`.
pub(super) fn mul<F: Format>(x: u64, y: u64, round: Round) -> Option<u64> {
    let p = product(unpack::<F>(x), unpack::<F>(y))?;
    Some(if p.infinite {
        infinity::<F>(p.negative)
    } else {
        pack::<F>(p.negative, p.exponent, p.significand, false, round)
    })
}

/// `(x * y + z) * 2^scale`, rounded once. Sources are of format `S`, the result of format `R`.
pub(super) fn fma_scaled<S: Format, R: Format>(
    x: u64,
    y: u64,
    z: u64,
    scale: i32,
    round: Round,
) -> Option<u64> {
    let mut p = product(unpack::<S>(x), unpack::<S>(y))?;
    let mut z = unpack::<S>(z);
    p.exponent += scale;
    z.exponent += scale;
    add_values::<R>(p, z, round)
}

/// `x * y + z`, rounded once.
pub(super) fn fma<F: Format>(x: u64, y: u64, z: u64, round: Round) -> Option<u64> {
    fma_scaled::<F, F>(x, y, z, 0, round)
}

/// `x` in another format.
pub(super) fn convert<S: Format, R: Format>(x: u64, round: Round) -> u64 {
    scale::<S, R>(x, 0, round)
}

/// `x * 2^scale` in another format.
pub(super) fn scale<S: Format, R: Format>(x: u64, scale: i32, round: Round) -> u64 {
    let v = unpack::<S>(x);
    if v.infinite {
        infinity::<R>(v.negative)
    } else {
        // No format reaches further than this; beyond it only the direction matters.
        pack::<R>(
            v.negative,
            v.exponent + scale.clamp(-8192, 8192),
            v.significand,
            false,
            round,
        )
    }
}

/// An integer in the format.
pub(super) fn from_int<F: Format>(x: i64, round: Round) -> u64 {
    pack::<F>(x < 0, 0, x.unsigned_abs() as u128, false, round)
}

/// `x` rounded to an integral value; zero results keep the sign.
pub(super) fn round_to_integral(x: f64, round: Round) -> f64 {
    let bits = x.to_bits();
    let v = unpack::<F64>(bits);
    if v.infinite || v.exponent >= 0 || v.significand == 0 {
        return x;
    }
    let shift = -v.exponent;
    let (kept, half, inexact) = if shift > 64 {
        (0, core::cmp::Ordering::Less, true)
    } else {
        let rest = v.significand & ((1 << shift) - 1);
        (
            v.significand >> shift,
            rest.cmp(&(1 << (shift - 1))),
            rest != 0,
        )
    };
    let away = rounds_away(round, v.negative, kept & 1 != 0, half, inexact);
    let magnitude = (kept as u64 + away as u64) as f64;
    if v.negative { -magnitude } else { magnitude }
}
