/* Copies and fills: all directions, odd sizes and places, dependencies, memory of the client's own.
 *
 *   copies
 */
#include "launch.h"

enum { ROOM = 9 << 20, GUARD = 64 };

static uint8_t pattern(size_t i, unsigned seed) { return (uint8_t)((i * 2654435761u + seed * 97) >> 11); }

static void paint(uint8_t *memory, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    memory[i] = pattern(i, seed);
}

static agents_t agents;
static uint8_t *host, *back, *device[2];

typedef enum { BLOCKING, ASYNCHRONOUS } how_t;

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t bytes, how_t how) {
  if (how == BLOCKING) {
    MUST(hsa_memory_copy(to, from, bytes));
    return;
  }
  hsa_signal_t done, first;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  MUST(hsa_signal_create(1, 0, NULL, &first));
  MUST(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 1, &first, done));
  CHECK(hsa_signal_load_scacquire(done) == 1);
  hsa_signal_store_screlease(first, 0);
  wait_for(done);
  CHECK(hsa_signal_load_scacquire(done) == 0);
  MUST(hsa_signal_destroy(done));
  MUST(hsa_signal_destroy(first));
}

/* Host to device, device to device, device to host: what arrives is what was sent, and nothing beside it changes. */
static void round_trip(size_t bytes, size_t from_offset, size_t to_offset, how_t how, unsigned seed) {
  paint(host, bytes + GUARD + from_offset, seed);
  memset(back, 0xee, bytes + 2 * GUARD + to_offset);
  copy(device[0] + to_offset, agents.gpu, host + from_offset, agents.cpu, bytes, how);
  copy(device[1] + from_offset, agents.gpu, device[0] + to_offset, agents.gpu, bytes, how);
  copy(back + GUARD + to_offset, agents.cpu, device[1] + from_offset, agents.gpu, bytes, how);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; i++)
    wrong += back[GUARD + to_offset + i] != pattern(from_offset + i, seed);
  for (size_t i = 0; i < GUARD; i++)
    wrong += (back[to_offset + i] != 0xee) + (back[GUARD + to_offset + bytes + i] != 0xee);
  if (wrong)
    fprintf(stderr, "%zu of %zu bytes are wrong, from offset %zu to %zu, %s\n", wrong, bytes, from_offset, to_offset,
            how == BLOCKING ? "blocking" : "asynchronous");
  CHECK(wrong == 0);
}

static void fills(void) {
  static const size_t counts[] = {1, 3, 64, 255, 4096, 1000003};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    uint32_t *words = (uint32_t *)device[0], value = 0x01020304u * (uint32_t)(i + 1);
    MUST(hsa_amd_memory_fill(words, 0x5a5a5a5a, counts[i] + 1));
    MUST(hsa_amd_memory_fill(words, value, counts[i]));
    MUST(hsa_memory_copy(back, words, (counts[i] + 1) * 4));
    size_t wrong = ((uint32_t *)back)[counts[i]] != 0x5a5a5a5a;
    for (size_t k = 0; k < counts[i]; k++)
      wrong += ((uint32_t *)back)[k] != value;
    CHECK(wrong == 0);
  }
}

typedef struct {
  hsa_agent_t gpus[8];
  uint32_t count;
} gpus_t;

static hsa_status_t collect(hsa_agent_t agent, void *data) {
  gpus_t *gpus = data;
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU && gpus->count < 8)
    gpus->gpus[gpus->count++] = agent;
  return HSA_STATUS_SUCCESS;
}

