//! Matrix instructions against plain matrix products. What an instruction multiplies is read off its name; where its
//! elements lie is written here as AMD's Matrix Instruction Calculator states it, from coordinates to lanes and bits.

// Lanes, rows and columns are known by their numbers.
#![allow(clippy::needless_range_loop)]

use alloc::string::{String, ToString};

use super::*;
use crate::isa::{Field, Inst, Lanes, Op, Operand, Rng, encode, generate};

const A: u8 = 0;
const B: u8 = 32;
const C: u8 = 64;
const D: u8 = 128;
const INDEX: u8 = 100;
const SCALES: [u8; 2] = [101, 102];

/// What a name says: `v_mfma_f32_32x32x4_2b_f16`.
#[derive(Clone, Debug)]
struct Name {
    sum: String,
    m: usize,
    k: usize,
    blocks: usize,
    a: String,
    b: String,
    sparse: bool,
    cdna: bool,
}

fn name_of(op: Op, arch: Arch) -> Option<Name> {
    let text = op.row().mnemonic_on(arch);
    let (kind, rest) = text.strip_prefix("v_")?.split_once('_')?;
    let cdna = matches!(kind, "mfma" | "smfmac");
    if !cdna && !matches!(kind, "wmma" | "swmmac") || text.contains("ld_scale") {
        return None;
    }
    let rest = rest.strip_prefix("scale_").unwrap_or(rest);
    let mut parts = rest.split('_');
    let sum = parts.next()?.to_string();
    let size = parts.next()?;
    let mut numbers = size.splitn(3, 'x');
    let m: usize = numbers.next()?.parse().ok()?;
    numbers.next()?;
    let last = numbers.next()?;
    let digits = last
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(last.len());
    let k: usize = last[..digits].parse().ok()?;
    // Older names run on into the type.
    let mut types: Vec<&str> = Vec::new();
    if digits < last.len() {
        types.push(&last[digits..]);
    }
    types.extend(parts.filter(|p| *p != "1k" && !p.ends_with('b')));
    let a = types.first()?.to_string();
    let b = types.get(1).unwrap_or(&types[0]).to_string();
    let blocks = match text
        .split('_')
        .find(|p| p.ends_with('b') && p[..p.len() - 1].parse::<u8>().is_ok())
    {
        Some(p) => p[..p.len() - 1].parse().ok()?,
        // Without a word of it: what fills the wave.
        None if cdna => match (m, k, a.as_str()) {
            (32, 1, "f32") | (32, 4, "f16") | (32, 2, "bf16") | (32, 4, "i8") => 2,
            (32, 4, "bf16") if text.ends_with("1k") => 2,
            (16, 1, "f32") | (16, 4, "f16" | "i8") | (16, 2, "bf16") => 4,
            (16, 4, "bf16") => 4,
            (4, _, "f64") => 4,
            (4, ..) => 16,
            _ => 1,
        },
        None => 1,
    };
    Some(Name {
        sum,
        m,
        k,
        blocks,
        a,
        b,
        sparse: matches!(kind, "smfmac" | "swmmac"),
        cdna,
    })
}

fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "xf32" | "i32" => 32,
        "f16" | "bf16" => 16,
        "i8" | "iu8" | "fp8" | "bf8" => 8,
        "fp6" | "bf6" => 6,
        _ => 4,
    }
}

/// The value of a code of a small float: sign, exponent, fraction, bias.
fn small_float(ty: &str, arch: Arch, code: u32) -> f64 {
    let (e, f, bias) = match (ty, arch) {
        ("fp8", Arch::Gfx942) => (4, 3, 8),
        ("bf8", Arch::Gfx942) => (5, 2, 16),
        ("fp8", _) => (4, 3, 7),
        ("bf8", _) => (5, 2, 15),
        ("fp6", _) => (2, 3, 1),
        ("bf6", _) => (3, 2, 3),
        ("f16", _) => (5, 10, 15),
        _ => (2, 1, 1),
    };
    let sign = if code >> (e + f) & 1 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (code >> f & ((1 << e) - 1), f64::from(code & ((1 << f) - 1)));
    let one = f64::from(1u32 << f);
    let two = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    sign * match exponent {
        0 => fraction / one * two(1 - bias),
        _ => (1.0 + fraction / one) * two(exponent as i32 - bias),
    }
}

