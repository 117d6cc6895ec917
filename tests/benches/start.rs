//! How long a runtime over one simulated GPU takes to start, and how much memory the process has then:
//! printed, since memory cannot be measured twice in one process. Bounds: 10 ms, 30 MB.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    pages.unwrap_or(0u64) * 4096
}

fn start() -> (Duration, Duration, Arc<Runtime<SimBackend>>) {
    let begun = Instant::now();
    let config = SimConfig::parse("gfx90a").expect("a profile");
    let backend = Arc::new(SimBackend::new(config).expect("a system"));
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).expect("a runtime");
    let started = begun.elapsed();
    let gpu = runtime.gpu_ids().next().expect("a GPU");
    let queue = runtime.create_queue(gpu, QueueConfig::default());
    drop(queue.expect("a queue"));
    (started, begun.elapsed(), runtime)
}

fn main() {
    let before = resident();
    let (runtime_up, queue_up, runtime) = start();
    let after = resident();
    drop(runtime);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "start/cold: runtime {:.2} ms, with its first queue {:.2} ms; resident {:.1} MB, {:.1} MB before",
        ms(runtime_up),
        ms(queue_up),
        mb(after),
        mb(before)
    );
    let mut times: Vec<_> = (0..50).map(|_| start().0).collect();
    times.sort_unstable();
    println!(
        "start/warm: runtime {:.2} ms in the middle of 50, {:.2} ms at most",
        ms(times[25]),
        ms(times[49])
    );
}
