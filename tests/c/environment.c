/* What the environment changes: each case runs in a child with variables of its own. Two GPUs, gfx90a and gfx1100. */
#include "check.h"

#include <ctype.h>
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

static uint32_t queues_max(const gpus_t *found) {
  uint32_t most = 0;
  MUST(hsa_agent_get_info(found->agents[0], HSA_AGENT_INFO_QUEUES_MAX, &most));
  return most;
}

static void no_queue_limit(void) {
  gpus_t found = gpus();
  hsa_queue_t *queue;
  CHECK(queues_max(&found) > 2 && queues_max(&found) <= 128);
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
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

/* Bits that are none of the GPU's are as if they were not there; no bits at all are all that may be used. */
static void set_masks(const gpus_t *found, uint32_t last_word) {
  hsa_queue_t *queue;
  uint32_t all[8], mask[8];
  memset(all, 0xff, sizeof all);
  MUST(hsa_queue_create(found->agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_amd_queue_cu_set_mask(queue, 256, all));
  MUST(hsa_amd_queue_cu_set_mask(queue, 32, (uint32_t[]){3}));
  MUST(hsa_amd_queue_cu_get_mask(queue, 256, mask));
  CHECK(mask[0] == 3 && mask[1] == 0);
  MUST(hsa_amd_queue_cu_set_mask(queue, 0, NULL));
  MUST(hsa_amd_queue_cu_get_mask(queue, 256, mask));
  CHECK(mask[2] == UINT32_MAX && mask[3] == last_word && mask[4] == 0);
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 64, NULL));
  /* From GFX10 on units come in pairs. */
  MUST(hsa_queue_create(found->agents[1], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 32, (uint32_t[]){7}));
  MUST(hsa_amd_queue_cu_set_mask(queue, 32, (uint32_t[]){0xc}));
  MUST(hsa_amd_queue_cu_get_mask(queue, 32, mask));
  CHECK(mask[0] == 0xc);
  /* Queues with a mask compute: */
  hsa_signal_t done;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  hsa_barrier_and_packet_t *packet = queue->base_address;
  memset((char *)packet + 2, 0, 62);
  packet->completion_signal = done;
  hsa_queue_store_write_index_relaxed(queue, 1);
  __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, 0);
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 20000000000ull, HSA_WAIT_STATE_BLOCKED) == 0);
}

static void masks_of_clients(void) {
  gpus_t found = gpus();
  set_masks(&found, 0xff);
}

/* Queues begin without the mask, and other masks are clipped by it. */
static void skipped_mask(void) {
  gpus_t found = gpus();
  hsa_queue_t *queue;
  uint32_t mask[4];
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_amd_queue_cu_get_mask(queue, 128, mask));
  CHECK(mask[0] == UINT32_MAX && mask[3] == 0xff);
  EXPECT(HSA_STATUS_CU_MASK_REDUCED, hsa_amd_queue_cu_set_mask(queue, 32, (uint32_t[]){0xf0f}));
}

