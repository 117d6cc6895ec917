//! Kernels, and the packets around them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rukh_core::backend::{Backend, Clock};
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::runtime::{Buffer, Dispatch, Queue};
use rukh_core::signal::{Condition, MemoryOrder};
use rukh_core::wire::aql::{AmdFormat, BarrierValuePacket, Header, PacketType};

use super::failure::{ensure, ensure_eq};
use super::memory::in_threads;
use super::{Factory, Outcome, Prepared, VectorAdd, World};

/// Long enough for a device that does what it should not; short enough to wait for.
const A_WHILE: Duration = Duration::from_millis(3);

/// A word of memory that a kernel may use at the same time.
fn word<B: Backend + 'static>(buffer: &Buffer<B>, index: u64) -> &AtomicU32 {
    assert!((index + 1) * 4 <= buffer.size());
    let address = buffer.address().offset(index * 4);
    // SAFETY: the word lies in the buffer, which is borrowed as long as the answer and mapped to the host
    // (shared memory of `World::shared`); everybody else who may use it meanwhile does so atomically.
    unsafe { AtomicU32::from_ptr(address.as_ptr().cast()) }
}

/// Lets the device work until the condition holds, or for a while.
fn until<B: Backend + 'static>(
    world: &World<B>,
    patience: Duration,
    met: impl Fn() -> bool,
) -> bool {
    let backend = world.runtime.backend();
    let end = backend.now() + patience.min(world.patience).as_nanos() as u64;
    while !met() {
        if backend.now() >= end {
            return false;
        }
        backend.relax();
        world.runtime.poll();
    }
    true
}

/// A kernel of many groups that waits for the host: until `flag` is 7, then stores it to `seen`.
struct Spin<B: Backend + 'static> {
    work: Prepared<B>,
    flag: Buffer<B>,
    seen: Buffer<B>,
    items: u32,
}

impl<B: Backend + 'static> Spin<B> {
    fn start(world: &World<B>, queue: &Queue<B>, items: u32) -> Outcome<Self> {
        let kernel = world.kernel(queue.agent(), "spin", "spin_until")?;
        let flag = world.shared(4)?;
        let seen = world.shared(u64::from(items) * 4)?;
        let arguments: [&[u8]; 3] = [
            &flag.address().0.to_le_bytes(),
            &7u32.to_le_bytes(),
            &seen.address().0.to_le_bytes(),
        ];
        let shape = ([items, 1, 1], [64, 1, 1]);
        let work = world.prepare(queue, &kernel, shape, &arguments)?;
        work.send(world, queue)?;
        Ok(Self {
            work,
            flag,
            seen,
            items,
        })
    }

    fn finish(&self, world: &World<B>, queue: &Queue<B>) -> Outcome {
        word(&self.flag, 0).store(7, Ordering::Release);
        self.work.wait(world, queue)?;
        for i in 0..self.items {
            let seen = word(&self.seen, i.into()).load(Ordering::Acquire);
            ensure_eq!(seen, 7, "item {i}");
        }
        Ok(())
    }
}

pub(super) fn vector_addition_is_right_for_grids_of_all_sizes<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for (count, group) in [
        (1, 1),
        (1, 1024),
        (63, 64),
        (64, 64),
        (65, 64),
        (1000, 256),
        (4099, 1024),
        (333, 100),
        (100, 7),
    ] {
        VectorAdd::new(&world, &queue, count, group)?.run(&world, &queue)?;
    }
    Ok(())
}

