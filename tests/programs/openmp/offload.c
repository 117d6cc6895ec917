/* liboffload, the interface under LLVM's language runtimes: devices, memory, a program from a code object, kernels,
 * queues and events. Left to tear itself down at exit. The code object holds Rukh's golden vector addition. */
#include <stdbool.h>

#include <OffloadAPI.h>
#include <stdio.h>
#include <stdlib.h>

#define OL(call)                                                                                                       \
  do {                                                                                                                 \
    ol_result_t result_ = (call);                                                                                      \
    if (result_ != OL_SUCCESS) {                                                                                       \
      printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, result_->Details ? result_->Details : "");             \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static ol_device_handle_t gpu, host;

static bool pick(ol_device_handle_t device, void *data) {
  (void)data;
  ol_platform_handle_t platform;
  ol_platform_backend_t backend;
  OL(olGetDeviceInfo(device, OL_DEVICE_INFO_PLATFORM, sizeof platform, &platform));
  OL(olGetPlatformInfo(platform, OL_PLATFORM_INFO_BACKEND, sizeof backend, &backend));
  if (backend == OL_PLATFORM_BACKEND_HOST)
    host = device;
  else if (backend == OL_PLATFORM_BACKEND_AMDGPU)
    gpu = device;
  return true;
}

int main(int argc, char **argv) {
  enum { N = 10000 };
  if (argc != 2)
    return printf("usage: offload CODE-OBJECT\n"), 2;
  FILE *file = fopen(argv[1], "rb");
  static char image[1 << 20];
  size_t size = file ? fread(image, 1, sizeof image, file) : 0;

  OL(olInit());
  OL(olIterateDevices(pick, NULL));
  if (!gpu || !host)
    return printf("FAIL no device\n"), 1;
  ol_program_handle_t program;
  ol_symbol_handle_t kernel;
  ol_queue_handle_t queue;
  ol_event_handle_t event;
  OL(olCreateProgram(gpu, image, size, &program));
  OL(olGetSymbol(program, "vector_add", OL_SYMBOL_KIND_KERNEL, &kernel));
  OL(olCreateQueue(gpu, &queue));
  float *a, *b, *there, *back;
  OL(olMemAlloc(gpu, OL_ALLOC_TYPE_HOST, N * sizeof(float), (void **)&a));
  OL(olMemAlloc(gpu, OL_ALLOC_TYPE_MANAGED, N * sizeof(float), (void **)&b));
  OL(olMemAlloc(gpu, OL_ALLOC_TYPE_DEVICE, N * sizeof(float), (void **)&there));
  back = malloc(N * sizeof(float));
  for (int i = 0; i < N; i++) {
    a[i] = i;
    b[i] = 2.0f * i;
  }
  float minus = -1;
  OL(olMemFill(queue, there, sizeof minus, &minus, N * sizeof(float)));
  struct {
    const float *a, *b;
    float *c;
    unsigned n;
  } arguments = {a, b, there, N - 5};
  ol_kernel_launch_size_args_t launch = {1, {(N + 63) / 64, 1, 1}, {64, 1, 1}, 0};
  OL(olLaunchKernel(queue, gpu, kernel, &arguments, sizeof arguments, &launch));
  OL(olCreateEvent(queue, &event));
  OL(olSyncEvent(event));
  OL(olMemcpy(queue, back, host, there, gpu, N * sizeof(float)));
  OL(olSyncQueue(queue));
  for (int i = 0; i < N; i++) {
    float expected = i < N - 5 ? 3.0f * i : -1;
    if (back[i] != expected)
      return printf("FAIL c[%d] = %g, not %g\n", i, back[i], expected), 1;
  }
  OL(olDestroyEvent(event));
  OL(olMemFree(there));
  OL(olMemFree(b));
  OL(olMemFree(a));
  OL(olDestroyQueue(queue));
  OL(olDestroyProgram(program));
  printf("PASS openmp/offload.c\n");
  return 0; /* without olShutDown: the library's own clean-up runs after main */
}
