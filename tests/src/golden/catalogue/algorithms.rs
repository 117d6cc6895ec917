//! Whole algorithms, as libraries for GPUs have them.

use crate::golden::Element::{F32, F64, U8, U32, U64};
use crate::golden::Fill::{Random, Signed, Steps, Values, Zero};
use crate::golden::{Compare, Element, Kernel};

/// The padded message "abc" as the words of a block: an example of FIPS 180-4.
const ABC: &[u64] = &[0x6162_6380, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24];

pub(super) fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::new("fft", "fft", 256, 128)
            .buffer(F32, 1024, Signed(0.01, 1.0))
            .buffer(F32, 1024, Zero),
        Kernel::new("sha256", "sha256", 128, 64)
            .buffer(U32, 16 * 100, Random)
            .buffer(U32, 8 * 100, Zero)
            .u32(100),
        Kernel::new("sha256", "sha256", 64, 64)
            .variant("abc")
            .buffer(U32, 16, Values(ABC))
            .buffer(U32, 8, Zero)
            .u32(1),
        Kernel::new("aes", "aes128", 128, 64)
            .buffer(U8, 16, Random)
            .buffer(U8, 16 * 100, Random)
            .buffer(U8, 16 * 100, Zero)
            .u32(100),
        Kernel::new("aes", "aes128", 64, 64)
            .variant("zeros")
            .buffer(U8, 16, Zero)
            .buffer(U8, 16, Zero)
            .buffer(U8, 16, Zero)
            .u32(1),
        Kernel::new("wide_integers", "int128", 128, 64)
            .buffer(U64, 100, Random)
            .buffer(U64, 2400, Zero)
            .u32(100),
        Kernel::new("wide_integers", "pcg", 128, 64)
            .buffer(U64, 100, Random)
            .buffer(U32, 1600, Zero)
            .buffer(U64, 1600, Zero)
            .u32(100)
            .u32(16),
        spmv("spmv_item", 128),
        spmv("spmv_wave", 100 * 64),
        Kernel::new("sort", "block_radix_sort", 512, 256)
            .buffer(U32, 512, Random)
            .buffer(U32, 512, Zero)
            .buffer(U32, 512, Zero),
        Kernel::new("sort", "bitonic_sort", 512, 256)
            .buffer(U32, 1024, Random)
            .buffer(U32, 1024, Zero),
        Kernel::new("sort", "lookback_scan", 2048, 256)
            .buffer(U32, 2048, Random)
            .buffer(U32, 2048, Zero)
            .buffer(U64, 9, Zero),
        libm("libm_f32", F32, 80.0).variant("moderate"),
        libm("libm_f32", F32, 1e30).variant("huge"),
        libm("libm_f64", F64, 600.0).variant("moderate"),
        libm("libm_f64", F64, 1e15).variant("huge"),
        Kernel::new("votes", "votes", 256, 128)
            .buffer(U32, 256, Random)
            .buffer(U32, 14 * 256, Zero)
            .u32(256),
    ]
}

/// 100 rows of up to 30 values.
fn spmv(name: &'static str, grid: u32) -> Kernel {
    Kernel::new("spmv", name, grid, 128)
        .buffer(U32, 101, Steps(31))
        .buffer(U32, 3000, Random)
        .buffer(F32, 3000, Signed(0.01, 10.0))
        .buffer(F32, 100, Signed(0.01, 10.0))
        .buffer(F32, 100, Zero)
        .u32(100)
}

/// The functions of each bound of OpenCL C (3.0, section 7.4), for arguments up to a magnitude.
fn libm(name: &'static str, element: Element, most: f64) -> Kernel {
    let count = 128;
    let kernel = Kernel::new("libm", name, 128, 64)
        .buffer(element, count, Signed(0.0, most))
        .buffer(element, count, Signed(most * 1e-4, most));
    [(2, 2), (6, 3), (8, 4), (4, 5), (3, 16), (2, 0)]
        .into_iter()
        .fold(kernel, |kernel, (functions, ulps)| {
            kernel.compared(element, functions * count, Zero, Compare::Library(ulps))
        })
        .u32(count as u32)
}
