//! Allocations by handle and by address.

use super::bo::Bo;
use super::va::{PAGE, Reservation};
use super::virtual_memory::VirtualTable;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::kfd::uapi::AllocFlags;

/// What is behind an address range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// Anonymous pages of this process; a user pointer to GPUs.
    Host,
    /// As `Host`, unless the first GPU that it is mapped to needs the kernel's own pages for its queues.
    Queue,
    /// The kernel's pages.
    Gtt,
    /// Device memory of a GPU, which the host maps or not.
    Vram {
        /// Whether the host maps it.
        host: bool,
    },
    /// The caller's pages at this address.
    Registered(u64),
    /// The GPU's doorbells, at this offset of the driver's file.
    Doorbells(u64),
    /// The GPU's registers that flush what the host has written.
    Registers,
    /// Others' memory, by dmabuf.
    Imported,
    /// Nothing.
    AddressOnly,
}

/// An allocation.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The address range. None for registered memory where no GPU is.
    pub(super) range: Option<Reservation>,
    /// The address on devices.
    pub gpu_va: u64,
    /// Bytes that devices reach from `gpu_va` on.
    pub size: u64,
    pub source: Source,
    pub(super) flags: AllocFlags,
    pub(super) host: Option<NonNull<u8>>,
    pub(super) bo: Option<Bo>,
    /// Indices of the GPUs that it is mapped to.
    pub(super) mapped: Vec<usize>,
    /// Live queues that need it.
    pub(super) users: u32,
}

// SAFETY: the host pointer is an address of memory that no thread owns; whoever uses it says why
// that is sound.
unsafe impl Send for Entry {}

impl Entry {
    /// Whether a GPU reaches it.
    pub fn is_mapped_to(&self, gpu: usize) -> bool {
        self.mapped.contains(&gpu)
    }

    /// Whether what the host maps there is the driver's: no child process inherits that, and what is there in a child may be
    /// anything by now.
    pub(super) const fn is_the_drivers(&self) -> bool {
        match self.source {
            Source::Gtt
            | Source::Vram { host: true }
            | Source::Doorbells(_)
            | Source::Registers => true,
            Source::Host
            | Source::Queue
            | Source::Vram { host: false }
            | Source::Registered(_)
            | Source::Imported
            | Source::AddressOnly => false,
        }
    }

    /// The pages' first address on devices.
    pub(super) const fn page_start(&self) -> u64 {
        self.gpu_va & !(PAGE - 1)
    }
}

/// All allocations.
#[derive(Debug, Default)]
pub(crate) struct MemoryTable {
    pub(super) entries: BTreeMap<u64, Entry>,
    by_address: BTreeMap<u64, u64>,
    last: u64,
    /// Bytes of device memory, by GPU, for drivers that do not tell what is left.
    pub(super) vram: BTreeMap<usize, u64>,
    pub(super) virtual_memory: VirtualTable,
}

impl MemoryTable {
    /// The next handle. None is used twice.
    pub(super) const fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Keeps an allocation; gives its handle.
    pub(super) fn insert(&mut self, entry: Entry) -> u64 {
        let handle = self.number();
        self.put_back(handle, entry);
        handle
    }

    pub(super) fn put_back(&mut self, handle: u64, entry: Entry) {
        self.by_address.insert(entry.page_start(), handle);
        self.entries.insert(handle, entry);
    }

    pub(super) fn remove(&mut self, handle: u64) -> Option<Entry> {
        let entry = self.entries.remove(&handle)?;
        if self.by_address.get(&entry.page_start()) == Some(&handle) {
            self.by_address.remove(&entry.page_start());
        }
        Some(entry)
    }

    /// The allocation whose pages contain a device address.
    pub fn containing(&mut self, address: u64) -> Option<(u64, &mut Entry)> {
        let (_, &handle) = self.by_address.range(..=address).next_back()?;
        let entry = self.entries.get_mut(&handle)?;
        let offset = address - entry.page_start();
        let pages = (entry.gpu_va - entry.page_start() + entry.size).next_multiple_of(PAGE);
        (offset < pages).then_some((handle, entry))
    }

    /// Notes that a queue needs an allocation, or needs it no more.
    pub fn set_used(&mut self, handle: u64, used: bool) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            entry.users = if used {
                entry.users.saturating_add(1)
            } else {
                entry.users.saturating_sub(1)
            };
        }
    }
}
