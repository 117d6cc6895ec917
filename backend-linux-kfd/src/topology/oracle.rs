//! What must hold for whatever a topology tree says: shared by tests and fuzz targets.

use super::agents::{self, Opened, identify};
use super::{Name, Snapshot, TreePort};
use alloc::vec::Vec;
use rukh_core::backend::{AgentKind, HeapKind};
use rukh_core::isa::Isa;

/// Trees of machines, in the text form of [`TreePort::parse`], for inputs to start from.
pub const TREES: [&str; 4] = [
    include_str!("../../tests/trees/gfx90a.txt"),
    include_str!("../../tests/trees/gfx1100.txt"),
    include_str!("../../tests/trees/apu.txt"),
    include_str!("../../tests/trees/cpu.txt"),
];

/// What a tree came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// CPU agents.
    pub cpus: usize,
    /// GPU agents.
    pub gpus: usize,
    /// Nodes that were skipped with a reason.
    pub skipped: usize,
    /// Links.
    pub links: usize,
}

/// Reads a tree in the text form of [`TreePort::parse`] as interface version 1.`minor` would, and checks what comes
/// out. None if the tree as a whole is refused.
///
/// # Panics
/// If an invariant does not hold: that is the oracle's answer.
pub fn topology(text: &[u8], minor: u32) -> Option<Outcome> {
    check(&TreePort::parse(text), minor)
}

/// As [`topology`], for a tree that is there already.
///
/// # Panics
/// If an invariant does not hold.
pub fn check(tree: &TreePort, minor: u32) -> Option<Outcome> {
    let mut snapshot = Snapshot::read(tree).ok()?;
    let mut opened = Vec::new();
    for node in &snapshot.nodes {
        if let Some(gpu) = &node.gpu {
            match identify(gpu, minor) {
                Ok(identity) => opened.push(Opened {
                    node: node.id,
                    identity,
                    xnack: false,
                    device: None,
                    product: Name::new(),
                    apertures: (1 << 48, 2 << 48),
                }),
                Err(reason) => snapshot.skipped.push(rukh_core::backend::SkippedAgent {
                    node: node.id,
                    reason,
                }),
            }
        }
    }
    let (agents, links) = agents::build(&snapshot, &opened, &super::cpu_model(tree));
    let cpus = agents.iter().filter(|a| a.gpu.is_none()).count();
    assert!(
        agents[..cpus].iter().all(|a| a.gpu.is_none()),
        "CPU agents come first"
    );
    assert_eq!(agents.len() - cpus, opened.len(), "each GPU is one agent");
    for agent in &agents {
        assert!(agent.banks.iter().all(|bank| bank.size != 0));
        assert!(
            agent
                .caches
                .iter()
                .all(|cache| cache.level != 0 && cache.size != 0)
        );
        let AgentKind::Gpu(gpu) = &agent.info.kind else {
            assert!(agent.banks.iter().all(|bank| bank.heap == HeapKind::System));
            continue;
        };
        assert!(gpu.isa.parse::<Isa>().is_ok(), "{} is an ISA", gpu.isa);
        for count in [
            gpu.compute_units,
            gpu.simds_per_cu,
            gpu.shader_engines,
            gpu.arrays_per_engine,
            gpu.max_waves_per_simd,
            gpu.max_slots_scratch_cu,
            gpu.xcc_count,
            gpu.lds_bytes,
        ] {
            assert_ne!(count, 0, "what sizes are divided by or multiplied with");
        }
        assert!(matches!(gpu.wavefront_size, 32 | 64));
    }
    for open in &opened {
        let sizes = open.identity.sizes;
        assert!(sizes.control_stack < sizes.save_area);
        assert!(sizes.control_stack.is_multiple_of(4096) && sizes.save_area.is_multiple_of(4096));
        assert!(sizes.total() >= u64::from(sizes.save_area) + u64::from(sizes.debug));
    }
    for (index, link) in links.iter().enumerate() {
        assert_ne!(link.from, link.to, "no agent is linked to itself");
        for end in [link.from, link.to] {
            assert!((end.0 as usize) < agents.len(), "links join agents");
        }
        assert!(
            !links[..index]
                .iter()
                .any(|other| (other.from, other.to) == (link.from, link.to)),
            "one link in each direction"
        );
    }
    Some(Outcome {
        cpus,
        gpus: opened.len(),
        skipped: snapshot.skipped.len(),
        links: links.len(),
    })
}
