/* Loading code and running kernels of it, for the C clients that have more to say than that. */
#ifndef RUKH_LAUNCH_H
#define RUKH_LAUNCH_H

#include "check.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

typedef struct {
  uint64_t object;
  uint32_t kernarg_size, group, private_size;
} kernel_t;

/* Loads the code object of a file for an agent. */
static inline hsa_executable_t load_code(hsa_agent_t agent, const char *path) {
  int file = open(path, O_RDONLY);
  if (file < 0) {
    perror(path);
    exit(1);
  }
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  MUST(hsa_code_object_reader_create_from_file(file, &reader));
  close(file);
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
  MUST(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
  MUST(hsa_executable_freeze(executable, NULL));
  MUST(hsa_code_object_reader_destroy(reader));
  return executable;
}

static inline kernel_t find_kernel(hsa_executable_t executable, hsa_agent_t agent, const char *name) {
  hsa_executable_symbol_t symbol;
  kernel_t kernel;
  MUST(hsa_executable_get_symbol_by_name(executable, name, &agent, &symbol));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                                      &kernel.kernarg_size));
  uint32_t alignment = 0;
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT, &alignment));
  CHECK(alignment >= 16 && kernel.object % 64 == 0);
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                      &kernel.private_size));
  return kernel;
}

/* Memory of a pool, which the agent of `with` reaches too. */
static inline void *allocate(hsa_amd_memory_pool_t pool, size_t bytes, hsa_agent_t with) {
  void *memory;
  MUST(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &with, NULL, memory));
  return memory;
}

/* The hidden arguments of code object version 5 that follow the explicit ones, as far as kernels without
 * runtime services could read them; as the AMDGPU backend of LLVM documents them. */
static inline void fill_hidden(char *kernarg, size_t explicit_bytes, const kernel_t *kernel,
                               const uint32_t grid[3], const uint16_t group[3]) {
  struct {
    uint32_t block_count[3];
    uint16_t group_size[3];
    uint16_t remainder[3];
    uint8_t reserved[16];
    uint64_t global_offset[3];
    uint16_t grid_dims;
  } hidden = {0};
  size_t at = (explicit_bytes + 7) & ~(size_t)7;
  if (kernel->kernarg_size < at + 256)
    return;
  for (int i = 0; i < 3; i++) {
    hidden.block_count[i] = grid[i] / group[i];
    hidden.group_size[i] = group[i];
    hidden.remainder[i] = grid[i] % group[i];
    if (grid[i] > 1)
      hidden.grid_dims = i + 1;
  }
  memcpy(kernarg + at, &hidden, sizeof hidden);
}

/* A queue whose errors end the client. */
static void stop_on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)data;
  fprintf(stderr, "queue %" PRIu64 " stopped: %s\n", queue->id, status_text(status));
  exit(1);
}

static inline hsa_queue_t *make_queue(hsa_agent_t agent) {
  hsa_queue_t *queue;
  MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, stop_on_queue_error, NULL, UINT32_MAX, UINT32_MAX, &queue));
  return queue;
}

/* The kernel's arguments: the explicit ones, then the hidden ones. */
static inline void *make_kernarg(const agents_t *agents, const kernel_t *kernel, const void *explicit_arguments,
                                 size_t explicit_bytes, const uint32_t grid[3], const uint16_t group[3]) {
  hsa_amd_memory_pool_t pool = find_pool(agents->cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  char *kernarg = allocate(pool, kernel->kernarg_size, agents->gpu);
  memset(kernarg, 0, kernel->kernarg_size);
  /* A structure of C ends on its alignment, the arguments of a kernel do not. */
  CHECK(kernel->kernarg_size + 4 >= explicit_bytes);
  memcpy(kernarg, explicit_arguments, explicit_bytes < kernel->kernarg_size ? explicit_bytes : kernel->kernarg_size);
  fill_hidden(kernarg, explicit_bytes, kernel, grid, group);
  return kernarg;
}

/* Publishes a dispatch; gives its index. */
static inline uint64_t dispatch(hsa_queue_t *queue, const kernel_t *kernel, const uint32_t grid[3],
                                const uint16_t group[3], void *kernarg, hsa_signal_t done) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (queue->size - 1));
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = group[0];
  packet->workgroup_size_y = group[1];
  packet->workgroup_size_z = group[2];
  packet->grid_size_x = grid[0];
  packet->grid_size_y = grid[1];
  packet->grid_size_z = grid[2];
  packet->private_segment_size = kernel->private_size;
  packet->group_segment_size = kernel->group;
  packet->kernel_object = kernel->object;
  packet->kernarg_address = kernarg;
  packet->completion_signal = done;
  uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  uint32_t setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  return index;
}

/* Waits until a signal has become 0. */
static inline void wait_for(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0)
    ;
}

/* Runs a kernel to its end. */
static inline void run_kernel(hsa_queue_t *queue, const kernel_t *kernel, const uint32_t grid[3],
                              const uint16_t group[3], void *kernarg) {
  hsa_signal_t done;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  uint64_t index = dispatch(queue, kernel, grid, group, kernarg, done);
  wait_for(done);
  CHECK(hsa_signal_load_scacquire(done) == 0);
  CHECK(hsa_queue_load_read_index_scacquire(queue) >= index);
  MUST(hsa_signal_destroy(done));
}

/* c = a + b on the GPU, by the kernel of the golden vector addition. */
static inline void add_vectors(const agents_t *agents, const char *code, const float *a, const float *b, float *c,
                               uint32_t count) {
  hsa_executable_t executable = load_code(agents->gpu, code);
  kernel_t add = find_kernel(executable, agents->gpu, "vector_add.kd");
  hsa_queue_t *queue = make_queue(agents->gpu);
  struct {
    const float *a, *b;
    float *c;
    uint32_t count;
  } arguments = {a, b, c, count};
  uint32_t grid[3] = {count, 1, 1};
  uint16_t group[3] = {256, 1, 1};
  void *kernarg = make_kernarg(agents, &add, &arguments, sizeof arguments, grid, group);
  run_kernel(queue, &add, grid, group, kernarg);
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_executable_destroy(executable));
}

#endif
