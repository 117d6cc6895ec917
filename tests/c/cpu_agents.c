/* What a machine without a GPU still has: CPU agents, their pools, signals whose waiters sleep, handlers, a shut-down.
 *
 *   cpu_agents [kfd]      kfd: a blocked wait is held to sleep in the kernel's driver
 *
 * Prints what it finds as one line per fact, so that two libraries can be compared.
 */
#include "check.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int agents;

static const char *text(hsa_status_t status) {
  static char number[16];
  snprintf(number, sizeof number, "%#x", (unsigned)status);
  return number;
}

static hsa_status_t show_pool(hsa_amd_memory_pool_t pool, void *data) {
  hsa_agent_t agent = *(hsa_agent_t *)data;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  bool allocatable = false, all = false;
  size_t size = 0, granule = 0, alignment = 0;
  hsa_amd_memory_pool_access_t access;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &granule));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT, &alignment));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL, &all));
  MUST(hsa_amd_agent_memory_pool_get_info(agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
  printf("  pool segment %d flags %#x size %zu allocatable %d granule %zu alignment %zu all %d access %d\n",
         (int)segment, flags, size, allocatable, granule, alignment, all, (int)access);
  if (!allocatable)
    return HSA_STATUS_SUCCESS;
  unsigned char *memory = NULL;
  MUST(hsa_amd_memory_pool_allocate(pool, 3 * 4096 + 1, 0, (void **)&memory));
  CHECK((uintptr_t)memory % 4096 == 0);
  memset(memory, 0x5a, 3 * 4096 + 1);
  CHECK(memory[3 * 4096] == 0x5a);
  MUST(hsa_amd_memory_fill(memory, 0x01020304, 4));
  int filled = 0;
  while (filled < 3 * 4096 && memory[filled] != 0x5a)
    filled++;
  printf("  bytes that filling 4 words changes: %d\n", filled);
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  MUST(hsa_amd_pointer_info(memory + 9, &info, NULL, NULL, NULL));
  printf("  pointer type %d size %zu owner known %d host at base %d\n", (int)info.type, info.sizeInBytes,
         info.agentOwner.handle == agent.handle, info.hostBaseAddress == (void *)memory);
  MUST(hsa_amd_memory_pool_free(memory));
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t show_agent(hsa_agent_t agent, void *data) {
  hsa_device_type_t type;
  uint32_t node = 99, queues = 99, queue_size = 99, cores = 0, wavefront = 99;
  hsa_agent_feature_t features;
  hsa_queue_t *queue = NULL;
  (void)data;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type != HSA_DEVICE_TYPE_CPU)
    return HSA_STATUS_SUCCESS;
  agents++;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &node));
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_FEATURE, &features));
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_QUEUES_MAX, &queues));
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &queue_size));
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE, &wavefront));
  MUST(hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &cores));
  printf("agent node %u features %d queues %u of %u wavefront %u cores %u\n", node, (int)features, queues, queue_size,
         wavefront, cores);
  hsa_status_t status = hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
  printf("  queue %s\n", text(status));
  CHECK(status != HSA_STATUS_SUCCESS);
  MUST(hsa_amd_agent_iterate_memory_pools(agent, show_pool, &agent));
  return HSA_STATUS_SUCCESS;
}

