//! Integer operations against exact arithmetic in wider types.

use rukh_backend_sim::isa::Op;

use crate::harness::*;

fn check2(op: Op, judge: impl Fn(u32, u32) -> u32) {
    check(op, W32, &[W32, W32], PLAIN, &integers(2), |[x, y, _]| {
        judge(x as u32, y as u32) as u64
    });
}

fn check3(op: Op, judge: impl Fn(u32, u32, u32) -> u32) {
    check(
        op,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &integers(3),
        |[x, y, z]| judge(x as u32, y as u32, z as u32) as u64,
    );
}

fn check16(op: Op, set: Setting, judge: impl Fn(u16, u16, u16) -> i64) {
    check(op, W16, &[W16, W16, W16], set, &integers(3), |[x, y, z]| {
        judge(x as u16, y as u16, z as u16) as u16 as u64
    });
}

fn clamp(x: i128, min: i128, max: i128, clamp: bool) -> u64 {
    (if clamp { x.clamp(min, max) } else { x }) as u64
}

#[test]
fn adds_wrap_or_saturate() {
    let cases = integers(2);
    for set in [PLAIN, PLAIN.clamp()] {
        let u32s = |x: i128| clamp(x, 0, u32::MAX as i128, set.clamp) as u32 as u64;
        let i32s = |x: i128| clamp(x, i32::MIN as i128, i32::MAX as i128, set.clamp) as u32 as u64;
        let u16s = |x: i128| clamp(x, 0, u16::MAX as i128, set.clamp) as u16 as u64;
        let i16s = |x: i128| clamp(x, i16::MIN as i128, i16::MAX as i128, set.clamp) as u16 as u64;
        let w = &[W32, W32];
        check(Op::v_add_u32, W32, w, set, &cases, |[x, y, _]| {
            u32s(x as i128 + y as i128)
        });
        check(Op::v_sub_u32, W32, w, set, &cases, |[x, y, _]| {
            u32s(x as i128 - y as i128)
        });
        check(Op::v_subrev_u32, W32, w, set, &cases, |[x, y, _]| {
            u32s(y as i128 - x as i128)
        });
        let s = |x: u64| x as u32 as i32 as i128;
        check(Op::v_add_i32, W32, w, set, &cases, |[x, y, _]| {
            i32s(s(x) + s(y))
        });
        check(Op::v_sub_i32, W32, w, set, &cases, |[x, y, _]| {
            i32s(s(x) - s(y))
        });
        let w = &[W16, W16];
        check(Op::v_add_u16, W16, w, set, &cases, |[x, y, _]| {
            u16s(x as i128 + y as i128)
        });
        check(Op::v_sub_u16, W16, w, set, &cases, |[x, y, _]| {
            u16s(x as i128 - y as i128)
        });
        check(Op::v_subrev_u16, W16, w, set, &cases, |[x, y, _]| {
            u16s(y as i128 - x as i128)
        });
        check(Op::v_mul_lo_u16, W16, w, set, &cases, |[x, y, _]| {
            u16s(x as i128 * y as i128)
        });
        let s = |x: u64| x as u16 as i16 as i128;
        check(Op::v_add_i16, W16, w, set, &cases, |[x, y, _]| {
            i16s(s(x) + s(y))
        });
        check(Op::v_sub_i16, W16, w, set, &cases, |[x, y, _]| {
            i16s(s(x) - s(y))
        });
    }
}

#[test]
fn carries_go_in_and_out() {
    let cases = integers(2);
    for mask in [false, true] {
        for clamp in [false, true] {
            let set = Setting {
                mask,
                clamp,
                ..PLAIN
            };
            let c = mask as i128;
            let lane = |exact: i128| {
                let out = !(0..=u32::MAX as i128).contains(&exact);
                let saturated = if exact < 0 { 0 } else { u32::MAX };
                Lane {
                    value: if clamp && out {
                        saturated
                    } else {
                        exact as u32
                    } as u64,
                    mask: out,
                }
            };
            let check = |op, f: &dyn Fn(i128, i128) -> i128| {
                check_with_mask(op, Some(W32), &[W32, W32], set, &cases, |[x, y, _]| {
                    lane(f(x as i128, y as i128))
                });
            };
            check(Op::v_add_co_u32, &|x, y| x + y);
            check(Op::v_sub_co_u32, &|x, y| x - y);
            check(Op::v_subrev_co_u32, &|x, y| y - x);
            check(Op::v_addc_co_u32, &|x, y| x + y + c);
            check(Op::v_subb_co_u32, &|x, y| x - y - c);
            check(Op::v_subbrev_co_u32, &|x, y| y - x - c);
        }
    }
}

