/* Sorting and scanning as rocPRIM does them: a block's radix sort by ballots, a bitonic sort in LDS, and a scan of
 * the whole grid in one pass, where each group looks back at the sums of those before it. */
#include "golden.h"

#define GROUP 256

__global__ void block_radix_sort(const u32 *in, u32 *out, u32 *order) {
  __shared__ u32 keys[GROUP], from[GROUP], zeros[GROUP / 32];
  u32 item = item_id(0), wave = item / wave_size(), waves = GROUP / wave_size();
  u32 key = in[global_id(0)], origin = item;
  for (u32 bit = 0; bit < 32; bit++) {
    u64 clear = wave_ballot(!(key >> bit & 1));
    if (lane_id() == 0)
      zeros[wave] = (u32)__builtin_popcountl(clear);
    group_barrier();
    u32 before = 0, all = 0;
    for (u32 w = 0; w < waves; w++) {
      before += w < wave ? zeros[w] : 0;
      all += zeros[w];
    }
    u32 rank = wave_mbcnt(clear, before);
    u32 place = key >> bit & 1 ? all + item - rank : rank;
    keys[place] = key;
    from[place] = origin;
    group_barrier();
    key = keys[item];
    origin = from[item];
  }
  out[global_id(0)] = key;
  order[global_id(0)] = origin;
}
GOLDEN_ENTRY(block_radix_sort, const u32 *, u32 *, u32 *)

__global__ void bitonic_sort(const i32 *in, i32 *out) {
  __shared__ i32 keys[2 * GROUP];
  u32 item = item_id(0), base = group_id(0) * 2 * GROUP;
  keys[item] = in[base + item];
  keys[item + GROUP] = in[base + item + GROUP];
  for (u32 size = 2; size <= 2 * GROUP; size *= 2)
    for (u32 step = size / 2; step > 0; step /= 2) {
      group_barrier();
      u32 low = (item / step) * step * 2 + item % step, high = low + step;
      i32 a = keys[low], b = keys[high];
      if ((a > b) == !(low & size)) {
        keys[low] = b;
        keys[high] = a;
      }
    }
  group_barrier();
  out[base + item] = keys[item];
  out[base + item + GROUP] = keys[item + GROUP];
}
GOLDEN_ENTRY(bitonic_sort, const i32 *, i32 *)

/* state: a ticket, then a word a tile: 0 nothing, 1 its own sum, 2 the sum of all up to it; the value below the two
 * bits. A group takes the next tile when it starts, so the tiles before its own are running or done. */
__global__ void lookback_scan(const u32 *in, u32 *out, u64 *state) {
  __shared__ u32 tile_of_group, sums[GROUP];
  __shared__ u64 before_tile;
  u32 item = item_id(0);
  if (item == 0)
    tile_of_group = (u32)__atomic_fetch_add(&state[0], 1ul, __ATOMIC_RELAXED);
  group_barrier();
  u32 tile = tile_of_group, value = in[tile * GROUP + item] & 0xffff;
  sums[item] = value;
  for (u32 step = 1; step < GROUP; step *= 2) {
    group_barrier();
    u32 other = item >= step ? sums[item - step] : 0;
    group_barrier();
    sums[item] += other;
  }
  group_barrier();
  if (item == 0) {
    u64 own = sums[GROUP - 1], before = 0;
    __atomic_store_n(&state[1 + tile], own << 2 | 1, __ATOMIC_RELEASE);
    for (u32 at = tile; at > 0;) {
      u64 seen = __atomic_load_n(&state[at], __ATOMIC_ACQUIRE);
      if (!(seen & 3))
        continue;
      before += seen >> 2;
      if (seen & 2)
        break;
      at--;
    }
    __atomic_store_n(&state[1 + tile], (before + own) << 2 | 2, __ATOMIC_RELEASE);
    before_tile = before;
  }
  group_barrier();
  out[tile * GROUP + item] = (u32)before_tile + sums[item];
}
GOLDEN_ENTRY(lookback_scan, const u32 *, u32 *, u64 *)
