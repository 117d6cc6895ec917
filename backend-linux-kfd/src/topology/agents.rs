//! Agents and links out of a snapshot: CPUs first, then the GPUs that could be opened.

use super::node::{GpuProperties, capability, link_flag};
use super::{Node, Snapshot, name};
use crate::drm::DeviceInfo;
use crate::queues::QueueSizes;
use alloc::string::ToString;
use alloc::vec::Vec;
use rukh_core::backend::{
    AgentId, AgentInfo, AgentKind, CacheInfo, GpuInfo, HeapKind, LinkInfo, LinkKind, MemoryBank,
    Name, SkipReason,
};
use rukh_core::isa::{Feature, FeatureName, Isa, Processor};

/// An agent and what the seam asks about it.
#[derive(Clone, Debug)]
pub(crate) struct AgentRecord {
    pub info: AgentInfo,
    pub banks: Vec<MemoryBank>,
    pub caches: Vec<CacheInfo>,
    /// Index of the GPU, for one.
    pub gpu: Option<usize>,
}

/// What a GPU is, as far as its properties and the interface's version tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub processor: &'static Processor,
    pub sizes: QueueSizes,
    pub sram_ecc: bool,
}

/// What is known of a GPU once it is open.
pub(crate) struct Opened<'a> {
    pub node: u32,
    pub identity: Identity,
    pub xnack: bool,
    pub device: Option<&'a DeviceInfo>,
    pub product: Name,
    /// First addresses of the flat apertures: group, private.
    pub apertures: (u64, u64),
}

/// Interface version (minor) that first told SRAM ECC apart.
const SRAM_ECC_SINCE: u32 = 4;

/// Says what a GPU is, or why it cannot be used.
pub(crate) fn identify(gpu: &GpuProperties, minor: u32) -> Result<Identity, SkipReason> {
    let version = gpu.gfx_target_version;
    let processor =
        Processor::from_gfx_target_version(version).ok_or(SkipReason::UnknownProcessor {
            gfx_target_version: version,
        })?;
    if processor.version.major < 9 {
        return Err(SkipReason::Unsupported {
            what: "processors before GFX9",
        });
    }
    if gpu.doorbell_type() != capability::DOORBELL_64 {
        return Err(SkipReason::Unsupported {
            what: "doorbells of less than 64 bits",
        });
    }
    if version == 90_006 && minor < SRAM_ECC_SINCE {
        return Err(SkipReason::Unsupported {
            what: "gfx906 on a kernel that does not tell whether SRAM ECC is on (KFD before 1.4)",
        });
    }
    let sizes = QueueSizes::of(gpu).ok_or(SkipReason::BadProperty {
        key: name("cwsr_size"),
        value: gpu.cwsr_size.map(u64::from),
    })?;
    Ok(Identity {
        processor,
        sizes,
        // gfx908 always has it on, whatever early kernels said.
        sram_ecc: version == 90_008
            || (minor >= SRAM_ECC_SINCE && gpu.capability & capability::SRAM_ECC != 0),
    })
}

impl Identity {
    fn isa(&self, xnack: bool) -> Isa {
        let mut isa = Isa::new(self.processor);
        for (feature, on) in [
            (FeatureName::Xnack, xnack),
            (FeatureName::Sramecc, self.sram_ecc),
        ] {
            let value = if on { Feature::On } else { Feature::Off };
            // A processor without the setting keeps having none.
            if let Ok(set) = isa.with(feature, value) {
                isa = set;
            }
        }
        isa
    }
}

fn cpu(node: &Node, model: &Name) -> AgentRecord {
    AgentRecord {
        info: AgentInfo {
            kind: AgentKind::Cpu { cores: node.cores },
            name: model.clone(),
            product_name: model.clone(),
            vendor: name("CPU"),
            node: node.id,
            cache_line_bytes: 64,
        },
        banks: node.banks_of(false).copied().collect(),
        caches: if node.gpu.is_none() {
            node.caches.clone()
        } else {
            Vec::new()
        },
        gpu: None,
    }
}

