/* The vocabulary of the golden kernels. One kernel source is compiled three ways: for the GPU in
 * its own language (OpenCL C, HIP or C), and for the host as the reference. The kernels use the
 * names below; device.h gives them by compiler builtins alone (no headers and no device
 * libraries of a GPU toolkit), host.h by the work-group emulation in host_run.c.
 *
 *   item_id(d) group_id(d) group_size(d) grid_size(d) global_id(d)   d = 0, 1, 2
 *   group_barrier()
 *   wave_size() lane_id() wave_...()       cross-lane operations, all lanes must reach them
 *   GOLDEN_ENTRY(kernel, types...)         the host entry of a kernel; nothing on the GPU
 */
#ifndef GOLDEN_H
#define GOLDEN_H

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef float f32;

#ifdef __AMDGCN__
#include "device.h"
#else
#include "host.h"
#endif

FN u32 global_id(u32 d) { return group_id(d) * group_size(d) + item_id(d); }

#endif
