/* Partial sums of a[i] * b[i], one a group of 64, by a tree in LDS: for code objects of versions 2 and 3, which have a
 * metadata and hidden arguments of their own. README.md has the commands. */
__kernel void dot_product(__global const float *a, __global const float *b, __global float *partial, uint count) {
  __local float sums[64];
  uint item = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x(), i = group * 64 + item;
  sums[item] = i < count ? a[i] * b[i] : 0.0f;
  for (uint half_size = 32; half_size > 0; half_size /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (item < half_size)
      sums[item] += sums[item + half_size];
  }
  if (item == 0)
    partial[group] = sums[0];
}
