/* A kernel with private memory that no registers hold. */
__attribute__((amdgpu_kernel, visibility("protected"))) void scratch(__attribute__((address_space(1))) unsigned *out, unsigned seed) {
  volatile unsigned array[128];
  for (unsigned i = 0; i < 128; i++)
    array[i] = seed + i;
  *out = array[seed % 128];
}
