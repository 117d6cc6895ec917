//! Chapter agents: which there are, what they are, their caches.

use crate::abi::{
    Agent, AgentAttribute, Cache, CacheInfo, ClockCountersInfo, DeviceType, Dim3, HdpFlush, Isa,
    MachineModel, Parts, Profile, QueueType, RoundingMode, Status, VisitAgent, VisitCache,
};
use crate::arg::{AnyPlace, Out, Value};
use crate::devices;
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::State;
use crate::state::open;
use crate::system;
use core::ffi::c_void;
use rukh_core::backend::{AgentKind, CacheKind, GpuInfo, HeapKind, MemoryBank};
use rukh_core::config::{QUEUE_MAX_PACKETS, QUEUE_MIN_PACKETS};
use rukh_core::runtime::Agent as CoreAgent;

/// `hsa_agent_feature_t`: kernel dispatch.
const FEATURE_KERNEL_DISPATCH: u32 = 1;
/// Most work-items of a work-group, altogether and in a dimension.
pub const WORKGROUP_MAX: u16 = 1024;
/// Most work-items of a grid in each dimension.
pub const GRID_MAX: Dim3 = Dim3 {
    x: i32::MAX as u32,
    y: 65535,
    z: 65535,
};
/// Fine-grained barriers of a work-group.
pub const FBARRIER_MAX: u32 = 32;
/// First of the image extension's attributes.
const IMAGE_ATTRIBUTES: u32 = AgentAttribute::Image1dMaxElements as u32;

/// What a GPU answers where a CPU answers zero.
fn of_gpu<T: Default>(gpu: Option<&GpuInfo>, get: impl FnOnce(&GpuInfo) -> T) -> T {
    gpu.map(get).unwrap_or_default()
}

/// Capacity of the innermost cache of levels 1 to 4 that holds data, in bytes.
fn cache_sizes(agent: &CoreAgent) -> [u32; 4] {
    let mut sizes = [0u32; 4];
    let data = agent
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction);
    for cache in data {
        let level = (cache.level as usize).wrapping_sub(1);
        if let Some(size @ 0) = sizes.get_mut(level) {
            *size = u32::try_from(cache.size).unwrap_or(u32::MAX);
        }
    }
    sizes
}

/// The bank that describes an agent's memory: device memory, or the host's.
fn main_bank(state: &State, agent: &CoreAgent) -> Option<MemoryBank> {
    let mut found = None;
    state.backend().memory_banks(agent.id, &mut |bank| {
        let main = matches!(
            bank.heap,
            HeapKind::System | HeapKind::VramPublic | HeapKind::VramPrivate
        );
        if main && found.is_none() {
            found = Some(*bank);
        }
    });
    found
}

/// `GPU-` and 16 digits, or `XX` where the hardware has no number.
fn uuid(gpu: Option<&GpuInfo>) -> String {
    match gpu {
        Some(gpu) => devices::uuid(gpu.unique_id),
        None => "CPU-XX".into(),
    }
}

/// The CPU that is nearest to an agent: itself, or the first with the lightest link.
fn nearest_cpu(state: &State, agent: &CoreAgent) -> Result<Agent> {
    if matches!(agent.info.kind, AgentKind::Cpu { .. }) {
        return state.agent_handle(agent.id);
    }
    let mut best = None;
    state.backend().links(&mut |link| {
        let to_cpu = link.from == agent.id
            && state
                .agents()
                .get(link.to.0 as usize)
                .is_some_and(|to| matches!(to.info.kind, AgentKind::Cpu { .. }));
        if to_cpu && best.is_none_or(|(weight, _)| link.weight < weight) {
            best = Some((link.weight, link.to));
        }
    });
    match best {
        Some((_, id)) => state.agent_handle(id),
        None => Ok(Agent { handle: 0 }),
    }
}

/// Bytes that can still be allocated of an agent's own memory.
fn memory_available(state: &State, agent: &CoreAgent) -> u64 {
    agent
        .pools
        .iter()
        .find(|pool| pool.allocatable)
        .and_then(|pool| state.backend().available(pool.bank).ok())
        .unwrap_or(0)
}

