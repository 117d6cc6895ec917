//! Random valid instructions, for tests and fuzzing: every row of the instruction list in every form it has.

mod modifiers;
mod operands;
mod rng;

pub use rng::Rng;

use crate::isa::list::vopd::DUALS;
use crate::isa::row::{Code, Field, Row, Type};
use crate::isa::{Arch, Format, Inst, Mods, Op, Operand, encode};

/// A random valid instruction with the given operation, in one of the forms that `arch` has for it. `None` if
/// the processor lacks it.
pub fn generate(arch: Arch, op: Op, rng: &mut Rng) -> Option<Inst> {
    let row = op.row();
    let format = match row.code(arch) {
        Code::Absent => return None,
        Code::Vop3(_) => Format::Vop3,
        Code::Own(_) => {
            let vop3 = row.has_vop3(arch) && !row.operands().is_empty();
            if vop3 && rng.one_in(2) {
                Format::Vop3
            } else {
                row.format
            }
        }
    };
    let mut make = Maker {
        arch,
        row,
        format,
        rng,
        mods: Mods::default(),
        // The literal of fmamk and its kin leaves no room for another.
        scalar: row.has(Field::Literal).then_some(Operand::Literal(0)),
    };
    make.modifiers();
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = make.operand(desc);
    }
    make.fix_up(&mut operands);
    let mods = make.mods;
    let mut inst = Inst {
        op,
        op_y: None,
        format,
        len: 0,
        operands,
        mods,
    };
    inst.len = encode(arch, &inst).ok()?.len() as u8;
    Some(inst)
}

/// A random valid VOPD instruction: two operations side by side, for wave32 code since gfx11.
pub fn generate_dual(arch: Arch, rng: &mut Rng) -> Option<Inst> {
    let pick = |rng: &mut Rng| &DUALS[rng.below(DUALS.len() as u32) as usize];
    let (x, y) = loop {
        let (x, y) = (pick(rng), pick(rng));
        if x.x.is_some() {
            break (x.op, y.op);
        }
    };
    let mut operands = [Operand::None; 8];
    let mut literal = None;
    for (first, op) in [(0, x), (4, y)] {
        let mut make = Maker {
            arch,
            row: op.row(),
            format: Format::Vopd,
            rng: &mut *rng,
            mods: Mods::default(),
            scalar: None,
        };
        for (slot, desc) in operands[first..].iter_mut().zip(op.row().operands()) {
            *slot = match make.operand(desc) {
                // Both halves read one literal.
                Operand::Literal(value) => Operand::Literal(*literal.get_or_insert(value)),
                _ if desc.field == Field::Src2 => Operand::VccLo,
                _ if desc.field == Field::Src1 => make.vgpr(Type::B32),
                other => other,
            };
        }
    }
    if let (Operand::Vgpr(a), Operand::Vgpr(b)) = (operands[0], operands[4]) {
        operands[4] = Operand::Vgpr(b & !1 | (!a & 1));
    }
    let mut inst = Inst {
        op: x,
        op_y: Some(y),
        format: Format::Vopd,
        len: 0,
        operands,
        mods: Mods::default(),
    };
    inst.len = encode(arch, &inst).ok()?.len() as u8;
    Some(inst)
}

struct Maker<'a> {
    arch: Arch,
    row: &'static Row,
    format: Format,
    rng: &'a mut Rng,
    mods: Mods,
    /// The scalar source that a vector instruction already has: it may have one.
    scalar: Option<Operand>,
}