/// A whole number's code in a format.
fn code(ty: &str, arch: Arch, value: i32) -> u64 {
    match ty {
        "f64" => f64::from(value).to_bits(),
        "f32" | "xf32" => u64::from((value as f32).to_bits()),
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        // Whole numbers so small are normal in half precision: a smaller exponent field, a shorter fraction.
        "f16" if value != 0 => {
            let single = (value as f32).to_bits();
            let exponent = (single >> 23 & 0xff) - 112;
            u64::from(single >> 16 & 0x8000 | exponent << 10 | single >> 13 & 0x3ff)
        }
        "i8" | "iu8" | "i32" => value as u32 as u64,
        "iu4" => value as u32 as u64 & 15,
        _ if value == 0 => 0,
        _ => (0..1u32 << bits(ty))
            .find(|&c| small_float(ty, arch, c) == f64::from(value))
            .map(u64::from)
            .unwrap_or_else(|| panic!("{value} in {ty}")),
    }
}

/// Lane and number among the lane's (dense) elements of A at row `x` (or B at column `x`), step `k`.
fn input(
    name: &Name,
    arch: Arch,
    lanes: usize,
    is_a: bool,
    (x, k, block): (usize, usize, usize),
) -> (usize, usize) {
    let ty = if is_a { &name.a } else { &name.b };
    let Name { m, blocks, .. } = *name;
    if name.cdna {
        let each = name.k * m * blocks / 64;
        if each == 32 && bits(ty) == 8 && !name.sparse {
            // Two pieces of sixteen bytes, half of K apart.
            let half = name.k / 2;
            return (x + m * (k % half / 16), k / half * 16 + k % 16);
        }
        return (x + m * block + m * blocks * (k / each), k % each);
    }
    if arch == Arch::Gfx1100 {
        return (x, k);
    }
    let lane = lane_of_step(name, lanes, is_a, k);
    // The steps of a lane are in its registers in ascending order.
    let before = (0..k)
        .filter(|&other| lane_of_step(name, lanes, is_a, other) == lane)
        .count();
    (lane + x, before)
}

/// The lane of row zero, on gfx12.
fn lane_of_step(name: &Name, lanes: usize, is_a: bool, k: usize) -> usize {
    let ty = if is_a { &name.a } else { &name.b };
    match (name.sparse, lanes, bits(ty), name.k) {
        (true, 32, 16, _) => 16 * (k / 8 % 2),
        (true, 32, 8, _) | (true, 32, _, 32) => 16 * (k / 16),
        (true, 32, ..) => 16 * (k / 32),
        (true, _, 16, _) => 16 * (k / 8),
        (true, _, 4, 32) if is_a => 16 * (k / 16),
        (true, _, 8, _) | (true, _, _, 32) => 32 * (k / 8 % 2) + 16 * (k / 16),
        (true, ..) => 32 * (k / 16 % 2) + 16 * (k / 32),
        (false, 32, 16, _) => 16 * (k / 4 % 2),
        (false, 32, 8, _) | (false, 32, _, 16) => 16 * (k / 8),
        (false, 32, ..) => 16 * (k / 16),
        (false, _, 16, _) => 32 * (k / 8 % 2) + 16 * (k / 4 % 2),
        (false, _, 8, _) => 32 * (k / 4 % 2) + 16 * (k / 8 % 2),
        (false, _, _, 16) => 16 * (k / 8),
        (false, ..) => 32 * (k / 8 % 2) + 16 * (k / 16 % 2),
    }
}

