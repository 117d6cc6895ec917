/* Starting and stopping: reference counts, threads, callbacks that do it, and exits in any order.
 *
 *   lifecycle [exit]      exit: leave the process with a queue, a handler and threads alive
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static void *init_and_shut_down(void *data) {
  (void)data;
  for (int i = 0; i < 20; i++) {
    uint16_t major = 0;
    MUST(hsa_init());
    MUST(hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
    hsa_signal_t signal;
    MUST(hsa_signal_create(i, 0, NULL, &signal));
    CHECK(hsa_signal_load_relaxed(signal) == i);
    MUST(hsa_signal_destroy(signal));
    MUST(hsa_shut_down());
  }
  return NULL;
}

static void many_threads(void) {
  pthread_t threads[6];
  for (int i = 0; i < 6; i++)
    pthread_create(&threads[i], NULL, init_and_shut_down, NULL);
  for (int i = 0; i < 6; i++)
    pthread_join(threads[i], NULL);
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
}

static int called;

static void shut_down_from_callback(void *data) {
  (void)data;
  MUST(hsa_init());
  MUST(hsa_shut_down());
  MUST(hsa_shut_down()); /* the last one: from the runtime's own thread */
  __atomic_store_n(&called, 1, __ATOMIC_RELEASE);
}

static void callback(void) {
  MUST(hsa_init());
  MUST(hsa_amd_async_function(shut_down_from_callback, NULL));
  for (int i = 0; i < 5000 && !__atomic_load_n(&called, __ATOMIC_ACQUIRE); i++)
    usleep(1000);
  CHECK(called == 1);
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
}

/* The last shut-down inside of callbacks of all kinds: the runtime is closed afterwards, and can be opened again. */
static hsa_status_t shut_down_from_iteration(hsa_agent_t agent, void *data) {
  (void)agent;
  if (++*(int *)data == 1)
    MUST(hsa_shut_down());
  return HSA_STATUS_SUCCESS;
}

static bool shut_down_from_handler(hsa_signal_value_t value, void *data) {
  CHECK(value == 5 && data == &called);
  MUST(hsa_shut_down());
  __atomic_store_n(&called, 2, __ATOMIC_RELEASE);
  return true;
}

static void shut_down_from_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue, (void)data;
  CHECK(status == (hsa_status_t)HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  MUST(hsa_shut_down());
  __atomic_store_n(&called, 3, __ATOMIC_RELEASE);
}

static void shut_down_from_free(void *memory, void *data) {
  (void)memory, (void)data;
  MUST(hsa_shut_down());
}

static void closed_soon(int wanted) {
  for (int i = 0; i < 10000 && __atomic_load_n(&called, __ATOMIC_ACQUIRE) != wanted; i++)
    usleep(1000);
  CHECK(called == wanted);
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
}

static void callbacks_that_shut_down(void) {
  int visits = 0;
  MUST(hsa_init());
  MUST(hsa_iterate_agents(shut_down_from_iteration, &visits));
  CHECK(visits >= 2);
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());

  hsa_signal_t signal;
  MUST(hsa_init());
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  MUST(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 5, shut_down_from_handler, &called));
  hsa_signal_store_screlease(signal, 5);
  closed_soon(2);

  hsa_queue_t *queue;
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, shut_down_from_queue_error, NULL, 0, 0, &queue));
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  __atomic_store_n((uint32_t *)queue->base_address, 200, __ATOMIC_RELEASE); /* no such type */
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  closed_soon(3);

  void *memory;
  MUST(hsa_init());
  hsa_amd_memory_pool_t pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  MUST(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
  MUST(hsa_amd_register_deallocation_callback(memory, shut_down_from_free, NULL));
  MUST(hsa_amd_memory_pool_free(memory));
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
}

/* What a client does not give back goes with the runtime. */
static void leftovers(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  hsa_queue_t *queue;
  hsa_signal_t signal;
  void *memory;
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_signal_create(1, 0, NULL, &signal));
  hsa_amd_memory_pool_t pool = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  MUST(hsa_amd_memory_pool_allocate(pool, 1 << 20, 0, &memory));
  MUST(hsa_shut_down());
  /* Handles of agents stay the same; those of other things are refused. */
  MUST(hsa_init());
  agents_t again = find_agents(NULL);
  CHECK(again.gpu.handle == agents.gpu.handle);
  EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(queue));
  MUST(hsa_shut_down());
}

static bool again(hsa_signal_value_t value, void *data) {
  (void)value;
  hsa_signal_store_relaxed(*(hsa_signal_t *)data, 0);
  return true;
}

static void *wait_for_ever(void *data) {
  hsa_signal_wait_scacquire(*(hsa_signal_t *)data, HSA_SIGNAL_CONDITION_EQ, -7, UINT64_MAX,
                            HSA_WAIT_STATE_BLOCKED);
  return NULL;
}

static void shut_down_at_exit(void) { MUST(hsa_shut_down()); }

static int leave(void) {
  static hsa_signal_t busy, never;
  hsa_queue_t *queue;
  pthread_t thread;
  MUST(hsa_init());
  MUST(hsa_init());
  atexit(shut_down_at_exit);
  agents_t agents = find_agents(NULL);
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_signal_create(0, 0, NULL, &busy));
  MUST(hsa_signal_create(0, 0, NULL, &never));
  MUST(hsa_amd_signal_async_handler(busy, HSA_SIGNAL_CONDITION_EQ, 0, again, &busy));
  pthread_create(&thread, NULL, wait_for_ever, &never);
  usleep(20000);
  return report("leaving with everything alive");
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "exit"))
    return leave();
  many_threads();
  callback();
  callbacks_that_shut_down();
  leftovers();
  return report("lifecycle");
}
