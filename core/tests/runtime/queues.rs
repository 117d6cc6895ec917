use crate::fake::{self, Fake, GPU};
use crate::{soon, stepped, threaded, until};
use rukh_core::backend::{AgentId, Timeout};
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{
    Queue, QueueConfig, QueueError, QueueFailure, QueueType, Runtime, RuntimeConfig, WaitCondition,
    WaitHint,
};
use rukh_core::signal::{Condition, MemoryOrder, SignalHandle};
use rukh_core::wire::aql::{BarrierPacket, Header, KernelDispatchPacket, PacketType};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

fn config(size: u32) -> QueueConfig {
    QueueConfig {
        size,
        ..QueueConfig::default()
    }
}

/// A dispatch of one work-item. The fake's kernel adds the second argument to what the first points to.
fn dispatch(arguments: &[u64; 2], completion: SignalHandle) -> KernelDispatchPacket {
    KernelDispatchPacket {
        header: Header::new(PacketType::KernelDispatch),
        setup: 1,
        workgroup_size: [1; 3],
        grid_size: [1; 3],
        kernel_object: 0x1000,
        kernarg_address: arguments.as_ptr().expose_provenance() as u64,
        completion_signal: completion.0,
        ..KernelDispatchPacket::default()
    }
}

#[test]
fn queues_that_cannot_be_are_refused_with_the_reason() {
    let (_, rt) = stepped();
    let refused = |agent, config: QueueConfig| rt.create_queue(agent, config).unwrap_err();
    for packets in [0, 1, 32, 63, 65, 100] {
        assert_eq!(
            refused(GPU, config(packets)),
            QueueError::BadSize { packets, min: 64 }
        );
    }
    assert_eq!(
        refused(GPU, config(262_144)),
        QueueError::TooLarge {
            packets: 262_144,
            max: 131_072
        }
    );
    assert_eq!(
        refused(AgentId(0), config(64)),
        QueueError::NotAGpu { agent: AgentId(0) }
    );
    assert_eq!(
        refused(AgentId(9), config(64)),
        QueueError::NoAgent { agent: AgentId(9) }
    );
    let private = QueueConfig {
        private_segment_size: 262_129,
        ..config(64)
    };
    assert!(matches!(
        refused(GPU, private),
        QueueError::PrivateTooLarge { .. }
    ));
    let cooperative = QueueConfig {
        kind: QueueType::Cooperative,
        ..config(64)
    };
    assert!(matches!(
        refused(GPU, cooperative),
        QueueError::Unsupported(_)
    ));
    let no_hint = QueueConfig {
        private_segment_size: u32::MAX,
        group_segment_size: u32::MAX,
        ..config(131_072)
    };
    rt.create_queue(GPU, no_hint).unwrap();
}

#[test]
fn the_queue_structure_says_what_hardware_expects() {
    let (_, rt) = stepped();
    let queue = rt.create_queue(GPU, config(256)).unwrap();
    let amd = queue.amd_queue();
    assert_eq!(queue.address() % 4096, 0);
    assert_eq!((amd.hsa_queue.kind, amd.hsa_queue.features), (0, 1));
    assert_eq!(amd.hsa_queue.size, 256);
    assert_eq!(amd.hsa_queue.doorbell_signal, queue.doorbell_signal().0);
    // As a deployed runtime was seen to fill it for the same device.
    assert_eq!((amd.max_cu_id, amd.max_wave_id), (103, 31));
    assert_eq!(amd.group_segment_aperture_base_hi, 1 << 16);
    assert_eq!(amd.private_segment_aperture_base_hi, 2 << 16);
    assert_eq!(amd.read_dispatch_id_field_base_byte_offset, 0x80);
    assert_eq!(amd.queue_properties.load(Ordering::Relaxed), 2);
    let other = rt.create_queue(GPU, config(64)).unwrap();
    assert_ne!(other.id(), queue.id());
    queue.set_profiling(true);
    assert_eq!(amd.queue_properties.load(Ordering::Relaxed), 2 | 8);
    for at in 0..256u64 {
        let slot = (amd.hsa_queue.base_address + 64 * at) as *const u16;
        // SAFETY: a slot of a ring that nobody writes now.
        assert_eq!(unsafe { *slot }, Header::INVALID.0);
    }
}

