//! The backend's own promises: memory, events, topology.

use super::rig::*;
use crate::backend::{Mode, SimBackend, SimConfig};
use core::ptr::NonNull;
use rukh_core::backend::*;

fn backend(mode: Mode) -> SimBackend {
    let config = SimConfig::parse("gfx90a,gfx90a,gfx1100")
        .expect("profiles")
        .mode(mode);
    SimBackend::with_executor::<super::fake::Fake>(config).expect("a system")
}

#[test]
fn agents_are_the_cpu_and_then_the_gpus() {
    let backend = backend(Mode::default());
    assert_eq!(backend.agent_count(), 4);
    let names: alloc::vec::Vec<_> = (1..4)
        .map(|i| backend.agent(AgentId(i)).expect("an agent").name)
        .collect();
    assert_eq!(names, ["gfx90a", "gfx90a", "gfx1100"]);
    assert!(matches!(
        backend.agent(AgentId(0)).expect("the CPU").kind,
        AgentKind::Cpu { cores } if cores > 0
    ));
    assert!(matches!(
        backend.agent(AgentId(4)),
        Err(TopologyError::NoAgent { .. })
    ));
    let mut links = 0;
    backend.links(&mut |link| {
        links += 1;
        let pair = [link.from.0, link.to.0];
        assert_eq!(
            link.kind == LinkKind::Xgmi,
            pair == [1, 2] || pair == [2, 1]
        );
    });
    assert_eq!(links, 12);
}

#[test]
fn a_bank_gives_no_more_than_it_has() {
    let backend = backend(Mode::default());
    let bank = BankId {
        agent: AgentId(1),
        index: 0,
    };
    let request = |size, align| MemoryRequest {
        bank,
        size,
        align,
        flags: MemoryFlags::WRITABLE,
    };
    let all = backend.available(bank).expect("a bank");
    assert_eq!(all, 64 << 30);
    let most = backend
        .allocate(&request(all - 4096, 4096))
        .expect("memory");
    assert_eq!(most.host, None);
    assert!(matches!(
        backend.allocate(&request(8192, 4096)),
        Err(MemoryError::OutOfMemory {
            size: 8192,
            available: 4096
        })
    ));
    // SAFETY: nothing uses it.
    unsafe { backend.free(most.handle) }.expect("freed");
    assert_eq!(backend.available(bank), Ok(all));
    for (size, align) in [(0, 4096), (100, 4096), (4096, 100), (4096, 16)] {
        let answer = backend.allocate(&request(size, align));
        assert!(matches!(answer, Err(MemoryError::BadSize { .. })));
    }
    // LDS and scratch are banks, but not ones to allocate from.
    for index in [1, 2, 3] {
        let answer = backend.available(BankId {
            agent: AgentId(1),
            index,
        });
        assert!(matches!(answer, Err(MemoryError::NoBank { .. })));
    }
}

#[test]
fn memory_reads_as_zero_again_after_it_was_freed() {
    let backend = backend(Mode::default());
    for _ in 0..20 {
        let allocation = shared(&backend, 1 << 16);
        allocation
            .host
            .expect("host memory")
            .as_ptr()
            .expose_provenance();
        for at in (0..1 << 16).step_by(1024) {
            assert_eq!(load64(allocation.gpu_va + at), 0);
            store64(allocation.gpu_va + at, u64::MAX);
        }
        // SAFETY: nothing uses it any more.
        unsafe { backend.free(allocation.handle) }.expect("freed");
    }
}

#[test]
fn a_live_queues_memory_is_not_freed() {
    let rig = Rig::new("gfx90a", Mode::default());
    let ring = rig.queue_request().ring;
    let handle = (1..20)
        .map(MemoryHandle)
        .find(|h| {
            // SAFETY: only the refused free of a ring is tried on memory in use.
            rig.is_region_at(*h, ring)
        })
        .expect("the ring's allocation");
    // SAFETY: the queue uses it, so it stays.
    let answer = unsafe { rig.backend.free(handle) };
    assert!(matches!(answer, Err(MemoryError::InUse { .. })));
    rig.backend
        .destroy_queue(rig.queue.handle)
        .expect("destroyed");
    // SAFETY: nothing uses it any more.
    unsafe { rig.backend.free(handle) }.expect("freed");
}

#[test]
fn queues_need_memory_that_the_agent_can_use() {
    let rig = Rig::new("gfx90a,gfx1100", Mode::default());
    let good = rig.queue_request();
    let refuse = |request: QueueRequest| rig.backend.create_queue(&request).expect_err("refused");
    assert!(matches!(
        refuse(QueueRequest {
            agent: AgentId(0),
            ..good
        }),
        QueueCreateError::NoSuchKind { .. }
    ));
    assert!(matches!(
        refuse(QueueRequest {
            ring_bytes: 100,
            ..good
        }),
        QueueCreateError::BadRingSize { bytes: 100 }
    ));
    assert!(matches!(
        refuse(QueueRequest {
            ring: good.ring + 4,
            ..good
        }),
        QueueCreateError::BadAddress { what: "ring", .. }
    ));
    assert!(matches!(
        refuse(QueueRequest {
            ring_bytes: good.ring_bytes * 2,
            ..good
        }),
        QueueCreateError::BadAddress { what: "ring", .. }
    ));
    assert!(matches!(
        refuse(QueueRequest {
            descriptor: 0,
            ..good
        }),
        QueueCreateError::BadAddress {
            what: "descriptor",
            ..
        }
    ));
    // The memory is not mapped to the second GPU.
    assert!(matches!(
        refuse(QueueRequest {
            agent: AgentId(2),
            ..good
        }),
        QueueCreateError::BadAddress { .. }
    ));
    assert!(matches!(
        refuse(QueueRequest {
            kind: QueueKind::SdmaXgmi,
            ..good
        }),
        QueueCreateError::NoSuchKind { .. }
    ));
}

