//! A backend of a few events, one queue and one engine, and threads that sleep until they are woken and no longer.

use crate::backend::{
    AgentId, Clock, ClockCounters, Dma, DmaProgress, DmaTicket, EventError, EventId, EventKind,
    EventOutcome, EventReport, Events, Park, QueueHandle, QueueUpdate, Queues, Timeout, WaitMode,
};
use crate::config::POLL_NS;
use crate::sync::{AtomicU32, Ordering, barrier_of_all_threads, ended, fence};
use loom::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A thread that sleeps.
#[derive(Debug)]
struct Sleeper {
    word: usize,
    thread: loom::thread::Thread,
    woken: Arc<AtomicBool>,
}

/// What stands between a store to a signal and the look at its waiters, and on the waiters' side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// A fence on both sides.
    Fences,
    /// Nothing; a waiter imposes a barrier on all threads.
    Imposed,
    /// Nothing, and the waiter's barrier does nothing: what must not be.
    Broken,
}

/// A futex that never wakes for no reason and never times out, but for those who look again by themselves.
#[derive(Debug)]
pub struct Futex {
    sleepers: Mutex<Vec<Sleeper>>,
    barrier: Barrier,
}

impl Futex {
    #[allow(missing_docs)]
    pub fn new(barrier: Barrier) -> Self {
        Self {
            sleepers: Mutex::new(Vec::new()),
            barrier,
        }
    }
}

impl Park for Futex {
    fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) {
        if nanoseconds == Some(POLL_NS) {
            return loom::thread::yield_now();
        }
        // Loom runs one thread at a time and does not look at this flag, which changes with the list.
        let woken = Arc::new(AtomicBool::new(false));
        {
            let mut sleepers = self.sleepers.lock().expect("nobody panics");
            if word.load(Ordering::SeqCst) != expected {
                return;
            }
            sleepers.push(Sleeper {
                word: std::ptr::from_ref(word).addr(),
                thread: loom::thread::current(),
                woken: woken.clone(),
            });
        }
        while !woken.load(Ordering::Relaxed) {
            loom::thread::park();
        }
    }

    fn unpark(&self, word: *const AtomicU32) {
        if ended() {
            return;
        }
        let mut sleepers = self.sleepers.lock().expect("nobody panics");
        sleepers.retain(|sleeper| {
            let other = sleeper.word != word.addr();
            if !other {
                sleeper.woken.store(true, Ordering::Relaxed);
                sleeper.thread.unpark();
            }
            other
        });
    }

    fn has_heavy_barrier(&self) -> bool {
        self.barrier != Barrier::Fences
    }

    fn heavy_barrier(&self) {
        match self.barrier {
            Barrier::Fences => fence(Ordering::SeqCst),
            Barrier::Imposed => barrier_of_all_threads(),
            Barrier::Broken => {}
        }
    }
}

/// A thread in [`Device::wait_events`].
#[derive(Debug)]
struct Wait {
    events: Vec<EventId>,
    over: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    /// Events that were raised while nobody waited for them.
    latched: Vec<EventId>,
    waits: Vec<Wait>,
    /// What to report with the fault event, once.
    reports: Vec<EventReport>,
    queue_destroyed: bool,
    /// The engine's work, by ticket.
    copies: Vec<DmaProgress>,
}

/// Events: a raised one ends all waits on it, or is latched until the next wait consumes it.
#[derive(Debug)]
pub struct Device {
    state: Mutex<State>,
    changed: Condvar,
    futex: Futex,
}

impl Device {
    /// The runtime's own event and the clients'.
    pub const SHARED: [EventId; 2] = [EventId(1), EventId(2)];
    /// The event of faults.
    pub const FAULT: EventId = EventId(3);

