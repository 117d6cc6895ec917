//! Signal operations: elements are operations, or wake-ups.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::backend::Timeout;
use rukh_core::runtime::{Runtime, RuntimeConfig, Signal};
use rukh_core::signal::{Condition, MemoryOrder};

fn runtime(config: RuntimeConfig) -> Arc<Runtime<SimBackend>> {
    let system = SimConfig::parse("gfx90a").expect("a profile");
    let backend = Arc::new(SimBackend::new(system).expect("a system"));
    Runtime::new(backend, config).expect("a runtime")
}

fn operations(c: &mut Criterion) {
    let runtime = runtime(RuntimeConfig::threaded());
    let owned = runtime.create_signal(1).expect("a signal");
    let handle = owned.handle();
    let signal = owned.get();
    let mut group = c.benchmark_group("signal");
    group.throughput(Throughput::Elements(1));
    group.bench_function("find_by_handle", |b| {
        b.iter(|| runtime.signal(black_box(handle)).is_ok());
    });
    group.bench_function("load_acquire", |b| {
        b.iter(|| signal.load(MemoryOrder::Acquire))
    });
    group.bench_function("store_release_nobody_waits", |b| {
        b.iter(|| signal.store(black_box(1), MemoryOrder::Release));
    });
    group.bench_function("add_acq_rel_nobody_waits", |b| {
        b.iter(|| signal.add(black_box(1), MemoryOrder::AcqRel));
    });
    group.bench_function("wait_already_met", |b| {
        b.iter(|| owned.wait(Condition::Gte, black_box(i64::MIN), Timeout::Never));
    });
    group.bench_function("create_and_destroy", |b| {
        b.iter(|| runtime.create_signal(1))
    });
    group.finish();
}

/// Two threads wake each other in turns; a turn is two wake-ups.
fn ping_pong(rounds: u64, ping: &Signal<SimBackend>, pong: &Signal<SimBackend>) {
    let play = |mine: &Signal<SimBackend>, other: &Signal<SimBackend>, first: bool| {
        for round in 1..=rounds as i64 {
            if first {
                other.store(round, MemoryOrder::Release);
            }
            let seen = mine.wait(Condition::Gte, round, Timeout::Never);
            assert!(seen.is_ok_and(|seen| seen.is_met()));
            if !first {
                other.store(round, MemoryOrder::Release);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| play(pong, ping, false));
        play(ping, pong, true);
    });
}

fn wakes(c: &mut Criterion) {
    let mut group = c.benchmark_group("wake");
    group.throughput(Throughput::Elements(2));
    let sleeping = RuntimeConfig {
        spin_ns: 0,
        ..RuntimeConfig::threaded()
    };
    for (name, config) in [
        ("waiter_that_sleeps", sleeping),
        ("waiter_that_looks_first", RuntimeConfig::threaded()),
    ] {
        let runtime = runtime(config);
        group.bench_function(name, |b| {
            b.iter_custom(|rounds| {
                let [ping, pong] = [(); 2].map(|()| runtime.create_signal(0).expect("a signal"));
                let begun = Instant::now();
                ping_pong(rounds, &ping, &pong);
                begun.elapsed()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, operations, wakes);
criterion_main!(benches);