#[test]
fn selects_follow_the_mask() {
    for mask in [false, true] {
        let set = Setting { mask, ..PLAIN };
        check(
            Op::v_cndmask_b32,
            W32,
            &[W32, W32],
            set,
            &integers(2),
            |[x, y, _]| if mask { y } else { x },
        );
    }
}

#[test]
fn selects_take_each_lane_from_its_own_bit() {
    use rukh_backend_sim::exec::valu::{FloatMode, Level, VArgs, handler};
    let mask = 0x8421_dead_0123_4567u64;
    for lanes in [32usize, 64] {
        let (no, yes, mut out) = (vec![0u32; lanes], vec![1u32; lanes], vec![7u32; lanes]);
        let args = VArgs {
            dst: out.as_mut_ptr(),
            dst2: core::ptr::null_mut(),
            src: [no.as_ptr(), yes.as_ptr(), core::ptr::null()],
            lanes: lanes as u32,
            exec: u64::MAX,
            mask_in: mask,
            mode: FloatMode::COMPUTE,
            clamp: false,
            imm: 0,
        };
        // SAFETY: rows of `lanes` dwords; the detected level is available.
        unsafe { handler(Op::v_cndmask_b32, Level::detect()).unwrap()(&args) };
        for (i, &bit) in out.iter().enumerate() {
            assert_eq!(bit as u64, mask >> i & 1);
        }
    }
}

#[test]
fn products_have_their_high_and_low_parts() {
    let s = |x: u32| x as i32 as i64;
    let i24 = |x: u32| ((x << 8) as i32 >> 8) as i64;
    let u24 = |x: u32| (x % (1 << 24)) as u64;
    check2(Op::v_mul_lo_u32, |x, y| (x as u64 * y as u64) as u32);
    check2(Op::v_mul_hi_u32, |x, y| {
        ((x as u64 * y as u64) >> 32) as u32
    });
    check2(Op::v_mul_hi_i32, |x, y| ((s(x) * s(y)) >> 32) as u32);
    check2(Op::v_mul_u32_u24, |x, y| (u24(x) * u24(y)) as u32);
    check2(Op::v_mul_i32_i24, |x, y| (i24(x) * i24(y)) as u32);
    check2(Op::v_mul_hi_u32_u24, |x, y| {
        ((u24(x) * u24(y)) >> 32) as u32
    });
    check2(Op::v_mul_hi_i32_i24, |x, y| {
        ((i24(x) * i24(y)) >> 32) as u32
    });
}

#[test]
fn multiply_adds_wrap_or_saturate() {
    let cases = integers(3);
    let i24 = |x: u64| ((x as u32) << 8) as i32 as i128 >> 8;
    let i16s = |x: u64| x as u16 as i16 as i128;
    for set in [PLAIN, PLAIN.clamp()] {
        let u32s = |x: i128| clamp(x, 0, u32::MAX as i128, set.clamp) as u32 as u64;
        let i32s = |x: i128| clamp(x, i32::MIN as i128, i32::MAX as i128, set.clamp) as u32 as u64;
        let s32 = |x: u64| x as u32 as i32 as i128;
        let w = &[W32, W32, W32];
        check(Op::v_mad_u32_u24, W32, w, set, &cases, |[x, y, z]| {
            u32s((x as i128 & 0xff_ffff) * (y as i128 & 0xff_ffff) + z as i128)
        });
        check(Op::v_mad_i32_i24, W32, w, set, &cases, |[x, y, z]| {
            i32s(i24(x) * i24(y) + s32(z))
        });
        let w = &[W16, W16, W32];
        check(Op::v_mad_u32_u16, W32, w, set, &cases, |[x, y, z]| {
            u32s(x as i128 * y as i128 + z as i128)
        });
        check(Op::v_mad_i32_i16, W32, w, set, &cases, |[x, y, z]| {
            i32s(i16s(x) * i16s(y) + s32(z))
        });
        check16(Op::v_mad_u16, set, |x, y, z| {
            clamp(x as i128 * y as i128 + z as i128, 0, 0xffff, set.clamp) as i64
        });
        check16(Op::v_mad_i16, set, |x, y, z| {
            let exact = x as i16 as i128 * y as i16 as i128 + z as i16 as i128;
            clamp(exact, -0x8000, 0x7fff, set.clamp) as i64
        });
        check_with_mask(
            Op::v_mad_u64_u32,
            Some(W64),
            &[W32, W32, W64],
            set,
            &cases,
            |[x, y, z]| {
                let exact = x as u128 * y as u128 + z as u128;
                let over = exact > u64::MAX as u128;
                Lane {
                    value: if set.clamp && over {
                        u64::MAX
                    } else {
                        exact as u64
                    },
                    mask: over,
                }
            },
        );
        check_with_mask(
            Op::v_mad_i64_i32,
            Some(W64),
            &[W32, W32, W64],
            set,
            &cases,
            |[x, y, z]| {
                let exact = s32(x) * s32(y) + z as i64 as i128;
                Lane {
                    value: clamp(exact, i64::MIN as i128, i64::MAX as i128, set.clamp),
                    mask: exact < 0,
                }
            },
        );
    }
}

