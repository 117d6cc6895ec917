//! How long a runtime takes to start, and how much memory the process has then: printed, since memory cannot be
//! measured twice in one process. Bounds: over one simulated GPU 10 ms and 30 MB; over the KFD face 5 ms with one GPU,
//! 20 ms with eight.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::backend::Backend;
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    pages.unwrap_or(0u64) * 4096
}

fn start<B: Backend + 'static>(make: impl FnOnce() -> B) -> (Duration, Duration, Arc<Runtime<B>>) {
    let begun = Instant::now();
    let backend = Arc::new(make());
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).expect("a runtime");
    let started = begun.elapsed();
    let gpu = runtime.gpu_ids().next().expect("a GPU");
    let queue = runtime.create_queue(gpu, QueueConfig::default());
    drop(queue.expect("a queue"));
    (started, begun.elapsed(), runtime)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn sim() -> SimBackend {
    let config = SimConfig::parse("gfx90a").expect("a profile");
    SimBackend::new(config).expect("a system")
}

/// The time to the runtime, the middle and the longest of many; the machine behind the port is there before.
fn report<B: Backend + 'static, M>(name: &str, prepare: impl Fn() -> M, make: impl Fn(M) -> B) {
    let mut times: Vec<_> = (0..50)
        .map(|_| {
            let machine = prepare();
            start(|| make(machine)).0
        })
        .collect();
    times.sort_unstable();
    println!(
        "{name}: runtime {:.2} ms in the middle of 50, {:.2} ms at most",
        ms(times[25]),
        ms(times[49])
    );
}

fn main() {
    let before = resident();
    let (runtime_up, queue_up, runtime) = start(sim);
    let after = resident();
    drop(runtime);
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "start/cold: runtime {:.2} ms, with its first queue {:.2} ms; resident {:.1} MB, {:.1} MB before",
        ms(runtime_up),
        ms(queue_up),
        mb(after),
        mb(before)
    );
    report("start/warm", || (), |()| sim());
    let eight = ["gfx90a"; 8].join(",");
    for (name, gpus) in [("start/kfd/1", "gfx90a"), ("start/kfd/8", eight.as_str())] {
        let face = || KfdFace::parse(gpus).expect("a machine");
        report(name, face, |face| {
            KfdBackend::open(face).expect("the face opens")
        });
    }
}
