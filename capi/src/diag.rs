//! Words to the person in front of the program: standard error, one line each, marked `rukh:`.

use core::ffi::{c_char, c_void};
use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use std::io::Write;

/// The client's `FILE` that lines go to as well, or null.
static FILE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" {
    fn fputs(text: *const c_char, file: *mut c_void) -> i32;
    fn fflush(file: *mut c_void) -> i32;
}

/// Has lines written to a `FILE` of the client's as well; null ends that.
pub fn also_to(file: *mut c_void) {
    FILE.store(file, Ordering::Release);
}

/// Writes a line. That standard error is closed is no reason to fail.
pub fn say(message: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "rukh: {message}");
    let file = FILE.load(Ordering::Acquire);
    if !file.is_null()
        && let Ok(line) = CString::new(format!("rukh: {message}\n"))
    {
        // SAFETY: a file that the client keeps open while it wants lines, by the contract of
        // `hsa_amd_enable_logging`.
        unsafe {
            fputs(line.as_ptr(), file);
            fflush(file);
        }
    }
}

/// Writes a line and ends the process: for misuse that a function has no way to answer.
pub fn fatal(message: fmt::Arguments<'_>) -> ! {
    say(message);
    std::process::abort()
}
