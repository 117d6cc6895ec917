//! Integer and floating-point arithmetic.

use crate::golden::Element::{F16, F32, F64, U32, U64};
use crate::golden::Fill::{Edges, Random, Range, Signed, Zero};
use crate::golden::{Compare, Kernel};

/// v_rsq_f32 and its kind are specified to one unit in the last place; the host rounds correctly.
const ONE_INSTRUCTION: Compare = Compare::Ulps {
    most: 2,
    floor: 0.125,
    reason: "the instruction is specified to one unit in the last place",
};

/// The error of v_sin_f32 is absolute.
const SINE: Compare = Compare::Ulps {
    most: 16,
    floor: 1.0,
    reason: "sines are specified by an absolute error",
};

/// One hundred terms of at most 1000 each; every term inherits three times the error of its v_rsq_f32.
const FORCES: Compare = Compare::Ulps {
    most: 32,
    floor: 512.0,
    reason: "a sum of terms that each cube an inexact v_rsq_f32",
};

/// Divided by v_rcp_f32 and rounded to half precision.
const HALF_QUOTIENT: Compare = Compare::Ulps {
    most: 1,
    floor: 0.0,
    reason: "divided by an inexact single precision reciprocal",
};

pub(super) fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::new("hash64", "hash64", 512, 64)
            .buffer(U64, 500, Random)
            .buffer(U64, 500, Zero)
            .u32(500)
            .u64(0x0123_4567_89ab_cdef),
        Kernel::new("hash64", "divide64", 320, 64)
            .buffer(U64, 300, Random)
            .buffer(U64, 1800, Zero)
            .u32(300),
        Kernel::new("int_ops", "int_ops", 256, 64)
            .buffer(U32, 256, Random)
            .buffer(U32, 256, Random)
            .buffer(U32, 32 * 256, Zero)
            .u32(256),
        Kernel::new("float_ops", "float_ops", 256, 64)
            .buffer(F32, 256, Signed(0.01, 100.0))
            .buffer(F32, 256, Signed(0.01, 100.0))
            .buffer(F32, 26 * 256, Zero)
            .u32(256),
        Kernel::new("div_sqrt", "div_sqrt", 640, 64)
            .buffer(F32, 600, Edges)
            .buffer(F32, 600, Edges)
            .buffer(F32, 600, Zero)
            .buffer(F32, 600, Zero)
            .u32(600),
        Kernel::new("div_sqrt", "rsqrt_exact", 640, 64)
            .buffer(F32, 600, Edges)
            .buffer(F32, 600, Zero)
            .u32(600),
        Kernel::new("div_sqrt", "approximations", 320, 64)
            .buffer(F32, 300, Range(0.5, 100.0))
            .compared(F32, 1500, Zero, ONE_INSTRUCTION)
            .u32(300),
        Kernel::new("div_sqrt", "sines", 320, 64)
            .buffer(F32, 300, Signed(0.0, 4.0))
            .compared(F32, 600, Zero, SINE)
            .u32(300),
        Kernel::new("nbody", "nbody", 128, 64)
            .buffer(F32, 400, Range(0.1, 1.0))
            .compared(F32, 400, Zero, FORCES)
            .u32(100)
            .f32(0.01),
        Kernel::new("f64", "dot_f64", 512, 128)
            .buffer(F64, 1000, Signed(0.0, 1000.0))
            .buffer(F64, 1000, Signed(0.0, 1000.0))
            .buffer(F64, 4, Zero)
            .u32(1000),
        Kernel::new("f64", "arithmetic_f64", 256, 64)
            .buffer(F64, 200, Signed(0.001, 1000.0))
            .buffer(F64, 200, Signed(0.001, 1000.0))
            .buffer(F64, 1600, Zero)
            .buffer(U64, 400, Zero)
            .u32(200),
        Kernel::new("axpy_f16", "axpy_f16", 512, 64)
            .scalar(&0x3e00_u16.to_le_bytes())
            .buffer(F16, 500, Signed(0.0, 10.0))
            .buffer(F16, 500, Signed(0.0, 10.0))
            .u32(500),
        Kernel::new("axpy_f16", "axpy_packed_f16", 320, 64)
            .scalar(&0x3e00_b800_u32.to_le_bytes())
            .buffer(F16, 600, Signed(0.01, 10.0))
            .buffer(F16, 600, Signed(0.01, 10.0))
            .buffer(F16, 600, Zero)
            .u32(300),
        Kernel::new("axpy_f16", "fma_f16", 320, 64)
            .buffer(F16, 300, Signed(0.01, 50.0))
            .buffer(F16, 300, Signed(0.01, 50.0))
            .buffer(F16, 2400, Zero)
            .buffer(F16, 600, Zero)
            .u32(300),
        Kernel::new("axpy_f16", "divide_f16", 320, 64)
            .buffer(F16, 300, Signed(0.01, 50.0))
            .buffer(F16, 300, Signed(0.01, 50.0))
            .compared(F16, 600, Zero, HALF_QUOTIENT)
            .u32(300),
    ]
}
