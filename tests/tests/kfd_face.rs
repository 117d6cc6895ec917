//! The Linux KFD backend over the software GPU's KFD face: golden kernels, then the conformance suite.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{AgentKind, Topology};
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::conformance;
use rukh_tests::conformance::KfdFactory;
use std::sync::Arc;

#[test]
fn agents_are_the_profiles() {
    let backend = KfdBackend::open(KfdFace::parse("gfx90a,gfx942,gfx1100").unwrap()).unwrap();
    let mut skipped = Vec::new();
    backend.skipped(&mut |agent| skipped.push(format!("{agent:?}")));
    assert_eq!(skipped, Vec::<String>::new());
    let sim = rukh_backend_sim::SimBackend::new(
        rukh_backend_sim::SimConfig::parse("gfx90a,gfx942,gfx1100").unwrap(),
    )
    .unwrap();
    assert_eq!(backend.agent_count(), sim.agent_count());
    for id in (0..sim.agent_count()).map(rukh_core::backend::AgentId) {
        let (ours, theirs) = (backend.agent(id).unwrap(), sim.agent(id).unwrap());
        match (ours.kind, theirs.kind) {
            (AgentKind::Gpu(ours), AgentKind::Gpu(mut theirs)) => {
                // What the backend decides by itself.
                (theirs.images, theirs.svm_direct_host_access) =
                    (ours.images, ours.svm_direct_host_access);
                assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            }
            (ours, theirs) => assert_eq!(format!("{ours:?}"), format!("{theirs:?}")),
        }
    }
    let runtime = Runtime::new(Arc::new(backend), RuntimeConfig::default()).unwrap();
    assert_eq!(runtime.agents().len(), 4);
}

conformance! { gfx90a => KfdFactory::new("gfx90a") }
conformance! { gfx1100 => KfdFactory::new("gfx1100") }
conformance! { two_gpus => KfdFactory::new("gfx90a,gfx1100") }
