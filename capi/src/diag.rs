//! Words to the person in front of the program: standard error, one line each, marked `rukh:`.
//!
//! `RUKH_LOG` says how many: `off`, `on` (what fails; also when it is not set) or `verbose` (what is noteworthy).

use core::ffi::{c_char, c_void};
use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use std::sync::OnceLock;

/// The client's `FILE` that lines go to as well, or null.
static FILE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" {
    fn fputs(text: *const c_char, file: *mut c_void) -> i32;
    fn fflush(file: *mut c_void) -> i32;
    #[link_name = "write"]
    fn write_to(file: i32, bytes: *const c_void, count: usize) -> isize;
}

const STANDARD_ERROR: i32 = 2;

/// Has lines written to a `FILE` of the client's as well; null ends that.
pub fn also_to(file: *mut c_void) {
    FILE.store(file, Ordering::Release);
}

/// The variable's name.
pub const VARIABLE: &str = "RUKH_LOG";

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Nothing.
    Off,
    /// What fails.
    On,
    /// What is noteworthy as well.
    Verbose,
}

impl Level {
    /// From the variable's value. None for one that is not known.
    fn parse(value: Option<&str>) -> Option<Self> {
        match value.unwrap_or("") {
            "" | "on" => Some(Self::On),
            "off" => Some(Self::Off),
            "verbose" => Some(Self::Verbose),
            _ => None,
        }
    }
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let value = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
        Level::parse(value.as_deref()).unwrap_or_else(|| {
            let value = value.unwrap_or_default();
            write(format_args!(
                "{VARIABLE}={value} is not known; it can be off, on or verbose"
            ));
            Level::On
        })
    })
}

/// Decides now how much is said: a process that forks while another thread does so would have a child that waits for it.
pub fn settle() {
    level();
}

fn write(message: fmt::Arguments<'_>) {
    let line = format!("rukh: {message}\n");
    let mut left = line.as_bytes();
    // Not by Rust's handle, whose lock another thread may hold when the process forks. A line is whole where others write
    // too.
    while !left.is_empty() {
        // SAFETY: so many bytes of a string.
        let written = unsafe { write_to(STANDARD_ERROR, left.as_ptr().cast(), left.len()) };
        let interrupted =
            || std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        match usize::try_from(written) {
            Ok(0) => break,
            Ok(written) => left = left.get(written..).unwrap_or_default(),
            Err(_) if interrupted() => {}
            // That standard error is closed is no reason to fail.
            Err(_) => break,
        }
    }
    let file = FILE.load(Ordering::Acquire);
    if !file.is_null()
        && let Ok(line) = CString::new(line)
    {
        // SAFETY: a file that the client keeps open while it wants lines, by the contract of
        // `hsa_amd_enable_logging`.
        unsafe {
            fputs(line.as_ptr(), file);
            fflush(file);
        }
    }
}

/// Writes a line about something that fails.
pub fn say(message: fmt::Arguments<'_>) {
    if level() >= Level::On {
        write(message);
    }
}

/// Writes a line about something noteworthy.
pub fn note(message: fmt::Arguments<'_>) {
    if level() >= Level::Verbose {
        write(message);
    }
}

/// Writes a line and ends the process: for misuse that a function has no way to answer.
pub fn fatal(message: fmt::Arguments<'_>) -> ! {
    say(message);
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_level() {
        assert_eq!(Level::parse(None), Some(Level::On));
        assert_eq!(Level::parse(Some("off")), Some(Level::Off));
        assert_eq!(Level::parse(Some("verbose")), Some(Level::Verbose));
        assert_eq!(Level::parse(Some("loud")), None);
        assert!(Level::Verbose > Level::On && Level::On > Level::Off);
    }
}
