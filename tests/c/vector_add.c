/* c[i] = a[i] + b[i] on the first GPU agent, checked element by element.
 *
 *   vector_add CODE_OBJECT [COUNT [GPU_NAME]]
 *
 * The code object holds a kernel vector_add(const float *, const float *, float *, uint32_t).
 */
#include "check.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

/* Explicit arguments. */
typedef struct {
  const float *a, *b;
  float *c;
  uint32_t count;
} arguments_t;

/* The hidden arguments that follow them in code object version 5, as far as this kernel could read
 * them. The fields are as the AMDGPU backend of LLVM documents them; those of version 4 are zero. */
typedef struct {
  uint32_t block_count[3];
  uint16_t group_size[3];
  uint16_t remainder[3];
  uint8_t reserved[16];
  uint64_t global_offset[3];
  uint16_t grid_dims;
} hidden_t;
_Static_assert(offsetof(hidden_t, global_offset) == 40 && offsetof(hidden_t, grid_dims) == 64, "layout");
enum { GROUP = 256, V5_HIDDEN_BYTES = 256 };

static void queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)data;
  fprintf(stderr, "queue %" PRIu64 " stopped: %s\n", queue->id, status_text(status));
  exit(1);
}

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

  /* Code. */
  int file = open(argv[1], O_RDONLY);
  if (file < 0) {
    perror(argv[1]);
    return 1;
  }
  hsa_code_object_reader_t reader;
  MUST(hsa_code_object_reader_create_from_file(file, &reader));
  close(file);
  hsa_executable_t executable;
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 &executable));
  MUST(hsa_executable_load_agent_code_object(executable, agents.gpu, reader, NULL, NULL));
  MUST(hsa_executable_freeze(executable, NULL));
  uint32_t valid = 1;
  MUST(hsa_executable_validate(executable, &valid));
  CHECK(valid == 0);
  hsa_executable_symbol_t symbol;
  MUST(hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &agents.gpu, &symbol));
  uint64_t kernel_object = 0;
  uint32_t kernarg_size = 0, kernarg_align = 0, group_size = 0, private_size = 0;
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel_object));
  MUST(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_size));
  MUST(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT, &kernarg_align));
  MUST(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group_size));
  MUST(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private_size));
  CHECK(kernel_object % 64 == 0);
  CHECK(kernarg_size >= sizeof(arguments_t));
  CHECK(kernarg_align >= 16);

  /* Memory: inputs in host memory, the output in device memory, copied back. */
  hsa_amd_memory_pool_t kernarg_pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  hsa_amd_memory_pool_t host_pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  hsa_amd_memory_pool_t device_pool = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  size_t bytes = count * sizeof(float);
  float *a, *b, *c_host;
  void *c_device;
  char *kernarg;
  MUST(hsa_amd_memory_pool_allocate(host_pool, bytes, 0, (void **)&a));
  MUST(hsa_amd_memory_pool_allocate(host_pool, bytes, 0, (void **)&b));
  MUST(hsa_amd_memory_pool_allocate(host_pool, bytes, 0, (void **)&c_host));
  MUST(hsa_amd_memory_pool_allocate(device_pool, bytes, 0, &c_device));
  MUST(hsa_amd_memory_pool_allocate(kernarg_pool, kernarg_size, 0, (void **)&kernarg));
  MUST(hsa_amd_agents_allow_access(1, &agents.gpu, NULL, a));
  MUST(hsa_amd_agents_allow_access(1, &agents.gpu, NULL, b));
  MUST(hsa_amd_agents_allow_access(1, &agents.gpu, NULL, c_host));
  MUST(hsa_amd_agents_allow_access(1, &agents.gpu, NULL, kernarg));
  for (uint32_t i = 0; i < count; i++) {
    a[i] = (float)i * 0.5f;
    b[i] = (float)(count - i) * 0.25f;
    c_host[i] = -1.0f;
  }
  memset(kernarg, 0, kernarg_size);
  arguments_t arguments = {a, b, c_device, count};
  memcpy(kernarg, &arguments, sizeof arguments);
  if (kernarg_size >= sizeof arguments + V5_HIDDEN_BYTES) {
    hidden_t hidden = {.block_count = {count / GROUP, 1, 1},
                       .group_size = {GROUP, 1, 1},
                       .remainder = {count % GROUP, 0, 0},
                       .grid_dims = 1};
    memcpy(kernarg + sizeof arguments, &hidden, sizeof hidden);
  }

  /* Dispatch. */
  hsa_queue_t *queue;
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, queue_error, NULL, UINT32_MAX, UINT32_MAX,
                        &queue));
  hsa_signal_t done;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (queue->size - 1));
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = GROUP;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = count; /* the last work-group is partial */
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->private_segment_size = private_size;
  packet->group_segment_size = group_size;
  packet->kernel_object = kernel_object;
  packet->kernarg_address = kernarg;
  packet->completion_signal = done;
  uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  uint32_t setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  hsa_signal_value_t left =
      hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  CHECK(left == 0);
  CHECK(hsa_queue_load_read_index_scacquire(queue) >= index);

  /* Back to the host, and check. */
  hsa_signal_store_relaxed(done, 1);
  MUST(hsa_amd_memory_async_copy(c_host, agents.cpu, c_device, agents.gpu, bytes, 0, NULL, done));
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count; i++)
    if (c_host[i] != a[i] + b[i] && wrong++ < 5)
      fprintf(stderr, "c[%u] is %g, not %g\n", i, c_host[i], a[i] + b[i]);
  CHECK(wrong == 0);

  MUST(hsa_signal_destroy(done));
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_amd_memory_pool_free(c_device));
  MUST(hsa_amd_memory_pool_free(c_host));
  MUST(hsa_amd_memory_pool_free(b));
  MUST(hsa_amd_memory_pool_free(a));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_code_object_reader_destroy(reader));
  MUST(hsa_shut_down());
  char what[128];
  snprintf(what, sizeof what, "vector_add on %s, %u elements", name, count);
  return report(what);
}
