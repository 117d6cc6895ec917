//! What only graphics uses: VINTRP, VINTERP, LDSDIR, EXP.

use super::super::table::vop3_opcode;
use super::super::{Field, ImmKind, Operand};
use super::{Cx, EncodeError, Encoded, flag};

/// An attribute, and its component.
fn attribute(cx: &Cx, operand: Operand) -> Result<(u32, u32), EncodeError> {
    let code = cx.immediate(operand, 8)?;
    Ok((code & 63, code >> 6))
}

pub(super) fn vintrp(cx: &Cx) -> Result<Encoded, EncodeError> {
    let encoding = if cx.arch.is_gfx9() {
        0b110101
    } else {
        0b110010
    };
    let mut word = encoding << 26 | cx.own_opcode()? << 16;
    for (operand, desc) in cx.operands() {
        word |= match desc.field {
            Field::Dst => cx.vgpr(operand)? << 18,
            Field::Src1 => cx.vgpr(operand)?,
            Field::Imm(ImmKind::Parameter) => cx.immediate(operand, 8)?,
            _ => {
                let (attr, component) = attribute(cx, operand)?;
                attr << 10 | component << 8
            }
        };
    }
    Ok(Encoded::new(&[word]))
}

pub(super) fn vintrp_vop3(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = vop3_opcode(cx.inst.op.row(), cx.arch).ok_or(cx.not_here())?;
    let mods = &cx.inst.mods;
    let encoding = if cx.arch.is_gfx9() {
        0b110100
    } else {
        0b110101
    };
    let mut low = encoding << 26 | u32::from(opcode) << 16;
    low |= u32::from(mods.abs & 7) << 8 | flag(mods.clamp, 15);
    let mut high = u32::from(mods.omod & 3) << 27 | u32::from(mods.neg & 7) << 29;
    high |= u32::from(mods.op_sel & 1) << 8;
    for (operand, desc) in cx.operands() {
        match desc.field {
            Field::Dst => low |= cx.vgpr(operand)?,
            Field::Src1 => high |= (256 | cx.vgpr(operand)?) << 9,
            Field::Src2 => high |= (256 | cx.vgpr(operand)?) << 18,
            Field::Imm(ImmKind::Parameter) => high |= cx.immediate(operand, 8)? << 9,
            _ => high |= cx.immediate(operand, 8)?,
        }
    }
    Ok(Encoded::new(&[low, high]))
}

pub(super) fn vinterp(cx: &Cx) -> Result<Encoded, EncodeError> {
    let mods = &cx.inst.mods;
    let mut low = 0xcd << 24 | cx.own_opcode()? << 16;
    low |= u32::from(mods.wait & 7) << 8 | u32::from(mods.op_sel & 15) << 11 | flag(mods.clamp, 15);
    let mut high = u32::from(mods.neg & 7) << 29;
    for (operand, desc) in cx.operands() {
        let register = cx.vgpr(operand)?;
        match desc.field {
            Field::Src0 => high |= 256 | register,
            Field::Src1 => high |= (256 | register) << 9,
            Field::Src2 => high |= (256 | register) << 18,
            _ => low |= register,
        }
    }
    Ok(Encoded::new(&[low, high]))
}

pub(super) fn ldsdir(cx: &Cx) -> Result<Encoded, EncodeError> {
    let wait = cx.inst.mods.wait;
    let mut word = 0xce << 24 | cx.own_opcode()? << 20 | u32::from(wait & 15) << 16;
    word |= flag(cx.arch.is_gfx12_plus() && wait & 16 != 0, 23);
    for (operand, desc) in cx.operands() {
        word |= match desc.field {
            Field::Dst => cx.vgpr(operand)?,
            _ => {
                let (attr, component) = attribute(cx, operand)?;
                attr << 10 | component << 8
            }
        };
    }
    Ok(Encoded::new(&[word]))
}

pub(super) fn export(cx: &Cx) -> Result<Encoded, EncodeError> {
    cx.own_opcode()?;
    let export = &cx.inst.mods.export;
    let gfx11 = cx.arch.is_gfx11_plus();
    let encoding = if cx.arch.is_gfx9() {
        0b110001
    } else {
        0b111110
    };
    let mut low = encoding << 26 | flag(export.done, 11);
    low |= if gfx11 {
        flag(export.row_en, 13)
    } else {
        flag(export.compr, 10) | flag(export.vm, 12)
    };
    let mut registers = [None; 4];
    for (operand, desc) in cx.operands() {
        match (desc.field, operand) {
            (Field::Export(_), Operand::None) => {}
            (Field::Export(n), _) => {
                low |= 1 << n;
                let register = cx.vgpr(operand)?;
                let place = if export.compr && !gfx11 { n / 2 } else { n };
                // Two operands that share a register must name the same.
                match registers[usize::from(place & 3)].replace(register) {
                    Some(other) if other != register => return Err(cx.bad(operand)),
                    _ => {}
                }
            }
            _ => low |= cx.immediate(operand, 6)? << 4,
        }
    }
    let [a, b, c, d] = registers.map(|register| register.unwrap_or(0));
    Ok(Encoded::new(&[low, a | b << 8 | c << 16 | d << 24]))
}
