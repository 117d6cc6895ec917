/* A tile of a matrix product for each type that a target's matrix instructions have: of gfx908, gfx942, gfx950 and
 * gfx12. The elements are small whole numbers as in matrix_ops, so that every order of the additions gives the same;
 * the host multiplies as one learns it at school. Element (i, j) of a result starts with i - j. */
#include "golden.h"

typedef _Float16 f16;
typedef f16 half4 __attribute__((ext_vector_type(4)));
typedef f16 half8 __attribute__((ext_vector_type(8)));
typedef i16 short2 __attribute__((ext_vector_type(2)));
typedef i16 short4 __attribute__((ext_vector_type(4)));
typedef i16 short8 __attribute__((ext_vector_type(8)));
typedef f32 float4 __attribute__((ext_vector_type(4)));
typedef f32 float8 __attribute__((ext_vector_type(8)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef i32 int2 __attribute__((ext_vector_type(2)));
typedef i32 int4 __attribute__((ext_vector_type(4)));
typedef i32 int8 __attribute__((ext_vector_type(8)));
typedef __bf16 bfloat8 __attribute__((ext_vector_type(8)));

/* A whole number from -8 to 7 of row (of b: column) `row`. */
FN i32 small(const u32 *in, u32 row, u32 column) {
  return (i32)((in[row + 16 * (column / 8)] >> (column & 7) * 4) & 15) - 8;
}
FN i16 bf16_of(i32 value) { return (i16)(__builtin_bit_cast(u32, (f32)value) >> 16); }
/* One sign bit, four of the exponent, three of the fraction. */
FN u32 f8_of(i32 value, u32 bias) {
  u32 bits = __builtin_bit_cast(u32, (f32)value);
  return value == 0 ? 0 : (bits >> 31) << 7 | ((bits >> 23 & 255) - 127 + bias) << 3 | (bits >> 20 & 7);
}
/* One sign bit, five of the exponent, two of the fraction: half the value is whole for even ones, so only those. */
FN u32 bf8_of(i32 value, u32 bias) {
  u32 bits = __builtin_bit_cast(u32, (f32)(value & ~1));
  return (value & ~1) == 0 ? 0 : (bits >> 31) << 7 | ((bits >> 23 & 255) - 127 + bias) << 2 | (bits >> 21 & 3);
}
FN i32 four_bytes(const u32 *in, u32 row, u32 column) {
  u32 bytes = 0;
  for (u32 k = 0; k < 4; k++)
    bytes |= (u32)(small(in, row, column + k) & 255) << (8 * k);
  return (i32)bytes;
}
FN i32 four_f8(const u32 *in, u32 row, u32 column, u32 bias) {
  u32 bytes = 0;
  for (u32 k = 0; k < 4; k++)
    bytes |= f8_of(small(in, row, column + k), bias) << (8 * k);
  return (i32)bytes;
}
FN i32 four_bf8(const u32 *in, u32 row, u32 column, u32 bias) {
  u32 bytes = 0;
  for (u32 k = 0; k < 4; k++)
    bytes |= bf8_of(small(in, row, column + k), bias) << (8 * k);
  return (i32)bytes;
}

#ifndef __AMDGCN__
template <typename T> static void multiply(const u32 *a, const u32 *b, T *out, u32 depth, int even = 0) {
  for (u32 at = lane_id(); at < 256; at += wave_size()) {
    i32 i = (i32)(at / 16), j = (i32)(at % 16), sum = i - j;
    for (u32 k = 0; k < depth; k++)
      sum += small(a, (u32)i, k) * (even ? small(b, (u32)j, k) & ~1 : small(b, (u32)j, k));
    out[at] = (T)sum;
  }
}
#endif

#if defined(__GFX9__)
#define PUT_SINGLES(n, value)                    \
  do {                                           \
    float4 d = value;                            \
    for (u32 r = 0; r < 4; r++)                  \
      singles[256 * (n) + (4 * quarter + r) * 16 + row] = d[r]; \
  } while (0)
#define PUT_INTEGERS(value)                      \
  do {                                           \
    int4 d = value;                              \
    for (u32 r = 0; r < 4; r++)                  \
      integers[(4 * quarter + r) * 16 + row] = d[r]; \
  } while (0)
#define START                                    \
  u32 lane = lane_id(), row = lane % 16, quarter = lane / 16; \
  float4 c;                                      \
  int4 ci;                                       \
  for (u32 r = 0; r < 4; r++)                    \
    c[r] = (f32)(ci[r] = (i32)(4 * quarter + r) - (i32)row)
#endif

#if !defined(__AMDGCN__) || defined(__gfx908__)
__global__ void mfma_gfx908(const u32 *a, const u32 *b, f32 *singles, i32 *integers) {
#ifdef __AMDGCN__
  START;
  half4 ah, bh;
  for (u32 r = 0; r < 4; r++) {
    ah[r] = (f16)small(a, row, 4 * quarter + r);
    bh[r] = (f16)small(b, row, 4 * quarter + r);
  }
  short2 as = {bf16_of(small(a, row, 2 * quarter)), bf16_of(small(a, row, 2 * quarter + 1))};
  short2 bs = {bf16_of(small(b, row, 2 * quarter)), bf16_of(small(b, row, 2 * quarter + 1))};
  PUT_SINGLES(0, __builtin_amdgcn_mfma_f32_16x16x4f32((f32)small(a, row, quarter), (f32)small(b, row, quarter), c, 0, 0, 0));
  PUT_SINGLES(1, __builtin_amdgcn_mfma_f32_16x16x16f16(ah, bh, c, 0, 0, 0));
  PUT_SINGLES(2, __builtin_amdgcn_mfma_f32_16x16x8bf16(as, bs, c, 0, 0, 0));
  PUT_INTEGERS(__builtin_amdgcn_mfma_i32_16x16x16i8(four_bytes(a, row, 4 * quarter), four_bytes(b, row, 4 * quarter), ci, 0, 0, 0));
#else
  multiply(a, b, singles, 4);
  multiply(a, b, singles + 256, 16);
  multiply(a, b, singles + 512, 8);
  multiply(a, b, integers, 16);
#endif
}
GOLDEN_ENTRY(mfma_gfx908, const u32 *, const u32 *, f32 *, i32 *)
#endif

#if !defined(__AMDGCN__) || defined(__gfx942__) || defined(__gfx950__)
__global__ void mfma_gfx942(const u32 *a, const u32 *b, f32 *singles, double *doubles, i32 *integers) {
#ifdef __AMDGCN__
  START;
#ifdef __gfx942__
  u32 bias = 8, bias_bf8 = 16;
#else
  u32 bias = 7, bias_bf8 = 15;
#endif
  half4 ah, bh;
  short4 as, bs;
  double4 cd;
  for (u32 r = 0; r < 4; r++) {
    u32 k = 4 * quarter + r;
    ah[r] = (f16)small(a, row, k);
    bh[r] = (f16)small(b, row, k);
    as[r] = bf16_of(small(a, row, k));
    bs[r] = bf16_of(small(b, row, k));
    cd[r] = (double)((i32)(4 * r + quarter) - (i32)row);
  }
  union {
    i32 words[2];
    i64 all;
  } ai, bi, a8, b8, bb8;
  for (u32 k = 0; k < 2; k++) {
    ai.words[k] = four_bytes(a, row, 8 * quarter + 4 * k);
    bi.words[k] = four_bytes(b, row, 8 * quarter + 4 * k);
    a8.words[k] = four_f8(a, row, 8 * quarter + 4 * k, bias);
    b8.words[k] = four_f8(b, row, 8 * quarter + 4 * k, bias);
    bb8.words[k] = four_bf8(b, row, 8 * quarter + 4 * k, bias_bf8);
  }
  PUT_SINGLES(0, __builtin_amdgcn_mfma_f32_16x16x4f32((f32)small(a, row, quarter), (f32)small(b, row, quarter), c, 0, 0, 0));
  PUT_SINGLES(1, __builtin_amdgcn_mfma_f32_16x16x16f16(ah, bh, c, 0, 0, 0));
  PUT_SINGLES(2, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as, bs, c, 0, 0, 0));
  PUT_SINGLES(3, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a8.all, b8.all, c, 0, 0, 0));
  PUT_SINGLES(4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a8.all, bb8.all, c, 0, 0, 0));
  PUT_INTEGERS(__builtin_amdgcn_mfma_i32_16x16x32_i8(ai.all, bi.all, ci, 0, 0, 0));
  double4 dd = __builtin_amdgcn_mfma_f64_16x16x4f64((double)small(a, row, quarter), (double)small(b, row, quarter), cd, 0, 0, 0);
  for (u32 r = 0; r < 4; r++)
    doubles[(4 * r + quarter) * 16 + row] = dd[r];
