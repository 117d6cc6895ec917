/* c[i] = a[i] + b[i] on the first GPU agent, checked element by element.
 *
 *   vector_add CODE_OBJECT [COUNT [GPU_NAME]]
 *
 * The code object holds a kernel vector_add(const float *, const float *, float *, uint32_t).
 */
#include "launch.h"

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s CODE_OBJECT [COUNT [GPU_NAME]]\n", argv[0]);
    return 2;
  }
  uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 100000;
  MUST(hsa_init());
  agents_t agents = find_agents(argc > 3 ? argv[3] : NULL);
  char name[64];
  MUST(hsa_agent_get_info(agents.gpu, HSA_AGENT_INFO_NAME, name));
  hsa_executable_t executable = load_code(agents.gpu, argv[1]);
  uint32_t valid = 1;
  MUST(hsa_executable_validate(executable, &valid));
  CHECK(valid == 0);
  kernel_t kernel = find_kernel(executable, agents.gpu, "vector_add.kd");

  /* Inputs in host memory, the output in device memory, copied back. */
  hsa_amd_memory_pool_t host = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  hsa_amd_memory_pool_t device = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  size_t bytes = count * sizeof(float);
  float *a = allocate(host, bytes, agents.gpu), *b = allocate(host, bytes, agents.gpu);
  float *c = allocate(host, bytes, agents.gpu), *on_device;
  MUST(hsa_amd_memory_pool_allocate(device, bytes, 0, (void **)&on_device));
  for (uint32_t i = 0; i < count; i++) {
    a[i] = (float)i * 0.5f;
    b[i] = (float)(count - i) * 0.25f;
    c[i] = -1.0f;
  }
  struct {
    const float *a, *b;
    float *c;
    uint32_t count;
  } explicit = {a, b, on_device, count};
  uint32_t grid[3] = {count, 1, 1}; /* the last work-group is partial */
  uint16_t group[3] = {256, 1, 1};
  void *kernarg = make_kernarg(&agents, &kernel, &explicit, sizeof explicit, grid, group);
  hsa_queue_t *queue = make_queue(agents.gpu);
  run_kernel(queue, &kernel, grid, group, kernarg);

  hsa_signal_t copied;
  MUST(hsa_signal_create(1, 0, NULL, &copied));
  MUST(hsa_amd_memory_async_copy(c, agents.cpu, on_device, agents.gpu, bytes, 0, NULL, copied));
  wait_for(copied);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count; i++)
    if (c[i] != a[i] + b[i] && wrong++ < 5)
      fprintf(stderr, "c[%u] is %g, not %g\n", i, c[i], a[i] + b[i]);
  CHECK(wrong == 0);

  MUST(hsa_signal_destroy(copied));
  MUST(hsa_queue_destroy(queue));
  void *all[] = {kernarg, on_device, a, b, c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    MUST(hsa_amd_memory_pool_free(all[i]));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_shut_down());
  char what[128];
  snprintf(what, sizeof what, "vector_add on %s, %u elements", name, count);
  return report(what);
}
