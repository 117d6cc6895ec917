/* Atomic operations of memory and LDS whose final values do not depend on their order. */
#include "golden.h"

#define RELAXED(op, address, value) __scoped_atomic_##op(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

KERNEL void atomics_u32(GLOBAL const u32 *in, GLOBAL u32 *cells, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u32 value = in[i];
  RELAXED(fetch_add, &cells[0], value);
  RELAXED(fetch_sub, &cells[1], value);
  RELAXED(fetch_and, &cells[2], value | 0xffff0000u);
  RELAXED(fetch_or, &cells[3], value & 0x00ff00ffu);
  RELAXED(fetch_xor, &cells[4], value);
  RELAXED(fetch_min, &cells[5], value);
  RELAXED(fetch_max, &cells[6], value);
  RELAXED(fetch_min, (GLOBAL i32 *)&cells[7], (i32)value);
  RELAXED(fetch_max, (GLOBAL i32 *)&cells[8], (i32)value);
  atomic_increment_wrap(&cells[9], 999);
  atomic_decrement_wrap(&cells[10], 999);
  /* Every old value is seen once, so their sum is known. */
  u32 ticket = RELAXED(fetch_add, &cells[11], 1u);
  RELAXED(fetch_add, &cells[12], ticket * 3);
  u32 swapped = __scoped_atomic_exchange_n(&cells[13], i + 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
  RELAXED(fetch_add, &cells[14], swapped);
  u32 old = __scoped_atomic_load_n(&cells[15], __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
  while (!__scoped_atomic_compare_exchange_n(&cells[15], &old, old * 3 + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                             __MEMORY_SCOPE_DEVICE))
    ;
  /* The last item joins two cells that depend on the order into one that does not. */
  if (__scoped_atomic_fetch_add(&cells[16], 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == count - 1)
    RELAXED(fetch_add, &cells[14],
            __scoped_atomic_exchange_n(&cells[13], 0u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE));
}
GOLDEN_ENTRY(atomics_u32, const u32 *, u32 *, u32)

KERNEL void atomics_u64(GLOBAL const u64 *in, GLOBAL u64 *cells, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  u64 value = in[i];
  RELAXED(fetch_add, &cells[0], value);
  RELAXED(fetch_sub, &cells[1], value);
  RELAXED(fetch_and, &cells[2], value | 0xfffffffffff00000ul);
  RELAXED(fetch_or, &cells[3], value & 0x0f0f00ff00ff0f0ful);
  RELAXED(fetch_xor, &cells[4], value);
  RELAXED(fetch_min, &cells[5], value);
  RELAXED(fetch_max, &cells[6], value);
  RELAXED(fetch_min, (GLOBAL i64 *)&cells[7], (i64)value);
  RELAXED(fetch_max, (GLOBAL i64 *)&cells[8], (i64)value);
  u64 old = __scoped_atomic_load_n(&cells[9], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
  while (!__scoped_atomic_compare_exchange_n(&cells[9], &old, old * 5 + 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_SYSTEM))
    ;
  u64 ticket = __scoped_atomic_fetch_add(&cells[10], 1ul, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
  RELAXED(fetch_add, &cells[11], ticket * ticket);
}
GOLDEN_ENTRY(atomics_u64, const u64 *, u64 *, u32)

/* Small whole numbers: their float sums are exact in any order. */
KERNEL void atomics_float(GLOBAL const u32 *in, GLOBAL f32 *singles, GLOBAL double *doubles, u32 count) {
  u32 i = global_id(0);
  if (i >= count)
    return;
  f32 value = (f32)(in[i] & 255);
  RELAXED(fetch_add, &singles[0], value);
  RELAXED(fetch_add, &singles[1 + (in[i] & 3)], 1.0f);
  RELAXED(fetch_sub, &singles[5], value);
  RELAXED(fetch_max, &singles[6], value);
  RELAXED(fetch_min, &singles[7], value - 300.0f);
  RELAXED(fetch_add, &doubles[0], (double)value * 0.5);
  RELAXED(fetch_max, &doubles[1], (double)value);
  RELAXED(fetch_min, &doubles[2], -(double)value);
  GLOBAL u32 *bits = (GLOBAL u32 *)&singles[8];
  u32 old = __scoped_atomic_load_n(bits, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE), next;
  do {
    f32 sum;
    __builtin_memcpy(&sum, &old, 4);
    sum += value;
    __builtin_memcpy(&next, &sum, 4);
  } while (!__scoped_atomic_compare_exchange_n(bits, &old, next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __MEMORY_SCOPE_DEVICE));
}
GOLDEN_ENTRY(atomics_float, const u32 *, f32 *, double *, u32)

#define IN_GROUP(op, address, value) __scoped_atomic_##op(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)

KERNEL void atomics_lds(GLOBAL const u32 *in, GLOBAL u32 *out) {
  LDS_ARRAY(u32, cells, 12);
  LDS_ARRAY(u64, wide, 4);
  LDS_ARRAY(f32, sums, 2);
  u32 item = item_id(0), value = in[global_id(0)];
  if (item < 12)
    cells[item] = item == 2 || item == 5 || item == 7 ? 0x7fffffff : 0;
  if (item < 4)
    wide[item] = 0;
  if (item < 2)
    sums[item] = 0.0f;
  group_barrier();
  IN_GROUP(fetch_add, &cells[0], value);
  IN_GROUP(fetch_sub, &cells[1], value);
  IN_GROUP(fetch_and, &cells[2], value | 0xfffff000u);
  IN_GROUP(fetch_or, &cells[3], value & 0x0f0f0f0fu);
  IN_GROUP(fetch_xor, &cells[4], value);
  IN_GROUP(fetch_min, &cells[5], value);
  IN_GROUP(fetch_max, &cells[6], value);
  IN_GROUP(fetch_min, (LDS i32 *)&cells[7], (i32)value);
  IN_GROUP(fetch_max, (LDS i32 *)&cells[8], (i32)value);
  u32 old = IN_GROUP(fetch_add, &cells[9], 1u);
  IN_GROUP(fetch_add, &cells[10], old * old);
  u32 seen = cells[11];
  while (!__scoped_atomic_compare_exchange_n(&cells[11], &seen, seen * 3 + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_WRKGRP))
    ;
  IN_GROUP(fetch_add, &wide[0], (u64)value << 16);
  IN_GROUP(fetch_xor, &wide[1], (u64)value << 32 | item);
  IN_GROUP(fetch_max, &wide[2], (u64)value << 8);
  IN_GROUP(fetch_add, &sums[0], (f32)(value & 255));
  IN_GROUP(fetch_max, &sums[1], (f32)(value & 0xffff));
  group_barrier();
  GLOBAL u32 *row = out + group_id(0) * 24;
  if (item < 12)
    row[item] = cells[item];
  if (item < 4) {
    row[12 + 2 * item] = (u32)wide[item];
    row[13 + 2 * item] = (u32)(wide[item] >> 32);
  }
  if (item < 2)
    row[20 + item] = (u32)sums[item];
}
GOLDEN_ENTRY(atomics_lds, const u32 *, u32 *)
