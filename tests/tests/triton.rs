//! Triton's kernels on the software GPU: `tests/triton/kernels.py` is their source and compiles them, and
//! `tests/triton/objects` has what came out. The expected values are computed here.

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Clock, Timeout};
use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::Grid;
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Buffer, Dispatch, QueueConfig, Runtime, RuntimeConfig};
use std::path::PathBuf;
use std::sync::Arc;

/// An object and how it is launched: a line of `launches.txt`.
struct Object {
    kernel: String,
    target: String,
    threads: u16,
    group_memory: u32,
}

impl Object {
    fn all() -> Vec<Object> {
        let text = std::fs::read_to_string(folder().join("launches.txt"))
            .expect("the list of launches is readable");
        let objects = text.lines().map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [kernel, target, threads, memory] = fields[..] else {
                panic!("not a launch: {line}");
            };
            Object {
                kernel: kernel.into(),
                target: target.into(),
                threads: threads.parse().expect("threads are a number"),
                group_memory: memory.parse().expect("bytes are a number"),
            }
        });
        objects.collect()
    }

    fn code(&self) -> Vec<u8> {
        let file = folder().join(format!("{}-{}.hsaco", self.kernel, self.target));
        std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("triton/objects")
}

enum Value<'a> {
    Memory(&'a [u8]),
    Scalar([u8; 4]),
}

/// Runs the kernel on a GPU of its own and returns the memory arguments as they are afterwards.
fn run(object: &Object, function: &str, groups: [u32; 2], values: &[Value<'_>]) -> Vec<Vec<u8>> {
    let system = SimConfig::parse(&object.target)
        .expect("the target has a profile")
        .mode(Mode::Threads { workers: 1 });
    let backend = Arc::new(SimBackend::new(system).expect("the software GPU starts"));
    let runtime = Runtime::new(backend, RuntimeConfig::default()).expect("the runtime starts");
    let code = object.code();
    let isa = CodeObject::parse(&code)
        .expect("Triton writes code objects")
        .isa();
    let agent = runtime
        .agents()
        .iter()
        .find(|agent| agent.isa.is_some_and(|own| isa.runs_on(&own, 0)))
        .map(|agent| agent.id)
        .expect("the GPU executes its target's code");
    let program = runtime
        .load_program(agent, &code)
        .expect("the object is loaded");
    let kernel = program.kernel(function).expect("the function is a kernel");

    // Triton's own arguments (scratch of the grid and of the profiler) follow and are null.
    let mut block = vec![0; kernel.info().kernarg_segment_size as usize];
    let (mut at, mut buffers) = (0, Vec::new());
    for value in values {
        match value {
            Value::Memory(bytes) => {
                let buffer = buffer(&runtime, agent, bytes);
                at = usize::next_multiple_of(at, 8);
                block[at..at + 8].copy_from_slice(&buffer.address().0.to_le_bytes());
                at += 8;
                buffers.push((buffer, bytes.len()));
            }
            Value::Scalar(bytes) => {
                block[at..at + 4].copy_from_slice(bytes);
                at += 4;
            }
        }
    }
    let threads = object.threads;
    let grid = [groups[0] * u32::from(threads), groups[1], 1];
    let mut dispatch = Dispatch::new(Grid::new(grid, [threads, 1, 1]));
    dispatch.hidden.dynamic_lds = object.group_memory;
    let queue = runtime
        .create_queue(agent, QueueConfig::default())
        .expect("a queue is created");
    let completion = runtime
        .dispatch_raw(&queue, &kernel, &dispatch, &block)
        .expect("the packet is sent");
    let deadline = runtime.backend().now() + 120_000_000_000;
    if let Err(error) = completion.wait(Timeout::At(deadline)) {
        let faults = runtime.backend().last_faults();
        panic!(
            "{} {}: {error}; {:?}",
            object.kernel,
            object.target,
            faults.last()
        );
    }
    let read = |(buffer, length): &(Buffer<SimBackend>, usize)| {
        let mut bytes = vec![0; *length];
        buffer.read(0, &mut bytes).expect("the buffer is readable");
        bytes
    };
    buffers.iter().map(read).collect()
}

fn buffer(runtime: &Arc<Runtime<SimBackend>>, agent: AgentId, bytes: &[u8]) -> Buffer<SimBackend> {
    let pool = runtime
        .find_pool(agent, PoolFlags::COARSE)
        .expect("a GPU has coarse-grained memory");
    let buffer = runtime
        .create_buffer(pool.id, bytes.len() as u64, &[])
        .expect("there is memory");
    buffer.write(0, bytes).expect("the buffer is writable");
    buffer
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn values(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect()
}

/// Numbers between -8 and 8, the same for the same seed.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits(0x3f80_0000 | state >> 9) * 16.0 - 24.0
    };
    (0..count).map(|_| next()).collect()
}

fn int(value: usize) -> Value<'static> {
    Value::Scalar(u32::try_from(value).expect("sizes are small").to_le_bytes())
}

fn near(object: &Object, got: &[f32], expected: &[f64], absolute: f64) {
    assert_eq!(got.len(), expected.len());
    for (index, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - expected).abs();
        assert!(
            error <= absolute + 2e-6 * expected.abs(),
            "{} {}: element {index} is {got} instead of {expected}",
            object.kernel,
            object.target
        );
    }
}

