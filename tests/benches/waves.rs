//! The software GPU at work: elements are wave-instructions, so that throughput is wave-instructions per
//! second, on one worker thread and on as many as the host has processors.
//!
//! vector_add: 1 Mi elements in groups of 256. matmul: 256 × 256, tiles of 16 × 16 in LDS.

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::Timeout;
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Buffer, Dispatch, Kernel, Queue, QueueConfig, Runtime, RuntimeConfig};
use rukh_tests::golden::{Target, committed};

const ELEMENTS: u32 = 1 << 20;
const SIZE: u32 = 256;

struct Rig {
    runtime: Arc<Runtime<SimBackend>>,
    queue: Queue<SimBackend>,
    kernel: Kernel<SimBackend>,
    buffers: Vec<Buffer<SimBackend>>,
    last: u32,
    grid: Grid,
}

impl Rig {
    fn new(file: &str, target: Target, workers: usize) -> Self {
        let (bytes, last, grid) = match file {
            "matmul" => (
                SIZE * SIZE * 4,
                SIZE,
                Grid::new([SIZE, SIZE, 1], [16, 16, 1]),
            ),
            _ => (
                ELEMENTS * 4,
                ELEMENTS,
                Grid::new([ELEMENTS, 1, 1], [256, 1, 1]),
            ),
        };
        let config = SimConfig::parse(target.processor()).expect("a profile");
        let config = config.mode(Mode::Threads { workers });
        let backend = Arc::new(SimBackend::new(config).expect("a system"));
        let runtime = Runtime::new(backend, RuntimeConfig::threaded()).expect("a runtime");
        let gpu = runtime.gpu_ids().next().expect("a GPU");
        let pool = runtime
            .find_pool(gpu, PoolFlags::COARSE)
            .expect("a pool")
            .id;
        let fill = vec![0x3f; bytes as usize];
        let buffers = (0..3)
            .map(|_| {
                let buffer = runtime.create_buffer(pool, u64::from(bytes), &[]);
                let buffer = buffer.expect("a buffer");
                buffer.write(0, &fill).expect("it is mapped");
                buffer
            })
            .collect();
        let code = committed::code_object(file, target).expect("it is committed");
        let program = runtime.load_program(gpu, code).expect("it loads");
        Self {
            queue: runtime
                .create_queue(gpu, QueueConfig::default())
                .expect("a queue"),
            kernel: program.kernel(file).expect("a kernel"),
            runtime,
            buffers,
            last,
            grid,
        }
    }

    fn run(&self) {
        let addresses: Vec<_> = self
            .buffers
            .iter()
            .map(|buffer| buffer.address().0.to_le_bytes())
            .collect();
        let last = self.last.to_le_bytes();
        let mut arguments: Vec<_> = addresses.iter().map(|a| Explicit::Bytes(a)).collect();
        arguments.push(Explicit::Bytes(&last));
        let dispatch = Dispatch::new(self.grid);
        self.runtime
            .dispatch(&self.queue, &self.kernel, &dispatch, &arguments)
            .expect("it is sent")
            .wait(Timeout::Never)
            .expect("it completes");
    }

    fn instructions(&self) -> u64 {
        let before = self.runtime.backend().wave_instructions();
        self.run();
        self.runtime.backend().wave_instructions() - before
    }
}

fn waves(c: &mut Criterion) {
    for file in ["vector_add", "matmul"] {
        let mut group = c.benchmark_group(file);
        group.sample_size(20);
        for target in [
            Target::Gfx90a,
            Target::Gfx942,
            Target::Gfx1100,
            Target::Gfx1100Wave64,
        ] {
            let wave = format!("{}_wave{}", target.processor(), target.wave_size());
            for (workers, threads) in [(1, "one_thread"), (0, "all_threads")] {
                let rig = Rig::new(file, target, workers);
                group.throughput(Throughput::Elements(rig.instructions()));
                group.bench_function(BenchmarkId::new(&wave, threads), |b| b.iter(|| rig.run()));
            }
        }
        group.finish();
    }
}

criterion_group!(benches, waves);
criterion_main!(benches);
