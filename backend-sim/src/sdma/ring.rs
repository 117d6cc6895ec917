//! A ring of dwords in client memory, and the pointers beside it.

use crate::mem::raw;
use core::sync::atomic::{Ordering, fence};

/// A ring. It stays mapped as long as its queue exists.
pub(crate) struct Ring {
    /// Host address of the first dword.
    pub host: *mut u8,
    /// Bytes of the ring: a power of two, at least 4.
    pub bytes: u64,
    /// Host address of the 64-bit write pointer.
    pub write_pointer: *mut u8,
    /// Host address of the 64-bit read pointer.
    pub read_pointer: *mut u8,
}

// SAFETY: the addresses are of memory that clients and devices share; every use goes through `raw`, which makes no
// assumption on who else uses it.
unsafe impl Send for Ring {}

impl Ring {
    /// Reads dwords that begin at a byte offset of the endless ring.
    pub(crate) fn read(&self, at: u64, to: &mut [u32]) {
        for (index, dword) in (0u64..).zip(to) {
            *dword = self.dword(at + index * 4);
        }
    }

    /// Reads one.
    pub(crate) fn dword(&self, at: u64) -> u32 {
        let offset = at & (self.bytes - 1) & !3;
        // SAFETY: the ring is mapped, and the dword inside it.
        unsafe { raw::load_u32(self.host.wrapping_add(offset as usize)) }
    }

    pub(crate) fn load_write_pointer(&self) -> u64 {
        // SAFETY: the pointer is mapped.
        let pointer = unsafe { raw::load_u64(self.write_pointer) };
        // The packets were stored before it.
        fence(Ordering::Acquire);
        pointer
    }

    pub(crate) fn load_read_pointer(&self) -> u64 {
        // SAFETY: the pointer is mapped.
        unsafe { raw::load_u64(self.read_pointer) }
    }

    pub(crate) fn store_read_pointer(&self, pointer: u64) {
        fence(Ordering::Release);
        // SAFETY: the pointer is mapped.
        unsafe { raw::store_u64(self.read_pointer, pointer) };
    }

    /// Stores the 32 low bits alone, for queues whose read pointer is that wide.
    pub(crate) fn store_read_pointer_32(&self, pointer: u32) {
        fence(Ordering::Release);
        // SAFETY: the pointer is mapped.
        unsafe { raw::store_u32(self.read_pointer, pointer) };
    }
}
