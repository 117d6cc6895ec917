//! What atomic operations make of the old value.

use super::modifiers::widen;

/// A read-modify-write operation, on values of 32 or 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum AtomicOp {
    Swap,
    /// Stores the first data value if the old one equals the second.
    CmpSwap,
    Add,
    Sub,
    /// Data minus old value.
    RSub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    /// Increments, wrapping to zero at the data value.
    Inc,
    /// Decrements, wrapping to the data value at zero or above it.
    Dec,
    /// Clears the bits of the first data value, sets those of the second (LDS).
    MskOr,
    /// Subtracts if the result is not negative (gfx12), else leaves the value.
    CondSub,
    /// Subtracts, saturating at zero.
    SubClamp,
    /// `old >= data ? old - data : old + data2` (LDS).
    Wrap,
    FAdd,
    FMin,
    FMax,
    /// As [`AtomicOp::CmpSwap`] with a floating-point comparison.
    FCmpSwap,
    PkAddF16,
    PkAddBf16,
}

impl AtomicOp {
    /// All, by discriminant.
    const ALL: [AtomicOp; 24] = [
        AtomicOp::Swap,
        AtomicOp::CmpSwap,
        AtomicOp::Add,
        AtomicOp::Sub,
        AtomicOp::RSub,
        AtomicOp::SMin,
        AtomicOp::UMin,
        AtomicOp::SMax,
        AtomicOp::UMax,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::Inc,
        AtomicOp::Dec,
        AtomicOp::MskOr,
        AtomicOp::CondSub,
        AtomicOp::SubClamp,
        AtomicOp::Wrap,
        AtomicOp::FAdd,
        AtomicOp::FMin,
        AtomicOp::FMax,
        AtomicOp::FCmpSwap,
        AtomicOp::PkAddF16,
        AtomicOp::PkAddBf16,
    ];

    /// The operation of a number that a micro-op keeps.
    pub(crate) fn from_index(index: u64) -> AtomicOp {
        *Self::ALL.get(index as usize).unwrap_or(&AtomicOp::Swap)
    }

    /// Whether the operation takes two data values.
    pub(crate) fn two_values(self) -> bool {
        matches!(
            self,
            AtomicOp::CmpSwap | AtomicOp::FCmpSwap | AtomicOp::MskOr | AtomicOp::Wrap
        )
    }

    /// The new value of 32 bits.
    pub(crate) fn apply32(self, old: u32, a: u32, b: u32) -> u32 {
        match self {
            AtomicOp::Swap => a,
            AtomicOp::CmpSwap => {
                if old == b {
                    a
                } else {
                    old
                }
            }
            AtomicOp::Add => old.wrapping_add(a),
            AtomicOp::Sub => old.wrapping_sub(a),
            AtomicOp::RSub => a.wrapping_sub(old),
            AtomicOp::SMin => (old as i32).min(a as i32) as u32,
            AtomicOp::UMin => old.min(a),
            AtomicOp::SMax => (old as i32).max(a as i32) as u32,
            AtomicOp::UMax => old.max(a),
            AtomicOp::And => old & a,
            AtomicOp::Or => old | a,
            AtomicOp::Xor => old ^ a,
            AtomicOp::Inc => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            AtomicOp::MskOr => old & !a | b,
            AtomicOp::CondSub => {
                if old >= a {
                    old - a
                } else {
                    old
                }
            }
            AtomicOp::SubClamp => old.saturating_sub(a),
            AtomicOp::Wrap => {
                if old >= a {
                    old - a
                } else {
                    old.wrapping_add(b)
                }
            }
            AtomicOp::FAdd => add_f32(old, a),
            AtomicOp::FMin => min_f32(old, a),
            AtomicOp::FMax => min_f32(old ^ SIGN, a ^ SIGN) ^ SIGN,
            AtomicOp::FCmpSwap => {
                if f32::from_bits(old) == f32::from_bits(b) {
                    a
                } else {
                    old
                }
            }
            AtomicOp::PkAddF16 => {
                let low = add_f16(old as u16, a as u16);
                let high = add_f16((old >> 16) as u16, (a >> 16) as u16);
                u32::from(low) | u32::from(high) << 16
            }
            AtomicOp::PkAddBf16 => {
                let low = add_bf16(old as u16, a as u16);
                let high = add_bf16((old >> 16) as u16, (a >> 16) as u16);
                u32::from(low) | u32::from(high) << 16
            }
        }
    }

