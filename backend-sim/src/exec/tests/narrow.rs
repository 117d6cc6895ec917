//! Scaled conversions, exchanges between lanes and halves of registers: whole instructions, as encoded.

// Lanes, rows and columns are known by their numbers.
#![allow(clippy::needless_range_loop)]

use super::*;
use crate::isa::{Code, Dir, Field, Format, Inst, Mods, Op, Operand, Rng, encode, generate};

const SOURCES: [u8; 3] = [0, 40, 80];
const DST: u8 = 120;

/// Runs one instruction on registers of 64 lanes (or 32).
fn run_one(
    arch: Arch,
    lanes: u32,
    inst: &Inst,
    rows: &[(u8, [u32; 64])],
    (exec, m0): (u64, u32),
) -> Wave {
    let code = encode(arch, inst).expect("an instruction that can be encoded");
    let mut program = code.bytes()[..code.len()].to_vec();
    let end: u32 = if arch >= Arch::Gfx1100 {
        0xbfb0_0000
    } else {
        0xbf81_0000
    };
    program.extend(end.to_le_bytes());
    let mut bed = Bed::new(arch, &program);
    let mut wave = Wave::new(WaveConfig {
        arch,
        lanes,
        vgprs: 200,
        acc_vgprs: 0,
        mode: 0x3f0,
        ids: WaveIds::default(),
    });
    wave.set_pc(bed.entry);
    wave.set_exec(exec);
    wave.set_sgpr(crate::exec::scalars::M0, m0);
    for (number, row) in rows {
        set_lanes(&mut wave, u16::from(*number), row);
    }
    let exit = bed.run(&mut wave, 1000);
    assert!(matches!(exit, Exit::Ended), "{inst:?}: {exit:?}");
    wave
}

fn plain(arch: Arch, op: Op, mods: Mods) -> Inst {
    let mut inst = generate(arch, op, &mut Rng::new(1)).expect("the processor has it");
    inst.mods = mods;
    for (slot, desc) in inst.operands.iter_mut().zip(op.row().operands()) {
        *slot = Operand::Vgpr(match desc.field {
            Field::Src0 => SOURCES[0],
            Field::Src1 => SOURCES[1],
            Field::Src2 => SOURCES[2],
            _ => DST,
        });
    }
    inst
}

/// A small float as its specification says: exponent and fraction bits, bias, largest magnitude, whether NaN exists.
struct Small(u32, u32, i32, u32, bool);

fn small(name: &str) -> Small {
    match name {
        "fp8" => Small(4, 3, 7, 0x7e, true),
        "bf8" => Small(5, 2, 15, 0x7b, true),
        "fp6" => Small(2, 3, 1, 0x1f, false),
        "bf6" => Small(3, 2, 3, 0x1f, false),
        "fp4" => Small(2, 1, 1, 7, false),
        other => panic!("no format {other}"),
    }
}

fn two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

impl Small {
    fn bits(&self) -> u32 {
        self.0 + self.1 + 1
    }

    fn magnitude(&self, code: u32) -> f64 {
        let (field, fraction) = (
            (code >> self.1) as i32,
            f64::from(code & ((1 << self.1) - 1)) / f64::from(1 << self.1),
        );
        match field {
            0 => fraction * two(1 - self.2),
            _ => (1.0 + fraction) * two(field - self.2),
        }
    }

    /// The code of a finite number; `random` rounds stochastically.
    fn code(&self, x: f64, random: Option<u32>) -> u32 {
        let sign = u32::from(x.is_sign_negative()) << (self.bits() - 1);
        let x = x.abs();
        let low = (0..1 << (self.bits() - 1))
            .rev()
            .find(|&c| self.magnitude(c) <= x)
            .unwrap_or(0);
        let (a, b) = (self.magnitude(low), self.magnitude(low + 1));
        let fraction = (x - a) / (b - a);
        let up = match random {
            None => fraction > 0.5 || fraction == 0.5 && low & 1 == 1,
            Some(r) => fraction >= 1.0 - f64::from(r) / two(32),
        };
        match low + u32::from(up) {
            code if code <= self.3 => sign | code,
            _ if !self.4 => sign | self.3,
            _ => sign | (self.3 + 1),
        }
    }
}

