//! Memory banks: allocations, registrations, and who may reach them.

use super::SimBackend;
use super::topology::HOST;
use super::virtual_memory::VirtualBooks;
use crate::mem::{Block, HostMemoryError, MAX_AGENTS, MapError, PAGE_SIZE, RegionId, Rights};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::backend::{
    AgentId, Allocation, BankId, HeapKind, Memory, MemoryError, MemoryFlags, MemoryHandle,
    MemoryRequest, QueueHandle, Topology,
};

/// An allocation, or host memory that was registered.
struct Entry {
    region: RegionId,
    base: u64,
    size: u64,
    rights: Rights,
    /// The block with its alignment, and the agent whose bank it counts for, if it was not imported; none for
    /// registered memory.
    backing: Option<(Block, u64, Option<AgentId>)>,
    /// Registered memory has addresses of its own on the devices.
    reserved: bool,
    /// Queues that need it.
    users: u32,
}

/// A block that was freed while a device may still have been using it.
struct Limbo {
    epoch: u64,
    block: Block,
    align: u64,
}

/// The books of all banks.
#[derive(Default)]
pub(super) struct Books {
    entries: BTreeMap<u64, Entry>,
    /// Handles of allocations by address.
    by_address: BTreeMap<u64, u64>,
    next: u64,
    /// Bytes in use of each agent's bank.
    used: BTreeMap<u32, u64>,
    limbo: Vec<Limbo>,
    /// What each queue needs.
    queues: BTreeMap<u64, Vec<u64>>,
    /// The events' mailboxes.
    mailboxes: Option<Block>,
    /// Memory without addresses, and where it is mapped.
    pub(super) virtual_memory: VirtualBooks,
}

impl Books {
    /// The next handle. None is used twice.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Notes that a bank gives less (`size` bytes), or more again.
    pub(super) fn use_bank(&mut self, agent: AgentId, size: u64, used: bool) {
        let total = self.used.entry(agent.0).or_default();
        *total = if used {
            total.saturating_add(size)
        } else {
            total.saturating_sub(size)
        };
    }

    /// What a bank of this size can still give.
    pub(super) fn left(&self, agent: AgentId, limit: u64) -> u64 {
        limit.saturating_sub(self.used.get(&agent.0).copied().unwrap_or(0))
    }

    fn insert(&mut self, entry: impl FnOnce(u64) -> Entry) -> MemoryHandle {
        let handle = self.number();
        let entry = entry(handle);
        if entry.backing.is_some() {
            self.by_address.insert(entry.base, handle);
        }
        self.entries.insert(handle, entry);
        MemoryHandle(handle)
    }

    /// Notes that a queue needs the memory at these addresses.
    pub(super) fn pin(&mut self, queue: QueueHandle, addresses: &[u64]) {
        let mut pinned = Vec::new();
        for address in addresses {
            let found = self.by_address.range(..=*address).next_back();
            if let Some(entry) = found.and_then(|(_, handle)| self.entries.get_mut(handle))
                && *address - entry.base < entry.size
            {
                entry.users += 1;
                pinned.extend(found.map(|(_, handle)| *handle));
            }
        }
        self.queues.insert(queue.0, pinned);
    }

    /// The queue needs them no more.
    pub(super) fn unpin(&mut self, queue: QueueHandle) {
        for handle in self.queues.remove(&queue.0).into_iter().flatten() {
            if let Some(entry) = self.entries.get_mut(&handle) {
                entry.users -= 1;
            }
        }
    }
}

fn rights(flags: MemoryFlags) -> Rights {
    let mut rights = Rights::READ;
    rights.set(Rights::WRITE, flags.contains(MemoryFlags::WRITABLE));
    rights.set(Rights::EXECUTE, flags.contains(MemoryFlags::EXECUTABLE));
    rights
}

pub(super) fn host_error(error: HostMemoryError, available: u64) -> MemoryError {
    match error {
        HostMemoryError::Exhausted { size } => MemoryError::OutOfMemory { size, available },
        HostMemoryError::Os { call, size, errno } => MemoryError::Os { call, size, errno },
    }
}

