//! Operand codes: what the 7, 8 and 9 bits of an operand field name.

use super::super::{Arch, InlineFloat, Lanes, Operand, Type};

/// The scalar registers: codes 0 to 127.
pub(super) fn scalar_register(arch: Arch, code: u32) -> Option<Operand> {
    let code = code as u8;
    let sgprs = if arch.is_gfx9() { 102 } else { 106 };
    Some(match code {
        _ if code < sgprs => Operand::Sgpr(code),
        102 => Operand::FlatScratchLo,
        103 => Operand::FlatScratchHi,
        104 => Operand::XnackMaskLo,
        105 => Operand::XnackMaskHi,
        106 => Operand::VccLo,
        107 => Operand::VccHi,
        108..=123 => Operand::Ttmp(code - 108),
        124 if arch.is_gfx11_plus() => Operand::Null,
        124 => Operand::M0,
        125 if arch.is_gfx11_plus() => Operand::M0,
        125 if arch.is_gfx10_plus() => Operand::Null,
        126 => Operand::ExecLo,
        127 => Operand::ExecHi,
        _ => return None,
    })
}

/// Everything that the 9 bits of a VALU source, or the 8 bits of a scalar source, can name. Code 255 is the
/// literal, which the caller has fetched.
pub(super) fn source(arch: Arch, code: u32, literal: u32) -> Option<Operand> {
    Some(match code {
        0..=127 => return scalar_register(arch, code),
        128..=192 => Operand::Int((code - 128) as i8),
        193..=208 => Operand::Int(-((code - 192) as i8)),
        235 => Operand::SharedBase,
        236 => Operand::SharedLimit,
        237 => Operand::PrivateBase,
        238 => Operand::PrivateLimit,
        239 => Operand::PopsExitingWaveId,
        240..=248 => Operand::Float(InlineFloat::ALL[code as usize - 240]),
        251 => Operand::Vccz,
        252 => Operand::Execz,
        253 => Operand::Scc,
        254 if !arch.is_gfx11_plus() => Operand::LdsDirect,
        255 => Operand::Literal(literal),
        256..=511 => Operand::Vgpr((code - 256) as u8),
        _ => return None,
    })
}

/// A scalar register tuple begins at a multiple of two or four registers; the bits below are ignored.
pub(super) fn aligned(operand: Operand, ty: Type) -> Operand {
    let mask: u8 = match ty {
        // One register in wave32.
        Type::Mask => return operand,
        _ => match ty.dwords(Lanes::W64) {
            0 | 1 => return operand,
            2 => !1,
            _ => !3,
        },
    };
    match operand {
        Operand::Sgpr(n) => Operand::Sgpr(n & mask),
        Operand::Ttmp(n) => Operand::Ttmp(n & mask),
        other => other,
    }
}
