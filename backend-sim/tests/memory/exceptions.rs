//! Floating-point exceptions that trap, against the status of `rustc_apfloat`'s arithmetic.

use super::bed::{Bed, Random};
use rukh_backend_sim::exec::{Exit, FaultKind};
use rukh_backend_sim::isa::Arch;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

const INVALID: u32 = 1;
const INPUT_DENORMAL: u32 = 2;
const DIVISION_BY_ZERO: u32 = 4;
const OVERFLOW: u32 = 8;
const UNDERFLOW: u32 = 16;
const INEXACT: u32 = 32;
const ALL: u32 = 0x7f;

const TARGETS: [Arch; 5] = [
    Arch::Gfx900,
    Arch::Gfx90a,
    Arch::Gfx1030,
    Arch::Gfx1100,
    Arch::Gfx1201,
];

/// Lets exceptions trap; rounding in MODE's bits 3-0, subnormals kept.
fn enable(bed: &mut Bed, arch: Arch, exceptions: u32, round: u32) {
    if arch == Arch::Gfx1201 {
        bed.wave.set_mode(0x1f0 | round);
        bed.run(&format!(
            "s_setreg_imm32_b32 hwreg(19, 0, 7), {exceptions:#x}"
        ));
    } else {
        bed.wave.set_mode(0x3f0 | round | exceptions << 12);
    }
}

/// What a program at `at` raises, as the fault says that ends it.
fn raised(bed: &mut Bed, at: u64) -> u32 {
    bed.wave.set_pc(at);
    let exit = bed.resume();
    bed.wave.restart();
    match exit {
        Exit::Ended => 0,
        Exit::Fault(fault) => match fault.kind {
            FaultKind::Arithmetic { flags } => {
                assert_eq!(fault.pc, at, "the fault is at the instruction");
                flags
            }
            _ => panic!("{fault}"),
        },
        other => panic!("{other:?}"),
    }
}

fn interesting(bits: u32, fraction: u32, random: &mut Random) -> u64 {
    let sign = 1u64 << (bits - 1);
    let infinity = (sign - 1) & !((1 << fraction) - 1);
    let bias = (infinity >> fraction) / 2;
    let one = bias << fraction;
    let edges = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        one,
        one + 1,
        one - 1,
        infinity - 1,
        infinity - (1 << fraction),
        infinity,
        infinity | 1 << (fraction - 1),
        infinity | 1,
        (bias / 2) << fraction | 3,
        (bias + bias / 2) << fraction | 5,
    ];
    let wide = u64::from(random.next()) << 32 | u64::from(random.next());
    let value = match random.next() % 3 {
        0 => wide & (sign - 1),
        _ => edges[random.next() as usize % edges.len()],
    };
    value | if random.next() & 1 != 0 { sign } else { 0 }
}

/// The exceptions of an operation that apfloat computed of these sources; `None` where the two may differ: tiny
/// numbers that round to the smallest normal one are tiny before rounding, and not after it.
fn judged<F: Float>(sources: &[F], result: StatusAnd<F>) -> Option<u32> {
    let mut flags = 0;
    for (status, flag) in [
        (Status::INVALID_OP, INVALID),
        (Status::DIV_BY_ZERO, DIVISION_BY_ZERO),
        (Status::OVERFLOW, OVERFLOW),
        (Status::UNDERFLOW, UNDERFLOW),
        (Status::INEXACT, INEXACT),
    ] {
        if result.status.contains(status) {
            flags |= flag;
        }
    }
    if sources.iter().any(|x| x.is_signaling()) {
        flags |= INVALID;
    } else if sources.iter().any(|x| x.is_nan()) {
        // Infinity times zero plus NaN: as the implementation likes it.
        flags &= !INVALID;
    }
    if sources.iter().any(|x| x.is_denormal()) {
        flags |= INPUT_DENORMAL;
    }
    let edge = result.value.abs() == F::smallest_normalized();
    (!edge || flags & INEXACT == 0).then_some(flags)
}

type Operation<F> = fn(F, F, F, Round) -> StatusAnd<F>;

