//! Which version of the driver's interface the face has.

/// A version of the ioctl interface; each has all that those before it had.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Interface {
    /// 1.11, as Linux 6.1 (Debian 12) has it: events have no age, there is no RUNTIME_ENABLE, nothing can be exported, and
    /// the sizes of a queue's save area are the client's business.
    V1_11,
    /// 1.17, as Linux 6.12 has it.
    #[default]
    V1_17,
}

impl Interface {
    /// The version's numbers, major and minor.
    pub const fn version(self) -> (u32, u32) {
        match self {
            Self::V1_11 => (1, 11),
            Self::V1_17 => (1, 17),
        }
    }

    /// The version with this text.
    pub fn parse(version: &str) -> Option<Self> {
        match version {
            "1.11" => Some(Self::V1_11),
            "1.17" => Some(Self::V1_17),
            _ => None,
        }
    }

    /// Whether the interface is of this minor version or of a later one.
    pub(super) const fn since(self, minor: u32) -> bool {
        self.version().1 >= minor
    }

    /// The last ioctl's number.
    pub(super) const fn last_ioctl(self) -> u8 {
        match self {
            // AVAILABLE_MEMORY.
            Self::V1_11 => 0x23,
            // DBG_TRAP.
            Self::V1_17 => 0x26,
        }
    }
}
