//! A resident work-group: its waves, its group memory, and how they take turns.

use super::dispatch::Dispatch;
use super::executor::{Executor, RunContext, ShaderClock, Trouble, WaveExit, WaveStart};
use crate::device::System;
use crate::exec::Barriers;
use crate::grid::{LaneTable, START_SGPRS};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    Barrier,
    /// For something that another wave of the group, or of the device, does.
    Waiting,
    Ended,
    /// In the wave of an earlier slot, with which it goes together.
    Follows,
}

struct Slot<W> {
    wave: W,
    state: State,
    /// Waves that go together in this one: it and those of the slots behind it.
    together: u16,
}

/// Group memory, aligned for vector access.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Instructions after which a turn ends although waves keep meeting at barriers: others have work
/// too, and whoever takes memory away waits for the end of a turn.
const TURN: u64 = 256 << 10;

/// Bytes of vector registers that waves which go together may have, so that they stay in the host's nearest cache.
const TOGETHER_BYTES: usize = 16 << 10;

/// Instructions before which it is too early to part.
const EARLY: u64 = 64;

/// How a turn of a work-group ended.
pub(crate) enum Turn {
    /// All waves have ended.
    Done,
    /// Some wave goes on at the next turn.
    Yield,
    /// A wave cannot go on.
    Fault { wave: u32, trouble: Box<Trouble> },
}

/// A resident work-group.
pub(crate) struct Group<W> {
    dispatch: Arc<Dispatch>,
    at: [u32; 3],
    /// The first `live` are this work-group's; those behind it keep their registers for another.
    waves: Vec<Slot<W>>,
    live: usize,
    lds: Vec<Line>,
    lds_bytes: usize,
    scratch: Vec<u32>,
    barriers: Barriers,
    compute_unit: u32,
}

impl<W: Send> Group<W> {
    /// An empty group, to be [started](Self::start).
    pub(crate) fn new(dispatch: Arc<Dispatch>) -> Self {
        Self {
            dispatch,
            at: [0; 3],
            waves: Vec::new(),
            live: 0,
            lds: Vec::new(),
            lds_bytes: 0,
            scratch: Vec::new(),
            barriers: Barriers::new(0),
            compute_unit: 0,
        }
    }

    pub(crate) fn dispatch(&self) -> &Arc<Dispatch> {
        &self.dispatch
    }

    pub(crate) fn at(&self) -> [u32; 3] {
        self.at
    }

    /// Gives back the scratch slots, if any.
    pub(crate) fn release_scratch(&mut self) {
        if let Some(scratch) = &self.dispatch.scratch {
            scratch.slots.release(&mut self.scratch);
        }
    }

    /// Takes what a work-group of `dispatch` with so many waves needs. False if there is no
    /// scratch memory left for now.
    pub(crate) fn prepare(&mut self, dispatch: &Arc<Dispatch>, waves: u32) -> bool {
        let same = Arc::ptr_eq(&self.dispatch, dispatch);
        if !same {
            self.release_scratch();
            self.dispatch = dispatch.clone();
        }
        match &dispatch.scratch {
            Some(scratch) if self.scratch.len() < waves as usize => {
                scratch.slots.take(waves as usize, &mut self.scratch)
            }
            _ => true,
        }
    }

    /// Waves of the dispatch that go together.
    fn most_together<E: Executor<Wave = W>>(&self) -> u32 {
        let kernel = &self.dispatch.kernel;
        let alike = kernel.group_info_sgpr.is_none() && self.dispatch.scratch.is_none();
        if !alike {
            return 1;
        }
        let rows = usize::from(kernel.vgprs) + usize::from(kernel.acc_vgprs);
        let bytes = rows.max(1) * kernel.lanes as usize * 4;
        (TOGETHER_BYTES / bytes).clamp(1, E::MOST_TOGETHER) as u32
    }

