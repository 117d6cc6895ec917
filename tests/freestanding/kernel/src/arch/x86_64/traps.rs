//! Processor exceptions: reported, and the end. A kernel that hangs silently proves nothing. They have a stack of their
//! own, since the other one may be what has ended.

use core::arch::asm;
use core::ptr;

/// A gate of the interrupt descriptor table (Intel SDM volume 3, 6.14.1).
#[repr(C)]
#[derive(Clone, Copy)]
struct Gate {
    offset_low: u16,
    selector: u16,
    attributes: u16,
    offset_middle: u16,
    offset_high: u32,
    reserved: u32,
}

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

const VECTORS: usize = 32;
const CODE: u16 = 8;
/// Present, ring 0, 64-bit interrupt gate, on the first stack that the task segment lists.
const INTERRUPT_GATE: u16 = 0x8e01;
const PAGE_FAULT: u64 = 14;

static mut TABLE: [Gate; VECTORS] = [Gate {
    offset_low: 0,
    selector: 0,
    attributes: 0,
    offset_middle: 0,
    offset_high: 0,
    reserved: 0,
}; VECTORS];

/// The task segment (Intel SDM volume 3, 8.7): here, the stack for exceptions.
#[repr(C, packed(4))]
struct TaskSegment {
    reserved: u32,
    privilege_stacks: [u64; 3],
    reserved_2: u64,
    interrupt_stacks: [u64; 7],
    reserved_3: [u16; 5],
    io_map: u16,
}

static mut TASK: TaskSegment = TaskSegment {
    reserved: 0,
    privilege_stacks: [0; 3],
    reserved_2: 0,
    interrupt_stacks: [0; 7],
    reserved_3: [0; 5],
    // Behind its end: there is none.
    io_map: size_of::<TaskSegment>() as u16,
};
/// Where its descriptor is in the table of `start.s`, two entries.
const TASK_ENTRY: usize = 2;

unsafe extern "C" {
    static trap_table: [u64; VECTORS];
    static mut boot_gdt: [u64; TASK_ENTRY + 2];
    static trap_stack_top: u8;
}

/// Has exceptions use their own stack.
fn start_task() {
    let base = (&raw const TASK).addr() as u64;
    let limit = size_of::<TaskSegment>() as u64 - 1;
    // Present, an available 64-bit task segment.
    let low = limit | (base & 0xff_ffff) << 16 | 0x89 << 40 | (base >> 24 & 0xff) << 56;
    let top = (&raw const trap_stack_top).addr() as u64;
    // SAFETY: one processor; the table's entries and the segment are there for this.
    unsafe {
        TASK.interrupt_stacks[0] = top;
        boot_gdt[TASK_ENTRY] = low;
        boot_gdt[TASK_ENTRY + 1] = base >> 32;
        asm!("ltr {:x}", in(reg) (TASK_ENTRY * 8) as u16, options(nostack));
    }
}

/// Has exceptions come to [`trap`].
pub(super) fn start() {
    start_task();
    for vector in 0..VECTORS {
        // SAFETY: a constant table of `start.s` with an entry for each vector.
        let stub = unsafe { trap_table[vector] };
        let gate = Gate {
            offset_low: stub as u16,
            selector: CODE,
            attributes: INTERRUPT_GATE,
            offset_middle: (stub >> 16) as u16,
            offset_high: (stub >> 32) as u32,
            reserved: 0,
        };
        // SAFETY: one processor, before the table is in use.
        unsafe { TABLE[vector] = gate };
    }
    let pointer = Pointer {
        limit: (VECTORS * size_of::<Gate>() - 1) as u16,
        base: (&raw const TABLE).addr() as u64,
    };
    // SAFETY: the table is static, and its gates lead to stubs that end in `trap`.
    unsafe { asm!("lidt [{}]", in(reg) &raw const pointer, options(readonly, nostack)) };
}

/// What the stubs and the processor push.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Frame {
    vector: u64,
    error: u64,
    rip: u64,
}

/// An exception of the processor.
pub(super) extern "C" fn trap(frame: *const Frame) -> ! {
    // SAFETY: the stubs pass the stack's top, where they and the processor have just pushed this.
    let Frame { vector, error, rip } = unsafe { ptr::read(frame) };
    let address: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack)) };
    let address = if vector == PAGE_FAULT { address } else { 0 };
    crate::log::trap(vector, error, rip, address)
}
