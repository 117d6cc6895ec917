//! The calls of which `tests/records/kfd-ioctl-*.txt` are records, in their order.
//!
//! A program that was not written here made them on Debian's kernels, on a machine without GPUs, and wrote down what it was
//! answered. [`replay`] makes them again, on the kernel or on whatever poses as one, and holds every line to its answer.
//! Then come a few that the records do not have (`extra`). What a port has not (see [`system`]) is left out on one that is not a
//! kernel: [`left_out`] has all such lines, with the reason of each and who answers it instead.

mod events;
mod extra;
mod files;
mod gpu;
pub mod left_out;
pub mod replay;
mod signals;
pub mod system;

use replay::{Replay, name, request};
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdFile, KfdPort, Protection};

/// What a kernel of series 6.1 answered (interface 1.11).
pub const RECORD_6_1: &str = include_str!("../../../../tests/records/kfd-ioctl-6.1.txt");
/// What a kernel of series 6.12 answered (interface 1.17).
pub const RECORD_6_12: &str = include_str!("../../../../tests/records/kfd-ioctl-6.12.txt");

const NODES: &str = "/sys/devices/virtual/kfd/kfd/topology/nodes";
const EVENTS: u64 = 2 << 62;
/// No address of a process's.
const BAD: u64 = 0xffff_8000_0000_0000;

const ONE_NODE: &str = "the record is of a machine with one node";

/// Makes all calls.
pub fn replay<P: KfdPort>(r: &mut Replay<'_, P>) {
    r.leave_out(3);
    opening(r);
    dispatcher(r);
    queries(r);
    r.line("--- events");
    events::events(r);
    r.line("--- gpu_id ioctls");
    for id in [0, 0xdead] {
        gpu::ioctls_of_a_gpu(r, id);
    }
    r.line("--- handle/queue/process ioctls");
    gpu::handles(r);
    r.line("--- process rules");
    files::files(r);
    r.leave_out(2);
    r.end();
    extra::ages(r);
    extra::limit(r);
}

/// What a program does that a child has become.
pub fn after_exec<P: KfdPort>(r: &mut Replay<'_, P>) {
    files::after_exec(r);
}

fn opening<P: KfdPort>(r: &mut Replay<'_, P>) {
    let Some(system) = r.system else {
        r.leave_out(3);
        match r.port.open("/dev/kfd") {
            Ok(file) => {
                r.file = file;
                r.line(&format!("open O_RDWR fd={}", file.0));
            }
            Err(error) => r.line(&format!("open O_RDWR: {error}")),
        }
        r.leave_out(1);
        return;
    };
    r.line(&system.ask("stat", -1));
    let read_only = system.open(true);
    r.file = KfdFile(read_only.unwrap_or(-1));
    r.line(&format!(
        "open O_RDONLY fd={} errno={}",
        r.file.0,
        read_only.err().unwrap_or(0)
    ));
    r.plain("GET_VERSION on O_RDONLY fd", GetVersion::default());
    system.close(r.file.0);
    r.file = KfdFile(system.open(false).unwrap_or(-1));
    r.line(&format!("open O_RDWR fd={}", r.file.0));
    r.line(&system.ask("open via int80 (compat)", -1));
}

fn dispatcher<P: KfdPort>(r: &mut Replay<'_, P>) {
    r.version("GET_VERSION", GetVersion::INFO.request);
    let answer = match r.system {
        Some(system) => system.ioctl_null(r.file.0, GetVersion::INFO.request),
        None => r.raw(GetVersion::INFO.request, &mut []),
    };
    r.answer("GET_VERSION arg=NULL", answer, "");
    r.version("GET_VERSION cmd size=4", request(2, 1, 4));
    r.version("GET_VERSION cmd size=32", request(2, 1, 32));
    r.version("GET_VERSION cmd dir=none", request(0, 1, 0));
    r.version("GET_VERSION cmd dir=_IOW", request(1, 1, 8));
    r.version(
        "nr=1 magic='Z'",
        GetVersion::INFO.request & !0xff00 | 0x5a00,
    );
    for nr in [0x00, 0x24, 0x27, 0x7f, 0x80] {
        let answer = r.raw(request(3, nr, 16), &mut [0; 16]);
        r.answer(&format!("nr={nr:#04x}"), answer, "");
    }
    let answer = r.raw(0x541b, &mut []);
    r.answer("FIONREAD", answer, "");
    for call in ["read", "write", "poll", "lseek", "F_GETFL"] {
        match r.system {
            Some(system) => r.line(&system.ask(call, r.file.0)),
            None => r.leave_out(1),
        }
    }
}

