/* Documented misuse answers its documented status, and changes nothing. */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static hsa_status_t count_agents(hsa_agent_t agent, void *data) {
  (void)agent;
  ++*(int *)data;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t stop(hsa_agent_t agent, void *data) {
  (void)agent;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t stop_at_cache(hsa_cache_t cache, void *data) {
  (void)cache;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t stop_at_region(hsa_region_t region, void *data) {
  (void)region;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t stop_at_pool(hsa_amd_memory_pool_t pool, void *data) {
  (void)pool;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t stop_at_isa(hsa_isa_t isa, void *data) {
  (void)isa;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t stop_at_wavefront(hsa_wavefront_t wavefront, void *data) {
  (void)wavefront;
  ++*(int *)data;
  return HSA_STATUS_INFO_BREAK;
}

/* What a callback answers ends the iteration and is the answer, whatever it is. */
static void early_stops(const agents_t *agents) {
  hsa_isa_t isa;
  int calls = 0;
  MUST(hsa_agent_get_info(agents->gpu, HSA_AGENT_INFO_ISA, &isa));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_caches(agents->gpu, stop_at_cache, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_regions(agents->gpu, stop_at_region, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_amd_agent_iterate_memory_pools(agents->gpu, stop_at_pool, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_isas(agents->gpu, stop_at_isa, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_isa_iterate_wavefronts(isa, stop_at_wavefront, &calls));
  CHECK(calls == 5);
}

static void before_init(void) {
  hsa_signal_t signal;
  hsa_agent_t agent = {0};
  uint16_t major;
  int count = 0;
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_iterate_agents(count_agents, &count));
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_signal_create(0, 0, NULL, &signal));
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &major));
  CHECK(count == 0);
}

static void status_strings(void) {
  const char *text = NULL;
  EXPECT(HSA_STATUS_SUCCESS, hsa_status_string(HSA_STATUS_ERROR_INVALID_QUEUE, &text));
  CHECK(text && strstr(text, "HSA_STATUS_ERROR_INVALID_QUEUE") == text);
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_status_string(HSA_STATUS_SUCCESS, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_status_string((hsa_status_t)0x1fff, &text));
}

static void references(void) {
  uint16_t major;
  MUST(hsa_init());
  MUST(hsa_init());
  MUST(hsa_shut_down());
  EXPECT(HSA_STATUS_SUCCESS, hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
  CHECK(major == 1);
  MUST(hsa_shut_down());
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  MUST(hsa_init());
}

static void agents_and_info(agents_t *agents) {
  hsa_agent_t none = {0}, odd = {0x1234567}, huge = {UINT64_MAX};
  char name[64];
  int count = 0;
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_iterate_agents(NULL, NULL));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(stop, &count));
  CHECK(count == 1);
  EXPECT(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info(none, HSA_AGENT_INFO_NAME, name));
  EXPECT(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info(odd, HSA_AGENT_INFO_NAME, name));
  EXPECT(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info(huge, HSA_AGENT_INFO_NAME, name));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_agent_get_info(agents->gpu, HSA_AGENT_INFO_NAME, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_agent_get_info(agents->gpu, (hsa_agent_info_t)0x7777, name));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_system_get_info((hsa_system_info_t)0x7777, name));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, NULL));
  hsa_isa_t isa;
  EXPECT(HSA_STATUS_ERROR_INVALID_ISA_NAME, hsa_isa_from_name("amdgcn-amd-amdhsa--gfx9999", &isa));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_isa_from_name(NULL, &isa));
  isa.handle = 17;
  EXPECT(HSA_STATUS_ERROR_INVALID_ISA, hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, name));
}