impl SimBackend {
    /// Size of a bank that can be allocated from.
    pub(super) fn bank_size(&self, bank: BankId) -> Result<u64, MemoryError> {
        let mut index = 0;
        let mut size = None;
        self.memory_banks(bank.agent, &mut |found| {
            if index == bank.index && matches!(found.heap, HeapKind::System | HeapKind::VramPublic)
            {
                size = Some(found.size);
            }
            index += 1;
        });
        size.ok_or(MemoryError::NoBank { bank })
    }

    /// A block of a bank. A device's has a file of its own while there are few, so that it can be exported.
    fn take_block(&self, agent: AgentId, size: u64, align: u64) -> Result<Block, HostMemoryError> {
        if agent != HOST
            && let Some(shared) = self.memory.shared()
            && let Ok(block) = shared.allocate_alone(size, align, agent.0)
        {
            return Ok(block);
        }
        self.memory.allocate(size, align)
    }

    /// Makes an allocation of a block that is another's as well, mapped to an agent.
    pub(super) fn adopt(&self, block: Block, agent: AgentId) -> Result<Allocation, MemoryError> {
        let rights = Rights::READ | Rights::WRITE;
        let base = block.host.addr().get() as u64;
        let mut books = self.books.lock();
        let handle = books.next + 1;
        // SAFETY: as for `allocate`.
        let region = unsafe {
            let (size, host) = (block.size, block.host.as_ptr());
            self.system.map.insert(base, size, host, handle)
        };
        let region = region.map_err(|_| {
            // SAFETY: nobody has seen the block.
            unsafe { self.memory.release(block, PAGE_SIZE) };
            MemoryError::OutOfMemory {
                size: block.size,
                available: 0,
            }
        })?;
        if agent != HOST {
            let _ = self.system.map.set_rights(region, agent.0, rights);
        }
        let handle = books.insert(|_| Entry {
            region,
            base,
            size: block.size,
            rights,
            backing: Some((block, PAGE_SIZE, None)),
            reserved: false,
            users: 0,
        });
        Ok(Allocation {
            handle,
            gpu_va: base,
            host: Some(block.host),
            size: block.size,
        })
    }

    /// The block of an allocation: None of one that does not exist, `Some(None)` of what the client brought.
    pub(super) fn block_of(&self, handle: MemoryHandle) -> Option<Option<Block>> {
        let books = self.books.lock();
        if let Some(block) = books.virtual_memory.block(handle) {
            return Some(Some(block));
        }
        let entry = books.entries.get(&handle.0)?;
        Some(entry.backing.map(|(block, _, _)| block))
    }

    /// Gives blocks back that no device can still be using.
    pub(super) fn sweep(&self, books: &mut Books) {
        let passed: Vec<Limbo> = books
            .limbo
            .extract_if(.., |limbo| self.system.quiesce.passed(limbo.epoch))
            .collect();
        for limbo in passed {
            // SAFETY: the block was unmapped from all agents, and every turn that might have
            // looked it up before has ended.
            unsafe { self.memory.release(limbo.block, limbo.align) };
        }
    }

    pub(super) fn check_agents(&self, agents: &[AgentId]) -> Result<(), MemoryError> {
        let count = self.agent_count();
        match agents.iter().find(|a| a.0 >= count.min(MAX_AGENTS)) {
            Some(agent) => Err(MemoryError::BadAgent { agent: *agent }),
            None => Ok(()),
        }
    }

