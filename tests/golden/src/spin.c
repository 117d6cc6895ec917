/* Kernels that wait. No reference: the host answers while they run. */
#include "golden.h"

/* Waits until the flag is `expected`, then stores to `seen`, which tells the host. */
KERNEL void spin_until(GLOBAL u32 *flag, u32 expected, GLOBAL u32 *seen) {
  while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) != expected)
    __builtin_amdgcn_s_sleep(1);
  __scoped_atomic_store_n(&seen[global_id(0)], expected, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}

/* Never ends: what queue destruction must cope with. */
KERNEL void spin_forever(GLOBAL u32 *started) {
  __scoped_atomic_store_n(started, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  for (;;)
    __builtin_amdgcn_s_sleep(2);
}

/* Groups take turns: group n waits for group n - 1 and needs all groups resident or in order. */
KERNEL void spin_turns(GLOBAL u32 *turn, GLOBAL u32 *order) {
  if (item_id(0) != 0)
    return;
  u32 group = group_id(0);
  while (__scoped_atomic_load_n(turn, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != group)
    __builtin_amdgcn_s_sleep(1);
  order[group] = group;
  __scoped_atomic_store_n(turn, group + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
