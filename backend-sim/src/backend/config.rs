//! What to simulate, and how.

use crate::exec::{Alignment, TraceHook, valu::Level};
use crate::mem::{HeapMemory, HostMemory};
use crate::profile::{self, HostCpu, Profile, ProfileError};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// When devices make progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// On threads of their own, whatever the client does.
    #[cfg(feature = "std")]
    Threads {
        /// How many work-groups run at once, at most 256; 0: as many as the host has processors.
        workers: usize,
    },
    /// Only inside calls ([`super::SimBackend::step`], waiting for events, relaxing), one work-group
    /// at a time, on a virtual clock. The same seed and the same calls give the same results, whatever
    /// the program does.
    Step {
        /// Decides whose turn it is.
        seed: u64,
    },
}

impl Default for Mode {
    #[cfg(feature = "std")]
    fn default() -> Self {
        Self::Threads { workers: 0 }
    }

    #[cfg(not(feature = "std"))]
    fn default() -> Self {
        Self::Step { seed: 0 }
    }
}

/// A system to simulate.
pub struct SimConfig {
    /// Its GPUs; at most [`profile::MAX_GPUS`].
    pub profiles: Vec<&'static Profile>,
    /// When they make progress.
    pub mode: Mode,
    /// The CPU agent.
    pub host: HostCpu,
    /// Where the bytes of simulated memory come from.
    pub memory: Box<dyn HostMemory>,
    /// Called after each instruction, on whichever thread executes it. Makes execution much slower.
    pub trace: Option<Arc<TraceHook>>,
    /// The host instruction set to use at most: what it has of its own by default. Results do not depend on it.
    pub level: Level,
    /// What becomes of addresses that are not aligned; any will do by default, as Linux sets it.
    pub alignment: Alignment,
}

impl SimConfig {
    /// A system with these GPUs, on what the build offers: threads and the operating system's memory
    /// with `std`, step mode and the global allocator without.
    pub fn new(profiles: Vec<&'static Profile>) -> Self {
        #[cfg(feature = "std")]
        let (host, memory): (_, Box<dyn HostMemory>) =
            (HostCpu::detect(), Box::new(crate::mem::OsMemory::new()));
        #[cfg(not(feature = "std"))]
        let (host, memory): (_, Box<dyn HostMemory>) = (HostCpu::generic(), Box::new(HeapMemory));
        Self {
            profiles,
            mode: Mode::default(),
            host,
            memory,
            trace: None,
            level: Level::detect(),
            alignment: Alignment::default(),
        }
    }

    /// A system with the GPUs of a list such as `gfx90a,gfx1100`.
    ///
    /// # Errors
    /// See [`ProfileError`].
    pub fn parse(list: &str) -> Result<Self, ProfileError> {
        profile::parse(list).map(Self::new)
    }

    /// The same system in another mode.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The same system, tracing instructions.
    #[must_use]
    pub fn trace(mut self, hook: Arc<TraceHook>) -> Self {
        self.trace = Some(hook);
        self
    }

    /// The same system without host instructions beyond a level.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The same system in another alignment mode.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }

    /// The same system with memory from the global allocator.
    #[must_use]
    pub fn heap_memory(mut self) -> Self {
        self.memory = Box::new(HeapMemory);
        self
    }
}
