//! Operands as decoded: which register, constant or immediate an instruction names.

/// One operand of a decoded instruction.
///
/// A register operand names its first 32-bit register; how many follow is the operand's type
/// ([`crate::isa::OperandDesc`]), not part of the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Operand {
    /// No operand, or one that assembly writes as `off`.
    #[default]
    None,
    /// Scalar register, 0 to 105.
    Sgpr(u8),
    /// Vector register, 0 to 255.
    Vgpr(u8),
    /// Accumulation register, 0 to 255.
    Acc(u8),
    /// Trap handler temporary, 0 to 15.
    Ttmp(u8),
    /// FLAT_SCRATCH, bits 31 to 0 (gfx9 code only).
    FlatScratchLo,
    /// FLAT_SCRATCH, bits 63 to 32.
    FlatScratchHi,
    /// XNACK_MASK, bits 31 to 0 (gfx9 code only).
    XnackMaskLo,
    /// XNACK_MASK, bits 63 to 32.
    XnackMaskHi,
    /// VCC, bits 31 to 0.
    VccLo,
    /// VCC, bits 63 to 32.
    VccHi,
    /// M0.
    M0,
    /// Reads as zero, writes vanish (gfx10 and later).
    Null,
    /// EXEC, bits 31 to 0.
    ExecLo,
    /// EXEC, bits 63 to 32.
    ExecHi,
    /// 1 if VCC is zero.
    Vccz,
    /// 1 if EXEC is zero.
    Execz,
    /// The scalar condition code.
    Scc,
    /// Shared (LDS) aperture base.
    SharedBase,
    /// Shared (LDS) aperture limit.
    SharedLimit,
    /// Private (scratch) aperture base.
    PrivateBase,
    /// Private (scratch) aperture limit.
    PrivateLimit,
    /// Primitive ordering state; reads as zero in compute.
    PopsExitingWaveId,
    /// A dword of LDS at M0 (gfx9 VALU source).
    LdsDirect,
    /// Inline integer, -16 to 64.
    Int(i8),
    /// Inline floating-point constant.
    Float(InlineFloat),
    /// The 32-bit literal that follows the instruction, as stored.
    Literal(u32),
    /// An immediate field: SIMM16, branch distance in dwords, counters, a message, a hardware register.
    /// Sign-extended where the field is signed.
    Imm(i32),
}

/// The floating-point constants that an operand field can name, codes 240 to 248.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum InlineFloat {
    /// 0.5
    Half,
    /// -0.5
    NegHalf,
    /// 1.0
    One,
    /// -1.0
    NegOne,
    /// 2.0
    Two,
    /// -2.0
    NegTwo,
    /// 4.0
    Four,
    /// -4.0
    NegFour,
    /// 1 / (2π)
    InvTwoPi,
}

impl InlineFloat {
    /// All nine, in the order of their codes.
    pub const ALL: [InlineFloat; 9] = [
        InlineFloat::Half,
        InlineFloat::NegHalf,
        InlineFloat::One,
        InlineFloat::NegOne,
        InlineFloat::Two,
        InlineFloat::NegTwo,
        InlineFloat::Four,
        InlineFloat::NegFour,
        InlineFloat::InvTwoPi,
    ];

    /// The constant's single-precision bits.
    pub const fn f32_bits(self) -> u32 {
        match self {
            InlineFloat::Half => 0x3f00_0000,
            InlineFloat::NegHalf => 0xbf00_0000,
            InlineFloat::One => 0x3f80_0000,
            InlineFloat::NegOne => 0xbf80_0000,
            InlineFloat::Two => 0x4000_0000,
            InlineFloat::NegTwo => 0xc000_0000,
            InlineFloat::Four => 0x4080_0000,
            InlineFloat::NegFour => 0xc080_0000,
            InlineFloat::InvTwoPi => 0x3e22_f983,
        }
    }

    /// The constant's double-precision bits.
    pub const fn f64_bits(self) -> u64 {
        match self {
            InlineFloat::Half => 0x3fe0_0000_0000_0000,
            InlineFloat::NegHalf => 0xbfe0_0000_0000_0000,
            InlineFloat::One => 0x3ff0_0000_0000_0000,
            InlineFloat::NegOne => 0xbff0_0000_0000_0000,
            InlineFloat::Two => 0x4000_0000_0000_0000,
            InlineFloat::NegTwo => 0xc000_0000_0000_0000,
            InlineFloat::Four => 0x4010_0000_0000_0000,
            InlineFloat::NegFour => 0xc010_0000_0000_0000,
            InlineFloat::InvTwoPi => 0x3fc4_5f30_6dc9_c882,
        }
    }

    /// The constant's half-precision bits.
    pub const fn f16_bits(self) -> u16 {
        match self {
            InlineFloat::Half => 0x3800,
            InlineFloat::NegHalf => 0xb800,
            InlineFloat::One => 0x3c00,
            InlineFloat::NegOne => 0xbc00,
            InlineFloat::Two => 0x4000,
            InlineFloat::NegTwo => 0xc000,
            InlineFloat::Four => 0x4400,
            InlineFloat::NegFour => 0xc400,
            InlineFloat::InvTwoPi => 0x3118,
        }
    }

    /// The constant's bfloat16 bits.
    pub const fn bf16_bits(self) -> u16 {
        match self {
            // bfloat16 is the upper half of single precision; the nine constants but 1/(2π) need no rounding.
            InlineFloat::InvTwoPi => 0x3e22,
            other => (other.f32_bits() >> 16) as u16,
        }
    }
}
