//! The runtime: agents, memory, signals and queues over one backend. Needs an allocator.
//!
//! By file: `agent`, what the topology says; `memory` and `buffer`, allocating and sharing; `virtual_memory`,
//! addresses and memory apart; `signals`, with
//! waits and callbacks, and `reactor`, which wakes whoever waits; `queue`, and what happens when one stops;
//! `scratch`, which gives queues private memory; `code`, device memory for code; `program`, loaded code objects
//! and their kernels; `dispatch`, running a kernel in one call; `spawn`, the one thread that a
//! runtime may have.
//!
//! A runtime is used as `Arc<Runtime<B>>`; queues, signals and buffers hold it. Several runtimes can exist
//! in one process: there is no global state.

mod agent;
mod buffer;
mod code;
mod config;
mod copy;
mod dispatch;
mod error;
mod memory;
mod program;
mod queue;
mod reactor;
mod scratch;
mod shared_signals;
mod sharing;
mod signals;
mod spawn;
mod virtual_memory;

pub use agent::Agent;
pub use buffer::Buffer;
pub use code::CodeMemory;
pub use config::RuntimeConfig;
pub use dispatch::{Completion, Dispatch};
pub use error::{
    AllocError, DispatchError, InitError, ProgramError, QueueError, SignalError, SpawnError,
    VirtualError,
};
pub use program::{Kernel, Program};
pub use queue::{Queue, QueueConfig, QueueFailure, QueueType};
pub use reactor::handlers::{HandlerId, SignalCallback};
pub use reactor::service::{ErrorCallback, SystemEvent, SystemHandler};
pub use reactor::waiters::WaitHint;
pub use scratch::ScratchEvent;
pub use signals::{Signal, SignalRef, WaitCondition, WaitOutcome};
#[cfg(feature = "std")]
pub use spawn::StdSpawn;
pub use spawn::{Join, Spawn};

use crate::backend::{AgentId, Backend, BankId, HeapKind, Lock, Park};
use crate::mem::{KernargArena, PointerKind, Registry, VirtualBooks, VirtualMemoryId};
use crate::signal::{SignalHandle, SignalSlot};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use reactor::Reactor;

/// A runtime over a backend.
pub struct Runtime<B: Backend + ?Sized> {
    reactor: Arc<Reactor<B>>,
    agents: Vec<Agent>,
    memory: Lock<Registry>,
    /// Taken before `memory`.
    virtual_memory: Lock<VirtualBooks>,
    /// Signals that other processes can have, or had, and their memory.
    shared_signals: Lock<Vec<(SignalHandle, VirtualMemoryId)>>,
    thread: Lock<Option<Box<dyn Join>>>,
    next_queue: AtomicU64,
    /// Arguments of the dispatch helper, from its first use on.
    kernarg: Lock<Option<Arc<KernargArena<B>>>>,
    /// What an owned signal whose handle was destroyed refers to.
    dead: SignalSlot,
}