pub(super) fn hidden_arguments_tell_the_group_size<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "vector_add", "vector_add")?;
    let [a, b, c] = [(); 3].map(|()| world.device(world.gpu, 4000));
    let (a, b, c) = (a?, b?, c?);
    a.write(0, &[1.5f32.to_le_bytes(); 1000].concat())?;
    b.write(0, &[2.0f32.to_le_bytes(); 1000].concat())?;
    let addresses = [&a, &b, &c].map(|buffer| buffer.address().0.to_le_bytes());
    let count = 1000u32.to_le_bytes();
    let arguments = [
        Explicit::Bytes(&addresses[0]),
        Explicit::Bytes(&addresses[1]),
        Explicit::Bytes(&addresses[2]),
        Explicit::Bytes(&count),
    ];
    // By core's helper, which fills them in.
    let dispatch = Dispatch::new(Grid::new([1000, 1, 1], [96, 1, 1]));
    let done = world
        .runtime
        .dispatch(&queue, &kernel, &dispatch, &arguments)?;
    done.wait(world.deadline())?;
    let mut out = vec![0; 4000];
    c.read(0, &mut out)?;
    ensure!(out.chunks(4).all(|word| word == 3.5f32.to_le_bytes()));
    Ok(())
}

pub(super) fn two_dimensional_grids_multiply_matrices<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let size = 48u32;
    let kernel = world.kernel(world.gpu, "matmul", "matmul")?;
    let bytes = u64::from(size * size) * 4;
    let [a, b, c] = [(); 3].map(|()| world.device(world.gpu, bytes));
    let (a, b, c) = (a?, b?, c?);
    // Small integers: sums are exact in any order.
    let left = |row: u32, k: u32| ((row * 3 + k * 5) % 11) as f32 - 5.0;
    let right = |k: u32, column: u32| ((k * 7 + column) % 13) as f32 - 6.0;
    let fill = |term: &dyn Fn(u32, u32) -> f32| -> Vec<u8> {
        (0..size * size)
            .flat_map(|i| term(i / size, i % size).to_le_bytes())
            .collect()
    };
    a.write(0, &fill(&left))?;
    b.write(0, &fill(&right))?;
    let addresses = [&a, &b, &c].map(|buffer| buffer.address().0.to_le_bytes());
    let arguments: [&[u8]; 4] = [
        &addresses[0],
        &addresses[1],
        &addresses[2],
        &size.to_le_bytes(),
    ];
    let shape = ([size, size, 1], [16, 16, 1]);
    let work = world.prepare(&queue, &kernel, shape, &arguments)?;
    work.send(&world, &queue)?;
    work.wait(&world, &queue)?;
    let mut out = vec![0; bytes as usize];
    c.read(0, &mut out)?;
    let product = |row, column| {
        (0..size)
            .map(|k| left(row, k) * right(k, column))
            .sum::<f32>()
    };
    ensure!(out == fill(&product));
    Ok(())
}

pub(super) fn group_memory_and_barriers_sum<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "reduction", "reduction")?;
    let (count, groups) = (1000u32, 4);
    let input = world.device(world.gpu, u64::from(count) * 4)?;
    let output = world.device(world.gpu, groups * 4)?;
    let bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
    input.write(0, &bytes)?;
    let arguments: [&[u8]; 3] = [
        &input.address().0.to_le_bytes(),
        &output.address().0.to_le_bytes(),
        &count.to_le_bytes(),
    ];
    let shape = ([1024, 1, 1], [256, 1, 1]);
    let work = world.prepare(&queue, &kernel, shape, &arguments)?;
    work.send(&world, &queue)?;
    work.wait(&world, &queue)?;
    let mut out = [0; 16];
    output.read(0, &mut out)?;
    for (group, sum) in (0..).zip(out.as_chunks::<4>().0) {
        let expected: u32 = (group * 256..(group * 256 + 256).min(count)).sum();
        ensure_eq!(f32::from_le_bytes(*sum), expected as f32, "group {group}");
    }
    Ok(())
}

pub(super) fn a_completion_signal_falls_by_one<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let sum = VectorAdd::new(&world, &queue, 100, 64)?;
    for start in [1, 5, 0, -3] {
        sum.work.signal.store(start, MemoryOrder::Release);
        sum.work.send(&world, &queue)?;
        let wait = sum
            .work
            .signal
            .wait(Condition::Ne, start, world.deadline())?;
        ensure_eq!(wait.value(), start - 1);
        // Nothing follows.
        let done = world.barrier(&queue, &[])?;
        world.wait_for(&done, &queue)?;
        ensure_eq!(sum.work.value(), start - 1);
    }
    sum.check()
}