/* Between the memories of two GPUs, there and back. */
static void peers(void) {
  gpus_t found = {.count = 0};
  MUST(hsa_iterate_agents(collect, &found));
  if (found.count < 2)
    return;
  size_t bytes = 3000001;
  uint8_t *memory[2];
  for (int i = 0; i < 2; i++) {
    hsa_amd_memory_pool_t pool = find_pool(found.gpus[i], HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
    MUST(hsa_amd_memory_pool_allocate(pool, bytes, 0, (void **)&memory[i]));
    MUST(hsa_amd_agents_allow_access(2, found.gpus, NULL, memory[i]));
  }
  paint(host, bytes, 123);
  memset(back, 0, bytes);
  MUST(hsa_amd_agents_allow_access(2, found.gpus, NULL, host));
  MUST(hsa_amd_agents_allow_access(2, found.gpus, NULL, back));
  copy(memory[0], found.gpus[0], host, agents.cpu, bytes, ASYNCHRONOUS);
  copy(memory[1], found.gpus[1], memory[0], found.gpus[0], bytes, ASYNCHRONOUS);
  copy(memory[0], found.gpus[0], host, agents.cpu, 1, ASYNCHRONOUS);
  copy(back, agents.cpu, memory[1], found.gpus[1], bytes, ASYNCHRONOUS);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; i++)
    wrong += back[i] != pattern(i, 123);
  CHECK(wrong == 0);
  for (int i = 0; i < 2; i++)
    MUST(hsa_amd_memory_pool_free(memory[i]));
}

/* Memory of malloc's is given to the GPU, which copies from and to it. */
static void locked(void) {
  size_t bytes = 123457;
  uint8_t *mine = malloc(bytes);
  void *theirs;
  paint(mine, bytes, 77);
  MUST(hsa_amd_memory_lock(mine, bytes, &agents.gpu, 1, &theirs));
  copy(device[0], agents.gpu, theirs, agents.cpu, bytes, ASYNCHRONOUS);
  memset(mine, 0, bytes);
  copy(theirs, agents.cpu, device[0], agents.gpu, bytes, ASYNCHRONOUS);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; i++)
    wrong += mine[i] != pattern(i, 77);
  CHECK(wrong == 0);
  MUST(hsa_amd_memory_unlock(mine));
  free(mine);
}

static uint64_t now(void) {
  uint64_t time;
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
  return time;
}

/* Whoever copied, and by whatever clock: the times are the system's. Clocks are converted to within a millisecond. */
static void profiled(void) {
  enum { SLACK = 1000000 };
  size_t sizes[] = {100, 8 << 20};
  MUST(hsa_amd_profiling_async_copy_enable(true));
  for (int i = 0; i < 4; i++) {
    hsa_signal_t done;
    MUST(hsa_signal_create(1, 0, NULL, &done));
    uint64_t before = now();
    void *to = i & 1 ? (void *)back : device[0], *from = i & 1 ? device[0] : (void *)host;
    hsa_agent_t to_agent = i & 1 ? agents.cpu : agents.gpu, from_agent = i & 1 ? agents.gpu : agents.cpu;
    MUST(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, sizes[i / 2], 0, NULL, done));
    wait_for(done);
    uint64_t after = now();
    hsa_amd_profiling_async_copy_time_t time;
    MUST(hsa_amd_profiling_get_async_copy_time(done, &time));
    CHECK(time.start <= time.end && before <= time.start + SLACK && time.end <= after + SLACK);
    MUST(hsa_signal_destroy(done));
  }
  MUST(hsa_amd_profiling_async_copy_enable(false));
}

int main(void) {
  MUST(hsa_init());
  agents = find_agents(NULL);
  hsa_amd_memory_pool_t fine = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  hsa_amd_memory_pool_t coarse = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  host = allocate(fine, ROOM, agents.gpu);
  back = allocate(fine, ROOM, agents.gpu);
  for (int i = 0; i < 2; i++)
    MUST(hsa_amd_memory_pool_allocate(coarse, ROOM, 0, (void **)&device[i]));

  static const size_t sizes[] = {1, 2, 3, 4, 7, 16, 63, 64, 65, 255, 4095, 4096, 4097, 65536 + 5, (4 << 20) - 3, 8 << 20};
  unsigned seed = 0;
  for (int how = BLOCKING; how <= ASYNCHRONOUS; how++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      round_trip(sizes[i], 0, 0, how, ++seed);
      round_trip(sizes[i], 1, 3, how, ++seed);
      round_trip(sizes[i], 4, 12, how, ++seed);
    }
  fills();
  locked();
  profiled();
  peers();

  for (int i = 0; i < 2; i++)
    MUST(hsa_amd_memory_pool_free(device[i]));
  MUST(hsa_amd_memory_pool_free(host));
  MUST(hsa_amd_memory_pool_free(back));
  MUST(hsa_shut_down());
  return report("copies");
}
