//! What packets made of dwords have in common: addresses in two halves, comparisons, and heads as plain views.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A device address: low dword first, as packets have it.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Address {
    /// Bits 0-31.
    pub low: u32,
    /// Bits 32-63.
    pub high: u32,
}

impl Address {
    /// From 64 bits; also used for 64-bit values that are no addresses.
    pub const fn new(value: u64) -> Self {
        Self {
            low: value as u32,
            high: (value >> 32) as u32,
        }
    }

    /// As 64 bits.
    pub const fn get(self) -> u64 {
        self.low as u64 | (self.high as u64) << 32
    }
}

/// How packets that wait compare, unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PollFunction {
    /// Without a look.
    Always,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Greater or equal.
    GreaterEqual,
    /// Greater.
    Greater,
    /// The code 7.
    Reserved,
}

impl PollFunction {
    /// From its 3 bits.
    pub const fn from_bits(bits: u32) -> Self {
        match bits & 7 {
            0 => Self::Always,
            1 => Self::Less,
            2 => Self::LessEqual,
            3 => Self::Equal,
            4 => Self::NotEqual,
            5 => Self::GreaterEqual,
            6 => Self::Greater,
            _ => Self::Reserved,
        }
    }

    /// Whether it holds; the reserved one never does.
    pub const fn holds(self, found: u32, reference: u32) -> bool {
        match self {
            Self::Always => true,
            Self::Less => found < reference,
            Self::LessEqual => found <= reference,
            Self::Equal => found == reference,
            Self::NotEqual => found != reference,
            Self::GreaterEqual => found >= reference,
            Self::Greater => found > reference,
            Self::Reserved => false,
        }
    }
}

/// Heads: their fields with byte offsets, and their size in bytes.
macro_rules! heads {
    ($($(#[$meta:meta])* $name:ident, size $size:literal {
        $($(#[$field_meta:meta])* $field:ident: $ty:ty, at $offset:literal;)*
    })*) => {$(
        $(#[$meta])*
        #[derive(
            Clone, Copy, PartialEq, Eq, Debug, Default, zerocopy::FromBytes, zerocopy::IntoBytes,
            zerocopy::Immutable, zerocopy::KnownLayout,
        )]
        #[repr(C)]
        pub struct $name {
            /// Operation, sub-operation and flags.
            pub header: u32,
            $($(#[$field_meta])* pub $field: $ty,)*
        }
        $crate::assert_layout!($name, size $size, align 4, header @ 0 $(, $field @ $offset)*);

        impl $name {
            /// Dwords of the head.
            pub const DWORDS: usize = $size / 4;
        }
    )*};
}

pub(crate) use heads;
