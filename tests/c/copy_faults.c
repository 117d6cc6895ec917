/* An engine that loses its memory in the middle of copies: every completion signal says what became of its copy, whoever
 * waits for it and how, and later copies work. Where the host copies, nothing is lost. And copies that wait for others.
 *
 *   copy_faults
 */
#include "launch.h"

enum { BYTES = 32 << 20, COPIES = 16 };

/* Newer than Debian's headers. */
hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent, uint32_t *engine_ids_mask);

static int events;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data) {
  (void)data;
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT)
    __atomic_add_fetch(&events, 1, __ATOMIC_RELEASE);
  return HSA_STATUS_SUCCESS;
}

static bool on_end(hsa_signal_value_t value, void *data) {
  hsa_signal_store_screlease(*(hsa_signal_t *)data, value);
  return false;
}

/* A copy waits for one that is asked for after it, in its own direction or the other. AMD's runtime hands both to one engine,
 * which waits for ever. */
static void crossed(agents_t agents, uint8_t *device, void *host) {
  size_t bytes = 1 << 20;
  for (int same = 0; same < 2; same++) {
    hsa_signal_t first, second;
    MUST(hsa_signal_create(1, 0, NULL, &first));
    MUST(hsa_signal_create(1, 0, NULL, &second));
    MUST(hsa_amd_memory_async_copy(device, agents.gpu, host, agents.cpu, bytes, 1, &second, first));
    if (same)
      MUST(hsa_amd_memory_async_copy(device + bytes, agents.gpu, (char *)host + bytes, agents.cpu, bytes, 0, NULL, second));
    else
      MUST(hsa_amd_memory_async_copy((char *)host + bytes, agents.cpu, device + bytes, agents.gpu, bytes, 0, NULL, second));
    wait_for(first);
    CHECK(hsa_signal_load_scacquire(second) == 0);
    MUST(hsa_signal_destroy(first));
    MUST(hsa_signal_destroy(second));
  }
}

int main(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  MUST(hsa_amd_register_system_event_handler(on_event, NULL));
  uint8_t *device, *mine = aligned_alloc(4096, BYTES);
  void *theirs;
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED), BYTES, 0,
                                    (void **)&device));
  memset(mine, 1, BYTES);
  MUST(hsa_amd_memory_lock(mine, BYTES, &agents.gpu, 1, &theirs));
  uint32_t mask;
  int engine = hsa_amd_memory_copy_engine_status(agents.cpu, agents.gpu, &mask) == HSA_STATUS_SUCCESS;
  CHECK(engine == (mask != 0));

  hsa_signal_t done[COPIES], told;
  MUST(hsa_signal_create(1, 0, NULL, &told));
  for (int i = 0; i < COPIES; i++) {
    MUST(hsa_signal_create(1, 0, NULL, &done[i]));
    MUST(hsa_amd_memory_async_copy(theirs, agents.cpu, device, agents.gpu, BYTES, 0, NULL, done[i]));
  }
  MUST(hsa_amd_signal_async_handler(done[COPIES - 1], HSA_SIGNAL_CONDITION_LT, 1, on_end, &told));
  MUST(hsa_amd_memory_unlock(mine));
  int failed = 0;
  for (int i = 0; i < COPIES; i++) {
    hsa_wait_state_t how = i & 1 ? HSA_WAIT_STATE_BLOCKED : HSA_WAIT_STATE_ACTIVE;
    hsa_signal_value_t value;
    while ((value = hsa_signal_wait_scacquire(done[i], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, how)) >= 1)
      ;
    CHECK(value == 0 || value == -1);
    CHECK(!failed || value == -1);
    failed += value == -1;
  }
  CHECK(engine ? failed > 0 : failed == 0);
  while (hsa_signal_wait_scacquire(told, HSA_SIGNAL_CONDITION_NE, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 1)
    ;
  CHECK(hsa_signal_load_scacquire(told) == (failed ? -1 : 0));
  CHECK(__atomic_load_n(&events, __ATOMIC_ACQUIRE) == (failed ? 1 : 0));

  /* A copy that waits for what is destroyed never begins, and says so. */
  hsa_signal_t never;
  MUST(hsa_signal_create(1, 0, NULL, &never));
  hsa_signal_store_screlease(done[0], 1);
  MUST(hsa_amd_memory_async_copy(device + 4096, agents.gpu, device, agents.gpu, 4096, 1, &never, done[0]));
  MUST(hsa_signal_destroy(never));
  while (hsa_signal_wait_scacquire(done[0], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1)
    ;
  CHECK(hsa_signal_load_scacquire(done[0]) == -1);

  /* Memory that engines reach is copied as ever. */
  MUST(hsa_amd_memory_lock(mine, BYTES, &agents.gpu, 1, &theirs));
  crossed(agents, device, theirs);
  memset(mine, 42, BYTES);
  for (int back = 0; back < 2; back++) {
    hsa_signal_store_screlease(done[1], 1);
    if (back)
      MUST(hsa_amd_memory_async_copy(theirs, agents.cpu, device, agents.gpu, BYTES, 0, NULL, done[1]));
    else
      MUST(hsa_amd_memory_async_copy(device, agents.gpu, theirs, agents.cpu, BYTES, 0, NULL, done[1]));
    wait_for(done[1]);
    CHECK(hsa_signal_load_scacquire(done[1]) == 0);
    if (!back)
      memset(mine, 0, BYTES);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < BYTES; i++)
    wrong += mine[i] != 42;
  CHECK(wrong == 0);
  MUST(hsa_amd_memory_unlock(mine));
  free(mine);
  for (int i = 0; i < COPIES; i++)
    MUST(hsa_signal_destroy(done[i]));
  MUST(hsa_signal_destroy(told));
  MUST(hsa_amd_memory_pool_free(device));
  MUST(hsa_shut_down());
  return report("copy_faults");
}
