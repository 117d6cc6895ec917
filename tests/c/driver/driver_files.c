/* What a program that knows of no simulation sees of the driver: files, directories, descriptors, memory, children.
 * To be run under LD_PRELOAD=librukh_kfd.so with RUKH_KFD=gfx90a,gfx90a.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      failures++;                                                                               \
    }                                                                                           \
  } while (0)

/* The call fails with this errno. */
#define FAILS(wanted, call)                   \
  do {                                        \
    errno = 0;                                \
    CHECK((call) == -1 && errno == (wanted)); \
  } while (0)

static const char topology[] = "/sys/devices/virtual/kfd/kfd/topology";

static bool answers(int fd) {
  struct kfd_ioctl_get_version_args version = {0};
  return ioctl(fd, AMDKFD_IOC_GET_VERSION, &version) == 0 && version.major_version == 1 &&
         version.minor_version == 17;
}

static void descriptors(void) {
  int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0 && answers(fd));
  CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
  struct pollfd poll_it = {.fd = fd, .events = POLLIN | POLLOUT};
  CHECK(poll(&poll_it, 1, 0) == 1 && poll_it.revents == (POLLIN | POLLOUT));
  FAILS(EFAULT, ioctl(fd, AMDKFD_IOC_GET_VERSION, NULL));
  FAILS(ENOTTY, ioctl(fd, _IOWR('K', 0x82, int[8]), (int[8]){0}));

  int copies[] = {dup(fd), dup2(fd, 200), dup3(fd, 201, O_CLOEXEC), fcntl(fd, F_DUPFD_CLOEXEC, 300)};
  CHECK(close(fd) == 0);
  for (int i = 0; i < 4; i++)
    CHECK(answers(copies[i]));
  /* A copy over one of ours, and one of ours over something else. */
  int other = open("/dev/null", O_RDWR);
  CHECK(dup2(other, copies[0]) == copies[0] && !answers(copies[0]) && errno == ENOTTY);
  CHECK(dup2(copies[1], other) == other && answers(other));
  for (int i = 0; i < 4; i++)
    CHECK(close(copies[i]) == 0);
  CHECK(answers(other));
  CHECK(close(other) == 0);
  FAILS(EBADF, ioctl(other, AMDKFD_IOC_GET_VERSION, &(struct kfd_ioctl_get_version_args){0}));
  FAILS(EBADF, close(other));
  /* The number is free for others. */
  CHECK(open("/dev/null", O_RDWR) == other && !answers(other) && errno == ENOTTY);
  close(other);

  fd = open("/dev/kfd", O_RDWR);
  int second = open64("/dev//kfd", O_RDONLY);
  CHECK(answers(fd) && answers(second));
  CHECK(close_range(fd, second, 0) == 0);
  FAILS(EBADF, ioctl(fd, AMDKFD_IOC_GET_VERSION, &(struct kfd_ioctl_get_version_args){0}));
}

