//! Copies and fills by SDMA engines, through the KFD backend over the face.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{
    AgentId, Clock, Dma, DmaCompletion, DmaError, DmaRequest, DmaWork, EventKind, EventOutcome,
    Events, Timeout, WaitMode,
};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Buffer, Runtime, RuntimeConfig};
use rukh_core::signal::{Condition, MemoryOrder};
use std::sync::Arc;

type Backend = KfdBackend<KfdFace>;

struct Bench {
    runtime: Arc<Runtime<Backend>>,
    gpu: AgentId,
}

impl Bench {
    fn new(gpu: &str) -> Self {
        let backend = KfdBackend::open(KfdFace::parse(gpu).unwrap()).unwrap();
        let runtime = Runtime::new(Arc::new(backend), RuntimeConfig::default()).unwrap();
        let gpu = runtime.gpu_ids().next().unwrap();
        Self { runtime, gpu }
    }

    fn device(&self, size: u64) -> Buffer<Backend> {
        let pool = self.runtime.find_pool(self.gpu, PoolFlags::COARSE).unwrap();
        self.runtime.create_buffer(pool.id, size, &[]).unwrap()
    }

    /// Host memory that the GPU reaches.
    fn host(&self, size: u64) -> Buffer<Backend> {
        let pool = self.runtime.find_pool(AgentId(0), PoolFlags::FINE).unwrap();
        self.runtime
            .create_buffer(pool.id, size, &[self.gpu])
            .unwrap()
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) {
        // SAFETY: ranges of buffers that live across the call, and that nobody else uses.
        unsafe { self.runtime.backend().copy(self.gpu, to, from, bytes) }.unwrap();
    }

    fn submit(&self, work: DmaWork, after: &[u64], completion: Option<DmaCompletion>) {
        let request = DmaRequest {
            agent: self.gpu,
            work,
            after,
            completion,
        };
        // SAFETY: as for `copy`; each test waits before it drops its buffers.
        let _ = unsafe { self.runtime.backend().submit(&request) }.unwrap();
    }
}

