/* What a program that knows of no simulation sees of the driver: files, directories, descriptors, memory, children.
 * To be run under LD_PRELOAD=librukh_kfd.so with RUKH_KFD=gfx90a,gfx90a.
 */
#define _GNU_SOURCE
#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <pthread.h>
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
    lines += strstr(line, "/memfd:rukh-") != NULL;
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

/* Of interface 1.12: Debian 12's header ends before. */
struct export_dmabuf_args {
  uint64_t handle;
  uint32_t flags, dmabuf_fd;
};
#define EXPORT_DMABUF _IOWR('K', 0x24, struct export_dmabuf_args)

/* A driver that is open, with the address space of its first GPU: that of whichever render file asked first. */
static int open_driver(uint32_t gpu) {
  int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  struct kfd_ioctl_acquire_vm_args vm = {.drm_fd = (uint32_t)render, .gpu_id = gpu};
  CHECK(kfd >= 0 && (ioctl(kfd, AMDKFD_IOC_ACQUIRE_VM, &vm) == 0 || errno == EBUSY));
  return kfd;
}

static uint64_t allocate(int kfd, uint32_t gpu, void *va, size_t bytes, uint32_t flags, uint64_t host) {
  struct kfd_ioctl_alloc_memory_of_gpu_args memory = {
      .va_addr = (uintptr_t)va, .size = bytes, .gpu_id = gpu, .flags = flags, .mmap_offset = host};
  return ioctl(kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &memory) == 0 ? memory.handle : 0;
}

static int map_to(int kfd, uint64_t handle, uint32_t gpu) {
  struct kfd_ioctl_map_memory_to_gpu_args map = {
      .handle = handle, .device_ids_array_ptr = (uintptr_t)&gpu, .n_devices = 1};
  return ioctl(kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);
}

/* Device memory of one process's in another's: the descriptor is all that they share. */
static void dmabufs(void) {
  enum { BYTES = 64 << 10 };
  uint32_t gpu = gpu_id(1);
  int kfd = open_driver(gpu);
  void *va = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint32_t vram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  struct export_dmabuf_args export = {.handle = allocate(kfd, gpu, va, BYTES, vram, 0), .flags = O_CLOEXEC};
  CHECK(export.handle != 0 && ioctl(kfd, EXPORT_DMABUF, &export) == 0);
  int dmabuf = (int)export.dmabuf_fd;
  CHECK(fcntl(dmabuf, F_GETFD) == FD_CLOEXEC && lseek(dmabuf, 0, SEEK_END) == BYTES);
  unsigned char *here = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
  CHECK(here != MAP_FAILED && here[BYTES - 1] == 0);
  memset(here, 7, BYTES);

  /* Not everything is exported, and not every descriptor is a dmabuf. */
  void *own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct export_dmabuf_args wrong = {
      .handle = allocate(kfd, gpu, own, BYTES, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, (uintptr_t)own)};
  CHECK(wrong.handle != 0);
  FAILS(EPERM, ioctl(kfd, EXPORT_DMABUF, &wrong));
  wrong.handle = 12345;
  FAILS(EINVAL, ioctl(kfd, EXPORT_DMABUF, &wrong));
  struct kfd_ioctl_get_dmabuf_info_args none = {.dmabuf_fd = (uint32_t)kfd};
  FAILS(EINVAL, ioctl(kfd, AMDKFD_IOC_GET_DMABUF_INFO, &none));
  none.dmabuf_fd = 9999;
  FAILS(EBADF, ioctl(kfd, AMDKFD_IOC_GET_DMABUF_INFO, &none));

  fflush(stderr);
  pid_t child = fork();
  if (child == 0) {
    int theirs = open_driver(gpu);
    char metadata[16];
    struct kfd_ioctl_get_dmabuf_info_args info = {
        .dmabuf_fd = (uint32_t)dmabuf, .metadata_ptr = (uintptr_t)metadata, .metadata_size = sizeof metadata};
    CHECK(ioctl(theirs, AMDKFD_IOC_GET_DMABUF_INFO, &info) == 0);
    CHECK(info.size == BYTES && info.gpu_id == gpu && info.metadata_size == 0);
    CHECK(info.flags == (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC));
    void *at = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct kfd_ioctl_import_dmabuf_args import = {
        .va_addr = (uintptr_t)at, .gpu_id = gpu, .dmabuf_fd = (uint32_t)dmabuf};
    CHECK(ioctl(theirs, AMDKFD_IOC_IMPORT_DMABUF, &import) == 0 && map_to(theirs, import.handle, gpu) == 0);
    unsigned char *there = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dmabuf, 0);
    CHECK(there == at && there[0] == 7 && there[BYTES - 1] == 7);
    there[1] = 8;
    /* What was imported is exported as well as what was allocated. */
    struct export_dmabuf_args again = {.handle = import.handle};
    CHECK(ioctl(theirs, EXPORT_DMABUF, &again) == 0);
    unsigned char *third = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, (int)again.dmabuf_fd, 0);
    CHECK(third != MAP_FAILED && third[1] == 8);
    _exit(failures);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(here[1] == 8);
  struct kfd_ioctl_free_memory_of_gpu_args release = {.handle = export.handle};
  CHECK(ioctl(kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &release) == 0);
  CHECK(here[1] == 8 && munmap(here, BYTES) == 0 && close(dmabuf) == 0);
}

