//! Memory pools: what there is, allocating, who reaches what.

use crate::abi::{
    Agent, AgentPoolInfo, LinkType, MemoryPool, PoolAccess, PoolInfo, PoolLinkInfo, Status,
    VisitPool,
};
use crate::arg::{AnyPlace, In, Out, Value};
use crate::entry::{Result, callbacks, entry, gather};
use crate::memory::{free, segment_number};
use crate::runtime::State;
use crate::state::open;
use core::ffi::c_void;
use rukh_core::backend::{HeapKind, LinkInfo, LinkKind};
use rukh_core::mem::{Address, AllocFlags, Pool, Segment};
use rukh_core::runtime::Agent as CoreAgent;

/// `hsa_amd_memory_pool_location_t`
const LOCATION_CPU: u32 = 0;
const LOCATION_GPU: u32 = 1;

fn info(pool: &Pool, attribute: PoolInfo, place: AnyPlace) -> Result {
    match attribute {
        PoolInfo::Segment => place.put(segment_number(pool.segment)),
        PoolInfo::GlobalFlags => place.put(pool.flags.bits()),
        PoolInfo::Size => place.put(pool.size as usize),
        PoolInfo::RuntimeAllocAllowed => place.put(pool.allocatable),
        PoolInfo::RuntimeAllocGranule => place.put(pool.granule as usize),
        PoolInfo::RuntimeAllocAlignment => place.put(pool.align as usize),
        PoolInfo::AccessibleByAll => place.put(pool.accessible_by_all),
        PoolInfo::AllocMaxSize => place.put(pool.max_allocation as usize),
        PoolInfo::Location => place.put(match pool.heap {
            HeapKind::System => LOCATION_CPU,
            _ => LOCATION_GPU,
        }),
        PoolInfo::RuntimeAllocRecGranule => place.put(pool.recommended_granule as usize),
    }
}

/// Whether an agent can reach a pool's memory, and whether it must be asked for.
fn access(agent: &CoreAgent, pool: &Pool) -> PoolAccess {
    let own = agent.id == pool.owner;
    match (pool.segment, pool.heap) {
        (Segment::Group, _) if own => PoolAccess::AllowedByDefault,
        (Segment::Group, _) => PoolAccess::NeverAllowed,
        _ if own => PoolAccess::AllowedByDefault,
        (_, HeapKind::System) if !agent.is_gpu() => PoolAccess::AllowedByDefault,
        (_, HeapKind::System) => PoolAccess::DisallowedByDefault,
        (_, HeapKind::VramPublic) => PoolAccess::DisallowedByDefault,
        // Device memory that the host cannot map: other GPUs reach it if there is a link.
        _ if agent.is_gpu() && agent.link_to(pool.owner).is_some() => {
            PoolAccess::DisallowedByDefault
        }
        _ => PoolAccess::NeverAllowed,
    }
}

fn link_info(link: &LinkInfo) -> PoolLinkInfo {
    PoolLinkInfo {
        min_latency: link.latency_ns.0,
        max_latency: link.latency_ns.1,
        min_bandwidth: link.bandwidth_mb_s.0,
        max_bandwidth: link.bandwidth_mb_s.1,
        atomic_support_32bit: link.atomic32,
        atomic_support_64bit: link.atomic64,
        coherent_support: link.coherent,
        link_type: match link.kind {
            LinkKind::HyperTransport => LinkType::Hypertransport as u32,
            LinkKind::Qpi => LinkType::Qpi as u32,
            LinkKind::PciExpress => LinkType::Pcie as u32,
            LinkKind::InfiniBand => LinkType::Infinband as u32,
            LinkKind::Xgmi => LinkType::Xgmi as u32,
        },
        numa_distance: link.weight,
    }
}

/// The pool of a handle.
pub fn pool(state: &State, pool: MemoryPool) -> Result<&Pool> {
    let parts = pool.parts().ok_or(Status::INVALID_MEMORY_POOL)?;
    state
        .pool_of_parts(parts)
        .ok_or(Status::INVALID_MEMORY_POOL)
}

/// Agents of a list; none may be missing.
pub fn agent_ids(
    state: &State,
    count: usize,
    agents: In<Agent>,
) -> Result<Vec<rukh_core::backend::AgentId>> {
    let agents = agents.list(count)?;
    agents
        .into_iter()
        .map(|agent| Ok(state.agent(agent)?.id))
        .collect()
}

