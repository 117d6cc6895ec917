//! The topology's files, written from the profiles: nothing else has figures.

use super::KfdFace;
use super::gpu::FaceGpu;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use rukh_core::backend::{CacheInfo, CacheKind, HeapKind, LinkInfo, LinkKind, Topology};

/// Where the kernel shows the topology, under both of its names.
const ROOTS: [&str; 2] = [
    "/sys/devices/virtual/kfd/kfd/topology",
    "/sys/class/kfd/kfd/topology",
];

/// The capability bits of `kfd_sysfs.h`.
mod capability {
    /// There are watch points, two to the power of bits 8 to 11.
    pub const WATCH_POINTS: u32 = 1 << 7;
    pub const WATCH_POINTS_SHIFT: u32 = 8;
    /// Doorbells of 64 bits.
    pub const DOORBELL_64: u32 = 2 << 12;
    pub const REVISION_SHIFT: u32 = 22;
    pub const SRAM_ECC: u32 = 1 << 26;
    pub const SVM: u32 = 1 << 27;
}

/// `debug_prop`: what a debugger would find. The lowest four bits count the address bits that a watch point ignores at
/// least (7), the next six those at most (29 on GFX9), then come dispatch information and watch points.
const DEBUG_PROPERTIES: u32 = 1495;

/// Lists of a node's directory, in the order of the `…_count` properties.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Banks,
    Caches,
    IoLinks,
    P2pLinks,
}

impl List {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "mem_banks" => Self::Banks,
            "caches" => Self::Caches,
            "io_links" => Self::IoLinks,
            "p2p_links" => Self::P2pLinks,
            _ => return None,
        })
    }
}

/// A cache, once for each that the node has.
struct Caches {
    cache: CacheInfo,
    count: u32,
    /// Compute units that share one.
    units: u32,
}

impl KfdFace {
    /// A path below the topology's root.
    fn below_root(path: &str) -> Option<&str> {
        ROOTS.iter().find_map(|root| {
            let rest = path.strip_prefix(root)?;
            if rest.is_empty() {
                Some(rest)
            } else {
                rest.strip_prefix('/')
            }
        })
    }

    /// Nodes, the processor's among them.
    pub(super) fn nodes(&self) -> u32 {
        1 + self.gpus.len() as u32
    }

    fn node(&self, text: &str) -> Option<u32> {
        let node: u32 = text.parse().ok()?;
        (node < self.nodes() && node.to_string() == text).then_some(node)
    }

    fn node_gpu(&self, node: u32) -> Option<&FaceGpu> {
        self.gpus.get(node.checked_sub(1)? as usize)
    }

    /// Whether the path is of the topology; then its file, if there is one.
    pub(super) fn topology_file(&self, path: &str) -> Option<Option<String>> {
        Some(self.file_below_root(Self::below_root(path)?))
    }

    fn file_below_root(&self, path: &str) -> Option<String> {
        let mut parts = path.split('/');
        match parts.next()? {
            // The kernel counts what it has found out about since it started.
            "generation_id" => return Some(format!("{}\n", self.nodes())),
            "system_properties" => {
                return Some("platform_oem 0\nplatform_id 0\nplatform_rev 0\n".into());
            }
            "nodes" => {}
            _ => return None,
        }
        let node = self.node(parts.next()?)?;
        let gpu = self.node_gpu(node);
        match (parts.next()?, parts.next(), parts.next(), parts.next()) {
            ("gpu_id", None, ..) => Some(format!("{}\n", gpu.map_or(0, |gpu| gpu.id))),
            ("name", None, ..) => Some(format!("{}\n", gpu.map_or("", |gpu| gpu.profile.chip))),
            ("properties", None, ..) => Some(match gpu {
                Some(gpu) => self.gpu_properties(node, gpu),
                None => self.cpu_properties(),
            }),
            (list, Some(index), Some("properties"), None) => {
                let at: usize = index
                    .parse()
                    .ok()
                    .filter(|at: &usize| at.to_string() == index)?;
                match List::parse(list)? {
                    List::Banks => (at == 0).then(|| self.bank(node)),
                    List::Caches => cache(gpu?, at as u32),
                    kind => self.links(node, kind).get(at).map(link_properties),
                }
            }
            _ => None,
        }
    }

    /// Whether the path is of the topology; then what is in the directory, if it is one.
    pub(super) fn topology_directory(&self, path: &str) -> Option<Option<Vec<String>>> {
        Some(self.directory_below_root(Self::below_root(path)?))
    }

    fn directory_below_root(&self, path: &str) -> Option<Vec<String>> {
        let names = |names: &[&str]| Some(names.iter().map(|name| String::from(*name)).collect());
        let numbers = |count: u32| Some((0..count).map(|n| n.to_string()).collect());
        if path.is_empty() {
            return names(&["generation_id", "system_properties", "nodes"]);
        }
        let mut parts = path.split('/');
        if parts.next() != Some("nodes") {
            return None;
        }
        let Some(node) = parts.next() else {
            return numbers(self.nodes());
        };
        let node = self.node(node)?;
        let Some(list) = parts.next() else {
            return names(&[
                "gpu_id",
                "name",
                "properties",
                "mem_banks",
                "caches",
                "io_links",
                "p2p_links",
            ]);
        };
        let count = self.count(node, List::parse(list)?);
        match (parts.next(), parts.next()) {
            (None, _) => numbers(count),
            (Some(index), None) if index.parse().is_ok_and(|at: u32| at < count) => {
                names(&["properties"])
            }
            _ => None,
        }
    }

