/* Functions that lines.cl has inlined, each into the next; two of one name, which the linker tells apart. */
__attribute__((always_inline, overloadable)) static inline float scale(float x) {
  return x * 3.0f + 1.0f;
}

__attribute__((always_inline, overloadable)) static inline int scale(int x) {
  return x * 3 + 1;
}

__attribute__((always_inline)) static inline float twice(float x) {
  return scale(x) +
         scale(x + 1.0f);
}

__attribute__((always_inline)) static inline int global_id(void) {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
         __builtin_amdgcn_workitem_id_x();
}
