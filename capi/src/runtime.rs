//! What an open runtime consists of: core's runtime over the chosen backend, and what C clients
//! name by handle or pointer.

use crate::abi::{
    Agent, CodeObject, CodeObjectReader, Executable, Isa, MemoryPool, Parts, Status,
    SystemEventCallback,
};

use crate::devices::Devices;
use crate::entry::Result;
use crate::executable::ClientExecutable;
use crate::queue::ClientQueues;
use crate::reader::{SharedSource, Source};
use crate::registry::Registry;
use crate::signal::SignalGroup;
use core::ffi::c_void;
use core::sync::atomic::AtomicBool;
use rukh_core::backend::{AgentId, Backend};
use rukh_core::isa::Isa as CoreIsa;
use rukh_core::mem::{Pool, PoolFlags};
use rukh_core::runtime::{Agent as CoreAgent, Runtime};
use rukh_core::wire::queue::HsaQueue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Any backend: the one dynamic dispatch of this library.
pub type SystemBackend = dyn Backend;
/// Core's runtime over it.
pub type SystemRuntime = Runtime<SystemBackend>;
/// Where executables get their memory.
pub type CodeMemory = rukh_core::runtime::CodeMemory<SystemBackend>;

/// A pointer that a client gave to be given back to it.
#[derive(Clone, Copy, Debug)]
pub struct ClientPointer(pub *mut c_void);

// SAFETY: never followed here, only handed to the client's own callbacks, which HSA calls on
// other threads.
unsafe impl Send for ClientPointer {}
// SAFETY: as above.
unsafe impl Sync for ClientPointer {}

impl ClientPointer {
    /// The pointer. A method, so that closures capture the wrapper and not its field.
    pub const fn get(self) -> *mut c_void {
        self.0
    }
}

/// A handler of system events and its argument.
pub type SystemHandlerEntry = (SystemEventCallback, ClientPointer);

/// A notifier of queues and its argument.
pub type NotifierEntry = (
    unsafe extern "C" fn(*const HsaQueue, Agent, *mut c_void),
    ClientPointer,
);

/// An open runtime.
pub struct State {
    /// Itself, for what outlives a call.
    this: Weak<Self>,
    /// Core's runtime.
    pub runtime: Arc<SystemRuntime>,
    /// The runtime's agents, as the environment has them show themselves.
    agents: Vec<CoreAgent>,
    /// What else the environment says of them.
    pub devices: Devices,
    /// Instruction sets by handle: the agents' and those that were named since.
    isas: Mutex<Vec<CoreIsa>>,
    /// Code object readers.
    pub readers: Registry<Source>,
    /// Code objects of the deprecated interface.
    pub code_objects: Registry<Source>,
    /// Executables.
    pub executables: Registry<ClientExecutable>,
    /// Signal groups.
    pub groups: Registry<SignalGroup>,
    /// Queues.
    pub queues: ClientQueues,
    /// Whether copies stamp their completion signals.
    pub copy_profiling: AtomicBool,
    /// Agents whose engines stamp signals, by the signals' handles: with ticks of their own clocks.
    copy_clocks: Mutex<BTreeMap<u64, AgentId>>,
    /// Handlers of system events, in the order of registration.
    pub system_handlers: Mutex<Vec<SystemHandlerEntry>>,
    /// Who gives memory to other processes, once there is some to give.
    pub ipc: Mutex<Option<crate::amd::ipc::Server>>,
    /// Who wants to know of queues that the runtime makes for itself.
    pub queue_notifier: Mutex<Option<NotifierEntry>>,
}

/// Leaves extended fine-grained memory out, which AMD's runtime offers since version 6: HIP 5 asserts that a host's
/// memory is fine-grained or coarse-grained.
fn leave_out_extended_memory(agents: &mut [CoreAgent]) {
    for agent in agents {
        agent
            .pools
            .retain(|pool| !pool.flags.contains(PoolFlags::EXTENDED_FINE));
    }
}