    /// The new value of 64 bits.
    pub(crate) fn apply64(self, old: u64, a: u64, b: u64) -> u64 {
        match self {
            AtomicOp::Swap => a,
            AtomicOp::CmpSwap => {
                if old == b {
                    a
                } else {
                    old
                }
            }
            AtomicOp::Add => old.wrapping_add(a),
            AtomicOp::Sub => old.wrapping_sub(a),
            AtomicOp::RSub => a.wrapping_sub(old),
            AtomicOp::SMin => (old as i64).min(a as i64) as u64,
            AtomicOp::UMin => old.min(a),
            AtomicOp::SMax => (old as i64).max(a as i64) as u64,
            AtomicOp::UMax => old.max(a),
            AtomicOp::And => old & a,
            AtomicOp::Or => old | a,
            AtomicOp::Xor => old ^ a,
            AtomicOp::Inc => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            AtomicOp::MskOr => old & !a | b,
            AtomicOp::CondSub => {
                if old >= a {
                    old - a
                } else {
                    old
                }
            }
            AtomicOp::SubClamp => old.saturating_sub(a),
            AtomicOp::Wrap => {
                if old >= a {
                    old - a
                } else {
                    old.wrapping_add(b)
                }
            }
            AtomicOp::FAdd => add_f64(old, a),
            AtomicOp::FMin => min_f64(old, a),
            AtomicOp::FMax => min_f64(old ^ SIGN64, a ^ SIGN64) ^ SIGN64,
            AtomicOp::FCmpSwap => {
                if f64::from_bits(old) == f64::from_bits(b) {
                    a
                } else {
                    old
                }
            }
            // There is no 64-bit form of these; lowering never asks.
            AtomicOp::PkAddF16 | AtomicOp::PkAddBf16 => old,
        }
    }
}

const SIGN: u32 = 0x8000_0000;
const SIGN64: u64 = 0x8000_0000_0000_0000;

/// The NaN that an operation on a NaN gives: the first one, quieted.
fn nan32(a: u32, b: u32) -> Option<u32> {
    [a, b]
        .into_iter()
        .find(|x| x & 0x7fff_ffff > 0x7f80_0000)
        .map(|x| x | 0x0040_0000)
}

fn nan64(a: u64, b: u64) -> Option<u64> {
    [a, b]
        .into_iter()
        .find(|x| x & !SIGN64 > 0x7ff0_0000_0000_0000)
        .map(|x| x | 0x0008_0000_0000_0000)
}

fn add_f32(a: u32, b: u32) -> u32 {
    if let Some(nan) = nan32(a, b) {
        return nan;
    }
    let sum = f32::from_bits(a) + f32::from_bits(b);
    // Only infinities of both signs get here as NaN.
    if sum.is_nan() {
        0x7fc0_0000
    } else {
        sum.to_bits()
    }
}

fn add_f64(a: u64, b: u64) -> u64 {
    if let Some(nan) = nan64(a, b) {
        return nan;
    }
    let sum = f64::from_bits(a) + f64::from_bits(b);
    if sum.is_nan() {
        0x7ff8_0000_0000_0000
    } else {
        sum.to_bits()
    }
}

/// The smaller number; a NaN loses to a number; -0 is below +0.
fn min_f32(a: u32, b: u32) -> u32 {
    let key = |x: u32| if x & SIGN != 0 { !x } else { x | SIGN };
    let nan = |x: u32| x & !SIGN > 0x7f80_0000;
    match (nan(a), nan(b)) {
        (true, true) => a | 0x0040_0000,
        (true, false) => b,
        (false, true) => a,
        _ => {
            if key(b) < key(a) {
                b
            } else {
                a
            }
        }
    }
}

