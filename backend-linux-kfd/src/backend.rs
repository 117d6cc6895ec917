//! The backend: what is open, and the answers of [`Topology`] that follow from it.

use crate::code::CodeQueues;
use crate::device::{self, Gpu};
use crate::dma::Lanes;
use crate::events::EventTable;
use crate::kfd::{Kfd, OpenError};
use crate::memory::MemoryTable;
use crate::optional::{RuntimeMode, xnack_is_on};
use crate::queues::QueueTable;
use crate::sys::FutexPark;
use crate::topology::agents::{self, AgentRecord};
use crate::topology::{Snapshot, cpu, cpu_model};
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;
use rukh_core::backend::{
    AgentId, AgentInfo, CacheInfo, ClockCounters, LinkInfo, Lock, MemoryBank, SkippedAgent,
    Topology, TopologyError,
};
use rukh_core::kfd::uapi::{Ioctl, RuntimeEnable};
use rukh_core::kfd::{KfdPort, PortError};

/// What every call answers in a child of the process that opened the driver.
pub(crate) const INHERITED: &str =
    "the use of a KFD backend in a child process: open another one there";

/// A runtime's backend over the Linux KFD.
///
/// The kernel binds a process's address spaces and its event page to the process, not to an open file, and keeps them
/// until the process ends. So a process opens one backend, keeps it, and shares it between runtimes (it
/// is made for [`Arc`](alloc::sync::Arc)); a second one finds its GPUs skipped with a reason. A child process opens its own.
pub struct KfdBackend<P: KfdPort> {
    pub(crate) kfd: Kfd<P>,
    pub(crate) park: FutexPark,
    pub(crate) gpus: Vec<Gpu>,
    agents: Vec<AgentRecord>,
    links: Vec<LinkInfo>,
    skipped: Vec<SkippedAgent>,
    pub(crate) xnack: bool,
    /// Whether the kernel was told that a runtime is loaded.
    pub(crate) told: AtomicBool,
    /// Each GPU's counter when the backend was opened, for those whose frequency is not told.
    pub(crate) first_counters: Vec<ClockCounters>,
    // Taken in this order: dma, code, queues, events, memory.
    /// By GPU; no two are held at a time.
    pub(crate) dma: Vec<Lanes>,
    pub(crate) code: Lock<CodeQueues>,
    pub(crate) queues: Lock<QueueTable>,
    pub(crate) events: Lock<EventTable>,
    pub(crate) memory: Lock<MemoryTable>,
}

impl<P: KfdPort> KfdBackend<P> {
    /// Opens the driver and every GPU that can be opened. A machine without GPUs has its CPU agents.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing stays open then.
    pub fn open(port: P) -> Result<Self, OpenError> {
        Self::open_for_debuggers(port, 0)
    }

