//! The run loop.

use alloc::boxed::Box;

use super::code::{CodeCache, FetchError, SLOTS};
use super::context::Context;
use super::exceptions;
use super::fault::{Fault, FaultKind};
use super::fuse;
use super::gang;
use super::machine::{Machine, slot_in};
use super::microop::{Flow, MicroOp, VGPR};
use super::scalars::{M0, PRIVATE_BASE, PRIVATE_LIMIT, SHARED_BASE, SHARED_LIMIT};
use super::trace::{self, Tracer};
use super::trap;
use super::wave::Wave;
use crate::mem::{Access, MemoryView};

/// Why [`run`] returned. Except for a fault, the wave goes on from where it is when it is run again.
#[derive(Debug, Clone)]
pub enum Exit {
    /// s_endpgm.
    Ended,
    /// The wave waits for its work-group's other waves.
    Barrier,
    /// The wave waits for something that other waves do, and looks again whenever it is run.
    Waiting,
    /// s_sleep: others should run for about so many cycles.
    Sleeping {
        /// Cycles.
        cycles: u32,
    },
    /// s_sendmsg: a message to the host or to fixed-function hardware.
    Message {
        /// The message's number and operands, as the instruction's immediate has them.
        message: u16,
        /// M0, the message's payload.
        payload: u32,
    },
    /// The wave cannot go on; its program counter is at the faulting instruction.
    Fault(Box<Fault>),
    /// An access of the wave's has failed, which whoever watches over memory learns of, and the wave is at the start of
    /// its trap handler.
    Trapped(Box<Fault>),
    /// The trap handler has halted the wave for good; with what brought the wave there.
    Halted(Box<Fault>),
    /// The budget is spent.
    Budget,
}

/// Runs a wave until it ends, waits, faults, or has executed about `budget` instructions.
///
/// The budget is looked at where control flow turns, so that straight code may go a little beyond it,
/// and a wave that spins never keeps the worker.
#[inline]
pub fn run(wave: &mut Wave, cx: &mut Context<'_>, budget: u64) -> Exit {
    run_as::<false>(wave, cx, budget).unwrap_or(Exit::Budget)
}

/// [`run`]; or, with `GANG`, the same for waves that go together, where `None` says that they part.
#[inline(always)]
pub(super) fn run_as<const GANG: bool>(
    wave: &mut Wave,
    cx: &mut Context<'_>,
    budget: u64,
) -> Option<Exit> {
    if wave.ended {
        return Some(Exit::Ended);
    }
    cx.code.sync(cx.view);
    let apertures = cx.apertures;
    wave.set_pair(SHARED_BASE, apertures.shared);
    wave.set_pair(SHARED_LIMIT, apertures.shared | 0xffff_ffff);
    wave.set_pair(PRIVATE_BASE, apertures.private);
    wave.set_pair(PRIVATE_LIMIT, apertures.private | 0xffff_ffff);
    let mut machine = Machine {
        wave,
        view: cx.view,
        lds: cx.lds,
        temps: &mut cx.worker.temps,
        tlb: &mut cx.worker.tlb,
        clock: cx.clock,
        apertures,
        place: cx.place,
        shared: cx.shared,
        barriers: &mut *cx.barriers,
        target: 0,
        exit: None,
    };
    if GANG {
        if cx.trace.is_some() || budget <= 1 || needs_care(machine.wave) {
            return None;
        }
        return match steps::<false, true>(&mut machine, cx.code, budget, None) {
            Ok(Exit::Fault(fault)) => {
                gang::first_faults(machine.wave, fault);
                None
            }
            Ok(exit) => Some(exit),
            Err(Slow) => None,
        };
    }
    if machine.wave.halted && !machine.wave.privileged {
        let (pc, wave) = (machine.wave.pc, machine.wave.ids);
        let kind = FaultKind::Halted;
        return Some(Exit::Fault(Box::new(Fault { pc, wave, kind })));
    }
    loop {
        let exit = match machine.wave.met.take() {
            Some(fault) => Exit::Fault(fault),
            None => until_exit(&mut machine, cx.code, budget, cx.trace.as_deref_mut()),
        };
        match exit {
            Exit::Fault(fault) if trap::take(&mut machine, &fault) => {
                if matches!(fault.kind, FaultKind::Memory { .. }) {
                    return Some(Exit::Trapped(fault));
                }
            }
            Exit::Fault(fault) => {
                // An arithmetic exception left it behind the instruction.
                machine.wave.pc = fault.pc;
                return Some(Exit::Fault(fault));
            }
            exit => return Some(exit),
        }
    }
}

fn until_exit(
    machine: &mut Machine<'_>,
    code: &mut CodeCache,
    budget: u64,
    tracer: Option<&mut Tracer<'_>>,
) -> Exit {
    if tracer.is_none() && budget > 1 && !needs_care(machine.wave) {
        // Vector register indexing and the like are rare; the loop that knows them takes over.
        if let Ok(exit) = steps::<false, false>(machine, code, budget, None) {
            return exit;
        }
    }
    steps::<true, false>(machine, code, budget, tracer).unwrap_or(Exit::Budget)
}

