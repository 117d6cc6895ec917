// From QEMU's bare-metal entry (EL1, MMU off) to Rust with the identity map, caches and float units on.
// Arm ARM DDI 0487, D8 (translation tables), D19 (registers).

.section .start, "ax", %progbits
.global start
start:
    msr daifset, #15
    ldr x1, =boot_stack_top
    mov sp, x1

    // Statics that start as zero.
    ldr x1, =kernel_bss
    ldr x2, =kernel_bss_end
2:  cmp x1, x2
    b.hs 3f
    stp xzr, xzr, [x1], #16
    b 2b
3:
    // 0-1 GiB: devices. 1-2 GiB: RAM, in blocks of 2 MiB, each with its rights.
    ldr x1, =page_map_1
    ldr x2, =0x0060000000000401     // block, device memory, access flag, never executable
    str x2, [x1]
    ldr x3, =page_map_2
    orr x2, x3, #3
    str x2, [x1, #8]
    ldr x4, =0x40000000
    ldr x5, =kernel_text
    ldr x6, =kernel_constants
    ldr x7, =kernel_data
    mov x8, #512
4:  ldr x2, =0x0060000000000705     // block, normal memory, shareable, access flag, never executable
    cmp x4, x5
    b.lo 6f
    cmp x4, x7
    b.hs 6f
    orr x2, x2, #0x80               // read-only
    cmp x4, x6
    b.hs 6f
    bic x2, x2, #0x20000000000000   // the kernel executes it
6:  orr x2, x2, x4
    str x2, [x3], #8
    add x4, x4, #0x200, lsl #12
    subs x8, x8, #1
    b.ne 4b

    // The block around the guard below the stack, in pages of 4 KiB: the same rights, and no guard.
    ldr x5, =stack_guard
    bic x6, x5, #0x1fffff
    ldr x7, =page_map_3
    orr x2, x7, #3
    ldr x4, =0x40000000
    sub x8, x6, x4
    lsr x8, x8, #18                 // 8 bytes for each 2 MiB
    ldr x3, =page_map_2
    str x2, [x3, x8]
    mov x8, #512
7:  ldr x2, =0x0060000000000707     // page, else as above
    orr x2, x2, x6
    cmp x6, x5
    csel x2, xzr, x2, eq
    str x2, [x7], #8
    add x6, x6, #0x1000
    subs x8, x8, #1
    b.ne 7b

    ldr x2, =0xff00                 // attribute 0: device nGnRnE; 1: normal, write-back
    msr mair_el1, x2
    // 39-bit addresses, 4 KiB granule, walks cached and shareable, upper half unused, 36-bit physical.
    ldr x2, =0x100803519
    msr tcr_el1, x2
    msr ttbr0_el1, x1
    ldr x2, =trap_vectors
    msr vbar_el1, x2
    mov x2, #(3 << 20)              // float and vector instructions
    msr cpacr_el1, x2
    dsb sy
    tlbi vmalle1
    dsb sy
    isb
    mrs x2, sctlr_el1
    ldr x3, =0x1005                 // MMU, data cache, instruction cache
    orr x2, x2, x3
    bic x2, x2, #2                  // no alignment checks
    msr sctlr_el1, x2
    isb
    mov x29, xzr
    mov x30, xzr
    bl {main}
    brk #0
.ltorg

.balign 2048
trap_vectors:
.rept 16
    .balign 128
    ldr x3, =trap_stack_top         // the other one may have overflowed
    mov sp, x3
    mrs x0, esr_el1
    mrs x1, elr_el1
    mrs x2, far_el1
    b {trap}
.endr
.ltorg

.section .bss
.balign 4096
page_map_1: .skip 4096
page_map_2: .skip 4096
page_map_3: .skip 4096
.global stack_guard
stack_guard: .skip 4096             // nothing is mapped here: growing past its end, the stack meets a fault
boot_stack: .skip 512 * 1024
boot_stack_top:
trap_stack: .skip 16 * 1024
trap_stack_top:
