//! What the driver is told for waves that trap.

mod fake;

use fake::{Fake, FakeGpu};
use rukh_backend_linux_kfd::{KfdBackend, trap};
use rukh_core::backend::{AgentId, Topology};
use rukh_core::isa::Processor;

/// Of gfx90a's tree.
const GPU: AgentId = AgentId(2);

fn skipped(backend: &KfdBackend<Fake>) -> usize {
    let mut count = 0;
    backend.skipped(&mut |_| count += 1);
    count
}

#[test]
fn the_handler_of_the_family_is_where_the_driver_was_told() {
    for (tree, gpu, name, agent) in [
        ("gfx90a", FakeGpu::GFX90A, "gfx90a", GPU),
        ("gfx1100", FakeGpu::GFX1100, "gfx1100", AgentId(1)),
    ] {
        let fake = Fake::new(tree, &[gpu]);
        let backend = KfdBackend::open(fake.clone()).unwrap();
        assert!(backend.has_trap_handler(agent), "{name}");
        let address = fake.kernel().traps[&gpu.id];
        {
            let kernel = fake.kernel();
            assert!(kernel.runtime);
            let (_, bo) = kernel.mapping_at(gpu.id, address).unwrap();
            let executable = rukh_core::kfd::uapi::AllocFlags::EXECUTABLE;
            assert!(bo.flags.contains(executable) && bo.va == address);
        }
        let code = trap::handler(Processor::from_name(name).unwrap()).unwrap();
        // SAFETY: the page is mapped at its GPU address while the backend lives, and nobody writes to it.
        let there = unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance::<u8>(address as usize),
                code.len(),
            )
        };
        assert_eq!(there, code);
        drop(backend);
        let kernel = fake.kernel();
        assert_eq!(kernel.traps[&gpu.id], 0, "none is left behind");
        assert!(!kernel.runtime);
        kernel.assert_clean();
    }
}

#[test]
fn beside_another_runtime_the_gpu_works_without_a_handler() {
    let fake = Fake::gfx90a();
    fake.kernel().runtime = true;
    let backend = KfdBackend::open(fake.clone()).unwrap();
    assert_eq!(skipped(&backend), 0);
    assert!(!backend.has_trap_handler(GPU));
    drop(backend);
    assert!(fake.kernel().runtime, "what another one has told stays");
    fake.kernel().assert_clean();
}

#[test]
fn kernels_that_tell_nobody_are_not_asked_to() {
    let fake = Fake::gfx90a();
    fake.kernel().minor = 12;
    let backend = KfdBackend::open(fake.clone()).unwrap();
    assert!(!backend.has_trap_handler(GPU));
    let log = fake.kernel().log.clone();
    assert!(!log.contains(&"RUNTIME_ENABLE") && !log.contains(&"SET_TRAP_HANDLER"));
}
