//! Chapter memory: regions, allocation, copies. A region is what AMD's extension calls a pool; both
//! have the same handle.

use crate::abi::{Agent, Region, RegionInfo, Segment as SegmentNumber, Status, VisitRegion};
use crate::arg::{AnyPlace, Out, Value};
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::State;
use crate::state::open;
use core::ffi::c_void;
use rukh_core::backend::{AgentKind, HeapKind};
use rukh_core::mem::{Address, AllocFlags, Pool, Segment};

/// A segment, as regions and pools number it.
pub const fn segment_number(segment: Segment) -> u32 {
    match segment {
        Segment::Global => SegmentNumber::Global as u32,
        Segment::Group => SegmentNumber::Group as u32,
    }
}

/// Allocates, and lets every GPU reach it: what `hsa_memory_allocate` promises.
fn allocate_for_all(state: &State, pool: &Pool, size: usize) -> Result<Address> {
    let address = state
        .runtime
        .allocate(pool.id, size as u64, AllocFlags::empty())?;
    let gpus = state.gpus();
    if let Err(error) = state.runtime.allow_access(&gpus, address) {
        // SAFETY: nobody has learnt the address.
        let _ = unsafe { state.runtime.free(address) };
        return Err(error.into());
    }
    Ok(address)
}

fn info(state: &State, pool: &Pool, attribute: RegionInfo, place: AnyPlace) -> Result {
    let bank = || {
        let agent = state.agents().get(pool.owner.0 as usize)?;
        agent.banks.get(pool.bank.index as usize)
    };
    match attribute {
        RegionInfo::Segment => place.put(segment_number(pool.segment)),
        RegionInfo::GlobalFlags => place.put(pool.flags.bits()),
        RegionInfo::Size => place.put(pool.size as usize),
        RegionInfo::AllocMaxSize => place.put(pool.max_allocation as usize),
        RegionInfo::AllocMaxPrivateWorkgroupSize => place.put(0u32),
        RegionInfo::RuntimeAllocAllowed => place.put(pool.allocatable),
        RegionInfo::RuntimeAllocGranule => place.put(pool.granule as usize),
        RegionInfo::RuntimeAllocAlignment => place.put(pool.align as usize),
        RegionInfo::HostAccessible => {
            place.put(matches!(pool.heap, HeapKind::System | HeapKind::VramPublic))
        }
        RegionInfo::Base => place.put(core::ptr::null_mut::<c_void>()),
        RegionInfo::BusWidth => place.put(bank().map_or(0, |bank| bank.width_bits)),
        RegionInfo::MaxClockFrequency => place.put(bank().map_or(0, |bank| bank.max_clock_mhz)),
    }
}

/// An agent's own regions; for a GPU also the host's, which kernel arguments come from.
fn regions(state: &State, agent: Agent) -> Result<Vec<Region>> {
    let agent = state.agent(agent)?;
    let mut regions = Vec::new();
    let hosts = state
        .agents()
        .iter()
        .filter(|other| agent.is_gpu() && matches!(other.info.kind, AgentKind::Cpu { .. }));
    for owner in core::iter::once(agent).chain(hosts) {
        for pool in &owner.pools {
            let handle = state.pool_handle(pool)?.handle;
            regions.push(Region { handle });
        }
    }
    Ok(regions)
}

/// The pool of a region.
fn region(state: &State, region: Region) -> Result<&Pool> {
    let parts = region.parts().ok_or(Status::INVALID_REGION)?;
    state.pool_of_parts(parts).ok_or(Status::INVALID_REGION)
}

entry! {
    /// `hsa_region_get_info`: an attribute of a region.
    fn hsa_region_get_info(state; region: Region, attribute: u32, value: Value) {
        let pool = self::region(&state, region)?;
        let place = value.required()?;
        let attribute = RegionInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        info(&state, pool, attribute, place)
    }

    /// `hsa_memory_allocate`: memory that every agent reaches.
    fn hsa_memory_allocate(state; region: Region, size: usize, ptr: Out<*mut c_void>) {
        if size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let place = ptr.required()?;
        let pool = *self::region(&state, region)?;
        place.put(allocate_for_all(&state, &pool, size)?.as_ptr().cast());
        Ok(())
    }

    /// `hsa_memory_copy`: copies and returns when the bytes are there. Memory that was not allocated here
    /// is the host's.
    fn hsa_memory_copy(state; dst: *mut c_void, src: *const c_void, size: usize) {
        if dst.is_null() || src.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the specification of this function demands two valid ranges of the client that
        // nothing else writes.
        unsafe { state.runtime.copy(Address::from(dst), Address::from(src), size as u64) }?;
        Ok(())
    }

    /// `hsa_memory_assign_agent`: every agent sees the same memory; there is nothing to do.
    fn hsa_memory_assign_agent(state; ptr: *mut c_void, agent: Agent, access: u32) {
        if ptr.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        state.agent(agent)?;
        crate::abi::AccessPermission::from_raw(access).ok_or(Status::INVALID_ARGUMENT)?;
        Ok(())
    }

    /// `hsa_memory_register`: agents of the base profile have no use for it; there is nothing to do.
    fn hsa_memory_register(_state; ptr: *mut c_void, size: usize) {
        match size {
            0 if !ptr.is_null() => Err(Status::INVALID_ARGUMENT),
            _ => Ok(()),
        }
    }

    /// `hsa_memory_deregister`: as [`hsa_memory_register`].
    fn hsa_memory_deregister(_state; ptr: *mut c_void, size: usize) {
        let _ = (ptr, size);
        Ok(())
    }
}

/// Frees memory; null is nothing to free. Calls those who asked to be told, so it runs outside of the
/// panic boundary.
pub fn free(ptr: *mut c_void) -> Result {
    let state = open()?;
    if ptr.is_null() {
        return Ok(());
    }
    // SAFETY: the specification of the freeing functions demands that the client is done with it.
    unsafe { state.runtime.free(Address::from(ptr)) }?;
    Ok(())
}

callbacks! {
    /// `hsa_memory_free`: frees what [`hsa_memory_allocate`] gave.
    fn hsa_memory_free(ptr: *mut c_void) {
        free(ptr)
    }

    /// `hsa_agent_iterate_regions`: shows the regions that an agent reaches; for a GPU its own first.
    fn hsa_agent_iterate_regions(agent: Agent, callback: VisitRegion, data: *mut c_void) {
        let regions = gather("hsa_agent_iterate_regions", || {
            let state = open()?;
            let regions = regions(&state, agent)?;
            callback.ok_or(Status::INVALID_ARGUMENT)?;
            Ok(regions)
        })?;
        crate::callback::each(callback, regions, data)
    }
}
