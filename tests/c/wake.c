/* Times, in nanoseconds, of what a client of CPU agents pays for: one line per figure, for two libraries to be compared.
 *
 * Each is the median of a few samples, and the fastest tenth, which says more on a machine that is busy with other things. A
 * waiter is given time to fall asleep before it is woken, and what is timed is from the store to its return. */
#include "check.h"

#include <pthread.h>
#include <time.h>

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_us(long us) {
  struct timespec pause = {0, us * 1000};
  nanosleep(&pause, NULL);
}

static int compare(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static void show(const char *what, uint64_t *samples, int count) {
  qsort(samples, (size_t)count, sizeof *samples, compare);
  printf("%s, median: %" PRIu64 "\n", what, samples[count / 2]);
  printf("%s, fastest tenth: %" PRIu64 "\n", what, samples[count / 10]);
}

enum { SAMPLES = 100, PAUSE_US = 3000 };

static hsa_signal_t awaited, answered;
static uint64_t stored, returned;

static void *waiter(void *data) {
  (void)data;
  for (int i = 0; i < SAMPLES; i++) {
    while (hsa_signal_wait_scacquire(awaited, HSA_SIGNAL_CONDITION_EQ, i + 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) !=
           i + 1)
      ;
    __atomic_store_n(&returned, now(), __ATOMIC_RELEASE);
    hsa_signal_store_screlease(answered, i + 1);
  }
  return NULL;
}

static void wake(void) {
  uint64_t samples[SAMPLES];
  pthread_t thread;
  MUST(hsa_signal_create(0, 0, NULL, &awaited));
  MUST(hsa_signal_create(0, 0, NULL, &answered));
  pthread_create(&thread, NULL, waiter, NULL);
  for (int i = 0; i < SAMPLES; i++) {
    sleep_us(PAUSE_US);
    stored = now();
    hsa_signal_store_screlease(awaited, i + 1);
    while (hsa_signal_wait_scacquire(answered, HSA_SIGNAL_CONDITION_EQ, i + 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) !=
           i + 1)
      ;
    samples[i] = __atomic_load_n(&returned, __ATOMIC_ACQUIRE) - stored;
  }
  pthread_join(thread, NULL);
  MUST(hsa_signal_destroy(awaited));
  MUST(hsa_signal_destroy(answered));
  show("wake-up of a blocked waiter", samples, SAMPLES);
}

static bool handler(hsa_signal_value_t value, void *data) {
  (void)value;
  (void)data;
  __atomic_store_n(&returned, now(), __ATOMIC_RELEASE);
  return false;
}

static void handlers(void) {
  uint64_t samples[SAMPLES];
  hsa_signal_t signal;
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  for (int i = 0; i < SAMPLES; i++) {
    __atomic_store_n(&returned, 0, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(signal, 0);
    MUST(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 1, handler, NULL));
    sleep_us(PAUSE_US);
    stored = now();
    hsa_signal_store_screlease(signal, 1);
    while (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE))
      sleep_us(100);
    samples[i] = returned - stored;
  }
  MUST(hsa_signal_destroy(signal));
  show("async handler after a store", samples, SAMPLES);
}

static void creation(void) {
  enum { EACH = 50 };
  uint64_t samples[SAMPLES];
  hsa_signal_t signals[EACH];
  for (int i = 0; i < SAMPLES; i++) {
    uint64_t begun = now();
    for (int n = 0; n < EACH; n++)
      MUST(hsa_signal_create(n, 0, NULL, &signals[n]));
    for (int n = 0; n < EACH; n++)
      MUST(hsa_signal_destroy(signals[n]));
    samples[i] = (now() - begun) / EACH;
  }
  show("creating and destroying a signal", samples, SAMPLES);
}

static void start(void) {
  enum { TIMES = 10 };
  uint64_t samples[TIMES];
  for (int i = 0; i < TIMES; i++) {
    uint64_t begun = now();
    MUST(hsa_init());
    MUST(hsa_shut_down());
    samples[i] = now() - begun;
  }
  show("start and shut-down", samples, TIMES);
}

int main(void) {
  start();
  MUST(hsa_init());
  wake();
  handlers();
  creation();
  MUST(hsa_shut_down());
  return report("wake");
}
