/* Intercept queues at their edges: handlers that make more packets than the device's ring holds, that ring doorbells, that
 * drop packets; queues that stop, are destroyed or are filled by many threads.
 *
 *   intercept TOOL      with HSA_TOOLS_LIB naming TOOL, which hands out the API table
 */
#define _GNU_SOURCE
#include "launch.h"

#include <dlfcn.h>
#include <pthread.h>

struct table {
  uint32_t major_id, minor_id, step_id, reserved;
  void *slots[];
};
struct root {
  uint32_t major_id, minor_id, step_id, reserved;
  struct table *core, *amd_ext;
};
enum { INTERCEPT_CREATE = 37, INTERCEPT_REGISTER = 38 };

typedef void (*writer_t)(const void *packets, uint64_t count);
typedef void (*handler_t)(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer);
typedef void (*error_t)(hsa_status_t status, hsa_queue_t *queue, void *data);

typedef struct marker {
  uint16_t header;
  uint8_t format, reserved[5];
  void (*callback)(const struct marker *packet, hsa_queue_t *queue, uint64_t packet_id);
  uint64_t user_data[6];
} marker_t;

static hsa_status_t (*create)(hsa_agent_t, uint32_t, hsa_queue_type32_t, error_t, void *, uint32_t, uint32_t,
                              hsa_queue_t **);
static hsa_status_t (*add)(hsa_queue_t *, handler_t, void *);
static agents_t agents;

static hsa_queue_t *make(handler_t handler, void *data, error_t error) {
  hsa_queue_t *queue;
  MUST(create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, error, data, UINT32_MAX, UINT32_MAX, &queue));
  if (handler)
    MUST(add(queue, handler, data));
  return queue;
}

static hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  MUST(hsa_signal_create(value, 0, NULL, &signal));
  return signal;
}

/* Puts a barrier packet into its slot. */
static uint64_t put(hsa_queue_t *queue, hsa_signal_t after, hsa_signal_t done) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
  memset((char *)packet + 2, 0, 62);
  packet->dep_signal[0] = after;
  packet->completion_signal = done;
  __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
  return index;
}

static void ring(hsa_queue_t *queue, uint64_t index) {
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void becomes(hsa_signal_t signal, hsa_signal_value_t value) {
  CHECK(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 30000000000ull, HSA_WAIT_STATE_BLOCKED) ==
        value);
}

static const hsa_signal_t none;
static uint64_t seen, in_order, marked;

static void on_marker(const marker_t *packet, hsa_queue_t *queue, uint64_t packet_id) {
  static uint64_t last_id;
  CHECK(queue != NULL && (packet->user_data[0] == 0 || packet_id > last_id));
  last_id = packet_id;
  in_order += packet->user_data[0] == marked;
  marked++;
}

static const hsa_barrier_and_packet_t nothing = {.header = HSA_PACKET_TYPE_BARRIER_AND};

/* Of each packet it makes as many as `data` says that do nothing, a marker, and the packet itself. */
static void multiply(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  CHECK(count == 1 && index == seen);
  seen++;
  hsa_barrier_and_packet_t made[300] = {0};
  uint64_t more = (uintptr_t)data;
  for (uint64_t i = 0; i < more; i++)
    made[i] = nothing;
  marker_t marker = {.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC, .format = 0xfe, .callback = on_marker};
  marker.user_data[0] = index;
  memcpy(&made[more], &marker, 64);
  memcpy(&made[more + 1], packets, 64);
  /* In two calls: a handler may make any number. */
  writer(made, more);
  writer(made + more, 2);
}

/* The first packet waits for a signal that the thread sets which rings. */
static void more_than_the_ring(uint64_t more, int packets) {
  seen = in_order = marked = 0;
  hsa_queue_t *queue = make(multiply, (void *)(uintptr_t)more, NULL);
  hsa_signal_t gate = make_signal(1), done = make_signal(packets);
  uint64_t last = 0;
  for (int i = 0; i < packets; i++)
    last = put(queue, i == 0 ? gate : none, done);
  ring(queue, last);
  CHECK(hsa_signal_load_scacquire(done) == packets);
  hsa_signal_store_screlease(gate, 0);
  becomes(done, 0);
  CHECK(seen == (uint64_t)packets && marked == seen && in_order == seen);
  CHECK(hsa_queue_load_read_index_scacquire(queue) == (uint64_t)packets);
  /* It goes on as before. */
  hsa_signal_store_relaxed(done, 1);
  ring(queue, put(queue, none, done));
  becomes(done, 0);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(gate));
  MUST(hsa_signal_destroy(done));
}

