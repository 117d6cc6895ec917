//! The definitions behind ours: the C library's, or another preload library's.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function that this library stands before. Looked up once.
pub(crate) struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// By its name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Its address; null if there is none.
    pub(crate) fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the next definition of a function, of this C type; answers ENOSYS without one.
macro_rules! next {
    ($name:literal as fn($($ty:ty),* $(; $dots:tt)?) -> $result:ty, ($($argument:expr),*), or $failed:expr) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new($name);
        let address = NEXT.address();
        if address.is_null() {
            $crate::next::fail(libc::ENOSYS, $failed)
        } else {
            // SAFETY: the symbol is the C library's function of this name, whose type this is.
            let function = unsafe {
                core::mem::transmute::<
                    *mut core::ffi::c_void,
                    unsafe extern "C" fn($($ty),* $(, $dots)?) -> $result,
                >(address)
            };
            // SAFETY: the arguments are those of our caller, who called the same function.
            unsafe { function($($argument),*) }
        }
    }};
}
pub(crate) use next;

/// Sets errno and answers `result`.
pub(crate) fn fail<T>(errno: c_int, result: T) -> T {
    // SAFETY: the C library's errno of this thread.
    unsafe { *libc::__errno_location() = errno };
    result
}

/// A result as C has it.
pub(crate) fn answer(result: Result<c_int, c_int>) -> c_int {
    result.unwrap_or_else(|errno| fail(errno, -1))
}
