//! A decoded instruction.

use super::image::{Image, registers};
use super::{Field, Lanes, Op, Operand, Type};

/// One decoded instruction: what it does, on which operands, with which modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    /// The operation. For VOPD, the one of the X half.
    pub op: Op,
    /// VOPD: the operation of the Y half.
    pub op_y: Option<Op>,
    /// The encoding that the instruction was found in.
    pub format: Format,
    /// Length in bytes: 4, 8, 12 or 16, with the literal, DPP or SDWA dword if there is one, or the scales of a matrix
    /// operation; up to 20 with the registers of an image's address.
    pub len: u8,
    /// Operands in assembly order, described one by one by `op.row().operands()`.
    /// VOPD: the X half in 0..4, the Y half in 4..8.
    pub operands: [Operand; 8],
    /// Everything that assembly writes after or around the operands.
    pub mods: Mods,
}

impl Inst {
    /// What the operand at `index` holds. Mostly the row's type; addresses depend on how they are formed.
    /// Indices beyond the row's operands hold [`Type::Imm`], which is no register at all.
    pub fn operand_type(&self, index: usize) -> Type {
        let (op, index) = match (self.op_y, index) {
            (Some(op_y), 4..) => (op_y, index - 4),
            _ => (self.op, index),
        };
        let Some(desc) = op.row().operands().get(index) else {
            return Type::Imm;
        };
        match (self.format, desc.field) {
            // A 32-bit offset to the scalar base.
            (Format::Global, Field::Addr) if self.has_saddr() => Type::U32,
            // Index and offset.
            (Format::Mubuf | Format::Mtbuf, Field::Addr) if self.mods.idxen && self.mods.offen => {
                Type::B64
            }
            (Format::Mubuf | Format::Mtbuf, Field::Addr) if self.mods.addr64 => Type::U64,
            (Format::Mimg, Field::Dst | Field::Data) => {
                registers(self.mods.image.data_dwords(self.op) + usize::from(self.mods.tfe))
            }
            (Format::Mimg, Field::Addr) => registers(self.mods.image.group_dwords(self.op, 0)),
            // The texture fault flag takes one register more.
            (Format::Mubuf | Format::Mtbuf, Field::Dst | Field::Data) if self.mods.tfe => {
                match desc.ty.dwords(Lanes::W64) {
                    1 => Type::B64,
                    2 => Type::B96,
                    3 => Type::B128,
                    _ => Type::B160,
                }
            }
            // Formats of A and B choose how many registers their elements take.
            (Format::Vop3p, Field::Src0) if self.op.is_f8f6f4() => narrow_matrix(self.mods.cbsz),
            (Format::Vop3p, Field::Src1) if self.op.is_f8f6f4() => narrow_matrix(self.mods.blgp),
            _ => desc.ty,
        }
    }

    fn has_saddr(&self) -> bool {
        let mut operands = self.operands.iter().zip(self.op.row().operands());
        operands.any(|(operand, desc)| desc.field == Field::Saddr && *operand != Operand::None)
    }
}

/// 32 elements a lane of the format that CBSZ or BLGP names: FP8, BF8, FP6, BF6, FP4. The codes beyond name none.
const fn narrow_matrix(format: u8) -> Type {
    match format {
        2 | 3 => Type::B192,
        4 => Type::B128,
        _ => Type::B256,
    }
}

/// An encoding family, named as in the ISA manuals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Format {
    /// Scalar, one source.
    Sop1,
    /// Scalar, two sources.
    Sop2,
    /// Scalar with a 16-bit immediate.
    Sopk,
    /// Scalar compare.
    Sopc,
    /// Scalar program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, one source, 32 bits; with [`Mods::dpp`] or [`Mods::sdwa`], its 64-bit forms.
    Vop1,
    /// Vector, two sources, 32 bits; with [`Mods::dpp`] or [`Mods::sdwa`], its 64-bit forms.
    Vop2,
    /// Vector compare, 32 bits; with [`Mods::dpp`] or [`Mods::sdwa`], its 64-bit forms.
    Vopc,
    /// Vector, up to three sources, 64 bits (VOP3A and VOP3B).
    Vop3,
    /// Packed vector, dot products and matrix operations.
    Vop3p,
    /// Two vector operations in one instruction (wave32, gfx11 and later).
    Vopd,
    /// Local data share.
    Ds,
    /// Flat memory.
    Flat,
    /// Global memory.
    Global,
    /// Private memory.
    Scratch,
    /// Untyped buffer memory.
    Mubuf,
    /// Typed buffer memory.
    Mtbuf,
    /// Images (VIMAGE and VSAMPLE on gfx12).
    Mimg,
    /// Interpolation of attributes from LDS (gfx9 and gfx10).
    Vintrp,
    /// Interpolation of attributes from registers (gfx11 and later).
    Vinterp,
    /// Loads of attributes and of single dwords from LDS (gfx11 and later; VDSDIR on gfx12).
    Ldsdir,
    /// Exports.
    Exp,
}