/// Answers an attribute.
pub fn info(
    state: &State,
    agent: &CoreAgent,
    attribute: AgentAttribute,
    place: AnyPlace,
) -> Result {
    use AgentAttribute as A;
    let gpu = match &agent.info.kind {
        AgentKind::Gpu(gpu) => Some(gpu),
        AgentKind::Cpu { .. } => None,
    };
    match attribute {
        A::Name => place.put_text::<64>(&agent.info.name),
        A::VendorName => place.put_text::<64>(&agent.info.vendor),
        A::Feature => place.put(of_gpu(gpu, |_| FEATURE_KERNEL_DISPATCH)),
        A::MachineModel => place.put(MachineModel::Large as u32),
        A::Profile => place.put(match gpu {
            Some(_) => Profile::Base as u32,
            None => Profile::Full as u32,
        }),
        A::DefaultFloatRoundingMode | A::BaseProfileDefaultFloatRoundingModes => {
            place.put(RoundingMode::Near as u32)
        }
        A::FastF16Operation => place.put(of_gpu(gpu, |_| true)),
        A::WavefrontSize => place.put(of_gpu(gpu, |gpu| gpu.wavefront_size)),
        A::WorkgroupMaxDim => place.put(of_gpu(gpu, |_| [WORKGROUP_MAX; 3])),
        A::WorkgroupMaxSize => place.put(of_gpu(gpu, |_| u32::from(WORKGROUP_MAX))),
        A::GridMaxDim => place.put(of_gpu(gpu, |_| GRID_MAX)),
        A::GridMaxSize => place.put(of_gpu(gpu, |_| u32::MAX)),
        A::FbarrierMaxSize => place.put(of_gpu(gpu, |_| FBARRIER_MAX)),
        A::QueuesMax => place.put(of_gpu(gpu, |gpu| {
            state
                .devices
                .max_queues
                .unwrap_or(u32::MAX)
                .min(gpu.max_queues)
        })),
        A::QueueMinSize => place.put(of_gpu(gpu, |_| QUEUE_MIN_PACKETS)),
        A::QueueMaxSize => place.put(of_gpu(gpu, |_| QUEUE_MAX_PACKETS)),
        A::QueueType => place.put(QueueType::Multi as u32),
        A::Node | A::DriverNodeId => place.put(agent.info.node),
        A::Device => place.put(match gpu {
            Some(_) => DeviceType::Gpu as u32,
            None => DeviceType::Cpu as u32,
        }),
        A::CacheSize => place.put(cache_sizes(agent)),
        A::Isa => place.put(match &agent.isa {
            Some(isa) => state.isa_handle(*isa)?,
            None => Isa { handle: 0 },
        }),
        A::Extensions => place.put(of_gpu(gpu, |_| Mask(system::extension_mask())).0),
        A::VersionMajor => place.put(1u16),
        A::VersionMinor => place.put(1u16),
        _ if (IMAGE_ATTRIBUTES..).contains(&(attribute as u32)) && (attribute as u32) < 0xA000 => {
            image_info(gpu, attribute, place)
        }
        _ => amd_info(state, agent, gpu, attribute, place),
    }
}

/// A mask of 128 bytes, zero by default (arrays of that length have no `Default`).
#[derive(Clone, Copy)]
struct Mask([u8; 128]);

impl Default for Mask {
    fn default() -> Self {
        Self([0; 128])
    }
}

/// No agent has images. The numbers are 32 bits wide in AMD's runtime, whatever the header says, and
/// clients leave room for no more.
fn image_info(gpu: Option<&GpuInfo>, attribute: AgentAttribute, place: AnyPlace) -> Result {
    use AgentAttribute as A;
    match attribute {
        A::Image2dMaxElements
        | A::Image2daMaxElements
        | A::Image2ddepthMaxElements
        | A::Image2dadepthMaxElements => place.put([0u32; 2]),
        A::Image3dMaxElements => place.put([0u32; 3]),
        // Handles, as AMD's runtime counts them for every GPU, those without images too: without them HIP
        // refuses even to allocate rows with a pitch.
        A::MaxImageRdHandles => place.put(of_gpu(gpu, |_| 128u32)),
        A::MaxImageRorwHandles => place.put(of_gpu(gpu, |_| 64u32)),
        A::MaxSamplerHandlers => place.put(of_gpu(gpu, |_| 16u32)),
        _ => place.put(0u32),
    }
}

