//! Operand codes.

use super::super::{Arch, Operand};
use super::{Cx, EncodeError};

/// The code of a scalar register, 0 to 127.
pub(super) fn scalar_register(arch: Arch, operand: Operand) -> Option<u32> {
    let sgprs = if arch.is_gfx9() { 102 } else { 106 };
    Some(match operand {
        Operand::Sgpr(n) if n < sgprs => u32::from(n),
        Operand::FlatScratchLo if arch.is_gfx9() => 102,
        Operand::FlatScratchHi if arch.is_gfx9() => 103,
        Operand::XnackMaskLo if arch.is_gfx9() => 104,
        Operand::XnackMaskHi if arch.is_gfx9() => 105,
        Operand::VccLo => 106,
        Operand::VccHi => 107,
        Operand::Ttmp(n) if n < 16 => 108 + u32::from(n),
        Operand::M0 if arch.is_gfx11_plus() => 125,
        Operand::M0 => 124,
        Operand::Null if arch.is_gfx11_plus() => 124,
        Operand::Null if arch.is_gfx10_plus() => 125,
        Operand::ExecLo => 126,
        Operand::ExecHi => 127,
        _ => return None,
    })
}

/// The code of anything that a source field can name, with the literal if it is one.
pub(super) fn source(arch: Arch, operand: Operand) -> Option<(u32, Option<u32>)> {
    let code = match operand {
        Operand::Int(n @ 0..=64) => 128 + n as u32,
        Operand::Int(n @ -16..=-1) => 192 + n.unsigned_abs() as u32,
        Operand::SharedBase => 235,
        Operand::SharedLimit => 236,
        Operand::PrivateBase => 237,
        Operand::PrivateLimit => 238,
        Operand::PopsExitingWaveId => 239,
        Operand::Float(constant) => 240 + constant as u32,
        Operand::Vccz => 251,
        Operand::Execz => 252,
        Operand::Scc => 253,
        Operand::LdsDirect if !arch.is_gfx11_plus() => 254,
        Operand::Literal(value) => return Some((255, Some(value))),
        Operand::Vgpr(n) | Operand::Acc(n) => 256 + u32::from(n),
        other => scalar_register(arch, other)?,
    };
    Some((code, None))
}

impl Cx<'_> {
    pub(super) fn scalar_register(&self, operand: Operand) -> Result<u32, EncodeError> {
        scalar_register(self.arch, operand).ok_or(self.bad(operand))
    }

    /// A source code; a literal goes to `literal`, which can hold one.
    pub(super) fn source(
        &self,
        operand: Operand,
        literal: &mut Option<u32>,
    ) -> Result<u32, EncodeError> {
        let (code, value) = source(self.arch, operand).ok_or(self.bad(operand))?;
        match (value, *literal) {
            (Some(new), Some(old)) if new != old => {
                return Err(EncodeError::TooLong { op: self.inst.op });
            }
            (Some(new), _) => *literal = Some(new),
            (None, _) => {}
        }
        Ok(code)
    }

    /// The number of a vector register.
    pub(super) fn vgpr(&self, operand: Operand) -> Result<u32, EncodeError> {
        match operand {
            Operand::Vgpr(n) => Ok(u32::from(n)),
            _ => Err(self.bad(operand)),
        }
    }

    /// The number of a vector or, on gfx90a and later, accumulation register, and whether it is the latter.
    pub(super) fn data(&self, operand: Operand) -> Result<(u32, bool), EncodeError> {
        match operand {
            Operand::Vgpr(n) => Ok((u32::from(n), false)),
            Operand::Acc(n) if self.arch.is_gfx90a_plus() => Ok((u32::from(n), true)),
            _ => Err(self.bad(operand)),
        }
    }

    pub(super) fn immediate(&self, operand: Operand, width: u32) -> Result<u32, EncodeError> {
        match operand {
            Operand::Imm(n) if n >= -(1 << (width - 1)) && n < 1 << width => {
                Ok(n as u32 & ((1 << width) - 1))
            }
            _ => Err(self.bad(operand)),
        }
    }

    /// The byte offset as a field of `width` bits.
    pub(super) fn offset(&self, width: u32, signed: bool) -> Result<u32, EncodeError> {
        let offset = self.inst.mods.offset;
        let fits = if signed {
            offset >= -(1 << (width - 1)) && offset < 1 << (width - 1)
        } else {
            offset >= 0 && offset < 1 << width
        };
        if fits {
            Ok(offset as u32 & ((1 << width) - 1))
        } else {
            Err(self.bad_modifier())
        }
    }
}
