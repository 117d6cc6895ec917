/* Handlers of signals: how often they are called, what they may do, and more of them and of waiting threads than the kernel
 * driver has events (4096).
 *
 *   handlers [COUNT]
 *
 * COUNT: how many, where so many would take too long. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  MUST(hsa_signal_create(value, 0, NULL, &signal));
  return signal;
}

static void becomes(hsa_signal_t signal, hsa_signal_value_t value) {
  CHECK(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 60000000000ull, HSA_WAIT_STATE_BLOCKED) ==
        value);
}

typedef struct {
  hsa_signal_t signal, done;
  int calls, last_calls;
} counted_t;

/* Makes the condition false again, and stays until it has been called as often as it is to be. */
static bool count(hsa_signal_value_t value, void *data) {
  counted_t *counted = data;
  CHECK(value == 0);
  hsa_signal_store_relaxed(counted->signal, 1);
  bool stays = ++counted->calls < counted->last_calls;
  /* From here on the other thread has what is counted. */
  hsa_signal_subtract_screlease(counted->done, 1);
  return stays;
}

/* A handler that stays is called each time that the condition comes to hold; one that goes is not called again. */
static void stays_or_goes(void) {
  counted_t counted = {make_signal(1), make_signal(3), 0, 3};
  MUST(hsa_amd_signal_async_handler(counted.signal, HSA_SIGNAL_CONDITION_EQ, 0, count, &counted));
  for (int left = 2; left >= 0; left--) {
    hsa_signal_store_screlease(counted.signal, 0);
    becomes(counted.done, left);
  }
  hsa_signal_store_screlease(counted.signal, 0);
  usleep(20000);
  CHECK(counted.calls == 3);
  /* Registered again it is called again, at once: the condition holds. */
  counted.last_calls = 4;
  hsa_signal_store_relaxed(counted.done, 1);
  MUST(hsa_amd_signal_async_handler(counted.signal, HSA_SIGNAL_CONDITION_EQ, 0, count, &counted));
  becomes(counted.done, 0);
  CHECK(counted.calls == 4);
  MUST(hsa_signal_destroy(counted.signal));
  MUST(hsa_signal_destroy(counted.done));
}

static bool subtract_from(hsa_signal_value_t value, void *data) {
  (void)value;
  hsa_signal_subtract_screlease(*(hsa_signal_t *)data, 1);
  return false;
}

/* A signal has as many handlers as were registered, one and the same twice included. */
static void several_of_one_signal(void) {
  hsa_signal_t signal = make_signal(1), done = make_signal(5);
  for (int i = 0; i < 5; i++)
    MUST(hsa_amd_signal_async_handler(signal, i % 2 ? HSA_SIGNAL_CONDITION_LT : HSA_SIGNAL_CONDITION_NE, 1, subtract_from,
                                      &done));
  hsa_signal_store_screlease(signal, -1);
  becomes(done, 0);
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_signal_destroy(done));
}

static struct {
  hsa_signal_t own, other, gate, done;
} busy;

static bool second(hsa_signal_value_t value, void *data) {
  CHECK(value == 9 && data == &busy);
  hsa_signal_store_screlease(busy.done, 0);
  return false;
}

/* Destroys its own signal, makes another with a handler, and waits for what another thread does. */
static bool does_much(hsa_signal_value_t value, void *data) {
  CHECK(value == 7 && data == &busy);
  MUST(hsa_signal_destroy(busy.own));
  busy.other = make_signal(0);
  MUST(hsa_amd_signal_async_handler(busy.other, HSA_SIGNAL_CONDITION_EQ, 9, second, &busy));
  becomes(busy.gate, 1);
  hsa_signal_store_screlease(busy.other, 9);
  return true; /* of a signal that is gone: it is not called again */
}