    fn count(&self, node: u32, list: List) -> u32 {
        match list {
            List::Banks => 1,
            List::Caches => self
                .node_gpu(node)
                .map_or(0, |gpu| caches(gpu).iter().map(|caches| caches.count).sum()),
            kind => self.links(node, kind).len() as u32,
        }
    }

    /// Links that begin at a node: those between GPUs across the host are in a list of their own.
    fn links(&self, node: u32, list: List) -> Vec<LinkInfo> {
        let mut found = Vec::new();
        self.sim.links(&mut |link| {
            let across = link.from.0 != 0 && link.to.0 != 0 && link.kind != LinkKind::Xgmi;
            // The host has no way to what it does not map.
            let hidden = self.small_bar && link.from.0 == 0 && link.to.0 != 0;
            if !hidden && link.from.0 == node && across == (list == List::P2pLinks) {
                found.push(*link);
            }
        });
        found
    }

    fn counts(&self, node: u32) -> [(&'static str, u64); 4] {
        let count = |list| u64::from(self.count(node, list));
        [
            ("mem_banks_count", count(List::Banks)),
            ("caches_count", count(List::Caches)),
            ("io_links_count", count(List::IoLinks)),
            ("p2p_links_count", count(List::P2pLinks)),
        ]
    }

    fn cpu_properties(&self) -> String {
        let mut text = String::new();
        write(&mut text, "cpu_cores_count", self.sim.host().cores);
        write(&mut text, "simd_count", 0u32);
        for (key, value) in self.counts(0) {
            write(&mut text, key, value);
        }
        for key in CPU_ZEROS {
            write(&mut text, key, 0u32);
        }
        text
    }

    fn gpu_properties(&self, node: u32, gpu: &FaceGpu) -> String {
        let info = &gpu.info;
        let profile = gpu.profile;
        let arrays = info.shader_engines * info.arrays_per_engine;
        let watch = match info.watch_points {
            0 => 0,
            n => capability::WATCH_POINTS | n.ilog2() << capability::WATCH_POINTS_SHIFT,
        };
        let ecc = if profile.target_id.contains("sramecc+") {
            capability::SRAM_ECC
        } else {
            0
        };
        let capability = capability::DOORBELL_64
            | capability::SVM
            | watch
            | ecc
            | (info.asic_revision & 0xf) << capability::REVISION_SHIFT;
        let mut text = String::new();
        write(&mut text, "cpu_cores_count", 0u32);
        let simds = info.compute_units * info.simds_per_cu;
        write(&mut text, "simd_count", simds);
        for (key, value) in self.counts(node) {
            write(&mut text, key, value);
        }
        let figures: [(&str, u64); 33] = [
            ("cpu_core_id_base", 0),
            ("simd_id_base", 0x8000_1000 + u64::from(node - 1) * 0x1000),
            ("max_waves_per_simd", info.max_waves_per_simd.into()),
            ("lds_size_in_kb", (info.lds_bytes / 1024).into()),
            ("gds_size_in_kb", 0),
            ("num_gws", 64),
            ("wave_front_size", info.wavefront_size.into()),
            ("array_count", arrays.into()),
            ("simd_arrays_per_engine", info.arrays_per_engine.into()),
            (
                "cu_per_simd_array",
                info.compute_units.div_ceil(arrays.max(1)).into(),
            ),
            ("simd_per_cu", info.simds_per_cu.into()),
            ("max_slots_scratch_cu", info.max_slots_scratch_cu.into()),
            ("gfx_target_version", gpu.gfx_target_version().into()),
            ("vendor_id", info.vendor_id.into()),
            ("device_id", info.device_id.into()),
            ("location_id", info.location_id.into()),
            ("domain", info.domain.into()),
            ("drm_render_minor", gpu.render_minor.into()),
            ("hive_id", info.hive_id),
            ("num_sdma_engines", info.sdma_engines.into()),
            ("num_sdma_xgmi_engines", info.sdma_xgmi_engines.into()),
            (
                "num_sdma_queues_per_engine",
                profile.sdma_queues_per_engine().into(),
            ),
            ("num_cp_queues", 24),
            ("max_engine_clk_fcompute", info.max_clock_mhz.into()),
            ("local_mem_size", 0),
            ("fw_version", info.firmware_version.into()),
            ("capability", capability.into()),
            ("debug_prop", DEBUG_PROPERTIES.into()),
            ("sdma_fw_version", info.sdma_firmware_version.into()),
            ("unique_id", info.unique_id),
            ("num_xcc", info.xcc_count.into()),
            ("max_engine_clk_ccompute", 0),
            ("family_id", info.family_id.into()),
        ];
        for (key, value) in figures {
            write(&mut text, key, value);
        }
        text
    }

    /// The one bank of a node.
    fn bank(&self, node: u32) -> String {
        let mut text = String::new();
        let agent = rukh_core::backend::AgentId(node);
        self.sim.memory_banks(agent, &mut |bank| {
            let heap = match bank.heap {
                HeapKind::System => 0u32,
                HeapKind::VramPublic if self.small_bar => 2,
                HeapKind::VramPublic => 1,
                HeapKind::VramPrivate => 2,
                // Follow from the node's properties.
                HeapKind::Lds | HeapKind::Scratch => return,
            };
            write(&mut text, "heap_type", heap);
            write(&mut text, "size_in_bytes", bank.size);
            write(&mut text, "flags", 0u32);
            write(&mut text, "width", bank.width_bits);
            write(&mut text, "mem_clk_max", bank.max_clock_mhz);
        });
        text
    }
}

/// What is nothing on a node of processors.
const CPU_ZEROS: [&str; 24] = [
    "cpu_core_id_base",
    "simd_id_base",
    "max_waves_per_simd",
    "lds_size_in_kb",
    "gds_size_in_kb",
    "num_gws",
    "wave_front_size",
    "array_count",
    "simd_arrays_per_engine",
    "cu_per_simd_array",
    "simd_per_cu",
    "max_slots_scratch_cu",
    "gfx_target_version",
    "vendor_id",
    "device_id",
    "location_id",
    "domain",
    "drm_render_minor",
    "hive_id",
    "num_sdma_engines",
    "num_sdma_xgmi_engines",
    "num_sdma_queues_per_engine",
    "num_cp_queues",
    "max_engine_clk_ccompute",
];

fn write(text: &mut String, key: &str, value: impl Into<u64>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{key} {}", value.into());
}

fn caches(gpu: &FaceGpu) -> Vec<Caches> {
    let info = &gpu.info;
    let units = info.compute_units;
    let arrays = info.shader_engines * info.arrays_per_engine;
    let mut innermost = true;
    let of = |cache: &CacheInfo| {
        let count = match (cache.level, cache.kind) {
            // One for each compute unit; a second one of the first level is a shader array's.
            (1, CacheKind::Data) if core::mem::take(&mut innermost) => units,
            (1, CacheKind::Data) => arrays,
            // Shared by two.
            (1, _) => units.div_ceil(2),
            (2, _) => info.xcc_count,
            _ => 1,
        };
        let count = count.max(1);
        Caches {
            cache: *cache,
            count,
            units: units.div_ceil(count),
        }
    };
    gpu.profile.caches.iter().map(of).collect()
}

/// One of a GPU's caches.
fn cache(gpu: &FaceGpu, at: u32) -> Option<String> {
    let mut index = at;
    for caches in caches(gpu) {
        if index >= caches.count {
            index -= caches.count;
            continue;
        }
        let cache = caches.cache;
        let mut text = String::new();
        write(&mut text, "processor_id_low", index * caches.units);
        write(&mut text, "level", cache.level);
        write(&mut text, "size", cache.size / 1024);
        write(&mut text, "cache_line_size", cache.line_bytes);
        write(&mut text, "cache_lines_per_tag", 1u32);
        write(&mut text, "association", 16u32);
        write(&mut text, "latency", 1u32);
        // Bit 0 data, bit 1 instructions, bit 3 of a GPU.
        let kind = match cache.kind {
            CacheKind::Instruction => 10u32,
            _ => 9,
        };
        write(&mut text, "type", kind);
        let siblings: Vec<&str> = (0..caches.units).map(|_| "1").collect();
        let _ = writeln!(text, "sibling_map {}", siblings.join(","));
        return Some(text);
    }
    None
}

fn link_properties(link: &LinkInfo) -> String {
    let mut text = String::new();
    let (kind, bandwidth) = match link.kind {
        LinkKind::Xgmi => (11u32, (50_000, 50_000)),
        LinkKind::HyperTransport => (1, (0, 0)),
        LinkKind::Qpi => (5, (0, 0)),
        LinkKind::InfiniBand => (9, (0, 0)),
        _ => (2, (312, 31_500)),
    };
    // Bit 0: the other bits count, each of which says what does not work.
    let lacks = |works: bool, bit: u32| if works { 0 } else { 1u32 << bit };
    let flags = 1 | lacks(link.coherent, 1) | lacks(link.atomic32, 2) | lacks(link.atomic64, 3);
    write(&mut text, "type", kind);
    write(&mut text, "version_major", 0u32);
    write(&mut text, "version_minor", 0u32);
    write(&mut text, "node_from", link.from.0);
    write(&mut text, "node_to", link.to.0);
    write(&mut text, "weight", link.weight);
    write(&mut text, "min_latency", link.latency_ns.0);
    write(&mut text, "max_latency", link.latency_ns.1);
    write(&mut text, "min_bandwidth", bandwidth.0 as u32);
    write(&mut text, "max_bandwidth", bandwidth.1 as u32);
    write(&mut text, "recommended_transfer_size", 0u32);
    write(&mut text, "recommended_sdma_engine_id_mask", 0u32);
    write(&mut text, "flags", flags);
    text
}
