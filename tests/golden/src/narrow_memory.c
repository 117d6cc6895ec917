/* Bytes and halves in memory and in LDS, with and without sign, and unaligned words. */
#include "golden.h"

#define GROUP 128

typedef u32 __attribute__((aligned(1))) unaligned_u32;
typedef u64 __attribute__((aligned(2))) unaligned_u64;

KERNEL void narrow_memory(GLOBAL const u8 *bytes, GLOBAL const u16 *halves, GLOBAL u8 *out_bytes,
                          GLOBAL i16 *out_halves, GLOBAL u32 *out_words, u32 count) {
  LDS_ARRAY(u8, staged_bytes, GROUP);
  LDS_ARRAY(u16, staged_halves, GROUP + 4);
  u32 i = global_id(0), item = item_id(0);
  u32 at = i < count ? i : 0;
  u8 ub = bytes[at];
  i8 sb = ((GLOBAL const i8 *)bytes)[at];
  u16 uh = halves[at];
  i16 sh = ((GLOBAL const i16 *)halves)[at];
  staged_bytes[item] = ub;
  staged_halves[item] = uh;
  if (item < 4)
    staged_halves[GROUP + item] = (u16)item;
  group_barrier();
  u8 other_byte = staged_bytes[GROUP - 1 - item];
  i8 other_signed = ((LDS i8 *)staged_bytes)[item ^ 1];
  i16 other_half = ((LDS i16 *)staged_halves)[item ^ 3];
  u32 pair = (u32)staged_halves[item] | (u32)staged_halves[item + 1] << 16;
  if (i >= count)
    return;
  out_bytes[i] = (u8)(ub * 3 + other_byte);
  out_halves[i] = (i16)(sh - other_half + sb);
  out_words[4 * i + 0] = (u32)(sb * sh) + uh;
  out_words[4 * i + 1] = pair + (u32)other_signed;
  out_words[4 * i + 2] = *(GLOBAL const unaligned_u32 *)(bytes + (i + 4 <= count ? i : 0));
  u64 wide = *(GLOBAL const unaligned_u64 *)(halves + (i + 4 <= count ? i : 0));
  out_words[4 * i + 3] = (u32)wide ^ (u32)(wide >> 32);
}
GOLDEN_ENTRY(narrow_memory, const u8 *, const u16 *, u8 *, i16 *, u32 *, u32)

/* Small vectors: the widths of vector memory instructions, and pairs packed into one register. */
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));

KERNEL void wide_memory(GLOBAL const u32x4 *in, GLOBAL u32x4 *out, GLOBAL u32x2 *pairs, GLOBAL i16x2 *shorts,
                        u32 count) {
  LDS_ARRAY(u32x4, staged, GROUP);
  u32 i = global_id(0), item = item_id(0);
  staged[item] = in[i < count ? i : 0];
  group_barrier();
  u32x4 other = staged[item ^ 1], self = staged[item];
  if (i >= count)
    return;
  out[i] = self.wzyx + other;
  u32x3 three = other.xyz * 3u;
  u32x2 two = {three.x ^ self.y, three.y - three.z};
  pairs[i] = two;
  i16x2 a = {(i16)self.x, (i16)(self.x >> 16)}, b = {(i16)self.y, (i16)(self.y >> 16)};
  u16x2 shift = {3, 5};
  u16x2 sum = (u16x2)((__builtin_convertvector(a, u16x2) * __builtin_convertvector(b, u16x2)) +
                      (__builtin_convertvector(a, u16x2) << shift)) >> (u16x2)1;
  i16x2 low = __builtin_elementwise_min(a, b), high = __builtin_elementwise_max(a, b);
  shorts[2 * i] = __builtin_convertvector(sum, i16x2);
  shorts[2 * i + 1] = __builtin_convertvector(
      __builtin_convertvector(high, u16x2) - __builtin_convertvector(low, u16x2), i16x2);
}
GOLDEN_ENTRY(wide_memory, const u32x4 *, u32x4 *, u32x2 *, i16x2 *, u32)
