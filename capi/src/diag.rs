//! Words to the person in front of the program: standard error, one line each, marked `rukh:`.

use core::fmt;
use std::io::Write;

/// Writes a line. That standard error is closed is no reason to fail.
pub fn say(message: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "rukh: {message}");
}

/// Writes a line and ends the process: for misuse that a function has no way to answer.
pub fn fatal(message: fmt::Arguments<'_>) -> ! {
    say(message);
    std::process::abort()
}