#[test]
fn scaled_conversions_divide_by_the_scale_and_multiply_with_it() {
    let mut random = Random(21);
    let mut seen = 0;
    for &op in Op::ALL {
        let name = op.row().mnemonic_on(Arch::Gfx950);
        let Some(words) = name.strip_prefix("v_cvt_scalef32_") else {
            continue;
        };
        seen += 1;
        let words: Vec<&str> = words.split('_').collect();
        let stochastic = words[0] == "sr";
        let from = words[words.len() - 1];
        let to = words[words.len() - 2];
        let narrows = matches!(from, "f32" | "f16" | "bf16");
        let format = small(if narrows { to } else { from });
        let wide = if narrows { from } else { to };
        let count = match words[usize::from(stochastic)] {
            "pk" => 2,
            "pk32" | "2xpk16" => 32,
            _ => 1,
        };
        let two_sources =
            words[0] == "2xpk16" || narrows && count == 2 && wide == "f32" && !stochastic;
        for select in 0..4u8 {
            // A byte or a half of the narrow side.
            let packed = count * format.bits();
            let (op_sel, shift) = match (packed, narrows) {
                (8, true) => (select << 2, 8 * u32::from(select)),
                (8, false) => (select, 8 * u32::from(select)),
                (16, true) => (select << 2 & 8, 16 * u32::from(select >> 1)),
                (16, false) => (select & 1, 16 * u32::from(select & 1)),
                _ => (0, 0),
            };
            let inst = plain(
                Arch::Gfx950,
                op,
                Mods {
                    op_sel,
                    ..Mods::default()
                },
            );
            let scale_at = usize::from(two_sources) + usize::from(stochastic) + 1;
            let mut rows = Vec::new();
            for register in 0..32 {
                for (source, &first) in SOURCES.iter().enumerate() {
                    if source == scale_at && register > 0 {
                        continue;
                    }
                    let row = random.row().map(|bits| match (narrows, wide) {
                        _ if source == scale_at => (120 + bits % 16) << 23 | bits >> 9,
                        (true, "f32") => bits & 0x87ff_ffff | 0x3800_0000,
                        (true, "f16") => bits & 0xbfff_bfff,
                        (true, _) => bits & 0x87ff_87ff | 0x3800_3800,
                        _ => bits,
                    });
                    rows.push((first + register, row));
                }
            }
            let old = random.row();
            rows.push((DST, old));
            let wave = run_one(Arch::Gfx950, 64, &inst, &rows, (u64::MAX, 0));
            let source = |i: usize, word: usize, lane: usize| {
                let register = SOURCES[i] + word as u8;
                rows.iter()
                    .find(|(n, _)| *n == register)
                    .map_or(0, |(_, row)| row[lane])
            };
            for lane in 0..64 {
                let by = (source(scale_at, 0, lane) >> 23 & 0xff) as i32 - 127;
                let got =
                    |word: usize| wave.vgpr(u16::from(DST) + word as u16).expect("there")[lane];
                let half = |bits: u32| match wide {
                    "f16" => {
                        let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
                        let (field, fraction) =
                            ((bits >> 10 & 31) as i32, f64::from(bits & 0x3ff) / 1024.0);
                        sign * match field {
                            0 => fraction * two(-14),
                            _ => (1.0 + fraction) * two(field - 15),
                        }
                    }
                    _ => f64::from(f32::from_bits(bits << 16)),
                };
                let mut noise = source(usize::from(two_sources) + 1, 0, lane);
                for n in 0..count as usize {
                    let bit = n * format.bits() as usize + shift as usize;
                    if narrows {
                        let (from, at) = if two_sources { (n % 2, n / 2) } else { (0, n) };
                        let value = match wide {
                            "f32" => f64::from(f32::from_bits(source(from, at, lane))),
                            _ => half(source(from, at / 2, lane) >> (16 * (at % 2)) & 0xffff),
                        };
                        let code = format.code(value / two(by), stochastic.then_some(noise));
                        noise = noise << 1 ^ if noise >> 31 == 1 { 197 } else { 0 };
                        let all = u64::from(got(bit / 32))
                            | u64::from(if packed > 32 {
                                got((bit / 32 + 1).min(5))
                            } else {
                                0
                            }) << 32;
                        let result = (all >> (bit % 32)) as u32 & ((1 << format.bits()) - 1);
                        assert_eq!(
                            result, code,
                            "{name} {select}: {value} / 2^{by}, number {n} of lane {lane}"
                        );
                    } else {
                        let all = u64::from(source(0, bit / 32, lane))
                            | u64::from(source(0, bit / 32 + 1, lane)) << 32;
                        let code = (all >> (bit % 32)) as u32 & ((1 << format.bits()) - 1);
                        let magnitude = code & ((1 << (format.bits() - 1)) - 1);
                        if magnitude > format.3 {
                            continue;
                        }
                        let sign = if magnitude != code { -1.0 } else { 1.0 };
                        let value = sign * format.magnitude(magnitude) * two(by);
                        match wide {
                            "f32" => assert_eq!(got(n), (value as f32).to_bits(), "{name}"),
                            // Those that are exact; the others' rounding is judged elsewhere.
                            _ => {
                                let result = half(got(n / 2) >> (16 * (n % 2)) & 0xffff);
                                let exact =
                                    value == 0.0 || (two(-13)..two(15)).contains(&value.abs());
                                assert!(!exact || result == value, "{name}: {result} for {value}");
                            }
                        }
                    }
                }
                if narrows && packed < 32 {
                    let mask = ((1u32 << packed) - 1) << shift;
                    assert_eq!(got(0) & !mask, old[lane] & !mask, "{name} keeps the rest");
                }
            }
        }
    }
    assert_eq!(seen, 49, "conversions with a scale");
}

