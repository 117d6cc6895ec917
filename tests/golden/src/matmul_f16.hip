/* c = a b with halves and single precision sums by matrix instructions: a wave makes a tile of 16 by 16. The rows of a and
 * the columns of b lie side by side in memory. The elements are small whole numbers in the catalogue, so that the host's
 * order of additions gives the same. */
#include "golden.h"

typedef _Float16 f16;
typedef f16 half4 __attribute__((ext_vector_type(4)));
typedef f16 half8 __attribute__((ext_vector_type(8)));
typedef f16 half16 __attribute__((ext_vector_type(16)));
typedef f32 float4 __attribute__((ext_vector_type(4)));
typedef f32 float8 __attribute__((ext_vector_type(8)));

#if !defined(__AMDGCN__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__GFX11__)
__global__ void matmul_f16(const f16 *a, const f16 *b, f32 *c, u32 size) {
  u32 lane = lane_id(), n = lane % 16, group = lane / 16;
  u32 tile = global_id(0) / wave_size(), row = tile / (size / 16) * 16, column = tile % (size / 16) * 16;
#if defined(__GFX9__)
  float4 sum = {0, 0, 0, 0};
  const half4 *left = (const half4 *)(a + (row + n) * size) + group;
  const half4 *right = (const half4 *)(b + (column + n) * size) + group;
  for (u32 k = 0; k < size / 4; k += 4)
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left[k], right[k], sum, 0, 0, 0);
  for (u32 r = 0; r < 4; r++)
    c[(row + 4 * group + r) * size + column + n] = sum[r];
#elif defined(__AMDGCN__)
#if GOLDEN_WAVE_SIZE == 32
#define GROUPS 2
  float8 sum = {0, 0, 0, 0, 0, 0, 0, 0};
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
#else
#define GROUPS 4
  float4 sum = {0, 0, 0, 0};
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w64
#endif
  const half16 *left = (const half16 *)(a + (row + n) * size), *right = (const half16 *)(b + (column + n) * size);
  for (u32 k = 0; k < size / 16; k++)
    sum = WMMA(left[k], right[k], sum);
  for (u32 r = 0; r < 16 / GROUPS; r++)
    c[(row + GROUPS * r + group) * size + column + n] = sum[r];
#else
  for (u32 at = lane; at < 256; at += wave_size()) {
    f32 sum = 0;
    for (u32 k = 0; k < size; k++)
      sum += (f32)a[(row + at / 16) * size + k] * (f32)b[(column + at % 16) * size + k];
    c[(row + at / 16) * size + column + at % 16] = sum;
  }
  (void)n;
  (void)group;
#endif
}
GOLDEN_ENTRY(matmul_f16, const f16 *, const f16 *, f32 *, u32)
#endif
