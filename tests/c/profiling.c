/* When packets ran, in the system's time: within what the host saw, in the order of the queue, on every clock.
 *
 *   profiling CODE_OBJECT      with a kernel vector_add
 */
#include "launch.h"

/* Clocks are converted to within this: the ticks of a device are 10 ns and more. */
enum { SLACK = 100000 };

static uint64_t now(void) {
  uint64_t time;
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
  return time;
}

static agents_t agents;

/* A device's ticks, in the order of time. */
static void conversion(void) {
  uint64_t frequency = 0, ticks = 0, first = 0, last = 0;
  enum { TIMESTAMP_FREQUENCY = 0xa016 }; /* not in Debian's headers */
  MUST(hsa_agent_get_info(agents.gpu, (hsa_agent_info_t)TIMESTAMP_FREQUENCY, &frequency));
  CHECK(frequency >= 1000000);
  /* Of ticks a second apart the times are a second apart, whatever the device's clock shows. */
  for (ticks = 1000 * frequency; ticks < 1010 * frequency; ticks += frequency) {
    uint64_t time;
    MUST(hsa_amd_profiling_convert_tick_to_system_domain(agents.gpu, ticks, &time));
    if (first == 0)
      first = time;
    else
      CHECK(time > last && time - last < 1000000000ull + SLACK && time - last > 1000000000ull - SLACK);
    last = time;
  }
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  MUST(hsa_init());
  agents = find_agents(NULL);
  conversion();
  hsa_executable_t executable = load_code(agents.gpu, argv[1]);
  kernel_t kernel = find_kernel(executable, agents.gpu, "vector_add.kd");
  hsa_amd_memory_pool_t host = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  enum { COUNT = 3000, RUNS = 12 };
  float *memory = allocate(host, 3 * COUNT * sizeof(float), agents.gpu);
  memset(memory, 0, 3 * COUNT * sizeof(float));
  struct {
    float *a, *b, *c;
    uint32_t count;
  } explicit = {memory, memory + COUNT, memory + 2 * COUNT, COUNT};
  uint32_t grid[3] = {COUNT, 1, 1};
  uint16_t group[3] = {256, 1, 1};
  void *kernarg = make_kernarg(&agents, &kernel, &explicit, sizeof explicit, grid, group);
  hsa_queue_t *queue = make_queue(agents.gpu);
  MUST(hsa_amd_profiling_set_profiler_enabled(queue, 1));

  hsa_signal_t done[RUNS];
  hsa_amd_profiling_dispatch_time_t times[RUNS];
  /* One by one: each within what the host saw. */
  for (int i = 0; i < RUNS / 2; i++) {
    MUST(hsa_signal_create(1, 0, NULL, &done[i]));
    uint64_t before = now();
    dispatch(queue, &kernel, grid, group, kernarg, done[i]);
    wait_for(done[i]);
    uint64_t after = now();
    MUST(hsa_amd_profiling_get_dispatch_time(agents.gpu, done[i], &times[i]));
    if (!(before <= times[i].start + SLACK && times[i].start < times[i].end && times[i].end <= after + SLACK)) {
      fprintf(stderr, "host %" PRIu64 " to %" PRIu64 ", device %" PRIu64 " to %" PRIu64 "\n", before, after, times[i].start,
              times[i].end);
      failures++;
    }
  }
  /* Several at once: in the order of the queue, since each has its predecessor complete. */
  for (int i = RUNS / 2; i < RUNS; i++) {
    MUST(hsa_signal_create(1, 0, NULL, &done[i]));
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
    memset((char *)packet + 2, 0, 62);
    packet->dep_signal[0] = done[i - 1];
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER, __ATOMIC_RELEASE);
    dispatch(queue, &kernel, grid, group, kernarg, done[i]);
  }
  wait_for(done[RUNS - 1]);
  for (int i = RUNS / 2; i < RUNS; i++)
    MUST(hsa_amd_profiling_get_dispatch_time(agents.gpu, done[i], &times[i]));
  for (int i = 1; i < RUNS; i++)
    CHECK(times[i - 1].start < times[i].start && times[i - 1].end <= times[i].start + SLACK);

  /* What was asked once is answered alike later. */
  usleep(50000);
  for (int i = 0; i < RUNS; i++) {
    hsa_amd_profiling_dispatch_time_t again;
    MUST(hsa_amd_profiling_get_dispatch_time(agents.gpu, done[i], &again));
    CHECK(again.end - again.start + SLACK >= times[i].end - times[i].start);
    CHECK(again.start + SLACK >= times[i].start && again.start <= times[i].start + SLACK);
    MUST(hsa_signal_destroy(done[i]));
  }
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_amd_memory_pool_free(memory));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_shut_down());
  return report("profiling");
}