/* Waits of all kinds, whatever the environment says of interrupts. */
static void waits(void) {
  gpus_t found = gpus();
  hsa_signal_t done;
  hsa_queue_t *queue;
  MUST(hsa_queue_create(found.agents[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  MUST(hsa_signal_create(2, 0, NULL, &done));
  for (int i = 0; i < 2; i++) {
    hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + i;
    memset((char *)packet + 2, 0, 62);
    packet->completion_signal = done;
    hsa_queue_store_write_index_relaxed(queue, i + 1);
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, i);
    CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 2 - i, 20000000000ull,
                                    i ? HSA_WAIT_STATE_ACTIVE : HSA_WAIT_STATE_BLOCKED) == 1 - i);
  }
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

/* The UUIDs, or what of them a prefix is. */
static char uuids[2][24];

static void read_uuids(void) {
  gpus_t found = gpus();
  for (int i = 0; i < 2; i++)
    MUST(hsa_agent_get_info(found.agents[i], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_UUID, uuids[i]));
  MUST(hsa_shut_down());
  CHECK(strlen(uuids[0]) == 20 && strlen(uuids[1]) == 20 && strcmp(uuids[0], uuids[1]));
}

static const char *joined(const char *first, const char *second, int upper) {
  static char list[64];
  snprintf(list, sizeof list, "%s,%s", first, second);
  for (char *c = list; upper && *c; c++)
    *c = (char)toupper(*c);
  return list;
}

/* Runs a case in a child with these variables. */
static void with(void (*check)(void), const char *name, const char *value) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    failures = 0;
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
  read_uuids();
  with(swapped, "ROCR_VISIBLE_DEVICES", joined(uuids[1], uuids[0], 0));
  with(swapped, "ROCR_VISIBLE_DEVICES", joined(uuids[1], uuids[0], 1));
  with(swapped, "ROCR_VISIBLE_DEVICES", joined(uuids[1], "0", 0));
  with(both, "ROCR_VISIBLE_DEVICES", joined("0", uuids[1], 0));
  with(first_alone, "ROCR_VISIBLE_DEVICES", joined(uuids[0], uuids[0], 0));
  with(first_alone, "ROCR_VISIBLE_DEVICES", joined(uuids[0], "GPU-", 0));
  with(none, "ROCR_VISIBLE_DEVICES", "GPU-XX");
  with(none, "ROCR_VISIBLE_DEVICES", "GPU-X");
  with(none, "ROCR_VISIBLE_DEVICES", "-1,0");
  with(none, "ROCR_VISIBLE_DEVICES", ",0");
  with(none, "ROCR_VISIBLE_DEVICES", "all");
  with(swapped, "ROCR_VISIBLE_DEVICES", " 0x1 , 00 ");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "9");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "9.0.6.1");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "9.9.9");
  with(both, "HSA_OVERRIDE_GFX_VERSION", "gfx906");
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
  with(no_queue_limit, NULL, NULL);
  with(no_queue_limit, "HSA_MAX_QUEUES", "0");
  with(no_queue_limit, "HSA_MAX_QUEUES", "");
  with(no_queue_limit, "HSA_MAX_QUEUES", "many");
  with(no_queue_limit, "HSA_MAX_QUEUES", "-1");
  with(no_queue_limit, "HSA_MAX_QUEUES", "100000");
  with(queue_limit, "HSA_MAX_QUEUES", "2 of them");
  with(waits, "HSA_ENABLE_INTERRUPT", "0");
  with(waits, "HSA_ENABLE_INTERRUPT", "1");
  with(masks_of_clients, NULL, NULL);
  with(cu_mask, "HSA_CU_MASK", "0:0-7");
  with(cu_mask, "HSA_CU_MASK", " 0 : 0XfF ;");
  /* What comes before a part that makes no sense holds, and nothing after it. */
  with(cu_mask, "HSA_CU_MASK", "0:0-7;nonsense");
  with(cu_mask, "HSA_CU_MASK", "0:0-7;0:8-15");
  with(no_mask, "HSA_CU_MASK", "1:4-x;0:0-7");
  with(no_mask, "HSA_CU_MASK", "0:0x0");
  with(no_mask, "HSA_CU_MASK", "0:0-7,7");
  with(no_mask, "HSA_CU_MASK", "0:7-0");
  with(no_mask, "HSA_CU_MASK", "0:2000-3000");
  with(no_mask, "HSA_CU_MASK", "0-1:0,2,4:6");
  setenv("HSA_CU_MASK_SKIP_INIT", "1", 1);
  with(skipped_mask, "HSA_CU_MASK", "0:0-7");
  unsetenv("HSA_CU_MASK_SKIP_INIT");
  with(no_mask, "HSA_CU_MASK", "1:0-7");
  with(no_mask, "HSA_CU_MASK", "nonsense");
  return report("environment");
}
