/* What the environment changes: each case runs in a child with variables of its own. Two GPUs, gfx90a and gfx1100. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  int count;
  char names[8][64];
  hsa_agent_t agents[8];
} gpus_t;

static hsa_status_t collect(hsa_agent_t agent, void *data) {
  gpus_t *gpus = data;
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU) {
    MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, gpus->names[gpus->count]));
    gpus->agents[gpus->count++] = agent;
  }
  return HSA_STATUS_SUCCESS;
}

static gpus_t gpus(void) {
  gpus_t found = {0};
  MUST(hsa_init());
  MUST(hsa_iterate_agents(collect, &found));
  return found;
}

static void names_are(const char *first, const char *second) {
  gpus_t found = gpus();
  const char *wanted[2] = {first, second};
  int count = !!first + !!second;
  CHECK(found.count == count);
  for (int i = 0; i < count && i < found.count; i++) {
    if (strcmp(found.names[i], wanted[i]))
      fprintf(stderr, "GPU %d is %s, not %s\n", i, found.names[i], wanted[i]);
    CHECK(!strcmp(found.names[i], wanted[i]));
  }
}

static void both(void) { names_are("gfx90a", "gfx1100"); }
static void swapped(void) { names_are("gfx1100", "gfx90a"); }
static void first_alone(void) { names_are("gfx90a", NULL); }
static void none(void) { names_are(NULL, NULL); }
static void second_overridden(void) { names_are("gfx90a", "gfx1151"); }

static void first_overridden(void) { names_are("gfx906", "gfx1100"); }

static void overridden_isa(void) {
  gpus_t found = gpus();
  hsa_isa_t isa;
  char name[64];
  MUST(hsa_agent_get_info(found.agents[0], HSA_AGENT_INFO_ISA, &isa));
  MUST(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name));
  CHECK(strstr(name, "gfx906") != NULL);
}

static void queue_limit(void) {
  gpus_t found = gpus();
  uint32_t most = 0;
  hsa_queue_t *queues[3];
  MUST(hsa_agent_get_info(found.agents[0], HSA_AGENT_INFO_QUEUES_MAX, &most));
  CHECK(most == 2);
  for (int i = 0; i < 2; i++)
    MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queues[i]));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queues[2]));
  MUST(hsa_queue_create(found.agents[1], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queues[2]));
  MUST(hsa_queue_destroy(queues[0]));
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queues[0]));
}

static void cu_mask(void) {
  gpus_t found = gpus();
  hsa_queue_t *queue;
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  uint32_t mask[4] = {1, 1, 1, 1};
  MUST(hsa_amd_queue_cu_get_mask(queue, 128, mask));
  CHECK(mask[0] == 0xff && mask[1] == 0 && mask[2] == 0 && mask[3] == 0);
  uint32_t inside[1] = {0x0f}, outside[1] = {0xf0f};
  EXPECT(HSA_STATUS_SUCCESS, hsa_amd_queue_cu_set_mask(queue, 32, inside));
  EXPECT(HSA_STATUS_CU_MASK_REDUCED, hsa_amd_queue_cu_set_mask(queue, 32, outside));
  MUST(hsa_amd_queue_cu_get_mask(queue, 32, mask));
  CHECK(mask[0] == 0x0f);
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 31, inside));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 0, mask));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_cu_get_mask(queue, 32, NULL));
}

static void no_mask(void) {
  gpus_t found = gpus();
  hsa_queue_t *queue;
  uint32_t mask[5];
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_amd_queue_cu_get_mask(queue, 160, mask));
  /* 104 units. */
  CHECK(mask[0] == UINT32_MAX && mask[2] == UINT32_MAX && mask[3] == 0xff && mask[4] == 0);
}

/* Runs a case in a child with these variables. */
static void with(void (*check)(void), const char *name, const char *value) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (name)
      setenv(name, value, 1);
    check();
    MUST(hsa_shut_down());
    _exit(failures != 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status) {
    fprintf(stderr, "with %s=%s: status %#x\n", name ? name : "nothing", name ? value : "", (unsigned)status);
    failures++;
  }
}

int main(void) {
  with(both, NULL, NULL);
  with(both, "ROCR_VISIBLE_DEVICES", "0,1");
  with(swapped, "ROCR_VISIBLE_DEVICES", "1,0");
  with(first_alone, "ROCR_VISIBLE_DEVICES", "0,0,1");
  with(first_alone, "ROCR_VISIBLE_DEVICES", "0,9,1");
  with(none, "ROCR_VISIBLE_DEVICES", "");
  with(none, "ROCR_VISIBLE_DEVICES", "GPU-ffffffffffffffff");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "");
  with(second_overridden, "HSA_OVERRIDE_GFX_VERSION", "11.5.1");
  with(overridden_isa, "HSA_OVERRIDE_GFX_VERSION", "9.0.6");
  /* Nodes are counted with the CPU's, which is 0. */
  with(first_overridden, "HSA_OVERRIDE_GFX_VERSION_1", "9.0.6");
  with(both, "HSA_OVERRIDE_GFX_VERSION_1", "");
  with(both, "HSA_OVERRIDE_GFX_VERSION_7", "9.0.6");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "10.3.0");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "nonsense");
  with(queue_limit, "HSA_MAX_QUEUES", "2");
  with(cu_mask, "HSA_CU_MASK", "0:0-7");
  with(no_mask, "HSA_CU_MASK", "1:0-7");
  with(no_mask, "HSA_CU_MASK", "nonsense");
  return report("environment");
}
