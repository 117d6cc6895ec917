//! `_amdgpu_r_debug`: where a debugger looks for loaded code, as `r_debug` tells it of shared
//! libraries. It lists nothing yet; the break function is there to be stopped at.

use crate::entry::version;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicPtr};

/// `r_debug` of `<link.h>`.
#[derive(Debug)]
#[repr(C)]
pub struct RDebug {
    /// Version of the protocol.
    pub r_version: i32,
    /// First entry of the list.
    pub r_map: AtomicPtr<c_void>,
    /// Called when the list changes.
    pub r_brk: extern "C" fn(),
    /// 0: consistent, 1: an entry is being added, 2: one is being removed.
    pub r_state: AtomicI32,
    /// Unused.
    pub r_ldbase: AtomicPtr<c_void>,
}

/// Where a debugger stops.
extern "C" fn loader_debug_state() {}

version!(_amdgpu_r_debug);

/// The list of loaded code objects.
#[allow(non_upper_case_globals, reason = "debuggers look for this name")]
#[unsafe(no_mangle)]
pub static _amdgpu_r_debug: RDebug = RDebug {
    r_version: 11,
    r_map: AtomicPtr::new(core::ptr::null_mut()),
    r_brk: loader_debug_state,
    r_state: AtomicI32::new(0),
    r_ldbase: AtomicPtr::new(core::ptr::null_mut()),
};
