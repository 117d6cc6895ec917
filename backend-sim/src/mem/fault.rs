//! What a bad access is told as: what hardware says (page, reason) and what it cannot say.

use super::{Access, PAGE_SIZE};
use core::fmt;

/// Why an access is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultReason {
    /// Nothing is mapped there.
    NotMapped,
    /// There is memory, but it is not mapped to this agent.
    OtherAgent,
    /// The region may not be read.
    NotReadable,
    /// The region may not be written.
    NotWritable,
    /// The region may not be executed.
    NotExecutable,
    /// The address has more bits than addresses have.
    NotCanonical,
}

/// The region that is closest to a bad address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NearestRegion {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The backend's name of the allocation.
    pub handle: u64,
    /// Distance in bytes from the region: negative before it, positive past its end, counted
    /// from the last byte of the region; 0 inside.
    pub distance: i64,
}

/// A range that was freed and covered a bad address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreedRange {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The backend's name that the allocation had.
    pub handle: u64,
    /// When it was freed, as the backend's clock tells time in nanoseconds.
    pub freed_at: u64,
}

/// A bad access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryFault {
    /// The first byte that is not accessible.
    pub address: u64,
    /// What the access did.
    pub access: Access,
    /// Size of the access in bytes.
    pub len: u64,
    /// Why it is not possible.
    pub reason: FaultReason,
    /// The agent that made the access.
    pub agent: u32,
    /// The closest region that exists.
    pub nearest: Option<NearestRegion>,
    /// The range freed last that covered the address.
    pub freed: Option<FreedRange>,
}

impl MemoryFault {
    /// Address of the page, as hardware reports it.
    pub const fn page(&self) -> u64 {
        self.address & !(PAGE_SIZE - 1)
    }
}

/// From here on, in bytes, the closest region has nothing to do with a bad address: no 32-bit index of small elements went that far.
const FAR: u64 = 16 << 30;

impl fmt::Display for MemoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "atomic",
            Access::Execute => "instruction fetch",
        };
        let why = match self.reason {
            FaultReason::NotMapped => "nothing is mapped there",
            FaultReason::OtherAgent => "the memory is not mapped to this agent",
            FaultReason::NotReadable => "the memory may not be read",
            FaultReason::NotWritable => "the memory is read-only",
            FaultReason::NotExecutable => "the memory is not executable",
            FaultReason::NotCanonical => "the address is not canonical",
        };
        write!(
            f,
            "memory fault: {what} of {} bytes at {:#x} by agent {}: {why}",
            self.len, self.address, self.agent
        )?;
        if let Some(freed) = self.freed {
            write!(
                f,
                "; it was freed at {} ns: {:#x}, {} bytes",
                freed.freed_at, freed.base, freed.size
            )?;
        }
        let near = |region: &NearestRegion| region.distance.unsigned_abs() < FAR;
        if let Some(near) = self.nearest.filter(near) {
            let place = match near.distance {
                0 => "inside",
                d if d < 0 => "before",
                _ => "past the end of",
            };
            write!(
                f,
                "; {} bytes {place} the allocation at {:#x}, {} bytes",
                near.distance.unsigned_abs(),
                near.base,
                near.size
            )?;
        }
        Ok(())
    }
}

impl core::error::Error for MemoryFault {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    #[test]
    fn the_closest_region_is_told_if_it_is_close() {
        let fault = |distance: i64| MemoryFault {
            address: 0x7000_0000_0000,
            access: Access::Write,
            len: 4,
            reason: FaultReason::NotMapped,
            agent: 1,
            nearest: Some(NearestRegion {
                base: 0x1000,
                size: 4096,
                handle: 1,
                distance,
            }),
            freed: None,
        };
        let what =
            "memory fault: write of 4 bytes at 0x700000000000 by agent 1: nothing is mapped there";
        let near = "bytes past the end of the allocation at 0x1000, 4096 bytes";
        assert_eq!(fault(8).to_string(), format!("{what}; 8 {near}"));
        let last = FAR.cast_signed() - 1;
        assert_eq!(fault(last).to_string(), format!("{what}; {last} {near}"));
        assert_eq!(fault(last + 1).to_string(), what);
        assert_eq!(fault(-last - 1).to_string(), what);
    }
}
