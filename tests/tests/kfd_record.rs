//! The KFD face on a machine without GPUs answers as Debian's kernels 6.1 and 6.12 did there, line for line.
//!
//! The calls are those of `kfd_record`, an example of backend-linux-kfd that makes them on a real kernel (`tests/vm`).
//! The face is a port, not a system: lines about what a port has not are left out. All of them are below.

#[path = "../../backend-linux-kfd/examples/kfd_record/calls/mod.rs"]
mod calls;

use calls::replay::Replay;
use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::{Interface, KfdFace};

/// How the lines begin that are left out, and how many do.
const LEFT_OUT: &[(&str, usize)] = &[];

fn replay(record: &str, interface: Interface) {
    let face = KfdFace::new(SimConfig::new(Vec::new()))
        .unwrap()
        .with_interface(interface);
    let mut replay = Replay::new(&face, record);
    calls::replay(&mut replay);
    assert!(replay.wrong.is_empty(), "{}", replay.wrong.join("\n"));
    println!("{} lines compared", replay.compared);
    for (line, reason) in &replay.left_out {
        println!("left out: {line:?}: {reason}");
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
