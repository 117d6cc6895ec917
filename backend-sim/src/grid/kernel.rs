//! From a dispatch packet and its kernel descriptor to what every wave starts with.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", sections "Kernel Descriptor", "Initial Kernel
//! Execution State" and "Preloaded Kernel Arguments".

use super::shape::Shape;
use crate::device::PacketError;
use crate::isa::Arch;
use crate::mem::{Access, MemoryView, raw};
use crate::profile::{MAX_WORKGROUP, Profile};
use rukh_core::wire::aql::KernelDispatchPacket;
use rukh_core::wire::kernel_descriptor::{ALIGN, ENTRY_ALIGN, KernelDescriptor, SIZE};

/// SGPRs that a start state can have: 32 user SGPRs of the encoding, and 5 system SGPRs.
pub(crate) const START_SGPRS: usize = 40;

/// Features of a processor that change how waves start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartRules {
    /// All work-item ids in v0, 10 bits each.
    pub packed_ids: bool,
    /// FLAT_SCRATCH is set by hardware; there is no scratch wave offset SGPR.
    pub architected_flat_scratch: bool,
    /// Work-group ids are in TTMP registers.
    pub ttmp_group_ids: bool,
    /// Kernel arguments can be preloaded.
    pub kernarg_preload: bool,
}

impl StartRules {
    pub(crate) const fn of(arch: Arch) -> Self {
        let gfx942 = arch.is_gfx942_plus();
        let gfx11 = arch.is_gfx11_plus();
        Self {
            packed_ids: arch.is_gfx90a_plus() || gfx11,
            architected_flat_scratch: gfx942 || gfx11,
            ttmp_group_ids: arch.is_gfx12_plus(),
            kernarg_preload: arch.is_gfx90a_plus(),
        }
    }
}

/// What the queue gives to a dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueContext {
    /// Address of the packet in the ring.
    pub packet: u64,
    /// Address of the `amd_queue_t`.
    pub queue: u64,
    /// The packet's index.
    pub dispatch_id: u64,
    /// Scratch buffer descriptor.
    pub scratch_descriptor: [u32; 4],
    /// Address of the queue's scratch memory.
    pub scratch_base: u64,
}

/// Everything that the waves of one dispatch have in common.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub arch: Arch,
    pub rules: StartRules,
    /// Lanes of a wave.
    pub lanes: u32,
    /// Architectural vector registers of a wave.
    pub vgprs: u16,
    /// Accumulation registers of a wave.
    pub acc_vgprs: u16,
    /// First value of the MODE register.
    pub mode: u32,
    /// Address of the first instruction.
    pub entry: u64,
    /// Work-item id components in vector registers, less one.
    pub id_components: u32,
    /// User SGPRs, the same for all waves.
    pub sgprs: [u32; START_SGPRS],
    /// Where work-group ids stand.
    pub group_id_sgpr: [Option<u8>; 3],
    /// Where work-group information stands.
    pub group_info_sgpr: Option<u8>,
    /// Where the scratch wave offset stands.
    pub scratch_offset_sgpr: Option<u8>,
    /// Number of SGPRs that are set.
    pub sgpr_count: u8,
    /// Whether waves get scratch memory.
    pub uses_scratch: bool,
    /// Address of the queue's scratch memory.
    pub scratch_base: u64,
    /// Group memory of a work-group, in bytes.
    pub group_bytes: u32,
    /// Work-groups that the device holds at once.
    pub resident_groups: u32,
}

/// The queue's scratch descriptor as a wave gets it. From gfx10 on, waves of one queue have two sizes, and the packet
/// processor fills in the index stride (word 3, bits 21 and 22: 2 for 32 lanes, 3 for 64); the runtime of GFX9 does.
fn scratch_descriptor(arch: Arch, lanes: u32, mut words: [u32; 4]) -> [u32; 4] {
    if !arch.is_gfx9() {
        let stride = if lanes == 32 { 2 } else { 3 };
        words[3] = words[3] & !(3 << 21) | stride << 21;
    }
    words
}

