//! Forms of vector instructions against the plain instruction on operands that a model has prepared.
//!
//! SDWA is the instruction on parts of its sources, whose result goes to a part of the destination. DPP is the
//! instruction on a first source whose lanes were exchanged. VOPD is two instructions that both read first. The models
//! here follow the ISA manuals' words on the forms; what the plain instruction does is other tests' business.

use super::bed::{Bed, Random};
use rukh_backend_sim::isa::{
    Arch, Dir, Dpp, DppCtrl, Field, Format, Inst, Lanes, Mods, Op, Operand, Rng, Sdwa, Select,
    Type, Unused, encode, generate, generate_dual,
};

/// Forms of each operation.
const EACH: usize = 2;

/// A vector register of each operand: far enough apart for pairs.
const SOURCES: [u8; 3] = [10, 14, 18];
const DESTINATION: u8 = 22;
/// Where a model puts a source that it has prepared.
const PREPARED: [u8; 2] = [30, 34];
const SCALARS: u8 = 40;
const REGISTERS: u16 = 40;

fn code(arch: Arch, inst: &Inst) -> Option<Vec<u8>> {
    let encoded = encode(arch, inst).ok()?;
    let mut code = encoded.bytes()[..encoded.len()].to_vec();
    let end: u32 = if arch >= Arch::Gfx1100 {
        0xbfb0_0000
    } else {
        0xbf81_0000
    };
    code.extend(end.to_le_bytes());
    Some(code)
}

/// The registers that instructions here may touch, VCC and the scalars that hold masks.
#[derive(Clone, PartialEq)]
struct State {
    rows: Vec<Vec<u32>>,
    scalars: Vec<u32>,
}

const VCC: usize = 106;

impl State {
    fn random(lanes: usize, random: &mut Random) -> State {
        let mut value = || match random.next() % 8 {
            // Floats of a size that does not overflow at once, of both precisions.
            0..4 => 0x3f00_0000 | random.next() & 0x81ff_ffff,
            4 => 0x3c00_3800 | random.next() & 0x83ff_83ff,
            _ => random.next(),
        };
        let rows = (0..REGISTERS)
            .map(|_| (0..lanes).map(|_| value()).collect())
            .collect();
        State {
            rows,
            scalars: (0..128).map(|_| value()).collect(),
        }
    }

    fn to(&self, bed: &mut Bed) {
        for (number, row) in (0..).zip(&self.rows) {
            bed.set(number, |lane| row[lane]);
        }
        for (number, &value) in self.scalars.iter().enumerate().take(108) {
            bed.wave.set_sgpr(number, value);
        }
    }

    fn of(bed: &Bed, lanes: usize) -> State {
        let row = |number| (0..lanes).map(|lane| bed.get(number, lane)).collect();
        State {
            rows: (0..REGISTERS).map(row).collect(),
            scalars: (0..128).map(|number| bed.wave.sgpr(number)).collect(),
        }
    }

    fn mask(&self, number: usize, lanes: usize) -> u64 {
        let high = if lanes == 64 {
            self.scalars[number + 1]
        } else {
            0
        };
        u64::from(self.scalars[number]) | u64::from(high) << 32
    }

    fn set_mask(&mut self, number: usize, lanes: usize, mask: u64) {
        self.scalars[number] = mask as u32;
        if lanes == 64 {
            self.scalars[number + 1] = (mask >> 32) as u32;
        }
    }
}

/// What an instruction leaves of a state, with these lanes active.
fn execute(arch: Arch, lanes: usize, state: &State, exec: u64, inst: &Inst) -> Option<State> {
    let code = code(arch, inst)?;
    let mut bed = Bed::new(arch, lanes as u32);
    state.to(&mut bed);
    bed.wave.set_exec(exec);
    bed.run_code(&code);
    Some(State::of(&bed, lanes))
}