/// Register, lane and first bit of an element of the result.
fn output(
    name: &Name,
    arch: Arch,
    lanes: usize,
    (i, j, block): (usize, usize, usize),
) -> (usize, usize, usize) {
    let half = bits(&name.sum) == 16;
    if name.cdna {
        return match (name.m, name.sum.as_str()) {
            (4, "f64") => (0, 16 * (i % 4) + 4 * block + j, 0),
            (_, "f64") => (2 * (i / 4), 16 * (i % 4) + j, 0),
            (4, _) => (i, 4 * block + j, 0),
            (16, _) => (4 * block + i % 4, 16 * (i / 4) + j, 0),
            _ => (16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4) % 64 + j, 0),
        };
    }
    match (arch, lanes, half) {
        (Arch::Gfx1100, 32, _) => (i / 2, 16 * (i % 2) + j, 0),
        (Arch::Gfx1100, ..) => (i / 4, 16 * (i % 4) + j, 0),
        (_, 32, false) => (i % 8, 16 * (i / 8) + j, 0),
        (_, 32, true) => (i / 2 % 4, 16 * (i / 8) + j, 16 * (i % 2)),
        (_, _, false) => (i % 4, 32 * (i / 4 % 2) + 16 * (i / 8) + j, 0),
        (_, _, true) => (i / 2 % 2, 32 * (i / 4 % 2) + 16 * (i / 8) + j, 16 * (i % 2)),
    }
}

type Matrix = Vec<Vec<i32>>;

/// Runs one instruction on registers.
struct Registers {
    rows: Vec<[u32; 64]>,
    lanes: usize,
}

impl Registers {
    fn new(lanes: usize) -> Registers {
        Registers {
            rows: vec![[0; 64]; 256],
            lanes,
        }
    }

    fn put(&mut self, first: u8, (lane, element): (usize, usize), bits: usize, value: u64) {
        let at = element * bits;
        for bit in 0..bits {
            if value >> bit & 1 == 1 {
                let word = usize::from(first) + (at + bit) / 32;
                self.rows[word][lane] |= 1 << ((at + bit) % 32);
            }
        }
    }

    fn run(&mut self, arch: Arch, inst: &Inst) {
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
            lanes: self.lanes as u32,
            vgprs: 256,
            acc_vgprs: 256,
            mode: 0x3f0,
            ids: WaveIds::default(),
        });
        wave.set_pc(bed.entry);
        // Matrix operations work in all lanes.
        wave.set_exec(0);
        for (number, row) in self.rows.iter().enumerate() {
            set_lanes(&mut wave, number as u16, row);
            set_lanes(&mut wave, number as u16 + 256, row);
        }
        let exit = bed.run(&mut wave, 1000);
        assert!(matches!(exit, Exit::Ended), "{inst:?}: {exit:?}");
        for (number, row) in self.rows.iter_mut().enumerate() {
            *row = lanes_of(&wave, number as u16);
        }
        if matches!(inst.operands[0], Operand::Acc(_)) {
            for register in D..D + 32 {
                self.rows[usize::from(register)] = lanes_of(&wave, u16::from(register) + 256);
            }
        }
    }
}

/// A plain form of an operation, from the generator, with the test's registers.
fn plain(arch: Arch, op: Op) -> Inst {
    let mut rng = Rng::new(1);
    let mut inst = generate(arch, op, &mut rng).expect("the processor has it");
    let keep = inst.mods.op_sel_hi;
    inst.mods = crate::isa::Mods::default();
    if op.row().mnemonic.starts_with("v_wmma") || op.row().mnemonic.starts_with("v_swmmac") {
        inst.mods.op_sel_hi = keep;
    }
    let mut scale = 0;
    for (slot, desc) in inst.operands.iter_mut().zip(op.row().operands()) {
        *slot = Operand::Vgpr(match desc.field {
            Field::Dst => D,
            Field::Src0 => A,
            Field::Src1 => B,
            Field::Src2 if desc.ty.dwords(Lanes::W64) == 1 && sparse(op) => INDEX,
            Field::Scale => {
                scale += 1;
                SCALES[scale - 1]
            }
            _ => C,
        });
        if arch == Arch::Gfx908 && matches!(desc.field, Field::Dst | Field::Src2) {
            let Operand::Vgpr(n) = *slot else { continue };
            *slot = Operand::Acc(n);
        }
    }
    inst
}

fn sparse(op: Op) -> bool {
    op.row().mnemonic.contains("smfmac") || op.row().mnemonic.contains("swmmac")
}

fn random_matrix(random: &mut Random, rows: usize, columns: usize, limit: i32) -> Matrix {
    let mut value = || ((random.next() >> 20) as i32).rem_euclid(2 * limit + 1) - limit;
    (0..rows)
        .map(|_| (0..columns).map(|_| value()).collect())
        .collect()
}

