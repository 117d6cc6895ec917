/* c = a + b: the first kernel of everybody. */
#include "golden.h"

__kernel void vector_add(__global const f32 *a, __global const f32 *b, __global f32 *c, u32 count) {
  u32 i = global_id(0);
  if (i < count)
    c[i] = a[i] + b[i];
}
GOLDEN_ENTRY(vector_add, __global const f32 *, __global const f32 *, __global f32 *, u32)
