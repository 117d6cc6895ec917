//! Floating-point formats of sixteen bits and fewer, where rounding is not the usual.
//!
//! FP8 and BF8 are E4M3 and E5M2: of the Open Compute Project since gfx950 and gfx12, on gfx942 the variants
//! without infinities and minus zero (FNUZ). FP6, BF6 and FP4 are E2M3, E3M2 and E2M1 of the OCP's microscaling
//! formats, which know neither infinities nor NaN.

/// What the largest codes of a format mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Top {
    /// The largest exponent holds infinity and NaN, as in IEEE formats.
    Ieee,
    /// The one largest magnitude is NaN; there is no infinity.
    OneNan,
    /// Minus zero is NaN; all else is finite.
    MinusZero,
    /// All codes are finite.
    Finite,
}

/// A narrow format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrow {
    /// Bits of a code.
    pub(crate) bits: u32,
    fraction: u32,
    bias: i32,
    top: Top,
}

/// How an inexact result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    /// To the nearest code, ties to the even one.
    Nearest,
    /// Up in magnitude if the part cut off and this fraction of 2^32 reach one unit.
    Stochastic(u32),
}

impl Narrow {
    pub(crate) const F16: Narrow = Narrow::new(16, 10, 15, Top::Ieee);
    pub(crate) const BF16: Narrow = Narrow::new(16, 7, 127, Top::Ieee);
    pub(crate) const FP8: Narrow = Narrow::new(8, 3, 7, Top::OneNan);
    pub(crate) const BF8: Narrow = Narrow::new(8, 2, 15, Top::Ieee);
    pub(crate) const FP8_FNUZ: Narrow = Narrow::new(8, 3, 8, Top::MinusZero);
    pub(crate) const BF8_FNUZ: Narrow = Narrow::new(8, 2, 16, Top::MinusZero);
    pub(crate) const FP6: Narrow = Narrow::new(6, 3, 1, Top::Finite);
    pub(crate) const BF6: Narrow = Narrow::new(6, 2, 3, Top::Finite);
    pub(crate) const FP4: Narrow = Narrow::new(4, 1, 1, Top::Finite);

    const fn new(bits: u32, fraction: u32, bias: i32, top: Top) -> Narrow {
        Narrow {
            bits,
            fraction,
            bias,
            top,
        }
    }

    const fn sign(self) -> u16 {
        1 << (self.bits - 1)
    }

    /// The largest finite magnitude.
    const fn largest(self) -> u16 {
        let all = self.sign() - 1;
        match self.top {
            Top::Ieee => all - (1 << self.fraction),
            Top::OneNan => all - 1,
            Top::MinusZero | Top::Finite => all,
        }
    }

    /// What is beyond the largest magnitude: infinity where there is one, else NaN, else the largest magnitude.
    const fn beyond(self, sign: u16) -> u16 {
        match self.top {
            Top::Ieee => sign | (self.largest() + 1),
            Top::OneNan => sign | (self.sign() - 1),
            Top::MinusZero => self.sign(),
            Top::Finite => sign | self.largest(),
        }
    }

    /// NaN, or the largest magnitude in formats without it.
    const fn nan(self, sign: u16) -> u16 {
        match self.top {
            Top::Ieee | Top::OneNan => sign | (self.sign() - 1),
            Top::MinusZero => self.sign(),
            Top::Finite => sign | self.largest(),
        }
    }

    /// The bits of the single-precision number that a code means, exactly.
    pub(crate) const fn decode(self, code: u16) -> u32 {
        let negative = code & self.sign() != 0;
        let magnitude = (code & (self.sign() - 1)) as u32;
        let sign = if negative { 0x8000_0000 } else { 0 };
        let field = magnitude >> self.fraction;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        match self.top {
            Top::MinusZero if negative && magnitude == 0 => return 0x7fc0_0000,
            Top::OneNan if magnitude as u16 == self.sign() - 1 => return sign | 0x7fc0_0000,
            Top::Ieee if magnitude as u16 > self.largest() => {
                return if fraction == 0 {
                    sign | 0x7f80_0000
                } else {
                    sign | 0x7fc0_0000
                };
            }
            _ => {}
        }
        if magnitude == 0 {
            return sign;
        }
        // Subnormals are normal in single precision.
        let (exponent, fraction) = if field != 0 {
            (field as i32 - self.bias, fraction << (23 - self.fraction))
        } else {
            let top = 31 - magnitude.leading_zeros();
            let exponent = 1 - self.bias - (self.fraction - top) as i32;
            (exponent, magnitude << (23 - top) & 0x7f_ffff)
        };
        sign | ((exponent + 127) as u32) << 23 | fraction
    }

    /// The code of `x * 2^-scale` for a single-precision `x`. `saturate` keeps what overflows, and infinities, at the
    /// largest magnitude.
    pub(crate) fn encode(self, x: u32, scale: i32, rounding: Rounding, saturate: bool) -> u16 {
        let sign = if x >> 31 != 0 { self.sign() } else { 0 };
        let magnitude = x & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            return self.nan(sign);
        }
        let overflow = if saturate {
            sign | self.largest()
        } else {
            self.beyond(sign)
        };
        if magnitude == 0x7f80_0000 {
            return overflow;
        }
        let field = (magnitude >> 23) as i32;
        let hidden = if field == 0 { 0 } else { 0x80_0000 };
        let significand = u64::from(magnitude & 0x7f_ffff | hidden);
        if significand == 0 {
            return self.zero(sign);
        }
        // The value is significand * 2^exponent.
        let exponent = field.max(1) - 150 - scale;
        let top = 63 - significand.leading_zeros() as i32;
        let binade = (exponent + top).max(1 - self.bias);
        let shift = binade - self.fraction as i32 - exponent;
        let kept = match shift {
            ..=0 => significand << shift.unsigned_abs().min(32),
            1..=63 => {
                let (floor, rest) = (significand >> shift, significand & ((1 << shift) - 1));
                let up = match rounding {
                    Rounding::Nearest => {
                        let half = 1 << (shift - 1);
                        rest > half || rest == half && floor & 1 != 0
                    }
                    Rounding::Stochastic(random) => {
                        let one = 1u128 << (shift + 32);
                        (u128::from(rest) << 32) + (u128::from(random) << shift) >= one
                    }
                };
                floor + u64::from(up)
            }
            _ => 0,
        };
        // A hidden bit adds one to the exponent field, and so does a carry out of the fraction.
        let code = i64::from(binade + self.bias - 1) << self.fraction;
        let code = code + kept as i64;
        if code > i64::from(self.largest()) {
            overflow
        } else if code == 0 {
            self.zero(sign)
        } else {
            sign | code as u16
        }
    }

    const fn zero(self, sign: u16) -> u16 {
        match self.top {
            Top::MinusZero => 0,
            _ => sign,
        }
    }

    /// The single-precision bits of every code, those of formats with fewer codes repeated.
    pub(crate) const fn table(self) -> [u32; 256] {
        let mut table = [0; 256];
        let mut code = 0;
        while code < 256 {
            table[code] = self.decode(code as u16 & ((1u16 << self.bits) - 1));
            code += 1;
        }
        table
    }
}
