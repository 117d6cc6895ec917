/* For tests of lines: a call that stays, calls that are inlined, and a store that faults where the host says so. */
#include "include/lines.h"

__attribute__((noinline)) float apart(float x, int n) {
  for (int i = 0; i < n; ++i)
    x = twice(x) * 0.5f;
  return x;
}

kernel void lines(global float *out, int n) {
  int i = global_id();
  float x = apart((float)i, n);
  if (i & 1)
    x = twice(x);
  out[i] = x + (float)scale(i);
}

kernel void stray(global int *out, ulong at) {
  int i = global_id();
  out[i] = i;
  *(global int *)at = scale(out[i]);
}