fn run_dispatches(rt: &Arc<Runtime<Fake>>, queue: &Queue<Fake>, count: u64) {
    let sum = AtomicU64::new(0);
    let arguments: Vec<[u64; 2]> = (1..=count)
        .map(|n| [core::ptr::from_ref(&sum).expose_provenance() as u64, n])
        .collect();
    let done = rt.create_signal(count as i64).unwrap();
    for arguments in &arguments {
        queue
            .claim(soon(rt))
            .unwrap()
            .publish_packet(&dispatch(arguments, done.handle()));
    }
    let outcome = done.wait(Condition::Lt, 1, soon(rt)).unwrap();
    assert!(outcome.is_met(), "{outcome:?}");
    assert_eq!(sum.load(Ordering::Relaxed), count * (count + 1) / 2);
}

#[test]
fn dispatches_run_in_order_many_times_around_the_ring() {
    for (fake, rt) in [threaded(), stepped()] {
        let queue = rt.create_queue(GPU, config(64)).unwrap();
        run_dispatches(&rt, &queue, 1000);
        assert_eq!(queue.read_index(MemoryOrder::Acquire), 1000);
        assert_eq!(queue.write_index(MemoryOrder::Acquire), 1000);
        assert_eq!(fake.rings.load(Ordering::Relaxed), 1000);
    }
}

#[test]
fn many_threads_feed_one_queue() {
    let (_, rt) = threaded();
    let queue = rt.create_queue(GPU, config(64)).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| run_dispatches(&rt, &queue, 300));
        }
    });
    assert_eq!(queue.read_index(MemoryOrder::Acquire), 1200);
}

#[test]
fn the_doorbell_signal_rings_the_doorbell_and_is_nothing_else() {
    let (fake, rt) = stepped();
    let queue = rt.create_queue(GPU, config(64)).unwrap();
    let doorbell = rt.signal(queue.doorbell_signal()).unwrap();
    assert!(doorbell.is_doorbell());
    doorbell.store(5, MemoryOrder::Release);
    assert_eq!(fake.rings.load(Ordering::Relaxed), 1);
    assert_eq!(doorbell.add(1, MemoryOrder::Relaxed), 0);
    assert!(
        doorbell
            .wait(Condition::Eq, 0, Timeout::Poll, WaitHint::Blocked)
            .is_err()
    );
    assert!(rt.destroy_signal(queue.doorbell_signal()).is_err());
    let handle = queue.doorbell_signal();
    drop(queue);
    assert!(rt.signal(handle).is_err());

    let (fake, register) = fake::with_register_doorbells();
    let rt = Runtime::new(fake.clone(), RuntimeConfig::default()).unwrap();
    let queue = rt.create_queue(GPU, config(64)).unwrap();
    let doorbell = rt.signal(queue.doorbell_signal()).unwrap();
    doorbell.store(41, MemoryOrder::Release);
    assert_eq!(register(&fake), 41);
    drop(queue.claim(Timeout::Poll).unwrap());
    assert_eq!(register(&fake), 0);
}

