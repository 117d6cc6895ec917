//! The 64-byte kernel descriptor: what a dispatch packet's `kernel_object` points to.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", section "Kernel Descriptor". [`KernelDescriptor`]
//! is the bytes; [`ComputePgmRsrc1`] and its siblings name the bits. A field whose meaning changed
//! between generations has one accessor per meaning, named in its comment; the bits themselves are
//! never masked, so that a descriptor from a newer generation survives a round trip.

use crate::isa::Processor;
use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a kernel descriptor.
pub const SIZE: usize = 64;
/// Alignment of a kernel descriptor in memory, in bytes.
pub const ALIGN: u64 = 64;
/// Alignment of a kernel's first instruction, in bytes.
pub const ENTRY_ALIGN: u64 = 256;

/// The descriptor as it lies in memory, little-endian, at any alignment.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Layout {
    group_segment_fixed_size: U32,
    private_segment_fixed_size: U32,
    kernarg_size: U32,
    reserved0: [u8; 4],
    kernel_code_entry_byte_offset: I64,
    reserved1: [u8; 20],
    compute_pgm_rsrc3: U32,
    compute_pgm_rsrc1: U32,
    compute_pgm_rsrc2: U32,
    kernel_code_properties: U16,
    kernarg_preload: U16,
    reserved3: [u8; 4],
}

crate::assert_layout!(Layout, size 64, align 1,
    group_segment_fixed_size @ 0,
    private_segment_fixed_size @ 4,
    kernarg_size @ 8,
    reserved0 @ 12,
    kernel_code_entry_byte_offset @ 16,
    reserved1 @ 24,
    compute_pgm_rsrc3 @ 44,
    compute_pgm_rsrc1 @ 48,
    compute_pgm_rsrc2 @ 52,
    kernel_code_properties @ 56,
    kernarg_preload @ 58,
    reserved3 @ 60,
);

/// A parsed kernel descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// LDS that a work-group needs before dynamic LDS, in bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch that a work-item needs, in bytes; a lower bound if the stack is dynamic.
    pub private_segment_fixed_size: u32,
    /// Kernel arguments, in bytes; 0 also where a compiler before LLVM 10 did not say.
    pub kernarg_size: u32,
    /// Reserved, bytes 12 to 16: zero in what compilers emit.
    pub reserved0: [u8; 4],
    /// Distance in bytes from the descriptor to the first instruction, which is 256-byte aligned.
    pub kernel_code_entry_byte_offset: i64,
    /// Reserved, bytes 24 to 44.
    pub reserved1: [u8; 20],
    /// `COMPUTE_PGM_RSRC3`: gfx90a, gfx94x, gfx950, gfx10 and later.
    pub rsrc3: ComputePgmRsrc3,
    /// `COMPUTE_PGM_RSRC1`.
    pub rsrc1: ComputePgmRsrc1,
    /// `COMPUTE_PGM_RSRC2`.
    pub rsrc2: ComputePgmRsrc2,
    /// Which values the packet processor puts in user SGPRs, and the wavefront size.
    pub properties: KernelCodeProperties,
    /// Which kernel arguments the packet processor loads into user SGPRs (gfx90a, gfx94x, gfx950).
    pub kernarg_preload: KernargPreload,
    /// Reserved, bytes 60 to 64.
    pub reserved3: [u8; 4],
}

impl KernelDescriptor {
    /// Parses a descriptor. Every bit pattern is one.
    #[must_use]
    pub fn parse(bytes: &[u8; SIZE]) -> Self {
        let l: Layout = zerocopy::transmute!(*bytes);
        Self {
            group_segment_fixed_size: l.group_segment_fixed_size.get(),
            private_segment_fixed_size: l.private_segment_fixed_size.get(),
            kernarg_size: l.kernarg_size.get(),
            reserved0: l.reserved0,
            kernel_code_entry_byte_offset: l.kernel_code_entry_byte_offset.get(),
            reserved1: l.reserved1,
            rsrc3: ComputePgmRsrc3(l.compute_pgm_rsrc3.get()),
            rsrc1: ComputePgmRsrc1(l.compute_pgm_rsrc1.get()),
            rsrc2: ComputePgmRsrc2(l.compute_pgm_rsrc2.get()),
            properties: KernelCodeProperties(l.kernel_code_properties.get()),
            kernarg_preload: KernargPreload(l.kernarg_preload.get()),
            reserved3: l.reserved3,
        }
    }