/// Lays out random matrices, runs `inst`, compares with the product. `set` is the index set that the instruction chooses.
fn check(arch: Arch, lanes: usize, inst: &Inst, name: &Name, random: &mut Random, set: usize) {
    let limit = if name.sum == "bf16" { 1 } else { 3 };
    let unsigned = |is_a: bool| {
        let ty = if is_a { &name.a } else { &name.b };
        ty.starts_with("iu") && inst.mods.neg & if is_a { 1 } else { 2 } == 0
    };
    let mut registers = Registers::new(lanes);
    let mut expected = Vec::new();
    let width = |sum: &str| bits(sum).min(32);
    for block in 0..name.blocks {
        let mut a = random_matrix(random, name.m, name.k, limit);
        let mut b = random_matrix(random, name.k, name.m, limit);
        let c = random_matrix(random, name.m, name.m, limit);
        for (matrix, is_a) in [(&mut a, true), (&mut b, false)] {
            if unsigned(is_a) {
                matrix.iter_mut().flatten().for_each(|x| *x = x.abs());
            }
        }
        if name.sparse {
            for (i, row) in a.iter_mut().enumerate() {
                for (group, four) in row.chunks_mut(4).enumerate() {
                    let (p, q) = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
                        [(random.next() >> 30) as usize % 6];
                    for (at, x) in four.iter_mut().enumerate() {
                        if at != p && at != q {
                            *x = 0;
                        }
                    }
                    let (lane, element) = input(name, arch, lanes, true, (i, 4 * group, block));
                    let each = element / 4;
                    for (n, at) in [p, q].into_iter().enumerate() {
                        registers.put(
                            A,
                            (lane, 2 * each + n),
                            bits(&name.a),
                            masked(&name.a, code(&name.a, arch, four[at])),
                        );
                    }
                    let sets = set * input_width(name, arch, lanes);
                    registers.rows[usize::from(INDEX)][lane] |=
                        ((p | q << 2) as u32) << (sets + 4 * each);
                }
            }
        }
        for x in 0..name.m {
            for k in 0..name.k {
                if !name.sparse {
                    let place = input(name, arch, lanes, true, (x, k, block));
                    registers.put(
                        A,
                        place,
                        bits(&name.a),
                        masked(&name.a, code(&name.a, arch, a[x][k])),
                    );
                }
                let place = input(name, arch, lanes, false, (x, k, block));
                registers.put(
                    B,
                    place,
                    bits(&name.b),
                    masked(&name.b, code(&name.b, arch, b[k][x])),
                );
            }
        }
        for i in 0..name.m {
            for j in 0..name.m {
                let (register, lane, bit) = output(name, arch, lanes, (i, j, block));
                let sum = (0..name.k).fold(c[i][j], |sum, k| sum + a[i][k] * b[k][j]);
                let first = if name.sparse { D } else { C };
                let old = code(&name.sum, arch, c[i][j]);
                let words = bits(&name.sum).div_ceil(32);
                for word in 0..words {
                    let row = usize::from(first) + register + word;
                    registers.rows[row][lane] |=
                        ((old >> (32 * word)) as u32 & mask(width(&name.sum))) << bit;
                }
                expected.push((register, lane, bit, code(&name.sum, arch, sum)));
            }
        }
    }
    registers.run(arch, inst);
    for (register, lane, bit, value) in expected {
        for word in 0..bits(&name.sum).div_ceil(32) {
            let got = registers.rows[usize::from(D) + register + word][lane] >> bit
                & mask(width(&name.sum));
            assert_eq!(
                got,
                (value >> (32 * word)) as u32 & mask(width(&name.sum)),
                "{} on {arch}, {lanes} lanes: register {register}, lane {lane}, bit {bit}",
                inst.op.row().mnemonic_on(arch)
            );
        }
    }
}

fn mask(bits: usize) -> u32 {
    if bits >= 32 {
        u32::MAX
    } else {
        (1 << bits) - 1
    }
}

fn masked(ty: &str, value: u64) -> u64 {
    if bits(ty) == 64 {
        value
    } else {
        value & ((1 << bits(ty)) - 1)
    }
}

/// Bits of one set of indices: one for each dense element of A that a lane has.
fn input_width(name: &Name, arch: Arch, lanes: usize) -> usize {
    let lane = |k: usize| input(name, arch, lanes, true, (0, k, 0)).0;
    (0..name.k).filter(|&k| lane(k) == 0).count()
}

