//! Which agents there are, and everything about them that does not change.

use thiserror_no_std::Error;

/// An agent of a backend: an index from 0, CPU agents first, stable while the backend lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AgentId(pub u32);

/// A short text of a device: at most 63 bytes of UTF-8, as `hsa_agent_get_info` gives it.
pub type Name = heapless::String<64>;

/// What an agent is.
#[derive(Clone, Debug)]
pub enum AgentKind {
    /// A NUMA node of the host.
    Cpu {
        /// Number of logical processors of the node.
        cores: u32,
    },
    /// A GPU that consumes AQL packets.
    Gpu(GpuInfo),
}

/// Facts of a GPU. Zero means that the device does not say.
#[derive(Clone, Debug, Default)]
pub struct GpuInfo {
    /// Instruction set as `amdgcn-amd-amdhsa--gfxNNN[:sramecc±][:xnack±]`.
    pub isa: Name,
    /// Lanes of a wavefront unless a kernel descriptor says otherwise: 32 or 64.
    pub wavefront_size: u32,
    /// Compute units, all XCCs together.
    pub compute_units: u32,
    /// SIMD units per compute unit.
    pub simds_per_cu: u32,
    /// Shader engines, all XCCs together.
    pub shader_engines: u32,
    /// Shader arrays per shader engine.
    pub arrays_per_engine: u32,
    /// Wave slots per SIMD unit.
    pub max_waves_per_simd: u32,
    /// Scratch wave slots per compute unit.
    pub max_slots_scratch_cu: u32,
    /// Accelerator complex dies that execute one dispatch together; at least 1.
    pub xcc_count: u32,
    /// Group memory per work-group, in bytes.
    pub lds_bytes: u32,
    /// Highest engine clock, in MHz.
    pub max_clock_mhz: u32,
    /// PCI device id.
    pub device_id: u32,
    /// PCI vendor id; 0x1002 is AMD's.
    pub vendor_id: u32,
    /// PCI location: bus in bits 8-15, device in bits 3-7, function in bits 0-2.
    pub location_id: u32,
    /// PCI domain.
    pub domain: u32,
    /// DRM family id.
    pub family_id: u32,
    /// ASIC revision.
    pub asic_revision: u32,
    /// Version of the packet processor's firmware.
    pub firmware_version: u32,
    /// Version of the SDMA firmware.
    pub sdma_firmware_version: u32,
    /// Number of SDMA engines for host transfers.
    pub sdma_engines: u32,
    /// Number of SDMA engines for XGMI transfers.
    pub sdma_xgmi_engines: u32,
    /// Queues that can exist at once.
    pub max_queues: u32,
    /// Identifies the board world-wide, or 0.
    pub unique_id: u64,
    /// Identifies the XGMI hive, or 0.
    pub hive_id: u64,
    /// Address where flat addresses reach group memory (4 GiB aperture).
    pub group_aperture: u64,
    /// Address where flat addresses reach private memory (4 GiB aperture).
    pub private_aperture: u64,
    /// Number of hardware address watch points.
    pub watch_points: u32,
    /// Whether images are supported.
    pub images: bool,
    /// Whether the device reads and writes host memory without registration (XNACK on).
    pub svm_direct_host_access: bool,
    /// Whether the GPU shares the host's memory (an APU).
    pub apu: bool,
}

/// One agent.
#[derive(Clone, Debug)]
pub struct AgentInfo {
    /// What it is.
    pub kind: AgentKind,
    /// Short name: a GPU's processor (`gfx90a`), a CPU's model.
    pub name: Name,
    /// Marketing name.
    pub product_name: Name,
    /// Vendor name (`AMD`, `CPU`).
    pub vendor: Name,
    /// The driver's node number; a file in a KFD topology.
    pub node: u32,
    /// Line size of the outermost cache, in bytes.
    pub cache_line_bytes: u32,
}

