/* golden.h for the host: the same names, answered by the work-group emulation in host_run.c.
 *
 * The items of a group are fibers of one thread. group_barrier() and the wave operations suspend a
 * fiber until the others got there, so that one run gives one result. Each kernel has an entry
 *
 *   void golden_host_<kernel>(const u32 grid[3], const u16 group[3], u32 wave_size, u32 dynamic_lds,
 *                             void *const *args);
 *
 * whose args[i] points to the value of argument i, aligned for its type (a buffer's value is its address).
 * The grid counts work-items. Not reentrant: one run at a time in a process.
 */
#ifndef GOLDEN_HOST_H
#define GOLDEN_HOST_H

#if defined(__cplusplus)
#define EXTERN_C extern "C"
#define __global__ extern "C"
#define __device__
#define __shared__ static
#define __constant__
#define DYNAMIC_LDS(type, name) type *name = (type *)golden_dynamic_lds()
#elif defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#define EXTERN_C
#else
#define EXTERN_C
#define KERNEL
#define GLOBAL
#define LDS
#define LDS_ARRAY(type, name, count) static type name[count]
#endif

#define FN static inline __attribute__((unused))
#define NOINLINE __attribute__((noinline))

typedef void golden_item_function(void *const *args);

#ifdef __cplusplus
extern "C" {
#endif

void golden_run(golden_item_function *function, const u32 *grid, const u16 *group, u32 wave_size, u32 dynamic_lds,
                void *const *args);

/* Of the running item. */
u32 golden_item_id(u32 d);
u32 golden_group_id(u32 d);
u32 golden_group_size(u32 d);
u32 golden_grid_size(u32 d);
u32 golden_dimensions(void);
u32 golden_wave_size(void);
u32 golden_lane_id(void);
void *golden_dynamic_lds(void);
u32 golden_dynamic_lds_size(void);
void golden_barrier(void);

/* The lanes of a wave that wait at the same site exchange their values. */
u64 golden_ballot(u32 site, u32 condition);
u32 golden_readlane(u32 site, u32 value, u32 lane);
u32 golden_readfirstlane(u32 site, u32 value);
u32 golden_bpermute(u32 site, u32 address, u32 value);
u32 golden_permute(u32 site, u32 address, u32 value);
u32 golden_swizzle(u32 site, u32 value, u32 pattern);
u32 golden_dpp(u32 site, u32 old, u32 value, u32 control, u32 rows, u32 banks, u32 bound);
u32 golden_dpp8(u32 site, u32 value, u32 selector);
u32 golden_permlane16(u32 site, u32 value, u32 low, u32 high, u32 other_row);
u32 golden_permlane64(u32 site, u32 value);

/* Correctly rounded, where the GPU's single instruction need not be. */
f32 golden_rsqrt(f32 x);
f32 golden_rcp(f32 x);
f32 golden_sqrt(f32 x);
f32 golden_exp2(f32 x);
f32 golden_log2(f32 x);
f32 golden_sin_turns(f32 x);
f32 golden_cos_turns(f32 x);

#ifdef __cplusplus
}
#endif

#define item_id golden_item_id
#define group_id golden_group_id
#define group_size golden_group_size
#define grid_size golden_grid_size
#define group_barrier golden_barrier
#define wave_size golden_wave_size
#define lane_id golden_lane_id

#define wave_ballot(condition) golden_ballot(__LINE__, (condition) ? 1 : 0)
#define wave_readlane(value, lane) golden_readlane(__LINE__, value, lane)
#define wave_readfirstlane(value) golden_readfirstlane(__LINE__, value)
#define wave_writelane(value, lane, old) (lane_id() == (lane) ? (value) : (old))
#define wave_bpermute(address, value) golden_bpermute(__LINE__, address, value)
#define wave_permute(address, value) golden_permute(__LINE__, address, value)
#define wave_swizzle(value, pattern) golden_swizzle(__LINE__, value, pattern)
#define wave_dpp(old, value, control, rows, banks, bound) \
  golden_dpp(__LINE__, old, value, control, rows, banks, bound)
#define wave_dpp8(value, selector) golden_dpp8(__LINE__, value, selector)
#define wave_permlane16(old, value, low, high) ((void)(old), golden_permlane16(__LINE__, value, low, high, 0))
#define wave_permlanex16(old, value, low, high) ((void)(old), golden_permlane16(__LINE__, value, low, high, 1))
#define wave_permlane64(value) golden_permlane64(__LINE__, value)
#define wave_mbcnt(mask, base) \
  ((base) + (u32)__builtin_popcountl((mask) & ((1ul << golden_lane_id()) - 1)))

#define approximate_rsqrt golden_rsqrt
#define approximate_rcp golden_rcp
#define approximate_sqrt golden_sqrt
#define approximate_exp2 golden_exp2
#define approximate_log2 golden_log2
#define approximate_sin golden_sin_turns
#define approximate_cos golden_cos_turns

