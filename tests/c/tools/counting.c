/* A tool: puts its own functions in front of some of the runtime's and counts their calls. Checks what it is given. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

/* The tables as AMD's hsa_api_trace.h lays them out; Debian's copy of it is C++ and of an older major version. */
struct version {
  uint32_t major_id, minor_id, step_id, reserved;
};
enum { CORE_INIT, CORE_SHUT_DOWN, CORE_GET_INFO, CORE_QUEUE_CREATE = 7, CORE_SIGNAL_STORE_SCRELEASE = 42 };
struct table {
  struct version version;
  void *slots[];
};
struct root {
  struct version version;
  struct table *core, *amd_ext, *finalizer, *image, *tools, *pc_sampling;
};

static atomic_int get_info_calls, store_calls, pool_calls, loads, unloads;
static hsa_status_t (*get_info)(hsa_system_info_t, void *);
static void (*store)(hsa_signal_t, hsa_signal_value_t);
static hsa_status_t (*shut_down)(void);
static const struct root *root;

static hsa_status_t counted_get_info(hsa_system_info_t attribute, void *value) {
  get_info_calls++;
  return get_info(attribute, value);
}

static void counted_store(hsa_signal_t signal, hsa_signal_value_t value) {
  store_calls++;
  store(signal, value);
}

/* Called by the client through dlsym: how often its calls came by. */
int tool_calls(int which) { return which == 0 ? get_info_calls : which == 1 ? store_calls : pool_calls; }
const struct root *tool_table(void) { return root; }
/* How often the tool was told that the runtime opens, and that it closes. */
int tool_loads(void) { return loads; }
int tool_unloads(void) { return unloads; }

/* What the runtime reports of scratch memory: hsa_amd_tool.h has these structures; each event begins alike. */
struct scratch_event {
  uint32_t kind; /* 1: allocation starts, 2: has ended, 3: freeing starts, 4: has ended */
  const hsa_queue_t *queue;
  uint32_t flags;
  uint64_t dispatch_id; /* of 1 and 2 */
  size_t size, slots;   /* of 2 */
};
static struct scratch_event scratch_events[16];
static atomic_int scratch_count;

static hsa_status_t on_scratch(const struct scratch_event *event) {
  int at = atomic_fetch_add(&scratch_count, 1);
  if (at < 16) {
    size_t size = event->kind == 2 ? sizeof *event : event->kind == 1 ? 32 : 24;
    memcpy(&scratch_events[at], event, size);
  }
  return HSA_STATUS_SUCCESS;
}

int tool_scratch_events(const struct scratch_event **events) {
  *events = scratch_events;
  return scratch_count;
}

static void say(const char *what) {
  if (getenv("TOOL_LOG"))
    printf("tool %s\n", what);
}

bool OnLoad(struct root *table, uint64_t runtime_version, uint64_t failed_count, const char *const *failed_names) {
  root = table;
  loads++;
  if (runtime_version != table->version.major_id || table->version.major_id != 3 ||
      table->version.minor_id != sizeof(struct root) || table->core->version.major_id != 2 ||
      table->core->version.minor_id != 16 + 125 * 8 || table->amd_ext->version.major_id != 2 ||
      table->amd_ext->version.minor_id < 16 + 74 * 8 || table->amd_ext->version.step_id < 7) {
    printf("FAIL the tables are not those that were expected\n");
    return false;
  }
  if (failed_count) {
    printf("tool: %llu failed, the first is %s\n", (unsigned long long)failed_count, failed_names[0]);
  }
  /* The runtime is open: a tool may use it. */
  uint16_t major = 0;
  hsa_status_t (*direct)(hsa_system_info_t, void *) = table->core->slots[CORE_GET_INFO];
  if (direct(HSA_SYSTEM_INFO_VERSION_MAJOR, &major) != HSA_STATUS_SUCCESS || major != 1) {
    printf("FAIL the runtime is not open in OnLoad\n");
    return false;
  }
  hsa_status_t (*init)(void) = table->core->slots[CORE_INIT];
   shut_down = table->core->slots[CORE_SHUT_DOWN];
  if (init() != HSA_STATUS_SUCCESS || shut_down() != HSA_STATUS_SUCCESS) {
    printf("FAIL hsa_init and hsa_shut_down in OnLoad\n");
    return false;
  }
  get_info = direct;
  store = (void (*)(hsa_signal_t, hsa_signal_value_t))table->core->slots[CORE_SIGNAL_STORE_SCRELEASE];
  table->core->slots[CORE_GET_INFO] = counted_get_info;
  table->core->slots[CORE_SIGNAL_STORE_SCRELEASE] = counted_store;
  if (table->tools->version.major_id != 1 || table->tools->version.minor_id != 16 + 6 * 8) {
    printf("FAIL the table of events is not the one that was expected\n");
    return false;
  }
  for (int i = 0; i < 6; i++)
    table->tools->slots[i] = on_scratch;
  say("loaded");
  return true;
}

void OnUnload(void) {
  unloads++;
  uint64_t now = 0;
  if (get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now) != HSA_STATUS_SUCCESS || now == 0)
    printf("FAIL the runtime is not open in OnUnload\n");
  say("unloaded");
}
