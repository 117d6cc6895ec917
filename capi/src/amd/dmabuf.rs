//! Dmabufs: memory as file descriptors, for other processes and other drivers.

use crate::abi::{Agent, Status};
use crate::amd::pool::agent_ids;
use crate::arg::{In, Out};
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::State;
use crate::state::open;
use core::ffi::c_void;
use rukh_core::backend::MemoryError;
use rukh_core::mem::{Address, PointerKind};
use rukh_core::runtime::AllocError;
use rustix::fd::{FromRawFd, OwnedFd};

/// `HSA_AMD_DMABUF_MAPPING_TYPE_PCIE`: others reach it through the GPU's BAR, as the host does.
const MAPPING_PCIE: u64 = 1;

fn export(
    state: &State,
    ptr: *const c_void,
    size: usize,
    dmabuf: Out<i32>,
    offset: Out<u64>,
    flags: u64,
) -> Result {
    let (dmabuf, offset) = (dmabuf.required()?, offset.required()?);
    if ptr.is_null() || size == 0 || flags & !MAPPING_PCIE != 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    if !state.backend().has_dmabufs() {
        return Err(Status::NOT_SUPPORTED);
    }
    let address = Address::from(ptr);
    let known = state.runtime.pointer_info(address);
    let end = address
        .0
        .wrapping_sub(known.agent_base.0)
        .checked_add(size as u64);
    if !matches!(known.kind, PointerKind::Hsa | PointerKind::Virtual)
        || end.is_none_or(|end| end > known.size)
    {
        return Err(Status::INVALID_ALLOCATION);
    }
    let owner = known.owner.and_then(|owner| state.runtime.agent(owner));
    // The host's memory is the process's own.
    if !owner.is_some_and(|owner| owner.is_gpu()) {
        return Err(Status::INVALID_AGENT);
    }
    if flags & MAPPING_PCIE != 0 && known.kind == PointerKind::Hsa && known.host_base.0 == 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    let (file, start) = state
        .runtime
        .export_dmabuf(address, size as u64)
        .map_err(|error| match error {
            AllocError::OutOfRange { .. } => Status::INVALID_ALLOCATION,
            // Descriptors, or files for memory, are used up.
            AllocError::Backend(MemoryError::NotSupported(_)) => Status::OUT_OF_RESOURCES,
            other => other.into(),
        })?;
    dmabuf.put(file);
    offset.put(start);
    Ok(())
}

/// An error of importing: but for one, the header has one status for all.
fn import_status(error: AllocError) -> Status {
    match error.into() {
        Status::OUT_OF_RESOURCES => Status::OUT_OF_RESOURCES,
        _ => Status::INVALID_ARGUMENT,
    }
}

entry! {
    /// `hsa_amd_portable_export_dmabuf`: a file descriptor of device memory.
    fn hsa_amd_portable_export_dmabuf(state; ptr: *const c_void, size: usize, dmabuf: Out<i32>,
        offset: Out<u64>) {
        export(&state, ptr, size, dmabuf, offset, 0)
    }

    /// `hsa_amd_portable_export_dmabuf_v2`: the same, for those who reach it through the BAR if the flags say so.
    fn hsa_amd_portable_export_dmabuf_v2(state; ptr: *const c_void, size: usize, dmabuf: Out<i32>,
        offset: Out<u64>, flags: u64) {
        export(&state, ptr, size, dmabuf, offset, flags)
    }

    /// `hsa_amd_portable_close_dmabuf`: closes a descriptor, wherever it came from.
    fn hsa_amd_portable_close_dmabuf(_state; dmabuf: i32) {
        let path = format!("/proc/self/fd/{dmabuf}");
        if dmabuf < 0 || std::fs::symlink_metadata(path).is_err() {
            return Err(Status::RESOURCE_FREE);
        }
        // SAFETY: it is open, and the client says that it is done with it.
        drop(unsafe { OwnedFd::from_raw_fd(dmabuf) });
        Ok(())
    }

    /// `hsa_amd_interop_map_buffer`: maps the memory of a dmabuf to agents. There is no metadata: that is of images.
    fn hsa_amd_interop_map_buffer(state; num_agents: u32, agents: In<Agent>, interop_handle: i32, flags: u32,
        size: Out<usize>, ptr: Out<*mut c_void>, metadata_size: Out<usize>, metadata: Out<*const c_void>) {
        let (size, ptr) = (size.required()?, ptr.required()?);
        if num_agents == 0 || agents.is_null() || flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let ids = agent_ids(&state, num_agents as usize, agents)
            .map_err(|_| Status::INVALID_ARGUMENT)?;
        let (address, bytes) = state
            .runtime
            .import_dmabuf(&ids, interop_handle, PointerKind::Graphics)
            .map_err(import_status)?;
        size.put(bytes as usize);
        ptr.put(address.as_ptr().cast());
        if let Some(place) = metadata_size.optional() {
            place.put(0);
        }
        if let Some(place) = metadata.optional() {
            place.put(core::ptr::null());
        }
        Ok(())
    }
}

callbacks! {
    /// `hsa_amd_interop_unmap_buffer`: gives back what [`hsa_amd_interop_map_buffer`] mapped. Calls those who asked to be
    /// told.
    fn hsa_amd_interop_unmap_buffer(ptr: *mut c_void) {
        let state = gather("hsa_amd_interop_unmap_buffer", || {
            let state = open()?;
            if ptr.is_null() {
                return Err(Status::INVALID_ARGUMENT);
            }
            Ok(state)
        })?;
        // SAFETY: the specification demands that the client is done with it.
        unsafe { state.runtime.release_import(Address::from(ptr), PointerKind::Graphics) }
            .map_err(import_status)
    }
}
