//! Virtual memory: taking addresses, making memory without any, mapping it, saying who may do what.

use super::Runtime;
use super::error::{AllocError, VirtualError};
use crate::backend::{
    AgentId, Backend, MappedMemory, MemoryAccess, MemoryError, MemoryFlags, MemoryHandle,
    MemoryRequest,
};
use crate::mem::registry::Entry;
use crate::mem::virtual_memory::Left;
use crate::mem::{
    Address, MemoryProperties, PointerInfo, PointerKind, Pool, RangeError, Segment, VirtualMemoryId,
};
use alloc::vec::Vec;

impl<B: Backend + ?Sized> Runtime<B> {
    /// Whether the backend can do what is below.
    pub fn has_virtual_memory(&self) -> bool {
        self.backend().has_virtual_memory()
    }

    fn check_virtual(&self) -> Result<(), VirtualError> {
        if self.has_virtual_memory() {
            return Ok(());
        }
        Err(MemoryError::NotSupported("virtual memory").into())
    }

    /// Takes a range of addresses: at `wish`, if it is not null and that is free, otherwise anywhere at a multiple of
    /// `align` bytes (0: a page).
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn reserve_addresses(
        &self,
        size: u64,
        align: u64,
        wish: Address,
    ) -> Result<Address, VirtualError> {
        self.check_virtual()?;
        let page = self.backend().page_size();
        check_whole("size", size, page)?;
        let align = if align == 0 { page } else { align };
        if !align.is_power_of_two() || align < page {
            return Err(unaligned("alignment", align, page));
        }
        // A wish for what cannot be is not fulfilled.
        let wish = if wish.0.is_multiple_of(align) {
            wish.0
        } else {
            0
        };
        let mut books = self.virtual_memory().lock(self.park());
        let address = self.backend().reserve(size, align, wish)?;
        books.reserve(address, size);
        Ok(Address(address))
    }

