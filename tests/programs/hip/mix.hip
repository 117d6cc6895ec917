/* What kernels do: LDS and barriers, shuffles and ballots, atomics of every width, double-precision maths from the
 * device library, scratch, device globals, recursion through function pointers, printf and assertions by hostcall. */
#include "check.h"

enum { TILE = 16, M = 48 };

__global__ void matmul(const float *a, const float *b, float *c) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < M / TILE; tile++) {
    as[threadIdx.y][threadIdx.x] = a[row * M + tile * TILE + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile * TILE + threadIdx.y) * M + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * M + column] = sum;
}

__global__ void shuffles(int *sums, int *rotated, unsigned long long *ballots) {
  int lane = threadIdx.x % warpSize;
  int value = threadIdx.x * 3 + 1;
  int sum = value;
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    sum += __shfl_down(sum, offset);
  if (lane == 0)
    sums[threadIdx.x / warpSize] = sum;
  rotated[threadIdx.x] = __shfl(value, (lane + 5) % warpSize);
  unsigned long long odd = __ballot(threadIdx.x & 1);
  if (lane == 0)
    ballots[threadIdx.x / warpSize] = odd;
}

__global__ void atomics(int *i32, unsigned long long *u64, float *f32, int *max, unsigned *cas) {
  atomicAdd(i32, 1);
  atomicAdd(u64, (1ull << 32) + threadIdx.x);
  atomicAdd(f32, 0.5f);
  atomicMax(max, (int)(blockIdx.x * blockDim.x + threadIdx.x) ^ 0x55);
  unsigned seen = *cas, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(cas, assumed, assumed + 2);
  } while (seen != assumed);
}

__global__ void maths(const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = sin(x[i]) * exp(-x[i]) + sqrt(x[i]) / (1.0 + log1p(x[i])) + pow(x[i], 1.25) + tgamma(1.0 + x[i] / 8);
}

__global__ void scratch(const int *in, int *out, int n) {
  int i = threadIdx.x;
  int local[64];
  for (int k = 0; k < 64; k++)
    local[k] = in[(i + k) % n];
  for (int round = 0; round < n; round++) {
    int at = in[(i + round) % n] & 63; /* known at run time only: the array lives in scratch */
    local[at] += round;
  }
  int sum = 0;
  for (int k = 0; k < 64; k++)
    sum = sum * 31 + local[k];
  out[i] = sum;
}

__device__ int counter = 5;
__constant__ int weights[4];

__global__ void globals(int *out) {
  atomicAdd(&counter, weights[threadIdx.x % 4]);
  out[threadIdx.x] = weights[threadIdx.x % 4];
}

__device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recursion(unsigned *out) { out[threadIdx.x] = ackermann(2, threadIdx.x); }

__global__ void prints(int n) {
  if (threadIdx.x < n)
    printf("lane %d of block %d says %s %.3f\n", (int)threadIdx.x, (int)blockIdx.x, "hello", threadIdx.x * 0.5);
}

template <typename T> static T *device(const std::vector<T> &from) {
  T *to;
  HIP(hipMalloc(&to, from.size() * sizeof(T)));
  HIP(hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  return to;
}

template <typename T> static void back(std::vector<T> &to, T *from) {
  HIP(hipMemcpy(to.data(), from, to.size() * sizeof(T), hipMemcpyDeviceToHost));
  HIP(hipFree(from));
}

static void test_matmul() {
  std::vector<float> a(M * M), b(M * M), c(M * M);
  for (int i = 0; i < M * M; i++) {
    a[i] = i % 13 - 6;
    b[i] = i % 7 - 3;
  }
  float *da = device(a), *db = device(b), *dc = device(c);
  matmul<<<dim3(M / TILE, M / TILE), dim3(TILE, TILE)>>>(da, db, dc);
  back(c, dc);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      float sum = 0;
      for (int k = 0; k < M; k++)
        sum += a[i * M + k] * b[k * M + j];
      CHECK(c[i * M + j] == sum, "c[%d][%d] = %g, not %g", i, j, c[i * M + j], sum);
    }
  HIP(hipFree(da));
  HIP(hipFree(db));
}

