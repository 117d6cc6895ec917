/* Every status that the headers document, of every function, is what the documented misuse answers: code
 * objects, executables, the loader extension.
 * What the clients see is compared with the headers by tests/scripts/statuses.sh.
 *
 *   statuses_code CODE_OBJECT FOREIGN UNDEFINED
 *
 * CODE_OBJECT holds a kernel vector_add for the first GPU, FOREIGN is for another one, UNDEFINED refers to a variable
 * `missing` that the client is to define.
 */
#include "launch.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Handles of nothing. */
static hsa_agent_t agent;
static hsa_executable_t executable;
static hsa_executable_symbol_t executable_symbol;
static hsa_code_object_t code_object;
static hsa_code_symbol_t code_symbol;
static hsa_code_object_reader_t code_object_reader;

/* Places for answers. */
static char value[4096];
static uint32_t number;

static hsa_status_t no_memory(size_t size, hsa_callback_data_t data, void **address) {
  (void)size, (void)data, (void)address;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* The deprecated interface. */
static void code_objects(const agents_t *agents, const char *bytes, size_t size) {
  hsa_code_object_t code;
  hsa_code_symbol_t symbol;
  hsa_callback_data_t none = {0};
  void *copy = (void *)bytes;
  INVALID(ARGUMENT, hsa_code_object_deserialize(NULL, size, NULL, &code));
  INVALID(ARGUMENT, hsa_code_object_deserialize(copy, 0, NULL, &code));
  INVALID(ARGUMENT, hsa_code_object_deserialize(copy, size, NULL, NULL));
  MUST(hsa_code_object_deserialize(copy, size, NULL, &code));
  INVALID(CODE_OBJECT, hsa_code_object_serialize(code_object, no_memory, none, NULL, &copy, &size));
  INVALID(ARGUMENT, hsa_code_object_serialize(code, NULL, none, NULL, &copy, &size));
  INVALID(ARGUMENT, hsa_code_object_serialize(code, no_memory, none, NULL, NULL, &size));
  INVALID(ARGUMENT, hsa_code_object_serialize(code, no_memory, none, NULL, &copy, NULL));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_code_object_serialize(code, no_memory, none, NULL, &copy, &size));
  INVALID(CODE_OBJECT, hsa_code_object_get_info(code_object, HSA_CODE_OBJECT_INFO_ISA, value));
  INVALID(ARGUMENT, hsa_code_object_get_info(code, NONSENSE, value));
  INVALID(ARGUMENT, hsa_code_object_get_info(code, HSA_CODE_OBJECT_INFO_ISA, NULL));
  INVALID(CODE_OBJECT, hsa_code_object_get_symbol(code_object, "vector_add.kd", &symbol));
  INVALID(SYMBOL_NAME, hsa_code_object_get_symbol(code, "nothing", &symbol));
  INVALID(ARGUMENT, hsa_code_object_get_symbol(code, NULL, &symbol));
  INVALID(ARGUMENT, hsa_code_object_get_symbol(code, "vector_add.kd", NULL));
  INVALID(CODE_OBJECT, hsa_code_object_get_symbol_from_name(code_object, NULL, "vector_add.kd", &symbol));
  INVALID(SYMBOL_NAME, hsa_code_object_get_symbol_from_name(code, NULL, "nothing", &symbol));
  INVALID(ARGUMENT, hsa_code_object_get_symbol_from_name(code, NULL, NULL, &symbol));
  INVALID(ARGUMENT, hsa_code_object_get_symbol_from_name(code, NULL, "vector_add.kd", NULL));
  MUST(hsa_code_object_get_symbol(code, "vector_add.kd", &symbol));
  INVALID(CODE_SYMBOL, hsa_code_symbol_get_info(code_symbol, HSA_CODE_SYMBOL_INFO_TYPE, &number));
  INVALID(ARGUMENT, hsa_code_symbol_get_info(symbol, NONSENSE, &number));
  INVALID(ARGUMENT, hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_TYPE, NULL));
  INVALID(CODE_OBJECT, hsa_code_object_iterate_symbols(code_object, NULL, NULL));
  INVALID(ARGUMENT, hsa_code_object_iterate_symbols(code, NULL, NULL));

  hsa_executable_t made;
  INVALID(ARGUMENT, hsa_executable_create(9, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &made));
  INVALID(ARGUMENT, hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, NULL));
  MUST(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &made));
  INVALID(EXECUTABLE, hsa_executable_load_code_object(executable, agents->gpu, code, NULL));
  INVALID(AGENT, hsa_executable_load_code_object(made, agent, code, NULL));
  INVALID(CODE_OBJECT, hsa_executable_load_code_object(made, agents->gpu, code_object, NULL));
  MUST(hsa_executable_freeze(made, NULL));
  EXPECT(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_load_code_object(made, agents->gpu, code, NULL));
  MUST(hsa_executable_destroy(made));
  MUST(hsa_code_object_destroy(code));
  INVALID(CODE_OBJECT, hsa_code_object_destroy(code));
}

