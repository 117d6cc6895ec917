/* Queues: index operations, barrier packets without a kernel, dependencies, errors, info. */
#include "check.h"

static hsa_status_t seen = HSA_STATUS_SUCCESS;
static uint64_t seen_queue = UINT64_MAX;
static hsa_signal_t error_seen;

static void queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  CHECK(data == &seen);
  seen = status;
  seen_queue = queue->id;
  hsa_signal_store_screlease(error_seen, 0);
}

static void indices(hsa_queue_t *queue) {
  CHECK(hsa_queue_load_write_index_relaxed(queue) == 0);
  CHECK(hsa_queue_load_read_index_relaxed(queue) == 0);
  CHECK(hsa_queue_add_write_index_scacq_screl(queue, 2) == 0);
  CHECK(hsa_queue_add_write_index_scacquire(queue, 1) == 2);
  CHECK(hsa_queue_add_write_index_screlease(queue, 1) == 3);
  CHECK(hsa_queue_add_write_index_acq_rel(queue, 0) == 4);
  CHECK(hsa_queue_cas_write_index_scacq_screl(queue, 5, 9) == 4);
  CHECK(hsa_queue_cas_write_index_relaxed(queue, 4, 9) == 4);
  CHECK(hsa_queue_load_write_index_scacquire(queue) == 9);
  hsa_queue_store_write_index_screlease(queue, 0);
  CHECK(hsa_queue_load_write_index_acquire(queue) == 0);
  hsa_queue_store_write_index_relaxed(queue, 0);
}

static void *slot(hsa_queue_t *queue, uint64_t index) {
  return (char *)queue->base_address + 64 * (index & (queue->size - 1));
}

static void publish(hsa_queue_t *queue, uint64_t index, uint32_t first) {
  __atomic_store_n((uint32_t *)slot(queue, index), first, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void barrier(hsa_queue_t *queue, int type, const hsa_signal_t *deps, int count, hsa_signal_t done) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  hsa_barrier_and_packet_t *packet = slot(queue, index);
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  for (int i = 0; i < count; i++)
    packet->dep_signal[i] = deps[i];
  packet->completion_signal = done;
  publish(queue, index, (uint32_t)type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER);
}

static void wait_zero(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1)
    ;
}

static void barriers(hsa_queue_t *queue) {
  hsa_signal_t done, deps[2];
  MUST(hsa_signal_create(1, 0, NULL, &done));
  MUST(hsa_signal_create(1, 0, NULL, &deps[0]));
  MUST(hsa_signal_create(1, 0, NULL, &deps[1]));
  barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
  wait_zero(done);

  hsa_signal_store_relaxed(done, 1);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, deps, 2, done);
  hsa_signal_store_screlease(deps[0], 0);
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 5000000, HSA_WAIT_STATE_BLOCKED) == 1);
  hsa_signal_store_screlease(deps[1], 0);
  wait_zero(done);

  hsa_signal_store_relaxed(done, 1);
  hsa_signal_store_relaxed(deps[0], 1);
  barrier(queue, HSA_PACKET_TYPE_BARRIER_OR, deps, 2, done);
  wait_zero(done);

  /* More packets than the ring has slots. */
  hsa_signal_store_relaxed(done, 1000);
  for (int i = 0; i < 1000; i++)
    barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
  wait_zero(done);
  CHECK(hsa_signal_load_relaxed(done) == 0);
  MUST(hsa_signal_destroy(done));
  MUST(hsa_signal_destroy(deps[0]));
  MUST(hsa_signal_destroy(deps[1]));
}

/* A dispatch with zero dimensions stops the queue with the exact status; its completion signal keeps
 * its value. */
static void errors(agents_t *agents) {
  hsa_queue_t *queue;
  hsa_signal_t done;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  MUST(hsa_signal_create(1, 0, NULL, &error_seen));
  MUST(hsa_queue_create(agents->gpu, 64, HSA_QUEUE_TYPE_SINGLE, queue_error, &seen, UINT32_MAX, UINT32_MAX,
                        &queue));
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  hsa_kernel_dispatch_packet_t *packet = slot(queue, index);
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->completion_signal = done;
  publish(queue, index, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE);
  wait_zero(error_seen);
  CHECK(seen == HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  CHECK(seen_queue == queue->id);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(done));
  MUST(hsa_signal_destroy(error_seen));
}

int main(void) {
  hsa_queue_t *queue, *other;
  uint32_t max = 0, min = 0;
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  MUST(hsa_agent_get_info(agents.gpu, HSA_AGENT_INFO_QUEUE_MIN_SIZE, &min));
  MUST(hsa_agent_get_info(agents.gpu, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &max));
  CHECK(min == 64 && max >= 4096);
  MUST(hsa_queue_create(agents.gpu, min, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  MUST(hsa_queue_create(agents.gpu, 4096, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &other));
  CHECK(queue->size == min && queue->type == HSA_QUEUE_TYPE_MULTI);
  CHECK(queue->features & HSA_QUEUE_FEATURE_KERNEL_DISPATCH);
  CHECK((uintptr_t)queue->base_address % 64 == 0);
  CHECK(queue->id != other->id);
  MUST(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_HIGH));
  MUST(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  indices(queue);
  barriers(queue);
  MUST(hsa_queue_inactivate(other));
  MUST(hsa_queue_destroy(other));
  MUST(hsa_queue_destroy(queue));
  errors(&agents);
  MUST(hsa_shut_down());
  return report("queues");
}
