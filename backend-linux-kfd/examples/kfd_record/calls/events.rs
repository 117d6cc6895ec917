//! The event page, and all that is done with events.

use super::replay::{Replay, destroy, name, set, wait};
use super::signals::interrupted;
use super::{EVENTS, mapped};
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdPort, Protection};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

pub fn events<P: KfdPort>(r: &mut Replay<'_, P>) {
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
    let page = event_page(r);
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
    // The kernel's clock for this ticks every four milliseconds, and an emulated machine makes up for lost ticks.
    r.check(
        begun.elapsed() >= Duration::from_millis(12),
        "a wait lasts its time",
    );
    r.wait("WAIT num_events=0 timeout=20", &[], true, 20);
    r.wait("WAIT num_events=0 all=0 timeout=20", &[], false, 20);
    r.set("SET_EVENT e1", e1);
    let slot = slot(page, e1 as usize);
    r.line(&format!("   slot e1 after SET = {slot:x}"));
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
    signals(r, e1);
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
    let begun = Instant::now();
    let errno = loop {
        let mut a = CreateEvent::default();
        match r.call(&mut a) {
            Ok(()) => more.push(a.event_id),
            Err(errno) => break errno,
        }
    };
    let each = begun.elapsed().as_secs_f64() * 1e6 / more.len().max(1) as f64;
    let (count, errno) = (more.len(), name(errno));
    r.line(&format!(
        "signal events until failure: created {count} more, then errno={errno} ({each:.1} us each)"
    ));
    r.create("CREATE MEMORY when signal slots full", 8, false, 0, 0);
    more.extend([e1, e2, of_type_5]);
    for id in more {
        destroy(r.port, r.file, id);
    }
    r.create("re-CREATE after mass destroy", 0, false, 0, 0);
    speed(r);
}

/// The words of a page that is mapped.
fn slot(page: Option<NonNull<u8>>, index: usize) -> u64 {
    let Some(page) = page else { return 0 };
    // SAFETY: the page was mapped with 4096 words; devices write them, and so does this test.
    unsafe { page.cast::<u64>().add(index).read_volatile() }
}

fn event_page<P: KfdPort>(r: &mut Replay<'_, P>) -> Option<NonNull<u8>> {
    let both = Protection::ReadWrite;
    let page = r.map("mmap EVENTS 32768 RW SHARED", EVENTS, 32768, both);
    let words: Vec<u64> = (0..4096).map(|index| slot(page, index)).collect();
    r.check(
        words.iter().all(|word| *word == u64::MAX),
        "all slots hold all ones",
    );
    let line = format!(
        "   slots: {:x} {:x} {:x} ... last {:x}",
        words[0], words[1], words[2], words[4095]
    );
    r.line(&line);
    let again = r.map("mmap EVENTS 2nd time", EVENTS, 32768, both);
    let seen = page.is_some_and(|page| {
        let last = page.cast::<u64>();
        // SAFETY: the last of the page's 4096 words, which belongs to no event here.
        unsafe { last.add(4095).write_volatile(7) };
        let seen = slot(again, 4095) == 7;
        // SAFETY: as above.
        unsafe { last.add(4095).write_volatile(u64::MAX) };
        seen
    });
    r.line(&format!("   aliased: {}", u8::from(seen)));
    r.map("mmap EVENTS 4096 (short)", EVENTS, 4096, both);
    r.map("mmap EVENTS 65536 (long)", EVENTS, 65536, both);
    r.map("mmap EVENTS PROT_READ", EVENTS, 32768, Protection::Read);
    match r.system {
        Some(system) => {
            let answer = mapped(system.map_private(r.file.0, EVENTS, 32768));
            r.said("mmap EVENTS MAP_PRIVATE", &answer);
        }
        None => r.leave_out(1),
    }
    // As many bytes as are left of the page: that is how many slots there are from then on.
    r.map("mmap EVENTS off+4096", EVENTS | 4096, 28672, both);
    page
}

/// Waits in which a signal arrives after 50 milliseconds.
fn signals<P: KfdPort>(r: &mut Replay<'_, P>, event: u32) {
    for (label, timeout, restart) in [
        ("WAIT t=200, signal@50ms no SA_RESTART", 200, false),
        ("WAIT inf, signal@50ms no SA_RESTART", u32::MAX, false),
        ("WAIT t=200, signal@50ms SA_RESTART", 200, true),
    ] {
        if restart && r.system.is_none() {
            r.leave_out(1);
            continue;
        }
        for attempt in 0..5 {
            let begun = Instant::now();
            let mut waited = None;
            let sent = interrupted(restart, &mut || {
                let (answer, a, age) = wait(r.port, r.file, &[event], false, timeout);
                waited = Some((answer, a, age, begun.elapsed()));
            });
            let Some((answer, a, age, lasted)) = waited else {
                continue;
            };
            // A signal that came too late for the wait says nothing.
            if sent > Duration::from_millis(150) && attempt < 4 {
                continue;
            }
            r.waited(label, answer, &a, age, lasted);
            let left = u64::from(a.timeout);
            let holds =
                timeout == u32::MAX || left <= 162 && u128::from(left) + lasted.as_millis() >= 188;
            r.check(holds, "the time that is left is written back");
            break;
        }
    }
}

fn speed<P: KfdPort>(r: &mut Replay<'_, P>) {
    const TIMES: u32 = 200;
    let mut each = |label: &str, run: &mut dyn FnMut(&mut Replay<'_, P>) -> bool| {
        let begun = Instant::now();
        let mut well = true;
        for _ in 0..TIMES {
            well &= run(r);
        }
        let time = begun.elapsed().as_nanos() / u128::from(TIMES);
        r.check(well, label);
        r.line(&format!("{label} {time} ns/op"));
    };
    let event_id = 1;
    each("SET_EVENT", &mut |r| {
        r.call(&mut SetEvent { event_id, pad: 0 }).is_ok()
    });
    each("WAIT satisfied", &mut |r| {
        wait(r.port, r.file, &[event_id], false, 0).0.is_ok()
    });
    each("GET_VERSION", &mut |r| {
        r.call(&mut GetVersion::default()).is_ok()
    });
}