fn check<F: Float>(
    name: &str,
    bits: u32,
    fraction: u32,
    targets: &[Arch],
    operation: Operation<F>,
    sources: usize,
) {
    let rounds = [
        (0b0000, Round::NearestTiesToEven),
        (0b0101, Round::TowardPositive),
        (0b1010, Round::TowardNegative),
        (0b1111, Round::TowardZero),
    ];
    for &arch in targets {
        let mut bed = Bed::of(arch);
        let registers: Vec<String> = [2, 4, 6]
            .iter()
            .take(sources)
            .map(|n| match bits {
                64 => format!("v[{n}:{}]", n + 1),
                _ => format!("v{n}"),
            })
            .collect();
        let dst = if bits == 64 { "v[8:9]" } else { "v8" };
        let at = bed.load(&format!("{name} {dst}, {}", registers.join(", ")));
        let mut random = Random(7);
        let mut seen = 0;
        for (mode, round) in rounds {
            enable(&mut bed, arch, ALL, mode);
            bed.wave.set_exec(1);
            for _ in 0..150 {
                let x: [u64; 3] = std::array::from_fn(|_| interesting(bits, fraction, &mut random));
                for (n, value) in [2, 4, 6].into_iter().zip(x) {
                    bed.set(n, |_| value as u32);
                    bed.set(n + 1, |_| (value >> 32) as u32);
                }
                let [a, b, c] = x.map(|x| F::from_bits(u128::from(x)));
                let Some(expected) = judged(&[a, b, c][..sources], operation(a, b, c, round))
                else {
                    continue;
                };
                // Where a directed rounding stays at the largest number, apfloat does not call it overflow.
                let nearest = operation(a, b, c, Round::NearestTiesToEven);
                let beyond = nearest.status.contains(Status::OVERFLOW) && expected & INEXACT != 0;
                let expected = expected | if beyond { OVERFLOW } else { 0 };
                let got = raised(&mut bed, at);
                assert_eq!(
                    got, expected,
                    "{arch} {name} of {x:#x?}, {round:?}: {got:#x}, expected {expected:#x}"
                );
                seen |= got;
            }
        }
        let all = INVALID | INPUT_DENORMAL | OVERFLOW | UNDERFLOW | INEXACT;
        // A sum is never inexact and tiny.
        let never = if name.contains("add") { UNDERFLOW } else { 0 };
        assert_eq!(seen & !DIVISION_BY_ZERO, all & !never, "{arch} {name}");
    }
}

#[test]
fn sums_products_and_both_raise_what_apfloat_says() {
    check::<Single>("v_add_f32", 32, 23, &TARGETS, |a, b, _, r| a.add_r(b, r), 2);
    check::<Single>("v_mul_f32", 32, 23, &TARGETS, |a, b, _, r| a.mul_r(b, r), 2);
    check::<Single>(
        "v_fma_f32",
        32,
        23,
        &TARGETS,
        |a, b, c, r| a.mul_add_r(b, c, r),
        3,
    );
    check::<Double>(
        "v_fma_f64",
        64,
        52,
        &TARGETS,
        |a, b, c, r| a.mul_add_r(b, c, r),
        3,
    );
    check::<Double>(
        "v_mul_f64",
        64,
        52,
        &TARGETS[..4],
        |a, b, _, r| a.mul_r(b, r),
        2,
    );
    // True16 names halves; what is in the high ones is not looked at.
    check::<Half>(
        "v_mul_f16",
        16,
        10,
        &TARGETS[..3],
        |a, b, _, r| a.mul_r(b, r),
        2,
    );
}

#[test]
fn a_conversion_to_a_narrower_format_raises_what_apfloat_says() {
    let mut bed = Bed::of(Arch::Gfx90a);
    enable(&mut bed, Arch::Gfx90a, ALL, 0);
    let at = bed.load("v_cvt_f32_f64 v8, v[2:3]");
    bed.wave.set_exec(1);
    let mut random = Random(9);
    for _ in 0..400 {
        let mut x = interesting(64, 52, &mut random);
        if random.next() % 2 == 0 {
            // Near the ends of single precision.
            let exponent = [870u64, 896, 897, 1023, 1150, 1151][random.next() as usize % 6];
            x = x & !(0x7ff << 52) | exponent << 52;
        }
        bed.set(2, |_| x as u32);
        bed.set(3, |_| (x >> 32) as u32);
        let source = Double::from_bits(u128::from(x));
        let mut loses = false;
        let result: StatusAnd<Single> = source.convert_r(Round::NearestTiesToEven, &mut loses);
        let Some(mut expected) = judged(&[], result) else {
            continue;
        };
        expected &= !INVALID;
        expected |= if source.is_signaling() { INVALID } else { 0 };
        expected |= if source.is_denormal() {
            INPUT_DENORMAL
        } else {
            0
        };
        assert_eq!(raised(&mut bed, at), expected, "{x:#x}");
    }
}

