/* c = a b, square tiles staged in LDS. The size must be a multiple of the tile. */
#include "golden.h"

#define TILE 16

__global__ void matmul(const f32 *a, const f32 *b, f32 *c, u32 size) {
  __shared__ f32 a_tile[TILE][TILE];
  __shared__ f32 b_tile[TILE][TILE];
  u32 x = item_id(0), y = item_id(1);
  u32 column = group_id(0) * TILE + x, row = group_id(1) * TILE + y;
  f32 sum = 0.0f;
  for (u32 k = 0; k < size; k += TILE) {
    a_tile[y][x] = a[row * size + k + x];
    b_tile[y][x] = b[(k + y) * size + column];
    group_barrier();
    for (u32 i = 0; i < TILE; i++)
      sum = __builtin_fmaf(a_tile[y][i], b_tile[i][x], sum);
    group_barrier();
  }
  c[row * size + column] = sum;
}
GOLDEN_ENTRY(matmul, const f32 *, const f32 *, f32 *, u32)
