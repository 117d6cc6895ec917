//! The event page, and all that is done with events.

use crate::EVENTS;
use crate::replay::{Replay, destroy, name, set};
use rukh_core::kfd::Protection;
use rukh_core::kfd::uapi::*;
use std::time::{Duration, Instant};

pub fn events(r: &mut Replay<'_>) {
    r.create(
        "CREATE_EVENT signal page_offset=0x1234 (dGPU pg)",
        0,
        false,
        0x1234,
        0,
    );
    let e1 = r.create("CREATE_EVENT signal #1", 0, false, 0, 0);
    let e2 = r.create("CREATE_EVENT signal auto_reset #2", 0, true, 0, 0);
    let mut of_type_5 = 0;
    for kind in 1..=9 {
        let id = r.create(&format!("CREATE_EVENT type={kind}"), kind, false, 0, 0);
        if kind == 5 {
            of_type_5 = id;
        }
    }
    let e3 = r.create("CREATE_EVENT signal node_id=77", 0, false, 0, 77);
    let page = r.map(
        "mmap EVENTS 32768 RW SHARED",
        EVENTS,
        32768,
        Protection::ReadWrite,
    );
    // SAFETY: the page is mapped for so many words, and nobody writes it now.
    let slots = unsafe { page.unwrap().cast::<[u64; 4096]>().as_ref() };
    assert!(slots.iter().all(|slot| *slot == u64::MAX));
    r.map("mmap EVENTS 2nd time", EVENTS, 32768, Protection::ReadWrite);
    r.map(
        "mmap EVENTS 4096 (short)",
        EVENTS,
        4096,
        Protection::ReadWrite,
    );
    r.map(
        "mmap EVENTS 65536 (long)",
        EVENTS,
        65536,
        Protection::ReadWrite,
    );
    r.map("mmap EVENTS PROT_READ", EVENTS, 32768, Protection::Read);
    // As many bytes as are left of the page: that is how many slots there are from then on.
    r.map(
        "mmap EVENTS off+4096",
        EVENTS | 4096,
        28672,
        Protection::ReadWrite,
    );
    r.create(
        "CREATE_EVENT page_offset!=0 after page exists",
        0,
        false,
        0x1234,
        0,
    );

    r.wait("WAIT 1 unsignaled timeout=0", &[e1], false, 0);
    let begun = Instant::now();
    r.wait("WAIT 1 unsignaled timeout=20", &[e1], false, 20);
    assert!(begun.elapsed() >= Duration::from_millis(20));
    r.wait("WAIT num_events=0 timeout=20", &[], true, 20);
    r.wait("WAIT num_events=0 all=0 timeout=20", &[], false, 20);
    r.set("SET_EVENT e1", e1);
    assert_eq!(slots[e1 as usize], u64::MAX, "the slot is the device's");
    r.wait("WAIT e1 set timeout=0", &[e1], false, 0);
    r.wait("WAIT e1 again (manual reset)", &[e1], false, 0);
    r.set("SET_EVENT e1 again", e1);
    r.reset("RESET_EVENT e1", e1);
    r.wait("WAIT e1 after reset timeout=0", &[e1], false, 0);
    r.reset("RESET_EVENT e1 again", e1);
    r.set("SET_EVENT e2(auto)", e2);
    r.wait("WAIT e2(auto)", &[e2], false, 0);
    r.wait("WAIT e2(auto) again", &[e2], false, 0);
    r.set("SET e1", e1);
    r.wait("WAIT any {e1 set,e2}", &[e1, e2], false, 20);
    r.wait("WAIT all {e1 set,e2} t=20", &[e1, e2], true, 20);
    r.wait("WAIT all {e1,e1}", &[e1, e1], true, 20);
    r.reset("RESET e1", e1);
    r.wait("WAIT invalid id t=20", &[0x4242], false, 20);
    r.wait("WAIT {e1,invalid} t=20", &[e1, 0x4242], false, 20);
    for (label, count) in [
        ("WAIT events_ptr=NULL", 1),
        ("WAIT num_events=0x40000000", 0x4000_0000),
    ] {
        let mut a = WaitEvents {
            num_events: count,
            ..WaitEvents::default()
        };
        let answer = r.call(&mut a);
        r.answer(label, answer, &format!("wait_result={}", a.wait_result));
    }
    r.wait_while(
        "WAIT e1 inf, thread SET after 30ms",
        &[e1],
        false,
        u32::MAX,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT e1 0xfffffffe, thread SET after 30ms",
        &[e1],
        false,
        u32::MAX - 1,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT all {e1,e2} t=100, thread SET e1 only",
        &[e1, e2],
        true,
        100,
        |f, k| set(f, k, e1),
    );
    r.reset("RESET e1", e1);
    r.wait_while(
        "WAIT e3 inf, thread DESTROY after 30ms",
        &[e3],
        false,
        u32::MAX,
        |f, k| destroy(f, k, e3),
    );
    r.wait("WAIT destroyed e3", &[e3], false, 0);
    r.plain(
        "DESTROY e3 again",
        DestroyEvent {
            event_id: e3,
            pad: 0,
        },
    );
    let e5 = r.create("CREATE (slot reuse?)", 0, false, 0, 0);
    r.wait_while(
        "WAIT {e1,e5} any inf, thread DESTROY e5",
        &[e1, e5],
        false,
        200,
        |f, k| destroy(f, k, e5),
    );
    r.set("SET id=0", 0);
    r.set("SET id=0x4242", 0x4242);
    r.reset("RESET id=0x4242", 0x4242);
    r.plain(
        "DESTROY id=0x4242",
        DestroyEvent {
            event_id: 0x4242,
            pad: 0,
        },
    );
    let memory = r.create("CREATE MEMORY(8)", 8, false, 0, 0);
    r.set("SET MEMORY event", memory);
    r.wait("WAIT MEMORY ev t=10", &[memory], false, 10);
    r.reset("RESET MEMORY event", memory);
    r.plain(
        "DESTROY MEMORY event",
        DestroyEvent {
            event_id: memory,
            pad: 0,
        },
    );

    let mut more = Vec::new();
    let errno = loop {
        let mut a = CreateEvent::default();
        match r.call(&mut a) {
            Ok(()) => more.push(a.event_id),
            Err(errno) => break errno,
        }
    };
    let answer = format!("created {} more, then errno={}", more.len(), name(errno));
    r.said("signal events until failure:", &answer);
    r.create("CREATE MEMORY when signal slots full", 8, false, 0, 0);
    more.extend([e1, e2, of_type_5]);
    for id in more {
        destroy(r.face, r.file, id);
    }
    r.create("re-CREATE after mass destroy", 0, false, 0, 0);
}
