/* Every status that the headers document, of every function, is what the documented misuse answers: before
 * hsa_init, and where it fails.
 * What the clients see is compared with the headers by tests/scripts/statuses.sh.
 */
#include "check.h"

#include <hsa/hsa_ext_image.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_YET(call) EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, call)

/* Handles of nothing. */
static hsa_agent_t agent;
static hsa_signal_t signal_;
static hsa_signal_group_t signal_group;
static hsa_region_t region;
static hsa_cache_t cache;
static hsa_isa_t isa;
static hsa_wavefront_t wavefront;
static hsa_executable_t executable;
static hsa_executable_symbol_t executable_symbol;
static hsa_code_object_t code_object;
static hsa_code_symbol_t code_symbol;
static hsa_code_object_reader_t code_object_reader;
static hsa_amd_memory_pool_t memory_pool;
static hsa_ext_image_t image;
static hsa_ext_sampler_t sampler;

/* Nothing works before hsa_init, whatever the arguments are: all zero here. */
static void before_init(void) {
  NOT_YET(hsa_shut_down());
  NOT_YET(hsa_system_get_info(0, NULL));
  NOT_YET(hsa_extension_get_name(0, NULL));
  NOT_YET(hsa_system_extension_supported(0, 0, 0, NULL));
  NOT_YET(hsa_system_major_extension_supported(0, 0, NULL, NULL));
  NOT_YET(hsa_system_get_extension_table(0, 0, 0, NULL));
  NOT_YET(hsa_system_get_major_extension_table(0, 0, 0, NULL));
  NOT_YET(hsa_agent_get_info(agent, 0, NULL));
  NOT_YET(hsa_iterate_agents(NULL, NULL));
  NOT_YET(hsa_agent_get_exception_policies(agent, 0, NULL));
  NOT_YET(hsa_cache_get_info(cache, 0, NULL));
  NOT_YET(hsa_agent_iterate_caches(agent, NULL, NULL));
  NOT_YET(hsa_agent_extension_supported(0, agent, 0, 0, NULL));
  NOT_YET(hsa_agent_major_extension_supported(0, agent, 0, NULL, NULL));
  NOT_YET(hsa_signal_create(0, 0, NULL, NULL));
  NOT_YET(hsa_signal_destroy(signal_));
  NOT_YET(hsa_signal_group_create(0, NULL, 0, NULL, NULL));
  NOT_YET(hsa_signal_group_destroy(signal_group));
  NOT_YET(hsa_queue_create(agent, 0, 0, NULL, NULL, 0, 0, NULL));
  NOT_YET(hsa_soft_queue_create(region, 0, 0, 0, signal_, NULL));
  NOT_YET(hsa_queue_destroy(NULL));
  NOT_YET(hsa_queue_inactivate(NULL));
  NOT_YET(hsa_region_get_info(region, 0, NULL));
  NOT_YET(hsa_agent_iterate_regions(agent, NULL, NULL));
  NOT_YET(hsa_memory_allocate(region, 0, NULL));
  NOT_YET(hsa_memory_free(NULL));
  NOT_YET(hsa_memory_copy(NULL, NULL, 0));
  NOT_YET(hsa_memory_assign_agent(NULL, agent, 0));
  NOT_YET(hsa_memory_register(NULL, 0));
  NOT_YET(hsa_memory_deregister(NULL, 0));
  NOT_YET(hsa_isa_from_name(NULL, NULL));
  NOT_YET(hsa_agent_iterate_isas(agent, NULL, NULL));
  NOT_YET(hsa_isa_get_info(isa, 0, 0, NULL));
  NOT_YET(hsa_isa_get_info_alt(isa, 0, NULL));
  NOT_YET(hsa_isa_get_exception_policies(isa, 0, NULL));
  NOT_YET(hsa_isa_get_round_method(isa, 0, 0, NULL));
  NOT_YET(hsa_wavefront_get_info(wavefront, 0, NULL));
  NOT_YET(hsa_isa_iterate_wavefronts(isa, NULL, NULL));
  NOT_YET(hsa_isa_compatible(isa, isa, NULL));
  NOT_YET(hsa_code_object_reader_create_from_file(0, NULL));
  NOT_YET(hsa_code_object_reader_create_from_memory(NULL, 0, NULL));
  NOT_YET(hsa_code_object_reader_destroy(code_object_reader));
  NOT_YET(hsa_executable_create(0, 0, NULL, NULL));
  NOT_YET(hsa_executable_create_alt(0, 0, NULL, NULL));
  NOT_YET(hsa_executable_destroy(executable));
  NOT_YET(hsa_executable_load_program_code_object(executable, code_object_reader, NULL, NULL));
  NOT_YET(hsa_executable_load_agent_code_object(executable, agent, code_object_reader, NULL, NULL));
  NOT_YET(hsa_executable_freeze(executable, NULL));
  NOT_YET(hsa_executable_get_info(executable, 0, NULL));
  NOT_YET(hsa_executable_global_variable_define(executable, NULL, NULL));
  NOT_YET(hsa_executable_agent_global_variable_define(executable, agent, NULL, NULL));
  NOT_YET(hsa_executable_readonly_variable_define(executable, agent, NULL, NULL));
  NOT_YET(hsa_executable_validate(executable, NULL));
  NOT_YET(hsa_executable_validate_alt(executable, NULL, NULL));
  NOT_YET(hsa_executable_get_symbol(executable, NULL, NULL, agent, 0, NULL));
  NOT_YET(hsa_executable_get_symbol_by_name(executable, NULL, NULL, NULL));
  NOT_YET(hsa_executable_symbol_get_info(executable_symbol, 0, NULL));
  NOT_YET(hsa_executable_iterate_symbols(executable, NULL, NULL));
  NOT_YET(hsa_executable_iterate_agent_symbols(executable, agent, NULL, NULL));
  NOT_YET(hsa_executable_iterate_program_symbols(executable, NULL, NULL));
  NOT_YET(hsa_code_object_serialize(code_object, NULL, (hsa_callback_data_t){0}, NULL, NULL, NULL));
  NOT_YET(hsa_code_object_deserialize(NULL, 0, NULL, NULL));
  NOT_YET(hsa_code_object_destroy(code_object));
  NOT_YET(hsa_code_object_get_info(code_object, 0, NULL));
  NOT_YET(hsa_executable_load_code_object(executable, agent, code_object, NULL));
  NOT_YET(hsa_code_object_get_symbol(code_object, NULL, NULL));
  NOT_YET(hsa_code_object_get_symbol_from_name(code_object, NULL, NULL, NULL));
  NOT_YET(hsa_code_symbol_get_info(code_symbol, 0, NULL));
  NOT_YET(hsa_code_object_iterate_symbols(code_object, NULL, NULL));
  NOT_YET(hsa_amd_coherency_get_type(agent, NULL));
  NOT_YET(hsa_amd_coherency_set_type(agent, 0));
  NOT_YET(hsa_amd_profiling_set_profiler_enabled(NULL, 0));
  NOT_YET(hsa_amd_profiling_async_copy_enable(0));
  NOT_YET(hsa_amd_profiling_get_dispatch_time(agent, signal_, NULL));
  NOT_YET(hsa_amd_profiling_get_async_copy_time(signal_, NULL));
  NOT_YET(hsa_amd_profiling_convert_tick_to_system_domain(agent, 0, NULL));
  NOT_YET(hsa_amd_signal_create(0, 0, NULL, 0, NULL));
  NOT_YET(hsa_amd_signal_value_pointer(signal_, NULL));
  NOT_YET(hsa_amd_signal_async_handler(signal_, 0, 0, NULL, NULL));
  NOT_YET(hsa_amd_async_function(NULL, NULL));
  NOT_YET(hsa_amd_image_get_info_max_dim(agent, 0, NULL));
  NOT_YET(hsa_amd_queue_cu_set_mask(NULL, 0, NULL));
  NOT_YET(hsa_amd_queue_cu_get_mask(NULL, 0, NULL));
  NOT_YET(hsa_amd_agent_iterate_memory_pools(agent, NULL, NULL));
  NOT_YET(hsa_amd_memory_pool_allocate(memory_pool, 0, 0, NULL));
  NOT_YET(hsa_amd_memory_pool_free(NULL));
  NOT_YET(hsa_amd_memory_async_copy(NULL, agent, NULL, agent, 0, 0, NULL, signal_));
  NOT_YET(hsa_amd_agents_allow_access(0, NULL, NULL, NULL));
  NOT_YET(hsa_amd_memory_pool_can_migrate(memory_pool, memory_pool, NULL));
  NOT_YET(hsa_amd_memory_migrate(NULL, memory_pool, 0));
  NOT_YET(hsa_amd_memory_lock(NULL, 0, NULL, 0, NULL));
  NOT_YET(hsa_amd_memory_lock_to_pool(NULL, 0, NULL, 0, memory_pool, 0, NULL));
  NOT_YET(hsa_amd_memory_unlock(NULL));
  NOT_YET(hsa_amd_memory_fill(NULL, 0, 0));
  NOT_YET(hsa_amd_interop_map_buffer(0, NULL, 0, 0, NULL, NULL, NULL, NULL));
  NOT_YET(hsa_amd_image_create(agent, NULL, NULL, NULL, 0, NULL));
  NOT_YET(hsa_amd_pointer_info(NULL, NULL, NULL, NULL, NULL));
  NOT_YET(hsa_amd_pointer_info_set_userdata(NULL, NULL));
  NOT_YET(hsa_amd_ipc_memory_create(NULL, 0, NULL));
  NOT_YET(hsa_amd_ipc_memory_attach(NULL, 0, 0, NULL, NULL));
  NOT_YET(hsa_amd_ipc_memory_detach(NULL));
  NOT_YET(hsa_amd_ipc_signal_create(signal_, NULL));
  NOT_YET(hsa_amd_ipc_signal_attach(NULL, NULL));
  NOT_YET(hsa_amd_register_deallocation_callback(NULL, NULL, NULL));
  NOT_YET(hsa_amd_deregister_deallocation_callback(NULL, NULL));
  NOT_YET(hsa_ext_image_get_capability(agent, 0, NULL, NULL));
  NOT_YET(hsa_ext_image_get_capability_with_layout(agent, 0, NULL, 0, NULL));
  NOT_YET(hsa_ext_image_data_get_info(agent, NULL, 0, NULL));
  NOT_YET(hsa_ext_image_data_get_info_with_layout(agent, NULL, 0, 0, 0, 0, NULL));
  NOT_YET(hsa_ext_image_create(agent, NULL, NULL, 0, NULL));
  NOT_YET(hsa_ext_image_create_with_layout(agent, NULL, NULL, 0, 0, 0, 0, NULL));
  NOT_YET(hsa_ext_image_destroy(agent, image));
  NOT_YET(hsa_ext_image_copy(agent, image, NULL, image, NULL, NULL));
  NOT_YET(hsa_ext_image_import(agent, NULL, 0, 0, image, NULL));
  NOT_YET(hsa_ext_image_export(agent, image, NULL, 0, 0, NULL));
  NOT_YET(hsa_ext_image_clear(agent, image, NULL, NULL));
  NOT_YET(hsa_ext_sampler_create(agent, NULL, NULL));
  NOT_YET(hsa_ext_sampler_destroy(agent, sampler));
}

/* A backend that there is not. */
static void no_backend(void) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(2);
    setenv("RUKH_BACKEND", "sim:gfx9999", 1);
    EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_init());
    NOT_YET(hsa_shut_down());
    _exit(failures != 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}


int main(void) {
  before_init();
  no_backend();
  return report("statuses before hsa_init");
}
