//! The KFD face on a machine without GPUs answers as Debian's kernels 6.1 and 6.12 did there, line for line.
//!
//! The calls are those of `kfd_record`, an example of backend-linux-kfd that makes them on a real kernel (`tests/vm`).
//! The face is a port, not a system: lines about what a port has not are left out. All of them are in `calls::left_out`, with
//! the reason of each and who answers it instead.

// What becomes of a program that is started anew is a kernel's business.
#[allow(dead_code)]
#[path = "../../backend-linux-kfd/examples/kfd_record/calls/mod.rs"]
mod calls;

use calls::left_out::{Answered, LEFT_OUT};
use calls::replay::Replay;
use rukh_backend_sim::SimConfig;
use rukh_backend_sim::kfd::{Interface, KfdFace};

/// What the preload library answers otherwise than a kernel: how the lines begin.
const PRELOAD_DIFFERS: &str = include_str!("../records/kfd-preload-differences.txt");

fn replay(record: &str, interface: Interface) {
    let face = KfdFace::new(SimConfig::new(Vec::new()))
        .unwrap()
        .with_interface(interface);
    let mut replay = Replay::new(&face, record);
    calls::replay(&mut replay);
    assert!(replay.wrong.is_empty(), "{}", replay.wrong.join("\n"));
    println!("{} lines compared", replay.compared);
    assert_eq!(replay.left_out.len(), LEFT_OUT.len());
    for ((line, reason), row) in replay.left_out.iter().zip(LEFT_OUT) {
        assert!(
            row.is(line) && row.reason == *reason,
            "{line} is left out: {reason}"
        );
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

#[test]
fn what_a_port_is_not_asked_a_process_or_a_kernel_answers() {
    let count = |answered| {
        LEFT_OUT
            .iter()
            .filter(|row| row.answered == answered)
            .count()
    };
    println!(
        "{} lines over the preload library, {} by kernels alone, {} are none of the driver's",
        count(Answered::OverPreload),
        count(Answered::ByKernels),
        count(Answered::Not)
    );
    // What differs over the preload library is what the list says of it, and nothing else. The list of differences has
    // numbers of processes of both records.
    let differs: Vec<&str> = PRELOAD_DIFFERS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').next())
        .collect();
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    for begin in &differs {
        let known = LEFT_OUT.iter().any(|row| {
            row.answered == Answered::ByKernels && (row.is(begin) || row.line.starts_with(begin))
        });
        assert!(known, "{begin} differs over the preload library");
    }
    for row in LEFT_OUT
        .iter()
        .filter(|row| row.answered == Answered::ByKernels)
    {
        let listed = differs
            .iter()
            .any(|begin| row.line.starts_with(begin) || row.line == "N" && is_number(begin));
        assert!(
            listed,
            "{} does not differ over the preload library",
            row.line
        );
    }
}
