//! Running tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rukh_core::backend::FaultPlan;

use super::{Factory, Faulty, Malice, Malicious, Outcome, Watched, all};

/// A test that takes longer hangs. Far beyond what any takes, on a busy machine too.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Calls at the beginning of a test that are all made to fail in turn.
const ALL_CALLS: u64 = 64;

/// A test of the suite.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Test<F: Factory> {
    pub chapter: &'static str,
    pub name: &'static str,
    pub body: fn(&F) -> Outcome,
}

/// Runs one test.
///
/// # Panics
/// If it does not pass, takes without giving back, or hangs.
pub fn run<F: Factory>(chapter: &str, name: &str, factory: &F) {
    let watched = Watched::new(factory.clone());
    let test = find(chapter, name);
    if let Err(failure) = bounded(test, &watched) {
        panic!("{chapter}::{name}: {failure}");
    }
    let faults = watched.faults();
    assert!(
        faults.is_empty(),
        "{chapter}::{name}: {}",
        faults.join("\n")
    );
}

/// Runs one test again and again, each time with another call failing: each of the first few dozen,
/// then every so often, until the test makes no more; gives how often that was.
///
/// # Panics
/// If it panics, takes without giving back or hangs; or fails where no call was made to fail.
pub fn run_with_faults<F: Factory>(chapter: &str, name: &str, factory: &F) -> u64 {
    let mut runs = 0;
    let mut n = 0;
    while faulty(chapter, name, factory, FaultPlan::Nth(n)) {
        runs += 1;
        // Tests that make thousands of calls make the same ones.
        n += if n < ALL_CALLS { 1 } else { n / 2 };
    }
    runs
}

/// Runs one test with calls failing at random, by the seed.
///
/// # Panics
/// As [`run_with_faults`].
pub fn run_with_random_faults<F: Factory>(chapter: &str, name: &str, factory: &F, seed: u64) {
    faulty(
        chapter,
        name,
        factory,
        FaultPlan::Random { seed, one_in: 8 },
    );
}

/// Runs the test under a plan; gives whether a call was made to fail.
fn faulty<F: Factory>(chapter: &str, name: &str, factory: &F, plan: FaultPlan) -> bool {
    let watched = Watched::new(factory.clone());
    let faulty = Faulty::new(watched.clone(), plan);
    let outcome = bounded(find(chapter, name), &faulty);
    let injected = faulty.injector().injected() != 0;
    let faults = watched.faults();
    assert!(
        faults.is_empty(),
        "{chapter}::{name} under {plan:?}: {}",
        faults.join("\n")
    );
    // What a test says of a system that is out of everything is not what it says of a healthy one:
    // it may pass or fail, but not panic.
    if let Err(failure) = outcome
        && !injected
    {
        panic!("{chapter}::{name} under {plan:?}, which had nothing fail: {failure}");
    }
    injected
}

/// Runs one test on devices that do something wrong; gives how often they did.
///
/// # Panics
/// If it panics, takes without giving back or hangs; or, in step mode, fails though no device did anything wrong.
pub fn run_with_malice<F: Factory>(
    chapter: &str,
    name: &str,
    factory: &F,
    malice: Malice,
    seed: u64,
) -> u64 {
    let watched = Watched::new(factory.clone());
    let malicious = Malicious::new(watched.clone(), malice, seed);
    let outcome = bounded(find(chapter, name), &malicious);
    let acts = malicious.acts();
    let faults = watched.faults();
    assert!(
        faults.is_empty(),
        "{chapter}::{name} under {malice:?}, seed {seed}: {}",
        faults.join("\n")
    );
    // What a test expects of a device that works need not hold here. In real time it may not come in so short a time.
    if let Err(failure) = outcome
        && acts == 0
        && factory.is_stepped()
    {
        panic!("{chapter}::{name} under {malice:?}, which did nothing: {failure}");
    }
    acts
}

pub(super) fn find<F: Factory>(chapter: &str, name: &str) -> Test<F> {
    all::<F>()
        .into_iter()
        .find(|test| test.chapter == chapter && test.name == name)
        .expect("the test is one of the suite's")
}

/// Runs the test on a thread of its own, so that one that hangs can be told from one that works.
pub(super) fn bounded<F: Factory>(test: Test<F>, factory: &F) -> Result<(), String> {
    let (sender, receiver) = channel();
    let factory = factory.clone();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| (test.body)(&factory)));
        // Everything that the test held is gone by now, and so is the factory before the news.
        drop(factory);
        let _ = sender.send(outcome.map(|outcome| outcome.map_err(|failure| failure.to_string())));
    };
    let thread = thread::Builder::new()
        .name(test.name.into())
        .spawn(body)
        .expect("threads can be had");
    match receiver.recv_timeout(HANGS_AFTER) {
        Ok(outcome) => {
            let _ = thread.join();
            outcome.unwrap_or_else(|_| panic!("{}::{} panicked", test.chapter, test.name))
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            panic!("{}::{} hangs", test.chapter, test.name)
        }
    }
}
