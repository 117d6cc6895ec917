/* Fourier transform of 256 complex numbers in LDS, radix 2, decimation in time. The roots of unity are powers of a
 * constant for each stage, so that host and device round the same way. */
#include "golden.h"

#define POINTS 256

/* cos and sin of -2 pi / 2^(stage + 1). */
__device__ static const f32 roots[8][2] = {
    {-1.0f, 0.0f},          {0.0f, -1.0f},          {0.70710678f, -0.70710678f}, {0.92387953f, -0.38268343f},
    {0.98078528f, -0.19509032f}, {0.99518473f, -0.09801714f}, {0.99879546f, -0.04906767f}, {0.99969882f, -0.02454123f}};

__global__ void fft(const f32 *in, f32 *out) {
  __shared__ f32 re[POINTS], im[POINTS];
  u32 item = item_id(0), base = group_id(0) * POINTS * 2;
  for (u32 k = item; k < POINTS; k += POINTS / 2) {
    u32 from = __builtin_bitreverse32(k) >> 24;
    re[k] = in[base + 2 * from];
    im[k] = in[base + 2 * from + 1];
  }
  for (u32 stage = 0; stage < 8; stage++) {
    group_barrier();
    u32 half = 1u << stage, within = item & (half - 1), low = (item - within) * 2 + within, high = low + half;
    f32 c = 1.0f, s = 0.0f;
    for (u32 k = 0; k < within; k++) {
      f32 next = c * roots[stage][0] - s * roots[stage][1];
      s = c * roots[stage][1] + s * roots[stage][0];
      c = next;
    }
    f32 x = re[high] * c - im[high] * s, y = re[high] * s + im[high] * c;
    f32 u = re[low], v = im[low];
    re[low] = u + x;
    im[low] = v + y;
    re[high] = u - x;
    im[high] = v - y;
  }
  group_barrier();
  for (u32 k = item; k < POINTS; k += POINTS / 2) {
    out[base + 2 * k] = re[k];
    out[base + 2 * k + 1] = im[k];
  }
}
GOLDEN_ENTRY(fft, const f32 *, f32 *)
