/* LDS whose size the packet gives, beside some of fixed size. */
#include "golden.h"

__global__ void dynamic_lds(const u32 *in, u32 *out, u32 words) {
  __shared__ u32 fixed[64];
  DYNAMIC_LDS(u32, dynamic);
  u32 item = item_id(0);
  fixed[item & 63] = 0;
  for (u32 k = item; k < words; k += group_size(0))
    dynamic[k] = in[group_id(0) * words + k] + k;
  group_barrier();
  if (item < 64)
    for (u32 k = item; k < words; k += 64)
      fixed[item] += dynamic[words - 1 - k];
  group_barrier();
  for (u32 k = item; k < words; k += group_size(0))
    out[group_id(0) * words + k] = dynamic[(k * 17 + 3) % words] ^ fixed[k & 63];
}
GOLDEN_ENTRY(dynamic_lds, const u32 *, u32 *, u32)

#if !defined(__AMDGCN__) || GOLDEN_CODE_OBJECT_VERSION >= 5
/* Version 5 tells the kernel how much it got. */
__global__ void dynamic_lds_size(u32 *out) {
  DYNAMIC_LDS(u32, dynamic);
  dynamic[item_id(0)] = item_id(0);
  group_barrier();
  u32 words = hidden_dynamic_lds_size() / 4;
  out[item_id(0)] = words + dynamic[words - 1 - item_id(0)];
}
GOLDEN_ENTRY(dynamic_lds_size, u32 *)
#endif