    /// Address of the events' mailboxes, 8 bytes each from id 0 on, reachable by all GPUs.
    pub(super) fn mailboxes(&self, count: u32) -> Option<u64> {
        let mut books = self.books.lock();
        if let Some(block) = books.mailboxes {
            return Some(block.host.addr().get() as u64);
        }
        let size = (u64::from(count) * 8).next_multiple_of(PAGE_SIZE);
        let block = self.memory.allocate(size, PAGE_SIZE).ok()?;
        let base = block.host.addr().get() as u64;
        // SAFETY: the block is ours until the backend is dropped, after its devices have stopped.
        let region = unsafe { self.system.map.insert(base, size, block.host.as_ptr(), 0) }.ok()?;
        for gpu in &self.system.gpus {
            let rights = Rights::READ | Rights::WRITE;
            self.system
                .map
                .set_rights(region, gpu.agent.0, rights)
                .ok()?;
        }
        books.mailboxes = Some(block);
        Some(base)
    }

    /// Gives all memory back. Devices have stopped.
    pub(super) fn release_all(&mut self) {
        let books = self.books.get_mut();
        let entries = core::mem::take(&mut books.entries);
        let blocks = entries
            .into_values()
            .filter_map(|entry| entry.backing)
            .map(|(block, align, _)| (block, align))
            .chain(books.limbo.drain(..).map(|l| (l.block, l.align)))
            .chain(books.mailboxes.take().map(|block| (block, PAGE_SIZE)))
            .chain(books.virtual_memory.drain());
        for (block, align) in blocks {
            // SAFETY: devices have stopped, and clients give up memory with the backend.
            unsafe { self.memory.release(block, align) };
        }
    }
}

