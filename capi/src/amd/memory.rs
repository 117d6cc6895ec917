//! Host memory for devices, filling, what is known about a pointer, who is told of a free.

use crate::abi::{
    Agent, AllocCallback, DeallocationCallback, MemoryPool, PointerInfo, PointerType, Status,
};
use crate::amd::pool::{agent_ids, pool};
use crate::arg::{In, Out};
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::{ClientPointer, State};
use crate::state::open;
use core::ffi::c_void;
use core::ptr::NonNull;
use rukh_core::mem::{Address, PointerKind};

/// Locks a range; gives its address on the agents.
fn lock(
    state: &State,
    host: *mut c_void,
    size: usize,
    agents: In<Agent>,
    count: i32,
    agent_ptr: Out<*mut c_void>,
) -> Result {
    let place = agent_ptr.required()?;
    let host = NonNull::new(host.cast::<u8>()).ok_or(Status::INVALID_ARGUMENT)?;
    let count = usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?;
    if size == 0 || agents.is_null() != (count == 0) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let ids = agent_ids(state, count, agents)?;
    // SAFETY: the specification demands that the client keeps the range until it unlocks it.
    let address = unsafe { state.runtime.lock(host, size as u64, &ids) }?;
    place.put(address.as_ptr().cast());
    Ok(())
}

entry! {
    /// `hsa_amd_memory_lock`: lets agents (all GPUs, if there are none) reach memory of the host.
    fn hsa_amd_memory_lock(state; host_ptr: *mut c_void, size: usize, agents: In<Agent>,
        num_agent: i32, agent_ptr: Out<*mut c_void>) {
        lock(&state, host_ptr, size, agents, num_agent, agent_ptr)
    }

    /// `hsa_amd_memory_lock_to_pool`: as [`hsa_amd_memory_lock`]; the pool must be the host's.
    fn hsa_amd_memory_lock_to_pool(state; host_ptr: *mut c_void, size: usize, agents: In<Agent>,
        num_agent: i32, pool: MemoryPool, flags: u32, agent_ptr: Out<*mut c_void>) {
        let pool = self::pool(&state, pool)?;
        if pool.heap != rukh_core::backend::HeapKind::System {
            return Err(Status::INVALID_MEMORY_POOL);
        }
        if flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        lock(&state, host_ptr, size, agents, num_agent, agent_ptr)
    }

    /// `hsa_amd_memory_unlock`: undoes one lock, by the host's address.
    fn hsa_amd_memory_unlock(state; host_ptr: *mut c_void) {
        if host_ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        Ok(state.runtime.unlock(Address::from(host_ptr))?)
    }

    /// `hsa_amd_memory_fill`: stores a 32-bit value `count` times.
    fn hsa_amd_memory_fill(state; ptr: *mut c_void, value: u32, count: usize) {
        if ptr.is_null() || !ptr.cast::<u32>().is_aligned() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let known = state.runtime.pointer_info(Address::from(ptr)).kind;
        if matches!(known, PointerKind::Unknown | PointerKind::Reserved) {
            return Err(Status::INVALID_ALLOCATION);
        }
        // SAFETY: the specification demands a valid range of the client that nothing else writes.
        unsafe { state.runtime.fill(Address::from(ptr), value, count as u64) }?;
        Ok(())
    }

    /// `hsa_amd_pointer_info_set_userdata`: the client's own word for an allocation.
    fn hsa_amd_pointer_info_set_userdata(state; ptr: *const c_void, userdata: *mut c_void) {
        if ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let data = userdata.expose_provenance() as u64;
        state.runtime.set_user_data(Address::from(ptr), data).map_err(|_| Status::INVALID_ARGUMENT)
    }

    /// `hsa_amd_register_deallocation_callback`: calls back before an allocation is freed.
    fn hsa_amd_register_deallocation_callback(state; ptr: *mut c_void,
        callback: DeallocationCallback, user_data: *mut c_void) {
        if ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let user_data = ClientPointer(user_data);
        let key = callback as usize as u64;
        state.runtime.on_free(Address::from(ptr), key, Box::new(move |base| {
            // SAFETY: a function of this type, by the contract of this export.
            unsafe { callback(base.as_ptr().cast(), user_data.get()) };
        }))?;
        Ok(())
    }

    /// `hsa_amd_deregister_deallocation_callback`: takes a callback back.
    fn hsa_amd_deregister_deallocation_callback(state; ptr: *mut c_void,
        callback: DeallocationCallback) {
        if ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        match state.runtime.cancel_on_free(Address::from(ptr), callback as usize as u64)? {
            true => Ok(()),
            false => Err(Status::INVALID_ARGUMENT),
        }
    }
}

