//! x86-64: started by PVH, COM1 for the log, QEMU's isa-debug-exit for the status.

mod paging;
mod start_info;
mod traps;

use super::Boot;
use core::arch::{asm, global_asm};

global_asm!(include_str!("start.s"), main = sym main, trap = sym traps::trap);

/// I/O port of the first serial port.
const COM1: u16 = 0x3f8;
/// I/O port of QEMU's isa-debug-exit, as `boot.sh` configures it.
const DEBUG_EXIT: u16 = 0xf4;

extern "C" fn main(start_info: usize) -> ! {
    start_serial();
    traps::start();
    // QEMU's loader puts its tables into the page at address zero, which is about to go.
    let boot = start_info::read(start_info);
    paging::protect();
    crate::main(boot)
}

/// 115200 baud, 8 bits, no parity, FIFOs on, no interrupts.
fn start_serial() {
    for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 7), (4, 3)] {
        write_port(COM1 + register, value);
    }
}

/// Writes to the serial port.
pub(crate) fn console_write(bytes: &[u8]) {
    for &byte in bytes {
        while read_port(COM1 + 5) & 0x20 == 0 {
            core::hint::spin_loop();
        }
        write_port(COM1, byte);
    }
}

/// Ends the machine; QEMU's status is `2 * (status >> 1) + 1`, so the status must be odd.
pub(crate) fn exit(status: u32) -> ! {
    // SAFETY: a port of a device that does nothing but end the machine.
    unsafe { asm!("out dx, eax", in("dx") DEBUG_EXIT, in("eax") status >> 1, options(nostack)) };
    loop {
        // SAFETY: waits; there are no interrupts to miss.
        unsafe { asm!("hlt", options(nomem, nostack)) };
    }
}

fn write_port(port: u16, value: u8) {
    // SAFETY: only this file calls it, with ports of the serial port: a device that touches no memory.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) };
}

fn read_port(port: u16) -> u8 {
    let value;
    // SAFETY: as for `write_port`.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack)) };
    value
}
