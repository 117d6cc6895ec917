//! Eight-bit floats and stochastic rounding, judged by the values that codes stand for.

use rukh_backend_sim::exec::valu::FloatMode;
use rukh_backend_sim::isa::Op;

use crate::harness::{PLAIN, Random, SINGLE, Setting, W16, W32, W64, check};

/// A format as its specification lists it.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    fraction: u32,
    bias: i32,
    /// The codes of the largest finite number, of what is beyond it, and whether that is infinity.
    largest: u64,
    beyond: u64,
    infinite: bool,
    minus_zero: bool,
}

/// OCP 8-bit floating point specification: E4M3 and E5M2.
const FP8: Format = Format {
    exponent: 4,
    fraction: 3,
    bias: 7,
    largest: 0x7e,
    beyond: 0x7f,
    infinite: false,
    minus_zero: true,
};
const BF8: Format = Format {
    exponent: 5,
    fraction: 2,
    bias: 15,
    largest: 0x7b,
    beyond: 0x7c,
    infinite: true,
    minus_zero: true,
};
/// The variants without infinity and minus zero.
const FP8_FNUZ: Format = Format {
    exponent: 4,
    fraction: 3,
    bias: 8,
    largest: 0x7f,
    beyond: 0x80,
    infinite: false,
    minus_zero: false,
};
const BF8_FNUZ: Format = Format {
    exponent: 5,
    fraction: 2,
    bias: 16,
    largest: 0x7f,
    beyond: 0x80,
    infinite: false,
    minus_zero: false,
};
const HALF: Format = Format {
    exponent: 5,
    fraction: 10,
    bias: 15,
    largest: 0x7bff,
    beyond: 0x7c00,
    infinite: true,
    minus_zero: true,
};
const BRAIN: Format = Format {
    exponent: 8,
    fraction: 7,
    bias: 127,
    largest: 0x7f7f,
    beyond: 0x7f80,
    infinite: true,
    minus_zero: true,
};

