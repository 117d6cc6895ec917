/* Shared by the programs: results are compared, and what differs is said. */
#ifndef RUKH_PROGRAMS_CHECK_H
#define RUKH_PROGRAMS_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(condition, ...)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      if (failures++ < 20) {                                                                                           \
        printf("FAIL %s:%d: ", __FILE__, __LINE__);                                                                    \
        printf(__VA_ARGS__);                                                                                           \
        printf("\n");                                                                                                  \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

static inline int finish(const char *name) {
  if (failures) {
    printf("%s: %d failures\n", name, failures);
    return 1;
  }
  printf("PASS %s\n", name);
  return 0;
}

#endif
