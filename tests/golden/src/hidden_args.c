/* What the runtime passes unasked: dispatch packet, hidden arguments, apertures. */
#include "golden.h"

/* One row of 16 words a work-group, written by its last item. */
#define ROW(n) out[(((group_id(2) * groups_y + group_id(1)) * groups_x + group_id(0)) * 16) + n]

/* By the dispatch packet: every code object version has it. */
KERNEL void dispatch_packet(GLOBAL u32 *out, u32 groups_x, u32 groups_y) {
  if (item_id(0) | item_id(1) | item_id(2))
    return;
  for (u32 d = 0; d < 3; d++) {
    ROW(d) = packet_group_size(d);
    ROW(3 + d) = packet_grid_size(d);
    ROW(6 + d) = group_id(d);
  }
  ROW(9) = packet_dimensions();
  ROW(10) = group_size(0) + group_size(1) * 1000;
  ROW(11) = packet_kernarg_is_ours(&out, 0);
  for (u32 k = 12; k < 16; k++)
    ROW(k) = k;
}
GOLDEN_ENTRY(dispatch_packet, u32 *, u32, u32)

/* By the registers that a kernel may ask for: the queue, whose ring holds the packet at the place that the
 * dispatch's number says. */
KERNEL void dispatch_registers(GLOBAL u32 *out) {
  if (item_id(0))
    return;
  out[3 * group_id(0) + 0] = queue_size_is_a_power_of_two();
  out[3 * group_id(0) + 1] = packet_is_in_the_ring();
  out[3 * group_id(0) + 2] = packet_is_at_its_number();
}
GOLDEN_ENTRY(dispatch_registers, u32 *)

#if !defined(__AMDGCN__) || GOLDEN_CODE_OBJECT_VERSION >= 5
KERNEL void hidden_args_v5(GLOBAL u32 *out, u32 groups_x, u32 groups_y) {
  if (item_id(0) | item_id(1) | item_id(2))
    return;
  for (u32 d = 0; d < 3; d++) {
    ROW(d) = hidden_block_count(d);
    ROW(3 + d) = hidden_group_size(d);
    ROW(6 + d) = hidden_remainder(d);
    ROW(9 + d) = (u32)hidden_global_offset(d);
  }
  ROW(12) = hidden_grid_dims();
  ROW(13) = group_id(0);
  ROW(14) = group_id(1);
  ROW(15) = group_id(2);
}
GOLDEN_ENTRY(hidden_args_v5, u32 *, u32, u32)
#endif

#if !defined(__AMDGCN__) || GOLDEN_CODE_OBJECT_VERSION == 4
KERNEL void hidden_args_v4(GLOBAL u32 *out, u32 groups_x, u32 groups_y) {
  if (item_id(0) | item_id(1) | item_id(2))
    return;
  for (u32 d = 0; d < 3; d++) {
    ROW(d) = packet_group_size(d);
    ROW(3 + d) = packet_grid_size(d);
    ROW(6 + d) = (u32)hidden_global_offset_v4(d);
    ROW(9 + d) = group_id(d);
  }
  for (u32 k = 12; k < 16; k++)
    ROW(k) = k;
}
GOLDEN_ENTRY(hidden_args_v4, u32 *, u32, u32)
#endif

/* Generic addresses: the hardware tells LDS and scratch from memory by their apertures. */
NOINLINE static u32 through_generic(const u32 *address, u32 n) { return address[n & 1] + 1; }

KERNEL void address_spaces(GLOBAL const u32 *in, GLOBAL u32 *out, u32 count) {
  LDS_ARRAY(u32, staged, 256);
  u32 i = global_id(0), item = item_id(0);
  u32 at = i < count ? i : 0;
  staged[item] = in[at];
  group_barrier();
  /* volatile: the compiler may otherwise place it in LDS, where the answers below are other ones. */
  volatile u32 own[2] = {in[at] * 5, i};
  if (i >= count)
    return;
  const u32 *choice = in[i] % 3 == 0   ? (const u32 *)&staged[item & ~1u]
                      : in[i] % 3 == 1 ? (const u32 *)own
                                       : (const u32 *)&in[i & ~1u];
  out[3 * i + 0] = through_generic(choice, in[i] >> 4);
  out[3 * i + 1] = is_lds_address(choice, in[i] % 3 == 0) ? 1 : 0;
  out[3 * i + 2] = is_private_address(choice, in[i] % 3 == 1) ? 1 : 0;
}
GOLDEN_ENTRY(address_spaces, const u32 *, u32 *, u32)
