//! A backend of a few events, and threads that sleep until they are woken and no longer.

use crate::backend::{
    AgentId, Clock, ClockCounters, EventError, EventId, EventKind, EventOutcome, EventReport,
    Events, Park, Timeout, WaitMode,
};
use crate::sync::{AtomicU32, Ordering, ended};
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

/// A futex that never wakes for no reason and never times out.
#[derive(Debug)]
pub struct Futex(Mutex<Vec<Sleeper>>);

impl Futex {
    #[allow(clippy::new_without_default, missing_docs)]
    pub fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl Park for Futex {
    fn park(&self, word: &AtomicU32, expected: u32, _: Option<u64>) {
        // Loom runs one thread at a time and does not look at this flag, which changes with the list.
        let woken = Arc::new(AtomicBool::new(false));
        {
            let mut sleepers = self.0.lock().expect("nobody panics");
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
        let mut sleepers = self.0.lock().expect("nobody panics");
        sleepers.retain(|sleeper| {
            let other = sleeper.word != word.addr();
            if !other {
                sleeper.woken.store(true, Ordering::Relaxed);
                sleeper.thread.unpark();
            }
            other
        });
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

    #[allow(clippy::new_without_default, missing_docs)]
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            futex: Futex::new(),
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
        _: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let mut state = self.state.lock().expect("nobody panics");
        let before = state.latched.len();
        state.latched.retain(|event| !events.contains(event));
        if state.latched.len() != before {
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
        Ok(EventOutcome::Raised)
    }
}
