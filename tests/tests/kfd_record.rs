//! The KFD face on a machine without GPUs answers as Debian's kernels 6.1 and 6.12 did there, line for line.
//!
//! The calls are those of `kfd_record`, an example of backend-linux-kfd that makes them on a real kernel (`tests/vm`).
//! The face is a port, not a system: lines about what a port has not are left out. All of them are below.

// What becomes of a program that is started anew is a kernel's business.
#[allow(dead_code)]
#[path = "../../backend-linux-kfd/examples/kfd_record/calls/mod.rs"]
mod calls;

use calls::replay::Replay;
use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::{Interface, KfdFace};

/// How the lines begin that are left out; the reason of each stands with it in `calls`.
const LEFT_OUT: &[&str] = &[
    "INIT uptime",
    "MODS uptime",
    "=== /t/kfdtest",
    "stat mode",
    "open O_RDONLY",
    "GET_VERSION on O_RDONLY",
    "open via int80",
    "read ret",
    "write ret",
    "poll ret",
    "lseek ret",
    "F_GETFL",
    "mmap EVENTS MAP_PRIVATE",
    "WAIT t=200, signal@50ms SA_RESTART",
    "dup fd GET_VERSION",
    "child (fork): GET_VERSION inherited",
    "child: CREATE_EVENT inherited",
    "child: mmap EVENTS inherited",
    "event page in child",
    "child: own open",
    "child: own GET_VERSION",
    "child: own CREATE_EVENT",
    "child status",
    "after-execve GET_VERSION",
    "after-execve CREATE_EVENT",
    "exec child status",
    "/sys/class/kfd/kfd/proc/",
    "/sys/class/kfd/kfd/proc:",
    "",
    "",
    "/sys/class/kfd/kfd/proc/",
    "pasid   queues",
    "",
    "/sys/class/kfd/kfd/proc/",
    "KFDTEST DONE",
    "=== rc=0",
];

fn replay(record: &str, interface: Interface) {
    let face = KfdFace::new(SimConfig::new(Vec::new()))
        .unwrap()
        .with_interface(interface);
    let mut replay = Replay::new(&face, record);
    calls::replay(&mut replay);
    assert!(replay.wrong.is_empty(), "{}", replay.wrong.join("\n"));
    println!("{} lines compared", replay.compared);
    assert_eq!(replay.left_out.len(), LEFT_OUT.len());
    for ((line, reason), begin) in replay.left_out.iter().zip(LEFT_OUT) {
        assert!(line.starts_with(begin), "{line} is left out: {reason}");
    }
    let all = record.lines().count();
    assert_eq!(replay.compared + replay.left_out.len(), all);
}

#[test]
fn a_machine_without_gpus_answers_as_linux_6_1_did() {
    replay(calls::RECORD_6_1, Interface::V1_11);
}

#[test]
fn a_machine_without_gpus_answers_as_linux_6_12_did() {
    replay(calls::RECORD_6_12, Interface::V1_17);
}
