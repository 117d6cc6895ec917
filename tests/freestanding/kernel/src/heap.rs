//! The kernel's heap: linked_list_allocator behind a spin lock.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use linked_list_allocator::Heap;
use spin::Mutex;

struct KernelHeap(Mutex<Heap>);

#[global_allocator]
static HEAP: KernelHeap = KernelHeap(Mutex::new(Heap::empty()));

// SAFETY: the heap gives memory of its range that fits the layout and that it has not given to anybody else; the
// lock makes its calls one at a time.
unsafe impl GlobalAlloc for KernelHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.0.lock().allocate_first_fit(layout);
        block.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller gives back a block of ours with its layout.
            unsafe { self.0.lock().deallocate(block, layout) };
        }
    }
}

/// Gives the heap its memory. Once, before the first allocation.
///
/// # Safety
/// The range is RAM that nobody else uses.
pub(crate) unsafe fn start(ram: crate::arch::Ram) {
    let bottom = ptr::with_exposed_provenance_mut(ram.start);
    // SAFETY: the caller's word.
    unsafe { HEAP.0.lock().init(bottom, ram.size) };
}
