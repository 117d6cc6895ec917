//! One node's properties, each checked against what it can be.

use super::text::{Properties, Value};
use rukh_core::backend::{HeapKind, LinkKind, MemoryBank, SkipReason};

/// What a GPU's properties file says, within bounds: nothing here can overflow later on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuProperties {
    /// SIMD units, all XCCs together.
    pub simd_count: u32,
    /// SIMD units per compute unit.
    pub simd_per_cu: u32,
    /// Shader arrays, all XCCs together.
    pub array_count: u32,
    /// Shader arrays per shader engine.
    pub arrays_per_engine: u32,
    /// Wave slots per SIMD unit.
    pub max_waves_per_simd: u32,
    /// Scratch wave slots per compute unit.
    pub max_slots_scratch_cu: u32,
    /// Group memory per compute unit, in KiB.
    pub lds_kib: u32,
    /// Lanes of a wave.
    pub wavefront_size: u32,
    /// Decimal digits MMmmss.
    pub gfx_target_version: u32,
    /// Accelerator complex dies.
    pub xcc_count: u32,
    /// Minor number of the render node.
    pub render_minor: u32,
    /// `HSA_CAP` bits.
    pub capability: u32,
    /// PCI ids and place.
    pub vendor_id: u32,
    /// PCI device id.
    pub device_id: u32,
    /// PCI bus, device, function.
    pub location_id: u32,
    /// PCI domain.
    pub domain: u32,
    /// DRM family.
    pub family_id: u32,
    /// Packet processor's firmware.
    pub firmware_version: u32,
    /// SDMA firmware.
    pub sdma_firmware_version: u32,
    /// SDMA engines for the host.
    pub sdma_engines: u32,
    /// SDMA engines for XGMI.
    pub sdma_xgmi_engines: u32,
    /// Queues of the packet processor in hardware.
    pub cp_queues: u32,
    /// Engine clock in MHz.
    pub max_clock_mhz: u32,
    /// The board.
    pub unique_id: u64,
    /// The hive.
    pub hive_id: u64,
    /// Size of the context save area of an XCC, if the kernel says so (6.18 and later).
    pub cwsr_size: Option<u32>,
    /// Size of its control stack, if the kernel says so.
    pub ctl_stack_size: Option<u32>,
}

/// Bits of [`GpuProperties::capability`], from the kernel's `kfd_sysfs.h`.
pub mod capability {
    /// Number of address watch points, as a power of two in bits 8 to 11, if bit 7 is set.
    pub const WATCH_POINTS: u32 = 1 << 7;
    /// Shift of that exponent.
    pub const WATCH_POINTS_SHIFT: u32 = 8;
    /// Shift of the doorbell type, two bits.
    pub const DOORBELL_SHIFT: u32 = 12;
    /// The doorbell type of GFX9 and later: 64-bit registers.
    pub const DOORBELL_64: u32 = 2;
    /// Shift of the ASIC revision, four bits.
    pub const ASIC_REVISION_SHIFT: u32 = 22;
    /// SRAM ECC is on.
    pub const SRAM_ECC: u32 = 1 << 26;
    /// Ranges of shared virtual memory.
    pub const SVM: u32 = 1 << 27;
    /// GPU and CPU share coherent memory.
    pub const COHERENT_HOST: u32 = 1 << 28;
}

fn bad(key: &str, value: Value) -> SkipReason {
    SkipReason::BadProperty {
        key: super::name(key),
        value: value.number(),
    }
}

/// The most of anything that is counted: more compute units than any GPU has, few enough that
/// products of a few of them fit into 64 bits.
const MANY: u64 = 1 << 16;

