//! Opening files.

use super::{Found, find, find_at};
use crate::files::{self, Open};
use crate::machine::{inside, machine};
use crate::next::{answer, fail, next};
use crate::tree::Node;
use core::ffi::{CStr, c_char, c_int};
use libc::{FILE, mode_t};
use rukh_core::kfd::KfdPort;

/// Opens what is ours.
fn open_ours((path, node): (String, Result<Node, c_int>), flags: c_int) -> Result<c_int, c_int> {
    let node = node?;
    let name = path.rsplit('/').next().unwrap_or(&path);
    if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 {
        return Err(libc::EEXIST);
    }
    match node {
        Node::Directory(_) if flags & libc::O_ACCMODE != libc::O_RDONLY => Err(libc::EISDIR),
        Node::Directory(_) => files::add(name, path.as_bytes(), flags, Open::Directory),
        _ if flags & libc::O_DIRECTORY != 0 => Err(libc::ENOTDIR),
        Node::File(_) if flags & libc::O_ACCMODE != libc::O_RDONLY => Err(libc::EACCES),
        Node::File(text) => {
            let fd = files::memory(name, text.as_bytes(), flags)?;
            Ok(rustix::fd::IntoRawFd::into_raw_fd(fd))
        }
        Node::Device(..) => {
            let face = &machine()?.face;
            let file = face.open(&path).map_err(|error| error.errno())?;
            files::add(name, &[], flags, Open::Face(file)).inspect_err(|_| face.close(file))
        }
    }
}

/// Opens what is ours, or has `next` open it.
fn open_found(found: Found, flags: c_int, next: impl FnOnce() -> c_int) -> c_int {
    match found {
        Some(found) => answer(inside(|| open_ours(found, flags))),
        None => {
            let fd = next();
            files::taken(fd);
            fd
        }
    }
}

macro_rules! opens {
    ($($name:ident $text:literal;)*) => { $(
        /// Opens a file.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: by the caller's promise.
            open_found(unsafe { find(path) }, flags, || {
                next!($text as fn(*const c_char, c_int; ...) -> c_int, (path, flags, mode), or -1)
            })
        }
    )* };
}
opens! { open c"open"; open64 c"open64"; }

macro_rules! checked_opens {
    ($($name:ident $text:literal;)*) => { $(
        /// Opens a file, without a mode.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: by the caller's promise.
            open_found(unsafe { find(path) }, flags, || {
                next!($text as fn(*const c_char, c_int) -> c_int, (path, flags), or -1)
            })
        }
    )* };
}
checked_opens! { __open_2 c"__open_2"; __open64_2 c"__open64_2"; }

macro_rules! opens_at {
    ($($name:ident $text:literal;)*) => { $(
        /// Opens a file below a directory.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            directory: c_int,
            path: *const c_char,
            flags: c_int,
            mode: mode_t,
        ) -> c_int {
            // SAFETY: by the caller's promise.
            open_found(unsafe { find_at(directory, path) }, flags, || {
                next!(
                    $text as fn(c_int, *const c_char, c_int; ...) -> c_int,
                    (directory, path, flags, mode), or -1
                )
            })
        }
    )* };
}
opens_at! { openat c"openat"; openat64 c"openat64"; }

macro_rules! checked_opens_at {
    ($($name:ident $text:literal;)*) => { $(
        /// Opens a file below a directory, without a mode.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: by the caller's promise.
            open_found(unsafe { find_at(directory, path) }, flags, || {
                next!(
                    $text as fn(c_int, *const c_char, c_int) -> c_int, (directory, path, flags), or -1
                )
            })
        }
    )* };
}
checked_opens_at! { __openat_2 c"__openat_2"; __openat64_2 c"__openat64_2"; }

/// The flags that a mode of `fopen` stands for.
///
/// # Safety
/// The mode is null or ends with a zero byte.
unsafe fn stream_flags(mode: *const c_char) -> c_int {
    if mode.is_null() {
        return libc::O_RDONLY;
    }
    // SAFETY: by the caller's promise.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let access = match mode {
        [b'r', rest @ ..] if rest.contains(&b'+') => libc::O_RDWR,
        [b'r', ..] => libc::O_RDONLY,
        _ => libc::O_WRONLY,
    };
    let cloexec = if mode.contains(&b'e') {
        libc::O_CLOEXEC
    } else {
        0
    };
    access | cloexec
}

macro_rules! streams {
    ($($name:ident $text:literal;)*) => { $(
        /// Opens a stream.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut FILE {
            // SAFETY: by the caller's promise.
            match unsafe { find(path) } {
                Some(found) => {
                    // SAFETY: by the caller's promise.
                    let flags = unsafe { stream_flags(mode) };
                    match inside(|| open_ours(found, flags)) {
                        // SAFETY: the descriptor is open and the stream's from now on.
                        Ok(fd) => unsafe { libc::fdopen(fd, mode) },
                        Err(errno) => fail(errno, core::ptr::null_mut()),
                    }
                }
                None => next!(
                    $text as fn(*const c_char, *const c_char) -> *mut FILE, (path, mode),
                    or core::ptr::null_mut()
                ),
            }
        }
    )* };
}
streams! { fopen c"fopen"; fopen64 c"fopen64"; }
