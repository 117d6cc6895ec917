//! Operations of the ATOMIC packet, and of PM4's ATOMIC_MEM: codes of the L2 cache (`TC_OP` in the driver's headers).

/// What an atomic does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicOperation {
    /// Stores the source.
    Swap,
    /// Stores the source if memory has the comparison's value.
    CompareSwap,
    /// Adds.
    Add,
    /// Subtracts.
    Sub,
    /// The lesser, signed.
    MinSigned,
    /// The lesser, unsigned.
    MinUnsigned,
    /// The greater, signed.
    MaxSigned,
    /// The greater, unsigned.
    MaxUnsigned,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
    /// Adds one, and starts at 0 again after the source's value.
    Increment,
    /// Subtracts one, and goes on at the source's value after 0.
    Decrement,
}

/// How much memory an atomic changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicWidth {
    /// A dword.
    Bits32,
    /// Two.
    Bits64,
}

/// A code, taken apart. Whether it returns the old value makes no difference to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicOp {
    /// What it does.
    pub operation: AtomicOperation,
    /// To how much.
    pub width: AtomicWidth,
}

const RETURNLESS: u8 = 0x40;
const WIDE: u8 = 0x20;

impl AtomicOp {
    /// Adds 64 bits: what completes a signal.
    pub const ADD_64: Self = Self {
        operation: AtomicOperation::Add,
        width: AtomicWidth::Bits64,
    };

    /// From the code's 7 bits. `None` for operations on floats and for codes that are no atomics.
    pub const fn from_code(code: u8) -> Option<Self> {
        use AtomicOperation as A;
        if code >= 0x80 {
            return None;
        }
        let operation = match code & !(RETURNLESS | WIDE) {
            0x07 => A::Swap,
            0x08 => A::CompareSwap,
            0x0f => A::Add,
            0x10 => A::Sub,
            0x11 => A::MinSigned,
            0x12 => A::MinUnsigned,
            0x13 => A::MaxSigned,
            0x14 => A::MaxUnsigned,
            0x15 => A::And,
            0x16 => A::Or,
            0x17 => A::Xor,
            0x18 => A::Increment,
            0x19 => A::Decrement,
            _ => return None,
        };
        let width = if code & WIDE != 0 {
            AtomicWidth::Bits64
        } else {
            AtomicWidth::Bits32
        };
        Some(Self { operation, width })
    }

    /// The code, of the form that returns the old value, which packets use.
    pub const fn code(self) -> u8 {
        use AtomicOperation as A;
        let low = match self.operation {
            A::Swap => 0x07,
            A::CompareSwap => 0x08,
            A::Add => 0x0f,
            A::Sub => 0x10,
            A::MinSigned => 0x11,
            A::MinUnsigned => 0x12,
            A::MaxSigned => 0x13,
            A::MaxUnsigned => 0x14,
            A::And => 0x15,
            A::Or => 0x16,
            A::Xor => 0x17,
            A::Increment => 0x18,
            A::Decrement => 0x19,
        };
        match self.width {
            AtomicWidth::Bits32 => low,
            AtomicWidth::Bits64 => low | WIDE,
        }
    }

    /// The new value for an old one; narrow values stand in the low bits.
    pub const fn apply(self, old: u64, source: u64, compare: u64) -> u64 {
        match self.width {
            AtomicWidth::Bits64 => self.apply_64(old, source, compare),
            AtomicWidth::Bits32 => {
                // Signed order is that of 64 bits if both sign bits are where those have theirs.
                match self.operation {
                    AtomicOperation::MinSigned | AtomicOperation::MaxSigned => {
                        let wide = self.apply_64(
                            old as u32 as i32 as i64 as u64,
                            source as u32 as i32 as i64 as u64,
                            0,
                        );
                        wide as u32 as u64
                    }
                    _ => {
                        let narrow = self.apply_64(
                            old as u32 as u64,
                            source as u32 as u64,
                            compare as u32 as u64,
                        );
                        narrow as u32 as u64
                    }
                }
            }
        }
    }

    const fn apply_64(self, old: u64, source: u64, compare: u64) -> u64 {
        use AtomicOperation as A;
        match self.operation {
            A::Swap => source,
            A::CompareSwap => {
                if old == compare {
                    source
                } else {
                    old
                }
            }
            A::Add => old.wrapping_add(source),
            A::Sub => old.wrapping_sub(source),
            A::MinSigned => {
                if (old as i64) < source as i64 {
                    old
                } else {
                    source
                }
            }
            A::MinUnsigned => {
                if old < source {
                    old
                } else {
                    source
                }
            }
            A::MaxSigned => {
                if old as i64 > source as i64 {
                    old
                } else {
                    source
                }
            }
            A::MaxUnsigned => {
                if old > source {
                    old
                } else {
                    source
                }
            }
            A::And => old & source,
            A::Or => old | source,
            A::Xor => old ^ source,
            A::Increment => {
                if old >= source {
                    0
                } else {
                    old + 1
                }
            }
            A::Decrement => {
                if old == 0 || old > source {
                    source
                } else {
                    old - 1
                }
            }
        }
    }
}
