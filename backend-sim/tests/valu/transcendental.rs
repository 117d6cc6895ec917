//! Reciprocals, roots, exponentials, logarithms, sines and cosines.

use rukh_backend_sim::isa::Op;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

use crate::harness::*;

fn flushed(f: impl Fn(f64) -> f64) -> impl Fn([u64; 3]) -> u64 {
    let mode = Setting::mode(0, 0xc);
    move |[x, ..]| {
        float_rule(SINGLE, mode, &[x], |v| {
            (f(f32::from_bits(v[0] as u32) as f64) as f32).to_bits() as u64
        })
    }
}

#[test]
fn f32_reciprocals_and_roots_are_correctly_rounded() {
    let cases = SINGLE.cases(1, 200_000);
    check(
        Op::v_rcp_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        flushed(|x| 1.0 / x),
    );
    check(
        Op::v_rcp_iflag_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        flushed(|x| 1.0 / x),
    );
    check(
        Op::v_sqrt_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        flushed(f64::sqrt),
    );
    check(
        Op::v_rsq_f32,
        W32,
        &[W32],
        PLAIN,
        &cases,
        flushed(|x| 1.0 / x.sqrt()),
    );
}

#[test]
fn f64_reciprocals_and_roots_follow_the_host() {
    let cases = DOUBLE.cases(1, 50_000);
    let judge = |f: fn(f64) -> f64| {
        move |[x, ..]: [u64; 3]| {
            float_rule(DOUBLE, PLAIN, &[x], |v| f(f64::from_bits(v[0])).to_bits())
        }
    };
    check(
        Op::v_rcp_f64,
        W64,
        &[W64],
        PLAIN,
        &cases,
        judge(|x| 1.0 / x),
    );
    check(Op::v_sqrt_f64, W64, &[W64], PLAIN, &cases, judge(f64::sqrt));
    check(
        Op::v_rsq_f64,
        W64,
        &[W64],
        PLAIN,
        &cases,
        judge(|x| 1.0 / x.sqrt()),
    );
}

/// The host's f64 function rounded to f32, except that within an f64 error of a tie both neighbours are right:
/// the test then asks for nothing.
fn check_f32(op: Op, cases: &[[u64; 3]], flush: bool, f: impl Fn(f64) -> f64) {
    let set = Setting::mode(0, if flush { 0xc } else { 0xf });
    let decided: Vec<_> = cases
        .iter()
        .copied()
        .filter(|&[x, ..]| {
            let x = f(f32::from_bits(x as u32) as f64);
            let around =
                [x.to_bits().wrapping_sub(64), x.to_bits().wrapping_add(64)].map(f64::from_bits);
            !x.is_finite() || x == 0.0 || around[0] as f32 == around[1] as f32
        })
        .collect();
    assert!(decided.len() * 100 >= cases.len() * 99);
    check(op, W32, &[W32], PLAIN, &decided, |[x, ..]| {
        float_rule(SINGLE, set, &[x], |v| {
            (f(f32::from_bits(v[0] as u32) as f64) as f32).to_bits() as u64
        })
    });
}

#[test]
fn f32_exponentials_and_logarithms_are_correctly_rounded() {
    let mut cases = SINGLE.cases(1, 100_000);
    cases.extend((0..100_000).map(|i| [((i as f32 - 50_000.0) / 317.0).to_bits() as u64, 0, 0]));
    check_f32(Op::v_exp_f32, &cases, true, f64::exp2);
    // The two inputs of all whose results f64 arithmetic puts on a tie, wrongly; by 300-bit arithmetic.
    let ties = [[0x3b42_9d37, 0, 0], [0xbcf3_a937, 0, 0]];
    check(Op::v_exp_f32, W32, &[W32], PLAIN, &ties, |[x, ..]| {
        if x == 0x3b42_9d37 {
            0x3f80_4385
        } else {
            0x3f7a_c6b1
        }
    });
    check_f32(Op::v_log_f32, &cases, true, f64::log2);
}

#[test]
fn f32_sines_and_cosines_count_in_turns() {
    let mut cases = SINGLE.cases(1, 50_000);
    cases.extend((0..100_000).map(|i| [((i as f32 - 50_000.0) / 31_700.0).to_bits() as u64, 0, 0]));
    let reduced = |x: f64| x - x.round_ties_even();
    let sin = |x: f64| {
        let r = reduced(x);
        // Exactly reduced to an eighth of a turn, where the host's functions lose nothing.
        if x == 0.0 {
            x
        } else if r.abs() <= 0.125 {
            (r * core::f64::consts::TAU).sin()
        } else if r.abs() <= 0.375 {
            ((0.25 - r.abs()) * core::f64::consts::TAU)
                .cos()
                .copysign(r)
        } else {
            ((0.5 - r.abs()) * core::f64::consts::TAU).sin().copysign(r)
        }
    };
    let cos = |x: f64| {
        let r = reduced(x).abs();
        if r <= 0.125 {
            (r * core::f64::consts::TAU).cos()
        } else if r <= 0.375 {
            ((0.25 - r) * core::f64::consts::TAU).sin()
        } else {
            -((0.5 - r) * core::f64::consts::TAU).cos()
        }
    };
    // The sign of a zero sine is that of the reduced argument, which whole and half turns leave positive.
    let between: Vec<_> = cases
        .iter()
        .copied()
        .filter(|c| (2.0 * f32::from_bits(c[0] as u32)).fract() != 0.0 || c[0] << 33 == 0)
        .collect();
    check_f32(Op::v_sin_f32, &between, false, sin);
    check_f32(Op::v_cos_f32, &cases, false, cos);
    check(
        Op::v_sin_f32,
        W32,
        &[W32],
        PLAIN,
        &[
            [0x3e80_0000, 0, 0],
            [0xbe80_0000, 0, 0],
            [0x3f00_0000, 0, 0],
        ],
        |[x, ..]| match x {
            0x3e80_0000 => 0x3f80_0000,
            0xbe80_0000 => 0xbf80_0000,
            _ => 0,
        },
    );
}

#[test]
fn f16_functions_are_correctly_rounded_for_every_input() {
    let all: Vec<_> = (0..0x10000).map(|x| [x, 0, 0]).collect();
    let wide = |x: u64| {
        let single: Single = Half::from_bits(x as u128).convert(&mut false).value;
        f32::from_bits(single.to_bits() as u32) as f64
    };
    let narrow = |x: f64| {
        let half: Half = rustc_apfloat::ieee::Double::from_bits(x.to_bits() as u128)
            .convert(&mut false)
            .value;
        half.to_bits() as u64
    };
    for (op, f) in [
        (Op::v_rcp_f16, (|x| 1.0 / x) as fn(f64) -> f64),
        (Op::v_sqrt_f16, f64::sqrt),
        (Op::v_rsq_f16, |x| 1.0 / x.sqrt()),
        (Op::v_exp_f16, f64::exp2),
        (Op::v_log_f16, f64::log2),
    ] {
        check(op, W16, &[W16], PLAIN, &all, |[x, ..]| {
            float_rule(HALF, PLAIN, &[x], |v| narrow(f(wide(v[0]))))
        });
    }
}
