//! SOPP: program control.
//!
//! Lowering puts a branch's target address, or the immediate, in `k[0]`.

use crate::exec::code::{Page, first_dwords};
use crate::exec::fault::FaultKind;
use crate::exec::machine::Machine;
use crate::exec::microop::{Flow, MicroOp, OpFn};
use crate::exec::run::Exit;
use crate::exec::scalars::{EXEC, M0, SCC};
use crate::exec::trap;
use crate::isa::{Arch, DecodeError, Op};

fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

macro_rules! branches {
    ($op:ident; $($name:ident |$m:ident| $taken:expr;)*) => {
        match $op {
            $(Op::$name => {
                fn run($m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
                    if $taken { $m.jump(op.k[0]) } else { Flow::Next }
                }
                Some(run as OpFn)
            })*
            _ => None,
        }
    };
}

/// The function of a branch, or `None` if the operation is none.
pub(crate) fn branch(op: Op) -> Option<OpFn> {
    branches! { op;
        s_branch |m| { let _ = &m.wave; true };
        s_cbranch_scc0 |m| m.wave.s[SCC] == 0;
        s_cbranch_scc1 |m| m.wave.s[SCC] != 0;
        s_cbranch_vccz |m| m.wave.mask(crate::exec::scalars::VCC) == 0;
        s_cbranch_vccnz |m| m.wave.mask(crate::exec::scalars::VCC) != 0;
        s_cbranch_execz |m| m.wave.exec() == 0;
        s_cbranch_execnz |m| m.wave.exec() != 0;
        // There is no debugger attached to a wave's condition bits.
        s_cbranch_cdbgsys |m| { let _ = &m.wave; false };
        s_cbranch_cdbguser |m| { let _ = &m.wave; false };
        s_cbranch_cdbgsys_or_user |m| { let _ = &m.wave; false };
        s_cbranch_cdbgsys_and_user |m| { let _ = &m.wave; false };
    }
}

fn endpgm(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::End
}

fn barrier(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Barrier
}

fn sleep(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    m.stop(Exit::Sleeping {
        cycles: 64 * (op.k[0] as u32 & 0x7f),
    })
}

/// Whether a message says that the wave is about to end and gives its registers back early: nothing to do here.
pub(crate) fn gives_back(arch: Arch, op: &MicroOp) -> bool {
    const DEALLOC_VGPRS: u64 = 3;
    op.k[0] & 0xff == DEALLOC_VGPRS && arch.is_gfx11_plus()
}

fn sendmsg(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    if gives_back(m.arch(), op) {
        return Flow::Next;
    }
    // On gfx9 and gfx10 the doorbell's number comes back in EXEC.
    const GET_DOORBELL: u64 = 10;
    if op.k[0] & 15 == GET_DOORBELL && !m.arch().is_gfx11_plus() {
        m.wave.s[EXEC] = m.place.doorbell;
        return Flow::Next;
    }
    let payload = m.wave.s[M0];
    m.stop(Exit::Message {
        message: op.k[0] as u16,
        payload,
    })
}

fn sendmsghalt(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    m.wave.halted = true;
    sendmsg(m, op, page)
}

fn sethalt(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    if op.k[0] & 1 == 0 {
        Flow::Next
    } else {
        trap::halt(m, op, page)
    }
}

/// What pads code behind its end: not to be executed.
fn code_end(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let kind = FaultKind::IllegalInstruction {
        encoding: first_dwords(page.words(usize::from(op.slot))),
        error: DecodeError::NoSuchForm {
            op: Op::s_code_end,
            form: "executable",
        },
    };
    m.fault(op, page, kind)
}

fn icache_inv(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Refresh
}

fn gpr_index_off(m: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    m.wave.gpr_index = None;
    Flow::Next
}

fn gpr_index_mode(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    // M0 holds the enabled operands beside the index.
    m.wave.s[M0] = m.wave.s[M0] & !0xf000 | (op.k[0] as u32 & 15) << 12;
    if m.wave.gpr_index.is_some() {
        m.wave.gpr_index = Some(op.k[0] as u8 & 15);
    }
    Flow::Next
}

/// s_round_mode and s_denorm_mode write their nibble of MODE.
fn round_mode(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let mode = m.wave.mode & !0xf | op.k[0] as u32 & 0xf;
    m.wave.set_mode(mode);
    Flow::Next
}

fn denorm_mode(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let mode = m.wave.mode & !0xf0 | (op.k[0] as u32 & 0xf) << 4;
    m.wave.set_mode(mode);
    Flow::Next
}

/// Whether an instruction changes nothing here: memory instructions complete in order, and time is not modelled.
pub(crate) fn does_nothing(op: Op) -> bool {
    matches!(
        op,
        Op::s_nop
            | Op::s_waitcnt
            | Op::s_waitcnt_depctr
            | Op::s_delay_alu
            | Op::s_clause
            | Op::s_wait_loadcnt
            | Op::s_wait_storecnt
            | Op::s_wait_samplecnt
            | Op::s_wait_bvhcnt
            | Op::s_wait_expcnt
            | Op::s_wait_dscnt
            | Op::s_wait_kmcnt
            | Op::s_wait_loadcnt_dscnt
            | Op::s_wait_storecnt_dscnt
            | Op::s_wait_alu
            | Op::s_singleuse_vdst
            | Op::s_setprio
            | Op::s_setkill
            | Op::s_incperflevel
            | Op::s_decperflevel
            | Op::s_ttracedata
            | Op::s_ttracedata_imm
            | Op::s_inst_prefetch
            | Op::s_wakeup
            | Op::s_wait_idle
            | Op::s_wait_event
    )
}

/// Whether an instruction is the same for waves whose scalars are the same.
pub(crate) fn is_same_for_all(op: Op) -> bool {
    let control = matches!(
        op,
        Op::s_endpgm | Op::s_barrier | Op::s_sleep | Op::s_round_mode | Op::s_denorm_mode
    );
    control || does_nothing(op) || branch(op).is_some()
}

/// SOPP semantics but for branches.
pub(crate) fn lookup(op: Op) -> Option<OpFn> {
    let run: OpFn = match op {
        Op::s_endpgm | Op::s_endpgm_saved | Op::s_endpgm_ordered_ps_done => endpgm,
        Op::s_barrier => barrier,
        Op::s_sleep => sleep,
        Op::s_sendmsg => sendmsg,
        Op::s_sendmsghalt => sendmsghalt,
        Op::s_sethalt => sethalt,
        Op::s_trap => trap::trap,
        Op::s_code_end => code_end,
        Op::s_icache_inv => icache_inv,
        Op::s_set_gpr_idx_off => gpr_index_off,
        Op::s_set_gpr_idx_mode => gpr_index_mode,
        Op::s_round_mode => round_mode,
        Op::s_denorm_mode => denorm_mode,
        op if does_nothing(op) => nothing,
        _ => return crate::exec::barrier::lookup(op),
    };
    Some(run)
}
