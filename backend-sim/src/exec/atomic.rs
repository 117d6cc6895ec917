//! What atomic operations make of the old value.

use super::modifiers::widen;
use crate::mem::raw;

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
    /// As [`AtomicOp::FAdd`], with subnormal numbers taken for zeros and made ones.
    FAddFlush,
}

impl AtomicOp {
    /// All, by discriminant.
    const ALL: [AtomicOp; 25] = [
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
        AtomicOp::FAddFlush,
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

    /// The new value.
    #[inline(always)]
    pub(crate) fn apply<W: Word>(self, old: W, a: W, b: W) -> W {
        match self {
            AtomicOp::Swap => a,
            AtomicOp::CmpSwap if old == b => a,
            AtomicOp::Add => old.plus(a),
            AtomicOp::Sub => old.minus(a),
            AtomicOp::RSub => a.minus(old),
            AtomicOp::SMin if a.signed() < old.signed() => a,
            AtomicOp::UMin => old.min(a),
            AtomicOp::SMax if a.signed() > old.signed() => a,
            AtomicOp::UMax => old.max(a),
            AtomicOp::And => old & a,
            AtomicOp::Or => old | a,
            AtomicOp::Xor => old ^ a,
            AtomicOp::Inc if old >= a => W::ZERO,
            AtomicOp::Inc => old.plus(W::ONE),
            AtomicOp::Dec if old == W::ZERO || old > a => a,
            AtomicOp::Dec => old.minus(W::ONE),
            AtomicOp::MskOr => old & !a | b,
            AtomicOp::CondSub | AtomicOp::Wrap if old >= a => old.minus(a),
            AtomicOp::SubClamp if old < a => W::ZERO,
            AtomicOp::SubClamp => old.minus(a),
            AtomicOp::Wrap => old.plus(b),
            AtomicOp::FAdd => old.float_add(a),
            AtomicOp::FAddFlush => old.flushed().float_add(a.flushed()).flushed(),
            AtomicOp::FMin => old.float_min(a),
            AtomicOp::FMax => (old ^ W::SIGN).float_min(a ^ W::SIGN) ^ W::SIGN,
            AtomicOp::FCmpSwap if old.float_eq(b) => a,
            AtomicOp::PkAddF16 => old.halves(a, add_f16),
            AtomicOp::PkAddBf16 => old.halves(a, add_bf16),
            // A condition that did not hold.
            AtomicOp::CmpSwap
            | AtomicOp::SMin
            | AtomicOp::SMax
            | AtomicOp::CondSub
            | AtomicOp::FCmpSwap => old,
        }
    }
}

/// A value that atomics work on: `u32` or `u64`.
pub(crate) trait Word:
    Copy
    + Ord
    + core::ops::Not<Output = Self>
    + core::ops::BitAnd<Output = Self>
    + core::ops::BitOr<Output = Self>
    + core::ops::BitXor<Output = Self>
{
    /// Bytes.
    const BYTES: usize;
    /// Registers.
    const REGISTERS: u16;
    const ZERO: Self;
    const ONE: Self;
    /// The highest bit.
    const SIGN: Self;
    /// From the low bits.
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// As a signed number.
    fn signed(self) -> i64;
    /// The sum; of a NaN and anything the first NaN, quieted.
    fn float_add(self, other: Self) -> Self;
    /// A zero of the same sign, if the number is subnormal.
    fn flushed(self) -> Self;
    /// The smaller number; a NaN loses to a number; of two NaNs the second, quieted; -0 is below +0.
    fn float_min(self, other: Self) -> Self;
    fn float_eq(self, other: Self) -> bool;
    /// Both 16-bit halves of the low 32 bits on their own.
    fn halves(self, other: Self, f: fn(u16, u16) -> u16) -> Self;
    /// Makes a new value of the one in memory, in one step; gives the old one.
    ///
    /// # Safety
    /// As for [`raw::rmw_u32`] and [`raw::rmw_u64`].
    unsafe fn rmw(host: *mut u8, f: impl FnMut(Self) -> Self) -> Self;
}

macro_rules! word {
    ($word:ident $signed:ident $float:ident $infinity:literal $quiet:literal $rmw:ident) => {
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();
            const REGISTERS: u16 = size_of::<$word>() as u16 / 4;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const SIGN: Self = 1 << ($word::BITS - 1);

            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as $word
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn signed(self) -> i64 {
                i64::from(self as $signed)
            }

            fn float_add(self, other: Self) -> Self {
                let nan = |x: &Self| x & !Self::SIGN > $infinity;
                if let Some(nan) = [self, other].into_iter().find(nan) {
                    return nan | $quiet;
                }
                let sum = $float::from_bits(self) + $float::from_bits(other);
                // Only infinities of both signs get here as NaN.
                if sum.is_nan() {
                    $infinity | $quiet
                } else {
                    sum.to_bits()
                }
            }

            fn flushed(self) -> Self {
                if self & $infinity == 0 {
                    self & Self::SIGN
                } else {
                    self
                }
            }

            fn float_min(self, other: Self) -> Self {
                let key = |x: Self| {
                    if x & Self::SIGN != 0 {
                        !x
                    } else {
                        x | Self::SIGN
                    }
                };
                let nan = |x: Self| x & !Self::SIGN > $infinity;
                match (nan(self), nan(other)) {
                    // As AMD documents it for gfx12: that of the data.
                    (true, true) => other | $quiet,
                    (true, false) => other,
                    (false, false) if key(other) < key(self) => other,
                    _ => self,
                }
            }

            fn float_eq(self, other: Self) -> bool {
                $float::from_bits(self) == $float::from_bits(other)
            }

            fn halves(self, other: Self, f: fn(u16, u16) -> u16) -> Self {
                let low = f(self as u16, other as u16);
                let high = f((self >> 16) as u16, (other >> 16) as u16);
                Self::from(low) | Self::from(high) << 16
            }

            #[inline(always)]
            unsafe fn rmw(host: *mut u8, f: impl FnMut(Self) -> Self) -> Self {
                // SAFETY: the caller's word.
                unsafe { raw::$rmw(host, f) }
            }
        }
    };
}
word!(u32 i32 f32 0x7f80_0000 0x0040_0000 rmw_u32);
word!(u64 i64 f64 0x7ff0_0000_0000_0000 0x0008_0000_0000_0000 rmw_u64);

