//! What the loader tells of the machine: PVH's `hvm_start_info` and its memory map (version 1).

use super::Ram;
use core::ptr;

const MAGIC: u32 = 0x336e_c578;
const TYPE_RAM: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_map_entries: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryRange {
    address: u64,
    size: u64,
    kind: u32,
    reserved: u32,
}

/// The largest range of RAM behind the kernel, as far as it is mapped.
pub(super) fn free_ram(start_info: usize) -> Option<Ram> {
    const MAPPED: u64 = 4 << 30;
    // SAFETY: the boot protocol gives the address of this structure in memory below 4 GiB, which is mapped.
    let info = unsafe { ptr::with_exposed_provenance::<StartInfo>(start_info).read_unaligned() };
    if info.magic != MAGIC || info.version == 0 {
        return None;
    }
    let map = ptr::with_exposed_provenance::<MemoryRange>(info.memory_map as usize);
    let kernel_end = crate::arch::kernel_end() as u64;
    (0..info.memory_map_entries as usize)
        // SAFETY: the protocol's table of that many entries, in the same memory.
        .map(|index| unsafe { map.add(index).read_unaligned() })
        .filter(|range| range.kind == TYPE_RAM)
        .filter_map(|range| {
            let start = range.address.max(kernel_end);
            let end = range.address.checked_add(range.size)?.min(MAPPED);
            Some((start, end.checked_sub(start)?))
        })
        .max_by_key(|&(_, size)| size)
        .map(|(start, size)| Ram {
            start: start as usize,
            size: size as usize,
        })
}