fn gpu(node: &Node, properties: &GpuProperties, opened: &Opened<'_>, index: usize) -> AgentRecord {
    let processor = opened.identity.processor;
    let version = properties.gfx_target_version;
    let isa = opened.identity.isa(opened.xnack);
    let watch = properties.capability & capability::WATCH_POINTS != 0;
    let info = GpuInfo {
        isa: name(&isa.to_string()),
        wavefront_size: properties.wavefront_size,
        compute_units: properties.compute_units(),
        simds_per_cu: properties.simd_per_cu,
        shader_engines: properties.shader_engines(),
        arrays_per_engine: properties.arrays_per_engine,
        max_waves_per_simd: properties.max_waves_per_simd,
        max_slots_scratch_cu: properties.max_slots_scratch_cu,
        xcc_count: properties.xcc_count,
        lds_bytes: properties.lds_kib * 1024,
        max_clock_mhz: properties.max_clock_mhz,
        device_id: properties.device_id,
        vendor_id: properties.vendor_id,
        location_id: properties.location_id,
        domain: properties.domain,
        family_id: match opened.device {
            Some(device) if properties.family_id == 0 => device.family,
            _ => properties.family_id,
        },
        asic_revision: properties.capability >> capability::ASIC_REVISION_SHIFT & 0xf,
        firmware_version: properties.firmware_version,
        sdma_firmware_version: properties.sdma_firmware_version,
        sdma_engines: properties.sdma_engines,
        sdma_xgmi_engines: properties.sdma_xgmi_engines,
        max_queues: crate::queues::MAX_QUEUES,
        unique_id: properties.unique_id,
        hive_id: properties.hive_id,
        group_aperture: opened.apertures.0,
        private_aperture: opened.apertures.1,
        watch_points: if watch {
            1 << (properties.capability >> capability::WATCH_POINTS_SHIFT & 0xf)
        } else {
            0
        },
        // The compute-only parts have no image instructions.
        images: !(90_400..=90_599).contains(&version),
        svm_direct_host_access: opened.xnack,
        apu: opened.device.is_some_and(DeviceInfo::is_apu)
            || node.cores != 0
            || properties.capability & capability::COHERENT_HOST != 0,
    };
    let mut banks: Vec<MemoryBank> = node.banks_of(true).copied().collect();
    banks.push(MemoryBank {
        heap: HeapKind::Lds,
        size: u64::from(properties.lds_kib) * 1024,
        width_bits: 0,
        max_clock_mhz: 0,
    });
    let line = node
        .caches
        .iter()
        .rev()
        .find(|cache| cache.line_bytes != 0)
        .map_or(64, |cache| cache.line_bytes);
    AgentRecord {
        info: AgentInfo {
            kind: AgentKind::Gpu(info),
            name: name(processor.name),
            product_name: if opened.product.is_empty() {
                node.chip.clone()
            } else {
                opened.product.clone()
            },
            vendor: name("AMD"),
            node: node.id,
            cache_line_bytes: line,
        },
        banks,
        caches: node.caches.clone(),
        gpu: Some(index),
    }
}

/// Puts agents and links together. `opened` is in the order of GPU indices.
pub(crate) fn build(
    snapshot: &Snapshot,
    opened: &[Opened<'_>],
    model: &Name,
) -> (Vec<AgentRecord>, Vec<LinkInfo>) {
    let mut agents: Vec<AgentRecord> = snapshot
        .nodes
        .iter()
        .filter(|node| node.cores != 0)
        .map(|node| cpu(node, model))
        .collect();
    for (index, open) in opened.iter().enumerate() {
        let node = snapshot.nodes.iter().find(|node| node.id == open.node);
        if let Some(node) = node
            && let Some(properties) = &node.gpu
        {
            agents.push(gpu(node, properties, open, index));
        }
    }
    let links = links(snapshot, &agents);
    (agents, links)
}

/// A node's agent; of a node that has both, the GPU, whose links they are.
fn agent_of(agents: &[AgentRecord], node: u32) -> Option<AgentId> {
    agents
        .iter()
        .rposition(|agent| agent.info.node == node)
        .map(|index| AgentId(index as u32))
}

fn links(snapshot: &Snapshot, agents: &[AgentRecord]) -> Vec<LinkInfo> {
    let mut links = Vec::new();
    for node in &snapshot.nodes {
        let Some(from) = agent_of(agents, node.id) else {
            continue;
        };
        for link in &node.links {
            if let Some(to) = agent_of(agents, link.to) {
                links.push(LinkInfo {
                    from,
                    to,
                    kind: link.kind,
                    weight: link.weight,
                    bandwidth_mb_s: link.bandwidth,
                    latency_ns: link.latency,
                    atomic32: link.flags & link_flag::NO_ATOMICS_32 == 0,
                    atomic64: link.flags & link_flag::NO_ATOMICS_64 == 0,
                    coherent: link.flags & link_flag::NON_COHERENT == 0,
                });
            }
        }
    }
    if !snapshot.nodes.iter().any(|node| node.has_p2p_links) {
        add_indirect(agents, &mut links);
    }
    links
}

/// Kernels before 6.0 do not list what GPUs reach across the host: a GPU whose memory the host maps is reached over
/// the host's processors by any other.
fn add_indirect(agents: &[AgentRecord], links: &mut Vec<LinkInfo>) {
    let gpus = |public: bool| {
        agents.iter().enumerate().filter_map(move |(index, agent)| {
            let maps = agent.banks.iter().any(|b| b.heap == HeapKind::VramPublic);
            (agent.gpu.is_some() && (maps || !public)).then_some(AgentId(index as u32))
        })
    };
    let find =
        |links: &[LinkInfo], from, to| links.iter().find(|l| l.from == from && l.to == to).copied();
    let direct = links.len();
    for from in gpus(false) {
        for to in gpus(true) {
            let known = &links[..direct];
            if from == to || find(known, from, to).is_some() {
                continue;
            }
            let hops = known
                .iter()
                .filter(|up| up.from == from && agents[up.to.0 as usize].gpu.is_none())
                .filter_map(|up| {
                    if let Some(down) = find(known, up.to, to) {
                        return Some((*up, down, 0));
                    }
                    known
                        .iter()
                        .filter(|across| {
                            across.from == up.to && agents[across.to.0 as usize].gpu.is_none()
                        })
                        .find_map(|across| {
                            find(known, across.to, to).map(|down| (*up, down, across.weight))
                        })
                })
                .min_by_key(|(_, _, across)| *across);
            if let Some((up, down, across)) = hops {
                links.push(LinkInfo {
                    from,
                    to,
                    kind: LinkKind::PciExpress,
                    weight: up.weight.saturating_add(across).saturating_add(down.weight),
                    bandwidth_mb_s: (0, 0),
                    latency_ns: (0, 0),
                    atomic32: up.atomic32 && down.atomic32,
                    atomic64: up.atomic64 && down.atomic64,
                    coherent: up.coherent && down.coherent,
                });
            }
        }
    }
}