/// Whether only the slow loop knows what vector instructions do now.
fn needs_care(wave: &Wave) -> bool {
    wave.gpr_index.is_some() || wave.skips_vectors || wave.exceptions_enabled() != 0
}

/// Executes one instruction.
pub fn step(wave: &mut Wave, cx: &mut Context<'_>) -> Exit {
    run(wave, cx, 0)
}

/// What follows is for the slow loop: vector register indexing was switched on, or a register is not there. Or waves that
/// go together part.
struct Slow;

/// The loop. `SLOW` is the one that executes every instruction by itself: it traces, makes single steps, and knows
/// vector register indexing. `GANG` is the one for waves that go together.
fn steps<const SLOW: bool, const GANG: bool>(
    m: &mut Machine<'_>,
    code: &mut CodeCache,
    budget: u64,
    mut tracer: Option<&mut Tracer<'_>>,
) -> Result<Exit, Slow> {
    let single = SLOW && budget <= 1;
    let start = m.wave.retired;
    let mut pc = m.wave.pc;
    let mut count = 0u64;
    let limits =
        (u32::from(m.wave.rows.vgprs()) | 0x8000) | (u32::from(m.wave.rows.accs()) | 0x8000) << 16;
    let exit = 'pages: loop {
        if !pc.is_multiple_of(4) {
            break fault(m.wave, pc, FaultKind::MisalignedPc { target: pc });
        }
        let page = match code.page(m.view, pc) {
            Ok(page) => page,
            Err(error) => break fetch_fault(m, pc, error),
        };
        let Some(mut slot) = slot_in(page, pc) else {
            break fetch_fault(m, pc, FetchError::Unmapped { va: pc });
        };
        let ops = &page.ops[..SLOTS];
        let together = &page.together[..SLOTS];
        // Most often the wave has all registers that any instruction of the page names.
        let roomy = !SLOW && has(limits, page.need);
        loop {
            let Some(op) = ops.get(slot) else {
                // Straight on into the next page.
                pc = page.va + slot as u64 * 4;
                if single && count > 0 {
                    break 'pages Exit::Budget;
                }
                continue 'pages;
            };
            let alone;
            let op = if SLOW {
                alone = fuse::first_of(page, op);
                &alone
            } else {
                op
            };
            if !roomy && !has(limits, op.need) {
                pc = page.va + slot as u64 * 4;
                if !SLOW {
                    m.wave.pc = pc;
                    m.wave.retired = start + count;
                    return Err(Slow);
                }
                break 'pages register_fault(m.wave, pc, op.need);
            }
            let raised = if SLOW && op.len > 0 && m.wave.exceptions_trap() {
                exceptions::raised(m, op, page)
            } else {
                0
            };
            let flow = if GANG {
                // SAFETY: as below, for the registers of each of the waves, which are of one shape.
                unsafe { (together[slot])(m, op, page) }
            } else if SLOW && m.wave.skips_vectors && is_vector(page, op) {
                Flow::Next
            } else if SLOW && m.wave.gpr_index.is_some() && op.handler.is_some() {
                match indexed(m.wave, op) {
                    // SAFETY: as below; `indexed` checked the registers.
                    Ok(op) => unsafe { (op.run)(m, &op, page) },
                    Err(number) => {
                        pc = page.va + slot as u64 * 4;
                        break 'pages register_fault(m.wave, pc, number + 1);
                    }
                }
            } else {
                // SAFETY: the code cache has no level that the host has not; the registers that the micro-op
                // needs were compared with those of the wave above, or those of the whole page.
                unsafe { (op.run)(m, op, page) }
            };
            if SLOW
                && flow != Flow::Decode
                && let Some(tracer) = tracer.as_deref_mut()
            {
                trace::report(tracer, m.wave, op, page);
            }
            if SLOW && raised != 0 && flow == Flow::Next {
                m.wave.raise(raised);
                let flags = raised & m.wave.exceptions_enabled();
                if flags != 0 {
                    // The instruction is done: the wave goes on behind it.
                    let at = page.va + slot as u64 * 4;
                    pc = at + u64::from(op.len) * 4;
                    count += 1;
                    break 'pages fault(m.wave, at, FaultKind::Arithmetic { flags });
                }
            }
            if flow == Flow::Next {
                if SLOW {
                    slot += usize::from(op.len);
                    count += 1;
                } else {
                    slot += usize::from(op.skip);
                    count += u64::from(op.weight);
                }
                if single {
                    pc = page.va + slot as u64 * 4;
                    break 'pages Exit::Budget;
                }
                continue;
            }
            count += 1;
            if flow == Flow::Jump {
                pc = m.target;
                if count >= budget {
                    break 'pages Exit::Budget;
                }
                match slot_in(page, pc) {
                    Some(there) if pc.is_multiple_of(4) => slot = there,
                    _ => continue 'pages,
                }
                continue;
            }
            // Keeps the usual ways out of the jump table.
            match core::hint::black_box(flow) {
                Flow::Next | Flow::Jump => {}
                Flow::End => {
                    pc = page.va + slot as u64 * 4;
                    m.wave.ended = true;
                    break 'pages Exit::Ended;
                }
                Flow::Barrier => {
                    pc = page.va + slot as u64 * 4 + u64::from(op.len) * 4;
                    break 'pages Exit::Barrier;
                }
                Flow::Stop => {
                    let exit = m.exit.take().unwrap_or(Exit::Ended);
                    pc = page.va + slot as u64 * 4;
                    match exit {
                        Exit::Fault(_) => count -= 1,
                        _ => pc += u64::from(op.len) * 4,
                    }
                    break 'pages exit;
                }
                Flow::Again => {
                    count -= 1;
                    pc = page.va + slot as u64 * 4;
                    break 'pages m.exit.take().unwrap_or(Exit::Waiting);
                }
                Flow::Decode => {
                    count -= 1;
                    pc = page.va + slot as u64 * 4;
                    if let Err(error) = code.decode(m.view, pc) {
                        break 'pages fetch_fault(m, pc, error);
                    }
                    continue 'pages;
                }
                Flow::Indexed => {
                    pc = page.va + slot as u64 * 4 + u64::from(op.len) * 4;
                    if single {
                        break 'pages Exit::Budget;
                    }
                    if !SLOW {
                        m.wave.pc = pc;
                        m.wave.retired = start + count;
                        return Err(Slow);
                    }
                    continue 'pages;
                }
                Flow::Part => {
                    let next = slot + usize::from(op.skip);
                    m.wave.pc = page.va + slot as u64 * 4;
                    m.wave.retired = start + count - 1;
                    gang::parted(m.wave, page.va + next as u64 * 4, u64::from(op.weight));
                    return Err(Slow);
                }
                Flow::Refresh => {
                    pc = page.va + slot as u64 * 4 + u64::from(op.len) * 4;
                    code.validate(m.view);
                    if single {
                        break 'pages Exit::Budget;
                    }
                    continue 'pages;
                }
            }
        }
    };
    m.wave.pc = pc;
    m.wave.retired = start + count;
    Ok(exit)
}

