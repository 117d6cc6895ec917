//! The backend: simulated devices behind core's seam. The files mirror `core/src/backend/`.

mod config;
mod engine;
mod events;
mod memory;
#[cfg(feature = "std")]
mod park;
mod queues;
#[cfg(feature = "std")]
mod svm;
#[cfg(all(test, feature = "std"))]
mod tests;
mod topology;
mod virtual_memory;

pub use config::{Mode, SimConfig};

use crate::device::{FaultCause, FaultReport, Gpu, Interrupts, SimClock, System};
use crate::exec::valu::Level;
use crate::mem::{AddressMap, HostMemory};
use crate::profile::{HostCpu, MAX_GPUS, ProfileError};
use crate::sched::{Executor, Interpreter, MAX_WORKERS};
use crate::sync::Mutex;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use engine::{Engine, make_worker};
use memory::Books;
use rukh_core::backend::{
    AgentId, Clock, ClockCounters, Debug, Dma, Profiling, QueueHandle, WaveStop,
};

/// Virtual nanoseconds that a look takes when there is nothing to do.
const IDLE_LOOK_NS: u64 = 500;

/// How often somebody who looks at an idle device lets other threads run, in nanoseconds of the virtual clock: where more
/// threads want to run than there are processors, each time costs a slice of real time.
#[cfg(feature = "std")]
const YIELD_NS: u64 = 16_000;

/// Simulated GPUs, and the host that they are in.
pub struct SimBackend {
    system: Arc<System>,
    engine: Engine,
    host: HostCpu,
    memory: Box<dyn HostMemory>,
    books: Mutex<Books>,
    /// Ranges of the process's memory that devices reach as they are.
    #[cfg(feature = "std")]
    svm: Mutex<crate::kfd::svm::Ranges>,
    #[cfg(feature = "std")]
    park: park::SimPark,
}

impl core::fmt::Debug for SimBackend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let gpus: Vec<&str> = self.system.gpus.iter().map(|g| g.profile.name).collect();
        f.debug_struct("SimBackend")
            .field("gpus", &gpus)
            .field("step", &self.engine.is_step())
            .finish_non_exhaustive()
    }
}

impl SimBackend {
    /// A system. Starts nothing yet: threads come with the first queue, memory when it is touched.
    ///
    /// # Errors
    /// [`ProfileError::TooMany`].
    pub fn new(config: SimConfig) -> Result<Self, ProfileError> {
        Self::with_executor::<Interpreter>(config)
    }

    /// A system whose devices' interrupts somebody else takes.
    #[cfg(feature = "std")]
    pub(crate) fn with_interrupts(
        config: SimConfig,
        interrupts: Arc<dyn Interrupts>,
    ) -> Result<Self, ProfileError> {
        Self::build::<Interpreter>(config, Some(interrupts))
    }

    /// The devices.
    #[cfg(feature = "std")]
    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    /// Stops all devices for good: when this returns none touches memory any more.
    #[cfg(feature = "std")]
    pub(crate) fn halt(&self) {
        self.engine.stop(&self.system);
    }

    /// The CPU.
    #[cfg(feature = "std")]
    pub(crate) fn host(&self) -> &HostCpu {
        &self.host
    }

    /// A system whose waves are executed by `E`.
    pub(crate) fn with_executor<E: Executor>(config: SimConfig) -> Result<Self, ProfileError> {
        Self::build::<E>(config, None)
    }

    fn build<E: Executor>(
        config: SimConfig,
        interrupts: Option<Arc<dyn Interrupts>>,
    ) -> Result<Self, ProfileError> {
        let count = config.profiles.len();
        if count > MAX_GPUS {
            return Err(ProfileError::TooMany {
                count,
                limit: MAX_GPUS,
            });
        }
        let map = AddressMap::new();
        let gpus = config
            .profiles
            .iter()
            .zip(1u32..)
            .map(|(profile, agent)| Gpu::new(AgentId(agent), profile, map.view(agent)))
            .collect();
        let (clock, workers) = match config.mode {
            #[cfg(feature = "std")]
            Mode::Threads { workers: 0 } => (
                SimClock::Host,
                std::thread::available_parallelism().map_or(1, |n| n.get()),
            ),
            #[cfg(feature = "std")]
            Mode::Threads { workers } => (SimClock::Host, workers),
            Mode::Step { .. } => (SimClock::virtual_from_start(), 1),
        };
        let workers = workers.min(MAX_WORKERS);
        let system = System::new(
            map,
            gpus,
            clock,
            workers,
            (
                config.trace,
                config.level.min(Level::detect()),
                config.alignment,
            ),
            interrupts,
        );
        Ok(Self {
            engine: Engine::new(config.mode, &system, make_worker::<E>),
            system,
            host: config.host,
            memory: config.memory,
            books: Mutex::new(Books::default()),
            #[cfg(feature = "std")]
            svm: Mutex::new(crate::kfd::svm::Ranges::default()),
            #[cfg(feature = "std")]
            park: park::SimPark::new(),
        })
    }

    fn gpu(&self, agent: AgentId) -> Option<&Gpu> {
        let index = agent.0.checked_sub(1)?;
        self.system.gpus.get(index as usize)
    }

    /// Reports of queues that stopped, oldest first; the last few.
    pub fn last_faults(&self) -> Vec<FaultReport> {
        self.system.faults()
    }

    /// Instructions that the waves of all devices have executed, each counted once for its wave. The turn
    /// of a work-group that is going on counts when it ends.
    pub fn wave_instructions(&self) -> u64 {
        self.system.retired()
    }

    /// In step mode, does a piece of work: services queues that were rung, and gives one work-group
    /// a turn. False if there is nothing to do, and always where devices have threads.
    pub fn step(&self) -> bool {
        self.engine.advance(&self.system)
    }
}

impl Drop for SimBackend {
    fn drop(&mut self) {
        self.engine.stop(&self.system);
        self.release_all();
    }
}

impl Clock for SimBackend {
    fn now(&self) -> u64 {
        self.system.clock.now()
    }

    fn counters(&self, agent: AgentId) -> ClockCounters {
        let system = self.system.clock.now();
        let device = self.gpu(agent).map_or(system, |g| g.to_counter(system));
        ClockCounters { device, system }
    }

    fn device_frequency(&self, agent: AgentId) -> u64 {
        self.gpu(agent)
            .map_or(1_000_000_000, |g| g.profile.counter_hz)
    }

    fn relax(&self) {
        if self.engine.is_step() {
            if !self.engine.advance(&self.system) {
                // Time passes for those who only look, so that their patience ends.
                self.system.clock.tick(IDLE_LOOK_NS);
                #[cfg(feature = "std")]
                if self.system.clock.now() % YIELD_NS < IDLE_LOOK_NS {
                    std::thread::yield_now();
                }
            }
        } else {
            core::hint::spin_loop();
        }
    }
}

impl Dma for SimBackend {}
#[cfg(not(feature = "std"))]
impl rukh_core::backend::Svm for SimBackend {}
impl Debug for SimBackend {
    fn wave_stop(&self, queue: QueueHandle, show: &mut dyn FnMut(&WaveStop<'_>)) {
        let reports = self.system.faults();
        let of_queue = |report: &FaultReport| match &report.cause {
            FaultCause::Wave(fault) if report.queue == queue => Some(fault.clone()),
            _ => None,
        };
        if let Some(fault) = reports.iter().rev().find_map(of_queue) {
            show(&WaveStop {
                pc: fault.pc,
                kernel_object: fault.kernel_object,
                account: &fault,
            });
        }
    }
}

impl Profiling for SimBackend {}