pub(super) fn a_packet_needs_no_completion_signal<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let mut sum = VectorAdd::new(&world, &queue, 500, 64)?;
    sum.work.packet.completion_signal = 0;
    sum.work.send(&world, &queue)?;
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)?;
    ensure_eq!(sum.work.value(), 1);
    sum.check()
}

pub(super) fn the_barrier_bit_orders_packets<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let spin = Spin::start(&world, &queue, 64)?;
    let mut sum = VectorAdd::new(&world, &queue, 200, 64)?;
    sum.work.packet.header = sum.work.packet.header.barrier(true);
    sum.work.send(&world, &queue)?;
    ensure!(!until(&world, A_WHILE, || sum.work.value() == 0));
    sum.check_untouched()?;
    spin.finish(&world, &queue)?;
    sum.work.wait(&world, &queue)?;
    sum.check()
}

pub(super) fn a_barrier_and_waits_for_all<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let gates = (0..5)
        .map(|_| world.runtime.create_signal(1))
        .collect::<Result<Vec<_>, _>>()?;
    let done = world.barrier(&queue, &gates.iter().collect::<Vec<_>>())?;
    for gate in &gates {
        ensure!(!until(&world, A_WHILE, || done.load(MemoryOrder::Acquire) == 0));
        gate.store(0, MemoryOrder::Release);
    }
    world.wait_for(&done, &queue)
}

pub(super) fn a_barrier_or_waits_for_one<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let gates = (0..3)
        .map(|_| world.runtime.create_signal(1))
        .collect::<Result<Vec<_>, _>>()?;
    let all: Vec<_> = gates.iter().collect();
    let done = world.barrier_packet(&queue, PacketType::BarrierOr, &all)?;
    ensure!(!until(&world, A_WHILE, || done.load(MemoryOrder::Acquire) == 0));
    gates[1].store(0, MemoryOrder::Release);
    world.wait_for(&done, &queue)
}

pub(super) fn a_barrier_value_waits_for_its_condition<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for (condition, value, before, after) in [
        (Condition::Eq, 5, 4, 5),
        (Condition::Ne, 5, 5, 4),
        (Condition::Lt, -1, -1, -2),
        (Condition::Gte, 3, 2, 3),
    ] {
        let signal = world.runtime.create_signal(before)?;
        let done = world.runtime.create_signal(1)?;
        let mut packet = BarrierValuePacket {
            header: Header::new(PacketType::VendorSpecific).barrier(true),
            amd_format: AmdFormat::BarrierValue.bits(),
            signal: signal.handle().0,
            value,
            mask: -1,
            condition: condition as u32,
            completion_signal: done.handle().0,
            ..BarrierValuePacket::default()
        };
        queue.claim(world.deadline())?.publish_packet(&packet);
        ensure!(!until(&world, A_WHILE, || done.load(MemoryOrder::Acquire) == 0));
        signal.store(after, MemoryOrder::Release);
        world.wait_for(&done, &queue)?;
        // Only the bits of the mask count.
        packet.value = 0b100;
        packet.mask = 0b110;
        packet.condition = Condition::Eq as u32;
        signal.store(0b1101, MemoryOrder::Release);
        done.store(1, MemoryOrder::Release);
        queue.claim(world.deadline())?.publish_packet(&packet);
        world.wait_for(&done, &queue)?;
    }
    Ok(())
}

pub(super) fn empty_dependencies_are_met<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let met = world.runtime.create_signal(0)?;
    for kind in [PacketType::BarrierAnd, PacketType::BarrierOr] {
        for dependencies in [&[][..], &[&met]] {
            let done = world.barrier_packet(&queue, kind, dependencies)?;
            world.wait_for(&done, &queue)?;
        }
    }
    Ok(())
}

