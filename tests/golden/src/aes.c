/* AES-128 (FIPS 197) of one block an item. The S-box is computed into LDS by its definition: the inverse in
 * GF(2^8) and an affine map. */
#include "golden.h"

FN u8 times(u8 a, u8 b) {
  u32 x = a, product = 0;
  for (u32 k = 0; k < 8; k++) {
    product ^= b >> k & 1 ? x : 0;
    x = x << 1 ^ (x & 128 ? 0x11b : 0);
  }
  return (u8)product;
}

FN u8 substitute(u8 x) {
  u8 inverse = 1, power = x;
  /* x^254 */
  for (u32 k = 1; k < 8; k++) {
    power = times(power, power);
    inverse = times(inverse, power);
  }
  u32 turned = inverse * 0x101u;
  return (u8)(inverse ^ turned >> 4 ^ turned >> 5 ^ turned >> 6 ^ turned >> 7 ^ 0x63);
}

KERNEL void aes128(GLOBAL const u8 *key, GLOBAL const u8 *in, GLOBAL u8 *out, u32 count) {
  LDS_ARRAY(u8, box, 256);
  LDS_ARRAY(u8, keys, 176);
  u32 item = item_id(0), i = global_id(0);
  for (u32 k = item; k < 256; k += group_size(0))
    box[k] = substitute((u8)k);
  group_barrier();
  if (item == 0) {
    u8 constant = 1;
    for (u32 k = 0; k < 176; k++) {
      if (k < 16) {
        keys[k] = key[k];
        continue;
      }
      u8 before = keys[k - 4];
      if (k % 16 < 4) {
        before = box[keys[k % 4 == 3 ? k - 7 : k - 3]];
        if (k % 16 == 0) {
          before ^= constant;
          constant = times(constant, 2);
        }
      }
      keys[k] = keys[k - 16] ^ before;
    }
  }
  group_barrier();
  if (i >= count)
    return;
  u8 state[16];
  for (u32 k = 0; k < 16; k++)
    state[k] = in[16 * i + k] ^ keys[k];
  for (u32 round = 1; round <= 10; round++) {
    u8 moved[16];
    for (u32 k = 0; k < 16; k++)
      moved[k] = box[state[(k + 4 * (k % 4)) % 16]];
    for (u32 c = 0; c < 16; c += 4)
      for (u32 r = 0; r < 4; r++) {
        u8 mixed = moved[c + r];
        if (round < 10)
          mixed = times(mixed, 2) ^ times(moved[c + (r + 1) % 4], 3) ^ moved[c + (r + 2) % 4] ^ moved[c + (r + 3) % 4];
        state[c + r] = mixed ^ keys[16 * round + c + r];
      }
  }
  for (u32 k = 0; k < 16; k++)
    out[16 * i + k] = state[k];
}
GOLDEN_ENTRY(aes128, const u8 *, const u8 *, u8 *, u32)
