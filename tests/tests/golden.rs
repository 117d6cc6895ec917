//! Golden kernels on the software GPU against the same sources compiled for the host.
//!
//! `RUKH_TEST_MODE` chooses how many: `quick` a small sample, otherwise a pairwise sample seeded by
//! `RUKH_TEST_SEED`, `full` every case. `RUKH_GOLDEN` names single cases. `RUKH_GOLDEN_DIR` holds built objects.

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::runtime::{Runtime, RuntimeConfig};
use rukh_tests::golden::{
    Case, Objects, Options, RuntimeLauncher, Selection, Strictness, run_cases,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn seed() -> u64 {
    setting("RUKH_TEST_SEED").map_or(1, |seed| seed.parse().expect("RUKH_TEST_SEED is a number"))
}

fn cases() -> Vec<Case> {
    if setting("RUKH_GOLDEN").is_some() {
        return Selection::from_environment().cases();
    }
    match setting("RUKH_TEST_MODE").as_deref() {
        Some("full") => Selection::Full.cases(),
        // Every kernel a few times, at changing targets and levels.
        Some("default") => Selection::Pairwise(seed()).cases(),
        _ => {
            let cases = Selection::Pairwise(seed()).cases();
            let step = (cases.len() / 40).max(1);
            cases.into_iter().step_by(step).collect()
        }
    }
}

fn objects() -> Objects {
    match setting("RUKH_GOLDEN_DIR") {
        Some(directory) => Objects::at(directory),
        None => Objects::standard().expect("the kernels' sources are readable"),
    }
}

fn explain(backend: &SimBackend) -> String {
    let faults = backend.last_faults();
    faults.last().map_or(String::new(), ToString::to_string)
}

fn run(mode: Mode, config: RuntimeConfig, cases: &[Case]) {
    let system = SimConfig::parse("gfx90a,gfx942,gfx1100")
        .unwrap()
        .mode(mode);
    let backend = Arc::new(SimBackend::new(system).unwrap());
    let runtime = Runtime::new(backend, config).unwrap();
    let mut launcher = RuntimeLauncher::new(runtime, Duration::from_secs(120), explain);
    let options = Options {
        seed: seed(),
        strictness: Strictness::CorrectlyRounded,
    };
    let begun = Instant::now();
    let failures = run_cases(cases, &objects(), &mut launcher, options).unwrap();
    for failure in &failures {
        println!("{failure}\n");
    }
    println!(
        "{} of {} golden cases agree with the host ({mode:?}, {:.1} s)",
        cases.len() - failures.len(),
        cases.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(!cases.is_empty(), "no case was selected");
    assert!(
        failures.is_empty(),
        "{} golden cases failed",
        failures.len()
    );
}

#[test]
fn golden_kernels_agree_with_the_host_on_threads() {
    run(
        Mode::Threads { workers: 0 },
        RuntimeConfig::threaded(),
        &cases(),
    );
}

#[test]
fn golden_kernels_agree_with_the_host_in_single_step_mode() {
    let cases: Vec<Case> = cases().into_iter().step_by(7).collect();
    run(
        Mode::Step { seed: seed() },
        RuntimeConfig::default(),
        &cases,
    );
}
