//! Events as the driver keeps them: latched while nobody waits, handed to every waiter when somebody does.

use super::errno::{EINTR, EINVAL, EIO, ENOSPC};
use crate::sync::Mutex;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use rukh_core::kfd::uapi::{EventData, event_type};
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::time::{Duration, Instant};

/// Slots of the event page.
pub(super) const SLOTS: u32 = 4096;
/// Bytes of the event page.
pub(super) const PAGE_BYTES: u64 = SLOTS as u64 * 8;
/// Slots that are used before the page is mapped.
const UNMAPPED_SLOTS: u32 = 256;
/// First id of events without a slot.
const FIRST_WITHOUT_SLOT: u32 = 0x4000_0000;
/// An event of a debugger; has a slot.
const DEBUG: u32 = 5;
/// The longest wait that is not endless, in milliseconds.
const LONGEST_MS: u32 = 0x7fff_ffff;

/// `wait_result`: the events are there.
pub(super) const COMPLETE: u32 = 0;
/// `wait_result`: the time is over.
pub(super) const TIMED_OUT: u32 = 1;
/// `wait_result`: see the error.
pub(super) const FAILED: u32 = 2;

struct Event {
    kind: u32,
    auto_reset: bool,
    signaled: bool,
    /// Counts from 1; never 0, which means "no age" in a wait.
    age: u64,
    /// Waits, and the places in them.
    waiters: Vec<(u64, usize)>,
    data: [u64; 4],
}

/// One place of a wait.
struct Waiter {
    /// None: it was destroyed meanwhile.
    event: Option<u32>,
    activated: bool,
    aged: bool,
}

struct State {
    events: BTreeMap<u32, Event>,
    /// Slots that are taken.
    taken: [u64; SLOTS as usize / 64],
    /// Slots that may be taken: as many as the client has mapped.
    slots: u32,
    waits: BTreeMap<u64, Vec<Waiter>>,
    last_wait: u64,
}

/// All events of the process.
pub(super) struct EventTable {
    state: Mutex<State>,
    /// Changes whenever something is raised: what waiters sleep on. A futex, since a signal has to end a sleep.
    raised: AtomicU32,
}

/// Whether events of this type have a slot, and can be set by the client.
pub(super) const fn has_slot(kind: u32) -> bool {
    matches!(kind, event_type::SIGNAL | DEBUG)
}

impl EventTable {
    pub(super) const fn new() -> Self {
        let mut taken = [0; SLOTS as usize / 64];
        // Slot 0 is nobody's.
        taken[0] = 1;
        Self {
            state: Mutex::new(State {
                events: BTreeMap::new(),
                taken,
                slots: UNMAPPED_SLOTS,
                waits: BTreeMap::new(),
                last_wait: 0,
            }),
            raised: AtomicU32::new(0),
        }
    }

    /// The client has mapped so many bytes of the page.
    pub(super) fn set_mapped(&self, bytes: u64) {
        self.state.lock().slots = (bytes / 8).min(u64::from(SLOTS)) as u32;
    }

    /// Creates an event; gives its id.
    pub(super) fn create(&self, kind: u32, auto_reset: bool) -> Result<u32, i32> {
        let state = &mut *self.state.lock();
        let id = if has_slot(kind) {
            state.take_slot().ok_or(ENOSPC)?
        } else {
            (FIRST_WITHOUT_SLOT..)
                .find(|id| !state.events.contains_key(id))
                .ok_or(ENOSPC)?
        };
        let event = Event {
            kind,
            auto_reset,
            signaled: false,
            age: 1,
            waiters: Vec::new(),
            data: [0; 4],
        };
        state.events.insert(id, event);
        Ok(id)
    }

    /// Destroys an event. Who waits for it fails.
    pub(super) fn destroy(&self, id: u32) -> Result<(), i32> {
        let state = &mut *self.state.lock();
        let event = state.events.remove(&id).ok_or(EINVAL)?;
        if id < SLOTS {
            state.taken[id as usize / 64] &= !(1 << (id % 64));
        }
        for (wait, place) in event.waiters {
            if let Some(waiter) = state.waits.get_mut(&wait).and_then(|w| w.get_mut(place)) {
                waiter.event = None;
            }
        }
        self.wake();
        Ok(())
    }

    /// Raises an event that has a slot.
    pub(super) fn set(&self, id: u32) -> Result<(), i32> {
        let state = &mut *self.state.lock();
        match state.events.get(&id) {
            Some(event) if has_slot(event.kind) => state.raise(id, None),
            _ => return Err(EINVAL),
        }
        self.notify(state);
        Ok(())
    }

