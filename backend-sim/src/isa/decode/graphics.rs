//! What only graphics uses: VINTRP, VINTERP, LDSDIR, EXP.

use super::super::table::vintrp_in_vop3;
use super::super::{Code, Export, Field, Format, ImmKind, Inst, Mods, Op, Operand};
use super::{Cx, DecodeError, bit, bits, inst};

/// An attribute and its component, from eight bits with the component at `at`.
fn attribute(attr: u32, component: u32) -> Operand {
    Operand::Imm((attr | component << 6) as i32)
}

/// VSRC of an interpolation: a register, or which value is moved.
fn parameter(code: u32) -> Operand {
    Operand::Imm(code as i32)
}

pub(super) fn vintrp(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 16, 2);
    let unknown = DecodeError::UnknownOpcode {
        arch: cx.arch,
        format: Format::Vintrp,
        opcode,
    };
    let in_vop3 = u32::from(vintrp_in_vop3(cx.arch)) + opcode;
    let op = cx.lookup(Format::Vintrp, in_vop3).map_err(|_| unknown)?;
    let row = op.row();
    if row.format != Format::Vintrp || !matches!(row.code(cx.arch), Code::Own(_)) {
        return Err(unknown);
    }
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(bits(word, 18, 8) as u8),
            Field::Src1 => Operand::Vgpr(bits(word, 0, 8) as u8),
            Field::Imm(ImmKind::Parameter) => parameter(bits(word, 0, 8)),
            _ => attribute(bits(word, 10, 6), bits(word, 8, 2)),
        };
    }
    Ok(inst(op, Format::Vintrp, 1, operands, Mods::default()))
}

/// The VOP3 form of an interpolation: the attribute stands where other instructions have their first source.
pub(super) fn vintrp_vop3(cx: &Cx, op: Op, word: u32) -> Result<Inst, DecodeError> {
    let high = cx.words.at(1)?;
    let row = op.row();
    let mods = Mods {
        clamp: bit(word, 15),
        omod: bits(high, 27, 2) as u8,
        neg: bits(high, 29, 3) as u8 & row.signed_sources(),
        abs: bits(word, 8, 3) as u8 & row.signed_sources(),
        // Which half of the attribute.
        op_sel: bit(high, 8) as u8,
        ..Mods::default()
    };
    let vgpr = |code: u32| match code {
        256.. => Ok(Operand::Vgpr(code as u8)),
        _ => Err(DecodeError::BadOperand { op, code }),
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(bits(word, 0, 8) as u8),
            Field::Src1 => vgpr(bits(high, 9, 9))?,
            Field::Src2 => vgpr(bits(high, 18, 9))?,
            Field::Imm(ImmKind::Parameter) => parameter(bits(high, 9, 8)),
            _ => attribute(bits(high, 0, 6), bits(high, 6, 2)),
        };
    }
    Ok(inst(op, Format::Vop3, 2, operands, mods))
}

pub(super) fn vinterp(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Vinterp, bits(word, 16, 7))?;
    let high = cx.words.at(1)?;
    let row = op.row();
    let mods = Mods {
        clamp: bit(word, 15),
        neg: bits(high, 29, 3) as u8,
        // Idle bits beside those of halves are stored, as assembly shows them.
        op_sel: match row.half_operands() {
            0 => 0,
            _ => bits(word, 11, 4) as u8,
        },
        wait: bits(word, 8, 3) as u8,
        ..Mods::default()
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        let at = match desc.field {
            Field::Src0 => 0,
            Field::Src1 => 9,
            Field::Src2 => 18,
            _ => {
                *slot = Operand::Vgpr(bits(word, 0, 8) as u8);
                continue;
            }
        };
        // The top bit of a source is not looked at: there are no others than registers.
        *slot = Operand::Vgpr(bits(high, at, 8) as u8);
    }
    Ok(inst(op, Format::Vinterp, 2, operands, mods))
}

pub(super) fn ldsdir(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Ldsdir, bits(word, 20, 2))?;
    let mods = Mods {
        wait: (bits(word, 16, 4) | flag(cx.arch.is_gfx12_plus() && bit(word, 23)) << 4) as u8,
        ..Mods::default()
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(bits(word, 0, 8) as u8),
            _ => attribute(bits(word, 10, 6), bits(word, 8, 2)),
        };
    }
    Ok(inst(op, Format::Ldsdir, 1, operands, mods))
}

const fn flag(set: bool) -> u32 {
    set as u32
}

pub(super) fn export(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Exp, 0)?;
    let high = cx.words.at(1)?.to_le_bytes();
    let gfx11 = cx.arch.is_gfx11_plus();
    let export = Export {
        done: bit(word, 11),
        compr: !gfx11 && bit(word, 10),
        vm: !gfx11 && bit(word, 12),
        row_en: gfx11 && bit(word, 13),
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Export(n) if !bit(word, u32::from(n)) => Operand::None,
            Field::Export(n) => {
                Operand::Vgpr(high[usize::from(if export.compr { n / 2 } else { n }) & 3])
            }
            _ => Operand::Imm(bits(word, 4, 6) as i32),
        };
    }
    let mods = Mods {
        export,
        ..Mods::default()
    };
    Ok(inst(op, Format::Exp, 2, operands, mods))
}
