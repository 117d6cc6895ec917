//! Copies and fills by a GPU's SDMA engines, through queues of the backend's own on each GPU that was asked.
//!
//! `queue` has the ring that an engine reads, `lane` what of the work in it has ended, how, and what never will.

mod lane;
mod queue;

use crate::backend::{INHERITED, KfdBackend};
use crate::memory::Source;
use crate::sys;
use alloc::vec;
use core::sync::atomic::AtomicU32;
use lane::{Lane, State};
use queue::PIECE;
use rukh_core::backend::{
    AgentId, Dma, DmaCompletion, DmaEngine, DmaError, DmaProgress, DmaRequest, DmaTicket, DmaWork,
    LockGuard, Park,
};
use rukh_core::kfd::KfdPort;
use rukh_core::wire::sdma::{Full, Generation, Writer};

/// Looks before the first sleep, and nanoseconds between two looks after it.
const LOOKS: u32 = 1000;
const LOOK_NS: u64 = 20_000;

/// To the GPU's memory, to other memory, and what waits.
const INWARD: usize = 0;
const OUTWARD: usize = 1;
const WAITING: usize = 2;
const LANES: usize = 3;
/// Bits of a ticket that name the lane.
const LANE_BITS: u32 = 2;

/// A GPU's lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes([Lane; LANES]);

/// Where work goes.
#[derive(Clone, Copy)]
struct Target {
    agent: AgentId,
    gpu: usize,
    lane: usize,
    /// The queue that the work was begun on.
    incarnation: u64,
    generation: Generation,
}

/// What there is no room for in a piece of the ring cannot be: pieces are larger than any packet.
fn full(_: Full) -> DmaError {
    DmaError::NotSupported("a DMA packet that is larger than the ring")
}

