/* c = a b with tiles in group memory, compared bit by bit.
 *
 *   matmul CODE_OBJECT [SIZE [GPU_NAME]]      SIZE is a multiple of 16
 */
#include "launch.h"

#include <math.h>

enum { TILE = 16 };

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s CODE_OBJECT [SIZE [GPU_NAME]]\n", argv[0]);
    return 2;
  }
  uint32_t size = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 64;
  MUST(hsa_init());
  agents_t agents = find_agents(argc > 3 ? argv[3] : NULL);
  char name[64];
  MUST(hsa_agent_get_info(agents.gpu, HSA_AGENT_INFO_NAME, name));
  hsa_executable_t executable = load_code(agents.gpu, argv[1]);
  kernel_t kernel = find_kernel(executable, agents.gpu, "matmul.kd");
  CHECK(kernel.group == 2 * TILE * TILE * sizeof(float));

  hsa_amd_memory_pool_t host = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  hsa_amd_memory_pool_t device = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  size_t bytes = (size_t)size * size * sizeof(float);
  float *a = allocate(host, bytes, agents.gpu), *b = allocate(host, bytes, agents.gpu);
  float *c = allocate(host, bytes, agents.gpu), *on_device[3];
  for (uint32_t i = 0; i < size * size; i++) {
    a[i] = (float)(i * 2654435761u % 1000) / 7.0f - 50.0f;
    b[i] = (float)(i * 40503u % 999) / 13.0f - 30.0f;
  }
  /* By the runtime's own kernels: to device memory and back. */
  for (int i = 0; i < 3; i++)
    MUST(hsa_amd_memory_pool_allocate(device, bytes, 0, (void **)&on_device[i]));
  MUST(hsa_memory_copy(on_device[0], a, bytes));
  MUST(hsa_memory_copy(on_device[1], b, bytes));

  struct {
    const float *a, *b;
    float *c;
    uint32_t size;
  } explicit = {on_device[0], on_device[1], on_device[2], size};
  uint32_t grid[3] = {size, size, 1};
  uint16_t group[3] = {TILE, TILE, 1};
  void *kernarg = make_kernarg(&agents, &kernel, &explicit, sizeof explicit, grid, group);
  hsa_queue_t *queue = make_queue(agents.gpu);
  run_kernel(queue, &kernel, grid, group, kernarg);
  MUST(hsa_memory_copy(c, on_device[2], bytes));

  uint32_t wrong = 0;
  for (uint32_t row = 0; row < size; row++)
    for (uint32_t column = 0; column < size; column++) {
      float sum = 0.0f;
      for (uint32_t k = 0; k < size; k++)
        sum = fmaf(a[row * size + k], b[k * size + column], sum);
      if (memcmp(&sum, &c[row * size + column], sizeof sum) && wrong++ < 5)
        fprintf(stderr, "c[%u][%u] is %a, not %a\n", row, column, c[row * size + column], sum);
    }
  CHECK(wrong == 0);

  MUST(hsa_queue_destroy(queue));
  void *all[] = {kernarg, on_device[0], on_device[1], on_device[2], a, b, c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    MUST(hsa_amd_memory_pool_free(all[i]));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_shut_down());
  char what[128];
  snprintf(what, sizeof what, "matmul on %s, %u by %u", name, size, size);
  return report(what);
}
