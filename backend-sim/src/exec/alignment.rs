//! What becomes of addresses that are not aligned: ALIGNMENT_MODE of SH_MEM_CONFIG, which the driver sets.
//!
//! It rules loads and stores of vector registers, in memory, LDS and private memory. Atomics insist on their alignment
//! in every mode, scalar loads ignore the low bits of addresses in every mode, and formatted and image accesses take
//! any address here.

use super::access::Addresses;
use super::code::Page;
use super::fault::FaultKind;
use super::machine::Machine;
use super::microop::{Flow, MicroOp};

/// The mode, by its code in the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum Alignment {
    /// The low bits of an address are ignored: it is that of the size of the access, or of a dword if that is less.
    Dword,
    /// An address must be a multiple of the size of the access, or of a dword if that is less.
    DwordStrict,
    /// An address must be a multiple of the size of the access; of 16 bytes where that is 12.
    Strict,
    /// Any address will do: as Linux sets it.
    #[default]
    Unaligned,
}

impl Alignment {
    /// Every mode, by its code.
    pub const ALL: [Alignment; 4] = [
        Alignment::Dword,
        Alignment::DwordStrict,
        Alignment::Strict,
        Alignment::Unaligned,
    ];

    /// Whether every address will do.
    pub(crate) const fn is_free(self) -> bool {
        matches!(self, Alignment::Unaligned)
    }

    /// Where an access of so many bytes goes.
    ///
    /// # Errors
    /// The alignment that it does not have.
    fn place(self, at: u64, bytes: u8) -> Result<u64, u32> {
        let unit = match self {
            Alignment::Dword | Alignment::DwordStrict => u32::from(bytes.min(4)),
            Alignment::Strict => u32::from(bytes).next_power_of_two(),
            Alignment::Unaligned => 1,
        };
        let low = at & (u64::from(unit) - 1);
        match self {
            Alignment::Dword => Ok(at - low),
            _ if low == 0 => Ok(at),
            _ => Err(unit),
        }
    }
}

impl Machine<'_> {
    /// Where the lanes' accesses of so many bytes go.
    ///
    /// # Errors
    /// The fault of the first lane whose address is not aligned, if it must be.
    pub(crate) fn aligned(
        &mut self,
        op: &MicroOp,
        page: &Page,
        bytes: u8,
        va: &Addresses,
        mask: u64,
    ) -> Result<Addresses, Flow> {
        let mut placed = *va;
        for lane in super::access::Lanes(mask) {
            placed[lane] = page.alignment.place(va[lane], bytes).map_err(|align| {
                let kind = FaultKind::Misaligned {
                    address: va[lane],
                    align,
                    lane: lane as u32,
                };
                self.fault(op, page, kind)
            })?;
        }
        Ok(placed)
    }

    /// [`Machine::aligned`], of offsets in LDS or private memory.
    pub(crate) fn aligned_offsets(
        &mut self,
        op: &MicroOp,
        page: &Page,
        bytes: u8,
        offsets: &[u32; 64],
        mask: u64,
    ) -> Result<[u32; 64], Flow> {
        if page.alignment.is_free() {
            return Ok(*offsets);
        }
        let placed = self.aligned(op, page, bytes, &offsets.map(u64::from), mask)?;
        Ok(placed.map(|at| at as u32))
    }
}
