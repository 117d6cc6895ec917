//! Sharing memory and signals with other processes: not supported. Nothing gives out a handle, so that none is valid.

use crate::abi::{Agent, IpcMemory, Signal};
use crate::arg::{In, Out};
use crate::entry::not_yet;
use core::ffi::c_void;

not_yet! {
    fn hsa_amd_ipc_memory_create(ptr: *mut c_void, len: usize, handle: Out<IpcMemory>) -> NOT_SUPPORTED;
    fn hsa_amd_ipc_memory_attach(handle: In<IpcMemory>, len: usize, num_agents: u32,
        mapping_agents: In<Agent>, mapped_ptr: Out<*mut c_void>) -> INVALID_ARGUMENT;
    fn hsa_amd_ipc_memory_detach(mapped_ptr: *mut c_void) -> INVALID_ARGUMENT;
    fn hsa_amd_ipc_signal_create(signal: Signal, handle: Out<IpcMemory>) -> NOT_SUPPORTED;
    fn hsa_amd_ipc_signal_attach(handle: In<IpcMemory>, signal: Out<Signal>) -> INVALID_ARGUMENT;
}