/* Destroyed while packets are kept that will never run. */
static void destroyed_when_full(void) {
  seen = in_order = marked = 0;
  hsa_queue_t *queue = make(multiply, (void *)40, NULL);
  hsa_signal_t never = make_signal(1);
  uint64_t last = 0;
  for (int i = 0; i < 10; i++)
    last = put(queue, never, none);
  ring(queue, last);
  CHECK(seen >= 1 && seen < 10);
  MUST(hsa_queue_destroy(queue));
  hsa_signal_store_screlease(never, 0);
  MUST(hsa_signal_destroy(never));
}

static hsa_queue_t *outer, *inner;

/* Rings its own doorbell and another intercept queue's. */
static void ringing(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  seen++;
  ring(inner, put(inner, none, *(hsa_signal_t *)data));
  ring(outer, index);
  writer(packets, count);
}

static void pass_on(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  (void)index, (void)data;
  writer(packets, count);
}

static void nested(void) {
  enum { PACKETS = 200 };
  seen = 0;
  hsa_signal_t done = make_signal(2 * PACKETS);
  inner = make(pass_on, NULL, NULL);
  outer = make(ringing, &done, NULL);
  for (int i = 0; i < PACKETS; i++)
    ring(outer, put(outer, none, done));
  becomes(done, 0);
  CHECK(seen == PACKETS);
  MUST(hsa_queue_destroy(outer));
  MUST(hsa_queue_destroy(inner));
  MUST(hsa_signal_destroy(done));
}

/* Lets every second packet pass. */
static void drop_some(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  (void)data;
  if (index % 2)
    writer(packets, count);
  writer(NULL, 5);
  writer(packets, 0);
}

static void dropped(void) {
  hsa_queue_t *queue = make(drop_some, NULL, NULL);
  hsa_signal_t done = make_signal(100);
  for (int i = 0; i < 100; i++)
    ring(queue, put(queue, none, done));
  becomes(done, 50);
  CHECK(hsa_queue_load_read_index_scacquire(queue) == 100);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(done));
}

typedef struct {
  hsa_queue_t *queue;
  hsa_signal_t done;
} filler_t;

static void *fill(void *data) {
  filler_t *filler = data;
  for (int i = 0; i < 500; i++)
    ring(filler->queue, put(filler->queue, none, filler->done));
  return NULL;
}

static void count_and_pass(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  (void)data;
  /* One at a time, each once, in order, whichever thread brings it. */
  CHECK(index == seen);
  seen++;
  hsa_barrier_and_packet_t both[2] = {nothing};
  memcpy(&both[1], packets, 64);
  CHECK(count == 1);
  writer(both, 2);
}

static void many_threads(void) {
  seen = 0;
  filler_t filler = {make(count_and_pass, NULL, NULL), make_signal(2000)};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, fill, &filler);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  becomes(filler.done, 0);
  CHECK(seen == 2000);
  MUST(hsa_queue_destroy(filler.queue));
  MUST(hsa_signal_destroy(filler.done));
}

static hsa_queue_t *failed;
static hsa_signal_t failure;

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)data;
  CHECK(status == (hsa_status_t)HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  failed = queue;
  hsa_signal_store_screlease(failure, 1);
}

/* An error names the queue that the client has, and handlers see no packets that cannot run any more. */
static void stopped(void) {
  failure = make_signal(0);
  hsa_queue_t *queue = make(count_and_pass, NULL, on_error);
  seen = 0;
  uint64_t index = put(queue, none, none);
  __atomic_store_n((uint16_t *)((char *)queue->base_address + 64 * index), 200, __ATOMIC_RELEASE); /* no such type */
  ring(queue, index);
  becomes(failure, 1);
  CHECK(failed == queue && seen == 1);
  ring(queue, put(queue, none, none));
  CHECK(seen == 1);
  MUST(hsa_queue_destroy(queue));

  queue = make(count_and_pass, NULL, on_error);
  seen = 0;
  MUST(hsa_queue_inactivate(queue));
  ring(queue, put(queue, none, none));
  CHECK(seen == 0);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(failure));
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  MUST(hsa_init());
  agents = find_agents(NULL);
  void *tool = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD);
  const struct root *(*table)(void) = tool ? (const struct root *(*)(void))dlsym(tool, "tool_table") : NULL;
  if (!table) {
    fprintf(stderr, "HSA_TOOLS_LIB does not name %s\n", argv[1]);
    return 1;
  }
  create = table()->amd_ext->slots[INTERCEPT_CREATE];
  add = table()->amd_ext->slots[INTERCEPT_REGISTER];
  more_than_the_ring(2, 64); /* three times the ring */
  more_than_the_ring(250, 3);
  more_than_the_ring(61, 20); /* one packet fills the ring to the last slot */
  destroyed_when_full();
  nested();
  dropped();
  many_threads();
  stopped();
  MUST(hsa_shut_down());
  return report("intercept queues");
}
