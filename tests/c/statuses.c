/* Every status that the headers document, of every function, is what the documented misuse answers: the
 * runtime, signals, queues, memory.
 * What the clients see is compared with the headers by tests/scripts/statuses.sh.
 */
#include "check.h"

#include <hsa/hsa_ext_image.h>

typedef struct {
  bool is_gpu;
  hsa_region_t host, device, group;
} regions_t;

/* Handles of nothing. */
static hsa_agent_t agent;
static hsa_signal_t signal_;
static hsa_signal_group_t signal_group;
static hsa_region_t region;
static hsa_cache_t cache;
static hsa_isa_t isa;
static hsa_wavefront_t wavefront;
static hsa_amd_memory_pool_t memory_pool;

/* Places for answers. */
static char value[4096];
static bool yes;
static uint16_t minor_version;
static uint32_t number;

static void system_and_agents(const agents_t *agents) {
  hsa_agent_t gpu = agents->gpu;
  const char *name;
  INVALID(ARGUMENT, hsa_status_string(HSA_STATUS_SUCCESS, NULL));
  INVALID(ARGUMENT, hsa_system_get_info(NONSENSE, value));
  INVALID(ARGUMENT, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, NULL));
  INVALID(ARGUMENT, hsa_extension_get_name(NONSENSE, &name));
  INVALID(ARGUMENT, hsa_extension_get_name(HSA_EXTENSION_IMAGES, NULL));
  INVALID(ARGUMENT, hsa_system_extension_supported(NONSENSE, 1, 0, &yes));
  INVALID(ARGUMENT, hsa_system_extension_supported(HSA_EXTENSION_IMAGES, 1, 0, NULL));
  INVALID(ARGUMENT, hsa_system_major_extension_supported(NONSENSE, 1, &minor_version, &yes));
  INVALID(ARGUMENT, hsa_system_major_extension_supported(HSA_EXTENSION_IMAGES, 1, NULL, &yes));
  INVALID(ARGUMENT, hsa_system_major_extension_supported(HSA_EXTENSION_IMAGES, 1, &minor_version, NULL));
  INVALID(ARGUMENT, hsa_system_get_extension_table(NONSENSE, 1, 0, value));
  INVALID(ARGUMENT, hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 0, NULL));
  INVALID(ARGUMENT, hsa_system_get_major_extension_table(NONSENSE, 1, 64, value));
  INVALID(ARGUMENT, hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 64, NULL));
  INVALID(ARGUMENT, hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 0, value));

  INVALID(AGENT, hsa_agent_get_exception_policies(agent, HSA_PROFILE_BASE, &minor_version));
  INVALID(ARGUMENT, hsa_agent_get_exception_policies(gpu, 9, &minor_version));
  INVALID(ARGUMENT, hsa_agent_get_exception_policies(gpu, HSA_PROFILE_BASE, NULL));
  INVALID(AGENT, hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, agent, 1, 0, &yes));
  INVALID(ARGUMENT, hsa_agent_extension_supported(NONSENSE, gpu, 1, 0, &yes));
  INVALID(ARGUMENT, hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, gpu, 1, 0, NULL));
  INVALID(AGENT, hsa_agent_major_extension_supported(HSA_EXTENSION_IMAGES, agent, 1, &minor_version, &yes));
  INVALID(ARGUMENT, hsa_agent_major_extension_supported(NONSENSE, gpu, 1, &minor_version, &yes));
  INVALID(ARGUMENT, hsa_agent_major_extension_supported(HSA_EXTENSION_IMAGES, gpu, 1, NULL, &yes));
  INVALID(ARGUMENT, hsa_agent_major_extension_supported(HSA_EXTENSION_IMAGES, gpu, 1, &minor_version, NULL));
  INVALID(AGENT, hsa_amd_image_get_info_max_dim(agent, (hsa_agent_info_t)HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS, value));
  INVALID(QUEUE, hsa_amd_image_get_info_max_dim(gpu, (hsa_agent_info_t)HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS, NULL));
  INVALID(QUEUE, hsa_amd_image_get_info_max_dim(gpu, HSA_AGENT_INFO_NAME, value));
  INVALID(QUEUE, hsa_amd_image_get_info_max_dim(gpu, (hsa_agent_info_t)HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES, value));
  MUST(hsa_amd_image_get_info_max_dim(gpu, (hsa_agent_info_t)HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS, value));
  INVALID(AGENT, hsa_amd_coherency_get_type(agent, (hsa_amd_coherency_type_t *)value));
  INVALID(AGENT, hsa_amd_coherency_get_type(agents->cpu, (hsa_amd_coherency_type_t *)value));
  INVALID(ARGUMENT, hsa_amd_coherency_get_type(gpu, NULL));
  INVALID(AGENT, hsa_amd_coherency_set_type(agent, HSA_AMD_COHERENCY_TYPE_COHERENT));
  INVALID(ARGUMENT, hsa_amd_coherency_set_type(gpu, 9));
}

