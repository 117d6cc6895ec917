//! The only functions that touch simulated memory.
//!
//! The host's threads, other devices and other processes use the same bytes at any time, so
//! nothing here makes a reference to them or lets the compiler assume that they stay the same.
//! Aligned scalars are relaxed atomics: one access, never torn. What is not aligned is done
//! byte by byte where the host has nothing better; no device promises more. Copies make no promise
//! on order between their parts.
//!
//! Every function takes a host address from a [`Span`](super::Span) that was checked for the access.

use core::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    Ordering::{self, Acquire, Relaxed, Release, SeqCst},
    fence,
};

/// Orders of single accesses: none, as hardware has it; fences make them. The thread sanitizer does not follow fences, so
/// that under it (`--cfg rukh_sanitizer`) accesses carry the order themselves.
const LOAD: Ordering = if cfg!(rukh_sanitizer) {
    Acquire
} else {
    Relaxed
};
/// As [`LOAD`].
const STORE: Ordering = if cfg!(rukh_sanitizer) {
    Release
} else {
    Relaxed
};

/// How far a fence reaches. Hosts know one kind; the difference is kept for devices that will.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceKind {
    /// Later accesses stay after it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both, and stores before it are visible before loads after it.
    Full,
}

/// Orders accesses of the calling thread.
#[inline]
pub fn fence_memory(kind: FenceKind) {
    match kind {
        FenceKind::Acquire => fence(core::sync::atomic::Ordering::Acquire),
        FenceKind::Release => fence(core::sync::atomic::Ordering::Release),
        FenceKind::Full => fence(SeqCst),
    }
}

macro_rules! scalar {
    ($load:ident, $store:ident, $ty:ty, $atomic:ty) => {
        /// Loads a little-endian value; any alignment.
        ///
        /// # Safety
        /// `host` and the bytes of the value after it are mapped and readable.
        #[inline(always)]
        pub unsafe fn $load(host: *const u8) -> $ty {
            if host.addr() % align_of::<$ty>() == 0 {
                // SAFETY: mapped as the caller promises, aligned as tested; concurrent
                // accesses are what atomics are for.
                return unsafe { <$atomic>::from_ptr(host.cast_mut().cast()) }.load(LOAD);
            }
            let mut bytes = [0u8; size_of::<$ty>()];
            for (i, byte) in bytes.iter_mut().enumerate() {
                // SAFETY: one of the value's bytes.
                *byte = unsafe { AtomicU8::from_ptr(host.cast_mut().add(i)) }.load(LOAD);
            }
            <$ty>::from_le_bytes(bytes)
        }

        /// Stores a little-endian value; any alignment.
        ///
        /// # Safety
        /// `host` and the bytes of the value after it are mapped and writable.
        #[inline(always)]
        pub unsafe fn $store(host: *mut u8, value: $ty) {
            if host.addr() % align_of::<$ty>() == 0 {
                // SAFETY: as for the load.
                unsafe { <$atomic>::from_ptr(host.cast()) }.store(value, STORE);
                return;
            }
            for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
                // SAFETY: one of the value's bytes.
                unsafe { AtomicU8::from_ptr(host.add(i)) }.store(byte, STORE);
            }
        }
    };
}

scalar!(load_u16, store_u16, u16, AtomicU16);
scalar!(load_u32, store_u32, u32, AtomicU32);
scalar!(load_u64, store_u64, u64, AtomicU64);

/// Loads a byte.
///
/// # Safety
/// `host` is mapped and readable.
#[inline(always)]
pub unsafe fn load_u8(host: *const u8) -> u8 {
    // SAFETY: mapped as the caller promises; concurrent accesses are what atomics are for.
    unsafe { AtomicU8::from_ptr(host.cast_mut()) }.load(LOAD)
}

/// Stores a byte.
///
/// # Safety
/// `host` is mapped and writable.
#[inline(always)]
pub unsafe fn store_u8(host: *mut u8, value: u8) {
    // SAFETY: as for the load.
    unsafe { AtomicU8::from_ptr(host) }.store(value, STORE);
}

/// Loads four dwords, lowest address first; any alignment.
///
/// # Safety
/// 16 bytes from `host` are mapped and readable.
#[inline(always)]
pub unsafe fn load_u128(host: *const u8) -> [u32; 4] {
    let mut value = [0; 4];
    // SAFETY: mapped as the caller promises; `value` is ours.
    unsafe { copy_in(host, value.as_mut_ptr().cast(), 16) };
    value
}

/// Stores four dwords, lowest address first; any alignment.
///
/// # Safety
/// 16 bytes from `host` are mapped and writable.
#[inline(always)]
pub unsafe fn store_u128(host: *mut u8, value: [u32; 4]) {
    // SAFETY: mapped as the caller promises; `value` is ours.
    unsafe { copy_out(value.as_ptr().cast(), host, 16) };
}

