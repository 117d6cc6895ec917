//! Operands as text.

use core::fmt::{self, Formatter};

use super::super::{
    Column, Field, Format, ImmKind, InlineFloat, Lanes, Op, Operand, OperandDesc, Type,
};
use super::{Text, imm};

impl Text<'_> {
    pub(super) fn operand(
        &self,
        f: &mut Formatter<'_>,
        operand: Operand,
        desc: &OperandDesc,
    ) -> fmt::Result {
        match desc.field {
            Field::Src0 => self.modified(f, operand, desc.ty, 0)?,
            Field::Src1 => self.modified(f, operand, desc.ty, 1)?,
            Field::Src2 => self.modified(f, operand, desc.ty, 2)?,
            Field::Dst => {
                self.plain(f, operand, desc.ty)?;
                self.half(f, operand, 3)?;
            }
            Field::Imm(kind) => return self.immediate(f, operand, kind),
            // Where the offset is written on its own.
            Field::Soffset if self.row().has(Field::Imm(ImmKind::Offset)) => {
                return match operand {
                    Operand::None => f.write_str("null"),
                    register => self.plain(f, register, desc.ty),
                };
            }
            Field::Soffset if self.inst.format == Format::Smem => {
                return self.smem_offset(f, operand);
            }
            // All 32 bits, also where 16 are used.
            Field::Literal => match operand {
                Operand::Literal(value) if self.inst.format == Format::Sopk => unmarked(f, value)?,
                Operand::Literal(value) => write!(f, "{value:#x}")?,
                other => self.plain(f, other, Type::B32)?,
            },
            Field::Saddr | Field::Addr if operand == Operand::None => return f.write_str("off"),
            _ => self.plain(f, operand, desc.ty)?,
        }
        Ok(())
    }

    /// The half of a register that an operand is, where assembly writes it with the register: since gfx11.
    fn half(&self, f: &mut Formatter<'_>, operand: Operand, bit: u8) -> fmt::Result {
        let halves = match self.row().op {
            Op::v_cvt_pk_fp8_f32 | Op::v_cvt_pk_bf8_f32 => 8,
            _ if !self.inst.format.is_vop() && self.inst.format != Format::Vinterp => 0,
            _ => self.row().short_halves(self.arch),
        };
        let written = self.arch.is_gfx11_plus() && halves >> bit & 1 == 1;
        match (operand, self.inst.mods.op_sel >> bit & 1) {
            (Operand::Vgpr(_), 0) if written => f.write_str(".l"),
            (Operand::Vgpr(_), _) if written => f.write_str(".h"),
            _ => Ok(()),
        }
    }

    /// A source with what its modifiers do to it.
    fn modified(
        &self,
        f: &mut Formatter<'_>,
        operand: Operand,
        ty: Type,
        index: u8,
    ) -> fmt::Result {
        let mods = &self.inst.mods;
        let bit = |mask: u8| mask >> index & 1 == 1;
        if mods.sdwa.is_some_and(|sdwa| bit(sdwa.sext)) {
            f.write_str("sext(")?;
            self.plain(f, operand, ty)?;
            return f.write_str(")");
        }
        // Packed operations list their modifiers at the end; the mixed-precision ones keep ABS in NEG_HI.
        let (neg, abs) = match self.inst.format {
            Format::Vop3p if self.is_mix() => (bit(mods.neg), bit(mods.neg_hi)),
            Format::Vop3p => (false, false),
            _ => (bit(mods.neg), bit(mods.abs)),
        };
        // -1 is an inline constant; minus 1 is written neg(1). A marked literal cannot be taken for one.
        let constant = match operand {
            Operand::Literal(value) => !is_marked(value, ty),
            _ => matches!(operand, Operand::Int(_) | Operand::Float(_)),
        };
        let (open, close) = match (neg, abs) {
            (true, false) if constant => ("neg(", ")"),
            (true, false) => ("-", ""),
            (true, true) => ("-|", "|"),
            (false, true) => ("|", "|"),
            (false, false) => ("", ""),
        };
        f.write_str(open)?;
        self.plain(f, operand, ty)?;
        self.half(f, operand, index)?;
        f.write_str(close)
    }

    /// Whether LLVM takes an integer source for a float of half precision.
    fn has_float_format(&self) -> bool {
        self.row().mnemonic.contains("_class_f16") || self.row().op == Op::v_ldexp_f16
    }

    fn is_sop1(&self) -> bool {
        self.inst.format == Format::Sop1
    }

    pub(super) fn is_mix(&self) -> bool {
        let name = self.row().mnemonic;
        name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix")
    }

    pub(super) fn plain(&self, f: &mut Formatter<'_>, operand: Operand, ty: Type) -> fmt::Result {
        let dwords = ty.dwords(self.lanes);
        let pair = dwords >= 2;
        let named = |single: &'static str, double: &'static str| if pair { double } else { single };
        match operand {
            Operand::None => f.write_str("off"),
            // A pair begins at an even register, also where the lane mask of wave32 need not.
            Operand::Sgpr(n) if ty == Type::Mask && pair => registers(f, "s", n & !1, dwords),
            Operand::Ttmp(n) if ty == Type::Mask && pair => registers(f, "ttmp", n & !1, dwords),
            Operand::Sgpr(n) => registers(f, "s", n, dwords),
            Operand::Vgpr(n) => registers(f, "v", n, dwords),
            Operand::Acc(n) => registers(f, "a", n, dwords),
            Operand::Ttmp(n) => registers(f, "ttmp", n, dwords),
            Operand::FlatScratchLo => f.write_str(named("flat_scratch_lo", "flat_scratch")),
            Operand::FlatScratchHi => f.write_str("flat_scratch_hi"),
            Operand::XnackMaskLo => f.write_str(named("xnack_mask_lo", "xnack_mask")),
            Operand::XnackMaskHi => f.write_str("xnack_mask_hi"),
            Operand::VccLo => f.write_str(named("vcc_lo", "vcc")),
            Operand::VccHi => f.write_str("vcc_hi"),
            Operand::M0 => f.write_str("m0"),
            Operand::Null => f.write_str("null"),
            Operand::ExecLo => f.write_str(named("exec_lo", "exec")),
            Operand::ExecHi => f.write_str("exec_hi"),
            Operand::Vccz => f.write_str("src_vccz"),
            Operand::Execz => f.write_str("src_execz"),
            Operand::Scc => f.write_str("src_scc"),
            Operand::SharedBase => f.write_str("src_shared_base"),
            Operand::SharedLimit => f.write_str("src_shared_limit"),
            Operand::PrivateBase => f.write_str("src_private_base"),
            Operand::PrivateLimit => f.write_str("src_private_limit"),
            Operand::PopsExitingWaveId => f.write_str("src_pops_exiting_wave_id"),
            Operand::LdsDirect => f.write_str("src_lds_direct"),
            Operand::Int(n) => write!(f, "{n}"),
            // 16-bit integers have no fractions: the bits are shown.
            Operand::Float(constant)
                if matches!(ty, Type::U16 | Type::I16 | Type::B16)
                    && !self.is_sop1()
                    && !self.has_float_format() =>
            {
                write!(f, "{:#x}", constant.f16_bits())
            }
            Operand::Float(constant) => f.write_str(inline_float(constant, ty)),
            // SOP1 shows all of a literal.
            Operand::Literal(value) if ty.is_16() && self.is_sop1() => literal(f, value, Type::B32),
            // Scalar comparisons take the literal for an integer.
            Operand::Literal(value) if ty == Type::F16 && self.inst.format == Format::Sopc => {
                literal(f, value, Type::U16)
            }
            // Bytes that LLVM takes for a float of half precision.
            Operand::Literal(value)
                if matches!(
                    self.row().op,
                    Op::v_cvt_pk_f32_fp8_b16 | Op::v_cvt_pk_f32_bf8_b16
                ) =>
            {
                literal(f, value, Type::F16)
            }
            Operand::Literal(value) => literal(f, value, ty),
            Operand::Imm(value) => write!(f, "{value}"),
        }
    }

    fn immediate(&self, f: &mut Formatter<'_>, operand: Operand, kind: ImmKind) -> fmt::Result {
        let value = match operand {
            Operand::Imm(value) => value as u32 & 0xffff,
            // The offset is a modifier, which assembly writes here.
            _ if kind == ImmKind::Offset => 0,
            _ => return self.plain(f, operand, Type::Imm),
        };
        match kind {
            ImmKind::Hex => write!(f, "{value:#x}"),
            // Large numbers are written in hexadecimal.
            ImmKind::Dec if value > 64 => write!(f, "{value:#x}"),
            ImmKind::Dec | ImmKind::Optional | ImmKind::Branch => write!(f, "{value}"),
            ImmKind::Waitcnt => imm::waitcnt(f, self.arch, value),
            ImmKind::Message => imm::message(f, self.arch, value, self.inst.format == Format::Sop1),
            ImmKind::Hwreg => imm::hwreg(f, self.arch, value),
            ImmKind::GprIndex => imm::gpr_index(f, value),
            ImmKind::Depctr => imm::depctr(f, value),
            ImmKind::Delay => imm::delay(f, value),
            ImmKind::Version => imm::version(f, value),
            ImmKind::Offset => hex(f, self.inst.mods.offset),
            ImmKind::Attribute => imm::attribute(f, value),
            ImmKind::Parameter => imm::parameter(f, value),
            ImmKind::Target => imm::target(f, self.arch, value),
        }
    }

    /// The offset of a scalar memory access: a register, a number, or both.
    fn smem_offset(&self, f: &mut Formatter<'_>, register: Operand) -> fmt::Result {
        let offset = self.inst.mods.offset;
        if register == Operand::None {
            if offset == 0 && matches!(self.arch.column(), Column::Gfx10 | Column::Gfx11) {
                return f.write_str("null");
            }
            return hex(f, offset);
        }
        self.plain(f, register, Type::U32)?;
        if offset != 0 || self.inst.mods.soffset_en || self.arch.is_gfx12_plus() {
            f.write_str(" offset:")?;
            hex(f, offset)?;
        }
        Ok(())
    }
}