/// The instruction with its operands in the registers of this test.
fn placed(mut inst: Inst) -> Inst {
    let mut next = 0;
    for (operand, desc) in inst.operands.iter_mut().zip(inst.op.row().operands()) {
        match operand {
            Operand::Vgpr(number) if desc.field == Field::Dst => *number = DESTINATION,
            Operand::Vgpr(number) => {
                *number = SOURCES[next];
                next += 1;
            }
            Operand::Sgpr(number) if matches!(desc.field, Field::MaskDst | Field::CmpxDst) => {
                *number = SCALARS + 8;
            }
            Operand::Sgpr(number) if desc.ty == Type::Mask => *number = SCALARS + 12,
            Operand::Sgpr(number) => *number = SCALARS,
            _ => {}
        }
    }
    inst
}

fn destination_of_mask(inst: &Inst) -> Option<usize> {
    let mut operands = inst.operands.iter().zip(inst.op.row().operands());
    operands.find_map(|(operand, desc)| match (desc.field, operand) {
        (Field::MaskDst | Field::CmpxDst, Operand::Sgpr(n)) => Some(usize::from(*n)),
        (Field::MaskDst | Field::CmpxDst, Operand::VccLo) => Some(VCC),
        (Field::CmpxDst, _) => Some(126),
        _ => None,
    })
}

fn bits_of(select: Select) -> (u32, u32) {
    match select {
        Select::Byte0 => (0, 8),
        Select::Byte1 => (8, 8),
        Select::Byte2 => (16, 8),
        Select::Byte3 => (24, 8),
        Select::Word0 => (0, 16),
        Select::Word1 => (16, 16),
        Select::Dword => (0, 32),
    }
}

/// A source as SDWA gives it to the instruction.
fn extracted(x: u32, select: Select, sext: bool, ty: Type, neg: bool, abs: bool) -> u32 {
    let (shift, bits) = bits_of(select);
    let part = x.wrapping_shl(32 - bits - shift);
    let value = if sext {
        (part as i32 >> (32 - bits)) as u32
    } else {
        part >> (32 - bits)
    };
    let sign = if ty.is_16() { 1 << 15 } else { 1 << 31 };
    let value = if abs { value & !sign } else { value };
    if neg { value ^ sign } else { value }
}

/// A result as SDWA puts it into the destination.
fn inserted(old: u32, result: u32, sdwa: Sdwa) -> u32 {
    let (shift, bits) = bits_of(sdwa.dst_sel);
    if bits == 32 {
        return result;
    }
    let mask = ((1u32 << bits) - 1) << shift;
    let part = result << shift & mask;
    match sdwa.dst_unused {
        Unused::Pad => part,
        Unused::Preserve => old & !mask | part,
        // Below the part there are zeros, above it is its sign.
        Unused::Sext => {
            let up = 32 - bits - shift;
            ((part << up) as i32 >> up) as u32
        }
    }
}

/// Operations whose SDWA and DPP forms are no instruction on prepared operands.
fn is_special(op: Op) -> bool {
    let name = format!("{op:?}");
    ["v_movrel", "v_swap", "v_nop", "v_readfirstlane", "v_permlane"]
        .iter()
        .any(|start| name.starts_with(start))
        // They write whole registers, or a byte of them by another modifier.
        || ["fp8", "bf8"].iter().any(|part| name.contains(part))
}

/// The instruction without the form, as VOP3 where there is one: it has all other modifiers.
fn plain(arch: Arch, inst: &Inst) -> Inst {
    let row = inst.op.row();
    let mut plain = *inst;
    plain.mods.sdwa = None;
    plain.mods.dpp = None;
    if row.has_vop3(arch) {
        plain.format = Format::Vop3;
        // Short forms name the mask in no bit.
        for (operand, desc) in plain.operands.iter_mut().zip(row.operands()) {
            if desc.field == Field::MaskDst && *operand == Operand::None {
                *operand = Operand::VccLo;
            }
        }
    }
    plain
}

fn random_exec(lanes: usize, random: &mut Random) -> u64 {
    let wide = u64::from(random.next()) << 32 | u64::from(random.next());
    let all = if lanes == 64 { u64::MAX } else { 0xffff_ffff };
    if wide & 0x10 == 0 { all } else { wide & all }
}

