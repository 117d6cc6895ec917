//! What computing on the software GPU costs: wave-instructions and lane-operations per second, and how much longer a
//! kernel takes than the same arithmetic compiled natively for one core, measured in one run.
//!
//! `cargo run --release -p rukh-tests --example kernels [repeats [filter]]`
//!
//! Needs clang-19. Native code is `tests/golden/native/native.c`, by `clang -O2` (SSE2) and by `clang -O2 -mavx2 -mfma
//! -mf16c`. Times are the best of the repeats; those of the GPU are what Linux says its one worker has spent on a
//! processor, so that other programs do not count; those of native code are of its thread. A lane-operation is a
//! wave-instruction times the lanes of a wave, active or not, scalar instructions included.
//!
//! The last two columns say how much faster two workers are: by the time that they spend on processors, halved, which
//! leaves out how even the halves are; and by the clock, which means something only where nobody else wants the
//! processors. The load of the machine stands above and below the table.
//!
//! Vector add and stream copy stand there twice: on arrays of 4 MiB, which stay in the caches of large processors, so that
//! native code is as fast as they are; and on arrays of 128 MiB (`_memory`), four times a cache of 32 MiB, as the rules of
//! the STREAM benchmark ask, so that it is as fast as memory.

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::Timeout;
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Dispatch, QueueConfig, Runtime, RuntimeConfig};
use rukh_tests::golden::{Objects, Selection, Target};
use std::error::Error;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

type Failed = Box<dyn Error>;

/// What a buffer starts with.
#[derive(Clone, Copy)]
enum Fill {
    Singles,
    Halves,
    Words,
}

struct Benchmark {
    /// The kernel, in the catalogue and in native.c.
    name: &'static str,
    /// What stands behind its name in the table.
    size: &'static str,
    /// Bytes and contents of each buffer.
    buffers: Vec<(usize, Fill)>,
    /// The count that native code gets; bytes of scalar arguments that follow the buffers.
    count: u32,
    scalars: Vec<[u8; 4]>,
    grid: Grid,
}

fn benchmarks(lanes: u32) -> Vec<Benchmark> {
    let line = |items: u32, group: u16| Grid::new([items, 1, 1], [group, 1, 1]);
    let of = |name, buffers: &[(usize, Fill)], count: u32, grid| Benchmark {
        name,
        size: "",
        buffers: buffers.to_vec(),
        count,
        scalars: vec![count.to_le_bytes()],
        grid,
    };
    use Fill::{Halves, Singles, Words};
    let million = 1 << 20;
    let vector = (4 * million as usize, Singles);
    let square = (256 * 256 * 4, Singles);
    let halves = (256 * 256 * 2, Halves);
    let mut mandelbrot = of(
        "mandelbrot",
        &[(512 * 512 * 4, Words)],
        512,
        Grid::new([512, 512, 1], [64, 4, 1]),
    );
    let f = f32::to_le_bytes;
    let size = 512u32.to_le_bytes();
    mandelbrot.scalars = vec![
        size,
        size,
        f(-2.0),
        f(-1.25),
        f(0.005),
        256u32.to_le_bytes(),
    ];
    let bodies = (2048 * 16, Singles);
    let mut nbody = of("nbody", &[bodies, bodies], 2048, line(2048, 64));
    nbody.scalars.push(f(0.01));
    let streams = |name, arrays: usize| {
        let elements = 32 * million;
        let array = (4 * elements as usize, Singles);
        let mut of = of(name, &vec![array; arrays], elements, line(elements, 256));
        of.size = "_memory";
        of
    };
    vec![
        of("vector_add", &[vector; 3], million, line(million, 256)),
        of("stream_copy", &[vector; 2], million, line(million, 256)),
        streams("vector_add", 3),
        streams("stream_copy", 2),
        of(
            "matmul",
            &[square; 3],
            256,
            Grid::new([256, 256, 1], [16, 16, 1]),
        ),
        of(
            "matmul_f16",
            &[halves, halves, square],
            256,
            line(256 * lanes, 256),
        ),
        mandelbrot,
        of(
            "histogram",
            &[(4 * million as usize, Words), (1024, Words)],
            million,
            line(65536, 256),
        ),
        of(
            "sha256",
            &[(16384 * 64, Words), (16384 * 32, Words)],
            16384,
            line(16384, 64),
        ),
        nbody,
    ]
}

