/* Dot products of small numbers in a register: builtins where the target has the instruction, and what they mean on
 * the host. */
#include "golden.h"

#define PUT(expression) out[row++ * total + i] = (expression)

typedef _Float16 f16;
typedef f16 half2 __attribute__((ext_vector_type(2)));

#ifndef __AMDGCN__
static u32 dot(u32 a, u32 b, u32 c, u32 bits, int is_signed) {
  i64 sum = is_signed ? (i64)(i32)c : (i64)c;
  for (u32 at = 0; at < 32; at += bits) {
    i64 x = (i64)(i32)(a << (32 - bits - at)) >> (32 - bits), y = (i64)(i32)(b << (32 - bits - at)) >> (32 - bits);
    if (!is_signed) {
      x &= (1l << bits) - 1;
      y &= (1l << bits) - 1;
    }
    sum += x * y;
  }
  return (u32)sum;
}
static u32 saturated(u32 a, u32 b, u32 c, u32 bits) {
  u64 sum = c;
  for (u32 at = 0; at < 32; at += bits) {
    u64 mask = (1ul << bits) - 1;
    sum += (a >> at & mask) * (b >> at & mask);
  }
  return sum > 0xffffffff ? 0xffffffffu : (u32)sum;
}
#endif

#if !defined(__AMDGCN__) || !defined(__gfx900__)
/* Whole halves and sums, so that every way of rounding gives the same. */
__global__ void dot_products(const u32 *a, const u32 *b, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, x = a[i], y = b[i], z = a[total - 1 - i];
  PUT(dot4_signed(x, y, z));
  PUT(dot4_unsigned(x, y, z));
  half2 p = {(f16)(i32)(x & 31), (f16)((i32)(x >> 8 & 31) - 16)}, q = {(f16)((i32)(y & 63) - 32), (f16)(i32)(y >> 8 & 15)};
  f32 start = (f32)(i32)(z & 1023);
#ifdef __AMDGCN__
  PUT(__builtin_bit_cast(u32, __builtin_amdgcn_fdot2(p, q, start, false)));
  PUT(__builtin_amdgcn_udot4(x, y, z, true));
  PUT(__builtin_amdgcn_udot8(x, y, z, false));
  PUT(__builtin_amdgcn_udot8(x, y, z, true));
#if defined(__GFX11__) || defined(__GFX12__)
  PUT((u32)__builtin_amdgcn_sudot8(true, (i32)x, true, (i32)y, (i32)z, false));
#else
  PUT((u32)__builtin_amdgcn_sdot8((i32)x, (i32)y, (i32)z, false));
#endif
#else
  PUT(__builtin_bit_cast(u32, (f32)p[0] * (f32)q[0] + (f32)p[1] * (f32)q[1] + start));
  PUT(saturated(x, y, z, 8));
  PUT(dot(x, y, z, 4, 0));
  PUT(saturated(x, y, z, 4));
  PUT(dot(x, y, z, 4, 1));
#endif
}
GOLDEN_ENTRY(dot_products, const u32 *, const u32 *, u32 *, u32)
#endif

#if !defined(__AMDGCN__) || (defined(__GFX9__) && !defined(__gfx900__)) || defined(__gfx1030__)
typedef i16 short2 __attribute__((ext_vector_type(2)));
typedef u16 ushort2 __attribute__((ext_vector_type(2)));
__global__ void dot_products_16(const u32 *a, const u32 *b, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, x = a[i], y = b[i], z = a[total - 1 - i];
#ifdef __AMDGCN__
  short2 p = __builtin_bit_cast(short2, x), q = __builtin_bit_cast(short2, y);
  ushort2 r = __builtin_bit_cast(ushort2, x), s = __builtin_bit_cast(ushort2, y);
  PUT((u32)__builtin_amdgcn_sdot2(p, q, (i32)z, false));
  PUT((u32)__builtin_amdgcn_udot2(r, s, z, false));
  PUT((u32)__builtin_amdgcn_udot2(r, s, z, true));
#else
  PUT(dot(x, y, z, 16, 1));
  PUT(dot(x, y, z, 16, 0));
  PUT(saturated(x, y, z, 16));
#endif
}
GOLDEN_ENTRY(dot_products_16, const u32 *, const u32 *, u32 *, u32)
#endif

#if !defined(__AMDGCN__) || defined(__GFX11__) || defined(__GFX12__)
__global__ void dot_products_mixed(const u32 *a, const u32 *b, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, x = a[i], y = b[i], z = a[total - 1 - i];
#ifdef __AMDGCN__
  PUT((u32)__builtin_amdgcn_sudot4(true, (i32)x, false, (i32)y, (i32)z, false));
  PUT((u32)__builtin_amdgcn_sudot8(false, (i32)x, true, (i32)y, (i32)z, false));
#else
  u32 four = z, eight = z;
  for (u32 at = 0; at < 32; at += 8)
    four += (u32)((i8)(x >> at) * (i32)(y >> at & 255));
  for (u32 at = 0; at < 32; at += 4)
    eight += (u32)((i32)(x >> at & 15) * ((i32)(y << (28 - at)) >> 28));
  PUT(four);
  PUT(eight);
#endif
}
GOLDEN_ENTRY(dot_products_mixed, const u32 *, const u32 *, u32 *, u32)
#endif
