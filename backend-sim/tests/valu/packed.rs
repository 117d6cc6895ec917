//! Packed and mixed operations and dot products.

use rukh_backend_sim::isa::Op;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

use crate::arithmetic::ROUNDS;
use crate::harness::*;

fn halves(x: u64) -> [u64; 2] {
    [x & 0xffff, x >> 16 & 0xffff]
}

fn pack(f: impl Fn(usize) -> u64) -> u64 {
    f(0) | f(1) << 16
}

#[test]
fn packed_integers_work_on_each_half() {
    let (two, three) = (integers(2), integers(3));
    let s = |x: u64| x as u16 as i16 as i128;
    for set in [PLAIN, PLAIN.clamp()] {
        let unsigned = |x: i128| if set.clamp { x.clamp(0, 0xffff) } else { x } as u16 as u64;
        let signed = |x: i128| if set.clamp { x.clamp(-0x8000, 0x7fff) } else { x } as u16 as u64;
        let check2 = |op, f: &dyn Fn(u64, u64) -> u64| {
            check(op, W32, &[W32, W32], set, &two, |[x, y, _]| {
                let (x, y) = (halves(x), halves(y));
                pack(|i| f(x[i], y[i]))
            });
        };
        check2(Op::v_pk_add_u16, &|x, y| unsigned(x as i128 + y as i128));
        check2(Op::v_pk_sub_u16, &|x, y| unsigned(x as i128 - y as i128));
        check2(Op::v_pk_add_i16, &|x, y| signed(s(x) + s(y)));
        check2(Op::v_pk_sub_i16, &|x, y| signed(s(x) - s(y)));
        check2(Op::v_pk_mul_lo_u16, &|x, y| unsigned(x as i128 * y as i128));
        check2(Op::v_pk_min_i16, &|x, y| s(x).min(s(y)) as u16 as u64);
        check2(Op::v_pk_max_i16, &|x, y| s(x).max(s(y)) as u16 as u64);
        check2(Op::v_pk_min_u16, &|x, y| x.min(y));
        check2(Op::v_pk_max_u16, &|x, y| x.max(y));
        check2(Op::v_pk_lshlrev_b16, &|n, x| (x << (n % 16)) & 0xffff);
        check2(Op::v_pk_lshrrev_b16, &|n, x| x >> (n % 16));
        check2(Op::v_pk_ashrrev_i16, &|n, x| {
            (s(x) >> (n % 16)) as u16 as u64
        });
        let check3 = |op, f: &dyn Fn(u64, u64, u64) -> u64| {
            check(op, W32, &[W32, W32, W32], set, &three, |[x, y, z]| {
                let (x, y, z) = (halves(x), halves(y), halves(z));
                pack(|i| f(x[i], y[i], z[i]))
            });
        };
        check3(Op::v_pk_mad_u16, &|x, y, z| {
            unsigned(x as i128 * y as i128 + z as i128)
        });
        check3(Op::v_pk_mad_i16, &|x, y, z| signed(s(x) * s(y) + s(z)));
    }
}

#[test]
fn packed_halves_round_like_single_ones() {
    let half = |x: u64| Half::from_bits(x as u128);
    let cases: Vec<_> = HALF
        .cases(3, 20_000)
        .windows(2)
        .step_by(3)
        .map(|w| core::array::from_fn(|s| w[0][s] | w[1][s] << 16))
        .collect();
    for i in 0..16u32 {
        let (set, round) = (
            Setting::mode((i & 3) << 2, (i >> 2) << 2),
            ROUNDS[i as usize & 3],
        );
        check(
            Op::v_pk_add_f16,
            W32,
            &[W32, W32],
            set,
            &cases,
            |[x, y, _]| {
                let (x, y) = (halves(x), halves(y));
                pack(|i| {
                    float_rule(HALF, set, &[x[i], y[i]], |v| {
                        half(v[0]).add_r(half(v[1]), round).value.to_bits() as u64
                    })
                })
            },
        );
        check(
            Op::v_pk_mul_f16,
            W32,
            &[W32, W32],
            set,
            &cases,
            |[x, y, _]| {
                let (x, y) = (halves(x), halves(y));
                pack(|i| {
                    float_rule(HALF, set, &[x[i], y[i]], |v| {
                        half(v[0]).mul_r(half(v[1]), round).value.to_bits() as u64
                    })
                })
            },
        );
        for op in [Op::v_pk_fma_f16, Op::v_pk_fmac_f16] {
            check(op, W32, &[W32, W32, W32], set, &cases, |[x, y, z]| {
                let (x, y, z) = (halves(x), halves(y), halves(z));
                pack(|i| {
                    float_rule(HALF, set, &[x[i], y[i], z[i]], |v| {
                        half(v[0])
                            .mul_add_r(half(v[1]), half(v[2]), round)
                            .value
                            .to_bits() as u64
                    })
                })
            });
        }
    }
}