static void signals(void) {
  hsa_signal_t signal, none = {0}, odd = {0x1000};
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_create(1, 0, NULL, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_create(1, 2, NULL, &signal));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_destroy(none));
  EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy(odd));
  MUST(hsa_signal_create(1, 0, NULL, &signal));
  MUST(hsa_signal_destroy(signal));
  EXPECT(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy(signal));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
         hsa_amd_signal_async_handler(odd, HSA_SIGNAL_CONDITION_EQ, 0, NULL, NULL));

  /* A value function has no status: misuse ends the process and says why. */
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(2);
    hsa_signal_load_relaxed(odd);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void queues(agents_t *agents) {
  hsa_queue_t *queue = NULL, made_up = {0};
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
         hsa_queue_create(agents->gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
         hsa_queue_create(agents->gpu, 0, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
         hsa_queue_create(agents->gpu, 100, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_queue_create(agents->gpu, 64, 99, NULL, NULL, 0, 0, &queue));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_queue_create(agents->gpu, 1u << 20, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  hsa_agent_t none = {0};
  EXPECT(HSA_STATUS_ERROR_INVALID_AGENT,
         hsa_queue_create(none, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  hsa_status_t on_cpu = hsa_queue_create(agents->cpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue);
  CHECK(on_cpu != HSA_STATUS_SUCCESS);
  CHECK(queue == NULL);
  EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(&made_up));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_queue_destroy(NULL));
  MUST(hsa_queue_create(agents->gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_set_priority(queue, (hsa_amd_queue_priority_t)9));
  MUST(hsa_queue_destroy(queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(queue));
}

static void memory(agents_t *agents) {
  hsa_amd_memory_pool_t pool = find_pool(agents->gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  hsa_amd_memory_pool_t none = {0};
  void *memory = NULL;
  int local = 0;
  size_t size = 0;
  EXPECT(HSA_STATUS_ERROR_INVALID_MEMORY_POOL, hsa_amd_memory_pool_allocate(none, 64, 0, &memory));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_pool_allocate(pool, 0, 0, &memory));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_pool_allocate(pool, 64, 0, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_allocate(pool, SIZE_MAX / 2, 0, &memory));
  CHECK(memory == NULL);
  EXPECT(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free(&local));
  EXPECT(HSA_STATUS_SUCCESS, hsa_amd_memory_pool_free(NULL));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &size));
  CHECK(size > 0);
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
         hsa_amd_memory_pool_get_info(pool, (hsa_amd_memory_pool_info_t)99, &size));
  MUST(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
  MUST(hsa_amd_memory_pool_free(memory));
  EXPECT(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free(memory));
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  EXPECT(HSA_STATUS_SUCCESS, hsa_amd_pointer_info(&local, &info, NULL, NULL, NULL));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN);
}

static void executables(agents_t *agents) {
  static const char nonsense[64] = "this is no code object";
  hsa_executable_t executable, none = {0};
  hsa_code_object_reader_t reader, no_reader = {0};
  hsa_executable_symbol_t symbol;
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_code_object_reader_create_from_memory(NULL, 10, &reader));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_code_object_reader_create_from_memory(nonsense, 0, &reader));
  EXPECT(HSA_STATUS_ERROR_INVALID_FILE, hsa_code_object_reader_create_from_file(-1, &reader));
  EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, hsa_code_object_reader_destroy(no_reader));
  MUST(hsa_code_object_reader_create_from_memory(nonsense, sizeof nonsense, &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 &executable));
  EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
         hsa_executable_load_agent_code_object(executable, agents->gpu, reader, NULL, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE,
         hsa_executable_load_agent_code_object(none, agents->gpu, reader, NULL, NULL));
  MUST(hsa_executable_freeze(executable, NULL));
  EXPECT(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_freeze(executable, NULL));
  EXPECT(HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
         hsa_executable_load_agent_code_object(executable, agents->gpu, reader, NULL, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
         hsa_executable_get_symbol_by_name(executable, "nothing", &agents->gpu, &symbol));
  MUST(hsa_executable_destroy(executable));
  EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE, hsa_executable_destroy(executable));
  MUST(hsa_code_object_reader_destroy(reader));
  EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, hsa_code_object_reader_destroy(reader));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

/* Sizes that no memory holds: an error, not the end of the process. */
static void huge_sizes(void) {
  static char bytes[64];
  hsa_code_object_t object;
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_code_object_deserialize(bytes, (size_t)1 << 50, NULL, &object));
#ifndef SANITIZED /* a sanitizer's own mappings are larger than any limit */
  /* Less than the file has, however generous the system is. */
  struct rlimit limit = {.rlim_cur = (rlim_t)1 << 40, .rlim_max = RLIM_INFINITY};
  hsa_code_object_reader_t reader;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  FILE *file = tmpfile();
  CHECK(file && ftruncate(fileno(file), (off_t)1 << 42) == 0);
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_code_object_reader_create_from_file(fileno(file), &reader));
  fclose(file);
#endif
}

int main(void) {
  before_init();
  status_strings();
  references();
  agents_t agents = find_agents(NULL);
  agents_and_info(&agents);
  early_stops(&agents);
  signals();
  queues(&agents);
  memory(&agents);
  executables(&agents);
  huge_sizes();
  MUST(hsa_shut_down());
  return report("misuse");
}
