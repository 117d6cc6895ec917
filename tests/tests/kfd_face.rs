//! The Linux KFD backend over the software GPU's KFD face: golden kernels, then the conformance suite.

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::device::FaultCause;
use rukh_backend_sim::kfd::KfdFace;
use rukh_backend_sim::profile::Profile;
use rukh_core::backend::{AgentKind, Topology};
use rukh_core::kfd::KfdPort;
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::conformance;
use rukh_tests::conformance::{KfdFactory, World};
use rukh_tests::golden::{
    Case, Objects, Options, RuntimeLauncher, Selection, Strictness, run_case,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn agents_are_the_profiles() {
    let backend = KfdBackend::open(KfdFace::parse("gfx90a,gfx942,gfx1100").unwrap()).unwrap();
    let mut skipped = Vec::new();
    backend.skipped(&mut |agent| skipped.push(format!("{agent:?}")));
    assert_eq!(skipped, Vec::<String>::new());
    let sim = rukh_backend_sim::SimBackend::new(
        rukh_backend_sim::SimConfig::parse("gfx90a,gfx942,gfx1100").unwrap(),
    )
    .unwrap();
    assert_eq!(backend.agent_count(), sim.agent_count());
    for id in (0..sim.agent_count()).map(rukh_core::backend::AgentId) {
        let (ours, theirs) = (backend.agent(id).unwrap(), sim.agent(id).unwrap());
        match (ours.kind, theirs.kind) {
            (AgentKind::Gpu(ours), AgentKind::Gpu(mut theirs)) => {
                // What the backend decides by itself.
                (theirs.images, theirs.svm_direct_host_access) =
                    (ours.images, ours.svm_direct_host_access);
                assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            }
            (ours, theirs) => assert_eq!(format!("{ours:?}"), format!("{theirs:?}")),
        }
    }
    let runtime = Runtime::new(Arc::new(backend), RuntimeConfig::default()).unwrap();
    assert_eq!(runtime.agents().len(), 4);
}

/// Each golden kernel whose objects are committed, as the host's compiler has it.
#[test]
fn committed_golden_kernels_agree_with_the_host() {
    let face = KfdFace::parse("gfx90a,gfx942,gfx1030,gfx1100,gfx1201").unwrap();
    let backend = Arc::new(KfdBackend::open(face).unwrap());
    let runtime = Runtime::new(backend, RuntimeConfig::threaded()).unwrap();
    let explain = |backend: &KfdBackend<KfdFace>| {
        let faults = backend.kfd().port().last_faults();
        faults.last().map_or(String::new(), ToString::to_string)
    };
    let mut launcher = RuntimeLauncher::new(runtime, Duration::from_secs(60), explain);
    let committed = Objects::at(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/objects"));
    let reference = Objects::standard().unwrap().reference().unwrap();
    let cases: Vec<_> = Selection::Full
        .cases()
        .into_iter()
        .filter(|case| ["vector_add", "matmul", "reduction"].contains(&case.kernel.file))
        .filter(|case| committed.path(case).exists())
        .collect();
    let options = Options {
        seed: 1,
        strictness: Strictness::CorrectlyRounded,
    };
    for target in ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"] {
        for file in ["vector_add", "matmul", "reduction"] {
            let ran = |case: &&Case| case.kernel.file == file && case.target.name() == target;
            assert_ne!(cases.iter().filter(ran).count(), 0, "{file} on {target}");
        }
    }
    for case in cases {
        run_case(case, &committed, &reference, &mut launcher, options)
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Names of the properties of the recorded tree of a gfx90a are all there, for every profile.
#[test]
fn every_property_that_kernels_list_is_listed() {
    let record = include_str!("../../backend-linux-kfd/tests/trees/gfx90a.txt");
    let names: Vec<&str> = record
        .split("## ")
        .find_map(|file| file.strip_prefix("nodes/2/properties\n"))
        .unwrap()
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for profile in Profile::all() {
        let face = KfdFace::parse(profile.name).unwrap();
        let mut buffer = [0; 4096];
        let path = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties";
        let length = face.read_file(path, &mut buffer).unwrap();
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        for name in &names {
            let lines = text.lines().filter(|l| l.split(' ').next() == Some(name));
            assert_eq!(lines.count(), 1, "{name} of {}", profile.name);
        }
    }
}

/// A client that gives everything back leaves the event page, which the driver keeps, and nothing else.
#[test]
fn a_backend_that_ends_leaves_the_event_page() {
    let face = Arc::new(KfdFace::parse("gfx90a").unwrap());
    let backend = Arc::new(KfdBackend::open(face.clone()).unwrap());
    let runtime = Runtime::new(backend.clone(), RuntimeConfig::threaded()).unwrap();
    drop((runtime, backend));
    assert_eq!(face.handles(), (0, 1, 0));
}

/// Waves that trap run the backend's own handler, and what stops the queue is what that tells the driver.
#[test]
fn queues_stop_by_what_the_trap_handler_tells_the_driver() {
    // A handler of each family.
    for gpus in ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"] {
        for kernel in ["fault_trap", "fault_store"] {
            let world = World::start(&KfdFactory::new(gpus)).unwrap();
            let queue = world.queue().unwrap();
            let bad = 0x1234_5000u64.to_le_bytes();
            let value = 1u32.to_le_bytes();
            let out = world.device(world.gpu, 4096).unwrap();
            let good = out.address().0.to_le_bytes();
            let arguments: &[&[u8]] = if kernel == "fault_trap" {
                &[&good]
            } else {
                &[&bad, &value]
            };
            let code = world.kernel(world.gpu, "fault", kernel).unwrap();
            let shape = ([64, 1, 1], [64, 1, 1]);
            let work = world.prepare(&queue, &code, shape, arguments).unwrap();
            work.send(&world, &queue).unwrap();
            let expected = if kernel == "fault_trap" {
                QueueStatus::Exception
            } else {
                QueueStatus::MemoryFault {
                    address: 0x1234_5000,
                }
            };
            assert_eq!(world.wait_stopped(&queue).unwrap(), expected, "{gpus}");
            let backend = world.runtime.backend();
            let deadline = Instant::now() + Duration::from_secs(20);
            // The report is made when the wave has halted, which is after it has told.
            while backend.kfd().port().last_faults().is_empty() && Instant::now() < deadline {
                std::thread::yield_now();
            }
            let reports = backend.kfd().port().last_faults();
            let [report] = &reports[..] else {
                panic!("{gpus}: {reports:?}");
            };
            assert!(
                matches!(&report.cause, FaultCause::Wave(wave) if wave.handled),
                "{gpus}: {report:?}"
            );
        }
    }
}

fn gfx90a() -> KfdFactory {
    KfdFactory::new("gfx90a")
}

fn gfx942() -> KfdFactory {
    KfdFactory::new("gfx942")
}

fn gfx1030() -> KfdFactory {
    KfdFactory::new("gfx1030")
}

fn gfx1201() -> KfdFactory {
    KfdFactory::new("gfx1201")
}

fn gfx1100() -> KfdFactory {
    KfdFactory::new("gfx1100")
}

/// A machine whose host does not map device memory.
fn small_bar() -> KfdFactory {
    KfdFactory::new("gfx90a").with_small_bar()
}

fn two_gpus() -> KfdFactory {
    KfdFactory::new("gfx90a,gfx1100")
}

conformance! { suite_gfx90a => gfx90a() }
conformance! { suite_gfx942 => gfx942() }
conformance! { suite_gfx1030 => gfx1030() }
conformance! { suite_gfx1100 => gfx1100() }
conformance! { suite_gfx1201 => gfx1201() }
conformance! { suite_two_gpus => two_gpus() }
conformance! { suite_small_bar => small_bar() }

/// Calls of the backend that fail at random.
macro_rules! calls_fail_at_random {
    ({} $($chapter:ident { $($test:ident)* })*) => {
        mod calls_fail_at_random {
            $(#[test]
            fn $chapter() {
                for seed in 0..2 {
                    $(crate::conformance::run_with_random_faults(
                        stringify!($chapter),
                        stringify!($test),
                        &crate::gfx90a(),
                        seed,
                    );)*
                }
            })*
        }
    };
}
rukh_tests::conformance_tests! { [calls_fail_at_random] }
