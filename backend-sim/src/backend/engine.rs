//! What makes devices progress: threads, or calls.

use super::Mode;
use crate::device::System;
use crate::sched::{Executor, Worker};
use crate::sync::Mutex;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// A worker, whatever executes its waves.
pub(super) trait Progress: Send {
    /// Does a piece of work; false if there is none.
    fn advance(&mut self) -> bool;
    /// Runs until the system stops.
    #[cfg(feature = "std")]
    fn run(self: Box<Self>);
    /// Drops what is under way.
    fn abandon(&mut self);
}

impl<E: Executor> Progress for Worker<E> {
    fn advance(&mut self) -> bool {
        Worker::advance(self)
    }

    #[cfg(feature = "std")]
    fn run(self: Box<Self>) {
        Worker::run(*self);
    }

    fn abandon(&mut self) {
        Worker::abandon(self);
    }
}

/// Makes a worker of a system, by its number; with a seed it works in steps.
pub(super) type MakeWorker = fn(Arc<System>, usize, Option<u64>) -> Box<dyn Progress>;

/// The constructor of workers with an executor.
pub(super) fn make_worker<E: Executor>(
    system: Arc<System>,
    number: usize,
    seed: Option<u64>,
) -> Box<dyn Progress> {
    Box::new(Worker::<E>::new(system, number, seed))
}

#[cfg(feature = "std")]
type Threads = std::vec::Vec<std::thread::JoinHandle<()>>;

pub(super) enum Engine {
    #[cfg(feature = "std")]
    Threads {
        make: MakeWorker,
        /// Started with the first queue.
        running: Mutex<Option<Threads>>,
    },
    Step(Mutex<Box<dyn Progress>>),
}

impl Engine {
    pub(super) fn new(mode: Mode, system: &Arc<System>, make: MakeWorker) -> Self {
        match mode {
            #[cfg(feature = "std")]
            Mode::Threads { .. } => Self::Threads {
                make,
                running: Mutex::new(None),
            },
            Mode::Step { seed } => Self::Step(Mutex::new(make(system.clone(), 0, Some(seed)))),
        }
    }

    /// Starts threads, if there are to be any and they do not run yet.
    ///
    /// # Errors
    /// The system's error number, if a thread could not be started; none runs then.
    pub(super) fn start(&self, system: &Arc<System>) -> Result<(), i32> {
        match self {
            #[cfg(feature = "std")]
            Self::Threads { make, running } => {
                let mut running = running.lock();
                if running.is_some() {
                    return Ok(());
                }
                let mut threads = Threads::new();
                for number in 0..system.workers {
                    let worker = make(system.clone(), number, None);
                    let started = std::thread::Builder::new()
                        .name(std::format!("rukh-sim-{number}"))
                        .spawn(move || worker.run());
                    match started {
                        Ok(thread) => threads.push(thread),
                        // One is enough to make progress.
                        Err(_) if !threads.is_empty() => break,
                        Err(error) => return Err(error.raw_os_error().unwrap_or(0)),
                    }
                }
                let handles = threads.iter().map(|t| t.thread().clone()).collect();
                system.parking.set_threads(handles);
                *running = Some(threads);
                Ok(())
            }
            Self::Step(_) => {
                let _ = system;
                Ok(())
            }
        }
    }

    /// Makes some progress if that takes calls; false if there is nothing to do, or nothing to do
    /// here.
    pub(super) fn advance(&self, system: &System) -> bool {
        match self {
            #[cfg(feature = "std")]
            Self::Threads { .. } => false,
            Self::Step(worker) => {
                system.poll_waiting();
                worker.lock().advance()
            }
        }
    }

    /// Whether progress takes calls.
    pub(super) fn is_step(&self) -> bool {
        matches!(self, Self::Step(_))
    }

    /// Stops everything: when this returns no device touches memory any more.
    pub(super) fn stop(&self, system: &System) {
        system.stop();
        match self {
            #[cfg(feature = "std")]
            Self::Threads { running, .. } => {
                for thread in running.lock().take().into_iter().flatten() {
                    // A worker that panicked has stopped as well.
                    let _ = thread.join();
                }
            }
            Self::Step(worker) => worker.lock().abandon(),
        }
    }
}
