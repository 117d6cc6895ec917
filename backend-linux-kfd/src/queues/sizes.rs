//! Sizes of the buffers beside a compute queue.
//!
//! The kernel compares them (6.12 and later) and refuses a queue whose control stack or context save area has another
//! size, so the formulas are its own (`kfd_queue.c`). Where it says the sizes itself (6.18 and later) those count.

use crate::topology::node::GpuProperties;

const PAGE: u64 = 4096;

/// Size of [`ContextSaveAreaHeader`](rukh_core::kfd::uapi::ContextSaveAreaHeader), at the start of
/// each XCC's area.
const HEADER: u64 = 40;

/// What a compute unit's work-groups leave beside VGPRs and LDS.
const SGPR_BYTES_PER_CU: u64 = 0x4000;
const HWREG_BYTES_PER_CU: u64 = 0x1000;
/// Group memory that is saved; only gfx950 has more, and its own figure counts.
const LDS_BYTES_PER_CU: u64 = 0x10000;
/// What a debugger keeps per wave.
const DEBUG_BYTES_PER_WAVE: u64 = 32;
/// The hardware of GFX10 takes no larger control stack.
const GFX10_MAX_CONTROL_STACK: u64 = 0x7000;

/// Sizes in bytes, of one XCC except where stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSizes {
    /// Control stack.
    pub control_stack: u32,
    /// Context save area: header, control stack and wave state.
    pub save_area: u32,
    /// The debugger's memory.
    pub debug: u32,
    /// End-of-pipe buffer of an AQL queue, all XCCs together; 0 for none.
    pub end_of_pipe: u32,
    /// XCCs.
    pub xcc_count: u32,
}

const fn vgpr_bytes_per_cu(version: u32) -> u64 {
    match version {
        90_008 | 90_010 | 90_402 | 90_500 => 0x80000,
        110_000 | 110_001 | 120_000 | 120_001 => 0x60000,
        _ => 0x40000,
    }
}

impl QueueSizes {
    /// Sizes for a GPU of GFX9 or later. None if the properties give none that the interface can carry.
    pub fn of(gpu: &GpuProperties) -> Option<Self> {
        let version = gpu.gfx_target_version;
        let units = u64::from(gpu.compute_units() / gpu.xcc_count);
        let gfx10_or_later = version >= 100_100;
        let waves = if gfx10_or_later {
            units * 32
        } else {
            (units * 40).min(u64::from(gpu.shader_engines()) * 512)
        };
        let stack_entry = if gfx10_or_later { 12 } else { 8 };
        let mut control_stack = (HEADER + waves * stack_entry + 8).next_multiple_of(PAGE);
        if version / 10_000 == 10 {
            control_stack = control_stack.min(GFX10_MAX_CONTROL_STACK);
        }
        let lds = if version == 90_500 {
            u64::from(gpu.lds_kib) * 1024
        } else {
            LDS_BYTES_PER_CU
        };
        let per_unit = vgpr_bytes_per_cu(version) + SGPR_BYTES_PER_CU + lds + HWREG_BYTES_PER_CU;
        let mut save_area = control_stack + (units * per_unit).next_multiple_of(PAGE);
        if let (Some(area), Some(stack)) = (gpu.cwsr_size, gpu.ctl_stack_size) {
            (save_area, control_stack) = (u64::from(area), u64::from(stack));
            if !save_area.is_multiple_of(PAGE)
                || !control_stack.is_multiple_of(PAGE)
                || control_stack >= save_area
            {
                return None;
            }
        }
        let sizes = Self {
            control_stack: control_stack.try_into().ok()?,
            save_area: save_area.try_into().ok()?,
            debug: (waves * DEBUG_BYTES_PER_WAVE)
                .next_multiple_of(64)
                .try_into()
                .ok()?,
            // An AQL queue of gfx942 has none; whatever has one has a page.
            end_of_pipe: if version == 90_402 { 0 } else { PAGE as u32 },
            xcc_count: gpu.xcc_count,
        };
        // The kernel counts the whole in 32 bits.
        (sizes.total() <= u64::from(u32::MAX)).then_some(sizes)
    }

    /// Bytes of the one allocation that holds all XCCs' areas, then the debugger's memory.
    pub const fn total(&self) -> u64 {
        ((self.save_area as u64 + self.debug as u64) * self.xcc_count as u64).next_multiple_of(PAGE)
    }