fn bytes(buffer: &Buffer<Backend>, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

fn pattern(size: usize) -> Vec<u8> {
    (0..size as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8)
        .collect()
}

const GPUS: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

#[test]
fn bytes_arrive_whatever_their_number_and_place() {
    for gpu in GPUS {
        let bench = Bench::new(gpu);
        let (from, to) = (bench.device(1 << 20), bench.host(1 << 20));
        let data = pattern(1 << 20);
        from.write(0, &data).unwrap();
        for (at, size) in [
            (0, 0),
            (0, 1),
            (3, 5),
            (4096, 4096),
            (17, 70_001),
            (0, 1 << 20),
        ] {
            to.write(0, &vec![0xee; 1 << 20]).unwrap();
            bench.copy(to.address().0 + at, from.address().0 + at, size);
            let (at, end) = (at as usize, (at + size) as usize);
            let arrived = bytes(&to, 1 << 20);
            assert!(arrived[at..end] == data[at..end], "{size} at {at} on {gpu}");
            assert!(
                arrived[..at]
                    .iter()
                    .chain(&arrived[end..])
                    .all(|b| *b == 0xee)
            );
        }
    }
}

#[test]
fn many_copies_go_round_the_ring() {
    let bench = Bench::new("gfx90a");
    let (from, to) = (bench.device(4096), bench.device(4096));
    for round in 0..3000u32 {
        from.write(0, &round.to_le_bytes()).unwrap();
        bench.copy(to.address().0, from.address().0, 4096);
        assert_eq!(bytes(&to, 4), round.to_le_bytes());
    }
}

#[test]
fn work_ends_with_the_signal_its_mailbox_and_its_event() {
    for gpu in GPUS {
        let bench = Bench::new(gpu);
        let backend = bench.runtime.backend();
        let (words, value) = (bench.device(8192), bench.host(4096));
        value.write(0, &2i64.to_le_bytes()).unwrap();
        let event = backend.create_event(EventKind::Signal).unwrap();
        let end = DmaCompletion {
            value: value.address().0,
            mailbox: backend.mailbox(event),
            event: event.0,
            timestamps: (value.address().0 + 64, value.address().0 + 96),
        };
        let fill = DmaWork::Fill {
            to: words.address().0,
            value: 0xdead_beef,
            words: 2048,
        };
        bench.submit(fill, &[], Some(end));
        let until = Timeout::At(rukh_core::backend::Clock::now(&**backend) + 60_000_000_000);
        let outcome = backend.wait_events(&[event], WaitMode::Any, until, &mut |_| {});
        assert_eq!(outcome, Ok(EventOutcome::Raised), "{gpu}");
        let told = bytes(&value, 128);
        assert_eq!(told[..8], 1i64.to_le_bytes());
        let time = |at: usize| u64::from_le_bytes(told[at..at + 8].try_into().unwrap());
        assert!(time(64) != 0 && time(64) <= time(96), "{gpu}");
        let filled = bytes(&words, 8192);
        assert!(
            filled
                .as_chunks::<4>()
                .0
                .iter()
                .all(|w| *w == 0xdead_beefu32.to_le_bytes())
        );
        backend.destroy_event(event).unwrap();
    }
}

#[test]
fn work_waits_for_what_comes_before_it() {
    let bench = Bench::new("gfx1100");
    let (words, flags) = (bench.host(4096), bench.host(4096));
    flags
        .write(0, &[1u64.to_le_bytes(), 1u64.to_le_bytes()].concat())
        .unwrap();
    let end = DmaCompletion {
        value: flags.address().0 + 8,
        mailbox: 0,
        event: 0,
        timestamps: (0, 0),
    };
    let fill = DmaWork::Fill {
        to: words.address().0,
        value: 7,
        words: 1,
    };
    bench.submit(fill, &[flags.address().0], Some(end));
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(bytes(&words, 4), [0; 4]);
    flags.write(0, &0u64.to_le_bytes()).unwrap();
    let begun = std::time::Instant::now();
    while bytes(&flags, 16)[8] != 0 {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::yield_now();
    }
    assert_eq!(bytes(&words, 4), 7u32.to_le_bytes());
}

#[test]
fn what_no_engine_can_do_is_refused() {
    let bench = Bench::new("gfx90a");
    let backend = bench.runtime.backend();
    let request = |agent, to| DmaRequest {
        agent,
        work: DmaWork::Fill {
            to,
            value: 0,
            words: 1,
        },
        after: &[],
        completion: None,
    };
    // SAFETY: both are refused before anything is done.
    unsafe {
        assert_eq!(
            backend.submit(&request(bench.gpu, 6)),
            Err(DmaError::Alignment {
                what: "filled range",
                address: 6
            })
        );
        assert_eq!(
            backend.submit(&request(AgentId(0), 8)),
            Err(DmaError::NotSupported("DMA by an agent that is no GPU"))
        );
    }
}

/// Without resizable BARs the host does not reach device memory: what arrives there has come by an engine.
#[test]
fn bytes_reach_device_memory_that_the_host_does_not_map() {
    for gpu in ["smallbar:gfx90a", "smallbar:gfx942", "smallbar:gfx1100"] {
        let bench = Bench::new(gpu);
        const SIZE: usize = (3 << 20) + 13;
        let memory = bench.device(SIZE as u64);
        let info = bench.runtime.pointer_info(memory.address());
        assert_eq!(info.host_base, rukh_core::mem::Address::NULL, "{gpu}");
        // From memory that no engine reaches, and back.
        let data = pattern(SIZE);
        memory.write(0, &data).unwrap();
        assert_eq!(bytes(&memory, SIZE), data, "{gpu}");
        // Between two places of it, and over itself in both directions.
        let other = bench.device(SIZE as u64);
        let copy = |to: &Buffer<Backend>, at: u64, from: u64, size: usize| {
            let (to, from) = (to.address().offset(at), memory.address().offset(from));
            // SAFETY: ranges of buffers that nobody else uses.
            unsafe { bench.runtime.copy(to, from, size as u64) }.unwrap();
        };
        copy(&other, 0, 0, SIZE);
        assert_eq!(bytes(&other, SIZE), data, "{gpu}");
        let mut expected = data.clone();
        for (to, from) in [(5, 0), (0, 9)] {
            copy(&memory, to as u64, from as u64, SIZE - 9);
            expected.copy_within(from..from + SIZE - 9, to);
            assert_eq!(bytes(&memory, SIZE), expected, "{gpu}: {from} to {to}");
        }
        // SAFETY: a range of a buffer that nobody else uses.
        unsafe {
            bench
                .runtime
                .fill(memory.address().offset(4), 0x0102_0304, 700_000)
        }
        .unwrap();
        expected[4..][..2_800_000]
            .chunks_exact_mut(4)
            .for_each(|word| word.copy_from_slice(&[4, 3, 2, 1]));
        assert_eq!(bytes(&memory, SIZE), expected, "{gpu}");
        // A range that leaves its allocation stays an error.
        // SAFETY: the runtime refuses it.
        let beyond = unsafe { bench.runtime.fill(memory.address(), 0, SIZE as u64) };
        assert!(beyond.is_err());
    }
}

/// Copies that count a signal down by themselves, and say which clock has stamped it.
#[test]
fn an_engine_completes_a_copy_on_a_signal() {
    for gpu in ["gfx90a", "smallbar:gfx90a", "smallbar:gfx1100"] {
        let bench = Bench::new(gpu);
        const SIZE: usize = 1 << 20;
        let (from, to) = (bench.host(SIZE as u64), bench.device(SIZE as u64));
        let data = pattern(SIZE);
        from.write(0, &data).unwrap();
        let signal = bench.runtime.create_signal(1).unwrap();
        let submit = |size: u64, signal: &rukh_core::runtime::Signal<Backend>| {
            let (to, from) = (to.address(), from.address());
            // SAFETY: buffers that outlive the wait below, or nothing is done.
            unsafe { bench.runtime.copy_async(to, from, size, signal.get(), true) }
        };
        assert_eq!(submit(SIZE as u64, &signal), Ok(Some(bench.gpu)), "{gpu}");
        let deadline = Timeout::At(bench.runtime.backend().now() + 60_000_000_000);
        let outcome = signal.wait(Condition::Eq, 0, deadline).unwrap();
        assert_eq!(signal.load(MemoryOrder::Acquire), 0, "{gpu}: {outcome:?}");
        assert_eq!(bytes(&to, SIZE), data, "{gpu}");
        let (start, end) = signal.get().timestamps();
        let frequency = bench.runtime.backend().device_frequency(bench.gpu);
        assert!(start != 0 && start <= end && end - start < 60 * frequency);
        // A few bytes are the host's, if it maps both ends.
        let small = submit(64, &signal);
        assert_eq!(
            small.unwrap().is_some(),
            gpu.starts_with("smallbar"),
            "{gpu}"
        );
        // What the engine does not reach is nothing for it.
        let own = vec![1u8; SIZE];
        let own = rukh_core::mem::Address::from(own.as_ptr());
        // SAFETY: nothing is done.
        let none = unsafe {
            bench
                .runtime
                .copy_async(to.address(), own, SIZE as u64, signal.get(), false)
        };
        assert_eq!(none, Ok(None));
    }
}
