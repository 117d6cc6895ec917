//! AMD's additions to queues: priority, compute units, profiling, information.

use crate::abi::{Agent, QueueInfo, QueuePriority, Status};
use crate::arg::{In, Out, Value};
use crate::entry::{entry, not_yet};
use crate::queue_index::QueuePtr;
use rukh_core::backend::{AgentKind, QueuePriority as CorePriority};

entry! {
    /// `hsa_amd_queue_set_priority`: how a queue competes with others.
    fn hsa_amd_queue_set_priority(state; queue: QueuePtr, priority: u32) {
        let queue = state.queues.get(queue)?;
        let priority = match QueuePriority::from_raw(priority).ok_or(Status::INVALID_ARGUMENT)? {
            QueuePriority::Low => CorePriority::Low,
            QueuePriority::Normal => CorePriority::Normal,
            QueuePriority::High => CorePriority::High,
        };
        Ok(queue.device()?.set_priority(priority)?)
    }

    /// `hsa_amd_queue_cu_set_mask`: restricts a queue to compute units; bit `n` is unit `n`.
    fn hsa_amd_queue_cu_set_mask(state; queue: QueuePtr, num_cu_mask_count: u32, cu_mask: In<u32>) {
        let queue = state.queues.get(queue)?;
        if !num_cu_mask_count.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mask = cu_mask.list(num_cu_mask_count as usize / 32)?;
        Ok(queue.device()?.set_cu_mask(&mask)?)
    }

    /// `hsa_amd_queue_get_info`: the agent of a queue.
    fn hsa_amd_queue_get_info(state; queue: QueuePtr, attribute: u32, value: Value) {
        let queue = state.queues.get(queue)?;
        let place = value.required()?;
        match QueueInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            QueueInfo::Agent => place.put(state.agent_handle(queue.device()?.agent())?),
            QueueInfo::DoorbellId => place.put(queue.device()?.id()),
        }
    }

    /// `hsa_amd_profiling_set_profiler_enabled`: whether packets stamp their completion signals.
    fn hsa_amd_profiling_set_profiler_enabled(state; queue: QueuePtr, enable: i32) {
        let queue = state.queues.get(queue)?;
        queue.device()?.set_profiling(enable != 0);
        Ok(())
    }

    /// `hsa_amd_coherency_get_type`: memory of agents is coherent by pool, not by a switch.
    fn hsa_amd_coherency_get_type(state; agent: Agent, kind: Out<u32>) {
        require_gpu(state.agent(agent)?)?;
        kind.required()?.put(0);
        Ok(())
    }

    /// `hsa_amd_coherency_set_type`: checked and without effect, as in AMD's runtime.
    fn hsa_amd_coherency_set_type(state; agent: Agent, kind: u32) {
        require_gpu(state.agent(agent)?)?;
        if kind > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        Ok(())
    }
}

fn require_gpu(agent: &rukh_core::runtime::Agent) -> crate::entry::Result {
    match agent.info.kind {
        AgentKind::Gpu(_) => Ok(()),
        AgentKind::Cpu { .. } => Err(Status::INVALID_AGENT),
    }
}

not_yet! {
    fn hsa_amd_queue_cu_get_mask(queue: QueuePtr, num_cu_mask_count: u32, cu_mask: Out<u32>) -> ERROR;
    fn hsa_amd_agent_set_async_scratch_limit(agent: Agent, threshold: usize) -> NOT_SUPPORTED;
}