/* Code of another GPU. */
static void foreign_code(const agents_t *agents, const char *bytes, size_t size) {
  hsa_code_object_t code;
  hsa_code_object_reader_t reader;
  hsa_executable_t made;
  MUST(hsa_code_object_deserialize((void *)bytes, size, NULL, &code));
  MUST(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &made));
  EXPECT(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, hsa_executable_load_code_object(made, agents->gpu, code, NULL));
  EXPECT(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
         hsa_executable_load_agent_code_object(made, agents->gpu, reader, NULL, NULL));
  MUST(hsa_executable_destroy(made));
  MUST(hsa_code_object_reader_destroy(reader));
  MUST(hsa_code_object_destroy(code));
}

static void loading(const agents_t *agents, const char *bytes, size_t size) {
  hsa_code_object_reader_t reader;
  hsa_executable_t made;
  INVALID(ARGUMENT, hsa_code_object_reader_create_from_file(0, NULL));
  INVALID(FILE, hsa_code_object_reader_create_from_file(-1, &reader));
  INVALID(ARGUMENT, hsa_code_object_reader_create_from_memory(NULL, size, &reader));
  INVALID(ARGUMENT, hsa_code_object_reader_create_from_memory(bytes, 0, &reader));
  INVALID(ARGUMENT, hsa_code_object_reader_create_from_memory(bytes, size, NULL));
  MUST(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  INVALID(ARGUMENT, hsa_executable_create_alt(9, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &made));
  INVALID(ARGUMENT, hsa_executable_create_alt(HSA_PROFILE_FULL, 9, NULL, &made));
  INVALID(ARGUMENT, hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, NULL));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &made));
  INVALID(EXECUTABLE, hsa_executable_load_program_code_object(executable, reader, NULL, NULL));
  INVALID(CODE_OBJECT_READER, hsa_executable_load_program_code_object(made, code_object_reader, NULL, NULL));
  EXPECT(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, hsa_executable_load_program_code_object(made, reader, NULL, NULL));
  INVALID(AGENT, hsa_executable_load_agent_code_object(made, agent, reader, NULL, NULL));
  INVALID(CODE_OBJECT_READER, hsa_executable_load_agent_code_object(made, agents->gpu, code_object_reader, NULL, NULL));
  MUST(hsa_executable_load_agent_code_object(made, agents->gpu, reader, NULL, NULL));

  INVALID(EXECUTABLE, hsa_executable_get_info(executable, HSA_EXECUTABLE_INFO_STATE, &number));
  INVALID(ARGUMENT, hsa_executable_get_info(made, NONSENSE, &number));
  INVALID(ARGUMENT, hsa_executable_get_info(made, HSA_EXECUTABLE_INFO_STATE, NULL));
  INVALID(EXECUTABLE, hsa_executable_validate(executable, &number));
  INVALID(ARGUMENT, hsa_executable_validate(made, NULL));
  INVALID(EXECUTABLE, hsa_executable_validate_alt(executable, NULL, &number));
  INVALID(ARGUMENT, hsa_executable_validate_alt(made, NULL, NULL));
  INVALID(EXECUTABLE, hsa_executable_freeze(executable, NULL));
  MUST(hsa_executable_freeze(made, NULL));
  EXPECT(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, hsa_executable_load_program_code_object(made, reader, NULL, NULL));

  hsa_executable_symbol_t symbol;
  INVALID(EXECUTABLE, hsa_executable_get_symbol(executable, NULL, "vector_add.kd", agents->gpu, 0, &symbol));
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol(made, NULL, "nothing", agents->gpu, 0, &symbol));
  INVALID(ARGUMENT, hsa_executable_get_symbol(made, NULL, NULL, agents->gpu, 0, &symbol));
  INVALID(ARGUMENT, hsa_executable_get_symbol(made, NULL, "vector_add.kd", agents->gpu, 0, NULL));
  INVALID(EXECUTABLE, hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &agents->gpu, &symbol));
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol_by_name(made, "nothing", &agents->gpu, &symbol));
  INVALID(ARGUMENT, hsa_executable_get_symbol_by_name(made, NULL, &agents->gpu, &symbol));
  INVALID(ARGUMENT, hsa_executable_get_symbol_by_name(made, "vector_add.kd", &agents->gpu, NULL));
  MUST(hsa_executable_get_symbol_by_name(made, "vector_add.kd", &agents->gpu, &symbol));
  INVALID(EXECUTABLE_SYMBOL,
          hsa_executable_symbol_get_info(executable_symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &number));
  INVALID(ARGUMENT, hsa_executable_symbol_get_info(symbol, NONSENSE, &number));
  INVALID(ARGUMENT, hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, NULL));
  INVALID(EXECUTABLE, hsa_executable_iterate_symbols(executable, NULL, NULL));
  INVALID(ARGUMENT, hsa_executable_iterate_symbols(made, NULL, NULL));
  INVALID(EXECUTABLE, hsa_executable_iterate_agent_symbols(executable, agents->gpu, NULL, NULL));
  INVALID(ARGUMENT, hsa_executable_iterate_agent_symbols(made, agents->gpu, NULL, NULL));
  INVALID(EXECUTABLE, hsa_executable_iterate_program_symbols(executable, NULL, NULL));
  INVALID(ARGUMENT, hsa_executable_iterate_program_symbols(made, NULL, NULL));
  MUST(hsa_executable_destroy(made));
  MUST(hsa_code_object_reader_destroy(reader));
}