/// The descriptor of a packet's kernel, and whether waves of it need scratch.
pub(crate) fn descriptor(
    view: &MemoryView,
    profile: &Profile,
    packet: &KernelDispatchPacket,
) -> Result<KernelDescriptor, PacketError> {
    let address = packet.kernel_object;
    let bad = |why| PacketError::KernelObject { address, why };
    if address == 0 {
        return Err(bad("is null"));
    }
    if !address.is_multiple_of(ALIGN) {
        return Err(bad("is not aligned to 64 bytes"));
    }
    let host = view
        .host(address, SIZE as u64, Access::Read)
        .ok_or(bad("is not in memory that the agent can read"))?;
    let mut bytes = [0u8; SIZE];
    // SAFETY: `host` gave an address that is readable for SIZE bytes; `bytes` has as many.
    unsafe { raw::copy_in(host, bytes.as_mut_ptr(), SIZE) };
    let descriptor = KernelDescriptor::parse(&bytes);
    let entry = descriptor
        .entry(address)
        .ok_or(bad("has an entry that is not aligned to 256 bytes"))?;
    if view.host(entry, 4, Access::Execute).is_none() {
        return Err(bad("has an entry that the agent cannot execute"));
    }
    let wave32 = descriptor.properties.enable_wavefront_size32();
    if wave32 && profile.arch.is_gfx9() {
        return Err(bad(
            "asks for waves of 32 lanes, which the agent does not have",
        ));
    }
    Ok(descriptor)
}

/// Checks a packet against its device and works out how waves start.
pub(crate) fn prepare(
    view: &MemoryView,
    profile: &Profile,
    compute_units: u32,
    packet: &KernelDispatchPacket,
    descriptor: &KernelDescriptor,
    shape: &Shape,
    cx: &QueueContext,
) -> Result<Kernel, PacketError> {
    let arch = profile.arch;
    let rules = StartRules::of(arch);
    let lanes = if !arch.is_gfx9() && descriptor.properties.enable_wavefront_size32() {
        32
    } else {
        64
    };
    if packet.group_segment_size > profile.lds_bytes {
        return Err(PacketError::GroupMemory {
            bytes: packet.group_segment_size,
            limit: profile.lds_bytes,
        });
    }
    let registers = Registers::of(arch, lanes, descriptor);
    let waves = shape.workgroup_items().div_ceil(lanes);
    let resident_groups = occupancy(
        profile,
        compute_units,
        lanes,
        registers.total,
        waves,
        packet.group_segment_size,
        descriptor.rsrc1.wgp_mode(),
    )
    .ok_or(PacketError::Registers {
        registers: registers.total,
        waves,
    })?;
    let mut kernel = Kernel {
        arch,
        rules,
        lanes,
        vgprs: registers.vgprs,
        acc_vgprs: registers.acc,
        mode: mode(arch, descriptor),
        entry: descriptor.entry(packet.kernel_object).unwrap_or_default(),
        id_components: descriptor.rsrc2.enable_vgpr_workitem_id().min(2),
        sgprs: [0; START_SGPRS],
        group_id_sgpr: [None; 3],
        group_info_sgpr: None,
        scratch_offset_sgpr: None,
        sgpr_count: 0,
        uses_scratch: uses_scratch(packet, descriptor),
        scratch_base: cx.scratch_base,
        group_bytes: packet.group_segment_size,
        resident_groups,
    };
    kernel.fill_sgprs(view, packet, descriptor, cx)?;
    Ok(kernel)
}

/// Whether a dispatch needs scratch memory.
pub(crate) fn uses_scratch(packet: &KernelDispatchPacket, descriptor: &KernelDescriptor) -> bool {
    descriptor.rsrc2.enable_private_segment() && packet.private_segment_size > 0
}

