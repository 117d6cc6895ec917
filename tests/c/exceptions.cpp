// A C++ exception that a callback throws passes through the library to whoever called it, and the library goes on.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

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

int main() {
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
  // The runtime is none the worse for it.
  hsa_signal_t signal;
  MUST(hsa_signal_create(1, 0, nullptr, &signal));
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_shut_down());
  if (by_others != 2) {
    std::fprintf(stderr, "%d of 2 exceptions came through functions that call back for other reasons\n", by_others);
    return 1;
  }
  if (thrown != 18 || destroyed != 18) {
    std::fprintf(stderr, "%d exceptions came through, %d guards were destroyed\n", thrown, destroyed);
    return 1;
  }
  std::printf("PASS exceptions\n");
}
