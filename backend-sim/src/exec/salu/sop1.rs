//! SOP1: one scalar source.

use super::fork;
use super::{NonZero, scalar_ops};
use crate::exec::code::Page;
use crate::exec::machine::{Machine, next_pc};
use crate::exec::microop::{Flow, MicroOp, OpFn};
use crate::exec::run::Exit;
use crate::exec::scalars::{M0, SCC};
use crate::exec::trap;
use crate::isa::Op;

#[inline(always)]
fn brev32(a: u32) -> u32 {
    a.reverse_bits()
}

/// Position of the first bit from the top that differs from the sign, or -1.
#[inline(always)]
fn flbit_i32(a: i32) -> i32 {
    let differing = a ^ (a >> 31);
    if differing == 0 {
        -1
    } else {
        differing.leading_zeros() as i32
    }
}

#[inline(always)]
fn flbit_i64(a: i64) -> i32 {
    let differing = a ^ (a >> 63);
    if differing == 0 {
        -1
    } else {
        differing.leading_zeros() as i32
    }
}

/// Every quad with a bit set becomes all ones.
#[inline(always)]
fn wqm(a: u64) -> u64 {
    let any = (a | a >> 1 | a >> 2 | a >> 3) & 0x1111_1111_1111_1111;
    any * 15
}

/// One bit a quad: whether any of its four is set.
#[inline(always)]
fn quadmask(a: u64) -> u64 {
    let mut mask = 0;
    for quad in 0..16 {
        mask |= u64::from(a >> (4 * quad) & 15 != 0) << quad;
    }
    mask
}

/// Each bit twice.
#[inline(always)]
fn replicate(a: u32) -> u64 {
    let mut bits = u64::from(a);
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    bits = (bits | bits << 1) & 0x5555_5555_5555_5555;
    bits * 3
}

fn found(bits: u32, width: u32) -> i32 {
    if bits == width { -1 } else { bits as i32 }
}

scalar_ops! {
    /// SOP1 semantics of the plain kind.
    pub(crate) fn lookup;
    s_mov_b32(a: u32) => a;
    s_mov_b64(a: u64) => a;
    s_not_b32(a: u32) => (!a).nz();
    s_not_b64(a: u64) => (!a).nz();
    s_wqm_b32(a: u32) => (wqm(u64::from(a)) as u32).nz();
    s_wqm_b64(a: u64) => wqm(a).nz();
    s_brev_b32(a: u32) => brev32(a);
    s_brev_b64(a: u64) => a.reverse_bits();
    s_bcnt0_i32_b32(a: u32) => a.count_zeros().nz();
    s_bcnt0_i32_b64(a: u64) => a.count_zeros().nz();
    s_bcnt1_i32_b32(a: u32) => a.count_ones().nz();
    s_bcnt1_i32_b64(a: u64) => a.count_ones().nz();
    s_ff0_i32_b32(a: u32) => found(a.trailing_ones(), 32);
    s_ff0_i32_b64(a: u64) => found(a.trailing_ones(), 64);
    s_ff1_i32_b32(a: u32) => found(a.trailing_zeros(), 32);
    s_ff1_i32_b64(a: u64) => found(a.trailing_zeros(), 64);
    s_flbit_i32_b32(a: u32) => found(a.leading_zeros(), 32);
    s_flbit_i32_b64(a: u64) => found(a.leading_zeros(), 64);
    s_flbit_i32(a: i32) => flbit_i32(a);
    s_flbit_i32_i64(a: i64) => flbit_i64(a);
    s_sext_i32_i8(a: u32) => i32::from(a as i8);
    s_sext_i32_i16(a: u32) => i32::from(a as i16);
    s_abs_i32(a: i32) => a.wrapping_abs().nz();
    s_quadmask_b32(a: u32) => (quadmask(u64::from(a)) as u32).nz();
    s_quadmask_b64(a: u64) => quadmask(a).nz();
    s_bitreplicate_b64_b32(a: u32) => replicate(a);
}

