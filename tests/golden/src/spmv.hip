/* Product of a sparse matrix (compressed rows) and a vector: an item for a row, and a wave for a row. */
#include "golden.h"

__global__ void spmv_item(const u32 *starts, const u32 *columns, const f32 *values, const f32 *x, f32 *y, u32 rows) {
  u32 row = global_id(0);
  if (row >= rows)
    return;
  f32 sum = 0;
  for (u32 k = starts[row]; k < starts[row + 1]; k++)
    sum += values[k] * x[columns[k] % rows];
  y[row] = sum;
}
GOLDEN_ENTRY(spmv_item, const u32 *, const u32 *, const f32 *, const f32 *, f32 *, u32)

__global__ void spmv_wave(const u32 *starts, const u32 *columns, const f32 *values, const f32 *x, f32 *y, u32 rows) {
  u32 row = global_id(0) / wave_size(), lane = lane_id();
  if (row >= rows)
    return;
  f32 sum = 0;
  for (u32 k = starts[row] + lane; k < starts[row + 1]; k += wave_size())
    sum += values[k] * x[columns[k] % rows];
  for (u32 step = 16; step > 0; step /= 2)
    sum += __builtin_bit_cast(f32, wave_bpermute((lane ^ step) * 4, __builtin_bit_cast(u32, sum)));
  f32 first = __builtin_bit_cast(f32, wave_readlane(__builtin_bit_cast(u32, sum), 0));
  f32 second = __builtin_bit_cast(f32, wave_readlane(__builtin_bit_cast(u32, sum), wave_size() - 1));
  if (lane == 0)
    y[row] = wave_size() == 64 ? first + second : first;
}
GOLDEN_ENTRY(spmv_wave, const u32 *, const u32 *, const f32 *, const f32 *, f32 *, u32)
