//! A kernel that runs Rukh: core and the software GPU in ring 0 (EL1), with no operating system.
//!
//! In the order that it starts: `arch`, from the loader to Rust, with pages and float units on; [`heap`] and
//! [`pages`], its two kinds of memory; [`log`], defmt over the serial port; [`demo`], what it is for: kernels that
//! compute, and kernels and packets that fail while everything else goes on. `tests/scripts/boot.sh` builds
//! it, boots it in QEMU and compares the log with `expected.txt`.
#![no_std]
#![no_main]

extern crate alloc;

mod arch;
mod demo;
mod heap;
mod log;
mod pages;

use arch::Ram;

/// What the heap gets; devices get the rest.
const HEAP_BYTES: usize = 96 << 20;

/// Called by `arch` with the memory that is free.
fn main(ram: Option<Ram>) -> ! {
    let Some(ram) = ram.filter(|ram| ram.size > 2 * HEAP_BYTES) else {
        defmt::error!("there are no {} bytes of free RAM", 2 * HEAP_BYTES);
        arch::exit(log::FAILED)
    };
    let heap = Ram {
        size: HEAP_BYTES,
        ..ram
    };
    let devices = Ram {
        start: ram.start + HEAP_BYTES,
        size: ram.size - HEAP_BYTES,
    };
    // SAFETY: RAM that the loader says is free, behind the kernel, and given to the heap alone.
    unsafe { heap::start(heap) };
    // SAFETY: the rest of it, given to the devices alone.
    let pages = unsafe { pages::Pages::new(devices) };
    match demo::run(pages, devices.size as u64) {
        Ok(()) => {
            defmt::info!("all passed");
            arch::exit(log::PASSED)
        }
        Err(failure) => {
            defmt::error!("FAILED: {}", defmt::Display2Format(&failure));
            arch::exit(log::FAILED)
        }
    }
}
