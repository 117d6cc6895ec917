//! SOPK: a scalar register and a 16-bit immediate.
//!
//! Lowering puts the register's old value in source 0 and the immediate, sign-extended or not as
//! the instruction reads it, in source 1.

use super::{fork, scalar_ops};
use crate::exec::code::Page;
use crate::exec::hwreg;
use crate::exec::machine::{Machine, next_pc};
use crate::exec::microop::{Flow, MicroOp, OpFn};
use crate::exec::scalars::SCC;
use crate::isa::Op;

scalar_ops! {
    /// SOPK semantics of the plain kind.
    pub(crate) fn lookup_plain;
    s_movk_i32(_a: u32, k: u32) => k;
    s_cmpk_eq_i32(a: i32, k: i32) => a == k;
    s_cmpk_lg_i32(a: i32, k: i32) => a != k;
    s_cmpk_gt_i32(a: i32, k: i32) => a > k;
    s_cmpk_ge_i32(a: i32, k: i32) => a >= k;
    s_cmpk_lt_i32(a: i32, k: i32) => a < k;
    s_cmpk_le_i32(a: i32, k: i32) => a <= k;
    s_cmpk_eq_u32(a: u32, k: u32) => a == k & 0xffff;
    s_cmpk_lg_u32(a: u32, k: u32) => a != k & 0xffff;
    s_cmpk_gt_u32(a: u32, k: u32) => a > k & 0xffff;
    s_cmpk_ge_u32(a: u32, k: u32) => a >= k & 0xffff;
    s_cmpk_lt_u32(a: u32, k: u32) => a < k & 0xffff;
    s_cmpk_le_u32(a: u32, k: u32) => a <= k & 0xffff;
    s_addk_i32(a: i32, k: i32) => a.overflowing_add(k);
    s_mulk_i32(a: i32, k: i32) => a.wrapping_mul(k);
}

fn cmovk(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    if m.wave.s[SCC] != 0 {
        let value = m.s32(op, 1);
        m.put32(op.dst, value);
    }
    Flow::Next
}

fn call(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let next = next_pc(op, page);
    m.put64(op.dst, next);
    m.jump(next.wrapping_add((op.k[1] as i32 as i64 as u64).wrapping_mul(4)))
}

fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

/// SOPK semantics.
pub(crate) fn lookup(op: Op) -> Option<OpFn> {
    let run: OpFn = match op {
        Op::s_cbranch_i_fork => fork::by_distance,
        Op::s_subvector_loop_begin => fork::loop_begin,
        Op::s_subvector_loop_end => fork::loop_end,
        Op::s_getreg_b32 => hwreg::getreg,
        Op::s_setreg_b32 => hwreg::setreg,
        Op::s_setreg_imm32_b32 => hwreg::setreg_imm,
        _ => return lookup_of_scalars(op),
    };
    Some(run)
}

/// SOPK semantics that read and write nothing but scalars and the program counter.
pub(crate) fn lookup_of_scalars(op: Op) -> Option<OpFn> {
    let run: OpFn = match op {
        Op::s_cmovk_i32 => cmovk,
        Op::s_call_b64 => call,
        // Every memory instruction completes before the next begins.
        Op::s_waitcnt_vscnt
        | Op::s_waitcnt_vmcnt
        | Op::s_waitcnt_expcnt
        | Op::s_waitcnt_lgkmcnt
        | Op::s_version => nothing,
        _ => return lookup_plain(op),
    };
    Some(run)
}
