/* Transposes through an LDS tile that is padded by a column; a group moves four rows an item. */
#include "golden.h"

#define TILE 32
#define ROWS 8

__kernel void transpose(__global const u32 *in, __global u32 *out, u32 width, u32 height) {
  __local u32 tile[TILE][TILE + 1];
  u32 x = group_id(0) * TILE + item_id(0), y = group_id(1) * TILE + item_id(1);
  for (u32 row = 0; row < TILE; row += ROWS)
    if (x < width && y + row < height)
      tile[item_id(1) + row][item_id(0)] = in[(y + row) * width + x];
  group_barrier();
  x = group_id(1) * TILE + item_id(0);
  y = group_id(0) * TILE + item_id(1);
  for (u32 row = 0; row < TILE; row += ROWS)
    if (x < height && y + row < width)
      out[(y + row) * height + x] = tile[item_id(0)][item_id(1) + row];
}
GOLDEN_ENTRY(transpose, __global const u32 *, __global u32 *, u32, u32)