fn contents(bytes: usize, fill: Fill, seed: u32) -> Vec<u8> {
    let numbers = (0u32..).map(|i| i.wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 7);
    match fill {
        Fill::Words => numbers.take(bytes / 4).flat_map(u32::to_le_bytes).collect(),
        Fill::Singles => numbers
            .take(bytes / 4)
            .flat_map(|n| ((n % 1021) as f32 / 64.0).to_le_bytes())
            .collect(),
        // 1.0 and the next larger ones.
        Fill::Halves => numbers
            .take(bytes / 2)
            .flat_map(|n| (0x3c00 + (n % 64) as u16).to_le_bytes())
            .collect(),
    }
}

fn cpu_seconds(schedstat: &Path) -> f64 {
    let text = std::fs::read_to_string(schedstat).unwrap_or_default();
    let spent = text.split_whitespace().next().and_then(|n| n.parse().ok());
    spent.unwrap_or(0u64) as f64 / 1e9
}

/// Seconds that the threads of the software GPU have run.
fn worker_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let of = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        name.starts_with("rukh-sim-")
            .then(|| cpu_seconds(&task.path().join("schedstat")))
    };
    tasks.flatten().filter_map(of).sum()
}

/// Seconds that this thread has run.
fn own_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

struct Native(libloading::Library);

impl Native {
    fn build(flags: &[&str], name: &str) -> Result<Self, Failed> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let library = std::env::temp_dir().join(format!("rukh-{}-{name}.so", std::process::id()));
        let status = Command::new("clang-19")
            .args(["-O2", "-shared", "-fPIC", "-fno-math-errno", "-o"])
            .arg(&library)
            .args(flags)
            .arg(here.join("golden/native/native.c"))
            .arg("-lm")
            .status()?;
        if !status.success() {
            return Err("clang-19 does not build native.c".into());
        }
        // SAFETY: the library is built from our own source and has no constructors.
        let opened = unsafe { libloading::Library::new(&library) };
        std::fs::remove_file(&library)?;
        Ok(Native(opened?))
    }

    /// The best time of a benchmark.
    fn seconds(&self, benchmark: &Benchmark, repeats: u32) -> Result<f64, Failed> {
        let name = format!("native_{}", benchmark.name);
        // SAFETY: all functions of this prefix in native.c have this type.
        let function: libloading::Symbol<'_, unsafe extern "C" fn(*const *mut c_void, u32)> =
            unsafe { self.0.get(name.as_bytes())? };
        let mut buffers: Vec<Vec<u128>> = Vec::new();
        for (seed, &(bytes, fill)) in (3..).step_by(2).zip(&benchmark.buffers) {
            let words = contents(bytes, fill, seed);
            let words = words.chunks_exact(16);
            buffers.push(
                words
                    .map(|word| u128::from_ne_bytes(word.try_into().expect("sixteen bytes")))
                    .collect(),
            );
        }
        let pointers: Vec<*mut c_void> =
            buffers.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
        let mut best = f64::INFINITY;
        for _ in 0..repeats {
            let before = own_seconds();
            // SAFETY: the function reads and writes the buffers, which are as large as it takes them to be for
            // this count: both come from the row of the benchmark.
            unsafe { function(pointers.as_ptr(), benchmark.count) };
            best = best.min(own_seconds() - before);
        }
        Ok(best)
    }
}

/// The best times of a kernel on the GPU, in seconds.
struct Times {
    /// On processors, by all workers.
    spent: f64,
    wall: f64,
    wave_instructions: u64,
}

