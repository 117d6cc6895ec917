//! The global data share, and global wave sync.
//!
//! The share is memory of the device that DS instructions reach with their GDS bit: M0 says which part, its base in
//! the high half and its size in the low one. Wave sync has 64 resources, each a barrier or a semaphore; which one
//! an instruction means is the sum of its offset and bits 21-16 of M0.

use alloc::boxed::Box;

use super::code::Page;
use super::ds::lower_local;
use super::flat::vector;
use super::lower::{Cx, Ext, Lowered};
use super::machine::Machine;
use super::microop::{Flow, MicroOp, OpFn};
use super::scalars::M0;
use super::shared::{RESOURCES, Resource};
use crate::isa::{Field, Inst, Op};

fn sync(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::ds_gws_init => init,
        Op::ds_gws_barrier => barrier,
        Op::ds_gws_sema_v => sema_v,
        Op::ds_gws_sema_br => sema_br,
        Op::ds_gws_sema_p => sema_p,
        Op::ds_gws_sema_release_all => release_all,
        _ => return None,
    })
}

/// Whether an operation is of global wave sync.
pub(crate) fn is_sync(op: Op) -> bool {
    sync(op).is_some()
}

/// Lowers what is not group memory's; `None` for everything else.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    if let Some(run) = sync(inst.op) {
        let mut micro = MicroOp::undecoded(0);
        micro.run = run;
        micro.k[0] = u64::from(inst.mods.offset as u32 & 0xffff);
        for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
            if desc.field == Field::Addr {
                match vector(operand) {
                    Ok(register) => micro.src[0] = register,
                    Err(what) => return Some(Err(what)),
                }
            }
        }
        return Some(Ok(micro));
    }
    if !inst.mods.gds {
        return None;
    }
    if cx.arch.is_gfx942_plus() || cx.arch.is_gfx12_plus() {
        return Some(Err(
            "the global data share, which this processor does not have",
        ));
    }
    Some(lower_local(cx, inst).map(|inner| {
        let mut micro = inner;
        micro.ext = cx.add(Ext::Gds(Box::new(inner)));
        micro.flags = u8::from(matches!(inst.op, Op::ds_append | Op::ds_consume));
        micro.run = in_share;
        micro
    }))
}

/// Runs an instruction of group memory on the global data share.
fn in_share(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(Ext::Gds(inner)) = page.ext.get(op.ext as usize) else {
        return m.unsupported(op, page, "?", "the global data share");
    };
    let mut inner = **inner;
    inner.slot = op.slot;
    let mut memory = m.shared.gds.lock();
    let (base, size) = (
        (m.wave.s[M0] >> 16) as usize,
        (m.wave.s[M0] & 0xffff) as usize,
    );
    // Append and consume add the base themselves.
    let range = if op.flags != 0 {
        0..memory.len()
    } else {
        base.min(memory.len())..(base + size).min(memory.len())
    };
    let mut machine = Machine {
        wave: m.wave,
        view: m.view,
        lds: memory.get_mut(range).unwrap_or_default(),
        temps: m.temps,
        tlb: m.tlb,
        clock: m.clock,
        apertures: m.apertures,
        place: m.place,
        shared: m.shared,
        barriers: m.barriers,
        target: 0,
        exit: None,
    };
    // SAFETY: the code cache has no level that the host has not; the registers that the micro-op needs are those of
    // the one around it, which the run loop checked.
    let flow = unsafe { (inner.run)(&mut machine, &inner, page) };
    m.exit = machine.exit;
    flow
}

fn resource(m: &Machine<'_>, op: &MicroOp) -> usize {
    (op.k[0] as u32).wrapping_add(m.wave.s[M0] >> 16) as usize % RESOURCES
}

/// The value of the first active lane.
fn value(m: &Machine<'_>, op: &MicroOp) -> i32 {
    let exec = m.wave.exec();
    let lane = if exec == 0 { 0 } else { exec.trailing_zeros() };
    m.lane_value(op.src[0], false, lane as usize) as i32
}

fn init(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (at, counter) = (resource(m, op), value(m, op));
    let mut all = m.shared.gws.lock();
    all[at] = Resource { counter, ..all[at] };
    Flow::Next
}

/// Waits until as many waves have come as the resource was initialised with, and one. The last one sets it up anew.
fn barrier(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (at, counter) = (resource(m, op), value(m, op));
    let mut all = m.shared.gws.lock();
    let resource = &mut all[at];
    match m.wave.gws {
        Some(releases) if releases == resource.releases => return Flow::Again,
        Some(_) => m.wave.gws = None,
        None if resource.counter <= 0 => {
            resource.counter = counter;
            resource.releases = resource.releases.wrapping_add(1);
        }
        None => {
            resource.counter -= 1;
            m.wave.gws = Some(resource.releases);
            return Flow::Again;
        }
    }
    Flow::Next
}

fn sema_v(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let at = resource(m, op);
    let mut all = m.shared.gws.lock();
    all[at].counter = all[at].counter.saturating_add(1);
    Flow::Next
}

fn sema_br(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (at, more) = (resource(m, op), value(m, op));
    let mut all = m.shared.gws.lock();
    all[at].counter = all[at].counter.saturating_add(more);
    Flow::Next
}

fn sema_p(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let at = resource(m, op);
    let mut all = m.shared.gws.lock();
    let resource = &mut all[at];
    let released = m.wave.gws.is_some_and(|seen| seen != resource.releases);
    if resource.counter <= 0 && !released {
        m.wave.gws = Some(m.wave.gws.unwrap_or(resource.releases));
        return Flow::Again;
    }
    if !released {
        resource.counter -= 1;
    }
    m.wave.gws = None;
    Flow::Next
}

fn release_all(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let at = resource(m, op);
    let mut all = m.shared.gws.lock();
    all[at].releases = all[at].releases.wrapping_add(1);
    Flow::Next
}
