//! Memory that other processes, or other drivers, share by file descriptors.

use super::Runtime;
use super::error::AllocError;
use crate::backend::{AgentId, Backend, MemoryHandle};
use crate::mem::registry::Entry;
use crate::mem::{Address, PointerInfo, PointerKind, PoolFlags};
use alloc::vec::Vec;

impl<B: Backend + ?Sized> Runtime<B> {
    /// A file descriptor, the caller's to close, of the memory that a range lies in, and where the range begins in it.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`], [`AllocError::OutOfRange`]; what the backend says.
    pub fn export_dmabuf(&self, address: Address, size: u64) -> Result<(i32, u64), AllocError> {
        let (handle, offset) = self.memory_of(address, size)?;
        Ok((self.backend().export_dmabuf(handle)?, offset))
    }

    /// The backend's word for the memory that a range lies in.
    fn memory_of(&self, address: Address, size: u64) -> Result<(MemoryHandle, u64), AllocError> {
        // What is mapped of virtual memory is named by its mapping beside allocations: books first, as everywhere.
        let books = self.virtual_memory().lock(self.park());
        let memory = self.memory().lock(self.park());
        let unknown = AllocError::UnknownAddress { address };
        let entry = memory.containing(address).ok_or(unknown.clone())?;
        let info = &entry.info;
        let offset = address.0.wrapping_sub(info.agent_base.0);
        if offset.checked_add(size).is_none_or(|end| end > info.size) {
            return Err(AllocError::OutOfRange { address, size });
        }
        match info.kind {
            PointerKind::Hsa => Ok((entry.allocation.handle, offset)),
            PointerKind::Virtual => {
                let (_, mapping) = books.containing(address).ok_or(unknown.clone())?;
                let id = mapping.memory;
                Ok((books.mapped(id).ok_or(unknown)?, offset))
            }
            _ => Err(unknown),
        }
    }

    /// Maps the memory of a descriptor to agents, of which the first one's backend imports it. The descriptor stays the
    /// caller's. [`Runtime::release_import`] gives it back.
    ///
    /// # Errors
    /// [`AllocError::NoAgent`]; what the backend says.
    pub fn import_dmabuf(
        &self,
        agents: &[AgentId],
        descriptor: i32,
        kind: PointerKind,
    ) -> Result<(Address, u64), AllocError> {
        let mut gpus: Vec<AgentId> = Vec::new();
        for &agent in agents {
            let found = self.agent(agent).ok_or(AllocError::NoAgent { agent })?;
            if found.is_gpu() && !gpus.contains(&agent) {
                gpus.push(agent);
            }
        }
        let none = AllocError::NoAgent { agent: AgentId(0) };
        let (&first, rest) = gpus.split_first().ok_or(none)?;
        let allocation = self.backend().import_dmabuf(first, descriptor)?;
        if !rest.is_empty()
            && let Err(error) = self.backend().map(allocation.handle, rest)
        {
            // SAFETY: nobody has seen it.
            let _ = unsafe { self.backend().free(allocation.handle) };
            return Err(error.into());
        }
        let base = Address(allocation.gpu_va);
        let entry = Entry {
            allocation,
            info: PointerInfo {
                kind,
                agent_base: base,
                host_base: super::memory::host_address(&allocation),
                size: allocation.size,
                user_data: 0,
                owner: Some(first),
                pool: None,
                flags: PoolFlags::COARSE,
                accessible: gpus,
            },
            count: 1,
            on_free: Vec::new(),
        };
        self.memory().lock(self.park()).insert(entry);
        Ok((base, allocation.size))
    }

    /// Gives back what [`Runtime::import_dmabuf`] has mapped, by its address.
    ///
    /// # Safety
    /// Nothing on the host uses it any more.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`]; what the backend says, and it stays then.
    pub unsafe fn release_import(
        &self,
        address: Address,
        kind: PointerKind,
    ) -> Result<(), AllocError> {
        let unknown = AllocError::UnknownAddress { address };
        let entry = {
            let mut memory = self.memory().lock(self.park());
            match memory.starting_at(address) {
                Some(entry) if entry.info.kind == kind => {}
                _ => return Err(unknown),
            }
            memory.remove(address)
        };
        self.give_back(entry.ok_or(unknown)?)
    }
}
