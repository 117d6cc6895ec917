/* Single precision operations with exact results, and conversions. */
#include "golden.h"

#define PUT(expression) out[row++ * total + i] = (expression)

__device__ static f32 from_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }

__global__ void float_ops(const f32 *a, const f32 *b, f32 *out, u32 total) {
  u32 i = global_id(0), row = 0;
  f32 x = a[i], y = b[i], z = a[total - 1 - i];
  PUT(x * y - z);
  PUT(__builtin_fmaf(x, y, -z));
  PUT(__builtin_fminf(x, y));
  PUT(__builtin_fmaxf(x, __builtin_fmaxf(y, z)));
  PUT(__builtin_fminf(__builtin_fmaxf(x, -1.0f), 1.0f));
  PUT(__builtin_floorf(x));
  PUT(__builtin_ceilf(x));
  PUT(__builtin_truncf(x));
  PUT(__builtin_rintf(x));
  PUT(x - __builtin_floorf(x));
  PUT(__builtin_fabsf(x) - -y);
  PUT(__builtin_copysignf(x, y));
  PUT(x > y ? 2.0f * x : 0.25f * y);
  PUT(__builtin_ldexpf(x, (i32)i % 40 - 20));
  PUT(from_bits((u32)(i32)(x * 100.0f)));
  PUT(from_bits((u32)(__builtin_fabsf(y) * 100.0f)));
  PUT((f32)(i32)(i * 0x01234567u));
  PUT((f32)(i * 0x89abcdefu));
  PUT((f32)(i8)i + (f32)(u8)(i * 7));
  PUT((f32)(u64)((u64)i * 0x123456789abcdul));
  PUT((f32)(i64)((u64)i * 0xf23456789abcdef1ul));
  PUT((f32)(_Float16)x);
  PUT((f32)(double)y * 1.5f);
  PUT((x < y) + 2 * (x <= z) + 4 * (y != z) + 8 * !(x >= y));
  PUT(__builtin_isnan(x * y) ? 1.0f : __builtin_isinf(z * 3e38f) ? 2.0f : 3.0f);
  PUT(x * 0x1p-126f * y);
}
GOLDEN_ENTRY(float_ops, const f32 *, const f32 *, f32 *, u32)
