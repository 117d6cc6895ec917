//! VOPD: two vector operations in one instruction.

use super::super::list::vopd::DUALS;
use super::super::{Field, Format, Inst, Mods, Op, Operand};
use super::source::source;
use super::{Cx, DecodeError, bits};

pub(super) fn vopd(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let high = cx.words.at(1)?;
    let (code_x, code_y) = (bits(word, 22, 4), bits(word, 17, 5));
    let unknown = |opcode| DecodeError::UnknownOpcode {
        arch: cx.arch,
        format: Format::Vopd,
        opcode,
    };
    let x = DUALS
        .iter()
        .find(|d| d.x.map(u32::from) == Some(code_x))
        .ok_or(unknown(code_x))?
        .op;
    let y = DUALS
        .iter()
        .find(|d| u32::from(d.y) == code_y)
        .ok_or(unknown(code_y))?
        .op;
    let dst_x = bits(high, 24, 8);
    // One destination is even, the other odd; the second's low bit is not stored.
    let dst_y = bits(high, 17, 7) << 1 | (!dst_x & 1);
    let mut half_x = Half {
        dst: dst_x,
        src0: bits(word, 0, 9),
        src1: bits(word, 9, 8),
        literal: false,
    };
    let mut half_y = Half {
        dst: dst_y,
        src0: bits(high, 0, 9),
        src1: bits(high, 9, 8),
        literal: false,
    };
    let mut operands = [Operand::None; 8];
    half_x.operands(cx, x, &mut operands[..4])?;
    half_y.operands(cx, y, &mut operands[4..])?;
    let dwords: u8 = if half_x.literal || half_y.literal {
        3
    } else {
        2
    };
    Ok(Inst {
        op: x,
        op_y: Some(y),
        format: Format::Vopd,
        len: dwords * 4,
        operands,
        mods: Mods::default(),
    })
}

struct Half {
    dst: u32,
    src0: u32,
    src1: u32,
    literal: bool,
}

impl Half {
    fn operands(&mut self, cx: &Cx, op: Op, slots: &mut [Operand]) -> Result<(), DecodeError> {
        for (slot, desc) in slots.iter_mut().zip(op.row().operands()) {
            *slot = match desc.field {
                Field::Dst => Operand::Vgpr(self.dst as u8),
                Field::Src0 if self.src0 == 255 => self.literal(cx)?,
                Field::Src0 => {
                    let code = self.src0;
                    source(cx.arch, code, 0).ok_or(DecodeError::BadOperand { op, code })?
                }
                Field::Src1 => Operand::Vgpr(self.src1 as u8),
                Field::Literal => self.literal(cx)?,
                // v_cndmask_b32: the carry-in is VCC, which VOPD does not write out.
                Field::Src2 => Operand::VccLo,
                _ => Operand::None,
            };
        }
        Ok(())
    }

    fn literal(&mut self, cx: &Cx) -> Result<Operand, DecodeError> {
        self.literal = true;
        Ok(Operand::Literal(cx.words.at(2)?))
    }
}