#[test]
fn rows_are_exchanged_between_two_registers() {
    let mut random = Random(22);
    for (op, n) in [
        (Op::v_permlane16_swap_b32, 16),
        (Op::v_permlane32_swap_b32, 32),
    ] {
        let (first, second) = (random.row(), random.row());
        let inst = plain(Arch::Gfx950, op, Mods::default());
        let rows = [(DST, first), (SOURCES[0], second)];
        let wave = run_one(Arch::Gfx950, 64, &inst, &rows, (u64::MAX, 0));
        let (mut a, mut b) = (first, second);
        // AMD's pseudocode: the odd rows of the destination with the even ones of the source.
        for pass in 0..32 / n {
            for lane in 0..n {
                core::mem::swap(&mut b[pass * 2 * n + lane], &mut a[pass * 2 * n + lane + n]);
            }
        }
        assert_eq!(lanes_of(&wave, u16::from(DST)), a);
        assert_eq!(lanes_of(&wave, u16::from(SOURCES[0])), b);
    }
}

#[test]
fn swaps_exchange_halves_and_relative_registers() {
    let mut random = Random(23);
    let (first, second) = (random.row(), random.row());
    for op_sel in [0, 1, 8, 9] {
        let inst = plain(
            Arch::Gfx1100,
            Op::v_swap_b16,
            Mods {
                op_sel,
                ..Mods::default()
            },
        );
        let wave = run_one(
            Arch::Gfx1100,
            32,
            &inst,
            &[(DST, first), (SOURCES[0], second)],
            (0xffff_0f0f, 0),
        );
        let half = |x: u32, high: bool| if high { x >> 16 } else { x & 0xffff };
        let with = |x: u32, high: bool, half: u32| {
            if high {
                x & 0xffff | half << 16
            } else {
                x & !0xffff | half
            }
        };
        for lane in 0..32 {
            let (a, b) = (first[lane], second[lane]);
            let active = 0xffff_0f0fu32 >> lane & 1 == 1;
            let (dst_high, src_high) = (op_sel & 8 != 0, op_sel & 1 != 0);
            let expected = if active {
                (
                    with(a, dst_high, half(b, src_high)),
                    with(b, src_high, half(a, dst_high)),
                )
            } else {
                (a, b)
            };
            let got = (
                lanes_of(&wave, u16::from(DST))[lane],
                lanes_of(&wave, u16::from(SOURCES[0]))[lane],
            );
            assert_eq!(got, expected, "op_sel {op_sel}, lane {lane}");
        }
    }
    for arch in [Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        let inst = plain(arch, Op::v_swaprel_b32, Mods::default());
        // The source three registers on, the destination five.
        let rows = [(DST + 5, first), (SOURCES[0] + 3, second)];
        let wave = run_one(arch, 32, &inst, &rows, (0xffff_ffff, 5 << 16 | 3));
        assert_eq!(lanes_of(&wave, u16::from(DST) + 5)[..32], second[..32]);
        assert_eq!(
            lanes_of(&wave, u16::from(SOURCES[0]) + 3)[..32],
            first[..32]
        );
    }
}

