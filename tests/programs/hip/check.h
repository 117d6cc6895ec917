/* Shared by the HIP programs: every call is checked, every result compared with the host's. */
#pragma once
#include "../check.h"

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HIP(call)                                                                                                      \
  do {                                                                                                                 \
    hipError_t error_ = (call);                                                                                        \
    if (error_ != hipSuccess) {                                                                                        \
      printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_));                            \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