/// A signed number in hexadecimal.
pub(super) fn hex(f: &mut Formatter<'_>, value: i32) -> fmt::Result {
    if value < 0 {
        write!(f, "-{:#x}", value.unsigned_abs())
    } else {
        write!(f, "{value:#x}")
    }
}

fn registers(f: &mut Formatter<'_>, file: &str, first: u8, dwords: u8) -> fmt::Result {
    match dwords {
        0 | 1 => write!(f, "{file}{first}"),
        _ => write!(
            f,
            "{file}[{first}:{}]",
            u16::from(first) + u16::from(dwords) - 1
        ),
    }
}

/// A literal that an inline constant could have named is marked as one. 16-bit operands read, and show, the low half.
fn literal(f: &mut Formatter<'_>, value: u32, ty: Type) -> fmt::Result {
    let half = ty.is_16();
    let read = if half { value & 0xffff } else { value };
    if ty == Type::F64 {
        // The high half of a double.
        let same = |constant: &&InlineFloat| constant.f64_bits() == u64::from(value) << 32;
        return match InlineFloat::ALL.iter().find(same) {
            Some(constant) => f.write_str(inline_float(*constant, ty)),
            None => write!(f, "{value:#x}"),
        };
    }
    if is_marked(value, ty) {
        return write!(f, "lit({value:#x})");
    }
    write!(f, "{read:#x}")
}