fn waves(arch: Arch) -> &'static [usize] {
    if arch >= Arch::Gfx1100 {
        &[32, 64]
    } else {
        &[64]
    }
}

#[test]
fn every_matrix_operation_multiplies_every_block() {
    let mut random = Random(11);
    let mut seen = 0;
    for arch in Arch::ALL {
        for &op in Op::ALL {
            if op.row().code(arch) == crate::isa::Code::Absent {
                continue;
            }
            let Some(name) = name_of(op, arch).filter(|name| name.a != "f8f6f4") else {
                continue;
            };
            seen += 1;
            for &lanes in waves(arch) {
                let mut inst = plain(arch, op);
                check(arch, lanes, &inst, &name, &mut random, 0);
                if name.a.starts_with("iu") {
                    inst.mods.neg = 3;
                    check(arch, lanes, &inst, &name, &mut random, 0);
                    inst.mods.neg = 2;
                    check(arch, lanes, &inst, &name, &mut random, 0);
                }
                if name.sparse {
                    for set in 1..32 / input_width(&name, arch, lanes) {
                        let mut inst = plain(arch, op);
                        inst.mods.abid = if name.cdna { set as u8 } else { 0 };
                        inst.mods.op_sel = if name.cdna { 0 } else { set as u8 };
                        check(arch, lanes, &inst, &name, &mut random, set);
                    }
                }
            }
        }
    }
    assert!(seen > 150, "{seen} operations");
}

#[test]
fn formats_that_the_instruction_names_mix_freely() {
    let mut random = Random(12);
    let formats = ["fp8", "bf8", "fp6", "bf6", "fp4"];
    for op in [
        Op::v_mfma_f32_16x16x128_f8f6f4,
        Op::v_mfma_f32_32x32x64_f8f6f4,
    ] {
        for (cbsz, a) in formats.iter().enumerate() {
            for (blgp, b) in formats.iter().enumerate() {
                let mut name = name_of(op, Arch::Gfx950).expect("a matrix operation");
                (name.a, name.b) = (a.to_string(), b.to_string());
                let mut inst = plain(Arch::Gfx950, op);
                (inst.mods.cbsz, inst.mods.blgp) = (cbsz as u8, blgp as u8);
                check(Arch::Gfx950, 64, &inst, &name, &mut random, 0);
            }
        }
    }
}