/// What each instruction raises, of single-precision sources in v2, v4 and v6.
#[test]
fn divisions_conversions_and_comparisons_raise_what_they_are_documented_to() {
    const ZERO: u32 = 0;
    let number = f32::to_bits;
    let (infinity, quiet, signalling) = (0x7f80_0000, 0x7fc0_0000, 0x7f80_0001);
    let cases: &[(&str, [u32; 3], u32)] = &[
        ("v_rcp_f32 v8, v2", [ZERO; 3], DIVISION_BY_ZERO),
        ("v_rcp_f32 v8, v2", [number(3.0), 0, 0], 0),
        ("v_rcp_iflag_f32 v8, v2", [ZERO; 3], 1 << 6),
        ("v_rsq_f32 v8, v2", [number(-1.0), 0, 0], INVALID),
        ("v_sqrt_f32 v8, v2", [number(-4.0), 0, 0], INVALID),
        ("v_log_f32 v8, v2", [ZERO; 3], DIVISION_BY_ZERO),
        ("v_log_f32 v8, v2", [number(-1.0), 0, 0], INVALID),
        ("v_exp_f32 v8, v2", [number(200.0), 0, 0], OVERFLOW),
        (
            "v_div_fixup_f32 v8, v2, v4, v6",
            [infinity, ZERO, number(2.0)],
            DIVISION_BY_ZERO,
        ),
        (
            "v_div_fixup_f32 v8, v2, v4, v6",
            [quiet, ZERO, ZERO],
            INVALID,
        ),
        (
            "v_div_fixup_f32 v8, v2, v4, v6",
            [number(0.5), number(2.0), number(1.0)],
            0,
        ),
        ("v_cvt_i32_f32 v8, v2", [number(2.5), 0, 0], INEXACT),
        ("v_cvt_i32_f32 v8, v2", [number(-7.0), 0, 0], 0),
        ("v_cvt_i32_f32 v8, v2", [number(3e9), 0, 0], INVALID),
        ("v_cvt_u32_f32 v8, v2", [number(3e9), 0, 0], 0),
        ("v_cvt_u32_f32 v8, v2", [number(-1.0), 0, 0], INVALID),
        ("v_cvt_u32_f32 v8, v2", [quiet, 0, 0], INVALID),
        ("v_cmp_lt_f32 vcc, v2, v4", [quiet, ZERO, 0], 0),
        ("v_cmp_lt_f32 vcc, v2, v4", [ZERO, signalling, 0], INVALID),
        ("v_max_f32 v8, v2, v4", [signalling, ZERO, 0], INVALID),
        ("v_max_f32 v8, v2, v4", [1, number(1.0), 0], INPUT_DENORMAL),
        ("v_add_u32 v8, v2, v4", [signalling, signalling, 0], 0),
        ("v_mov_b32 v8, v2", [signalling, 0, 0], 0),
        // Input modifiers come first, and constants are sources too.
        ("v_sqrt_f32 v8, |v2|", [number(-4.0), 0, 0], 0),
        (
            "v_mul_f32 v8, 4.0, v2",
            [number(3e38), 0, 0],
            OVERFLOW | INEXACT,
        ),
        (
            "v_sqrt_f32_sdwa v8, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0",
            [0xc080_0000, 0, 0],
            0,
        ),
        (
            "v_pk_mul_f16 v8, v2, v4",
            [0x3c00_7bff, 0x3c00_4000, 0],
            OVERFLOW | INEXACT,
        ),
        (
            "v_pk_mul_f16 v8, v2, v4",
            [0x7bff_3c00, 0x4000_3c00, 0],
            OVERFLOW | INEXACT,
        ),
    ];
    let arch = Arch::Gfx900;
    let mut bed = Bed::of(arch);
    enable(&mut bed, arch, ALL, 0);
    for (program, sources, expected) in cases {
        for (register, &value) in [2, 4, 6].into_iter().zip(sources) {
            bed.set(register, |_| value);
        }
        let at = bed.load(program);
        assert_eq!(raised(&mut bed, at), *expected, "{program} {sources:#x?}");
    }
}

