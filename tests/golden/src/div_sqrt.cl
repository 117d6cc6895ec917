/* Division, square root and reciprocal square root of single precision. */
#include "golden.h"

/* Correctly rounded: subnormals, infinities and NaNs included. */
__kernel void div_sqrt(__global const f32 *a, __global const f32 *b, __global f32 *quotient, __global f32 *root,
                       u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  quotient[i] = a[i] / b[i];
  root[i] = __builtin_sqrtf(a[i]);
}
GOLDEN_ENTRY(div_sqrt, __global const f32 *, __global const f32 *, __global f32 *, __global f32 *, u32)

/* 1 / sqrt(x) by two correctly rounded operations. */
__kernel void rsqrt_exact(__global const f32 *a, __global f32 *out, u32 count) {
  u32 i = global_id(0);
  if (i < count)
    out[i] = 1.0f / __builtin_sqrtf(a[i]);
}
GOLDEN_ENTRY(rsqrt_exact, __global const f32 *, __global f32 *, u32)

/* The single instructions, which hardware gives to about one unit in the last place. */
__kernel void approximations(__global const f32 *a, __global f32 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  f32 x = a[i];
  out[0 * count + i] = approximate_rsqrt(x);
  out[1 * count + i] = approximate_rcp(x);
  out[2 * count + i] = approximate_sqrt(x);
  out[3 * count + i] = approximate_exp2(x);
  out[4 * count + i] = approximate_log2(x);
}
GOLDEN_ENTRY(approximations, __global const f32 *, __global f32 *, u32)

__kernel void sines(__global const f32 *turns, __global f32 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  out[i] = approximate_sin(turns[i]);
  out[count + i] = approximate_cos(turns[i]);
}
GOLDEN_ENTRY(sines, __global const f32 *, __global f32 *, u32)
