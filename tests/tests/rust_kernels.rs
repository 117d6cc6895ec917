//! Kernels written in Rust (`tests/golden/rust`), on the software GPU and on the host: the same source of what an item
//! computes, once through the GPU's compiler and the runtime, once as a function of this test.

#[path = "../golden/rust/src/items.rs"]
mod items;

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{Clock, Timeout};
use rukh_core::loader::kernarg::{Explicit, Grid};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Dispatch, QueueConfig, Runtime, RuntimeConfig};
use std::sync::Arc;

const OBJECTS: [(&str, &[u8]); 2] = [
    (
        "gfx90a",
        include_bytes!("../golden/rust/objects/items-gfx90a.co"),
    ),
    (
        "gfx1100",
        include_bytes!("../golden/rust/objects/items-gfx1100.co"),
    ),
];

/// Items: not a whole number of groups.
const ITEMS: usize = 1000;
const GROUP: u16 = 64;

/// Runs a kernel of two buffers and a count; the buffers as they are afterwards.
fn run(gpu: &str, object: &[u8], kernel: &str, buffers: [&[u8]; 2]) -> [Vec<u8>; 2] {
    let system = SimConfig::parse(gpu)
        .expect("the GPU has a profile")
        .mode(Mode::Threads { workers: 2 });
    let backend = Arc::new(SimBackend::new(system).expect("the software GPU starts"));
    let runtime = Runtime::new(backend, RuntimeConfig::default()).expect("the runtime starts");
    let agent = runtime
        .agents()
        .iter()
        .find(|agent| agent.isa.is_some())
        .map(|agent| agent.id)
        .expect("there is a GPU");
    let pool = runtime
        .find_pool(agent, PoolFlags::COARSE)
        .expect("a GPU has coarse-grained memory");
    let program = runtime
        .load_program(agent, object)
        .expect("the object is loaded");
    let kernel = program.kernel(kernel).expect("the kernel is in it");
    let device = buffers.map(|bytes| {
        let buffer = runtime
            .create_buffer(pool.id, bytes.len() as u64, &[])
            .expect("there is memory");
        buffer.write(0, bytes).expect("the buffer is writable");
        buffer
    });
    let addresses = [&device[0], &device[1]].map(|buffer| buffer.address().0.to_le_bytes());
    let count = (ITEMS as u32).to_le_bytes();
    let arguments = [
        Explicit::Bytes(&addresses[0]),
        Explicit::Bytes(&addresses[1]),
        Explicit::Bytes(&count),
    ];
    let grid = ITEMS.next_multiple_of(GROUP.into()) as u32;
    let dispatch = Dispatch::new(Grid::new([grid, 1, 1], [GROUP, 1, 1]));
    let queue = runtime
        .create_queue(agent, QueueConfig::default())
        .expect("a queue is created");
    let deadline = runtime.backend().now() + 120_000_000_000;
    let completion = runtime
        .dispatch(&queue, &kernel, &dispatch, &arguments)
        .expect("the packet is sent");
    if let Err(error) = completion.wait(Timeout::At(deadline)) {
        let faults = runtime.backend().last_faults();
        panic!("{gpu}: {error}; {:?}", faults.last());
    }
    device.map(|buffer| {
        let mut bytes = vec![0; buffer.size() as usize];
        buffer.read(0, &mut bytes).expect("the buffer is readable");
        bytes
    })
}

/// Words that are the same for the same seed.
fn words(count: usize, mut state: u64) -> Vec<u32> {
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    (0..count).map(|_| next()).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn rows_are_sorted_and_digested_as_on_the_host() {
    let mut rows: Vec<[u32; items::ROW]> = words(ITEMS * items::ROW, 7).as_chunks().0.to_vec();
    // Some with equal words, and some that divide by zero.
    for row in rows.iter_mut().step_by(3) {
        row.iter_mut().for_each(|word| *word %= 5);
    }
    let before = bytes(rows.as_flattened());
    let digests: Vec<u8> = rows
        .iter_mut()
        .flat_map(|row| items::digest(row).to_le_bytes())
        .collect();
    for (gpu, object) in OBJECTS {
        let empty = vec![0; digests.len()];
        let [sorted, got] = run(gpu, object, "digest_rows", [&before, &empty]);
        assert_eq!(got, digests, "{gpu}");
        assert_eq!(sorted, bytes(rows.as_flattened()), "{gpu}");
    }
}

#[test]
fn programs_that_diverge_give_the_hosts_bits() {
    let programs: Vec<[u8; items::LENGTH]> = words(ITEMS * items::LENGTH, 11)
        .iter()
        .map(|word| *word as u8)
        .collect::<Vec<_>>()
        .as_chunks()
        .0
        .to_vec();
    let expected: Vec<u32> = programs
        .iter()
        .map(|program| items::interpret(program).to_bits())
        .collect();
    let distinct: std::collections::HashSet<_> = expected.iter().collect();
    assert!(distinct.len() > ITEMS / 2, "the programs compute something");
    for (gpu, object) in OBJECTS {
        let empty = vec![0; 4 * ITEMS];
        let [_, got] = run(
            gpu,
            object,
            "run_programs",
            [programs.as_flattened(), &empty],
        );
        assert_eq!(got, bytes(&expected), "{gpu}");
    }
}
