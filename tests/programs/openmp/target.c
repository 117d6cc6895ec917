/* LLVM's OpenMP offload: target regions, reductions, nested parallelism, device functions, mapped structures with
 * pointers, several teams, printf from the device. Results are compared with the host's. Mandatory offload. */
#include "../check.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define N 5000

#pragma omp begin declare target
int table[16];
static int looked_up(int i) { return table[i & 15] * i; }
__attribute__((noinline)) static double horner(double x, const double *coefficients, int n) {
  double y = 0;
  for (int i = n - 1; i >= 0; i--)
    y = y * x + coefficients[i];
  return y;
}
#pragma omp end declare target

struct list {
  int length;
  double *items;
  struct {
    float weight;
    char tag[5];
  } inner;
};

static void runs_on_the_device(void) {
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  CHECK(!on_host, "a target region ran on the host");
}

static void teams_and_reductions(void) {
  double *a = malloc(N * sizeof *a), sum = 0, expected = 0;
  int most = 0, least = 1 << 30;
  for (int i = 0; i < N; i++)
    expected += a[i] = (i % 17) * 0.25;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : a[0 : N])
  for (int i = 0; i < N; i++)
    sum += a[i];
  CHECK(sum == expected, "sum %g, not %g", sum, expected);
#pragma omp target teams distribute parallel for reduction(max : most) reduction(min : least)
  for (int i = 0; i < N; i++) {
    int value = (i * 7919) % 4999 + 5;
    most = value > most ? value : most;
    least = value < least ? value : least;
  }
  CHECK(most == 5003 && least == 5, "max %d min %d", most, least);
  free(a);
}

static void generic_mode_and_nesting(void) {
  int inner[4][8], counts[4];
#pragma omp target teams distribute map(from : inner, counts) num_teams(4)
  for (int i = 0; i < 4; i++) {
    int shared_by_team = 10 * i; /* on the team's stack, read by its threads */
    int count = 0;
#pragma omp parallel for reduction(+ : count)
    for (int j = 0; j < 8; j++) {
      inner[i][j] = shared_by_team + j;
      count += 1;
    }
    counts[i] = count;
  }
  for (int i = 0; i < 4; i++) {
    CHECK(counts[i] == 8, "counts[%d] = %d", i, counts[i]);
    for (int j = 0; j < 8; j++)
      CHECK(inner[i][j] == 10 * i + j, "inner[%d][%d] = %d", i, j, inner[i][j]);
  }
  int levels = 0, threads = 0;
#pragma omp target map(tofrom : levels, threads)
  {
#pragma omp parallel num_threads(16)
    {
#pragma omp atomic
      threads++;
#pragma omp parallel num_threads(4) /* serialised: one thread of its own level */
      {
        if (omp_get_level() == 2)
#pragma omp atomic
          levels++;
      }
    }
  }
  CHECK(threads > 0 && levels >= threads, "threads %d levels %d", threads, levels);
}

static void synchronisation(void) {
  int order[32], total = 0, critical = 0;
#pragma omp target parallel num_threads(32) map(from : order) map(tofrom : total, critical)
  {
    int id = omp_get_thread_num();
    order[id] = id;
#pragma omp barrier
    int from_neighbour = order[(id + 1) % omp_get_num_threads()];
#pragma omp atomic
    total += from_neighbour;
#pragma omp critical
    critical = critical + 1;
  }
  int threads = critical;
  CHECK(threads > 1 && total == threads * (threads - 1) / 2, "total %d of %d threads", total, threads);
}

static void functions_and_globals(void) {
  int values[200];
  for (int i = 0; i < 16; i++)
    table[i] = i * i;
#pragma omp target update to(table)
#pragma omp target teams distribute parallel for map(from : values)
  for (int i = 0; i < 200; i++)
    values[i] = looked_up(i);
  for (int i = 0; i < 200; i++)
    CHECK(values[i] == (i & 15) * (i & 15) * i, "values[%d] = %d", i, values[i]);
  double coefficients[5] = {1, -2, 0.5, 3, -0.25}, results[64];
#pragma omp target teams distribute parallel for map(to : coefficients) map(from : results)
  for (int i = 0; i < 64; i++)
    results[i] = horner(i * 0.125, coefficients, 5);
  for (int i = 0; i < 64; i++) {
    double expected = horner(i * 0.125, coefficients, 5);
    CHECK(fabs(results[i] - expected) <= 1e-12 * fabs(expected), "results[%d] = %.17g", i, results[i]);
  }
}

