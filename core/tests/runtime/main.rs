//! The runtime over a backend of a few hundred lines: waiting, queues, memory, teardown.
#![allow(
    missing_docs,
    clippy::undocumented_unsafe_blocks,
    reason = "tests; the unsafe blocks that matter say why"
)]

mod fake;
mod lifecycle;
mod memory;
mod programs;
mod queues;
mod signals;

use fake::Fake;
use rukh_core::backend::Timeout;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use std::sync::Arc;

/// Ten seconds from now: long enough for any machine, short enough to see a hang.
fn soon(rt: &Runtime<Fake>) -> Timeout {
    use rukh_core::backend::Clock;
    Timeout::At(rt.backend().now() + 10_000_000_000)
}

fn threaded() -> (Arc<Fake>, Arc<Runtime<Fake>>) {
    let fake = Fake::threaded();
    let rt = Runtime::new(fake.clone(), RuntimeConfig::threaded()).unwrap();
    (fake, rt)
}

/// A device that steps, and nobody but the caller to call back.
fn stepped() -> (Arc<Fake>, Arc<Runtime<Fake>>) {
    let fake = Fake::step();
    let rt = Runtime::new(fake.clone(), RuntimeConfig::default()).unwrap();
    (fake, rt)
}

/// Waits for what another thread does, and fails if it does not come.
#[track_caller]
fn until(happened: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !happened() {
        assert!(start.elapsed().as_secs() < 10, "it never happened");
        std::thread::yield_now();
    }
}
