//! Conversions, rounding to integral values, fractions and exponents.

use rukh_backend_sim::isa::Op;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::arithmetic::ROUNDS;
use crate::harness::*;

fn single(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

/// The f32 that holds the same number as an f16.
fn half(x: u64) -> f32 {
    let mut lossy = false;
    let wide: Single = Half::from_bits(x as u128).convert(&mut lossy).value;
    f32::from_bits(wide.to_bits() as u32)
}

#[test]
fn floats_become_integers_by_truncation_and_saturation() {
    let cases = SINGLE.cases(1, 20_000);
    check(Op::v_cvt_i32_f32, W32, &[W32], PLAIN, &cases, |[x, ..]| {
        single(x) as i32 as u32 as u64
    });
    check(Op::v_cvt_u32_f32, W32, &[W32], PLAIN, &cases, |[x, ..]| {
        single(x) as u32 as u64
    });
    check(
        Op::v_cvt_flr_i32_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        |[x, ..]| single(x).floor() as i32 as u32 as u64,
    );
    check(
        Op::v_cvt_rpi_i32_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        |[x, ..]| (single(x) + 0.5).floor() as i32 as u32 as u64,
    );
    check(
        Op::v_cvt_pk_i16_f32,
        W32,
        &[W32, W32],
        PLAIN,
        &SINGLE.cases(2, 2000),
        |[x, y, _]| single(x) as i16 as u16 as u64 | (single(y) as i16 as u16 as u64) << 16,
    );
    let cases = DOUBLE.cases(1, 20_000);
    check(Op::v_cvt_i32_f64, W32, &[W64], PLAIN, &cases, |[x, ..]| {
        f64::from_bits(x) as i32 as u32 as u64
    });
    check(Op::v_cvt_u32_f64, W32, &[W64], PLAIN, &cases, |[x, ..]| {
        f64::from_bits(x) as u32 as u64
    });
    let all: Vec<_> = (0..0x10000).map(|x| [x, 0, 0]).collect();
    check(Op::v_cvt_i16_f16, W16, &[W16], PLAIN, &all, |[x, ..]| {
        half(x) as i16 as u16 as u64
    });
    check(Op::v_cvt_u16_f16, W16, &[W16], PLAIN, &all, |[x, ..]| {
        half(x) as u16 as u64
    });
}

#[test]
fn integers_become_floats_in_the_mode_of_the_result() {
    let cases = integers(1);
    for (i, round) in ROUNDS.into_iter().enumerate() {
        let set = Setting::mode(i as u32 * 5, 0xf);
        let to_single = |x: i128| Single::from_i128_r(x, round).value.to_bits() as u64;
        check(Op::v_cvt_f32_i32, W32, &[W32], set, &cases, |[x, ..]| {
            to_single(x as u32 as i32 as i128)
        });
        check(Op::v_cvt_f32_u32, W32, &[W32], set, &cases, |[x, ..]| {
            to_single(x as i128)
        });
        check(Op::v_cvt_f64_i32, W64, &[W32], set, &cases, |[x, ..]| {
            (x as u32 as i32 as f64).to_bits()
        });
        check(Op::v_cvt_f64_u32, W64, &[W32], set, &cases, |[x, ..]| {
            (x as f64).to_bits()
        });
        let to_half = |x: i128| Half::from_i128_r(x, round).value.to_bits() as u64;
        check(Op::v_cvt_f16_i16, W16, &[W16], set, &cases, |[x, ..]| {
            to_half(x as u16 as i16 as i128)
        });
        check(Op::v_cvt_f16_u16, W16, &[W16], set, &cases, |[x, ..]| {
            to_half(x as i128)
        });
    }
    for (n, op) in [
        Op::v_cvt_f32_ubyte0,
        Op::v_cvt_f32_ubyte1,
        Op::v_cvt_f32_ubyte2,
        Op::v_cvt_f32_ubyte3,
    ]
    .into_iter()
    .enumerate()
    {
        check(op, W32, &[W32], PLAIN, &cases, |[x, ..]| {
            ((x >> (8 * n) & 0xff) as f32).to_bits() as u64
        });
    }
    let nibbles: Vec<_> = (0..16).map(|x| [x | 0xabc0, 0, 0]).collect();
    check(
        Op::v_cvt_off_f32_i4,
        W32,
        &[W32],
        PLAIN,
        &nibbles,
        |[x, ..]| {
            let nibble = (x & 15) as i32;
            ((if nibble < 8 { nibble } else { nibble - 16 }) as f32 / 16.0).to_bits() as u64
        },
    );
}

fn check_conversion<S: FloatConvert<R>, R: Float>(op: Op, from: Fmt, to: Fmt) {
    let cases = from.cases(1, 20_000);
    let field = |fmt: Fmt, value: u32| {
        if fmt.fraction == 23 {
            value
        } else {
            value << 2
        }
    };
    for (i, round) in ROUNDS.into_iter().enumerate() {
        for (flush_in, flush_out) in [(false, false), (true, true)] {
            let denorm = |fmt, on: bool, bit| if on { 0 } else { field(fmt, bit) };
            let denorm = denorm(from, flush_in, 1)
                | denorm(to, flush_out, 2)
                | if from.fraction == 23 || to.fraction == 23 {
                    0
                } else {
                    0xc
                };
            let set = Setting::mode(field(to, i as u32), denorm);
            check(op, to.width(), &[from.width()], set, &cases, |[x, ..]| {
                if from.is_nan(x) {
                    let payload = x & ((1 << from.fraction) - 1);
                    let payload = if to.fraction > from.fraction {
                        payload << (to.fraction - from.fraction)
                    } else {
                        payload >> (from.fraction - to.fraction)
                    };
                    let sign = if x & from.sign() != 0 { to.sign() } else { 0 };
                    return sign | to.inf() | to.quiet() | payload;
                }
                let x = if flush_in { from.flush(x) } else { x };
                let result = S::from_bits(x as u128)
                    .convert_r(round, &mut false)
                    .value
                    .to_bits() as u64;
                if flush_out { to.flush(result) } else { result }
            });
        }
    }
}

#[test]
fn conversions_between_formats_round_once() {
    check_conversion::<Single, Half>(Op::v_cvt_f16_f32, SINGLE, HALF);
    check_conversion::<Half, Single>(Op::v_cvt_f32_f16, HALF, SINGLE);
    check_conversion::<Single, Double>(Op::v_cvt_f64_f32, SINGLE, DOUBLE);
    check_conversion::<Double, Single>(Op::v_cvt_f32_f64, DOUBLE, SINGLE);
}

#[test]
fn packing_rounds_toward_zero() {
    let cases = SINGLE.cases(2, 100_000);
    check(
        Op::v_cvt_pkrtz_f16_f32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| {
            let convert = |x: u64| {
                if SINGLE.is_nan(x) {
                    return (x >> 16 & 0x8000) | 0x7e00 | (x >> 13 & 0x3ff);
                }
                let half: Half = Single::from_bits(x as u128)
                    .convert_r(Round::TowardZero, &mut false)
                    .value;
                half.to_bits() as u64
            };
            convert(x) | convert(y) << 16
        },
    );
}

#[test]
fn normalised_integers_round_to_nearest_even() {
    let cases = SINGLE.cases(2, 20_000);
    let snorm = |x: f64| {
        if x.is_nan() {
            0
        } else {
            (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16 as u64
        }
    };
    let unorm = |x: f64| {
        if x.is_nan() {
            0
        } else {
            (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16 as u64
        }
    };
    check(
        Op::v_cvt_pknorm_i16_f32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| snorm(single(x) as f64) | snorm(single(y) as f64) << 16,
    );
    check(
        Op::v_cvt_pknorm_u16_f32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| unorm(single(x) as f64) | unorm(single(y) as f64) << 16,
    );
    let all: Vec<_> = (0..0x10000).map(|x| [x, 0, 0]).collect();
    check(
        Op::v_cvt_norm_i16_f16,
        W16,
        &[W16],
        PLAIN,
        &all,
        |[x, ..]| snorm(half(x) as f64),
    );
    check(
        Op::v_cvt_norm_u16_f16,
        W16,
        &[W16],
        PLAIN,
        &all,
        |[x, ..]| unorm(half(x) as f64),
    );
}

#[test]
fn packed_integers_saturate() {
    let cases = integers(2);
    check(
        Op::v_cvt_pk_u16_u32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| x.min(0xffff) | y.min(0xffff) << 16,
    );
    let sat = |x: u64| (x as u32 as i32).clamp(-0x8000, 0x7fff) as u16 as u64;
    check(
        Op::v_cvt_pk_i16_i32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| sat(x) | sat(y) << 16,
    );
    let sat = |x: u64| (x as u16 as i16).clamp(0, 255) as u64;
    check(
        Op::v_sat_pk_u8_i16,
        W32,
        &[W32],
        PLAIN,
        &cases,
        |[x, ..]| sat(x) | sat(x >> 16) << 8,
    );
    check(
        Op::v_pack_b32_f16,
        W32,
        &[W16, W16],
        PLAIN,
        &cases,
        |[x, y, _]| x | y << 16,
    );
}

#[test]
fn bytes_are_packed_in_the_rounding_of_the_mode() {
    let cases: Vec<_> = SINGLE
        .cases(1, 3000)
        .into_iter()
        .chain((0..2000).map(|i| [(i as f32 / 7.0 - 8.0).to_bits() as u64, i, 0x1234_5678]))
        .collect();
    for (i, round) in ROUNDS.into_iter().enumerate() {
        check(
            Op::v_cvt_pk_u8_f32,
            W32,
            &[W32, W32, W32],
            Setting::mode(i as u32, 0xf),
            &cases,
            |[x, at, old]| {
                let x = single(x);
                let rounded = match round {
                    Round::TowardPositive => x.ceil(),
                    Round::TowardNegative => x.floor(),
                    Round::TowardZero => x.trunc(),
                    _ => x.round_ties_even(),
                };
                let shift = at % 4 * 8;
                old & !(0xff << shift) & 0xffff_ffff | (rounded as u8 as u64) << shift
            },
        );
    }
}

#[test]
fn integral_values_keep_the_sign_of_zero() {
    for (op, f) in [
        (Op::v_trunc_f32, f32::trunc as fn(f32) -> f32),
        (Op::v_floor_f32, f32::floor),
        (Op::v_ceil_f32, f32::ceil),
        (Op::v_rndne_f32, f32::round_ties_even),
    ] {
        check(
            op,
            W32,
            &[W32],
            PLAIN,
            &SINGLE.cases(1, 50_000),
            |[x, ..]| float_rule(SINGLE, PLAIN, &[x], |v| f(single(v[0])).to_bits() as u64),
        );
    }
    for (op, f) in [
        (Op::v_trunc_f64, f64::trunc as fn(f64) -> f64),
        (Op::v_floor_f64, f64::floor),
        (Op::v_ceil_f64, f64::ceil),
        (Op::v_rndne_f64, f64::round_ties_even),
    ] {
        check(
            op,
            W64,
            &[W64],
            PLAIN,
            &DOUBLE.cases(1, 50_000),
            |[x, ..]| float_rule(DOUBLE, PLAIN, &[x], |v| f(f64::from_bits(v[0])).to_bits()),
        );
    }
    let all: Vec<_> = (0..0x10000).map(|x| [x, 0, 0]).collect();
    for (op, round) in [
        (Op::v_trunc_f16, Round::TowardZero),
        (Op::v_floor_f16, Round::TowardNegative),
        (Op::v_ceil_f16, Round::TowardPositive),
        (Op::v_rndne_f16, Round::NearestTiesToEven),
    ] {
        check(op, W16, &[W16], PLAIN, &all, |[x, ..]| {
            float_rule(HALF, PLAIN, &[x], |v| {
                Half::from_bits(v[0] as u128)
                    .round_to_integral(round)
                    .value
                    .to_bits() as u64
            })
        });
    }
}

#[test]
fn fractions_stay_below_one() {
    check(
        Op::v_fract_f32,
        W32,
        &[W32],
        PLAIN,
        &SINGLE.cases(1, 50_000),
        |[x, ..]| {
            float_rule(SINGLE, PLAIN, &[x], |v| {
                let x = single(v[0]);
                let fraction = x - x.floor();
                (if fraction >= 1.0 {
                    1.0 - f32::EPSILON / 2.0
                } else {
                    fraction
                })
                .to_bits() as u64
            })
        },
    );
    check(
        Op::v_fract_f64,
        W64,
        &[W64],
        PLAIN,
        &DOUBLE.cases(1, 50_000),
        |[x, ..]| {
            float_rule(DOUBLE, PLAIN, &[x], |v| {
                let x = f64::from_bits(v[0]);
                let fraction = x - x.floor();
                (if fraction >= 1.0 {
                    1.0 - f64::EPSILON / 2.0
                } else {
                    fraction
                })
                .to_bits()
            })
        },
    );
    for (i, round) in ROUNDS.into_iter().enumerate() {
        let set = Setting::mode(i as u32 * 5, 0xf);
        check(
            Op::v_fract_f16,
            W16,
            &[W16],
            set,
            &HALF.cases(1, 20_000),
            |[x, ..]| {
                float_rule(HALF, set, &[x], |v| {
                    let x = Half::from_bits(v[0] as u128);
                    let fraction = x
                        .sub_r(x.round_to_integral(Round::TowardNegative).value, round)
                        .value
                        .to_bits() as u64;
                    if fraction == 0x3c00 { 0x3bff } else { fraction }
                })
            },
        );
    }
}

#[test]
fn numbers_split_into_mantissa_and_exponent() {
    check(
        Op::v_frexp_exp_i32_f32,
        W32,
        &[W32],
        PLAIN,
        &SINGLE.cases(1, 20_000),
        |[x, ..]| {
            let x = single(x);
            let e = if x == 0.0 || !x.is_finite() {
                0
            } else {
                (x.abs() as f64).to_bits() as i64 / (1 << 52) - 1022
            };
            e as u32 as u64
        },
    );
    check(
        Op::v_frexp_mant_f32,
        W32,
        &[W32],
        PLAIN,
        &SINGLE.cases(1, 20_000),
        |[x, ..]| {
            float_rule(SINGLE, PLAIN, &[x], |v| {
                let x = single(v[0]) as f64;
                let m = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52);
                (if x == 0.0 || x.is_infinite() { x } else { m } as f32).to_bits() as u64
            })
        },
    );
    let frexp = |x: f64| {
        if x == 0.0 || !x.is_finite() {
            return (x, 0);
        }
        let (x, bias) = if x.is_subnormal() {
            (x * 2f64.powi(100), 100)
        } else {
            (x, 0)
        };
        let e = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
        (
            f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52),
            e - bias,
        )
    };
    check(
        Op::v_frexp_exp_i32_f64,
        W32,
        &[W64],
        PLAIN,
        &DOUBLE.cases(1, 20_000),
        |[x, ..]| frexp(f64::from_bits(x)).1 as u32 as u64,
    );
    check(
        Op::v_frexp_mant_f64,
        W64,
        &[W64],
        PLAIN,
        &DOUBLE.cases(1, 20_000),
        |[x, ..]| {
            float_rule(DOUBLE, PLAIN, &[x], |v| {
                frexp(f64::from_bits(v[0])).0.to_bits()
            })
        },
    );
    let all: Vec<_> = (0..0x10000).map(|x| [x, 0, 0]).collect();
    check(
        Op::v_frexp_exp_i16_f16,
        W16,
        &[W16],
        PLAIN,
        &all,
        |[x, ..]| frexp(half(x) as f64).1 as u16 as u64,
    );
    check(Op::v_frexp_mant_f16, W16, &[W16], PLAIN, &all, |[x, ..]| {
        float_rule(HALF, PLAIN, &[x], |v| {
            let m: Half = Double::from_bits(frexp(half(v[0]) as f64).0.to_bits() as u128)
                .convert(&mut false)
                .value;
            m.to_bits() as u64
        })
    });
}

#[test]
fn scaling_by_powers_of_two_rounds_once() {
    let exponents = [
        0i64,
        1,
        -1,
        24,
        -24,
        127,
        -127,
        149,
        -149,
        150,
        300,
        -300,
        1074,
        -1074,
        2100,
        -2100,
        1 << 20,
        i32::MIN as i64,
        i32::MAX as i64,
    ];
    let pair = |fmt: Fmt| -> Vec<[u64; 3]> {
        let spread = fmt
            .cases(1, 300)
            .into_iter()
            .flat_map(|[x, ..]| exponents.map(|e| [x, e as u64, 0]));
        let mut random = Random(77);
        let near = fmt
            .cases(1, 5000)
            .into_iter()
            .map(move |[x, ..]| [x, (random.next() % 300) as u32 as u64, 0]);
        spread
            .chain(near.map(|[x, e, _]| [x, (e as i64 - 150) as u64, 0]))
            .collect()
    };
    for (i, round) in ROUNDS.into_iter().enumerate() {
        let set = Setting::mode(i as u32 * 5, 0xf);
        check(
            Op::v_ldexp_f32,
            W32,
            &[W32, W32],
            set,
            &pair(SINGLE),
            |[x, e, _]| {
                float_rule(SINGLE, set, &[x], |v| {
                    let e = (e as u32 as i32).clamp(-5000, 5000);
                    Single::from_bits(v[0] as u128).scalbn_r(e, round).to_bits() as u64
                })
            },
        );
        check(
            Op::v_ldexp_f64,
            W64,
            &[W64, W32],
            set,
            &pair(DOUBLE),
            |[x, e, _]| {
                float_rule(DOUBLE, set, &[x], |v| {
                    let e = (e as u32 as i32).clamp(-5000, 5000);
                    Double::from_bits(v[0] as u128).scalbn_r(e, round).to_bits() as u64
                })
            },
        );
        check(
            Op::v_ldexp_f16,
            W16,
            &[W16, W16],
            set,
            &pair(HALF),
            |[x, e, _]| {
                float_rule(HALF, set, &[x], |v| {
                    let e = (e as u16 as i16 as i32).clamp(-5000, 5000);
                    Half::from_bits(v[0] as u128).scalbn_r(e, round).to_bits() as u64
                })
            },
        );
    }
}
