//! Bytes to instructions.
//!
//! Fields that an instruction does not use are ignored, as the hardware ignores them. A decoder that sees
//! something it cannot name says so; it never guesses.

mod graphics;
mod image;
mod memory;
mod scalar;
mod source;
mod vector;
mod vopd;

use super::{Arch, Format, Inst, Mods, Op, Operand, table};

/// Why bytes are not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The instruction goes on beyond the bytes given.
    Truncated {
        /// Bytes that the instruction needs, as far as known.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The first dword begins no encoding that this processor has here.
    UnknownEncoding {
        /// Whose encodings were searched.
        arch: Arch,
        /// The dword.
        word: u32,
    },
    /// The encoding is known, its opcode is not.
    UnknownOpcode {
        /// Whose list was searched.
        arch: Arch,
        /// The encoding.
        format: Format,
        /// The opcode, as the encoding numbers it.
        opcode: u32,
    },
    /// An operand field holds a code that names nothing.
    BadOperand {
        /// The operation.
        op: Op,
        /// The code in the field.
        code: u32,
    },
    /// The operation exists, but not in this form: no DPP, no SDWA, no VOP3.
    NoSuchForm {
        /// The operation.
        op: Op,
        /// The form asked for.
        form: &'static str,
    },
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            DecodeError::Truncated { need, have } => {
                write!(f, "instruction needs {need} bytes, {have} are there")
            }
            DecodeError::UnknownEncoding { arch, word } => {
                write!(f, "unsupported encoding for {arch}: {word:#010x}")
            }
            DecodeError::UnknownOpcode {
                arch,
                format,
                opcode,
            } => {
                write!(f, "unsupported {format:?} opcode {opcode:#x} for {arch}")
            }
            DecodeError::BadOperand { op, code } => {
                write!(f, "{op:?}: operand code {code:#x} names nothing")
            }
            DecodeError::NoSuchForm { op, form } => write!(f, "{op:?} has no {form} form"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Decodes the instruction that `bytes` begins with. Bytes beyond its end are not looked at.
///
/// # Errors
/// See [`DecodeError`]. No input panics.
pub fn decode(arch: Arch, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let words = Words { bytes };
    let word = words.at(0)?;
    let unknown = DecodeError::UnknownEncoding { arch, word };
    let cx = Cx { arch, words };
    if word >> 31 == 0 {
        return match word >> 25 {
            0x3f => vector::vop1(&cx, word),
            0x3e => vector::vopc(&cx, word),
            _ => vector::vop2(&cx, word),
        };
    }
    if word >> 30 == 0b10 {
        return match word >> 23 {
            0x17d => scalar::sop1(&cx, word),
            0x17e => scalar::sopc(&cx, word),
            0x17f => scalar::sopp(&cx, word),
            _ if word >> 28 == 0b1011 => scalar::sopk(&cx, word),
            _ => scalar::sop2(&cx, word),
        };
    }
    // The remaining encodings: six bits (the manuals' ENCODING field), which each generation assigns anew.
    match (word >> 26, arch.is_gfx9(), arch.is_gfx12_plus()) {
        (0b110000, true, _) => scalar::smem(&cx, word),
        (0b110100, true, _) if word >> 23 == 0b1_1010_0111 => vector::vop3p(&cx, word),
        (0b110100, true, _) => vector::vop3(&cx, word),
        (0b111101, false, _) => scalar::smem(&cx, word),
        (0b110101, false, _) => vector::vop3(&cx, word),
        (0b110011, false, _) if bits(word, 23, 3) == 0 => vector::vop3p(&cx, word),
        (0b110011, false, _) if bits(word, 24, 2) == 1 => graphics::vinterp(&cx, word),
        (0b110011, false, _) if bits(word, 24, 2) == 2 => graphics::ldsdir(&cx, word),
        (0b110010, false, _) if arch.is_gfx11_plus() => vopd::vopd(&cx, word),
        (0b110010, false, _) | (0b110101, true, _) => graphics::vintrp(&cx, word),
        (0b110001, true, _) | (0b111110, false, _) => graphics::export(&cx, word),
        (0b110110, ..) => memory::ds(&cx, word),
        (0b110111, _, false) => memory::flat(&cx, word),
        (0b111000, _, false) => memory::mubuf(&cx, word),
        (0b111010, _, false) => memory::mtbuf(&cx, word),
        (0b111011, _, true) => memory::flat_gfx12(&cx, word),
        (0b110001, _, true) => memory::buffer_gfx12(&cx, word),
        (0b111100, _, false) => image::mimg(&cx, word),
        (0b110100, false, true) => image::gfx12(&cx, word, false),
        (0b111001, _, true) => image::gfx12(&cx, word, true),
        _ => Err(unknown),
    }
}

/// The dwords of the instruction being decoded.
#[derive(Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
}

impl Words<'_> {
    fn at(self, index: usize) -> Result<u32, DecodeError> {
        let need = index * 4 + 4;
        match self.bytes.get(need - 4..need) {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
            _ => Err(DecodeError::Truncated {
                need,
                have: self.bytes.len(),
            }),
        }
    }
}

/// What every decoder needs to know.
struct Cx<'a> {
    arch: Arch,
    words: Words<'a>,
}

impl Cx<'_> {
    fn lookup(&self, format: Format, opcode: u32) -> Result<Op, DecodeError> {
        let unknown = DecodeError::UnknownOpcode {
            arch: self.arch,
            format,
            opcode,
        };
        table::lookup(self.arch, format, opcode).ok_or(unknown)
    }
}

/// Bits `low + width - 1` to `low`.
const fn bits(word: u32, low: u32, width: u32) -> u32 {
    word >> low & ((1 << width) - 1)
}

/// One bit.
const fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 != 0
}

/// The low `width` bits as a signed number.
const fn signed(value: u32, width: u32) -> i32 {
    ((value << (32 - width)) as i32) >> (32 - width)
}

fn inst(op: Op, format: Format, dwords: u8, operands: [Operand; 8], mods: Mods) -> Inst {
    // Without operands there is nothing to modify, but for the scope of a cache operation; that v_nop has forms of
    // eight bytes is kept.
    let mods = match op.row().operands() {
        [] if format != Format::Ds => Mods {
            cache: mods.cache,
            dpp: mods.dpp,
            sdwa: mods.sdwa,
            ..Mods::default()
        },
        _ => mods,
    };
    Inst {
        op,
        op_y: None,
        format,
        len: dwords * 4,
        operands,
        mods,
    }
}
