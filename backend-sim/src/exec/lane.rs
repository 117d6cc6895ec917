//! Vector instructions that move data between lanes, between register files or between registers:
//! they have no handler, or more than a handler to them.

use super::access::Lanes;
use super::code::Page;
use super::lower::{Cx, Ext, Lowered, constant, destination, lower_vector, operands, source};
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, OpFn, VGPR};
use super::scalars::M0;
use crate::isa::{Dir, Format, Inst, Mods, Op, Operand, Type};

fn function(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::v_nop | Op::v_clrexcp | Op::v_pipeflush | Op::v_mfma_ld_scale_b32 => nothing,
        Op::v_readlane_b32 => readlane,
        Op::v_readfirstlane_b32 => readfirstlane,
        Op::v_writelane_b32 => writelane,
        Op::v_swap_b32 => swap,
        Op::v_swap_b16 => swap_halves,
        Op::v_swaprel_b32 => swaprel,
        Op::v_permlane16_swap_b32 => permlane_swap::<16>,
        Op::v_permlane32_swap_b32 => permlane_swap::<32>,
        Op::v_permlane16_b32 => permlane16::<false>,
        Op::v_permlanex16_b32 => permlane16::<true>,
        Op::v_permlane64_b32 => permlane64,
        Op::v_permlane16_var_b32 => permlane16_var::<false>,
        Op::v_permlanex16_var_b32 => permlane16_var::<true>,
        Op::v_movreld_b32 => movreld,
        Op::v_movrels_b32 => movrels,
        Op::v_movrelsd_b32 => movrelsd,
        Op::v_movrelsd_2_b32 => movrelsd_2,
        Op::v_pk_mov_b32 => pk_mov,
        _ => return None,
    })
}

/// Moves between the two vector files, which are moves.
fn moves(op: Op) -> bool {
    matches!(
        op,
        Op::v_accvgpr_read_b32 | Op::v_accvgpr_write_b32 | Op::v_accvgpr_mov_b32
    )
}

/// Lowers the instructions of this file; `None` for all others.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    if let Some(relative) = Relative::of(inst.op)
        && (inst.mods.dpp.is_some() || inst.mods.sdwa.is_some())
    {
        return Some(relative_modified(cx, inst, relative));
    }
    let run = match function(inst.op) {
        Some(run) => run,
        None if moves(inst.op) => move_row,
        None => return None,
    };
    Some(plain(inst, run))
}

/// Destinations and sources in assembly order, constants by value. `k[0]` is used for the op_sel
/// bits where an instruction gives them a meaning of its own.
fn plain(inst: &Inst, run: OpFn) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    micro.run = run;
    let packed = Mods {
        op_sel: 0,
        op_sel_hi: 0,
        ..inst.mods
    };
    if !moves(inst.op) && inst.op != Op::v_nop && packed != Mods::default() {
        return Err("a modifier of this instruction");
    }
    let mut next = 0;
    for (operand, desc) in operands(inst) {
        if desc.dir == Dir::Write || desc.dir == Dir::ReadWrite && micro.dst == ABSENT {
            micro.dst = destination(operand)?;
            continue;
        }
        let (src, value) = source(operand, desc.ty)?;
        let Some(slot) = micro.src.get_mut(next) else {
            return Err("its operand count");
        };
        *slot = src;
        micro.k[next] = constant(operand, Type::B32).map_or(value, |value| value);
        next += 1;
    }
    micro.flags = inst.mods.op_sel & 15;
    if inst.format == Format::Vop3p {
        micro.flags |= inst.mods.op_sel_hi << 4;
    }
    Ok(micro)
}

fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

/// A source's lanes, copied.
fn row(m: &Machine<'_>, op: &MicroOp, i: usize) -> [u32; 64] {
    let src = op.src[i];
    if src == CONST || src < VGPR {
        return [m.s32(op, i); 64];
    }
    let mut copy = [0; 64];
    if let Some(row) = m.wave.rows.row(src - VGPR) {
        for (to, &from) in copy.iter_mut().zip(row) {
            *to = from;
        }
    }
    copy
}

