//! From a decoded instruction to a micro-op.
//!
//! Everything that can be decided once is decided here: which function executes the instruction, where its
//! operands are, what its constants are worth in the operand's type. What has no semantics becomes a micro-op that
//! faults when it is executed, so that code which is never reached may hold anything.

mod operand;
mod scalar;
mod vector;

pub(crate) use operand::{constant, destination, rows, scalar_index, source};
pub(crate) use vector::modifiers_of;

use super::code::Page;
use super::machine::Machine;
use super::matrix::{self, Matrix};
use super::microop::{Flow, MicroOp};
use super::scaled::{self, Conversion};
use super::valu::Level;
use super::vector::VectorForm;
use super::{buffer, ds, flat, lane, salu, smem};
use crate::isa::{Arch, Format, Inst, Op};

/// What a micro-op has no room for.
#[derive(Clone, Debug)]
pub(crate) enum Ext {
    /// A vector instruction with modifiers.
    Vector(alloc::boxed::Box<VectorForm>),
    /// The two halves of a VOPD instruction.
    Dual(alloc::boxed::Box<[MicroOp; 2]>),
    /// A matrix instruction.
    Matrix(alloc::boxed::Box<Matrix>),
    /// A conversion with a scale.
    Conversion(Conversion),
    /// No semantics.
    Unsupported(Unsupported),
}

impl Ext {
    pub(crate) fn vector(&self) -> Option<&VectorForm> {
        match self {
            Ext::Vector(form) => Some(form),
            _ => None,
        }
    }
}

/// What about an instruction is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported {
    pub(crate) mnemonic: &'static str,
    pub(crate) what: &'static str,
}

/// What lowering works with.
pub(crate) struct Cx<'a> {
    pub(crate) arch: Arch,
    pub(crate) level: Level,
    pub(crate) page: &'a mut Page,
    /// Address of the instruction.
    pub(crate) pc: u64,
}

/// A micro-op, or what is missing.
pub(crate) type Lowered = Result<MicroOp, &'static str>;

/// Makes the micro-op of an instruction.
pub(crate) fn lower(arch: Arch, level: Level, inst: &Inst, pc: u64, page: &mut Page) -> MicroOp {
    let mut cx = Cx {
        arch,
        level,
        page,
        pc,
    };
    let mut micro = try_lower(&mut cx, inst).unwrap_or_else(|what| {
        let mut micro = MicroOp::undecoded(0);
        let mnemonic = inst.op.row().mnemonic_on(arch);
        micro.ext = cx.add(Ext::Unsupported(Unsupported { mnemonic, what }));
        micro.run = unsupported;
        micro
    });
    for (index, &operand) in inst.operands.iter().enumerate() {
        operand::need(&mut micro, operand, rows(inst.operand_type(index)));
    }
    micro
}

/// Whether an instruction, with just these operands and modifiers, has semantics here.
///
/// # Errors
/// What about it is not supported.
pub fn check(arch: Arch, inst: &Inst) -> Result<(), &'static str> {
    let mut page = Page::empty(0);
    let mut cx = Cx {
        arch,
        level: Level::Baseline,
        page: &mut page,
        pc: 0,
    };
    try_lower(&mut cx, inst).map(|_| ())
}

fn try_lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    if let Some(lowered) = salu::float::lower(cx, inst) {
        return lowered;
    }
    match inst.format {
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
            scalar::lower(cx, inst)
        }
        Format::Smem => smem::lower(cx, inst),
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p => {
            let special = lane::lower(cx, inst)
                .or_else(|| matrix::lower(cx, inst))
                .or_else(|| scaled::lower(cx, inst));
            special.unwrap_or_else(|| vector::lower(cx, inst))
        }
        Format::Vopd => vector::lower_dual(cx, inst),
        Format::Ds => ds::lower(cx, inst),
        Format::Flat | Format::Global | Format::Scratch => flat::lower(cx, inst),
        Format::Mubuf | Format::Mtbuf => buffer::lower(cx, inst),
    }
}

/// The operands of an instruction with their descriptions, both halves of a VOPD.
pub(crate) fn operands(
    inst: &Inst,
) -> impl Iterator<Item = (crate::isa::Operand, &'static crate::isa::OperandDesc)> {
    let x = inst.operands.into_iter().zip(inst.op.row().operands());
    let y = inst
        .op_y
        .into_iter()
        .flat_map(|op| inst.operands[4..].iter().copied().zip(op.row().operands()));
    x.chain(y)
}

impl Cx<'_> {
    /// Keeps a detail in the page; gives its index.
    pub(crate) fn add(&mut self, ext: Ext) -> u32 {
        self.page.ext.push(ext);
        self.page.ext.len() as u32 - 1
    }
}

fn unsupported(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    match page.ext.get(op.ext as usize) {
        Some(Ext::Unsupported(Unsupported { mnemonic, what })) => {
            m.unsupported(op, page, mnemonic, what)
        }
        _ => m.unsupported(op, page, "?", "the instruction"),
    }
}

/// Whether the operation has semantics here (in its plain forms; a modifier may still be
/// refused).
pub fn supported(op: Op, arch: Arch) -> bool {
    let row = op.row();
    if row.code(arch) == crate::isa::Code::Absent {
        return false;
    }
    if salu::float::supported(op) {
        return true;
    }
    match row.format {
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => salu::lookup(op).is_some(),
        Format::Sopp => salu::sopp::branch(op)
            .or_else(|| salu::sopp::lookup(op))
            .is_some(),
        Format::Smem => smem::supported(op),
        Format::Vop1
        | Format::Vop2
        | Format::Vopc
        | Format::Vop3
        | Format::Vop3p
        | Format::Vopd => {
            lane::supported(op)
                || matrix::supported(op)
                || scaled::supported(op)
                || super::valu::handler(op, Level::Baseline).is_some()
        }
        Format::Ds => ds::supported(op),
        Format::Flat | Format::Global | Format::Scratch => flat::supported(op),
        Format::Mubuf | Format::Mtbuf => buffer::supported(op),
    }
}
