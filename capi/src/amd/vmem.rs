//! Virtual memory: address ranges and memory apart. System information says that it is not
//! supported.

use crate::abi::{Agent, MemoryAccessDesc, MemoryPool, VmemAllocHandle};
use crate::arg::{In, Out};
use crate::entry::not_yet;
use core::ffi::c_void;

not_yet! {
    fn hsa_amd_vmem_address_reserve(va: Out<*mut c_void>, size: usize, address: u64,
        flags: u64) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_address_reserve_align(va: Out<*mut c_void>, size: usize, address: u64,
        alignment: u64, flags: u64) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_address_free(va: *mut c_void, size: usize) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_handle_create(pool: MemoryPool, size: usize, kind: u32, flags: u64,
        memory_handle: Out<VmemAllocHandle>) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_handle_release(memory_handle: VmemAllocHandle) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_map(va: *mut c_void, size: usize, in_offset: usize,
        memory_handle: VmemAllocHandle, flags: u64) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_set_access(va: *mut c_void, size: usize, desc: In<MemoryAccessDesc>,
        desc_cnt: usize) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_get_access(va: *mut c_void, perms: Out<u32>, agent: Agent) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_export_shareable_handle(dmabuf_fd: Out<i32>, handle: VmemAllocHandle,
        flags: u64) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_import_shareable_handle(dmabuf_fd: i32,
        handle: Out<VmemAllocHandle>) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_retain_alloc_handle(memory_handle: Out<VmemAllocHandle>,
        addr: *mut c_void) -> NOT_SUPPORTED;
    fn hsa_amd_vmem_get_alloc_properties_from_handle(memory_handle: VmemAllocHandle,
        pool: Out<MemoryPool>, kind: Out<u32>) -> NOT_SUPPORTED;
}
