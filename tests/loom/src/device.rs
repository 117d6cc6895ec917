//! A backend of one event, and threads that sleep until they are woken and no longer.

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

/// One event, latched until a wait consumes it.
#[derive(Debug)]
pub struct Device {
    raised: Mutex<bool>,
    changed: Condvar,
    futex: Futex,
}

impl Device {
    /// The event.
    pub const EVENT: EventId = EventId(1);

    #[allow(clippy::new_without_default, missing_docs)]
    pub fn new() -> Self {
        Self {
            raised: Mutex::new(false),
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

    fn set_event(&self, _: EventId) -> Result<(), EventError> {
        *self.raised.lock().expect("nobody panics") = true;
        self.changed.notify_all();
        Ok(())
    }

    fn wait_events(
        &self,
        _: &[EventId],
        _: WaitMode,
        timeout: Timeout,
        _: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let mut raised = self.raised.lock().expect("nobody panics");
        while !*raised {
            if timeout == Timeout::Poll {
                return Ok(EventOutcome::TimedOut);
            }
            raised = self.changed.wait(raised).expect("nobody panics");
        }
        *raised = false;
        Ok(EventOutcome::Raised)
    }
}