fn queries<P: KfdPort>(r: &mut Replay<'_, P>) {
    let mut old = [0u8; 400];
    let answer = r.raw(request(2, 6, 400), &mut old);
    let word = |at: usize| u32::from_ne_bytes(old[at..at + 4].try_into().unwrap());
    r.answer(
        "GET_PROCESS_APERTURES",
        answer,
        &format!("num={} gpu_id0={:#x}", word(392), word(48)),
    );
    let mut nodes = 0;
    let counted = r.port.list_directory(NODES, &mut |_| nodes += 1);
    r.check(counted.is_ok() && nodes != 0, "there are nodes");
    for (label, count, pointer) in [
        ("GET_PROCESS_APERTURES_NEW n=4", 4, true),
        ("GET_PROCESS_APERTURES_NEW n=0", 0, true),
        ("GET_PROCESS_APERTURES_NEW n=2 ptr=0", 2, false),
    ] {
        let mut list = [ProcessDeviceApertures {
            gpu_id: 0x5a5a_5a5a,
            ..ProcessDeviceApertures::default()
        }; 4];
        let mut a = GetProcessAperturesNew {
            kfd_process_device_apertures_ptr: if pointer {
                list.as_mut_ptr().expose_provenance() as u64
            } else {
                0
            },
            num_of_nodes: count,
            pad: 0,
        };
        let answer = r.call(&mut a);
        let first = if count == 4 {
            format!(" gpu_id0={:#x}", list[0].gpu_id)
        } else {
            String::new()
        };
        if label.ends_with("ptr=0") && nodes >= count {
            // More than there are nodes is refused; the record is of a machine with one.
            r.leave_out_here(ONE_NODE);
            r.check(
                answer.is_ok() && a.num_of_nodes == 0,
                "as many apertures as nodes may be asked for, and there are none",
            );
            continue;
        }
        r.answer(label, answer, &format!("num={}{first}", a.num_of_nodes));
    }
    for (gpu_id, label) in [
        (0, "GET_CLOCK_COUNTERS gpu=0"),
        (0xdead, "GET_CLOCK_COUNTERS gpu=0xdead"),
    ] {
        clocks(r, gpu_id, label);
    }
    r.line("--- mmap before any event");
    let both = Protection::ReadWrite;
    r.map("mmap EVENTS 32768 before event", EVENTS, 32768, both);
    r.map("mmap off=0 (MMIO type)", 0, 4096, both);
    r.map("mmap DOORBELL type", 3 << 62, 8192, both);
    r.map("mmap RESERVED_MEM type", 1 << 62, 4096, both);
}

/// The clocks are the system's: what is answered lies between what it says before and after.
fn clocks<P: KfdPort>(r: &mut Replay<'_, P>, gpu_id: u32, label: &str) {
    use rustix::time::{ClockId, clock_gettime};
    let read = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let mut a = GetClockCounters {
        gpu_id,
        ..GetClockCounters::default()
    };
    let before = (read(ClockId::MonotonicRaw), read(ClockId::Boottime));
    let answer = r.call(&mut a);
    let after = (read(ClockId::MonotonicRaw), read(ClockId::Boottime));
    let within = (before.0..=after.0).contains(&a.cpu_clock_counter)
        && (before.1..=after.1).contains(&a.system_clock_counter);
    r.check(
        within,
        "the counters are CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME",
    );
    let more = format!("gpu={} freq={}", a.gpu_clock_counter, a.system_clock_freq);
    r.answer(label, answer, &more);
}

/// The text of a mapping's answer.
fn mapped(answer: Result<(), i32>) -> String {
    match answer {
        Ok(()) => "ok errno=0".into(),
        Err(errno) => format!("MAP_FAILED errno={}", name(errno)),
    }
}
