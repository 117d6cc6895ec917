//! Virtual memory: address ranges and memory apart.
//!
//! What AMD's header leaves open follows AMD's runtime: an agent that nobody gave access to has none, which is an answer and no
//! error; ranges may consist of several mappings; a handle that was released is void, while what is mapped of it stays.

use crate::abi::{
    AccessPermission, Agent, MemoryAccessDesc, MemoryPool, Parts, Status, VmemAllocHandle,
};
use crate::amd::pool::pool;
use crate::arg::{In, Out};
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::State;
use crate::state::open;
use core::ffi::c_void;
use rukh_core::backend::{AgentId, MemoryAccess};
use rukh_core::mem::{Address, RangeError, VirtualMemoryId};
use rukh_core::runtime::VirtualError;

/// `HSA_AMD_VMEM_ADDRESS_NO_REGISTER`: reserving asks nothing of a driver in any case.
const NO_REGISTER: u64 = 1;
/// `hsa_amd_memory_type_t`
const TYPE_NONE: u32 = 0;
const TYPE_PINNED: u32 = 1;

/// Bits of a number that are a handle's slot; the generation has the next sixteen.
const SLOT_BITS: u32 = 20;

/// The handle of memory: its number, spread over the parts of a handle.
fn handle(id: VirtualMemoryId) -> Result<VmemAllocHandle> {
    let parts = Parts {
        generation: u16::try_from(id.0 >> SLOT_BITS).map_err(|_| Status::OUT_OF_RESOURCES)?,
        slot: (id.0 & ((1 << SLOT_BITS) - 1)) as u32,
        sub: 0,
    };
    VmemAllocHandle::from_parts(parts).ok_or(Status::OUT_OF_RESOURCES)
}

/// The memory of a handle, which need not exist; None for what is no handle.
fn memory(handle: VmemAllocHandle) -> Option<VirtualMemoryId> {
    let parts = handle.parts()?;
    Some(VirtualMemoryId(
        u64::from(parts.generation) << SLOT_BITS | u64::from(parts.slot),
    ))
}

/// Of functions that name a place to be used: one that is none is a wrong argument.
fn misplaced(error: VirtualError) -> Status {
    match error {
        VirtualError::Range(RangeError::NotReserved { .. } | RangeError::NoMemory { .. }) => {
            Status::INVALID_ARGUMENT
        }
        other => other.into(),
    }
}

fn reserve(
    state: &State,
    va: Out<*mut c_void>,
    size: usize,
    address: u64,
    alignment: u64,
    flags: u64,
) -> Result {
    let place = va.required()?;
    if flags & !NO_REGISTER != 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let (size, wish) = (size as u64, Address(address));
    let start = state.runtime.reserve_addresses(size, alignment, wish)?;
    place.put(start.as_ptr().cast());
    Ok(())
}

/// A range that is named: not at null, not of no bytes.
fn range(va: *mut c_void, size: usize) -> Result<(Address, u64)> {
    if va.is_null() || size == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    Ok((Address::from(va), size as u64))
}

fn wish(state: &State, desc: MemoryAccessDesc) -> Result<(AgentId, MemoryAccess)> {
    let agent = state.agent(desc.agent_handle)?.id;
    AccessPermission::from_raw(desc.permissions).ok_or(Status::INVALID_ARGUMENT)?;
    Ok((
        agent,
        MemoryAccess::from_bits_truncate(desc.permissions as u8),
    ))
}

