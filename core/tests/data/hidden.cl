// Compiled without optimisation, so that the compiler lists every hidden argument that it has.
int printf(__constant const char *restrict format, ...);

__kernel void lists_all(__global ulong *out, short3 by_value) {
  out[0] = ((__constant ulong *)__builtin_amdgcn_implicitarg_ptr())[0];
  out[1] = by_value.x;
}