static void what_files_are(void) {
  struct stat at, of;
  CHECK(stat("/dev/dri/renderD129", &at) == 0 && S_ISCHR(at.st_mode) && at.st_rdev == makedev(226, 129));
  int fd = open("/dev/dri/renderD129", O_RDWR);
  CHECK(fstat(fd, &of) == 0 && of.st_rdev == at.st_rdev && of.st_ino == at.st_ino);
  struct statx more;
  CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more) == 0 && more.stx_rdev_minor == 129);
  CHECK(fstatat(fd, "", &of, AT_EMPTY_PATH) == 0 && S_ISCHR(of.st_mode));
  close(fd);
  CHECK(stat("/dev/kfd", &at) == 0 && S_ISCHR(at.st_mode));
  CHECK(stat("/sys/dev/char/226:128/device/drm", &at) == 0 && S_ISDIR(at.st_mode));
  FAILS(ENOENT, stat("/dev/dri/renderD130", &at));
  FAILS(ENOENT, open("/dev/dri/renderD130", O_RDWR));
  FAILS(ENOENT, access("/sys/class/kfd/kfd/topology/nodes/3", F_OK));
  CHECK(access("/dev/kfd", R_OK | W_OK) == 0);
  FAILS(EACCES, access("/sys/class/kfd/kfd/topology/generation_id", W_OK));
  FAILS(EACCES, open("/sys/class/kfd/kfd/topology/generation_id", O_RDWR));
  FAILS(ENOTDIR, open("/dev/kfd", O_RDONLY | O_DIRECTORY));
  char buffer[4096];
  FAILS(EINVAL, readlink("/sys/class/kfd", buffer, sizeof buffer));
  CHECK(realpath("/sys/class/kfd/../kfd//kfd/", buffer) && !strcmp(buffer, "/sys/class/kfd/kfd"));
  /* What is not the driver's is the machine's. */
  FILE *status = fopen("/proc/self/status", "r");
  CHECK(status && fgets(buffer, sizeof buffer, status) && !strncmp(buffer, "Name:", 5));
  fclose(status);
  CHECK(stat("/sys/class", &at) == 0 && S_ISDIR(at.st_mode));
}

static uint32_t gpu_id(int node) {
  char path[256];
  snprintf(path, sizeof path, "%s/nodes/%d/gpu_id", topology, node);
  FILE *file = fopen(path, "r");
  uint32_t id = 0;
  CHECK(file && fscanf(file, "%u", &id) == 1);
  if (file)
    fclose(file);
  return id;
}

static int entries(DIR *directory) {
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory));)
    count += entry->d_name[0] != '.';
  return count;
}

static void directories(void) {
  char path[256];
  snprintf(path, sizeof path, "%s/nodes", topology);
  DIR *nodes = opendir(path);
  CHECK(nodes && entries(nodes) == 3);
  rewinddir(nodes);
  CHECK(entries(nodes) == 3);
  int first = openat(dirfd(nodes), "1", O_RDONLY | O_DIRECTORY);
  CHECK(first >= 0);
  int file = openat(first, "properties", O_RDONLY);
  char text[4096];
  ssize_t length = read(file, text, sizeof text - 1);
  CHECK(length > 0);
  text[length > 0 ? length : 0] = 0;
  CHECK(strstr(text, "\nsimd_per_cu 4\n") && strstr(text, "\ndevice_id 29711\n"));
  CHECK(write(file, "x", 1) == -1);
  close(file);
  DIR *node = fdopendir(first);
  CHECK(node && entries(node) >= 7);
  CHECK(closedir(node) == 0 && closedir(nodes) == 0);
  FAILS(EBADF, close(first));
  CHECK(!opendir("/sys/class/kfd/kfd/topology/nodes/1/properties") && errno == ENOTDIR);
  CHECK(!opendir("/sys/class/kfd/nothing") && errno == ENOENT);
  DIR *root = opendir("/");
  CHECK(root && entries(root) > 3 && closedir(root) == 0);
  CHECK(gpu_id(0) == 0 && gpu_id(1) != 0 && gpu_id(2) != 0 && gpu_id(1) != gpu_id(2));
}

static int count_mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  int lines = 0;
  char line[4096];
  while (fgets(line, sizeof line, maps))
    lines += strstr(line, "rukh-sim") != NULL;
  fclose(maps);
  return lines;
}

