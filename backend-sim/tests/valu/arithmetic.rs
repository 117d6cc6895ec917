//! Add, multiply and fused multiply-add in every rounding and denormal mode.

use rukh_backend_sim::isa::Op;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, Round};

use crate::harness::*;

/// FP_ROUND values in the order of the register's encoding.
pub const ROUNDS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardPositive,
    Round::TowardNegative,
    Round::TowardZero,
];

/// Settings with each rounding and denormal field of the format's precision.
fn settings(fmt: Fmt) -> impl Iterator<Item = (Setting, Round)> {
    let at = if fmt.fraction == 23 { 0 } else { 2 };
    (0..16u32).map(move |i| {
        (
            Setting::mode((i & 3) << at, (i >> 2) << at),
            ROUNDS[(i & 3) as usize],
        )
    })
}

fn bits<F: Float>(x: F) -> u64 {
    x.to_bits() as u64
}

fn float<F: Float>(x: u64) -> F {
    F::from_bits(x as u128)
}

fn check_arithmetic<F: Float>(fmt: Fmt, add: Op, sub: Op, subrev: Option<Op>, mul: Op, fma: &[Op]) {
    let (w, two, three) = (fmt.width(), fmt.cases(2, 1500), fmt.cases(3, 3000));
    let three: Vec<_> = three.iter().step_by(3).copied().collect();
    let negate = |x: u64| x ^ fmt.sign();
    for (set, round) in settings(fmt) {
        let sum = |x: u64, y: u64| bits(float::<F>(x).add_r(float(y), round).value);
        check(add, w, &[w, w], set, &two, |[x, y, _]| {
            float_rule(fmt, set, &[x, y], |v| sum(v[0], v[1]))
        });
        check(mul, w, &[w, w], set, &two, |[x, y, _]| {
            float_rule(fmt, set, &[x, y], |v| {
                bits(float::<F>(v[0]).mul_r(float(v[1]), round).value)
            })
        });
        if sub != add {
            check(sub, w, &[w, w], set, &two, |[x, y, _]| {
                float_rule(fmt, set, &[x, y], |v| sum(v[0], negate(v[1])))
            });
        }
        if let Some(subrev) = subrev {
            check(subrev, w, &[w, w], set, &two, |[x, y, _]| {
                float_rule(fmt, set, &[x, y], |v| sum(v[1], negate(v[0])))
            });
        }
        for &fma in fma {
            check(fma, w, &[w, w, w], set, &three, |[x, y, z]| {
                float_rule(fmt, set, &[x, y, z], |v| {
                    bits(
                        float::<F>(v[0])
                            .mul_add_r(float(v[1]), float(v[2]), round)
                            .value,
                    )
                })
            });
        }
    }
}

#[test]
fn f32_arithmetic_rounds_once_in_every_mode() {
    check_arithmetic::<Single>(
        SINGLE,
        Op::v_add_f32,
        Op::v_sub_f32,
        Some(Op::v_subrev_f32),
        Op::v_mul_f32,
        &[Op::v_fma_f32, Op::v_fmac_f32, Op::v_fmaak_f32],
    );
}

#[test]
fn f64_arithmetic_rounds_once_in_every_mode() {
    check_arithmetic::<Double>(
        DOUBLE,
        Op::v_add_f64,
        Op::v_add_f64,
        None,
        Op::v_mul_f64,
        &[Op::v_fma_f64, Op::v_fmac_f64],
    );
}

#[test]
fn f16_arithmetic_rounds_once_in_every_mode() {
    check_arithmetic::<Half>(
        HALF,
        Op::v_add_f16,
        Op::v_sub_f16,
        Some(Op::v_subrev_f16),
        Op::v_mul_f16,
        &[Op::v_fma_f16, Op::v_fmac_f16],
    );
}

#[test]
fn f32_fused_multiply_add_equals_the_host() {
    let cases = SINGLE.cases(3, 400_000);
    check(
        Op::v_fma_f32,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &cases,
        |[x, y, z]| {
            float_rule(SINGLE, PLAIN, &[x, y, z], |v| {
                let [x, y, z] = [v[0], v[1], v[2]].map(|v| f32::from_bits(v as u32));
                x.mul_add(y, z).to_bits() as u64
            })
        },
    );
}

#[test]
fn f64_fused_multiply_add_equals_the_host() {
    let cases = DOUBLE.cases(3, 100_000);
    check(
        Op::v_fma_f64,
        W64,
        &[W64, W64, W64],
        PLAIN,
        &cases,
        |[x, y, z]| {
            float_rule(DOUBLE, PLAIN, &[x, y, z], |v| {
                let [x, y, z] = [v[0], v[1], v[2]].map(f64::from_bits);
                x.mul_add(y, z).to_bits()
            })
        },
    );
}

#[test]
fn f16_fused_multiply_add_is_exact_where_two_roundings_are_not() {
    let cases = HALF.cases(3, 200_000);
    check(
        Op::v_fma_f16,
        W16,
        &[W16, W16, W16],
        PLAIN,
        &cases,
        |[x, y, z]| {
            float_rule(HALF, PLAIN, &[x, y, z], |v| {
                bits(
                    float::<Half>(v[0])
                        .mul_add_r(float(v[1]), float(v[2]), Round::NearestTiesToEven)
                        .value,
                )
            })
        },
    );
}

