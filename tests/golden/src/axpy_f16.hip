/* Half precision, one and two at a time. */
#include "golden.h"

typedef _Float16 f16;
typedef f16 half2 __attribute__((ext_vector_type(2)));

__global__ void axpy_f16(f16 a, const f16 *x, f16 *y, u32 count) {
  u32 i = global_id(0);
  if (i < count)
    y[i] = a * x[i] + y[i];
}
GOLDEN_ENTRY(axpy_f16, f16, const f16 *, f16 *, u32)

__global__ void axpy_packed_f16(half2 a, const half2 *x, half2 *y, half2 *extremes, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  half2 product = a * x[i], sum = product + y[i];
  half2 low = __builtin_elementwise_min(product, y[i]), high = __builtin_elementwise_max(product, y[i]);
  extremes[i] = high - low.yx;
  y[i] = sum;
}
GOLDEN_ENTRY(axpy_packed_f16, half2, const half2 *, half2 *, half2 *, u32)

__global__ void fma_f16(const f16 *a, const f16 *b, f16 *out, half2 *packed, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  f16 x = a[i], y = b[i];
  out[8 * i + 0] = fma_half(x, y, a[count - 1 - i]);
  out[8 * i + 1] = (f16)((f32)x * 3.0f);
  out[8 * i + 2] = (f16)(i16)(x * (f16)16.0f);
  out[8 * i + 3] = (f16)(u16)(i * 3 + 1);
  out[8 * i + 4] = -x;
  out[8 * i + 5] = x < y ? x : y;
  out[8 * i + 6] = __builtin_elementwise_floor(x) + __builtin_elementwise_trunc(y);
  out[8 * i + 7] = __builtin_elementwise_abs(x) - __builtin_elementwise_rint(y);
  half2 u = {x, y}, v = {y, (f16)1.5f}, w = {(f16)0.25f, x};
  half2 r = {fma_half(u.x, v.x, w.x), fma_half(u.y, v.y, w.y)};
  packed[i] = r;
}
GOLDEN_ENTRY(fma_f16, const f16 *, const f16 *, f16 *, half2 *, u32)

__global__ void divide_f16(const f16 *a, const f16 *b, f16 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  out[2 * i + 0] = a[i] / b[i];
  out[2 * i + 1] = __builtin_elementwise_sqrt(__builtin_elementwise_abs(a[i]));
}
GOLDEN_ENTRY(divide_f16, const f16 *, const f16 *, f16 *, u32)
