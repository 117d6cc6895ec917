/* Virtual memory: addresses and memory apart, kernels that reach what is mapped and fault where they may not, memory that two
 * processes share.
 *
 *   vmem VECTOR_ADD_CODE_OBJECT FAULT_CODE_OBJECT
 */
#include "launch.h"
#include "vmem.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CHUNK ((size_t)64 << 10)
#define COUNT (CHUNK / sizeof(float))

static agents_t agents;
static hsa_amd_memory_pool_t vram, host_pool;
static kernel_t add, store, load;

/* Faults. */
static hsa_signal_t stopped;
static uint64_t fault_at;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data) {
  (void)data;
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT)
    fault_at = event->memory_fault.virtual_address;
  return HSA_STATUS_SUCCESS;
}

static void on_stop(hsa_status_t status, hsa_queue_t *source, void *data) {
  (void)source;
  (void)data;
  hsa_signal_store_screlease(stopped, (hsa_signal_value_t)status);
}

/* Runs a kernel of one work-group over two arguments; gives the page that it faulted at, or 0. */
static uint64_t fault_of(const kernel_t *kernel, uint64_t first, uint64_t second) {
  uint32_t grid[3] = {64, 1, 1};
  uint16_t group[3] = {64, 1, 1};
  uint64_t arguments[2] = {first, second};
  hsa_signal_t done;
  hsa_queue_t *own;
  fault_at = 0;
  MUST(hsa_signal_create(1, 0, NULL, &done));
  MUST(hsa_signal_create(0, 0, NULL, &stopped));
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, on_stop, NULL, UINT32_MAX, UINT32_MAX, &own));
  size_t bytes = kernel->kernarg_size < sizeof arguments ? kernel->kernarg_size : sizeof arguments;
  void *kernarg = make_kernarg(&agents, kernel, arguments, bytes, grid, group);
  dispatch(own, kernel, grid, group, kernarg, done);
  while (hsa_signal_load_scacquire(done) == 1 && hsa_signal_load_scacquire(stopped) == 0)
    usleep(100);
  uint64_t page = hsa_signal_load_scacquire(done) == 1 ? fault_at & ~4095ull : 0;
  if (hsa_signal_load_scacquire(done) == 1)
    CHECK((unsigned)hsa_signal_load_scacquire(stopped) == (unsigned)HSA_STATUS_ERROR_MEMORY_FAULT);
  MUST(hsa_queue_destroy(own));
  MUST(hsa_signal_destroy(done));
  MUST(hsa_signal_destroy(stopped));
  MUST(hsa_amd_memory_pool_free(kernarg));
  return page;
}

static void add_on_gpu(const float *a, const float *b, float *c, uint32_t count) {
  struct {
    const float *a, *b;
    float *c;
    uint32_t count;
  } arguments = {a, b, c, count};
  uint32_t grid[3] = {count, 1, 1};
  uint16_t group[3] = {256, 1, 1};
  void *kernarg = make_kernarg(&agents, &add, &arguments, sizeof arguments, grid, group);
  /* A queue for each run: a fault stops all queues of a process. */
  hsa_queue_t *queue = make_queue(agents.gpu);
  run_kernel(queue, &add, grid, group, kernarg);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_amd_memory_pool_free(kernarg));
}

static void give(void *va, size_t size, hsa_agent_t agent, uint32_t permissions) {
  access_desc_t desc = {permissions, agent};
  MUST(hsa_amd_vmem_set_access(va, size, &desc, 1));
}

static uint32_t access_of(void *va, hsa_agent_t agent) {
  uint32_t permissions = 99;
  MUST(hsa_amd_vmem_get_access(va, &permissions, agent));
  return permissions;
}

/* Whether the host may read or write an address. */
static sigjmp_buf back;
static void on_segv(int number) {
  (void)number;
  siglongjmp(back, 1);
}
static int host_may(volatile uint32_t *at, int write) {
  struct sigaction action = {.sa_handler = on_segv}, before;
  sigaction(SIGSEGV, &action, &before);
  int may = 0;
  if (!sigsetjmp(back, 1)) {
    uint32_t value = *at;
    if (write)
      *at = value;
    may = 1;
  }
  sigaction(SIGSEGV, &before, NULL);
  return may;
}

static unsigned type_of(const void *at, hsa_amd_pointer_info_t *info) {
  info->size = sizeof *info;
  MUST(hsa_amd_pointer_info(at, info, NULL, NULL, NULL));
  return info->type;
}