impl GpuProperties {
    /// Checks a properties file.
    ///
    /// # Errors
    /// The first property that is missing or cannot be.
    pub fn parse(properties: &Properties<'_>) -> Result<Self, SkipReason> {
        let within = |key: &str, low: u64, high: u64| {
            let value = properties.get(key);
            value
                .bounded(high)
                .filter(|&n| n >= low)
                .map(|n| n as u32)
                .ok_or_else(|| bad(key, value))
        };
        // What is for display alone is 0 if it is missing or unlikely.
        let loose = |key: &str| {
            properties
                .get(key)
                .bounded(u64::from(u32::MAX))
                .unwrap_or(0) as u32
        };
        let size = |key: &str| properties.get(key).bounded(1 << 30).filter(|&n| n != 0);
        let gpu = Self {
            simd_count: within("simd_count", 1, MANY)?,
            simd_per_cu: within("simd_per_cu", 1, 64)?,
            array_count: within("array_count", 1, MANY)?,
            arrays_per_engine: within("simd_arrays_per_engine", 1, MANY)?,
            max_waves_per_simd: within("max_waves_per_simd", 1, 256)?,
            // Old kernels do not say; 32 has been the figure since GFX7.
            max_slots_scratch_cu: match properties.get("max_slots_scratch_cu") {
                Value::Absent | Value::Number(0) => 32,
                _ => within("max_slots_scratch_cu", 1, 1024)?,
            },
            lds_kib: within("lds_size_in_kb", 1, 1 << 20)?,
            wavefront_size: within("wave_front_size", 32, 64)?,
            gfx_target_version: within("gfx_target_version", 1, 999_999)?,
            xcc_count: match properties.get("num_xcc") {
                Value::Absent | Value::Number(0) => 1,
                _ => within("num_xcc", 1, 128)?,
            },
            render_minor: within("drm_render_minor", 1, (1 << 20) - 1)?,
            capability: loose("capability"),
            vendor_id: loose("vendor_id"),
            device_id: loose("device_id"),
            location_id: loose("location_id"),
            domain: loose("domain"),
            family_id: loose("family_id"),
            firmware_version: loose("fw_version") & 0x3ff,
            sdma_firmware_version: loose("sdma_fw_version") & 0x3ff,
            sdma_engines: loose("num_sdma_engines").min(MANY as u32),
            sdma_xgmi_engines: loose("num_sdma_xgmi_engines").min(MANY as u32),
            cp_queues: loose("num_cp_queues").min(MANY as u32),
            max_clock_mhz: loose("max_engine_clk_fcompute"),
            unique_id: properties.get("unique_id").number().unwrap_or(0),
            hive_id: properties.get("hive_id").number().unwrap_or(0),
            cwsr_size: size("cwsr_size").map(|n| n as u32),
            ctl_stack_size: size("ctl_stack_size").map(|n| n as u32),
        };
        if !gpu.wavefront_size.is_power_of_two() {
            return Err(bad("wave_front_size", properties.get("wave_front_size")));
        }
        if gpu.compute_units() < gpu.xcc_count {
            return Err(bad("simd_count", properties.get("simd_count")));
        }
        if gpu.shader_engines() == 0 {
            return Err(bad("array_count", properties.get("array_count")));
        }
        Ok(gpu)
    }

    /// Compute units, all XCCs together.
    pub const fn compute_units(&self) -> u32 {
        self.simd_count / self.simd_per_cu
    }

    /// Shader engines, all XCCs together.
    pub const fn shader_engines(&self) -> u32 {
        self.array_count / self.arrays_per_engine
    }

    /// How a doorbell is written.
    pub const fn doorbell_type(&self) -> u32 {
        self.capability >> capability::DOORBELL_SHIFT & 3
    }
}

/// A memory bank's file. None for a kind that is not allocated from, or an empty one.
pub fn memory_bank(properties: &Properties<'_>) -> Option<MemoryBank> {
    let loose = |key| {
        properties
            .get(key)
            .bounded(u64::from(u32::MAX))
            .unwrap_or(0) as u32
    };
    let heap = match properties.get("heap_type").bounded(5)? {
        0 => HeapKind::System,
        1 => HeapKind::VramPublic,
        2 => HeapKind::VramPrivate,
        // Global data share is no pool; group and private memory follow from the node's properties.
        _ => return None,
    };
    Some(MemoryBank {
        heap,
        // More than 4 PiB is no memory size.
        size: properties
            .get("size_in_bytes")
            .bounded(1 << 52)
            .filter(|&n| n != 0)?,
        width_bits: loose("width"),
        max_clock_mhz: loose("mem_clk_max"),
    })
}

/// A link's file, as far as it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkProperties {
    /// Node that it ends at.
    pub to: u32,
    /// The bus.
    pub kind: LinkKind,
    /// Distance.
    pub weight: u32,
    /// MB/s.
    pub bandwidth: (u32, u32),
    /// Nanoseconds.
    pub latency: (u32, u32),
    /// `HSA_IOLINK_FLAGS` bits.
    pub flags: u32,
}

/// Flag bits of a link, from `kfd_sysfs.h`: each says what does not work.
pub mod link_flag {
    /// No cache coherence.
    pub const NON_COHERENT: u32 = 1 << 1;
    /// No 32-bit atomics.
    pub const NO_ATOMICS_32: u32 = 1 << 2;
    /// No 64-bit atomics.
    pub const NO_ATOMICS_64: u32 = 1 << 3;
    /// No direct access.
    pub const NO_P2P: u32 = 1 << 4;
}

/// A link's file. None for a bus that HSA has no name for, and for one without direct access.
pub fn link(properties: &Properties<'_>) -> Option<LinkProperties> {
    let loose = |key| {
        properties
            .get(key)
            .bounded(u64::from(u32::MAX))
            .unwrap_or(0) as u32
    };
    let kind = match properties.get("type").bounded(16)? {
        1 => LinkKind::HyperTransport,
        2 => LinkKind::PciExpress,
        5 => LinkKind::Qpi,
        9 => LinkKind::InfiniBand,
        11 => LinkKind::Xgmi,
        _ => return None,
    };
    let link = LinkProperties {
        to: properties.get("node_to").bounded(u64::from(u32::MAX))? as u32,
        kind,
        weight: loose("weight"),
        bandwidth: (loose("min_bandwidth"), loose("max_bandwidth")),
        latency: (loose("min_latency"), loose("max_latency")),
        flags: loose("flags"),
    };
    (link.flags & link_flag::NO_P2P == 0).then_some(link)
}
