//! How much stack a step uses: the stack below is painted before, and looked at after.

use core::arch::asm;

/// Bytes that are painted: more than any step may use.
const PAINTED: usize = 32 << 10;
/// Bytes next to the stack pointer that are left alone, for this file's own calls.
const OWN: usize = 256;
const PAINT: u64 = 0xa5a5_5a5a_a5a5_5a5a;

/// What a step came to, and the bytes of stack below the caller that it used at most.
#[inline(never)]
pub(crate) fn measure(step: fn() -> Option<()>) -> (Option<()>, usize) {
    let top = (stack_pointer() & !15) - OWN;
    let words = PAINTED / 8;
    let bottom = core::ptr::with_exposed_provenance_mut::<u64>(top - PAINTED);
    for at in 0..words {
        // SAFETY: the stack has megabytes, nothing is below the stack pointer but what this function's
        // calls put there, and those have `OWN` bytes.
        unsafe { bottom.add(at).write_volatile(PAINT) };
    }
    let outcome = step();
    let clean = (0..words)
        // SAFETY: as above.
        .take_while(|&at| unsafe { bottom.add(at).read_volatile() } == PAINT)
        .count();
    (outcome, PAINTED - clean * 8 + OWN)
}

fn stack_pointer() -> usize {
    let value;
    // SAFETY: reads a register.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("mov {}, rsp", out(reg) value, options(nomem, nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("mov {}, sp", out(reg) value, options(nomem, nostack));
    }
    value
}
