//! Links, of which there are none among ours, and proper names.

use super::{Found, find, find_at};
use crate::next::{fail, next};
use core::ffi::{c_char, c_int};
use core::ptr::null_mut;
use libc::{PATH_MAX, size_t, ssize_t};

/// The errno for reading what is found as a link.
fn no_link(found: Found) -> Option<c_int> {
    found.map(|(_, node)| node.err().unwrap_or(libc::EINVAL))
}

/// Reads a link.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, to: *mut c_char, size: size_t) -> ssize_t {
    // SAFETY: by the caller's promise.
    match no_link(unsafe { find(path) }) {
        Some(errno) => fail(errno, -1),
        None => next!(
            c"readlink" as fn(*const c_char, *mut c_char, size_t) -> ssize_t,
            (path, to, size),
            or - 1
        ),
    }
}

/// Reads a link below a directory.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlinkat(
    directory: c_int,
    path: *const c_char,
    to: *mut c_char,
    size: size_t,
) -> ssize_t {
    // SAFETY: by the caller's promise.
    match no_link(unsafe { find_at(directory, path) }) {
        Some(errno) => fail(errno, -1),
        None => next!(
            c"readlinkat" as fn(c_int, *const c_char, *mut c_char, size_t) -> ssize_t,
            (directory, path, to, size),
            or - 1
        ),
    }
}

/// The proper name of what is found, as the C library gives it: in the caller's memory or in its own.
///
/// # Safety
/// `to` is null or has room for PATH_MAX bytes.
unsafe fn proper(found: Found, to: *mut c_char) -> Option<*mut c_char> {
    let (path, node) = found?;
    if let Err(errno) = node {
        return Some(fail(errno, null_mut()));
    }
    if path.len() >= PATH_MAX as usize {
        return Some(fail(libc::ENAMETOOLONG, null_mut()));
    }
    let to = if to.is_null() {
        // SAFETY: a size above 0.
        unsafe { libc::malloc(path.len() + 1) }.cast()
    } else {
        to
    };
    if !to.is_null() {
        // SAFETY: there is room for the path and a zero byte.
        unsafe {
            core::ptr::copy_nonoverlapping(path.as_ptr().cast(), to, path.len());
            *to.add(path.len()) = 0;
        }
    }
    Some(to)
}

/// The proper name of a path.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, to: *mut c_char) -> *mut c_char {
    // SAFETY: by the caller's promise.
    unsafe { proper(find(path), to) }.unwrap_or_else(|| {
        next!(
            c"realpath" as fn(*const c_char, *mut c_char) -> *mut c_char, (path, to), or null_mut()
        )
    })
}

/// The proper name of a path, in memory whose size the compiler knows.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __realpath_chk(
    path: *const c_char,
    to: *mut c_char,
    size: size_t,
) -> *mut c_char {
    // SAFETY: by the caller's promise.
    unsafe { proper(find(path), to) }.unwrap_or_else(|| {
        next!(
            c"__realpath_chk" as fn(*const c_char, *mut c_char, size_t) -> *mut c_char,
            (path, to, size), or null_mut()
        )
    })
}