/// AMD's attributes.
fn amd_info(
    state: &State,
    agent: &CoreAgent,
    gpu: Option<&GpuInfo>,
    attribute: AgentAttribute,
    place: AnyPlace,
) -> Result {
    use AgentAttribute as A;
    match attribute {
        A::ChipId => place.put(of_gpu(gpu, |gpu| gpu.device_id)),
        A::CachelineSize => place.put(agent.info.cache_line_bytes),
        A::ComputeUnitCount => place.put(match &agent.info.kind {
            AgentKind::Cpu { cores } => *cores,
            AgentKind::Gpu(gpu) => gpu.compute_units,
        }),
        A::CooperativeComputeUnitCount => place.put(of_gpu(gpu, |gpu| gpu.compute_units)),
        A::MaxClockFrequency => place.put(of_gpu(gpu, |gpu| gpu.max_clock_mhz)),
        // A CPU has one, as in AMD's runtime.
        A::MaxAddressWatchPoints => place.put(gpu.map_or(1, |gpu| gpu.watch_points)),
        A::Bdfid => place.put(of_gpu(gpu, |gpu| gpu.location_id)),
        A::MemoryWidth => place.put(main_bank(state, agent).map_or(0, |bank| bank.width_bits)),
        A::MemoryMaxFrequency => {
            place.put(main_bank(state, agent).map_or(0, |bank| bank.max_clock_mhz))
        }
        A::ProductName => place.put_text::<64>(&agent.info.product_name),
        A::MaxWavesPerCu => place.put(of_gpu(gpu, |gpu| {
            gpu.max_waves_per_simd.saturating_mul(gpu.simds_per_cu)
        })),
        A::NumSimdsPerCu => place.put(of_gpu(gpu, |gpu| gpu.simds_per_cu)),
        A::NumShaderEngines => place.put(of_gpu(gpu, |gpu| gpu.shader_engines)),
        A::NumShaderArraysPerSe => place.put(of_gpu(gpu, |gpu| gpu.arrays_per_engine)),
        A::HdpFlush => place.put(HdpFlush {
            memory: core::ptr::null_mut(),
            registers: core::ptr::null_mut(),
        }),
        A::Domain => place.put(of_gpu(gpu, |gpu| gpu.domain)),
        A::CooperativeQueues => place.put(false),
        A::Uuid => place.put_text::<21>(&uuid(gpu)),
        A::AsicRevision => place.put(of_gpu(gpu, |gpu| gpu.asic_revision)),
        A::SvmDirectHostAccess => place.put(gpu.is_none_or(|gpu| gpu.svm_direct_host_access)),
        A::MemoryAvail => place.put(memory_available(state, agent)),
        A::TimestampFrequency => place.put(match gpu {
            Some(_) => state.backend().device_frequency(agent.id),
            None => 1_000_000_000,
        }),
        A::AsicFamilyId => place.put(of_gpu(gpu, |gpu| gpu.family_id)),
        A::UcodeVersion => place.put(of_gpu(gpu, |gpu| gpu.firmware_version)),
        A::SdmaUcodeVersion => place.put(of_gpu(gpu, |gpu| gpu.sdma_firmware_version)),
        A::NumSdmaEng => place.put(of_gpu(gpu, |gpu| gpu.sdma_engines)),
        A::NumSdmaXgmiEng => place.put(of_gpu(gpu, |gpu| gpu.sdma_xgmi_engines)),
        A::IommuSupport => place.put(0u32),
        A::NumXcc => place.put(of_gpu(gpu, |gpu| gpu.xcc_count)),
        A::DriverUid => place.put(of_gpu(gpu, |_| agent.info.node)),
        A::NearestCpu => place.put(nearest_cpu(state, agent)?),
        A::MemoryProperties => place.put(u64::from(of_gpu(gpu, |gpu| gpu.apu))),
        A::AqlExtensions => place.put(0u64),
        A::ScratchLimitMax | A::ScratchLimitCurrent => place.put(0u64),
        A::ClockCounters => {
            let counters = state.backend().counters(agent.id);
            place.put(ClockCountersInfo {
                gpu: of_gpu(gpu, |_| counters.device),
                cpu: counters.system,
                system: counters.system,
                system_frequency: 1_000_000_000,
            })
        }
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

entry! {
    /// `hsa_agent_get_info`: an attribute of an agent.
    fn hsa_agent_get_info(state; agent: Agent, attribute: u32, value: Value) {
        let agent = state.agent(agent)?;
        let place = value.required()?;
        let attribute = AgentAttribute::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        info(&state, agent, attribute, place)
    }

    /// `hsa_agent_get_exception_policies`: none is supported.
    fn hsa_agent_get_exception_policies(state; agent: Agent, profile: u32, mask: Out<u16>) {
        state.agent(agent)?;
        let place = mask.required()?;
        Profile::from_raw(profile).ok_or(Status::INVALID_ARGUMENT)?;
        place.put(0);
        Ok(())
    }

    /// `hsa_agent_extension_supported`: whether an agent has an extension in a version.
    fn hsa_agent_extension_supported(state; extension: u16, agent: Agent, version_major: u16,
        version_minor: u16, result: Out<bool>) {
        let place = result.required()?;
        place.put(false);
        let supported = system::extension_supported(extension, version_major, version_minor)?;
        let agent = state.agent(agent)?;
        place.put(supported && agent.isa.is_some());
        Ok(())
    }

    /// `hsa_agent_major_extension_supported`: whether an agent has an extension, and its highest
    /// minor version.
    fn hsa_agent_major_extension_supported(state; extension: u16, agent: Agent, version_major: u16,
        version_minor: Out<u16>, result: Out<bool>) {
        let (minor, result) = (version_minor.required()?, result.required()?);
        result.put(false);
        let highest = system::extension_minor(extension, version_major)?;
        let agent = state.agent(agent)?;
        if let Some(highest) = highest.filter(|_| agent.isa.is_some()) {
            minor.put(highest);
            result.put(true);
        }
        Ok(())
    }

    /// `hsa_cache_get_info`: an attribute of a cache.
    fn hsa_cache_get_info(state; cache: Cache, attribute: u32, value: Value) {
        let parts = cache.parts().ok_or(Status::INVALID_CACHE)?;
        let agent = state.agents().get(parts.slot as usize).ok_or(Status::INVALID_CACHE)?;
        let cache = agent.caches.get(parts.sub as usize).ok_or(Status::INVALID_CACHE)?;
        let place = value.required()?;
        // The length counts the NUL, as that of an ISA's name does.
        let name = format!("{} L{}\0", agent.info.name, cache.level);
        match CacheInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            CacheInfo::NameLength => place.put(u32::try_from(name.len()).unwrap_or(u32::MAX)),
            CacheInfo::Name => place.put_bytes(name.as_bytes()),
            CacheInfo::Level => place.put(u8::try_from(cache.level).unwrap_or(u8::MAX)),
            CacheInfo::Size => place.put(u32::try_from(cache.size).unwrap_or(u32::MAX)),
        }
    }
}

callbacks! {
    /// `hsa_iterate_agents`: shows every agent, CPUs first, until the callback does not answer
    /// SUCCESS.
    fn hsa_iterate_agents(callback: VisitAgent, data: *mut c_void) {
        let agents = gather("hsa_iterate_agents", || {
            let state = open()?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            state.visible().into_iter().map(|agent| state.agent_handle(agent.id)).collect::<Result<Vec<_>>>()
        })?;
        crate::callback::each(callback, agents, data)
    }

    /// `hsa_agent_iterate_caches`: shows every cache of an agent, innermost first.
    fn hsa_agent_iterate_caches(agent: Agent, callback: VisitCache, data: *mut c_void) {
        let caches = gather("hsa_agent_iterate_caches", || {
            let state = open()?;
            let agent = state.agent(agent)?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            (0u32..).zip(&agent.caches)
                .map(|(index, _)| {
                    Cache::from_parts(Parts::sub(agent.id.0, index)).ok_or(Status::OUT_OF_RESOURCES)
                })
                .collect::<Result<Vec<_>>>()
        })?;
        crate::callback::each(callback, caches, data)
    }
}