static void sleep_ms(long ms) {
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static hsa_signal_t awaited;
static int waiter;

static void *wait_blocked(void *data) {
  (void)data;
  __atomic_store_n(&waiter, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
  while (hsa_signal_wait_scacquire(awaited, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0)
    ;
  return NULL;
}

/* In which system call the thread sleeps: its number, first and second argument. */
static void sleeps_in(int thread, long *call, unsigned long *first, unsigned long *second) {
  char path[64], line[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
  FILE *file = fopen(path, "r");
  *call = -1;
  if (file) {
    if (fgets(line, sizeof line, file))
      sscanf(line, "%ld %lx %lx", call, first, second);
    fclose(file);
  }
}

static unsigned long ticks(int thread) {
  char path[64], line[512] = "";
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE *file = fopen(path, "r");
  if (file) {
    if (fgets(line, sizeof line, file) && strrchr(line, ')'))
      sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    fclose(file);
  }
  return user + system;
}

/* A blocked wait costs no processor time, and sleeps in WAIT_EVENTS. */
static void blocked(int kfd) {
  pthread_t thread;
  long call = -1;
  unsigned long file = 0, request = 0;
  MUST(hsa_signal_create(1, 0, NULL, &awaited));
  pthread_create(&thread, NULL, wait_blocked, NULL);
  sleep_ms(200);
  int id = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE);
  unsigned long before = ticks(id);
  sleep_ms(300);
  CHECK(ticks(id) - before <= 3); /* of 30 */
  sleeps_in(id, &call, &file, &request);
  if (kfd) {
    char target[64] = "", path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%lu", file);
    CHECK(readlink(path, target, sizeof target - 1) > 0);
    CHECK(call == SYS_ioctl && !strcmp(target, "/dev/kfd") && (request & 0xff) == 0x0c);
    printf("a blocked waiter sleeps in system call %ld, file %s, request %#lx\n", call, target, request);
  }
  hsa_signal_store_screlease(awaited, 0);
  pthread_join(thread, NULL);
  MUST(hsa_signal_destroy(awaited));
}

/* Many waiters on signals of their own, which end in any order. */
static void *wait_own(void *data) {
  hsa_signal_t signal = {*(uint64_t *)data};
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1)
    ;
  return NULL;
}

static void many(void) {
  enum { COUNT = 8 };
  pthread_t threads[COUNT];
  hsa_signal_t signals[COUNT];
  for (int i = 0; i < COUNT; i++) {
    MUST(hsa_signal_create(1, 0, NULL, &signals[i]));
    pthread_create(&threads[i], NULL, wait_own, &signals[i].handle);
  }
  sleep_ms(50);
  for (int i = 0; i < COUNT; i++)
    hsa_signal_subtract_screlease(signals[(i * 5 + 3) % COUNT], 1);
  for (int i = 0; i < COUNT; i++) {
    pthread_join(threads[i], NULL);
    MUST(hsa_signal_destroy(signals[i]));
  }
}

static int called;

static bool handler(hsa_signal_value_t value, void *data) {
  CHECK(value == 7);
  CHECK(data == &called);
  __atomic_fetch_add(&called, 1, __ATOMIC_RELEASE);
  return false;
}

static void handlers(void) {
  enum { COUNT = 20 };
  hsa_signal_t signals[COUNT];
  for (int i = 0; i < COUNT; i++) {
    MUST(hsa_signal_create(0, 0, NULL, &signals[i]));
    MUST(hsa_amd_signal_async_handler(signals[i], HSA_SIGNAL_CONDITION_EQ, 7, handler, &called));
  }
  sleep_ms(20);
  CHECK(__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 0);
  for (int i = COUNT - 1; i >= 0; i--)
    hsa_signal_store_screlease(signals[i], 7);
  for (int i = 0; i < 1000 && __atomic_load_n(&called, __ATOMIC_ACQUIRE) < COUNT; i++)
    sleep_ms(5);
  CHECK(called == COUNT);
  for (int i = 0; i < COUNT; i++)
    MUST(hsa_signal_destroy(signals[i]));
}

/* More signals than the driver has events. */
static void exhaust(int kfd) {
  enum { COUNT = 6000 };
  static hsa_signal_t signals[COUNT];
  int made = 0;
  while (made < COUNT && hsa_signal_create(made, 0, NULL, &signals[made]) == HSA_STATUS_SUCCESS)
    made++;
  printf("signals %d\n", made);
  CHECK(made == COUNT || !kfd);
  for (int i = 0; i < made; i++) {
    CHECK(hsa_signal_load_relaxed(signals[i]) == i);
    MUST(hsa_signal_destroy(signals[i]));
  }
}

static void times(void) {
  uint64_t frequency = 0, before = 0, after = 0;
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  sleep_ms(100);
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  CHECK(after - before >= frequency / 10 && after - before < frequency * 5);
  printf("timestamp frequency %" PRIu64 "\n", frequency);
}

int main(int argc, char **argv) {
  int kfd = argc > 1 && !strcmp(argv[1], "kfd");
  (void)argv;
  for (int round = 0; round < 2; round++) {
    MUST(hsa_init());
    if (round == 0) {
      MUST(hsa_iterate_agents(show_agent, NULL));
      CHECK(agents > 0);
      times();
    }
    blocked(kfd);
    many();
    called = 0;
    handlers();
    exhaust(kfd);
    MUST(hsa_shut_down());
  }
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  return report("cpu_agents");
}