/* Every misuse has its status. */
static void misuse(void) {
  void *va = NULL, *none = NULL;
  vmem_handle_t memory, forged = {agents.gpu.handle}, zero = {0};
  access_desc_t rw = {ACCESS_RW, agents.gpu}, wrong = {9, agents.gpu}, nobody = {ACCESS_RW, {1}};
  uint32_t permissions = 0, type;
  int fd = -1;
  hsa_amd_memory_pool_t pool, no_pool = {1};

  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve(NULL, CHUNK, 0, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve(&va, 0, 0, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve(&va, 100, 0, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve(&va, CHUNK, 0, 2));
  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve_align(&va, CHUNK, 0, 12288, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_address_reserve_align(&va, CHUNK, 0, 16, 0));
  EXPECT(HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_amd_vmem_address_reserve(&va, (size_t)1 << 60, 0, 0));
  CHECK(va == NULL);
  MUST(hsa_amd_vmem_address_reserve(&va, 4 * CHUNK, 0, 0));

  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(no_pool, CHUNK, 0, 0, &memory));
  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(vram, 0, 0, 0, &memory));
  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(vram, 100, 0, 0, &memory));
  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(vram, CHUNK, 2, 0, &memory));
  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(vram, CHUNK, 0, 1, &memory));
  INVALID(ARGUMENT, hsa_amd_vmem_handle_create(vram, CHUNK, 0, 0, NULL));
  INVALID(ALLOCATION, hsa_amd_vmem_handle_create(vram, (size_t)1 << 50, 0, 0, &memory));
  MUST(hsa_amd_vmem_handle_create(vram, CHUNK, 0, 0, &memory));

  char *at = va;
  INVALID(ARGUMENT, hsa_amd_vmem_map(NULL, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, 0, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, CHUNK, 4096, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, CHUNK, 0, memory, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, 2 * CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(at + 1, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(at + 4 * CHUNK - 4096, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(&agents, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, CHUNK, 0, forged, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, CHUNK, 0, zero, 0));
  INVALID(ALLOCATION, hsa_amd_vmem_set_access(va, CHUNK, &rw, 1));
  MUST(hsa_amd_vmem_map(at + CHUNK, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(at + CHUNK, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(at + CHUNK + 4096, CHUNK, 0, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_map(at + 4096, CHUNK, 0, memory, 0));

  INVALID(ARGUMENT, hsa_amd_vmem_set_access(NULL, CHUNK, &rw, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(at + CHUNK, 0, &rw, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(at + CHUNK, CHUNK, NULL, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(at + CHUNK, CHUNK, &rw, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(at + CHUNK, 4096, &rw, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(at + CHUNK, CHUNK, &wrong, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_set_access(&agents, CHUNK, &rw, 1));
  INVALID(AGENT, hsa_amd_vmem_set_access(at + CHUNK, CHUNK, &nobody, 1));
  INVALID(ALLOCATION, hsa_amd_vmem_set_access(at + CHUNK, 2 * CHUNK, &rw, 1));
  INVALID(ARGUMENT, hsa_amd_vmem_get_access(NULL, &permissions, agents.gpu));
  INVALID(ARGUMENT, hsa_amd_vmem_get_access(at + CHUNK, NULL, agents.gpu));
  INVALID(ALLOCATION, hsa_amd_vmem_get_access(va, &permissions, agents.gpu));
  INVALID(AGENT, hsa_amd_vmem_get_access(at + CHUNK, &permissions, nobody.agent));
  CHECK(access_of(at + CHUNK, agents.gpu) == ACCESS_NONE && access_of(at + CHUNK, agents.cpu) == ACCESS_NONE);

  INVALID(ARGUMENT, hsa_amd_vmem_export_shareable_handle(NULL, memory, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_export_shareable_handle(&fd, memory, 1));
  INVALID(ALLOCATION, hsa_amd_vmem_export_shareable_handle(&fd, forged, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_import_shareable_handle(0, NULL));
  vmem_handle_t imported;
  int foreign = open("/dev/null", O_RDWR);
  INVALID(ALLOCATION, hsa_amd_vmem_import_shareable_handle(-1, &imported));
  INVALID(ALLOCATION, hsa_amd_vmem_import_shareable_handle(9999, &imported));
  INVALID(ALLOCATION, hsa_amd_vmem_import_shareable_handle(foreign, &imported));
  close(foreign);
  INVALID(ARGUMENT, hsa_amd_vmem_retain_alloc_handle(NULL, at + CHUNK));
  INVALID(ARGUMENT, hsa_amd_vmem_retain_alloc_handle(&imported, NULL));
  INVALID(ALLOCATION, hsa_amd_vmem_retain_alloc_handle(&imported, va));
  INVALID(ARGUMENT, hsa_amd_vmem_get_alloc_properties_from_handle(memory, NULL, &type));
  INVALID(ARGUMENT, hsa_amd_vmem_get_alloc_properties_from_handle(memory, &pool, NULL));
  INVALID(ALLOCATION, hsa_amd_vmem_get_alloc_properties_from_handle(forged, &pool, &type));

  /* What is mapped is not freed by the functions of pools, nor are its addresses. */
  INVALID(ALLOCATION, hsa_amd_memory_pool_free(at + CHUNK));
  EXPECT(HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_vmem_address_free(va, 4 * CHUNK));
  INVALID(ARGUMENT, hsa_amd_vmem_address_free(va, CHUNK));
  INVALID(ALLOCATION, hsa_amd_vmem_address_free(at + CHUNK, CHUNK));
  INVALID(ARGUMENT, hsa_amd_vmem_address_free(NULL, CHUNK));
  INVALID(ARGUMENT, hsa_amd_vmem_unmap(NULL, CHUNK));
  INVALID(ARGUMENT, hsa_amd_vmem_unmap(at + CHUNK, 0));
  INVALID(ARGUMENT, hsa_amd_vmem_unmap(at + CHUNK, 4096));
  INVALID(ALLOCATION, hsa_amd_vmem_unmap(at + CHUNK, 2 * CHUNK));
  INVALID(ALLOCATION, hsa_amd_vmem_unmap(va, CHUNK));

  /* A handle is void when it is released; the mapping stays, and gives it back. */
  INVALID(ALLOCATION, hsa_amd_vmem_handle_release(forged));
  MUST(hsa_amd_vmem_handle_release(memory));
  INVALID(ALLOCATION, hsa_amd_vmem_handle_release(memory));
  INVALID(ARGUMENT, hsa_amd_vmem_map(va, CHUNK, 0, memory, 0));
  vmem_handle_t again;
  MUST(hsa_amd_vmem_retain_alloc_handle(&again, at + CHUNK));
  CHECK(again.handle == memory.handle);
  MUST(hsa_amd_vmem_get_alloc_properties_from_handle(again, &pool, &type));
  CHECK(pool.handle == vram.handle && type == 0);
  MUST(hsa_amd_vmem_handle_release(again));
  MUST(hsa_amd_vmem_unmap(at + CHUNK, CHUNK));
  INVALID(ALLOCATION, hsa_amd_vmem_handle_release(memory));
  MUST(hsa_amd_vmem_address_free(va, 4 * CHUNK));
  INVALID(ALLOCATION, hsa_amd_vmem_address_free(va, 4 * CHUNK));

  /* Where the client wishes, if that is free, and aligned. */
  MUST(hsa_amd_vmem_address_reserve(&none, 4 * CHUNK, (uint64_t)(uintptr_t)va, 0));
  CHECK(none == va);
  void *other = NULL;
  MUST(hsa_amd_vmem_address_reserve_align(&other, CHUNK, (uint64_t)(uintptr_t)va, (size_t)1 << 24, 1));
  CHECK(other != va && (uintptr_t)other % ((size_t)1 << 24) == 0);
  MUST(hsa_amd_vmem_address_free(none, 4 * CHUNK));
  MUST(hsa_amd_vmem_address_free(other, CHUNK));
}

/* Kernels compute across two memories that are mapped one after the other, of which each may be mapped elsewhere as well. */
static void mapped(void) {
  char *va;
  vmem_handle_t first, second;
  hsa_amd_pointer_info_t info;
  access_desc_t both[2] = {{ACCESS_RW, agents.cpu}, {ACCESS_RW, agents.gpu}};
  MUST(hsa_amd_vmem_address_reserve_align((void **)&va, 8 * CHUNK, 0, (size_t)2 << 20, 0));
  CHECK((uintptr_t)va % ((size_t)2 << 20) == 0);
  CHECK(type_of(va + 100, &info) == POINTER_RESERVED && info.hostBaseAddress == va && info.sizeInBytes == 8 * CHUNK);
  CHECK(!host_may((uint32_t *)va, 0));
  MUST(hsa_amd_vmem_handle_create(vram, CHUNK, 1, 0, &first));
  MUST(hsa_amd_vmem_handle_create(host_pool, CHUNK, 0, 0, &second));
  CHECK(first.handle != second.handle);
  MUST(hsa_amd_vmem_map(va, CHUNK, 0, first, 0));
  MUST(hsa_amd_vmem_map(va + CHUNK, CHUNK, 0, second, 0));
  CHECK(!host_may((uint32_t *)va, 0));
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)va, 1) == (uint64_t)(uintptr_t)va);
  CHECK(fault_of(&load, (uint64_t)(uintptr_t)(va + CHUNK), (uint64_t)(uintptr_t)va) ==
        (uint64_t)(uintptr_t)(va + CHUNK));
  MUST(hsa_amd_vmem_set_access(va, 2 * CHUNK, both, 2));
  CHECK(access_of(va + CHUNK + 5, agents.gpu) == ACCESS_RW && access_of(va, agents.cpu) == ACCESS_RW);
  CHECK(type_of(va + CHUNK + 100, &info) == POINTER_VMEM && info.agentBaseAddress == va + CHUNK);
  CHECK(info.sizeInBytes == CHUNK && info.agentOwner.handle == agents.cpu.handle);
  CHECK(type_of(va + 2 * CHUNK, &info) == POINTER_RESERVED);
  CHECK(*(uint32_t *)va == 0 && *(uint32_t *)(va + 2 * CHUNK - 4) == 0);

  float *floats = (float *)va;
  for (size_t i = 0; i < 2 * COUNT; i++)
    floats[i] = (float)i;
  add_on_gpu(floats, floats, floats, 2 * COUNT);
  size_t wrong = 0;
  for (size_t i = 0; i < 2 * COUNT; i++)
    wrong += floats[i] != 2.0f * (float)i;
  CHECK(wrong == 0);

  /* The same memory a second time, with access of its own. */
  MUST(hsa_amd_vmem_map(va + 4 * CHUNK, CHUNK, 0, first, 0));
  CHECK(access_of(va + 4 * CHUNK, agents.gpu) == ACCESS_NONE);
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)(va + 4 * CHUNK), 1) == (uint64_t)(uintptr_t)(va + 4 * CHUNK));
  give(va + 4 * CHUNK, CHUNK, agents.cpu, ACCESS_RO);
  CHECK(host_may((uint32_t *)(va + 4 * CHUNK), 0) && !host_may((uint32_t *)(va + 4 * CHUNK), 1));
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)va, 0x12345678) == 0);
  CHECK(*(uint32_t *)(va + 4 * CHUNK) == 0x12345678);
  give(va + 4 * CHUNK, CHUNK, agents.gpu, ACCESS_RW);
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)(va + 4 * CHUNK + 8), 77) == 0);
  CHECK(((uint32_t *)va)[2] == 77);

  /* Copies across the border of two memories, whoever has access. */
  give(va, 2 * CHUNK, agents.cpu, ACCESS_NONE);
  CHECK(!host_may((uint32_t *)va, 0) && access_of(va, agents.cpu) == ACCESS_NONE);
  uint32_t *words = malloc(2 * CHUNK), *copied = calloc(1, 2 * CHUNK);
  for (size_t i = 0; i < 2 * CHUNK / 4; i++)
    words[i] = (uint32_t)i * 2654435761u;
  MUST(hsa_memory_copy(va, words, 2 * CHUNK));
  MUST(hsa_memory_copy(copied, va, 2 * CHUNK));
  CHECK(memcmp(words, copied, 2 * CHUNK) == 0);
  MUST(hsa_amd_memory_fill(va + CHUNK - 64, 0xabcdef01, 32));
  MUST(hsa_memory_copy(copied, va + CHUNK - 128, 256));
  for (size_t i = 0; i < 64; i++)
    CHECK(copied[i] == (i >= 16 && i < 48 ? 0xabcdef01 : words[(CHUNK - 128) / 4 + i]));
  CHECK(hsa_memory_copy(copied, va + 2 * CHUNK - 64, 128) != HSA_STATUS_SUCCESS);
  CHECK(hsa_memory_copy(va + 6 * CHUNK, words, 64) != HSA_STATUS_SUCCESS);
  free(words);
  free(copied);

  /* Access that is taken away is gone; reading alone, where the backend has it. */
  give(va + CHUNK, CHUNK, agents.gpu, ACCESS_NONE);
  CHECK(fault_of(&load, (uint64_t)(uintptr_t)(va + CHUNK), (uint64_t)(uintptr_t)va) ==
        (uint64_t)(uintptr_t)(va + CHUNK));
  access_desc_t ro = {ACCESS_RO, agents.gpu};
  hsa_status_t status = hsa_amd_vmem_set_access(va + CHUNK, CHUNK, &ro, 1);
  if (status == HSA_STATUS_SUCCESS) {
    CHECK(access_of(va + CHUNK, agents.gpu) == ACCESS_RO);
    CHECK(fault_of(&load, (uint64_t)(uintptr_t)(va + CHUNK), (uint64_t)(uintptr_t)va) == 0);
    CHECK(fault_of(&store, (uint64_t)(uintptr_t)(va + CHUNK), 1) == (uint64_t)(uintptr_t)(va + CHUNK));
  } else {
    CHECK((unsigned)status == NOT_SUPPORTED && access_of(va + CHUNK, agents.gpu) == ACCESS_NONE);
  }

  /* Unmapped together; what is mapped there next is other memory, and the addresses fault in between. */
  MUST(hsa_amd_vmem_unmap(va, 2 * CHUNK));
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)va, 1) == (uint64_t)(uintptr_t)va);
  MUST(hsa_amd_vmem_map(va, CHUNK, 0, second, 0));
  MUST(hsa_amd_vmem_set_access(va, CHUNK, both, 2));
  CHECK(((uint32_t *)va)[2] == 0xabcdef01 && ((uint32_t *)va)[20] == (uint32_t)(CHUNK / 4 + 20) * 2654435761u);
  MUST(hsa_amd_vmem_unmap(va, CHUNK));
  MUST(hsa_amd_vmem_unmap(va + 4 * CHUNK, CHUNK));
  MUST(hsa_amd_vmem_handle_release(first));
  MUST(hsa_amd_vmem_handle_release(second));
  MUST(hsa_amd_vmem_address_free(va, 8 * CHUNK));
}