/// What kind of memory a bank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeapKind {
    /// Host memory of a NUMA node.
    System,
    /// Device memory that the host can map.
    VramPublic,
    /// Device memory that the host cannot map.
    VramPrivate,
    /// Group memory; not allocatable.
    Lds,
    /// Private memory; not allocatable.
    Scratch,
}

/// A memory bank of an agent.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBank {
    /// What it is.
    pub heap: HeapKind,
    /// Size in bytes.
    pub size: u64,
    /// Bus width in bits.
    pub width_bits: u32,
    /// Highest memory clock, in MHz.
    pub max_clock_mhz: u32,
}

/// What a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// A cache of an agent.
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// Level, from 1.
    pub level: u32,
    /// Size in bytes.
    pub size: u64,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// What it holds.
    pub kind: CacheKind,
}

/// The bus of a link (`hsa_amd_link_info_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkKind {
    /// HyperTransport.
    HyperTransport,
    /// QPI.
    Qpi,
    /// PCI Express.
    PciExpress,
    /// InfiniBand.
    InfiniBand,
    /// XGMI.
    Xgmi,
}

/// A link from one agent to another, in that direction.
#[derive(Clone, Copy, Debug)]
pub struct LinkInfo {
    /// Where it starts.
    pub from: AgentId,
    /// Where it ends.
    pub to: AgentId,
    /// The bus.
    pub kind: LinkKind,
    /// The driver's distance figure; 20 and less is a direct link.
    pub weight: u32,
    /// Bandwidth bounds, in MB/s; 0 if unknown.
    pub bandwidth_mb_s: (u32, u32),
    /// Latency bounds, in nanoseconds; 0 if unknown.
    pub latency_ns: (u32, u32),
    /// Whether 32-bit atomics work across it.
    pub atomic32: bool,
    /// Whether 64-bit atomics work across it.
    pub atomic64: bool,
    /// Whether it keeps caches coherent.
    pub coherent: bool,
}

/// Why a device that exists is not an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SkipReason {
    /// A file or device node could not be opened.
    CannotOpen {
        /// Its path, cut to 63 bytes.
        path: Name,
        /// What the system answered.
        errno: i32,
    },
    /// The processor is not one that the runtime knows.
    UnknownProcessor {
        /// The driver's `gfx_target_version`, decimal MMmmss.
        gfx_target_version: u32,
    },
    /// A property is missing or out of range.
    BadProperty {
        /// The property's key.
        key: Name,
        /// Its value, if there was a number.
        value: Option<u64>,
    },
    /// The device or its driver works in a way that the backend does not support.
    Unsupported {
        /// What is not supported.
        what: &'static str,
    },
}

/// A device that is there but unusable, and why: kept so that users are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedAgent {
    /// The driver's node number.
    pub node: u32,
    /// Why.
    pub reason: SkipReason,
}

/// Why a topology cannot be told.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TopologyError {
    /// There is no such agent.
    #[error("there is no agent {}; {count} exist", .agent.0)]
    NoAgent {
        /// The agent asked for.
        agent: AgentId,
        /// How many there are.
        count: u32,
    },
    /// The operating system refused.
    #[error("{call} failed with errno {errno}")]
    Os {
        /// The call that failed.
        call: &'static str,
        /// What the system answered.
        errno: i32,
    },
}

/// Lists agents. All answers stay the same while the backend lives.
pub trait Topology {
    /// Number of agents; the ids are `0..agent_count()`.
    fn agent_count(&self) -> u32;

    /// One agent's facts.
    ///
    /// # Errors
    /// [`TopologyError::NoAgent`] for an id out of range.
    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError>;

    /// An agent's memory banks, in the order of [`BankId::index`](super::BankId::index).
    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank));

    /// An agent's caches, innermost first.
    fn caches(&self, agent: AgentId, visit: &mut dyn FnMut(&CacheInfo));

    /// All links between agents.
    fn links(&self, visit: &mut dyn FnMut(&LinkInfo));

    /// Devices that exist but are not agents, and why.
    fn skipped(&self, visit: &mut dyn FnMut(&SkippedAgent)) {
        let _ = visit;
    }
}
