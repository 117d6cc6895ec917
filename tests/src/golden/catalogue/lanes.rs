//! Cross-lane and matrix operations. The results depend on the size of a wave, and the reference runs with it.

use crate::golden::Element::{F16, F32, F64, U32};
use crate::golden::Fill::{Random, Zero};
use crate::golden::{Kernel, Target};

const GFX9: &[Target] = &[Target::Gfx90a, Target::Gfx942];
const RDNA: &[Target] = &[Target::Gfx1100, Target::Gfx1100Wave64];

pub(super) fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::new("scan", "scan", 1024, 256)
            .buffer(U32, 1024, Random)
            .buffer(U32, 1024, Zero)
            .buffer(U32, 4, Zero),
        Kernel::new("scan", "scan_bpermute", 256, 128)
            .buffer(U32, 256, Random)
            .buffer(U32, 256, Zero),
        Kernel::new("scan", "compact", 512, 128)
            .buffer(U32, 512, Random)
            .buffer(U32, 512, Zero)
            .buffer(U32, 16, Zero),
        lane_ops("lane_ops", 27),
        lane_ops("lane_ops_gfx9", 9).targets(GFX9),
        lane_ops("lane_ops_rdna", 7).targets(RDNA),
        // gfx942 has other shapes for 8-bit integers.
        Kernel::new("matrix_ops", "mfma", 64, 64)
            .targets(&[Target::Gfx90a])
            .buffer(U32, 64, Random)
            .buffer(U32, 64, Random)
            .buffer(F32, 3 * 256 + 1024, Zero)
            .buffer(F64, 256, Zero)
            .buffer(U32, 256, Zero),
        // One wave, whatever its size.
        wmma("32").targets(&[Target::Gfx1100]),
        wmma("64")
            .grid([64, 1, 1], [64, 1, 1])
            .targets(&[Target::Gfx1100Wave64]),
    ]
}

fn lane_ops(name: &'static str, rows: usize) -> Kernel {
    Kernel::new("lane_ops", name, 256, 128)
        .buffer(U32, 256, Random)
        .buffer(U32, rows * 256, Zero)
        .u32(256)
}

fn wmma(variant: &'static str) -> Kernel {
    Kernel::new("matrix_ops", "wmma", 32, 32)
        .variant(variant)
        .buffer(U32, 64, Random)
        .buffer(U32, 64, Random)
        .buffer(F32, 256, Zero)
        .buffer(F16, 256, Zero)
        .buffer(U32, 256, Zero)
}
