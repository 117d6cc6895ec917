/* rocSPARSE with the device code that Debian's package brings: a matrix in compressed rows times a vector, and the
 * conversion of its rows from coordinates. */
#include "check.h"

#include <rocsparse/rocsparse.h>

#define SPARSE(call)                                                                                                   \
  do {                                                                                                                 \
    rocsparse_status status_ = (call);                                                                                 \
    if (status_ != rocsparse_status_success) {                                                                         \
      printf("FAIL %s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)status_);                                         \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

template <typename T> static T *device(const std::vector<T> &from) {
  T *to;
  HIP(hipMalloc(&to, from.size() * sizeof(T)));
  HIP(hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  return to;
}

int main() {
  const int n = 500;
  std::vector<int> rows, starts(n + 1), columns;
  std::vector<double> values, x(n), y(n, 1.0), expected(n);
  for (int i = 0; i < n; i++) {
    starts[i] = (int)columns.size();
    for (int j : {i - 7, i - 1, i, i + 1, i + 30})
      if (j >= 0 && j < n) {
        rows.push_back(i);
        columns.push_back(j);
        values.push_back(i == j ? 4.0 : -0.25 * (1 + (i + j) % 3));
      }
    x[i] = i % 11 - 5;
  }
  starts[n] = (int)columns.size();
  const double alpha = 2.0, beta = -0.5;
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++)
      sum += values[k] * x[columns[k]];
    expected[i] = alpha * sum + beta * y[i];
  }

  rocsparse_handle handle;
  rocsparse_mat_descr descriptor;
  SPARSE(rocsparse_create_handle(&handle));
  SPARSE(rocsparse_create_mat_descr(&descriptor));
  int *dr = device(rows), *dp, *dc = device(columns), nnz = (int)columns.size();
  double *dv = device(values), *dx = device(x), *dy = device(y);
  HIP(hipMalloc(&dp, (n + 1) * sizeof(int)));
  SPARSE(rocsparse_coo2csr(handle, dr, nnz, n, dp, rocsparse_index_base_zero));
  std::vector<int> converted(n + 1);
  HIP(hipMemcpy(converted.data(), dp, (n + 1) * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(converted == starts, "the conversion to compressed rows is wrong");
  SPARSE(rocsparse_dcsrmv(handle, rocsparse_operation_none, n, n, nnz, &alpha, descriptor, dv, dp, dc, nullptr, dx,
                          &beta, dy));
  HIP(hipMemcpy(y.data(), dy, n * sizeof(double), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    CHECK(std::fabs(y[i] - expected[i]) < 1e-12, "y[%d] = %g, not %g", i, y[i], expected[i]);
  HIP(hipFree(dr));
  HIP(hipFree(dp));
  HIP(hipFree(dc));
  HIP(hipFree(dv));
  HIP(hipFree(dx));
  HIP(hipFree(dy));
  SPARSE(rocsparse_destroy_mat_descr(descriptor));
  SPARSE(rocsparse_destroy_handle(handle));
  return finish("hip/rocsparse");
}
