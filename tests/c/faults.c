/* Faults of kernels reach the client: the exact status, the address, and the completion signal untouched.
 *
 *   faults CODE_OBJECT      with the kernels fault_store, fault_load and fault_trap
 */
#include "launch.h"

static hsa_status_t queue_status;
static hsa_signal_t queue_stopped;
static hsa_amd_event_t event_seen;
static int events;

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue;
  (void)data;
  queue_status = status;
  hsa_signal_store_screlease(queue_stopped, 1);
}

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data) {
  (void)data;
  event_seen = *event;
  __atomic_add_fetch(&events, 1, __ATOMIC_RELEASE);
  return HSA_STATUS_SUCCESS;
}

/* Runs one work-group of a kernel that faults; gives the status that its queue is told. */
static hsa_status_t run(agents_t *agents, hsa_executable_t executable, const char *kernel, uint64_t first,
                        uint64_t second) {
  kernel_t code = find_kernel(executable, agents->gpu, kernel);
  hsa_queue_t *queue;
  hsa_signal_t done;
  MUST(hsa_queue_create(agents->gpu, 64, HSA_QUEUE_TYPE_MULTI, on_queue_error, NULL, UINT32_MAX, UINT32_MAX,
                        &queue));
  MUST(hsa_signal_create(1, 0, NULL, &done));
  MUST(hsa_signal_create(0, 0, NULL, &queue_stopped));
  uint64_t arguments[2] = {first, second};
  uint32_t grid[3] = {64, 1, 1};
  uint16_t group[3] = {64, 1, 1};
  size_t bytes = code.kernarg_size < sizeof arguments ? code.kernarg_size : sizeof arguments;
  void *kernarg = make_kernarg(agents, &code, arguments, bytes, grid, group);
  dispatch(queue, &code, grid, group, kernarg, done);
  while (hsa_signal_wait_scacquire(queue_stopped, HSA_SIGNAL_CONDITION_EQ, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) != 1)
    ;
  CHECK(hsa_signal_load_scacquire(done) == 1);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(done));
  MUST(hsa_signal_destroy(queue_stopped));
  MUST(hsa_amd_memory_pool_free(kernarg));
  return queue_status;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  MUST(hsa_amd_register_system_event_handler(on_event, NULL));
  hsa_executable_t executable = load_code(agents.gpu, argv[1]);

  /* Host memory that the GPU was never given. */
  char *page = aligned_alloc(4096, 4096);
  uint64_t address = (uint64_t)(uintptr_t)page;
  EXPECT(HSA_STATUS_ERROR_MEMORY_FAULT, run(&agents, executable, "fault_store.kd", address, 1));
  CHECK(events == 1);
  CHECK(event_seen.event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT);
  CHECK(event_seen.memory_fault.agent.handle == agents.gpu.handle);
  CHECK((event_seen.memory_fault.virtual_address & ~4095ull) == address);
  CHECK(event_seen.memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
  EXPECT(HSA_STATUS_ERROR_MEMORY_FAULT, run(&agents, executable, "fault_load.kd", 0x10, address));
  CHECK(events == 2);
  free(page);

  /* s_trap 2. */
  uint32_t *out;
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED),
                                    4096, 0, (void **)&out));
  EXPECT(HSA_STATUS_ERROR_EXCEPTION,
         run(&agents, executable, "fault_trap.kd", (uint64_t)(uintptr_t)out, 0));
  MUST(hsa_amd_memory_pool_free(out));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_shut_down());
  return report("faults");
}