    /// The first [`SIZE`] bytes as a descriptor; `None` if there are fewer.
    #[must_use]
    pub fn new_checked(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk::<SIZE>().map(Self::parse)
    }

    /// The bytes of this descriptor: the inverse of [`Self::parse`].
    #[must_use]
    pub fn emit(&self) -> [u8; SIZE] {
        zerocopy::transmute!(Layout {
            group_segment_fixed_size: self.group_segment_fixed_size.into(),
            private_segment_fixed_size: self.private_segment_fixed_size.into(),
            kernarg_size: self.kernarg_size.into(),
            reserved0: self.reserved0,
            kernel_code_entry_byte_offset: self.kernel_code_entry_byte_offset.into(),
            reserved1: self.reserved1,
            compute_pgm_rsrc3: self.rsrc3.0.into(),
            compute_pgm_rsrc1: self.rsrc1.0.into(),
            compute_pgm_rsrc2: self.rsrc2.0.into(),
            kernel_code_properties: self.properties.0.into(),
            kernarg_preload: self.kernarg_preload.0.into(),
            reserved3: self.reserved3,
        })
    }

    /// Address of the first instruction for a descriptor at `kernel_object`; `None` if it lies
    /// outside the address space or is not 256-byte aligned.
    #[must_use]
    pub fn entry(&self, kernel_object: u64) -> Option<u64> {
        kernel_object
            .checked_add_signed(self.kernel_code_entry_byte_offset)
            .filter(|entry| entry % ENTRY_ALIGN == 0)
    }

    /// Work-items in a wavefront of this kernel: 32 or 64.
    #[must_use]
    pub fn wavefront_size(&self, processor: &Processor) -> u32 {
        if processor.version.major >= 10 && self.properties.enable_wavefront_size32() {
            32
        } else {
            64
        }
    }

    /// Vector registers that a work-item may address, accumulation registers included where they
    /// share the file: the encoded count, in the granule of the processor and wavefront size.
    #[must_use]
    pub fn vgpr_count(&self, processor: &Processor) -> u32 {
        let granule = if processor.has_unified_vgprs() || self.wavefront_size(processor) == 32 {
            8
        } else {
            4
        };
        (self.rsrc1.granulated_workitem_vgpr_count() + 1) * granule
    }

    /// First accumulation register in the unified file, in registers; `None` where the files are
    /// apart.
    #[must_use]
    pub fn accum_offset(&self, processor: &Processor) -> Option<u32> {
        processor
            .has_unified_vgprs()
            .then(|| (self.rsrc3.accum_offset() + 1) * 4)
    }

    /// Scalar registers of a wavefront, VCC and other trailing special registers included:
    /// encoded in eights up to gfx9; fixed at 128 from gfx10 on, where the field is reserved.
    #[must_use]
    pub fn sgpr_count(&self, processor: &Processor) -> u32 {
        if processor.version.major >= 10 {
            128
        } else {
            (self.rsrc1.granulated_wavefront_sgpr_count() + 1) * 8
        }
    }
}

