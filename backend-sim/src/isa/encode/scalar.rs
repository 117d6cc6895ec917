//! Scalar encodings.

use super::super::{Cache, Field, Format, Operand};
use super::{Cx, EncodeError, Encoded, flag};

pub(super) fn sop(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let format = cx.inst.format;
    let mut word = match format {
        Format::Sop1 => 0x17d << 23 | opcode << 8,
        Format::Sopc => 0x17e << 23 | opcode << 16,
        Format::Sopp => 0x17f << 23 | opcode << 16,
        Format::Sopk => 0b1011 << 28 | opcode << 23,
        _ => 0b10 << 30 | opcode << 23,
    };
    let mut literal = None;
    for (operand, desc) in cx.operands() {
        word |= match desc.field {
            Field::Dst => cx.scalar_register(operand)? << 16,
            Field::Src0 => scalar_source(cx, operand, &mut literal)?,
            Field::Src1 => scalar_source(cx, operand, &mut literal)? << 8,
            Field::Literal => {
                cx.source(operand, &mut literal)?;
                0
            }
            Field::Imm(_) if format == Format::Sop1 => cx.immediate(operand, 8)?,
            Field::Imm(_) if format == Format::Sopc => cx.immediate(operand, 8)? << 8,
            Field::Imm(_) => cx.immediate(operand, 16)?,
            _ => return Err(cx.bad(operand)),
        };
    }
    let mut encoded = Encoded::new(&[word]);
    if let Some(literal) = literal {
        encoded.push(literal);
    }
    Ok(encoded)
}

fn scalar_source(cx: &Cx, operand: Operand, literal: &mut Option<u32>) -> Result<u32, EncodeError> {
    let code = cx.source(operand, literal)?;
    if code < 256 {
        Ok(code)
    } else {
        Err(cx.bad(operand))
    }
}

pub(super) fn smem(cx: &Cx) -> Result<Encoded, EncodeError> {
    let arch = cx.arch;
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let glc = mods.cache.0 & Cache::GLC != 0;
    let dlc = mods.cache.0 & Cache::DLC != 0;
    let soffset = cx
        .operands()
        .find(|(_, desc)| desc.field == Field::Soffset)
        .map(|(operand, _)| operand);
    let register = soffset.filter(|o| *o != Operand::None);
    let (mut low, mut high);
    if arch.is_gfx9() {
        low = 0b110000 << 26 | opcode << 18 | flag(glc, 16);
        high = 0;
        match register {
            Some(register) if mods.soffset_en => {
                low |= 1 << 17 | 1 << 14;
                high = cx.scalar_register(register)? << 25 | cx.offset(21, true)?;
            }
            Some(register) => high = cx.scalar_register(register)?,
            None if soffset.is_some() => {
                low |= 1 << 17;
                high = cx.offset(21, true)?;
            }
            None => {}
        }
    } else {
        let register = cx.scalar_register(register.unwrap_or(Operand::Null))?;
        high = register << 25;
        low = 0b111101 << 26;
        if arch.is_gfx12_plus() {
            low |= opcode << 13
                | u32::from(mods.cache.temporal_hint() & 3) << 23
                | u32::from(mods.cache.scope()) << 21;
            high |= cx.offset(24, true)?;
        } else {
            let (glc_at, dlc_at) = if arch.is_gfx11_plus() {
                (14, 13)
            } else {
                (16, 14)
            };
            low |= opcode << 18 | flag(glc, glc_at) | flag(dlc, dlc_at);
            high |= cx.offset(21, true)?;
        }
    }
    for (operand, desc) in cx.operands() {
        low |= match desc.field {
            Field::Dst | Field::Data => cx.scalar_register(operand)? << 6,
            Field::Imm(crate::isa::ImmKind::Offset) => 0,
            Field::Imm(_) => cx.immediate(operand, 7)? << 6,
            Field::Base => cx.scalar_register(operand)? >> 1,
            _ => 0,
        };
    }
    Ok(Encoded::new(&[low, high]))
}
