//! How much private memory ("scratch") a queue needs, and the register fields that describe it.
//!
//! Pure functions. A queue's scratch is one block with a slice for every wave that can be
//! resident; the packet processor gives slices out by wave slot. The block is described to the
//! hardware by `amd_queue_t`: COMPUTE_TMPRING_SIZE (waves and bytes per wave) and, for kernels of older
//! ABIs, a buffer descriptor. Field layouts follow the public register headers of each generation.

use thiserror_no_std::Error;

crate::impl_error!(ScratchError);

/// A generation of graphics IP, as far as scratch registers differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Generation {
    /// GFX9 and before.
    Gfx9,
    /// GFX10.
    Gfx10,
    /// GFX11.
    Gfx11,
    /// GFX12.
    Gfx12,
}

impl Generation {
    /// From a processor's major version. None for one that is not known.
    pub const fn from_major(major: u32) -> Option<Self> {
        match major {
            7..=9 => Some(Self::Gfx9),
            10 => Some(Self::Gfx10),
            11 => Some(Self::Gfx11),
            12 => Some(Self::Gfx12),
            _ => None,
        }
    }

    /// Unit of the bytes per wave.
    const fn wave_unit(self) -> u64 {
        match self {
            Self::Gfx9 | Self::Gfx10 => 1024,
            Self::Gfx11 | Self::Gfx12 => 256,
        }
    }

    const fn wave_size_bits(self) -> u32 {
        match self {
            Self::Gfx9 | Self::Gfx10 => 13,
            Self::Gfx11 => 15,
            Self::Gfx12 => 18,
        }
    }
}

/// Most scratch bytes per wave that any generation's hardware takes.
pub const MAX_WAVE_BYTES: u64 = 8_387_584;

/// Most waves that the field of COMPUTE_TMPRING_SIZE can say.
const MAX_WAVES: u32 = 0xfff;

/// What of a device counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchDevice {
    /// Its generation.
    pub generation: Generation,
    /// Compute units, all XCCs together.
    pub compute_units: u32,
    /// Shader engines, all XCCs together.
    pub shader_engines: u32,
    /// Scratch wave slots per compute unit.
    pub slots_per_cu: u32,
    /// Accelerator complex dies; each has the block's share to itself.
    pub xcc_count: u32,
}

/// Why there is no such scratch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ScratchError {
    /// More per work-item than a wave can have.
    #[error("{bytes} bytes of private memory per work-item are more than a wave can have")]
    TooLarge {
        /// Bytes per work-item wanted.
        bytes: u64,
    },
    /// The device says that it has no compute units, engines or slots.
    #[error("the device has no wave slots for scratch")]
    NoSlots,
}

/// A scratch block's figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchLayout {
    /// Bytes per work-item, rounded so that a wave's bytes fit the hardware's unit.
    pub lane_bytes: u32,
    /// Bytes per wave.
    pub wave_bytes: u64,
    /// Waves that have a slice, over all XCCs.
    pub waves: u32,
    /// Bytes of the block, over all XCCs.
    pub total_bytes: u64,
    device: ScratchDevice,
}

/// Computes the block for waves of `wave_lanes` (32 or 64) lanes with `lane_bytes` of private memory
/// per work-item, with a slice for every wave slot of the device.
///
/// # Errors
/// See [`ScratchError`].
pub const fn layout(
    device: &ScratchDevice,
    lane_bytes: u32,
    wave_lanes: u32,
) -> Result<ScratchLayout, ScratchError> {
    let engines = device.shader_engines;
    let xccs = device.xcc_count;
    if engines == 0
        || xccs == 0
        || device.compute_units == 0
        || device.slots_per_cu == 0
        || wave_lanes == 0
    {
        return Err(ScratchError::NoSlots);
    }
    let unit = device.generation.wave_unit();
    let wave_bytes = (lane_bytes as u64 * wave_lanes as u64).next_multiple_of(unit);
    let field = wave_bytes / unit;
    if wave_bytes > MAX_WAVE_BYTES || field >= 1 << device.generation.wave_size_bits() {
        return Err(ScratchError::TooLarge {
            bytes: lane_bytes as u64,
        });
    }
    // Each engine has the same number of slots in the register, harvested units or not.
    let slots =
        (device.compute_units as u64).next_multiple_of(engines as u64) * device.slots_per_cu as u64;
    let registers = match device.generation {
        Generation::Gfx9 | Generation::Gfx10 => xccs,
        Generation::Gfx11 | Generation::Gfx12 => engines,
    };
    let per_register = slots.div_ceil(registers as u64);
    let per_register = if per_register > MAX_WAVES as u64 {
        MAX_WAVES as u64
    } else {
        per_register
    };
    let waves = per_register * registers as u64;
    Ok(ScratchLayout {
        lane_bytes: (wave_bytes / wave_lanes as u64) as u32,
        wave_bytes,
        waves: waves as u32,
        total_bytes: waves * wave_bytes,
        device: *device,
    })
}

