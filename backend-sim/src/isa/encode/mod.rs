//! Instructions to bytes: the inverse of [`decode`](super::decode()).

mod graphics;
mod image;
mod memory;
mod scalar;
mod source;
mod vector;

use super::{Arch, Format, Inst, Op, Operand};

/// Machine code of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Encoded {
    words: [u32; 5],
    dwords: u8,
}

impl Encoded {
    /// The dwords, first to last.
    pub fn words(&self) -> &[u32] {
        &self.words[..usize::from(self.dwords)]
    }

    /// The bytes, as they stand in memory; [`Encoded::len`] of them are the instruction.
    pub fn bytes(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Length in bytes: 4 to 20.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        usize::from(self.dwords) * 4
    }

    fn new(words: &[u32]) -> Encoded {
        let mut encoded = Encoded::default();
        for word in words.iter().take(5) {
            encoded.push(*word);
        }
        encoded
    }

    fn push(&mut self, word: u32) {
        if let Some(slot) = self.words.get_mut(usize::from(self.dwords)) {
            *slot = word;
            self.dwords += 1;
        }
    }
}

/// Why an instruction has no machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// The processor lacks the operation, or has it in another format only.
    NotOn {
        /// The operation.
        op: Op,
        /// The format asked for.
        format: Format,
        /// The processor.
        arch: Arch,
    },
    /// The operand cannot stand in its place.
    BadOperand {
        /// The operation.
        op: Op,
        /// The operand.
        operand: Operand,
    },
    /// A modifier is out of range, or the format has no room for it.
    BadModifier {
        /// The operation.
        op: Op,
    },
    /// Two different literals, or more dwords than the format has.
    TooLong {
        /// The operation.
        op: Op,
    },
}

impl core::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            EncodeError::NotOn { op, format, arch } => {
                write!(f, "{arch} has no {op:?} in {format:?}")
            }
            EncodeError::BadOperand { op, operand } => {
                write!(f, "{op:?} cannot take {operand:?} there")
            }
            EncodeError::BadModifier { op } => write!(f, "{op:?}: a modifier does not fit"),
            EncodeError::TooLong { op } => write!(f, "{op:?} needs more literals than it can have"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Encodes one instruction. `inst.len` is not looked at.
///
/// # Errors
/// See [`EncodeError`]. What encodes decodes back to the same instruction.
pub fn encode(arch: Arch, inst: &Inst) -> Result<Encoded, EncodeError> {
    let cx = Cx { arch, inst };
    match inst.format {
        Format::Sop1 | Format::Sop2 | Format::Sopk | Format::Sopc | Format::Sopp => {
            scalar::sop(&cx)
        }
        Format::Smem => scalar::smem(&cx),
        Format::Vop1 | Format::Vop2 | Format::Vopc => vector::short(&cx),
        Format::Vop3 => vector::vop3(&cx),
        Format::Vop3p => vector::vop3p(&cx),
        Format::Vopd => vector::vopd(&cx),
        Format::Ds => memory::ds(&cx),
        Format::Flat | Format::Global | Format::Scratch if arch.is_gfx12_plus() => {
            memory::flat_gfx12(&cx)
        }
        Format::Flat | Format::Global | Format::Scratch => memory::flat(&cx),
        Format::Mubuf | Format::Mtbuf if arch.is_gfx12_plus() => memory::buffer_gfx12(&cx),
        Format::Mubuf | Format::Mtbuf => memory::buffer(&cx),
        Format::Mimg => image::image(&cx),
        Format::Vintrp => graphics::vintrp(&cx),
        Format::Vinterp => graphics::vinterp(&cx),
        Format::Ldsdir => graphics::ldsdir(&cx),
        Format::Exp => graphics::export(&cx),
    }
}

/// What every encoder needs to know.
struct Cx<'a> {
    arch: Arch,
    inst: &'a Inst,
}

impl Cx<'_> {
    fn not_here(&self) -> EncodeError {
        EncodeError::NotOn {
            op: self.inst.op,
            format: self.inst.format,
            arch: self.arch,
        }
    }

    fn bad(&self, operand: Operand) -> EncodeError {
        EncodeError::BadOperand {
            op: self.inst.op,
            operand,
        }
    }

    fn bad_modifier(&self) -> EncodeError {
        EncodeError::BadModifier { op: self.inst.op }
    }

    /// The opcode in the row's own format, which must be the instruction's.
    fn own_opcode(&self) -> Result<u32, EncodeError> {
        let row = self.inst.op.row();
        match row.code(self.arch) {
            super::Code::Own(code) if row.format == self.inst.format => Ok(u32::from(code)),
            _ => Err(self.not_here()),
        }
    }

    /// Operands with what the list says about them.
    fn operands(&self) -> impl Iterator<Item = (Operand, &'static super::OperandDesc)> + '_ {
        self.inst
            .operands
            .iter()
            .copied()
            .zip(self.inst.op.row().operands())
    }
}

const fn flag(set: bool, at: u32) -> u32 {
    (set as u32) << at
}
