//! The log: defmt's frames over the serial port. Also what panics and processor exceptions come to.

use crate::arch;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Statuses of the machine. Odd, since one of the ways out can tell no even ones.
pub(crate) const PASSED: u32 = 33;
/// A check failed, and the log says which.
pub(crate) const FAILED: u32 = 35;
const PANICKED: u32 = 101;
const TRAPPED: u32 = 103;
const OVERFLOWED: u32 = 107;

#[defmt::global_logger]
struct Serial;

struct Line {
    held: AtomicBool,
    encoder: UnsafeCell<defmt::Encoder>,
}

// SAFETY: the encoder is used by whoever holds the flag.
unsafe impl Sync for Line {}

static LINE: Line = Line {
    held: AtomicBool::new(false),
    encoder: UnsafeCell::new(defmt::Encoder::new()),
};

// SAFETY: `acquire` spins until the flag is free, so that frames do not mix; this kernel has no interrupts that
// could log while it is held.
unsafe impl defmt::Logger for Serial {
    fn acquire() {
        while LINE.held.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        // SAFETY: the flag is held.
        unsafe { (*LINE.encoder.get()).start_frame(arch::console_write) };
    }

    unsafe fn flush() {}

    unsafe fn release() {
        // SAFETY: the flag is held: defmt calls this after `acquire`.
        unsafe { (*LINE.encoder.get()).end_frame(arch::console_write) };
        LINE.held.store(false, Ordering::Release);
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: the flag is held: defmt calls this after `acquire`.
        unsafe { (*LINE.encoder.get()).write(bytes, arch::console_write) };
    }
}

/// Whether the log can be written: not if what went wrong went wrong in it.
fn usable() -> bool {
    !LINE.held.load(Ordering::Acquire)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    if usable() {
        defmt::error!("panic: {}", defmt::Display2Format(info));
    }
    arch::exit(PANICKED)
}

/// An exception of the processor: its number or class, what came with it, where, and the address concerned.
pub(crate) fn trap(kind: u64, error: u64, at: u64, address: u64) -> ! {
    if arch::stack_guard().contains(&(address as usize)) {
        if usable() {
            defmt::error!(
                "the stack overflowed: code at {:#x} used address {:#x}",
                at,
                address
            );
        }
        arch::exit(OVERFLOWED)
    }
    if usable() {
        defmt::error!(
            "processor exception {} ({:#x}) at {:#x}, address {:#x}",
            kind,
            error,
            at,
            address
        );
    }
    arch::exit(TRAPPED)
}
