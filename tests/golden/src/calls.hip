/* Calls: through a table of addresses, recursive, and with pointers into the caller's frame. */
#include "golden.h"

typedef u32 (*operation)(u32, u32);

__device__ static NOINLINE u32 add(u32 a, u32 b) { return a + b; }
__device__ static NOINLINE u32 exclusive_or(u32 a, u32 b) { return a ^ (b << 1); }
__device__ static NOINLINE u32 multiply(u32 a, u32 b) { return a * b + 1; }
__device__ static NOINLINE u32 of_divisor(u32 a, u32 b) { return a / ((b & 255) + 1); }

__device__ static const operation operations[4] = {add, exclusive_or, multiply, of_divisor};

/* The callee differs between lanes, so the compiler loops over the distinct ones. */
__global__ void indirect_call(const u32 *in, u32 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u32 value = in[i];
  for (u32 k = 0; k < 6; k++)
    value = operations[(value >> k) & 3](value, in[(i + k) % count]);
  out[i] = value;
}
GOLDEN_ENTRY(indirect_call, const u32 *, u32 *, u32)

/* Ackermann's function with the second rule bounded; the depth differs between lanes. */
__device__ static NOINLINE u32 descend(u32 m, u32 n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return descend(m - 1, 1);
  return descend(m - 1, descend(m, n - 1) & 7);
}

__global__ void recursion(const u32 *in, u32 *out, u32 count) {
  u32 i = global_id(0);
  if (i < count)
    out[i] = descend(in[i] % 3, (in[i] >> 8) % 4);
}
GOLDEN_ENTRY(recursion, const u32 *, u32 *, u32)

struct pair {
  u64 low, high;
};

__device__ static NOINLINE void sort(u32 *values, u32 count) {
  for (u32 i = 1; i < count; i++) {
    u32 value = values[i], j = i;
    for (; j > 0 && values[j - 1] > value; j--)
      values[j] = values[j - 1];
    values[j] = value;
  }
}

__device__ static NOINLINE pair fold(const u32 *values, u32 count, u64 a, u64 b, u64 c, u64 d, f32 e, f32 f,
                                     double g, u16 h) {
  pair p = {a + b * c, d ^ h};
  for (u32 i = 0; i < count; i++) {
    p.low = p.low * 3 + values[i];
    p.high += (u64)(e * f) + (u64)g;
  }
  return p;
}

/* The callees reach the frame of the caller by generic addresses. */
__global__ void frames(const u32 *in, u64 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u32 values[12];
  for (u32 k = 0; k < 12; k++)
    values[k] = in[(i + k * 5) % count];
  sort(values, 12);
  pair p = fold(values, 12, i, values[3], values[5], values[7], 2.5f, 3.0f, 7.75, (u16)i);
  out[2 * i] = p.low;
  out[2 * i + 1] = p.high;
}
GOLDEN_ENTRY(frames, const u32 *, u64 *, u32)
