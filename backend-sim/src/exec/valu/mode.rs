//! The part of a wavefront's MODE register that changes vector arithmetic.

/// Rounding of inexact results (MODE.FP_ROUND).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Round {
    /// To the nearest value, ties to even.
    NearestEven,
    /// Toward plus infinity.
    Up,
    /// Toward minus infinity.
    Down,
    /// Toward zero.
    Zero,
}

/// Treatment of subnormal values (MODE.FP_DENORM).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Denorm {
    /// Subnormal inputs are read as zero of the same sign.
    pub flush_in: bool,
    /// Subnormal results are written as zero of the same sign.
    pub flush_out: bool,
}

/// MODE bits 9:0 in their hardware layout: FP_ROUND (3:0), FP_DENORM (7:4), DX10_CLAMP (8), IEEE (9); and, as bit 10,
/// FP16_OVFL (23).
///
/// Single precision has its own rounding and denormal fields; half and double precision share theirs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FloatMode(u16);

impl FloatMode {
    /// Round to nearest even, subnormals kept, DX10_CLAMP and IEEE set: what compilers ask for in compute kernels.
    pub const COMPUTE: Self = Self(0x3f0);

    /// From the MODE register; other bits are ignored.
    #[inline]
    pub const fn from_mode_register(mode: u32) -> Self {
        Self((mode & 0x3ff | mode >> 13 & 0x400) as u16)
    }

    /// The bits 9:0, as in the MODE register.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0 as u32 & 0x3ff
    }

    /// Conversions to eight-bit floats keep what overflows at the largest finite value.
    #[inline]
    pub const fn saturates(self) -> bool {
        self.0 & 0x400 != 0
    }

    const fn round_at(self, bit: u32) -> Round {
        match (self.0 >> bit) & 3 {
            0 => Round::NearestEven,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        }
    }

    const fn denorm_at(self, bit: u32) -> Denorm {
        // Bit 0 of the field allows subnormal inputs, bit 1 allows subnormal results.
        Denorm {
            flush_in: (self.0 >> bit) & 1 == 0,
            flush_out: (self.0 >> bit) & 2 == 0,
        }
    }

    /// Rounding of single-precision results.
    #[inline]
    pub const fn round_f32(self) -> Round {
        self.round_at(0)
    }

    /// Rounding of half- and double-precision results.
    #[inline]
    pub const fn round_f16_f64(self) -> Round {
        self.round_at(2)
    }

    /// Subnormals in single precision.
    #[inline]
    pub const fn denorm_f32(self) -> Denorm {
        self.denorm_at(4)
    }

    /// Subnormals in half and double precision.
    #[inline]
    pub const fn denorm_f16_f64(self) -> Denorm {
        self.denorm_at(6)
    }

    /// NaN results become zero under the clamp modifier.
    #[inline]
    pub const fn dx10_clamp(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// IEEE mode: `min` and `max` quiet signalling NaNs.
    #[inline]
    pub const fn ieee(self) -> bool {
        self.0 & 0x200 != 0
    }

    /// Single precision rounds to nearest even and keeps subnormals.
    #[inline]
    pub const fn is_plain_f32(self) -> bool {
        self.0 & 0x33 == 0x30
    }

    /// Half and double precision round to nearest even and keep subnormals.
    #[inline]
    pub const fn is_plain_f16_f64(self) -> bool {
        self.0 & 0xcc == 0xc0
    }
}
