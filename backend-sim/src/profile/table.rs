//! The table of GPUs.

use super::Profile;
use crate::isa::Arch;
use rukh_core::backend::{CacheInfo, CacheKind};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const fn cache(level: u32, size: u64, line_bytes: u32, kind: CacheKind) -> CacheInfo {
    CacheInfo {
        level,
        size,
        line_bytes,
        kind,
    }
}

/// Data, instruction and second-level cache of a GFX9 device, in bytes.
const fn gfx9_caches(l2: u64) -> [CacheInfo; 3] {
    [
        cache(1, 16 * KIB, 64, CacheKind::Data),
        cache(1, 32 * KIB, 64, CacheKind::Instruction),
        cache(2, l2, 128, CacheKind::Unified),
    ]
}

const VEGA_CACHES: &[CacheInfo] = &gfx9_caches(4 * MIB);
const MI100_CACHES: &[CacheInfo] = &gfx9_caches(8 * MIB);
const MI200_CACHES: &[CacheInfo] = &gfx9_caches(8 * MIB);
const MI300_CACHES: &[CacheInfo] = &[
    cache(1, 32 * KIB, 128, CacheKind::Data),
    cache(1, 64 * KIB, 128, CacheKind::Instruction),
    cache(2, 4 * MIB, 128, CacheKind::Unified),
    cache(3, 256 * MIB, 128, CacheKind::Unified),
];

/// First two levels of an RDNA device, then the sizes of L2 and the memory-side cache.
const fn rdna_caches(l0: u64, l1: u64, l2: u64, l3: u64) -> [CacheInfo; 5] {
    [
        cache(1, l0, 128, CacheKind::Data),
        cache(1, 32 * KIB, 64, CacheKind::Instruction),
        cache(1, l1, 128, CacheKind::Data),
        cache(2, l2, 128, CacheKind::Unified),
        cache(3, l3, 64, CacheKind::Unified),
    ]
}

const NAVI21_CACHES: &[CacheInfo] = &rdna_caches(16 * KIB, 128 * KIB, 4 * MIB, 128 * MIB);
const NAVI31_CACHES: &[CacheInfo] = &rdna_caches(32 * KIB, 256 * KIB, 6 * MIB, 96 * MIB);
const NAVI48_CACHES: &[CacheInfo] = &rdna_caches(32 * KIB, 32 * KIB, 8 * MIB, 64 * MIB);

/// What the members of a generation have in common; entries change what differs.
const GFX9: Profile = Profile {
    name: "",
    product: "",
    chip: "",
    arch: Arch::Gfx900,
    target_id: "",
    wavefront_size: 64,
    compute_units: 0,
    simds_per_cu: 4,
    shader_engines: 4,
    arrays_per_engine: 1,
    waves_per_simd: 10,
    scratch_slots_per_cu: 32,
    xcc_count: 1,
    lds_bytes: 64 << 10,
    vgprs_per_simd: 256,
    vgpr_granule: 4,
    max_clock_mhz: 0,
    counter_hz: 100_000_000,
    device_id: 0,
    family_id: 141,
    revision: 1,
    pci_revision: 0,
    sdma_engines: 2,
    sdma_xgmi_engines: 0,
    vram_bytes: 0,
    vram_width_bits: 2048,
    vram_clock_mhz: 945,
    caches: VEGA_CACHES,
    cache_line_bytes: 64,
    xgmi: false,
};

/// CDNA 2 and later: one register file for both kinds of vector registers.
const CDNA2: Profile = Profile {
    waves_per_simd: 8,
    vgprs_per_simd: 512,
    vgpr_granule: 8,
    shader_engines: 8,
    sdma_xgmi_engines: 3,
    vram_width_bits: 4096,
    vram_clock_mhz: 1600,
    caches: MI200_CACHES,
    cache_line_bytes: 128,
    xgmi: true,
    ..GFX9
};

const CDNA3: Profile = Profile {
    shader_engines: 32,
    xcc_count: 8,
    sdma_xgmi_engines: 14,
    vram_width_bits: 8192,
    vram_clock_mhz: 1300,
    caches: MI300_CACHES,
    ..CDNA2
};

const RDNA: Profile = Profile {
    wavefront_size: 32,
    simds_per_cu: 2,
    arrays_per_engine: 2,
    waves_per_simd: 16,
    vgprs_per_simd: 1536,
    vgpr_granule: 8,
    vram_width_bits: 256,
    cache_line_bytes: 128,
    ..GFX9
};

