/* What a debugger sees of loaded code: the list of _amdgpu_r_debug, read at the stops of a breakpoint at r_brk, as
 * debuggers read that of shared libraries. For x86-64.
 *
 *   debugger CODE_OBJECT      with a kernel vector_add
 */
#define _GNU_SOURCE
#include "launch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>

static struct r_debug *debug;

static int entries(void) {
  int count = 0;
  struct link_map *before = NULL;
  for (struct link_map *entry = debug->r_map; entry; before = entry, entry = entry->l_next, count++)
    CHECK(entry->l_prev == before);
  return count;
}

/* Each stop: the state and how many entries there are. */
static struct {
  int state, entries;
} stops[16];
static int stop_count;

/* The breakpoint is at the first instruction: the function is left at once. */
static void on_trap(int signal, siginfo_t *info, void *data) {
  (void)signal, (void)info;
  ucontext_t *context = data;
  greg_t *registers = context->uc_mcontext.gregs;
  if (registers[REG_RIP] != (greg_t)debug->r_brk + 1)
    abort();
  if (stop_count < 16) {
    stops[stop_count].state = debug->r_state;
    stops[stop_count].entries = entries();
  }
  stop_count++;
  registers[REG_RIP] = *(greg_t *)registers[REG_RSP];
  registers[REG_RSP] += 8;
}

/* Writes code, for which the thread sanitizer has no shadow. */
__attribute__((no_sanitize("thread"))) static void set_breakpoint(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  unsigned char *at = (unsigned char *)debug->r_brk;
  char *page = (char *)((uintptr_t)at & ~(uintptr_t)4095);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) {
    perror("mprotect");
    exit(1);
  }
  *at = 0xcc; /* int3 */
}

/* Since the last look there were so many stops, and these. */
static void stopped(int index, int state, int count) {
  CHECK(stop_count > index);
  if (stops[index].state != state || stops[index].entries != count) {
    fprintf(stderr, "stop %d: state %d with %d entries, not %d with %d\n", index, stops[index].state,
            stops[index].entries, state, count);
    failures++;
  }
}

/* The value of a symbol of an ELF file. */
static uint64_t symbol_value(const char *elf, const char *name) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(elf + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_DYNSYM)
      continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(elf + sections[i].sh_offset);
    const char *names = elf + sections[sections[i].sh_link].sh_offset;
    for (uint64_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
      if (!strcmp(names + symbols[s].st_name, name))
        return symbols[s].st_value;
  }
  fprintf(stderr, "no symbol %s\n", name);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  int file = open(argv[1], O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status)) {
    perror(argv[1]);
    return 1;
  }
  const char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  debug = dlsym(RTLD_DEFAULT, "_amdgpu_r_debug");
  if (!debug || bytes == MAP_FAILED)
    return 1;
  CHECK(debug->r_version == 11 && debug->r_state == RT_CONSISTENT && debug->r_map == NULL);
  set_breakpoint();

  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  CHECK(stop_count == 0);
  hsa_executable_t first = load_code(agents.gpu, argv[1]);
  CHECK(stop_count == 2);
  stopped(0, RT_ADD, 0);
  stopped(1, RT_CONSISTENT, 1);

  /* The entry says where the file is and where its code went. */
  kernel_t kernel = find_kernel(first, agents.gpu, "vector_add.kd");
  CHECK(debug->r_map->l_addr + symbol_value(bytes, "vector_add.kd") == kernel.object);
  char uri[4200], *path = realpath(argv[1], NULL);
  snprintf(uri, sizeof uri, "file://%s#offset=0&size=%lld", path, (long long)status.st_size);
  if (strcmp(debug->r_map->l_name, uri))
    fprintf(stderr, "%s\n", debug->r_map->l_name);
  CHECK(!strcmp(debug->r_map->l_name, uri));
  free(path);

  /* A second one, from memory, which stays when the first goes. */
  hsa_code_object_reader_t reader;
  hsa_executable_t second;
  MUST(hsa_code_object_reader_create_from_memory(bytes, (size_t)status.st_size, &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &second));
  MUST(hsa_executable_load_agent_code_object(second, agents.gpu, reader, NULL, NULL));
  CHECK(stop_count == 2);
  MUST(hsa_executable_freeze(second, NULL));
  MUST(hsa_executable_destroy(first));
  CHECK(stop_count == 6);
  stopped(2, RT_ADD, 1);
  stopped(3, RT_CONSISTENT, 2);
  stopped(4, RT_DELETE, 2);
  stopped(5, RT_CONSISTENT, 1);
  snprintf(uri, sizeof uri, "memory://%d#offset=0x%llx&size=%lld", getpid(), (unsigned long long)(uintptr_t)bytes,
           (long long)status.st_size);
  CHECK(!strcmp(debug->r_map->l_name, uri));

  /* A child process has none of it; what is left goes with the runtime. */
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    _exit(debug->r_map != NULL);
  int ended = -1;
  waitpid(child, &ended, 0);
  CHECK(ended == 0);
  MUST(hsa_shut_down());
  CHECK(stop_count == 8);
  stopped(6, RT_DELETE, 1);
  stopped(7, RT_CONSISTENT, 0);
  close(file);
  return report("debugger's list");
}