impl<P: KfdPort> KfdBackend<P> {
    fn lane(&self, gpu: usize, lane: usize) -> Option<LockGuard<'_, State>> {
        Some(self.dma.get(gpu)?.0.get(lane)?.lock(&self.park))
    }

    /// A moment's rest, longer when there were some.
    fn rest(&self, looks: &mut u32) {
        *looks = looks.saturating_add(1);
        if *looks < LOOKS {
            core::hint::spin_loop();
        } else {
            self.park.park(&AtomicU32::new(0), 0, Some(LOOK_NS));
        }
    }

    /// Takes a lane's queue away. What it did not do is lost.
    fn give_up(&self, lane: &mut State) {
        let queue = lane.queue.as_ref();
        let stopped = queue.is_some_and(|queue| self.stop_dma_queue(queue));
        // What ended until it was stopped is done.
        lane.look(sys::now());
        if let Some(queue) = lane.lose()
            && stopped
        {
            self.drop_dma_queue(&queue);
        }
    }

    /// Gives a lane's queue up if its engine has had time enough.
    fn check_time(&self, lane: &mut State, agent: AgentId, bytes: u64) -> Result<(), DmaError> {
        match lane.overdue(bytes) {
            Some(nanoseconds) => {
                self.give_up(lane);
                Err(DmaError::Stuck { agent, nanoseconds })
            }
            None => Ok(()),
        }
    }

    /// The lane for a request, with a queue.
    fn target(&self, request: &DmaRequest<'_>) -> Result<Target, DmaError> {
        let agent = request.agent;
        let gpu = self
            .gpu_index(agent)
            .ok_or(DmaError::NotSupported("DMA by an agent that is no GPU"))?;
        if self.kfd.inherited() {
            // What is mapped of the queues' is not in a child.
            return Err(DmaError::NotSupported(INHERITED));
        }
        let to = match request.work {
            DmaWork::Copy { to, .. } | DmaWork::Fill { to, .. } => to,
        };
        let wanted: &[usize] = if !request.after.is_empty() {
            &[WAITING]
        } else if self.is_device_memory(to) {
            &[INWARD, OUTWARD]
        } else {
            &[OUTWARD, INWARD]
        };
        // Where queues are scarce one serves both directions: a lane that the driver had none for asks again only if
        // there is no other.
        let mut refusal = DmaError::NotSupported("DMA: the agent has no lanes");
        for again in [false, true] {
            for &lane in wanted {
                let Some(mut state) = self.lane(gpu, lane) else {
                    continue;
                };
                if state.queue.is_none() && state.refused == again {
                    match self.make_dma_queue(agent, gpu) {
                        Ok(queue) => state.open(queue, sys::now()),
                        Err(error) => {
                            state.refused = true;
                            refusal = error;
                        }
                    }
                }
                if let Some(queue) = &state.queue {
                    return Ok(Target {
                        agent,
                        gpu,
                        lane,
                        incarnation: state.incarnation,
                        generation: queue.generation,
                    });
                }
            }
        }
        Err(refusal)
    }

    fn is_device_memory(&self, address: u64) -> bool {
        let mut memory = self.memory.lock(&self.park);
        let entry = memory.containing(address);
        entry.is_some_and(|(_, entry)| matches!(entry.source, Source::Vram { .. }))
    }

    /// The lane with room for so many dwords, if its queue is still the one that the work was begun on. `begun`: some of the
    /// work is in the ring.
    fn room(
        &self,
        at: Target,
        dwords: usize,
        bytes: u64,
        begun: bool,
    ) -> Result<LockGuard<'_, State>, DmaError> {
        let agent = at.agent;
        let lost = DmaError::Lost { agent };
        let mut looks = 0;
        loop {
            let mut lane = self.lane(at.gpu, at.lane).ok_or(lost.clone())?;
            if lane.incarnation != at.incarnation {
                return Err(lost);
            }
            match &lane.queue {
                Some(queue) if queue.room() >= dwords => return Ok(lane),
                Some(_) => {}
                None => return Err(lost),
            }
            lane.look(sys::now());
            if lane.front_waits() && !begun {
                return Err(DmaError::Full { agent });
            }
            self.check_time(&mut lane, agent, bytes)?;
            drop(lane);
            self.rest(&mut looks);
        }
    }

    /// Writes packets to the ring, when it has room for them.
    fn send(
        &self,
        at: Target,
        bytes: u64,
        begun: &mut bool,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Result<(), DmaError> {
        let mut buffer = vec![0; PIECE];
        let mut writer = Writer::new(at.generation, &mut buffer);
        write(&mut writer).map_err(full)?;
        let dwords = writer.written();
        let mut lane = self.room(at, dwords.len(), bytes, *begun)?;
        if let Some(queue) = &mut lane.queue {
            queue.publish(dwords);
        }
        *begun = true;
        Ok(())
    }

    fn send_work(
        &self,
        at: Target,
        begun: &mut bool,
        work: DmaWork,
        bytes: u64,
    ) -> Result<(), DmaError> {
        // As much as half of a piece's dwords can say; a copy of everything takes a few.
        let packets = PIECE as u64 / 2 / 8;
        let mut done = 0;
        match work {
            DmaWork::Copy { to, from, bytes } => {
                let most = at.generation.max_copy().saturating_mul(packets);
                while done < bytes {
                    let part = (bytes - done).min(most);
                    let (to, from) = (to.wrapping_add(done), from.wrapping_add(done));
                    self.send(at, bytes, begun, |w| w.copy(to, from, part))?;
                    done += part;
                }
            }
            DmaWork::Fill { to, value, words } => {
                let most = (at.generation.max_fill() / 4)
                    .max(1)
                    .saturating_mul(packets);
                while done < words {
                    let part = (words - done).min(most);
                    let to = to.wrapping_add(done.wrapping_mul(4));
                    self.send(at, bytes, begun, |w| w.fill(to, value, part))?;
                    done += part;
                }
            }
        }
        Ok(())
    }

    /// Sends what comes before a request's end in pieces.
    fn send_begin(
        &self,
        at: Target,
        request: &DmaRequest<'_>,
        end: DmaCompletion,
        bytes: u64,
        begun: &mut bool,
    ) -> Result<(), DmaError> {
        for &address in request.after {
            self.send(at, 0, begun, |w| w.wait_for_zero(address))?;
        }
        self.send(at, bytes, begun, |w| start(w, end))?;
        self.send_work(at, begun, request.work, bytes)
    }

    /// Sends all of a request; gives its number in the lane.
    fn send_all(&self, at: Target, request: &DmaRequest<'_>) -> Result<u64, DmaError> {
        let end = request.completion.unwrap_or(DmaCompletion {
            value: 0,
            mailbox: 0,
            event: 0,
            timestamps: (0, 0),
        });
        let bytes = match request.work {
            DmaWork::Copy { bytes, .. } => bytes,
            DmaWork::Fill { words, .. } => words.saturating_mul(4),
        };
        // What the host wrote to device memory is there before the engine reads it.
        self.flush_hdp(at.gpu);
        // All at once if a piece has room for it, so that it is refused before any of it is sent.
        let mut buffer = vec![0; PIECE];
        let mut begun = false;
        let body = match begin(
            at.generation,
            &mut buffer[..PIECE - END_DWORDS],
            request,
            end,
        ) {
            Ok(body) => body,
            Err(Full { .. }) => {
                self.send_begin(at, request, end, bytes, &mut begun)?;
                0
            }
        };
        // The end is published together with its number, so that numbers are in the ring's order.
        let mut lane = self.room(at, body + END_DWORDS, bytes, begun)?;
        let mark = lane.next_mark();
        let Some(queue) = &mut lane.queue else {
            return Err(DmaError::Lost { agent: at.agent });
        };
        let done = queue.done_address();
        let mut writer = Writer::new(at.generation, &mut buffer[body..]);
        let w = &mut writer;
        let mut write = || {
            w.caches(false)?;
            if end.timestamps.1 != 0 {
                w.timestamp(end.timestamps.1)?;
            }
            if end.value != 0 {
                w.add_64(end.value, -1)?;
            }
            w.fence(done, mark)?;
            if end.event != 0 {
                if end.mailbox != 0 {
                    w.fence(end.mailbox, end.event)?;
                }
                w.trap(end.event)?;
            }
            Ok(())
        };
        write().map_err(full)?;
        let all = body + writer.written().len();
        queue.publish(&buffer[..all]);
        Ok(lane.add(bytes, !request.after.is_empty(), sys::now()))
    }
}

