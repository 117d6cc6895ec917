/* Escape times: every lane leaves the loop at its own iteration. */
#include "golden.h"

KERNEL void mandelbrot(GLOBAL u32 *out, u32 width, u32 height, f32 left, f32 top, f32 step, u32 limit) {
  u32 x = global_id(0), y = global_id(1);
  if (x >= width || y >= height)
    return;
  f32 cr = left + (f32)x * step, ci = top + (f32)y * step;
  f32 zr = 0.0f, zi = 0.0f;
  u32 n = 0;
  while (n < limit) {
    f32 rr = zr * zr, ii = zi * zi;
    if (rr + ii > 4.0f)
      break;
    zi = 2.0f * zr * zi + ci;
    zr = rr - ii + cr;
    n++;
  }
  out[y * width + x] = n;
}
GOLDEN_ENTRY(mandelbrot, u32 *, u32, u32, f32, f32, f32, u32)