/// What an instruction gives with a high half is what it gives with a low half of registers whose halves were exchanged.
#[test]
fn short_encodings_name_halves_of_registers() {
    let mut random = Random(24);
    let mut seen = 0;
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        for &op in Op::ALL {
            let row = op.row();
            let short = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc);
            if !short || !matches!(row.code(arch), Code::Own(_)) || op == Op::v_swap_b16 {
                continue;
            }
            let halves = row.short_halves(arch);
            if halves == 0 || row.has(Field::Literal) {
                continue;
            }
            seen += 1;
            let data = [random.row(), random.row(), random.row()];
            let old = random.row();
            for op_sel in (0..16).filter(|bits| bits & !halves == 0) {
                let build = |op_sel| {
                    let mut inst = plain(
                        arch,
                        op,
                        Mods {
                            op_sel,
                            ..Mods::default()
                        },
                    );
                    inst.format = row.format;
                    for (slot, desc) in inst.operands.iter_mut().zip(row.operands()) {
                        match desc.field {
                            Field::MaskDst => *slot = Operand::VccLo,
                            Field::CmpxDst => *slot = Operand::ExecLo,
                            _ => {}
                        }
                    }
                    inst
                };
                let turn = |row: [u32; 64], high: bool| {
                    if high {
                        row.map(|x| x.rotate_left(16))
                    } else {
                        row
                    }
                };
                let rows = |turned: bool| {
                    let mut rows: Vec<(u8, [u32; 64])> = (0..2)
                        .map(|i| (SOURCES[i], turn(data[i], turned && op_sel >> i & 1 == 1)))
                        .collect();
                    rows.push((DST, turn(old, turned && op_sel & 8 != 0)));
                    rows
                };
                let chosen = run_one(arch, 32, &build(op_sel), &rows(false), (0xffff_ffff, 0));
                let low = run_one(arch, 32, &build(0), &rows(true), (0xffff_ffff, 0));
                let result = turn(lanes_of(&low, u16::from(DST)), op_sel & 8 != 0);
                assert_eq!(
                    lanes_of(&chosen, u16::from(DST)),
                    result,
                    "{op:?} on {arch}, op_sel {op_sel}"
                );
                assert_eq!(
                    (chosen.vcc(), chosen.exec()),
                    (low.vcc(), low.exec()),
                    "{op:?} on {arch}"
                );
                // The other half of a 16-bit result stays.
                if row.operands()[0].dir == Dir::Write && halves & 8 != 0 {
                    let stays = if op_sel & 8 != 0 { 0xffff } else { 0xffff_0000 };
                    for lane in 0..32 {
                        assert_eq!(
                            lanes_of(&chosen, u16::from(DST))[lane] & stays,
                            old[lane] & stays,
                            "{op:?} on {arch}"
                        );
                    }
                }
            }
        }
    }
    assert!(seen > 100, "{seen} operations");
}
