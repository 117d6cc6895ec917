/* Device memory as file descriptors: exported, imported in another process, where kernels reach it, and closed.
 *
 *   dmabuf VECTOR_ADD_CODE_OBJECT
 */
#include "launch.h"
#include "vmem.h"

#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES ((size_t)96 << 10)
#define COUNT (BYTES / sizeof(float))

static agents_t agents;

static void start(void) {
  MUST(hsa_init());
  agents = find_agents(NULL);
}

static void double_on_gpu(const char *code, float *values) {
  add_vectors(&agents, code, values, values, values, COUNT);
}

/* The other process: descriptor and offset are arguments. */
static int other_process(const char *code, int file, size_t offset) {
  size_t size = 0, metadata_size = 7;
  char *mapped = NULL;
  const void *metadata = &size;
  MUST(hsa_amd_interop_map_buffer(1, &agents.gpu, file, 0, &size, (void **)&mapped, &metadata_size, &metadata));
  MUST(hsa_amd_portable_close_dmabuf(file));
  CHECK(size >= offset + BYTES && metadata_size == 0 && metadata == NULL);
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  MUST(hsa_amd_pointer_info(mapped + 5, &info, NULL, NULL, NULL));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_GRAPHICS && info.agentBaseAddress == mapped && info.sizeInBytes == size);
  double_on_gpu(code, (float *)(mapped + offset));
  INVALID(ARGUMENT, hsa_amd_interop_unmap_buffer(mapped + 4096));
  INVALID(ALLOCATION, hsa_amd_memory_pool_free(mapped));
  MUST(hsa_amd_interop_unmap_buffer(mapped));
  INVALID(ARGUMENT, hsa_amd_interop_unmap_buffer(mapped));
  MUST(hsa_shut_down());
  return failures != 0;
}

static void misuse(void *memory, void *of_host) {
  int file = -7, wrong = open("/dev/null", O_RDWR);
  uint64_t offset = 7;
  size_t size;
  void *mapped;
  INVALID(ARGUMENT, hsa_amd_portable_export_dmabuf(NULL, BYTES, &file, &offset));
  INVALID(ARGUMENT, hsa_amd_portable_export_dmabuf(memory, 0, &file, &offset));
  INVALID(ARGUMENT, hsa_amd_portable_export_dmabuf(memory, BYTES, NULL, &offset));
  INVALID(ARGUMENT, hsa_amd_portable_export_dmabuf(memory, BYTES, &file, NULL));
  INVALID(ARGUMENT, hsa_amd_portable_export_dmabuf_v2(memory, BYTES, &file, &offset, 2));
  INVALID(ALLOCATION, hsa_amd_portable_export_dmabuf(&file, 4, &file, &offset));
  INVALID(ALLOCATION, hsa_amd_portable_export_dmabuf(memory, BYTES + 8193, &file, &offset));
  INVALID(ALLOCATION, hsa_amd_portable_export_dmabuf((char *)memory + 4096, SIZE_MAX, &file, &offset));
  INVALID(AGENT, hsa_amd_portable_export_dmabuf(of_host, 64, &file, &offset));
  CHECK(file == -7 && offset == 7);
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(0, &agents.gpu, wrong, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, NULL, wrong, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.cpu, wrong, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, wrong, 1, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, wrong, 0, NULL, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, wrong, 0, &size, NULL, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, wrong, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, -1, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_map_buffer(1, &agents.gpu, 9999, 0, &size, &mapped, NULL, NULL));
  INVALID(ARGUMENT, hsa_amd_interop_unmap_buffer(NULL));
  INVALID(ARGUMENT, hsa_amd_interop_unmap_buffer(memory));
  MUST(hsa_amd_portable_close_dmabuf(wrong));
  EXPECT(HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_portable_close_dmabuf(wrong));
  EXPECT(HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_portable_close_dmabuf(-1));
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  start();
  if (argc > 3)
    return other_process(argv[1], atoi(argv[2]), (size_t)strtoull(argv[3], NULL, 0));
  float *memory, *of_host, *values = malloc(BYTES);
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED), BYTES + 8192,
                                    0, (void **)&memory));
  MUST(hsa_amd_memory_pool_allocate(find_pool(agents.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED), 4096, 0,
                                    (void **)&of_host));
  misuse(memory, of_host);
  float *part = memory + 1024;
  for (size_t i = 0; i < COUNT; i++)
    values[i] = (float)i;
  MUST(hsa_memory_copy(part, values, BYTES));
  int file = -1, status;
  uint64_t offset;
  MUST(hsa_amd_portable_export_dmabuf_v2(part, BYTES, &file, &offset, 1));
  CHECK(file >= 0 && offset == 4096 && fcntl(file, F_GETFD) == FD_CLOEXEC);
  pid_t child = fork();
  if (child == 0) {
    char number[16], start_at[32];
    int inherited = dup(file);
    snprintf(number, sizeof number, "%d", inherited);
    snprintf(start_at, sizeof start_at, "%" PRIu64, offset);
    execl("/proc/self/exe", argv[0], argv[1], number, start_at, NULL);
    _exit(99);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  MUST(hsa_memory_copy(values, part, BYTES));
  size_t wrong = 0;
  for (size_t i = 0; i < COUNT; i++)
    wrong += values[i] != 2.0f * (float)i;
  CHECK(wrong == 0);

  /* The memory stays for who has the descriptor when its allocation is gone. */
  MUST(hsa_amd_memory_pool_free(memory));
  size_t size;
  float *mapped;
  MUST(hsa_amd_interop_map_buffer(1, &agents.gpu, file, 0, &size, (void **)&mapped, NULL, NULL));
  MUST(hsa_amd_portable_close_dmabuf(file));
  double_on_gpu(argv[1], mapped + 1024);
  MUST(hsa_memory_copy(values, mapped + 1024, BYTES));
  for (size_t i = 0; i < COUNT; i++)
    wrong += values[i] != 4.0f * (float)i;
  CHECK(wrong == 0);
  /* What is left goes with the runtime. */
  MUST(hsa_amd_memory_pool_free(of_host));
  free(values);
  MUST(hsa_shut_down());
  return report("dmabuf");
}