static int svm(int kfd, void *start, size_t bytes, uint32_t op, struct kfd_ioctl_svm_attribute *attribute) {
  struct {
    struct kfd_ioctl_svm_args head;
    struct kfd_ioctl_svm_attribute attribute;
  } request = {{.start_addr = (uintptr_t)start, .size = bytes, .op = op, .nattr = 1}, *attribute};
  int answer = ioctl(kfd, _IOWR('K', 0x20, request), &request);
  *attribute = request.attribute;
  return answer;
}

/* Ranges of the process's own memory, which the driver forgets when they are unmapped. */
static void shared_memory(void) {
  enum { BYTES = 64 << 10 };
  uint32_t gpu = gpu_id(1);
  int kfd = open_driver(gpu);
  char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct kfd_ioctl_svm_attribute give = {KFD_IOCTL_SVM_ATTR_ACCESS, gpu};
  CHECK(svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_SET_ATTR, &give) == 0);
  struct kfd_ioctl_svm_attribute ask = give;
  CHECK(svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_GET_ATTR, &ask) == 0 && ask.type == KFD_IOCTL_SVM_ATTR_ACCESS);
  FAILS(EINVAL, svm(kfd, memory + 1, BYTES, KFD_IOCTL_SVM_OP_SET_ATTR, &give));
  FAILS(EINVAL, svm(kfd, memory, 0, KFD_IOCTL_SVM_OP_SET_ATTR, &give));
  FAILS(EFAULT, svm(kfd, (void *)4096, 4096, KFD_IOCTL_SVM_OP_SET_ATTR, &give));
  struct kfd_ioctl_svm_attribute nobody = {KFD_IOCTL_SVM_ATTR_ACCESS, 1}, unknown = {99, 0};
  FAILS(EINVAL, svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_SET_ATTR, &nobody));
  FAILS(EINVAL, svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_SET_ATTR, &unknown));
  /* Buffer objects and shared ranges keep out of each other's way. */
  uint32_t vram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  errno = 0;
  CHECK(allocate(kfd, gpu, memory, BYTES, vram, 0) == 0 && errno == EADDRINUSE);
  errno = 0;
  CHECK(allocate(kfd, gpu, memory + BYTES, 4096, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, (uintptr_t)memory) == 0 &&
        errno == EADDRINUSE);
  CHECK(munmap(memory, BYTES) == 0);
  FAILS(EFAULT, svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_GET_ATTR, &ask));
  CHECK(mmap(memory, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
  uint64_t object = allocate(kfd, gpu, memory, BYTES, vram, 0);
  CHECK(object != 0 && map_to(kfd, object, gpu) == 0);
  FAILS(EADDRINUSE, svm(kfd, memory, BYTES, KFD_IOCTL_SVM_OP_SET_ATTR, &give));
}

static int query(int fd, unsigned what, void *to, unsigned bytes) {
  struct drm_amdgpu_info info = {.return_pointer = (uintptr_t)to, .return_size = bytes, .query = what};
  return ioctl(fd, DRM_IOCTL_AMDGPU_INFO, &info);
}

/* What a render node says, by the DRM's own headers and then by its library. */
static void render_node(void) {
  int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  char name[8] = "........";
  struct drm_version version = {.name = name, .name_len = 3};
  CHECK(ioctl(fd, DRM_IOCTL_VERSION, &version) == 0);
  CHECK(version.version_major == 3 && version.name_len == 6 && !memcmp(name, "amd.....", 8));

  uint32_t works = 0;
  CHECK(query(fd, AMDGPU_INFO_ACCEL_WORKING, &works, sizeof works) == 0 && works == 1);
  struct drm_amdgpu_info_device device = {0};
  CHECK(query(fd, AMDGPU_INFO_DEV_INFO, &device, sizeof device) == 0);
  CHECK(device.device_id == 0x740f && device.pci_rev == 2 && device.family == AMDGPU_FAMILY_AI);
  CHECK(device.num_shader_engines == 8 && device.num_shader_arrays_per_engine == 1);
  CHECK(device.gpu_counter_freq == 100000 && device.max_engine_clock == 1700000 && device.max_memory_clock == 1600000);
  CHECK(device.vram_type == AMDGPU_VRAM_TYPE_HBM && device.vram_bit_width == 4096 && device.wave_front_size == 64);
  CHECK(device.virtual_address_alignment == 4096 && device.gart_page_size == 4096 && device.num_cu_per_sh == 13);
  CHECK(device.virtual_address_max == 1ull << 47 && device.high_va_offset == 0xffff800000000000 &&
        device.high_va_max > device.high_va_offset && device.tcc_disabled_mask == 0);
  int units = 0;
  for (int i = 0; i < 16; i++)
    units += __builtin_popcount(device.cu_bitmap[i / 4][i % 4]);
  CHECK(units == 104 && device.cu_active_number == 104);
  CHECK(!memcmp(device.cu_bitmap, device.cu_ao_bitmap, sizeof device.cu_bitmap));
  struct drm_amdgpu_memory_info memory;
  CHECK(query(fd, AMDGPU_INFO_MEMORY, &memory, sizeof memory) == 0);
  CHECK(memory.vram.total_heap_size == 64ull << 30 && memory.cpu_accessible_vram.total_heap_size == 64ull << 30);
  CHECK(memory.vram.heap_usage == 0 && memory.gtt.total_heap_size > 0);
  uint64_t first = 0, second = 0;
  CHECK(query(fd, AMDGPU_INFO_TIMESTAMP, &first, 8) == 0 && query(fd, AMDGPU_INFO_TIMESTAMP, &second, 8) == 0);
  CHECK(first != 0 && second >= first);
  /* Cut to what the client has room for. */
  uint32_t two[2] = {0, 7};
  CHECK(query(fd, AMDGPU_INFO_DEV_INFO, two, 4) == 0 && two[0] == 0x740f && two[1] == 7);
  FAILS(EINVAL, query(fd, 0xff, two, 4));
  FAILS(EINVAL, query(fd, AMDGPU_INFO_DEV_INFO, NULL, 4));
  FAILS(EFAULT, query(fd, AMDGPU_INFO_DEV_INFO, (void *)(1ull << 63), 4));
  FAILS(EFAULT, query(fd, AMDGPU_INFO_READ_MMR_REG, two, 4));
  FAILS(EOPNOTSUPP, ioctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &(union drm_amdgpu_gem_create){0}));
  FAILS(EACCES, ioctl(fd, DRM_IOCTL_GET_CLIENT, &(struct drm_client){0}));

  uint32_t major, minor;
  amdgpu_device_handle handle;
  CHECK(amdgpu_device_initialize(fd, &major, &minor, &handle) == 0 && major == 3);
  struct amdgpu_gpu_info info;
  CHECK(amdgpu_query_gpu_info(handle, &info) == 0 && info.asic_id == 0x740f && info.max_engine_clk == 1700000);
  CHECK(!strcmp(amdgpu_get_marketing_name(handle), "AMD Instinct MI210"));
  CHECK(amdgpu_device_deinitialize(handle) == 0);
  close(fd);
}