/// Writes the active lanes of a register.
fn write(m: &mut Machine<'_>, dst: u16, values: &[u32; 64], mask: u64) {
    if let Some(row) = m.wave.rows.row_mut(dst - VGPR) {
        for lane in Lanes(mask) {
            row[lane] = values[lane];
        }
    }
}

fn readlane(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let lane = m.s32(op, 1) & (m.wave.lanes - 1);
    let value = lane_of(m, op, lane as usize);
    m.put32(op.dst, value);
    Flow::Next
}

/// One lane of source 0; a scalar is the same in all.
fn lane_of(m: &Machine<'_>, op: &MicroOp, lane: usize) -> u32 {
    let src = op.src[0];
    if src == CONST || src < VGPR {
        return m.s32(op, 0);
    }
    m.wave.rows.row(src - VGPR).map_or(0, |row| row[lane])
}

/// With no lane active, lane 0 is read.
fn readfirstlane(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let lane = if exec == 0 { 0 } else { exec.trailing_zeros() };
    let value = lane_of(m, op, lane as usize);
    m.put32(op.dst, value);
    Flow::Next
}

/// Writes a lane whether it is active or not.
fn writelane(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let value = m.s32(op, 0);
    let lane = m.s32(op, 1) & (m.wave.lanes - 1);
    if let Some(row) = m.wave.rows.row_mut(op.dst - VGPR) {
        row[lane as usize] = value;
    }
    Flow::Next
}

fn swap(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let (first, second) = (register(m, op.dst), row(m, op, 0));
    write(m, op.dst, &second, exec);
    write(m, op.src[0], &first, exec);
    Flow::Next
}

/// Exchanges halves of two registers: bit 3 of op_sel says which half of the first, bit 0 of the second.
fn swap_halves(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let shift = |bit: u8| u32::from(op.flags >> bit & 1) * 16;
    let (at_first, at_second) = (shift(3), shift(0));
    let (mut first, mut second) = (register(m, op.dst), row(m, op, 0));
    if op.dst == op.src[0] {
        // The two halves of one register, or nothing.
        if at_first != at_second {
            first.iter_mut().for_each(|x| *x = x.rotate_left(16));
            write(m, op.dst, &first, exec);
        }
        return Flow::Next;
    }
    for (x, y) in first.iter_mut().zip(&mut second) {
        let (a, b) = (*x >> at_first & 0xffff, *y >> at_second & 0xffff);
        *x = *x & !(0xffff << at_first) | b << at_first;
        *y = *y & !(0xffff << at_second) | a << at_second;
    }
    write(m, op.dst, &first, exec);
    write(m, op.src[0], &second, exec);
    Flow::Next
}

/// The lanes of a vector register.
fn register(m: &Machine<'_>, number: u16) -> [u32; 64] {
    let mut copy = [0; 64];
    if let Some(row) = m.wave.rows.row(number - VGPR) {
        copy[..row.len()].copy_from_slice(row);
    }
    copy
}

/// Exchanges two registers whose numbers are relative to M0.
fn swaprel(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let by = m.wave.s[M0];
    let allocated = u32::from(m.wave.rows.vgprs());
    let first = u32::from(op.dst - VGPR) + (by >> 16 & 0x3ff);
    let second = u32::from(op.src[0].saturating_sub(VGPR)) + (by & 0x3ff);
    if let Some(number) = [first, second].into_iter().find(|&n| n >= allocated) {
        let kind = super::fault::FaultKind::Register {
            file: 'v',
            number,
            allocated,
        };
        return m.fault(op, page, kind);
    }
    let exec = m.wave.exec();
    let (first, second) = (VGPR + first as u16, VGPR + second as u16);
    let (a, b) = (register(m, first), register(m, second));
    write(m, first, &b, exec);
    write(m, second, &a, exec);
    Flow::Next
}

