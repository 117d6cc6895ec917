/* Tools: what the client calls goes through the API table, in which the tool of tests/c/tools has put its functions.
 * The intercept queues, which only the table has. What tools are told of scratch memory.
 *
 *   tool_client TOOL CODE_OBJECT      with HSA_TOOLS_LIB naming TOOL and a library that is not there
 *
 * The code object is that of device/scratch.c.
 */
#define _GNU_SOURCE
#include "launch.h"

#include <dlfcn.h>
#include <sys/wait.h>

struct table {
  uint32_t major_id, minor_id, step_id, reserved;
  void *slots[];
};
struct root {
  uint32_t major_id, minor_id, step_id, reserved;
  struct table *core, *amd_ext;
};
enum { INTERCEPT_CREATE = 37, INTERCEPT_REGISTER = 38, RUNTIME_QUEUES = 41 };

typedef void (*writer_t)(const void *packets, uint64_t count);
typedef void (*handler_t)(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer);

typedef struct marker {
  uint16_t header;
  uint8_t format, reserved[5];
  void (*callback)(const struct marker *packet, hsa_queue_t *queue, uint64_t packet_id);
  uint64_t user_data[6];
} marker_t;

static uint64_t seen_first, seen_last, marked, last_marked_id;
static int order;

static void on_marker(const marker_t *packet, hsa_queue_t *queue, uint64_t packet_id) {
  CHECK(packet->user_data[0] == 0x1234 && queue != NULL);
  last_marked_id = packet_id;
  marked++;
}

/* Registered first, so it sees what the other one passes on. */
static void first_registered(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  CHECK(data == (void *)1);
  (void)index;
  CHECK(order == 1);
  seen_last += count;
  writer(packets, count);
}

/* Registered last, so it comes first: puts a marker in front of every packet. */
static void last_registered(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  CHECK(data == (void *)2);
  CHECK(index == seen_first);
  order = 1;
  seen_first += count;
  for (uint64_t i = 0; i < count; i++) {
    _Alignas(64) unsigned char both[2][64];
    marker_t marker = {.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC, .format = 0xfe, .callback = on_marker};
    marker.user_data[0] = 0x1234;
    memcpy(both[0], &marker, 64);
    memcpy(both[1], (const char *)packets + 64 * i, 64);
    writer(both, 2);
  }
  order = 0;
}

static void notified(const hsa_queue_t *queue, hsa_agent_t agent, void *data) {
  (void)queue, (void)agent, (void)data;
}

static void intercept(const struct root *root) {
  hsa_status_t (*create)(hsa_agent_t, uint32_t, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t *, void *),
                         void *, uint32_t, uint32_t, hsa_queue_t **) = root->amd_ext->slots[INTERCEPT_CREATE];
  hsa_status_t (*add)(hsa_queue_t *, handler_t, void *) = root->amd_ext->slots[INTERCEPT_REGISTER];
  hsa_status_t (*queues)(void (*)(const hsa_queue_t *, hsa_agent_t, void *), void *) =
      root->amd_ext->slots[RUNTIME_QUEUES];
  agents_t agents = find_agents(NULL);
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, queues(NULL, NULL));
  EXPECT(HSA_STATUS_SUCCESS, queues(notified, NULL));
  hsa_queue_t *queue = NULL, *plain;
  MUST(create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &plain));
  EXPECT(HSA_STATUS_ERROR_INVALID_ARGUMENT, add(queue, NULL, NULL));
  EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, add(plain, first_registered, NULL));
  MUST(add(queue, first_registered, (void *)1));
  MUST(add(queue, last_registered, (void *)2));
  CHECK(queue->size == 64);
  enum { PACKETS = 200 };
  hsa_signal_t done;
  MUST(hsa_signal_create(PACKETS, 0, NULL, &done));
  for (int i = 0; i < PACKETS; i++) {
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
      ;
    hsa_barrier_and_packet_t *packet = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
    memset((char *)packet + 2, 0, 62);
    packet->completion_signal = done;
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  }
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 20000000000ull, HSA_WAIT_STATE_BLOCKED) == 0);
  /* A ring that was full had packets of the runtime in between. */
  CHECK(seen_first == PACKETS && seen_last == 2 * PACKETS && marked == PACKETS && last_marked_id >= PACKETS - 1);
  MUST(hsa_signal_destroy(done));
  MUST(hsa_queue_destroy(plain));
  MUST(hsa_queue_destroy(queue));
  EXPECT(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(queue));
}

