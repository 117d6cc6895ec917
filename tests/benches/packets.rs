//! What it costs to publish a packet: claim a slot, write the packet, publish it, ring the doorbell.
//! Elements are packets.
//!
//! `ring/…` is the ring alone, over plain memory, with a doorbell that consumes at once: the producer's
//! own cost. `device/…` goes through a queue of the software GPU, which consumes the packets.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::Timeout;
use rukh_core::queue::{Bell, MappedRing, Ring, RingMemory, SingleProducer};
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};
use rukh_core::signal::Condition;
use rukh_core::wire::aql::{
    BarrierPacket, FenceScope, Header, KernelDispatchPacket, PACKET_SIZE, PacketType,
};
use rukh_core::wire::queue::AmdQueue;

const PACKETS: u32 = 4096;

/// Takes every packet as consumed that it is told of.
struct Consume(NonNull<AmdQueue>);

// SAFETY: the pointer is only used for an atomic of memory that is never freed.
unsafe impl Send for Consume {}
// SAFETY: as above.
unsafe impl Sync for Consume {}

impl Bell for Consume {
    fn ring(&self, index: u64) {
        // SAFETY: `ring` keeps the structure for ever; the field is an atomic.
        let read = unsafe { &(*self.0.as_ptr()).read_dispatch_id };
        read.store(index + 1, Ordering::Release);
    }
}

/// Zeroed memory that is never freed.
fn leak<T>(layout: Layout) -> NonNull<T> {
    // SAFETY: the layouts of this file are not empty.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

fn ring() -> Ring<MappedRing<Consume>> {
    let queue: NonNull<AmdQueue> = leak(Layout::new::<AmdQueue>());
    let bytes = PACKETS as usize * PACKET_SIZE;
    let packets = leak(Layout::from_size_align(bytes, 4096).expect("a layout"));
    // SAFETY: both are mapped for ever and large enough; the count is a power of two.
    Ring::new(unsafe { MappedRing::new(packets, PACKETS, queue, Consume(queue)) })
}

fn packet() -> KernelDispatchPacket {
    KernelDispatchPacket {
        header: Header::new(PacketType::KernelDispatch)
            .barrier(true)
            .acquire(FenceScope::System)
            .release(FenceScope::System),
        setup: 1,
        workgroup_size: [256, 1, 1],
        grid_size: [1 << 20, 1, 1],
        kernel_object: 0x1000,
        kernarg_address: 0x2000,
        completion_signal: 0x3000,
        ..KernelDispatchPacket::default()
    }
}

fn publish<M: RingMemory>(ring: &Ring<M>, packet: &KernelDispatchPacket) {
    loop {
        if let Ok(claim) = ring.try_claim() {
            return claim.publish_packet(packet);
        }
        std::hint::spin_loop();
    }
}

fn rings(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring");
    group.throughput(Throughput::Elements(1));
    let packet = packet();
    let multi = ring();
    group.bench_function("multi_producer_queue_1_thread", |b| {
        b.iter(|| publish(&multi, black_box(&packet)));
    });
    let single = ring();
    let mut producer = SingleProducer::assume(&single);
    group.bench_function("single_producer_queue_1_thread", |b| {
        b.iter(|| {
            let claim = producer.try_claim().expect("the doorbell consumes");
            claim.publish_packet(black_box(&packet));
        });
    });
    group.bench_function("batches_of_16_1_thread", |b| {
        b.iter_custom(|count| {
            let begun = Instant::now();
            for _ in 0..count.div_ceil(16) {
                let mut batch = multi.try_claim_batch(16).expect("the doorbell consumes");
                while batch.push(black_box(&packet)) {}
            }
            begun.elapsed()
        });
    });
    for threads in [2, 4] {
        group.bench_function(format!("multi_producer_queue_{threads}_threads"), |b| {
            b.iter_custom(|count| {
                let each = count.div_ceil(threads);
                let begun = Instant::now();
                thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| (0..each).for_each(|_| publish(&multi, &packet)));
                    }
                });
                begun.elapsed()
            });
        });
    }
    group.finish();
}

fn device(c: &mut Criterion) {
    let config = SimConfig::parse("gfx90a").expect("a profile");
    let config = config.mode(Mode::Threads { workers: 1 });
    let backend = Arc::new(SimBackend::new(config).expect("a system"));
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).expect("a runtime");
    let gpu = runtime.gpu_ids().next().expect("a GPU");
    let config = QueueConfig {
        size: PACKETS,
        ..QueueConfig::default()
    };
    let queue = runtime.create_queue(gpu, config).expect("a queue");
    let signal = runtime.create_signal(0).expect("a signal");
    let barrier = BarrierPacket {
        header: Header::new(PacketType::BarrierAnd),
        completion_signal: signal.handle().0,
        ..BarrierPacket::default()
    };
    let mut group = c.benchmark_group("device");
    group.throughput(Throughput::Elements(1));
    group.bench_function("barrier_packets_published_and_complete", |b| {
        b.iter_custom(|count| {
            signal.store(count as i64, Default::default());
            let begun = Instant::now();
            for _ in 0..count {
                let claim = queue.claim(Timeout::Never).expect("a slot");
                claim.publish_packet(&barrier);
            }
            let done = signal.wait(Condition::Lt, 1, Timeout::Never);
            assert!(done.is_ok_and(|done| done.is_met()));
            begun.elapsed()
        });
    });
    group.bench_function("one_barrier_packet_there_and_back", |b| {
        b.iter(|| {
            signal.store(1, Default::default());
            let claim = queue.claim(Timeout::Never).expect("a slot");
            claim.publish_packet(&barrier);
            signal.wait(Condition::Lt, 1, Timeout::Never)
        });
    });
    group.finish();
}

criterion_group!(benches, rings, device);
criterion_main!(benches);
