/* One step of an n-body system; bodies are staged in LDS, distances by v_rsq_f32. */
#include "golden.h"

#define GROUP 64

typedef f32 float4 __attribute__((ext_vector_type(4)));

__global__ void nbody(const float4 *bodies, float4 *acceleration, u32 count, f32 softening) {
  __shared__ float4 staged[GROUP];
  u32 i = global_id(0);
  float4 self = bodies[i < count ? i : 0];
  f32 ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (u32 base = 0; base < count; base += GROUP) {
    u32 j = base + item_id(0);
    staged[item_id(0)] = j < count ? bodies[j] : (float4)(0.0f);
    group_barrier();
    for (u32 k = 0; k < GROUP; k++) {
      float4 other = staged[k];
      f32 dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      f32 square = __builtin_fmaf(dx, dx, __builtin_fmaf(dy, dy, __builtin_fmaf(dz, dz, softening)));
      f32 inverse = approximate_rsqrt(square);
      f32 force = other.w * inverse * inverse * inverse;
      ax = __builtin_fmaf(force, dx, ax);
      ay = __builtin_fmaf(force, dy, ay);
      az = __builtin_fmaf(force, dz, az);
    }
    group_barrier();
  }
  if (i < count) {
    float4 result = {ax, ay, az, 0.0f};
    acceleration[i] = result;
  }
}
GOLDEN_ENTRY(nbody, const float4 *, float4 *, u32, f32)