/* Variables that the client defines, and one that it does not. */
static void variables(const agents_t *agents, const char *bytes, size_t size) {
  const hsa_status_t defined = HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, frozen = HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
  static int variable;
  hsa_executable_t made;
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &made));
  INVALID(EXECUTABLE, hsa_executable_global_variable_define(executable, "a", &variable));
  INVALID(ARGUMENT, hsa_executable_global_variable_define(made, NULL, &variable));
  MUST(hsa_executable_global_variable_define(made, "a", &variable));
  EXPECT(defined, hsa_executable_global_variable_define(made, "a", &variable));
  INVALID(EXECUTABLE, hsa_executable_agent_global_variable_define(executable, agents->gpu, "b", &variable));
  INVALID(AGENT, hsa_executable_agent_global_variable_define(made, agent, "b", &variable));
  INVALID(ARGUMENT, hsa_executable_agent_global_variable_define(made, agents->gpu, NULL, &variable));
  MUST(hsa_executable_agent_global_variable_define(made, agents->gpu, "b", &variable));
  EXPECT(defined, hsa_executable_agent_global_variable_define(made, agents->gpu, "b", &variable));
  INVALID(EXECUTABLE, hsa_executable_readonly_variable_define(executable, agents->gpu, "c", &variable));
  INVALID(AGENT, hsa_executable_readonly_variable_define(made, agent, "c", &variable));
  INVALID(ARGUMENT, hsa_executable_readonly_variable_define(made, agents->gpu, NULL, &variable));
  MUST(hsa_executable_readonly_variable_define(made, agents->gpu, "c", &variable));
  EXPECT(defined, hsa_executable_readonly_variable_define(made, agents->gpu, "c", &variable));
  MUST(hsa_executable_freeze(made, NULL));
  EXPECT(frozen, hsa_executable_freeze(made, NULL));
  EXPECT(frozen, hsa_executable_global_variable_define(made, "d", &variable));
  EXPECT(frozen, hsa_executable_agent_global_variable_define(made, agents->gpu, "d", &variable));
  EXPECT(frozen, hsa_executable_readonly_variable_define(made, agents->gpu, "d", &variable));
  MUST(hsa_executable_destroy(made));

  /* What is missing can still be defined afterwards. */
  hsa_code_object_reader_t reader;
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &made));
  MUST(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  MUST(hsa_executable_agent_global_variable_define(made, agents->gpu, "other", &variable));
  hsa_status_t loaded = hsa_executable_load_agent_code_object(made, agents->gpu, reader, NULL, NULL);
  CHECK(loaded == HSA_STATUS_SUCCESS);
  EXPECT(HSA_STATUS_ERROR_VARIABLE_UNDEFINED, hsa_executable_freeze(made, NULL));
  MUST(hsa_executable_agent_global_variable_define(made, agents->gpu, "missing", &variable));
  MUST(hsa_executable_freeze(made, NULL));
  MUST(hsa_executable_destroy(made));
  MUST(hsa_code_object_reader_destroy(reader));
}