/// What is known about an address, and the agents that reach it.
fn describe(state: &State, address: *const c_void) -> Result<(PointerInfo, Vec<Agent>)> {
    let known = state.runtime.pointer_info(Address::from(address));
    let kind = match known.kind {
        PointerKind::Unknown => PointerType::Unknown,
        PointerKind::Hsa => PointerType::Hsa,
        PointerKind::Locked => PointerType::Locked,
        PointerKind::Graphics => PointerType::Graphics,
        PointerKind::Ipc => PointerType::Ipc,
        PointerKind::Reserved => PointerType::ReservedAddress,
        PointerKind::Virtual => PointerType::Vmem,
    };
    let owner = known
        .owner
        .map(|owner| state.agent_handle(owner))
        .transpose()?;
    let accessible = known
        .accessible
        .iter()
        .map(|agent| state.agent_handle(*agent));
    let accessible = accessible.collect::<Result<Vec<_>>>()?;
    let info = PointerInfo {
        size: size_of::<PointerInfo>() as u32,
        kind: kind as u32,
        agent_base_address: known.agent_base.as_ptr().cast(),
        host_base_address: known.host_base.as_ptr().cast(),
        size_in_bytes: known.size as usize,
        user_data: core::ptr::with_exposed_provenance_mut(known.user_data as usize),
        agent_owner: owner.unwrap_or_default(),
        global_flags: known.flags.bits(),
    };
    Ok((info, accessible))
}

callbacks! {
    /// `hsa_amd_pointer_info`: what an address belongs to. Fills as much of the structure as the client
    /// says there is. The list of agents is memory of the client's allocator.
    fn hsa_amd_pointer_info(ptr: *const c_void, info: Out<PointerInfo>, alloc: AllocCallback,
        num_agents_accessible: Out<u32>, accessible: Out<*mut Agent>) {
        let (found, agents, place, room) = gather("hsa_amd_pointer_info", || {
            let state = open()?;
            if ptr.is_null() {
                return Err(Status::INVALID_ARGUMENT);
            }
            let place = info.required()?;
            // SAFETY: the first field says how much of the structure there is, so it is there.
            let room = unsafe { place.address().cast::<u32>().read_unaligned() } as usize;
            if room < size_of::<u32>() {
                return Err(Status::INVALID_ARGUMENT);
            }
            let (mut found, agents) = describe(&state, ptr)?;
            let room = room.min(size_of::<PointerInfo>());
            found.size = room as u32;
            Ok((found, agents, place, room))
        })?;
        let wanted = (num_agents_accessible.optional(), accessible.optional(), alloc);
        if let (Some(count), Some(list), Some(alloc)) = wanted {
            // SAFETY: a function of this type, by the contract of this export.
            let memory = unsafe { alloc(agents.len() * size_of::<Agent>()) }.cast::<Agent>();
            if memory.is_null() && !agents.is_empty() {
                return Err(Status::OUT_OF_RESOURCES);
            }
            for (index, agent) in agents.iter().enumerate() {
                // SAFETY: the allocator gave room for as many.
                unsafe { memory.add(index).write_unaligned(*agent) };
            }
            count.put(u32::try_from(agents.len()).unwrap_or(u32::MAX));
            list.put(memory);
        }
        // SAFETY: both are at least `room` bytes long, and different memory.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (&raw const found).cast::<u8>(), place.address().cast::<u8>(), room);
        }
        Ok(())
    }
}
