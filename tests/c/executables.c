/* Executables: symbols by name and by iteration, both interfaces, variables, the loader extension.
 *
 *   executables CODE_OBJECT      with a kernel vector_add
 */
#include "check.h"

#include <elf.h>
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

/* Callbacks that end an iteration at once: how often they were called. */
#define STOPPER(name, ...)                                                                                             \
  static hsa_status_t name(__VA_ARGS__, void *data) {                                                                  \
    ++*(int *)data;                                                                                                    \
    return HSA_STATUS_INFO_BREAK;                                                                                      \
  }
#define UNUSED __attribute__((unused))
STOPPER(stop_at_symbol, hsa_executable_t e UNUSED, hsa_executable_symbol_t s UNUSED)
STOPPER(stop_at_agents, hsa_executable_t e UNUSED, hsa_agent_t a UNUSED, hsa_executable_symbol_t s UNUSED)
STOPPER(stop_at_code_symbol, hsa_code_object_t c UNUSED, hsa_code_symbol_t s UNUSED)
STOPPER(stop_at_loaded, hsa_executable_t e UNUSED, hsa_loaded_code_object_t l UNUSED)
STOPPER(stop_at_executable, hsa_executable_t e UNUSED)

static void early_stops(const agents_t *agents, hsa_executable_t executable,
                        const hsa_ven_amd_loader_1_03_pfn_t *table) {
  int calls = 0;
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_executable_iterate_symbols(executable, stop_at_symbol, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_executable_iterate_agent_symbols(executable, agents->gpu, stop_at_agents, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_executable_iterate_program_symbols(executable, stop_at_symbol, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK,
         table->hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, stop_at_loaded, &calls));
  EXPECT(HSA_STATUS_INFO_BREAK, table->hsa_ven_amd_loader_iterate_executables(stop_at_executable, &calls));
  CHECK(calls == 5);
}

/* Symbols of an agent are found with that agent, and those of the program with none. */
static void by_agent(const agents_t *agents, hsa_executable_t executable) {
  hsa_executable_symbol_t symbol;
  int calls = 0;
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "vector_add.kd", NULL, &symbol));
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &agents->cpu, &symbol));
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "host_variable", &agents->gpu, &symbol));
  INVALID(SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "vector_add", &agents->gpu, &symbol));
  INVALID(AGENT, hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &(hsa_agent_t){77}, &symbol));
  EXPECT(HSA_STATUS_SUCCESS,
         hsa_executable_iterate_agent_symbols(executable, agents->cpu, stop_at_agents, &calls));
  CHECK(calls == 0);
  hsa_agent_t agent;
  hsa_variable_allocation_t allocation = 9;
  hsa_symbol_linkage_t linkage = 9;
  MUST(hsa_executable_get_symbol_by_name(executable, "vector_add.kd", &agents->gpu, &symbol));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT, &agent));
  CHECK(agent.handle == agents->gpu.handle);
  MUST(hsa_executable_get_symbol_by_name(executable, "host_variable", NULL, &symbol));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION, &allocation));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE, &linkage));
  CHECK(allocation == HSA_VARIABLE_ALLOCATION_PROGRAM && linkage == HSA_SYMBOL_LINKAGE_PROGRAM);
}

/* Whether the process has all of a range mapped for reading. */
static int is_mapped(const void *start, size_t size) {
  uintptr_t at = (uintptr_t)start, end = at + size, first, last;
  char line[512], rights[5];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (at < end && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s", &first, &last, rights) == 3 && first <= at && at < last && rights[0] == 'r')
      at = last;
  fclose(maps);
  return at >= end;
}

/* What is loaded where, against the file and the process's own map. */
static void where_it_is(const agents_t *agents, hsa_executable_t executable, const hsa_ven_amd_loader_1_03_pfn_t *table,
                        const char *bytes, size_t size) {
  size_t count = 1;
  hsa_ven_amd_loader_segment_descriptor_t segment;
  MUST(table->hsa_ven_amd_loader_query_segment_descriptors(&segment, &count));
  CHECK(segment.executable.handle == executable.handle && segment.agent.handle == agents->gpu.handle);
  CHECK(segment.code_object_storage_type == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
  CHECK(segment.code_object_storage_base == bytes && segment.code_object_storage_size == size);
  const char *base = segment.segment_base, *end = base + segment.segment_size;
  hsa_executable_t owner;
  const void *host;
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, table->hsa_ven_amd_loader_query_executable(base - 1, &owner));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, table->hsa_ven_amd_loader_query_executable(end, &owner));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, table->hsa_ven_amd_loader_query_host_address(end, &host));
  MUST(table->hsa_ven_amd_loader_query_executable(end - 1, &owner));
  CHECK(owner.handle == executable.handle);
  MUST(table->hsa_ven_amd_loader_query_host_address(base, &host));
  CHECK(is_mapped(host, segment.segment_size));

  /* Code is where the file's headers have it, and says what it says there. */
  int64_t delta = 0;
  uint64_t load_base = 0;
  hsa_loaded_code_object_t loaded = {0};
  MUST(table->hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, see_loaded, &loaded));
  MUST(table->hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &delta));
  MUST(table->hsa_ven_amd_loader_loaded_code_object_get_info(
      loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &load_base));
  CHECK(load_base == (uint64_t)(uintptr_t)base);
  const Elf64_Ehdr *elf = (const Elf64_Ehdr *)bytes;
  int compared = 0;
  for (int i = 0; i < elf->e_phnum; i++) {
    Elf64_Phdr header;
    memcpy(&header, bytes + elf->e_phoff + (size_t)i * elf->e_phentsize, sizeof header);
    if (header.p_type != PT_LOAD)
      continue;
    const char *there = (const char *)(uintptr_t)((int64_t)header.p_vaddr + delta);
    CHECK(there >= base && there + header.p_memsz <= end);
    if (header.p_flags & PF_W)
      continue; /* relocated */
    MUST(table->hsa_ven_amd_loader_query_host_address(there, &host));
    CHECK(!memcmp(host, bytes + header.p_offset, header.p_filesz));
    compared++;
  }
  CHECK(compared >= 2);
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
  where_it_is(agents, executable, &table, bytes, size);
  by_agent(agents, executable);
  early_stops(agents, executable, &table);
  MUST(hsa_executable_destroy(executable));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, table.hsa_ven_amd_loader_query_executable((void *)all.kernel_object, &owner));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, table.hsa_ven_amd_loader_query_host_address((void *)all.kernel_object, &host));
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
  EXPECT(HSA_STATUS_INFO_BREAK, hsa_code_object_iterate_symbols(code, stop_at_code_symbol, &kernels));
  CHECK(kernels == 2);
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