/* What the packet and the hidden arguments of a dispatch with no global offset say. */
#define packet_dimensions golden_dimensions
#define packet_group_size golden_group_size
#define packet_grid_size golden_grid_size
#define packet_kernarg_is_ours(first, index) 1u
#define queue_size_is_a_power_of_two() 1u
#define packet_is_in_the_ring() 1u
#define packet_is_at_its_number() 1u
#define hidden_grid_dims golden_dimensions
#define hidden_dynamic_lds_size golden_dynamic_lds_size
FN u32 hidden_block_count(u32 d) { return golden_grid_size(d) / golden_group_size(d); }
FN u32 hidden_group_size(u32 d) { return golden_group_size(d); }
FN u32 hidden_remainder(u32 d) { return golden_grid_size(d) % golden_group_size(d); }
FN u64 hidden_global_offset(u32 d) { return d * 0ul; }
FN u64 hidden_global_offset_v4(u32 d) { return d * 0ul; }
#define is_lds_address(address, on_host) (on_host)
#define is_private_address(address, on_host) (on_host)

/* The whole host run is one thread. */
FN u32 atomic_increment_wrap(u32 *cell, u32 limit) {
  u32 old = *cell;
  *cell = old >= limit ? 0 : old + 1;
  return old;
}
FN u32 atomic_decrement_wrap(u32 *cell, u32 limit) {
  u32 old = *cell;
  *cell = old == 0 || old > limit ? limit : old - 1;
  return old;
}

/* v_perm_b32 with selectors of the eight bytes only. */
FN u32 byte_permute(u32 high, u32 low, u32 selector) {
  u64 bytes = (u64)high << 32 | low;
  u32 result = 0;
  for (u32 i = 0; i < 4; i++)
    result |= (u32)(bytes >> (selector >> (8 * i) & 7) * 8 & 255) << (8 * i);
  return result;
}
FN u32 sum_of_differences(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 32; i += 8) {
    u32 x = a >> i & 255, y = b >> i & 255;
    c += x > y ? x - y : y - x;
  }
  return c;
}
FN u32 dot4_signed(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 32; i += 8)
    c += (u32)((i32)(i8)(a >> i) * (i8)(b >> i));
  return c;
}
FN u32 dot4_unsigned(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 32; i += 8)
    c += (a >> i & 255) * (b >> i & 255);
  return c;
}

#ifdef __cplusplus
/* Exact in quadruple precision, then rounded once. */
FN _Float16 fma_half(_Float16 a, _Float16 b, _Float16 c) { return (_Float16)((__float128)a * b + c); }
#endif

#define GOLDEN_ARG(index, type) *(type const *)args[index]
#define GOLDEN_ARGS_1(a) GOLDEN_ARG(0, a)
#define GOLDEN_ARGS_2(a, b) GOLDEN_ARGS_1(a), GOLDEN_ARG(1, b)
#define GOLDEN_ARGS_3(a, b, c) GOLDEN_ARGS_2(a, b), GOLDEN_ARG(2, c)
#define GOLDEN_ARGS_4(a, b, c, d) GOLDEN_ARGS_3(a, b, c), GOLDEN_ARG(3, d)
#define GOLDEN_ARGS_5(a, b, c, d, e) GOLDEN_ARGS_4(a, b, c, d), GOLDEN_ARG(4, e)
#define GOLDEN_ARGS_6(a, b, c, d, e, f) GOLDEN_ARGS_5(a, b, c, d, e), GOLDEN_ARG(5, f)
#define GOLDEN_ARGS_7(a, b, c, d, e, f, g) GOLDEN_ARGS_6(a, b, c, d, e, f), GOLDEN_ARG(6, g)
#define GOLDEN_ARGS_8(a, b, c, d, e, f, g, h) GOLDEN_ARGS_7(a, b, c, d, e, f, g), GOLDEN_ARG(7, h)
#define GOLDEN_ARGS_9(a, b, c, d, e, f, g, h, i) GOLDEN_ARGS_8(a, b, c, d, e, f, g, h), GOLDEN_ARG(8, i)
#define GOLDEN_PICK(a, b, c, d, e, f, g, h, i, name, ...) name
#define GOLDEN_ARGS(...)                                                                                  \
  GOLDEN_PICK(__VA_ARGS__, GOLDEN_ARGS_9, GOLDEN_ARGS_8, GOLDEN_ARGS_7, GOLDEN_ARGS_6, GOLDEN_ARGS_5,     \
              GOLDEN_ARGS_4, GOLDEN_ARGS_3, GOLDEN_ARGS_2, GOLDEN_ARGS_1, )(__VA_ARGS__)

#define GOLDEN_ENTRY(kernel, ...)                                                                         \
  static void golden_item_##kernel(void *const *args) { kernel(GOLDEN_ARGS(__VA_ARGS__)); }               \
  EXTERN_C void golden_host_##kernel(const u32 *grid, const u16 *group, u32 wave_size_, u32 dynamic_lds_, \
                                     void *const *args) {                                                 \
    golden_run(golden_item_##kernel, grid, group, wave_size_, dynamic_lds_, args);                        \
  }

#endif