    /// Makes this the `n`-th work-group of its dispatch, in its start state; with waves that go together, if they may.
    pub(crate) fn start<E: Executor<Wave = W>>(
        &mut self,
        executor: &mut E,
        n: u64,
        at: [u32; 3],
        lanes: &LaneTable,
        together: bool,
    ) {
        let most = if together {
            self.most_together::<E>()
        } else {
            1
        };
        let dispatch = &*self.dispatch;
        let kernel = &dispatch.kernel;
        self.at = at;
        self.compute_unit = n as u32;
        self.lds_bytes = kernel.group_bytes as usize;
        self.lds.clear();
        self.lds.resize(self.lds_bytes.div_ceil(64), Line([0; 64]));
        let mut sgprs: [u32; START_SGPRS] = kernel.sgprs;
        for (sgpr, id) in kernel.group_id_sgpr.iter().zip(at) {
            put(&mut sgprs, *sgpr, id);
        }
        let waves = lanes.waves();
        self.barriers.reset(waves);
        let mut wave = 0;
        while wave < waves {
            let together = most.min(lanes.full_waves().saturating_sub(wave)).max(1);
            // First wave of the group in bit 31, waves of the group in bits 5-0.
            put(
                &mut sgprs,
                kernel.group_info_sgpr,
                u32::from(wave == 0) << 31 | waves & 63,
            );
            let offset = match (&dispatch.scratch, self.scratch.get(wave as usize)) {
                (Some(scratch), Some(slot)) => u64::from(*slot) * scratch.wave_bytes,
                _ => 0,
            };
            put(&mut sgprs, kernel.scratch_offset_sgpr, offset as u32);
            let flat_scratch = (kernel.uses_scratch && kernel.rules.architected_flat_scratch)
                .then(|| kernel.scratch_base.wrapping_add(offset));
            let start = WaveStart {
                arch: kernel.arch,
                lanes: kernel.lanes,
                vgprs: kernel.vgprs,
                acc_vgprs: kernel.acc_vgprs,
                mode: kernel.mode,
                pc: kernel.entry,
                exec: lanes.exec(wave),
                sgprs: &sgprs[..usize::from(kernel.sgpr_count).min(START_SGPRS)],
                together: together as u16,
                ids: lanes.rows(wave, together),
                ttmp_group: kernel.rules.ttmp_group_ids.then_some(at),
                flat_scratch,
                dispatch: dispatch.number,
                group: at,
                wave,
            };
            match self.waves.get_mut(wave as usize) {
                Some(slot) => executor.restart(&mut slot.wave, &start),
                None => self.waves.push(Slot {
                    wave: executor.create(&start),
                    state: State::Ready,
                    together: 1,
                }),
            }
            for at in wave..wave + together {
                if self.waves.len() == at as usize {
                    // For when they part.
                    let ids = lanes.rows(at, 1);
                    self.waves.push(Slot {
                        wave: executor.create(&WaveStart {
                            together: 1,
                            ids,
                            ..start
                        }),
                        state: State::Follows,
                        together: 1,
                    });
                }
                let slot = &mut self.waves[at as usize];
                (slot.state, slot.together) = if at == wave {
                    (State::Ready, together as u16)
                } else {
                    (State::Follows, 1)
                };
            }
            wave += together;
        }
        self.live = waves as usize;
    }

