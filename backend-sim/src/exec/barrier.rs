//! Split and named barriers of gfx12: waves signal, go on, and wait later.
//!
//! The work-group keeps the counts. A barrier completes when as many waves have signalled as are its members; then a
//! wave's wait lets it go on once. Numbers: -1 is the work-group's barrier, -2 the trap handlers', 1 and up are named.

use super::code::Page;
use super::machine::Machine;
use super::microop::{Flow, MicroOp, OpFn};
use super::scalars::M0;
use crate::isa::Op;

#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    valid: bool,
    members: u32,
    signals: u32,
    /// How often the barrier has completed.
    completions: u32,
}

/// Index of the work-group's barrier, -1, and of the trap handlers', -2, in six bits.
const GROUP: usize = 63;
const TRAP: usize = 62;

/// The barriers of a work-group.
#[derive(Clone, Debug)]
pub struct Barriers {
    slots: [Barrier; 64],
    /// Some instruction has changed one.
    used: bool,
}

impl Barriers {
    /// Those of a work-group of so many waves, in their first state.
    pub fn new(waves: u32) -> Barriers {
        let mut barriers = Barriers {
            slots: [Barrier::default(); 64],
            used: true,
        };
        barriers.reset(waves);
        barriers
    }

    /// As [`Barriers::new`], in place.
    pub fn reset(&mut self, waves: u32) {
        if core::mem::take(&mut self.used) {
            self.slots = [Barrier::default(); 64];
        }
        for at in [GROUP, TRAP] {
            self.slots[at] = Barrier {
                valid: true,
                members: waves,
                ..Barrier::default()
            };
        }
    }

    /// A wave has ended: nobody waits for it any more.
    pub fn leave(&mut self, joined: u8) {
        for at in [GROUP, TRAP, usize::from(joined)] {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: usize) {
        if let Some(barrier) = self.slots.get_mut(at).filter(|barrier| barrier.valid) {
            barrier.members = barrier.members.saturating_sub(1);
            barrier.check();
        }
    }
}

impl Barrier {
    fn check(&mut self) {
        if self.signals > 0 && self.signals >= self.members {
            self.signals = 0;
            self.completions = self.completions.wrapping_add(1);
        }
    }
}

/// What a wave knows of barriers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The named barrier that it has joined; zero is none.
    pub(crate) joined: u8,
    /// Completions that it has waited for: of its named barrier, the work-group's, the trap handlers'.
    completions: [u32; 3],
}

/// The barrier that source 0 or M0 names, in six bits.
fn number(m: &Machine<'_>, op: &MicroOp) -> usize {
    if usize::from(op.src[0]) == M0 {
        // M0 cannot name the barriers below zero.
        (m.wave.s[M0] & 31) as usize
    } else {
        (m.s32(op, 0) & 63) as usize
    }
}

fn may_signal(m: &Machine<'_>, number: usize) -> bool {
    let in_group = m.barriers.slots[GROUP].members > 1 || number != GROUP;
    in_group && number != 0 && (number != TRAP || m.wave.privileged)
}

fn signal(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let number = number(m, op);
    if may_signal(m, number) {
        m.barriers.used = true;
        m.barriers.slots[number].signals += 1;
        m.barriers.slots[number].check();
    }
    Flow::Next
}

fn signal_isfirst(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let number = number(m, op);
    let first = may_signal(m, number) && m.barriers.slots[number].signals == 0;
    m.set_scc(first);
    signal(m, op, page)
}

fn state(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let barrier = m.barriers.slots[number(m, op)];
    let value = barrier.signals << 16 | barrier.members << 4 | u32::from(barrier.valid);
    m.put32(op.dst, value);
    Flow::Next
}

fn init(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let number = number(m, op);
    if (1..TRAP).contains(&number) {
        let members = m.wave.s[M0] >> 16 & 0x7f;
        let completions = m.barriers.slots[number].completions;
        m.barriers.used = true;
        m.barriers.slots[number] = Barrier {
            valid: true,
            members,
            signals: 0,
            completions,
        };
    }
    Flow::Next
}

fn join(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let number = number(m, op);
    if number < TRAP {
        m.wave.barriers.joined = number as u8;
        m.wave.barriers.completions[0] = m.barriers.slots[number].completions;
    }
    Flow::Next
}

fn leave(m: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    let joined = core::mem::take(&mut m.wave.barriers.joined);
    if joined != 0 {
        m.barriers.remove(usize::from(joined));
    }
    m.set_scc(joined != 0);
    Flow::Next
}

fn wait(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (kind, number) = match op.k[0] as u16 as i16 {
        -1 => (1, GROUP),
        ..-1 => (2, TRAP),
        _ => (0, usize::from(m.wave.barriers.joined)),
    };
    let barrier = m.barriers.slots[number & 63];
    // A wave on its own has nobody to wait for.
    if number == 0 || kind != 0 && barrier.members <= 1 && barrier.signals == 0 {
        m.wave.barriers.completions[kind] = barrier.completions;
        return Flow::Next;
    }
    if m.wave.barriers.completions[kind] == barrier.completions {
        return Flow::Again;
    }
    m.wave.barriers.completions[kind] = barrier.completions;
    Flow::Next
}

/// Waves that sleep wake up by themselves.
fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

/// The function of a barrier operation.
pub(crate) fn lookup(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::s_barrier_signal => signal,
        Op::s_barrier_signal_isfirst => signal_isfirst,
        Op::s_get_barrier_state => state,
        Op::s_barrier_init => init,
        Op::s_barrier_join => join,
        Op::s_barrier_leave => leave,
        Op::s_barrier_wait => wait,
        Op::s_wakeup_barrier => nothing,
        _ => return None,
    })
}
