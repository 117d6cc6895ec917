//! Queues: rings of packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rukh_core::backend::{Backend, QueueCreateError, QueuePriority, Timeout};
use rukh_core::queue::{QueueStatus, RingError};
use rukh_core::runtime::{Queue, QueueConfig, QueueError, Signal};
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{BarrierPacket, Header, PacketType};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::memory::in_threads;
use super::{Factory, Outcome, World};

const ORDERS: [MemoryOrder; 4] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
];

/// A packet that does nothing but complete on the signal.
fn marker<B: Backend>(signal: &Signal<B>) -> BarrierPacket {
    BarrierPacket {
        header: Header::new(PacketType::BarrierAnd),
        completion_signal: signal.handle().0,
        ..BarrierPacket::default()
    }
}

pub(super) fn sizes_must_be_powers_of_two_in_range<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let create = |size| {
        let config = QueueConfig {
            size,
            ..QueueConfig::default()
        };
        world.runtime.create_queue(world.gpu, config)
    };
    for size in [0, 1, 32, 63, 65, 100, 131_073, u32::MAX] {
        ensure_matches!(create(size), Err(QueueError::BadSize { packets, .. }) if *packets == size);
    }
    for size in [1 << 18, 1 << 31] {
        ensure_matches!(create(size), Err(QueueError::TooLarge { packets, .. }) if *packets == size);
    }
    for size in [64, 1024, 131_072] {
        ensure_eq!(create(size)?.size(), size);
    }
    let config = QueueConfig {
        size: 64,
        private_segment_size: 262_129,
        ..QueueConfig::default()
    };
    ensure_matches!(
        world.runtime.create_queue(world.gpu, config),
        Err(QueueError::PrivateTooLarge { bytes: 262_129, .. })
    );
    Ok(())
}

pub(super) fn only_gpus_have_queues<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let create = |agent| {
        let config = QueueConfig {
            size: 64,
            ..QueueConfig::default()
        };
        world.runtime.create_queue(agent, config)
    };
    ensure_matches!(create(world.cpu), Err(QueueError::NotAGpu { agent }) if *agent == world.cpu);
    let none = rukh_core::backend::AgentId(77);
    ensure_matches!(create(none), Err(QueueError::NoAgent { agent }) if *agent == none);
    Ok(())
}

pub(super) fn a_client_sees_what_hsa_promises_of_a_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queues = [world.queue()?, world.queue_of(world.gpu, 256)?];
    ensure!(queues[0].id() != queues[1].id());
    for queue in &queues {
        let client = &queue.amd_queue().hsa_queue;
        ensure_eq!((client.id, client.size), (queue.id(), queue.size()));
        ensure_eq!(client.features & 1, 1, "kernel dispatch");
        ensure!(client.base_address != 0 && client.base_address.is_multiple_of(64));
        ensure_eq!(client.doorbell_signal, queue.doorbell_signal().0);
        let gpu = world.runtime.agent(world.gpu).and_then(|agent| agent.gpu());
        ensure_eq!(
            Some(queue.amd_queue().max_cu_id + 1),
            gpu.map(|gpu| gpu.compute_units)
        );
        ensure_eq!(queue.write_index(MemoryOrder::Relaxed), 0);
        ensure_eq!(queue.read_index(MemoryOrder::Relaxed), 0);
    }
    Ok(())
}

pub(super) fn index_operations_work_in_every_order<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for order in ORDERS {
        // A queue whose device is never told: it may look at the write index, and finds slots that
        // are not published.
        let queue = world.queue()?;
        ensure_eq!(queue.add_write_index(3, order), 0);
        ensure_eq!(queue.write_index(order), 3);
        ensure_eq!(queue.cas_write_index(4, 9, order), 3);
        ensure_eq!(queue.cas_write_index(3, 5, order), 3);
        ensure_eq!(queue.write_index(order), 5);
        queue.store_write_index(7, order);
        ensure_eq!(queue.write_index(order), 7);
        ensure_eq!(queue.read_index(order), 0);
    }
    Ok(())
}

pub(super) fn packets_are_consumed_in_order_and_slots_given_back<F: Factory>(
    factory: &F,
) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for round in 0..200 {
        let done = world.barrier(&queue, &[])?;
        world.wait_for(&done, &queue)?;
        // A completion comes after the slot is given back.
        ensure_eq!(queue.read_index(MemoryOrder::Acquire), round + 1);
    }
    Ok(())
}

pub(super) fn a_full_queue_refuses_and_recovers<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let gate = world.runtime.create_signal(1)?;
    let mut last = world.barrier(&queue, &[&gate])?;
    for _ in 1..64 {
        last = world.barrier(&queue, &[])?;
    }
    ensure_matches!(
        queue.try_claim().map(|claim| claim.index()),
        Err(QueueError::Ring(RingError::Full {
            wanted: 1,
            used: 64,
            size: 64
        }))
    );
    ensure_matches!(
        queue.claim(Timeout::Poll).map(|claim| claim.index()),
        Err(QueueError::TimedOut)
    );
    let soon = world.after(std::time::Duration::from_millis(1));
    ensure_matches!(
        queue.claim(soon).map(|claim| claim.index()),
        Err(QueueError::TimedOut)
    );
    ensure_matches!(
        queue
            .claim_batch(65, Timeout::Poll)
            .map(|batch| batch.index()),
        Err(QueueError::Ring(RingError::TooMany {
            wanted: 65,
            size: 64
        }))
    );
    gate.store(0, MemoryOrder::Release);
    world.wait_for(&last, &queue)?;
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)
}