/// Whether a wave of these limits, each half with its top bit set, has the registers that are needed.
#[inline(always)]
fn has(limits: u32, need: u32) -> bool {
    limits.wrapping_sub(need) & 0x8000_8000 == 0x8000_8000
}

/// A vector instruction's micro-op with M0's index added to the operands that are relative; or the
/// number of a register that the wave does not have.
fn indexed(wave: &Wave, op: &MicroOp) -> Result<MicroOp, u32> {
    let mut op = *op;
    let enabled = wave.gpr_index.unwrap_or(0);
    let index = (wave.s[M0] & 0xff) as u16;
    let limit = wave.rows.vgprs();
    let MicroOp {
        src: [a, b, c],
        dst,
        ..
    } = &mut op;
    for (at, register) in [a, b, c, dst].into_iter().enumerate() {
        let vector = (VGPR..VGPR + 256).contains(register);
        if vector && enabled >> at & 1 != 0 {
            // Wide operands of indexed instructions do not exist: compilers index v_mov_b32.
            let number = *register - VGPR + index;
            if number >= limit {
                return Err(u32::from(number));
            }
            *register = VGPR + number;
        }
    }
    Ok(op)
}

/// Whether an instruction, decoded already, is one that s_setvskip skips.
fn is_vector(page: &super::code::Page, op: &MicroOp) -> bool {
    let scalar = page
        .words(usize::from(op.slot))
        .first()
        .is_some_and(|&word| {
            // The encodings of gfx9, which alone skips: SOP2, SOPK, SOP1, SOPC and SOPP, and scalar memory.
            word >> 30 == 0b10 || word >> 26 == 0b110000
        });
    op.len > 0 && !scalar
}

#[cold]
fn fault(wave: &Wave, pc: u64, kind: FaultKind) -> Exit {
    Exit::Fault(Box::new(Fault {
        pc,
        wave: wave.ids,
        kind,
    }))
}

#[cold]
fn fetch_fault(m: &Machine<'_>, pc: u64, error: FetchError) -> Exit {
    let kind = match error {
        FetchError::Unmapped { va } => FaultKind::Memory {
            lane: None,
            fault: instruction_fault(m.view, va),
        },
        FetchError::Illegal { encoding, error } => {
            FaultKind::IllegalInstruction { encoding, error }
        }
    };
    fault(m.wave, pc, kind)
}

fn instruction_fault(view: &MemoryView, va: u64) -> crate::mem::MemoryFault {
    view.fault(va, 4, Access::Execute)
}

#[cold]
fn register_fault(wave: &Wave, pc: u64, need: u32) -> Exit {
    let (vgprs, accs) = (u32::from(wave.rows.vgprs()), u32::from(wave.rows.accs()));
    let (file, number, allocated) = if need & 0xffff > vgprs {
        ('v', (need & 0xffff) - 1, vgprs)
    } else {
        ('a', (need >> 16).saturating_sub(1), accs)
    };
    fault(
        wave,
        pc,
        FaultKind::Register {
            file,
            number,
            allocated,
        },
    )
}
