/* Integer operations that have instructions of their own. */
#include "golden.h"

#define PUT(expression) out[row++ * total + i] = (u32)(expression)

__global__ void int_ops(const u32 *a, const u32 *b, u32 *out, u32 total) {
  u32 i = global_id(0), row = 0, x = a[i], y = b[i], z = a[total - 1 - i];
  PUT(__builtin_popcount(x));
  PUT(x ? __builtin_clz(x) : 32);
  PUT(y ? __builtin_ctz(y) : 32);
  PUT(__builtin_bitreverse32(x));
  PUT(__builtin_bswap32(x));
  PUT((x >> 5) & 0x1ff);
  PUT((i32)(x << 7) >> 19);
  PUT((x & y) | (~x & z));
  PUT((u32)(((u64)x * y) >> 32));
  PUT((i64)((i64)(i32)x * (i32)y) >> 32);
  PUT((x & 0xffffff) * (y & 0xffffff));
  PUT(x << (y & 31) | x >> (-y & 31));
  PUT((u32)((((u64)x << 32) | y) >> (z & 31)));
  PUT((i32)x < (i32)y ? ((i32)x < (i32)z ? x : z) : ((i32)y < (i32)z ? y : z));
  PUT(__builtin_elementwise_max(__builtin_elementwise_min(__builtin_elementwise_max(x, y), z), __builtin_elementwise_min(x, y)));
  PUT(__builtin_elementwise_add_sat(x, y));
  PUT(__builtin_elementwise_sub_sat((i32)x, (i32)y));
  PUT(x + y + z);
  PUT((x << 3) + y);
  PUT((x + y) << 5);
  PUT((x ^ y) ^ z);
  PUT((x | y) | z);
  PUT((x & y) | z);
  PUT(__builtin_popcountl((u64)x << 32 | y));
  PUT(__builtin_clzl(((u64)(x & 0xffff) << 32 | y) | 1));
  PUT((x > y) + (y > z) * 2 + ((i32)x > (i32)z) * 4 + (x == y) * 8);
  PUT(byte_permute(x, y, 0x07020500));
  PUT(sum_of_differences(x, y, z));
  PUT(dot4_signed(x, y, z));
  PUT(dot4_unsigned(x, y, z));
  u64 w = (u64)x << 32 | y;
  w = (w << (z & 63)) ^ (w >> (x & 63)) ^ (u64)((i64)w >> (y & 63));
  PUT(w);
  PUT(w >> 32);
}
GOLDEN_ENTRY(int_ops, const u32 *, const u32 *, u32 *, u32)