#[test]
fn registered_host_memory_is_reachable_until_it_is_freed() {
    let rig = Rig::new("gfx90a", Mode::default());
    let mut buffer = alloc::vec![0u32; 64];
    let at = NonNull::from(&mut buffer[3]).cast::<u8>();
    let flags = MemoryFlags::WRITABLE | MemoryFlags::HOST_ACCESS;
    // SAFETY: the buffer outlives the registration.
    let registered = unsafe { rig.backend.register_host(at, 4, flags, &[GPU]) }.expect("memory");
    rig.args(&[registered.gpu_va]);
    let kernel = rig.plain_kernel(&[[super::fake::ADD, 7], [super::fake::END, 0]]);
    assert!(rig.run(rig.packet(kernel, 64, 64)));
    // SAFETY: the device is done with it.
    let value = unsafe { at.cast::<u32>().read_volatile() };
    assert_eq!(value, 7);
    // SAFETY: nothing uses it any more.
    unsafe { rig.backend.free(registered.handle) }.expect("freed");
    rig.submit(rukh_core::wire::aql::Packet::KernelDispatch(
        rig.packet(kernel, 64, 64),
    ));
    assert!(rig.until(|| !rig.backend.last_faults().is_empty()));
}

#[test]
fn an_event_stays_raised_until_somebody_asks() {
    for mode in modes() {
        let backend = backend(mode);
        let event = backend.create_event(EventKind::Signal).expect("an event");
        let wait = |timeout| backend.wait_events(&[event], WaitMode::Any, timeout, &mut |_| {});
        assert_eq!(wait(Timeout::Poll), Ok(EventOutcome::TimedOut));
        backend.set_event(event).expect("raised");
        assert_eq!(wait(Timeout::Poll), Ok(EventOutcome::Raised));
        assert_eq!(wait(Timeout::Poll), Ok(EventOutcome::TimedOut));
        let deadline = backend.now() + 2_000_000;
        assert_eq!(wait(Timeout::At(deadline)), Ok(EventOutcome::TimedOut));
        assert!(backend.now() >= deadline);
        backend.destroy_event(event).expect("destroyed");
        assert_eq!(wait(Timeout::Poll), Err(EventError::NoEvent(event)));
        assert_eq!(backend.mailbox(event), 0);
    }
}

#[test]
fn all_that_sleep_on_an_event_wake() {
    let backend = alloc::sync::Arc::new(backend(Mode::default()));
    let event = backend.create_event(EventKind::Signal).expect("an event");
    let other = backend.create_event(EventKind::Signal).expect("an event");
    let sleepers: alloc::vec::Vec<_> = (0..3)
        .map(|_| {
            let backend = backend.clone();
            std::thread::spawn(move || {
                backend.wait_events(&[other, event], WaitMode::Any, Timeout::Never, &mut |_| {})
            })
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(50));
    backend.set_event(event).expect("raised");
    for sleeper in sleepers {
        assert_eq!(sleeper.join().expect("a thread"), Ok(EventOutcome::Raised));
    }
    // Destroying an event ends waits on it.
    let waiter = {
        let backend = backend.clone();
        std::thread::spawn(move || {
            backend.wait_events(&[other], WaitMode::All, Timeout::Never, &mut |_| {})
        })
    };
    std::thread::sleep(std::time::Duration::from_millis(50));
    backend.destroy_event(other).expect("destroyed");
    assert_eq!(
        waiter.join().expect("a thread"),
        Err(EventError::Destroyed(other))
    );
}

#[test]
fn inactive_queues_keep_their_packets() {
    for mode in modes() {
        let rig = Rig::new("gfx90a", mode);
        let update = |active| {
            let priority = QueuePriority::Low;
            let update = QueueUpdate { active, priority };
            rig.backend
                .update_queue(rig.queue.handle, &update)
                .expect("a queue");
        };
        update(false);
        let signal = rig.signal(1);
        let mut packet = rig.packet(rig.plain_kernel(NOTHING), 64, 64);
        packet.completion_signal = signal;
        rig.submit(rukh_core::wire::aql::Packet::KernelDispatch(packet));
        for _ in 0..1000 {
            rig.backend.relax();
        }
        assert_eq!(rig.value(signal), 1);
        update(true);
        assert!(rig.wait(signal, 0), "{mode:?}");
    }
}
