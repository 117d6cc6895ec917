//! Lowering of scalar instructions.

use super::{Cx, Lowered, destination, operands, source};
use crate::exec::microop::{CONST, MicroOp};
use crate::exec::salu;
use crate::isa::{Dir, Field, Format, ImmKind, Inst, Operand};

pub(super) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    match inst.format {
        Format::Sopp => program_control(cx, inst),
        Format::Sopk => immediate(inst),
        _ => arithmetic(inst),
    }
}

fn arithmetic(inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    micro.run = salu::lookup(inst.op).ok_or("the instruction")?;
    let mut next = 0;
    let mut old = None;
    for (operand, desc) in operands(inst) {
        if desc.dir != Dir::Read {
            micro.dst = destination(operand)?;
            if desc.dir == Dir::ReadWrite {
                old = Some(micro.dst);
            }
            continue;
        }
        let (src, value) = source(operand, desc.ty)?;
        let Some(slot) = micro.src.get_mut(next) else {
            return Err("its operand count");
        };
        *slot = src;
        micro.k[next] = value;
        next += 1;
    }
    if let (Some(old), Some(slot)) = (old, micro.src.get_mut(next)) {
        *slot = old;
    }
    Ok(micro)
}

/// SOPK: the register in source 0, the immediate in source 1, a literal in source 0.
fn immediate(inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    micro.run = salu::lookup(inst.op).ok_or("the instruction")?;
    for (operand, desc) in operands(inst) {
        match (operand, desc.field) {
            (Operand::Imm(value), Field::Imm(kind)) => {
                let value = match kind {
                    ImmKind::Branch | ImmKind::Hwreg => value,
                    _ => i32::from(value as i16),
                };
                micro.src[1] = CONST;
                micro.k[1] = u64::from(value as u32);
            }
            (Operand::Literal(value), _) => {
                micro.src[0] = CONST;
                micro.k[0] = u64::from(value);
            }
            _ => {
                micro.src[0] = source(operand, desc.ty)?.0;
                micro.dst = destination(operand)?;
            }
        }
    }
    Ok(micro)
}

fn program_control(cx: &Cx<'_>, inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    let immediate = match inst.operands[0] {
        Operand::Imm(value) => value,
        _ => 0,
    };
    if let Some(run) = salu::sopp::branch(inst.op) {
        let distance = i64::from(immediate as i16) * 4;
        micro.k[0] = cx
            .pc
            .wrapping_add(u64::from(inst.len))
            .wrapping_add(distance as u64);
        micro.run = run;
        return Ok(micro);
    }
    micro.run = salu::sopp::lookup(inst.op).ok_or("the instruction")?;
    micro.k[0] = u64::from(immediate as u32);
    Ok(micro)
}
