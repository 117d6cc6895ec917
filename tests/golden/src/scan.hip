/* Prefix sums of a group: DPP inside rows of 16 lanes, readlane across them, LDS across waves. */
#include "golden.h"

#define GROUP 256

__device__ static u32 scan_wave(u32 value) {
  value += wave_dpp(0, value, 0x111, 0xf, 0xf, false); /* row_shr:1 */
  value += wave_dpp(0, value, 0x112, 0xf, 0xf, false);
  value += wave_dpp(0, value, 0x114, 0xf, 0xe, false);
  value += wave_dpp(0, value, 0x118, 0xf, 0xc, false);
  u32 lane = lane_id(), before = 0;
  for (u32 row = 1; row < wave_size() / 16; row++) {
    u32 total = wave_readlane(value, row * 16 - 1);
    before += lane >= row * 16 ? total : 0;
  }
  return value + before;
}

__global__ void scan(const u32 *in, u32 *out, u32 *sums) {
  __shared__ u32 of_wave[GROUP / 32];
  u32 item = item_id(0), wave = item / wave_size();
  u32 value = in[global_id(0)];
  u32 inclusive = scan_wave(value);
  if (lane_id() == wave_size() - 1)
    of_wave[wave] = inclusive;
  group_barrier();
  u32 before = 0;
  for (u32 w = 0; w < wave; w++)
    before += of_wave[w];
  out[global_id(0)] = before + inclusive - value;
  if (item == GROUP - 1)
    sums[group_id(0)] = before + inclusive;
}
GOLDEN_ENTRY(scan, const u32 *, u32 *, u32 *)

/* The same by ds_bpermute: halves of 32 lanes, joined by readlane. */
__global__ void scan_bpermute(const u32 *in, u32 *out) {
  u32 lane = lane_id(), value = in[global_id(0)];
  for (u32 step = 1; step < 32; step *= 2) {
    u32 other = wave_bpermute((lane - step) * 4, value);
    value += (lane & 31) >= step ? other : 0;
  }
  u32 half = wave_readlane(value, 31);
  out[global_id(0)] = value + (lane >= 32 ? half : 0);
}
GOLDEN_ENTRY(scan_bpermute, const u32 *, u32 *)

/* Keeps the odd values in order: ballot and mbcnt give each lane its place. */
__global__ void compact(const u32 *in, u32 *out, u32 *counts) {
  u32 value = in[global_id(0)], first = global_id(0) - lane_id();
  u64 keep = wave_ballot(value & 1);
  u32 place = wave_mbcnt(keep, 0);
  if (value & 1)
    out[first + place] = value;
  if (lane_id() == 0)
    counts[global_id(0) / wave_size()] = (u32)__builtin_popcountl(keep);
}
GOLDEN_ENTRY(compact, const u32 *, u32 *, u32 *)
