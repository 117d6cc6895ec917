//! Instructions that run both sides of a branch one after the other: fork and join (gfx9), subvector loops (gfx10,
//! gfx11), and skipping of vector instructions (gfx9).
//!
//! Forks keep the side that waits in four scalars each, from s0 on; MODE counts them in its bits 31-29.

use crate::exec::code::Page;
use crate::exec::machine::{Machine, next_pc};
use crate::exec::microop::{Flow, MicroOp};
use crate::exec::scalars::EXEC;

const DEPTH: u32 = 29;

fn depth(m: &Machine<'_>) -> usize {
    (m.wave.mode >> DEPTH) as usize
}

fn set_depth(m: &mut Machine<'_>, depth: usize) {
    let mode = m.wave.mode & !(7 << DEPTH) | (depth as u32 & 7) << DEPTH;
    m.wave.set_mode(mode);
}

/// Goes on with the lanes whose bit is set at `target`, with the others after the instruction: first with the fewer.
fn fork(m: &mut Machine<'_>, mask: u64, target: u64, next: u64) -> Flow {
    let exec = m.wave.exec();
    let (pass, fail) = (mask & exec, !mask & exec);
    if pass == exec {
        return m.jump(target);
    }
    if fail == exec {
        return m.jump(next);
    }
    let at = depth(m) * 4;
    let first_fails = fail.count_ones() < pass.count_ones();
    let (now, later, later_at) = if first_fails {
        (fail, pass, target)
    } else {
        (pass, fail, next)
    };
    m.wave.set_exec(now);
    m.wave.set_pair(at, later);
    m.wave.set_pair(at + 2, later_at);
    let depth = depth(m) + 1;
    set_depth(m, depth);
    m.jump(if first_fails { next } else { target })
}

/// s_cbranch_g_fork: to an address in scalars.
pub(crate) fn to_register(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (mask, target) = (m.s64(op, 0), m.s64(op, 1));
    fork(m, mask, target, next_pc(op, page))
}

/// s_cbranch_i_fork: by a distance in dwords.
pub(crate) fn by_distance(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (mask, next) = (m.s64(op, 0), next_pc(op, page));
    let distance = i64::from(op.k[1] as u32 as i32) * 4;
    fork(m, mask, next.wrapping_add(distance as u64), next)
}

/// s_cbranch_join: goes on with the side that waits, or past the instruction after both.
pub(crate) fn join(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let now = depth(m);
    if now as u32 == m.s32(op, 0) || now == 0 {
        let next = next_pc(op, page);
        return m.jump(next);
    }
    set_depth(m, now - 1);
    let at = (now - 1) * 4;
    let exec = m.wave.pair(at);
    m.wave.set_exec(exec);
    let target = m.wave.pair(at + 2);
    m.jump(target)
}

/// s_setvskip: a bit of source 0 decides whether vector instructions are skipped.
pub(crate) fn set_vskip(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    m.wave.skips_vectors = m.s32(op, 0) >> (m.s32(op, 1) & 31) & 1 != 0;
    Flow::Indexed
}

/// s_subvector_loop_begin: the low half of the lanes first; the scalar keeps the other.
pub(crate) fn loop_begin(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (low, high) = (m.wave.s[EXEC], m.wave.s[EXEC + 1]);
    if low == 0 && high == 0 {
        let distance = i64::from(op.k[1] as u32 as i32) * 4;
        let target = next_pc(op, page).wrapping_add(distance as u64);
        return m.jump(target);
    }
    if low == 0 {
        m.put32(op.dst, 0);
    } else {
        m.put32(op.dst, high);
        m.wave.s[EXEC + 1] = 0;
    }
    Flow::Next
}

/// s_subvector_loop_end: back for the high half of the lanes, if it has any.
pub(crate) fn loop_end(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let saved = m.wave.s[usize::from(op.dst as u8)];
    if m.wave.s[EXEC + 1] != 0 {
        m.wave.s[EXEC] = saved;
        return Flow::Next;
    }
    if saved == 0 {
        return Flow::Next;
    }
    let low = m.wave.s[EXEC];
    m.wave.s[EXEC + 1] = saved;
    m.put32(op.dst, low);
    m.wave.s[EXEC] = 0;
    let distance = i64::from(op.k[1] as u32 as i32) * 4;
    let target = next_pc(op, page).wrapping_add(distance as u64);
    m.jump(target)
}
