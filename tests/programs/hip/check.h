/* Shared by the HIP programs: every call is checked, every result compared with the host's. */
#pragma once
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

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

#define HIP(call)                                                                                                      \
  do {                                                                                                                 \
    hipError_t error_ = (call);                                                                                        \
    if (error_ != hipSuccess) {                                                                                        \
      printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_));                            \
      exit(1);                                                                                                         \
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