static hsa_status_t keep_cache(hsa_cache_t found, void *data) {
  *(hsa_cache_t *)data = found;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t keep_wavefront(hsa_wavefront_t found, void *data) {
  *(hsa_wavefront_t *)data = found;
  return HSA_STATUS_INFO_BREAK;
}

static void caches_and_isas(const agents_t *agents) {
  hsa_cache_t some_cache;
  hsa_wavefront_t wave;
  hsa_isa_t own, other;
  INVALID(AGENT, hsa_agent_iterate_caches(agent, keep_cache, &some_cache));
  INVALID(ARGUMENT, hsa_agent_iterate_caches(agents->gpu, NULL, NULL));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_caches(agents->gpu, keep_cache, &some_cache));
  INVALID(CACHE, hsa_cache_get_info(cache, HSA_CACHE_INFO_LEVEL, value));
  INVALID(ARGUMENT, hsa_cache_get_info(some_cache, NONSENSE, value));
  INVALID(ARGUMENT, hsa_cache_get_info(some_cache, HSA_CACHE_INFO_LEVEL, NULL));

  MUST(hsa_agent_get_info(agents->gpu, HSA_AGENT_INFO_ISA, &own));
  INVALID(AGENT, hsa_agent_iterate_isas(agent, NULL, NULL));
  INVALID(ARGUMENT, hsa_agent_iterate_isas(agents->gpu, NULL, NULL));
  INVALID(ISA_NAME, hsa_isa_from_name("amdgcn-amd-amdhsa--gfx1", &other));
  INVALID(ARGUMENT, hsa_isa_from_name(NULL, &other));
  INVALID(ARGUMENT, hsa_isa_from_name("amdgcn-amd-amdhsa--gfx90a", NULL));
  INVALID(ISA, hsa_isa_get_info(isa, HSA_ISA_INFO_NAME_LENGTH, 0, &number));
  INVALID(INDEX, hsa_isa_get_info(own, HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE, 1, &number));
  INVALID(ARGUMENT, hsa_isa_get_info(own, NONSENSE, 0, &number));
  INVALID(ARGUMENT, hsa_isa_get_info(own, HSA_ISA_INFO_NAME_LENGTH, 0, NULL));
  INVALID(ISA, hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &number));
  INVALID(ARGUMENT, hsa_isa_get_info_alt(own, NONSENSE, &number));
  INVALID(ARGUMENT, hsa_isa_get_info_alt(own, HSA_ISA_INFO_NAME_LENGTH, NULL));
  INVALID(ISA, hsa_isa_get_exception_policies(isa, HSA_PROFILE_BASE, &minor_version));
  INVALID(ARGUMENT, hsa_isa_get_exception_policies(own, 9, &minor_version));
  INVALID(ARGUMENT, hsa_isa_get_exception_policies(own, HSA_PROFILE_BASE, NULL));
  hsa_round_method_t method;
  INVALID(ISA, hsa_isa_get_round_method(isa, HSA_FP_TYPE_32, HSA_FLUSH_MODE_FTZ, &method));
  INVALID(ARGUMENT, hsa_isa_get_round_method(own, 3, HSA_FLUSH_MODE_FTZ, &method));
  INVALID(ARGUMENT, hsa_isa_get_round_method(own, HSA_FP_TYPE_32, 9, &method));
  INVALID(ARGUMENT, hsa_isa_get_round_method(own, HSA_FP_TYPE_32, HSA_FLUSH_MODE_FTZ, NULL));
  INVALID(ISA, hsa_isa_iterate_wavefronts(isa, keep_wavefront, &wave));
  INVALID(ARGUMENT, hsa_isa_iterate_wavefronts(own, NULL, NULL));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_isa_iterate_wavefronts(own, keep_wavefront, &wave));
  INVALID(WAVEFRONT, hsa_wavefront_get_info(wavefront, HSA_WAVEFRONT_INFO_SIZE, &number));
  INVALID(ARGUMENT, hsa_wavefront_get_info(wave, NONSENSE, &number));
  INVALID(ARGUMENT, hsa_wavefront_get_info(wave, HSA_WAVEFRONT_INFO_SIZE, NULL));
  INVALID(ISA, hsa_isa_compatible(isa, own, &yes));
  INVALID(ISA, hsa_isa_compatible(own, isa, &yes));
  INVALID(ARGUMENT, hsa_isa_compatible(own, own, NULL));
}

