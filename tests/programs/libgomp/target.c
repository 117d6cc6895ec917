/* OpenMP target regions through libgomp: mapping, reductions, declare target data and functions, structures,
 * nested data environments, asynchronous regions. Every result is compared with the host's own. */
#include "../check.h"

#include <omp.h>
#include <stdlib.h>

#define N 3000

#pragma omp declare target
static int factor = 3;
static int scaled(int x) { return factor * x + 1; }
#pragma omp end declare target

struct particle {
  double position[3];
  float mass;
  int id;
};

static void runs_on_the_device(void) {
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  CHECK(!on_host, "a target region ran on the host");
  CHECK(omp_get_num_devices() > 0, "no device");
}

static void vector_add(void) {
  float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
  for (int i = 0; i < N; i++) {
    a[i] = i;
    b[i] = 2.0f * i;
    c[i] = -1;
  }
#pragma omp target teams distribute parallel for map(to : a[0 : N], b[0 : N]) map(from : c[0 : N])
  for (int i = 0; i < N; i++)
    c[i] = a[i] + b[i];
  for (int i = 0; i < N; i++)
    CHECK(c[i] == 3.0f * i, "c[%d] = %g", i, c[i]);
  free(a), free(b), free(c);
}

static void reductions(void) {
  long sum = 0;
  int most = -1;
  double product = 1;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
  for (int i = 0; i < N; i++)
    sum += i;
  CHECK(sum == (long)N * (N - 1) / 2, "sum %ld", sum);
#pragma omp target parallel for reduction(max : most) map(tofrom : most)
  for (int i = 0; i < N; i++)
    if ((i * 37) % 1009 > most)
      most = (i * 37) % 1009;
  CHECK(most == 1008, "max %d", most);
#pragma omp target parallel for reduction(* : product) map(tofrom : product)
  for (int i = 0; i < 20; i++)
    product *= 2;
  CHECK(product == 1048576, "product %g", product);
}

static void device_function_and_global(void) {
  int values[64];
  factor = 7;
#pragma omp target update to(factor)
#pragma omp target parallel for map(from : values)
  for (int i = 0; i < 64; i++)
    values[i] = scaled(i);
  for (int i = 0; i < 64; i++)
    CHECK(values[i] == 7 * i + 1, "values[%d] = %d", i, values[i]);
}

static void structures(void) {
  struct particle p[100];
  for (int i = 0; i < 100; i++)
    p[i] = (struct particle){{i, 2.0 * i, 3.0 * i}, 0.5f * i, i};
#pragma omp target teams distribute parallel for map(tofrom : p)
  for (int i = 0; i < 100; i++) {
    p[i].position[p[i].id % 3] += p[i].mass;
    p[i].id = -p[i].id;
  }
  for (int i = 0; i < 100; i++) {
    double expected[3] = {i, 2.0 * i, 3.0 * i};
    expected[i % 3] += 0.5f * i;
    for (int k = 0; k < 3; k++)
      CHECK(p[i].position[k] == expected[k], "p[%d].position[%d] = %g", i, k, p[i].position[k]);
    CHECK(p[i].id == -i, "p[%d].id = %d", i, p[i].id);
  }
}

static void data_environment(void) {
  int a[256];
  for (int i = 0; i < 256; i++)
    a[i] = i;
#pragma omp target enter data map(to : a)
  for (int round = 0; round < 3; round++) {
#pragma omp target parallel for
    for (int i = 0; i < 256; i++)
      a[i] += round + 1;
  }
  CHECK(a[10] == 10, "the host's copy changed before the update: %d", a[10]);
#pragma omp target exit data map(from : a)
  for (int i = 0; i < 256; i++)
    CHECK(a[i] == i + 6, "a[%d] = %d", i, a[i]);

  int device = omp_get_default_device();
  double *there = omp_target_alloc(256 * sizeof(double), device), here[256], back[256];
  CHECK(there != NULL, "omp_target_alloc");
  for (int i = 0; i < 256; i++)
    here[i] = i / 8.0;
  omp_target_memcpy(there, here, sizeof here, 0, 0, device, omp_get_initial_device());
#pragma omp target is_device_ptr(there)
  for (int i = 0; i < 256; i++)
    there[i] = there[i] * there[i];
  omp_target_memcpy(back, there, sizeof back, 0, 0, omp_get_initial_device(), device);
  omp_target_free(there, device);
  for (int i = 0; i < 256; i++)
    CHECK(back[i] == here[i] * here[i], "back[%d] = %g", i, back[i]);
}

static void asynchronous(void) {
  int a[64], b[64];
  for (int i = 0; i < 64; i++)
    a[i] = b[i] = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp target nowait map(tofrom : a) depend(out : a)
    for (int i = 0; i < 64; i++)
      a[i] = i;
#pragma omp target nowait map(tofrom : a, b) depend(in : a) depend(out : b)
    for (int i = 0; i < 64; i++)
      b[i] = a[i] * 2;
#pragma omp taskwait
  }
  for (int i = 0; i < 64; i++)
    CHECK(b[i] == 2 * i, "b[%d] = %d", i, b[i]);
}

static void matrix_product(void) {
  enum { M = 24 };
  static double a[M][M], b[M][M], c[M][M];
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      a[i][j] = i + j;
      b[i][j] = i - j;
    }
#pragma omp target teams distribute parallel for collapse(2) map(to : a, b) map(from : c)
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      double sum = 0;
      for (int k = 0; k < M; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      double sum = 0;
      for (int k = 0; k < M; k++)
        sum += a[i][k] * b[k][j];
      CHECK(c[i][j] == sum, "c[%d][%d] = %g, not %g", i, j, c[i][j], sum);
    }
}

static void prints(void) {
#pragma omp target
  printf("from the device: %d %s %.2f\n", 42, "text", 2.5);
}

int main(void) {
  runs_on_the_device();
  vector_add();
  reductions();
  device_function_and_global();
  structures();
  data_environment();
  asynchronous();
  matrix_product();
  prints();
  return finish("libgomp/target.c");
}
