/* Arrays of one work-item with dynamic indices live in scratch memory. */
#include "golden.h"

#define SIZE 96

KERNEL void private_array(GLOBAL const u32 *in, GLOBAL u32 *out, u32 count, u32 rounds) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u32 words[SIZE];
  u8 bytes[SIZE];
  u16 halves[SIZE];
  for (u32 k = 0; k < SIZE; k++) {
    words[k] = in[(i + k) % count] + k;
    bytes[k] = (u8)(words[k] >> 3);
    halves[k] = (u16)(words[k] >> 5);
  }
  u32 at = in[i];
  for (u32 k = 0; k < rounds; k++) {
    u32 to = words[at % SIZE] ^ k;
    words[to % SIZE] += at + bytes[(to >> 8) % SIZE];
    bytes[at % SIZE] = (u8)(bytes[(at + k) % SIZE] + to);
    halves[to % SIZE] = (u16)(halves[(to + 1) % SIZE] - at);
    at = to + halves[k % SIZE] + (u32)(i8)bytes[k % SIZE];
  }
  u32 sum = at;
  for (u32 k = 0; k < SIZE; k++)
    sum = sum * 31 + words[k] + bytes[k] + (u32)(i16)halves[k];
  out[i] = sum;
}
GOLDEN_ENTRY(private_array, const u32 *, u32 *, u32, u32)
