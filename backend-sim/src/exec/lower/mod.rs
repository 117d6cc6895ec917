//! From a decoded instruction to a micro-op.
//!
//! Everything that can be decided once is decided here: which function executes the instruction, where its
//! operands are, what its constants are worth in the operand's type. What has no semantics becomes a micro-op that
//! faults when it is executed, so that code which is never reached may hold anything.

mod operand;
mod scalar;
mod vector;

pub(crate) use operand::{constant, destination, need, rows, scalar_index, source};
pub(crate) use vector::{lower as lower_vector, modifiers_of};

use super::code::Page;
use super::fuse::Fused;
use super::machine::Machine;
use super::matrix::{self, Matrix};
use super::microop::{Flow, MicroOp};
use super::scalars as at;
use super::scaled::{self, Conversion};
use super::valu::Level;
use super::vector::VectorForm;
use super::{buffer, ds, flat, image, lane, salu, smem};
use crate::isa::{Arch, Format, Inst, Op, Operand};

/// What a micro-op has no room for.
#[derive(Clone, Debug)]
pub(crate) enum Ext {
    /// A vector instruction with modifiers.
    Vector(alloc::boxed::Box<VectorForm>),
    /// The instruction itself, of one that reads VCCZ, EXECZ or LDS_DIRECT.
    Computed(alloc::boxed::Box<MicroOp>),
    /// The instruction as it would be on group memory.
    Gds(alloc::boxed::Box<MicroOp>),
    /// The two halves of a VOPD instruction.
    Dual(alloc::boxed::Box<[MicroOp; 2]>),
    /// A matrix instruction.
    Matrix(alloc::boxed::Box<Matrix>),
    /// A conversion with a scale.
    Conversion(Conversion),
    /// Several instructions in one, of which it is the first.
    Fused(alloc::boxed::Box<Fused>),
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

/// What is said of instructions that only graphics uses.
pub(crate) const GRAPHICS: &str = "graphics";

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
        need(&mut micro, operand, rows(inst.operand_type(index)));
    }
    micro
}

/// Whether an instruction, with just these operands and modifiers, has semantics here.
///
/// # Errors
/// What about it is not supported.
pub fn check(arch: Arch, inst: &Inst) -> Result<(), &'static str> {
    check_in(arch, inst, &mut Page::empty(0))
}

/// [`check`], with a page to keep details in.
pub(crate) fn check_in(arch: Arch, inst: &Inst, page: &mut Page) -> Result<(), &'static str> {
    let mut cx = Cx {
        arch,
        level: Level::Baseline,
        page,
        pc: 0,
    };
    try_lower(&mut cx, inst).map(|_| ())
}

fn try_lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let micro = lower_plain(cx, inst)?;
    if !is_computed(inst) {
        return Ok(micro);
    }
    let mut outer = micro;
    outer.ext = cx.add(Ext::Computed(alloc::boxed::Box::new(micro)));
    outer.run = computed_sources;
    Ok(outer)
}

/// Whether an instruction has an operand that is a value of the moment.
pub(crate) fn is_computed(inst: &Inst) -> bool {
    let computed =
        |operand: &Operand| matches!(operand, Operand::Vccz | Operand::Execz | Operand::LdsDirect);
    inst.operands.iter().any(computed)
}

/// Works out the scalars that are values of the moment, then executes the instruction that reads them.
fn computed_sources(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(Ext::Computed(inner)) = page.ext.get(op.ext as usize) else {
        return m.unsupported(op, page, "?", "this operand");
    };
    let mut inner = **inner;
    (inner.slot, inner.len) = (op.slot, op.len);
    m.wave.s[at::VCCZ] = u32::from(m.wave.mask(at::VCC) == 0);
    m.wave.s[at::EXECZ] = u32::from(m.wave.exec() == 0);
    // M0: the address in its low half, above it what is there.
    let m0 = m.wave.s[at::M0];
    let (from, kind) = ((m0 & 0xffff) as usize, m0 >> 16 & 7);
    let bytes = [1, 2, 4, 4][(kind & 3) as usize];
    let value = m.lds_value(from, bytes) as u32;
    m.wave.s[at::LDS_DIRECT] = match kind {
        4 => i32::from(value as i8) as u32,
        5 => i32::from(value as i16) as u32,
        _ => value,
    };
    // SAFETY: the code cache has no level that the host has not; the registers that the micro-op needs are those of
    // the one around it, which the run loop checked.
    unsafe { (inner.run)(m, &inner, page) }
}

fn lower_plain(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    if inst.op.row().format == Format::Vintrp {
        return Err(GRAPHICS);
    }
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
        Format::Mimg => image::lower(cx, inst),
        Format::Ldsdir if inst.op == Op::lds_direct_load => {
            try_lower(cx, &direct_load(inst.operands[0]))
        }
        Format::Ldsdir | Format::Vintrp | Format::Vinterp | Format::Exp => Err(GRAPHICS),
    }
}

/// A load from LDS by M0 into a register: a move from the source that other generations have for it.
fn direct_load(to: Operand) -> Inst {
    let mut operands = [Operand::None; 8];
    operands[..2].copy_from_slice(&[to, Operand::LdsDirect]);
    Inst {
        op: Op::v_mov_b32,
        op_y: None,
        format: Format::Vop1,
        len: 4,
        operands,
        mods: crate::isa::Mods::default(),
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