#[test]
fn sdwa_is_the_instruction_on_parts_of_registers() {
    for (arch, lanes) in [(Arch::Gfx900, 64), (Arch::Gfx90a, 64), (Arch::Gfx1030, 32)] {
        let (mut rng, mut random, mut checked) = (Rng::new(11), Random(12), 0);
        for &op in Op::ALL.iter().filter(|&&op| !is_special(op)) {
            let mut forms = 0;
            for _ in 0..EACH * 16 {
                let Some(inst) = generate(arch, op, &mut rng) else {
                    break;
                };
                let Some(sdwa) = inst.mods.sdwa else { continue };
                let inst = placed(inst);
                let constant = |operand: &Operand| {
                    !matches!(
                        operand,
                        Operand::Vgpr(_) | Operand::Sgpr(_) | Operand::VccLo | Operand::None
                    )
                };
                // Others than registers are whole, whatever is selected, or of the moment.
                let mut read = inst.operands.iter().zip(op.row().operands());
                if read.any(|(operand, desc)| {
                    matches!(desc.field, Field::Src0 | Field::Src1) && constant(operand)
                }) {
                    continue;
                }
                if forms == EACH {
                    break;
                }
                forms += 1;
                let state = State::random(lanes, &mut random);
                let exec = random_exec(lanes, &mut random);
                let got = execute(arch, lanes, &state, exec, &inst).expect("it was generated");

                // The model: both sources prepared, in registers of their own.
                let mut ready = state.clone();
                let mut simple = plain(arch, &inst);
                simple.mods.neg = 0;
                simple.mods.abs = 0;
                let row = op.row();
                for (at, desc) in row.operands().iter().enumerate() {
                    let (index, select) = match desc.field {
                        Field::Src0 => (0, sdwa.src0_sel),
                        Field::Src1 => (1, sdwa.src1_sel),
                        _ => continue,
                    };
                    let bit = |bits: u8| bits >> index & 1 != 0;
                    for lane in 0..lanes {
                        let x = match inst.operands[at] {
                            Operand::Vgpr(n) => state.rows[usize::from(n)][lane],
                            Operand::Sgpr(n) => state.scalars[usize::from(n)],
                            Operand::VccLo => state.scalars[VCC],
                            other => panic!("{other:?} in {inst:?}"),
                        };
                        ready.rows[usize::from(PREPARED[index])][lane] = extracted(
                            x,
                            select,
                            bit(sdwa.sext),
                            desc.ty,
                            bit(inst.mods.neg),
                            bit(inst.mods.abs),
                        );
                    }
                    simple.operands[at] = Operand::Vgpr(PREPARED[index]);
                }
                let Some(result) = execute(arch, lanes, &ready, exec, &simple) else {
                    // Carries in short forms are VCC's only.
                    continue;
                };
                let context = || {
                    let text = |inst: &Inst| inst.text(arch, Lanes::W64).to_string();
                    format!("{arch}: {} as {}", text(&inst), text(&simple))
                };
                let dst = row.operands().iter().find(|desc| desc.field == Field::Dst);
                let at = usize::from(DESTINATION);
                for lane in 0..lanes {
                    let (old, value) = (state.rows[at][lane], result.rows[at][lane]);
                    let expected = match dst {
                        Some(desc) if exec >> lane & 1 != 0 => {
                            let value = if desc.ty.is_16() {
                                value & 0xffff
                            } else {
                                value
                            };
                            inserted(old, value, sdwa)
                        }
                        _ => old,
                    };
                    assert_eq!(
                        got.rows[at][lane],
                        expected,
                        "{}, lane {lane}: {:#x}, then {:#x} of {:#x} {:#x}",
                        context(),
                        got.rows[at][lane],
                        value,
                        ready.rows[30][lane],
                        ready.rows[34][lane]
                    );
                }
                if let Some(mask) = destination_of_mask(&inst) {
                    let to = destination_of_mask(&simple).expect("a mask");
                    assert_eq!(
                        got.mask(mask, lanes),
                        result.mask(to, lanes),
                        "{}",
                        context()
                    );
                }
                checked += 1;
            }
        }
        assert!(checked > 300, "{arch}: {checked}");
    }
}

