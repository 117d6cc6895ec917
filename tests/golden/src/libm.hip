/* The functions of the device libraries (AMD's ocml) over a wide range. The host computes in the next wider format
 * and rounds, so it gives the correctly rounded value of nearly every argument. */
#include "golden.h"

#ifdef __AMDGCN__
extern "C" {
/* What the device libraries are told of their use. */
extern __constant__ const i32 __oclc_ISA_version = GOLDEN_ISA;
extern __constant__ const bool __oclc_wavefrontsize64 = GOLDEN_WAVE_SIZE == 64;
extern __constant__ const bool __oclc_daz_opt = false;
extern __constant__ const bool __oclc_finite_only_opt = false;
extern __constant__ const bool __oclc_unsafe_math_opt = false;
extern __constant__ const bool __oclc_correctly_rounded_sqrt32 = true;
}
#define UNARY(f)                            \
  EXTERN_C __device__ f32 __ocml_##f##_f32(f32); \
  EXTERN_C __device__ double __ocml_##f##_f64(double);
#define BINARY(f)                                \
  EXTERN_C __device__ f32 __ocml_##f##_f32(f32, f32); \
  EXTERN_C __device__ double __ocml_##f##_f64(double, double);
#define SINGLE(f, ...) __ocml_##f##_f32(__VA_ARGS__)
#define DOUBLE(f, ...) __ocml_##f##_f64(__VA_ARGS__)
#else
#define UNARY(f)             \
  EXTERN_C double f(double); \
  EXTERN_C long double f##l(long double);
#define BINARY(f)                    \
  EXTERN_C double f(double, double); \
  EXTERN_C long double f##l(long double, long double);
#define SINGLE(f, ...) ((f32)f(__VA_ARGS__))
#define DOUBLE(f, ...) ((double)f##l(__VA_ARGS__))
#endif

UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(tanh)
UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p) UNARY(cbrt) UNARY(erf)
UNARY(tgamma) UNARY(asinh)
BINARY(pow) BINARY(atan2) BINARY(hypot) BINARY(fmod) BINARY(remainder)

/* One buffer a bound: 2 ulp, 3, 4, 5, 16 (OpenCL C 3.0, section 7.4). */
#define FUNCTIONS(F, type)                                                                          \
  type x = a[i], y = b[i], unit = x - (type)(i64)x;                                                 \
  u32 n = total, at = i;                                                                            \
  two[at] = F(cbrt, x);                                                                             \
  two[n + at] = F(log1p, x < 0 ? -unit * (type)0.5 : x);                                            \
  three[at] = F(exp, x);                                                                            \
  three[n + at] = F(exp2, x);                                                                       \
  three[2 * n + at] = F(expm1, unit * 4);                                                           \
  three[3 * n + at] = F(log, x < 0 ? -x : x);                                                       \
  three[4 * n + at] = F(log2, x < 0 ? -x : x);                                                      \
  three[5 * n + at] = F(log10, x < 0 ? -x : x);                                                     \
  four[at] = F(sin, x);                                                                             \
  four[n + at] = F(cos, x);                                                                         \
  four[2 * n + at] = F(asin, unit);                                                                 \
  four[3 * n + at] = F(acos, unit);                                                                 \
  four[4 * n + at] = F(sinh, x);                                                                    \
  four[5 * n + at] = F(cosh, x);                                                                    \
  four[6 * n + at] = F(asinh, x);                                                                   \
  four[7 * n + at] = F(hypot, x, y);                                                                \
  six[at] = F(tan, x);                                                                              \
  six[n + at] = F(atan, x);                                                                         \
  six[2 * n + at] = F(tanh, x);                                                                     \
  six[3 * n + at] = F(atan2, x, y);                                                                 \
  sixteen[at] = F(pow, x < 0 ? -x : x, unit * 8);                                                   \
  sixteen[n + at] = F(erf, unit * 3);                                                               \
  sixteen[2 * n + at] = F(tgamma, (unit < 0 ? -unit : unit) * 20 + (type)0.125);                     \
  exact[at] = F(fmod, x, y);                                                                        \
  exact[n + at] = F(remainder, x, y)

__global__ void libm_f32(const f32 *a, const f32 *b, f32 *two, f32 *three, f32 *four, f32 *six, f32 *sixteen,
                         f32 *exact, u32 total) {
  u32 i = global_id(0);
  if (i >= total)
    return;
  FUNCTIONS(SINGLE, f32);
}
GOLDEN_ENTRY(libm_f32, const f32 *, const f32 *, f32 *, f32 *, f32 *, f32 *, f32 *, f32 *, u32)

__global__ void libm_f64(const double *a, const double *b, double *two, double *three, double *four, double *six,
                         double *sixteen, double *exact, u32 total) {
  u32 i = global_id(0);
  if (i >= total)
    return;
  FUNCTIONS(DOUBLE, double);
}
GOLDEN_ENTRY(libm_f64, const double *, const double *, double *, double *, double *, double *, double *, double *, u32)
