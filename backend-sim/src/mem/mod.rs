//! Simulated memory: the address map, one agent's view of it, and the only functions that touch it.
//!
//! Addresses are unified: a GPU address is the host address of the same bytes wherever the
//! simulator allocated them. That does not make an address valid: every access of a device goes
//! through its agent's [`MemoryView`], which knows what is mapped to that agent with which
//! rights.
//!
//! - `table`: the radix table from page to region, read without locks.
//! - [`AddressMap`]: regions come and go here; keeps what a fault report wants to know.
//! - [`MemoryView`]: one agent's lookups and faults.
//! - [`raw`]: loads, stores, copies and atomics. Clients, other devices and other processes touch the
//!   same bytes at any time, so there is never a Rust reference to them.
//! - [`HostMemory`]: where the bytes come from.

mod fault;
mod host;
mod map;
#[cfg(feature = "std")]
mod os;
pub mod raw;
#[cfg(feature = "std")]
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod view;

pub use fault::{FaultReason, FreedRange, MemoryFault, NearestRegion};
pub use host::{Block, HeapMemory, HostMemory, HostMemoryError, SharedBlock, SharedMemory};
pub use map::{AddressMap, MapError, RegionId};
#[cfg(feature = "std")]
pub use os::OsMemory;
#[cfg(feature = "std")]
pub(crate) use os::{allocate_alone, map_alone, map_file, unmap_guarded};
#[cfg(feature = "std")]
pub(crate) use shared::{MemoryFile, most_files};
pub use view::MemoryView;

/// log2 of the page size.
pub const PAGE_SHIFT: u32 = 12;
/// Size of a page in bytes: the granule of mappings and rights.
pub const PAGE_SIZE: u64 = 1 << PAGE_SHIFT;
/// Number of address bits that can be mapped; higher addresses are never valid.
pub const VA_BITS: u32 = 48;
/// Number of agents that an address map tells apart.
pub const MAX_AGENTS: u32 = 64;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one step: an atomic.
    ReadWrite,
    /// Fetches instructions.
    Execute,
}

impl Access {
    /// The rights that the access needs.
    pub const fn needs(self) -> Rights {
        match self {
            Self::Read => Rights::READ,
            Self::Write => Rights::WRITE,
            Self::ReadWrite => Rights::READ.union(Rights::WRITE),
            Self::Execute => Rights::EXECUTE,
        }
    }
}

bitflags::bitflags! {
    /// What an agent may do with a region.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Rights: u8 {
        /// Read it.
        const READ = 1 << 0;
        /// Write it.
        const WRITE = 1 << 1;
        /// Fetch instructions from it.
        const EXECUTE = 1 << 2;
    }
}

/// A range of addresses that is mapped to an agent as one piece. Valid as long as
/// [`MemoryView::generation`] stays the same; neighbouring spans may touch (an access across
/// their border is valid if both allow it).
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First address.
    pub base: u64,
    /// Address after the last.
    pub end: u64,
    /// Host address of `base`.
    pub host: *mut u8,
    /// What the agent may do with it; never empty.
    pub rights: Rights,
}

// SAFETY: a span is a description. Using `host` takes one of the unsafe functions of `raw`, whose
// callers answer for the memory; which thread they are on makes no difference to them.
unsafe impl Send for Span {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for Span {}

impl Span {
    /// An empty span, for caches that start with nothing: contains no address.
    pub const EMPTY: Self = Self {
        base: 0,
        end: 0,
        host: core::ptr::null_mut(),
        rights: Rights::empty(),
    };

    /// Whether all of `va..va + len` lies in the span.
    #[inline(always)]
    pub const fn contains(&self, va: u64, len: u64) -> bool {
        va >= self.base && va < self.end && len <= self.end - va
    }

    /// Host address of an address of the span.
    #[inline(always)]
    pub const fn host_address(&self, va: u64) -> *mut u8 {
        self.host.wrapping_add(va.wrapping_sub(self.base) as usize)
    }
}