/// Whether an inline constant could have named a literal. Integers of 16 bits are taken for unsigned ones,
/// floats for signed ones.
fn is_marked(value: u32, ty: Type) -> bool {
    let half = ty.is_16();
    let read = if half { value & 0xffff } else { value };
    let wide = ty.dwords(Lanes::W64) > 1;
    let same = |constant: &InlineFloat| match ty {
        Type::F64 => false,
        _ if wide => false,
        Type::F16 | Type::PkF16 => u32::from(constant.f16_bits()) == read,
        Type::Bf16 | Type::PkBf16 => u32::from(constant.bf16_bits()) == read,
        _ => !half && constant.f32_bits() == read,
    };
    let number = match ty {
        Type::F16 | Type::Bf16 => i32::from(read as i16),
        _ => read as i32,
    };
    let integer = (-16..=64).contains(&number) && !(wide && number < 0) && ty != Type::F64;
    integer || InlineFloat::ALL.iter().any(same)
}

/// A literal where no inline constant could stand, so that those need no mark.
fn unmarked(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    let mut floats = InlineFloat::ALL.into_iter();
    match floats.find(|constant| constant.f32_bits() == value) {
        Some(constant) => f.write_str(inline_float(constant, Type::F32)),
        None if (-16..=64).contains(&(value as i32)) => write!(f, "{}", value as i32),
        None => write!(f, "{value:#x}"),
    }
}

fn inline_float(constant: InlineFloat, ty: Type) -> &'static str {
    match constant {
        InlineFloat::Half => "0.5",
        InlineFloat::NegHalf => "-0.5",
        InlineFloat::One => "1.0",
        InlineFloat::NegOne => "-1.0",
        InlineFloat::Two => "2.0",
        InlineFloat::NegTwo => "-2.0",
        InlineFloat::Four => "4.0",
        InlineFloat::NegFour => "-4.0",
        InlineFloat::InvTwoPi if matches!(ty, Type::B64 | Type::U64 | Type::I64 | Type::F64) => {
            "0.15915494309189532"
        }
        InlineFloat::InvTwoPi => "0.15915494",
    }
}