    #[allow(missing_docs)]
    pub fn new(barrier: Barrier) -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            futex: Futex::new(barrier),
        }
    }

    /// A fault of the queue: whoever sleeps on the event of faults, or will, is told why.
    pub fn report(&self, report: EventReport) {
        let mut state = self.state.lock().expect("nobody panics");
        state.reports.push(report);
        drop(state);
        let _ = self.set_event(Self::FAULT);
    }

    /// Gives the engine a copy.
    pub fn submit(&self) -> DmaTicket {
        let mut state = self.state.lock().expect("nobody panics");
        state.copies.push(DmaProgress::UnderWay);
        let ticket = DmaTicket(state.copies.len() as u64 - 1);
        drop(state);
        self.changed.notify_all();
        ticket
    }

    /// Sleeps until the engine was given so many copies.
    pub fn wait_for_copies(&self, count: usize) {
        let mut state = self.state.lock().expect("nobody panics");
        while state.copies.len() < count {
            state = self.changed.wait(state).expect("nobody panics");
        }
    }

    /// The engine ends a copy by counting, unless it was taken from it: one or the other. Gives which.
    pub fn engine_ends(&self, ticket: DmaTicket, count: impl FnOnce()) -> bool {
        let mut state = self.state.lock().expect("nobody panics");
        let copy = &mut state.copies[ticket.0 as usize];
        let ends = *copy == DmaProgress::UnderWay;
        if ends {
            count();
            *copy = DmaProgress::Done;
        }
        ends
    }

    /// What is to be told, if a wait on these events ends.
    fn tell(state: &mut State, events: &[EventId], report: &mut dyn FnMut(EventReport)) {
        if events.contains(&Self::FAULT) {
            state.reports.drain(..).for_each(report);
        }
    }
}

impl Queues for Device {
    fn update_queue(&self, _: QueueHandle, _: &QueueUpdate) -> Result<(), ()> {
        let state = self.state.lock().expect("nobody panics");
        assert!(!state.queue_destroyed, "a queue that was destroyed");
        Ok(())
    }

    fn destroy_queue(&self, _: QueueHandle) -> Result<(), ()> {
        let mut state = self.state.lock().expect("nobody panics");
        assert!(!state.queue_destroyed, "destroyed twice");
        state.queue_destroyed = true;
        Ok(())
    }

    fn queue_is_there(&self, _: QueueHandle) -> bool {
        !self.state.lock().expect("nobody panics").queue_destroyed
    }
}

impl Dma for Device {
    fn dma_progress(&self, _: AgentId, ticket: DmaTicket) -> DmaProgress {
        self.state.lock().expect("nobody panics").copies[ticket.0 as usize]
    }

    fn abandon_dma(&self, _: AgentId) {
        let mut state = self.state.lock().expect("nobody panics");
        for copy in &mut state.copies {
            if *copy == DmaProgress::UnderWay {
                *copy = DmaProgress::Lost;
            }
        }
    }
}

impl Clock for Device {
    fn now(&self) -> u64 {
        0
    }

    fn counters(&self, _: AgentId) -> ClockCounters {
        ClockCounters::default()
    }

    fn device_frequency(&self, _: AgentId) -> u64 {
        1
    }

    fn relax(&self) {}
}

impl Events for Device {
    fn parker(&self) -> &dyn Park {
        &self.futex
    }

    fn create_event(&self, _: EventKind) -> Result<EventId, EventError> {
        Err(EventError::NoneLeft { limit: 1 })
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        Err(EventError::NoEvent(event))
    }

    fn mailbox(&self, _: EventId) -> u64 {
        0
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        if ended() {
            return Ok(());
        }
        let mut state = self.state.lock().expect("nobody panics");
        let before = state.waits.len();
        state.waits.retain(|wait| {
            let ends = wait.events.contains(&event);
            if ends {
                wait.over.store(true, Ordering::Relaxed);
            }
            !ends
        });
        if state.waits.len() == before && !state.latched.contains(&event) {
            state.latched.push(event);
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    fn wait_events(
        &self,
        events: &[EventId],
        _: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let mut state = self.state.lock().expect("nobody panics");
        let before = state.latched.len();
        state.latched.retain(|event| !events.contains(event));
        if state.latched.len() != before {
            Self::tell(&mut state, events, report);
            drop(state);
            // Who has been woken gets to run: leader and keeper kick each other for as long as they sleep.
            loom::thread::yield_now();
            return Ok(EventOutcome::Raised);
        }
        if timeout == Timeout::Poll {
            return Ok(EventOutcome::TimedOut);
        }
        let over = Arc::new(AtomicBool::new(false));
        state.waits.push(Wait {
            events: events.to_vec(),
            over: over.clone(),
        });
        while !over.load(Ordering::Relaxed) {
            state = self.changed.wait(state).expect("nobody panics");
        }
        Self::tell(&mut state, events, report);
        Ok(EventOutcome::Raised)
    }
}
