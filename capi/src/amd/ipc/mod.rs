//! Sharing memory and signals between processes of one machine and user, by handles that clients carry over.
//!
//! [`message`] has what goes between processes, [`server`] who sends it. The memory itself goes as a dmabuf's descriptor, so that
//! what can be shared is what can be exported: device memory, and the pages of signals that were created for it.

pub mod message;
mod server;

pub use server::Server;

use crate::abi::{Agent, IpcMemory, Signal, Status};
use crate::amd::pool::agent_ids;
use crate::arg::{In, Out};
use crate::entry::{Result, callbacks, entry, gather};
use crate::runtime::State;
use crate::signal::find;
use crate::state::open;
use core::ffi::c_void;
use message::{Handle, Kind};
use rukh_core::backend::MemoryError;
use rukh_core::mem::{Address, PointerKind};
use rukh_core::runtime::AllocError;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use server::{AskError, ask};
use std::sync::PoisonError;

/// Allocations are of whole pages, whatever was asked for.
const PAGE: u64 = 4096;

/// Offers a descriptor to other processes. Gives the handle, and what takes it back.
fn offer(
    state: &State,
    kind: Kind,
    file: OwnedFd,
    size: u64,
) -> Result<(Handle, impl FnOnce() + Send + use<>)> {
    let mut server = state.ipc.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match &*server {
        Some(server) => server,
        None => server.insert(Server::start().map_err(|_| Status::OUT_OF_RESOURCES)?),
    };
    let offered = server.offer(kind, file, size);
    Ok((offered, server.withdrawal(offered)))
}

/// The handle that a client gives, if it can be one of this kind.
fn handle_of(kind: Kind, given: In<IpcMemory>) -> Result<Handle> {
    Handle::parse(&given.required()?.handle)
        .filter(|handle| handle.kind == kind)
        .ok_or(Status::INVALID_ARGUMENT)
}

const fn status(error: AskError) -> Status {
    match error {
        AskError::Unknown => Status::INVALID_ARGUMENT,
        AskError::Exhausted => Status::OUT_OF_RESOURCES,
    }
}

entry! {
    /// `hsa_amd_ipc_memory_create`: a handle of an allocation for other processes.
    fn hsa_amd_ipc_memory_create(state; ptr: *mut c_void, len: usize, handle: Out<IpcMemory>) {
        let place = handle.required()?;
        let address = Address::from(ptr);
        let known = state.runtime.pointer_info(address);
        let most = known.size.next_multiple_of(PAGE);
        if ptr.is_null()
            || known.kind != PointerKind::Hsa
            || known.agent_base != address
            || len == 0
            || len as u64 > most
        {
            return Err(Status::INVALID_ARGUMENT);
        }
        let owner = known.owner.and_then(|owner| state.runtime.agent(owner));
        if !state.backend().has_dmabufs() || !owner.is_some_and(|owner| owner.is_gpu()) {
            return Err(Status::NOT_SUPPORTED);
        }
        let (file, _) = state.runtime.export_dmabuf(address, known.size).map_err(|error| match error {
            AllocError::Backend(MemoryError::NotSupported(_)) => Status::OUT_OF_RESOURCES,
            other => other.into(),
        })?;
        // SAFETY: made just now for this process, and nobody else knows of it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let (offered, withdraw) = offer(&state, Kind::Memory, file, len as u64)?;
        // The memory outlives its allocation with those who have it; others get no more of it.
        state.runtime.on_free(address, offered.token, Box::new(move |_| withdraw()))?;
        place.put(IpcMemory { handle: offered.emit() });
        Ok(())
    }

    /// `hsa_amd_ipc_memory_attach`: maps another process's allocation to agents, all GPUs if there are none.
    fn hsa_amd_ipc_memory_attach(state; handle: In<IpcMemory>, len: usize, num_agents: u32,
        mapping_agents: In<Agent>, mapped_ptr: Out<*mut c_void>) {
        let place = mapped_ptr.required()?;
        let handle = handle_of(Kind::Memory, handle)?;
        let agents = match num_agents {
            0 => state.gpus(),
            count => agent_ids(&state, count as usize, mapping_agents)
                .map_err(|_| Status::INVALID_ARGUMENT)?,
        };
        let is_gpu = |id: &_| state.runtime.agent(*id).is_some_and(|agent| agent.is_gpu());
        if len == 0 || agents.is_empty() || !agents.iter().all(is_gpu) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let (file, size) = ask(&handle).map_err(status)?;
        if size != len as u64 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let kind = PointerKind::Ipc;
        let (address, mapped) = state
            .runtime
            .import_dmabuf(&agents, file.as_raw_fd(), kind)
            .map_err(|error| match error.into() {
                Status::OUT_OF_RESOURCES => Status::OUT_OF_RESOURCES,
                _ => Status::INVALID_ARGUMENT,
            })?;
        if mapped < size {
            // The exporter says more than its descriptor has.
            // SAFETY: nobody has learnt the address.
            let _ = unsafe { state.runtime.release_import(address, kind) };
            return Err(Status::INVALID_ARGUMENT);
        }
        place.put(address.as_ptr().cast());
        Ok(())
    }
}

callbacks! {
    /// `hsa_amd_ipc_memory_detach`: gives back what [`hsa_amd_ipc_memory_attach`] mapped. Calls those who asked to be told.
    fn hsa_amd_ipc_memory_detach(mapped_ptr: *mut c_void) {
        let state = gather("hsa_amd_ipc_memory_detach", || {
            let state = open()?;
            if mapped_ptr.is_null() {
                return Err(Status::INVALID_ARGUMENT);
            }
            Ok(state)
        })?;
        // SAFETY: the specification demands that the client is done with it.
        unsafe { state.runtime.release_import(Address::from(mapped_ptr), PointerKind::Ipc) }
            .map_err(|_| Status::INVALID_ARGUMENT)
    }
}

entry! {
    /// `hsa_amd_ipc_signal_create`: a handle of a signal that was created for it.
    fn hsa_amd_ipc_signal_create(state; signal: Signal, handle: Out<IpcMemory>) {
        let place = handle.required()?;
        let signal = find(&state, signal).map_err(|_| Status::INVALID_ARGUMENT)?.handle();
        if !state.runtime.has_virtual_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let file = state.runtime.export_signal(signal).map_err(|error| match error.into() {
            Status::OUT_OF_RESOURCES => Status::OUT_OF_RESOURCES,
            _ => Status::INVALID_ARGUMENT,
        })?;
        // SAFETY: made just now for this process, and nobody else knows of it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let (offered, _) = offer(&state, Kind::Signal, file, PAGE)?;
        place.put(IpcMemory { handle: offered.emit() });
        Ok(())
    }

    /// `hsa_amd_ipc_signal_attach`: another process's signal. Destroying it ends it for this process alone.
    fn hsa_amd_ipc_signal_attach(state; handle: In<IpcMemory>, signal: Out<Signal>) {
        let place = signal.required()?;
        let handle = handle_of(Kind::Signal, handle)?;
        let (file, _) = ask(&handle).map_err(status)?;
        let attached = state.runtime.attach_signal(file.as_raw_fd()).map_err(|error| match error.into() {
            Status::OUT_OF_RESOURCES => Status::OUT_OF_RESOURCES,
            _ => Status::INVALID_ARGUMENT,
        })?;
        place.put(Signal { handle: attached.0 });
        Ok(())
    }
}
