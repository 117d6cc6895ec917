//! Allocating, sharing, locking, copying.

use super::Runtime;
use super::error::AllocError;
use crate::backend::{AgentId, Allocation, Backend, MemoryError, MemoryFlags, MemoryRequest};
use crate::mem::registry::{Entry, FreeCallback};
use crate::mem::{Address, AllocFlags, PointerInfo, PointerKind, Pool, PoolFlags, PoolId, Segment};
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

impl<B: Backend + ?Sized> Runtime<B> {
    /// A pool by its id.
    pub fn pool(&self, id: PoolId) -> Option<&Pool> {
        self.agents()
            .iter()
            .flat_map(|agent| &agent.pools)
            .find(|pool| pool.id == id)
    }

    /// The first pool of an agent that is global and has all of these flags.
    pub fn find_pool(&self, agent: AgentId, flags: PoolFlags) -> Option<&Pool> {
        self.agent(agent)?
            .pools
            .iter()
            .find(|pool| pool.segment == Segment::Global && pool.flags.contains(flags))
    }

    /// Allocates `size` bytes, rounded up to the pool's granule. Reads as zero. Device memory is mapped to its
    /// agent, host memory to none: [`Runtime::allow_access`] shares it.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allocate(
        &self,
        pool: PoolId,
        size: u64,
        flags: AllocFlags,
    ) -> Result<Address, AllocError> {
        self.allocate_aligned(pool, size, 1, flags)
    }

    /// As [`Runtime::allocate`], at a multiple of `align` bytes, a power of two; the pool's own alignment
    /// holds in any case.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allocate_aligned(
        &self,
        pool: PoolId,
        size: u64,
        align: u64,
        flags: AllocFlags,
    ) -> Result<Address, AllocError> {
        let pool = *self.pool(pool).ok_or(AllocError::NoPool { pool })?;
        if size == 0 {
            return Err(AllocError::ZeroSize);
        }
        if !pool.allocatable {
            return Err(AllocError::NotAllocatable { pool: pool.id });
        }
        let too_large = AllocError::TooLarge {
            pool: pool.id,
            size,
            max: pool.max_allocation,
        };
        let rounded = size
            .checked_next_multiple_of(pool.granule)
            .filter(|_| size <= pool.max_allocation)
            .ok_or(too_large)?;
        let mut wishes = pool.memory_flags();
        wishes.set(
            MemoryFlags::EXECUTABLE,
            flags.contains(AllocFlags::EXECUTABLE),
        );
        wishes.set(
            MemoryFlags::CONTIGUOUS,
            flags.contains(AllocFlags::CONTIGUOUS),
        );
        let allocation = self.backend().allocate(&MemoryRequest {
            bank: pool.bank,
            size: rounded,
            align: pool.align.max(align),
            flags: wishes,
        })?;
        let base = Address(allocation.gpu_va);
        let entry = Entry {
            allocation,
            info: PointerInfo {
                kind: PointerKind::Hsa,
                agent_base: base,
                host_base: host_address(&allocation),
                size,
                user_data: 0,
                owner: Some(pool.owner),
                pool: Some(pool.id),
                flags: pool.flags,
                accessible: vec![pool.owner],
            },
            count: 1,
            on_free: Vec::new(),
        };
        self.memory().lock(self.park()).insert(entry);
        Ok(base)
    }

    /// Frees an allocation, by the address that [`Runtime::allocate`] gave, after calling whoever asked for
    /// it with [`Runtime::on_free`].
    ///
    /// # Safety
    /// Nothing on the host uses the memory afterwards.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`]; [`MemoryError::InUse`] if hardware needs it: it stays.
    pub unsafe fn free(&self, address: Address) -> Result<(), AllocError> {
        let unknown = AllocError::UnknownAddress { address };
        let entry = {
            let mut memory = self.memory().lock(self.park());
            match memory.starting_at(address) {
                Some(entry) if entry.info.kind == PointerKind::Hsa => {}
                _ => return Err(unknown),
            }
            memory.remove(address)
        };
        self.give_back(entry.ok_or(unknown)?)
    }

    pub(super) fn give_back(&self, mut entry: Entry) -> Result<(), AllocError> {
        let base = entry.info.agent_base;
        for (_, callback) in core::mem::take(&mut entry.on_free) {
            callback(base);
        }
        // SAFETY: the caller of `free` or `unlock` promised that nothing on the host uses the memory.
        match unsafe { self.backend().free(entry.allocation.handle) } {
            Ok(()) => Ok(()),
            Err(error) => {
                if matches!(error, MemoryError::InUse { .. }) {
                    self.memory().lock(self.park()).insert(entry);
                }
                Err(error.into())
            }
        }
    }

    /// Calls `callback` before the allocation that contains `address` is freed. `key` takes it back.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`].
    pub fn on_free(
        &self,
        address: Address,
        key: u64,
        callback: FreeCallback,
    ) -> Result<(), AllocError> {
        self.memory()
            .lock(self.park())
            .containing_mut(address)
            .ok_or(AllocError::UnknownAddress { address })?
            .on_free
            .push((key, callback));
        Ok(())
    }

    /// Takes back a callback of [`Runtime::on_free`]; gives whether it was there.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`].
    pub fn cancel_on_free(&self, address: Address, key: u64) -> Result<bool, AllocError> {
        let mut memory = self.memory().lock(self.park());
        let entry = memory
            .containing_mut(address)
            .ok_or(AllocError::UnknownAddress { address })?;
        let before = entry.on_free.len();
        let removed = entry.on_free.extract_if(.., |(k, _)| *k == key);
        let removed: Vec<_> = removed.collect();
        let gone = entry.on_free.len() < before;
        drop(memory);
        drop(removed);
        Ok(gone)
    }

    /// Lets exactly these agents, and the owner, reach the allocation that contains `address`.
    /// CPU agents reach what the host maps in any case.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allow_access(&self, agents: &[AgentId], address: Address) -> Result<(), AllocError> {
        self.check_agents(agents)?;
        self.check_not_virtual(address)?;
        let mut memory = self.memory().lock(self.park());
        let entry = memory
            .containing_mut(address)
            .ok_or(AllocError::UnknownAddress { address })?;
        let handle = entry.allocation.handle;
        let owner = entry.info.owner;
        let mut wanted: Vec<AgentId> = owner.into_iter().collect();
        for &agent in agents {
            if !wanted.contains(&agent) {
                wanted.push(agent);
            }
        }
        let had = &entry.info.accessible;
        let fresh: Vec<AgentId> = wanted
            .iter()
            .copied()
            .filter(|a| !had.contains(a))
            .collect();
        let lost: Vec<AgentId> = had
            .iter()
            .copied()
            .filter(|a| !wanted.contains(a))
            .collect();
        if !fresh.is_empty() {
            self.backend().map(handle, &fresh)?;
        }
        if !lost.is_empty() {
            self.backend().unmap(handle, &lost)?;
        }
        entry.info.accessible = wanted;
        Ok(())
    }

    /// What is known about an address.
    pub fn pointer_info(&self, address: Address) -> PointerInfo {
        let mut info = self
            .memory()
            .lock(self.park())
            .containing(address)
            .map_or(PointerInfo::UNKNOWN, |entry| entry.info.clone());
        if info.kind == PointerKind::Unknown
            && let Some((base, size)) = self.virtual_memory().lock(self.park()).reserved(address)
        {
            info.kind = PointerKind::Reserved;
            (info.host_base, info.size) = (base, size);
        }
        if info.kind == PointerKind::Virtual {
            // The runtime's own mapping is nobody's business; the host's is at the same address, if it has access.
            let cpu = |id: &AgentId| self.agent(*id).is_some_and(|agent| !agent.is_gpu());
            info.host_base = if info.accessible.iter().any(cpu) {
                info.agent_base
            } else {
                Address::NULL
            };
        }
        info
    }

    /// Sets the client's own word for the allocation that contains `address`.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`].
    pub fn set_user_data(&self, address: Address, data: u64) -> Result<(), AllocError> {
        self.memory()
            .lock(self.park())
            .containing_mut(address)
            .ok_or(AllocError::UnknownAddress { address })?
            .info
            .user_data = data;
        Ok(())
    }

    /// Makes host memory reachable by `agents` (all GPUs if there are none) and gives its address on them.
    /// Locking what is locked counts, and maps it to further agents.
    ///
    /// # Safety
    /// The range stays mapped until it was unlocked as often as it was locked.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub unsafe fn lock(
        &self,
        host: NonNull<u8>,
        size: u64,
        agents: &[AgentId],
    ) -> Result<Address, AllocError> {
        if size == 0 {
            return Err(AllocError::ZeroSize);
        }
        self.check_agents(agents)?;
        let agents: Vec<AgentId> = if agents.is_empty() {
            self.gpu_ids().collect()
        } else {
            agents.to_vec()
        };
        let address = Address::from(host.as_ptr());
        self.check_not_virtual(address)?;
        let mut memory = self.memory().lock(self.park());
        if let Some(entry) = memory.containing_mut(address) {
            // Memory of the runtime's own, or locked before: it is reachable by an address already.
            let offset = if entry.info.host_base.0 != 0 {
                address.0.wrapping_sub(entry.info.host_base.0)
            } else {
                address.0.wrapping_sub(entry.info.agent_base.0)
            };
            if offset
                .checked_add(size)
                .is_none_or(|end| end > entry.info.size)
            {
                return Err(AllocError::OutOfRange { address, size });
            }
            let fresh: Vec<AgentId> = agents
                .iter()
                .copied()
                .filter(|a| !entry.info.accessible.contains(a))
                .collect();
            if !fresh.is_empty() {
                self.backend().map(entry.allocation.handle, &fresh)?;
                entry.info.accessible.extend(fresh);
            }
            entry.count = entry.count.saturating_add(1);
            return Ok(entry.info.agent_base.offset(offset));
        }
        let flags = MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE | MemoryFlags::COHERENT;
        // SAFETY: the caller keeps the range mapped until the last unlock, which frees the handle.
        let allocation = unsafe { self.backend().register_host(host, size, flags, &agents) }?;
        let base = Address(allocation.gpu_va);
        memory.insert(Entry {
            allocation,
            info: PointerInfo {
                kind: PointerKind::Locked,
                agent_base: base,
                host_base: address,
                size,
                user_data: 0,
                owner: self.agents().first().map(|agent| agent.id),
                pool: None,
                flags: PoolFlags::FINE,
                accessible: agents,
            },
            count: 1,
            on_free: Vec::new(),
        });
        Ok(base)
    }

    /// Undoes one [`Runtime::lock`], by the host address.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`] if nothing that was locked starts there.
    pub fn unlock(&self, host: Address) -> Result<(), AllocError> {
        let unknown = AllocError::UnknownAddress { address: host };
        let entry = {
            let mut memory = self.memory().lock(self.park());
            let entry = memory.containing_mut(host).ok_or(unknown.clone())?;
            if entry.count > 1 {
                entry.count -= 1;
                return Ok(());
            }
            if entry.info.kind != PointerKind::Locked {
                return Err(unknown);
            }
            let base = entry.info.agent_base;
            memory.remove(base)
        };
        self.give_back(entry.ok_or(unknown)?)
    }

    /// Bytes that a pool can still give.
    ///
    /// # Errors
    /// [`AllocError::NoPool`], or what the backend says.
    pub fn available(&self, pool: PoolId) -> Result<u64, AllocError> {
        let pool = self.pool(pool).ok_or(AllocError::NoPool { pool })?;
        Ok(self.backend().available(pool.bank)?)
    }

    /// Who reaches virtual memory is said by [`Runtime::set_access`] alone.
    fn check_not_virtual(&self, address: Address) -> Result<(), AllocError> {
        let memory = self.memory().lock(self.park());
        match memory.containing(address) {
            Some(entry) if entry.info.kind == PointerKind::Virtual => {
                Err(AllocError::UnknownAddress { address })
            }
            _ => Ok(()),
        }
    }

    fn check_agents(&self, agents: &[AgentId]) -> Result<(), AllocError> {
        match agents.iter().find(|&&a| self.agent(a).is_none()) {
            Some(&agent) => Err(AllocError::NoAgent { agent }),
            None => Ok(()),
        }
    }
}

pub(super) fn host_address(allocation: &Allocation) -> Address {
    allocation
        .host
        .map_or(Address::NULL, |host| Address::from(host.as_ptr()))
}
