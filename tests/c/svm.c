/* Shared virtual memory: kernels reach the process's own memory where they may, and attributes are told as they were set.
 *
 *   svm VECTOR_ADD_CODE_OBJECT
 */
#include "launch.h"

#define COUNT 4096u

static agents_t agents;

static hsa_status_t set(void *at, size_t size, uint64_t attribute, uint64_t value) {
  hsa_amd_svm_attribute_pair_t pair = {attribute, value};
  return hsa_amd_svm_attributes_set(at, size, &pair, 1);
}

static hsa_amd_svm_attribute_pair_t ask(void *at, size_t size, uint64_t attribute, uint64_t value) {
  hsa_amd_svm_attribute_pair_t pair = {attribute, value};
  MUST(hsa_amd_svm_attributes_get(at, size, &pair, 1));
  return pair;
}

static void attributes(char *at, size_t size) {
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 9).value == HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_READ_ONLY, 9).value == 0);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 9).value == 0);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agents.gpu.handle).attribute ==
        HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agents.cpu.handle).attribute ==
        HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
  /* A range that is not of whole pages is widened to them. */
  MUST(set(at + 10, 20, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED));
  CHECK(ask(at, 4096, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 9).value == HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED);
  CHECK(ask(at + 4096, 4096, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 9).value == HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED);
  MUST(set(at + 4096, 4096, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED));
  CHECK(ask(at, 8192, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 9).value == HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE);
  hsa_amd_svm_attribute_pair_t many[] = {
      {HSA_AMD_SVM_ATTRIB_READ_ONLY, 1},          {HSA_AMD_SVM_ATTRIB_HIVE_LOCAL, 1},
      {HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 5}, {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, agents.gpu.handle},
      {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1},
  };
  size_t count = sizeof many / sizeof *many;
  MUST(hsa_amd_svm_attributes_set(at, size, many, count));
  hsa_amd_svm_attribute_pair_t told[sizeof many / sizeof *many];
  for (size_t i = 0; i < count; i++)
    told[i] = (hsa_amd_svm_attribute_pair_t){many[i].attribute, 99};
  MUST(hsa_amd_svm_attributes_get(at, size, told, count));
  for (size_t i = 0; i < count; i++)
    CHECK(told[i].attribute == many[i].attribute && told[i].value == many[i].value);
  MUST(set(at, size, HSA_AMD_SVM_ATTRIB_READ_ONLY, 0));
  MUST(set(at, size, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0));
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_READ_ONLY, 9).value == 0);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 9).value == 0);
  MUST(set(at, size, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, agents.cpu.handle));
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 9).value == agents.cpu.handle);
}

static void misuse(char *at) {
  hsa_amd_svm_attribute_pair_t pair = {HSA_AMD_SVM_ATTRIB_READ_ONLY, 1}, query = {HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, 1};
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(NULL, 4096, &pair, 1));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(at, 0, &pair, 1));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(at, SIZE_MAX, &pair, 1));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(at, 4096, NULL, 1));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(at, 4096, &pair, 0));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set(at, 4096, &query, 1));
  INVALID(ARGUMENT, hsa_amd_svm_attributes_set((void *)4096, 4096, &pair, 1));
  INVALID(ARGUMENT, set(at, 4096, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, agents.gpu.handle));
  INVALID(ARGUMENT, set(at, 4096, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE));
  INVALID(ARGUMENT, set(at, 4096, NONSENSE, 1));
  INVALID(AGENT, set(at, 4096, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, 1));
  INVALID(AGENT, hsa_amd_svm_attributes_get(at, 4096, &query, 1));
  pair.attribute = HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE;
  INVALID(ARGUMENT, hsa_amd_svm_attributes_get(at, 4096, &pair, 1));
  hsa_signal_t none = {0}, forged = {1};
  INVALID(AGENT, hsa_amd_svm_prefetch_async(at, 4096, (hsa_agent_t){1}, 0, NULL, none));
  INVALID(ARGUMENT, hsa_amd_svm_prefetch_async(NULL, 4096, agents.gpu, 0, NULL, none));
  INVALID(ARGUMENT, hsa_amd_svm_prefetch_async(at, 4096, agents.gpu, 1, NULL, none));
  INVALID(SIGNAL, hsa_amd_svm_prefetch_async(at, 4096, agents.gpu, 0, NULL, forged));
}

static void prefetch(char *at, size_t size) {
  hsa_signal_t first, second, done;
  MUST(hsa_signal_create(1, 0, NULL, &first));
  MUST(hsa_signal_create(1, 0, NULL, &second));
  MUST(hsa_signal_create(1, 0, NULL, &done));
  hsa_signal_t both[2] = {first, second};
  MUST(hsa_amd_svm_prefetch_async(at, size, agents.gpu, 2, both, done));
  hsa_signal_store_screlease(second, 0);
  usleep(20000);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 9).value == 0);
  hsa_signal_store_screlease(first, 0);
  wait_for(done);
  CHECK(hsa_signal_load_scacquire(done) == 0);
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 9).value == agents.gpu.handle);
  MUST(hsa_amd_svm_prefetch_async(at, size, agents.cpu, 0, NULL, (hsa_signal_t){0}));
  CHECK(ask(at, size, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 9).value == agents.cpu.handle);
  MUST(hsa_signal_destroy(first));
  MUST(hsa_signal_destroy(second));
  MUST(hsa_signal_destroy(done));
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  MUST(hsa_init());
  agents = find_agents(NULL);
  bool has = false, by_default = true;
  MUST(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &has));
  MUST(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT, &by_default));
  CHECK(has && !by_default);
  size_t bytes = COUNT * sizeof(float);
  float *a = aligned_alloc(4096, bytes), *b = aligned_alloc(4096, bytes), *c = aligned_alloc(4096, bytes);
  char *other = aligned_alloc(4096, 16384);
  memset(other, 0, 16384);
  memset(c, 0, bytes);
  for (uint32_t i = 0; i < COUNT; i++)
    a[i] = (float)i, b[i] = 0.5f;
  misuse(other);
  attributes(other, 16384);
  prefetch(other, 16384);
  MUST(set(a, bytes, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agents.gpu.handle));
  MUST(set(b, bytes, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, agents.gpu.handle));
  MUST(set(c, bytes, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agents.gpu.handle));
  CHECK(ask(b, bytes, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agents.gpu.handle).attribute ==
        HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE);
  add_vectors(&agents, argv[1], a, b, c, COUNT);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < COUNT; i++)
    wrong += c[i] != (float)i + 0.5f;
  CHECK(wrong == 0);
  /* Taken away before the memory goes. */
  float *all[] = {a, b, c};
  for (int i = 0; i < 3; i++) {
    MUST(set(all[i], bytes, HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS, agents.gpu.handle));
    CHECK(ask(all[i], bytes, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agents.gpu.handle).attribute ==
          HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
    free(all[i]);
  }
  free(other);
  MUST(hsa_shut_down());
  return report("svm");
}