typedef struct {
  hsa_agent_t all[8];
  int count;
} gpus_t;

static hsa_status_t collect(hsa_agent_t agent, void *data) {
  gpus_t *gpus = data;
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU && gpus->count < 8)
    gpus->all[gpus->count++] = agent;
  return HSA_STATUS_SUCCESS;
}

/* Where there are several GPUs, each has access of its own to memory of the first one. */
static void several_gpus(const char *adds) {
  gpus_t gpus = {.count = 0};
  MUST(hsa_iterate_agents(collect, &gpus));
  float *va;
  vmem_handle_t memory;
  MUST(hsa_amd_vmem_address_reserve((void **)&va, CHUNK, 0, 0));
  MUST(hsa_amd_vmem_handle_create(vram, CHUNK, 0, 0, &memory));
  MUST(hsa_amd_vmem_map(va, CHUNK, 0, memory, 0));
  float value = 1.0f, found;
  MUST(hsa_memory_copy(va, &value, sizeof value));
  agents_t first = agents;
  kernel_t first_add = add;
  for (int i = 0; i < gpus.count; i++) {
    agents.gpu = gpus.all[i];
    CHECK(access_of(va, agents.gpu) == ACCESS_NONE);
    give(va, CHUNK, agents.gpu, ACCESS_RW);
    hsa_executable_t executable = load_code(agents.gpu, adds);
    add = find_kernel(executable, agents.gpu, "vector_add.kd");
    add_on_gpu(va, va, va, 64);
    MUST(hsa_executable_destroy(executable));
    value *= 2;
    MUST(hsa_memory_copy(&found, va, sizeof found));
    CHECK(found == value);
  }
  agents = first;
  add = first_add;
  /* Taking it away from one leaves the others theirs. */
  give(va, CHUNK, gpus.all[0], ACCESS_NONE);
  for (int i = 0; i < gpus.count; i++)
    CHECK(access_of(va, gpus.all[i]) == (i == 0 ? ACCESS_NONE : ACCESS_RW));
  CHECK(fault_of(&store, (uint64_t)(uintptr_t)va, 1) == (uint64_t)(uintptr_t)va);
  MUST(hsa_amd_vmem_unmap(va, CHUNK));
  MUST(hsa_amd_vmem_handle_release(memory));
  MUST(hsa_amd_vmem_address_free(va, CHUNK));
}

