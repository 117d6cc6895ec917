# From the PVH entry (32-bit protected mode, paging off, EBX = hvm_start_info) to Rust in long mode.
# Xen's public/arch-x86/hvm/start_info.h and docs/misc/pvh.pandoc; Intel SDM volume 3, 10.8.5.

.section .note.pvh, "a", @note
.balign 4
.long 4                         # length of the name
.long 8                         # length of the value
.long 18                        # XEN_ELFNOTE_PHYS32_ENTRY
.asciz "Xen"
.quad start

.section .start, "ax", @progbits
.code32
.global start
start:
    cli
    cld
    mov esp, offset boot_stack_top
    mov esi, ebx

    # Statics that start as zero.
    mov edi, offset kernel_bss
    mov ecx, offset kernel_bss_end
    sub ecx, edi
    shr ecx, 2
    xor eax, eax
    rep stosd

    # The first 4 GiB, each address to itself, in pages of 2 MiB; Rust takes rights away later.
    mov eax, offset page_map_3
    or eax, 3
    mov dword ptr [page_map_4], eax
    mov edi, offset page_map_3
    mov eax, offset page_map_2
    or eax, 3
    mov ecx, 4
5:  mov dword ptr [edi], eax
    add eax, 4096
    add edi, 8
    dec ecx
    jnz 5b
    mov edi, offset page_map_2
    mov eax, 0x83               # present, writable, large
    mov ecx, 2048
2:  mov dword ptr [edi], eax
    add eax, 0x200000
    add edi, 8
    dec ecx
    jnz 2b

    # SSE and its exceptions, as float code needs: CR4.PAE, OSFXSR, OSXMMEXCPT.
    mov eax, cr4
    or eax, 0x620
    mov cr4, eax
    mov eax, offset page_map_4
    mov cr3, eax
    mov ecx, 0xc0000080         # EFER: long mode, no-execute
    rdmsr
    or eax, 0x900
    wrmsr
    mov eax, cr0
    and eax, 0xfffffffb         # not EM
    or eax, 0x80010002          # paging, write protection, MP
    mov cr0, eax
    lgdt [boot_gdt_pointer]
    # A far return to the 64-bit code segment.
    push 8
    mov eax, offset start_64
    push eax
    retf

.code64
start_64:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov fs, eax
    mov gs, eax

    # AVX, where the processor has it: CR4.OSXSAVE, then XCR0 with x87, SSE and AVX state.
    mov edi, esi
    mov eax, 1
    cpuid                       # changes EBX
    and ecx, 0x14000000
    cmp ecx, 0x14000000         # XSAVE (26) and AVX (28)
    jne 3f
    mov rax, cr4
    or rax, 0x40000
    mov cr4, rax
    xor ecx, ecx
    xgetbv
    or eax, 7
    xsetbv
3:  xor ebp, ebp
    lea rsp, [rip + boot_stack_top]
    call {main}
    ud2

# Traps: on a stack of their own, which the task segment names (traps.rs); a vector and an error code, then Rust, which
# does not come back.
.balign 16
.global trap_stubs
trap_stubs:
.irp vector, 0,1,2,3,4,5,6,7,9,15,16,18,19,20,22,23,24,25,26,27,28,31
    .balign 16
    trap_\vector:
    push 0
    push \vector
    jmp trap_common
.endr
.irp vector, 8,10,11,12,13,14,17,21,29,30
    .balign 16
    trap_\vector:
    push \vector
    jmp trap_common
.endr
trap_common:
    mov rdi, rsp
    and rsp, -16
    call {trap}
    ud2

.section .rodata
.balign 8
.global trap_table
trap_table:
.irp vector, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .quad trap_\vector
.endr
boot_gdt_pointer:
    .word 31
    .quad boot_gdt

# The processor marks the task segment as busy: not a constant.
.section .data
.balign 8
.global boot_gdt
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff    # 64-bit code, ring 0
    .quad 0, 0                  # the task segment

.section .bss
.balign 4096
.global page_map_4, page_map_2, page_map_1, page_map_guard, stack_guard, trap_stack_top
page_map_4: .skip 4096
page_map_3: .skip 4096
page_map_2: .skip 4 * 4096
page_map_1: .skip 4096
page_map_guard: .skip 4096
stack_guard: .skip 4096         # nothing is mapped here: growing past its end, the stack meets a fault
boot_stack: .skip 512 * 1024
boot_stack_top:
trap_stack: .skip 16 * 1024
trap_stack_top:
