/* A grid of three dimensions that the group sizes do not divide: the last groups are partial. */
#include "golden.h"

__kernel void grid3d(__global u32 *out, __global u32 *visits) {
  u32 x = global_id(0), y = global_id(1), z = global_id(2);
  u32 width = grid_size(0), height = grid_size(1);
  u32 at = (z * height + y) * width + x;
  out[at] = x | y << 10 | z << 20;
  __scoped_atomic_fetch_add(&visits[(group_id(2) * 16 + group_id(1)) * 16 + group_id(0)], 1u, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
}
GOLDEN_ENTRY(grid3d, __global u32 *, __global u32 *)

/* A barrier in partial groups: the items that do not exist are not waited for. */
__kernel void grid3d_barrier(__global u32 *out) {
  __local u32 sum;
  u32 first = (item_id(0) | item_id(1) | item_id(2)) == 0;
  if (first)
    sum = 0;
  group_barrier();
  __scoped_atomic_fetch_add(&sum, global_id(0) + 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  group_barrier();
  out[(global_id(2) * grid_size(1) + global_id(1)) * grid_size(0) + global_id(0)] = sum;
}
GOLDEN_ENTRY(grid3d_barrier, __global u32 *)