/// Single precision has more than twice the digits of half precision and two, so that rounding
/// twice rounds right.
fn add_f16(a: u16, b: u16) -> u16 {
    narrow(widen(a).float_add(widen(b)))
}

fn add_bf16(a: u16, b: u16) -> u16 {
    let sum = (u32::from(a) << 16).float_add(u32::from(b) << 16);
    if sum & 0x7fff_ffff > 0x7f80_0000 {
        return (sum >> 16) as u16;
    }
    // To nearest, ties to even.
    let round = 0x7fff + (sum >> 16 & 1);
    ((sum + round) >> 16) as u16
}

/// Single precision to half precision, to nearest, ties to even.
pub(crate) fn narrow(bits: u32) -> u16 {
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
        assert_eq!(AtomicOp::Inc.apply::<u32>(4, 5, 0), 5);
        assert_eq!(AtomicOp::Inc.apply::<u32>(5, 5, 0), 0);
        assert_eq!(AtomicOp::Dec.apply::<u32>(0, 5, 0), 5);
        assert_eq!(AtomicOp::Dec.apply::<u32>(6, 5, 0), 5);
        assert_eq!(AtomicOp::Dec.apply::<u32>(5, 5, 0), 4);
    }

    #[test]
    fn a_number_wins_over_a_nan_in_minimum_and_maximum() {
        let nan = 0x7fc0_1234;
        let one = 1.0f32.to_bits();
        assert_eq!(AtomicOp::FMin.apply::<u32>(nan, one, 0), one);
        assert_eq!(AtomicOp::FMax.apply::<u32>(one, nan, 0), one);
        assert_eq!(
            AtomicOp::FMin.apply::<u32>(nan, 0xff80_0001, 0),
            0xffc0_0001
        );
        assert_eq!(
            AtomicOp::FMax.apply::<u32>(nan, 0x7f80_0001, 0),
            0x7fc0_0001
        );
        assert_eq!(AtomicOp::FMin.apply::<u32>(0, u32::SIGN, 0), u32::SIGN);
        assert_eq!(AtomicOp::FMax.apply::<u32>(0, u32::SIGN, 0), 0);
    }
}