/// The lane that a lane reads, if it is in bounds.
fn lane_read(dpp: Dpp, lane: usize, lanes: usize) -> Option<usize> {
    let (row, at) = (lane / 16 * 16, lane % 16);
    let ctrl = match dpp {
        Dpp::Dpp8 { selectors, .. } => {
            return Some(lane / 8 * 8 + (selectors >> (3 * (lane % 8)) & 7) as usize);
        }
        Dpp::Dpp16 { ctrl, .. } => ctrl,
    };
    let in_row = |to: usize| (to < 16).then_some(row + to);
    match ctrl {
        DppCtrl::QuadPerm(from) => Some(lane / 4 * 4 + usize::from(from[lane % 4])),
        DppCtrl::RowShl(n) => in_row(at + usize::from(n)),
        DppCtrl::RowShr(n) => at.checked_sub(n.into()).and_then(in_row),
        DppCtrl::RowRor(n) => in_row((at + 16 - usize::from(n)) % 16),
        DppCtrl::WaveShl => (lane + 1 < lanes).then_some(lane + 1),
        DppCtrl::WaveRol => Some((lane + 1) % lanes),
        DppCtrl::WaveShr => lane.checked_sub(1),
        DppCtrl::WaveRor => Some((lane + lanes - 1) % lanes),
        DppCtrl::RowMirror => in_row(15 - at),
        DppCtrl::RowHalfMirror => in_row(at / 8 * 8 + 7 - at % 8),
        DppCtrl::RowBcast15 => (row > 0).then(|| row - 1),
        DppCtrl::RowBcast31 => (lane >= 32).then_some(31),
        DppCtrl::RowShare(n) => in_row(n.into()),
        DppCtrl::RowXmask(n) => in_row(at ^ usize::from(n)),
    }
}

/// Whether a lane takes part, and whether a source that is out of bounds or inactive reads as zero; whether inactive
/// lanes are read at all.
fn rules(dpp: Dpp, lane: usize) -> (bool, bool, bool) {
    match dpp {
        Dpp::Dpp8 { fetch_inactive, .. } => (true, true, fetch_inactive),
        Dpp::Dpp16 {
            row_mask,
            bank_mask,
            bound_ctrl,
            fetch_inactive,
            ..
        } => {
            let on = row_mask >> (lane / 16) & bank_mask >> (lane / 4 % 4) & 1 != 0;
            (on, bound_ctrl, fetch_inactive)
        }
    }
}

