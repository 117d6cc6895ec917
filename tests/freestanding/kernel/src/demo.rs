//! What the kernel shows: golden kernels computed on two software GPUs, a memory fault, an illegal packet, and
//! that the runtime goes on after both.
//!
//! The log is the same on every processor, down to the instruction counts: the software GPU is exact.

use crate::pages::Pages;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Display;
use rukh_backend_sim::profile::{self, HostCpu};
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Clock, Timeout};
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{
    Buffer, Dispatch, Queue, QueueConfig, QueueError, Runtime, RuntimeConfig,
};
use rukh_core::wire::aql::PACKET_SIZE;

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!("../../../golden/objects/", $name, "-O2-v5.co"))
    };
}

/// The two GPUs of the machine: their profile, and the kernels compiled for it.
const GPUS: [(&str, [&[u8]; 3]); 2] = [
    (
        "gfx90a",
        [
            object!("vector_add-gfx90a"),
            object!("matmul-gfx90a"),
            object!("fault-gfx90a"),
        ],
    ),
    (
        "gfx1100",
        [
            object!("vector_add-gfx1100"),
            object!("matmul-gfx1100"),
            object!("fault-gfx1100"),
        ],
    ),
];

/// How long anything may take, on the devices' clock.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Mapped to no device.
const NOWHERE: u64 = 0xdead_0000;

type Sim = Arc<Runtime<SimBackend>>;

fn say(what: &'static str) -> impl Fn(&dyn Display) -> String {
    move |error| format!("{what}: {error}")
}

macro_rules! attempt {
    ($what:literal, $result:expr) => {
        $result.map_err(|error| say($what)(&error))?
    };
}

pub(crate) fn run(pages: Pages, bytes: u64) -> Result<(), String> {
    let profiles = attempt!("profiles", profile::parse("gfx90a,gfx1100"));
    let mut config = SimConfig::new(profiles).mode(Mode::Step { seed: 1 });
    config.host = HostCpu {
        memory_bytes: bytes,
        ..HostCpu::generic()
    };
    config.memory = Box::new(pages);
    let backend = attempt!("backend", SimBackend::new(config));
    let runtime = attempt!(
        "runtime",
        Runtime::new(Arc::new(backend), RuntimeConfig::default())
    );
    for agent in runtime.agents() {
        defmt::info!("agent {}: {}", agent.id.0, agent.info.name.as_str());
    }
    for (gpu, (name, [add, matmul, fault])) in runtime.gpu_ids().zip(GPUS) {
        let mut queue = new_queue(&runtime, gpu)?;
        vector_add(&runtime, &queue, name, add)?;
        matrix_product(&runtime, &queue, name, matmul)?;

        memory_fault(&runtime, &queue, name, fault)?;
        queue = new_queue(&runtime, gpu)?;
        vector_add(&runtime, &queue, name, add)?;

        illegal_packet(&runtime, &queue, name)?;
        queue = new_queue(&runtime, gpu)?;
        vector_add(&runtime, &queue, name, add)?;
    }
    Ok(())
}

fn new_queue(runtime: &Sim, gpu: AgentId) -> Result<Queue<SimBackend>, String> {
    let config = QueueConfig {
        size: 64,
        ..QueueConfig::default()
    };
    Ok(attempt!("queue", runtime.create_queue(gpu, config)))
}

fn soon(runtime: &Sim) -> Timeout {
    Timeout::At(runtime.backend().now() + PATIENCE_NS)
}

/// A buffer of the GPU with these bytes.
fn buffer(runtime: &Sim, gpu: AgentId, bytes: &[u8]) -> Result<Buffer<SimBackend>, String> {
    let pool = runtime
        .find_pool(gpu, PoolFlags::COARSE)
        .ok_or("the GPU has no memory pool")?
        .id;
    let buffer = attempt!(
        "buffer",
        runtime.create_buffer(pool, bytes.len() as u64, &[])
    );
    attempt!("write", buffer.write(0, bytes));
    Ok(buffer)
}

/// Values that add and multiply with rounding, and that are the same everywhere.
fn values(count: usize, step: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| (i.wrapping_mul(step) >> 8) as f32 / 65536.0 - 100.0)
        .collect()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Runs a kernel and waits for it.
fn launch(
    runtime: &Sim,
    queue: &Queue<SimBackend>,
    object: &[u8],
    kernel: &str,
    grid: Grid,
    arguments: &[&[u8]],
) -> Result<Result<u64, QueueError>, String> {
    let program = attempt!("load", runtime.load_program(queue.agent(), object));
    let kernel = program.kernel(kernel).ok_or("the kernel is missing")?;
    let explicit: Vec<_> = arguments
        .iter()
        .map(|bytes| Explicit::Bytes(bytes))
        .collect();
    let before = runtime.backend().wave_instructions();
    let completion = attempt!(
        "dispatch",
        runtime.dispatch(queue, &kernel, &Dispatch::new(grid), &explicit)
    );
    let outcome = completion.wait(soon(runtime));
    Ok(outcome.map(|()| runtime.backend().wave_instructions() - before))
}

/// Compares bit by bit; the sum of all bits' words, for the log.
fn compare(found: &Buffer<SimBackend>, expected: &[f32]) -> Result<u32, String> {
    let mut bytes = vec![0; expected.len() * 4];
    attempt!("read", found.read(0, &mut bytes));
    let mut sum = 0u32;
    for (index, (word, expected)) in bytes.as_chunks::<4>().0.iter().zip(expected).enumerate() {
        let found = u32::from_le_bytes(*word);
        if found != expected.to_bits() {
            let expected = expected.to_bits();
            return Err(format!("element {index} is {found:#x}, not {expected:#x}"));
        }
        sum = sum.wrapping_mul(31).wrapping_add(found);
    }
    Ok(sum)
}