#[test]
fn packed_extremes_work_on_each_half() {
    let numbers: Vec<_> = HALF
        .cases(2, 20_000)
        .into_iter()
        .filter(|c| c.iter().all(|&x| !HALF.is_nan(x)))
        .map(|c| c.map(|x| x | (x ^ 0x8001) << 16))
        .filter(|c| c.iter().all(|&x| !HALF.is_nan(x >> 16)))
        .collect();
    let rank = |v: u64| {
        if v & 0x8000 != 0 {
            -((v & 0x7fff) as i64) - 1
        } else {
            v as i64
        }
    };
    for (op, greatest) in [
        (Op::v_pk_min_f16, false),
        (Op::v_pk_max_f16, true),
        (Op::v_pk_minimum_f16, false),
    ] {
        check(op, W32, &[W32, W32], PLAIN, &numbers, |[x, y, _]| {
            let (x, y) = (halves(x), halves(y));
            pack(|i| {
                if (rank(x[i]) < rank(y[i])) != greatest {
                    x[i]
                } else {
                    y[i]
                }
            })
        });
    }
    // A NaN loses in one half and leaves the other alone; `minimum` passes it on.
    let nans = [[0x3c00_7e01, 0x4000_3c00, 0]];
    check(Op::v_pk_max_f16, W32, &[W32, W32], PLAIN, &nans, |_| {
        0x4000_3c00
    });
    check(Op::v_pk_maximum_f16, W32, &[W32, W32], PLAIN, &nans, |_| {
        0x4000_7e01
    });
}

#[test]
fn packed_singles_work_on_both_rows() {
    let cases: Vec<_> = SINGLE
        .cases(3, 5000)
        .windows(2)
        .step_by(3)
        .map(|w| core::array::from_fn(|s| w[0][s] | w[1][s] << 32))
        .collect();
    let f = |x: u64| f32::from_bits(x as u32);
    let both = |f: &dyn Fn(u32) -> u64| f(0) | f(32) << 32;
    let part = |x: u64, i: u32| x >> i & 0xffff_ffff;
    let w = [W64, W64, W64];
    check(
        Op::v_pk_add_f32,
        W64,
        &w[..2],
        PLAIN,
        &cases,
        |[x, y, _]| {
            both(&|i| {
                float_rule(SINGLE, PLAIN, &[part(x, i), part(y, i)], |v| {
                    (f(v[0]) + f(v[1])).to_bits() as u64
                })
            })
        },
    );
    check(
        Op::v_pk_mul_f32,
        W64,
        &w[..2],
        PLAIN,
        &cases,
        |[x, y, _]| {
            both(&|i| {
                float_rule(SINGLE, PLAIN, &[part(x, i), part(y, i)], |v| {
                    (f(v[0]) * f(v[1])).to_bits() as u64
                })
            })
        },
    );
    check(Op::v_pk_fma_f32, W64, &w, PLAIN, &cases, |[x, y, z]| {
        both(&|i| {
            float_rule(SINGLE, PLAIN, &[part(x, i), part(y, i), part(z, i)], |v| {
                f(v[0]).mul_add(f(v[1]), f(v[2])).to_bits() as u64
            })
        })
    });
    check(
        Op::v_pk_mov_b32,
        W64,
        &[W32, W32],
        PLAIN,
        &integers(2),
        |[x, y, _]| x | y << 32,
    );
}

