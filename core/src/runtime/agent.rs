//! Agents: what the backend's topology says, put together once.

use super::error::InitError;
use crate::backend::{
    AgentId, AgentInfo, AgentKind, Backend, CacheInfo, GpuInfo, HeapKind, LinkInfo, MemoryBank,
};
use crate::isa::Isa;
use crate::mem::{Pool, pools_of};
use alloc::vec::Vec;

/// An agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Which.
    pub id: AgentId,
    /// What it is.
    pub info: AgentInfo,
    /// What it executes; None for a CPU. Its [generic](Isa::generic) is its second ISA.
    pub isa: Option<Isa>,
    /// What can be allocated from it, and its group memory.
    pub pools: Vec<Pool>,
    /// Its caches, innermost first.
    pub caches: Vec<CacheInfo>,
    /// Its memory banks.
    pub banks: Vec<MemoryBank>,
    /// Its links to other agents.
    pub links: Vec<LinkInfo>,
}

impl Agent {
    /// The GPU's facts, if it is one.
    pub const fn gpu(&self) -> Option<&GpuInfo> {
        match &self.info.kind {
            AgentKind::Gpu(gpu) => Some(gpu),
            AgentKind::Cpu { .. } => None,
        }
    }

    /// Whether it is a GPU.
    pub const fn is_gpu(&self) -> bool {
        self.gpu().is_some()
    }

    /// The link to another agent, if the topology lists one.
    pub fn link_to(&self, to: AgentId) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.to == to)
    }
}

/// All agents of a backend. A GPU whose ISA is not known is listed without one: it can hold memory,
/// and loading code for it fails with a reason.
pub(crate) fn discover<B: Backend + ?Sized>(backend: &B) -> Result<Vec<Agent>, InitError> {
    let mut agents = Vec::new();
    for id in (0..backend.agent_count()).map(AgentId) {
        let info = backend.agent(id)?;
        let isa = match &info.kind {
            AgentKind::Gpu(gpu) => gpu.isa.parse().ok(),
            AgentKind::Cpu { .. } => None,
        };
        let mut agent = Agent {
            id,
            info,
            isa,
            pools: Vec::new(),
            caches: Vec::new(),
            banks: Vec::new(),
            links: Vec::new(),
        };
        backend.caches(id, &mut |cache| agent.caches.push(*cache));
        backend.memory_banks(id, &mut |bank| agent.banks.push(*bank));
        if agent.is_gpu() && agent.isa.is_none() {
            crate::trace::event!(
                warn,
                "agent {} has an instruction set that is not known",
                id.0
            );
        }
        agents.push(agent);
    }
    backend.links(&mut |link| {
        if let Some(agent) = agents.get_mut(link.from.0 as usize) {
            agent.links.push(*link);
        }
    });
    let system_bytes = agents
        .iter()
        .filter(|agent| !agent.is_gpu())
        .flat_map(|agent| &agent.banks)
        .filter(|bank| bank.heap == HeapKind::System)
        .fold(0u64, |sum, bank| sum.saturating_add(bank.size));
    let page = backend.page_size();
    let mut next = 0;
    for agent in &mut agents {
        agent.pools = pools_of(
            agent.id,
            &agent.info.kind,
            &agent.banks,
            page,
            system_bytes,
            next,
        );
        next += agent.pools.len() as u32;
    }
    Ok(agents)
}