/// Exchanges the odd rows of `N` lanes of the first register with the even rows of the second. Bit 0 of op_sel is FI, bit 1
/// BOUND_CTRL, as for data-parallel permutations.
fn permlane_swap<const N: usize>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let (old_first, old_second) = (register(m, op.dst), row(m, op, 0));
    let (mut first, mut second) = (old_first, old_second);
    let (mut write_first, mut write_second) = (0, 0);
    let (fetch_inactive, zero) = (op.flags & 1 != 0, op.flags & 2 != 0);
    for lane in (0..m.wave.lanes as usize).filter(|lane| (lane / N).is_multiple_of(2)) {
        let other = (lane + N) & 63;
        let exchange = |to: usize, from: usize, slot: &mut u32, value: u32, mask: &mut u64| {
            if exec >> to & 1 == 0 {
                return;
            }
            if fetch_inactive || exec >> from & 1 != 0 {
                *slot = value;
            } else if zero {
                *slot = 0;
            } else {
                return;
            }
            *mask |= 1 << to;
        };
        exchange(
            other,
            lane,
            &mut first[other],
            old_second[lane],
            &mut write_first,
        );
        exchange(
            lane,
            other,
            &mut second[lane],
            old_first[other],
            &mut write_second,
        );
    }
    write(m, op.dst, &first, write_first);
    write(m, op.src[0], &second, write_second);
    Flow::Next
}

/// A register of either file to a register of the other (or a constant).
fn move_row(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let values = row(m, op, 0);
    write(m, op.dst, &values, exec);
    Flow::Next
}

/// Any lane of a row of sixteen reads any lane of the same row, or (x) of the other row of the
/// pair; four bits a lane in two scalars. Bit 0 of op_sel is FI, bit 1 BOUND_CTRL.
fn permlane16<const CROSS: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let select = u64::from(m.s32(op, 1)) | u64::from(m.s32(op, 2)) << 32;
    permlane(m, op, |lane| {
        let from = (select >> (4 * (lane & 15)) & 15) as usize;
        (lane & !15 ^ if CROSS { 16 } else { 0 }) | from
    })
}

fn permlane16_var<const CROSS: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let select = row(m, op, 1);
    permlane(m, op, |lane| {
        (lane & !15 ^ if CROSS { 16 } else { 0 }) | select[lane] as usize & 15
    })
}

fn permlane(m: &mut Machine<'_>, op: &MicroOp, from: impl Fn(usize) -> usize) -> Flow {
    let exec = m.wave.exec();
    let source = row(m, op, 0);
    let (fetch_inactive, zero) = (op.flags & 1 != 0, op.flags & 2 != 0);
    let mut out = [0; 64];
    let mut write_mask = 0;
    for lane in Lanes(exec) {
        let from = from(lane) & 63;
        if fetch_inactive || exec >> from & 1 != 0 {
            out[lane] = source[from];
            write_mask |= 1 << lane;
        } else if zero {
            write_mask |= 1 << lane;
        }
    }
    write(m, op.dst, &out, write_mask);
    Flow::Next
}

/// Exchanges the halves of a wave64; nothing at 32 lanes.
fn permlane64(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    if m.wave.lanes == 32 {
        return Flow::Next;
    }
    let exec = m.wave.exec();
    let source = row(m, op, 0);
    let out = core::array::from_fn(|lane| source[lane ^ 32]);
    write(m, op.dst, &out, exec);
    Flow::Next
}

/// Which register numbers of a move M0 is added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Relative {
    Destination,
    Source,
    Both,
    /// Each has ten bits of its own.
    Each,
}

impl Relative {
    fn of(op: Op) -> Option<Relative> {
        Some(match op {
            Op::v_movreld_b32 => Relative::Destination,
            Op::v_movrels_b32 => Relative::Source,
            Op::v_movrelsd_b32 => Relative::Both,
            Op::v_movrelsd_2_b32 => Relative::Each,
            _ => return None,
        })
    }

    /// What is added to the numbers of the source and of the destination.
    fn offsets(self, m0: u32) -> (u32, u32) {
        let all = m0 & 0xffff;
        match self {
            Relative::Destination => (0, all),
            Relative::Source => (all, 0),
            Relative::Both => (all, all),
            Relative::Each => (m0 & 0x3ff, m0 >> 16 & 0x3ff),
        }
    }
}

