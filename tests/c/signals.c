/* Signals: every operation and order, waits, handlers, groups. */
#include "check.h"

#include <pthread.h>
#include <time.h>

#define ORDERS(op, start, operand, after)                                                  \
  do {                                                                                             \
    hsa_signal_store_relaxed(signal, start);                                                       \
    hsa_signal_##op##_relaxed(signal, operand);                                                    \
    CHECK(hsa_signal_load_relaxed(signal) == (after));                                             \
    hsa_signal_store_screlease(signal, start);                                                     \
    hsa_signal_##op##_screlease(signal, operand);                                                  \
    CHECK(hsa_signal_load_scacquire(signal) == (after));                                           \
    hsa_signal_silent_store_relaxed(signal, start);                                                \
    hsa_signal_##op##_scacquire(signal, operand);                                                  \
    CHECK(hsa_signal_load_scacquire(signal) == (after));                                           \
    hsa_signal_silent_store_screlease(signal, start);                                              \
    hsa_signal_##op##_scacq_screl(signal, operand);                                                \
    CHECK(hsa_signal_load_scacquire(signal) == (after));                                           \
    hsa_signal_store_release(signal, start);                                                       \
    hsa_signal_##op##_acq_rel(signal, operand);                                                    \
    CHECK(hsa_signal_load_acquire(signal) == (after));                                             \
    hsa_signal_store_relaxed(signal, start);                                                       \
    hsa_signal_##op##_acquire(signal, operand);                                                    \
    CHECK(hsa_signal_load_acquire(signal) == (after));                                             \
    hsa_signal_store_relaxed(signal, start);                                                       \
    hsa_signal_##op##_release(signal, operand);                                                    \
    CHECK(hsa_signal_load_acquire(signal) == (after));                                             \
  } while (0)

static void operations(hsa_signal_t signal) {
  ORDERS(add, INT64_MAX, 1, INT64_MIN);
  ORDERS(subtract, 5, 7, -2);
  ORDERS(and, 0xff0f, 0x0ff0, 0x0f00);
  ORDERS(or, 0xff0f, 0x0ff0, 0xffff);
  ORDERS(xor, 0xff0f, 0x0ff0, 0xf0ff);
  ORDERS(exchange, 3, -9, -9);
  hsa_signal_store_relaxed(signal, 10);
  CHECK(hsa_signal_exchange_scacq_screl(signal, 11) == 10);
  CHECK(hsa_signal_cas_scacq_screl(signal, 10, 12) == 11);
  CHECK(hsa_signal_cas_relaxed(signal, 11, 12) == 11);
  CHECK(hsa_signal_cas_scacquire(signal, 12, 13) == 12);
  CHECK(hsa_signal_cas_screlease(signal, 13, 14) == 13);
  CHECK(hsa_signal_load_scacquire(signal) == 14);
}

static hsa_signal_t later_signal;

static void *store_later(void *data) {
  struct timespec pause = {0, 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
  hsa_signal_store_screlease(later_signal, (intptr_t)data);
  return NULL;
}

static void waits(hsa_signal_t signal) {
  uint64_t before = 0, after = 0, frequency = 0;
  hsa_signal_store_relaxed(signal, 4);
  CHECK(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 4, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) == 4);
  CHECK(hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_GTE, 4, 0, HSA_WAIT_STATE_BLOCKED) == 4);
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  CHECK(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_NE, 4, frequency / 100,
                                  HSA_WAIT_STATE_BLOCKED) == 4);
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  CHECK(after - before < 10 * frequency);

  pthread_t thread;
  later_signal = signal;
  pthread_create(&thread, NULL, store_later, (void *)(intptr_t)-3);
  hsa_signal_value_t value;
  do
    value = hsa_signal_wait_acquire(signal, HSA_SIGNAL_CONDITION_LT, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  while (value >= 0);
  CHECK(value == -3);
  pthread_join(thread, NULL);
}

static hsa_status_t first_agent(hsa_agent_t agent, void *data) {
  *(hsa_agent_t *)data = agent;
  return HSA_STATUS_INFO_BREAK;
}

