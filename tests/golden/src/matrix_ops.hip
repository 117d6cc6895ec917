/* Matrix instructions: MFMA of gfx90a, WMMA of gfx1100. A wave multiplies two small matrices a and b (rows of
 * a, columns of b, K long) and adds c. The elements are small whole numbers, so that every order of the
 * additions gives the same; the host multiplies as one learns it at school. */
#include "golden.h"

typedef _Float16 f16;
typedef f16 half4 __attribute__((ext_vector_type(4)));
typedef f16 half16 __attribute__((ext_vector_type(16)));
typedef i16 short4 __attribute__((ext_vector_type(4)));
typedef f32 float4 __attribute__((ext_vector_type(4)));
typedef f32 float8 __attribute__((ext_vector_type(8)));
typedef f32 float16 __attribute__((ext_vector_type(16)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef i32 int4 __attribute__((ext_vector_type(4)));
typedef i32 int8 __attribute__((ext_vector_type(8)));

/* A whole number from -8 to 7: element `column` of row (of b: column) `row`. */
FN i32 small(const u32 *in, u32 row, u32 column) {
  return (i32)((in[row + 32 * (column / 8)] >> (column & 7) * 4) & 15) - 8;
}
FN i16 bf16_of(i32 value) { return (i16)(__builtin_bit_cast(u32, (f32)value) >> 16); }
FN u32 four_bytes(const u32 *in, u32 row, u32 column) {
  u32 bytes = 0;
  for (u32 k = 0; k < 4; k++)
    bytes |= (u32)(small(in, row, column + k) & 255) << (8 * k);
  return bytes;
}

#ifndef __AMDGCN__
template <typename T> static void multiply(const u32 *a, const u32 *b, T *out, u32 size, u32 depth) {
  for (u32 at = lane_id(); at < size * size; at += wave_size()) {
    i32 i = (i32)(at / size), j = (i32)(at % size), sum = i - j;
    for (u32 k = 0; k < depth; k++)
      sum += small(a, (u32)i, k) * small(b, (u32)j, k);
    out[at] = (T)sum;
  }
}
#endif

#if !defined(__AMDGCN__) || defined(__gfx90a__)
__global__ void mfma(const u32 *a, const u32 *b, f32 *singles, double *doubles, i32 *integers) {
#ifdef __AMDGCN__
  u32 lane = lane_id(), n = lane % 16, quarter = lane / 16;
  float4 c;
  double4 cd;
  int4 ci;
  for (u32 r = 0; r < 4; r++) {
    i32 start = (i32)(4 * quarter + r) - (i32)n;
    c[r] = (f32)start;
    ci[r] = start;
    cd[r] = (double)((i32)(4 * r + quarter) - (i32)n);
  }
  half4 ah, bh;
  short4 as, bs;
  for (u32 r = 0; r < 4; r++) {
    u32 k = 4 * quarter + r;
    ah[r] = (f16)small(a, n, k);
    bh[r] = (f16)small(b, n, k);
    as[r] = bf16_of(small(a, n, k));
    bs[r] = bf16_of(small(b, n, k));
  }
  float4 d4 = __builtin_amdgcn_mfma_f32_16x16x4f32((f32)small(a, n, quarter), (f32)small(b, n, quarter), c, 0, 0, 0);
  float4 d16 = __builtin_amdgcn_mfma_f32_16x16x16f16(ah, bh, c, 0, 0, 0);
  float4 db = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as, bs, c, 0, 0, 0);
  double4 dd =
      __builtin_amdgcn_mfma_f64_16x16x4f64((double)small(a, n, quarter), (double)small(b, n, quarter), cd, 0, 0, 0);
  int4 di = __builtin_amdgcn_mfma_i32_16x16x16i8((i32)four_bytes(a, n, 4 * quarter), (i32)four_bytes(b, n, 4 * quarter),
                                                 ci, 0, 0, 0);
  for (u32 r = 0; r < 4; r++) {
    u32 at = (4 * quarter + r) * 16 + n;
    singles[at] = d4[r];
    singles[256 + at] = d16[r];
    singles[512 + at] = db[r];
    integers[at] = di[r];
    doubles[(4 * r + quarter) * 16 + n] = dd[r];
  }
  /* 32 by 32: sixteen registers of the sum. */
  u32 m = lane % 32, half = lane / 32;
  float16 wide;
  for (u32 r = 0; r < 16; r++)
    wide[r] = (f32)((i32)(8 * (r / 4) + 4 * half + r % 4) - (i32)m);
  wide = __builtin_amdgcn_mfma_f32_32x32x2f32((f32)small(a, m, half), (f32)small(b, m, half), wide, 0, 0, 0);
  for (u32 r = 0; r < 16; r++)
    singles[768 + (8 * (r / 4) + 4 * half + r % 4) * 32 + m] = wide[r];
#else
  multiply(a, b, singles, 16, 4);
  multiply(a, b, singles + 256, 16, 16);
  multiply(a, b, singles + 512, 16, 16);
  multiply(a, b, singles + 768, 32, 2);
  multiply(a, b, doubles, 16, 4);
  multiply(a, b, integers, 16, 16);
#endif
}
GOLDEN_ENTRY(mfma, const u32 *, const u32 *, f32 *, double *, i32 *)
#endif

#if !defined(__AMDGCN__) || defined(__gfx1100__)
__global__ void wmma(const u32 *a, const u32 *b, f32 *singles, f16 *halves, i32 *integers) {
#ifdef __AMDGCN__
  u32 lane = lane_id(), n = lane % 16, group = lane / 16;
#if GOLDEN_WAVE_SIZE == 32
#define GROUPS 2
  typedef float8 sums;
  typedef int8 integer_sums;
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32
#else
#define GROUPS 4
  typedef float4 sums;
  typedef int4 integer_sums;
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w64
#endif
  half16 ah, bh;
  int4 ai, bi;
  for (u32 k = 0; k < 16; k++) {
    ah[k] = (f16)small(a, n, k);
    bh[k] = (f16)small(b, n, k);
  }
  for (u32 k = 0; k < 4; k++) {
    ai[k] = (i32)four_bytes(a, n, 4 * k);
    bi[k] = (i32)four_bytes(b, n, 4 * k);
  }
  sums c;
  integer_sums ci;
  for (u32 r = 0; r < 16 / GROUPS; r++) {
    ci[r] = (i32)(GROUPS * r + group) - (i32)n;
    c[r] = (f32)ci[r];
  }
  sums d = WMMA(f32_16x16x16_f16)(ah, bh, c);
  integer_sums di = WMMA(i32_16x16x16_iu8)(true, ai, true, bi, ci, false);
  for (u32 r = 0; r < 16 / GROUPS; r++) {
    singles[(GROUPS * r + group) * 16 + n] = d[r];
    halves[(GROUPS * r + group) * 16 + n] = (f16)d[r];
    integers[(GROUPS * r + group) * 16 + n] = di[r];
  }
#else
  multiply(a, b, singles, 16, 16);
  multiply(a, b, halves, 16, 16);
  multiply(a, b, integers, 16, 16);
#endif
}
GOLDEN_ENTRY(wmma, const u32 *, const u32 *, f32 *, f16 *, i32 *)
#endif
