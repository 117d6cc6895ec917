// Variables of every kind that a loader handles: see build.sh for how it is compiled.
#define EXPORT __attribute__((visibility("default")))

EXPORT __global int counter = 7;
EXPORT __global int zeroed[1000];
EXPORT __constant int primes[4] = {2, 3, 5, 7};
// Preemptible: R_AMDGPU_ABS64 against `counter`.
EXPORT __global int *__global counter_address = &counter;
// Not preemptible: R_AMDGPU_RELATIVE64 plus an addend.
static __global int hidden_values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
EXPORT __global int *__global inner_address = &hidden_values[3];
// Defined by nobody here.
extern EXPORT __global int external;
extern EXPORT __attribute__((weak)) __global int optional;

__kernel void touch(__global int *restrict out, __local int *scratch, char tag, int4 add) {
  uint id = __builtin_amdgcn_workitem_id_x();
  uint group = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x();
  scratch[id] = primes[id & 3] + counter;
  counter_address[0] = zeroed[id] + inner_address[id & 1] + external;
  if (&optional)
    out[0] = optional;
  out[group + id] = scratch[id] + add.x + tag;
}

__kernel __attribute__((reqd_work_group_size(64, 2, 1))) void empty(void) {}