#[test]
fn shifts_take_the_low_bits_of_their_count() {
    check2(Op::v_lshlrev_b32, |s, x| x.wrapping_shl(s));
    check2(Op::v_lshrrev_b32, |s, x| x.wrapping_shr(s));
    check2(Op::v_ashrrev_i32, |s, x| (x as i32).wrapping_shr(s) as u32);
    let mut cases = integers(2);
    // Every count, and some that are larger: of numbers in which each bit that moves shows.
    for x in [u64::MAX, 1, 1 << 63, 0x0123_4567_89ab_cdef] {
        cases.extend((0..130).map(|s| [s, x, 0]));
    }
    let w = &[W32, W64];
    check(Op::v_lshlrev_b64, W64, w, PLAIN, &cases, |[s, x, _]| {
        x.wrapping_shl(s as u32)
    });
    check(Op::v_lshrrev_b64, W64, w, PLAIN, &cases, |[s, x, _]| {
        x.wrapping_shr(s as u32)
    });
    check(Op::v_ashrrev_i64, W64, w, PLAIN, &cases, |[s, x, _]| {
        (x as i64).wrapping_shr(s as u32) as u64
    });
    let w = &[W16, W16];
    check(Op::v_lshlrev_b16, W16, w, PLAIN, &cases, |[s, x, _]| {
        (x as u16).wrapping_shl(s as u32) as u64
    });
    check(Op::v_lshrrev_b16, W16, w, PLAIN, &cases, |[s, x, _]| {
        (x as u16).wrapping_shr(s as u32) as u64
    });
    check(Op::v_ashrrev_i16, W16, w, PLAIN, &cases, |[s, x, _]| {
        (x as u16 as i16).wrapping_shr(s as u32) as u16 as u64
    });
    check(
        Op::v_lshl_add_u64,
        W64,
        &[W64, W32, W64],
        PLAIN,
        &integers(3),
        |[x, s, y]| (x << (s % 8)).wrapping_add(y),
    );
}

#[test]
fn logic_is_bitwise() {
    check2(Op::v_and_b32, |x, y| x & y);
    check2(Op::v_or_b32, |x, y| x | y);
    check2(Op::v_xor_b32, |x, y| x ^ y);
    check2(Op::v_xnor_b32, |x, y| !(x ^ y));
    check3(Op::v_and_or_b32, |x, y, z| x & y | z);
    check3(Op::v_or3_b32, |x, y, z| x | y | z);
    check3(Op::v_xor3_b32, |x, y, z| x ^ y ^ z);
    check3(Op::v_bfi_b32, |m, x, y| {
        (0..32).fold(0, |r, i| r | (if m >> i & 1 != 0 { x } else { y } & 1 << i))
    });
    check(
        Op::v_not_b32,
        W32,
        &[W32],
        PLAIN,
        &integers(1),
        |[x, ..]| !x as u32 as u64,
    );
    check(Op::v_mov_b32, W32, &[W32], PLAIN, &integers(1), |[x, ..]| x);
    check(
        Op::v_bfrev_b32,
        W32,
        &[W32],
        PLAIN,
        &integers(1),
        |[x, ..]| (0..32).fold(0, |r, i| r | (x >> i & 1) << (31 - i)),
    );
}