#[test]
fn scales_multiply_32_steps_of_a_row_and_a_column() {
    for (op, m) in [
        (Op::v_mfma_scale_f32_16x16x128_f8f6f4, 16),
        (Op::v_mfma_scale_f32_32x32x64_f8f6f4, 32),
    ] {
        for format in 0..5u8 {
            let mut inst = plain(Arch::Gfx950, op);
            (inst.mods.cbsz, inst.mods.blgp) = (format, 4);
            // The second byte of the scales of A, the third of those of B.
            (inst.mods.op_sel, inst.mods.op_sel_hi) = (1, 2);
            let ty = ["fp8", "bf8", "fp6", "bf6", "fp4"][usize::from(format)];
            let one = code(ty, Arch::Gfx950, 1);
            let mut registers = Registers::new(64);
            for lane in 0..64 {
                for e in 0..32 {
                    registers.put(A, (lane, e), bits(ty), one);
                    registers.put(B, (lane, e), 4, code("fp4", Arch::Gfx950, 1));
                }
                registers.rows[usize::from(SCALES[0])][lane] =
                    0x00ff_0000 | (127 + lane as u32 % 7) << 8;
                registers.rows[usize::from(SCALES[1])][lane] = 0xff | (127 + lane as u32 % 5) << 16;
            }
            registers.run(Arch::Gfx950, &inst);
            let name = name_of(op, Arch::Gfx950).expect("a matrix operation");
            for i in 0..m {
                for j in 0..m {
                    let sum: f32 = (0..64 / m)
                        .map(|group| {
                            32.0 * f32::from_bits(
                                (127 + (i + m * group) as u32 % 7 + (j + m * group) as u32 % 5)
                                    << 23,
                            )
                        })
                        .sum();
                    let (register, lane, _) = output(&name, Arch::Gfx950, 64, (i, j, 0));
                    assert_eq!(
                        f32::from_bits(registers.rows[usize::from(D) + register][lane]),
                        sum,
                        "{op:?} {ty} {i} {j}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_block_of_a_serves_its_neighbours_and_lanes_of_b_are_permuted() {
    // 4x4x1: block b has the number b in A. CBSZ 2 and ABID 3 take A from block 3 of each four.
    let mut registers = Registers::new(64);
    for lane in 0..64 {
        registers.rows[usize::from(A)][lane] = ((lane / 4) as f32).to_bits();
        registers.rows[usize::from(B)][lane] = 1f32.to_bits();
    }
    let mut inst = plain(Arch::Gfx90a, Op::v_mfma_f32_4x4x1f32);
    (inst.mods.cbsz, inst.mods.abid) = (2, 3);
    registers.run(Arch::Gfx90a, &inst);
    for lane in 0..64 {
        let got = f32::from_bits(registers.rows[usize::from(D)][lane]);
        assert_eq!(got, (lane / 16 * 4 + 3) as f32);
    }
    // Each lane's B is its number; A is one.
    for blgp in 0..8u8 {
        let mut registers = Registers::new(64);
        for lane in 0..64 {
            registers.rows[usize::from(A)][lane] = 1f32.to_bits();
            registers.rows[usize::from(B)][lane] = (lane as f32).to_bits();
        }
        let mut inst = plain(Arch::Gfx90a, Op::v_mfma_f32_4x4x1f32);
        inst.mods.blgp = blgp;
        registers.run(Arch::Gfx90a, &inst);
        for lane in 0..64 {
            let from = match blgp {
                0 => lane,
                1 => lane % 32,
                2 => lane % 32 + 32,
                3 => (lane + 16) % 64,
                n => lane % 16 + 16 * (usize::from(n) - 4),
            };
            assert_eq!(
                f32::from_bits(registers.rows[usize::from(D)][lane]),
                from as f32,
                "BLGP {blgp}"
            );
        }
    }
}

#[test]
fn signs_of_factors_and_accumulators_change() {
    // Doubles since gfx942: bit 0 negates A, bit 1 B, bit 2 C.
    for signs in 0..8u8 {
        let mut registers = Registers::new(64);
        let mut fill = |first: u8, words: u8, value: f64| {
            for pair in 0..words / 2 {
                registers.rows[usize::from(first + 2 * pair + 1)] =
                    [(value.to_bits() >> 32) as u32; 64];
            }
        };
        fill(A, 2, 2.0);
        fill(B, 2, 3.0);
        fill(C, 8, 100.0);
        let mut inst = plain(Arch::Gfx942, Op::v_mfma_f64_16x16x4_f64);
        inst.mods.blgp = signs;
        registers.run(Arch::Gfx942, &inst);
        let product = match signs & 3 {
            1 | 2 => -24.0,
            _ => 24.0,
        };
        let sum: f64 = if signs & 4 != 0 { -100.0 } else { 100.0 } + product;
        let got = registers.rows[usize::from(D) + 1][5];
        assert_eq!(got, (sum.to_bits() >> 32) as u32, "signs {signs}");
    }
    // WMMA: even steps by NEG, odd ones by NEG_HI; the accumulator's magnitude and sign.
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        let op = if arch == Arch::Gfx1100 {
            Op::v_wmma_f32_16x16x16_f16
        } else {
            Op::v_wmma_f32_16x16x16_f16_w128
        };
        for (neg, neg_hi, sum) in [
            (0, 0, -10.0 + 8.0 * (1.0 + 2.0)),
            (1, 0, -10.0 + 8.0 * (2.0 - 1.0)),
            (0, 2, -10.0 + 8.0 * (1.0 - 2.0)),
            (3, 3, -10.0 + 8.0 * 3.0),
            (4, 0, 10.0 + 24.0),
            (0, 4, 10.0 + 24.0),
            (4, 4, -10.0 + 24.0),
        ] {
            let mut registers = Registers::new(32);
            for lane in 0..32 {
                for register in 0..8 {
                    registers.rows[usize::from(A) + register][lane] = 0x3c00_3c00;
                    registers.rows[usize::from(B) + register][lane] = 0x4000_3c00;
                    registers.rows[usize::from(C) + register][lane] = (-10f32).to_bits();
                }
            }
            let mut inst = plain(arch, op);
            (inst.mods.neg, inst.mods.neg_hi) = (neg, neg_hi);
            registers.run(arch, &inst);
            assert_eq!(
                f32::from_bits(registers.rows[usize::from(D)][3]),
                sum,
                "{arch} {neg} {neg_hi}"
            );
        }
    }
}

#[test]
fn integer_sums_saturate_when_asked_to() {
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        let op = if arch == Arch::Gfx1100 {
            Op::v_wmma_i32_16x16x16_iu8
        } else {
            Op::v_wmma_i32_16x16x16_iu8_w64
        };
        for (clamp, expected) in [(false, i32::MAX.wrapping_add(16)), (true, i32::MAX)] {
            let mut registers = Registers::new(32);
            for register in 0..8 {
                registers.rows[usize::from(A) + register] = [0x0101_0101; 64];
                registers.rows[usize::from(B) + register] = [0x0101_0101; 64];
                registers.rows[usize::from(C) + register] = [i32::MAX as u32; 64];
            }
            let mut inst = plain(arch, op);
            inst.mods.clamp = clamp;
            registers.run(arch, &inst);
            assert_eq!(registers.rows[usize::from(D)][0] as i32, expected);
        }
    }
}

#[test]
fn sixteen_bit_results_of_gfx11_take_one_half() {
    for (high, lanes) in [(false, 32), (true, 32), (false, 64), (true, 64)] {
        let mut registers = Registers::new(lanes);
        for register in 0..8 {
            registers.rows[usize::from(A) + register] = [0x3c00_3c00; 64];
            registers.rows[usize::from(B) + register] = [0x4000_4000; 64];
            // 1 in the low halves, 2 in the high ones.
            registers.rows[usize::from(C) + register] = [0x4000_3c00; 64];
            registers.rows[usize::from(D) + register] = [0x5a5a_a5a5; 64];
        }
        let mut inst = plain(Arch::Gfx1100, Op::v_wmma_f16_16x16x16_f16);
        inst.mods.op_sel = if high { 4 } else { 0 };
        registers.run(Arch::Gfx1100, &inst);
        // 32 and the accumulator: 33 or 34.
        let expected = if high { 0x5040_a5a5 } else { 0x5a5a_5020 };
        for lane in 0..lanes {
            assert_eq!(
                registers.rows[usize::from(D)][lane],
                expected,
                "{lanes} lanes, high {high}"
            );
        }
    }
}

#[test]
fn accumulators_may_be_constants_and_accumulation_registers() {
    let mut registers = Registers::new(64);
    for register in 0..2 {
        registers.rows[usize::from(A) + register] = [0x3c00_3c00; 64];
        registers.rows[usize::from(B) + register] = [0x3c00_3c00; 64];
    }
    let mut inst = plain(Arch::Gfx90a, Op::v_mfma_f32_16x16x16f16);
    inst.operands[3] = Operand::Float(crate::isa::InlineFloat::Four);
    inst.operands[0] = Operand::Acc(D);
    inst.operands[1] = Operand::Acc(A);
    registers.run(Arch::Gfx90a, &inst);
    for register in 0..4 {
        assert_eq!(
            registers.rows[usize::from(D) + register],
            [20f32.to_bits(); 64]
        );
    }
}

#[test]
fn sixteen_bit_subnormals_count_except_on_gfx90a() {
    for (arch, op, expected) in [
        (Arch::Gfx90a, Op::v_mfma_f32_16x16x16f16, 0.0),
        (
            Arch::Gfx942,
            Op::v_mfma_f32_16x16x16_f16,
            16.0 / 16_777_216.0,
        ),
    ] {
        let mut registers = Registers::new(64);
        for register in 0..2 {
            registers.rows[usize::from(A) + register] = [0x0001_0001; 64];
            registers.rows[usize::from(B) + register] = [0x3c00_3c00; 64];
        }
        registers.run(arch, &plain(arch, op));
        assert_eq!(
            f32::from_bits(registers.rows[usize::from(D)][0]),
            expected,
            "{arch}"
        );
    }
}