static void wait_any(void) {
  hsa_signal_t signals[3];
  hsa_signal_condition_t conditions[3] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ,
                                          HSA_SIGNAL_CONDITION_EQ};
  hsa_signal_value_t values[3] = {0, 0, 0}, satisfying = 99;
  for (int i = 0; i < 3; i++)
    MUST(hsa_signal_create(1, 0, NULL, &signals[i]));
  CHECK(hsa_amd_signal_wait_any(3, signals, conditions, values, 1000, HSA_WAIT_STATE_BLOCKED, &satisfying) ==
        UINT32_MAX);
  pthread_t thread;
  later_signal = signals[2];
  pthread_create(&thread, NULL, store_later, NULL);
  CHECK(hsa_amd_signal_wait_any(3, signals, conditions, values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED,
                                &satisfying) == 2);
  CHECK(satisfying == 0);
  pthread_join(thread, NULL);

  hsa_signal_group_t group;
  hsa_signal_t which;
  hsa_agent_t consumer = {0};
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(first_agent, &consumer));
  MUST(hsa_signal_group_create(3, signals, 1, &consumer, &group));
  MUST(hsa_signal_group_wait_any_scacquire(group, conditions, values, HSA_WAIT_STATE_BLOCKED, &which,
                                           &satisfying));
  CHECK(which.handle == signals[2].handle);
  CHECK(satisfying == 0);
  MUST(hsa_signal_group_destroy(group));
  EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, hsa_signal_group_destroy(group));
  for (int i = 0; i < 3; i++)
    MUST(hsa_signal_destroy(signals[i]));
}

static hsa_signal_t handled;

static bool count_down(hsa_signal_value_t value, void *data) {
  int *calls = data;
  (void)value;
  /* Stays registered for three calls. */
  if (++*calls < 3) {
    hsa_signal_store_relaxed(*(hsa_signal_t *)((char *)data + sizeof(uint64_t)), 1);
    return true;
  }
  hsa_signal_store_screlease(handled, 0);
  return false;
}

static void run_once(void *data) { hsa_signal_store_screlease(*(hsa_signal_t *)data, 0); }

static void handlers(void) {
  struct {
    uint64_t calls;
    hsa_signal_t signal;
  } state = {0};
  MUST(hsa_signal_create(1, 0, NULL, &state.signal));
  MUST(hsa_signal_create(1, 0, NULL, &handled));
  MUST(hsa_amd_signal_async_handler(state.signal, HSA_SIGNAL_CONDITION_LT, 2, count_down, &state));
  hsa_signal_wait_scacquire(handled, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  CHECK((int)state.calls == 3);
  hsa_signal_store_relaxed(handled, 1);
  MUST(hsa_amd_async_function(run_once, &handled));
  hsa_signal_wait_scacquire(handled, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  MUST(hsa_signal_destroy(state.signal));
  MUST(hsa_signal_destroy(handled));
}

static void attributes(void) {
  hsa_signal_t signal;
  volatile hsa_signal_value_t *pointer = NULL;
  MUST(hsa_amd_signal_create(7, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal));
  CHECK(hsa_signal_load_relaxed(signal) == 7);
  MUST(hsa_amd_signal_value_pointer(signal, &pointer));
  CHECK(pointer && *pointer == 7);
  MUST(hsa_signal_destroy(signal));
}

/* Many signals at once, from several threads. */
static void *create_many(void *data) {
  hsa_signal_t signals[200];
  (void)data;
  for (int i = 0; i < 200; i++)
    MUST(hsa_signal_create(i, 0, NULL, &signals[i]));
  for (int i = 0; i < 200; i++) {
    CHECK(hsa_signal_load_relaxed(signals[i]) == i);
    MUST(hsa_signal_destroy(signals[i]));
  }
  return NULL;
}

int main(void) {
  hsa_signal_t signal;
  pthread_t threads[4];
  MUST(hsa_init());
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  operations(signal);
  waits(signal);
  MUST(hsa_signal_destroy(signal));
  wait_any();
  handlers();
  attributes();
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, create_many, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  MUST(hsa_shut_down());
  return report("signals");
}