static bool never(hsa_signal_value_t now, void *data) {
  (void)now, (void)data;
  return false;
}

static void signals(const agents_t *agents) {
  hsa_signal_t made, forged = {0x1000};
  hsa_agent_t twice[2] = {agents->gpu, agents->gpu}, once[2] = {agents->gpu, agents->cpu};
  hsa_signal_value_t *place, compare = 0, found;
  hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_EQ;
  INVALID(ARGUMENT, hsa_signal_create(1, 0, NULL, NULL));
  INVALID(ARGUMENT, hsa_signal_create(1, 1, NULL, &made));
  INVALID(ARGUMENT, hsa_signal_create(1, 2, twice, &made));
  INVALID(ARGUMENT, hsa_amd_signal_create(1, 0, NULL, 0, NULL));
  INVALID(ARGUMENT, hsa_amd_signal_create(1, 1, NULL, 0, &made));
  INVALID(ARGUMENT, hsa_amd_signal_create(1, 2, twice, 0, &made));
  INVALID(ARGUMENT, hsa_amd_signal_create(1, 0, NULL, 1u << 20, &made));
  MUST(hsa_signal_create(0, 2, once, &made));

  hsa_signal_group_t group;
  INVALID(ARGUMENT, hsa_signal_group_create(0, &made, 1, once, &group));
  INVALID(ARGUMENT, hsa_signal_group_create(1, NULL, 1, once, &group));
  INVALID(ARGUMENT, hsa_signal_group_create(1, &made, 0, once, &group));
  INVALID(ARGUMENT, hsa_signal_group_create(1, &made, 1, NULL, &group));
  INVALID(ARGUMENT, hsa_signal_group_create(1, &made, 1, once, NULL));
  MUST(hsa_signal_group_create(1, &made, 1, once, &group));
  hsa_wait_state_t hint = HSA_WAIT_STATE_BLOCKED;
  INVALID(SIGNAL_GROUP, hsa_signal_group_wait_any_scacquire(signal_group, &condition, &compare, hint, &signal_, &found));
  INVALID(ARGUMENT, hsa_signal_group_wait_any_scacquire(group, NULL, &compare, hint, &signal_, &found));
  INVALID(ARGUMENT, hsa_signal_group_wait_any_scacquire(group, &condition, NULL, hint, &signal_, &found));
  INVALID(ARGUMENT, hsa_signal_group_wait_any_scacquire(group, &condition, &compare, hint, NULL, &found));
  INVALID(ARGUMENT, hsa_signal_group_wait_any_scacquire(group, &condition, &compare, hint, &signal_, NULL));
  INVALID(SIGNAL_GROUP, hsa_signal_group_wait_any_relaxed(signal_group, &condition, &compare, hint, &signal_, &found));
  MUST(hsa_signal_group_destroy(group));
  INVALID(SIGNAL_GROUP, hsa_signal_group_destroy(group));

  INVALID(SIGNAL, hsa_amd_signal_value_pointer(forged, (volatile hsa_signal_value_t **)&place));
  INVALID(ARGUMENT, hsa_amd_signal_value_pointer(made, NULL));
  INVALID(SIGNAL, hsa_amd_signal_async_handler(forged, condition, 0, never, NULL));
  INVALID(SIGNAL, hsa_amd_signal_async_handler((hsa_signal_t){0}, condition, 0, never, NULL));
  INVALID(ARGUMENT, hsa_amd_signal_async_handler(made, condition, 0, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_signal_async_handler(made, NONSENSE, 0, never, NULL));
  INVALID(ARGUMENT, hsa_amd_async_function(NULL, NULL));
  MUST(hsa_signal_destroy(made));
}

static void queues(const agents_t *agents, const regions_t *regions) {
  hsa_queue_t *queue, forged = {0};
  hsa_signal_t doorbell;
  uint32_t mask[4] = {1, 1, 1, 1};
  MUST(hsa_signal_create(0, 0, NULL, &doorbell));
  hsa_signal_t no_signal = {0};
  INVALID(ARGUMENT, hsa_soft_queue_create(regions->host, 0, HSA_QUEUE_TYPE_MULTI, 2, doorbell, &queue));
  INVALID(ARGUMENT, hsa_soft_queue_create(regions->host, 3, HSA_QUEUE_TYPE_MULTI, 2, doorbell, &queue));
  INVALID(ARGUMENT, hsa_soft_queue_create(regions->host, 64, NONSENSE, 2, doorbell, &queue));
  INVALID(ARGUMENT, hsa_soft_queue_create(regions->host, 64, HSA_QUEUE_TYPE_MULTI, 2, no_signal, &queue));
  INVALID(ARGUMENT, hsa_soft_queue_create(regions->host, 64, HSA_QUEUE_TYPE_MULTI, 2, doorbell, NULL));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_soft_queue_create(regions->device, 1u << 31, HSA_QUEUE_TYPE_MULTI, 2, doorbell, &queue));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_queue_create(agents->gpu, 1u << 20, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_queue_create(agents->gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  INVALID(QUEUE, hsa_queue_inactivate(&forged));
  INVALID(ARGUMENT, hsa_queue_inactivate(NULL));
  INVALID(QUEUE, hsa_amd_profiling_set_profiler_enabled(&forged, 1));
  INVALID(ARGUMENT, hsa_amd_profiling_set_profiler_enabled(NULL, 1));
  INVALID(QUEUE, hsa_amd_queue_set_priority(&forged, HSA_AMD_QUEUE_PRIORITY_LOW));
  INVALID(QUEUE, hsa_amd_queue_set_priority(NULL, HSA_AMD_QUEUE_PRIORITY_LOW));
  INVALID(QUEUE, hsa_amd_queue_cu_set_mask(&forged, 32, mask));
  INVALID(QUEUE, hsa_amd_queue_cu_set_mask(NULL, 32, mask));
  INVALID(ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 33, mask));
  INVALID(ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 32, NULL));
  INVALID(QUEUE, hsa_amd_queue_cu_get_mask(&forged, 32, mask));
  INVALID(QUEUE, hsa_amd_queue_cu_get_mask(NULL, 32, mask));
  INVALID(ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 0, mask));
  INVALID(ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 33, mask));
  INVALID(ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 32, NULL));
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(doorbell));
}

