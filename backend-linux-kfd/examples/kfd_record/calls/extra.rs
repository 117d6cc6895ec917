//! What the records do not have, held to what the driver documents: ages of events, and how many events there are.

use super::EVENTS;
use super::replay::{Replay, destroy, set};
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdPort, Protection};
use zerocopy::IntoBytes;

const ENOSPC: i32 = 28;
const DONE: u32 = 0;
const TIMED_OUT: u32 = 1;

/// Waits without time for an event whose age was last seen so; the result, and the age that is answered.
fn wait_aged<P: KfdPort>(r: &Replay<'_, P>, event_id: u32, age: u64) -> (u32, u64) {
    let mut data = EventData {
        event_id,
        ..EventData::default()
    };
    data.data[0] = age;
    let mut a = WaitEvents {
        events_ptr: (&raw mut data).expose_provenance() as u64,
        num_events: 1,
        wait_for_all: 0,
        timeout: 0,
        wait_result: 9,
    };
    let answer = r.raw(WaitEvents::INFO.request, a.as_mut_bytes());
    (
        if answer.is_ok() { a.wait_result } else { 99 },
        data.data[0],
    )
}

/// Since 1.14 a wait says which age it has seen, and ends at once if the event is older: what another thread consumed in
/// between is not lost.
pub fn ages<P: KfdPort>(r: &mut Replay<'_, P>) {
    let mut version = GetVersion::default();
    let answer = r.call(&mut version);
    r.check(answer.is_ok(), "the version can be asked for");
    let aged = version.minor_version >= 14;
    let mut a = CreateEvent {
        auto_reset: 1,
        ..CreateEvent::default()
    };
    let answer = r.call(&mut a);
    r.check(answer.is_ok(), "an event can be created");
    let id = a.event_id;
    let fresh = wait_aged(r, id, 1);
    r.check(fresh.0 == TIMED_OUT, "an event's age begins with 1");
    set(r.port, r.file, id);
    let seen = wait_aged(r, id, 1);
    let age = if aged { 2 } else { 1 };
    r.check(seen == (DONE, age), "setting an event makes it older");
    let again = wait_aged(r, id, age);
    r.check(again.0 == TIMED_OUT, "its last age is waited for in vain");
    let missed = wait_aged(r, id, 1);
    let expected = if aged { DONE } else { TIMED_OUT };
    r.check(
        missed.0 == expected,
        "who has not seen the last age is told at once",
    );
    set(r.port, r.file, id);
    set(r.port, r.file, id);
    let without = wait_aged(r, id, 0);
    r.check(without == (DONE, 0), "age 0 asks for no age");
    destroy(r.port, r.file, id);
}

/// A page that is mapped whole has 4095 events, slot 0 being nobody's.
pub fn limit<P: KfdPort>(r: &mut Replay<'_, P>) {
    let mapping = rukh_core::kfd::Mapping {
        file: Some(r.file),
        offset: EVENTS,
        size: 32768,
        protection: Protection::ReadWrite,
        fixed: None,
    };
    // SAFETY: not fixed.
    let page = unsafe { r.port.map(&mapping) };
    r.check(page.is_ok(), "the event page can be mapped");
    let mut highest = 0;
    let mut made = Vec::new();
    let errno = loop {
        let mut a = CreateEvent::default();
        match r.call(&mut a) {
            Ok(()) => made.push(a.event_id),
            Err(errno) => break errno,
        }
        highest = highest.max(a.event_slot_index);
    };
    r.check(
        errno == ENOSPC && highest == 4095,
        "there are 4095 events, and then ENOSPC",
    );
    for id in made {
        destroy(r.port, r.file, id);
    }
}
