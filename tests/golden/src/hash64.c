/* 64-bit integer work: multiply, shift, rotate, high product, divide and remainder. */
#include "golden.h"

FN u64 rotate(u64 x, u32 n) { return (x << (n & 63)) | (x >> (-n & 63)); }

FN u64 mix(u64 x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ul;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebul;
  return x ^ (x >> 31);
}

KERNEL void hash64(GLOBAL const u64 *in, GLOBAL u64 *out, u32 count, u64 seed) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u64 h = seed + i;
  for (u32 k = 0; k < 8; k++) {
    h = mix(h ^ in[(i + k) % count]);
    h = rotate(h, k * 7 + 1) - rotate(h, (u32)h);
  }
  out[i] = h;
}
GOLDEN_ENTRY(hash64, const u64 *, u64 *, u32, u64)

KERNEL void divide64(GLOBAL const u64 *in, GLOBAL u64 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u64 a = in[i], b = in[count - 1 - i] >> (i & 63);
  b = b ? b : 1;
  i64 sa = (i64)a, sb = (i64)(b >> 1) + 1;
  out[6 * i + 0] = a / b;
  out[6 * i + 1] = a % b;
  out[6 * i + 2] = (u64)(sa / sb);
  out[6 * i + 3] = (u64)(sa % sb);
  out[6 * i + 4] = (u64)(((unsigned __int128)a * b) >> 64);
  out[6 * i + 5] = (u64)(((__int128)sa * sb) >> 64) + ((u32)a / ((u32)b | 1)) + (u64)((i32)a % ((i32)(b & 0xffff) + 1));
}
GOLDEN_ENTRY(divide64, const u64 *, u64 *, u32)
