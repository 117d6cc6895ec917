//! Instructions to assembly, as llvm-objdump writes them.

mod imm;
mod modifiers;
mod operand;

use core::fmt::{self, Display, Formatter};

use super::image::registers;
use super::list::vopd::DUALS;
use super::row::Code;
use super::{Arch, Field, Format, ImmKind, Inst, Lanes, Op, Operand, OperandDesc, Row};

/// An instruction as assembly text; see [`Inst::text`].
pub struct Text<'a> {
    inst: &'a Inst,
    arch: Arch,
    lanes: Lanes,
}

impl Inst {
    /// The instruction as assembly. `arch` must be the one that it was decoded for; `lanes` decides how lane
    /// masks are written (`vcc` or `vcc_lo`).
    pub fn text(&self, arch: Arch, lanes: Lanes) -> Text<'_> {
        Text {
            inst: self,
            arch,
            lanes,
        }
    }
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Text { inst, arch, .. } = *self;
        if let Some(op_y) = inst.op_y {
            f.write_str(self.dual_mnemonic(inst.op))?;
            self.operands(f, inst.op, 0)?;
            write!(f, " :: {}", self.dual_mnemonic(op_y))?;
            return self.operands(f, op_y, 4);
        }
        f.write_str(inst.op.row().mnemonic_on(arch))?;
        f.write_str(self.suffix())?;
        self.operands(f, inst.op, 0)?;
        self.modifiers(f)
    }
}

impl Text<'_> {
    fn row(&self) -> &'static Row {
        self.inst.op.row()
    }

    fn dual_mnemonic(&self, op: Op) -> &'static str {
        let dual = DUALS.iter().find(|d| d.op == op);
        dual.map_or("", |d| {
            if self.arch.is_gfx12_plus() {
                d.mnemonic_gfx12
            } else {
                d.mnemonic
            }
        })
    }

    /// What tells the forms of a vector instruction apart. Instructions with a single form have no suffix.
    fn suffix(&self) -> &'static str {
        let Inst { format, mods, .. } = self.inst;
        let row = self.row();
        match format {
            _ if row.operands().is_empty() => "",
            _ if mods.sdwa.is_some() => "_sdwa",
            Format::Vop1 | Format::Vop2 if mods.dpp.is_some() => "_dpp",
            Format::Vopc if mods.dpp.is_some() => "",
            Format::Vop3 | Format::Vop3p if mods.dpp.is_some() => "_e64_dpp",
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp
                if row.has_vop3(self.arch) =>
            {
                "_e32"
            }
            Format::Vop1 if row.op == Op::v_mov_b16 => "_e32",
            Format::Vop2 if row.op == Op::v_pk_fmac_f16 && self.arch.is_gfx9() => "_e32",
            Format::Vop3
                if matches!(row.code(self.arch), Code::Own(_)) && row.format != Format::Vop3 =>
            {
                "_e64"
            }
            _ => "",
        }
    }

    /// Operands of `op`, which stand in the instruction from index `first` on.
    fn operands(&self, f: &mut Formatter<'_>, op: Op, first: usize) -> fmt::Result {
        let image = &self.inst.mods.image;
        let operands = &self.inst.operands[first..];
        let mut separator = " ";
        for (index, (operand, desc)) in operands.iter().zip(op.row().operands()).enumerate() {
            if self.is_unwritten(*operand, desc.field) {
                continue;
            }
            f.write_str(separator)?;
            separator = ", ";
            let desc = OperandDesc {
                ty: self.inst.operand_type(first + index),
                ..*desc
            };
            if image.groups > 1 && desc.field == Field::Addr {
                // Address registers that are named one by one stand in brackets.
                f.write_str("[")?;
                self.operand(f, *operand, &desc)?;
                for group in 1..usize::from(image.groups) {
                    let ty = registers(image.group_dwords(op, group));
                    let first = image.further.get(group - 1).copied().unwrap_or(0);
                    f.write_str(", ")?;
                    self.plain(f, Operand::Vgpr(first), ty)?;
                }
                f.write_str("]")?;
                continue;
            }
            self.operand(f, *operand, &desc)?;
            if desc.field == Field::Imm(ImmKind::Target) {
                separator = " ";
            }
        }
        Ok(())
    }

    /// Whether assembly leaves an operand out.
    fn is_unwritten(&self, operand: Operand, field: Field) -> bool {
        let Inst { format, mods, .. } = self.inst;
        match field {
            Field::CmpxDst => self.arch.is_gfx10_plus(),
            Field::Ret => operand == Operand::None,
            Field::Imm(ImmKind::Optional) => operand == Operand::Imm(0),
            // A load that goes to LDS.
            Field::Dst => mods.lds && operand == Operand::None,
            Field::Src2 if *format == Format::Vopd => true,
            _ => false,
        }
    }
}
