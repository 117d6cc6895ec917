//! All ends that an engine's copy can come to, through the KFD backend over the face: whoever waits for one gets an answer.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{
    AgentId, Clock, Dma, DmaCompletion, DmaError, DmaProgress, DmaRequest, DmaTicket, DmaWork,
    Timeout,
};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::{Ioctl, UpdateQueue};
use rukh_core::mem::{Address, PoolFlags};
use rukh_core::runtime::{Buffer, Runtime, RuntimeConfig, Signal, SystemEvent};
use rukh_core::signal::Condition;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

type Backend = KfdBackend<Arc<KfdFace>>;

/// More than an engine of the software GPU moves in the time that a system call takes, many times over.
const LARGE: usize = 32 << 20;
const COPIES: usize = 16;

/// No wait of these tests takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Bench {
    face: Arc<KfdFace>,
    runtime: Arc<Runtime<Backend>>,
    gpu: AgentId,
    faults: Arc<AtomicU32>,
}

impl Bench {
    fn new(gpu: &str, config: RuntimeConfig) -> Self {
        let face = Arc::new(KfdFace::parse(gpu).unwrap());
        let backend = KfdBackend::open(face.clone()).unwrap();
        let runtime = Runtime::new(Arc::new(backend), config).unwrap();
        let faults = Arc::new(AtomicU32::new(0));
        let seen = faults.clone();
        runtime.on_system_event(Arc::new(move |event| {
            if let SystemEvent::MemoryFault { .. } = event {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            true
        }));
        let gpu = runtime.gpu_ids().next().unwrap();
        Self {
            face,
            runtime,
            gpu,
            faults,
        }
    }

    fn device(&self, size: usize) -> Buffer<Backend> {
        let pool = self.runtime.find_pool(self.gpu, PoolFlags::COARSE).unwrap();
        self.runtime
            .create_buffer(pool.id, size as u64, &[])
            .unwrap()
    }

    fn host(&self, size: usize) -> Buffer<Backend> {
        let pool = self.runtime.find_pool(AgentId(0), PoolFlags::FINE).unwrap();
        self.runtime
            .create_buffer(pool.id, size as u64, &[self.gpu])
            .unwrap()
    }

    /// Has engines copy to host memory that is taken from the GPU while they do; gives what the signals say in the end.
    fn copies_without_memory(&self, memory: &mut [u8]) -> Vec<i64> {
        let from = self.device(memory.len());
        let host = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: the memory outlives this function, which unlocks it.
        let to = unsafe { self.runtime.lock(host, memory.len() as u64, &[self.gpu]) }.unwrap();
        let signals: Vec<_> = (0..COPIES)
            .map(|_| self.runtime.create_signal(1).unwrap())
            .collect();
        for signal in &signals {
            let size = memory.len() as u64;
            // SAFETY: memory that nobody else uses; that the engine loses it is what is tested.
            let agent = unsafe {
                self.runtime
                    .copy_async(to, from.address(), size, signal.get(), false)
            };
            assert_eq!(agent, Ok(Some(self.gpu)));
        }
        self.runtime.unlock(Address::from(host.as_ptr())).unwrap();
        signals.iter().map(|signal| self.end_of(signal)).collect()
    }

    fn end_of(&self, signal: &Signal<Backend>) -> i64 {
        let until = self.runtime.backend().now() + PATIENCE.as_nanos() as u64;
        let outcome = signal.wait(Condition::Lt, 1, Timeout::At(until)).unwrap();
        assert!(outcome.is_met(), "nobody says what became of the copy");
        outcome.value()
    }

    fn submit(&self, work: DmaWork, after: &[u64], value: u64) -> DmaTicket {
        let request = DmaRequest {
            agent: self.gpu,
            work,
            after,
            completion: Some(DmaCompletion {
                value,
                mailbox: 0,
                event: 0,
                timestamps: (0, 0),
            }),
        };
        // SAFETY: each test waits before it drops its buffers.
        unsafe { self.runtime.backend().submit(&request) }.unwrap()
    }

    fn progress(&self, ticket: DmaTicket) -> DmaProgress {
        self.runtime.backend().dma_progress(self.gpu, ticket)
    }

    fn wait(&self, ticket: DmaTicket) {
        let begun = Instant::now();
        while self.progress(ticket) == DmaProgress::UnderWay {
            assert!(begun.elapsed() < PATIENCE, "the work does not end");
            std::thread::yield_now();
        }
    }

    /// Takes all queues from the engines, as nobody but the driver can.
    fn stop_engines(&self) {
        let file = self.face.open("/dev/kfd").unwrap();
        for queue_id in 0..8 {
            let mut argument = UpdateQueue {
                ring_base_address: 0,
                queue_id,
                ring_size: 0,
                queue_percentage: 0,
                queue_priority: 0,
            };
            // SAFETY: an argument without pointers.
            let _ = unsafe {
                self.face
                    .ioctl_raw(file, UpdateQueue::INFO.request, argument.as_mut_bytes())
            };
        }
        self.face.close(file);
    }
}

fn configurations() -> [RuntimeConfig; 2] {
    [RuntimeConfig::default(), RuntimeConfig::threaded()]
}

/// With a thread of the runtime's and without one, copies that an engine cannot do end in -1, those before them in 0.
#[test]
fn copies_behind_a_fault_fail_and_those_before_it_do_not() {
    for gpu in ["gfx90a", "gfx1100"] {
        for config in configurations() {
            let bench = Bench::new(gpu, config);
            let mut memory = vec![0; LARGE];
            let ends = bench.copies_without_memory(&mut memory);
            assert_eq!(ends.last(), Some(&-1), "{gpu}: {ends:?}");
            assert!(
                ends.is_sorted_by(|a, b| a >= b) && ends.iter().all(|end| [0, -1].contains(end)),
                "{gpu}: {ends:?}"
            );
            let begun = Instant::now();
            while bench.faults.load(Ordering::SeqCst) == 0 {
                assert!(begun.elapsed() < PATIENCE, "nobody is told of the fault");
                bench.runtime.poll();
            }
            assert_eq!(bench.faults.load(Ordering::SeqCst), 1, "{gpu}");
            // The next copy has an engine again.
            let (from, to) = (bench.device(1 << 20), bench.host(1 << 20));
            from.write(0, &[7; 1 << 20]).unwrap();
            let signal = bench.runtime.create_signal(1).unwrap();
            // SAFETY: buffers that outlive the wait below.
            let agent = unsafe {
                let (to, from) = (to.address(), from.address());
                bench
                    .runtime
                    .copy_async(to, from, 1 << 20, signal.get(), false)
            };
            assert_eq!(agent, Ok(Some(bench.gpu)));
            assert_eq!(bench.end_of(&signal), 0);
            let mut bytes = vec![0; 1 << 20];
            to.read(0, &mut bytes).unwrap();
            assert!(bytes.iter().all(|b| *b == 7));
        }
    }
}

/// A fault elsewhere on the GPU, of which nobody can say whose it was.
#[test]
fn a_copy_that_is_waited_for_in_a_call_is_lost_with_its_engine() {
    let bench = Bench::new("gfx90a", RuntimeConfig::default());
    let (from, to) = (bench.device(LARGE), bench.host(LARGE));
    std::thread::scope(|scope| {
        let copier = scope.spawn(|| {
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE {
                let (to, from) = (to.address().0, from.address().0);
                // SAFETY: buffers that outlive the thread, and that nobody else uses.
                let outcome = unsafe {
                    bench
                        .runtime
                        .backend()
                        .copy(bench.gpu, to, from, LARGE as u64)
                };
                if let Err(error) = outcome {
                    return Some(error);
                }
            }
            None
        });
        while !copier.is_finished() {
            bench.runtime.backend().abandon_dma(bench.gpu);
            std::thread::sleep(Duration::from_millis(1));
        }
        let lost = DmaError::Lost { agent: bench.gpu };
        assert_eq!(copier.join().unwrap(), Some(lost));
    });
}

/// Without a word of the driver's: nothing is heard, and time tells.
#[test]
fn a_copy_of_an_engine_that_was_taken_away_fails_in_time() {
    let config = RuntimeConfig {
        recheck_ns: 50_000_000,
        ..RuntimeConfig::threaded()
    };
    let bench = Bench::new("gfx90a", config);
    let (from, to) = (bench.device(1 << 20), bench.host(1 << 20));
    let copy = || {
        let signal = bench.runtime.create_signal(1).unwrap();
        let (to, from) = (to.address(), from.address());
        // SAFETY: buffers that outlive the waits below.
        let agent = unsafe {
            bench
                .runtime
                .copy_async(to, from, 1 << 20, signal.get(), false)
        };
        assert_eq!(agent, Ok(Some(bench.gpu)));
        signal
    };
    assert_eq!(bench.end_of(&copy()), 0);
    bench.stop_engines();
    let stuck = [copy(), copy()];
    assert_eq!(stuck.map(|signal| bench.end_of(&signal)), [-1, -1]);
    assert_eq!(bench.end_of(&copy()), 0);
    // A runtime that goes has no engine count in memory that is given back.
    bench.stop_engines();
    let last = copy();
    drop((last, from, to));
    let runtime = Arc::downgrade(&bench.runtime);
    drop(bench);
    assert!(runtime.upgrade().is_none());
}

#[test]
fn work_that_waits_holds_up_no_other_and_may_wait_for_what_comes_later() {
    for gpu in ["gfx90a", "gfx1201"] {
        let bench = Bench::new(gpu, RuntimeConfig::default());
        let (memory, own, flags) = (bench.device(4096), bench.host(4096), bench.host(4096));
        flags.write(0, &[1u64.to_le_bytes(); 3].concat()).unwrap();
        let [first, second, third] = [0, 8, 16].map(|at| flags.address().0 + at);
        let fill = |to: &Buffer<Backend>, value| DmaWork::Fill {
            to: to.address().0,
            value,
            words: 8,
        };
        // Waits for what the second counts down, which is given to the same engines after it.
        let waiting = bench.submit(fill(&memory, 1), &[second], first);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(bench.progress(waiting), DmaProgress::UnderWay);
        // Neither direction is held up.
        let inward = bench.submit(fill(&memory, 2), &[], third);
        bench.wait(inward);
        let outward = bench.submit(fill(&own, 3), &[], second);
        bench.wait(outward);
        bench.wait(waiting);
        let mut counts = [1; 24];
        flags.read(0, &mut counts).unwrap();
        assert_eq!(counts, [0; 24], "{gpu}");
        let mut word = [0; 4];
        memory.read(0, &mut word).unwrap();
        assert_eq!(word, 1u32.to_le_bytes(), "the one that waited was last");
    }
}

/// What waits may wait for as long as it takes: longer than anything else, and the ring it lies in being full is told.
#[test]
fn work_that_waits_is_not_taken_for_stuck_and_fills_the_ring_with_an_error() {
    let bench = Bench::new("gfx90a", RuntimeConfig::default());
    let (own, flags) = (bench.host(4096), bench.host(4096));
    flags.write(0, &[1u64.to_le_bytes(); 2].concat()).unwrap();
    let gate = flags.address().0;
    let request = DmaRequest {
        agent: bench.gpu,
        work: DmaWork::Fill {
            to: own.address().0,
            value: 5,
            words: 4,
        },
        after: &[gate],
        completion: None,
    };
    let mut tickets = Vec::new();
    let error = loop {
        assert!(tickets.len() < 1 << 16);
        // SAFETY: buffers that outlive the waits below.
        match unsafe { bench.runtime.backend().submit(&request) } {
            Ok(ticket) => tickets.push(ticket),
            Err(error) => break error,
        }
    };
    assert_eq!(error, DmaError::Full { agent: bench.gpu });
    assert!(error.is_refusal());
    flags.write(0, &0u64.to_le_bytes()).unwrap();
    for &ticket in &tickets {
        bench.wait(ticket);
        assert_eq!(bench.progress(ticket), DmaProgress::Done);
    }
    // There is room again.
    // SAFETY: as above.
    let ticket = unsafe { bench.runtime.backend().submit(&request) }.unwrap();
    bench.wait(ticket);
}

/// Copies to and from device memory have engines of their own: a large one in one direction does not make a small one in
/// the other wait.
#[test]
fn directions_do_not_wait_for_each_other() {
    let bench = Bench::new("gfx90a", RuntimeConfig::default());
    let (memory, own) = (bench.device(4096), bench.host(4096));
    let flags = bench.host(4096);
    let engine = || bench.runtime.backend().dma_engine(bench.gpu).unwrap();
    assert!(engine().inward_idle && engine().outward_idle);
    let (huge, source) = (bench.device(LARGE), bench.host(LARGE));
    let inward: Vec<_> = (0..COPIES)
        .map(|_| {
            let work = DmaWork::Copy {
                to: huge.address().0,
                from: source.address().0,
                bytes: LARGE as u64,
            };
            bench.submit(work, &[], flags.address().0)
        })
        .collect();
    assert!(!engine().inward_idle && engine().outward_idle);
    let work = DmaWork::Copy {
        to: own.address().0,
        from: memory.address().0,
        bytes: 4096,
    };
    let outward = bench.submit(work, &[], flags.address().0 + 8);
    bench.wait(outward);
    assert_eq!(bench.progress(inward[COPIES - 1]), DmaProgress::UnderWay);
    inward.iter().for_each(|&ticket| bench.wait(ticket));
    assert!(engine().inward_idle && engine().outward_idle);
    let mut count = [0; 8];
    flags.read(0, &mut count).unwrap();
    assert_eq!(i64::from_le_bytes(count), -(COPIES as i64));
}
