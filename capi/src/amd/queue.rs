//! AMD's additions to queues: priority, compute units, profiling, information.

use crate::abi::{Agent, QueueInfo, QueuePriority, Status};
use crate::arg::{In, Out, Value};
use crate::cu_mask;
use crate::devices::is_paired;
use crate::entry::entry;
use crate::queue_index::QueuePtr;
use rukh_core::backend::{AgentKind, QueuePriority as CorePriority};

entry! {
    /// `hsa_amd_queue_set_priority`: how a queue competes with others.
    fn hsa_amd_queue_set_priority(state; queue: QueuePtr, priority: u32) {
        let queue = state.queues.find(queue)?;
        let priority = match QueuePriority::from_raw(priority).ok_or(Status::INVALID_ARGUMENT)? {
            QueuePriority::Low => CorePriority::Low,
            QueuePriority::Normal => CorePriority::Normal,
            QueuePriority::High => CorePriority::High,
        };
        Ok(queue.device()?.set_priority(priority)?)
    }

    /// `hsa_amd_queue_cu_set_mask`: restricts a queue to compute units; bit `n` is unit `n`. No bits at all give the
    /// queue all units that the environment leaves. From GFX10 on units come in pairs, and so do the bits.
    fn hsa_amd_queue_cu_set_mask(state; queue: QueuePtr, num_cu_mask_count: u32, cu_mask: In<u32>) {
        let queue = state.queues.find(queue)?;
        if !num_cu_mask_count.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let wanted = cu_mask.list(num_cu_mask_count as usize / 32)?;
        let device = queue.device()?;
        let agent = state.agents().get(device.agent().0 as usize).ok_or(Status::INVALID_QUEUE)?;
        let units = agent.gpu().map_or(0, |gpu| gpu.compute_units);
        let (mask, reduced) = cu_mask::applied(&wanted, state.devices.mask(agent.id.0), units);
        if is_paired(agent) && cu_mask::check_pairs(&mask).is_err() {
            return Err(Status::INVALID_ARGUMENT);
        }
        device.set_cu_mask(&mask)?;
        match reduced {
            true => Err(Status::CU_MASK_REDUCED),
            false => Ok(()),
        }
    }

    /// `hsa_amd_queue_cu_get_mask`: the compute units that a queue may use; those that there are not are 0.
    fn hsa_amd_queue_cu_get_mask(state; queue: QueuePtr, num_cu_mask_count: u32, cu_mask: Out<u32>) {
        let queue = state.queues.find(queue)?;
        if num_cu_mask_count == 0 || !num_cu_mask_count.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let place = cu_mask.required()?;
        let device = queue.device()?;
        let agent = state.agents().get(device.agent().0 as usize);
        let units = agent.and_then(|agent| agent.gpu()).map_or(0, |gpu| gpu.compute_units);
        let mask = device.cu_mask();
        for word in 0..num_cu_mask_count / 32 {
            let there = match units.saturating_sub(word * 32) {
                left @ 0..32 => (1u32 << left) - 1,
                _ => u32::MAX,
            };
            let chosen = match &mask {
                Some(mask) => mask.get(word as usize).copied().unwrap_or(0),
                None => u32::MAX,
            };
            place.put_at(word as usize, chosen & there);
        }
        Ok(())
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

    /// `hsa_amd_agent_set_async_scratch_limit`: no agent gives scratch back while kernels run, and
    /// `HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX` says so.
    fn hsa_amd_agent_set_async_scratch_limit(state; agent: Agent, threshold: usize) {
        let _ = threshold;
        require_gpu(state.agent(agent)?)?;
        Err(Status::NOT_SUPPORTED)
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
