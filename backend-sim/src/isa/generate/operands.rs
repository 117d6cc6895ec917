//! Operands of each kind.

use super::Maker;
use crate::isa::image::{is_vsample, registers};
use crate::isa::row::{Field, Flags, ImmKind, OperandDesc, Type};
use crate::isa::{Column, Dir, Format, InlineFloat, Lanes, Op, Operand};

impl Maker<'_> {
    pub(super) fn operand(&mut self, desc: &OperandDesc) -> Operand {
        let vector = matches!(
            self.format,
            Format::Vop1
                | Format::Vop2
                | Format::Vopc
                | Format::Vop3
                | Format::Vop3p
                | Format::Vopd
                | Format::Vintrp
        );
        match desc.field {
            Field::Dst | Field::Data if self.format == Format::Smem => self.sgpr(desc.ty),
            Field::Dst if !vector && is_scalar(self.format) => self.scalar_destination(desc.ty),
            Field::Dst | Field::Data if self.format == Format::Mimg => {
                let dwords = self.mods.image.data_dwords(self.row.op);
                self.vgpr(registers(dwords + usize::from(self.mods.tfe)))
            }
            Field::Dst if self.mods.lds => Operand::None,
            Field::Dst | Field::Data | Field::Data1 => self.vgpr(desc.ty),
            Field::ScalarDst => self.scalar_destination(desc.ty),
            Field::AccDst | Field::AccSrc0 => Operand::Acc(self.rng.below(256) as u8),
            Field::MaskDst | Field::CmpxDst => self.mask_destination(desc.field),
            Field::Src0 | Field::Src1 | Field::Src2 if self.format == Format::Vinterp => {
                self.vgpr(Type::B32)
            }
            Field::Src0 if self.row.op.is_pseudo_scalar() => self.scalar_source(desc.ty),
            Field::Src0 | Field::Src1 | Field::Src2 if vector => self.vector_source(desc),
            Field::Src0 | Field::Src1 | Field::Src2 => self.scalar_source(desc.ty),
            Field::Literal => Operand::Literal(self.literal()),
            Field::Imm(ImmKind::Offset) => Operand::None,
            Field::Imm(kind) => self.immediate(kind),
            Field::Base | Field::Rsrc => self.sgpr(desc.ty),
            Field::Soffset if self.format == Format::Smem => {
                if self.mods.soffset_en || self.rng.one_in(2) {
                    if !self.mods.soffset_en && self.arch.is_gfx9() {
                        self.mods.offset = 0;
                    }
                    self.sgpr(Type::B32)
                } else {
                    Operand::None
                }
            }
            Field::Soffset => self.sgpr(Type::B32),
            Field::Saddr => {
                if self.rng.one_in(2) {
                    self.sgpr(desc.ty)
                } else {
                    Operand::None
                }
            }
            Field::Addr if matches!(self.format, Format::Mubuf | Format::Mtbuf) => {
                match (self.mods.offen, self.mods.idxen) {
                    (false, false) => Operand::None,
                    (true, true) => self.vgpr(Type::B64),
                    _ => self.vgpr(Type::B32),
                }
            }
            Field::Addr if self.format == Format::Mimg => self.image_address(),
            Field::Samp => self.sgpr(desc.ty),
            Field::Export(n) if self.mods.export.compr && n % 2 == 1 => Operand::None,
            Field::Export(_) if self.rng.one_in(3) => Operand::None,
            Field::Export(_) => self.vgpr(desc.ty),
            Field::Addr => self.vgpr(desc.ty),
            Field::Scale => self.vgpr(Type::B32),
            Field::Ret if self.mods.cache.glc() => self.vgpr(desc.ty),
            Field::Ret => Operand::None,
        }
    }

    /// The first registers of an image's address: in one group, or named one by one.
    pub(super) fn image_address(&mut self) -> Operand {
        let op = self.row.op;
        let gfx12 = self.arch.is_gfx12_plus();
        let often = gfx12 || self.rng.one_in(2);
        // What the encodings can name; gfx10 takes as many dwords as it needs.
        let names = match self.arch.column() {
            Column::Gfx10 => 13,
            Column::Gfx12 if is_vsample(op) => 4,
            _ => 5,
        };
        if self.arch.is_gfx10_plus() && often {
            let image = &self.mods.image;
            self.mods.image.groups = image.grouped(self.arch, op, names).unwrap_or(0);
            for group in 1..usize::from(self.mods.image.groups) {
                let dwords = self.mods.image.group_dwords(op, group);
                if let (Operand::Vgpr(n), Some(to)) = (
                    self.vgpr(registers(dwords)),
                    self.mods.image.further.get_mut(group - 1),
                ) {
                    *to = n;
                }
            }
        }
        self.vgpr(registers(self.mods.image.group_dwords(op, 0)))
    }

    /// Makes operands agree with each other where the encoding wants it.
    pub(super) fn fix_up(&mut self, operands: &mut [Operand; 8]) {
        let row = self.row;
        if self.format.is_vop() && self.format != Format::Vop3 {
            // Which half of a register is part of its number.
            for (operand, desc) in operands.iter().zip(row.operands()) {
                let bit = match desc.field {
                    Field::Dst => 8,
                    Field::Src0 => 1,
                    Field::Src1 => 2,
                    _ => 0,
                };
                if matches!(operand, Operand::Vgpr(_)) && self.rng.one_in(2) {
                    self.mods.op_sel |= bit & row.short_halves(self.arch);
                }
            }
        }
        if self.format == Format::Scratch {
            // One address register, or on gfx942 and gfx11 any combination.
            let both = self.arch.is_gfx942_plus() || self.arch.is_gfx11_plus();
            let index = |field| row.operands().iter().position(|o| o.field == field);
            if let (Some(addr), Some(saddr)) = (index(Field::Addr), index(Field::Saddr)) {
                let keep = both && self.rng.one_in(2);
                if operands[saddr] != Operand::None && !keep {
                    operands[addr] = Operand::None;
                }
            }
        }
        if self.format == Format::Vop3p
            && row.flags.has(Flags::MATRIX)
            && row.operands().len() > 2
            && self.arch.column() == Column::Gfx9
        {
            // gfx908 accumulates in accumulation registers.
            for (slot, desc) in operands.iter_mut().zip(row.operands()) {
                if let (Operand::Vgpr(n), Field::Dst | Field::Src2) = (*slot, desc.field) {
                    *slot = Operand::Acc(n);
                }
            }
        }
    }

    pub(super) fn vgpr(&mut self, ty: Type) -> Operand {
        let dwords = u32::from(ty.dwords(Lanes::W32).max(ty.dwords(Lanes::W64)).max(1));
        let half = self.arch.is_gfx11_plus() && ty.is_16() && self.format != Format::Vop3;
        let count = if half { 128 } else { 257 - dwords };
        let number = self.rng.below(count) as u8;
        let even = self.arch.is_gfx90a_plus() && dwords > 1;
        Operand::Vgpr(if even { number & !1 } else { number })
    }

    pub(super) fn sgpr(&mut self, ty: Type) -> Operand {
        let dwords = u32::from(ty.dwords(Lanes::W64).max(1));
        let align = if dwords == 1 {
            1
        } else if dwords == 2 {
            2
        } else {
            4
        };
        let sgprs = if self.arch.is_gfx9() { 102 } else { 106 };
        Operand::Sgpr((self.rng.below((sgprs - dwords) / align + 1) * align) as u8)
    }

    pub(super) fn scalar_destination(&mut self, ty: Type) -> Operand {
        match self.rng.below(8) {
            0 => Operand::VccLo,
            1 => Operand::ExecLo,
            2 if ty.dwords(Lanes::W64) == 1 => Operand::M0,
            3 if ty.dwords(Lanes::W64) == 1 => Operand::VccHi,
            4 => Operand::Ttmp((self.rng.below(6) * 2) as u8),
            _ => self.sgpr(ty),
        }
    }

    pub(super) fn mask_destination(&mut self, field: Field) -> Operand {
        let exec = field == Field::CmpxDst && self.arch.is_gfx10_plus();
        let sdwa = self.mods.sdwa.is_some() && self.format == Format::Vopc;
        match self.format {
            _ if exec => Operand::ExecLo,
            Format::Vop3 => self.sgpr(Type::B64),
            _ if sdwa && self.rng.one_in(2) => self.sgpr(Type::B64),
            _ => Operand::VccLo,
        }
    }

    pub(super) fn literal(&mut self) -> u32 {
        match self.rng.below(8) {
            // What an inline constant could have named.
            0 => (self.rng.below(81) as i32 - 16) as u32,
            1 => InlineFloat::ALL[self.rng.below(9) as usize].f32_bits(),
            _ => self.rng.next_u32() | 0x0100_0041,
        }
    }

    pub(super) fn scalar_source(&mut self, ty: Type) -> Operand {
        match self.rng.below(10) {
            0 => Operand::VccLo,
            1 => Operand::ExecLo,
            2 => Operand::Int(self.rng.below(81) as i8 - 16),
            3 if ty != Type::I16 => Operand::Float(InlineFloat::ALL[self.rng.below(9) as usize]),
            4 if self.scalar.is_none() && ty.dwords(Lanes::W64) == 1 => {
                self.scalar = Some(Operand::Literal(self.literal()));
                self.scalar.unwrap_or_default()
            }
            5 if ty.dwords(Lanes::W64) == 1 => Operand::Scc,
            _ => self.sgpr(ty),
        }
    }

    pub(super) fn vector_source(&mut self, desc: &OperandDesc) -> Operand {
        let ty = desc.ty;
        let matrix = self.row.flags.has(Flags::MATRIX)
            || self.is_wave_matrix()
            || self.row.mnemonic.starts_with("v_cvt_scalef32") && desc.ty.dwords(Lanes::W64) > 2;
        let short = !matches!(self.format, Format::Vop3 | Format::Vop3p);
        let sdwa = self.mods.sdwa.is_some();
        let must_be_vgpr = desc.dir == Dir::ReadWrite
            || matrix
            || self.row.has_attribute()
            || short && desc.field == Field::Src1 && !sdwa
            || self.mods.dpp.is_some() && desc.field == Field::Src0;
        // Lane numbers and lane values of the scalar file.
        let must_be_scalar = match self.row.op {
            Op::v_readlane_b32 => desc.field == Field::Src1,
            Op::v_writelane_b32 => true,
            Op::v_permlane16_b32 | Op::v_permlanex16_b32 => desc.field != Field::Src0,
            _ => false,
        };
        match ty {
            Type::Mask if short => return Operand::VccLo,
            Type::Mask => return self.sgpr(Type::B64),
            _ if must_be_vgpr => return self.vgpr(ty),
            _ => {}
        }
        let literals = self.mods.dpp.is_none() && !sdwa && (short || !self.arch.is_gfx9());
        match self.rng.below(8) {
            0 | 1 if self.scalar.is_none() || must_be_scalar => {
                let operand = self.sgpr(ty);
                self.scalar = Some(operand);
                operand
            }
            2 => Operand::Int(self.rng.below(81) as i8 - 16),
            3 if ty.is_float() => Operand::Float(InlineFloat::ALL[self.rng.below(9) as usize]),
            4 if literals
                && self.scalar.is_none()
                && ty.dwords(Lanes::W64) == 1
                && !must_be_scalar =>
            {
                // The mixed-precision operations read half of a literal, as LLVM writes it.
                let half = ty.is_16() || self.row.mnemonic.starts_with("v_fma_mix");
                let literal = if half {
                    self.literal() & 0xffff
                } else {
                    self.literal()
                };
                self.scalar = Some(Operand::Literal(literal));
                Operand::Literal(literal)
            }
            _ if must_be_scalar => Operand::Int(self.rng.below(65) as i8),
            _ => self.vgpr(ty),
        }
    }

    pub(super) fn immediate(&mut self, kind: ImmKind) -> Operand {
        let bits = self.rng.next_u32();
        Operand::Imm(match kind {
            _ if self.format == Format::Smem => (bits & 0x7f) as i32,
            ImmKind::Message if self.format == Format::Sop1 => 128 + (bits % 7) as i32,
            // A generation, known or not, and flags in the top bits.
            ImmKind::Version => [0, 4, 6, 9, 8][(bits % 5) as usize] | (bits & 0xe000) as i32,
            ImmKind::GprIndex => (bits & 15) as i32,
            ImmKind::Branch => i32::from(bits as i16),
            ImmKind::Message => (bits & 15) as i32,
            ImmKind::Delay => {
                let (first, skip, second) = (bits % 12, bits >> 8 & 3, (bits >> 16) % 12);
                (first | skip << 4 | second << 7) as i32
            }
            ImmKind::Depctr => (bits & 0xff9f) as i32,
            ImmKind::Attribute => (bits & 0xff) as i32,
            ImmKind::Parameter => (bits % 3) as i32,
            ImmKind::Target => (bits & 63) as i32,
            _ => (bits & 0xffff) as i32,
        })
    }
}

pub(super) fn is_source(field: Field) -> bool {
    matches!(field, Field::Src0 | Field::Src1 | Field::Src2)
}

pub(super) fn is_scalar(format: Format) -> bool {
    matches!(
        format,
        Format::Sop1 | Format::Sop2 | Format::Sopk | Format::Sopc | Format::Sopp | Format::Smem
    )
}