#else
  multiply(a, b, singles, 4);
  multiply(a, b, singles + 256, 16);
  multiply(a, b, singles + 512, 16);
  multiply(a, b, singles + 768, 32);
  multiply(a, b, singles + 1024, 32, 1);
  multiply(a, b, integers, 32);
  multiply(a, b, doubles, 4);
#endif
}
GOLDEN_ENTRY(mfma_gfx942, const u32 *, const u32 *, f32 *, double *, i32 *)
#endif

#if !defined(__AMDGCN__) || defined(__gfx950__)
__global__ void mfma_gfx950(const u32 *a, const u32 *b, f32 *singles, i32 *integers) {
#ifdef __AMDGCN__
  START;
  half8 ah, bh;
  bfloat8 as, bs;
  for (u32 r = 0; r < 8; r++) {
    u32 k = 8 * quarter + r;
    ah[r] = (f16)small(a, row, k);
    bh[r] = (f16)small(b, row, k);
    as[r] = (__bf16)(f32)small(a, row, k);
    bs[r] = (__bf16)(f32)small(b, row, k);
  }
  int4 ai, bi;
  for (u32 k = 0; k < 4; k++) {
    ai[k] = four_bytes(a, row, 16 * quarter + 4 * k);
    bi[k] = four_bytes(b, row, 16 * quarter + 4 * k);
  }
  PUT_SINGLES(0, __builtin_amdgcn_mfma_f32_16x16x32_f16(ah, bh, c, 0, 0, 0));
  PUT_SINGLES(1, __builtin_amdgcn_mfma_f32_16x16x32_bf16(as, bs, c, 0, 0, 0));
  PUT_INTEGERS(__builtin_amdgcn_mfma_i32_16x16x64_i8(ai, bi, ci, 0, 0, 0));
  int8 a8, b8;
  for (u32 k = 0; k < 8; k++) {
    a8[k] = four_f8(a, row, 32 * quarter + 4 * k, 7);
    b8[k] = four_f8(b, row, 32 * quarter + 4 * k, 7);
  }
  /* Formats 0: fp8 on both sides; scales of 2^0. */
  PUT_SINGLES(2, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a8, b8, c, 0, 0, 0, 127, 0, 127));