#[test]
fn bit_searches_count_from_their_end() {
    let none = u32::MAX as u64;
    let find = |f: &dyn Fn(u32) -> bool| (0..32).find(|&i| f(i)).map_or(none, |i| i as u64);
    let ones = integers(1);
    check(Op::v_ffbh_u32, W32, &[W32], PLAIN, &ones, |[x, ..]| {
        find(&|i| x >> (31 - i) & 1 != 0)
    });
    check(Op::v_ffbl_b32, W32, &[W32], PLAIN, &ones, |[x, ..]| {
        find(&|i| x >> i & 1 != 0)
    });
    check(Op::v_ffbh_i32, W32, &[W32], PLAIN, &ones, |[x, ..]| {
        find(&|i| x >> (31 - i) & 1 != x >> 31 & 1)
    });
    check2(Op::v_bcnt_u32_b32, |x, y| {
        (0..32).fold(y, |n, i| n.wrapping_add(x >> i & 1))
    });
}

#[test]
fn mbcnt_counts_lanes_below() {
    use rukh_backend_sim::exec::valu::{FloatMode, Level, VArgs, handler};
    for lanes in [32usize, 64] {
        let (mask, base) = (vec![0xa5a5_5a5fu32; lanes], vec![100u32; lanes]);
        for (op, first) in [(Op::v_mbcnt_lo_u32_b32, 0), (Op::v_mbcnt_hi_u32_b32, 32)] {
            let mut out = vec![0u32; lanes];
            let args = VArgs {
                dst: out.as_mut_ptr(),
                dst2: core::ptr::null_mut(),
                src: [mask.as_ptr(), base.as_ptr(), core::ptr::null()],
                lanes: lanes as u32,
                exec: u64::MAX,
                mask_in: 0,
                mode: FloatMode::COMPUTE,
                clamp: false,
                imm: 0,
            };
            // SAFETY: rows of `lanes` dwords; the detected level is available.
            unsafe { handler(op, Level::detect()).unwrap()(&args) };
            for (lane, &count) in out.iter().enumerate() {
                let below = (first..lane)
                    .filter(|i| i - first < 32 && mask[0] >> (i - first) & 1 != 0)
                    .count();
                assert_eq!(count, 100 + below as u32, "{op:?} lane {lane}");
            }
        }
    }
}

#[test]
fn fields_are_extracted_and_made() {
    check3(Op::v_bfe_u32, |x, o, w| {
        ((x as u64 >> (o % 32)) & ((1 << (w % 32)) - 1)) as u32
    });
    check3(Op::v_bfe_i32, |x, o, w| {
        let (o, w) = (o % 32, w % 32);
        if w == 0 {
            0
        } else {
            ((((x as i32 as i64) >> o) << (64 - w)) >> (64 - w)) as u32
        }
    });
    check2(Op::v_bfm_b32, |w, o| {
        (((1u64 << (w % 32)) - 1) << (o % 32)) as u32
    });
    let wide = |h: u32, l: u32| (h as u64) << 32 | l as u64;
    check3(Op::v_alignbit_b32, |h, l, s| {
        (wide(h, l) >> (s % 32)) as u32
    });
    check3(Op::v_alignbyte_b32, |h, l, s| {
        (wide(h, l) >> (s % 4 * 8)) as u32
    });
    check3(Op::v_perm_b32, |h, l, s| {
        let bytes = wide(h, l).to_le_bytes();
        let pick = |s: u8| match s {
            0..8 => bytes[s as usize],
            8..12 => {
                if bytes[(s as usize - 8) * 2 + 1] >= 0x80 {
                    0xff
                } else {
                    0
                }
            }
            12 => 0,
            _ => 0xff,
        };
        u32::from_le_bytes(s.to_le_bytes().map(pick))
    });
    let selectors: Vec<_> = (0..0x1000u64)
        .map(|i| {
            [
                0x80ff_7f01_1234_8765,
                0xfe80_0180,
                i * 0x0001_0203 & 0x1f1f_1f1f,
            ]
        })
        .collect();
    check(
        Op::v_perm_b32,
        W32,
        &[W32, W32, W32],
        PLAIN,
        &selectors,
        |[h, l, s]| {
            let bytes = wide(h as u32, l as u32).to_le_bytes();
            let pick = |s: u8| match s {
                0..8 => bytes[s as usize],
                8..12 => {
                    if bytes[(s as usize - 8) * 2 + 1] >= 0x80 {
                        0xff
                    } else {
                        0
                    }
                }
                12 => 0,
                _ => 0xff,
            };
            u32::from_le_bytes((s as u32).to_le_bytes().map(pick)) as u64
        },
    );
}

#[test]
fn combined_operations_wrap() {
    check3(Op::v_lshl_add_u32, |x, s, y| {
        x.wrapping_shl(s).wrapping_add(y)
    });
    check3(Op::v_add_lshl_u32, |x, y, s| {
        x.wrapping_add(y).wrapping_shl(s)
    });
    check3(Op::v_add3_u32, |x, y, z| {
        (x as u64 + y as u64 + z as u64) as u32
    });
    check3(Op::v_lshl_or_b32, |x, s, y| x.wrapping_shl(s) | y);
    check3(Op::v_xad_u32, |x, y, z| (x ^ y).wrapping_add(z));
}