/* Device memory through both of its files, given back page by page; a thousand times without a trace. */
static void memory(void) {
  int kfd = open("/dev/kfd", O_RDWR), render = open("/dev/dri/renderD128", O_RDWR);
  uint32_t gpu = gpu_id(1);
  struct kfd_ioctl_acquire_vm_args vm = {.drm_fd = (uint32_t)kfd, .gpu_id = gpu};
  FAILS(EINVAL, ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &vm));
  /* A copy of the descriptor is the same file. */
  vm.drm_fd = (uint32_t)dup(render);
  CHECK(ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &vm) == 0);
  vm.drm_fd = (uint32_t)render;
  CHECK(ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &vm) == 0);
  CHECK(vm.drm_fd == (uint32_t)render);
  size_t bytes = 64 << 10;
  int before = 0;
  for (int round = 0; round < 1000 && !failures; round++) {
    char *va = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct kfd_ioctl_alloc_memory_of_gpu_args memory = {
        .va_addr = (uintptr_t)va,
        .size = bytes,
        .gpu_id = gpu,
        .flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE};
    CHECK(ioctl(kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &memory) == 0);
    CHECK(mmap(va, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, render, (off_t)memory.mmap_offset) == MAP_FAILED);
    char *at = mmap(va, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render, (off_t)memory.mmap_offset);
    CHECK(at == va);
    for (size_t i = 0; i < bytes; i += 4096)
      CHECK(at[i] == 0);
    memset(at, round + 1, bytes);
    char *again = mmap(NULL, bytes, PROT_READ, MAP_SHARED, render, (off_t)memory.mmap_offset);
    CHECK(again != MAP_FAILED && again[bytes - 1] == (char)(round + 1));
    struct kfd_ioctl_free_memory_of_gpu_args release = {.handle = memory.handle};
    CHECK(ioctl(kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &release) == 0);
    /* The client's mappings keep the pages. */
    CHECK(at[5] == (char)(round + 1) && again[9] == at[5]);
    CHECK(munmap(again + 4096, bytes - 4096) == 0 && again[0] == at[0] && munmap(again, 4096) == 0);
    CHECK(mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
    CHECK(munmap(at, bytes) == 0);
    if (round == 0)
      before = count_mappings();
  }
  CHECK(count_mappings() == before);
  close((int)vm.drm_fd);
  close(kfd);
}

static int ends_with(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int child_of_fork(int kfd) {
  if (answers(kfd) || errno != EBADF)
    return 1;
  if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, kfd, 0) != MAP_FAILED || errno != EBADF)
    return 2;
  int own = open("/dev/kfd", O_RDWR);
  if (own < 0 || !answers(own) || answers(kfd))
    return 3;
  /* A machine of its own: all events are free. */
  struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL};
  if (ioctl(own, AMDKFD_IOC_CREATE_EVENT, &event) || event.event_id != 1)
    return 4;
  /* The number of what was inherited is free after it is closed. */
  close(kfd);
  int null = open("/dev/null", O_RDWR);
  if (null != kfd || answers(null) || errno != ENOTTY)
    return 5;
  return failures != 0;
}

static void children(void) {
  int kfd = open("/dev/kfd", O_RDWR);
  struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL};
  CHECK(ioctl(kfd, AMDKFD_IOC_CREATE_EVENT, &event) == 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    _exit(child_of_fork(kfd));
  CHECK(ends_with(child) == 0);
  CHECK(answers(kfd));
  /* A child that shares the parent's memory closes its own descriptors. */
  child = vfork();
  if (child == 0) {
    close(kfd);
    _exit(0);
  }
  CHECK(ends_with(child) == 0);
  CHECK(answers(kfd));
  FILE *modules = popen("lsmod", "r");
  char line[256];
  bool found = false;
  while (modules && fgets(line, sizeof line, modules))
    found |= !strncmp(line, "amdgpu ", 7);
  CHECK(found && pclose(modules) == 0);
  CHECK(answers(kfd));
  CHECK(ioctl(kfd, AMDKFD_IOC_DESTROY_EVENT, &(struct kfd_ioctl_destroy_event_args){.event_id = event.event_id}) == 0);
  close(kfd);
}

int main(void) {
  descriptors();
  what_files_are();
  directories();
  memory();
  children();
  if (failures)
    fprintf(stderr, "driver files: %d checks failed\n", failures);
  else
    printf("PASS driver files\n");
  return failures != 0;
}