pub(super) fn a_claim_that_is_dropped_does_not_stop_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for _ in 0..3 {
        drop(queue.claim(world.deadline())?);
        drop(queue.claim_batch(4, world.deadline())?);
    }
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)?;
    ensure_eq!(queue.read_index(MemoryOrder::Acquire), 16);
    Ok(())
}

pub(super) fn packets_published_out_of_order_run_in_order<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let signals = [
        world.runtime.create_signal(1)?,
        world.runtime.create_signal(1)?,
    ];
    let first = queue.claim(world.deadline())?;
    let second = queue.claim(world.deadline())?;
    second.publish_packet(&marker(&signals[1]));
    // Nothing may pass the slot that is not published.
    let early = world.runtime.signal(signals[1].handle())?.wait(
        rukh_core::signal::Condition::Lt,
        1,
        world.after(std::time::Duration::from_millis(3)),
        Default::default(),
    )?;
    ensure!(!early.is_met());
    first.publish_packet(&marker(&signals[0]));
    for signal in &signals {
        world.wait_for(signal, &queue)?;
    }
    Ok(())
}

pub(super) fn many_producers_wrap_a_small_ring<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let (threads, each) = (4, 300);
    let count = world.runtime.create_signal(threads * each)?;
    in_threads(threads as u64, |_| {
        for _ in 0..each {
            queue
                .claim(world.deadline())?
                .publish_packet(&marker(&count));
        }
        Ok(())
    })?;
    world.wait_for(&count, &queue)?;
    ensure_eq!(count.load(MemoryOrder::Acquire), 0);
    let total = (threads * each) as u64;
    ensure_eq!(queue.write_index(MemoryOrder::Relaxed), total);
    ensure_eq!(queue.read_index(MemoryOrder::Relaxed), total);
    Ok(())
}

pub(super) fn batches_are_published_whole<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let count = world.runtime.create_signal(40 * 7)?;
    for _ in 0..40 {
        let mut batch = queue.claim_batch(7, world.deadline())?;
        while batch.remaining() != 0 {
            ensure!(batch.push(&marker(&count)));
        }
        ensure!(!batch.push(&marker(&count)));
    }
    world.wait_for(&count, &queue)
}

pub(super) fn as_many_queues_as_the_device_has<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let gpu = world.runtime.agent(world.gpu).and_then(|agent| agent.gpu());
    let limit = gpu.map_or(0, |gpu| gpu.max_queues);
    let mut queues = Vec::new();
    for _ in 0..limit {
        queues.push(world.queue()?);
    }
    let config = QueueConfig {
        size: 64,
        ..QueueConfig::default()
    };
    ensure_matches!(
        world.runtime.create_queue(world.gpu, config),
        Err(QueueError::Backend(QueueCreateError::NoneLeft { limit: l, .. })) if *l == limit
    );
    // All of them work, and one that goes makes room.
    let signals = queues
        .iter()
        .map(|queue| world.barrier(queue, &[]))
        .collect::<Outcome<Vec<_>>>()?;
    for (signal, queue) in signals.iter().zip(&queues) {
        world.wait_for(signal, queue)?;
    }
    queues.swap_remove(5);
    let queue = world.queue()?;
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)
}

pub(super) fn priorities_and_masks_can_be_set<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for priority in [
        QueuePriority::Low,
        QueuePriority::High,
        QueuePriority::Normal,
    ] {
        queue.set_priority(priority)?;
        let done = world.barrier(&queue, &[])?;
        world.wait_for(&done, &queue)?;
    }
    queue.set_cu_mask(&[0b11])?;
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)
}

pub(super) fn an_inactivated_queue_takes_no_packets<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let called = Arc::new(AtomicU32::new(0));
    let counter = called.clone();
    let config = QueueConfig {
        size: 64,
        error_callback: Some(Box::new(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
        })),
        ..QueueConfig::default()
    };
    let queue: Queue<_> = world.runtime.create_queue(world.gpu, config)?;
    queue.inactivate()?;
    ensure_eq!(queue.status(), Some(QueueStatus::Destroyed));
    ensure_matches!(
        queue.try_claim().map(|claim| claim.index()),
        Err(QueueError::Stopped(QueueStatus::Destroyed))
    );
    ensure_matches!(
        queue.set_priority(QueuePriority::Low),
        Err(QueueError::Stopped(_))
    );
    world.runtime.poll();
    drop(queue);
    ensure_eq!(
        called.load(Ordering::SeqCst),
        0,
        "what the client asks for is no error"
    );
    Ok(())
}

pub(super) fn destroying_a_queue_abandons_its_packets<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let gate = world.runtime.create_signal(1)?;
    let signals = [
        world.barrier(&queue, &[&gate])?,
        world.barrier(&queue, &[])?,
    ];
    drop(queue);
    gate.store(0, MemoryOrder::Release);
    let other = world.queue()?;
    let done = world.barrier(&other, &[])?;
    world.wait_for(&done, &other)?;
    for signal in &signals {
        ensure_eq!(signal.load(MemoryOrder::Acquire), 1);
    }
    Ok(())
}