#[test]
fn mixed_precision_rounds_in_each_format() {
    let cases = SINGLE.cases(3, 3000);
    for i in 0..16u32 {
        let set = Setting::mode((i & 3) | (i >> 2) << 2, 0xf);
        let (first, second) = (ROUNDS[i as usize & 3], ROUNDS[i as usize >> 2]);
        check(
            Op::v_fma_mixlo_f16,
            W16,
            &[W32, W32, W32],
            set,
            &cases,
            |[x, y, z]| {
                let sum = float_rule(SINGLE, set, &[x, y, z], |v| {
                    let [x, y, z] = [v[0], v[1], v[2]].map(|v| Single::from_bits(v as u128));
                    x.mul_add_r(y, z, first).value.to_bits() as u64
                });
                if SINGLE.is_nan(sum) {
                    return (sum >> 16 & 0x8000) | 0x7e00 | (sum >> 13 & 0x3ff);
                }
                let half: Half = Single::from_bits(sum as u128)
                    .convert_r(second, &mut false)
                    .value;
                half.to_bits() as u64
            },
        );
    }
}

#[test]
fn integer_dot_products_wrap_or_saturate() {
    let cases = integers(3);
    let field = |x: u64, bits: u32, i: u32, signed: bool| {
        let value = (x >> (bits * i)) as i128 & ((1 << bits) - 1);
        if signed && value >> (bits - 1) != 0 {
            value - (1 << bits)
        } else {
            value
        }
    };
    for set in [PLAIN, PLAIN.clamp()] {
        let dot = |bits: u32, a: bool, b: bool, c: bool, [x, y, z]: [u64; 3]| {
            let z = if c {
                z as u32 as i32 as i128
            } else {
                z as i128
            };
            let exact = (0..32 / bits).fold(z, |sum, i| {
                sum + field(x, bits, i, a) * field(y, bits, i, b)
            });
            let (min, max) = if c {
                (i32::MIN as i128, i32::MAX as i128)
            } else {
                (0, u32::MAX as i128)
            };
            (if set.clamp {
                exact.clamp(min, max)
            } else {
                exact
            }) as u32 as u64
        };
        let w = &[W32, W32, W32];
        check(Op::v_dot2_i32_i16, W32, w, set, &cases, |c| {
            dot(16, true, true, true, c)
        });
        check(Op::v_dot2_u32_u16, W32, w, set, &cases, |c| {
            dot(16, false, false, false, c)
        });
        check(Op::v_dot4_i32_i8, W32, w, set, &cases, |c| {
            dot(8, true, true, true, c)
        });
        check(Op::v_dot4_u32_u8, W32, w, set, &cases, |c| {
            dot(8, false, false, false, c)
        });
        check(Op::v_dot8_i32_i4, W32, w, set, &cases, |c| {
            dot(4, true, true, true, c)
        });
        check(Op::v_dot8_u32_u4, W32, w, set, &cases, |c| {
            dot(4, false, false, false, c)
        });
        for imm in 0..4 {
            let set = Setting { imm, ..set };
            let (a, b) = (imm & 1 != 0, imm & 2 != 0);
            check(Op::v_dot4_i32_iu8, W32, w, set, &cases, |c| {
                dot(8, a, b, true, c)
            });
            check(Op::v_dot8_i32_iu4, W32, w, set, &cases, |c| {
                dot(4, a, b, true, c)
            });
        }
    }
}

#[test]
fn float_dot_products_add_the_low_product_first() {
    let wide = |x: u64| {
        let single: Single = Half::from_bits(x as u128).convert(&mut false).value;
        single.to_bits() as u64
    };
    let cases: Vec<_> = HALF
        .cases(3, 5000)
        .windows(2)
        .step_by(3)
        .zip(SINGLE.cases(1, 20_000))
        .map(|(w, c)| [w[0][0] | w[1][0] << 16, w[0][1] | w[1][1] << 16, c[0]])
        .collect();
    for (i, round) in ROUNDS.into_iter().enumerate() {
        let set = Setting::mode(i as u32, 0xf);
        check(
            Op::v_dot2_f32_f16,
            W32,
            &[W32, W32, W32],
            set,
            &cases,
            |[x, y, z]| {
                let (x, y) = (halves(x), halves(y));
                (0..2).fold(z, |sum, i| {
                    // Widening keeps a NaN's payload; quieting comes with the sum.
                    let widen = |h: u64| {
                        if HALF.is_nan(h) {
                            (h & 0x8000) << 16 | 0x7f80_0000 | (h & 0x3ff) << 13
                        } else {
                            wide(h)
                        }
                    };
                    float_rule(SINGLE, set, &[widen(x[i]), widen(y[i]), sum], |v| {
                        let [x, y, z] = [v[0], v[1], v[2]].map(|v| Single::from_bits(v as u128));
                        x.mul_add_r(y, z, round).value.to_bits() as u64
                    })
                })
            },
        );
    }
}