/// A row `name: mask type, |source, exec| (new exec, optional narrowing)`: the *_saveexec family saves EXEC to the
/// destination; the *_wrexec family writes the new EXEC there too.
macro_rules! exec_ops {
    ($op:ident; $($name:ident : $t:ident $kind:ident |$s:ident, $e:ident| $new:expr;)*) => {
        match $op {
            $(Op::$name => {
                fn run(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
                    let $s = exec_ops!(@read $t, m, op);
                    let $e = exec_ops!(@exec $t, m);
                    let new = $new;
                    exec_ops!(@write $t, m, op, exec_ops!(@saved $kind, $e, new));
                    exec_ops!(@set $t, m, new);
                    m.set_scc(new != 0);
                    Flow::Next
                }
                Some(run as OpFn)
            })*
            _ => None,
        }
    };
    (@read u32, $m:ident, $op:ident) => { $m.s32($op, 0) };
    (@read u64, $m:ident, $op:ident) => { $m.s64($op, 0) };
    (@exec u32, $m:ident) => { $m.wave.s[crate::exec::scalars::EXEC] };
    (@exec u64, $m:ident) => { $m.wave.pair(crate::exec::scalars::EXEC) };
    (@write u32, $m:ident, $op:ident, $v:expr) => { $m.put32($op.dst, $v) };
    (@write u64, $m:ident, $op:ident, $v:expr) => { $m.put64($op.dst, $v) };
    (@set u32, $m:ident, $v:expr) => { $m.wave.s[crate::exec::scalars::EXEC] = $v };
    (@set u64, $m:ident, $v:expr) => { $m.wave.set_pair(crate::exec::scalars::EXEC, $v) };
    (@saved save, $e:ident, $new:ident) => { $e };
    (@saved both, $e:ident, $new:ident) => { $new };
}

fn lookup_exec(op: Op) -> Option<OpFn> {
    exec_ops! { op;
        s_and_saveexec_b64: u64 save |s, e| s & e;
        s_or_saveexec_b64: u64 save |s, e| s | e;
        s_xor_saveexec_b64: u64 save |s, e| s ^ e;
        s_andn2_saveexec_b64: u64 save |s, e| s & !e;
        s_orn2_saveexec_b64: u64 save |s, e| s | !e;
        s_nand_saveexec_b64: u64 save |s, e| !(s & e);
        s_nor_saveexec_b64: u64 save |s, e| !(s | e);
        s_xnor_saveexec_b64: u64 save |s, e| !(s ^ e);
        s_andn1_saveexec_b64: u64 save |s, e| !s & e;
        s_orn1_saveexec_b64: u64 save |s, e| !s | e;
        s_andn1_wrexec_b64: u64 both |s, e| !s & e;
        s_andn2_wrexec_b64: u64 both |s, e| s & !e;
        s_and_saveexec_b32: u32 save |s, e| s & e;
        s_or_saveexec_b32: u32 save |s, e| s | e;
        s_xor_saveexec_b32: u32 save |s, e| s ^ e;
        s_andn2_saveexec_b32: u32 save |s, e| s & !e;
        s_orn2_saveexec_b32: u32 save |s, e| s | !e;
        s_nand_saveexec_b32: u32 save |s, e| !(s & e);
        s_nor_saveexec_b32: u32 save |s, e| !(s | e);
        s_xnor_saveexec_b32: u32 save |s, e| !(s ^ e);
        s_andn1_saveexec_b32: u32 save |s, e| !s & e;
        s_orn1_saveexec_b32: u32 save |s, e| !s | e;
        s_andn1_wrexec_b32: u32 both |s, e| !s & e;
        s_andn2_wrexec_b32: u32 both |s, e| s & !e;
    }
}

fn cmov_b32(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    if m.wave.s[SCC] != 0 {
        let value = m.s32(op, 0);
        m.put32(op.dst, value);
    }
    Flow::Next
}

fn cmov_b64(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    if m.wave.s[SCC] != 0 {
        let value = m.s64(op, 0);
        m.put64(op.dst, value);
    }
    Flow::Next
}

fn bitset<const VALUE: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let bit = 1u32 << (m.s32(op, 0) & 31);
    let old = m.wave.s[usize::from(op.dst as u8)];
    m.put32(op.dst, if VALUE { old | bit } else { old & !bit });
    Flow::Next
}

fn bitset64<const VALUE: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let bit = 1u64 << (m.s32(op, 0) & 63);
    let old = m.wave.pair(usize::from(op.dst));
    m.put64(op.dst, if VALUE { old | bit } else { old & !bit });
    Flow::Next
}

fn getpc(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    m.put64(op.dst, next_pc(op, page));
    Flow::Next
}

fn setpc(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let target = m.s64(op, 0);
    m.jump(target)
}

fn swappc(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let target = m.s64(op, 0);
    m.put64(op.dst, next_pc(op, page));
    m.jump(target)
}

/// An SGPR number from an operand and M0; beyond the file it stays at the operand, as
/// out-of-range relative accesses are undefined.
fn relative(m: &Machine<'_>, base: u16, wide: bool) -> usize {
    let index = usize::from(base) + m.wave.s[M0] as usize % 128;
    let last = if wide { 104 } else { 105 };
    if index <= last {
        index
    } else {
        usize::from(base as u8)
    }
}

