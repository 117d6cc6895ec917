/* Device memory and signals that processes share by handles.
 *
 *   ipc VECTOR_ADD_CODE_OBJECT
 */
#include "launch.h"

#include <sys/wait.h>

#define BYTES ((size_t)64 << 10)
#define COUNT (BYTES / sizeof(float))
#define UNSUPPORTED 47u /* HSA_STATUS_ERROR_NOT_SUPPORTED */

static agents_t agents;

static void double_on_gpu(const char *code, float *values) {
  add_vectors(&agents, code, values, values, values, COUNT);
}

/* Attaches, has the GPU double what is there, and detaches. */
static void use(const char *code, const hsa_amd_ipc_memory_t *handle) {
  float *mapped = NULL, first[2];
  MUST(hsa_amd_ipc_memory_attach(handle, BYTES, 1, &agents.gpu, (void **)&mapped));
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  MUST(hsa_amd_pointer_info(mapped, &info, NULL, NULL, NULL));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_IPC && info.agentBaseAddress == mapped);
  MUST(hsa_memory_copy(first, mapped, sizeof first));
  double_on_gpu(code, mapped);
  float doubled[2];
  MUST(hsa_memory_copy(doubled, mapped, sizeof doubled));
  CHECK(first[1] != 0 && doubled[1] == 2 * first[1]);
  INVALID(ARGUMENT, hsa_amd_ipc_memory_detach(mapped + 1024));
  MUST(hsa_amd_ipc_memory_detach(mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_detach(mapped));
}

/* A kernel counts the other process's signal down; then the two take turns. */
static void use_signal(const char *code, const hsa_amd_ipc_signal_t *handle) {
  hsa_signal_t signal;
  MUST(hsa_amd_ipc_signal_attach(handle, &signal));
  CHECK(hsa_signal_load_scacquire(signal) == 1);
  hsa_executable_t executable = load_code(agents.gpu, code);
  kernel_t add = find_kernel(executable, agents.gpu, "vector_add.kd");
  hsa_queue_t *queue = make_queue(agents.gpu);
  struct {
    const float *a, *b;
    float *c;
    uint32_t count;
  } arguments = {NULL, NULL, NULL, 0};
  uint32_t grid[3] = {64, 1, 1};
  uint16_t group[3] = {64, 1, 1};
  void *kernarg = make_kernarg(&agents, &add, &arguments, sizeof arguments, grid, group);
  dispatch(queue, &add, grid, group, kernarg, signal);
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 7)
    ;
  hsa_signal_add_screlease(signal, 1);
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_signal_destroy(signal));
  INVALID(SIGNAL, hsa_signal_destroy(signal));
}

static hsa_amd_ipc_memory_t handle_of(char **words) {
  hsa_amd_ipc_memory_t handle;
  for (int i = 0; i < 8; i++)
    handle.handle[i] = (uint32_t)strtoul(words[i], NULL, 16);
  return handle;
}

static int other_process(char **argv) {
  hsa_amd_ipc_memory_t handle = handle_of(argv + 2), signal = handle_of(argv + 10);
  use_signal(argv[1], &signal);
  use(argv[1], &handle);
  use(argv[1], &handle);
  MUST(hsa_shut_down());
  return failures != 0;
}

