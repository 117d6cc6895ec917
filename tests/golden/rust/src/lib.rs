//! Kernels in Rust for AMD GPUs. What an item computes is in [`items`], which the test compiles for the host too.
//!
//! `build.sh` beside this makes the code objects.
#![no_std]
#![feature(abi_gpu_kernel, stdarch_amdgpu, core_intrinsics)]
#![allow(internal_features)]

mod items;

use core::arch::amdgpu::{workgroup_id_x, workitem_id_x};

/// Items of a work-group.
const GROUP: usize = 64;

/// The item's index in a grid of one dimension and groups of [`GROUP`].
fn global_id() -> usize {
    workgroup_id_x() as usize * GROUP + workitem_id_x() as usize
}

/// Orders each row of `items::ROW` words and gives its digest.
///
/// # Safety
/// `rows` points to `count` rows that nothing else uses, `digests` to as many words.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn digest_rows(
    rows: *mut [u32; items::ROW],
    digests: *mut u64,
    count: u32,
) {
    let at = global_id();
    if at < count as usize {
        // SAFETY: the caller gives `count` of both, and each item takes its own.
        unsafe { *digests.add(at) = items::digest(&mut *rows.add(at)) };
    }
}

/// Runs the program of each item: `items::LENGTH` bytes that are instructions of a stack machine.
///
/// # Safety
/// `programs` points to `count` programs, `results` to as many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn run_programs(
    programs: *const [u8; items::LENGTH],
    results: *mut f32,
    count: u32,
) {
    let at = global_id();
    if at < count as usize {
        // SAFETY: as above.
        unsafe { *results.add(at) = items::interpret(&*programs.add(at)) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::intrinsics::abort()
}
