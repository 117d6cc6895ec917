/* What the C clients share: checks that say what failed, and the agents of the system. */
#ifndef RUKH_CHECK_H
#define RUKH_CHECK_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static inline const char *status_text(hsa_status_t status) {
  static char number[32];
  const char *text = NULL;
  if (hsa_status_string(status, &text) == HSA_STATUS_SUCCESS)
    return text;
  snprintf(number, sizeof number, "status %#x", (unsigned)status);
  return number;
}

/* Writes down that a function answered a status that was expected, for tests/scripts/statuses.sh. */
static inline void note_status(const char *call, hsa_status_t status) {
  const char *path = getenv("STATUS_LOG"), *name = strstr(call, "hsa_"), *text = status_text(status);
  FILE *log = path && name ? fopen(path, "a") : NULL;
  if (log) {
    fprintf(log, "%.*s %.*s\n", (int)strcspn(name, "("), name, (int)strcspn(text, ":"), text);
    fclose(log);
  }
}

/* The call answers this status. */
#define EXPECT(expected, call)                                                                     \
  do {                                                                                             \
    hsa_status_t got_ = (call);                                                                    \
    note_status(#call, got_);                                                                      \
    if ((unsigned)got_ != (unsigned)(expected)) {                                                  \
      fprintf(stderr, "%s:%d: %s\n  answered %s\n", __FILE__, __LINE__, #call, status_text(got_)); \
      fprintf(stderr, "  instead of %s\n", status_text((hsa_status_t)(expected)));                              \
      failures++;                                                                                  \
    }                                                                                              \
  } while (0)

/* The call answers that something is not valid. */
#define INVALID(what, call) EXPECT(HSA_STATUS_ERROR_INVALID_##what, call)

/* What no enumeration of HSA has. */
#define NONSENSE 0x7777

/* The call succeeds; without it there is no sense in going on. */
#define MUST(call)                                                                                 \
  do {                                                                                             \
    hsa_status_t got_ = (call);                                                                    \
    if (got_ != HSA_STATUS_SUCCESS) {                                                              \
      fprintf(stderr, "%s:%d: %s\n  answered %s\n", __FILE__, __LINE__, #call, status_text(got_)); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* The condition holds. */
#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                      \
      failures++;                                                                                  \
    }                                                                                              \
  } while (0)

static inline int report(const char *what) {
  if (failures)
    fprintf(stderr, "%s: %d checks failed\n", what, failures);
  else
    printf("PASS %s\n", what);
  return failures != 0;
}

typedef struct {
  hsa_agent_t cpu, gpu;
  int cpus, gpus;
  const char *wanted; /* take the GPU of this name only */
} agents_t;

static hsa_status_t sort_agent(hsa_agent_t agent, void *data) {
  agents_t *agents = data;
  hsa_device_type_t type;
  char name[64];
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name));
  if (type == HSA_DEVICE_TYPE_CPU && agents->cpus++ == 0)
    agents->cpu = agent;
  if (type == HSA_DEVICE_TYPE_GPU && (!agents->wanted || !strcmp(agents->wanted, name)) &&
      agents->gpus++ == 0)
    agents->gpu = agent;
  return HSA_STATUS_SUCCESS;
}

static inline agents_t find_agents(const char *wanted) {
  agents_t agents = {.wanted = wanted};
  MUST(hsa_iterate_agents(sort_agent, &agents));
  if (!agents.cpus || !agents.gpus) {
    fprintf(stderr, "needs a CPU and a GPU agent%s%s, found %d and %d\n", wanted ? " named " : "",
            wanted ? wanted : "", agents.cpus, agents.gpus);
    exit(1);
  }
  return agents;
}

typedef struct {
  uint32_t flags; /* all of these global flags */
  hsa_amd_memory_pool_t pool;
  int found;
} pool_search_t;

static hsa_status_t match_pool(hsa_amd_memory_pool_t pool, void *data) {
  pool_search_t *search = data;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  bool allocatable = false;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL)
    return HSA_STATUS_SUCCESS;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                    &allocatable));
  if (allocatable && (flags & search->flags) == search->flags) {
    search->pool = pool;
    search->found = 1;
    return HSA_STATUS_INFO_BREAK;
  }
  return HSA_STATUS_SUCCESS;
}

static inline hsa_amd_memory_pool_t find_pool(hsa_agent_t agent, uint32_t flags) {
  pool_search_t search = {.flags = flags};
  hsa_status_t status = hsa_amd_agent_iterate_memory_pools(agent, match_pool, &search);
  if (status != HSA_STATUS_INFO_BREAK || !search.found) {
    fprintf(stderr, "no pool with flags %#x: %s\n", flags, status_text(status));
    exit(1);
  }
  return search.pool;
}

#endif
