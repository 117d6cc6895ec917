/* Shuffles and votes of a wave, inside divergent code too. Shuffles stay in halves of 32 lanes, where ds_bpermute
 * means the same everywhere. */
#include "golden.h"

#define PUT(expression) out[row++ * total + i] = (expression)

__device__ static u32 shuffle(u32 value, u32 lane) { return wave_bpermute(((lane_id() & ~31u) + (lane & 31)) * 4, value); }

__global__ void votes(const u32 *in, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, lane = lane_id(), value = in[i];
  u64 everyone = wave_ballot(true), odd = wave_ballot(value & 1), big = wave_ballot(value > 0x10000000u);
  PUT((u32)(everyone ^ everyone >> 32));
  PUT(odd != 0);
  PUT(odd == everyone);
  PUT(big == everyone);
  PUT((u32)__builtin_popcountl(odd & ~big));
  PUT((u32)__builtin_ctzl(odd | 1ul << 63));
  PUT((u32)__builtin_clzl(big | 1));
  u32 up = value, down = value, butterfly = value;
  for (u32 step = 1; step < 32; step *= 2) {
    u32 other = shuffle(up, lane - step);
    up += (lane & 31) >= step ? other : 0;
    other = shuffle(down, lane + step);
    down = (lane & 31) + step < 32 && other > down ? other : down;
    butterfly ^= shuffle(butterfly, lane ^ step) * (2 * step + 1);
  }
  PUT(up);
  PUT(down);
  PUT(butterfly);
  /* The lanes that share a digit with this one, found one bit at a time (match_any). */
  u64 same = everyone;
  for (u32 bit = 0; bit < 3; bit++) {
    u64 set = wave_ballot(value >> bit & 1);
    same &= value >> bit & 1 ? set : ~set;
  }
  PUT((u32)same);
  PUT((u32)(same >> 32));
  u32 inside = 0;
  if (value & 6) {
    u64 here = wave_ballot(value & 2);
    inside = (u32)__builtin_popcountl(here) + wave_mbcnt(here, 1000);
    if (value & 4)
      inside += wave_readfirstlane(value) & 0xff;
  }
  PUT(inside);
  /* Until every lane is through: the loop's condition is a vote. */
  u32 left = value & 31, turns = 0;
  while (wave_ballot(left > 0)) {
    left -= left > 0;
    turns++;
  }
  PUT(turns);
}
GOLDEN_ENTRY(votes, const u32 *, u32 *, u32)