fn check_vadd(object: &Object) {
    let count = 2500;
    let (x, y) = (numbers(count, 1), numbers(count, 2));
    let arguments = [
        Value::Memory(&floats(&x)),
        Value::Memory(&floats(&y)),
        Value::Memory(&vec![0; 4 * count]),
        int(count),
    ];
    let got = values(&run(object, "vadd", [3, 1], &arguments)[2]);
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    assert_eq!(got, expected, "vadd {}", object.target);
}

const ROWS: usize = 5;
const COLUMNS: usize = 500;

fn check_softmax(object: &Object) {
    let x = numbers(ROWS * COLUMNS, 3);
    let arguments = [
        Value::Memory(&vec![0; 4 * ROWS * COLUMNS]),
        Value::Memory(&floats(&x)),
        int(COLUMNS),
        int(COLUMNS),
    ];
    let got = values(&run(object, "softmax", [ROWS as u32, 1], &arguments)[0]);
    let rows = x.chunks(COLUMNS).flat_map(|row| {
        let powers: Vec<f64> = row.iter().map(|&x| f64::from(x).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| power / sum)
    });
    near(object, &got, &rows.collect::<Vec<_>>(), 1e-9);
}

fn check_layernorm(object: &Object) {
    let x = numbers(ROWS * COLUMNS, 4);
    let (weight, bias, epsilon) = (numbers(COLUMNS, 5), numbers(COLUMNS, 6), 1e-5f32);
    let arguments = [
        Value::Memory(&vec![0; 4 * ROWS * COLUMNS]),
        Value::Memory(&floats(&x)),
        Value::Memory(&floats(&weight)),
        Value::Memory(&floats(&bias)),
        int(COLUMNS),
        Value::Scalar(epsilon.to_le_bytes()),
    ];
    let got = values(&run(object, "layernorm", [ROWS as u32, 1], &arguments)[0]);
    let mut expected = Vec::new();
    for row in x.chunks(COLUMNS) {
        let count = COLUMNS as f64;
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let variance = row
            .iter()
            .map(|&x| (f64::from(x) - mean).powi(2))
            .sum::<f64>()
            / count;
        let scale = 1.0 / (variance + f64::from(epsilon)).sqrt();
        for ((&x, &weight), &bias) in row.iter().zip(&weight).zip(&bias) {
            expected.push((f64::from(x) - mean) * scale * f64::from(weight) + f64::from(bias));
        }
    }
    near(object, &got, &expected, 1e-5);
}

/// A whole number of at most four bits and a sign, in a format of so many fraction bits and this bias.
fn encode(value: i32, bytes: usize, fraction: u32, bias: i32) -> Vec<u8> {
    let magnitude = value.unsigned_abs();
    let mut bits = 0;
    if magnitude != 0 {
        let exponent = magnitude.ilog2();
        let rest = magnitude - (1 << exponent);
        bits = (exponent + bias.unsigned_abs()) << fraction | rest << fraction >> exponent;
        bits |= u32::from(value < 0) << (8 * bytes - 1);
    }
    bits.to_le_bytes()[..bytes].to_vec()
}

/// Whole numbers, whose sums are exact in every order.
fn check_matmul(object: &Object, bytes: usize, fraction: u32, bias: i32) {
    let (m, n, k) = (64, 96, 128);
    let whole =
        |count, seed| -> Vec<i32> { numbers(count, seed).iter().map(|&x| x as i32).collect() };
    let (a, b) = (whole(m * k, 7), whole(k * n, 8));
    let encoded = |values: &[i32]| -> Vec<u8> {
        let each = values
            .iter()
            .flat_map(|&x| encode(x, bytes, fraction, bias));
        each.collect()
    };
    let arguments = [
        Value::Memory(&encoded(&a)),
        Value::Memory(&encoded(&b)),
        Value::Memory(&vec![0; 4 * m * n]),
        int(m),
        int(n),
        int(k),
    ];
    let got = values(&run(object, "matmul", [2, 3], &arguments)[2]);
    for row in 0..m {
        for column in 0..n {
            let expected: i32 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            assert_eq!(
                got[row * n + column],
                expected as f32,
                "{} {}: row {row}, column {column}",
                object.kernel,
                object.target
            );
        }
    }
}

fn check_all(kernel: &str, least: usize, check: impl Fn(&Object)) {
    let objects = Object::all();
    let objects: Vec<&Object> = objects.iter().filter(|o| o.kernel == kernel).collect();
    assert!(
        objects.len() >= least,
        "{} objects of {kernel}",
        objects.len()
    );
    objects.into_iter().for_each(check);
}

#[test]
fn vector_add_is_exact() {
    check_all("vadd", 5, check_vadd);
}

#[test]
fn softmax_is_near_what_double_precision_gives() {
    check_all("softmax", 5, check_softmax);
}

#[test]
fn layernorm_is_near_what_double_precision_gives() {
    check_all("layernorm", 5, check_layernorm);
}

#[test]
fn matmul_of_halves_is_exact_for_whole_numbers() {
    check_all("matmul_f16", 5, |object| check_matmul(object, 2, 10, 15));
}

#[test]
fn matmul_of_bf16_is_exact_for_whole_numbers() {
    check_all("matmul_bf16", 5, |object| check_matmul(object, 2, 7, 127));
}

#[test]
fn matmul_of_singles_is_exact_for_whole_numbers() {
    check_all("matmul_f32", 5, |object| check_matmul(object, 4, 23, 127));
}

#[test]
fn matmul_of_bytes_in_floating_point_is_exact_for_whole_numbers() {
    check_all("matmul_f8", 1, |object| check_matmul(object, 1, 3, 7));
    check_all("matmul_f8_fnuz", 1, |object| check_matmul(object, 1, 3, 8));
}
