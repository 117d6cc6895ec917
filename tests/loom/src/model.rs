//! How a model runs, and threads in it.

use crate::runtime::reactor::Runtime;
use loom::thread;
use std::sync::Arc;

/// Runs all interleavings of `body` with so many preemptions.
pub fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(body);
}

/// A thread that has the runtime.
pub fn spawn(
    runtime: &Arc<Runtime>,
    body: impl FnOnce(&Runtime) + 'static,
) -> thread::JoinHandle<()> {
    let runtime = runtime.clone();
    thread::spawn(move || body(&runtime))
}
