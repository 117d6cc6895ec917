//! The bare necessities: an entry point, two system calls, the memory functions that the compiler
//! calls, and what happens on a panic.

use core::arch::{asm, global_asm};

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".global _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    main = sym main,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".global _start",
    "_start:",
    "mov x29, xzr",
    "bl {main}",
    "brk 0",
    main = sym main,
);

extern "C" fn main() -> ! {
    exit(crate::run())
}

/// Leaves the program.
fn exit(status: i32) -> ! {
    // SAFETY: exit_group takes a number and does not return.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", in("rax") 231, in("rdi") status, options(noreturn));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") 94, in("x0") status, options(noreturn));
    }
}

/// Writes to standard output; what cannot be written is lost.
pub(crate) fn print(text: &str) {
    // SAFETY: write reads the text's bytes and nothing else.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") 1usize => _, in("rdi") 1, in("rsi") text.as_ptr(),
            in("rdx") text.len(), out("rcx") _, out("r11") _, options(nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") 64, inlateout("x0") 1usize => _, in("x1") text.as_ptr(),
            in("x2") text.len(), options(nostack));
    }
}

/// Writes a number.
pub(crate) fn print_number(mut number: usize) {
    let mut digits = [b'0'; 20];
    let mut length = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        length += 1;
        if number == 0 {
            break;
        }
    }
    let start = digits.len().saturating_sub(length);
    print(
        digits
            .get(start..)
            .and_then(|d| str::from_utf8(d).ok())
            .unwrap_or("?"),
    );
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    print("panic\n");
    exit(101)
}

/// The C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    for i in 0..count {
        // SAFETY: the caller gives `count` bytes at both; volatile keeps the loop from becoming a
        // call of this very function.
        unsafe { to.add(i).write_volatile(from.add(i).read_volatile()) };
    }
    to
}

/// The C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if to.cast_const() <= from {
        // SAFETY: copying upwards is right when the destination is not above the source.
        return unsafe { memcpy(to, from, count) };
    }
    for i in (0..count).rev() {
        // SAFETY: as in memcpy.
        unsafe { to.add(i).write_volatile(from.add(i).read_volatile()) };
    }
    to
}

/// The C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, count: usize) -> *mut u8 {
    for i in 0..count {
        // SAFETY: the caller gives `count` bytes; volatile as in memcpy.
        unsafe { to.add(i).write_volatile(byte as u8) };
    }
    to
}

/// The C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for i in 0..count {
        // SAFETY: the caller gives `count` bytes at both; volatile as in memcpy.
        let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

/// The C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, count) }
}

/// The prebuilt core library unwinds in other programs and names this symbol. Panics abort here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