static void test_shuffles(int warp) {
  const int n = 256, warps = n / warp;
  std::vector<int> sums(warps), rotated(n);
  std::vector<unsigned long long> ballots(warps);
  int *ds = device(sums), *dr = device(rotated);
  unsigned long long *db = device(ballots);
  shuffles<<<1, n>>>(ds, dr, db);
  back(sums, ds);
  back(rotated, dr);
  back(ballots, db);
  for (int w = 0; w < warps; w++) {
    int sum = 0;
    for (int lane = 0; lane < warp; lane++)
      sum += (w * warp + lane) * 3 + 1;
    CHECK(sums[w] == sum, "warp %d: %d, not %d", w, sums[w], sum);
    CHECK(ballots[w] == (warp == 64 ? 0xaaaaaaaaaaaaaaaaull : 0xaaaaaaaaull), "ballot %llx", ballots[w]);
  }
  for (int i = 0; i < n; i++) {
    int from = i / warp * warp + (i % warp + 5) % warp;
    CHECK(rotated[i] == from * 3 + 1, "rotated[%d] = %d", i, rotated[i]);
  }
}

static void test_atomics() {
  const int blocks = 20, threads = 192, total = blocks * threads;
  std::vector<int> i32(1), most(1);
  std::vector<unsigned long long> u64(1);
  std::vector<float> f32(1);
  std::vector<unsigned> cas(1, 7);
  int *di = device(i32), *dm = device(most);
  unsigned long long *du = device(u64);
  float *df = device(f32);
  unsigned *dc = device(cas);
  atomics<<<blocks, threads>>>(di, du, df, dm, dc);
  back(i32, di);
  back(u64, du);
  back(f32, df);
  back(most, dm);
  back(cas, dc);
  int expected = 0;
  for (int i = 0; i < total; i++)
    expected = std::max(expected, i ^ 0x55);
  CHECK(i32[0] == total, "i32 %d", i32[0]);
  CHECK(u64[0] == ((unsigned long long)total << 32) + (unsigned long long)blocks * threads * (threads - 1) / 2,
        "u64 %llx", u64[0]);
  CHECK(f32[0] == total * 0.5f, "f32 %g", f32[0]);
  CHECK(most[0] == expected, "max %d", most[0]);
  CHECK(cas[0] == 7 + 2u * total, "cas %u", cas[0]);
}

static void test_maths() {
  const int n = 500;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++)
    x[i] = i * 0.0371;
  double *dx = device(x), *dy = device(y);
  maths<<<(n + 63) / 64, 64>>>(dx, dy, n);
  back(y, dy);
  HIP(hipFree(dx));
  for (int i = 0; i < n; i++) {
    double expected = sin(x[i]) * exp(-x[i]) + sqrt(x[i]) / (1.0 + log1p(x[i])) + pow(x[i], 1.25) + tgamma(1.0 + x[i] / 8);
    CHECK(std::fabs(y[i] - expected) <= 1e-13 * std::fabs(expected), "y(%g) = %.17g, not %.17g", x[i], y[i], expected);
  }
}

static void test_scratch() {
  const int n = 128;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; i++)
    in[i] = i * 7 % 101;
  int *di = device(in), *d = device(out);
  scratch<<<1, n>>>(di, d, n);
  back(out, d);
  HIP(hipFree(di));
  for (int i = 0; i < n; i++) {
    int local[64], sum = 0;
    for (int k = 0; k < 64; k++)
      local[k] = in[(i + k) % n];
    for (int round = 0; round < n; round++)
      local[in[(i + round) % n] & 63] += round;
    for (int k = 0; k < 64; k++)
      sum = (int)((unsigned)sum * 31 + local[k]);
    CHECK(out[i] == sum, "out[%d] = %d, not %d", i, out[i], sum);
  }
}

static void test_globals() {
  const int w[4] = {1, 10, 100, 1000};
  std::vector<int> out(64);
  int *d = device(out), seen = 0;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), w, sizeof w));
  globals<<<1, 64>>>(d);
  HIP(hipMemcpyFromSymbol(&seen, HIP_SYMBOL(counter), sizeof seen));
  back(out, d);
  CHECK(seen == 5 + 16 * 1111, "counter %d", seen);
  for (int i = 0; i < 64; i++)
    CHECK(out[i] == w[i % 4], "out[%d] = %d", i, out[i]);
}

static void test_recursion() {
  std::vector<unsigned> out(8);
  unsigned *d = device(out);
  recursion<<<1, 8>>>(d);
  back(out, d);
  for (unsigned i = 0; i < 8; i++)
    CHECK(out[i] == 2 * i + 3, "ackermann(2, %u) = %u", i, out[i]);
}

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  test_matmul();
  test_shuffles(properties.warpSize);
  test_atomics();
  test_maths();
  test_scratch();
  test_globals();
  test_recursion();
  prints<<<2, 64>>>(3);
  HIP(hipDeviceSynchronize());
  return finish("hip/mix");
}