static void handlers_that_do_much(void) {
  busy.own = make_signal(0), busy.gate = make_signal(0), busy.done = make_signal(1);
  MUST(hsa_amd_signal_async_handler(busy.own, HSA_SIGNAL_CONDITION_GTE, 7, does_much, &busy));
  hsa_signal_store_screlease(busy.own, 7);
  usleep(10000);
  hsa_signal_store_screlease(busy.gate, 1);
  becomes(busy.done, 0);
  MUST(hsa_signal_destroy(busy.other));
  MUST(hsa_signal_destroy(busy.gate));
  MUST(hsa_signal_destroy(busy.done));
}

static bool never(hsa_signal_value_t value, void *data) {
  (void)value, (void)data;
  CHECK(!"a handler whose signal is gone was called");
  return false;
}

/* A handler goes with its signal, and the handlers of others do not notice. */
static void signals_that_go(void) {
  hsa_signal_t gone = make_signal(1), done = make_signal(1), signal = make_signal(1);
  MUST(hsa_amd_signal_async_handler(gone, HSA_SIGNAL_CONDITION_EQ, 0, never, NULL));
  MUST(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, subtract_from, &done));
  MUST(hsa_signal_destroy(gone));
  for (int i = 0; i < 100; i++)
    MUST(hsa_signal_destroy(make_signal(0)));
  hsa_signal_store_screlease(signal, 0);
  becomes(done, 0);
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_signal_destroy(done));
}

enum { HANDLED = 5000, WAITING = 48 };
static int count_handled = HANDLED;
static hsa_signal_t handled[HANDLED], waited[WAITING], all;
static unsigned char called[HANDLED];

static bool once(hsa_signal_value_t value, void *data) {
  CHECK(value == 0);
  called[(uintptr_t)data]++;
  hsa_signal_subtract_screlease(all, 1);
  return false;
}

static void *wait_for_one(void *data) {
  becomes(waited[(uintptr_t)data], 0);
  return NULL;
}

static void complete(hsa_queue_t *queue, hsa_signal_t signal) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
  memset((char *)packet + 2, 0, 62);
  packet->completion_signal = signal;
  __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

/* A device completes signals that threads sleep for, among thousands that have handlers. */
static void more_than_there_are_events(void) {
  agents_t agents = find_agents(NULL);
  hsa_queue_t *queue;
  pthread_t threads[WAITING];
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, 0, 0, &queue));
  all = make_signal(count_handled);
  for (uintptr_t i = 0; i < (uintptr_t)count_handled; i++) {
    handled[i] = make_signal(1);
    MUST(hsa_amd_signal_async_handler(handled[i], HSA_SIGNAL_CONDITION_EQ, 0, once, (void *)i));
  }
  for (uintptr_t i = 0; i < WAITING; i++) {
    waited[i] = make_signal(1);
    pthread_create(&threads[i], NULL, wait_for_one, (void *)i);
  }
  int between = count_handled / (WAITING + 2);
  usleep(20000); /* most of them sleep by then */
  for (int i = 0; i < count_handled; i++) {
    complete(queue, handled[i]);
    if (i % between == between - 1 && i / between < WAITING)
      complete(queue, waited[WAITING - 1 - i / between]);
  }
  for (int i = 0; i < WAITING; i++)
    pthread_join(threads[i], NULL);
  becomes(all, 0);
  for (int i = 0; i < count_handled; i++) {
    CHECK(called[i] == 1);
    MUST(hsa_signal_destroy(handled[i]));
  }
  for (int i = 0; i < WAITING; i++)
    MUST(hsa_signal_destroy(waited[i]));
  MUST(hsa_signal_destroy(all));
  MUST(hsa_queue_destroy(queue));
}

int main(int argc, char **argv) {
  if (argc > 1)
    count_handled = atoi(argv[1]);
  if (count_handled < 2 * WAITING || count_handled > HANDLED)
    return 2;
  MUST(hsa_init());
  stays_or_goes();
  several_of_one_signal();
  handlers_that_do_much();
  signals_that_go();
  more_than_there_are_events();
  MUST(hsa_shut_down());
  return report("handlers");
}