#[test]
fn only_active_lanes_and_enabled_exceptions_count_and_both_halves_of_a_pair_do() {
    for arch in TARGETS {
        let mut bed = Bed::of(arch);
        // Lane 3 divides by zero, lane 5 overflows.
        bed.set(2, |lane| match lane {
            3 => 0,
            _ => 1.0f32.to_bits(),
        });
        let at = bed.load("v_rcp_f32 v8, v2");
        for (exec, enabled, expected) in [
            (8, ALL, DIVISION_BY_ZERO),
            (!8, ALL, 0),
            (8, ALL & !DIVISION_BY_ZERO, 0),
            (8, 0, 0),
        ] {
            bed.wave.set_exec(u64::MAX);
            enable(&mut bed, arch, enabled, 0);
            bed.wave.set_exec(exec & 0xffff_ffff);
            assert_eq!(raised(&mut bed, at), expected, "{arch} {exec:#x}");
        }
    }
    let mut bed = Bed::of(Arch::Gfx1100);
    enable(&mut bed, Arch::Gfx1100, ALL, 0);
    bed.set(2, |_| 3e38f32.to_bits());
    bed.set(3, |_| 0x7f80_0001);
    bed.set(4, |_| 1.0f32.to_bits());
    bed.set(5, |_| 2.0f32.to_bits());
    bed.set(6, |_| 2.0f32.to_bits());
    for (program, expected) in [
        (
            "v_dual_mul_f32 v8, v2, v5 :: v_dual_add_f32 v9, v4, v4",
            OVERFLOW | INEXACT,
        ),
        (
            "v_dual_add_f32 v8, v4, v5 :: v_dual_mul_f32 v9, v2, v6",
            OVERFLOW | INEXACT,
        ),
        (
            "v_dual_add_f32 v8, v4, v5 :: v_dual_max_f32 v9, v3, v6",
            INVALID,
        ),
        ("v_dual_mov_b32 v8, v3 :: v_dual_add_f32 v9, v4, v4", 0),
    ] {
        let at = bed.load(program);
        assert_eq!(raised(&mut bed, at), expected, "{program}");
    }
}

#[test]
fn the_trap_handler_finds_the_exception_and_returns_behind_the_instruction() {
    for arch in TARGETS {
        let mut bed = Bed::of(arch);
        // The handler counts, and reads what was met.
        let (register, high) = match arch {
            Arch::Gfx1201 => (18, "s_nop 0"),
            // The program counter's high half has the trap's number above it.
            _ => (3, "s_and_b32 ttmp1, ttmp1, 0xffff"),
        };
        let handler = bed.load(&format!(
            "s_add_u32 s20, s20, 1\ns_getreg_b32 s21, hwreg({register}, 0, 7)\n{high}\ns_rfe_b64 [ttmp0, ttmp1]"
        ));
        bed.shared.set_trap_handler(handler, 0);
        bed.set(2, |_| 0);
        bed.set(4, |_| 3e38f32.to_bits());
        let on = match arch {
            Arch::Gfx1201 => "hwreg(19, 0, 7), 0x7f",
            _ => "hwreg(HW_REG_MODE, 12, 7), 0x7f",
        };
        bed.run(&format!(
            "v_rcp_f32 v8, v2\ns_setreg_imm32_b32 {on}\n\
             v_rcp_f32 v8, v2\ns_mov_b32 s22, s21\nv_mul_f32 v9, v4, v4\ns_movk_i32 s23, 7\n\
             v_mov_b32 v10, v9"
        ));
        assert_eq!(bed.wave.sgpr(20), 2, "{arch}");
        assert_eq!(bed.wave.sgpr(22), DIVISION_BY_ZERO, "{arch}");
        let both = DIVISION_BY_ZERO | OVERFLOW | INEXACT;
        assert_eq!(
            bed.wave.sgpr(21),
            both,
            "{arch}: they stay until they are cleared"
        );
        assert_eq!(
            (bed.wave.sgpr(23), bed.get(10, 0)),
            (7, 0x7f80_0000),
            "{arch}"
        );
    }
}
