//! Results are the same bytes in debug and release builds, at every level of host instructions and on every host: random
//! programs of arithmetic instructions leave registers whose digests are committed, and every build is held to them.
//!
//! A digest tells nothing of what is right: other tests do. When a result is meant to change, `RUKH_DIGESTS=write`
//! writes the file anew.

#[allow(dead_code, reason = "the tests of memory use the rest")]
#[path = "memory/bed.rs"]
mod bed;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use bed::{Bed, Random};
use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::exec::{CodeCache, Exit, Wave, WaveConfig, WaveIds, check};
use rukh_backend_sim::isa::{
    Arch, Format, Inst, Lanes, Mods, Op, Operand, Rng, encode, generate, generate_dual,
};

/// Random forms of each operation.
const FORMS: usize = 4;
/// Instructions of a program.
const LENGTH: usize = 64;

/// Values at which arithmetic is at its limits, as single precision, halves or integers.
const EDGES: [u32; 16] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7f80_0001,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xffff_ffff,
    0x3c00_fc00,
    0x7c01_0001,
    0x7fff_ffff,
];

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
    }
}

/// An operation's own sequence of random numbers: new rows of the list leave those of the others alone.
fn seed(name: &str) -> u64 {
    let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, hash)
}

/// Arithmetic without jumps, memory and clocks.
fn is_arithmetic(op: Op) -> bool {
    let name = op.row().mnemonic;
    match op.row().format {
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p => true,
        Format::Sop2 | Format::Sopc => !["branch", "_rfe_", "_setvskip", "_gpr_idx_"]
            .iter()
            .any(|part| name.contains(part)),
        _ => false,
    }
}

/// Instructions by format, in the order of the list.
fn instructions(arch: Arch, lanes: Lanes) -> BTreeMap<String, Vec<Inst>> {
    let mut all: BTreeMap<String, Vec<Inst>> = BTreeMap::new();
    for &op in Op::ALL {
        let mut rng = Rng::new(seed(op.row().mnemonic));
        for _ in 0..FORMS {
            let made = generate(arch, op, &mut rng);
            if let Some(inst) = made.filter(|i| is_arithmetic(op) && check(arch, i).is_ok()) {
                let of = all.entry(format!("{:?}", op.row().format)).or_default();
                of.push(inst);
            }
        }
    }
    if lanes == Lanes::W32 {
        let mut rng = Rng::new(seed("pairs"));
        let pairs = (0..200).map_while(|_| generate_dual(arch, &mut rng));
        let pairs: Vec<Inst> = pairs.filter(|inst| check(arch, inst).is_ok()).collect();
        if !pairs.is_empty() {
            all.insert("Vopd".into(), pairs);
        }
    }
    all
}

fn words(arch: Arch, inst: &Inst, code: &mut Vec<u8>) {
    let encoded = encode(arch, inst).expect("what is generated can be encoded");
    code.extend_from_slice(&encoded.bytes()[..encoded.len()]);
}

/// Sets EXEC to all lanes and M0, which numbers registers, to zero, whatever an instruction made of them.
fn reset(arch: Arch, code: &mut Vec<u8>) {
    for (op, register, value) in [
        (Op::s_mov_b64, Operand::ExecLo, -1),
        (Op::s_mov_b32, Operand::M0, 0),
    ] {
        let mut operands = [Operand::None; 8];
        operands[..2].copy_from_slice(&[register, Operand::Int(value)]);
        let inst = Inst {
            op,
            op_y: None,
            format: Format::Sop1,
            len: 4,
            operands,
            mods: Mods::default(),
        };
        words(arch, &inst, code);
    }
}

