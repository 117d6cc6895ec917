//! Wave-instructions per second of worker time, on this host: what the interpreter costs, whoever else runs.
//!
//! `cargo run --release -p rukh-backend-sim --example throughput [repeats [workers [kernel]]]`
//!
//! Time is what Linux says the workers' threads have spent on a processor, best of the repeats; wall time
//! stands beside it.

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::Timeout;
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Dispatch, QueueConfig, Runtime, RuntimeConfig};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

struct Case {
    kernel: &'static str,
    profile: &'static str,
    lanes: u32,
    code_object: &'static [u8],
}

macro_rules! cases {
    ($($kernel:literal $profile:literal $lanes:literal $suffix:literal;)*) => {
        [$(Case {
            kernel: $kernel,
            profile: $profile,
            lanes: $lanes,
            code_object: include_bytes!(concat!(
                "../../tests/golden/objects/", $kernel, "-", $profile, $suffix, "-O2-v5.co"
            )),
        }),*]
    };
}

const CASES: [Case; 6] = cases! {
    "matmul" "gfx90a" 64 "";
    "matmul" "gfx1100" 32 "";
    "matmul" "gfx1100" 64 "w64";
    "vector_add" "gfx90a" 64 "";
    "vector_add" "gfx1100" 32 "";
    "vector_add" "gfx1100" 64 "w64";
};

const SIZE: u32 = 256;
const ELEMENTS: u32 = 1 << 20;

/// Nanoseconds that the threads of workers have run, as `/proc` tells.
fn worker_time() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let of = |task: std::fs::DirEntry| {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").starts_with("rukh-sim-") {
            let stat = read("schedstat");
            stat.split_whitespace().next()?.parse::<u64>().ok()
        } else {
            None
        }
    };
    tasks.flatten().filter_map(of).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let repeats: u32 = args.next().map_or(Ok(20), |n| n.parse())?;
    let workers: usize = args.next().map_or(Ok(1), |n| n.parse())?;
    let only = args.next().unwrap_or_default();
    for case in &CASES {
        let name = format!("{}-{}-{}", case.kernel, case.profile, case.lanes);
        if name.contains(&only) {
            println!("{name}: {}", run(case, repeats, workers)?);
        }
    }
    Ok(())
}

fn run(case: &Case, repeats: u32, workers: usize) -> Result<String, Box<dyn Error>> {
    let config = SimConfig::parse(case.profile)?.mode(Mode::Threads { workers });
    let runtime = Runtime::new(
        Arc::new(SimBackend::new(config)?),
        RuntimeConfig::threaded(),
    )?;
    let gpu = runtime.gpu_ids().next().ok_or("there is no GPU")?;
    let pool = runtime
        .find_pool(gpu, PoolFlags::COARSE)
        .ok_or("the GPU has no memory pool")?
        .id;
    let (elements, count, grid) = match case.kernel {
        "matmul" => (SIZE * SIZE, SIZE, Grid::new([SIZE, SIZE, 1], [16, 16, 1])),
        _ => (ELEMENTS, ELEMENTS, Grid::new([ELEMENTS, 1, 1], [256, 1, 1])),
    };
    let mut addresses = Vec::new();
    let mut buffers = Vec::new();
    for seed in [3u32, 5, 7] {
        let values = (0..elements).map(|i| (i.wrapping_mul(seed) % 1021) as f32);
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        let buffer = runtime.create_buffer(pool, u64::from(elements) * 4, &[])?;
        buffer.write(0, &bytes)?;
        addresses.push(buffer.address().0.to_le_bytes());
        buffers.push(buffer);
    }
    let program = runtime.load_program(gpu, case.code_object)?;
    let kernel = program.kernel(case.kernel).ok_or("no kernel")?;
    let queue = runtime.create_queue(gpu, QueueConfig::default())?;
    let count = count.to_le_bytes();
    let mut arguments: Vec<_> = addresses.iter().map(|a| Explicit::Bytes(a)).collect();
    arguments.push(Explicit::Bytes(&count));
    let dispatch = Dispatch::new(grid);

    let (mut worked, mut wall, mut instructions) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..repeats {
        let before = runtime.backend().wave_instructions();
        let (time, begun) = (worker_time(), Instant::now());
        let completion = runtime.dispatch(&queue, &kernel, &dispatch, &arguments)?;
        completion.wait(Timeout::Never)?;
        wall = wall.min(begun.elapsed().as_secs_f64());
        worked = worked.min((worker_time() - time) as f64 / 1e9);
        instructions = runtime.backend().wave_instructions() - before;
    }
    let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
    Ok(format!(
        "{instructions} wave-instructions, {:.1} M/s of worker time, {:.1} M/s of wall time",
        rate(worked),
        rate(wall)
    ))
}
