/* The edges: processes that fork, handles that are made up, signals without end, and threads that come and go while the
 * runtime opens and closes. */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child does not have its parent's runtime; it can have one of its own, and reads what the parent allocated. */
static void fork_and_init(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  hsa_amd_memory_pool_t pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  uint32_t *memory;
  hsa_signal_t signal;
  hsa_queue_t *queue;
  MUST(hsa_amd_memory_pool_allocate(pool, 4096, 0, (void **)&memory));
  MUST(hsa_signal_create(11, 0, NULL, &signal));
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  memory[10] = 0xfeed;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    uint64_t now;
    CHECK(memory[10] == 0xfeed);
    EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
    EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
    MUST(hsa_init());
    agents_t own = find_agents(NULL);
    hsa_queue_t *own_queue;
    hsa_signal_t done;
    MUST(hsa_queue_create(own.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &own_queue));
    MUST(hsa_signal_create(1, 0, NULL, &done));
    hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)own_queue->base_address;
    memset((char *)packet + 2, 0, 62);
    packet->completion_signal = done;
    hsa_queue_store_write_index_relaxed(own_queue, 1);
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(own_queue->doorbell_signal, 0);
    CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 10000000000ull, HSA_WAIT_STATE_BLOCKED) == 0);
    MUST(hsa_shut_down());
    /* What it has of its parent's runtime is lost on purpose: no checker of leaks is to look. */
    const char *end = failures ? "/bin/false" : "/bin/true";
    execl(end, end, (char *)NULL);
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  /* The parent goes on. */
  CHECK(hsa_signal_load_scacquire(signal) == 11);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_amd_memory_pool_free(memory));
  MUST(hsa_shut_down());
}

/* Numbers that are no handles, and handles of another kind: a status, never a crash. */
static void forged_handles(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  hsa_signal_t signal;
  hsa_isa_t isa;
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  MUST(hsa_agent_get_info(agents.gpu, HSA_AGENT_INFO_ISA, &isa));
  uint64_t odd[] = {1,          8,           4096,           0x7fffffffffff,        UINT64_MAX,
                    1ull << 63, (uintptr_t)&signal, agents.gpu.handle, isa.handle, signal.handle + 8,
                    signal.handle + 128 * 1000000ull};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    uint32_t value;
    char text[256];
    hsa_executable_symbol_t symbol;
    EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy((hsa_signal_t){odd[i]}));
    if (odd[i] != agents.gpu.handle)
      EXPECT(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info((hsa_agent_t){odd[i]}, HSA_AGENT_INFO_NAME, text));
    if (odd[i] != isa.handle)
      EXPECT(HSA_STATUS_ERROR_INVALID_ISA,
             hsa_isa_get_info_alt((hsa_isa_t){odd[i]}, HSA_ISA_INFO_NAME_LENGTH, &value));
    EXPECT(HSA_STATUS_ERROR_INVALID_REGION, hsa_region_get_info((hsa_region_t){odd[i]}, HSA_REGION_INFO_SIZE, text));
    EXPECT(HSA_STATUS_ERROR_INVALID_MEMORY_POOL, hsa_amd_memory_pool_get_info((hsa_amd_memory_pool_t){odd[i]},
                                                                      HSA_AMD_MEMORY_POOL_INFO_SIZE, text));
    EXPECT(HSA_STATUS_ERROR_INVALID_CACHE,
           hsa_cache_get_info((hsa_cache_t){odd[i]}, HSA_CACHE_INFO_LEVEL, text));
    EXPECT(HSA_STATUS_ERROR_INVALID_WAVEFRONT,
           hsa_wavefront_get_info((hsa_wavefront_t){odd[i]}, HSA_WAVEFRONT_INFO_SIZE, &value));
    EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_destroy((hsa_executable_t){odd[i]}));
    EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_get_symbol_by_name((hsa_executable_t){odd[i]}, "x",
                                                                              &agents.gpu, &symbol));
    EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
           hsa_executable_symbol_get_info((hsa_executable_symbol_t){odd[i]}, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &value));
    EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_destroy((hsa_code_object_t){odd[i]}));
    EXPECT(HSA_STATUS_ERROR_INVALID_CODE_SYMBOL,
           hsa_code_symbol_get_info((hsa_code_symbol_t){odd[i]}, HSA_CODE_SYMBOL_INFO_TYPE, &value));
    EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
           hsa_code_object_reader_destroy((hsa_code_object_reader_t){odd[i]}));
    EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, hsa_signal_group_destroy((hsa_signal_group_t){odd[i]}));
    EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy((hsa_queue_t *)(uintptr_t)odd[i]));
    EXPECT(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free((void *)(uintptr_t)odd[i]));
  }
  MUST(hsa_signal_destroy(signal));
  EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy(signal));
  MUST(hsa_shut_down());
}

