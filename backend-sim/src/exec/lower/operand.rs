//! Operands: where they are, and what constants are worth.

use super::super::microop::{ABSENT, CONST, MicroOp, VGPR};
use super::super::scalars as at;
use crate::isa::{Lanes, Operand, Type};

/// The entry of the scalar file that an operand names.
pub(crate) fn scalar_index(operand: Operand) -> Option<usize> {
    Some(match operand {
        Operand::Sgpr(n) if n < 106 => usize::from(n),
        Operand::Ttmp(n) if n < 16 => at::TTMP0 + usize::from(n),
        Operand::FlatScratchLo => at::FLAT_SCRATCH_GFX9,
        Operand::FlatScratchHi => at::FLAT_SCRATCH_GFX9 + 1,
        Operand::XnackMaskLo => at::XNACK_MASK,
        Operand::XnackMaskHi => at::XNACK_MASK + 1,
        Operand::VccLo => at::VCC,
        Operand::VccHi => at::VCC + 1,
        Operand::M0 => at::M0,
        Operand::Null | Operand::PopsExitingWaveId => at::NULL,
        Operand::ExecLo => at::EXEC,
        Operand::ExecHi => at::EXEC + 1,
        Operand::Scc => at::SCC,
        Operand::Vccz => at::VCCZ,
        Operand::Execz => at::EXECZ,
        Operand::LdsDirect => at::LDS_DIRECT,
        Operand::SharedBase => at::SHARED_BASE,
        Operand::SharedLimit => at::SHARED_LIMIT,
        Operand::PrivateBase => at::PRIVATE_BASE,
        Operand::PrivateLimit => at::PRIVATE_LIMIT,
        _ => return None,
    })
}

/// A constant's value in an operand of a type, low dword first; `None` if it is no constant.
///
/// Integers are sign-extended to the operand's width, also where it holds floats; named floats are
/// in the operand's format; a literal is the high half of a double and is otherwise extended with zeros, or with
/// its sign for signed 64-bit integers.
pub(crate) fn constant(operand: Operand, ty: Type) -> Option<u64> {
    let wide = rows(ty) == 2;
    Some(match operand {
        Operand::Int(n) => {
            let value = i64::from(n);
            match ty {
                // Packed single precision reads a constant as its low dword.
                Type::PkF32 | Type::PkB32 => u64::from(value as u32),
                _ if wide || rows(ty) > 2 => value as u64,
                _ if ty.is_16() => u64::from(value as u16),
                _ => u64::from(value as u32),
            }
        }
        Operand::Float(f) => match ty {
            Type::F16 | Type::PkF16 | Type::B16 | Type::U16 | Type::I16 => u64::from(f.f16_bits()),
            Type::Bf16 | Type::PkBf16 => u64::from(f.bf16_bits()),
            Type::PkF32 | Type::PkB32 => u64::from(f.f32_bits()),
            _ if wide => f.f64_bits(),
            _ => u64::from(f.f32_bits()),
        },
        Operand::Literal(bits) => match ty {
            Type::F64 => u64::from(bits) << 32,
            Type::I64 => i64::from(bits as i32) as u64,
            _ => u64::from(bits),
        },
        Operand::Imm(value) => u64::from(value as u32),
        _ => return None,
    })
}

/// Registers of a vector operand. Operands whose size follows the wave's are the smaller here; their
/// instructions check the rest when they are executed.
pub(crate) const fn rows(ty: Type) -> u8 {
    ty.dwords(Lanes::W64)
}

/// A source: its place, and its value if it is a constant.
pub(crate) fn source(operand: Operand, ty: Type) -> Result<(u16, u64), &'static str> {
    if let Some(value) = constant(operand, ty) {
        return Ok((CONST, value));
    }
    match operand {
        Operand::Vgpr(n) => Ok((VGPR + u16::from(n), 0)),
        Operand::Acc(n) => Ok((VGPR + 256 + u16::from(n), 0)),
        Operand::None => Ok((ABSENT, 0)),
        _ => match scalar_index(operand) {
            Some(index) => Ok((index as u16, 0)),
            None => Err("this operand"),
        },
    }
}

/// A destination.
pub(crate) fn destination(operand: Operand) -> Result<u16, &'static str> {
    match operand {
        Operand::Vgpr(n) => Ok(VGPR + u16::from(n)),
        Operand::Acc(n) => Ok(VGPR + 256 + u16::from(n)),
        Operand::None => Ok(ABSENT),
        Operand::Null => Ok(at::TRASH as u16),
        _ => match scalar_index(operand) {
            Some(index) if index < 128 => Ok(index as u16),
            _ => Err("this destination"),
        },
    }
}

/// Raises what a micro-op asks of the wave's register file to what an operand needs.
pub(crate) fn need(micro: &mut MicroOp, operand: Operand, dwords: u8) {
    let dwords = u32::from(dwords.max(1));
    let (low, high) = (micro.need & 0xffff, micro.need >> 16);
    match operand {
        Operand::Vgpr(n) => micro.need = low.max(u32::from(n) + dwords) | high << 16,
        Operand::Acc(n) => micro.need = low | high.max(u32::from(n) + dwords) << 16,
        _ => {}
    }
}
