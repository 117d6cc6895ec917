/* What the host's part of an HSA runtime costs, in nanoseconds: one line per operation, the best of several rounds.
 * The same program runs over AMD's library and over ours; host_costs.sh compares the lines. */
#define _GNU_SOURCE
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    hsa_status_t status_ = (call);                                                                                     \
    if (status_ != HSA_STATUS_SUCCESS) {                                                                               \
      fprintf(stderr, "%s: status %#x\n", #call, (unsigned)status_);                                                   \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of ROUNDS of so many operations. */
#define MEASURE(name, rounds, count, operation)                                                                        \
  do {                                                                                                                 \
    double best = 1e18;                                                                                                \
    for (int round_ = 0; round_ < (rounds); round_++) {                                                                \
      double begun_ = now();                                                                                           \
      for (int i = 0; i < (count); i++)                                                                                \
        operation;                                                                                                     \
      double each_ = (now() - begun_) / (count);                                                                       \
      best = each_ < best ? each_ : best;                                                                              \
    }                                                                                                                  \
    printf("%s %.2f\n", name, best);                                                                                   \
  } while (0)

static hsa_amd_memory_pool_t pool;
static hsa_agent_t cpu;

static hsa_status_t pick_pool(hsa_amd_memory_pool_t candidate, void *data) {
  (void)data;
  uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(candidate, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (!pool.handle && flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
    pool = candidate;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t pick_cpu(hsa_agent_t agent, void *data) {
  (void)data;
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
    cpu = agent;
  return HSA_STATUS_SUCCESS;
}

static void allocate(size_t size) {
  void *p;
  MUST(hsa_amd_memory_pool_allocate(pool, size, 0, &p));
  MUST(hsa_amd_memory_pool_free(p));
}

/* Two threads hand a token to and fro by two signals. */
static hsa_signal_t there, back;
static hsa_wait_state_t hint;
enum { TURNS = 4000 };

static void *answer(void *data) {
  (void)data;
  for (int i = 1; i <= TURNS; i++) {
    hsa_signal_wait_scacquire(there, HSA_SIGNAL_CONDITION_EQ, i, UINT64_MAX, hint);
    hsa_signal_store_screlease(back, i);
  }
  return NULL;
}

static double best_turn(hsa_wait_state_t how) {
  double best = 1e18;
  hint = how;
  for (int round = 0; round < 3; round++) {
    MUST(hsa_signal_create(0, 0, NULL, &there));
    MUST(hsa_signal_create(0, 0, NULL, &back));
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    double begun = now();
    for (int i = 1; i <= TURNS; i++) {
      hsa_signal_store_screlease(there, i);
      hsa_signal_wait_scacquire(back, HSA_SIGNAL_CONDITION_EQ, i, UINT64_MAX, hint);
    }
    double each = (now() - begun) / TURNS / 2;
    best = each < best ? each : best;
    pthread_join(thread, NULL);
    MUST(hsa_signal_destroy(there));
    MUST(hsa_signal_destroy(back));
  }
  return best;
}

/* A waiter that has been asleep for a while. */
static void *sleeper(void *data) {
  double *woken = data;
  hsa_signal_wait_scacquire(there, HSA_SIGNAL_CONDITION_NE, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  *woken = now();
  return NULL;
}

static double best_wake(void) {
  double best = 1e18;
  for (int round = 0; round < 60; round++) {
    double woken = 0;
    MUST(hsa_signal_create(0, 0, NULL, &there));
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, &woken);
    usleep(3000);
    double begun = now();
    hsa_signal_store_screlease(there, 1);
    pthread_join(thread, NULL);
    best = woken - begun < best ? woken - begun : best;
    MUST(hsa_signal_destroy(there));
  }
  return best;
}

static atomic_long handled;
static double handled_at;

static bool on_change(hsa_signal_value_t value, void *data) {
  (void)value, (void)data;
  handled_at = now();
  atomic_store(&handled, 1);
  return false;
}

static double best_handler(void) {
  double best = 1e18;
  for (int round = 0; round < 60; round++) {
    hsa_signal_t signal;
    MUST(hsa_signal_create(0, 0, NULL, &signal));
    atomic_store(&handled, 0);
    MUST(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_NE, 0, on_change, NULL));
    usleep(2000);
    double begun = now();
    hsa_signal_store_screlease(signal, 1);
    while (!atomic_load(&handled))
      ;
    best = handled_at - begun < best ? handled_at - begun : best;
    MUST(hsa_signal_destroy(signal));
  }
  return best;
}

/* A bare atomic behind a function call: what a signal operation is measured by. */
static _Atomic int64_t bare;
__attribute__((noinline)) static void bare_store(_Atomic int64_t *at, int64_t value) {
  __asm__ volatile("" ::: "memory");
  atomic_store_explicit(at, value, memory_order_release);
}
__attribute__((noinline)) static int64_t bare_load(_Atomic int64_t *at) {
  __asm__ volatile("" ::: "memory");
  return atomic_load_explicit(at, memory_order_acquire);
}
static void (*volatile bare_store_by_pointer)(_Atomic int64_t *, int64_t) = bare_store;
static int64_t (*volatile bare_load_by_pointer)(_Atomic int64_t *) = bare_load;

static void start_and_stop(void) {
  MUST(hsa_init());
  MUST(hsa_shut_down());
}

int main(void) {
  MEASURE("init+shut_down", 10, 1, start_and_stop());
  MUST(hsa_init());
  MUST(hsa_iterate_agents(pick_cpu, NULL));
  hsa_amd_agent_iterate_memory_pools(cpu, pick_pool, NULL);
  hsa_signal_t signal;
  volatile int64_t sink = 0;
  MEASURE("signal_create+destroy", 10, 1000, {
    hsa_signal_t fresh;
    MUST(hsa_signal_create(1, 0, NULL, &fresh));
    MUST(hsa_signal_destroy(fresh));
  });
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  MEASURE("bare_store", 20, 100000, bare_store_by_pointer(&bare, i));
  MEASURE("bare_load", 20, 100000, sink += bare_load_by_pointer(&bare));
  MEASURE("signal_store", 20, 100000, hsa_signal_store_screlease(signal, i));
  MEASURE("signal_load", 20, 100000, sink += hsa_signal_load_scacquire(signal));
  MEASURE("signal_add", 20, 100000, hsa_signal_add_scacq_screl(signal, 1));
  hsa_signal_store_relaxed(signal, 7);
  MEASURE("satisfied_wait", 20, 20000,
          sink += hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED));
  MUST(hsa_signal_destroy(signal));
  MEASURE("allocate+free_4KiB", 10, 200, allocate(4096));
  MEASURE("allocate+free_2MiB", 10, 100, allocate(2 << 20));
  MEASURE("allocate+free_64MiB", 10, 20, allocate(64 << 20));
  printf("turn_active %.2f\n", best_turn(HSA_WAIT_STATE_ACTIVE));
  printf("turn_blocked %.2f\n", best_turn(HSA_WAIT_STATE_BLOCKED));
  printf("wake_sleeper %.2f\n", best_wake());
  printf("async_handler %.2f\n", best_handler());
  MUST(hsa_shut_down());
  (void)sink;
  return 0;
}