fn simulated(
    benchmark: &Benchmark,
    target: Target,
    code: &[u8],
    workers: usize,
    repeats: u32,
) -> Result<Times, Failed> {
    let config = SimConfig::parse(target.processor())?.mode(Mode::Threads { workers });
    let backend = Arc::new(SimBackend::new(config)?);
    let runtime = Runtime::new(backend, RuntimeConfig::threaded())?;
    let gpu = runtime.gpu_ids().next().ok_or("there is no GPU")?;
    let pool = runtime
        .find_pool(gpu, PoolFlags::COARSE)
        .ok_or("the GPU has no memory pool")?
        .id;
    let (mut buffers, mut addresses) = (Vec::new(), Vec::new());
    for (seed, &(bytes, fill)) in (3..).step_by(2).zip(&benchmark.buffers) {
        let buffer = runtime.create_buffer(pool, bytes as u64, &[])?;
        buffer.write(0, &contents(bytes, fill, seed))?;
        addresses.push(buffer.address().0.to_le_bytes());
        buffers.push(buffer);
    }
    let program = runtime.load_program(gpu, code)?;
    let kernel = program.kernel(benchmark.name).ok_or("no kernel")?;
    let queue = runtime.create_queue(gpu, QueueConfig::default())?;
    let mut arguments: Vec<_> = addresses.iter().map(|a| Explicit::Bytes(a)).collect();
    arguments.extend(benchmark.scalars.iter().map(|s| Explicit::Bytes(s)));
    let dispatch = Dispatch::new(benchmark.grid);
    let mut times = Times {
        spent: f64::INFINITY,
        wall: f64::INFINITY,
        wave_instructions: 0,
    };
    for _ in 0..repeats {
        let before = runtime.backend().wave_instructions();
        let (begun, clock) = (worker_seconds(), Instant::now());
        let completion = runtime.dispatch(&queue, &kernel, &dispatch, &arguments)?;
        completion.wait(Timeout::Never)?;
        times.wall = times.wall.min(clock.elapsed().as_secs_f64());
        times.spent = times.spent.min(worker_seconds() - begun);
        times.wave_instructions = runtime.backend().wave_instructions() - before;
    }
    Ok(times)
}

/// What Linux says of how many programs wanted a processor, over the last minutes.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

fn main() -> Result<(), Failed> {
    let mut args = std::env::args().skip(1);
    let repeats: u32 = args.next().map_or(Ok(10), |n| n.parse())?;
    let only = args.next().unwrap_or_default();
    let objects = Objects::standard()?;
    let plain = Native::build(&[], "plain")?;
    let vectors = Native::build(&["-mavx2", "-mfma", "-mf16c"], "vectors")?;
    println!("best of {repeats}, load {}", load());
    println!(
        "{:<18} {:<11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "kernel",
        "target",
        "M wave/s",
        "G lane/s",
        "ms",
        "-O2 ms",
        "-mavx2 ms",
        "slowdown",
        "to avx2",
        "two cpu",
        "two wall"
    );
    for target in [Target::Gfx90a, Target::Gfx1100, Target::Gfx1100Wave64] {
        for benchmark in benchmarks(target.wave_size()) {
            let label = format!("{}{} {}", benchmark.name, benchmark.size, target.name());
            if !label.contains(&only) {
                continue;
            }
            let filter = format!(" {} O2 v5", target.name());
            let case = Selection::Matching(filter)
                .cases()
                .into_iter()
                .find(|case| case.kernel.name == benchmark.name && case.target == target)
                .ok_or("the catalogue has no such kernel")?;
            let code = objects.code_object(&case)?;
            let one = simulated(&benchmark, target, &code, 1, repeats)?;
            let native = plain.seconds(&benchmark, repeats)?;
            let wide = vectors.seconds(&benchmark, repeats)?;
            let two = simulated(&benchmark, target, &code, 2, repeats)?;
            let rate = one.wave_instructions as f64 / one.spent;
            println!(
                "{:<18} {:<11} {:>9.1} {:>9.2} {:>9.3} {:>9.3} {:>9.3} {:>8.1}x {:>8.1}x {:>7.2}x {:>7.2}x",
                [benchmark.name, benchmark.size].concat(),
                target.name(),
                rate / 1e6,
                rate * f64::from(target.wave_size()) / 1e9,
                one.spent * 1e3,
                native * 1e3,
                wide * 1e3,
                one.spent / native,
                one.spent / wide,
                2.0 * one.spent / two.spent,
                one.wall / two.wall
            );
        }
    }
    println!("load {}", load());
    Ok(())
}
