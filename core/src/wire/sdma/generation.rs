//! Generations of the engine: where they differ in what a packet means.

use crate::isa::Processor;

/// A generation of SDMA engines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// SDMA 4.0 to 4.2: gfx900, gfx906, gfx908.
    V4,
    /// SDMA 4.4.0: gfx90a. Copies have counts of 30 bits.
    V4_4,
    /// SDMA 4.4.2 and its kin: gfx942, gfx950.
    V4_4_2,
    /// SDMA 5.0: gfx101x. The engine is behind the caches of the shaders.
    V5,
    /// SDMA 5.2: gfx103x.
    V5_2,
    /// SDMA 6: gfx11.
    V6,
    /// SDMA 7: gfx12. Rectangles have another layout.
    V7,
}

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Self; 7] = [
        Self::V4,
        Self::V4_4,
        Self::V4_4_2,
        Self::V5,
        Self::V5_2,
        Self::V6,
        Self::V7,
    ];

    /// The engines of a processor, by its version; `None` before GFX9, whose packets are others.
    pub const fn of(major: u32, minor: u32, stepping: u32) -> Option<Self> {
        Some(match (major, minor, stepping) {
            (9, 0, 10) => Self::V4_4,
            (9, 4.., _) => Self::V4_4_2,
            (9, _, _) => Self::V4,
            (10, 0..=2, _) => Self::V5,
            (10, _, _) => Self::V5_2,
            (11, _, _) => Self::V6,
            (12, _, _) => Self::V7,
            _ => return None,
        })
    }

    /// The engines of a processor.
    pub const fn of_processor(processor: &Processor) -> Option<Self> {
        let version = processor.version;
        Self::of(
            version.major as u32,
            version.minor as u32,
            version.stepping as u32,
        )
    }

    /// Bits of a linear copy's count.
    pub const fn copy_count_bits(self) -> u32 {
        match self {
            Self::V4 | Self::V4_4_2 | Self::V5 => 22,
            Self::V4_4 | Self::V5_2 | Self::V6 | Self::V7 => 30,
        }
    }

    /// Bits of a fill's count.
    pub const fn fill_count_bits(self) -> u32 {
        if (self as u8) < Self::V6 as u8 {
            22
        } else {
            30
        }
    }

    /// Most bytes to copy by one packet: somewhat less than the count has bits for, as AMD's runtime does it, so that the
    /// pieces of a large copy stay aligned.
    pub const fn max_copy(self) -> u64 {
        (1 << self.copy_count_bits()) - 32
    }

    /// Most bytes to fill by one packet.
    pub const fn max_fill(self) -> u64 {
        (1 << self.fill_count_bits()) - 32
    }

    /// Whether the engine is behind caches that packets ([`super::Gcr`]) write back and drop.
    pub const fn has_gcr(self) -> bool {
        self as u8 >= Self::V5 as u8
    }
}