/// What comes before the work itself.
fn start(w: &mut Writer<'_>, end: DmaCompletion) -> Result<(), Full> {
    if end.timestamps.0 != 0 {
        w.timestamp(end.timestamps.0)?;
    }
    w.caches(true)
}

/// Writes all that comes before a request's end; gives how many dwords that takes.
fn begin(
    generation: Generation,
    buffer: &mut [u32],
    request: &DmaRequest<'_>,
    end: DmaCompletion,
) -> Result<usize, Full> {
    let mut w = Writer::new(generation, buffer);
    for &address in request.after {
        w.wait_for_zero(address)?;
    }
    start(&mut w, end)?;
    match request.work {
        DmaWork::Copy { to, from, bytes } => w.copy(to, from, bytes)?,
        DmaWork::Fill { to, value, words } => w.fill(to, value, words)?,
    }
    Ok(w.written().len())
}

/// Dwords that the end of a request takes at most: writing back caches, a time, an atomic, two fences and a trap.
const END_DWORDS: usize = 64;

fn check(request: &DmaRequest<'_>) -> Result<(), DmaError> {
    let mut places = vec![];
    if let DmaWork::Fill { to, .. } = request.work {
        places.push(("filled range", to, 4));
    }
    if let Some(end) = request.completion {
        places.push(("completion value", end.value, 8));
        places.push(("mailbox", end.mailbox, 4));
        places.push(("start time", end.timestamps.0, 8));
        places.push(("end time", end.timestamps.1, 8));
    }
    let after = request.after.iter();
    places.extend(after.map(|&address| ("value to wait for", address, 8)));
    let odd = places
        .into_iter()
        .find(|&(_, address, align)| !u64::is_multiple_of(address, align));
    match odd {
        Some((what, address, _)) => Err(DmaError::Alignment { what, address }),
        None => Ok(()),
    }
}

