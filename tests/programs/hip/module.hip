/* Loaded at run time by runtime.hip. */
#include <hip/hip_runtime.h>

extern "C" __device__ int offset_by;
__device__ int offset_by = 0;

extern "C" __global__ void triple(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = p[i] * 3 + offset_by;
}