impl Format {
    /// Whether it is one of the vector ALU encodings with up to three sources, VOP3P apart.
    pub(super) const fn is_vop(self) -> bool {
        matches!(
            self,
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3
        )
    }

    /// The formats that have a list of instructions, in its order. VOPD pairs instructions of other lists.
    pub const LISTS: [Format; 22] = [
        Format::Sop1,
        Format::Sop2,
        Format::Sopk,
        Format::Sopc,
        Format::Sopp,
        Format::Smem,
        Format::Vop1,
        Format::Vop2,
        Format::Vopc,
        Format::Vop3,
        Format::Vop3p,
        Format::Ds,
        Format::Flat,
        Format::Global,
        Format::Scratch,
        Format::Mubuf,
        Format::Mtbuf,
        Format::Mimg,
        Format::Vintrp,
        Format::Vinterp,
        Format::Ldsdir,
        Format::Exp,
    ];
}

/// Modifiers. A field that the instruction's encoding lacks is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mods {
    /// Negation per source (bit 0 is the first). VOP3P: of the low half. SDWA and DPP: as for VOP3.
    pub neg: u8,
    /// VOP3P: negation of the high half per source.
    pub neg_hi: u8,
    /// Absolute value per source.
    pub abs: u8,
    /// High-half selection per source (bits 0 to 2) and destination (bit 3). VOP3P: of the low result.
    pub op_sel: u8,
    /// VOP3P: half selection per source for the high result.
    pub op_sel_hi: u8,
    /// Clamp the result (saturate, for integers).
    pub clamp: bool,
    /// Output multiplier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// Byte offset of a memory access, sign-extended. DS with two addresses: the first offset, in elements.
    pub offset: i32,
    /// DS with two addresses: the second offset, in elements.
    pub offset1: u8,
    /// Cache policy.
    pub cache: Cache,
    /// Buffer: load to LDS (gfx9).
    pub lds: bool,
    /// Buffer: texture fail enable.
    pub tfe: bool,
    /// Buffer: the address VGPR holds an offset.
    pub offen: bool,
    /// Buffer: the address VGPR holds an index.
    pub idxen: bool,
    /// Buffer (gfx908 and older): 64-bit address in VADDR.
    pub addr64: bool,
    /// DS: global data share.
    pub gds: bool,
    /// Images.
    pub image: Image,
    /// Exports.
    pub export: Export,
    /// What an instruction waits for before it executes. VINTERP: exports left, 7 if it does not wait. LDSDIR: vector
    /// instructions left in bits 0 to 3; in bit 4, on gfx12, that it does not wait for memory instructions to read.
    pub wait: u8,
    /// Typed buffer: gfx9 dfmt in bits 0 to 3 and nfmt in bits 4 to 6; the 7-bit format since gfx10.
    pub fmt: u8,
    /// SMEM (gfx9): the offset is the sum of a register and a number.
    pub soffset_en: bool,
    /// Matrix operations: broadcast size.
    pub cbsz: u8,
    /// Matrix operations: broadcast block.
    pub abid: u8,
    /// Matrix operations: lane pattern of B (or negation, for double precision on gfx942).
    pub blgp: u8,
    /// `v_bitop3`: the truth table, bit `4 * a + 2 * b + c`.
    pub bitop3: u8,
    /// Data-parallel permutation of the first source.
    pub dpp: Option<Dpp>,
    /// Sub-dword addressing.
    pub sdwa: Option<Sdwa>,
}

/// Modifiers of exports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Export {
    /// The last export to this kind of target.
    pub done: bool,
    /// Two 16-bit numbers a register: the first register is both of the first operands, the second both of the others.
    pub compr: bool,
    /// EXEC is the mask of valid pixels (before gfx11).
    pub vm: bool,
    /// M0 has the row (gfx11 and later).
    pub row_en: bool,
}

/// Cache policy bits. Before gfx12 GLC, SLC, DLC and SCC; since gfx12 a temporal hint and a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Cache(pub u8);

