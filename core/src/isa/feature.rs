//! The two target features that are part of an ISA's name.

use core::fmt;

/// The setting of XNACK or SRAM ECC, in a code object or on an agent.
///
/// The discriminants are the two-bit encoding of `e_flags` since code object version 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Feature {
    /// The processor does not have the feature.
    #[default]
    Unsupported = 0,
    /// Code that runs with either setting.
    Any = 1,
    /// Off (`:xnack-`).
    Off = 2,
    /// On (`:xnack+`).
    On = 3,
}

impl Feature {
    /// Decodes the two-bit field of `e_flags`; higher bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Unsupported,
            1 => Self::Any,
            2 => Self::Off,
            _ => Self::On,
        }
    }

    /// Whether code built with `self` runs on an agent that is set to `agent`.
    ///
    /// Only a demand (`On`, `Off`) can fail to match. `Unsupported` in code is no demand:
    /// `gfx9-generic` has no SRAM ECC setting, and still runs on a gfx906 that has it on.
    #[must_use]
    pub const fn runs_on(self, agent: Self) -> bool {
        match self {
            Self::Unsupported | Self::Any => true,
            Self::Off => matches!(agent, Self::Off),
            Self::On => matches!(agent, Self::On),
        }
    }

    /// `+`, `-`, or nothing when the name leaves the setting out.
    #[must_use]
    pub const fn suffix(self) -> Option<char> {
        match self {
            Self::Unsupported | Self::Any => None,
            Self::Off => Some('-'),
            Self::On => Some('+'),
        }
    }
}

/// Which of the two features; named in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureName {
    /// Replay of memory accesses after a page fault.
    Xnack,
    /// Error correction on SRAM, which changes how partial register writes behave.
    Sramecc,
}

impl fmt::Display for FeatureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Xnack => "xnack",
            Self::Sramecc => "sramecc",
        })
    }
}