pub(super) static PROFILES: &[Profile] = &[
    Profile {
        name: "gfx900",
        product: "Radeon RX Vega 64",
        chip: "vega10",
        arch: Arch::Gfx900,
        target_id: "gfx900:xnack-",
        compute_units: 64,
        max_clock_mhz: 1630,
        device_id: 0x687f,
        pci_revision: 0xc1,
        vram_bytes: 8 * GIB,
        ..GFX9
    },
    Profile {
        name: "gfx906",
        product: "Radeon Instinct MI50",
        chip: "vega20",
        arch: Arch::Gfx906,
        target_id: "gfx906:sramecc+:xnack-",
        compute_units: 60,
        max_clock_mhz: 1725,
        device_id: 0x66a1,
        pci_revision: 0x02,
        sdma_xgmi_engines: 0,
        vram_bytes: 16 * GIB,
        vram_width_bits: 4096,
        vram_clock_mhz: 1000,
        xgmi: true,
        ..GFX9
    },
    Profile {
        name: "gfx908",
        product: "Instinct MI100",
        chip: "arcturus",
        arch: Arch::Gfx908,
        target_id: "gfx908:sramecc+:xnack-",
        compute_units: 120,
        shader_engines: 8,
        max_clock_mhz: 1502,
        device_id: 0x738c,
        pci_revision: 0x01,
        sdma_xgmi_engines: 6,
        vram_bytes: 32 * GIB,
        vram_width_bits: 4096,
        vram_clock_mhz: 1200,
        caches: MI100_CACHES,
        xgmi: true,
        ..GFX9
    },
    Profile {
        name: "gfx90a",
        product: "Instinct MI210",
        chip: "aldebaran",
        arch: Arch::Gfx90a,
        target_id: "gfx90a:sramecc+:xnack-",
        compute_units: 104,
        max_clock_mhz: 1700,
        device_id: 0x740f,
        pci_revision: 0x02,
        vram_bytes: 64 * GIB,
        ..CDNA2
    },
    Profile {
        name: "gfx942",
        product: "Instinct MI300X",
        chip: "ip discovery",
        arch: Arch::Gfx942,
        target_id: "gfx942:sramecc+:xnack-",
        compute_units: 304,
        max_clock_mhz: 2100,
        device_id: 0x74a1,
        vram_bytes: 192 * GIB,
        ..CDNA3
    },
    Profile {
        name: "gfx950",
        product: "Instinct MI355X",
        chip: "ip discovery",
        arch: Arch::Gfx950,
        target_id: "gfx950:sramecc+:xnack-",
        compute_units: 256,
        lds_bytes: 160 << 10,
        max_clock_mhz: 2400,
        device_id: 0x75a3,
        vram_bytes: 288 * GIB,
        vram_clock_mhz: 2000,
        ..CDNA3
    },
    Profile {
        name: "gfx1030",
        product: "Radeon RX 6900 XT",
        chip: "sienna_cichlid",
        arch: Arch::Gfx1030,
        target_id: "gfx1030",
        compute_units: 80,
        shader_engines: 4,
        vgprs_per_simd: 1024,
        max_clock_mhz: 2660,
        device_id: 0x73bf,
        pci_revision: 0xc0,
        family_id: 143,
        vram_bytes: 16 * GIB,
        vram_clock_mhz: 1000,
        caches: NAVI21_CACHES,
        ..RDNA
    },
    Profile {
        name: "gfx1100",
        product: "Radeon RX 7900 XTX",
        chip: "ip discovery",
        arch: Arch::Gfx1100,
        target_id: "gfx1100",
        compute_units: 96,
        shader_engines: 6,
        max_clock_mhz: 2482,
        device_id: 0x744c,
        pci_revision: 0xc8,
        family_id: 145,
        vram_bytes: 24 * GIB,
        vram_width_bits: 384,
        vram_clock_mhz: 1250,
        caches: NAVI31_CACHES,
        ..RDNA
    },
    Profile {
        name: "gfx1201",
        product: "Radeon RX 9070 XT",
        chip: "ip discovery",
        arch: Arch::Gfx1201,
        target_id: "gfx1201",
        compute_units: 64,
        shader_engines: 4,
        max_clock_mhz: 2970,
        device_id: 0x7550,
        pci_revision: 0xc0,
        family_id: 152,
        vram_bytes: 16 * GIB,
        vram_clock_mhz: 1258,
        caches: NAVI48_CACHES,
        ..RDNA
    },
];