/// The vector register `by` above `register`, if the wave has it. Others than vector registers stay what they are.
fn above(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    register: u16,
    by: u32,
) -> Result<u16, Flow> {
    if register < VGPR || register == CONST || by == 0 {
        return Ok(register);
    }
    let number = u32::from(register - VGPR) + by;
    let allocated = u32::from(m.wave.rows.vgprs());
    if number < allocated {
        return Ok(VGPR + number as u16);
    }
    let kind = super::fault::FaultKind::Register {
        file: 'v',
        number,
        allocated,
    };
    Err(m.fault(op, page, kind))
}

/// Moves with a register number relative to M0.
fn relative_move(m: &mut Machine<'_>, op: &MicroOp, page: &Page, relative: Relative) -> Flow {
    let (from, to) = relative.offsets(m.wave.s[M0]);
    let mut moved = *op;
    match (
        above(m, op, page, op.src[0], from),
        above(m, op, page, op.dst, to),
    ) {
        (Ok(src), Ok(dst)) => (moved.src[0], moved.dst) = (src, dst),
        (Err(flow), _) | (_, Err(flow)) => return flow,
    }
    move_row(m, &moved, page)
}

fn movreld(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    relative_move(m, op, page, Relative::Destination)
}

fn movrels(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    relative_move(m, op, page, Relative::Source)
}

fn movrelsd(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    relative_move(m, op, page, Relative::Both)
}

fn movrelsd_2(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    relative_move(m, op, page, Relative::Each)
}

/// With DPP or SDWA, a relative move is the move between the registers that M0 says, with the same modifiers.
fn relative_modified(cx: &mut Cx<'_>, inst: &Inst, relative: Relative) -> Lowered {
    let mut operands = [Operand::None; 8];
    operands[..2].copy_from_slice(&inst.operands[..2]);
    let inner = lower_vector(
        cx,
        &Inst {
            op: Op::v_mov_b32,
            operands,
            ..*inst
        },
    )?;
    let mut outer = inner;
    outer.ext = cx.add(Ext::Computed(alloc::boxed::Box::new(inner)));
    outer.run = match relative {
        Relative::Destination => run_relative::<{ Relative::Destination as u8 }>,
        Relative::Source => run_relative::<{ Relative::Source as u8 }>,
        Relative::Both => run_relative::<{ Relative::Both as u8 }>,
        Relative::Each => run_relative::<{ Relative::Each as u8 }>,
    };
    Ok(outer)
}

fn run_relative<const RELATIVE: u8>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    const KINDS: [Relative; 4] = [
        Relative::Destination,
        Relative::Source,
        Relative::Both,
        Relative::Each,
    ];
    let Some(Ext::Computed(inner)) = page.ext.get(op.ext as usize) else {
        return m.unsupported(op, page, "?", "this move");
    };
    let (from, to) = KINDS[usize::from(RELATIVE & 3)].offsets(m.wave.s[M0]);
    let mut inner = **inner;
    (inner.slot, inner.len) = (op.slot, op.len);
    match (
        above(m, op, page, op.src[0], from),
        above(m, op, page, op.dst, to),
    ) {
        (Ok(src), Ok(dst)) => (inner.src[0], inner.dst) = (src, dst),
        (Err(flow), _) | (_, Err(flow)) => return flow,
    }
    // SAFETY: the code cache has no level that the host has not; the move reads and writes one row each, and both
    // registers are the wave's: the run loop checked those of the instruction, `above` those that M0 leads to.
    unsafe { (inner.run)(m, &inner, page) }
}

/// The low result is a dword of source 0, the high one a dword of source 1: op_sel says which of
/// the pair each is.
fn pk_mov(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let pick = |m: &Machine<'_>, i: usize| {
        let high = op.flags >> i & 1 != 0;
        let src = op.src[i];
        let mut shifted = *op;
        if src == CONST {
            shifted.k[i] = if high { 0 } else { op.k[i] };
        } else if high {
            shifted.src[i] = src + 1;
        }
        row(m, &shifted, i)
    };
    let (low, high) = (pick(m, 0), pick(m, 1));
    write(m, op.dst, &low, exec);
    write(m, op.dst + 1, &high, exec);
    Flow::Next
}
