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
}

struct Slot<W> {
    wave: W,
    state: State,
}

/// Group memory, aligned for vector access.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Instructions after which a turn ends although waves keep meeting at barriers: others have work
/// too, and whoever takes memory away waits for the end of a turn.
const TURN: u64 = 256 << 10;

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

    /// Makes this the `n`-th work-group of its dispatch, in its start state.
    pub(crate) fn start<E: Executor<Wave = W>>(
        &mut self,
        executor: &mut E,
        n: u64,
        at: [u32; 3],
        lanes: &LaneTable,
    ) {
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
        for wave in 0..waves {
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
                ids: lanes.rows(wave),
                ttmp_group: kernel.rules.ttmp_group_ids.then_some(at),
                flat_scratch,
                dispatch: dispatch.number,
                group: at,
                wave,
            };
            match self.waves.get_mut(wave as usize) {
                Some(slot) => {
                    executor.restart(&mut slot.wave, &start);
                    slot.state = State::Ready;
                }
                None => self.waves.push(Slot {
                    wave: executor.create(&start),
                    state: State::Ready,
                }),
            }
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
            for (number, slot) in waves.iter_mut().enumerate() {
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
                    let exit = executor.run(&mut slot.wave, cx, budget());
                    *retired += E::retired(&slot.wave).wrapping_sub(before);
                    match exit {
                        WaveExit::Ended => {
                            slot.state = State::Ended;
                            self.barriers.leave(E::joined_barrier(&slot.wave));
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
                    State::Ended => {}
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
