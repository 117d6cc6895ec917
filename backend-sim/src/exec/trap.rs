//! Traps: s_trap and what goes wrong, with a trap handler and without one.
//!
//! A handler starts in privileged mode with the program counter of the instruction and the trap's number in TTMP0 and
//! TTMP1, and returns with s_rfe_b64. It is a second-level handler: as Linux's first level leaves them, TTMP12 holds
//! STATUS (gfx12: STATE_PRIV), TTMP14 and 15 the address of the handler's memory, and TTMP11 (GFX9.4: 13) no part of
//! IB_STS. Without a handler, or in it, a trap is a fault. What went wrong is kept: a handler that halts the wave ends
//! it with that fault.

use alloc::boxed::Box;

use super::code::Page;
use super::fault::{Fault, FaultKind};
use super::hwreg;
use super::machine::{Machine, pc};
use super::microop::{Flow, MicroOp};
use super::run::Exit;
use super::scalars::TTMP0;

/// Trap that debuggers use; without a handler it does nothing.
const DEBUG_TRAP: u8 = 3;

/// TRAPSTS up to gfx11: a memory violation, an illegal instruction, a translation that failed.
const MEM_VIOL: u32 = 1 << 8;
const ILLEGAL_INST: u32 = 1 << 11;
const XNACK_ERROR: u32 = 1 << 28;
/// EXCP_FLAG_PRIV of gfx12, likewise.
const MEM_VIOL_GFX12: u32 = 1 << 4;
const ILLEGAL_INST_GFX12: u32 = 1 << 6;
const XNACK_ERROR_GFX12: u32 = 1 << 12;

/// Puts the wave at the start of the trap handler; `false` if there is none, or if the wave is in it.
fn enter(m: &mut Machine<'_>, pc: u64, id: u8) -> bool {
    let handler = m.shared.trap_handler();
    if handler == 0 || m.wave.privileged {
        return false;
    }
    let number = if m.arch().is_gfx12_plus() {
        u32::from(id & 15) << 28
    } else {
        u32::from(id) << 16
    };
    m.wave.s[TTMP0 + 12] = hwreg::status_word(m);
    m.wave.s[TTMP0 + if m.arch().is_gfx942_plus() { 13 } else { 11 }] &= 0x03ff_ffff;
    m.wave.set_pair(TTMP0 + 14, m.shared.trap_handler_memory());
    m.wave.s[TTMP0] = pc as u32;
    m.wave.s[TTMP0 + 1] = (pc >> 32) as u32 & 0xffff | number;
    m.wave.privileged = true;
    m.target = handler;
    true
}

/// s_trap. Trap 3 is what compilers emit for `llvm.debugtrap`.
pub(crate) fn trap(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (at, id) = (pc(op, page), op.k[0] as u8);
    let fault = Fault {
        pc: at,
        wave: m.wave.ids,
        kind: FaultKind::Trap { id },
    };
    if enter(m, at, id) {
        m.wave.trouble = (id != DEBUG_TRAP).then(|| Box::new(fault));
        return Flow::Jump;
    }
    if id == DEBUG_TRAP {
        return Flow::Next;
    }
    m.stop(Exit::Fault(Box::new(fault)))
}

/// Whether a fault goes to the trap handler; the wave is at its start then.
pub(crate) fn take(m: &mut Machine<'_>, fault: &Fault) -> bool {
    let gfx12 = m.arch().is_gfx12_plus();
    let flag = match fault.kind {
        FaultKind::Memory { .. } if gfx12 => MEM_VIOL_GFX12 | XNACK_ERROR_GFX12,
        FaultKind::Memory { .. } => MEM_VIOL | XNACK_ERROR,
        FaultKind::Misaligned { .. } | FaultKind::Aperture { .. } => {
            if gfx12 {
                MEM_VIOL_GFX12
            } else {
                MEM_VIOL
            }
        }
        FaultKind::IllegalInstruction { .. } => {
            if gfx12 {
                ILLEGAL_INST_GFX12
            } else {
                ILLEGAL_INST
            }
        }
        // Noted already.
        FaultKind::Arithmetic { .. } => 0,
        // The others are this executor's own affair.
        _ => return false,
    };
    // Behind an instruction that was completed, the wave goes on.
    let back = match fault.kind {
        FaultKind::Arithmetic { .. } => m.wave.pc,
        _ => fault.pc,
    };
    if !enter(m, back, 0) {
        return false;
    }
    m.wave.trap_status |= flag;
    m.wave.trouble = Some(Box::new(fault.clone()));
    m.wave.pc = m.target;
    true
}

/// s_rfe_b64 and s_rfe_restore_b64: back from the handler. A wave that the handler has marked as halted stops here.
pub(crate) fn rfe(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    if m.wave.halted {
        return halt(m, op, page);
    }
    m.wave.privileged = false;
    m.wave.trouble = None;
    let target = m.s64(op, 0) & 0xffff_ffff_ffff;
    m.jump(target)
}

/// A halted wave never goes on: there is no debugger. It ends with the fault that brought it here.
pub(crate) fn halt(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let fault = m.wave.trouble.take().unwrap_or_else(|| {
        Box::new(Fault {
            pc: pc(op, page),
            wave: m.wave.ids,
            kind: FaultKind::Halted,
        })
    });
    m.wave.halted = true;
    let exit = if m.wave.privileged {
        Exit::Halted(fault)
    } else {
        Exit::Fault(fault)
    };
    m.stop(exit)
}
