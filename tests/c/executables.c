/* Executables: symbols by name and by iteration, both interfaces, variables, the loader extension.
 *
 *   executables CODE_OBJECT      with a kernel vector_add
 */
#include "check.h"

#include <fcntl.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <unistd.h>

typedef struct {
  int kernels, others;
  uint64_t kernel_object;
} seen_t;

static hsa_status_t see(hsa_executable_t executable, hsa_executable_symbol_t symbol, void *data) {
  seen_t *seen = data;
  hsa_symbol_kind_t kind;
  uint32_t length = 0;
  char name[256] = {0};
  (void)executable;
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length));
  CHECK(length < sizeof name);
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name));
  if (kind == HSA_SYMBOL_KIND_KERNEL && !strcmp(name, "vector_add.kd")) {
    seen->kernels++;
    MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                        &seen->kernel_object));
    EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT,
           hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &length));
  } else {
    seen->others++;
  }
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_on_agent(hsa_executable_t executable, hsa_agent_t agent,
                                 hsa_executable_symbol_t symbol, void *data) {
  (void)agent;
  return see(executable, symbol, data);
}

static hsa_status_t see_code(hsa_code_object_t code, hsa_code_symbol_t symbol, void *data) {
  uint32_t size = 0;
  (void)code;
  MUST(hsa_code_symbol_get_info(symbol, HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &size));
  CHECK(size > 0);
  ++*(int *)data;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_loaded(hsa_executable_t executable, hsa_loaded_code_object_t loaded, void *data) {
  (void)executable;
  *(hsa_loaded_code_object_t *)data = loaded;
  return HSA_STATUS_SUCCESS;
}

static void *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size);
  if (fread(bytes, 1, *size, file) != *size)
    exit(1);
  fclose(file);
  return bytes;
}

static void modern(agents_t *agents, const void *bytes, size_t size) {
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_loaded_code_object_t loaded = {0}, iterated = {0};
  hsa_executable_symbol_t symbol;
  seen_t all = {0}, on_agent = {0}, program = {0};
  MUST(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 &executable));
  MUST(hsa_executable_load_agent_code_object(executable, agents->gpu, reader, NULL, &loaded));
  EXPECT(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
         hsa_executable_load_agent_code_object(executable, agents->gpu, reader, NULL, NULL));
  int variable = 0;
  MUST(hsa_executable_global_variable_define(executable, "host_variable", &variable));
  EXPECT(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
         hsa_executable_global_variable_define(executable, "host_variable", &variable));
  MUST(hsa_executable_freeze(executable, NULL));
  EXPECT(HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
         hsa_executable_global_variable_define(executable, "another", &variable));

  MUST(hsa_executable_iterate_symbols(executable, see, &all));
  MUST(hsa_executable_iterate_agent_symbols(executable, agents->gpu, see_on_agent, &on_agent));
  MUST(hsa_executable_iterate_program_symbols(executable, see, &program));
  CHECK(all.kernels == 1 && on_agent.kernels == 1 && program.kernels == 0 && program.others == 1);
  MUST(hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &agents->gpu, &symbol));
  MUST(hsa_executable_get_symbol_by_name(executable, "host_variable", NULL, &symbol));
  void *address = NULL;
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
  CHECK(address == &variable);

  hsa_ven_amd_loader_1_03_pfn_t table = {0};
  bool supported = false;
  MUST(hsa_system_extension_supported(HSA_EXTENSION_AMD_LOADER, 1, 3, &supported));
  CHECK(supported);
  MUST(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table));
  MUST(table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, see_loaded, &iterated));
  CHECK(iterated.handle == loaded.handle);
  uint64_t base = 0, load_size = 0;
  uint32_t uri_length = 0;
  char uri[512] = {0};
  MUST(table.hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &base));
  MUST(table.hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &load_size));
  MUST(table.hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &uri_length));
  CHECK(uri_length < sizeof uri);
  MUST(table.hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri));
  CHECK(!strncmp(uri, "memory://", 9));
  CHECK(all.kernel_object >= base && all.kernel_object < base + load_size);
  hsa_executable_t owner = {0};
  const void *host = NULL;
  MUST(table.hsa_ven_amd_loader_query_executable((void *)all.kernel_object, &owner));
  CHECK(owner.handle == executable.handle);
  MUST(table.hsa_ven_amd_loader_query_host_address((void *)all.kernel_object, &host));
  CHECK(host != NULL);
  size_t segments = 0;
  MUST(table.hsa_ven_amd_loader_query_segment_descriptors(NULL, &segments));
  CHECK(segments == 1);
  MUST(hsa_executable_destroy(executable));
  EXPECT(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
         hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
  MUST(hsa_code_object_reader_destroy(reader));
}

/* The deprecated interface: what libgomp calls. */
static void deprecated(agents_t *agents, void *bytes, size_t size) {
  hsa_code_object_t code;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  hsa_isa_t isa, agent_isa;
  int kernels = 0;
  MUST(hsa_code_object_deserialize(bytes, size, NULL, &code));
  MUST(hsa_code_object_iterate_symbols(code, see_code, &kernels));
  CHECK(kernels == 1);
  MUST(hsa_code_object_get_info(code, HSA_CODE_OBJECT_INFO_ISA, &isa));
  MUST(hsa_agent_get_info(agents->gpu, HSA_AGENT_INFO_ISA, &agent_isa));
  bool compatible = false;
  MUST(hsa_isa_compatible(isa, agent_isa, &compatible));
  CHECK(compatible);
  MUST(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, "", &executable));
  MUST(hsa_executable_load_code_object(executable, agents->gpu, code, ""));
  MUST(hsa_executable_freeze(executable, ""));
  MUST(hsa_executable_get_symbol(executable, NULL, "vector_add.kd", agents->gpu, 0, &symbol));
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_code_object_destroy(code));
  EXPECT(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_destroy(code));
}

/* Cut short or with a byte changed, a code object is refused or loaded: nothing worse. */
static void hostile(agents_t *agents, unsigned char *bytes, size_t size) {
  unsigned state = 12345;
  fflush(stderr);
  int errors = dup(2), nothing = open("/dev/null", O_WRONLY);
  dup2(nothing, 2); /* each refusal is explained there */
  for (int i = 0; i < 300; i++) {
    state = state * 1103515245u + 12345u;
    size_t at = (state >> 8) % size, length = i % 3 == 0 ? at + 1 : size;
    unsigned char old = bytes[at];
    bytes[at] = (unsigned char)(state >> 24);
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    MUST(hsa_code_object_reader_create_from_memory(bytes, length, &reader));
    MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                   &executable));
    if (hsa_executable_load_agent_code_object(executable, agents->gpu, reader, NULL, NULL) ==
        HSA_STATUS_SUCCESS)
      hsa_executable_freeze(executable, NULL);
    MUST(hsa_executable_destroy(executable));
    MUST(hsa_code_object_reader_destroy(reader));
    bytes[at] = old;
  }
  dup2(errors, 2);
  close(errors);
  close(nothing);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  size_t size = 0;
  void *bytes = read_all(argv[1], &size);
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  modern(&agents, bytes, size);
  deprecated(&agents, bytes, size);
  hostile(&agents, bytes, size);
  free(bytes);
  MUST(hsa_shut_down());
  return report("executables");
}
