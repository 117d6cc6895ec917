//! Buffers, LDS, scratch, constants and atomics.

use crate::golden::Element::{F32, F64, U8, U16, U32, U64};
use crate::golden::Fill::{Random, Signed, Values, Zero};
use crate::golden::{Kernel, Version};

const ONES32: u64 = 0xffff_ffff;
const SIGN32: u64 = 0x8000_0000;
const SIGN64: u64 = 0x8000_0000_0000_0000;

pub(super) fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::new("vector_add", "vector_add", 1024, 256)
            .generic()
            .buffer(F32, 1000, Signed(0.0, 100.0))
            .buffer(F32, 1000, Signed(0.0, 100.0))
            .buffer(F32, 1000, Zero)
            .u32(1000),
        Kernel::new("stream_copy", "stream_copy", 1024, 256)
            .buffer(U32, 1000, Random)
            .buffer(U32, 1000, Zero)
            .u32(1000),
        Kernel::new("saxpy", "saxpy", 256, 64)
            .f32(-2.75)
            .buffer(F32, 777, Signed(0.0, 10.0))
            .buffer(F32, 777, Signed(0.0, 10.0))
            .u64(777),
        Kernel::new("matmul", "matmul", 0, 0)
            .generic()
            .grid([48, 48, 1], [16, 16, 1])
            .buffer(F32, 48 * 48, Signed(0.0, 2.0))
            .buffer(F32, 48 * 48, Signed(0.0, 2.0))
            .buffer(F32, 48 * 48, Zero)
            .u32(48),
        Kernel::new("reduction", "reduction", 1024, 256)
            .generic()
            .buffer(F32, 1000, Signed(0.0, 10.0))
            .buffer(F32, 4, Zero)
            .u32(1000),
        Kernel::new("reduction", "reduction_minmax", 1024, 256)
            .buffer(U32, 1000, Random)
            .buffer(U32, 8, Zero)
            .u32(1000),
        Kernel::new("histogram", "histogram", 512, 128)
            .buffer(U32, 2000, Random)
            .buffer(U32, 256, Zero)
            .u32(2000),
        Kernel::new("transpose", "transpose", 0, 0)
            .grid([96, 16, 1], [32, 8, 1])
            .buffer(U32, 70 * 45, Random)
            .buffer(U32, 70 * 45, Zero)
            .u32(70)
            .u32(45),
        Kernel::new("private_array", "private_array", 128, 64)
            .generic()
            .buffer(U32, 100, Random)
            .buffer(U32, 100, Zero)
            .u32(100)
            .u32(40),
        Kernel::new("constant_table", "constant_table", 320, 64)
            .buffer(U32, 300, Random)
            .buffer(U32, 300, Zero)
            .buffer(F32, 300, Zero)
            .u32(300),
        Kernel::new("narrow_memory", "narrow_memory", 384, 128)
            .buffer(U8, 300, Random)
            .buffer(U16, 300, Random)
            .buffer(U8, 300, Zero)
            .buffer(U16, 300, Zero)
            .buffer(U32, 1200, Zero)
            .u32(300),
        Kernel::new("narrow_memory", "wide_memory", 256, 128)
            .buffer(U32, 800, Random)
            .buffer(U32, 800, Zero)
            .buffer(U32, 400, Zero)
            .buffer(U16, 800, Zero)
            .u32(200),
        Kernel::new("atomics", "atomics_u32", 768, 128)
            .buffer(U32, 700, Random)
            .buffer(
                U32,
                17,
                Values(&[
                    5,
                    1000,
                    ONES32,
                    0,
                    0,
                    ONES32,
                    0,
                    SIGN32 - 1,
                    SIGN32,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    1,
                    0,
                ]),
            )
            .u32(700),
        Kernel::new("atomics", "atomics_u64", 256, 128)
            .buffer(U64, 200, Random)
            .buffer(
                U64,
                12,
                Values(&[
                    5,
                    1000,
                    u64::MAX,
                    0,
                    0,
                    u64::MAX,
                    0,
                    SIGN64 - 1,
                    SIGN64,
                    1,
                    0,
                    0,
                ]),
            )
            .u32(200),
        Kernel::new("atomics", "atomics_float", 512, 128)
            .buffer(U32, 500, Random)
            .buffer(F32, 9, Zero)
            .buffer(F64, 3, Zero)
            .u32(500),
        Kernel::new("atomics", "atomics_lds", 256, 128)
            .buffer(U32, 256, Random)
            .buffer(U32, 48, Zero),
        Kernel::new("global_variable", "global_variable", 128, 64)
            .buffer(U32, 128, Zero)
            .buffer(F32, 128, Zero)
            .global("golden_counter", U32, 1, Some(Random))
            .global("golden_table", U32, 8, None)
            .global("golden_scale", F32, 1, Some(Signed(0.5, 2.0)))
            .global("golden_zeroed", U64, 4, None),
        Kernel::new("dynamic_lds", "dynamic_lds", 256, 128)
            .dynamic_lds(1200)
            .buffer(U32, 600, Random)
            .buffer(U32, 600, Zero)
            .u32(300),
        Kernel::new("dynamic_lds", "dynamic_lds_size", 64, 64)
            .versions(&[Version::V5, Version::V6])
            .dynamic_lds(256)
            .buffer(U32, 64, Zero),
    ]
}
