//! Runs that were recorded on real kernels (in a virtual machine, two NUMA nodes, no GPU), replayed.
//!
//! Made by `kfd_witness FILE` of `examples/` under Debian's kernels.

#[path = "../examples/kfd_witness/events.rs"]
mod events;

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::sys::LinuxPort;
use rukh_backend_linux_kfd::trace::ReplayPort;
use rukh_core::backend::{AgentId, AgentKind, Topology};
use std::sync::Arc;

fn replay(file: &str, version: (u32, u32)) {
    let path = format!("{}/tests/recordings/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let port = Arc::new(ReplayPort::new(&text, LinuxPort).unwrap());
    let backend = KfdBackend::open(port.clone()).unwrap();
    assert_eq!(backend.kfd().version(), version);
    for agent in (0..backend.agent_count()).map(AgentId) {
        let kind = backend.agent(agent).unwrap().kind;
        assert!(matches!(kind, AgentKind::Cpu { cores: 1 }));
    }
    assert_eq!(backend.agent_count(), 2);
    events::events(&backend, &mut |what, holds| assert!(holds, "{what}"));
    drop(backend);
    assert_eq!(port.differences(), [""; 0]);
    assert_eq!(port.left(), [""; 0]);
}

#[test]
fn a_run_on_linux_6_1_replays_without_a_difference() {
    replay("linux-6.1.txt", (1, 11));
}

#[test]
fn a_run_on_linux_6_12_replays_without_a_difference() {
    replay("linux-6.12.txt", (1, 17));
}