entry! {
    /// `hsa_amd_vmem_address_reserve`: takes addresses, where the client wishes if they are free there.
    fn hsa_amd_vmem_address_reserve(state; va: Out<*mut c_void>, size: usize, address: u64, flags: u64) {
        reserve(&state, va, size, address, 0, flags)
    }

    /// `hsa_amd_vmem_address_reserve_align`: the same at a multiple of an alignment; 0 is a page.
    fn hsa_amd_vmem_address_reserve_align(state; va: Out<*mut c_void>, size: usize, address: u64,
        alignment: u64, flags: u64) {
        reserve(&state, va, size, address, alignment, flags)
    }

    /// `hsa_amd_vmem_address_free`: gives addresses back, all that were taken at once.
    fn hsa_amd_vmem_address_free(state; va: *mut c_void, size: usize) {
        let (address, size) = range(va, size)?;
        Ok(state.runtime.free_addresses(address, size)?)
    }

    /// `hsa_amd_vmem_handle_create`: makes memory that has no address.
    fn hsa_amd_vmem_handle_create(state; pool: MemoryPool, size: usize, kind: u32, flags: u64,
        memory_handle: Out<VmemAllocHandle>) {
        let place = memory_handle.required()?;
        // The header knows no status of its own for a pool that is none.
        let pool = self::pool(&state, pool).map_err(|_| Status::INVALID_ARGUMENT)?;
        if !matches!(kind, TYPE_NONE | TYPE_PINNED) || flags != 0 || size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let id = state.runtime.create_memory(pool, size as u64, kind == TYPE_PINNED)?;
        place.put(handle(id)?);
        Ok(())
    }

    /// `hsa_amd_vmem_handle_release`: gives a reference back.
    fn hsa_amd_vmem_handle_release(state; memory_handle: VmemAllocHandle) {
        let id = memory(memory_handle).ok_or(Status::INVALID_ALLOCATION)?;
        Ok(state.runtime.release_memory(id)?)
    }

    /// `hsa_amd_vmem_map`: maps all of a memory into a range that was taken.
    fn hsa_amd_vmem_map(state; va: *mut c_void, size: usize, in_offset: usize,
        memory_handle: VmemAllocHandle, flags: u64) {
        let (address, size) = range(va, size)?;
        if in_offset != 0 || flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let id = memory(memory_handle).ok_or(Status::INVALID_ARGUMENT)?;
        state.runtime.map_memory(address, size, id).map_err(misplaced)
    }

    /// `hsa_amd_vmem_set_access`: gives agents exactly these rights; others keep theirs.
    fn hsa_amd_vmem_set_access(state; va: *mut c_void, size: usize, desc: In<MemoryAccessDesc>,
        desc_cnt: usize) {
        let (address, size) = range(va, size)?;
        if desc_cnt == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let wishes = desc.list(desc_cnt)?.into_iter().map(|desc| wish(&state, desc));
        let wishes = wishes.collect::<Result<Vec<_>>>()?;
        state.runtime.set_access(address, size, &wishes).map_err(misplaced)
    }

    /// `hsa_amd_vmem_get_access`: what an agent may do at an address.
    fn hsa_amd_vmem_get_access(state; va: *mut c_void, perms: Out<u32>, agent: Agent) {
        let place = perms.required()?;
        if va.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let agent = state.agent(agent)?.id;
        let access = state.runtime.access(Address::from(va), agent)?;
        place.put(access.bits().into());
        Ok(())
    }

    /// `hsa_amd_vmem_export_shareable_handle`: a file descriptor that names memory to other processes as well.
    fn hsa_amd_vmem_export_shareable_handle(state; dmabuf_fd: Out<i32>, handle: VmemAllocHandle,
        flags: u64) {
        let place = dmabuf_fd.required()?;
        if flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let id = memory(handle).ok_or(Status::INVALID_ALLOCATION)?;
        place.put(state.runtime.export_memory(id)?);
        Ok(())
    }

    /// `hsa_amd_vmem_import_shareable_handle`: the memory of such a descriptor, which stays the client's.
    fn hsa_amd_vmem_import_shareable_handle(state; dmabuf_fd: i32, handle: Out<VmemAllocHandle>) {
        let place = handle.required()?;
        place.put(self::handle(state.runtime.import_memory(dmabuf_fd)?)?);
        Ok(())
    }

    /// `hsa_amd_vmem_retain_alloc_handle`: another reference to what is mapped at an address.
    fn hsa_amd_vmem_retain_alloc_handle(state; memory_handle: Out<VmemAllocHandle>, addr: *mut c_void) {
        let place = memory_handle.required()?;
        if addr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        place.put(handle(state.runtime.retain_memory(Address::from(addr))?)?);
        Ok(())
    }

    /// `hsa_amd_vmem_get_alloc_properties_from_handle`: what memory was made as.
    fn hsa_amd_vmem_get_alloc_properties_from_handle(state; memory_handle: VmemAllocHandle,
        pool: Out<MemoryPool>, kind: Out<u32>) {
        let (pool, kind) = (pool.required()?, kind.required()?);
        let id = memory(memory_handle).ok_or(Status::INVALID_ALLOCATION)?;
        let properties = state.runtime.memory_properties(id)?;
        let found = state.runtime.pool(properties.pool).ok_or(Status::ERROR)?;
        pool.put(state.pool_handle(found)?);
        kind.put(if properties.pinned { TYPE_PINNED } else { TYPE_NONE });
        Ok(())
    }
}

callbacks! {
    /// `hsa_amd_vmem_unmap`: takes the mappings away that a range consists of. Calls those who asked to be told.
    fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) {
        let (state, (address, size)) = gather("hsa_amd_vmem_unmap", || {
            Ok((open()?, range(va, size)?))
        })?;
        // SAFETY: the specification demands that the client is done with it.
        Ok(unsafe { state.runtime.unmap_memory(address, size) }?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_gives_its_number_back_and_no_other_number_is_one() {
        for number in [1, 0xf_ffff, 0x10_0000, 0xf_ffff_ffff] {
            let id = VirtualMemoryId(number);
            assert_eq!(memory(handle(id).unwrap()), Some(id));
        }
        assert_eq!(
            handle(VirtualMemoryId(1 << 36)),
            Err(Status::OUT_OF_RESOURCES)
        );
        for handle in [0, 1, u64::MAX, 0xa1 << 56] {
            assert_eq!(memory(VmemAllocHandle { handle }), None);
        }
    }
}
