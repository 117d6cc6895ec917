/* A histogram of bytes: counted in LDS a group, then added to memory. */
#include "golden.h"

#define BINS 256

__global__ void histogram(const u32 *in, u32 *bins, u32 count) {
  __shared__ u32 local_bins[BINS];
  for (u32 i = item_id(0); i < BINS; i += group_size(0))
    local_bins[i] = 0;
  group_barrier();
  for (u32 i = global_id(0); i < count; i += grid_size(0)) {
    u32 word = in[i];
    for (u32 byte = 0; byte < 4; byte++)
      __scoped_atomic_fetch_add(&local_bins[(word >> (8 * byte)) & 255], 1u, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_WRKGRP);
  }
  group_barrier();
  for (u32 i = item_id(0); i < BINS; i += group_size(0))
    if (local_bins[i])
      __scoped_atomic_fetch_add(&bins[i], local_bins[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
GOLDEN_ENTRY(histogram, const u32 *, u32 *, u32)
