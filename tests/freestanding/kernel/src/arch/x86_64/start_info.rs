//! What the loader tells of the machine: PVH's `hvm_start_info` and its memory map (version 1).

use super::Boot;
use crate::arch::{Order, Ram};
use core::ptr;

/// Bytes of a command line that are looked at.
const LONGEST: usize = 64;

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

/// What `start.s` maps.
const MAPPED: u64 = 4 << 30;

/// What there is and what is to be done.
pub(super) fn read(start_info: usize) -> Boot {
    // SAFETY: the boot protocol gives the address of this structure in memory below 4 GiB, which is mapped.
    let info = unsafe { ptr::with_exposed_provenance::<StartInfo>(start_info).read_unaligned() };
    if info.magic != MAGIC || info.version == 0 {
        return Boot {
            ram: None,
            order: Order::Demo,
        };
    }
    Boot {
        ram: free_ram(&info),
        order: order(info.command_line),
    }
}

/// What the command line, text up to a zero, asks for.
fn order(command_line: u64) -> Order {
    let mut line = [0; LONGEST];
    if command_line == 0 || command_line > MAPPED - line.len() as u64 {
        return Order::Demo;
    }
    let text = ptr::with_exposed_provenance::<u8>(command_line as usize);
    let mut length = 0;
    for (at, byte) in line.iter_mut().enumerate() {
        // SAFETY: the loader's text, in mapped memory; nothing is read behind its end.
        *byte = unsafe { text.add(at).read() };
        if *byte == 0 {
            break;
        }
        length = at + 1;
    }
    Order::read(&line[..length])
}

/// The largest range of RAM behind the kernel, as far as it is mapped.
fn free_ram(info: &StartInfo) -> Option<Ram> {
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
