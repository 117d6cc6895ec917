/* A kernel writes where nothing is: the runtime tells which GPU and where, or ends the process.
 *
 *   memory_fault CODE_OBJECT [handled]
 *
 * With `handled` the program has a handler and goes on; without one the runtime is to abort.
 */
#include "launch.h"

static hsa_amd_event_t seen;
static int events;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data) {
  (void)data;
  seen = *event;
  __atomic_add_fetch(&events, 1, __ATOMIC_RELEASE);
  return HSA_STATUS_SUCCESS;
}

/* A runtime may tell the queue too. */
static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue;
  (void)data;
  CHECK(status == (hsa_status_t)HSA_STATUS_ERROR_MEMORY_FAULT);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  int handled = argc > 2;
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  if (handled)
    MUST(hsa_amd_register_system_event_handler(on_event, NULL));
  hsa_executable_t executable = load_code(agents.gpu, argv[1]);
  kernel_t kernel = find_kernel(executable, agents.gpu, "fault_store.kd");
  hsa_amd_memory_pool_t pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  uint64_t *kernarg = allocate(pool, kernel.kernarg_size, agents.gpu);
  /* Host memory that the GPU was never given. */
  char *page = aligned_alloc(4096, 4096);
  uint64_t address = (uint64_t)(uintptr_t)page;
  memset(page, 0, 4096);
  memset(kernarg, 0, kernel.kernarg_size);
  kernarg[0] = address;
  kernarg[1] = 1;
  printf("address %#" PRIx64 "\n", address);
  fflush(stdout);

  hsa_queue_t *queue;
  hsa_signal_t done;
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, handled ? on_queue_error : NULL, NULL, UINT32_MAX,
                        UINT32_MAX, &queue));
  MUST(hsa_signal_create(1, 0, NULL, &done));
  dispatch(queue, &kernel, (uint32_t[3]){64, 1, 1}, (uint16_t[3]){64, 1, 1}, kernarg, done);
  for (int i = 0; i < 10000 && !__atomic_load_n(&events, __ATOMIC_ACQUIRE); i++)
    usleep(1000);
  CHECK(handled); /* otherwise the process has ended */
  CHECK(events == 1);
  CHECK(seen.event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT);
  CHECK(seen.memory_fault.agent.handle == agents.gpu.handle);
  CHECK((seen.memory_fault.virtual_address & ~4095ull) == address);
  CHECK(seen.memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  for (int i = 0; i < 4096; i++)
    CHECK(page[i] == 0);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_shut_down());
  return report("memory fault");
}
