//! What differs between processors: the way in, the serial port, the way out. A port to another processor
//! is a start-up file, a linker script and these functions.
//!
//! | function | what it does |
//! |---|---|
//! | `start.s` | stack, zeroed statics, page tables, float units on; calls `main` |
//! | `console_write` | bytes to the serial port |
//! | `exit` | ends the machine with a status |
//!
//! Below the stack is a page that is not mapped, and exceptions have a stack of their own: a stack that overflows is
//! one that says so.

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

/// What the loader's command line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// No word: to show what this kernel is for.
    Demo,
    /// `overflow`: to use more stack than there is.
    Overflow,
    /// Something else.
    Unknown,
}

impl Order {
    /// From the command line's text.
    fn read(text: &[u8]) -> Self {
        match text.trim_ascii() {
            b"" => Self::Demo,
            b"overflow" => Self::Overflow,
            _ => Self::Unknown,
        }
    }
}

/// What the loader says.
pub(crate) struct Boot {
    /// RAM that is free, if its table could be read.
    pub ram: Option<Ram>,
    /// What is to be done.
    pub order: Order,
}

/// The page below the stack.
pub(crate) fn stack_guard() -> core::ops::Range<usize> {
    unsafe extern "C" {
        static stack_guard: u8;
    }
    let start = (&raw const stack_guard).addr();
    start..start + 4096
}

/// The first address behind the kernel, a multiple of the page size.
fn kernel_end() -> usize {
    unsafe extern "C" {
        static kernel_end: u8;
    }
    (&raw const kernel_end).addr()
}
