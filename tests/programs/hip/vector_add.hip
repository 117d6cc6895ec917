/* The first HIP program that anybody writes. */
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main() {
  const int n = 100003;
  std::vector<float> a(n), b(n), c(n, -1);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = 0.5f * i;
  }
  float *da, *db, *dc;
  const size_t bytes = n * sizeof(float);
  HIP(hipMalloc(&da, bytes));
  HIP(hipMalloc(&db, bytes));
  HIP(hipMalloc(&dc, bytes));
  HIP(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  HIP(hipGetLastError());
  HIP(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    CHECK(c[i] == a[i] + b[i], "c[%d] = %g", i, c[i]);
  HIP(hipFree(da));
  HIP(hipFree(db));
  HIP(hipFree(dc));
  return finish("hip/vector_add");
}
