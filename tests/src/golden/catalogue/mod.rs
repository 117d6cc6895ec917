//! Every golden kernel with one launch of it, or several.
//!
//! Sizes are small, since -O0 code of every kernel is interpreted in tests, and mostly not multiples of
//! the group, so that inactive lanes occur.

mod algorithms;
mod arithmetic;
mod control;
mod dispatch;
mod lanes;
mod memory;

use std::sync::OnceLock;

use super::Kernel;

/// All kernels. The entries stand in chapters, in the order of a first tour.
pub fn kernels() -> &'static [Kernel] {
    static KERNELS: OnceLock<Vec<Kernel>> = OnceLock::new();
    KERNELS.get_or_init(|| {
        [
            memory::kernels(),
            arithmetic::kernels(),
            control::kernels(),
            lanes::kernels(),
            dispatch::kernels(),
            algorithms::kernels(),
        ]
        .concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kernel_has_a_source_file_and_a_name_of_its_own() {
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/src");
        let mut names = BTreeSet::new();
        for kernel in kernels() {
            let found = ["cl", "hip", "c"]
                .iter()
                .any(|ending| sources.join(kernel.file).with_extension(ending).exists());
            assert!(found, "{} has no source", kernel.file);
            assert!(
                names.insert((kernel.name, kernel.variant)),
                "{} {} twice",
                kernel.name,
                kernel.variant
            );
        }
    }
}
