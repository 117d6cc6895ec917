/* Variables of the program that the host finds by name. */
#include "golden.h"

EXTERN_C {
__device__ u32 golden_counter = 7;                          /* written by the host, then by the kernel */
__device__ u32 golden_table[8] = {1, 1, 2, 3, 5, 8, 13, 21}; /* the kernel reads its initial value */
__constant__ f32 golden_scale = 0.5f;                        /* written by the host */
__device__ u64 golden_zeroed[4];                             /* .bss */
__device__ u32 *golden_pointer = &golden_table[2];           /* a relocation in data */
}

__global__ void global_variable(u32 *out, f32 *scaled) {
  u32 i = global_id(0);
  out[i] = golden_table[i & 7] * 10 + golden_pointer[i & 3];
  scaled[i] = (f32)i * golden_scale;
  __scoped_atomic_fetch_add(&golden_counter, 3u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add(&golden_zeroed[i & 3], (u64)i << 30, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
GOLDEN_ENTRY(global_variable, u32 *, f32 *)