fn movrels<const WIDE: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let from = relative(m, op.src[0], WIDE);
    if WIDE {
        let value = m.wave.pair(from);
        m.put64(op.dst, value);
    } else {
        let value = m.wave.s[from & 255];
        m.put32(op.dst, value);
    }
    Flow::Next
}

fn movreld<const WIDE: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let to = relative(m, op.dst, WIDE) as u16;
    if WIDE {
        let value = m.s64(op, 0);
        m.put64(to, value);
    } else {
        let value = m.s32(op, 0);
        m.put32(to, value);
    }
    Flow::Next
}

fn sleep_var(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let cycles = 64 * (m.s32(op, 0) & 0x7f);
    m.stop(Exit::Sleeping { cycles })
}

/// Messages that answer.
fn sendmsg_rtn<const WIDE: bool>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let value = match op.k[0] & 0xff {
        0x80 => u64::from(m.place.doorbell),
        // The dispatch has no identifier of a draw.
        0x81 => 0,
        0x82 => m.shared.trap_handler_memory() >> 8,
        0x83 => m.clock.realtime(),
        0x85 => m.shared.trap_handler() >> 8,
        0x86 if m.arch().is_gfx12_plus() => m.shared.trap_handler(),
        0x87 if m.arch().is_gfx12_plus() => u64::from(m.place.shader_engine),
        _ => {
            let name = if WIDE {
                "s_sendmsg_rtn_b64"
            } else {
                "s_sendmsg_rtn_b32"
            };
            return m.unsupported(op, page, name, "this message");
        }
    };
    if WIDE {
        m.put64(op.dst, value);
    } else {
        m.put32(op.dst, value as u32);
    }
    Flow::Next
}

/// Source and destination relative to two fields of M0.
fn movrelsd_2(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let m0 = m.wave.s[M0];
    let at = |base: u16, index: u32| {
        let index = usize::from(base) + (index & 0x3ff) as usize;
        if index <= 105 {
            index
        } else {
            usize::from(base as u8)
        }
    };
    let value = m.wave.s[at(op.src[0], m0) & 255];
    m.put32(at(op.dst, m0 >> 16) as u16, value);
    Flow::Next
}

/// No wave has registers that it may give back or ask for while it runs.
fn alloc_vgpr(m: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    m.set_scc(false);
    Flow::Next
}

/// The index of vector register indexing is in the low byte of M0.
fn gpr_index(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let index = m.s32(op, 0) & 0xff;
    m.wave.s[M0] = m.wave.s[M0] & !0xff | index;
    Flow::Next
}

/// Switches vector register indexing on: from here the run loop adds M0's index to the vector registers of the
/// operands that the immediate names.
pub(crate) fn gpr_index_on(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let enabled = op.k[1] as u32 & 15;
    m.wave.s[M0] = m.s32(op, 0) & 0xff | enabled << 12;
    m.wave.gpr_index = Some(enabled as u8);
    Flow::Indexed
}

/// SOP1 semantics that read and write nothing but scalars and the program counter.
pub(crate) fn lookup_moves(op: Op) -> Option<OpFn> {
    let run: OpFn = match op {
        Op::s_cmov_b32 => cmov_b32,
        Op::s_cmov_b64 => cmov_b64,
        Op::s_bitset0_b32 => bitset::<false>,
        Op::s_bitset1_b32 => bitset::<true>,
        Op::s_bitset0_b64 => bitset64::<false>,
        Op::s_bitset1_b64 => bitset64::<true>,
        Op::s_getpc_b64 => getpc,
        Op::s_setpc_b64 => setpc,
        Op::s_swappc_b64 => swappc,
        Op::s_movrelsd_2_b32 => movrelsd_2,
        Op::s_movrels_b32 => movrels::<false>,
        Op::s_movrels_b64 => movrels::<true>,
        Op::s_movreld_b32 => movreld::<false>,
        Op::s_movreld_b64 => movreld::<true>,
        _ => return lookup_exec(op),
    };
    Some(run)
}

/// SOP1 semantics that touch more than their operands.
pub(crate) fn lookup_control(op: Op) -> Option<OpFn> {
    let run: OpFn = match op {
        Op::s_sleep_var => sleep_var,
        Op::s_sendmsg_rtn_b32 => sendmsg_rtn::<false>,
        Op::s_sendmsg_rtn_b64 => sendmsg_rtn::<true>,
        Op::s_set_gpr_idx_idx => gpr_index,
        Op::s_rfe_b64 | Op::s_rfe_restore_b64 => trap::rfe,
        Op::s_cbranch_join => fork::join,
        Op::s_alloc_vgpr => alloc_vgpr,
        _ => return lookup_moves(op),
    };
    Some(run)
}
