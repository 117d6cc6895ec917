//! Scratch memory over the KFD face, with kernels that use it: what compilers emit for private arrays, calls and frames of
//! run-time size. The packet processor asks, the runtime allocates device memory, and takes it back.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::fault::{FaultPort, PortCall, PortFaults};
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::{AllocMemoryOfGpu, Ioctl};
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::golden::{
    Case, Level, Objects, Options, Reference, RuntimeLauncher, Selection, Strictness, Version,
    run_case,
};
use std::sync::Arc;
use std::time::Duration;

type Backend = KfdBackend<FaultPort<KfdFace>>;

const ALLOC: PortCall = PortCall::Kfd(AllocMemoryOfGpu::INFO.nr);

struct Bench {
    runtime: Arc<Runtime<Backend>>,
    faults: Arc<PortFaults>,
    launcher: RuntimeLauncher<Backend>,
    objects: Objects,
    reference: Reference,
}

impl Bench {
    fn new(gpus: &str, config: RuntimeConfig) -> Self {
        let faults = Arc::new(PortFaults::new(None));
        let port = FaultPort::new(KfdFace::parse(gpus).unwrap(), faults.clone());
        let runtime = Runtime::new(Arc::new(KfdBackend::open(port).unwrap()), config).unwrap();
        let explain = |backend: &Backend| {
            let faults = backend.kfd().port().inner().last_faults();
            faults.last().map_or(String::new(), ToString::to_string)
        };
        let objects = Objects::standard().unwrap();
        Self {
            launcher: RuntimeLauncher::new(runtime.clone(), Duration::from_secs(60), explain),
            reference: objects.reference().unwrap(),
            objects,
            runtime,
            faults,
        }
    }

    fn run(&mut self, cases: &[Case]) {
        assert!(!cases.is_empty());
        self.objects.prepare(cases).unwrap();
        let options = Options {
            seed: 3,
            strictness: Strictness::CorrectlyRounded,
        };
        for &case in cases {
            run_case(
                case,
                &self.objects,
                &self.reference,
                &mut self.launcher,
                options,
            )
            .unwrap_or_else(|failure| panic!("{failure}"));
        }
    }

    /// Bytes of device memory that are left.
    fn left(&self) -> u64 {
        let gpu = self.runtime.gpu_ids().next().unwrap();
        let pool = self.runtime.find_pool(gpu, PoolFlags::COARSE).unwrap().id;
        self.runtime.available(pool).unwrap()
    }
}

/// Kernels with private memory: by the compiler's account, at -O0 for every one of them.
fn cases(target: &str) -> Vec<Case> {
    let mut cases = Selection::Full.cases();
    cases.retain(|case| {
        case.target.name() == target
            && case.level == Level::O0
            && case.version == Version::V5
            && ["private_array", "calls"].contains(&case.kernel.file)
    });
    cases
}

#[test]
fn kernels_with_private_memory_agree_with_the_host() {
    let mut bench = Bench::new("gfx90a,gfx942,gfx1100", RuntimeConfig::threaded());
    for target in ["gfx90a", "gfx942", "gfx1100", "gfx1100w64"] {
        bench.run(&cases(target));
    }
}

#[test]
fn scratch_that_is_not_kept_is_given_back_after_each_dispatch() {
    let config = RuntimeConfig {
        scratch_keep_bytes: 0,
        ..RuntimeConfig::threaded()
    };
    let mut bench = Bench::new("gfx90a", config);
    let cases = cases("gfx90a");
    bench.run(&cases);
    let (left, before) = (bench.left(), bench.faults.count(ALLOC));
    bench.run(&cases);
    // The packet processor says when it is done, and the memory goes: soon, not at once.
    let end = std::time::Instant::now() + Duration::from_secs(20);
    while bench.left() != left && std::time::Instant::now() < end {
        bench.runtime.poll();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(bench.left(), left);
    assert!(bench.faults.count(ALLOC) - before >= cases.len() as u64);
}

#[test]
fn scratch_that_is_kept_is_not_allocated_again() {
    let mut bench = Bench::new("gfx90a", RuntimeConfig::threaded());
    let mut cases = cases("gfx90a");
    cases.truncate(1);
    bench.run(&cases);
    let left = bench.left();
    bench.run(&cases);
    bench.run(&cases);
    assert_eq!(bench.left(), left);
}

#[test]
fn with_little_memory_left_fewer_waves_run_at_a_time() {
    let mut bench = Bench::new("gfx90a", RuntimeConfig::threaded());
    let cases = cases("gfx90a");
    bench.run(&cases[..1]);
    let gpu = bench.runtime.gpu_ids().next().unwrap();
    let pool = bench.runtime.find_pool(gpu, PoolFlags::COARSE).unwrap().id;
    // A wave for every slot would need more than what is left now.
    let rest = 24 << 20;
    let hog = bench.left() - rest;
    let hog = bench
        .runtime
        .create_buffer(pool, hog & !0xffff, &[])
        .unwrap();
    let refused = bench.faults.count(ALLOC);
    bench.run(&cases);
    assert!(bench.faults.count(ALLOC) > refused);
    // Scratch that was for one dispatch may be given back by now, and the hog was rounded down.
    let left = bench.left();
    assert!(left <= rest + 0xffff, "{left} bytes are left");
    drop(hog);
}
