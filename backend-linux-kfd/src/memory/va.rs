//! Address ranges: the same numbers on the host and on every GPU.

use core::ptr::NonNull;
use rukh_core::kfd::{KfdPort, Mapping, PortError, Protection};

pub(super) const PAGE: u64 = 4096;

/// Alignment grows with the size up to the fragment that a GPU's page tables describe in one entry.
const MAX_ALIGN: u64 = 2 << 20;

const ENOMEM: i32 = 12;

/// Addresses that are taken: a range, and a guard page that nobody maps on each side, so that an access a little
/// beyond is a fault and not somebody else's memory.
#[derive(Debug)]
pub(super) struct Reservation {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: an address range that belongs to whoever holds the value; nothing is reached through it here.
unsafe impl Send for Reservation {}

impl Reservation {
    /// Takes a range of `size` bytes, a multiple of the page, aligned to `align` and to what suits the size.
    pub fn new<P: KfdPort>(port: &P, size: u64, align: u64) -> Result<Self, PortError> {
        let too_large = || PortError::Map {
            size: size as usize,
            offset: 0,
            errno: ENOMEM,
        };
        // The largest power of two that is not above the size.
        let natural = 1u64 << (63 - size.max(PAGE).leading_zeros());
        let align = align.max(natural.min(MAX_ALIGN)).max(PAGE);
        let slack = align - PAGE;
        let length = size
            .checked_add(2 * PAGE)
            .and_then(|n| n.checked_add(slack))
            .filter(|&n| n < 1 << 47)
            .ok_or_else(too_large)?;
        // SAFETY: not fixed: the system picks free addresses.
        let raw = unsafe {
            port.map(&Mapping {
                file: None,
                offset: 0,
                size: length as usize,
                protection: Protection::None,
                fixed: None,
            })
        }?;
        let start = raw.addr().get() as u64;
        let address = (start + PAGE).next_multiple_of(align);
        let before = address - PAGE - start;
        let after = slack - before;
        // SAFETY: the range was mapped above, `before + kept + after` are its length, and nobody has seen it yet.
        unsafe {
            if before != 0 {
                port.unmap(raw, before as usize);
            }
            let kept = raw.add(before as usize);
            let length = (size + 2 * PAGE) as usize;
            if after != 0 {
                port.unmap(kept.add(length), after as usize);
            }
            Ok(Self { base: kept, length })
        }
    }

    /// Takes the range that begins at an address, if that and a page on each side are free.
    pub fn at<P: KfdPort>(port: &P, address: u64, size: u64) -> Result<Self, PortError> {
        let refused = || PortError::Map {
            size: size as usize,
            offset: 0,
            errno: ENOMEM,
        };
        let length = size
            .checked_add(2 * PAGE)
            .filter(|length| *length < 1 << 47)
            .ok_or_else(refused)?;
        let start = address.checked_sub(PAGE).ok_or_else(refused)?;
        let base = port.take(start, length as usize)?;
        let length = length as usize;
        Ok(Self { base, length })
    }

    /// Where the range begins, behind the guard page.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: the reservation is longer than its first guard page.
        unsafe { self.base.add(PAGE as usize) }
    }

    /// That as the address that devices use. From here on the range may be reached by its number alone.
    pub fn address(&self) -> u64 {
        self.start().as_ptr().expose_provenance() as u64
    }

    /// Bytes between the guard pages.
    pub const fn size(&self) -> usize {
        self.length - 2 * PAGE as usize
    }

    /// Maps something over the whole range.
    pub fn fill<P: KfdPort>(&self, port: &P, mapping: &Mapping) -> Result<(), PortError> {
        // SAFETY: the fixed range is this reservation's, and replacing what is there is what its holder asks for.
        unsafe {
            port.map(&Mapping {
                size: self.size(),
                fixed: Some(self.start()),
                ..*mapping
            })
        }
        .map(drop)
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nothing uses the range any more.
    pub unsafe fn release<P: KfdPort>(self, port: &P) {
        // SAFETY: mapped by `new`, and by the caller's promise not in use.
        unsafe { port.unmap(self.base, self.length) };
    }
}