#[test]
fn extremes_order_by_signedness() {
    let sorted = |mut v: [i64; 3]| {
        v.sort();
        v
    };
    let s = |x: u32| x as i32 as i64;
    check2(Op::v_min_i32, |x, y| s(x).min(s(y)) as u32);
    check2(Op::v_max_i32, |x, y| s(x).max(s(y)) as u32);
    check2(Op::v_min_u32, |x, y| x.min(y));
    check2(Op::v_max_u32, |x, y| x.max(y));
    check3(Op::v_min3_i32, |x, y, z| {
        sorted([s(x), s(y), s(z)])[0] as u32
    });
    check3(Op::v_med3_i32, |x, y, z| {
        sorted([s(x), s(y), s(z)])[1] as u32
    });
    check3(Op::v_max3_i32, |x, y, z| {
        sorted([s(x), s(y), s(z)])[2] as u32
    });
    check3(Op::v_min3_u32, |x, y, z| {
        sorted([x as i64, y as i64, z as i64])[0] as u32
    });
    check3(Op::v_med3_u32, |x, y, z| {
        sorted([x as i64, y as i64, z as i64])[1] as u32
    });
    check3(Op::v_max3_u32, |x, y, z| {
        sorted([x as i64, y as i64, z as i64])[2] as u32
    });
    let s = |x: u16| x as i16 as i64;
    check16(Op::v_med3_i16, PLAIN, |x, y, z| {
        sorted([s(x), s(y), s(z)])[1]
    });
    check16(Op::v_med3_u16, PLAIN, |x, y, z| {
        sorted([x as i64, y as i64, z as i64])[1]
    });
    check16(Op::v_min_i16, PLAIN, |x, y, _| s(x).min(s(y)));
    check16(Op::v_max_i16, PLAIN, |x, y, _| s(x).max(s(y)));
    check16(Op::v_min_u16, PLAIN, |x, y, _| x.min(y) as i64);
    check16(Op::v_max_u16, PLAIN, |x, y, _| x.max(y) as i64);
}

#[test]
fn absolute_differences_add_up() {
    let bytes = |x: u32| x.to_le_bytes();
    let sad = |x: u32, y: u32, z: u32| {
        bytes(x)
            .iter()
            .zip(bytes(y))
            .fold(z, |sum, (&a, b)| sum.wrapping_add(a.abs_diff(b) as u32))
    };
    let msad = |x: u32, y: u32, z: u32| {
        bytes(x).iter().zip(bytes(y)).fold(z, |sum, (&a, b)| {
            sum.wrapping_add(if b == 0 { 0 } else { a.abs_diff(b) as u32 })
        })
    };
    check3(Op::v_sad_u8, sad);
    check3(Op::v_msad_u8, msad);
    check3(Op::v_sad_hi_u8, |x, y, z| {
        (sad(x, y, 0) << 16).wrapping_add(z)
    });
    check3(Op::v_sad_u32, |x, y, z| x.abs_diff(y).wrapping_add(z));
    check3(Op::v_sad_u16, |x, y, z| {
        let low = (x as u16).abs_diff(y as u16) as u32;
        z.wrapping_add(low)
            .wrapping_add(((x >> 16) as u16).abs_diff((y >> 16) as u16) as u32)
    });
    check3(Op::v_lerp_u8, |x, y, z| {
        let (x, y, z) = (bytes(x), bytes(y), bytes(z));
        u32::from_le_bytes(core::array::from_fn(|i| {
            ((x[i] as u32 + y[i] as u32 + (z[i] & 1) as u32) / 2) as u8
        }))
    });
    let cases = integers(3);
    for (op, f) in [
        (Op::v_qsad_pk_u16_u8, &sad as &dyn Fn(u32, u32, u32) -> u32),
        (Op::v_mqsad_pk_u16_u8, &msad),
    ] {
        check(op, W64, &[W64, W32, W64], PLAIN, &cases, |[x, y, z]| {
            (0..4).fold(0, |r, i| {
                let part = f(
                    (x >> (8 * i)) as u32,
                    y as u32,
                    (z >> (16 * i)) as u16 as u32,
                ) as u16;
                r | (part as u64) << (16 * i)
            })
        });
    }
}