    /// Lets every wave that can run do so, again and again as long as they meet at barriers.
    pub(crate) fn turn<E: Executor<Wave = W>>(
        &mut self,
        executor: &mut E,
        system: &System,
        budget: &mut dyn FnMut() -> u64,
        retired: &mut u64,
    ) -> Turn {
        let dispatch = &self.dispatch;
        let gpu = &system.gpus[dispatch.gpu];
        let clock = gpu.shader_clock(&system.clock);
        let clock: &dyn ShaderClock = &clock;
        let doorbell = system.queues.doorbell_of(dispatch.queue);
        let waves = &mut self.waves[..self.live];
        loop {
            let mut live = 0;
            let (mut waiting, mut polling) = (0, 0);
            let before_round = *retired;
            for number in 0..waves.len() {
                let Some((slot, behind)) = waves[number..].split_first_mut() else {
                    break;
                };
                if slot.state == State::Waiting {
                    slot.state = State::Ready;
                }
                while slot.state == State::Ready {
                    let before = E::retired(&slot.wave);
                    let cx = RunContext {
                        view: &gpu.view,
                        lds: lds_bytes(&mut self.lds, self.lds_bytes),
                        gpu: dispatch.gpu,
                        arch: dispatch.kernel.arch,
                        clock,
                        compute_unit: self.compute_unit,
                        doorbell,
                        shared: &gpu.shared,
                        barriers: &mut self.barriers,
                        trace: system.trace.as_deref(),
                    };
                    let together = usize::from(slot.together);
                    let exit = if together > 1 {
                        executor.run_together(&mut slot.wave, cx, budget())
                    } else {
                        Some(executor.run(&mut slot.wave, cx, budget()))
                    };
                    let so_far = E::retired(&slot.wave);
                    *retired += so_far.wrapping_sub(before) * together as u64;
                    let Some(exit) = exit else {
                        let others = &mut behind[..together - 1];
                        let numbered = dispatch.kernel.rules.ttmp_group_ids;
                        E::part(
                            &mut slot.wave,
                            others.iter_mut().map(|slot| &mut slot.wave),
                            numbered,
                        );
                        slot.together = 1;
                        *retired += E::retired(&slot.wave) - so_far;
                        for other in others {
                            other.state = State::Ready;
                            *retired += E::retired(&other.wave) - so_far;
                        }
                        if so_far < EARLY {
                            dispatch.note_parting();
                        }
                        continue;
                    };
                    match exit {
                        WaveExit::Ended => {
                            slot.state = State::Ended;
                            for _ in 0..together {
                                self.barriers.leave(E::joined_barrier(&slot.wave));
                            }
                        }
                        WaveExit::Waiting => slot.state = State::Waiting,
                        WaveExit::Barrier => slot.state = State::Barrier,
                        WaveExit::Sleeping | WaveExit::Budget => break,
                        WaveExit::Message { message, payload } => {
                            system.message(gpu.agent, message, payload);
                            if *retired > TURN {
                                break;
                            }
                        }
                        WaveExit::Trapped(fault) => {
                            if dispatch.is_first_trap() {
                                system.trapped(gpu.agent, &fault);
                            }
                        }
                        WaveExit::Fault(trouble) => {
                            return Turn::Fault {
                                wave: number as u32,
                                trouble,
                            };
                        }
                    }
                }
                match slot.state {
                    State::Ready => live += 1,
                    State::Barrier => waiting += 1,
                    State::Waiting => polling += 1,
                    State::Ended | State::Follows => {}
                }
            }
            // Those that wait for each other look again as long as some of them get on.
            let stuck = *retired == before_round || *retired > TURN;
            if live > 0 || polling > 0 && stuck {
                return Turn::Yield;
            }
            if polling > 0 {
                continue;
            }
            if waiting == 0 {
                return Turn::Done;
            }
            // All waves that have not ended are at the barrier.
            for slot in &mut *waves {
                if slot.state == State::Barrier {
                    slot.state = State::Ready;
                }
            }
            if *retired > TURN {
                return Turn::Yield;
            }
        }
    }
}

fn put(sgprs: &mut [u32; START_SGPRS], at: Option<u8>, value: u32) {
    if let Some(slot) = at.and_then(|at| sgprs.get_mut(usize::from(at))) {
        *slot = value;
    }
}

fn lds_bytes(lines: &mut [Line], bytes: usize) -> &mut [u8] {
    debug_assert!(bytes <= lines.len() * 64);
    // SAFETY: lines are 64 bytes without padding, borrowed for as long as the slice, and
    // `start` made as many as `bytes` needs.
    unsafe { core::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), bytes) }
}