/// Copies simulated memory into a private buffer.
///
/// # Safety
/// `bytes` bytes are mapped and readable at `host`; as many are the caller's own to write at `to`.
#[inline]
pub unsafe fn copy_in(host: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { copy(host, to, bytes) }
}

/// Copies a private buffer into simulated memory.
///
/// # Safety
/// `bytes` bytes are the caller's own to read at `from`; as many are mapped and writable at `host`.
#[inline]
pub unsafe fn copy_out(from: *const u8, host: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { copy(from, host, bytes) }
}

/// Copies simulated memory to simulated memory; the ranges do not overlap, or `to` is below `from`.
///
/// # Safety
/// `bytes` bytes are mapped, readable at `from` and writable at `to`.
#[inline]
pub unsafe fn copy_across(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { copy(from, to, bytes) }
}

/// Ascending copy through registers. On x86-64 in assembly, which the compiler cannot see
/// through: to the language it is a foreign agent's access, races and all.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy(mut from: *const u8, mut to: *mut u8, mut bytes: usize) {
    use core::arch::asm;
    if bytes >= 4096 {
        // SAFETY: the caller's ranges; the direction flag is clear by the ABI.
        unsafe {
            asm!("rep movsb", inout("rsi") from => _, inout("rdi") to => _, inout("rcx") bytes => _,
                options(nostack, preserves_flags));
        }
        return;
    }
    // SAFETY: each block moves bytes that are left of the caller's ranges. Kernels are often compiled for
    // x86-64 without vector registers; they go on with the smaller blocks.
    unsafe {
        #[cfg(target_feature = "sse2")]
        while bytes >= 64 {
            asm!(
                "movups {a}, [{f}]", "movups {b}, [{f} + 16]",
                "movups {c}, [{f} + 32]", "movups {d}, [{f} + 48]",
                "movups [{t}], {a}", "movups [{t} + 16], {b}",
                "movups [{t} + 32], {c}", "movups [{t} + 48], {d}",
                f = in(reg) from, t = in(reg) to,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack, preserves_flags)
            );
            from = from.add(64);
            to = to.add(64);
            bytes -= 64;
        }
        #[cfg(target_feature = "sse2")]
        while bytes >= 16 {
            asm!("movups {a}, [{f}]", "movups [{t}], {a}", f = in(reg) from, t = in(reg) to,
                a = out(xmm_reg) _, options(nostack, preserves_flags));
            from = from.add(16);
            to = to.add(16);
            bytes -= 16;
        }
        #[cfg(not(target_feature = "sse2"))]
        while bytes >= 8 {
            asm!("mov {a}, [{f}]", "mov [{t}], {a}", f = in(reg) from, t = in(reg) to,
                a = out(reg) _, options(nostack, preserves_flags));
            from = from.add(8);
            to = to.add(8);
            bytes -= 8;
        }
        while bytes >= 4 {
            asm!("mov {a:e}, [{f}]", "mov [{t}], {a:e}", f = in(reg) from, t = in(reg) to,
                a = out(reg) _, options(nostack, preserves_flags));
            from = from.add(4);
            to = to.add(4);
            bytes -= 4;
        }
        while bytes > 0 {
            asm!("mov {a}, [{f}]", "mov [{t}], {a}", f = in(reg) from, t = in(reg) to,
                a = out(reg_byte) _, options(nostack, preserves_flags));
            from = from.add(1);
            to = to.add(1);
            bytes -= 1;
        }
    }
}