fn vector_add(
    runtime: &Sim,
    queue: &Queue<SimBackend>,
    gpu: &str,
    object: &[u8],
) -> Result<(), String> {
    const COUNT: usize = 1000;
    let (x, y) = (values(COUNT, 2_654_435_761), values(COUNT, 40_503));
    let a = buffer(runtime, queue.agent(), &bytes_of(&x))?;
    let b = buffer(runtime, queue.agent(), &bytes_of(&y))?;
    let c = buffer(runtime, queue.agent(), &[0; COUNT * 4])?;
    let address = |buffer: &Buffer<SimBackend>| buffer.address().0.to_le_bytes();
    let (a, b, to) = (address(&a), address(&b), address(&c));
    let instructions = attempt!(
        "vector_add",
        launch(
            runtime,
            queue,
            object,
            "vector_add",
            Grid::new([COUNT as u32, 1, 1], [64, 1, 1]),
            &[&a, &b, &to, &(COUNT as u32).to_le_bytes()],
        )?
    );
    let sum: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    let check = compare(&c, &sum)?;
    defmt::info!(
        "{}: vector_add: {} elements are right ({:#x}) after {} instructions",
        gpu,
        COUNT,
        check,
        instructions
    );
    Ok(())
}

fn matrix_product(
    runtime: &Sim,
    queue: &Queue<SimBackend>,
    gpu: &str,
    object: &[u8],
) -> Result<(), String> {
    const SIZE: usize = 32;
    // Small integers: products and sums are exact, so that the reference needs no fused multiply-add.
    let whole = |step: u32| -> Vec<f32> {
        (0..(SIZE * SIZE) as u32)
            .map(|i| (i.wrapping_mul(step) >> 24) as f32 - 128.0)
            .collect()
    };
    let (x, y) = (whole(2_654_435_761), whole(2_246_822_519));
    let a = buffer(runtime, queue.agent(), &bytes_of(&x))?;
    let b = buffer(runtime, queue.agent(), &bytes_of(&y))?;
    let c = buffer(runtime, queue.agent(), &[0; SIZE * SIZE * 4])?;
    let address = |buffer: &Buffer<SimBackend>| buffer.address().0.to_le_bytes();
    let (a, b, to) = (address(&a), address(&b), address(&c));
    let instructions = attempt!(
        "matmul",
        launch(
            runtime,
            queue,
            object,
            "matmul",
            Grid::new([SIZE as u32, SIZE as u32, 1], [16, 16, 1]),
            &[&a, &b, &to, &(SIZE as u32).to_le_bytes()],
        )?
    );
    let product: Vec<f32> = (0..SIZE * SIZE)
        .map(|at| {
            let (row, column) = (at / SIZE, at % SIZE);
            (0..SIZE)
                .map(|k| x[row * SIZE + k] * y[k * SIZE + column])
                .sum()
        })
        .collect();
    let check = compare(&c, &product)?;
    defmt::info!(
        "{}: matmul: {} elements are right ({:#x}) after {} instructions",
        gpu,
        SIZE * SIZE,
        check,
        instructions
    );
    Ok(())
}

fn memory_fault(
    runtime: &Sim,
    queue: &Queue<SimBackend>,
    gpu: &str,
    object: &[u8],
) -> Result<(), String> {
    let outcome = launch(
        runtime,
        queue,
        object,
        "fault_store",
        Grid::new([64, 1, 1], [64, 1, 1]),
        &[&NOWHERE.to_le_bytes(), &1u32.to_le_bytes()],
    )?;
    let Err(QueueError::Stopped(status @ QueueStatus::MemoryFault { address: NOWHERE })) = outcome
    else {
        return Err(format!("a store to {NOWHERE:#x} came to {outcome:?}"));
    };
    defmt::info!(
        "{}: the queue stopped: {}",
        gpu,
        defmt::Display2Format(&status)
    );
    // The report says more, but addresses differ from processor to processor.
    let faults = runtime.backend().last_faults();
    let report = faults.last().ok_or("there is no fault report")?;
    let fault = report.memory().ok_or("the report is of no memory fault")?;
    defmt::info!(
        "{}: packet {} of agent {}: {} of {} bytes at {:#x}: {}",
        gpu,
        report.packet,
        report.agent.0,
        defmt::Debug2Format(&fault.access),
        fault.len,
        fault.address,
        defmt::Debug2Format(&fault.reason)
    );
    Ok(())
}

fn illegal_packet(runtime: &Sim, queue: &Queue<SimBackend>, gpu: &str) -> Result<(), String> {
    // Type 6 of 0 to 5.
    let mut packet = [0u8; PACKET_SIZE];
    packet[0] = 6;
    attempt!("claim", queue.claim(soon(runtime))).publish_packet(&packet);
    let deadline = runtime.backend().now() + PATIENCE_NS;
    while queue.status().is_none() && runtime.backend().now() < deadline {
        runtime.backend().relax();
        runtime.poll();
    }
    let status = queue.status();
    if status != Some(QueueStatus::InvalidPacketFormat) {
        return Err(format!("an illegal packet came to {status:?}"));
    }
    defmt::info!(
        "{}: the queue stopped: {}",
        gpu,
        defmt::Display2Format(&QueueStatus::InvalidPacketFormat)
    );
    Ok(())
}
