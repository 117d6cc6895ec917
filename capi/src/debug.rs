//! `_amdgpu_r_debug`: where a debugger looks for loaded code, as `r_debug` of `<link.h>` tells it of shared libraries.
//!
//! A debugger stops at `r_brk`, which is called before and after every change, and reads the list while `r_state` says that
//! it is consistent. An entry is there from its executable's freezing until the executable is destroyed.

use crate::entry::version;
use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `r_debug` of `<link.h>`.
#[derive(Debug)]
#[repr(C)]
pub struct RDebug {
    /// Version of the protocol.
    pub r_version: i32,
    /// First entry of the list.
    pub r_map: AtomicPtr<LinkMap>,
    /// Called when the list changes.
    pub r_brk: extern "C" fn(),
    /// 0: consistent, 1: an entry is being added, 2: one is being removed.
    pub r_state: AtomicI32,
    /// Unused.
    pub r_ldbase: AtomicPtr<c_void>,
}

/// The public part of `link_map` of `<link.h>`: a loaded code object.
#[derive(Debug)]
#[repr(C)]
pub struct LinkMap {
    /// What to add to an address of the file to get one in memory.
    l_addr: u64,
    /// Where the code object is to be read: a URI of scheme `file` or `memory`.
    l_name: *const c_char,
    /// The dynamic section: debuggers read it from the code object.
    l_ld: *const c_void,
    l_next: *mut LinkMap,
    l_prev: *mut LinkMap,
}

/// States of [`RDebug::r_state`].
mod state {
    pub const CONSISTENT: i32 = 0;
    pub const ADD: i32 = 1;
    pub const DELETE: i32 = 2;
}

/// Where a debugger stops. Not empty as the compiler sees it, so that no other function can have the same address.
#[inline(never)]
extern "C" fn loader_debug_state() {
    core::hint::black_box(list());
}

version!(_amdgpu_r_debug);

/// The list of loaded code objects.
#[allow(non_upper_case_globals, reason = "debuggers look for this name")]
#[unsafe(no_mangle)]
pub static _amdgpu_r_debug: RDebug = RDebug {
    r_version: 11,
    r_map: AtomicPtr::new(core::ptr::null_mut()),
    r_brk: loader_debug_state,
    r_state: AtomicI32::new(state::CONSISTENT),
    r_ldbase: AtomicPtr::new(core::ptr::null_mut()),
};

/// The list, for everyone else: a reference to the symbol from another object of this crate would name its version, which
/// programs that link the crate statically do not have.
#[inline(never)]
pub fn list() -> &'static RDebug {
    core::hint::black_box(&_amdgpu_r_debug)
}

/// Held while the list changes.
static CHANGING: Mutex<()> = Mutex::new(());

/// Keeps the list from changing while the process forks.
pub fn lock() -> MutexGuard<'static, ()> {
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the list, and has a debugger stop before and after.
fn change(kind: i32, change: impl FnOnce()) {
    let debug = list();
    debug.r_state.store(kind, Ordering::SeqCst);
    (debug.r_brk)();
    change();
    debug.r_state.store(state::CONSISTENT, Ordering::SeqCst);
    (debug.r_brk)();
}

/// A code object that the list names. Dropping it takes it out.
#[derive(Debug)]
pub struct Listed(*mut LinkMap);

// SAFETY: what it points to is its own, and changed under the lock alone.
unsafe impl Send for Listed {}

impl Listed {
    /// Adds a code object at the end of the list.
    pub fn new(bias: u64, uri: String) -> Self {
        let name = CString::new(uri).unwrap_or_default();
        let entry = Box::into_raw(Box::new(LinkMap {
            l_addr: bias,
            l_name: name.into_raw(),
            l_ld: core::ptr::null(),
            l_next: core::ptr::null_mut(),
            l_prev: core::ptr::null_mut(),
        }));
        let _changing = lock();
        change(state::ADD, || {
            let first = list().r_map.load(Ordering::Relaxed);
            if first.is_null() {
                list().r_map.store(entry, Ordering::Release);
                return;
            }
            // SAFETY: entries of the list stay valid while it is locked, and nothing else writes to them.
            unsafe {
                let mut last = first;
                while !(*last).l_next.is_null() {
                    last = (*last).l_next;
                }
                (*entry).l_prev = last;
                (*last).l_next = entry;
            }
        });
        Self(entry)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let changing = lock();
        // SAFETY: this entry and its neighbours stay valid while the list is locked, and nothing else writes to them.
        change(state::DELETE, || unsafe {
            let LinkMap { l_next, l_prev, .. } = *self.0;
            match l_prev.is_null() {
                true => list().r_map.store(l_next, Ordering::Release),
                false => (*l_prev).l_next = l_next,
            }
            if !l_next.is_null() {
                (*l_next).l_prev = l_prev;
            }
        });
        drop(changing);
        // SAFETY: made by `new` from a box and a string, and in the list no more.
        unsafe {
            let entry = Box::from_raw(self.0);
            drop(CString::from_raw(entry.l_name.cast_mut()));
        }
    }
}

/// A child process has none of its parent's code: the entries stay its parent's. With the lock of [`lock`].
pub fn forget_all() {
    list().r_map.store(core::ptr::null_mut(), Ordering::Release);
}
