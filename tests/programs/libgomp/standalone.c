/* A whole program for the device, run by gcn-run: standard output and the exit status come back to the host. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  unsigned long a = 0, b = 1;
  for (int i = 0; i < 60; i++) {
    unsigned long next = a + b;
    a = b;
    b = next;
  }
  char *heap = malloc(100);
  if (!heap)
    return 2;
  snprintf(heap, 100, "fib(60)=%lu", a);
  printf("%s arguments=%d", heap, argc);
  for (int i = 1; i < argc; i++)
    printf(" %s", argv[i]);
  printf("\n");
  return a == 1548008755920 ? 40 + argc : 1;
}