#else
  multiply(a, b, singles, 32);
  multiply(a, b, singles + 256, 32);
  multiply(a, b, integers, 64);
  multiply(a, b, singles + 512, 128);
#endif
}
GOLDEN_ENTRY(mfma_gfx950, const u32 *, const u32 *, f32 *, i32 *)
#endif

#if !defined(__AMDGCN__) || defined(__GFX12__)
/* Of a row of 16, each half of the lanes has 8 in a wave of 32, each quarter 4 in one of 64; a lane's results are
 * those of one column. In a wave of 64 the second quarter of the lanes has the rows from 8 on, the third those from 4
 * on: AMD's Matrix Instruction Calculator, `--architecture rdna4 --wavefront 64 --D-matrix --register-layout`. */
__global__ void wmma_gfx12(const u32 *a, const u32 *b, f32 *singles, i32 *integers) {
#ifdef __AMDGCN__
#if GOLDEN_WAVE_SIZE == 32
#define EACH 8
  typedef float8 sums;
  typedef int8 integer_sums;
  typedef half8 halves;
  typedef short8 shorts;
  typedef int2 words;
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#else
#define EACH 4
  typedef float4 sums;
  typedef int4 integer_sums;
  typedef half4 halves;
  typedef short4 shorts;
  typedef i32 words;
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w64_gfx12
#endif
  u32 lane = lane_id(), row = lane % 16, first = lane / 16 * EACH;
#if GOLDEN_WAVE_SIZE == 32
  u32 top = first;
#else
  u32 top = lane / 16 % 2 * 8 + lane / 32 * 4;
#endif
  halves ah, bh;
  shorts as, bs;
  union {
    i32 each[EACH / 4];
    words all;
  } ai, bi, a8, b8;
  sums c;
  integer_sums ci;
  for (u32 r = 0; r < EACH; r++) {
    ah[r] = (f16)small(a, row, first + r);
    bh[r] = (f16)small(b, row, first + r);
    as[r] = bf16_of(small(a, row, first + r));
    bs[r] = bf16_of(small(b, row, first + r));
    c[r] = (f32)(ci[r] = (i32)(top + r) - (i32)row);
  }
  for (u32 k = 0; k < EACH / 4; k++) {
    ai.each[k] = four_bytes(a, row, top + 4 * k);
    bi.each[k] = four_bytes(b, row, top + 4 * k);
    a8.each[k] = four_f8(a, row, top + 4 * k, 7);
    b8.each[k] = four_f8(b, row, top + 4 * k, 7);
  }
  sums d0 = WMMA(f32_16x16x16_f16)(ah, bh, c);
  sums d1 = WMMA(f32_16x16x16_bf16)(as, bs, c);
  sums d2 = WMMA(f32_16x16x16_fp8_fp8)(a8.all, b8.all, c);
  integer_sums di = WMMA(i32_16x16x16_iu8)(true, ai.all, true, bi.all, ci, false);
  for (u32 r = 0; r < EACH; r++) {
    u32 at = (top + r) * 16 + row;
    singles[at] = d0[r];
    singles[256 + at] = d1[r];
    singles[512 + at] = d2[r];
    integers[at] = di[r];
  }
#else
  multiply(a, b, singles, 16);
  multiply(a, b, singles + 256, 16);
  multiply(a, b, singles + 512, 16);
  multiply(a, b, integers, 16);
#endif
}
GOLDEN_ENTRY(wmma_gfx12, const u32 *, const u32 *, f32 *, i32 *)
#endif
