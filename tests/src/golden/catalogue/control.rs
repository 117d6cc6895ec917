//! Divergence and calls.

use crate::golden::Element::{U32, U64};
use crate::golden::Fill::{Random, Zero};
use crate::golden::Kernel;

pub(super) fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::new("mandelbrot", "mandelbrot", 0, 0)
            .grid([48, 32, 1], [16, 4, 1])
            .buffer(U32, 45 * 31, Zero)
            .u32(45)
            .u32(31)
            .f32(-2.0)
            .f32(-1.25)
            .f32(0.0625)
            .u32(64),
        Kernel::new("calls", "indirect_call", 256, 64)
            .buffer(U32, 200, Random)
            .buffer(U32, 200, Zero)
            .u32(200),
        Kernel::new("calls", "recursion", 128, 64)
            .stack(8192)
            .buffer(U32, 100, Random)
            .buffer(U32, 100, Zero)
            .u32(100),
        Kernel::new("calls", "frames", 128, 64)
            .buffer(U32, 100, Random)
            .buffer(U64, 200, Zero)
            .u32(100),
    ]
}
