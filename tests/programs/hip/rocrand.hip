/* rocRAND with the device code that Debian's package brings. A generator with a seed gives one sequence, whatever
 * GPU runs it: the moments are checked, and that the same seed gives the same numbers and another one others. */
#include "check.h"

#include <rocrand/rocrand.h>

#define RAND(call)                                                                                                     \
  do {                                                                                                                 \
    rocrand_status status_ = (call);                                                                                   \
    if (status_ != ROCRAND_STATUS_SUCCESS) {                                                                           \
      printf("FAIL %s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)status_);                                         \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static std::vector<float> uniform(rocrand_rng_type type, unsigned long long seed, size_t n) {
  rocrand_generator generator;
  float *device;
  std::vector<float> numbers(n);
  RAND(rocrand_create_generator(&generator, type));
  RAND(rocrand_set_seed(generator, seed));
  HIP(hipMalloc(&device, n * sizeof(float)));
  RAND(rocrand_generate_uniform(generator, device, n));
  HIP(hipMemcpy(numbers.data(), device, n * sizeof(float), hipMemcpyDeviceToHost));
  HIP(hipFree(device));
  RAND(rocrand_destroy_generator(generator));
  return numbers;
}

static void moments(const std::vector<float> &numbers, double mean, double variance, const char *name) {
  double sum = 0, squares = 0;
  for (float x : numbers) {
    sum += x;
    squares += (double)x * x;
  }
  double m = sum / numbers.size(), v = squares / numbers.size() - m * m;
  CHECK(std::fabs(m - mean) < 0.03 && std::fabs(v - variance) < 0.03, "%s: mean %g, variance %g", name, m, v);
}

int main() {
  const size_t n = 20000;
  std::vector<float> a = uniform(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, 1234, n);
  for (float x : a)
    CHECK(x > 0 && x <= 1, "%g is not in (0, 1]", x);
  moments(a, 0.5, 1.0 / 12, "philox");
  CHECK(a == uniform(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, 1234, n), "the same seed gave other numbers");
  CHECK(a != uniform(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, 1235, n), "another seed gave the same numbers");
  moments(uniform(ROCRAND_RNG_PSEUDO_XORWOW, 7, n), 0.5, 1.0 / 12, "xorwow");

  rocrand_generator generator;
  float *device;
  std::vector<float> normal(n);
  RAND(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
  HIP(hipMalloc(&device, n * sizeof(float)));
  RAND(rocrand_generate_normal(generator, device, n, 2.0f, 0.5f));
  HIP(hipMemcpy(normal.data(), device, n * sizeof(float), hipMemcpyDeviceToHost));
  moments(normal, 2.0, 0.25, "normal");
  HIP(hipFree(device));
  RAND(rocrand_destroy_generator(generator));
  return finish("hip/rocrand");
}