/// The first value of MODE: bits 0-7 rounding and denormals, 8 DX10_CLAMP, 9 IEEE, 12-18 floating-point exceptions that
/// trap, 23 FP16_OVFL.
fn mode(arch: Arch, descriptor: &KernelDescriptor) -> u32 {
    let rsrc1 = descriptor.rsrc1;
    // RSRC2 has the exceptions in the order of MODE.
    let float = rsrc1.0 >> 12 & 0xff | (descriptor.rsrc2.0 >> 24 & 0x7f) << 12;
    let ovfl = u32::from(rsrc1.fp16_ovfl()) << 23;
    if arch.is_gfx12_plus() {
        // Clamping NaN to zero is no choice any more, and there is no IEEE mode.
        return float | 1 << 8 | ovfl;
    }
    float
        | u32::from(rsrc1.enable_dx10_clamp()) << 8
        | u32::from(rsrc1.enable_ieee_mode()) << 9
        | ovfl
}

struct Registers {
    vgprs: u16,
    acc: u16,
    /// Of one file: what occupancy counts.
    total: u32,
}

impl Registers {
    fn of(arch: Arch, lanes: u32, descriptor: &KernelDescriptor) -> Self {
        let granule = if arch.is_gfx90a_plus() || lanes == 32 {
            8
        } else {
            4
        };
        let total = (descriptor.rsrc1.granulated_workitem_vgpr_count() + 1) * granule;
        let (vgprs, acc) = if arch.is_gfx90a_plus() {
            let split = ((descriptor.rsrc3.accum_offset() + 1) * 4).min(total);
            (split, total - split)
        } else if arch == Arch::Gfx908 {
            (total, total)
        } else {
            (total, 0)
        };
        Self {
            vgprs: vgprs.min(256) as u16,
            acc: acc.min(256) as u16,
            total,
        }
    }
}

/// Work-groups that the device holds at once; `None` if a unit cannot hold one.
fn occupancy(
    profile: &Profile,
    compute_units: u32,
    lanes: u32,
    registers: u32,
    waves: u32,
    group_bytes: u32,
    wgp_mode: bool,
) -> Option<u32> {
    // From gfx10 on two compute units can act as one work-group processor.
    let paired = !profile.arch.is_gfx9() && (wgp_mode || waves > profile.waves_per_cu());
    let units = if paired { 2 } else { 1 };
    // A wave of twice the native lanes takes two registers for one.
    let of_native = lanes.div_ceil(profile.wavefront_size).max(1);
    let granule = profile.vgpr_granule;
    let taken = registers.div_ceil(granule).max(1) * granule * of_native;
    let per_simd = profile.waves_per_simd.min(profile.vgprs_per_simd / taken);
    let by_waves = per_simd * profile.simds_per_cu * units / waves.max(1);
    let by_lds = match group_bytes {
        0 => u32::MAX,
        bytes => profile.lds_bytes * units / bytes.next_multiple_of(512).min(profile.lds_bytes),
    };
    let per_unit = by_waves.min(by_lds);
    (per_unit > 0).then(|| per_unit * (compute_units / units).max(1))
}

