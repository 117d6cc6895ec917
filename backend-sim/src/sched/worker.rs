//! A worker: services queues, and runs the work-groups that it has made resident.
//!
//! It begins with one work-group at a time, run to its end, which is what caches like. When work-groups
//! do not end (they spin on something that another work-group does) it makes more of them
//! resident, twice as many with every round, up to what the simulated device holds.

use super::dispatch::Dispatch;
use super::executor::Executor;
use super::group::{Group, Turn};
use crate::device::{System, WaveFault};
use crate::grid::{LaneKey, LaneTable};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// Instructions that a wave runs before others get a turn.
const SLICE: u64 = 32 << 10;
/// Work-groups claimed at once, at most.
const MAX_CHUNK: u64 = 64;
/// Lane tables kept.
const LANE_TABLES: usize = 16;
/// Work-groups whose memory is kept for the next ones.
const SPARE_GROUPS: usize = 64;

/// Work-groups claimed from a dispatch.
struct Claim {
    dispatch: Arc<Dispatch>,
    /// Those not started yet.
    range: Range<u64>,
    /// Those that have ended and are not counted back yet.
    finished: u64,
    /// Places among the resident work-groups of the dispatch that are held for the next ones.
    places: u32,
}

pub(crate) struct Worker<E: Executor> {
    number: usize,
    system: Arc<System>,
    executor: E,
    #[expect(
        clippy::vec_box,
        reason = "groups are large and move from list to list"
    )]
    resident: Vec<Box<Group<E::Wave>>>,
    #[expect(clippy::vec_box, reason = "as above")]
    spare: Vec<Box<Group<E::Wave>>>,
    /// One for each dispatch that work-groups were claimed from; most often one.
    claims: Vec<Claim>,
    chunk: u64,
    /// GPU, dispatch and code epoch that the executor was last told of.
    begun: Option<(usize, u64, u64)>,
    lanes: Vec<LaneTable>,
    /// How many work-groups to keep resident.
    target: usize,
    /// Where the round stands.
    next: usize,
    ended_in_round: bool,
    /// Claims so far, which decides whose turn it is.
    picks: usize,
    /// Step mode: draws turns and budgets.
    random: Option<Random>,
}

/// SplitMix64: the source of every choice in step mode.
pub(crate) struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }
}

impl<E: Executor> Worker<E> {
    pub(crate) fn new(system: Arc<System>, number: usize, seed: Option<u64>) -> Self {
        Self {
            number,
            executor: E::new(system.gpus.len(), system.level, system.alignment),
            system,
            resident: Vec::new(),
            spare: Vec::new(),
            claims: Vec::new(),
            chunk: 1,
            begun: None,
            lanes: Vec::new(),
            target: 1,
            next: 0,
            ended_in_round: false,
            picks: 0,
            random: seed.map(Random),
        }
    }

