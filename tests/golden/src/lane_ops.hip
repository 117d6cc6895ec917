/* Every cross-lane operation, each result in its own row of the output. */
#include "golden.h"

#define PUT(expression) out[row++ * total + i] = (expression)

__global__ void lane_ops(const u32 *in, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, lane = lane_id(), value = in[i];
  u32 half = lane & ~31u;
  PUT(lane);
  PUT(wave_readfirstlane(value));
  PUT(wave_readlane(value, 5));
  PUT(wave_readlane(value, wave_size() - 2));
  PUT(wave_writelane(77, 3, value));
  u64 odd = wave_ballot(value & 1);
  PUT((u32)odd);
  PUT((u32)(odd >> 32));
  PUT(wave_mbcnt(odd, 100));
  PUT(wave_bpermute((half + ((lane * 7 + 3) & 31)) * 4, value));
  PUT(wave_permute((half + ((lane * 5 + 1) & 31)) * 4, value));
  PUT(wave_permute((half + ((lane * 2) & 31)) * 4, value)); /* two lanes a target: the last one stays */
  PUT(wave_swizzle(value, 0x8000 | 0x1b));                  /* quad 3, 2, 1, 0 */
  PUT(wave_swizzle(value, 0x041f));                         /* xor 1 */
  PUT(wave_swizzle(value, 0x7c1f));                         /* xor 31 */
  PUT(wave_swizzle(value, 0x00f0 | 0x0003));                /* and, or */
  PUT(wave_dpp(9, value, 0x1b, 0xf, 0xf, false));           /* quad_perm:[3,2,1,0] */
  PUT(wave_dpp(9, value, 0x4e, 0x5, 0xf, false));           /* rows 0 and 2 */
  PUT(wave_dpp(9, value, 0x4e, 0xf, 0xa, false));           /* banks 1 and 3 */
  PUT(wave_dpp(9, value, 0x101, 0xf, 0xf, false));          /* row_shl:1 */
  PUT(wave_dpp(9, value, 0x10f, 0xf, 0xf, true));           /* row_shl:15, zeros beyond */
  PUT(wave_dpp(9, value, 0x113, 0xf, 0xf, false));          /* row_shr:3 */
  PUT(wave_dpp(9, value, 0x113, 0xa, 0x3, true));
  PUT(wave_dpp(9, value, 0x125, 0xf, 0xf, false)); /* row_ror:5 */
  PUT(wave_dpp(9, value, 0x140, 0xf, 0xf, false)); /* row_mirror */
  PUT(wave_dpp(9, value, 0x141, 0xf, 0xf, false)); /* row_half_mirror */
  /* With inactive lanes: what they would give is not read. */
  u32 kept = value;
  if (value & 2) {
    kept = wave_dpp(1000, value, 0x112, 0xf, 0xf, false);
    kept += wave_readfirstlane(lane);
  }
  PUT(kept);
  u32 pulled = 0;
  if (value & 4)
    pulled = wave_bpermute((half + ((lane + 1) & 31)) * 4, value);
  PUT(pulled);
}
GOLDEN_ENTRY(lane_ops, const u32 *, u32 *, u32)

#if !defined(__AMDGCN__) || defined(__gfx90a__) || defined(__gfx942__)
/* What only GFX9 has: controls that reach across rows, and 64-lane permutations. */
__global__ void lane_ops_gfx9(const u32 *in, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, lane = lane_id(), value = in[i];
  PUT(wave_dpp(9, value, 0x130, 0xf, 0xf, false)); /* wave_shl:1 */
  PUT(wave_dpp(9, value, 0x134, 0xf, 0xf, false)); /* wave_rol:1 */
  PUT(wave_dpp(9, value, 0x138, 0xf, 0xf, true));  /* wave_shr:1 */
  PUT(wave_dpp(9, value, 0x13c, 0xf, 0xf, false)); /* wave_ror:1 */
  PUT(wave_dpp(9, value, 0x142, 0xa, 0xf, false)); /* row_bcast:15 */
  PUT(wave_dpp(9, value, 0x143, 0xc, 0xf, false)); /* row_bcast:31 */
  PUT(wave_dpp(9, value, 0x153, 0xf, 0xf, false)); /* row_newbcast:3 */
  PUT(wave_bpermute(((lane * 7 + 3) & 63) * 4, value));
  PUT(wave_permute(((lane * 5 + 1) & 63) * 4, value));
}
GOLDEN_ENTRY(lane_ops_gfx9, const u32 *, u32 *, u32)
#endif

#if !defined(__AMDGCN__) || defined(__gfx1100__)
/* What only RDNA has. */
__global__ void lane_ops_rdna(const u32 *in, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, value = in[i];
  PUT(wave_dpp(9, value, 0x155, 0xf, 0xf, false)); /* row_share:5 */
  PUT(wave_dpp(9, value, 0x163, 0xf, 0xf, false)); /* row_xmask:3 */
  PUT(wave_dpp8(value, 0x53977));
  PUT(wave_permlane16(9, value, 0x76543210, 0xfedcba98));
  PUT(wave_permlane16(9, value, 0x13579bdf, 0x02468ace));
  PUT(wave_permlanex16(9, value, 0x13579bdf, 0x02468ace));
  PUT(wave_size() == 64 ? wave_permlane64(value) : value); /* does nothing in waves of 32 lanes */
}
GOLDEN_ENTRY(lane_ops_rdna, const u32 *, u32 *, u32)
#endif
