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
  // The runtime is none the worse for it.
  hsa_signal_t signal;
  MUST(hsa_signal_create(1, 0, nullptr, &signal));
  MUST(hsa_signal_destroy(signal));
  MUST(hsa_shut_down());
  if (thrown != 18 || destroyed != 18) {
    std::fprintf(stderr, "%d exceptions came through, %d guards were destroyed\n", thrown, destroyed);
    return 1;
  }
  std::printf("PASS exceptions\n");
}
