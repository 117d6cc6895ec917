//! Cross-lane and matrix operations. The results depend on the size of a wave, and the reference runs with it.

use crate::golden::Element::{F16, F32, F64, U32};
use crate::golden::Fill::{Random, Zero};
use crate::golden::{Fill, Kernel, Target};

const GFX9: &[Target] = &[
    Target::Gfx900,
    Target::Gfx906,
    Target::Gfx908,
    Target::Gfx90a,
    Target::Gfx942,
    Target::Gfx950,
];
const NEWBCAST: &[Target] = &[Target::Gfx90a, Target::Gfx942, Target::Gfx950];
const GFX11: &[Target] = &[
    Target::Gfx1100,
    Target::Gfx1100Wave64,
    Target::Gfx1201,
    Target::Gfx1201Wave64,
];
const RDNA: &[Target] = &[
    Target::Gfx1030,
    Target::Gfx1030Wave64,
    Target::Gfx1100,
    Target::Gfx1100Wave64,
    Target::Gfx1201,
    Target::Gfx1201Wave64,
];

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
        lane_ops("lane_ops_gfx9", 8).targets(GFX9),
        lane_ops("lane_ops_newbcast", 1).targets(NEWBCAST),
        lane_ops("lane_ops_rdna", 6).targets(RDNA),
        lane_ops("lane_ops_halves", 1).targets(GFX11),
        // gfx942 has other shapes for 8-bit integers.
        Kernel::new("matrix_ops", "mfma", 64, 64)
            .targets(&[Target::Gfx90a])
            .buffer(U32, 64, Random)
            .buffer(U32, 64, Random)
            .buffer(F32, 3 * 256 + 1024, Zero)
            .buffer(F64, 256, Zero)
            .buffer(U32, 256, Zero),
        tiles("mfma_gfx908", 3, false).targets(&[Target::Gfx908]),
        tiles("mfma_gfx942", 5, true).targets(&[Target::Gfx942, Target::Gfx950]),
        tiles("mfma_gfx950", 3, false).targets(&[Target::Gfx950]),
        tiles("wmma_gfx12", 3, false)
            .grid([32, 1, 1], [32, 1, 1])
            .variant("32")
            .targets(&[Target::Gfx1201]),
        tiles("wmma_gfx12", 3, false)
            .variant("64")
            .targets(&[Target::Gfx1201Wave64]),
        dots("dot_products", 7).targets(&Target::ALL[1..]),
        dots("dot_products_16", 3).targets(&[
            Target::Gfx906,
            Target::Gfx908,
            Target::Gfx90a,
            Target::Gfx942,
            Target::Gfx950,
            Target::Gfx1030,
            Target::Gfx1030Wave64,
        ]),
        dots("dot_products_mixed", 2).targets(GFX11),
        matmul_f16("64", 64).targets(&[
            Target::Gfx908,
            Target::Gfx90a,
            Target::Gfx942,
            Target::Gfx950,
            Target::Gfx1100Wave64,
        ]),
        matmul_f16("32", 32).targets(&[Target::Gfx1100]),
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

/// A product of 16 by 16 for each type.
fn tiles(name: &'static str, singles: usize, doubles: bool) -> Kernel {
    let kernel = Kernel::new("matrix_tiles", name, 64, 64)
        .buffer(U32, 256, Random)
        .buffer(U32, 256, Random)
        .buffer(F32, singles * 256, Zero);
    let kernel = if doubles {
        kernel.buffer(F64, 256, Zero)
    } else {
        kernel
    };
    kernel.buffer(U32, 256, Zero)
}

fn dots(name: &'static str, rows: usize) -> Kernel {
    Kernel::new("dots", name, 256, 64)
        .buffer(U32, 256, Random)
        .buffer(U32, 256, Random)
        .buffer(U32, rows * 256, Zero)
        .u32(256)
}

/// Whole numbers from 0 to 7, nine tiles, a wave each.
fn matmul_f16(variant: &'static str, lanes: u16) -> Kernel {
    const WHOLE: Fill = Fill::Whole(8);
    Kernel::new("matmul_f16", "matmul_f16", 9 * u32::from(lanes), lanes)
        .variant(variant)
        .buffer(F16, 48 * 48, WHOLE)
        .buffer(F16, 48 * 48, WHOLE)
        .buffer(F32, 48 * 48, Zero)
        .u32(48)
}