fn min_f64(a: u64, b: u64) -> u64 {
    let key = |x: u64| if x & SIGN64 != 0 { !x } else { x | SIGN64 };
    let nan = |x: u64| x & !SIGN64 > 0x7ff0_0000_0000_0000;
    match (nan(a), nan(b)) {
        (true, true) => a | 0x0008_0000_0000_0000,
        (true, false) => b,
        (false, true) => a,
        _ => {
            if key(b) < key(a) {
                b
            } else {
                a
            }
        }
    }
}

/// Single precision has more than twice the digits of half precision and two, so that rounding
/// twice rounds right.
fn add_f16(a: u16, b: u16) -> u16 {
    narrow(add_f32(widen(a), widen(b)))
}

fn add_bf16(a: u16, b: u16) -> u16 {
    let sum = add_f32(u32::from(a) << 16, u32::from(b) << 16);
    if sum & 0x7fff_ffff > 0x7f80_0000 {
        return (sum >> 16) as u16;
    }
    // To nearest, ties to even.
    let round = 0x7fff + (sum >> 16 & 1);
    ((sum + round) >> 16) as u16
}

/// Single precision to half precision, to nearest, ties to even.
fn narrow(bits: u32) -> u16 {
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00 | (magnitude >> 13 & 0x1ff) as u16;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude >= 0x3880_0000 {
        let rebased = magnitude - (112 << 23);
        let rounded = rebased + 0xfff + (rebased >> 13 & 1);
        return sign | (rounded >> 13) as u16;
    }
    // Subnormal results: shift the significand into place by hand.
    let exponent = magnitude >> 23;
    if exponent < 102 {
        return sign;
    }
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    let shift = 126 - exponent;
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    sign | (kept + u32::from(up)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_survive_widening_and_narrowing() {
        for half in 0..=u16::MAX {
            let nan = half & 0x7fff > 0x7c00;
            let expected = if nan { half | 0x200 } else { half };
            assert_eq!(narrow(widen(half)), expected, "{half:#06x}");
        }
    }

    #[test]
    fn halves_add_to_the_nearest() {
        // 1 + 2^-11 is half way between 1 and its successor: to even.
        assert_eq!(add_f16(0x3c00, 0x1000), 0x3c00);
        // 1 + 3 * 2^-11 is half way above an odd one: up.
        assert_eq!(add_f16(0x3c01, 0x1000), 0x3c02);
        // The smallest subnormals add exactly.
        assert_eq!(add_f16(0x0001, 0x0001), 0x0002);
        // Beyond the largest finite value.
        assert_eq!(add_f16(0x7bff, 0x7bff), 0x7c00);
    }

    #[test]
    fn the_operations_are_found_by_their_numbers() {
        for (index, op) in AtomicOp::ALL.into_iter().enumerate() {
            assert_eq!(op as usize, index);
            assert_eq!(AtomicOp::from_index(index as u64), op);
        }
    }

    #[test]
    fn increments_and_decrements_wrap_at_the_limit() {
        assert_eq!(AtomicOp::Inc.apply32(4, 5, 0), 5);
        assert_eq!(AtomicOp::Inc.apply32(5, 5, 0), 0);
        assert_eq!(AtomicOp::Dec.apply32(0, 5, 0), 5);
        assert_eq!(AtomicOp::Dec.apply32(6, 5, 0), 5);
        assert_eq!(AtomicOp::Dec.apply32(5, 5, 0), 4);
    }

    #[test]
    fn a_number_wins_over_a_nan_in_minimum_and_maximum() {
        let nan = 0x7fc0_1234;
        let one = 1.0f32.to_bits();
        assert_eq!(AtomicOp::FMin.apply32(nan, one, 0), one);
        assert_eq!(AtomicOp::FMax.apply32(one, nan, 0), one);
        assert_eq!(AtomicOp::FMin.apply32(0, SIGN, 0), SIGN);
        assert_eq!(AtomicOp::FMax.apply32(0, SIGN, 0), 0);
    }
}
