//! What differs between processors: the way in, the serial port, the way out. A port to another processor
//! is a start-up file, a linker script and these functions.
//!
//! | function | what it does |
//! |---|---|
//! | `start.s` | stack, zeroed statics, page tables, float units on; calls `main` |
//! | `console_write` | bytes to the serial port |
//! | `exit` | ends the machine with a status |

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{console_write, exit};

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{console_write, exit};

/// Memory that nobody uses yet. Identity-mapped, readable and writable, not executable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ram {
    /// Its first byte.
    pub start: usize,
    /// Its size in bytes.
    pub size: usize,
}

/// The first address behind the kernel, a multiple of the page size.
fn kernel_end() -> usize {
    unsafe extern "C" {
        static kernel_end: u8;
    }
    (&raw const kernel_end).addr()
}