/// Copies 64 bytes between simulated memory and a private buffer, as [`copy_in`] does, without leaving the
/// instruction set that code around it is compiled for.
///
/// # Safety
/// 64 bytes are mapped and readable at `from`, and writable at `to`; the host has AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
pub unsafe fn copy_64_avx(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's ranges. The registers' upper halves are zeroed where the compiler does so for its
    // own use of them.
    unsafe {
        core::arch::asm!(
            "vmovdqu {a}, [{f}]", "vmovdqu {b}, [{f} + 32]",
            "vmovdqu [{t}], {a}", "vmovdqu [{t} + 32], {b}",
            f = in(reg) from, t = in(reg) to, a = out(ymm_reg) _, b = out(ymm_reg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// Ascending copy, in the widest atomic that both addresses allow.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy(mut from: *const u8, mut to: *mut u8, mut bytes: usize) {
    // SAFETY: each step moves bytes that are left of the caller's ranges.
    unsafe {
        if (from.addr() | to.addr()).is_multiple_of(4) {
            if (from.addr() | to.addr()).is_multiple_of(8) {
                while bytes >= 8 {
                    store_u64(to, load_u64(from));
                    from = from.add(8);
                    to = to.add(8);
                    bytes -= 8;
                }
            }
            while bytes >= 4 {
                store_u32(to, load_u32(from));
                from = from.add(4);
                to = to.add(4);
                bytes -= 4;
            }
        }
        while bytes > 0 {
            store_u8(to, load_u8(from));
            from = from.add(1);
            to = to.add(1);
            bytes -= 1;
        }
    }
}

/// Fills simulated memory with a byte.
///
/// # Safety
/// `bytes` bytes are mapped and writable at `host`.
pub unsafe fn fill(host: *mut u8, value: u8, bytes: usize) {
    let word = u64::from_ne_bytes([value; 8]);
    let mut at = 0;
    // SAFETY: every step stays inside the caller's range.
    unsafe {
        while at < bytes && !(host.addr() + at).is_multiple_of(8) {
            store_u8(host.add(at), value);
            at += 1;
        }
        while bytes - at >= 8 {
            store_u64(host.add(at), word);
            at += 8;
        }
        while at < bytes {
            store_u8(host.add(at), value);
            at += 1;
        }
    }
}

macro_rules! atomics {
    ($ty:ty, $atomic:ty, $rmw:ident, $add:ident, $swap:ident, $and:ident, $or:ident, $xor:ident, $cas:ident) => {
        /// Replaces the value by what `f` makes of it, in one atomic step; gives the old one.
        /// Sequentially consistent, as the other atomics here.
        ///
        /// # Safety
        /// The value at `host` is mapped, readable, writable and naturally aligned.
        #[inline]
        pub unsafe fn $rmw(host: *mut u8, mut f: impl FnMut($ty) -> $ty) -> $ty {
            // SAFETY: mapped and aligned as the caller promises.
            let cell = unsafe { <$atomic>::from_ptr(host.cast()) };
            let mut old = cell.load(Relaxed);
            loop {
                match cell.compare_exchange_weak(old, f(old), SeqCst, Relaxed) {
                    Ok(old) => return old,
                    Err(seen) => old = seen,
                }
            }
        }

        atomics!(@direct $ty, $atomic, $add, fetch_add, "Adds, wrapping; gives the old value.");
        atomics!(@direct $ty, $atomic, $swap, swap, "Exchanges; gives the old value.");
        atomics!(@direct $ty, $atomic, $and, fetch_and, "Ands; gives the old value.");
        atomics!(@direct $ty, $atomic, $or, fetch_or, "Ors; gives the old value.");
        atomics!(@direct $ty, $atomic, $xor, fetch_xor, "Exclusive-ors; gives the old value.");

        /// Stores `new` if the value is `expected`; gives the old value either way.
        ///
        /// # Safety
        /// The value at `host` is mapped, readable, writable and naturally aligned.
        #[inline]
        pub unsafe fn $cas(host: *mut u8, expected: $ty, new: $ty) -> $ty {
            // SAFETY: mapped and aligned as the caller promises.
            let cell = unsafe { <$atomic>::from_ptr(host.cast()) };
            match cell.compare_exchange(expected, new, SeqCst, SeqCst) {
                Ok(old) | Err(old) => old,
            }
        }
    };
    (@direct $ty:ty, $atomic:ty, $name:ident, $method:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// The value at `host` is mapped, readable, writable and naturally aligned.
        #[inline]
        pub unsafe fn $name(host: *mut u8, value: $ty) -> $ty {
            // SAFETY: mapped and aligned as the caller promises.
            unsafe { <$atomic>::from_ptr(host.cast()) }.$method(value, SeqCst)
        }
    };
}

atomics!(
    u32, AtomicU32, rmw_u32, add_u32, swap_u32, and_u32, or_u32, xor_u32, cas_u32
);
atomics!(
    u64, AtomicU64, rmw_u64, add_u64, swap_u64, and_u64, or_u64, xor_u64, cas_u64
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_little_endian_at_any_alignment() {
        let mut buffer = [0u64; 4];
        let host = buffer.as_mut_ptr().cast::<u8>();
        for offset in 0..16 {
            // SAFETY: 8 bytes at offsets up to 16 lie inside the 32 bytes.
            unsafe {
                let at = host.add(offset);
                store_u64(at, 0x0807_0605_0403_0201);
                assert_eq!(load_u64(at), 0x0807_0605_0403_0201);
                assert_eq!(load_u32(at), 0x0403_0201);
                assert_eq!(load_u16(at.add(1)), 0x0302);
                assert_eq!(load_u8(at.add(7)), 8);
            }
        }
    }

    #[test]
    fn copies_of_every_size_copy_exactly_that() {
        let from: alloc::vec::Vec<u8> = (0..6000u32).map(|i| (i * 7) as u8).collect();
        for bytes in (0..200).chain([4095, 4096, 5000]) {
            let mut to = alloc::vec![0xeeu8; 6000];
            // SAFETY: both vectors hold 6000 bytes.
            unsafe { copy_in(from.as_ptr().add(3), to.as_mut_ptr().add(1), bytes) };
            assert_eq!(to[0], 0xee);
            assert_eq!(&to[1..1 + bytes], &from[3..3 + bytes]);
            assert!(to[1 + bytes..].iter().all(|b| *b == 0xee));
        }
    }
}