struct scratch_event {
  uint32_t kind;
  const hsa_queue_t *queue;
  uint32_t flags;
  uint64_t dispatch_id;
  size_t size, slots;
};

/* A kernel that wants more scratch than its queue has: the tool hears of it, and again when the queue goes. */
static void scratch(int (*events)(const struct scratch_event **), const char *path) {
  const struct scratch_event *seen;
  agents_t agents = find_agents(NULL);
  hsa_executable_t executable = load_code(agents.gpu, path);
  kernel_t kernel = find_kernel(executable, agents.gpu, "scratch.kd");
  CHECK(kernel.private_size >= 512);
  hsa_amd_memory_pool_t pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  uint32_t *out = allocate(pool, 4096, agents.gpu);
  struct {
    uint32_t *out;
    uint32_t seed;
  } explicit = {out, 1000};
  uint32_t grid[3] = {64, 1, 1};
  uint16_t group[3] = {64, 1, 1};
  void *kernarg = make_kernarg(&agents, &kernel, &explicit, sizeof explicit, grid, group);
  hsa_queue_t *queue = make_queue(agents.gpu);
  CHECK(events(&seen) == 0);
  run_kernel(queue, &kernel, grid, group, kernarg);
  run_kernel(queue, &kernel, grid, group, kernarg); /* it has enough now */
  CHECK(*out == 1000 + 1000 % 128);
  CHECK(events(&seen) == 2);
  CHECK(seen[0].kind == 1 && seen[0].queue == queue && seen[0].dispatch_id == 0);
  CHECK(seen[1].kind == 2 && seen[1].queue == queue && seen[1].dispatch_id == 0 && seen[1].flags == 0);
  CHECK(seen[1].slots > 0 && seen[1].size / seen[1].slots >= 32 * 512);
  MUST(hsa_queue_destroy(queue));
  CHECK(events(&seen) == 4);
  CHECK(seen[2].kind == 3 && seen[2].queue == queue && seen[3].kind == 4 && seen[3].queue == queue);
  MUST(hsa_amd_memory_pool_free(kernarg));
  MUST(hsa_amd_memory_pool_free(out));
  MUST(hsa_executable_destroy(executable));
}

/* A child that opens a runtime of its own has its tools told once of each, and its parent's not at all. */
static void in_child(void *tool) {
  int (*loads)(void) = (int (*)(void))dlsym(tool, "tool_loads"), (*unloads)(void) = (int (*)(void))dlsym(tool, "tool_unloads");
  int loaded = loads(), unloaded = unloads();
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
    CHECK(unloads() == unloaded);
    MUST(hsa_init());
    CHECK(loads() == loaded + 1);
    MUST(hsa_shut_down());
    CHECK(unloads() == unloaded + 1);
    /* What it has of its parent's runtime is lost on purpose: no checker of leaks is to look. */
    const char *end = failures ? "/bin/false" : "/bin/true";
    execl(end, end, (char *)NULL);
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0 && loads() == loaded && unloads() == unloaded);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  MUST(hsa_init());
  void *tool = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD);
  CHECK(tool != NULL);
  int (*calls)(int) = (int (*)(int))dlsym(tool, "tool_calls");
  const struct root *(*table)(void) = (const struct root *(*)(void))dlsym(tool, "tool_table");
  if (!tool || !calls || !table)
    return 1;
  uint64_t now;
  int before = calls(0);
  for (int i = 0; i < 5; i++)
    MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
  CHECK(calls(0) == before + 5);
  hsa_signal_t signal;
  MUST(hsa_signal_create(0, 0, NULL, &signal));
  before = calls(1);
  hsa_signal_store_screlease(signal, 4);
  hsa_signal_store_release(signal, 5); /* the old name shares the slot */
  hsa_signal_store_relaxed(signal, 6);
  CHECK(calls(1) == before + 2 && hsa_signal_load_relaxed(signal) == 6);
  MUST(hsa_signal_destroy(signal));
  in_child(tool);
  intercept(table());
  int (*scratch_events)(const struct scratch_event **) =
      (int (*)(const struct scratch_event **))dlsym(tool, "tool_scratch_events");
  CHECK(scratch_events != NULL);
  if (scratch_events)
    scratch(scratch_events, argv[2]);
  MUST(hsa_shut_down());
  /* The tool was told, and the table is the library's own again. */
  before = calls(0);
  EXPECT(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
  CHECK(calls(0) == before);
  MUST(hsa_init());
  MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
  CHECK(calls(0) > before);
  MUST(hsa_shut_down());
  return report("tools");
}