static void mapped_structures(void) {
  struct list list = {300, malloc(300 * sizeof(double)), {1.5f, "abcd"}};
  for (int i = 0; i < list.length; i++)
    list.items[i] = i;
#pragma omp target enter data map(to : list) map(to : list.items[0 : list.length])
#pragma omp target teams distribute parallel for
  for (int i = 0; i < 300; i++)
    list.items[i] += list.inner.weight + (list.inner.tag[i % 4] - 'a');
#pragma omp target exit data map(from : list.items[0 : list.length]) map(release : list)
  for (int i = 0; i < list.length; i++)
    CHECK(list.items[i] == i + 1.5 + i % 4, "items[%d] = %g", i, list.items[i]);
  free(list.items);
}

static void asynchronous(void) {
  static int a[1024], b[1024];
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp target nowait depend(out : a) map(from : a)
    for (int i = 0; i < 1024; i++)
      a[i] = i + 1;
#pragma omp target nowait depend(in : a) depend(out : b) map(to : a) map(from : b)
    for (int i = 0; i < 1024; i++)
      b[i] = a[i] * 3;
#pragma omp taskwait
  }
  for (int i = 0; i < 1024; i++)
    CHECK(b[i] == 3 * (i + 1), "b[%d] = %d", i, b[i]);
}

static void device_memory(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  enum { BYTES = 3 << 20 };
  unsigned char *here = malloc(BYTES), *back = malloc(BYTES), *there = omp_target_alloc(BYTES, device);
  for (int i = 0; i < BYTES; i++)
    here[i] = (unsigned char)(i * 31 + (i >> 8));
  CHECK(there && !omp_target_memcpy(there, here, BYTES, 0, 0, device, host), "copy to the device");
  CHECK(!omp_target_memcpy(back, there, BYTES, 0, 0, host, device), "copy from the device");
  for (int i = 0; i < BYTES; i++)
    if (back[i] != here[i]) {
      CHECK(0, "byte %d is %d, not %d", i, back[i], here[i]);
      break;
    }
  omp_target_free(there, device);
  free(here), free(back);
}

/* Clang turns printf in a target region into a call of the device runtime, which passes the packed arguments to
 * `rpc_fprintf` of LLVM's C library for GPUs. Debian does not ship that library: this is its part of the bargain. */
#pragma omp begin declare target
struct {
  char format[64];
  unsigned char arguments[64];
  unsigned long long size;
  int calls;
} printed;
#pragma omp end declare target

#ifdef __AMDGCN__
#pragma omp begin declare target device_type(nohost)
#undef stdout
FILE *stdout;
int rpc_fprintf(FILE *stream, const char *format, void *arguments, unsigned long long size) {
  int i = 0;
  for (; format[i] && i < 63; i++)
    printed.format[i] = format[i];
  printed.format[i] = 0;
  for (unsigned long long k = 0; k < size && k < sizeof printed.arguments; k++)
    printed.arguments[k] = ((unsigned char *)arguments)[k];
  printed.size = size;
  printed.calls++;
  return i;
}
#pragma omp end declare target
#endif

static void prints(void) {
  const char *format = "from the device: %d of %ld, %.2f\n";
#pragma omp target
  printf("from the device: %d of %ld, %.2f\n", 42, 1234567890123l, 2.5);
#pragma omp target update from(printed)
  struct {
    int d;
    long ld;
    double f;
  } arguments;
  memcpy(&arguments, printed.arguments, sizeof arguments);
  CHECK(printed.calls == 1 && !strcmp(printed.format, format) && printed.size == sizeof arguments,
        "%d calls, format %s, %llu bytes", printed.calls, printed.format, printed.size);
  CHECK(arguments.d == 42 && arguments.ld == 1234567890123l && arguments.f == 2.5, "%d %ld %g", arguments.d,
        arguments.ld, arguments.f);
  printf(printed.format, arguments.d, arguments.ld, arguments.f);
}

int main(void) {
  CHECK(omp_get_num_devices() >= 1, "no device");
  runs_on_the_device();
  teams_and_reductions();
  generic_mode_and_nesting();
  synchronisation();
  functions_and_globals();
  mapped_structures();
  asynchronous();
  device_memory();
  prints();
  return finish("openmp/target.c");
}
