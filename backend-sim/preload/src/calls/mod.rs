//! The C library's functions that stand here in its place, by what they are about.
//!
//! `open`, `fcntl` and `ioctl` are variadic in C. Here they have their longest form: on x86-64 and AArch64 Linux arguments of
//! a variadic function travel in the same registers as those of others, and one that was not passed is some number, which goes
//! where the C library's own definition would take it from, or nowhere.

mod attributes;
mod descriptors;
mod directories;
mod links;
mod memory;
mod open;
mod stat;

use crate::files;
use crate::machine::{inside, is_inside};
use crate::tree::{self, Node};
use core::ffi::{CStr, c_char, c_int};

/// What is at a path, and the path, if it is for us to say.
type Found = Option<(String, Result<Node, c_int>)>;

/// Looks a path up, relative to a directory.
///
/// # Safety
/// The path is null or ends with a zero byte.
unsafe fn find_at(directory: c_int, path: *const c_char) -> Found {
    if path.is_null() || is_inside() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.first() == Some(&b'/') {
        let path = core::str::from_utf8(path).ok()?;
        return inside(|| tree::find(path));
    }
    if directory == libc::AT_FDCWD || path.is_empty() {
        return None;
    }
    let path = core::str::from_utf8(path).ok()?;
    inside(|| tree::find(&format!("{}/{path}", files::directory(directory)?)))
}

/// Looks a path up.
///
/// # Safety
/// As for [`find_at`].
unsafe fn find(path: *const c_char) -> Found {
    // SAFETY: by the caller's promise.
    unsafe { find_at(libc::AT_FDCWD, path) }
}
