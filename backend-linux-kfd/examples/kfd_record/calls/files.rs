//! Several files, several processes: what the driver keeps belongs to the address space.

use super::EVENTS;
use super::replay::Replay;
use super::system::System;
use rukh_core::kfd::uapi::GetVersion;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, Protection};
use std::ptr::NonNull;

const PROCESSES: &str = "/sys/class/kfd/kfd/proc";

pub fn files<P: KfdPort>(r: &mut Replay<'_, P>) {
    let first = r.file;
    let second = open(r);
    r.line(&format!("second open fd={}", second.0));
    let e2 = r.create("create on fd1", 0, false, 0, 0);
    r.file = second;
    r.set("SET via fd2 (same process state?)", e2);
    r.create("create on fd2", 0, false, 0, 0);
    r.file = first;
    r.wait("WAIT on fd1 set via fd2", &[e2], false, 0);
    let page = page(r);
    match r.system {
        Some(system) => {
            r.file = KfdFile(system.duplicate(first.0));
            r.plain("dup fd GET_VERSION", GetVersion::default());
            system.close(r.file.0);
            r.file = first;
            children(r, system, page);
        }
        None => {
            // Its own file once more, two children and a program that is started anew.
            r.leave_out(12);
        }
    }
    close(r, first);
    r.file = second;
    r.wait("WAIT after closing fd1, via fd2", &[e2], false, 0);
    r.create("CREATE via fd2 after fd1 closed", 0, false, 0, 0);
    close(r, second);
    let word = page.map_or(0, |page| {
        // SAFETY: it was mapped with 4096 words and still is.
        unsafe { page.cast::<u64>().read_volatile() }
    });
    r.line(&format!("page still readable after close: {word:x}"));
    r.file = open(r);
    r.create("reopen after full close: CREATE", 0, false, 0, 0);
    r.wait("WAIT e1 id from before close", &[e2], false, 0);
    match r.system {
        Some(system) => processes(r, system),
        None => r.leave_out(8),
    }
}

fn open<P: KfdPort>(r: &mut Replay<'_, P>) -> KfdFile {
    let file = match r.system {
        Some(system) => system.open(false).map(KfdFile),
        None => r.port.open("/dev/kfd").map_err(|error| error.errno()),
    };
    r.check(file.is_ok(), "/dev/kfd can be opened again");
    file.unwrap_or(KfdFile(-1))
}

fn close<P: KfdPort>(r: &Replay<'_, P>, file: KfdFile) {
    match r.system {
        Some(system) => system.close(file.0),
        None => r.port.close(file),
    }
}

/// The event page once more, without a line of the record.
fn page<P: KfdPort>(r: &mut Replay<'_, P>) -> Option<NonNull<u8>> {
    let mapping = Mapping {
        file: Some(r.file),
        offset: EVENTS,
        size: 32768,
        protection: Protection::ReadWrite,
        fixed: None,
    };
    // SAFETY: not fixed.
    let page = unsafe { r.port.map(&mapping) };
    r.check(page.is_ok(), "the event page can be mapped again");
    page.ok()
}

fn children<P: KfdPort>(r: &mut Replay<'_, P>, system: &dyn System, page: Option<NonNull<u8>>) {
    let (lines, status) = system.child(&mut |pipe| {
        r.pipe = Some(pipe);
        r.plain(
            "child (fork): GET_VERSION inherited fd",
            GetVersion::default(),
        );
        r.create("child: CREATE_EVENT inherited fd", 0, false, 0, 0);
        let both = Protection::ReadWrite;
        r.map("child: mmap EVENTS inherited fd", EVENTS, 32768, both);
        let (_, status) = system.child(&mut |_| {
            if let Some(page) = page {
                // SAFETY: no memory of this process; that the access is fatal is what is asked.
                std::hint::black_box(unsafe { page.cast::<u64>().read_volatile() });
            }
        });
        r.line(&format!(
            "   event page in child (VM_DONTCOPY?): signal {}",
            status & 0x7f
        ));
        r.file = open(r);
        r.line(&format!("child: own open fd={}", r.file.0));
        r.plain("child: own GET_VERSION", GetVersion::default());
        r.create("child: own CREATE_EVENT", 0, false, 0, 0);
    });
    for line in lines {
        r.line(&line);
    }
    r.line(&format!("child status {status:#x}"));
    let (lines, status) = system.child(&mut |pipe| {
        if let Ok(file) = system.open(false) {
            system.exec(file, pipe);
        }
    });
    for line in lines {
        r.line(&line);
    }
    r.line(&format!("exec child status {status:#x}"));
}

pub fn after_exec<P: KfdPort>(r: &mut Replay<'_, P>) {
    r.plain(
        "after-execve GET_VERSION on inherited fd",
        GetVersion::default(),
    );
    r.create("after-execve CREATE_EVENT", 0, false, 0, 0);
}

/// The driver's folder of processes, as `ls -R` shows it.
fn processes<P: KfdPort>(r: &mut Replay<'_, P>, system: &dyn System) {
    let own = format!("{PROCESSES}/{}", std::process::id());
    let present = !system.list(&own).is_empty();
    r.line(&format!(
        "{own} {}",
        if present { "present" } else { "absent" }
    ));
    r.line(&format!("{PROCESSES}:"));
    r.line(&system.list(PROCESSES).join("   "));
    r.line("");
    r.line(&format!("{own}:"));
    r.line(&system.list(&own).join("   "));
    r.line("");
    r.line(&format!("{own}/queues:"));
    let queues = system.list(&format!("{own}/queues"));
    r.check(queues.is_empty(), "there are no queues");
}