    /// As [`open`](Self::open), and tells the kernel where the process keeps its list of loaded code (an `r_debug` of
    /// `<link.h>`), which it passes on to debuggers. 0: nowhere.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn open_for_debuggers(port: P, debug_structure: u64) -> Result<Self, OpenError> {
        let kfd = Kfd::open(port)?;
        let snapshot = Snapshot::read(kfd.port())?;
        let xnack = xnack_is_on(&kfd);
        let mut backend = Self {
            kfd,
            park: FutexPark::new(),
            gpus: Vec::new(),
            agents: Vec::new(),
            links: Vec::new(),
            skipped: snapshot.skipped.clone(),
            xnack,
            told: AtomicBool::new(false),
            first_counters: Vec::new(),
            dma: Vec::new(),
            code: Lock::new(CodeQueues::default()),
            queues: Lock::new(QueueTable::default()),
            events: Lock::new(EventTable::default()),
            memory: Lock::new(MemoryTable::default()),
        };
        // From here on a failure drops the backend, which closes what is open.
        device::open_all(
            &backend.kfd,
            &snapshot,
            &mut backend.gpus,
            &mut backend.skipped,
        );
        backend.dma.resize_with(backend.gpus.len(), Lanes::default);
        let opened: Vec<_> = backend.gpus.iter().map(|gpu| gpu.opened(xnack)).collect();
        let (agents, links) = agents::build(&snapshot, &opened, &cpu_model(backend.kfd.port()));
        drop(opened);
        (backend.agents, backend.links) = (agents, links);
        backend.first_counters = backend
            .gpus
            .iter()
            .map(|gpu| {
                let first = backend.read_counters(gpu);
                first.or_else(|_| backend.read_counters(gpu))
            })
            .map(Result::unwrap_or_default)
            .collect();
        backend.report_traps(debug_structure);
        Ok(backend)
    }

    /// Has the driver tell of waves that trap: it does so for processes that say that a runtime is loaded, before they have
    /// queues. Where that does not succeed, such a wave ends without a word, and all else works.
    fn report_traps(&mut self, debug_structure: u64) {
        if self.gpus.is_empty() || !self.kfd.since(RuntimeEnable::INFO.since_minor) {
            return;
        }
        if !matches!(
            self.runtime_enable(debug_structure, RuntimeMode::ENABLE | RuntimeMode::TTMP),
            Ok(Ok(_))
        ) {
            return;
        }
        for index in 0..self.agents.len() {
            if let Some(gpu) = self.agents[index].gpu {
                let installed = self.install(AgentId(index as u32), gpu).is_ok();
                self.gpus[gpu].trap_handler = installed;
            }
        }
    }

    /// The driver.
    pub const fn kfd(&self) -> &Kfd<P> {
        &self.kfd
    }

    pub(crate) fn port(&self) -> &P {
        self.kfd.port()
    }

    pub(crate) fn record(&self, agent: AgentId) -> Option<&AgentRecord> {
        self.agents.get(agent.0 as usize)
    }

    /// CPU agents: NUMA nodes.
    pub(crate) fn cpu_agents(&self) -> usize {
        self.agents
            .iter()
            .take_while(|agent| agent.gpu.is_none())
            .count()
    }

    /// The index of an agent's GPU.
    pub(crate) fn gpu_index(&self, agent: AgentId) -> Option<usize> {
        self.record(agent)?.gpu
    }

    pub(crate) fn gpu(&self, agent: AgentId) -> Option<&Gpu> {
        self.gpus.get(self.gpu_index(agent)?)
    }

    /// The agent of a GPU by the driver's id.
    pub(crate) fn agent_by_gpu_id(&self, id: u32) -> Option<AgentId> {
        self.agents
            .iter()
            .position(|agent| agent.gpu.is_some_and(|index| self.gpus[index].id == id))
            .map(|index| AgentId(index as u32))
    }
}

/// The name of the call that failed, for errors that carry one.
pub(crate) const fn call_name(error: &PortError) -> &'static str {
    match error {
        PortError::File { .. } => "open",
        PortError::Ioctl { name, .. } => name,
        PortError::Map { .. } => "mmap",
    }
}

impl<P: KfdPort> Topology for KfdBackend<P> {
    fn agent_count(&self) -> u32 {
        self.agents.len() as u32
    }

    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError> {
        self.record(agent)
            .map(|record| record.info.clone())
            .ok_or(TopologyError::NoAgent {
                agent,
                count: self.agent_count(),
            })
    }

    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank)) {
        self.record(agent)
            .iter()
            .flat_map(|a| &a.banks)
            .for_each(visit);
    }

    fn caches(&self, agent: AgentId, visit: &mut dyn FnMut(&CacheInfo)) {
        let Some(record) = self.record(agent) else {
            return;
        };
        if record.gpu.is_none() && record.caches.is_empty() {
            // Asked of the system when somebody wants to know: a start without it is faster.
            cpu::caches(self.port(), record.info.node)
                .iter()
                .for_each(visit);
        } else {
            record.caches.iter().for_each(visit);
        }
    }

    fn links(&self, visit: &mut dyn FnMut(&LinkInfo)) {
        self.links.iter().for_each(visit);
    }

    fn skipped(&self, visit: &mut dyn FnMut(&SkippedAgent)) {
        self.skipped.iter().for_each(visit);
    }
}

impl<P: KfdPort> core::fmt::Debug for KfdBackend<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KfdBackend")
            .field("version", &self.kfd.version())
            .field("gpus", &self.gpus)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

impl<P: KfdPort> Drop for KfdBackend<P> {
    fn drop(&mut self) {
        // Queues before the memory that they use, and all before the files.
        self.close_queues();
        self.close_events();
        self.remove_trap_handlers();
        self.close_memory();
        self.runtime_disable();
        for gpu in &self.gpus {
            self.kfd.port().close(gpu.render);
        }
    }
}
