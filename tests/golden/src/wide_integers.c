/* Integers of 128 bits, and the PCG generators that use them. */
#include "golden.h"

typedef unsigned __int128 u128;
typedef __int128 i128;

FN u128 join(u64 high, u64 low) { return (u128)high << 64 | low; }

#define PUT(value)                  \
  do {                              \
    u128 result = (u128)(value);    \
    out[place++] = (u64)result;     \
    out[place++] = (u64)(result >> 64); \
  } while (0)

KERNEL void int128(GLOBAL const u64 *in, GLOBAL u64 *out, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u128 a = join(in[i], in[(i + 1) % count]), b = join(in[(i + 2) % count], in[(i + 3) % count]);
  u32 n = (u32)in[i] & 127, place = 24 * i;
  u128 divisor = (b >> n) | 1;
  PUT(a + b);
  PUT(a - b);
  PUT(a * b);
  PUT(a << n);
  PUT(a >> n);
  PUT((i128)a >> n);
  PUT(a / divisor);
  PUT(a % divisor);
  PUT((i128)a / (i128)(divisor >> 1 | 1));
  PUT((i128)a % (i128)(divisor >> 1 | 1));
  PUT((a < b) + 2 * ((i128)a < (i128)b) + 4 * (a == a << n) + 8 * (u32)__builtin_popcountll(in[i]));
  PUT(~a ^ -b);
}
GOLDEN_ENTRY(int128, const u64 *, u64 *, u32)

/* XSH-RR of 64 bits of state, with a jump ahead, and XSL-RR of 128 bits. */
KERNEL void pcg(GLOBAL const u64 *seeds, GLOBAL u32 *words, GLOBAL u64 *longs, u32 count, u32 length) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u64 state = seeds[i], increment = 2 * (u64)i + 1;
  /* Jump 1000 steps by squaring the step. */
  u64 factor = 1, sum = 0, by_factor = 6364136223846793005ul, by_sum = increment;
  for (u64 steps = 1000; steps; steps >>= 1) {
    if (steps & 1) {
      factor *= by_factor;
      sum = sum * by_factor + by_sum;
    }
    by_sum *= by_factor + 1;
    by_factor *= by_factor;
  }
  state = state * factor + sum;
  for (u32 k = 0; k < length; k++) {
    u32 shifted = (u32)((state >> 18 ^ state) >> 27), turn = (u32)(state >> 59);
    words[i * length + k] = shifted >> turn | shifted << (-turn & 31);
    state = state * 6364136223846793005ul + increment;
  }
  u128 wide = join(state, seeds[i]), constant = join(2549297995355413924ul, 4865540595714422341ul);
  for (u32 k = 0; k < length; k++) {
    wide = wide * constant + increment;
    u64 folded = (u64)(wide >> 64) ^ (u64)wide;
    u32 turn = (u32)(wide >> 122);
    longs[i * length + k] = folded >> turn | folded << (-turn & 63);
  }
}
GOLDEN_ENTRY(pcg, const u64 *, u32 *, u64 *, u32, u32)