impl ScratchLayout {
    /// COMPUTE_TMPRING_SIZE. Its WAVES count those of an XCC, on GFX11 and later those of a
    /// shader engine.
    pub const fn tmpring_size(&self) -> u32 {
        let registers = match self.device.generation {
            Generation::Gfx9 | Generation::Gfx10 => self.device.xcc_count,
            Generation::Gfx11 | Generation::Gfx12 => self.device.shader_engines,
        };
        let waves = self.waves / registers;
        let size = (self.wave_bytes / self.device.generation.wave_unit()) as u32;
        waves | size << 12
    }

    /// The buffer descriptor of the block at `base`, four dwords.
    pub const fn descriptor(&self, base: u64) -> [u32; 4] {
        let bytes_per_xcc = self.total_bytes / self.device.xcc_count as u64;
        let (swizzle, word3) = match self.device.generation {
            // DST_SEL x y z w, NUM_FORMAT uint, DATA_FORMAT 32, ELEMENT_SIZE 4 bytes, INDEX_STRIDE 64, ADD_TID.
            Generation::Gfx9 => (
                1 << 31,
                DST_SEL | 4 << 12 | 4 << 15 | 1 << 19 | 3 << 21 | 1 << 23,
            ),
            // FORMAT 32_UINT, ADD_TID, RESOURCE_LEVEL, OOB_SELECT 2; the index stride follows the wave's size.
            Generation::Gfx10 => (1 << 31, DST_SEL | 0x14 << 12 | 1 << 23 | 1 << 24 | 2 << 28),
            // SWIZZLE_ENABLE is two bits wide from here on: 1 is a swizzle of 4 bytes.
            Generation::Gfx11 | Generation::Gfx12 => {
                (1 << 30, DST_SEL | 0x14 << 12 | 1 << 23 | 2 << 28)
            }
        };
        let records = if bytes_per_xcc > u32::MAX as u64 {
            u32::MAX
        } else {
            bytes_per_xcc as u32
        };
        [
            base as u32,
            (base >> 32) as u32 & 0xffff | swizzle,
            records,
            word3,
        ]
    }
}

/// Destination selects x, y, z, w.
const DST_SEL: u32 = 4 | 5 << 3 | 6 << 6 | 7 << 9;

#[cfg(test)]
mod tests {
    use super::*;

    const MI210: ScratchDevice = ScratchDevice {
        generation: Generation::Gfx9,
        compute_units: 104,
        shader_engines: 8,
        slots_per_cu: 32,
        xcc_count: 1,
    };

    #[test]
    fn gfx90a_with_104_units_gets_what_a_deployed_runtime_was_seen_to_write() {
        let layout = layout(&MI210, 260, 64).unwrap();
        assert_eq!(layout.tmpring_size(), 0x11d00);
        assert_eq!(layout.waves, 3328);
        assert_eq!(layout.wave_bytes, 17 * 1024);
        assert_eq!(layout.lane_bytes, 272);
        assert_eq!(layout.total_bytes, 3328 * 17 * 1024);
    }

    #[test]
    fn the_descriptor_of_gfx9_spells_out_its_fields() {
        let layout = layout(&MI210, 16, 64).unwrap();
        let words = layout.descriptor(0x1234_5678_9000);
        assert_eq!(words, [0x5678_9000, 0x8000_1234, 3328 * 1024, 0x00ea_4fac]);
    }

    #[test]
    fn later_generations_count_waves_per_engine_and_bytes_in_smaller_units() {
        let device = ScratchDevice {
            generation: Generation::Gfx11,
            compute_units: 96,
            shader_engines: 6,
            slots_per_cu: 32,
            xcc_count: 1,
        };
        let layout = layout(&device, 20, 32).unwrap();
        assert_eq!(layout.wave_bytes, 768);
        assert_eq!(layout.tmpring_size(), (96 * 32 / 6) | 3 << 12);
        assert_eq!(layout.total_bytes, 96 * 32 * 768);
        assert_eq!(layout.descriptor(0)[1], 1 << 30);
    }

    #[test]
    fn each_xcc_has_its_share() {
        let device = ScratchDevice {
            compute_units: 304,
            shader_engines: 32,
            xcc_count: 8,
            ..MI210
        };
        let layout = layout(&device, 16, 64).unwrap();
        // 304 units round up to 320 over 32 engines.
        assert_eq!(layout.tmpring_size() & 0xfff, 320 * 32 / 8);
        assert_eq!(u64::from(layout.descriptor(0)[2]) * 8, layout.total_bytes);
    }

    #[test]
    fn what_no_wave_can_have_is_refused() {
        assert_eq!(
            layout(&MI210, 262_144, 64),
            Err(ScratchError::TooLarge { bytes: 262_144 })
        );
        let largest = layout(&MI210, 131_056, 64).unwrap();
        assert!(largest.wave_bytes <= MAX_WAVE_BYTES);
        let nothing = ScratchDevice {
            compute_units: 0,
            ..MI210
        };
        assert_eq!(layout(&nothing, 16, 64), Err(ScratchError::NoSlots));
    }
}
