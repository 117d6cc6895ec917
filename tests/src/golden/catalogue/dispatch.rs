//! What a dispatch tells its kernel: sizes, places, hidden arguments, apertures.

use crate::golden::Element::U32;
use crate::golden::Fill::{Random, Zero};
use crate::golden::{Kernel, Version};

const V4: &[Version] = &[Version::V4];
/// Since version 5.
const V5: &[Version] = &[Version::V5, Version::V6];

pub(super) fn kernels() -> Vec<Kernel> {
    let grid3d = |name| {
        Kernel::new("grid3d", name, 0, 0)
            .grid([21, 13, 6], [8, 4, 4])
            .buffer(U32, 21 * 13 * 6, Zero)
    };
    vec![
        grid3d("grid3d").buffer(U32, 512, Zero),
        grid3d("grid3d_barrier"),
        report("dispatch_packet"),
        // Since version 5 clang no longer asks for the queue's register, and the builtin reads garbage.
        Kernel::new("hidden_args", "dispatch_registers", 256, 64)
            .buffer(U32, 12, Zero)
            .versions(V4),
        report("hidden_args_v4").versions(V4),
        report("hidden_args_v5").versions(V5),
        report_flat("dispatch_packet"),
        report_flat("hidden_args_v5").versions(V5),
        Kernel::new("hidden_args", "address_spaces", 256, 128)
            .buffer(U32, 250, Random)
            .buffer(U32, 750, Zero)
            .u32(250),
    ]
}

/// Three dimensions, each with a partial group: 5, 3 and 3 groups.
fn report(name: &'static str) -> Kernel {
    Kernel::new("hidden_args", name, 0, 0)
        .grid([37, 10, 5], [8, 4, 2])
        .buffer(U32, 5 * 3 * 3 * 16, Zero)
        .u32(5)
        .u32(3)
}

/// One dimension, no partial group.
fn report_flat(name: &'static str) -> Kernel {
    Kernel::new("hidden_args", name, 256, 64)
        .variant("flat")
        .buffer(U32, 4 * 16, Zero)
        .u32(4)
        .u32(1)
}