    /// Does a piece of work: false if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        self.system.quiesce.enter(self.number);
        let serviced = self.system.service_pending();
        let ran = self.turn();
        self.system.quiesce.leave(self.number);
        serviced || ran
    }

    /// Runs on a thread of its own until the system stops.
    #[cfg(feature = "std")]
    pub(crate) fn run(mut self) {
        // Work tends to follow work: look for a moment before sleeping, which costs both sides a
        // system call.
        const LOOKS: u32 = 200;
        let mut idle = 0u32;
        let system = self.system.clone();
        while !system.is_stopping() {
            if self.advance() {
                idle = 0;
                continue;
            }
            idle = idle.saturating_add(1);
            if idle < LOOKS {
                core::hint::spin_loop();
                continue;
            }
            let timeout = if self.claims.is_empty() {
                system.poll_interval(self.number, idle - LOOKS)
            } else {
                // There is work, but no place for it yet.
                Some(core::time::Duration::from_micros(50))
            };
            // Whoever brings the first doorbell of memory wakes those who sleep for good, not those about to.
            let endless = timeout.is_none();
            system.parking.sleep(self.number, timeout, || {
                system.is_idle() && !(endless && system.queues.has_doorbells())
            });
            if timeout.is_some() {
                system.poll_waiting();
            } else {
                idle = 0;
            }
        }
        self.abandon();
    }

    /// Drops what is resident, without a word to anyone: the system stops.
    pub(crate) fn abandon(&mut self) {
        self.resident.clear();
        self.claims.clear();
    }

    fn turn(&mut self) -> bool {
        while self.resident.len() < self.target && self.admit() {}
        if self.resident.is_empty() {
            self.target = 1;
            return self.flush();
        }
        let at = match &mut self.random {
            Some(random) => random.below(self.resident.len() as u64) as usize,
            None => self.next.min(self.resident.len() - 1),
        };
        let group = &mut self.resident[at];
        if group.dispatch().is_cancelled() {
            self.end(at);
            return true;
        }
        let random = &mut self.random;
        let mut budget = || match random {
            Some(random) => 64 + random.below(4096),
            None => SLICE,
        };
        let mut retired = 0;
        let turn = group.turn(&mut self.executor, &self.system, &mut budget, &mut retired);
        self.system.retire(retired);
        match turn {
            Turn::Done => {
                self.ended_in_round = true;
                self.end(at);
            }
            Turn::Yield => {
                self.next = at + 1;
                if self.next >= self.resident.len() {
                    self.next = 0;
                    if !core::mem::take(&mut self.ended_in_round) {
                        self.grow();
                    }
                }
            }
            Turn::Fault { wave, trouble } => {
                let group = &self.resident[at];
                let dispatch = group.dispatch().clone();
                let finished = dispatch.fail(WaveFault {
                    pc: trouble.pc,
                    kernel_object: dispatch.kernel_object,
                    group: group.at(),
                    wave,
                    code: trouble.code,
                    memory: trouble.memory,
                    text: trouble.text,
                    handled: trouble.handled,
                });
                if finished {
                    self.system.dispatch_done(&dispatch);
                }
                self.end(at);
            }
        }
        true
    }

    /// A round has passed in which no work-group ended: others may be what they wait for.
    fn grow(&mut self) {
        self.target = (self.resident.len() * 2).max(self.target);
        // Somebody asleep could run some of them.
        if !self.system.active.is_empty() {
            self.system.parking.wake(1);
        }
    }

    /// Takes a work-group off the list of resident ones.
    fn end(&mut self, at: usize) {
        let mut group = self.resident.swap_remove(at);
        if self.next >= self.resident.len() {
            self.next = 0;
        }
        // Falling back towards one at a time.
        self.target = self.target.saturating_sub(1).max(1);
        let dispatch = group.dispatch();
        let claim = self
            .claims
            .iter_mut()
            .find(|c| Arc::ptr_eq(&c.dispatch, dispatch));
        let last = match claim {
            Some(claim) if !claim.range.is_empty() && !dispatch.is_cancelled() => {
                claim.finished += 1;
                claim.places += 1;
                false
            }
            Some(claim) => {
                claim.finished += 1;
                claim.places += 1;
                true
            }
            None => {
                dispatch.leave(1);
                self.count(dispatch, 1);
                false
            }
        };
        // Others may be waiting for it.
        group.release_scratch();
        if self.spare.len() < SPARE_GROUPS {
            self.spare.push(group);
        }
        if last {
            self.flush();
        }
    }

    fn count(&self, dispatch: &Arc<Dispatch>, groups: u64) {
        if dispatch.finish(groups) {
            self.system.dispatch_done(dispatch);
        }
    }

    /// Counts back what is finished, and gives up claims of which nothing is left to start.
    fn flush(&mut self) -> bool {
        let mut any = false;
        let mut at = 0;
        while let Some(claim) = self.claims.get_mut(at) {
            if claim.dispatch.is_cancelled() {
                claim.finished += claim.range.end - claim.range.start;
                claim.range = 0..0;
            }
            if !claim.range.is_empty() {
                at += 1;
                continue;
            }
            let claim = self.claims.swap_remove(at);
            any = true;
            claim.dispatch.leave(claim.places);
            self.count(&claim.dispatch, claim.finished);
        }
        any
    }

    /// Makes one more work-group resident.
    fn admit(&mut self) -> bool {
        for at in 0..self.claims.len() {
            if self.start(at) {
                return true;
            }
        }
        self.flush();
        self.take_claim() && self.start(self.claims.len() - 1)
    }

    /// Starts the next work-group of a claim, if there is one and the device has room for it.
    fn start(&mut self, at: usize) -> bool {
        let claim = &mut self.claims[at];
        if claim.range.is_empty() || claim.dispatch.is_cancelled() {
            return false;
        }
        if claim.places > 0 {
            claim.places -= 1;
        } else if !claim.dispatch.admit() {
            return false;
        }
        let n = claim.range.start;
        let coordinates = claim.dispatch.shape.coordinates(n);
        let lanes = lane_table(&mut self.lanes, &claim.dispatch, coordinates);
        let mut group = self
            .spare
            .pop()
            .unwrap_or_else(|| Box::new(Group::new(claim.dispatch.clone())));
        if !group.prepare(&claim.dispatch, lanes.waves()) {
            claim.dispatch.leave(1);
            self.spare.push(group);
            return false;
        }
        claim.range.start += 1;
        let gpu = &self.system.gpus[claim.dispatch.gpu];
        let begun = (claim.dispatch.gpu, claim.dispatch.number, gpu.code_epoch());
        if self.begun != Some(begun) {
            self.begun = Some(begun);
            let arch = claim.dispatch.kernel.arch;
            self.executor.begin(claim.dispatch.gpu, arch, &gpu.view);
        }
        // Single steps are each wave's own.
        let together =
            self.random.is_none() && self.system.trace.is_none() && claim.dispatch.goes_together();
        group.start(&mut self.executor, n, coordinates, lanes, together);
        self.resident.push(group);
        true
    }

    /// Claims work-groups of the dispatch that is next.
    fn take_claim(&mut self) -> bool {
        let growing = !self.resident.is_empty();
        self.picks = self.picks.wrapping_add(1);
        let turn = match &mut self.random {
            Some(random) => random.draw() as usize,
            None if growing => self.picks,
            // The first has most of the turns, and each gets some: queues do not wait for each other,
            // however much there is in one of them.
            None if self.picks.is_multiple_of(2) => 0,
            None => self.picks / 2,
        };
        let claims = &self.claims;
        let Some(dispatch) = self.system.active.pick(turn, |dispatch| {
            dispatch.has_room() && !claims.iter().any(|c| Arc::ptr_eq(&c.dispatch, dispatch))
        }) else {
            return false;
        };
        // Few at a time while others could take some, or while each takes long.
        let share = dispatch.unclaimed() / (4 * self.system.workers as u64);
        let count = if growing {
            1
        } else {
            self.chunk.min(share).max(1)
        };
        self.chunk = if growing {
            1
        } else {
            (self.chunk * 2).min(MAX_CHUNK)
        };
        let Some(range) = dispatch.claim(count) else {
            return false;
        };
        self.claims.push(Claim {
            dispatch,
            range,
            finished: 0,
            places: 0,
        });
        true
    }
}

/// The lane table of a work-group's size, from those kept or made now.
fn lane_table<'a>(
    tables: &'a mut Vec<LaneTable>,
    dispatch: &Dispatch,
    at: [u32; 3],
) -> &'a LaneTable {
    let kernel = &dispatch.kernel;
    let key = LaneKey {
        size: dispatch.shape.size_at(at),
        lanes: kernel.lanes,
        packed: kernel.rules.packed_ids,
        components: kernel.id_components,
    };
    let found = match tables.iter().position(|t| *t.key() == key) {
        Some(found) => found,
        None => {
            if tables.len() == LANE_TABLES {
                tables.remove(0);
            }
            tables.push(LaneTable::new(key));
            tables.len() - 1
        }
    };
    &tables[found]
}