/// Declares a word of bit fields: a getter and a `with_` setter for each. A field of one bit is a
/// `bool`. Setting keeps the low bits of a value that is too wide.
macro_rules! bit_fields {
    ($(#[$meta:meta])* $name:ident($word:ty) {
        $($(#[$field_meta:meta])* $field:ident / $setter:ident : $kind:tt $shift:literal $(+ $width:literal)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $word);

        impl $name {
            $(bit_fields!(@field [$($field_meta)*] $word, $field, $setter, $kind, $shift $(, $width)?);)*
        }
    };
    (@field [$($meta:meta)*] $word:ty, $field:ident, $setter:ident, bit, $shift:literal) => {
        $(#[$meta])*
        #[must_use]
        pub const fn $field(self) -> bool {
            self.0 >> $shift & 1 != 0
        }

        #[doc = concat!("The same word with [`Self::", stringify!($field), "`] set to `on`.")]
        #[must_use]
        pub const fn $setter(self, on: bool) -> Self {
            Self(self.0 & !(1 << $shift) | (on as $word) << $shift)
        }
    };
    (@field [$($meta:meta)*] $word:ty, $field:ident, $setter:ident, bits, $shift:literal, $width:literal) => {
        $(#[$meta])*
        #[must_use]
        pub const fn $field(self) -> u32 {
            (self.0 >> $shift) as u32 & ((1 << $width) - 1)
        }

        #[doc = concat!("The same word with [`Self::", stringify!($field), "`] set to `value`.")]
        #[must_use]
        pub const fn $setter(self, value: u32) -> Self {
            const MASK: $word = (1 << $width) - 1;
            Self(self.0 & !(MASK << $shift) | (value as $word & MASK) << $shift)
        }
    };
}

bit_fields! {
    /// `COMPUTE_PGM_RSRC1`, of every generation.
    ComputePgmRsrc1(u32) {
        /// Vector registers of a work-item, in granules less one; see [`KernelDescriptor::vgpr_count`].
        granulated_workitem_vgpr_count / with_granulated_workitem_vgpr_count: bits 0 + 6;
        /// Scalar registers of a wavefront, in eights less one, up to gfx9. Reserved from gfx10 on.
        granulated_wavefront_sgpr_count / with_granulated_wavefront_sgpr_count: bits 6 + 4;
        /// Wave priority at start; set by the packet processor, 0 in a descriptor.
        priority / with_priority: bits 10 + 2;
        /// Initial rounding of single precision: 0 nearest even, 1 up, 2 down, 3 to zero.
        float_round_mode_32 / with_float_round_mode_32: bits 12 + 2;
        /// Initial rounding of half and double precision, as above.
        float_round_mode_16_64 / with_float_round_mode_16_64: bits 14 + 2;
        /// Initial denormals of single precision: 0 flush sources and results, 1 flush results, 2
        /// flush sources, 3 keep.
        float_denorm_mode_32 / with_float_denorm_mode_32: bits 16 + 2;
        /// Initial denormals of half and double precision, as above.
        float_denorm_mode_16_64 / with_float_denorm_mode_16_64: bits 18 + 2;
        /// Privileged mode; set by the packet processor, 0 in a descriptor.
        privileged / with_privileged: bit 20;
        /// Clamp of a NaN gives 0. Up to gfx11.
        enable_dx10_clamp / with_enable_dx10_clamp: bit 21;
        /// Round-robin scheduling of a work-group's waves. From gfx12 on.
        enable_wg_rr / with_enable_wg_rr: bit 21;
        /// Debug mode at start; 0 in a descriptor.
        debug_mode / with_debug_mode: bit 22;
        /// Signalling NaNs are quieted by min, max and others. Up to gfx11.
        enable_ieee_mode / with_enable_ieee_mode: bit 23;
        /// Performance monitoring is off for this kernel. From gfx12 on.
        disable_perf / with_disable_perf: bit 23;
        /// One work-group per compute unit; 0 in a descriptor.
        bulky / with_bulky: bit 24;
        /// Debugging by the user; 0 in a descriptor.
        cdbg_user / with_cdbg_user: bit 25;
        /// Half-precision overflow clamps to the largest finite number. From gfx9 on.
        fp16_ovfl / with_fp16_ovfl: bit 26;
        /// Work-groups span both compute units of a work-group processor. From gfx10 on.
        wgp_mode / with_wgp_mode: bit 29;
        /// Loads, samples and stores return in order. From gfx10 on.
        mem_ordered / with_mem_ordered: bit 30;
        /// Older waves go first, so that every wave makes progress. From gfx10 on.
        fwd_progress / with_fwd_progress: bit 31;
    }
}

bit_fields! {
    /// `COMPUTE_PGM_RSRC2`, of every generation.
    ComputePgmRsrc2(u32) {
        /// Scratch is used: the packet processor allocates it and sets the wave's scratch offset.
        enable_private_segment / with_enable_private_segment: bit 0;
        /// User SGPRs that the packet processor fills; must match the enabled [`KernelCodeProperties`].
        user_sgpr_count / with_user_sgpr_count: bits 1 + 5;
        /// A trap handler is present; set by the packet processor. Up to gfx11.
        enable_trap_handler / with_enable_trap_handler: bit 6;
        /// Vector registers are allocated while the wave runs. gfx12.
        enable_dynamic_vgpr / with_enable_dynamic_vgpr: bit 6;
        /// The work-group's X index is in an SGPR (a TTMP register from gfx12 on).
        enable_sgpr_workgroup_id_x / with_enable_sgpr_workgroup_id_x: bit 7;
        /// The work-group's Y index, likewise.
        enable_sgpr_workgroup_id_y / with_enable_sgpr_workgroup_id_y: bit 8;
        /// The work-group's Z index, likewise.
        enable_sgpr_workgroup_id_z / with_enable_sgpr_workgroup_id_z: bit 9;
        /// Work-group information (first wave, ordered append, waves in the group) is in an SGPR.
        enable_sgpr_workgroup_info / with_enable_sgpr_workgroup_info: bit 10;
        /// Work-item indices in vector registers: 0 X, 1 X and Y, 2 all three.
        enable_vgpr_workitem_id / with_enable_vgpr_workitem_id: bits 11 + 2;
        /// Exception on address watch; set by the packet processor.
        enable_exception_address_watch / with_enable_exception_address_watch: bit 13;
        /// Exception on memory violation; set by the packet processor.
        enable_exception_memory / with_enable_exception_memory: bit 14;
        /// LDS of the work-group in granules; set by the packet processor, 0 in a descriptor.
        granulated_lds_size / with_granulated_lds_size: bits 15 + 9;
        /// Exception on an invalid floating-point operation.
        enable_exception_ieee_754_fp_invalid_operation / with_enable_exception_ieee_754_fp_invalid_operation: bit 24;
        /// Exception on a denormal source.
        enable_exception_fp_denormal_source / with_enable_exception_fp_denormal_source: bit 25;
        /// Exception on floating-point division by zero.
        enable_exception_ieee_754_fp_division_by_zero / with_enable_exception_ieee_754_fp_division_by_zero: bit 26;
        /// Exception on floating-point overflow.
        enable_exception_ieee_754_fp_overflow / with_enable_exception_ieee_754_fp_overflow: bit 27;
        /// Exception on floating-point underflow.
        enable_exception_ieee_754_fp_underflow / with_enable_exception_ieee_754_fp_underflow: bit 28;
        /// Exception on an inexact result.
        enable_exception_ieee_754_fp_inexact / with_enable_exception_ieee_754_fp_inexact: bit 29;
        /// Exception on integer division by zero.
        enable_exception_int_divide_by_zero / with_enable_exception_int_divide_by_zero: bit 30;
    }
}

bit_fields! {
    /// `COMPUTE_PGM_RSRC3`, whose layout depends on the generation: gfx90a, gfx94x and gfx950; gfx10
    /// and gfx11; gfx12. Reserved on other gfx9 and before.
    ComputePgmRsrc3(u32) {
        /// First accumulation register in fours, less one. gfx90a, gfx94x, gfx950.
        accum_offset / with_accum_offset: bits 0 + 6;
        /// Waves of a work-group may run on different compute units. gfx90a, gfx94x, gfx950.
        tg_split / with_tg_split: bit 16;
        /// Vector registers shared between the halves of a wave64, in eights. gfx10, gfx11.
        shared_vgpr_count / with_shared_vgpr_count: bits 0 + 4;
        /// Instructions to prefetch at start, in 128 bytes. gfx11.
        inst_pref_size_gfx11 / with_inst_pref_size_gfx11: bits 4 + 6;
        /// Trap when the wave starts. gfx11.
        trap_on_start / with_trap_on_start: bit 10;
        /// Trap when the wave ends. gfx11.
        trap_on_end / with_trap_on_end: bit 11;
        /// Instructions to prefetch at start, in 128 bytes. From gfx12 on.
        inst_pref_size_gfx12 / with_inst_pref_size_gfx12: bits 4 + 8;
        /// Group launch guarantee. From gfx12 on.
        glg_enable / with_glg_enable: bit 13;
        /// The kernel has image instructions. From gfx11 on.
        image_op / with_image_op: bit 31;
    }
}

bit_fields! {
    /// `KERNEL_CODE_PROPERTIES`: user SGPRs, in this order, and the wavefront size.
    KernelCodeProperties(u16) {
        /// 4 SGPRs: scratch buffer descriptor. Not on architected flat scratch.
        enable_sgpr_private_segment_buffer / with_enable_sgpr_private_segment_buffer: bit 0;
        /// 2 SGPRs: address of the dispatch packet.
        enable_sgpr_dispatch_ptr / with_enable_sgpr_dispatch_ptr: bit 1;
        /// 2 SGPRs: address of the `amd_queue_t`.
        enable_sgpr_queue_ptr / with_enable_sgpr_queue_ptr: bit 2;
        /// 2 SGPRs: address of the kernel arguments.
        enable_sgpr_kernarg_segment_ptr / with_enable_sgpr_kernarg_segment_ptr: bit 3;
        /// 2 SGPRs: the packet's index in the queue.
        enable_sgpr_dispatch_id / with_enable_sgpr_dispatch_id: bit 4;
        /// 2 SGPRs: flat scratch initialisation. Not on architected flat scratch.
        enable_sgpr_flat_scratch_init / with_enable_sgpr_flat_scratch_init: bit 5;
        /// 1 SGPR: scratch bytes of a work-item.
        enable_sgpr_private_segment_size / with_enable_sgpr_private_segment_size: bit 6;
        /// 32 work-items in a wavefront instead of 64. From gfx10 on.
        enable_wavefront_size32 / with_enable_wavefront_size32: bit 10;
        /// The stack is not bounded by `private_segment_fixed_size`.
        uses_dynamic_stack / with_uses_dynamic_stack: bit 11;
    }
}

bit_fields! {
    /// `KERNARG_PRELOAD`: kernel arguments that follow the other user SGPRs (gfx90a and relatives).
    KernargPreload(u16) {
        /// Dwords to load; 0 disables preloading.
        length / with_length: bits 0 + 7;
        /// First dword of the kernel arguments to load.
        offset / with_offset: bits 7 + 9;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_a_round_trip() {
        let mut bytes = [0u8; SIZE];
        for (i, b) in bytes.iter_mut().enumerate() {
            *b = (i as u8).wrapping_mul(37) ^ 0xa5;
        }
        assert_eq!(KernelDescriptor::parse(&bytes).emit(), bytes);
        assert_eq!(KernelDescriptor::parse(&[0xff; SIZE]).emit(), [0xff; SIZE]);
        assert_eq!(KernelDescriptor::new_checked(&bytes[1..]), None);
    }

    #[test]
    fn setting_a_field_leaves_the_others() {
        let word = ComputePgmRsrc2(u32::MAX)
            .with_user_sgpr_count(0)
            .with_enable_vgpr_workitem_id(1);
        assert_eq!(word.0, !(0x1f << 1) & !(1 << 12));
        assert_eq!(word.user_sgpr_count(), 0);
        assert_eq!(ComputePgmRsrc2(0).with_user_sgpr_count(0xffff).0, 0x1f << 1);
        assert_eq!(KernargPreload(0).with_offset(0x1ff).0, 0xff80);
    }

    #[test]
    fn register_counts_follow_the_processors_granules() {
        let of = |name| Processor::from_name(name).expect(name);
        let mut d = KernelDescriptor {
            rsrc1: ComputePgmRsrc1(0)
                .with_granulated_workitem_vgpr_count(5)
                .with_granulated_wavefront_sgpr_count(2),
            rsrc3: ComputePgmRsrc3(0).with_accum_offset(3),
            ..Default::default()
        };
        assert_eq!(d.vgpr_count(of("gfx900")), 24);
        assert_eq!(d.vgpr_count(of("gfx90a")), 48);
        assert_eq!(d.vgpr_count(of("gfx1100")), 24);
        assert_eq!(d.accum_offset(of("gfx942")), Some(16));
        assert_eq!(d.accum_offset(of("gfx908")), None);
        assert_eq!(d.sgpr_count(of("gfx906")), 24);
        assert_eq!(d.sgpr_count(of("gfx1030")), 128);
        d.properties = d.properties.with_enable_wavefront_size32(true);
        assert_eq!(d.vgpr_count(of("gfx1100")), 48);
        // The bit is reserved before gfx10.
        assert_eq!(d.wavefront_size(of("gfx90a")), 64);
    }

    #[test]
    fn the_entry_is_relative_to_the_descriptor_and_aligned() {
        let d = |offset| KernelDescriptor {
            kernel_code_entry_byte_offset: offset,
            ..Default::default()
        };
        assert_eq!(d(0x1140).entry(0x10_08c0), Some(0x10_1a00));
        assert_eq!(d(0x1141).entry(0x10_08c0), None);
        assert_eq!(d(-0x200).entry(0x100), None);
        assert_eq!(d(i64::MAX).entry(u64::MAX), None);
    }
}