static void send_file(int socket, int file) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &file, sizeof file);
  CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket) {
  char byte, control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  int file = -1;
  if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  return file;
}

static void start(const char *adds, const char *faults) {
  MUST(hsa_init());
  agents = find_agents(NULL);
  vram = find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  host_pool = find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  MUST(hsa_amd_register_system_event_handler(on_event, NULL));
  add = find_kernel(load_code(agents.gpu, adds), agents.gpu, "vector_add.kd");
  hsa_executable_t faulting = load_code(agents.gpu, faults);
  store = find_kernel(faulting, agents.gpu, "fault_store.kd");
  load = find_kernel(faulting, agents.gpu, "fault_load.kd");
}

/* The other process: doubles what it finds in the memory of each descriptor, on its own GPU. */
static int other_process(int socket) {
  for (int round = 0; round < 2; round++) {
    int file = receive_file(socket);
    vmem_handle_t memory;
    float *va;
    MUST(hsa_amd_vmem_import_shareable_handle(file, &memory));
    close(file);
    hsa_amd_memory_pool_t pool;
    uint32_t type;
    MUST(hsa_amd_vmem_get_alloc_properties_from_handle(memory, &pool, &type));
    MUST(hsa_amd_vmem_address_reserve((void **)&va, CHUNK, 0, 0));
    MUST(hsa_amd_vmem_map(va, CHUNK, 0, memory, 0));
    MUST(hsa_amd_vmem_handle_release(memory));
    give(va, CHUNK, agents.gpu, ACCESS_RW);
    give(va, CHUNK, agents.cpu, ACCESS_RO);
    CHECK(va[3] == 3.0f);
    add_on_gpu(va, va, va, COUNT);
    CHECK(va[3] == 6.0f);
    MUST(hsa_amd_vmem_unmap(va, CHUNK));
    MUST(hsa_amd_vmem_address_free(va, CHUNK));
  }
  MUST(hsa_shut_down());
  return failures != 0;
}