pub(super) fn queues_wait_for_each_other<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queues = [world.queue()?, world.queue()?];
    let spin = Spin::start(&world, &queues[0], 64)?;
    let gate = world.barrier(&queues[1], &[&spin.work.signal])?;
    let mut sum = VectorAdd::new(&world, &queues[1], 200, 64)?;
    sum.work.packet.header = sum.work.packet.header.barrier(true);
    sum.work.send(&world, &queues[1])?;
    ensure!(!until(&world, A_WHILE, || sum.work.value() == 0));
    spin.finish(&world, &queues[0])?;
    sum.work.wait(&world, &queues[1])?;
    ensure_eq!(gate.load(MemoryOrder::Acquire), 0);
    sum.check()
}

pub(super) fn gpus_wait_for_each_other<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let gpus: Vec<_> = world.gpus().map(|agent| agent.id).collect();
    let queues = gpus
        .iter()
        .map(|&gpu| world.queue_of(gpu, 64))
        .collect::<Outcome<Vec<_>>>()?;
    // A ring of dependencies through all GPUs: each waits for the one before.
    let start = world.runtime.create_signal(1)?;
    let mut before = &start;
    let mut gates = Vec::new();
    let mut sums: Vec<VectorAdd<_>> = Vec::new();
    for queue in &queues {
        let mut sum = VectorAdd::new(&world, queue, 100, 64)?;
        sum.work.packet.header = sum.work.packet.header.barrier(true);
        sums.push(sum);
    }
    for (queue, sum) in queues.iter().zip(&sums) {
        gates.push(world.barrier(queue, &[before])?);
        sum.work.send(&world, queue)?;
        before = &sum.work.signal;
    }
    ensure!(!until(&world, A_WHILE, || sums
        .iter()
        .any(|sum| sum.work.value() == 0)));
    start.store(0, MemoryOrder::Release);
    for (queue, sum) in queues.iter().zip(&sums) {
        sum.work.wait(&world, queue)?;
        sum.check()?;
    }
    Ok(())
}

pub(super) fn profiling_stamps_packets_in_order<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let clock = || world.runtime.backend().counters(world.gpu).device;
    let quiet = VectorAdd::new(&world, &queue, 100, 64)?;
    quiet.run(&world, &queue)?;
    ensure_eq!(quiet.work.signal.get().timestamps(), (0, 0));
    queue.set_profiling(true);
    let mut last = clock();
    for _ in 0..5 {
        let mut sum = VectorAdd::new(&world, &queue, 1000, 64)?;
        sum.work.packet.header = sum.work.packet.header.barrier(true);
        sum.run(&world, &queue)?;
        let (start, end) = sum.work.signal.get().timestamps();
        ensure!(last <= start && start <= end, "{last} {start} {end}");
        last = end;
        let done = world.barrier(&queue, &[])?;
        world.wait_for(&done, &queue)?;
        let (start, end) = done.get().timestamps();
        ensure!(last <= start && start <= end, "{last} {start} {end}");
        last = end;
    }
    ensure!(last <= clock());
    Ok(())
}

pub(super) fn scratch_grows_with_demand<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    for bytes in [4, 64, 4096, 20_000, 16, 0, 40_000] {
        let mut sum = VectorAdd::new(&world, &queue, 2000, 128)?;
        sum.work.packet.private_segment_size = bytes;
        sum.run(&world, &queue)?;
    }
    // Several at a time, of different sizes.
    let sums = (0..6)
        .map(|i| {
            let mut sum = VectorAdd::new(&world, &queue, 1000, 64)?;
            sum.work.packet.private_segment_size = 1000 * (i % 3 + 1);
            sum.work.send(&world, &queue)?;
            Ok(sum)
        })
        .collect::<Outcome<Vec<_>>>()?;
    for sum in &sums {
        sum.work.wait(&world, &queue)?;
        sum.check()?;
    }
    Ok(())
}