#[test]
fn dpp_is_the_instruction_on_lanes_exchanged() {
    for (arch, lanes) in [
        (Arch::Gfx900, 64),
        (Arch::Gfx90a, 64),
        (Arch::Gfx1030, 32),
        (Arch::Gfx1030, 64),
        (Arch::Gfx1100, 32),
        (Arch::Gfx1201, 32),
    ] {
        let (mut rng, mut random, mut checked) = (Rng::new(13), Random(14), 0);
        for &op in Op::ALL.iter().filter(|&&op| !is_special(op)) {
            let mut forms = 0;
            for _ in 0..EACH * 16 {
                let Some(inst) = generate(arch, op, &mut rng) else {
                    break;
                };
                let Some(dpp) = inst.mods.dpp else { continue };
                let inst = placed(inst);
                // Refused by name.
                if rukh_backend_sim::exec::check(arch, &inst).is_err() {
                    continue;
                }
                if forms == EACH {
                    break;
                }
                forms += 1;
                let state = State::random(lanes, &mut random);
                let exec = random_exec(lanes, &mut random);
                let got = execute(arch, lanes, &state, exec, &inst).expect("it was generated");

                let mut ready = state.clone();
                let mut simple = plain(arch, &inst);
                let mut active = 0u64;
                for lane in 0..lanes {
                    let (on, zero, inactive) = rules(dpp, lane);
                    let from = lane_read(dpp, lane, lanes)
                        .filter(|&from| inactive || exec >> from & 1 != 0);
                    for half in 0..2 {
                        let source = usize::from(SOURCES[0]) + half;
                        ready.rows[usize::from(PREPARED[0]) + half][lane] =
                            from.map_or(0, |from| state.rows[source][from]);
                    }
                    let takes_part = exec >> lane & 1 != 0 && on && (from.is_some() || zero);
                    active |= u64::from(takes_part) << lane;
                }
                let first = op
                    .row()
                    .operands()
                    .iter()
                    .position(|desc| desc.field == Field::Src0)
                    .expect("a first source");
                simple.operands[first] = Operand::Vgpr(PREPARED[0]);
                let Some(result) = execute(arch, lanes, &ready, exec, &simple) else {
                    continue;
                };
                let context = || {
                    let text = |inst: &Inst| inst.text(arch, Lanes::W64).to_string();
                    format!("{arch}, {exec:#x}: {} as {}", text(&inst), text(&simple))
                };
                for half in 0..2 {
                    let at = usize::from(DESTINATION) + half;
                    for lane in 0..lanes {
                        let expected = match active >> lane & 1 {
                            0 => state.rows[at][lane],
                            _ => result.rows[at][lane],
                        };
                        assert_eq!(got.rows[at][lane], expected, "{}, lane {lane}", context());
                    }
                }
                if let Some(mask) = destination_of_mask(&inst) {
                    let to = destination_of_mask(&simple).expect("a mask");
                    let expected = result.mask(to, lanes) & active;
                    assert_eq!(got.mask(mask, lanes), expected, "{}", context());
                }
                checked += 1;
            }
        }
        assert!(checked > 150, "{arch}: {checked}");
    }
}

#[test]
fn vopd_is_two_instructions_that_read_before_either_writes() {
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        let (mut rng, mut random) = (Rng::new(15), Random(16));
        for _ in 0..600 {
            let mut inst = generate_dual(arch, &mut rng).expect("there are pairs");
            // Registers of this test, few enough that the halves meet; parities stay.
            for operand in &mut inst.operands {
                if let Operand::Vgpr(number) = operand {
                    *number &= 7;
                }
                if let Operand::Sgpr(number) = operand {
                    *number = SCALARS;
                }
            }
            let op_y = inst.op_y.expect("two halves");
            let half = |op: Op, operands: &[Operand]| {
                let mut all = [Operand::None; 8];
                all[..4].copy_from_slice(operands);
                Inst {
                    op,
                    op_y: None,
                    format: op.row().format,
                    len: 0,
                    operands: all,
                    mods: Mods::default(),
                }
            };
            let x = half(inst.op, &inst.operands[..4]);
            let y = half(op_y, &inst.operands[4..]);
            let state = State::random(32, &mut random);
            let exec = random_exec(32, &mut random);
            let (Some(got), Some(of_x), Some(of_y)) = (
                execute(arch, 32, &state, exec, &inst),
                execute(arch, 32, &state, exec, &x),
                execute(arch, 32, &state, exec, &y),
            ) else {
                continue;
            };
            let mut expected = state.clone();
            for (result, inst) in [(of_x, x), (of_y, y)] {
                let written = inst.op.row().operands()[0];
                assert!(written.dir != Dir::Read, "{inst:?}");
                if let Operand::Vgpr(to) = inst.operands[0] {
                    expected.rows[usize::from(to)].clone_from(&result.rows[usize::from(to)]);
                }
            }
            expected.set_mask(VCC, 64, got.mask(VCC, 64));
            let text = inst.text(arch, Lanes::W32).to_string();
            assert!(got.rows == expected.rows, "{arch}, {exec:#x}: {text}");
        }
    }
}