static void misuse(float *memory, float *of_host, const hsa_amd_ipc_memory_t *good) {
  hsa_amd_ipc_memory_t handle = *good;
  void *mapped;
  hsa_signal_t signal;
  MUST(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &signal));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(NULL, BYTES, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(memory, BYTES, NULL));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(memory, 0, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(memory, BYTES + 4096, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(memory + 1024, BYTES - 4096, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(&handle, sizeof handle, &handle));
  EXPECT(UNSUPPORTED, hsa_amd_ipc_memory_create(of_host, 4096, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(NULL, BYTES, 0, NULL, &mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, BYTES, 0, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, 0, 0, NULL, &mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, BYTES - 4096, 0, NULL, &mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, BYTES, 1, NULL, &mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, BYTES, 1, &agents.cpu, &mapped));
  hsa_agent_t nobody = {1};
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(good, BYTES, 1, &nobody, &mapped));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_detach(NULL));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_detach(memory));
  /* Every bit of a handle counts. */
  for (int bit = 0; bit < 256; bit += 5) {
    handle = *good;
    handle.handle[bit / 32] ^= 1u << bit % 32;
    INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(&handle, BYTES, 0, NULL, &mapped));
  }
  memset(&handle, 0, sizeof handle);
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(&handle, BYTES, 0, NULL, &mapped));
  hsa_signal_t ordinary, attached;
  MUST(hsa_signal_create(1, 0, NULL, &ordinary));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_create(ordinary, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_create((hsa_signal_t){0}, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_create(signal, NULL));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_attach(good, &attached));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_attach(NULL, &attached));
  MUST(hsa_amd_ipc_signal_create(signal, &handle));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_attach(&handle, NULL));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(&handle, 4096, 0, NULL, &mapped));
  MUST(hsa_signal_destroy(ordinary));
  /* A signal that is gone is not attached; one that was is not ended by whoever attached it. */
  MUST(hsa_amd_ipc_signal_attach(&handle, &attached));
  CHECK(attached.handle != signal.handle);
  hsa_signal_store_screlease(signal, 5);
  CHECK(hsa_signal_load_scacquire(attached) == 5);
  MUST(hsa_signal_destroy(attached));
  CHECK(hsa_signal_load_scacquire(signal) == 5);
  MUST(hsa_signal_destroy(signal));
  INVALID(SIGNAL, hsa_signal_destroy(signal));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_attach(&handle, &attached));
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  MUST(hsa_init());
  agents = find_agents(NULL);
  if (argc > 17)
    return other_process(argv);
  float *memory, *of_host, *values = malloc(BYTES);
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED), BYTES, 0,
                                    (void **)&memory));
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED), 4096, 0,
                                    (void **)&of_host));
  for (size_t i = 0; i < COUNT; i++)
    values[i] = (float)i;
  MUST(hsa_memory_copy(memory, values, BYTES));
  hsa_amd_ipc_memory_t handle;
  MUST(hsa_amd_ipc_memory_create(memory, BYTES, &handle));
  misuse(memory, of_host, &handle);
  hsa_signal_t signal;
  hsa_amd_ipc_signal_t shared;
  MUST(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &signal));
  MUST(hsa_amd_ipc_signal_create(signal, &shared));
  char words[16][16], *arguments[19] = {argv[0], argv[1]};
  for (int i = 0; i < 16; i++) {
    snprintf(words[i], sizeof words[i], "%x", i < 8 ? handle.handle[i] : shared.handle[i - 8]);
    arguments[2 + i] = words[i];
  }
  int status;
  pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", arguments);
    _exit(99);
  }
  wait_for(signal);
  hsa_signal_store_screlease(signal, 7);
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 8, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 8)
    ;
  MUST(hsa_signal_destroy(signal));
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  /* In the process itself as well. */
  use(argv[1], &handle);
  MUST(hsa_memory_copy(values, memory, BYTES));
  size_t wrong = 0;
  for (size_t i = 0; i < COUNT; i++)
    wrong += values[i] != 8.0f * (float)i;
  CHECK(wrong == 0);
  /* What is attached stays when the exporter frees it; nobody gets it from then on. */
  float *kept;
  void *none;
  MUST(hsa_amd_ipc_memory_attach(&handle, BYTES, 0, NULL, (void **)&kept));
  MUST(hsa_amd_memory_pool_free(memory));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(&handle, BYTES, 0, NULL, &none));
  double_on_gpu(argv[1], kept);
  MUST(hsa_memory_copy(values, kept, BYTES));
  CHECK(values[3] == 48.0f);
  MUST(hsa_amd_ipc_memory_detach(kept));
  MUST(hsa_amd_memory_pool_free(of_host));
  free(values);
  MUST(hsa_shut_down());
  return report("ipc");
}