    /// For the header of XCC `index`: distance to the debugger's memory, and its size.
    pub const fn debug_range(&self, index: u32) -> (u32, u32) {
        (
            (self.xcc_count - index) * self.save_area,
            self.debug * self.xcc_count,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(version: u32, simds: u32, per_cu: u32, arrays: u32, per_engine: u32) -> GpuProperties {
        GpuProperties {
            simd_count: simds,
            simd_per_cu: per_cu,
            array_count: arrays,
            arrays_per_engine: per_engine,
            lds_kib: 64,
            xcc_count: 1,
            gfx_target_version: version,
            ..GpuProperties::default()
        }
    }

    #[test]
    fn gfx90a_with_104_units_has_the_sizes_that_a_deployed_runtime_was_seen_to_pass() {
        let sizes = QueueSizes::of(&gpu(90_010, 416, 4, 8, 1)).unwrap();
        assert_eq!(sizes.control_stack, 0x9000);
        assert_eq!(sizes.save_area, 0x3c9_1000);
        assert_eq!(sizes.end_of_pipe, 0x1000);
        assert_eq!(sizes.total(), 0x3cb_1000);
        assert_eq!(sizes.debug_range(0), (0x3c9_1000, 0x20000));
    }

    #[test]
    fn gfx906_and_gfx1030_save_fewer_registers_and_gfx1030_has_a_shorter_stack() {
        let vega = QueueSizes::of(&gpu(90_006, 240, 4, 4, 1)).unwrap();
        assert_eq!(vega.save_area - vega.control_stack, 60 * 0x55000);
        let navi = QueueSizes::of(&gpu(100_300, 160, 2, 8, 2)).unwrap();
        assert_eq!(navi.control_stack, 0x7000);
        assert_eq!(navi.save_area, 0x7000 + 80 * 0x55000);
        assert_eq!(navi.debug, 80 * 32 * 32);
    }

    #[test]
    fn each_xcc_of_gfx942_has_an_area_and_the_debugger_one_for_all() {
        let mi300 = GpuProperties {
            xcc_count: 8,
            ..gpu(90_402, 1216, 4, 32, 1)
        };
        let sizes = QueueSizes::of(&mi300).unwrap();
        // 38 units of an XCC: 1520 waves of 8 bytes.
        assert_eq!(sizes.control_stack, 0x3000);
        assert_eq!(sizes.save_area, 0x3000 + 38 * 0x95000);
        assert_eq!(sizes.debug, 1520 * 32);
        assert_eq!(sizes.end_of_pipe, 0);
        assert_eq!(
            sizes.total(),
            (8 * u64::from(sizes.save_area + sizes.debug)).next_multiple_of(4096)
        );
        assert_eq!(sizes.debug_range(7), (sizes.save_area, 8 * sizes.debug));
    }

    #[test]
    fn gfx1100_saves_more_vector_registers_and_gfx950_its_larger_group_memory() {
        let navi = QueueSizes::of(&gpu(110_000, 192, 2, 12, 2)).unwrap();
        assert_eq!(navi.save_area - navi.control_stack, 96 * 0x75000);
        assert_eq!(
            navi.control_stack,
            (40 + 96 * 32 * 12 + 8u32).next_multiple_of(4096)
        );
        let mi350 = GpuProperties {
            lds_kib: 160,
            ..gpu(90_500, 128, 4, 4, 1)
        };
        let sizes = QueueSizes::of(&mi350).unwrap();
        assert_eq!(
            sizes.save_area - sizes.control_stack,
            32 * (0x80000 + 0x4000 + 0x28000 + 0x1000)
        );
    }

    #[test]
    fn sizes_that_the_kernel_reports_count_if_they_can_be_sizes() {
        let told = GpuProperties {
            cwsr_size: Some(0x20_0000),
            ctl_stack_size: Some(0x8000),
            ..gpu(90_010, 416, 4, 8, 1)
        };
        let sizes = QueueSizes::of(&told).unwrap();
        assert_eq!((sizes.save_area, sizes.control_stack), (0x20_0000, 0x8000));
        for (area, stack) in [(0x1000, 0x2000), (0x2001, 0x1000), (0x2000, 0x1001)] {
            let bad = GpuProperties {
                cwsr_size: Some(area),
                ctl_stack_size: Some(stack),
                ..told.clone()
            };
            assert_eq!(QueueSizes::of(&bad), None);
        }
    }

    #[test]
    fn areas_beyond_32_bits_are_no_areas() {
        assert_eq!(QueueSizes::of(&gpu(90_010, 65_536, 1, 65_536, 1)), None);
    }
}
