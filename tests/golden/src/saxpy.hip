/* y = a x + y with one rounding, by a grid-stride loop. */
#include "golden.h"

__global__ void saxpy(f32 a, const f32 *x, f32 *y, u64 count) {
  u64 stride = grid_size(0);
  for (u64 i = global_id(0); i < count; i += stride)
    y[i] = __builtin_fmaf(a, x[i], y[i]);
}
GOLDEN_ENTRY(saxpy, f32, const f32 *, f32 *, u64)
