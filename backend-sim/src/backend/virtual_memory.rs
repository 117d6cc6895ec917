//! Virtual memory, and memory that processes share.
//!
//! A block without addresses is mapped once for the devices, wherever that is; a mapping shows it to them at the address that
//! the client chose, in the address map alone. The host reaches it there through a mapping of its own, with its own rights.

use super::SimBackend;
use super::memory::{Books, host_error};
use super::topology::HOST;
use crate::mem::{Block, PAGE_SIZE, RegionId, Rights, SharedMemory};
use alloc::collections::BTreeMap;
use rukh_core::backend::{
    AgentId, Allocation, BankId, HeapKind, ImportedMemory, Ipc, MappedMemory, MemoryAccess,
    MemoryError, MemoryHandle, MemoryRequest, Topology, VirtualMemory,
};

const NONE: MemoryError =
    MemoryError::NotSupported("virtual memory without an operating system's memory files");

/// Memory without addresses.
struct Memory {
    block: Block,
    align: u64,
    /// Whose bank it counts for; imported memory counts where it was made.
    bank: Option<AgentId>,
    mappings: u32,
}

/// Memory at an address.
struct Mapping {
    memory: u64,
    address: u64,
    region: RegionId,
}

/// What there is of both.
#[derive(Default)]
pub(super) struct VirtualBooks {
    memories: BTreeMap<u64, Memory>,
    mappings: BTreeMap<u64, Mapping>,
}

impl VirtualBooks {
    /// Whether a handle is of memory without addresses.
    pub(super) fn has(&self, handle: MemoryHandle) -> bool {
        self.memories.contains_key(&handle.0)
    }

    /// Its block.
    pub(super) fn block(&self, handle: MemoryHandle) -> Option<Block> {
        Some(self.memories.get(&handle.0)?.block)
    }

    /// All blocks, with their alignments.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Block, u64)> + use<> {
        self.mappings.clear();
        let memories = core::mem::take(&mut self.memories);
        memories
            .into_values()
            .map(|memory| (memory.block, memory.align))
    }
}

fn rights(access: MemoryAccess) -> Rights {
    let mut rights = Rights::empty();
    rights.set(Rights::READ, access.contains(MemoryAccess::READ));
    rights.set(Rights::WRITE, access.contains(MemoryAccess::WRITE));
    rights
}

impl SimBackend {
    fn shared(&self) -> Result<&dyn SharedMemory, MemoryError> {
        self.memory.shared().ok_or(NONE)
    }

    /// Gives memory back that is mapped nowhere.
    pub(super) fn free_memory(
        &self,
        books: &mut Books,
        handle: MemoryHandle,
    ) -> Result<(), MemoryError> {
        let found = books.virtual_memory.memories.get(&handle.0);
        match found.map(|memory| memory.mappings) {
            None => return Err(MemoryError::NoAllocation { handle }),
            Some(0) => {}
            Some(_) => {
                return Err(MemoryError::InUse {
                    handle,
                    user: "a mapping",
                });
            }
        }
        if let Some(memory) = books.virtual_memory.memories.remove(&handle.0) {
            if let Some(agent) = memory.bank {
                books.use_bank(agent, memory.block.size, false);
            }
            // SAFETY: a block of this source. The last mapping went with all turns that saw it (`unmap_memory`).
            unsafe { self.memory.release(memory.block, memory.align) };
        }
        Ok(())
    }

    /// The bank of an agent that memory is allocated from.
    fn main_bank(&self, agent: AgentId) -> Option<BankId> {
        let mut index = 0;
        let mut found = None;
        self.memory_banks(agent, &mut |bank| {
            if found.is_none() && matches!(bank.heap, HeapKind::System | HeapKind::VramPublic) {
                found = Some(BankId { agent, index });
            }
            index += 1;
        });
        found
    }

    /// Takes a descriptor's block in.
    fn take_in(&self, descriptor: i32) -> Result<(Block, BankId), MemoryError> {
        let found = self
            .shared()?
            .import(descriptor)
            .map_err(|error| host_error(error, 0))?
            .ok_or(MemoryError::NotShared { descriptor })?;
        match self.main_bank(AgentId(found.label)) {
            Some(bank) => Ok((found.block, bank)),
            // Of a machine with other devices than this one.
            None => {
                // SAFETY: mapped just now.
                unsafe { self.memory.release(found.block, PAGE_SIZE) };
                Err(MemoryError::NotShared { descriptor })
            }
        }
    }
}

// SAFETY: ranges are those of a `SharedMemory`, whose contract is as this one. The runtime's address is the block's own
// mapping, which stays until the memory is freed; that takes that no mapping is left.
unsafe impl VirtualMemory for SimBackend {
    fn has_virtual_memory(&self) -> bool {
        self.memory.shared().is_some()
    }

    fn reserve(&self, size: u64, align: u64, wish: u64) -> Result<u64, MemoryError> {
        self.shared()?
            .take_range(size, align, wish)
            .map_err(|error| host_error(error, 0))
    }

    unsafe fn unreserve(&self, address: u64, size: u64) {
        if let Some(shared) = self.memory.shared() {
            // SAFETY: by the caller's promise.
            unsafe { shared.give_range(address, size) };
        }
    }

