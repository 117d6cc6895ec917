// A C++ exception that a callback throws passes through the library to whoever called it, and the library goes on.
//
//   exceptions CODE_OBJECT      for the first GPU
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) != HSA_STATUS_SUCCESS) {                                                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);                                                  \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

static int destroyed;
struct Guard {
  ~Guard() { destroyed++; }
};

static hsa_agent_t gpu;
static hsa_status_t pick(hsa_agent_t agent, void *) {
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU)
    gpu = agent;
  return HSA_STATUS_SUCCESS;
}

template <typename... Handles> static hsa_status_t thrower(Handles..., void *) {
  Guard guard;
  throw std::string("out of a callback");
}

template <typename Call> static bool throws(Call call) {
  try {
    call();
  } catch (const std::string &text) {
    return text == "out of a callback";
  }
  return false;
}

static void throw_on_free(void *, void *) { throw std::string("out of a callback"); }
static void *throw_for_memory(size_t) { throw std::string("out of a callback"); }

// Functions that call back for other reasons than to show something.
static int others() {
  hsa_amd_memory_pool_t pool = {0};
  MUST(hsa_amd_agent_iterate_memory_pools(
      gpu,
      [](hsa_amd_memory_pool_t found, void *data) {
        bool allocatable = false;
        MUST(hsa_amd_memory_pool_get_info(found, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable));
        if (allocatable)
          *static_cast<hsa_amd_memory_pool_t *>(data) = found;
        return HSA_STATUS_SUCCESS;
      },
      &pool));
  void *memory;
  MUST(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  uint32_t count;
  hsa_agent_t *agents;
  int thrown = throws([&] { hsa_amd_pointer_info(memory, &info, throw_for_memory, &count, &agents); });
  MUST(hsa_amd_register_deallocation_callback(memory, throw_on_free, nullptr));
  thrown += throws([&] { hsa_amd_memory_pool_free(memory); });
  return thrown;
}

static hsa_status_t throw_for_code(size_t, hsa_callback_data_t, void **) { throw std::string("out of a callback"); }

// Functions that show code: how many of them throw.
static int of_code(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  hsa_code_object_t code;
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  MUST(hsa_code_object_deserialize(bytes.data(), bytes.size(), nullptr, &code));
  MUST(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  MUST(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  int variable = 0;
  MUST(hsa_executable_global_variable_define(executable, "variable", &variable));
  MUST(hsa_executable_freeze(executable, nullptr));
  hsa_ven_amd_loader_1_03_pfn_t table = {};
  MUST(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table));
  int thrown = 0;
  for (int round = 0; round < 3; round++) {
    thrown += throws([&] { hsa_code_object_iterate_symbols(code, thrower<hsa_code_object_t, hsa_code_symbol_t>, nullptr); });
    thrown += throws([&] {
      hsa_executable_iterate_symbols(executable, thrower<hsa_executable_t, hsa_executable_symbol_t>, nullptr);
    });
    thrown += throws([&] {
      hsa_executable_iterate_agent_symbols(executable, gpu, thrower<hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t>,
                                           nullptr);
    });
    thrown += throws([&] {
      hsa_executable_iterate_program_symbols(executable, thrower<hsa_executable_t, hsa_executable_symbol_t>, nullptr);
    });
    thrown += throws([&] {
      table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
          executable, thrower<hsa_executable_t, hsa_loaded_code_object_t>, nullptr);
    });
    thrown += throws([&] { table.hsa_ven_amd_loader_iterate_executables(thrower<hsa_executable_t>, nullptr); });
    void *serialized;
    size_t size;
    thrown += throws([&] { hsa_code_object_serialize(code, throw_for_code, {0}, nullptr, &serialized, &size); });
  }
  MUST(hsa_executable_destroy(executable));
  MUST(hsa_code_object_reader_destroy(reader));
  MUST(hsa_code_object_destroy(code));
  return thrown;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  MUST(hsa_init());
  MUST(hsa_iterate_agents(pick, nullptr));
  hsa_isa_t isa;
  MUST(hsa_agent_get_info(gpu, HSA_AGENT_INFO_ISA, &isa));
  int thrown = 0;
  for (int round = 0; round < 3; round++) {
    thrown += throws([] { hsa_iterate_agents(thrower<hsa_agent_t>, nullptr); });
    thrown += throws([] { hsa_agent_iterate_caches(gpu, thrower<hsa_cache_t>, nullptr); });
    thrown += throws([] { hsa_agent_iterate_regions(gpu, thrower<hsa_region_t>, nullptr); });
    thrown += throws([] { hsa_agent_iterate_isas(gpu, thrower<hsa_isa_t>, nullptr); });
    thrown += throws([] { hsa_amd_agent_iterate_memory_pools(gpu, thrower<hsa_amd_memory_pool_t>, nullptr); });
    thrown += throws([&] { hsa_isa_iterate_wavefronts(isa, thrower<hsa_wavefront_t>, nullptr); });
  }
  int by_others = others();
  int by_code = of_code(argv[1]);
  // The runtime is none the worse for it.
  hsa_signal_t signal;
  MUST(hsa_signal_create(1, 0, nullptr, &signal));
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_shut_down());
  if (by_others != 2) {
    std::fprintf(stderr, "%d of 2 exceptions came through functions that call back for other reasons\n", by_others);
    return 1;
  }
  // The function that asks for memory has no guard.
  if (thrown != 18 || by_code != 21 || destroyed != 36) {
    std::fprintf(stderr, "%d and %d exceptions came through, %d guards were destroyed\n", thrown, by_code, destroyed);
    return 1;
  }
  std::printf("PASS exceptions\n");
}