pub(super) fn a_running_kernel_sees_what_the_host_stores<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let spin = Spin::start(&world, &queue, 200)?;
    ensure!(!until(&world, A_WHILE, || spin.work.value() == 0));
    spin.finish(&world, &queue)
}

pub(super) fn a_spinning_kernel_does_not_keep_others_from_running<F: Factory>(
    factory: &F,
) -> Outcome {
    let world = World::start(factory)?;
    let queues = [world.queue()?, world.queue()?];
    // Far more work-groups than a host has processors.
    let spin = Spin::start(&world, &queues[0], 64 * 64)?;
    for _ in 0..3 {
        VectorAdd::new(&world, &queues[1], 3000, 64)?.run(&world, &queues[1])?;
    }
    ensure_eq!(spin.work.value(), 1);
    spin.finish(&world, &queues[0])
}

pub(super) fn a_grid_without_end_does_not_keep_others_from_running<F: Factory>(
    factory: &F,
) -> Outcome {
    let world = World::start(factory)?;
    let queues = [world.queue()?, world.queue()?];
    // Its work-groups do end, one after another, but there are more than any device finishes.
    let mut endless = VectorAdd::new(&world, &queues[0], 200, 64)?;
    endless.work.packet.workgroup_size = [1, 1, 1];
    endless.work.packet.grid_size = [u32::MAX, 1, 1];
    endless.work.send(&world, &queues[0])?;
    for _ in 0..3 {
        VectorAdd::new(&world, &queues[1], 3000, 64)?.run(&world, &queues[1])?;
    }
    ensure_eq!(endless.work.value(), 1);
    Ok(())
}

pub(super) fn groups_that_wait_for_each_other_finish<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "spin", "spin_turns")?;
    let groups = 100u32;
    let turn = world.shared(4)?;
    let order = world.shared(u64::from(groups) * 4)?;
    let arguments: [&[u8]; 2] = [
        &turn.address().0.to_le_bytes(),
        &order.address().0.to_le_bytes(),
    ];
    let shape = ([groups * 64, 1, 1], [64, 1, 1]);
    let work = world.prepare(&queue, &kernel, shape, &arguments)?;
    work.send(&world, &queue)?;
    work.wait(&world, &queue)?;
    ensure_eq!(word(&turn, 0).load(Ordering::Acquire), groups);
    for group in 0..groups {
        ensure_eq!(word(&order, group.into()).load(Ordering::Acquire), group);
    }
    Ok(())
}

pub(super) fn destroying_a_queue_ends_a_kernel_that_never_does<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "spin", "spin_forever")?;
    let started = world.shared(4)?;
    let arguments: [&[u8]; 1] = [&started.address().0.to_le_bytes()];
    let shape = ([640, 1, 1], [64, 1, 1]);
    let work = world.prepare(&queue, &kernel, shape, &arguments)?;
    work.send(&world, &queue)?;
    let patience = Duration::from_secs(20);
    ensure!(until(&world, patience, || {
        word(&started, 0).load(Ordering::Acquire) == 1
    }));
    drop(queue);
    ensure_eq!(work.value(), 1);
    // Nothing of it runs any more.
    word(&started, 0).store(0, Ordering::Release);
    let other = world.queue()?;
    VectorAdd::new(&world, &other, 1000, 64)?.run(&world, &other)?;
    ensure_eq!(word(&started, 0).load(Ordering::Acquire), 0);
    Ok(())
}

pub(super) fn many_threads_dispatch_on_one_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    in_threads(4, |thread| {
        for round in 0..5 {
            let count = 50 + 100 * thread as u32 + round;
            VectorAdd::new(&world, &queue, count, 64)?.run(&world, &queue)?;
        }
        Ok(())
    })
}

pub(super) fn every_gpu_runs_kernels<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let gpus: Vec<_> = world.gpus().map(|agent| agent.id).collect();
    for gpu in gpus {
        let queue = world.queue_of(gpu, 128)?;
        VectorAdd::new(&world, &queue, 2000, 256)?.run(&world, &queue)?;
    }
    Ok(())
}