    fn create_memory(&self, request: &MemoryRequest) -> Result<MemoryHandle, MemoryError> {
        let shared = self.shared()?;
        let &MemoryRequest {
            bank, size, align, ..
        } = request;
        let limit = self.bank_size(bank)?;
        if size == 0
            || !size.is_multiple_of(PAGE_SIZE)
            || !align.is_power_of_two()
            || align < PAGE_SIZE
        {
            let page = PAGE_SIZE;
            return Err(MemoryError::BadSize { size, align, page });
        }
        let mut books = self.books.lock();
        self.sweep(&mut books);
        let available = books.left(bank.agent, limit);
        if size > available {
            return Err(MemoryError::OutOfMemory { size, available });
        }
        let block = shared
            .allocate_alone(size, align, bank.agent.0)
            .map_err(|error| host_error(error, available))?;
        books.use_bank(bank.agent, size, true);
        let handle = books.number();
        let memory = Memory {
            block,
            align,
            bank: Some(bank.agent),
            mappings: 0,
        };
        books.virtual_memory.memories.insert(handle, memory);
        Ok(MemoryHandle(handle))
    }

    fn import_memory(&self, descriptor: i32) -> Result<ImportedMemory, MemoryError> {
        let (block, bank) = self.take_in(descriptor)?;
        let mut books = self.books.lock();
        let handle = books.number();
        let memory = Memory {
            block,
            align: PAGE_SIZE,
            bank: None,
            mappings: 0,
        };
        books.virtual_memory.memories.insert(handle, memory);
        Ok(ImportedMemory {
            handle: MemoryHandle(handle),
            size: block.size,
            bank,
        })
    }

    unsafe fn map_memory(
        &self,
        memory: MemoryHandle,
        address: u64,
    ) -> Result<MappedMemory, MemoryError> {
        let mut books = self.books.lock();
        let none = MemoryError::NoAllocation { handle: memory };
        let block = books.virtual_memory.block(memory).ok_or(none.clone())?;
        let handle = books.number();
        // SAFETY: the block stays until its memory is freed, which takes that it is not mapped any more, and `unmap_memory`
        // waits for all turns that saw the region.
        let region = unsafe {
            let (size, host) = (block.size, block.host.as_ptr());
            self.system.map.insert(address, size, host, handle)
        }
        .map_err(|_| MemoryError::BadHostRange {
            address,
            size: block.size,
        })?;
        let books = &mut books.virtual_memory;
        books.memories.get_mut(&memory.0).ok_or(none)?.mappings += 1;
        let mapping = Mapping {
            memory: memory.0,
            address,
            region,
        };
        books.mappings.insert(handle, mapping);
        Ok(MappedMemory {
            handle: MemoryHandle(handle),
            host: Some(block.host),
        })
    }

    unsafe fn unmap_memory(&self, mapping: MemoryHandle) -> Result<(), MemoryError> {
        let mut books = self.books.lock();
        let none = MemoryError::NoAllocation { handle: mapping };
        let books = &mut books.virtual_memory;
        let found = books.mappings.get(&mapping.0).ok_or(none.clone())?;
        let memory = books.memories.get_mut(&found.memory).ok_or(none)?;
        // SAFETY: mapped into a range of the client's, who does not use it any more.
        unsafe {
            self.shared()?
                .map_at(&memory.block, found.address, Rights::empty())
        }
        .map_err(|error| host_error(error, 0))?;
        // The region is in the map as long as its mapping is in the books.
        let now = self.system.clock.now();
        let _ = self.system.map.remove(found.region, now);
        // Afterwards no device reaches the memory.
        self.system.quiesce.wait(self.system.quiesce.advance());
        memory.mappings -= 1;
        books.mappings.remove(&mapping.0);
        Ok(())
    }

    fn set_access(
        &self,
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        self.check_agents(&[agent])?;
        let books = self.books.lock();
        let none = MemoryError::NoAllocation { handle: mapping };
        let books = &books.virtual_memory;
        let found = books.mappings.get(&mapping.0).ok_or(none.clone())?;
        if agent == HOST {
            let memory = books.memories.get(&found.memory).ok_or(none)?;
            let shared = self.shared()?;
            // SAFETY: the range is the mapping's; replacing the host's access to it is what the client asks for.
            return unsafe { shared.map_at(&memory.block, found.address, rights(access)) }
                .map_err(|error| host_error(error, 0));
        }
        // The agent exists, and the region.
        let _ = self
            .system
            .map
            .set_rights(found.region, agent.0, rights(access));
        if access.is_empty() {
            // As a driver flushes translations.
            self.system.quiesce.wait(self.system.quiesce.advance());
        }
        Ok(())
    }
}

impl Ipc for SimBackend {
    fn has_dmabufs(&self) -> bool {
        self.memory.shared().is_some()
    }

    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, MemoryError> {
        let shared = self.shared()?;
        let block = self
            .block_of(handle)
            .ok_or(MemoryError::NoAllocation { handle })?
            .ok_or(MemoryError::NotSupported(
                "export of the client's own memory",
            ))?;
        shared
            .export(&block)
            .map_err(|error| host_error(error, 0))?
            // Files of its own are for devices' memory, and for as much of it as there are descriptors.
            .ok_or(MemoryError::NotSupported("export of memory without a file"))
    }

    fn import_dmabuf(&self, agent: AgentId, descriptor: i32) -> Result<Allocation, MemoryError> {
        self.check_agents(&[agent])?;
        let (block, _) = self.take_in(descriptor)?;
        self.adopt(block, agent)
    }
}
