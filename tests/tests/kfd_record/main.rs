//! The KFD face on a machine without GPUs answers as Linux 6.12 did there, line for line.
//!
//! `tests/records/kfd-ioctl-6.12.txt` is what a real kernel answered to a program; the calls are made again in its order, and
//! each answer is looked for under its label. What is not repeated, since it is not the port's: opening, `read`, `write`,
//! `poll`, `lseek`, `fcntl`, 32-bit calls, signals that interrupt a wait, `fork` and `exec`, files of `/sys`, times.

mod events;
mod gpu;
mod replay;

use replay::{Replay, request};
use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdPort, Protection};

const RECORD: &str = include_str!("../../records/kfd-ioctl-6.12.txt");
const EVENTS: u64 = 2 << 62;
/// Lines of the record that are compared.
const COMPARED: usize = 178;
/// No address of a process's.
const BAD: u64 = 0xffff_8000_0000_0000;

fn dispatcher(r: &mut Replay<'_>) {
    r.plain("GET_VERSION on O_RDONLY fd", GetVersion::default());
    r.version("GET_VERSION", GetVersion::INFO.request);
    let answer = r.raw(GetVersion::INFO.request, &mut []);
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
}

fn queries(r: &mut Replay<'_>) {
    let mut old = [0u8; 400];
    let answer = r.raw(request(2, 6, 400), &mut old);
    let word = |at: usize| u32::from_ne_bytes(old[at..at + 4].try_into().unwrap());
    r.answer(
        "GET_PROCESS_APERTURES",
        answer,
        &format!("num={} gpu_id0={:#x}", word(392), word(48)),
    );
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
        r.answer(label, answer, &format!("num={}{first}", a.num_of_nodes));
    }
    for gpu_id in [0, 0xdead] {
        let mut a = GetClockCounters {
            gpu_id,
            ..GetClockCounters::default()
        };
        let answer = r.call(&mut a);
        assert!(a.cpu_clock_counter != 0 && a.system_clock_counter >= a.cpu_clock_counter);
        let more = format!("gpu={} freq={}", a.gpu_clock_counter, a.system_clock_freq);
        let label = if gpu_id == 0 {
            "GET_CLOCK_COUNTERS gpu=0"
        } else {
            "GET_CLOCK_COUNTERS gpu=0xdead"
        };
        r.answer(label, answer, &more);
    }
    r.map(
        "mmap EVENTS 32768 before event",
        EVENTS,
        32768,
        Protection::ReadWrite,
    );
    r.map("mmap off=0 (MMIO type)", 0, 4096, Protection::ReadWrite);
    r.map("mmap DOORBELL type", 3 << 62, 8192, Protection::ReadWrite);
    r.map(
        "mmap RESERVED_MEM type",
        1 << 62,
        4096,
        Protection::ReadWrite,
    );
}

fn files(r: &mut Replay<'_>) {
    let first = r.file;
    let second = r.face.open("/dev/kfd").unwrap();
    let e2 = r.create("create on fd1", 0, false, 0, 0);
    r.file = second;
    r.set("SET via fd2 (same process state?)", e2);
    r.create("create on fd2", 0, false, 0, 0);
    r.file = first;
    r.wait("WAIT on fd1 set via fd2", &[e2], false, 0);
    r.face.close(first);
    r.file = second;
    r.wait("WAIT after closing fd1, via fd2", &[e2], false, 0);
    r.create("CREATE via fd2 after fd1 closed", 0, false, 0, 0);
    r.face.close(second);
    r.file = r.face.open("/dev/kfd").unwrap();
    r.create("reopen after full close: CREATE", 0, false, 0, 0);
    r.wait("WAIT e1 id from before close", &[e2], false, 0);
}

#[test]
fn a_machine_without_gpus_answers_as_linux_6_12_did() {
    let face = KfdFace::new(SimConfig::new(Vec::new())).unwrap();
    let mut replay = Replay {
        file: face.open("/dev/kfd").unwrap(),
        face: &face,
        lines: RECORD.lines().collect(),
        at: 0,
        compared: 0,
        wrong: Vec::new(),
    };
    dispatcher(&mut replay);
    queries(&mut replay);
    events::events(&mut replay);
    for id in [0, 0xdead] {
        gpu::ioctls_of_a_gpu(&mut replay, id);
    }
    gpu::handles(&mut replay);
    files(&mut replay);
    println!("{} lines of the record compared", replay.compared);
    assert_eq!(replay.compared, COMPARED);
    assert!(replay.wrong.is_empty(), "{}", replay.wrong.join("\n"));
}