// SAFETY: blocks come from a `HostMemory`, whose contract is that of this trait, and are released
// only by `free` (once no device can be using them) and when the backend is dropped.
unsafe impl Memory for SimBackend {
    fn page_size(&self) -> u64 {
        PAGE_SIZE
    }

    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError> {
        let &MemoryRequest {
            bank,
            size,
            align,
            flags,
        } = request;
        let limit = self.bank_size(bank)?;
        if size == 0
            || !size.is_multiple_of(PAGE_SIZE)
            || !align.is_power_of_two()
            || align < PAGE_SIZE
        {
            return Err(MemoryError::BadSize {
                size,
                align,
                page: PAGE_SIZE,
            });
        }
        if flags.contains(MemoryFlags::ADDRESS_ONLY) {
            return Err(MemoryError::NotSupported("address ranges without memory"));
        }
        let mut books = self.books.lock();
        self.sweep(&mut books);
        let used = books.used.get(&bank.agent.0).copied().unwrap_or(0);
        let available = limit.saturating_sub(used);
        if size > available {
            return Err(MemoryError::OutOfMemory { size, available });
        }
        let block = self
            .take_block(bank.agent, size, align)
            .map_err(|error| host_error(error, available))?;
        let base = block.host.addr().get() as u64;
        let handle = books.next + 1;
        // SAFETY: the block stays valid until it is released, which `sweep` and `release_all` do when
        // the region is gone and no turn is left that saw it.
        let region = unsafe {
            self.system
                .map
                .insert(base, size, block.host.as_ptr(), handle)
        };
        let region = match region {
            Ok(region) => region,
            Err(_) => {
                // SAFETY: nobody has seen the block.
                unsafe { self.memory.release(block, align) };
                return Err(MemoryError::OutOfMemory { size, available });
            }
        };
        let rights = rights(flags);
        if bank.agent != HOST {
            // The agent exists: its bank was found.
            let _ = self.system.map.set_rights(region, bank.agent.0, rights);
        }
        *books.used.entry(bank.agent.0).or_default() += size;
        let handle = books.insert(|_| Entry {
            region,
            base,
            size,
            rights,
            backing: Some((block, align, Some(bank.agent))),
            reserved: false,
            users: 0,
        });
        Ok(Allocation {
            handle,
            gpu_va: base,
            host: flags
                .contains(MemoryFlags::HOST_ACCESS)
                .then_some(block.host),
            size,
        })
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        let mut books = self.books.lock();
        if books.virtual_memory.has(handle) {
            return self.free_memory(&mut books, handle);
        }
        let entry = books
            .entries
            .get(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        if entry.users > 0 {
            return Err(MemoryError::InUse {
                handle,
                user: "a live queue",
            });
        }
        let Some(entry) = books.entries.remove(&handle.0) else {
            return Err(MemoryError::NoAllocation { handle });
        };
        // The region is in the map as long as its entry is in the books.
        let _ = self
            .system
            .map
            .remove(entry.region, self.system.clock.now());
        let epoch = self.system.quiesce.advance();
        match entry.backing {
            Some((block, align, agent)) => {
                books.by_address.remove(&entry.base);
                if let Some(agent) = agent {
                    books.use_bank(agent, entry.size, false);
                }
                books.limbo.push(Limbo {
                    epoch,
                    block,
                    align,
                });
                self.sweep(&mut books);
            }
            None => {
                // The caller may unmap it as soon as this returns.
                drop(books);
                self.system.quiesce.wait(epoch);
                if entry.reserved {
                    // SAFETY: reserved by `register_host` with this size; no turn is left that uses it.
                    unsafe { self.memory.unreserve(entry.base, entry.size) };
                }
            }
        }
        Ok(())
    }

    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        self.check_agents(agents)?;
        let books = self.books.lock();
        let entry = books
            .entries
            .get(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        for agent in agents.iter().filter(|a| **a != HOST) {
            let _ = self
                .system
                .map
                .set_rights(entry.region, agent.0, entry.rights);
        }
        Ok(())
    }

    fn unmap(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        self.check_agents(agents)?;
        let books = self.books.lock();
        let entry = books
            .entries
            .get(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        for agent in agents.iter().filter(|a| **a != HOST) {
            let _ = self
                .system
                .map
                .set_rights(entry.region, agent.0, Rights::empty());
        }
        Ok(())
    }

    unsafe fn register_host(
        &self,
        address: NonNull<u8>,
        size: u64,
        flags: MemoryFlags,
        agents: &[AgentId],
    ) -> Result<Allocation, MemoryError> {
        self.check_agents(agents)?;
        let start = address.addr().get() as u64;
        let bad = MemoryError::BadHostRange {
            address: start,
            size,
        };
        let base = start & !(PAGE_SIZE - 1);
        let end = start
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(PAGE_SIZE))
            .filter(|end| size > 0 && *end > base)
            .ok_or(bad.clone())?;
        let host = address.as_ptr().wrapping_sub((start - base) as usize);
        let rights = rights(flags);
        let mut books = self.books.lock();
        let handle = books.next + 1;
        let reserved = self.memory.reserve(end - base);
        // SAFETY: the caller keeps the range mapped until it frees the handle, and `free` waits until
        // no turn is left that saw the region.
        let region = unsafe {
            match reserved {
                Some(va) => self.system.map.insert(va, end - base, host, handle),
                None => self.system.map.insert_host(host, end - base, handle),
            }
        };
        let region = region.map_err(|error| {
            if let Some(va) = reserved {
                // SAFETY: reserved above, with this size.
                unsafe { self.memory.unreserve(va, end - base) };
            }
            match error {
                MapError::BadRange { .. } | MapError::Overlap { .. } => bad.clone(),
                _ => MemoryError::NotSupported("this range"),
            }
        })?;
        let on_devices = reserved.unwrap_or(base);
        for agent in agents.iter().filter(|a| **a != HOST) {
            let _ = self.system.map.set_rights(region, agent.0, rights);
        }
        let handle = books.insert(|_| Entry {
            region,
            base: on_devices,
            size: end - base,
            rights,
            backing: None,
            reserved: reserved.is_some(),
            users: 0,
        });
        Ok(Allocation {
            handle,
            gpu_va: on_devices + (start - base),
            host: Some(address),
            size,
        })
    }

    fn available(&self, bank: BankId) -> Result<u64, MemoryError> {
        let limit = self.bank_size(bank)?;
        let books = self.books.lock();
        let used = books.used.get(&bank.agent.0).copied().unwrap_or(0);
        Ok(limit.saturating_sub(used))
    }
}
