//! Placing memory: `mbind`, which rustix does not have.

use core::arch::asm;
use core::ptr::NonNull;

/// `MPOL_PREFERRED`: from this node if it has any.
const PREFERRED: usize = 1;
/// `MPOL_BIND`: from this node alone.
const BIND: usize = 2;

/// Nodes that the mask has bits for, as many as a kernel can have.
const NODES: u32 = 1024;

#[cfg(target_arch = "x86_64")]
const MBIND: usize = 237;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const MBIND: usize = 235;

/// Has pages of a range that are not there yet come from a node; gives the errno.
///
/// # Safety
/// The range is mapped, and the caller's.
pub(super) unsafe fn place(
    address: NonNull<u8>,
    size: usize,
    node: u32,
    strict: bool,
) -> Result<(), i32> {
    if node >= NODES {
        return Err(22);
    }
    let mut mask = [0u64; NODES as usize / 64];
    mask[node as usize / 64] = 1 << (node % 64);
    let arguments = [
        address.as_ptr().expose_provenance(),
        size,
        if strict { BIND } else { PREFERRED },
        mask.as_ptr().expose_provenance(),
        // The kernel takes one bit less than it is told.
        NODES as usize + 1,
        0,
    ];
    // SAFETY: mbind reads as many bits of the mask, which lives across the call, and changes where pages will come from,
    // not what is in those that are there.
    let answer = unsafe { system_call(MBIND, arguments) };
    if answer < 0 {
        Err(-answer as i32)
    } else {
        Ok(())
    }
}

/// # Safety
/// What the system call asks for.
#[cfg(target_arch = "x86_64")]
unsafe fn system_call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: by the caller's promise; the kernel keeps all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    answer
}

/// # Safety
/// What the system call asks for.
#[cfg(target_arch = "aarch64")]
unsafe fn system_call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: by the caller's promise; the kernel keeps all registers but x0.
    unsafe {
        asm!(
            "svc 0",
            inlateout("x0") a as isize => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, in("x8") number,
            options(nostack)
        );
    }
    answer
}

/// # Safety
/// What the system call asks for.
#[cfg(target_arch = "riscv64")]
unsafe fn system_call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: by the caller's promise; the kernel keeps all registers but a0.
    unsafe {
        asm!(
            "ecall",
            inlateout("a0") a as isize => answer,
            in("a1") b, in("a2") c, in("a3") d, in("a4") e, in("a5") f, in("a7") number,
            options(nostack)
        );
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    #[test]
    fn the_first_node_gives_memory_and_one_that_is_not_there_refuses() {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: not fixed.
        let raw =
            unsafe { mmap_anonymous(core::ptr::null_mut(), 8192, protection, MapFlags::PRIVATE) };
        let page = NonNull::new(raw.unwrap().cast::<u8>()).unwrap();
        for strict in [false, true] {
            // SAFETY: mapped above.
            let answer = unsafe { place(page, 8192, 0, strict) };
            // A kernel without NUMA, or a container that forbids it, says so.
            assert!(matches!(answer, Ok(()) | Err(1 | 38)), "{answer:?}");
            // SAFETY: as above.
            let answer = unsafe { place(page, 8192, 1000, strict) };
            assert!(matches!(answer, Err(1 | 22 | 38)), "{answer:?}");
        }
        // SAFETY: as above; the range is this test's.
        assert_eq!(unsafe { place(page, 8192, NODES, true) }, Err(22));
        // SAFETY: still mapped, whatever was asked of it, and not used any more.
        unsafe {
            page.as_ptr().write(1);
            munmap(page.as_ptr().cast(), 8192).unwrap();
        }
    }
}
