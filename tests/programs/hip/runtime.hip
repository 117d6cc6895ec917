/* What the HIP runtime does around kernels: streams and their order, events with times, asynchronous and
 * two-dimensional copies, pinned and managed host memory, memset, modules, occupancy, limits, host functions. */
#include "check.h"

#include <atomic>

__global__ void scale(int *p, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] *= by;
}

__global__ void spin(int *p, int rounds) {
  int value = *p;
  for (int i = 0; i < rounds; i++)
    value = value * 1664525 + 1013904223;
  *p = value;
}

static void test_streams() {
  const int n = 4096, streams = 4;
  hipStream_t stream[streams];
  int *host[streams], *device[streams];
  for (int s = 0; s < streams; s++) {
    HIP(hipStreamCreateWithFlags(&stream[s], hipStreamNonBlocking));
    HIP(hipHostMalloc((void **)&host[s], n * sizeof(int)));
    HIP(hipMalloc(&device[s], n * sizeof(int)));
    for (int i = 0; i < n; i++)
      host[s][i] = i + s;
  }
  for (int s = 0; s < streams; s++) {
    HIP(hipMemcpyAsync(device[s], host[s], n * sizeof(int), hipMemcpyHostToDevice, stream[s]));
    scale<<<n / 256, 256, 0, stream[s]>>>(device[s], n, s + 2);
    scale<<<n / 256, 256, 0, stream[s]>>>(device[s], n, 3);
    HIP(hipMemcpyAsync(host[s], device[s], n * sizeof(int), hipMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < streams; s++) {
    HIP(hipStreamSynchronize(stream[s]));
    HIP(hipStreamQuery(stream[s]));
    for (int i = 0; i < n; i++)
      CHECK(host[s][i] == (i + s) * (s + 2) * 3, "stream %d: [%d] = %d", s, i, host[s][i]);
    HIP(hipStreamDestroy(stream[s]));
    HIP(hipHostFree(host[s]));
    HIP(hipFree(device[s]));
  }
}

static void test_events() {
  hipEvent_t start, end, between;
  hipStream_t a, b;
  int *d, value = 1;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&end));
  HIP(hipEventCreateWithFlags(&between, hipEventDisableTiming));
  HIP(hipStreamCreate(&a));
  HIP(hipStreamCreate(&b));
  HIP(hipMalloc(&d, sizeof(int)));
  HIP(hipMemcpy(d, &value, sizeof value, hipMemcpyHostToDevice));
  HIP(hipEventRecord(start, a));
  spin<<<1, 1, 0, a>>>(d, 2000);
  HIP(hipEventRecord(between, a));
  HIP(hipStreamWaitEvent(b, between, 0));
  scale<<<1, 1, 0, b>>>(d, 1, 0);
  HIP(hipEventRecord(end, b));
  HIP(hipEventSynchronize(end));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, end));
  CHECK(ms > 0 && ms < 60000, "%g ms between two events", ms);
  HIP(hipMemcpy(&value, d, sizeof value, hipMemcpyDeviceToHost));
  CHECK(value == 0, "a stream did not wait for an event: %d", value);
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(end));
  HIP(hipEventDestroy(between));
  HIP(hipStreamDestroy(a));
  HIP(hipStreamDestroy(b));
  HIP(hipFree(d));
}

static void test_memory() {
  const size_t width = 100 * sizeof(int), height = 37;
  size_t pitch;
  int *d, *linear;
  HIP(hipMallocPitch((void **)&d, &pitch, width, height));
  CHECK(pitch >= width, "pitch %zu", pitch);
  std::vector<int> in(100 * height), out(100 * height, -1);
  for (size_t i = 0; i < in.size(); i++)
    in[i] = (int)i * 3;
  HIP(hipMemset2D(d, pitch, 0xee, width, height));
  HIP(hipMemcpy2D(d, pitch, in.data(), width, width, height, hipMemcpyHostToDevice));
  HIP(hipMemcpy2D(out.data(), width, d, pitch, width, height, hipMemcpyDeviceToHost));
  CHECK(in == out, "a two-dimensional copy changed the data");

  HIP(hipMalloc(&linear, in.size() * sizeof(int)));
  HIP(hipMemcpy2D(linear, width, d, pitch, width, height, hipMemcpyDeviceToDevice));
  out.assign(out.size(), -1);
  HIP(hipMemcpy(out.data(), linear, in.size() * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(in == out, "a device-to-device copy changed the data");
  HIP(hipMemset(linear, 0x5a, in.size() * sizeof(int)));
  HIP(hipMemsetD32((hipDeviceptr_t)(linear + 10), 12345, 20));
  HIP(hipMemcpy(out.data(), linear, in.size() * sizeof(int), hipMemcpyDeviceToHost));
  for (size_t i = 0; i < out.size(); i++)
    CHECK(out[i] == (i >= 10 && i < 30 ? 12345 : 0x5a5a5a5a), "memset: [%zu] = %x", i, out[i]);

  /* Memory of the client's own, registered: the device uses it in place. */
  std::vector<int> own(5000, 4);
  int *seen;
  HIP(hipHostRegister(own.data(), own.size() * sizeof(int), hipHostRegisterMapped));
  HIP(hipHostGetDevicePointer((void **)&seen, own.data(), 0));
  scale<<<20, 256>>>(seen, (int)own.size(), 9);
  HIP(hipDeviceSynchronize());
  for (int value : own)
    CHECK(value == 36, "registered memory: %d", value);
  HIP(hipHostUnregister(own.data()));

  int *mapped, *at;
  HIP(hipHostMalloc((void **)&mapped, 256 * sizeof(int), hipHostMallocMapped | hipHostMallocCoherent));
  for (int i = 0; i < 256; i++)
    mapped[i] = i;
  HIP(hipHostGetDevicePointer((void **)&at, mapped, 0));
  scale<<<1, 256>>>(at, 256, 2);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 256; i++)
    CHECK(mapped[i] == 2 * i, "mapped[%d] = %d", i, mapped[i]);
  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, mapped));
  CHECK(attributes.memoryType == hipMemoryTypeHost, "kind %d", (int)attributes.memoryType);
  HIP(hipPointerGetAttributes(&attributes, linear));
  CHECK(attributes.memoryType == hipMemoryTypeDevice, "kind %d", (int)attributes.memoryType);
  HIP(hipHostFree(mapped));

  size_t before, during, total;
  HIP(hipMemGetInfo(&before, &total));
  char *big;
  HIP(hipMalloc(&big, 64 << 20));
  HIP(hipMemGetInfo(&during, &total));
  CHECK(during + (64 << 20) <= before && before <= total, "free %zu, then %zu of %zu", before, during, total);
  HIP(hipFree(big));
  HIP(hipFree(linear));
  HIP(hipFree(d));
}

