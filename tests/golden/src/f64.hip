/* Double precision: a dot product, division, square root and conversions. */
#include "golden.h"

#define GROUP 128

__global__ void dot_f64(const double *a, const double *b, double *partial, u32 count) {
  __shared__ double sums[GROUP];
  double sum = 0.0;
  for (u32 i = global_id(0); i < count; i += grid_size(0))
    sum = __builtin_fma(a[i], b[i], sum);
  sums[item_id(0)] = sum;
  group_barrier();
  for (u32 half = GROUP / 2; half > 0; half /= 2) {
    if (item_id(0) < half)
      sums[item_id(0)] += sums[item_id(0) + half];
    group_barrier();
  }
  if (item_id(0) == 0)
    partial[group_id(0)] = sums[0];
}
GOLDEN_ENTRY(dot_f64, const double *, const double *, double *, u32)

__global__ void arithmetic_f64(const double *a, const double *b, double *out, i64 *integers, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  double x = a[i], y = b[i];
  out[8 * i + 0] = x / y;
  out[8 * i + 1] = __builtin_sqrt(__builtin_fabs(x));
  out[8 * i + 2] = __builtin_fmin(x, y) - __builtin_fmax(x, y);
  out[8 * i + 3] = __builtin_floor(x) + __builtin_trunc(y);
  out[8 * i + 4] = __builtin_rint(x) - __builtin_ceil(y);
  out[8 * i + 5] = (double)(f32)x;
  out[8 * i + 6] = (double)(i32)y * 0.5 + (double)(u32)i;
  out[8 * i + 7] = (double)(i64)(x * 4096.0);
  integers[2 * i + 0] = (i64)(x * 1048576.0);
  integers[2 * i + 1] = x < y ? -1 : x > y ? 1 : 0;
}
GOLDEN_ENTRY(arithmetic_f64, const double *, const double *, double *, i64 *, u32)