/* Threads that open, copy, read and close all at once disturb neither each other nor whom they share a process with. */
static void *busy(void *data) {
  (void)data;
  long wrong = 0;
  for (int i = 0; i < 300; i++) {
    int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), copy = dup(fd);
    close(fd);
    wrong += !answers(copy);
    FILE *file = fopen("/sys/class/kfd/kfd/topology/nodes/2/properties", "re");
    char line[64] = "";
    wrong += !file || !fgets(line, sizeof line, file) || strcmp(line, "cpu_cores_count 0\n");
    if (file)
      fclose(file);
    DIR *directory = opendir("/sys/class/kfd/kfd/topology/nodes");
    wrong += !directory || entries(directory) != 3 || closedir(directory);
    int null = open("/dev/null", O_RDWR);
    wrong += answers(null);
    close(null);
    close(copy);
    void *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrong += map == MAP_FAILED || munmap(map, 8192);
  }
  return (void *)wrong;
}

static void threads(void) {
  int fd = open("/dev/kfd", O_RDWR);
  pthread_t all[4];
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&all[i], NULL, busy, NULL) == 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    CHECK(pthread_join(all[i], &wrong) == 0 && !wrong);
  }
  CHECK(answers(fd));
  close(fd);
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
  render_node();
  memory();
  dmabufs();
  shared_memory();
  threads();
  children();
  if (failures)
    fprintf(stderr, "driver files: %d checks failed\n", failures);
  else
    printf("PASS driver files\n");
  return failures != 0;
}