impl Kernel {
    /// User SGPRs in their fixed order, then the places of system SGPRs.
    fn fill_sgprs(
        &mut self,
        view: &MemoryView,
        packet: &KernelDispatchPacket,
        descriptor: &KernelDescriptor,
        cx: &QueueContext,
    ) -> Result<(), PacketError> {
        let properties = descriptor.properties;
        let flat = self.rules.architected_flat_scratch;
        let mut at = 0usize;
        let mut put = |words: &[u32], sgprs: &mut [u32; START_SGPRS]| {
            for word in words {
                if let Some(slot) = sgprs.get_mut(at) {
                    *slot = *word;
                }
                at += 1;
            }
            at
        };
        let mut used = 0;
        if properties.enable_sgpr_private_segment_buffer() && !flat {
            let words = scratch_descriptor(self.arch, self.lanes, cx.scratch_descriptor);
            used = put(&words, &mut self.sgprs);
        }
        if properties.enable_sgpr_dispatch_ptr() {
            used = put(&pair(cx.packet), &mut self.sgprs);
        }
        if properties.enable_sgpr_queue_ptr() {
            used = put(&pair(cx.queue), &mut self.sgprs);
        }
        if properties.enable_sgpr_kernarg_segment_ptr() {
            used = put(&pair(packet.kernarg_address), &mut self.sgprs);
        }
        if properties.enable_sgpr_dispatch_id() {
            used = put(&pair(cx.dispatch_id), &mut self.sgprs);
        }
        if properties.enable_sgpr_flat_scratch_init() && !flat {
            used = put(&pair(cx.scratch_base), &mut self.sgprs);
        }
        if properties.enable_sgpr_private_segment_size() {
            let size = packet.private_segment_size.saturating_add(3) & !3;
            used = put(&[size], &mut self.sgprs);
        }
        let preload = descriptor.kernarg_preload;
        if self.rules.kernarg_preload && preload.length() > 0 {
            // At most the 16 user SGPRs are ever loaded.
            let words = (preload.length() as usize).min(16usize.saturating_sub(used));
            let from = packet
                .kernarg_address
                .wrapping_add(u64::from(preload.offset()) * 4);
            let mut values = [0u32; 16];
            if words > 0 {
                let host = view.host(from, words as u64 * 4, Access::Read).ok_or(
                    PacketError::KernelObject {
                        address: packet.kernel_object,
                        why: "preloads kernel arguments that the agent cannot read",
                    },
                )?;
                // SAFETY: `host` is readable for `words` dwords, and `values` has 16.
                unsafe { raw::copy_in(host, values.as_mut_ptr().cast(), words * 4) };
            }
            put(&values[..words], &mut self.sgprs);
            // The first 256 bytes load the arguments where firmware does not.
            self.entry = self.entry.wrapping_add(ENTRY_ALIGN);
        }
        // System SGPRs follow the number of user SGPRs that the descriptor states.
        let mut next = descriptor.rsrc2.user_sgpr_count() as u8;
        let mut take = |on: bool| {
            on.then(|| {
                next += 1;
                next - 1
            })
        };
        let rsrc2 = descriptor.rsrc2;
        if !self.rules.ttmp_group_ids {
            self.group_id_sgpr = [
                take(rsrc2.enable_sgpr_workgroup_id_x()),
                take(rsrc2.enable_sgpr_workgroup_id_y()),
                take(rsrc2.enable_sgpr_workgroup_id_z()),
            ];
        }
        self.group_info_sgpr = take(rsrc2.enable_sgpr_workgroup_info());
        self.scratch_offset_sgpr = take(rsrc2.enable_private_segment() && !flat);
        self.sgpr_count = next.min(START_SGPRS as u8);
        Ok(())
    }
}

fn pair(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Checks the sizes of a packet.
pub(crate) fn shape(packet: &KernelDispatchPacket) -> Result<Shape, PacketError> {
    let dimensions = packet.dimensions();
    if dimensions == 0 {
        return Err(PacketError::Dimensions { dimensions });
    }
    let used = |i: usize| i < usize::from(dimensions);
    let size = |i: usize| {
        if used(i) {
            u32::from(packet.workgroup_size[i])
        } else {
            1
        }
    };
    let workgroup = [size(0), size(1), size(2)];
    let items = workgroup.iter().map(|n| u64::from(*n)).product::<u64>();
    if items == 0 || items > u64::from(MAX_WORKGROUP) {
        return Err(PacketError::WorkgroupSize {
            size: workgroup,
            limit: MAX_WORKGROUP,
        });
    }
    let extent = |i: usize| if used(i) { packet.grid_size[i] } else { 1 };
    let grid = [extent(0), extent(1), extent(2)];
    Shape::new(grid, workgroup).ok_or(PacketError::GridSize { size: grid })
}