/* More signals than the kernel driver has events (4096): all of them work, and whoever waits for any of them is woken, by
 * the host and by a device. */
enum { MANY = 20000 };
static hsa_signal_t signals[MANY];

static void *answer_last(void *data) {
  (void)data;
  usleep(20000); /* the waiter sleeps by then */
  hsa_signal_store_screlease(signals[MANY - 1], -5);
  return NULL;
}

static void wake_ups(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, answer_last, NULL);
  hsa_signal_value_t seen = hsa_signal_wait_scacquire(signals[MANY - 1], HSA_SIGNAL_CONDITION_EQ, -5, 60000000000ull,
                                                      HSA_WAIT_STATE_BLOCKED);
  CHECK(seen == -5);
  pthread_join(thread, NULL);
  agents_t agents = find_agents(NULL);
  hsa_queue_t *queue;
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  for (int i = 0; i < 10; i++) {
    hsa_signal_t done = signals[MANY - 2 - 1900 * i];
    hsa_signal_store_relaxed(done, 1);
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + index;
    memset((char *)packet + 2, 0, 62);
    packet->completion_signal = done;
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
    CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 60000000000ull, HSA_WAIT_STATE_BLOCKED) == 0);
    hsa_signal_store_relaxed(done, MANY - 2 - 1900 * i);
  }
  MUST(hsa_queue_destroy(queue));
}

static void many_signals(void) {
  MUST(hsa_init());
  for (int i = 0; i < MANY; i++)
    MUST(hsa_signal_create(i, 0, NULL, &signals[i]));
  for (int i = 0; i < MANY; i += 97)
    CHECK(hsa_signal_load_relaxed(signals[i]) == i);
  wake_ups();
  for (int i = 0; i < MANY; i++)
    MUST(hsa_signal_destroy(signals[i]));
  MUST(hsa_shut_down());
}

static int stop;

/* Uses the runtime whenever it is open, in threads that end all the time: more than have a counter of their own. */
static void *visitor(void *data) {
  (void)data;
  uint64_t now;
  for (int i = 0; i < 50; i++) {
    hsa_status_t status = hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now);
    CHECK(status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR_NOT_INITIALIZED);
  }
  return NULL;
}

static void *visitors(void *data) {
  (void)data;
  for (int i = 0; i < 150; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, visitor, NULL);
    pthread_join(thread, NULL);
  }
  __atomic_add_fetch(&stop, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void threads_while_opening_and_closing(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, visitors, NULL);
  while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) < 3) {
    MUST(hsa_init());
    MUST(hsa_shut_down());
  }
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
}

/* What the library says goes to a file of the client's as well. */
hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file); /* not in Debian's headers */

static void logging(void) {
  MUST(hsa_init());
  uint8_t flags[8] = {1};
  FILE *file = tmpfile();
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_code_object_deserialize(NULL, 0, NULL, NULL));
  hsa_status_t (*enable)(uint8_t *, void *) = hsa_amd_enable_logging;
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, enable(NULL, file));
  EXPECT(HSA_STATUS_SUCCESS, enable(flags, file));
  hsa_code_object_t object;
  EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_deserialize("no ELF", 6, NULL, &object));
  flags[0] = 0;
  EXPECT(HSA_STATUS_SUCCESS, enable(flags, file));
  char line[200] = "";
  rewind(file);
  CHECK(fgets(line, sizeof line, file) && strstr(line, "hsa_code_object_deserialize"));
  fclose(file);
  MUST(hsa_shut_down());
}

int main(void) {
  fork_and_init();
  forged_handles();
  many_signals();
  threads_while_opening_and_closing();
  logging();
  return report("edges");
}
