//! One agent's view of the address map.

use super::fault::MemoryFault;
use super::map::AddressMap;
use super::{Access, Rights, Span};
use alloc::sync::Arc;
use core::fmt;

/// What one agent sees of the address map. Cheap to clone; lookups take no lock.
#[derive(Clone)]
pub struct MemoryView {
    map: Arc<AddressMap>,
    agent: u32,
}

impl fmt::Debug for MemoryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryView")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

impl MemoryView {
    pub(super) fn new(map: Arc<AddressMap>, agent: u32) -> Self {
        Self { map, agent }
    }

    /// The agent whose view this is.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// The span around an address, if the agent has any right to it.
    pub fn lookup(&self, va: u64) -> Option<Span> {
        let found = self.map.table().find(va)?;
        let mut rights = Rights::empty();
        rights.set(Rights::READ, found.readable >> self.agent & 1 != 0);
        rights.set(Rights::WRITE, found.writable >> self.agent & 1 != 0);
        rights.set(Rights::EXECUTE, found.executable >> self.agent & 1 != 0);
        (!rights.is_empty()).then_some(Span {
            base: found.base,
            end: found.end,
            host: found.host,
            rights,
        })
    }

    /// The host address of `va..va + len`, if one span allows the whole access.
    pub fn host(&self, va: u64, len: u64, access: Access) -> Option<*mut u8> {
        let span = self.lookup(va)?;
        (span.contains(va, len) && span.rights.contains(access.needs()))
            .then(|| span.host_address(va))
    }

    /// As [`Self::host`], with the fault that hardware would report.
    ///
    /// # Errors
    /// [`MemoryFault`] if the access is not possible.
    pub fn check(&self, va: u64, len: u64, access: Access) -> Result<*mut u8, MemoryFault> {
        self.host(va, len, access)
            .ok_or_else(|| self.fault(va, len, access))
    }

    /// Changes whenever a region goes away or an agent loses rights: spans looked up before
    /// may no longer be valid then.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.map.generation()
    }

    /// The report of an access that is not possible. Takes a lock; not for fast paths.
    pub fn fault(&self, va: u64, len: u64, access: Access) -> MemoryFault {
        self.map.fault(self, va, len, access)
    }
}
