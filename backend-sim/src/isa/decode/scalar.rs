//! Scalar encodings: SOP1, SOP2, SOPK, SOPC, SOPP, SMEM.

use super::super::{Cache, Field, Format, ImmKind, Inst, Mods, Op, Operand, Type};
use super::source::{aligned, scalar_register, source};
use super::{Cx, DecodeError, bit, bits, inst, signed};

pub(super) fn sop1(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Sop1, bits(word, 8, 8))?;
    sop(cx, op, Format::Sop1, word)
}

pub(super) fn sop2(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Sop2, bits(word, 23, 7))?;
    sop(cx, op, Format::Sop2, word)
}

pub(super) fn sopc(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Sopc, bits(word, 16, 7))?;
    sop(cx, op, Format::Sopc, word)
}

pub(super) fn sopk(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Sopk, bits(word, 23, 5))?;
    sop(cx, op, Format::Sopk, word)
}

pub(super) fn sopp(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Sopp, bits(word, 16, 7))?;
    sop(cx, op, Format::Sopp, word)
}

fn sop(cx: &Cx, op: Op, format: Format, word: u32) -> Result<Inst, DecodeError> {
    let mut operands = [Operand::None; 8];
    let mut dwords = 1;
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Dst => scalar(cx, op, bits(word, 16, 7), desc.ty)?,
            Field::Src0 | Field::Src1 => {
                let code = if desc.field == Field::Src0 {
                    bits(word, 0, 8)
                } else {
                    bits(word, 8, 8)
                };
                let mut literal = 0;
                if code == 255 {
                    literal = cx.words.at(1)?;
                    dwords = 2;
                }
                let operand =
                    source(cx.arch, code, literal).ok_or(DecodeError::BadOperand { op, code })?;
                aligned(operand, desc.ty)
            }
            Field::Literal => {
                dwords = 2;
                Operand::Literal(cx.words.at(1)?)
            }
            // SOP1 with a message: the eight bits of SSRC0.
            Field::Imm(_) if format == Format::Sop1 => Operand::Imm(bits(word, 0, 8) as i32),
            // SOPC with a mode: the eight bits of SSRC1.
            Field::Imm(_) if format == Format::Sopc => Operand::Imm(bits(word, 8, 8) as i32),
            Field::Imm(ImmKind::Branch) => Operand::Imm(signed(word, 16)),
            Field::Imm(_) => Operand::Imm(bits(word, 0, 16) as i32),
            _ => Operand::None,
        };
    }
    Ok(inst(op, format, dwords, operands, Mods::default()))
}

fn scalar(cx: &Cx, op: Op, code: u32, ty: Type) -> Result<Operand, DecodeError> {
    let operand = scalar_register(cx.arch, code).ok_or(DecodeError::BadOperand { op, code })?;
    Ok(aligned(operand, ty))
}

pub(super) fn smem(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let arch = cx.arch;
    let opcode = if arch.is_gfx12_plus() {
        bits(word, 13, 6)
    } else {
        bits(word, 18, 8)
    };
    let op = cx.lookup(Format::Smem, opcode)?;
    let high = cx.words.at(1)?;
    let mut mods = Mods::default();
    // Where the register part of the offset is, if there is one.
    let soffset;
    if arch.is_gfx9() {
        let (imm, soffset_en) = (bit(word, 17), bit(word, 14));
        soffset = match (soffset_en, imm) {
            (true, _) => Some(bits(high, 25, 7)),
            (false, false) => Some(bits(high, 0, 7)),
            (false, true) => None,
        };
        if imm {
            mods.offset = signed(high, 21);
        }
        mods.soffset_en = soffset_en && imm;
        mods.cache.set(Cache::GLC, bit(word, 16));
    } else if arch.is_gfx12_plus() {
        soffset = Some(bits(high, 25, 7));
        mods.offset = signed(high, 24);
        mods.cache = Cache((bits(word, 23, 2) | bits(word, 21, 2) << 3) as u8);
    } else {
        let (glc, dlc) = if arch.is_gfx11_plus() {
            (14, 13)
        } else {
            (16, 14)
        };
        soffset = Some(bits(high, 25, 7));
        mods.offset = signed(high, 21);
        mods.cache.set(Cache::GLC, bit(word, glc));
        mods.cache.set(Cache::DLC, bit(word, dlc));
    }
    if !op.row().has(Field::Soffset) {
        mods = Mods::default();
    }
    if !op.row().has(Field::Dst) && !op.row().has(Field::Data) {
        mods.cache = Cache::default();
    }
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Dst | Field::Data => scalar(cx, op, bits(word, 6, 7), desc.ty)?,
            Field::Imm(ImmKind::Offset) => Operand::None,
            Field::Imm(_) => Operand::Imm(bits(word, 6, 7) as i32),
            Field::Base => scalar(cx, op, bits(word, 0, 6) << 1, desc.ty)?,
            Field::Soffset => match soffset {
                Some(code) => match scalar(cx, op, code, desc.ty)? {
                    Operand::Null => Operand::None,
                    register => register,
                },
                None => Operand::None,
            },
            _ => Operand::None,
        };
    }
    Ok(inst(op, Format::Smem, 2, operands, mods))
}
