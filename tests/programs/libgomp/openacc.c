/* OpenACC through libgomp: parallel loops in gangs, workers and vectors, reductions, data regions, asynchronous queues. */
#include "../check.h"

#include <openacc.h>

#define N 2048

#pragma acc routine seq
static int collatz(int n) {
  int steps = 0;
  while (n > 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  }
  return steps;
}

static int a[N], b[N], c[N];

int main(void) {
  CHECK(acc_get_num_devices(acc_device_radeon) > 0, "no device");
  int on_device = 0;
#pragma acc parallel copyout(on_device)
  on_device = acc_on_device(acc_device_radeon);
  CHECK(on_device, "the region ran on the host");

  for (int i = 0; i < N; i++) {
    a[i] = i;
    b[i] = 3 * i;
  }
#pragma acc parallel loop gang vector copyin(a, b) copyout(c)
  for (int i = 0; i < N; i++)
    c[i] = a[i] + b[i];
  for (int i = 0; i < N; i++)
    CHECK(c[i] == 4 * i, "c[%d] = %d", i, c[i]);

  long sum = 0;
#pragma acc parallel loop gang worker vector reduction(+ : sum) copyin(a)
  for (int i = 0; i < N; i++)
    sum += a[i];
  CHECK(sum == (long)N * (N - 1) / 2, "sum %ld", sum);

#pragma acc data copy(c) copyin(a)
  {
#pragma acc parallel loop
    for (int i = 0; i < N; i++)
      c[i] = collatz(a[i]);
#pragma acc kernels loop
    for (int i = 0; i < N; i++)
      c[i] += 1;
  }
  for (int i = 0; i < N; i++)
    CHECK(c[i] == collatz(i) + 1, "c[%d] = %d", i, c[i]);

#pragma acc enter data copyin(a, b)
#pragma acc parallel loop async(1) present(a)
  for (int i = 0; i < N; i++)
    a[i] = 2 * i;
#pragma acc parallel loop async(2) present(b)
  for (int i = 0; i < N; i++)
    b[i] = 5 * i;
#pragma acc wait(1, 2)
#pragma acc exit data copyout(a, b)
  for (int i = 0; i < N; i++)
    CHECK(a[i] == 2 * i && b[i] == 5 * i, "a[%d] = %d, b = %d", i, a[i], b[i]);

  return finish("libgomp/openacc.c");
}
