/* Kernels that fault on purpose. No reference: what matters is how the fault is reported. */
#include "golden.h"

/* Item 0 of the grid stores to the address. */
KERNEL void fault_store(u64 address, u32 value) {
  if (global_id(0) == 0)
    *(volatile GLOBAL u32 *)address = value;
}

KERNEL void fault_load(u64 address, GLOBAL u32 *out) {
  if (global_id(0) == 0)
    *out = *(volatile GLOBAL u32 *)address;
}

KERNEL void fault_atomic(u64 address, u32 value) {
  if (global_id(0) == 0)
    __scoped_atomic_fetch_add((GLOBAL u32 *)address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

/* s_trap 2: the debugger's trap, which the runtime turns into a queue error. */
KERNEL void fault_trap(GLOBAL u32 *out) {
  out[global_id(0)] = 1;
  __builtin_trap();
}

/* Jumps to data: a function pointer from the host. */
KERNEL void fault_call(u64 address) { ((void (*)(void))address)(); }
