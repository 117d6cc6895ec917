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

use arch::{Boot, Order, Ram};

/// What the heap gets; devices get the rest.
const HEAP_BYTES: usize = 96 << 20;

/// Uses stack until there is none. Its frame is larger than the guard: it must not step over it.
#[inline(never)]
fn overflow(depth: u64) -> u64 {
    let frame = core::hint::black_box([depth; 2048]);
    if depth == u64::MAX {
        return frame[0];
    }
    overflow(depth + 1) ^ core::hint::black_box(frame)[2047]
}

/// Called by `arch` with what the loader says.
fn main(Boot { ram, order }: Boot) -> ! {
    match order {
        Order::Demo => {}
        Order::Overflow => {
            defmt::info!("using up the stack");
            let depth = overflow(0);
            defmt::error!("FAILED: the stack had no end ({})", depth);
            arch::exit(log::FAILED)
        }
        Order::Unknown => {
            defmt::error!("FAILED: a command line that this kernel does not know");
            arch::exit(log::FAILED)
        }
    }
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
