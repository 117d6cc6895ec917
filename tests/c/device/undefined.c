/* A kernel that reads a variable which nobody defines here. */
extern __attribute__((address_space(1), visibility("default"))) int missing;
__attribute__((amdgpu_kernel, visibility("protected"))) void reads(__attribute__((address_space(1))) int *out) { *out = missing; }
