//! The client's allocations, by address.

use super::Address;
use super::pool::{PoolFlags, PoolId};
use crate::backend::{AgentId, Allocation};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

bitflags::bitflags! {
    /// Wishes of an allocation (`hsa_amd_memory_pool_flag_t`).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct AllocFlags: u32 {
        /// Ordered for PCIe peers.
        const PCIE = 1;
        /// Physically contiguous.
        const CONTIGUOUS = 2;
        /// Devices may execute it.
        const EXECUTABLE = 4;
    }
}

/// What an address belongs to (`hsa_amd_pointer_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerKind {
    /// Nothing that the runtime knows.
    Unknown,
    /// An allocation of the runtime.
    Hsa,
    /// Host memory that was locked.
    Locked,
    /// Memory of another process or driver, by dmabuf.
    Graphics,
    /// Memory that another process shares by the runtime's own means.
    Ipc,
    /// Addresses that were taken, with nothing there yet.
    Reserved,
    /// Virtual memory: what is mapped at an address of the client's choice.
    Virtual,
}

/// What is known about an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointerInfo {
    /// What it belongs to.
    pub kind: PointerKind,
    /// Where that starts, on agents.
    pub agent_base: Address,
    /// Where that starts, on the host; null if the host does not map it.
    pub host_base: Address,
    /// Its size in bytes as it was asked for.
    pub size: u64,
    /// The client's own word for it.
    pub user_data: u64,
    /// The agent whose memory it is; None for an unknown address.
    pub owner: Option<AgentId>,
    /// The pool that it came from.
    pub pool: Option<PoolId>,
    /// That pool's flags.
    pub flags: PoolFlags,
    /// The agents that can reach it.
    pub accessible: Vec<AgentId>,
}

impl PointerInfo {
    /// Of an address that the runtime does not know.
    pub const UNKNOWN: Self = Self {
        kind: PointerKind::Unknown,
        agent_base: Address::NULL,
        host_base: Address::NULL,
        size: 0,
        user_data: 0,
        owner: None,
        pool: None,
        flags: PoolFlags::empty(),
        accessible: Vec::new(),
    };
}

/// Called before an allocation goes, with its address.
pub type FreeCallback = Box<dyn FnOnce(Address) + Send>;

/// One allocation.
pub struct Entry {
    /// The backend's word for it.
    pub allocation: Allocation,
    /// What is said about it.
    pub info: PointerInfo,
    /// How often it was locked (locked memory) or 1.
    pub count: u32,
    /// Called before it goes, by the client's keys.
    pub on_free: Vec<(u64, FreeCallback)>,
}

// SAFETY: the allocation's host pointer is an address that entries never follow.
unsafe impl Send for Entry {}

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry").field("info", &self.info).finish()
    }
}

/// The allocations of a runtime: disjoint ranges of agent addresses, and of host addresses for memory
/// whose two differ.
#[derive(Debug, Default)]
pub struct Registry {
    entries: BTreeMap<u64, Entry>,
    /// Host base to agent base.
    hosts: BTreeMap<u64, u64>,
}

impl Registry {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            hosts: BTreeMap::new(),
        }
    }

    /// Adds an allocation under its agent address.
    pub fn insert(&mut self, entry: Entry) {
        let base = entry.info.agent_base.0;
        let host = entry.info.host_base.0;
        if host != 0 && host != base {
            self.hosts.insert(host, base);
        }
        self.entries.insert(base, entry);
    }

    /// Takes an allocation out, by the address that it starts at (on agents or on the host).
    pub fn remove(&mut self, base: Address) -> Option<Entry> {
        let base = self.base_of(base)?;
        let entry = self.entries.remove(&base)?;
        self.hosts.remove(&entry.info.host_base.0);
        Some(entry)
    }

    /// The allocation that starts at this address, on agents or on the host.
    pub fn starting_at(&mut self, base: Address) -> Option<&mut Entry> {
        let base = self.base_of(base)?;
        self.entries.get_mut(&base)
    }

    fn base_of(&self, address: Address) -> Option<u64> {
        if self.entries.contains_key(&address.0) {
            return Some(address.0);
        }
        self.hosts.get(&address.0).copied()
    }

    /// The allocation that an address lies in, on agents or on the host.
    pub fn containing(&self, address: Address) -> Option<&Entry> {
        let by_agent = self
            .entries
            .range(..=address.0)
            .next_back()
            .map(|(_, entry)| (entry, entry.info.agent_base));
        let by_host = self
            .hosts
            .range(..=address.0)
            .next_back()
            .and_then(|(host, base)| Some((self.entries.get(base)?, Address(*host))));
        [by_agent, by_host]
            .into_iter()
            .flatten()
            .find(|(entry, base)| address.0 - base.0 < entry.info.size.max(1))
            .map(|(entry, _)| entry)
    }

    /// As [`Registry::containing`], to change it.
    pub fn containing_mut(&mut self, address: Address) -> Option<&mut Entry> {
        let base = self.containing(address)?.info.agent_base.0;
        self.entries.get_mut(&base)
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = Entry> + use<> {
        self.hosts.clear();
        core::mem::take(&mut self.entries).into_values()
    }

    /// Number of allocations.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All allocations, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::MemoryHandle;

    fn entry(base: u64, host: u64, size: u64) -> Entry {
        Entry {
            allocation: Allocation {
                handle: MemoryHandle(base),
                gpu_va: base,
                host: None,
                size,
            },
            info: PointerInfo {
                kind: PointerKind::Hsa,
                agent_base: Address(base),
                host_base: Address(host),
                size,
                ..PointerInfo::UNKNOWN
            },
            count: 1,
            on_free: Vec::new(),
        }
    }

    #[test]
    fn an_address_belongs_to_the_allocation_around_it() {
        let mut registry = Registry::new();
        registry.insert(entry(0x1000, 0x1000, 0x800));
        registry.insert(entry(0x4000, 0x9000, 0x1000));
        let base = |a| registry.containing(Address(a)).map(|e| e.info.agent_base.0);
        assert_eq!(base(0xfff), None);
        assert_eq!(base(0x1000), Some(0x1000));
        assert_eq!(base(0x17ff), Some(0x1000));
        assert_eq!(base(0x1800), None);
        assert_eq!(base(0x4fff), Some(0x4000));
        // By its host address as well, where that is another one.
        assert_eq!(base(0x9abc), Some(0x4000));
        assert_eq!(base(0xa000), None);
    }

    #[test]
    fn only_the_start_of_an_allocation_removes_it() {
        let mut registry = Registry::new();
        registry.insert(entry(0x4000, 0x9000, 0x1000));
        assert!(registry.remove(Address(0x4008)).is_none());
        assert!(registry.remove(Address(0x9000)).is_some());
        assert!(registry.is_empty());
        assert!(registry.containing(Address(0x9000)).is_none());
    }
}