/// Bytes of device memory from which an engine is used although the host maps them. Each read by the host is a round trip
/// over the bus, of 64 bytes at most; starting an engine costs some tens of microseconds.
const WORTHWHILE: u64 = 64 << 10;

impl<P: KfdPort> Dma for KfdBackend<P> {
    fn dma_engine(&self, agent: AgentId) -> Option<DmaEngine> {
        let gpu = self.gpu_index(agent)?;
        let device = self.gpus.get(gpu)?;
        let properties = &device.properties;
        let engines = properties.sdma_engines + properties.sdma_xgmi_engines;
        if engines == 0 || self.kfd.inherited() {
            return None;
        }
        Generation::of_processor(device.identity.processor)?;
        let idle = |lane| {
            self.lane(gpu, lane).is_some_and(|mut lane| {
                if !lane.is_idle() {
                    lane.look(sys::now());
                }
                lane.is_idle()
            })
        };
        Some(DmaEngine {
            worthwhile: WORTHWHILE,
            inward_idle: idle(INWARD),
            outward_idle: idle(OUTWARD),
        })
    }

    unsafe fn copy(&self, agent: AgentId, to: u64, from: u64, bytes: u64) -> Result<(), DmaError> {
        let request = DmaRequest {
            agent,
            work: DmaWork::Copy { to, from, bytes },
            after: &[],
            completion: None,
        };
        let at = self.target(&request)?;
        let number = self.send_all(at, &request)?;
        let lost = DmaError::Lost { agent };
        let mut looks = 0;
        loop {
            let mut lane = self.lane(at.gpu, at.lane).ok_or(lost.clone())?;
            lane.look(sys::now());
            match lane.progress(number) {
                DmaProgress::Done => return Ok(()),
                DmaProgress::Lost => return Err(lost),
                DmaProgress::UnderWay => self.check_time(&mut lane, agent, 0)?,
            }
            drop(lane);
            self.rest(&mut looks);
        }
    }

    unsafe fn submit(&self, request: &DmaRequest<'_>) -> Result<DmaTicket, DmaError> {
        check(request)?;
        let at = self.target(request)?;
        let number = self.send_all(at, request)?;
        Ok(DmaTicket(number << LANE_BITS | at.lane as u64))
    }

    fn dma_progress(&self, agent: AgentId, ticket: DmaTicket) -> DmaProgress {
        let Some(gpu) = self.gpu_index(agent) else {
            return DmaProgress::Done;
        };
        if self.kfd.inherited() {
            // The parent's, whose memory is not in a child.
            return DmaProgress::Done;
        }
        let lane = ticket.0 & ((1 << LANE_BITS) - 1);
        let Some(mut lane) = self.lane(gpu, lane as usize) else {
            return DmaProgress::Done;
        };
        lane.look(sys::now());
        // What that gives up is lost, and said to be.
        let _ = self.check_time(&mut lane, agent, 0);
        lane.progress(ticket.0 >> LANE_BITS)
    }

    fn abandon_dma(&self, agent: AgentId) {
        let Some(gpu) = self.gpu_index(agent) else {
            return;
        };
        if self.kfd.inherited() {
            return;
        }
        for lane in 0..LANES {
            if let Some(mut lane) = self.lane(gpu, lane) {
                self.give_up(&mut lane);
            }
        }
    }
}
