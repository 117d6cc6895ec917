//! Adds two vectors of a million elements on simulated GPUs and checks every element.
//!
//! `cargo run --release -p rukh-backend-sim --example vector_add`

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentKind, Timeout};
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Dispatch, QueueConfig, Runtime, RuntimeConfig};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const ELEMENTS: u32 = 1_000_000;
const GROUP: u16 = 256;

/// A run: profile, wave size, and the kernel compiled for it from `tests/golden/src/vector_add.cl`.
const RUNS: [(&str, u32, &[u8]); 3] = [
    (
        "gfx90a",
        64,
        include_bytes!("../../tests/golden/objects/vector_add-gfx90a-O2-v5.co"),
    ),
    (
        "gfx1100",
        32,
        include_bytes!("../../tests/golden/objects/vector_add-gfx1100-O2-v5.co"),
    ),
    (
        "gfx1100",
        64,
        include_bytes!("../../tests/golden/objects/vector_add-gfx1100w64-O2-v5.co"),
    ),
];

fn main() -> ExitCode {
    let mut passed = 0;
    for (profile, lanes, code_object) in RUNS {
        match run(profile, code_object) {
            Ok(figures) => {
                passed += 1;
                println!("{profile} wave{lanes}: PASS  {figures}");
            }
            Err(error) => println!("{profile} wave{lanes}: FAIL  {error}"),
        }
    }
    if passed == RUNS.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(profile: &str, code_object: &[u8]) -> Result<String, Box<dyn Error>> {
    let started = Instant::now();
    let config = SimConfig::parse(profile)?.mode(Mode::Threads { workers: 0 });
    let runtime = Runtime::new(
        Arc::new(SimBackend::new(config)?),
        RuntimeConfig::threaded(),
    )?;
    let start_time = started.elapsed();

    for agent in runtime.agents() {
        let kind = match &agent.info.kind {
            AgentKind::Cpu { cores } => format!("CPU, {cores} cores"),
            AgentKind::Gpu(gpu) => format!("GPU, {} compute units, {}", gpu.compute_units, gpu.isa),
        };
        println!(
            "  agent {}: {} ({kind})",
            agent.id.0, agent.info.product_name
        );
    }

    let gpu = runtime.gpu_ids().next().ok_or("there is no GPU")?;
    let pool = runtime
        .find_pool(gpu, PoolFlags::COARSE)
        .ok_or("the GPU has no memory pool")?
        .id;
    let bytes = u64::from(ELEMENTS) * 4;
    let buffer = || runtime.create_buffer(pool, bytes, &[]);
    let (a, b, c) = (buffer()?, buffer()?, buffer()?);
    let input = |step: u32| -> Vec<f32> {
        (0..ELEMENTS)
            .map(|i| (i.wrapping_mul(step) >> 8) as f32)
            .collect()
    };
    let (x, y) = (input(2_654_435_761), input(40_503));
    a.write(0, &to_bytes(&x))?;
    b.write(0, &to_bytes(&y))?;

    let program = runtime.load_program(gpu, code_object)?;
    let kernel = program
        .kernel("vector_add")
        .ok_or("the code object has no kernel vector_add")?;
    let queue = runtime.create_queue(gpu, QueueConfig::default())?;
    let grid = Grid::new([ELEMENTS, 1, 1], [GROUP, 1, 1]);
    let address =
        |buffer: &rukh_core::runtime::Buffer<SimBackend>| buffer.address().0.to_le_bytes();
    let (pa, pb, pc) = (address(&a), address(&b), address(&c));
    let count = ELEMENTS.to_le_bytes();
    let arguments = [
        Explicit::Bytes(&pa),
        Explicit::Bytes(&pb),
        Explicit::Bytes(&pc),
        Explicit::Bytes(&count),
    ];

    let before = runtime.backend().wave_instructions();
    let begun = Instant::now();
    let completion = runtime.dispatch(&queue, &kernel, &Dispatch::new(grid), &arguments)?;
    completion.wait(Timeout::Never)?;
    let time = begun.elapsed();
    let instructions = runtime.backend().wave_instructions() - before;

    let mut out = vec![0; bytes as usize];
    c.read(0, &mut out)?;
    for (i, found) in out.as_chunks::<4>().0.iter().enumerate() {
        let expected = x[i] + y[i];
        if f32::from_le_bytes(*found).to_bits() != expected.to_bits() {
            let found = f32::from_le_bytes(*found);
            return Err(format!("element {i} is {found}, not {expected}").into());
        }
    }
    Ok(format!(
        "{ELEMENTS} elements in {:.2} ms, {:.1} M wave-instructions/s (runtime start {:.2} ms)",
        time.as_secs_f64() * 1e3,
        instructions as f64 / time.as_secs_f64() / 1e6,
        start_time.as_secs_f64() * 1e3
    ))
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
