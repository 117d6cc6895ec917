/* golden.h for the GPU: every name is a compiler builtin or a few of them. */
#ifndef GOLDEN_DEVICE_H
#define GOLDEN_DEVICE_H

#if defined(__HIP__)
#define __global__ extern "C" __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define EXTERN_C extern "C"
#define FN static inline __attribute__((device, unused))
#define DYNAMIC_LDS(type, name) extern __shared__ type name[]
#elif defined(__OPENCL_C_VERSION__)
#define FN static inline __attribute__((unused))
#else
/* In C everything is hidden by default, and the loader finds exported kernels only. */
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define LDS_ARRAY(type, name, count) static LDS type name[count] __attribute__((loader_uninitialized))
#define FN static inline __attribute__((unused))
#endif

#define NOINLINE __attribute__((noinline))
#define GOLDEN_ENTRY(...)

FN u32 item_id(u32 d) {
  return d == 0   ? __builtin_amdgcn_workitem_id_x()
         : d == 1 ? __builtin_amdgcn_workitem_id_y()
                  : __builtin_amdgcn_workitem_id_z();
}
FN u32 group_id(u32 d) {
  return d == 0   ? __builtin_amdgcn_workgroup_id_x()
         : d == 1 ? __builtin_amdgcn_workgroup_id_y()
                  : __builtin_amdgcn_workgroup_id_z();
}
/* The size in the packet: the last group of a grid may be smaller. */
FN u32 group_size(u32 d) {
  return d == 0   ? __builtin_amdgcn_workgroup_size_x()
         : d == 1 ? __builtin_amdgcn_workgroup_size_y()
                  : __builtin_amdgcn_workgroup_size_z();
}
FN u32 grid_size(u32 d) {
  return d == 0   ? __builtin_amdgcn_grid_size_x()
         : d == 1 ? __builtin_amdgcn_grid_size_y()
                  : __builtin_amdgcn_grid_size_z();
}

FN void group_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

