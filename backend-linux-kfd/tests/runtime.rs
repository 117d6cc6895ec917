//! Core's runtime on this backend.

mod fake;

use fake::Fake;
use rukh_backend_linux_kfd::KfdBackend;
use rukh_core::backend::{AgentId, Timeout};
use rukh_core::mem::{AllocFlags, PoolFlags};
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};
use std::sync::Arc;

const GPU: AgentId = AgentId(2);

#[test]
fn a_runtime_starts_allocates_queues_and_leaves_nothing() {
    let fake = Fake::gfx90a();
    let backend = Arc::new(KfdBackend::open(fake.clone()).unwrap());
    let opened = fake.kernel().log.len();
    let runtime = Runtime::new(backend.clone(), RuntimeConfig::default()).unwrap();
    assert!(runtime.agents()[2].isa.is_some());
    let started = fake.kernel().log.len();

    let vram = runtime.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    let address = runtime
        .allocate(vram, 1 << 20, AllocFlags::empty())
        .unwrap();
    let kernarg = runtime
        .find_pool(AgentId(0), PoolFlags::KERNARG)
        .unwrap()
        .id;
    let arguments = runtime
        .allocate(kernarg, 4096, AllocFlags::empty())
        .unwrap();
    runtime.allow_access(&[GPU], arguments).unwrap();
    let bytes = [7u8; 4096];
    // SAFETY: both ranges are valid.
    unsafe { runtime.copy(address, bytes.as_ptr().into(), 4096) }.unwrap();

    let before = fake.kernel().log.len();
    let queue = runtime
        .create_queue(
            GPU,
            QueueConfig {
                size: 1024,
                ..QueueConfig::default()
            },
        )
        .unwrap();
    let per_queue = fake.kernel().log.len() - before;
    let claim = queue.claim(Timeout::Poll).unwrap();
    drop(claim);
    // What starting and a queue cost in calls: more is a regression, fewer is welcome.
    assert!(opened <= 11, "{opened} ioctls open the backend");
    assert!(
        started - opened <= 30,
        "{} ioctls start a runtime",
        started - opened
    );
    assert!(per_queue <= 11, "{per_queue} ioctls make a queue");

    drop(queue);
    // SAFETY: nothing uses the memory.
    unsafe {
        runtime.free(address).unwrap();
        runtime.free(arguments).unwrap();
    }
    drop(runtime);
    drop(backend);
    fake.kernel().assert_clean();
}