fn power(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

impl Format {
    fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// The magnitude that a code up to one above the largest would stand for.
    fn magnitude(self, code: u64) -> f64 {
        let field = (code >> self.fraction) as i32;
        let fraction = (code & ((1 << self.fraction) - 1)) as f64 / power(self.fraction as i32);
        match field {
            0 => fraction * power(1 - self.bias),
            _ => (1.0 + fraction) * power(field - self.bias),
        }
    }

    fn value(self, code: u64) -> f64 {
        let sign = if code & self.sign() != 0 { -1.0 } else { 1.0 };
        let magnitude = code & (self.sign() - 1);
        if !self.minus_zero && code == self.sign() || magnitude > self.largest && !self.infinite {
            return f64::NAN;
        }
        if magnitude > self.largest {
            return if magnitude == self.beyond {
                sign * f64::INFINITY
            } else {
                f64::NAN
            };
        }
        sign * self.magnitude(magnitude)
    }

    /// The code of the largest magnitude not above `x`.
    fn below(self, x: f64) -> u64 {
        let (mut low, mut high) = (0, self.sign());
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.magnitude(middle) <= x {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The code of `x`; `up` decides between two neighbours by code and the fraction of their distance.
    fn code(self, x: f64, saturate: bool, up: impl Fn(u64, f64) -> bool) -> u64 {
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        let finite = |code: u64| {
            if code == 0 && !self.minus_zero {
                0
            } else {
                sign | code
            }
        };
        let overflow = match (saturate, self.minus_zero) {
            (true, _) => finite(self.largest),
            (false, true) => sign | self.beyond,
            (false, false) => self.beyond,
        };
        if x.is_infinite() {
            return overflow;
        }
        let low = self.below(x.abs());
        let (a, b) = (self.magnitude(low), self.magnitude(low + 1));
        let code = low + u64::from(up(low, (x.abs() - a) / (b - a)));
        if code > self.largest {
            overflow
        } else {
            finite(code)
        }
    }

    fn is_nan(self, code: u64) -> bool {
        self.value(code).is_nan()
    }
}

fn nearest(low: u64, fraction: f64) -> bool {
    fraction > 0.5 || fraction == 0.5 && low & 1 == 1
}

const FNUZ: Setting = Setting { imm: 1, ..PLAIN };

fn saturating(set: Setting) -> Setting {
    Setting {
        mode: FloatMode::from_mode_register(0x3f0 | 1 << 23),
        ..set
    }
}

#[test]
fn every_code_widens_to_its_value() {
    let cases: Vec<_> = (0..256).map(|c| [c | 0xabcd_ef00, 0, 0]).collect();
    for (op, pair, format, set) in [
        (Op::v_cvt_f32_fp8, Op::v_cvt_pk_f32_fp8, FP8, PLAIN),
        (Op::v_cvt_f32_bf8, Op::v_cvt_pk_f32_bf8, BF8, PLAIN),
        (Op::v_cvt_f32_fp8, Op::v_cvt_pk_f32_fp8, FP8_FNUZ, FNUZ),
        (Op::v_cvt_f32_bf8, Op::v_cvt_pk_f32_bf8, BF8_FNUZ, FNUZ),
    ] {
        let single = |code: u64| {
            let value = format.value(code);
            if value.is_nan() {
                let sign = if format.minus_zero && code & 0x80 != 0 {
                    1 << 31
                } else {
                    0
                };
                return sign | 0x7fc0_0000;
            }
            u64::from((value as f32).to_bits())
        };
        check(op, W32, &[W32], set, &cases, |[x, ..]| single(x & 0xff));
        check(pair, W64, &[W32], set, &cases, |[x, ..]| {
            single(x & 0xff) | single(x >> 8 & 0xff) << 32
        });
    }
}

/// Numbers around every code and halfway between neighbours, extremes, and random ones.
fn singles(format: Format) -> Vec<u64> {
    let mut cases: Vec<u64> = Vec::new();
    for code in (0..format.sign()).step_by(if format.fraction > 3 { 37 } else { 1 }) {
        let (a, b) = (format.magnitude(code), format.magnitude(code + 1));
        for x in [a, (a + b) / 2.0] {
            let bits = (x as f32).to_bits();
            cases.extend([bits.wrapping_sub(1), bits, bits + 1].map(u64::from));
        }
    }
    cases.extend([0, 1, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, 0x7fc0_0000].map(|x: u64| x));
    let mut random = Random(3);
    for _ in 0..2000 {
        let near = 0x3000_0000 + (random.next() >> 32) % 0x2000_0000;
        cases.extend([near, random.next() >> 32]);
    }
    cases
        .iter()
        .flat_map(|&x| [x & 0xffff_ffff, (x ^ 1 << 31) & 0xffff_ffff])
        .collect()
}

#[test]
fn pairs_round_to_the_nearest_code() {
    for (op, format, set) in [
        (Op::v_cvt_pk_fp8_f32, FP8, PLAIN),
        (Op::v_cvt_pk_bf8_f32, BF8, PLAIN),
        (Op::v_cvt_pk_fp8_f32, FP8_FNUZ, FNUZ),
        (Op::v_cvt_pk_bf8_f32, BF8_FNUZ, FNUZ),
    ] {
        let cases: Vec<_> = singles(format)
            .windows(2)
            .map(|w| [w[0], w[1], 0])
            .collect();
        for (set, saturate) in [(set, false), (saturating(set), true)] {
            check(op, W16, &[W32, W32], set, &cases, |[x, y, _]| {
                let code = |x: u64| {
                    let x = f32::from_bits(x as u32);
                    if x.is_nan() {
                        // Any NaN would do; this is the one that keeps its sign where it can.
                        return match format.minus_zero {
                            true => 0x7f | if x.is_sign_negative() { 0x80 } else { 0 },
                            false => 0x80,
                        };
                    }
                    format.code(f64::from(x), saturate, nearest)
                };
                assert!(!f32::from_bits(x as u32).is_nan() || format.is_nan(code(x)));
                code(x) | code(y) << 8
            });
        }
    }
}

#[test]
fn stochastic_rounding_goes_up_as_often_as_the_random_number_says() {
    for (op, format, set) in [
        (Op::v_cvt_sr_fp8_f32, FP8, PLAIN),
        (Op::v_cvt_sr_bf8_f32, BF8, PLAIN),
        (Op::v_cvt_sr_fp8_f32, FP8_FNUZ, FNUZ),
        (Op::v_cvt_sr_bf8_f32, BF8_FNUZ, FNUZ),
        (Op::v_cvt_sr_f16_f32, HALF, PLAIN),
        (Op::v_cvt_sr_bf16_f32, BRAIN, PLAIN),
    ] {
        let mut random = Random(4);
        let cases: Vec<_> = singles(format)
            .into_iter()
            .filter(|&x| !SINGLE.is_nan(x))
            .flat_map(|x| [0, u64::from(u32::MAX), random.next() >> 32].map(|r| [x, r, 0]))
            .collect();
        check(op, W16, &[W32, W32], set, &cases, |[x, r, _]| {
            format.code(f64::from(f32::from_bits(x as u32)), false, |_, fraction| {
                // Exactly: the fraction is a multiple of a small power of two.
                fraction >= 1.0 - r as f64 / power(32)
            })
        });
    }
}

#[test]
fn small_operations_of_gfx950_do_as_amds_pseudocode_says() {
    let cases = crate::harness::integers(3);
    let w = [W32, W32, W32];
    // in = S0; D = in << 1 ^ (in[31] ? 197 : 0)
    check(Op::v_prng_b32, W32, &w[..1], PLAIN, &cases, |[x, ..]| {
        let mut next = (x << 1) & 0xffff_ffff;
        if x & 0x8000_0000 != 0 {
            next ^= 197;
        }
        next
    });
    // SAT8(S0 >> S2[4:0]), SAT8(S1 >> S2[4:0])
    for (op, low, high) in [
        (Op::v_ashr_pk_i8_i32, -128i64, 127i64),
        (Op::v_ashr_pk_u8_i32, 0, 255),
    ] {
        check(op, W16, &w, PLAIN, &cases, |[x, y, s]| {
            let sat = |x: u64| {
                let quotient = i64::from(x as u32 as i32).div_euclid(1 << (s & 31));
                quotient.clamp(low, high) as u64 & 0xff
            };
            sat(x) | sat(y) << 8
        });
    }
    // Bit by bit: the table's bit that S0, S1 and S2 number, S0 the highest.
    for table in [0u32, 0xff, 0xe8, 0x96, 0x1b, 0x80, 0x01, 0x55] {
        let set = Setting {
            imm: table,
            ..PLAIN
        };
        let judge = |bits: u32| {
            move |[x, y, z]: [u64; 3]| {
                (0..bits).fold(0, |sum, i| {
                    let row = (x >> i & 1) << 2 | (y >> i & 1) << 1 | z >> i & 1;
                    sum | u64::from(table >> row & 1) << i
                })
            }
        };
        check(Op::v_bitop3_b32, W32, &w, set, &cases, judge(32));
        check(
            Op::v_bitop3_b16,
            W16,
            &[W16, W16, W16],
            set,
            &cases,
            judge(16),
        );
    }
    check(Op::v_cvt_f32_bf16, W32, &[W16], PLAIN, &cases, |[x, ..]| {
        x << 16
    });
    check(
        Op::v_cvt_pk_bf16_f32,
        W32,
        &w[..2],
        PLAIN,
        &cases,
        |[x, y, _]| {
            let half = |x: u64| {
                let value = f32::from_bits(x as u32);
                if value.is_nan() {
                    return x >> 16 | 0x40;
                }
                BRAIN.code(f64::from(value), false, nearest)
            };
            half(x) | half(y) << 16
        },
    );
}

#[test]
fn eight_bit_dot_products_add_the_lowest_product_first() {
    let mut random = Random(5);
    let cases: Vec<_> = (0..4000)
        .map(|_| {
            [
                random.next() >> 32,
                random.next() >> 32,
                (random.next() >> 32) & 0xbfff_ffff,
            ]
        })
        .collect();
    for (op, a, b) in [
        (Op::v_dot4_f32_fp8_fp8, FP8, FP8),
        (Op::v_dot4_f32_fp8_bf8, FP8, BF8),
        (Op::v_dot4_f32_bf8_fp8, BF8, FP8),
        (Op::v_dot4_f32_bf8_bf8, BF8, BF8),
    ] {
        // NaN and infinity come with sums of their own.
        let finite =
            |format: Format, x: u64| (0..4).all(|i| format.value(x >> (8 * i) & 0xff).is_finite());
        let cases: Vec<_> = cases
            .iter()
            .copied()
            .filter(|&[x, y, z]| {
                finite(a, x) && finite(b, y) && f32::from_bits(z as u32).is_finite()
            })
            .collect();
        assert!(cases.len() > 1000);
        check(op, W32, &[W32, W32, W32], PLAIN, &cases, |[x, y, z]| {
            let sum = (0..4).fold(f32::from_bits(z as u32), |sum, i| {
                let part = |format: Format, x: u64| format.value(x >> (8 * i) & 0xff) as f32;
                part(a, x).mul_add(part(b, y), sum)
            });
            u64::from(sum.to_bits())
        });
    }
}