fn broken_packet(
    rt: &Arc<Runtime<Fake>>,
    break_it: impl Fn(&mut KernelDispatchPacket),
) -> QueueStatus {
    let failure = Arc::new(Mutex::new(Vec::<QueueFailure>::new()));
    let seen = failure.clone();
    let queue = rt
        .create_queue(
            GPU,
            QueueConfig {
                error_callback: Some(Box::new(move |failure| {
                    seen.lock().unwrap().push(failure);
                })),
                ..config(64)
            },
        )
        .unwrap();
    let done = rt.create_signal(1).unwrap();
    let mut packet = dispatch(&[0, 0], done.handle());
    packet.kernarg_address = 0;
    break_it(&mut packet);
    queue.claim(soon(rt)).unwrap().publish_packet(&packet);
    let ended = rt
        .wait_any(
            &[
                WaitCondition {
                    signal: done.handle(),
                    condition: Condition::Lt,
                    value: 1,
                },
                WaitCondition {
                    signal: queue.failure_signal(),
                    condition: Condition::Ne,
                    value: 0,
                },
            ],
            soon(rt),
            WaitHint::Blocked,
        )
        .unwrap();
    assert_eq!(ended, Some((1, 1)));
    let status = queue.status().unwrap();
    until(|| {
        rt.poll();
        !failure.lock().unwrap().is_empty()
    });
    rt.poll();
    assert_eq!(
        *failure.lock().unwrap(),
        [QueueFailure {
            status,
            queue: queue.address(),
            id: queue.id()
        }]
    );
    // The signal keeps its value, the hardware is stopped, and no more is taken.
    assert_eq!(done.load(MemoryOrder::Acquire), 1);
    assert_eq!(rt.backend().active_queues(), 0);
    assert!(matches!(
        queue.claim(Timeout::Poll),
        Err(QueueError::Stopped(found)) if found == status
    ));
    status
}

#[test]
fn a_packet_that_cannot_run_stops_its_queue_and_tells_everybody() {
    for (_, rt) in [threaded(), stepped()] {
        let status = |f: &dyn Fn(&mut KernelDispatchPacket)| broken_packet(&rt, f);
        assert_eq!(status(&|p| p.setup = 0), QueueStatus::IncompatibleArguments);
        assert_eq!(
            status(&|p| p.group_segment_size = 1 << 20),
            QueueStatus::InvalidAllocation
        );
        assert_eq!(
            status(&|p| p.kernel_object = 0),
            QueueStatus::InvalidCodeObject
        );
        assert_eq!(
            status(&|p| p.header = Header::new(PacketType::Unknown(77))),
            QueueStatus::InvalidPacketFormat
        );
    }
}

#[test]
fn a_memory_fault_stops_the_agents_queues() {
    for (fake, rt) in [threaded(), stepped()] {
        let queue = rt.create_queue(GPU, config(64)).unwrap();
        fake.fault(0xdead_0000);
        let failed = rt
            .signal(queue.failure_signal())
            .unwrap()
            .wait(Condition::Ne, 0, soon(&rt), WaitHint::Blocked)
            .unwrap();
        assert!(failed.is_met());
        assert_eq!(
            queue.status(),
            Some(QueueStatus::MemoryFault {
                address: 0xdead_0000
            })
        );
    }
}

#[test]
fn a_dispatch_gets_the_scratch_that_it_asks_for() {
    for (fake, rt) in [threaded(), stepped()] {
        let queue = rt.create_queue(GPU, config(64)).unwrap();
        let before = fake.held().0;
        let done = rt.create_signal(2).unwrap();
        for private in [260, 100] {
            let mut packet = dispatch(&[0, 0], done.handle());
            packet.kernarg_address = 0;
            packet.private_segment_size = private;
            queue.claim(soon(&rt)).unwrap().publish_packet(&packet);
        }
        assert!(done.wait(Condition::Eq, 0, soon(&rt)).unwrap().is_met());
        let amd = queue.amd_queue();
        assert_eq!(amd.compute_tmpring_size.load(Ordering::Relaxed), 0x11d00);
        assert_eq!(
            amd.scratch_wave64_lane_byte_size.load(Ordering::Relaxed),
            272
        );
        let location = amd.scratch_backing_memory_location.load(Ordering::Relaxed);
        let size = amd.scratch_backing_memory_byte_size.load(Ordering::Relaxed);
        assert_eq!(size, 3328 * 17 * 1024);
        let words: Vec<u32> = amd
            .scratch_resource_descriptor
            .iter()
            .map(|word| word.load(Ordering::Relaxed))
            .collect();
        assert_eq!(words[0], location as u32);
        assert_eq!(u64::from(words[2]), size);
        assert_eq!(fake.held().0, before + 1);
        assert_eq!(queue.status(), None);
        drop(queue);
        // The thread that looks after queues may have this one for a moment longer.
        until(|| fake.held().0 == before - 2);
    }
}