FN u32 wave_size(void) { return __builtin_amdgcn_wavefrontsize(); }
FN u32 lane_id(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

#if __AMDGCN_WAVEFRONT_SIZE__ == 64
#define wave_ballot(condition) ((u64)__builtin_amdgcn_ballot_w64(condition))
#else
#define wave_ballot(condition) ((u64)__builtin_amdgcn_ballot_w32(condition))
#endif
/* The lane number must be the same in all lanes. */
#define wave_readlane(value, lane) ((u32)__builtin_amdgcn_readlane((i32)(value), (i32)(lane)))
#define wave_readfirstlane(value) ((u32)__builtin_amdgcn_readfirstlane((i32)(value)))
/* Clang 19 has no builtins for these two; an intrinsic can be named. */
#if defined(__HIP__)
EXTERN_C __device__ i32 golden_writelane(i32, i32, i32) __asm("llvm.amdgcn.writelane.i32");
#define wave_writelane(value, lane, old) ((u32)golden_writelane((i32)(value), (i32)(lane), (i32)(old)))
#endif
/* Byte addresses, four a lane; on RDNA in wave64 each half is its own wave. */
#define wave_bpermute(address, value) ((u32)__builtin_amdgcn_ds_bpermute((i32)(address), (i32)(value)))
#define wave_permute(address, value) ((u32)__builtin_amdgcn_ds_permute((i32)(address), (i32)(value)))
#define wave_swizzle(value, pattern) ((u32)__builtin_amdgcn_ds_swizzle((i32)(value), pattern))
#define wave_dpp(old, value, control, rows, banks, bound) \
  ((u32)__builtin_amdgcn_update_dpp((i32)(old), (i32)(value), control, rows, banks, bound))
#define wave_dpp8(value, selector) ((u32)__builtin_amdgcn_mov_dpp8((u32)(value), selector))
#define wave_permlane16(old, value, low, high) \
  ((u32)__builtin_amdgcn_permlane16((u32)(old), (u32)(value), low, high, 0, 0))
#define wave_permlanex16(old, value, low, high) \
  ((u32)__builtin_amdgcn_permlanex16((u32)(old), (u32)(value), low, high, 0, 0))
#define wave_permlane64(value) ((u32)__builtin_amdgcn_permlane64((u32)(value)))
#define wave_mbcnt(mask, base) \
  ((u32)__builtin_amdgcn_mbcnt_hi((u32)((mask) >> 32), __builtin_amdgcn_mbcnt_lo((u32)(mask), base)))

/* Single instructions whose results AMD does not define to the last bit. */
FN f32 approximate_rsqrt(f32 x) { return __builtin_amdgcn_rsqf(x); }
FN f32 approximate_rcp(f32 x) { return __builtin_amdgcn_rcpf(x); }
FN f32 approximate_sqrt(f32 x) { return __builtin_amdgcn_sqrtf(x); }
FN f32 approximate_exp2(f32 x) { return __builtin_amdgcn_exp2f(x); }
FN f32 approximate_log2(f32 x) { return __builtin_amdgcn_logf(x); }
/* In turns, not radians. */
FN f32 approximate_sin(f32 x) { return __builtin_amdgcn_sinf(x); }
FN f32 approximate_cos(f32 x) { return __builtin_amdgcn_cosf(x); }

#ifndef __OPENCL_C_VERSION__
/* The dispatch packet (hsa_kernel_dispatch_packet_t): setup, group sizes, grid sizes, kernarg. */
#define PACKET ((const __attribute__((address_space(4))) u8 *)__builtin_amdgcn_dispatch_ptr())
#define PACKET_FIELD(type, offset) (*(const __attribute__((address_space(4))) type *)(PACKET + (offset)))
FN u32 packet_dimensions(void) { return PACKET_FIELD(u16, 2) & 3; }
FN u32 packet_group_size(u32 d) { return PACKET_FIELD(u16, 4 + 2 * d); }
FN u32 packet_grid_size(u32 d) { return PACKET_FIELD(u32, 12 + 4 * d); }
/* The kernel argument segment of the packet is the one the kernel got, by its first argument. */
#define packet_kernarg_is_ours(first, index) \
  (PACKET_FIELD(u64, 40) == (u64)__builtin_amdgcn_kernarg_segment_ptr() && \
   *(const __attribute__((address_space(4))) u64 *)PACKET_FIELD(u64, 40) == (u64)*(first))

/* The queue (hsa_queue_t): the ring's address and its number of packets of 64 bytes. */
#define QUEUE_FIELD(type, offset)                                           \
  (*(const __attribute__((address_space(4))) type *)((const __attribute__((address_space(4))) u8 *) \
                                                         __builtin_amdgcn_queue_ptr() + (offset)))
FN u64 queue_ring(void) { return QUEUE_FIELD(u64, 8); }
FN u32 queue_size(void) { return QUEUE_FIELD(u32, 24); }
FN u32 queue_size_is_a_power_of_two(void) { return __builtin_popcount(queue_size()) == 1; }
FN u32 packet_is_in_the_ring(void) {
  u64 offset = (u64)__builtin_amdgcn_dispatch_ptr() - queue_ring();
  return offset < (u64)queue_size() * 64 && offset % 64 == 0;
}
#if defined(__HIP__)
EXTERN_C __device__ i64 golden_dispatch_id(void) __asm("llvm.amdgcn.dispatch.id");
#else
i64 golden_dispatch_id(void) __asm("llvm.amdgcn.dispatch.id");
#endif
FN u32 packet_is_at_its_number(void) {
  u64 place = (u64)golden_dispatch_id() & (queue_size() - 1);
  return (u64)__builtin_amdgcn_dispatch_ptr() == queue_ring() + place * 64;
}

/* Hidden arguments, at their offsets from the implicit argument pointer. */
#define HIDDEN(type, offset) \
  (*(const __attribute__((address_space(4))) type *)((const __attribute__((address_space(4))) u8 *) \
                                                         __builtin_amdgcn_implicitarg_ptr() + (offset)))
FN u32 hidden_block_count(u32 d) { return HIDDEN(u32, 4 * d); }
FN u32 hidden_group_size(u32 d) { return HIDDEN(u16, 12 + 2 * d); }
FN u32 hidden_remainder(u32 d) { return HIDDEN(u16, 18 + 2 * d); }
FN u64 hidden_global_offset(u32 d) { return HIDDEN(u64, 40 + 8 * d); }
FN u32 hidden_grid_dims(void) { return HIDDEN(u16, 64); }
FN u32 hidden_dynamic_lds_size(void) { return HIDDEN(u32, 120); }
FN u64 hidden_global_offset_v4(u32 d) { return HIDDEN(u64, 8 * d); }

/* The second operand is the answer that the host gives, which has no apertures. */
#define is_lds_address(address, on_host) \
  __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)(address))
#define is_private_address(address, on_host) \
  __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)(address))

#endif

#define atomic_increment_wrap(address, limit) \
  __builtin_amdgcn_atomic_inc32((GLOBAL u32 *)(address), limit, __ATOMIC_RELAXED, "agent")
#define atomic_decrement_wrap(address, limit) \
  __builtin_amdgcn_atomic_dec32((GLOBAL u32 *)(address), limit, __ATOMIC_RELAXED, "agent")

FN u32 byte_permute(u32 high, u32 low, u32 selector) { return __builtin_amdgcn_perm(high, low, selector); }
FN u32 sum_of_differences(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u8(a, b, c); }
#if defined(__gfx90a__) || defined(__gfx942__)
FN u32 dot4_signed(u32 a, u32 b, u32 c) { return (u32)__builtin_amdgcn_sdot4((i32)a, (i32)b, (i32)c, 0); }
FN u32 dot4_unsigned(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, 0); }
#elif defined(__gfx1100__)
FN u32 dot4_signed(u32 a, u32 b, u32 c) { return (u32)__builtin_amdgcn_sudot4(1, (i32)a, 1, (i32)b, (i32)c, 0); }
FN u32 dot4_unsigned(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, 0); }
#endif

#if defined(__HIP__)
FN _Float16 fma_half(_Float16 a, _Float16 b, _Float16 c) { return __builtin_fmaf16(a, b, c); }
#endif

#endif
