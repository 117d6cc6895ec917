/* The kernels of the benchmark as a programmer writes them for one core: the same arithmetic, loops in place of
 * work-items and barriers. `buffers` and `count` are as `tests/examples/kernels.rs` launches the kernels. */
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef float f32;

void native_vector_add(void *const *buffers, u32 count) {
  const f32 *a = buffers[0], *b = buffers[1];
  f32 *c = buffers[2];
  for (u32 i = 0; i < count; i++)
    c[i] = a[i] + b[i];
}

void native_stream_copy(void *const *buffers, u32 count) {
  const u32 *from = buffers[0];
  u32 *to = buffers[1];
  for (u32 i = 0; i < count; i++)
    to[i] = from[i];
}

void native_matmul(void *const *buffers, u32 size) {
  const f32 *a = buffers[0], *b = buffers[1];
  f32 *c = buffers[2];
  for (u32 row = 0; row < size; row++) {
    for (u32 column = 0; column < size; column++)
      c[row * size + column] = 0.0f;
    for (u32 k = 0; k < size; k++)
      for (u32 column = 0; column < size; column++)
        c[row * size + column] += a[row * size + k] * b[k * size + column];
  }
}

void native_matmul_f16(void *const *buffers, u32 size) {
  const _Float16 *a = buffers[0], *b = buffers[1];
  f32 *c = buffers[2];
  for (u32 row = 0; row < size; row++)
    for (u32 column = 0; column < size; column++) {
      f32 sum = 0.0f;
      for (u32 k = 0; k < size; k++)
        sum += (f32)a[row * size + k] * (f32)b[column * size + k];
      c[row * size + column] = sum;
    }
}

void native_mandelbrot(void *const *buffers, u32 width) {
  u32 *out = buffers[0];
  for (u32 y = 0; y < width; y++)
    for (u32 x = 0; x < width; x++) {
      f32 cr = -2.0f + (f32)x * 0.005f, ci = -1.25f + (f32)y * 0.005f, zr = 0.0f, zi = 0.0f;
      u32 n = 0;
      while (n < 256) {
        f32 rr = zr * zr, ii = zi * zi;
        if (rr + ii > 4.0f)
          break;
        zi = 2.0f * zr * zi + ci;
        zr = rr - ii + cr;
        n++;
      }
      out[y * width + x] = n;
    }
}

void native_histogram(void *const *buffers, u32 count) {
  const u32 *in = buffers[0];
  u32 *bins = buffers[1];
  for (u32 i = 0; i < count; i++)
    for (u32 byte = 0; byte < 4; byte++)
      bins[in[i] >> (8 * byte) & 255]++;
}

typedef f32 float4 __attribute__((ext_vector_type(4)));

f32 sqrtf(f32);

void native_nbody(void *const *buffers, u32 count) {
  const float4 *bodies = buffers[0];
  float4 *acceleration = buffers[1];
  for (u32 i = 0; i < count; i++) {
    float4 self = bodies[i];
    f32 ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (u32 j = 0; j < count; j++) {
      float4 other = bodies[j];
      f32 dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      f32 inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      f32 force = other.w * inverse * inverse * inverse;
      ax += force * dx;
      ay += force * dy;
      az += force * dz;
    }
    acceleration[i] = (float4){ax, ay, az, 0.0f};
  }
}

/* SHA-256 is the kernel's own source, called for each item. */
static u32 serial_item;
typedef int i32;
typedef short i16;
typedef unsigned short u16;
typedef signed char i8;
typedef long i64;
typedef unsigned long u64;
#define GOLDEN_H
#define FN static inline
#define KERNEL static
#define GLOBAL
#define GOLDEN_ENTRY(...)
#define global_id(d) serial_item
#include "../src/sha256.c"

void native_sha256(void *const *buffers, u32 count) {
  for (serial_item = 0; serial_item < count; serial_item++)
    sha256(buffers[0], buffers[1], count);
}
