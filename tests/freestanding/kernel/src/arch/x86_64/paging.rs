//! Rights of pages: code is not writable, data is not executable, nothing is at address zero.

use core::arch::asm;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const LARGE_PAGE: u64 = 2 << 20;
const PAGE: u64 = 4096;

unsafe extern "C" {
    static mut page_map_4: [u64; 512];
    static mut page_map_2: [u64; 2048];
    static mut page_map_1: [u64; 512];
    static kernel_text: u8;
    static kernel_constants: u8;
    static kernel_data: u8;
}

/// Takes rights away from the identity map that `start.s` made.
pub(super) fn protect() {
    let text = (&raw const kernel_text).addr() as u64;
    let constants = (&raw const kernel_constants).addr() as u64;
    let data = (&raw const kernel_data).addr() as u64;
    for (index, address) in (0u64..2048).map(|i| (i as usize, i * LARGE_PAGE)) {
        let rights = if (text..constants).contains(&address) {
            0
        } else if (constants..data).contains(&address) {
            NO_EXECUTE
        } else {
            WRITABLE | NO_EXECUTE
        };
        // SAFETY: this is the one processor, before anything else runs, and the table is ours. Each page keeps
        // its address, code stays executable and data writable.
        unsafe { page_map_2[index] = address | PRESENT | LARGE | rights };
    }
    for (index, address) in (0u64..512).map(|i| (i as usize, i * PAGE)) {
        let entry = if address == 0 {
            0
        } else {
            address | PRESENT | WRITABLE | NO_EXECUTE
        };
        // SAFETY: as above; nothing of this kernel or of the loader is in the first page.
        unsafe { page_map_1[index] = entry };
    }
    let small = (&raw const page_map_1).addr() as u64;
    // SAFETY: as above. The first 2 MiB become small pages with the same addresses.
    unsafe { page_map_2[0] = small | PRESENT | WRITABLE };
    let root = (&raw const page_map_4).addr();
    // SAFETY: the table that is in use already; this makes the processor forget old entries.
    unsafe { asm!("mov cr3, {}", in(reg) root, options(nostack)) };
}
