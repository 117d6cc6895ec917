/* Copies memory, a dword an item. */
#include "golden.h"

KERNEL void stream_copy(GLOBAL const u32 *from, GLOBAL u32 *to, u32 count) {
  u32 i = global_id(0);
  if (i < count)
    to[i] = from[i];
}
GOLDEN_ENTRY(stream_copy, const u32 *, u32 *, u32)
