/* A stub of /dev/kfd to preload: one CPU node, events, no GPU. For running AMD's own library beside ours on machines
 * without the driver. KFD_STUB names a folder that stands for /sys/devices/virtual/kfd/kfd. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 4096 };

static int kfd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct {
  char used, set, automatic;
} events[EVENTS + 16];
static uint32_t next_other;

__attribute__((constructor)) static void start(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attributes);
}

static const char *redirected(const char *path, char *buffer, size_t size) {
  static const char prefix[] = "/sys/devices/virtual/kfd/kfd";
  const char *to = getenv("KFD_STUB");
  if (!to || strncmp(path, prefix, sizeof prefix - 1))
    return path;
  snprintf(buffer, size, "%s%s", to, path + sizeof prefix - 1);
  return buffer;
}

static int open_any(const char *path, int flags, mode_t mode) {
  char buffer[4096];
  if (!strcmp(path, "/dev/kfd")) {
    int fd = memfd_create("kfd-stub", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, 1 << 20) == 0)
      kfd = fd;
    return fd;
  }
  int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
  return real(redirected(path, buffer, sizeof buffer), flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return open_any(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return open_any(path, flags, mode);
}

static FILE *fopen_any(const char *path, const char *mode) {
  char buffer[4096];
  FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen64");
  return real(redirected(path, buffer, sizeof buffer), mode);
}
FILE *fopen(const char *path, const char *mode) { return fopen_any(path, mode); }
FILE *fopen64(const char *path, const char *mode) { return fopen_any(path, mode); }

DIR *opendir(const char *path) {
  char buffer[4096];
  DIR *(*real)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
  return real(redirected(path, buffer, sizeof buffer));
}

/* Signal events have small numbers and a slot each, others large ones. */
static int slot_of(uint32_t id) {
  if (id >= 0x40000000)
    return id - 0x40000000 < 16 ? EVENTS + (int)(id - 0x40000000) : -1;
  return id > 0 && id < EVENTS && events[id].used ? (int)id : -1;
}

static int create(struct kfd_ioctl_create_event_args *a) {
  a->event_page_offset = 0x8000000000000000ull; /* where the event page is mapped */
  if (a->event_type == KFD_IOC_EVENT_SIGNAL) {
    for (uint32_t id = 1; id < EVENTS; id++)
      if (!events[id].used) {
        events[id].used = 1;
        events[id].set = 0;
        events[id].automatic = a->auto_reset != 0;
        a->event_id = a->event_slot_index = a->event_trigger_data = id;
        return 0;
      }
    return errno = ENOSPC, -1;
  }
  a->event_id = 0x40000000 + next_other++ % 16;
  a->event_slot_index = 0;
  return 0;
}

static int wait_for(struct kfd_ioctl_wait_events_args *a) {
  struct kfd_event_data *list = (struct kfd_event_data *)(uintptr_t)a->events_ptr;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += a->timeout / 1000;
  end.tv_nsec += a->timeout % 1000 * 1000000;
  if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    end.tv_sec++;
  }
  for (;;) {
    uint32_t ready = 0;
    for (uint32_t i = 0; i < a->num_events; i++) {
      int slot = slot_of(list[i].event_id);
      ready += slot >= 0 && events[slot].set;
    }
    if (a->num_events == 0 || (a->wait_for_all ? ready == a->num_events : ready > 0)) {
      for (uint32_t i = 0; i < a->num_events; i++) {
        int slot = slot_of(list[i].event_id);
        if (slot >= 0 && events[slot].automatic)
          events[slot].set = 0;
      }
      a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
      return 0;
    }
    if (a->timeout == UINT32_MAX || a->timeout == UINT32_MAX - 1)
      pthread_cond_wait(&changed, &lock);
    else if (a->timeout == 0 || pthread_cond_timedwait(&changed, &lock, &end) == ETIMEDOUT) {
      a->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
      return 0;
    }
  }
}

static int answer(unsigned long request, void *argument) {
  switch (request & 0xff) {
  case 0x01: {
    struct kfd_ioctl_get_version_args *a = argument;
    a->major_version = 1;
    a->minor_version = 11;
    return 0;
  }
  case 0x05: {
    struct kfd_ioctl_get_clock_counters_args *a = argument;
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    a->cpu_clock_counter = a->system_clock_counter = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    a->gpu_clock_counter = 0;
    a->system_clock_freq = 1000000000;
    return 0;
  }
  case 0x08:
    return create(argument);
  case 0x09: {
    int slot = slot_of(((struct kfd_ioctl_destroy_event_args *)argument)->event_id);
    if (slot >= 0)
      events[slot].used = events[slot].set = 0;
    pthread_cond_broadcast(&changed);
    return slot >= 0 ? 0 : (errno = EINVAL, -1);
  }
  case 0x0a: {
    int slot = slot_of(((struct kfd_ioctl_set_event_args *)argument)->event_id);
    if (slot >= 0)
      events[slot].set = 1;
    pthread_cond_broadcast(&changed);
    return slot >= 0 ? 0 : (errno = EINVAL, -1);
  }
  case 0x0b: {
    int slot = slot_of(((struct kfd_ioctl_reset_event_args *)argument)->event_id);
    if (slot >= 0)
      events[slot].set = 0;
    return slot >= 0 ? 0 : (errno = EINVAL, -1);
  }
  case 0x0c:
    return wait_for(argument);
  case 0x14: {
    struct kfd_ioctl_get_process_apertures_new_args *a = argument;
    a->num_of_nodes = 0;
    return 0;
  }
  case 0x20:
  case 0x21:
    return errno = EPERM, -1;
  default:
    return errno = (request & 0xff) >= 0x25 ? ENOTTY : EINVAL, -1;
  }
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (fd != kfd || fd < 0) {
    int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return real(fd, request, argument);
  }
  pthread_mutex_lock(&lock);
  int result = answer(request, argument);
  pthread_mutex_unlock(&lock);
  return result;
}

static void *map(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
  void *(*real)(void *, size_t, int, int, int, off64_t) =
      (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, "mmap64");
  if (fd == kfd && fd >= 0)
    return real(address, size, protection, (flags & ~MAP_SHARED) | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return real(address, size, protection, flags, fd, offset);
}
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  return map(address, size, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
  return map(address, size, protection, flags, fd, offset);
}