static void shared(char **arguments) {
  int sockets[2], status;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  char number[16];
  snprintf(number, sizeof number, "%d", sockets[1]);
  fcntl(sockets[0], F_SETFD, FD_CLOEXEC);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", arguments[0], arguments[1], arguments[2], number, NULL);
    _exit(99);
  }
  close(sockets[1]);
  hsa_amd_memory_pool_t pools[2] = {vram, host_pool};
  float *at[2];
  for (int i = 0; i < 2; i++) {
    vmem_handle_t memory;
    int file = -1;
    access_desc_t both[2] = {{ACCESS_RW, agents.cpu}, {ACCESS_RW, agents.gpu}};
    MUST(hsa_amd_vmem_handle_create(pools[i], CHUNK, 0, 0, &memory));
    MUST(hsa_amd_vmem_address_reserve((void **)&at[i], CHUNK, 0, 0));
    MUST(hsa_amd_vmem_map(at[i], CHUNK, 0, memory, 0));
    MUST(hsa_amd_vmem_set_access(at[i], CHUNK, both, 2));
    for (size_t j = 0; j < COUNT; j++)
      at[i][j] = (float)j;
    MUST(hsa_amd_vmem_export_shareable_handle(&file, memory, 0));
    MUST(hsa_amd_vmem_handle_release(memory));
    send_file(sockets[0], file);
    close(file);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < 2; i++) {
    size_t wrong = 0;
    for (size_t j = 0; j < COUNT; j++)
      wrong += at[i][j] != 2.0f * (float)j;
    CHECK(wrong == 0);
    MUST(hsa_amd_vmem_unmap(at[i], CHUNK));
    MUST(hsa_amd_vmem_address_free(at[i], CHUNK));
  }
  close(sockets[0]);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  start(argv[1], argv[2]);
  if (argc > 3)
    return other_process(atoi(argv[3]));
  bool has = false;
  MUST(hsa_system_get_info(INFO_VIRTUAL_MEM_API_SUPPORTED, &has));
  CHECK(has);
  MUST(hsa_system_get_info(INFO_DMABUF_SUPPORTED, &has));
  CHECK(has);
  misuse();
  mapped();
  several_gpus(argv[1]);
  shared(argv);
  /* What is left goes with the runtime. */
  void *va;
  vmem_handle_t memory;
  MUST(hsa_amd_vmem_address_reserve(&va, CHUNK, 0, 0));
  MUST(hsa_amd_vmem_handle_create(vram, CHUNK, 0, 0, &memory));
  MUST(hsa_amd_vmem_map(va, CHUNK, 0, memory, 0));
  MUST(hsa_shut_down());
  return report("vmem");
}
