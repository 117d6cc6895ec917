//! The same bytes however a kernel is run: with one worker and with two, in single-step mode with any seed, at every
//! level of host instructions.
//!
//! `RUKH_TEST_MODE` and `RUKH_TEST_SEED` choose how many golden kernels, as in `golden.rs`.

use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::golden::{
    Arg, Case, Launch, Launcher, Objects, Options, RuntimeLauncher, Selection, run_case,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const PROFILES: &str = "gfx900,gfx906,gfx908,gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1201";

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Every way to run a kernel that must not change a byte.
fn ways() -> Vec<(Mode, Level)> {
    let threads = |workers| Mode::Threads { workers };
    let mut ways = vec![
        (threads(1), Level::Avx2Fma),
        (threads(2), Level::Avx2Fma),
        (threads(1), Level::Baseline),
        (Mode::Step { seed: 1 }, Level::Avx2Fma),
        (Mode::Step { seed: 1 }, Level::Baseline),
        (Mode::Step { seed: 99 }, Level::Avx2Fma),
    ];
    // Where the host lacks the instructions, that is the baseline once more.
    ways.dedup_by_key(|(mode, level)| (*mode, (*level).min(Level::detect())));
    ways
}

fn launcher((mode, level): (Mode, Level)) -> RuntimeLauncher<SimBackend> {
    let config = SimConfig::parse(PROFILES).expect("the profiles exist");
    let backend = SimBackend::new(config.mode(mode).level(level)).expect("the GPUs start");
    let runtime = match mode {
        Mode::Threads { .. } => RuntimeConfig::threaded(),
        Mode::Step { .. } => RuntimeConfig::default(),
    };
    let runtime = Runtime::new(Arc::new(backend), runtime).expect("the runtime starts");
    let explain = |backend: &SimBackend| format!("{:?}", backend.last_faults().last());
    RuntimeLauncher::new(runtime, Duration::from_secs(120), explain)
}

fn cases() -> Vec<Case> {
    let seed = setting("RUKH_TEST_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let cases = Selection::Pairwise(seed).cases();
    match setting("RUKH_TEST_MODE").as_deref() {
        Some("full") => cases,
        Some("default") => cases.into_iter().step_by(4).collect(),
        _ => cases.into_iter().step_by(24).collect(),
    }
}

/// FNV-1a of everything that a launch left.
fn digest(launch: &Launch<'_>) -> u64 {
    let buffers = launch.args.iter().map(|arg| match arg {
        Arg::Buffer(bytes) | Arg::Scalar(bytes) => bytes,
    });
    let globals = launch.globals.iter().map(|global| &global.bytes);
    let bytes = buffers.chain(globals).flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Runs cases by another launcher and keeps what came out.
struct Digesting<'a>(&'a mut dyn Launcher, Option<u64>);

impl Launcher for Digesting<'_> {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        self.0.launch(launch)?;
        self.1 = Some(digest(launch));
        Ok(())
    }
}

#[test]
fn neither_workers_nor_seeds_nor_host_instructions_change_a_byte() {
    let (cases, objects) = (
        cases(),
        Objects::standard().expect("the sources are readable"),
    );
    objects.prepare(&cases).expect("the kernels are built");
    let reference = objects.reference().expect("the host library is built");
    let mut first: BTreeMap<String, u64> = BTreeMap::new();
    for way in ways() {
        let mut launcher = launcher(way);
        for &case in &cases {
            let mut digesting = Digesting(&mut launcher, None);
            run_case(
                case,
                &objects,
                &reference,
                &mut digesting,
                Options::default(),
            )
            .unwrap_or_else(|failure| panic!("{way:?}: {failure}"));
            let digest = digesting.1.expect("the kernel ran");
            let before = *first.entry(case.to_string()).or_insert(digest);
            assert_eq!(digest, before, "{case} differs in {way:?}");
        }
    }
    println!(
        "{} kernels, the same bytes in {} ways",
        cases.len(),
        ways().len()
    );
    assert!(cases.len() >= 10, "too small a sample");
}