#[test]
fn mad_rounds_the_product_first_and_flushes() {
    let cases = SINGLE.cases(3, 20_000);
    let flushing = Setting::mode(0, 0xc);
    check(
        Op::v_mac_f32,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &cases,
        |[x, y, z]| {
            float_rule(SINGLE, flushing, &[x, y, z], |v| {
                let [x, y, z] = [v[0], v[1], v[2]].map(|v| f32::from_bits(v as u32));
                let product = SINGLE.flush((x * y).to_bits() as u64);
                (f32::from_bits(product as u32) + z).to_bits() as u64
            })
        },
    );
}

#[test]
fn legacy_products_with_a_zero_factor_are_plus_zero() {
    let cases = SINGLE.cases(3, 5000);
    let zero = |x: u64| x << 33 == 0;
    check(
        Op::v_mul_legacy_f32,
        W32,
        &[W32, W32],
        PLAIN,
        &cases,
        |[x, y, _]| {
            if zero(x) || zero(y) {
                0
            } else {
                float_rule(SINGLE, PLAIN, &[x, y], |v| {
                    (f32::from_bits(v[0] as u32) * f32::from_bits(v[1] as u32)).to_bits() as u64
                })
            }
        },
    );
    check(
        Op::v_fma_legacy_f32,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &cases,
        |[x, y, z]| {
            if zero(x) || zero(y) {
                float_rule(SINGLE, PLAIN, &[z], |v| v[0])
            } else {
                float_rule(SINGLE, PLAIN, &[x, y, z], |v| {
                    let [x, y, z] = [v[0], v[1], v[2]].map(|v| f32::from_bits(v as u32));
                    x.mul_add(y, z).to_bits() as u64
                })
            }
        },
    );
}

/// What IEEE mode and the order of zeros make of a minimum (or maximum).
fn extreme(fmt: Fmt, x: u64, y: u64, ieee: bool, greatest: bool) -> u64 {
    let signalling = |v: u64| fmt.is_nan(v) && v & fmt.quiet() == 0;
    if ieee && (signalling(x) || signalling(y)) {
        return (if signalling(x) { x } else { y }) | fmt.quiet();
    }
    if fmt.is_nan(y) {
        return x;
    }
    if fmt.is_nan(x) {
        return y;
    }
    let rank = |v: u64| {
        if v & fmt.sign() != 0 {
            -((v ^ fmt.sign()) as i128) - 1
        } else {
            v as i128
        }
    };
    if (rank(x) < rank(y)) != greatest {
        x
    } else {
        y
    }
}

#[test]
fn minimum_and_maximum_keep_the_ieee_rules() {
    let ops = [
        (
            SINGLE,
            Op::v_min_f32,
            Op::v_max_f32,
            Some((Op::v_min3_f32, Op::v_max3_f32)),
        ),
        (
            HALF,
            Op::v_min_f16,
            Op::v_max_f16,
            Some((Op::v_min3_f16, Op::v_max3_f16)),
        ),
        (DOUBLE, Op::v_min_f64, Op::v_max_f64, None),
    ];
    for (fmt, min, max, three) in ops {
        let w = fmt.width();
        for (ieee, denorm) in [(false, 0xf), (true, 0xf), (true, 0)] {
            let mut set = Setting::mode(0, denorm);
            if !ieee {
                set.mode = rukh_backend_sim::exec::valu::FloatMode::from_mode_register(0x1f0);
            }
            let read = |v: u64| if denorm == 0 { fmt.flush(v) } else { v };
            for (op, greatest) in [(min, false), (max, true)] {
                check(op, w, &[w, w], set, &fmt.cases(2, 2000), |[x, y, _]| {
                    extreme(fmt, read(x), read(y), ieee, greatest)
                });
            }
            for (op, greatest) in three
                .iter()
                .flat_map(|&(min, max)| [(min, false), (max, true)])
            {
                check(op, w, &[w, w, w], set, &fmt.cases(3, 2000), |[x, y, z]| {
                    extreme(
                        fmt,
                        extreme(fmt, read(x), read(y), ieee, greatest),
                        read(z),
                        ieee,
                        greatest,
                    )
                });
            }
        }
    }
}

#[test]
fn medians_are_between_the_other_two() {
    let cases: Vec<_> = SINGLE
        .cases(3, 5000)
        .into_iter()
        .filter(|c| c.iter().all(|&x| !SINGLE.is_nan(x)))
        .collect();
    check(
        Op::v_med3_f32,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &cases,
        |[x, y, z]| {
            let mut sorted = [x, y, z].map(|v| f32::from_bits(v as u32));
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
            // Of equal values (zeros of both signs among them) any may be meant; the rule picks by position.
            let middle = sorted[1];
            let greater = |a: f32, b: f32| {
                f32::from_bits(
                    extreme(SINGLE, a.to_bits() as u64, b.to_bits() as u64, true, true) as u32,
                )
            };
            let [a, b, c] = [x, y, z].map(|v| f32::from_bits(v as u32));
            let top = greater(greater(a, b), c);
            let rule = if top == a {
                greater(b, c)
            } else if top == b {
                greater(a, c)
            } else {
                greater(a, b)
            };
            assert_eq!(rule, middle);
            rule.to_bits() as u64
        },
    );
}
