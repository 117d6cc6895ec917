/* What a runtime adds to "dispatch and wait", and how fast a blocked waiter wakes, beside a client that has no runtime in
 * the way: the floor. Both in one process, on one queue, in turns.
 *
 *   bench_dispatch VECTOR_ADD_OBJECT SPIN_OBJECT [SECONDS]
 *
 * Prints lines of words and numbers, times in microseconds:
 *   send BATCH floor MEDIAN LOW api MEDIAN LOW added MEDIAN ERROR    the packets are published; LOW: the tenth percentile
 *   dispatch BATCH floor MEDIAN LOW api MEDIAN LOW added MEDIAN ERROR    and complete, and the client knows
 *   wake 1 floor MEDIAN LOW api MEDIAN LOW added MEDIAN ERROR    from a store that ends a kernel to the client that sleeps
 *
 * "added" is of the differences of neighbours, one of each kind: what disturbs the machine for longer than one of
 * them takes is in both. ERROR is the standard error of that median.
 *
 * The client has the first processor to itself, the threads of the runtime and of the devices have the others.
 *
 * The floor writes packets and indices by hand, rings the doorbell's register and polls the signal's value, as a program would
 * that knows nothing but the structures of amd_hsa_queue.h and amd_hsa_signal.h. Its signals have no interrupt.
 */
#define _GNU_SOURCE
#include "launch.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)data;
  fprintf(stderr, "queue %" PRIu64 " stopped: %s\n", queue->id, status_text(status));
  exit(1);
}

static hsa_queue_t *queue;
static volatile uint64_t *doorbell;

enum { HEADER = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
       BARRIER = 1 << HSA_PACKET_HEADER_BARRIER, SETUP = 1 << 16 };

static void fill(uint64_t index, const kernel_t *kernel, void *kernarg, hsa_signal_t done, uint32_t header) {
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (queue->size - 1));
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = packet->grid_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = packet->grid_size_y = packet->grid_size_z = 1;
  packet->private_segment_size = kernel->private_size;
  packet->group_segment_size = kernel->group;
  packet->kernel_object = kernel->object;
  packet->kernarg_address = kernarg;
  packet->completion_signal = done;
  __atomic_store_n((uint32_t *)packet, header | SETUP, __ATOMIC_RELEASE);
}

/* The last packet of a batch waits for the others, and has the signal. */
static void send_floor(const kernel_t *kernel, void *kernarg, hsa_signal_t done, uint32_t batch) {
  amd_queue_t *amd = (amd_queue_t *)queue;
  for (uint32_t i = 1; i <= batch; i++) {
    uint64_t index = amd->write_dispatch_id;
    __atomic_store_n(&amd->write_dispatch_id, index + 1, __ATOMIC_RELEASE);
    fill(index, kernel, kernarg, (hsa_signal_t){i == batch ? done.handle : 0}, i == batch ? HEADER | BARRIER : HEADER);
    __atomic_store_n(doorbell, index, __ATOMIC_RELEASE);
  }
}

static void wait_floor(hsa_signal_t done) {
  amd_signal_t *signal = (amd_signal_t *)done.handle;
  while (__atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) > 0)
    __builtin_ia32_pause();
}

static void send_api(const kernel_t *kernel, void *kernarg, hsa_signal_t done, uint32_t batch) {
  for (uint32_t i = 1; i <= batch; i++) {
    uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    fill(index, kernel, kernarg, (hsa_signal_t){i == batch ? done.handle : 0}, i == batch ? HEADER | BARRIER : HEADER);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  }
}

typedef struct {
  double *values;
  size_t count, room;
} samples_t;

static void add(samples_t *samples, double value) {
  if (samples->count == samples->room) {
    samples->room = samples->room ? 2 * samples->room : 1024;
    samples->values = realloc(samples->values, samples->room * sizeof(double));
  }
  samples->values[samples->count++] = value;
}

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double percentile(samples_t *samples, unsigned percent) {
  qsort(samples->values, samples->count, sizeof(double), order);
  return samples->values[samples->count * percent / 100] * 1e6;
}

static void report_pair(const char *what, uint32_t batch, samples_t *floor, samples_t *api) {
  samples_t added = {0};
  for (size_t i = 0; i < floor->count; i++)
    add(&added, api->values[i] - floor->values[i]);
  /* Of a median of many, with the spread taken from the quartiles: 1.253 times the deviation of a mean. */
  double spread = (percentile(&added, 75) - percentile(&added, 25)) / 1.349;
  printf("%s %u floor %.4f %.4f api %.4f %.4f added %.4f %.4f\n", what, batch, percentile(floor, 50), percentile(floor, 10),
         percentile(api, 50), percentile(api, 10), percentile(&added, 50), 1.253 * spread / sqrt((double)added.count));
  free(added.values);
  fflush(stdout);
  free(floor->values);
  free(api->values);
}

static hsa_signal_t polled, interrupt;

