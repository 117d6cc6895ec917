/* Signal and index operations, and waits whose condition holds, neither allocate nor enter the system while nobody sleeps: a
 * thread that may make no system call does them all, over an allocator that counts. */
#define _GNU_SOURCE
#include "check.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the place of the C library's, for the runtime too. */
static _Thread_local int allocations;
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t size) { return allocations++, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return allocations++, __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return allocations++, __libc_realloc(memory, size); }
void free(void *memory) { allocations++, __libc_free(memory); }

static hsa_signal_t signal_;
static hsa_queue_t *queue;
static int done, counted;
static uint64_t sum;

#define ORDERS(operation, ...)                                                                                         \
  do {                                                                                                                 \
    hsa_signal_##operation##_relaxed(signal_, __VA_ARGS__);                                                            \
    hsa_signal_##operation##_scacquire(signal_, __VA_ARGS__);                                                          \
    hsa_signal_##operation##_screlease(signal_, __VA_ARGS__);                                                          \
    hsa_signal_##operation##_scacq_screl(signal_, __VA_ARGS__);                                                        \
  } while (0)

static void operations(void) {
  for (int i = 0; i < 1000; i++) {
    sum += (uint64_t)(hsa_signal_load_relaxed(signal_) + hsa_signal_load_scacquire(signal_));
    hsa_signal_store_relaxed(signal_, i);
    hsa_signal_store_screlease(signal_, i);
    hsa_signal_silent_store_relaxed(signal_, i);
    hsa_signal_silent_store_screlease(signal_, i);
    ORDERS(exchange, i);
    ORDERS(cas, i, i + 1);
    ORDERS(add, 3);
    ORDERS(subtract, 2);
    ORDERS(and, -1);
    ORDERS(or, 8);
    ORDERS(xor, 5);
    hsa_signal_store_relaxed(signal_, 7);
    sum += (uint64_t)hsa_signal_wait_scacquire(signal_, HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    sum += hsa_queue_load_write_index_relaxed(queue) + hsa_queue_load_write_index_scacquire(queue);
    sum += hsa_queue_load_read_index_relaxed(queue) + hsa_queue_load_read_index_scacquire(queue);
    sum += hsa_queue_add_write_index_relaxed(queue, 0) + hsa_queue_add_write_index_scacq_screl(queue, 0);
    sum += hsa_queue_cas_write_index_relaxed(queue, 1, 1) + hsa_queue_cas_write_index_scacq_screl(queue, 1, 1);
    hsa_queue_store_write_index_relaxed(queue, 0);
    hsa_queue_store_write_index_screlease(queue, 0);
  }
}

static void *quiet(void *data) {
  (void)data;
  allocations = 0;
  /* From here on any system call but the last ends the thread. */
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
    return NULL;
  operations();
  counted = allocations;
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  syscall(SYS_exit, 0);
  return NULL;
}

int main(void) {
  MUST(hsa_init());
  agents_t agents = find_agents(NULL);
  MUST(hsa_signal_create(0, 0, NULL, &signal_));
  MUST(hsa_queue_create(agents.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
  CHECK(allocations > 0); /* it counts those of the runtime */
  pthread_t thread;
  pthread_create(&thread, NULL, quiet, NULL);
  for (int i = 0; i < 20000 && !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++)
    usleep(1000);
  CHECK(done);
  CHECK(counted == 0);
  CHECK(hsa_signal_load_relaxed(signal_) == 7 && sum > 0);
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_signal_destroy(signal_));
  MUST(hsa_shut_down());
  return report("quiet");
}