static hsa_status_t keep_loaded(hsa_executable_t owner, hsa_loaded_code_object_t found, void *data) {
  (void)owner;
  *(hsa_loaded_code_object_t *)data = found;
  return HSA_STATUS_SUCCESS;
}

static hsa_ven_amd_loader_1_03_pfn_t table;

static void loader_extension(const agents_t *agents, const char *path) {
  MUST(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table));
  hsa_executable_t made = load_code(agents->gpu, path), owner;
  const void *host;
  size_t count = 0;
  hsa_ven_amd_loader_segment_descriptor_t descriptors[4];
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_host_address(NULL, &host));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_host_address(value, &host));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_segment_descriptors(NULL, NULL));
  MUST(table.hsa_ven_amd_loader_query_segment_descriptors(NULL, &count));
  CHECK(count == 1);
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_segment_descriptors(NULL, &count));
  count = 2;
  EXPECT(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
         table.hsa_ven_amd_loader_query_segment_descriptors(descriptors, &count));
  count = 0;
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_segment_descriptors(descriptors, &count));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_executable(NULL, &owner));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_query_executable(value, &owner));
  hsa_loaded_code_object_t loaded = {0}, none = {0};
  INVALID(EXECUTABLE,
          table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, keep_loaded, &loaded));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(made, NULL, NULL));
  MUST(table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(made, keep_loaded, &loaded));
  const int attribute = HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE;
  INVALID(CODE_OBJECT, table.hsa_ven_amd_loader_loaded_code_object_get_info(none, attribute, value));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_loaded_code_object_get_info(loaded, NONSENSE, value));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_loaded_code_object_get_info(loaded, attribute, NULL));
  int file = open(path, O_RDONLY);
  hsa_code_object_reader_t reader;
  INVALID(FILE, table.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(-1, 0, 64, &reader));
  INVALID(CODE_OBJECT,
          table.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(file, 1 << 30, 64, &reader));
  INVALID(ARGUMENT,
          table.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(file, 0, 64, NULL));
  INVALID(ARGUMENT, table.hsa_ven_amd_loader_iterate_executables(NULL, NULL));
  close(file);
  MUST(hsa_executable_destroy(made));
}

/* A client that kept the table. */
static void loader_extension_afterwards(void) {
  const hsa_status_t not_yet = HSA_STATUS_ERROR_NOT_INITIALIZED;
  hsa_loaded_code_object_t none = {0};
  EXPECT(not_yet, table.hsa_ven_amd_loader_query_host_address(NULL, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_query_segment_descriptors(NULL, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_query_executable(NULL, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, NULL, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_loaded_code_object_get_info(none, 0, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(0, 0, 0, NULL));
  EXPECT(not_yet, table.hsa_ven_amd_loader_iterate_executables(NULL, NULL));
}

static const char *map(const char *path, size_t *size) {
  struct stat status;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &status)) {
    perror(path);
    exit(1);
  }
  *size = (size_t)status.st_size;
  const char *bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  size_t size, foreign_size, undefined_size;
  const char *bytes = map(argv[1], &size), *foreign = map(argv[2], &foreign_size);
  const char *undefined = map(argv[3], &undefined_size);
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  code_objects(&agents, bytes, size);
  foreign_code(&agents, foreign, foreign_size);
  loading(&agents, bytes, size);
  variables(&agents, undefined, undefined_size);
  loader_extension(&agents, argv[1]);
  MUST(hsa_shut_down());
  loader_extension_afterwards();
  return report("statuses of code");
}