/// Runs instructions one after the other, and digests what they left in the registers.
fn digest(bed: &mut Bed, arch: Arch, lanes: Lanes, number: u32, instructions: &[Inst]) -> u64 {
    let rounding =
        0x300 | (number % 16) | ((3 - number / 16 % 4) << 4) | ((3 - number / 64 % 4) << 6);
    bed.wave = Wave::new(WaveConfig {
        arch,
        lanes: lanes as u32,
        vgprs: 256,
        acc_vgprs: if arch >= Arch::Gfx908 && arch < Arch::Gfx1030 {
            256
        } else {
            0
        },
        mode: rounding,
        ids: WaveIds::default(),
    });
    let mut random = Random(u64::from(number));
    for register in 0..256 {
        let row: Vec<u32> = (0..lanes as usize)
            .map(|_| match random.next() {
                word if word % 3 == 0 => EDGES[random.next() as usize % EDGES.len()],
                _ => random.next(),
            })
            .collect();
        bed.set(register, |lane| row[lane]);
    }
    let scalars: Vec<u32> = (0..102).map(|_| random.next()).collect();
    bed.set_scalars(0, &scalars);
    let mut code = Vec::new();
    for inst in instructions {
        words(arch, inst, &mut code);
        reset(arch, &mut code);
    }
    code.extend_from_slice(&0xbf81_0000_u32.to_le_bytes());
    if arch >= Arch::Gfx1100 {
        let end = code.len() - 4;
        code[end..].copy_from_slice(&0xbfb0_0000_u32.to_le_bytes());
    }
    bed.load_code(&code);
    match bed.resume() {
        Exit::Ended => {}
        other => panic!("{arch}: {other:?} in program {number}"),
    }
    let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
    for register in 0..256 {
        for lane in 0..lanes as usize {
            fnv.add(bed.get(register, lane));
        }
    }
    for number in 0..102 {
        fnv.add(bed.wave.sgpr(number));
    }
    fnv.add(bed.wave.vcc() as u32);
    fnv.add((bed.wave.vcc() >> 32) as u32);
    fnv.add(u32::from(bed.wave.scc()));
    fnv.0
}

/// A line for each processor, wave size and format.
fn digests(level: Level) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for arch in Arch::ALL {
        let sizes: &[Lanes] = match arch {
            Arch::Gfx1030 | Arch::Gfx1100 | Arch::Gfx1201 => &[Lanes::W32, Lanes::W64],
            _ => &[Lanes::W64],
        };
        for &lanes in sizes {
            let mut bed = Bed::new(arch, lanes as u32);
            bed.code = CodeCache::new(arch, level);
            for (format, instructions) in instructions(arch, lanes) {
                let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
                for (number, program) in (0..).zip(instructions.chunks(LENGTH)) {
                    let digest = digest(&mut bed, arch, lanes, number, program);
                    fnv.add(digest as u32);
                    fnv.add((digest >> 32) as u32);
                }
                all.insert(format!("{arch} {} {format}", lanes as u32), fnv.0);
            }
        }
    }
    all
}

/// The instructions of a line that alone leave other registers at another level, as assembly.
fn differing(level: Level, line: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (arch, lanes) in Arch::ALL
        .into_iter()
        .flat_map(|arch| [Lanes::W32, Lanes::W64].map(|lanes| (arch, lanes)))
    {
        let Some(format) = line.strip_prefix(&format!("{arch} {} ", lanes as u32)) else {
            continue;
        };
        let mut beds = [Level::Baseline, level].map(|level| {
            let mut bed = Bed::new(arch, lanes as u32);
            bed.code = CodeCache::new(arch, level);
            bed
        });
        for inst in instructions(arch, lanes)
            .remove(format)
            .into_iter()
            .flatten()
        {
            let one = std::slice::from_ref(&inst);
            for number in 0..4 {
                let [a, b] = &mut beds;
                if digest(a, arch, lanes, number, one) != digest(b, arch, lanes, number, one) {
                    all.push(format!("{}, MODE {number}", inst.text(arch, lanes)));
                }
            }
        }
    }
    all
}

#[test]
fn every_build_and_every_level_leaves_the_registers_of_the_committed_digests() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/digests.txt");
    let ours = digests(Level::Baseline);
    if std::env::var("RUKH_DIGESTS").as_deref() == Ok("write") {
        let mut text = String::new();
        for (name, digest) in &ours {
            writeln!(text, "{name} {digest:016x}").expect("a String takes everything");
        }
        std::fs::write(&file, text).expect("the file can be written");
    }
    let text = std::fs::read_to_string(&file).expect("the digests are committed");
    let committed: BTreeMap<String, u64> = text
        .lines()
        .map(|line| {
            let (name, digest) = line.rsplit_once(' ').expect("a name and a digest");
            let digest = u64::from_str_radix(digest, 16).expect("a number in hexadecimal");
            (name.to_string(), digest)
        })
        .collect();
    assert!(committed.len() > 60, "too few: {}", committed.len());
    // A line that is not committed holds the levels to each other alone.
    let mut held = ours.clone();
    held.extend(committed);
    assert_eq!(held.len(), ours.len(), "a line of what there is not");
    for (level, ours) in [
        (Level::Baseline, ours),
        (Level::detect(), digests(Level::detect())),
    ] {
        let other: Vec<_> = ours.iter().filter(|(k, v)| held[*k] != **v).collect();
        assert!(
            other.is_empty(),
            "{level:?}: {other:x?} (RUKH_DIGESTS=write if that is meant)\n{:#?}",
            other.first().map(|(line, _)| differing(level, line))
        );
    }
}