    /// Lowers an event that has a slot.
    pub(super) fn reset(&self, id: u32) -> Result<(), i32> {
        match self.state.lock().events.get_mut(&id) {
            Some(event) if has_slot(event.kind) => event.signaled = false,
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// Raises all events of a type, with what is to be known of it.
    pub(super) fn report(&self, kind: u32, data: [u64; 4]) {
        let state = &mut *self.state.lock();
        let ids: Vec<u32> = state
            .events
            .iter()
            .filter(|(_, event)| event.kind == kind)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            state.raise(id, Some(data));
        }
        self.notify(state);
    }

    fn notify(&self, state: &State) {
        if !state.waits.is_empty() {
            self.wake();
        }
    }

    /// Has all waiters look again. Called with the lock held.
    fn wake(&self) {
        self.raised.fetch_add(1, Ordering::Relaxed);
        let _ = futex::wake(&self.raised, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    /// Waits for one or all of the events; gives the result, and fills in what came with them. After a signal, whose handler
    /// does not have calls restarted, that is EINTR, and `ms` becomes what is left of it. Ages that the client has seen are
    /// looked at if the interface has `ages`.
    pub(super) fn wait(
        &self,
        list: &mut [EventData],
        all: bool,
        ms: &mut u32,
        ages: bool,
    ) -> Result<u32, i32> {
        let mut state = self.state.lock();
        if list.iter().any(|d| !state.events.contains_key(&d.event_id)) {
            return Err(EINVAL);
        }
        state.last_wait += 1;
        let wait = state.last_wait;
        state.begin(wait, list, ages);
        let limit = Duration::from_millis(u64::from((*ms).min(LONGEST_MS)));
        let deadline = (*ms != u32::MAX)
            .then(|| Instant::now().checked_add(limit))
            .flatten();
        let result = loop {
            match state.check(wait, all) {
                Ok(false) => {}
                Ok(true) => break Ok(COMPLETE),
                Err(errno) => break Err(errno),
            }
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break Ok(TIMED_OUT);
            }
            // Read with the lock held: what is raised from here on changes it, and then there is no sleep.
            let turn = self.raised.load(Ordering::Relaxed);
            drop(state);
            let timeout = left.map(|left| Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            });
            let woken = futex::wait(&self.raised, futex::Flags::PRIVATE, turn, timeout.as_ref());
            state = self.state.lock();
            // What was raised meanwhile counts, whatever ended the sleep.
            if woken == Err(Errno::INTR) && state.check(wait, all) == Ok(false) {
                break Err(EINTR);
            }
        };
        if result == Err(EINTR) {
            state.give_back(wait);
            self.notify(&state);
            if let Some(deadline) = deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                *ms = left.as_millis() as u32;
            }
        }
        // What a wait that timed out has consumed stays consumed.
        state.end(wait, list, result == Ok(COMPLETE));
        result
    }
}

impl State {
    fn take_slot(&mut self) -> Option<u32> {
        let word = self.taken.iter().position(|word| *word != u64::MAX)?;
        let id = word as u32 * 64 + self.taken[word].trailing_ones();
        if id >= self.slots {
            return None;
        }
        self.taken[word] |= 1 << (id % 64);
        Some(id)
    }

    fn raise(&mut self, id: u32, data: Option<[u64; 4]>) {
        let Some(event) = self.events.get_mut(&id) else {
            return;
        };
        if let Some(data) = data {
            event.data = data;
        }
        event.signaled = !event.auto_reset || event.waiters.is_empty();
        event.age = event.age.wrapping_add(1).max(2);
        for (wait, place) in &event.waiters {
            if let Some(waiter) = self.waits.get_mut(wait).and_then(|w| w.get_mut(*place)) {
                waiter.activated = true;
            }
        }
    }

    /// Enters a wait with its events, which exist.
    fn begin(&mut self, wait: u64, list: &[EventData], ages: bool) {
        let mut waiters = Vec::with_capacity(list.len());
        for (place, data) in list.iter().enumerate() {
            let Some(event) = self.events.get_mut(&data.event_id) else {
                continue;
            };
            let mut activated = event.signaled;
            event.signaled &= !event.auto_reset;
            let aged = ages && event.kind == event_type::SIGNAL && data.data[0] != 0;
            activated |= aged && event.age != data.data[0];
            event.waiters.push((wait, place));
            waiters.push(Waiter {
                event: Some(data.event_id),
                activated,
                aged,
            });
        }
        self.waits.insert(wait, waiters);
    }

    fn check(&self, wait: u64, all: bool) -> Result<bool, i32> {
        let Some(waiters) = self.waits.get(&wait) else {
            return Err(EIO);
        };
        let mut activated = 0;
        for waiter in waiters {
            if waiter.event.is_none() {
                return Err(EIO);
            }
            if waiter.activated {
                if !all {
                    return Ok(true);
                }
                activated += 1;
            }
        }
        Ok(activated == waiters.len())
    }

    /// Raises again what a wait has consumed that a signal ended: it will be made again.
    fn give_back(&mut self, wait: u64) {
        let waiters = self.waits.get(&wait).into_iter().flatten();
        let consumed = waiters
            .filter(|waiter| waiter.activated)
            .filter_map(|w| w.event);
        for id in consumed.collect::<Vec<u32>>() {
            let Some(event) = self.events.get_mut(&id) else {
                continue;
            };
            event.waiters.retain(|(other, _)| *other != wait);
            if event.auto_reset {
                self.raise(id, None);
            }
        }
    }

    fn end(&mut self, wait: u64, list: &mut [EventData], complete: bool) {
        let waiters = self.waits.remove(&wait).unwrap_or_default();
        for (waiter, data) in waiters.iter().zip(list) {
            let Some(event) = waiter.event.and_then(|id| self.events.get_mut(&id)) else {
                continue;
            };
            event.waiters.retain(|(other, _)| *other != wait);
            if !complete || !waiter.activated {
                continue;
            }
            match event.kind {
                event_type::SIGNAL if waiter.aged => data.data[0] = event.age,
                event_type::MEMORY | event_type::HW_EXCEPTION => data.data = event.data,
                _ => {}
            }
        }
    }
}
