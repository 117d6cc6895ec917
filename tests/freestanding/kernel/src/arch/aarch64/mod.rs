//! AArch64 on QEMU's `virt`: device tree at the start of RAM, PL011 for the log, semihosting for the status.

mod device_tree;

use super::{Boot, Order, Ram};
use core::arch::{asm, global_asm};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use device_tree::DeviceTree;

global_asm!(include_str!("start.s"), main = sym main, trap = sym trap);

/// Where QEMU puts the tree for a kernel that is an ELF file: the start of RAM (docs/system/arm/virt.rst).
const TREE: usize = 0x4000_0000;
/// What the page tables of `start.s` map as RAM.
const MAPPED_RAM: core::ops::Range<u64> = 0x4000_0000..0x8000_0000;
/// What they map as devices.
const MAPPED_DEVICES: core::ops::Range<u64> = 0..0x4000_0000;

/// Registers of the PL011 that the tree names; 0 before.
static CONSOLE: AtomicUsize = AtomicUsize::new(0);

extern "C" fn main() -> ! {
    // SAFETY: the loader's tree, in mapped memory that nothing writes; its length is checked there.
    let tree = unsafe { DeviceTree::at(TREE) };
    let found = tree.map(|tree| (tree.pl011(), tree.memory(), tree.order()));
    let Some((Some(console), Some((start, size)), order)) = found else {
        exit(NO_DEVICE_TREE);
    };
    if !MAPPED_DEVICES.contains(&console) {
        exit(NO_DEVICE_TREE);
    }
    CONSOLE.store(console as usize, Ordering::Relaxed);
    let start_free = start.max(super::kernel_end() as u64);
    let end = start.saturating_add(size).min(MAPPED_RAM.end);
    crate::main(Boot {
        ram: end.checked_sub(start_free).map(|size| Ram {
            start: start_free as usize,
            size: size as usize,
        }),
        order: order.unwrap_or(Order::Demo),
    })
}

/// Status of a machine without a usable device tree: there is nowhere to write to.
const NO_DEVICE_TREE: u32 = 105;

/// Writes to the serial port. QEMU's needs no setting up.
pub(crate) fn console_write(bytes: &[u8]) {
    const DATA: usize = 0;
    const FLAGS: usize = 0x18;
    const TRANSMIT_FULL: u32 = 1 << 5;
    let base = CONSOLE.load(Ordering::Relaxed);
    if base == 0 {
        return;
    }
    let register = |offset| ptr::with_exposed_provenance_mut::<u32>(base + offset);
    for &byte in bytes {
        // SAFETY: registers of the PL011, mapped as device memory.
        unsafe {
            while register(FLAGS).read_volatile() & TRANSMIT_FULL != 0 {}
            register(DATA).write_volatile(u32::from(byte));
        }
    }
}

/// Ends the machine with a status, by Arm's semihosting (SYS_EXIT).
pub(crate) fn exit(status: u32) -> ! {
    const SYS_EXIT: usize = 0x18;
    const APPLICATION_EXIT: usize = 0x2_0026;
    let block = [APPLICATION_EXIT, status as usize];
    // SAFETY: the call reads the block and ends the machine.
    unsafe {
        asm!("hlt #0xf000", in("x0") SYS_EXIT, in("x1") block.as_ptr(), options(nostack));
    }
    loop {
        core::hint::spin_loop();
    }
}

/// An exception of the processor: syndrome, where, and the address concerned.
extern "C" fn trap(syndrome: u64, at: u64, address: u64) -> ! {
    crate::log::trap(syndrome >> 26, syndrome, at, address)
}