#[test]
fn scratch_that_is_not_there_means_fewer_waves_and_then_an_error() {
    let (fake, rt) = stepped();
    let run = |limit| {
        fake.limit_vram(limit);
        let queue = rt.create_queue(GPU, config(64)).unwrap();
        let mut packet = dispatch(&[0, 0], SignalHandle::NULL);
        packet.kernarg_address = 0;
        packet.private_segment_size = 256;
        queue.claim(soon(&rt)).unwrap().publish_packet(&packet);
        for _ in 0..10 {
            rt.poll();
        }
        let waves = queue
            .amd_queue()
            .compute_tmpring_size
            .load(Ordering::Relaxed)
            & 0xfff;
        (waves, queue.status())
    };
    assert_eq!(run(1 << 30), (3328, None));
    assert_eq!(run(20 << 20), (832, None));
    assert!(matches!(
        run(4096),
        (0, Some(QueueStatus::OutOfScratch { bytes })) if bytes > 4096
    ));
}

#[test]
fn a_full_ring_makes_producers_wait_as_long_as_they_like() {
    let (_, rt) = stepped();
    let queue = rt.create_queue(GPU, config(64)).unwrap();
    let gate = rt.create_signal(1).unwrap();
    let mut barrier = BarrierPacket {
        header: Header::new(PacketType::BarrierAnd),
        ..BarrierPacket::default()
    };
    barrier.dep_signal[2] = gate.handle().0;
    let mut batch = queue.claim_batch(64, Timeout::Poll).unwrap();
    while batch.remaining() > 0 {
        assert!(batch.push(&barrier));
    }
    assert!(!batch.push(&barrier));
    drop(batch);
    assert!(matches!(
        queue.claim(Timeout::Poll),
        Err(QueueError::TimedOut)
    ));
    assert!(queue.try_claim().is_err());
    gate.store(0, MemoryOrder::Release);
    let claim = queue.claim(soon(&rt)).unwrap();
    assert_eq!(claim.index(), 64);
}

#[test]
fn a_queue_that_goes_says_so_to_whoever_waits() {
    let (_, rt) = threaded();
    let queue = rt.create_queue(GPU, config(64)).unwrap();
    let failure = queue.failure_signal();
    thread::scope(|scope| {
        let rt = &rt;
        let wait = scope.spawn(move || {
            rt.signal(failure)
                .and_then(|s| s.wait(Condition::Ne, 0, soon(rt), WaitHint::Blocked))
        });
        thread::sleep(std::time::Duration::from_millis(10));
        drop(queue);
        // Told that it failed, or that the signal is gone with it.
        match wait.join().unwrap() {
            Ok(outcome) => assert!(outcome.is_met()),
            Err(error) => assert!(error.to_string().contains("destroyed"), "{error}"),
        }
    });
}

#[test]
fn a_device_that_is_never_content_with_its_scratch_stops() {
    for (_, rt) in [threaded(), stepped()] {
        let queue = rt.create_queue(GPU, config(64)).unwrap();
        let mut packet = dispatch(&[0, 0], SignalHandle::NULL);
        packet.kernarg_address = 0;
        packet.private_segment_size = fake::INSATIABLE;
        queue.claim(soon(&rt)).unwrap().publish_packet(&packet);
        let failed = rt
            .signal(queue.failure_signal())
            .unwrap()
            .wait(Condition::Ne, 0, soon(&rt), WaitHint::Blocked)
            .unwrap();
        assert!(failed.is_met());
        assert!(matches!(
            queue.status(),
            Some(QueueStatus::OutOfScratch { bytes }) if bytes > 0
        ));
    }
}
