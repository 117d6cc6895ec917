/* Two GPUs: each computes, one reads the other's memory, bytes travel from one to the other. */
#include "check.h"

__global__ void fill(int *p, int n, int start) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = start + i;
}

__global__ void gather(const int *far, int *near, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    near[i] = far[i] + 1;
}

int main() {
  const int n = 10000, blocks = (n + 255) / 256;
  int count = 0, can = 0;
  HIP(hipGetDeviceCount(&count));
  CHECK(count == 2, "%d devices", count);
  int *first, *second, *copied;
  HIP(hipSetDevice(0));
  HIP(hipMalloc(&first, n * sizeof(int)));
  fill<<<blocks, 256>>>(first, n, 100);
  HIP(hipDeviceSynchronize());
  HIP(hipSetDevice(1));
  HIP(hipMalloc(&second, n * sizeof(int)));
  HIP(hipMalloc(&copied, n * sizeof(int)));
  HIP(hipDeviceCanAccessPeer(&can, 1, 0));
  CHECK(can, "the second GPU cannot reach the first one's memory");
  HIP(hipDeviceEnablePeerAccess(0, 0));
  gather<<<blocks, 256>>>(first, second, n);
  HIP(hipDeviceSynchronize());
  HIP(hipMemcpyPeer(copied, 1, first, 0, n * sizeof(int)));
  std::vector<int> read(n), moved(n);
  HIP(hipMemcpy(read.data(), second, n * sizeof(int), hipMemcpyDeviceToHost));
  HIP(hipMemcpy(moved.data(), copied, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    CHECK(read[i] == 101 + i, "read[%d] = %d", i, read[i]);
    CHECK(moved[i] == 100 + i, "moved[%d] = %d", i, moved[i]);
  }
  HIP(hipFree(second));
  HIP(hipFree(copied));
  HIP(hipSetDevice(0));
  HIP(hipFree(first));
  return finish("hip/peers");
}