static void dispatches(const kernel_t *kernel, void *kernarg, uint32_t batch, double limit) {
  samples_t floor[2] = {0}, api[2] = {0};
  double begun = seconds();
  for (unsigned round = 0; round < 100 || seconds() - begun < limit; round++) {
    hsa_signal_store_relaxed(polled, 1);
    double start = seconds();
    send_floor(kernel, kernarg, polled, batch);
    double sent = seconds();
    wait_floor(polled);
    add(&floor[1], seconds() - start);
    add(&floor[0], sent - start);
    hsa_signal_store_relaxed(interrupt, 1);
    start = seconds();
    send_api(kernel, kernarg, interrupt, batch);
    sent = seconds();
    wait_for(interrupt);
    add(&api[1], seconds() - start);
    add(&api[0], sent - start);
  }
  report_pair("send", batch, &floor[0], &api[0]);
  report_pair("dispatch", batch, &floor[1], &api[1]);
}

/* Moves this thread, and those that it will start, to the first processor or to all others. */
static void move(int first) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  if (count < 2)
    return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (long i = first ? 0 : 1; i < (first ? 1 : count); i++)
    CPU_SET((size_t)i, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    perror("the threads are not kept apart");
}

/* A thread that lets the kernel go a while after the waiter has gone to sleep. */
static volatile uint32_t *flag;
static double let_go;
static uint32_t turn;

static void *release_later(void *data) {
  (void)data;
  move(0);
  usleep(3000);
  let_go = seconds();
  __atomic_store_n(flag, turn, __ATOMIC_SEQ_CST);
  return NULL;
}

static double wake(const kernel_t *kernel, void *kernarg, int by_hand) {
  hsa_signal_t done = by_hand ? polled : interrupt;
  pthread_t thread;
  ((volatile uint32_t *)kernarg)[2] = ++turn;
  hsa_signal_store_relaxed(done, 1);
  (by_hand ? send_floor : send_api)(kernel, kernarg, done, 1);
  pthread_create(&thread, NULL, release_later, NULL);
  (by_hand ? wait_floor : wait_for)(done);
  double woken = seconds();
  pthread_join(thread, NULL);
  return woken - let_go;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s VECTOR_ADD_OBJECT SPIN_OBJECT [SECONDS]\n", argv[0]);
    return 2;
  }
  double limit = argc > 3 ? atof(argv[3]) : 2.0;
  move(0);
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  hsa_executable_t add_code = load_code(agents.gpu, argv[1]), spin_code = load_code(agents.gpu, argv[2]);
  kernel_t vector_add = find_kernel(add_code, agents.gpu, "vector_add.kd");
  kernel_t spin = find_kernel(spin_code, agents.gpu, "spin_until.kd");
  hsa_amd_memory_pool_t arguments = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  char *kernarg = allocate(arguments, 4096, agents.gpu);
  memset(kernarg, 0, 4096);
  /* No elements: the kernel looks and ends. */
  fill_hidden(kernarg, 28, &vector_add, (uint32_t[3]){64, 1, 1}, (uint16_t[3]){64, 1, 1});

  MUST(hsa_queue_create(agents.gpu, 1024, HSA_QUEUE_TYPE_SINGLE, queue_error, NULL, UINT32_MAX, UINT32_MAX, &queue));
  amd_signal_t *bell = (amd_signal_t *)queue->doorbell_signal.handle;
  if (bell->kind != AMD_SIGNAL_KIND_DOORBELL) {
    fprintf(stderr, "the doorbell is of kind %" PRId64 ": not a register of 64 bits\n", (int64_t)bell->kind);
    return 1;
  }
  doorbell = bell->hardware_doorbell_ptr;
  MUST(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &polled));
  MUST(hsa_signal_create(1, 0, NULL, &interrupt));

  move(1);
  static const uint32_t batches[] = {1, 16, 256};
  dispatches(&vector_add, kernarg, 1, 0); /* warm up; its line goes to nobody */
  puts("measured");
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
    dispatches(&vector_add, kernarg, batches[i], limit);

  char *block = kernarg + 2048;
  flag = (uint32_t *)(kernarg + 3072);
  *(void **)block = (void *)flag;
  *(void **)(block + 16) = kernarg + 3328;
  fill_hidden(block, 24, &spin, (uint32_t[3]){64, 1, 1}, (uint16_t[3]){64, 1, 1});
  samples_t floor = {0}, api = {0};
  for (double begun = seconds(); api.count < 20 || seconds() - begun < limit;) {
    add(&floor, wake(&spin, block, 1));
    add(&api, wake(&spin, block, 0));
  }
  report_pair("wake", 1, &floor, &api);

  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(polled));
  MUST(hsa_signal_destroy(interrupt));
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_executable_destroy(add_code));
  MUST(hsa_executable_destroy(spin_code));
  MUST(hsa_shut_down());
  return failures != 0;
}