entry! {
    /// `hsa_amd_memory_pool_get_info`: an attribute of a pool.
    fn hsa_amd_memory_pool_get_info(state; memory_pool: MemoryPool, attribute: u32, value: Value) {
        let pool = pool(&state, memory_pool)?;
        let place = value.required()?;
        info(pool, PoolInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?, place)
    }

    /// `hsa_amd_agent_memory_pool_get_info`: how an agent reaches a pool.
    fn hsa_amd_agent_memory_pool_get_info(state; agent: Agent, memory_pool: MemoryPool,
        attribute: u32, value: Value) {
        let agent = state.agent(agent)?;
        let pool = pool(&state, memory_pool)?;
        let place = value.required()?;
        let link = agent.link_to(pool.owner);
        match AgentPoolInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            AgentPoolInfo::Access => place.put(access(agent, pool) as u32),
            AgentPoolInfo::NumLinkHops => place.put(u32::from(link.is_some())),
            AgentPoolInfo::LinkInfo => match link {
                Some(link) => place.put(link_info(link)),
                // No hops: nothing to describe.
                None => Ok(()),
            },
        }
    }

    /// `hsa_amd_memory_pool_allocate`: memory that its own agent reaches, and others when allowed.
    fn hsa_amd_memory_pool_allocate(state; memory_pool: MemoryPool, size: usize, flags: u32,
        ptr: Out<*mut c_void>) {
        let pool = pool(&state, memory_pool)?;
        if size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let place = ptr.required()?;
        let flags = AllocFlags::from_bits(flags).ok_or(Status::INVALID_ARGUMENT)?;
        place.put(state.runtime.allocate(pool.id, size as u64, flags)?.as_ptr().cast());
        Ok(())
    }

    /// `hsa_amd_agents_allow_access`: lets exactly these agents, and the owner, reach an allocation.
    fn hsa_amd_agents_allow_access(state; num_agents: u32, agents: In<Agent>, flags: In<u32>,
        ptr: *const c_void) {
        if num_agents == 0 || agents.is_null() || !flags.is_null() || ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let ids = agent_ids(&state, num_agents as usize, agents)?;
        state.runtime.allow_access(&ids, Address::from(ptr)).map_err(|error| match error {
            rukh_core::runtime::AllocError::UnknownAddress { .. } => Status::INVALID_ARGUMENT,
            other => other.into(),
        })
    }

    /// `hsa_amd_memory_pool_can_migrate`: memory stays where it is.
    fn hsa_amd_memory_pool_can_migrate(state; src_memory_pool: MemoryPool,
        dst_memory_pool: MemoryPool, result: Out<bool>) {
        pool(&state, src_memory_pool)?;
        pool(&state, dst_memory_pool)?;
        result.required()?.put(false);
        Ok(())
    }

    /// `hsa_amd_memory_migrate`: memory stays where it is, so this is refused.
    fn hsa_amd_memory_migrate(state; ptr: *const c_void, memory_pool: MemoryPool, flags: u32) {
        let target = pool(&state, memory_pool)?;
        if ptr.is_null() || flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        match state.runtime.pointer_info(Address::from(ptr)).pool {
            Some(current) if current == target.id => Ok(()),
            _ => Err(Status::OUT_OF_RESOURCES),
        }
    }
}

callbacks! {
    /// `hsa_amd_memory_pool_free`: frees what [`hsa_amd_memory_pool_allocate`] gave.
    fn hsa_amd_memory_pool_free(ptr: *mut c_void) {
        free(ptr)
    }

    /// `hsa_amd_agent_iterate_memory_pools`: shows the pools of an agent.
    fn hsa_amd_agent_iterate_memory_pools(agent: Agent, callback: VisitPool, data: *mut c_void) {
        let pools = gather("hsa_amd_agent_iterate_memory_pools", || {
            let state = open()?;
            let agent = state.agent(agent)?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            agent.pools.iter().map(|pool| state.pool_handle(pool)).collect::<Result<Vec<_>>>()
        })?;
        crate::callback::each(callback, pools, data)
    }
}