impl State {
    /// A state with nothing in it.
    pub fn new(runtime: Arc<SystemRuntime>) -> Arc<Self> {
        let mut agents = runtime.agents().to_vec();
        if crate::tools::is_loaded(c"libamdhip64.so.5") {
            leave_out_extended_memory(&mut agents);
        }
        let devices = Devices::from_environment(&mut agents);
        let isas = agents.iter().filter_map(|agent| agent.isa);
        let mut known: Vec<CoreIsa> = Vec::new();
        for isa in isas {
            if !known.contains(&isa) {
                known.push(isa);
            }
        }
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            runtime,
            agents,
            devices,
            isas: Mutex::new(known),
            readers: Registry::default(),
            code_objects: Registry::default(),
            executables: Registry::default(),
            groups: Registry::default(),
            queues: ClientQueues::default(),
            copy_profiling: AtomicBool::new(false),
            copy_clocks: Mutex::default(),
            system_handlers: Mutex::new(Vec::new()),
            ipc: Mutex::new(None),
            queue_notifier: Mutex::new(None),
        })
    }

    /// Agents whose engines stamp signals, by the signals' handles.
    pub fn copy_clocks(&self) -> MutexGuard<'_, BTreeMap<u64, AgentId>> {
        self.copy_clocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A reference to it that keeps nothing open.
    pub fn weak(&self) -> Weak<Self> {
        self.this.clone()
    }

    /// Stops the queues, so that no device uses a client's memory any more, and gives everything
    /// else back.
    pub fn close(&self) {
        let server = self
            .ipc
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(server);
        self.queues.clear();
        for (parts, _) in self.executables.all() {
            drop(self.executables.remove(parts));
        }
    }

    /// The backend.
    pub fn backend(&self) -> &SystemBackend {
        &**self.runtime.backend()
    }

    /// The system clock, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.backend().now()
    }

    /// All agents, CPUs first, those that clients do not see included: handles are places in this list.
    pub fn agents(&self) -> &[CoreAgent] {
        &self.agents
    }

    /// The agents that clients see: CPUs, then GPUs in the order of the environment.
    pub fn visible(&self) -> Vec<&CoreAgent> {
        let cpus = self.agents.iter().filter(|agent| !agent.is_gpu());
        cpus.chain(
            self.devices
                .visible
                .iter()
                .filter_map(|at| self.agents.get(*at)),
        )
        .collect()
    }

    /// The ids of all GPUs that clients see.
    pub fn gpus(&self) -> Vec<AgentId> {
        let gpus = self
            .devices
            .visible
            .iter()
            .filter_map(|at| self.agents.get(*at));
        gpus.map(|gpu| gpu.id).collect()
    }

    /// The agent of a handle.
    ///
    /// # Errors
    /// INVALID_AGENT.
    pub fn agent(&self, agent: Agent) -> Result<&CoreAgent> {
        let parts = agent.parts().ok_or(Status::INVALID_AGENT)?;
        let index = match parts {
            Parts {
                generation: 0,
                slot,
                sub: 0,
            } => slot as usize,
            _ => return Err(Status::INVALID_AGENT),
        };
        self.agents().get(index).ok_or(Status::INVALID_AGENT)
    }

    /// The handle of an agent.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES if there are more than handles.
    pub fn agent_handle(&self, agent: AgentId) -> Result<Agent> {
        Agent::from_parts(Parts::slot(agent.0)).ok_or(Status::OUT_OF_RESOURCES)
    }

    /// The pool of a handle's parts.
    pub fn pool_of_parts(&self, parts: Parts) -> Option<&Pool> {
        let agent = self.agents().get(parts.slot as usize)?;
        agent.pools.get(parts.sub as usize)
    }

    /// The handle of a pool.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES if there are more than handles.
    pub fn pool_handle(&self, pool: &Pool) -> Result<MemoryPool> {
        let owner = self.agents().get(pool.owner.0 as usize);
        let index =
            owner.and_then(|owner| owner.pools.iter().position(|other| other.id == pool.id));
        index
            .and_then(|index| u32::try_from(index).ok())
            .and_then(|index| MemoryPool::from_parts(Parts::sub(pool.owner.0, index)))
            .ok_or(Status::OUT_OF_RESOURCES)
    }

    /// The ISA of a handle.
    ///
    /// # Errors
    /// INVALID_ISA.
    pub fn isa(&self, isa: Isa) -> Result<CoreIsa> {
        let slot = isa.parts().ok_or(Status::INVALID_ISA)?.slot as usize;
        let known = self.isas.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(slot).copied().ok_or(Status::INVALID_ISA)
    }

    /// The handle of an ISA.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES if there are more than handles.
    pub fn isa_handle(&self, isa: CoreIsa) -> Result<Isa> {
        let mut known = self.isas.lock().unwrap_or_else(PoisonError::into_inner);
        let index = known
            .iter()
            .position(|other| *other == isa)
            .unwrap_or_else(|| {
                known.push(isa);
                known.len() - 1
            });
        u32::try_from(index)
            .ok()
            .and_then(|slot| Isa::from_parts(Parts::slot(slot)))
            .ok_or(Status::OUT_OF_RESOURCES)
    }

    /// Registers a source of code; gives its handle.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES if there are more than handles.
    pub fn add_reader(&self, source: Source) -> Result<CodeObjectReader> {
        let parts = self.readers.insert(Arc::new(source));
        parts
            .and_then(CodeObjectReader::from_parts)
            .ok_or(Status::OUT_OF_RESOURCES)
    }

    /// The executable of a handle.
    ///
    /// # Errors
    /// INVALID_EXECUTABLE.
    pub fn executable(&self, executable: Executable) -> Result<Arc<ClientExecutable>> {
        executable
            .parts()
            .and_then(|parts| self.executables.get(parts))
            .ok_or(Status::INVALID_EXECUTABLE)
    }

    /// The code object of a handle of the deprecated interface.
    ///
    /// # Errors
    /// INVALID_CODE_OBJECT.
    pub fn code_object(&self, code_object: CodeObject) -> Result<SharedSource> {
        code_object
            .parts()
            .and_then(|parts| self.code_objects.get(parts))
            .ok_or(Status::INVALID_CODE_OBJECT)
    }

    /// Where executables get their memory.
    pub fn code_memory(&self) -> CodeMemory {
        CodeMemory::new(self.runtime.clone())
    }
}
