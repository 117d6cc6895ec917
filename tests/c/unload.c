/* A program that loads the library itself and unloads it, before or after shutting down, with exit handlers in any order.
 *
 *   unload LIBRARY [ORDER]      ORDER: what the process does (see `orders`); without one, each in a process of its own
 */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hsa_status_t (*init)(void), (*shut_down)(void);
static hsa_status_t (*create)(hsa_signal_value_t, uint32_t, const hsa_agent_t *, hsa_signal_t *);
static hsa_signal_value_t (*wait_for)(hsa_signal_t, hsa_signal_condition_t, hsa_signal_value_t, uint64_t,
                                      hsa_wait_state_t);
static const char *library;

static void must(int so, const char *what) {
  if (!so) {
    fprintf(stderr, "unload: not so: %s\n", what);
    _exit(1);
  }
}
#define MUST(condition) must(condition, #condition)

static void *load(void) {
  void *handle = dlopen(library, RTLD_NOW);
  if (!handle)
    fprintf(stderr, "%s\n", dlerror());
  MUST(handle != NULL);
  *(void **)&init = dlsym(handle, "hsa_init");
  *(void **)&shut_down = dlsym(handle, "hsa_shut_down");
  *(void **)&create = dlsym(handle, "hsa_signal_create");
  *(void **)&wait_for = dlsym(handle, "hsa_signal_wait_scacquire");
  MUST(init && shut_down && create && wait_for);
  return handle;
}

/* Unloaded when it is closed, and loaded again. */
static void again(void) {
  for (int i = 0; i < 3; i++) {
    void *handle = load();
    MUST(init() == HSA_STATUS_SUCCESS);
    MUST(shut_down() == HSA_STATUS_SUCCESS);
    MUST(dlclose(handle) == 0);
  }
}

/* Unloaded while it is open: the use stays counted. */
static void while_open(void) {
  void *handle = load();
  MUST(init() == HSA_STATUS_SUCCESS);
  MUST(dlclose(handle) == 0);
  load();
  MUST(shut_down() == HSA_STATUS_SUCCESS);
  MUST(shut_down() == HSA_STATUS_ERROR_NOT_INITIALIZED);
}

static void never_closed(void) {
  void *handle = load();
  MUST(init() == HSA_STATUS_SUCCESS);
  MUST(dlclose(handle) == 0);
}

static void close_at_exit(void) { MUST(shut_down() == HSA_STATUS_SUCCESS); }

/* A handler from before the library was loaded runs after all that loading it registered. */
static void handler_first(void) {
  atexit(close_at_exit);
  load();
  MUST(init() == HSA_STATUS_SUCCESS);
}

static void handler_last(void) {
  load();
  MUST(init() == HSA_STATUS_SUCCESS);
  atexit(close_at_exit);
}

static void *opened;
static void unload_at_exit(void) { MUST(dlclose(opened) == 0); }

static void unloaded_by_handler(void) {
  atexit(close_at_exit);
  atexit(unload_at_exit); /* runs first */
  opened = load();
  MUST(init() == HSA_STATUS_SUCCESS);
}

static hsa_signal_t never;
static void *waiter(void *data) {
  wait_for(never, HSA_SIGNAL_CONDITION_EQ, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  return data;
}

/* A thread of the client's sleeps in the library until the end. */
static void thread_inside(void) {
  pthread_t thread;
  void *handle = load();
  MUST(init() == HSA_STATUS_SUCCESS);
  MUST(create(0, 0, NULL, &never) == HSA_STATUS_SUCCESS);
  MUST(pthread_create(&thread, NULL, waiter, NULL) == 0);
  usleep(10000);
  MUST(dlclose(handle) == 0);
  atexit(close_at_exit);
}

static const struct {
  const char *name;
  void (*run)(void);
} orders[] = {{"again", again},
              {"while_open", while_open},
              {"never_closed", never_closed},
              {"handler_first", handler_first},
              {"handler_last", handler_last},
              {"unloaded_by_handler", unloaded_by_handler},
              {"thread_inside", thread_inside}};

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  library = argv[1];
  int failed = 0;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    if (argc > 2) {
      if (!strcmp(argv[2], orders[i].name)) {
        orders[i].run();
        return 0;
      }
      continue;
    }
    /* A process of its own, which ends by the way of main. */
    pid_t child = fork();
    if (child == 0)
      execl("/proc/self/exe", argv[0], argv[1], orders[i].name, (char *)NULL);
    int status = -1;
    waitpid(child, &status, 0);
    if (status) {
      fprintf(stderr, "unload: %s: status %#x\n", orders[i].name, (unsigned)status);
      failed = 1;
    }
  }
  if (argc > 2 || failed)
    return 1;
  printf("PASS unload\n");
  return 0;
}