    /// Gives a range of addresses back, whole, when nothing is mapped there any more.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn free_addresses(&self, address: Address, size: u64) -> Result<(), VirtualError> {
        let mut books = self.virtual_memory().lock(self.park());
        books.unreserve(address, size)?;
        // SAFETY: the books had it as reserved with this size and with no mapping in it.
        unsafe { self.backend().unreserve(address.0, size) };
        Ok(())
    }

    /// Makes memory of a pool without an address. `size` is of whole granules of the pool.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn create_memory(
        &self,
        pool: &Pool,
        size: u64,
        pinned: bool,
    ) -> Result<VirtualMemoryId, VirtualError> {
        self.check_virtual()?;
        if !pool.allocatable {
            return Err(AllocError::NotAllocatable { pool: pool.id }.into());
        }
        check_whole("size", size, pool.granule)?;
        if size > pool.max_allocation {
            let (pool, max) = (pool.id, pool.max_allocation);
            return Err(AllocError::TooLarge { pool, size, max }.into());
        }
        let handle = self.backend().create_memory(&MemoryRequest {
            bank: pool.bank,
            size,
            align: pool.align,
            flags: pool.memory_flags() | MemoryFlags::EXECUTABLE,
        })?;
        let properties = MemoryProperties {
            pool: pool.id,
            size,
            pinned,
        };
        let mut books = self.virtual_memory().lock(self.park());
        Ok(books.add(handle, properties))
    }

    /// Gives a reference to memory back. What is still mapped stays until it is unmapped.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn release_memory(&self, id: VirtualMemoryId) -> Result<(), VirtualError> {
        let mut books = self.virtual_memory().lock(self.park());
        let left = books.release(id)?;
        self.give_memory_back(left);
        Ok(())
    }

    fn give_memory_back(&self, left: Left) {
        if let Left::None(handle) = left {
            // SAFETY: nothing is mapped of it, so that the host has no address of it.
            if unsafe { self.backend().free(handle) }.is_err() {
                crate::trace::event!(error, "memory {:#x} could not be freed", handle.0);
            }
        }
    }

    /// Takes another reference to the memory that is mapped around an address.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn retain_memory(&self, address: Address) -> Result<VirtualMemoryId, VirtualError> {
        Ok(self.virtual_memory().lock(self.park()).retain(address)?)
    }

    /// What memory was made as.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn memory_properties(&self, id: VirtualMemoryId) -> Result<MemoryProperties, VirtualError> {
        let mut books = self.virtual_memory().lock(self.park());
        Ok(books.look_up(id)?.1)
    }

    /// Maps all of a memory at an address inside of a range that was taken. No agent has access yet, the host's neither.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn map_memory(
        &self,
        address: Address,
        size: u64,
        id: VirtualMemoryId,
    ) -> Result<(), VirtualError> {
        let page = self.backend().page_size();
        check_whole("size", size, page)?;
        if !address.0.is_multiple_of(page) {
            return Err(unaligned("address", address.0, page));
        }
        let mut books = self.virtual_memory().lock(self.park());
        let memory = books.check_map(address, size, id)?;
        let (_, properties) = books.look_up(id)?;
        // SAFETY: the books have the range as reserved, and nothing is mapped there.
        let mapped = unsafe { self.backend().map_memory(memory, address.0) }?;
        books.map(address, id, mapped.handle);
        self.note_mapping(address, properties, mapped);
        Ok(())
    }

    /// Puts a mapping beside the allocations, for questions about addresses and for copies.
    fn note_mapping(&self, address: Address, properties: MemoryProperties, mapped: MappedMemory) {
        let pool = self.pool(properties.pool);
        let host_base = mapped
            .host
            .map_or(Address::NULL, |host| Address::from(host.as_ptr()));
        let entry = Entry {
            allocation: crate::backend::Allocation {
                handle: mapped.handle,
                gpu_va: address.0,
                host: mapped.host,
                size: properties.size,
            },
            info: PointerInfo {
                kind: PointerKind::Virtual,
                agent_base: address,
                host_base,
                size: properties.size,
                user_data: 0,
                owner: pool.map(|pool| pool.owner),
                pool: pool.map(|pool| pool.id),
                flags: pool.map_or(Default::default(), |pool| pool.flags),
                accessible: Vec::new(),
            },
            count: 1,
            on_free: Vec::new(),
        };
        self.memory().lock(self.park()).insert(entry);
    }

    /// Takes the mappings away that a range consists of, after calling whoever asked for it with
    /// [`Runtime::on_free`](Self::on_free).
    ///
    /// # Safety
    /// Nothing on the host uses the range afterwards.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub unsafe fn unmap_memory(&self, address: Address, size: u64) -> Result<(), VirtualError> {
        let pieces = {
            let books = self.virtual_memory().lock(self.park());
            books.pieces(address, size)?
        };
        for piece in pieces.into_iter().map(Address) {
            let callbacks = {
                let mut memory = self.memory().lock(self.park());
                let entry = memory.starting_at(piece);
                entry.map(|entry| core::mem::take(&mut entry.on_free))
            };
            // With no lock held: they may do anything, such as unmap it themselves.
            for (_, callback) in callbacks.into_iter().flatten() {
                callback(piece);
            }
            let mut books = self.virtual_memory().lock(self.park());
            let handle = books
                .mapping(piece.0)
                .map(|mapping| mapping.handle)
                .ok_or(RangeError::NotMapped { address: piece })?;
            // SAFETY: by the caller's promise.
            unsafe { self.backend().unmap_memory(handle) }?;
            let left = books.unmap(piece.0);
            drop(self.memory().lock(self.park()).remove(piece));
            self.give_memory_back(left);
        }
        Ok(())
    }

    /// Gives agents exactly this access to the mappings that a range consists of; others keep theirs. On an error
    /// everybody has what they had.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn set_access(
        &self,
        address: Address,
        size: u64,
        wishes: &[(AgentId, MemoryAccess)],
    ) -> Result<(), VirtualError> {
        if let Some(&(agent, _)) = wishes.iter().find(|(a, _)| self.agent(*a).is_none()) {
            return Err(AllocError::NoAgent { agent }.into());
        }
        let mut books = self.virtual_memory().lock(self.park());
        books.reservation_of(address, size)?;
        let mut done: Vec<(MemoryHandle, AgentId, MemoryAccess)> = Vec::new();
        let pieces = books.pieces(address, size)?;
        for &piece in &pieces {
            let Some(mapping) = books.mapping(piece) else {
                continue;
            };
            for &(agent, access) in wishes {
                // Repeated agents: the last wish holds.
                let before = done
                    .iter()
                    .rev()
                    .find(|(handle, other, _)| *handle == mapping.handle && *other == agent)
                    .map(|(_, _, access)| *access)
                    .or_else(|| mapping.access(agent))
                    .unwrap_or_default();
                if let Err(error) = self.change_access(mapping.handle, agent, access) {
                    for (handle, agent, before) in done.into_iter().rev() {
                        let _ = self.change_access(handle, agent, before);
                    }
                    return Err(error.into());
                }
                done.push((mapping.handle, agent, before));
            }
        }
        for &piece in &pieces {
            let Some(mapping) = books.mapping(piece) else {
                continue;
            };
            for &(agent, access) in wishes {
                mapping.set_access(agent, access);
            }
            let agents = mapping.agents().collect();
            if let Some(entry) = self.memory().lock(self.park()).starting_at(Address(piece)) {
                entry.info.accessible = agents;
            }
        }
        Ok(())
    }

    fn change_access(
        &self,
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        self.backend().set_access(mapping, agent, access)
    }

    /// What an agent may do at an address that something is mapped at.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn access(&self, address: Address, agent: AgentId) -> Result<MemoryAccess, VirtualError> {
        let books = self.virtual_memory().lock(self.park());
        let (_, mapping) = books
            .containing(address)
            .ok_or(RangeError::NotMapped { address })?;
        if self.agent(agent).is_none() {
            return Err(AllocError::NoAgent { agent }.into());
        }
        Ok(mapping.access(agent).unwrap_or_default())
    }

    /// A file descriptor, the caller's to close, that names memory to other processes as well.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn export_memory(&self, id: VirtualMemoryId) -> Result<i32, VirtualError> {
        let mut books = self.virtual_memory().lock(self.park());
        let (handle, _) = books.look_up(id)?;
        Ok(self.backend().export_dmabuf(handle)?)
    }

    /// Memory that [`Runtime::export_memory`](Self::export_memory) has named, here or in another process.
    ///
    /// # Errors
    /// See [`VirtualError`].
    pub fn import_memory(&self, descriptor: i32) -> Result<VirtualMemoryId, VirtualError> {
        self.check_virtual()?;
        let found = self.backend().import_memory(descriptor)?;
        let mut pools = self.agents().iter().flat_map(|agent| &agent.pools);
        let pool = pools.find(|pool| pool.bank == found.bank && pool.segment == Segment::Global);
        let Some(pool) = pool else {
            self.give_memory_back(Left::None(found.handle));
            return Err(MemoryError::NoBank { bank: found.bank }.into());
        };
        let properties = MemoryProperties {
            pool: pool.id,
            size: found.size,
            pinned: false,
        };
        let mut books = self.virtual_memory().lock(self.park());
        Ok(books.add(found.handle, properties))
    }

    /// Gives all of it back, when the runtime goes.
    pub(super) fn close_virtual_memory(&mut self) {
        let (mappings, memories, ranges) = self.virtual_memory.get_mut().drain();
        let backend = &self.reactor.backend;
        for mapping in mappings {
            // SAFETY: a client that uses memory of a runtime that is gone breaks the rule of `map_memory`.
            let _ = unsafe { backend.unmap_memory(mapping) };
        }
        for memory in memories {
            // SAFETY: nothing is mapped any more.
            let _ = unsafe { backend.free(memory) };
        }
        for (address, size) in ranges {
            // SAFETY: as above.
            unsafe { backend.unreserve(address, size) };
        }
    }
}

const fn unaligned(what: &'static str, number: u64, page: u64) -> VirtualError {
    VirtualError::Range(RangeError::Unaligned { what, number, page })
}

const fn check_whole(what: &'static str, size: u64, page: u64) -> Result<(), VirtualError> {
    if size == 0 || page == 0 || !size.is_multiple_of(page) {
        return Err(unaligned(what, size, page));
    }
    Ok(())
}
