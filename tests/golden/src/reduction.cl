/* Sums by a tree in LDS, one partial sum a group; the order of additions is fixed. */
#include "golden.h"

#define GROUP 256

__kernel void reduction(__global const f32 *in, __global f32 *partial, u32 count) {
  __local f32 sums[GROUP];
  u32 item = item_id(0), i = global_id(0);
  sums[item] = i < count ? in[i] : 0.0f;
  group_barrier();
  for (u32 half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    if (item < half_size)
      sums[item] += sums[item + half_size];
    group_barrier();
  }
  if (item == 0)
    partial[group_id(0)] = sums[0];
}
GOLDEN_ENTRY(reduction, __global const f32 *, __global f32 *, u32)

/* The same for the largest and smallest integer and their places, with divergent exits of the tree. */
__kernel void reduction_minmax(__global const i32 *in, __global i32 *out, u32 count) {
  __local i32 low[GROUP], high[GROUP];
  u32 item = item_id(0), i = global_id(0);
  i32 value = in[i < count ? i : count - 1];
  low[item] = value;
  high[item] = value;
  for (u32 half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    group_barrier();
    if (item < half_size) {
      i32 l = low[item + half_size], h = high[item + half_size];
      if (l < low[item])
        low[item] = l;
      if (h > high[item])
        high[item] = h;
    }
  }
  if (item == 0) {
    out[2 * group_id(0)] = low[0];
    out[2 * group_id(0) + 1] = high[0];
  }
}
GOLDEN_ENTRY(reduction_minmax, __global const i32 *, __global i32 *, u32)
