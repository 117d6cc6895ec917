//! Events: devices raise them by id, hosts sleep on them.
//!
//! Who is asleep when an event is raised is woken, all of them; if nobody is, the event stays
//! raised for the next who asks. Reports of faults are kept with the event in the same way.

use crate::sync::Mutex;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use rukh_core::backend::{EventError, EventId, EventKind, EventOutcome, EventReport, WaitMode};

/// Events at once: the driver's limit.
pub(crate) const MAX_EVENTS: u32 = 4096;
/// Reports kept for an event that nobody asks for.
const MAX_REPORTS: usize = 64;

struct Event {
    kind: EventKind,
    /// How often it was raised.
    age: u64,
    /// Raised while nobody waited.
    latched: bool,
    waiters: u32,
    /// With the age at which each came.
    reports: VecDeque<(u64, EventReport)>,
    /// Reports up to this age have been seen.
    seen: u64,
}

#[derive(Default)]
struct State {
    events: BTreeMap<u32, Event>,
    next: u32,
    /// Threads that sleep: to wake none costs a system call too.
    sleepers: u32,
}

/// All events of a system.
#[derive(Default)]
pub(crate) struct Events {
    state: Mutex<State>,
    #[cfg(feature = "std")]
    raised: std::sync::Condvar,
}

/// What one waiter remembers of one event.
struct Watch {
    id: EventId,
    age: u64,
    latched: bool,
}

/// A wait that has begun: the events count it until [`Events::end`].
pub(crate) struct Wait {
    watches: Vec<Watch>,
    mode: WaitMode,
}

impl Events {
    pub(crate) fn create(&self, kind: EventKind) -> Result<EventId, EventError> {
        let mut state = self.state.lock();
        if state.events.len() >= MAX_EVENTS as usize {
            return Err(EventError::NoneLeft { limit: MAX_EVENTS });
        }
        // Ids run from 1 to the limit: 0 is "no event" in a signal.
        let mut id = state.next;
        loop {
            id = id % MAX_EVENTS + 1;
            if !state.events.contains_key(&id) {
                break;
            }
        }
        state.next = id;
        state.events.insert(
            id,
            Event {
                kind,
                age: 0,
                latched: false,
                waiters: 0,
                reports: VecDeque::new(),
                seen: 0,
            },
        );
        Ok(EventId(id))
    }

    pub(crate) fn destroy(&self, id: EventId) -> Result<(), EventError> {
        let removed = self.state.lock().events.remove(&id.0);
        removed.ok_or(EventError::NoEvent(id))?;
        self.wake(true);
        Ok(())
    }

    pub(crate) fn exists(&self, id: EventId) -> bool {
        self.state.lock().events.contains_key(&id.0)
    }

    /// Raises an event from the host.
    pub(crate) fn set(&self, id: EventId) -> Result<(), EventError> {
        let mut state = self.state.lock();
        let event = state
            .events
            .get_mut(&id.0)
            .filter(|e| e.kind == EventKind::Signal)
            .ok_or(EventError::NoEvent(id))?;
        event.raise();
        let sleepers = state.sleepers > 0;
        drop(state);
        self.wake(sleepers);
        Ok(())
    }

    /// Raises an event from a device: an id that is none is ignored, as hardware's is.
    pub(crate) fn raise(&self, id: EventId) {
        let _ = self.set(id);
    }

    /// Raises all events of a kind, with a report.
    pub(crate) fn report(&self, kind: EventKind, report: EventReport) {
        let mut state = self.state.lock();
        for event in state.events.values_mut().filter(|e| e.kind == kind) {
            event.raise();
            if event.reports.len() == MAX_REPORTS {
                event.reports.pop_front();
            }
            event.reports.push_back((event.age, report));
        }
        let sleepers = state.sleepers > 0;
        drop(state);
        self.wake(sleepers);
    }

    fn wake(&self, sleepers: bool) {
        #[cfg(feature = "std")]
        if sleepers {
            self.raised.notify_all();
        }
        #[cfg(not(feature = "std"))]
        let _ = sleepers;
    }

    /// Begins a wait.
    pub(crate) fn begin(&self, ids: &[EventId], mode: WaitMode) -> Result<Wait, EventError> {
        let mut state = self.state.lock();
        if let Some(id) = ids.iter().find(|id| !state.events.contains_key(&id.0)) {
            return Err(EventError::NoEvent(*id));
        }
        let mut watches = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(event) = state.events.get_mut(&id.0) {
                event.waiters += 1;
                watches.push(Watch {
                    id: *id,
                    age: event.age,
                    latched: core::mem::take(&mut event.latched),
                });
            }
        }
        Ok(Wait { watches, mode })
    }

    /// Whether the events are there that the wait is for.
    pub(crate) fn check(&self, wait: &Wait) -> Result<bool, EventError> {
        self.state.lock().check(wait)
    }

    /// Sleeps until the wait is over, or until `deadline`; true if the events are there.
    #[cfg(feature = "std")]
    pub(crate) fn sleep(
        &self,
        wait: &Wait,
        deadline: Option<std::time::Instant>,
    ) -> Result<bool, EventError> {
        use std::sync::PoisonError;
        let mut state = self.state.lock();
        loop {
            if state.check(wait)? {
                return Ok(true);
            }
            state.sleepers += 1;
            state = match deadline {
                None => self
                    .raised
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(std::time::Instant::now());
                    if left.is_zero() {
                        state.sleepers -= 1;
                        return Ok(false);
                    }
                    self.raised
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
            state.sleepers -= 1;
        }
    }

    /// Ends a wait: hands out reports that are new.
    pub(crate) fn end(
        &self,
        wait: Wait,
        met: bool,
        report: &mut dyn FnMut(EventReport),
    ) -> EventOutcome {
        let mut found = Vec::new();
        let mut state = self.state.lock();
        // Raised since the last look: whoever raised it saw a waiter and left it to this wait.
        let met = met || matches!(state.check(&wait), Ok(true));
        for watch in &wait.watches {
            let Some(event) = state.events.get_mut(&watch.id.0) else {
                continue;
            };
            event.waiters = event.waiters.saturating_sub(1);
            let since = if watch.latched { event.seen } else { watch.age };
            found.extend(event.reports.iter().filter(|r| r.0 > since).map(|r| r.1));
            event.seen = event.seen.max(event.age);
            if event.waiters == 0 {
                event.reports.clear();
            }
            // A wait that was not for this event alone leaves it to the next.
            if !met && (watch.latched || event.age > watch.age) {
                event.latched = true;
            }
        }
        drop(state);
        found.into_iter().for_each(report);
        if met {
            EventOutcome::Raised
        } else {
            EventOutcome::TimedOut
        }
    }
}

impl Event {
    fn raise(&mut self) {
        self.age += 1;
        if self.waiters == 0 {
            self.latched = true;
        }
    }
}

impl State {
    fn check(&self, wait: &Wait) -> Result<bool, EventError> {
        let mut any = false;
        let mut all = true;
        for watch in &wait.watches {
            let event = self
                .events
                .get(&watch.id.0)
                .ok_or(EventError::Destroyed(watch.id))?;
            let raised = watch.latched || event.age > watch.age;
            any |= raised;
            all &= raised;
        }
        Ok(match wait.mode {
            WaitMode::Any => any,
            WaitMode::All => all,
        })
    }
}
