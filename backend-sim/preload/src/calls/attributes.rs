//! Extended attributes, which files of ours have none of: `ls` asks for them.

use super::find;
use crate::next::{fail, next};
use core::ffi::{c_char, c_void};
use libc::{size_t, ssize_t};

macro_rules! gets {
    ($($name:ident $text:literal;)*) => { $(
        /// Reads an extended attribute.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            path: *const c_char,
            name: *const c_char,
            to: *mut c_void,
            size: size_t,
        ) -> ssize_t {
            // SAFETY: by the caller's promise.
            match unsafe { find(path) } {
                Some((_, node)) => fail(node.err().unwrap_or(libc::EOPNOTSUPP), -1),
                None => next!(
                    $text as fn(*const c_char, *const c_char, *mut c_void, size_t) -> ssize_t,
                    (path, name, to, size), or -1
                ),
            }
        }
    )* };
}
gets! { getxattr c"getxattr"; lgetxattr c"lgetxattr"; }

macro_rules! lists {
    ($($name:ident $text:literal;)*) => { $(
        /// Lists extended attributes.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, to: *mut c_char, size: size_t) -> ssize_t {
            // SAFETY: by the caller's promise.
            match unsafe { find(path) } {
                Some((_, node)) => fail(node.err().unwrap_or(libc::EOPNOTSUPP), -1),
                None => next!(
                    $text as fn(*const c_char, *mut c_char, size_t) -> ssize_t, (path, to, size), or -1
                ),
            }
        }
    )* };
}
lists! { listxattr c"listxattr"; llistxattr c"llistxattr"; }
