//! Rights of pages: code is not writable, data is not executable, nothing is at address zero and below the stack.

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
    static mut page_map_guard: [u64; 512];
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
    // SAFETY: as above; nothing of this kernel or of the loader is in the first page.
    unsafe { leave_out(0, &raw mut page_map_1) };
    let guard = crate::arch::stack_guard().start as u64;
    // SAFETY: as above; the guard is a page among the kernel's data that nobody uses.
    unsafe { leave_out(guard, &raw mut page_map_guard) };
    let root = (&raw const page_map_4).addr();
    // SAFETY: the table that is in use already; this makes the processor forget old entries.
    unsafe { asm!("mov cr3, {}", in(reg) root, options(nostack)) };
}

/// Leaves a page out: the 2 MiB of data around it become small pages with the same addresses, in a table of theirs.
///
/// # Safety
/// Nothing uses the page, its neighbours are data, and the table is nobody else's.
unsafe fn leave_out(page: u64, table: *mut [u64; 512]) {
    let block = page / LARGE_PAGE;
    for (index, address) in (0u64..512).map(|i| (i as usize, block * LARGE_PAGE + i * PAGE)) {
        let entry = if address == page {
            0
        } else {
            address | PRESENT | WRITABLE | NO_EXECUTE
        };
        // SAFETY: the table is the caller's to give.
        unsafe { (*table)[index] = entry };
    }
    // SAFETY: the rights of the pages that somebody uses are those of the block before.
    unsafe { page_map_2[block as usize] = table.addr() as u64 | PRESENT | WRITABLE };
}