impl<B: Backend + ?Sized + 'static> Runtime<B> {
    /// Starts a runtime: lists agents, takes events, allocates the first signals. No thread is
    /// started before the first queue or handler.
    ///
    /// # Errors
    /// See [`InitError`]; everything is given back then.
    pub fn new(backend: Arc<B>, config: RuntimeConfig) -> Result<Arc<Self>, InitError> {
        let agents = agent::discover(&*backend)?;
        let host_bank = host_bank(&agents).ok_or(InitError::NoHostMemory)?;
        let gpus = agents.iter().filter(|a| a.is_gpu()).map(|a| a.id).collect();
        let reactor = Reactor::new(backend, config, host_bank, gpus)?;
        let dead = SignalSlot::new();
        dead.doorbell
            .store(u32::MAX, core::sync::atomic::Ordering::Relaxed);
        Ok(Arc::new(Self {
            reactor: Arc::new(reactor),
            agents,
            memory: Lock::new(Registry::new()),
            virtual_memory: Lock::new(VirtualBooks::new()),
            shared_signals: Lock::new(Vec::new()),
            thread: Lock::new(None),
            next_queue: AtomicU64::new(0),
            kernarg: Lock::new(None),
            dead,
        }))
    }

    /// Starts the thread that calls back, if the configuration has one and it does not run yet.
    pub(crate) fn start_thread(&self) -> Result<(), SpawnError> {
        let Some(spawn) = self.reactor.config.spawn else {
            return Ok(());
        };
        let mut thread = self.thread.lock(self.park());
        if thread.is_none() {
            self.reactor.set_threaded(true);
            let reactor = self.reactor.clone();
            match spawn.spawn("rukh-reactor", Box::new(move || reactor.run())) {
                Ok(join) => *thread = Some(join),
                Err(error) => {
                    self.reactor.set_threaded(false);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// The agents, CPUs first. `agents()[id]` is agent `id`.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// An agent by its id.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(id.0 as usize)
    }

    /// The ids of all GPUs.
    pub fn gpu_ids(&self) -> impl Iterator<Item = AgentId> + '_ {
        self.reactor.gpus.iter().copied()
    }

    /// The backend.
    pub fn backend(&self) -> &Arc<B> {
        &self.reactor.backend
    }

    /// Its settings.
    pub fn config(&self) -> &RuntimeConfig {
        &self.reactor.config
    }

    /// Calls `handler` for memory faults and hardware exceptions, for as long as the runtime lives. If no handler
    /// gives true, the event is logged and that is all: the runtime never ends the process.
    pub fn on_system_event(&self, handler: Arc<SystemHandler>) {
        self.reactor.add_system_handler(handler);
    }

    #[inline]
    pub(crate) fn reactor(&self) -> &Reactor<B> {
        &self.reactor
    }

    pub(crate) fn memory(&self) -> &Lock<Registry> {
        &self.memory
    }

    pub(crate) fn virtual_memory(&self) -> &Lock<VirtualBooks> {
        &self.virtual_memory
    }

    pub(crate) fn shared_signals(&self) -> &Lock<Vec<(SignalHandle, VirtualMemoryId)>> {
        &self.shared_signals
    }

    pub(crate) fn park(&self) -> &dyn Park {
        self.reactor.park()
    }

    pub(crate) fn dead_signal(&self) -> &SignalSlot {
        &self.dead
    }
}

impl<B: Backend + ?Sized> Drop for Runtime<B> {
    fn drop(&mut self) {
        self.reactor.stop();
        if let Some(thread) = self.thread.get_mut().take()
            && !thread.is_current()
        {
            // Dropped by a callback on that very thread, it ends by itself when the callback returns.
            thread.join();
        }
        // Engines count signals down, whose memory goes with the reactor.
        self.reactor.finish_copies();
        // What clients did not free goes now: queues and signals hold the runtime, so no device
        // that this runtime started uses it any more.
        let leftover: Vec<_> = self.memory.get_mut().drain().collect();
        for mut entry in leftover {
            for (_, callback) in entry.on_free.drain(..) {
                callback(entry.info.agent_base);
            }
            if entry.info.kind == PointerKind::Virtual {
                continue;
            }
            // SAFETY: a client that uses memory of a runtime that is gone breaks the rule of `allocate`:
            // memory lives as long as the runtime.
            if unsafe { self.reactor.backend.free(entry.allocation.handle) }.is_err() {
                crate::trace::event!(
                    error,
                    "memory at {:#x} could not be freed",
                    entry.info.agent_base.0
                );
            }
        }
        self.reactor.arena.forget_shared();
        self.close_virtual_memory();
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Runtime<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Runtime")
            .field("agents", &self.agents)
            .finish_non_exhaustive()
    }
}

/// The first bank of host memory.
fn host_bank(agents: &[Agent]) -> Option<BankId> {
    agents.iter().filter(|a| !a.is_gpu()).find_map(|agent| {
        let index = agent
            .banks
            .iter()
            .position(|bank| bank.heap == HeapKind::System)?;
        Some(BankId {
            agent: agent.id,
            index: index as u32,
        })
    })
}