impl Cache {
    /// GLC; gfx942: SC0. On atomics: return the value before.
    pub const GLC: u8 = 1;
    /// SLC; gfx942: NT.
    pub const SLC: u8 = 2;
    /// DLC (gfx10, gfx11).
    pub const DLC: u8 = 4;
    /// SCC (gfx90a); gfx942: SC1.
    pub const SCC: u8 = 8;

    /// Sets one of the bits above.
    pub const fn set(&mut self, bit: u8, value: bool) {
        if value {
            self.0 |= bit;
        }
    }

    /// Before gfx12: whether GLC (SC0) is set.
    pub const fn glc(self) -> bool {
        self.0 & Self::GLC != 0
    }

    /// gfx12: the temporal hint, 0 to 7; bit 0 on atomics: return the value before.
    pub const fn temporal_hint(self) -> u8 {
        self.0 & 7
    }

    /// gfx12: the scope: 0 CU, 1 SE, 2 device, 3 system.
    pub const fn scope(self) -> u8 {
        self.0 >> 3 & 3
    }
}

/// Data-parallel primitives: where the first source's lanes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dpp {
    /// Arbitrary permutation within eight lanes (gfx10 and later).
    Dpp8 {
        /// Three bits per destination lane, lane 0 in bits 2 to 0.
        selectors: u32,
        /// Read inactive lanes' registers instead of zero.
        fetch_inactive: bool,
    },
    /// A fixed pattern within rows of 16 lanes or the wave.
    Dpp16 {
        /// The pattern.
        ctrl: DppCtrl,
        /// Rows that are written, bit per row.
        row_mask: u8,
        /// Banks (of four lanes) that are written, bit per bank.
        bank_mask: u8,
        /// Out-of-range lanes read zero instead of disabling the write.
        bound_ctrl: bool,
        /// Read inactive lanes' registers instead of zero (gfx10 and later).
        fetch_inactive: bool,
    },
}

/// DPP16 patterns (`DPP_CTRL` in the ISA manuals).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DppCtrl {
    /// Lane i of four reads lane `.0[i]`.
    QuadPerm([u8; 4]),
    /// Row shift left by 1 to 15 lanes.
    RowShl(u8),
    /// Row shift right by 1 to 15 lanes.
    RowShr(u8),
    /// Row rotate right by 1 to 15 lanes.
    RowRor(u8),
    /// Wave shift left by one (gfx9).
    WaveShl,
    /// Wave rotate left by one (gfx9).
    WaveRol,
    /// Wave shift right by one (gfx9).
    WaveShr,
    /// Wave rotate right by one (gfx9).
    WaveRor,
    /// Mirror within a row.
    RowMirror,
    /// Mirror within half a row.
    RowHalfMirror,
    /// Lane 15 of each row to the next row (gfx9).
    RowBcast15,
    /// Lane 31 to rows 2 and 3 (gfx9).
    RowBcast31,
    /// Every lane of a row reads lane n of that row (gfx90a: `row_newbcast`; gfx10 and later: `row_share`).
    RowShare(u8),
    /// Lane i reads lane i xor n of its row (gfx10 and later).
    RowXmask(u8),
}

/// Sub-dword addressing (gfx9 and gfx10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sdwa {
    /// Part of the destination written. Compares have none: [`Select::Dword`].
    pub dst_sel: Select,
    /// What becomes of the rest of the destination.
    pub dst_unused: Unused,
    /// Part of the first source read.
    pub src0_sel: Select,
    /// Part of the second source read.
    pub src1_sel: Select,
    /// Sign-extension per source (bit 0 is the first).
    pub sext: u8,
}

impl Sdwa {
    /// Whole registers, unextended.
    pub const WHOLE: Sdwa = Sdwa {
        dst_sel: Select::Dword,
        dst_unused: Unused::Pad,
        src0_sel: Select::Dword,
        src1_sel: Select::Dword,
        sext: 0,
    };
}

/// A byte, a half or all of a dword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Select {
    /// Bits 7 to 0.
    Byte0,
    /// Bits 15 to 8.
    Byte1,
    /// Bits 23 to 16.
    Byte2,
    /// Bits 31 to 24.
    Byte3,
    /// Bits 15 to 0.
    Word0,
    /// Bits 31 to 16.
    Word1,
    /// All.
    Dword,
}

/// SDWA: the destination bits outside of the selected part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Unused {
    /// Become zero.
    Pad,
    /// Become copies of the result's sign.
    Sext,
    /// Stay.
    Preserve,
}