static void test_module(const char *path) {
  hipModule_t module;
  hipFunction_t function;
  HIP(hipModuleLoad(&module, path));
  HIP(hipModuleGetFunction(&function, module, "triple"));
  hipFunction_t none;
  CHECK(hipModuleGetFunction(&none, module, "no_such_kernel") == hipErrorNotFound, "a kernel that is not there");
  int *d, n = 300;
  std::vector<int> values(n, 7);
  HIP(hipMalloc(&d, n * sizeof(int)));
  HIP(hipMemcpy(d, values.data(), n * sizeof(int), hipMemcpyHostToDevice));
  void *arguments[] = {&d, &n};
  HIP(hipModuleLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipMemcpy(values.data(), d, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int value : values)
    CHECK(value == 21, "module: %d", value);
  hipDeviceptr_t offset;
  size_t bytes;
  HIP(hipModuleGetGlobal(&offset, &bytes, module, "offset_by"));
  CHECK(bytes == sizeof(int), "a variable of %zu bytes", bytes);
  int plus = 1000;
  HIP(hipMemcpyHtoD(offset, &plus, sizeof plus));
  HIP(hipModuleLaunchKernel(function, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  HIP(hipMemcpy(values.data(), d, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int value : values)
    CHECK(value == 1063, "module after its variable changed: %d", value);
  HIP(hipFree(d));
  HIP(hipModuleUnload(module));
}

static void test_queries() {
  int blocks = 0, grid = 0, block = 0, count = 0;
  HIP(hipGetDeviceCount(&count));
  CHECK(count >= 1, "no device");
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)scale, 256, 0));
  CHECK(blocks >= 1 && blocks <= 64, "%d blocks", blocks);
  HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
  CHECK(block >= 64 && block <= 1024 && grid >= 1, "%d blocks of %d", grid, block);
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  CHECK(properties.multiProcessorCount > 0 && properties.sharedMemPerBlock == 65536 && properties.totalGlobalMem > 0 &&
            properties.maxThreadsPerBlock == 1024 && (properties.warpSize == 64 || properties.warpSize == 32),
        "%s: %d units, %zu bytes of group memory, warp %d", properties.gcnArchName, properties.multiProcessorCount,
        properties.sharedMemPerBlock, properties.warpSize);
  hipFuncAttributes attributes;
  HIP(hipFuncGetAttributes(&attributes, (const void *)scale));
  CHECK(attributes.maxThreadsPerBlock >= 256 && attributes.numRegs > 0, "%d registers", attributes.numRegs);
  printf("device: %s\n", properties.gcnArchName);
}

static std::atomic<int> called;

static void test_host_function() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  int *d;
  HIP(hipMalloc(&d, sizeof(int)));
  spin<<<1, 1, 0, stream>>>(d, 100);
  HIP(hipStreamAddCallback(
      stream, [](hipStream_t, hipError_t, void *data) { called += (int)(size_t)data; }, (void *)42, 0));
  HIP(hipStreamSynchronize(stream));
  CHECK(called == 42, "a host function was called %d times 42", called.load());
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(d));
}

int main(int argc, char **argv) {
  test_queries();
  test_streams();
  test_events();
  test_memory();
  if (argc > 1)
    test_module(argv[1]);
  test_host_function();
  return finish("hip/runtime");
}