static void profiling(const agents_t *agents) {
  hsa_signal_t made, forged = {0x1000};
  hsa_amd_profiling_dispatch_time_t time;
  hsa_amd_profiling_async_copy_time_t copy_time;
  uint64_t tick;
  MUST(hsa_signal_create(0, 0, NULL, &made));
  INVALID(AGENT, hsa_amd_profiling_get_dispatch_time(agent, made, &time));
  INVALID(SIGNAL, hsa_amd_profiling_get_dispatch_time(agents->gpu, forged, &time));
  INVALID(ARGUMENT, hsa_amd_profiling_get_dispatch_time(agents->gpu, made, NULL));
  INVALID(SIGNAL, hsa_amd_profiling_get_async_copy_time(forged, &copy_time));
  INVALID(ARGUMENT, hsa_amd_profiling_get_async_copy_time(made, NULL));
  INVALID(AGENT, hsa_amd_profiling_convert_tick_to_system_domain(agent, 1, &tick));
  INVALID(ARGUMENT, hsa_amd_profiling_convert_tick_to_system_domain(agents->gpu, 1, NULL));
  MUST(hsa_signal_destroy(made));
}

static hsa_status_t sort_region(hsa_region_t found, void *data) {
  regions_t *regions = data;
  hsa_region_segment_t segment;
  MUST(hsa_region_get_info(found, HSA_REGION_INFO_SEGMENT, &segment));
  if (segment == HSA_REGION_SEGMENT_GROUP)
    regions->group = found;
  if (segment == HSA_REGION_SEGMENT_GLOBAL && !regions->host.handle)
    regions->host = found;
  uint32_t flags = 0;
  if (segment == HSA_REGION_SEGMENT_GLOBAL)
    MUST(hsa_region_get_info(found, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
  if (flags & HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED && regions->is_gpu && !regions->device.handle)
    regions->device = found;
  return HSA_STATUS_SUCCESS;
}

static regions_t find_regions(const agents_t *agents) {
  regions_t regions = {0};
  MUST(hsa_agent_iterate_regions(agents->cpu, sort_region, &regions));
  regions.is_gpu = true; /* its own come first */
  MUST(hsa_agent_iterate_regions(agents->gpu, sort_region, &regions));
  CHECK(regions.host.handle && regions.group.handle);
  return regions;
}

static void memory(const agents_t *agents, const regions_t *regions) {
  void *memory, *there;
  size_t most;
  INVALID(AGENT, hsa_agent_iterate_regions(agent, sort_region, NULL));
  INVALID(ARGUMENT, hsa_agent_iterate_regions(agents->gpu, NULL, NULL));
  INVALID(REGION, hsa_region_get_info(region, HSA_REGION_INFO_SIZE, value));
  INVALID(ARGUMENT, hsa_region_get_info(regions->host, NONSENSE, value));
  INVALID(ARGUMENT, hsa_region_get_info(regions->host, HSA_REGION_INFO_SIZE, NULL));
  INVALID(REGION, hsa_memory_allocate(region, 64, &memory));
  INVALID(ALLOCATION, hsa_memory_allocate(regions->group, 64, &memory));
  MUST(hsa_region_get_info(regions->host, HSA_REGION_INFO_ALLOC_MAX_SIZE, &most));
  INVALID(ALLOCATION, hsa_memory_allocate(regions->host, most + 4096, &memory));
  INVALID(ARGUMENT, hsa_memory_allocate(regions->host, 64, NULL));
  INVALID(ARGUMENT, hsa_memory_allocate(regions->host, 0, &memory));
  /* Device memory is all there is of it. */
  MUST(hsa_region_get_info(regions->device, HSA_REGION_INFO_SIZE, &most));
  enum { CHUNKS = 5 };
  void *chunks[CHUNKS];
  int held = 0;
  while (held < CHUNKS && hsa_memory_allocate(regions->device, most / 4, &chunks[held]) == HSA_STATUS_SUCCESS)
    held++;
  CHECK(held > 0 && held < CHUNKS);
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_memory_allocate(regions->device, most / 4, &memory));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){regions->device.handle}, most / 4, 0, &memory));
  while (held)
    MUST(hsa_memory_free(chunks[--held]));
  INVALID(ARGUMENT, hsa_memory_copy(NULL, value, 4));
  INVALID(ARGUMENT, hsa_memory_copy(value, NULL, 4));
  INVALID(AGENT, hsa_memory_assign_agent(value, agent, HSA_ACCESS_PERMISSION_RW));
  INVALID(ARGUMENT, hsa_memory_assign_agent(NULL, agents->gpu, HSA_ACCESS_PERMISSION_RW));
  INVALID(ARGUMENT, hsa_memory_assign_agent(value, agents->gpu, 9));
  INVALID(ARGUMENT, hsa_memory_register(value, 0));

  hsa_amd_memory_pool_t host = find_pool(agents->cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  hsa_amd_memory_pool_t device = find_pool(agents->gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  hsa_amd_memory_pool_t group = {regions->group.handle};
  INVALID(AGENT, hsa_amd_agent_iterate_memory_pools(agent, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_agent_iterate_memory_pools(agents->gpu, NULL, NULL));
  INVALID(ALLOCATION, hsa_amd_memory_pool_allocate(group, 64, 0, &memory));
  MUST(hsa_amd_memory_pool_allocate(host, 4096, 0, &memory));
  MUST(hsa_amd_memory_pool_allocate(device, 4096, 0, &there));
  uint32_t flags = 0;
  INVALID(ARGUMENT, hsa_amd_agents_allow_access(0, &agents->gpu, NULL, memory));
  INVALID(ARGUMENT, hsa_amd_agents_allow_access(1, NULL, NULL, memory));
  INVALID(ARGUMENT, hsa_amd_agents_allow_access(1, &agents->gpu, &flags, memory));
  INVALID(ARGUMENT, hsa_amd_agents_allow_access(1, &agents->gpu, NULL, value));
  INVALID(MEMORY_POOL, hsa_amd_memory_pool_can_migrate(memory_pool, host, &yes));
  INVALID(MEMORY_POOL, hsa_amd_memory_pool_can_migrate(host, memory_pool, &yes));
  INVALID(ARGUMENT, hsa_amd_memory_pool_can_migrate(host, host, NULL));
  INVALID(MEMORY_POOL, hsa_amd_memory_migrate(memory, memory_pool, 0));
  INVALID(ARGUMENT, hsa_amd_memory_migrate(memory, host, 1));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_amd_memory_migrate(memory, device, 0));

  hsa_agent_t gpu = agents->gpu, none = agent;
  INVALID(AGENT, hsa_amd_memory_lock(value, 64, &none, 1, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock(value, 0, &gpu, 1, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock(NULL, 64, &gpu, 1, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock(value, 64, &gpu, 1, NULL));
  INVALID(ARGUMENT, hsa_amd_memory_lock(value, 64, &gpu, 0, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock(value, 64, NULL, 1, &there));
  INVALID(AGENT, hsa_amd_memory_lock_to_pool(value, 64, &none, 1, host, 0, &there));
  INVALID(MEMORY_POOL, hsa_amd_memory_lock_to_pool(value, 64, &gpu, 1, device, 0, &there));
  INVALID(MEMORY_POOL, hsa_amd_memory_lock_to_pool(value, 64, &gpu, 1, memory_pool, 0, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock_to_pool(value, 64, &gpu, 1, host, 1, &there));
  INVALID(ARGUMENT, hsa_amd_memory_lock_to_pool(value, 0, &gpu, 1, host, 0, &there));

  INVALID(ARGUMENT, hsa_amd_memory_fill(NULL, 1, 4));
  INVALID(ARGUMENT, hsa_amd_memory_fill((char *)memory + 1, 1, 4));
  INVALID(ALLOCATION, hsa_amd_memory_fill(value, 1, 4));
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  INVALID(ARGUMENT, hsa_amd_pointer_info(NULL, &info, NULL, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_pointer_info(memory, NULL, NULL, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_pointer_info_set_userdata(value, NULL));
  MUST(hsa_amd_memory_pool_free(there));
  MUST(hsa_amd_memory_pool_free(memory));
}

static void on_free(void *ptr, void *data) { (void)ptr, (void)data; }

static void copies_and_callbacks(const agents_t *agents) {
  hsa_amd_memory_pool_t host = find_pool(agents->cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  char *memory;
  hsa_signal_t done, forged = {0x1000}, no_signal = {0};
  hsa_agent_t cpu = agents->cpu;
  MUST(hsa_amd_memory_pool_allocate(host, 4096, 0, (void **)&memory));
  MUST(hsa_signal_create(1, 0, NULL, &done));
  INVALID(AGENT, hsa_amd_memory_async_copy(memory, agent, memory + 64, cpu, 64, 0, NULL, done));
  INVALID(SIGNAL, hsa_amd_memory_async_copy(memory, cpu, memory + 64, cpu, 64, 0, NULL, forged));
  INVALID(ARGUMENT, hsa_amd_memory_async_copy(memory, cpu, memory + 64, cpu, 64, 0, NULL, no_signal));
  INVALID(ARGUMENT, hsa_amd_memory_async_copy(NULL, cpu, memory, cpu, 64, 0, NULL, done));
  INVALID(ARGUMENT, hsa_amd_memory_async_copy(memory, cpu, NULL, cpu, 64, 0, NULL, done));
  CHECK(hsa_signal_load_relaxed(done) == 1);
  INVALID(ALLOCATION, hsa_amd_register_deallocation_callback(value, on_free, NULL));
  INVALID(ARGUMENT, hsa_amd_register_deallocation_callback(memory, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_register_deallocation_callback(NULL, on_free, NULL));
  INVALID(ARGUMENT, hsa_amd_deregister_deallocation_callback(memory, on_free));
  INVALID(ARGUMENT, hsa_amd_register_system_event_handler(NULL, NULL));
  MUST(hsa_signal_destroy(done));
  MUST(hsa_amd_memory_pool_free(memory));
}

static void images(hsa_agent_t gpu) {
  const unsigned unsupported = HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  const hsa_access_permission_t rw = HSA_ACCESS_PERMISSION_RW;
  const hsa_ext_image_data_layout_t linear = HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR;
  hsa_ext_image_format_t format = {0, 0};
  hsa_ext_image_descriptor_t shape = {.geometry = HSA_EXT_IMAGE_GEOMETRY_2D, .width = 4, .height = 4};
  hsa_ext_image_data_info_t info;
  hsa_ext_image_t made, none = {0};
  hsa_ext_sampler_descriptor_t how = {0};
  hsa_ext_sampler_t sampler, no_sampler = {0};
  uint32_t capabilities = 1;
  INVALID(AGENT, hsa_ext_image_get_capability(agent, 0, &format, &capabilities));
  INVALID(ARGUMENT, hsa_ext_image_get_capability(gpu, 0, NULL, &capabilities));
  INVALID(ARGUMENT, hsa_ext_image_get_capability(gpu, 0, &format, NULL));
  INVALID(AGENT, hsa_ext_image_get_capability_with_layout(agent, 0, &format, linear, &capabilities));
  INVALID(ARGUMENT, hsa_ext_image_get_capability_with_layout(gpu, 0, &format, 9, &capabilities));
  INVALID(AGENT, hsa_ext_image_data_get_info(agent, &shape, rw, &info));
  INVALID(ARGUMENT, hsa_ext_image_data_get_info(gpu, NULL, rw, &info));
  INVALID(ARGUMENT, hsa_ext_image_data_get_info(gpu, &shape, rw, NULL));
  EXPECT(unsupported, hsa_ext_image_data_get_info(gpu, &shape, rw, &info));
  INVALID(ARGUMENT, hsa_ext_image_data_get_info_with_layout(gpu, NULL, rw, linear, 0, 0, &info));
  EXPECT(unsupported, hsa_ext_image_data_get_info_with_layout(gpu, &shape, rw, linear, 0, 0, &info));
  INVALID(AGENT, hsa_ext_image_create(agent, &shape, value, rw, &made));
  INVALID(ARGUMENT, hsa_ext_image_create(gpu, NULL, value, rw, &made));
  INVALID(ARGUMENT, hsa_ext_image_create(gpu, &shape, NULL, rw, &made));
  INVALID(ARGUMENT, hsa_ext_image_create(gpu, &shape, value, rw, NULL));
  EXPECT(unsupported, hsa_ext_image_create(gpu, &shape, value, rw, &made));
  INVALID(AGENT, hsa_ext_image_create_with_layout(agent, &shape, value, rw, linear, 0, 0, &made));
  INVALID(ARGUMENT, hsa_ext_image_create_with_layout(gpu, &shape, value, rw, 9, 0, 0, &made));
  EXPECT(unsupported, hsa_ext_image_create_with_layout(gpu, &shape, value, rw, linear, 0, 0, &made));
  INVALID(ARGUMENT, hsa_amd_image_create(gpu, &shape, NULL, value, rw, &made));
  INVALID(AGENT, hsa_ext_image_destroy(agent, none));
  INVALID(ARGUMENT, hsa_ext_image_destroy(gpu, none));
  INVALID(AGENT, hsa_ext_image_copy(agent, none, NULL, none, NULL, NULL));
  INVALID(ARGUMENT, hsa_ext_image_copy(gpu, none, NULL, none, NULL, NULL));
  INVALID(AGENT, hsa_ext_image_import(agent, value, 0, 0, none, NULL));
  INVALID(ARGUMENT, hsa_ext_image_import(gpu, value, 0, 0, none, NULL));
  INVALID(AGENT, hsa_ext_image_export(agent, none, value, 0, 0, NULL));
  INVALID(ARGUMENT, hsa_ext_image_export(gpu, none, value, 0, 0, NULL));
  INVALID(AGENT, hsa_ext_image_clear(agent, none, value, NULL));
  INVALID(ARGUMENT, hsa_ext_image_clear(gpu, none, value, NULL));
  INVALID(AGENT, hsa_ext_sampler_create(agent, &how, &sampler));
  INVALID(ARGUMENT, hsa_ext_sampler_create(gpu, NULL, &sampler));
  INVALID(ARGUMENT, hsa_ext_sampler_create(gpu, &how, NULL));
  EXPECT(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED, hsa_ext_sampler_create(gpu, &how, &sampler));
  INVALID(AGENT, hsa_ext_sampler_destroy(agent, no_sampler));
}

/* What there is not says so, by a status of its own; what its header documents for wrong arguments comes first where the
 * arguments are looked at. */
static void not_supported(const agents_t *agents) {
  hsa_amd_ipc_memory_t shared = {{0}};
  INVALID(ARGUMENT, hsa_amd_ipc_signal_create(signal_, &shared));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_create(value, 64, &shared));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_attach(&shared, 64, 0, NULL, (void **)value));
  INVALID(ARGUMENT, hsa_amd_ipc_signal_attach(&shared, &signal_));
  INVALID(ARGUMENT, hsa_amd_ipc_memory_detach(value));
  images(agents->gpu);
}

int main(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  regions_t regions = find_regions(&agents);
  system_and_agents(&agents);
  caches_and_isas(&agents);
  signals(&agents);
  queues(&agents, &regions);
  profiling(&agents);
  memory(&agents, &regions);
  copies_and_callbacks(&agents);
  not_supported(&agents);
  MUST(hsa_shut_down());
  return report("statuses");
}
