//! The code objects in `tests/golden/objects`, for tests that have no compiler at hand.
//!
//! `tests/golden/build.sh --committed` makes them, `--check` proves that they are what the sources give.
//! All are of -O2 and code object version 5.
//!
//! Not in the [catalogue](super::catalogue), because there is nothing to compute: `fault` and `spin`. Their
//! kernels and arguments are those of `fault.c` and `spin.c`.

use super::Target;

/// A committed code object.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Committed {
    /// The source file, without its ending.
    pub file: &'static str,
    pub target: Target,
    /// The ELF file.
    pub code_object: &'static [u8],
}

macro_rules! committed {
    ($($file:literal)*) => {
        /// All of them.
        pub const ALL: &[Committed] = &[$(
            committed!($file, Gfx90a, "gfx90a"),
            committed!($file, Gfx942, "gfx942"),
            committed!($file, Gfx1030, "gfx1030"),
            committed!($file, Gfx1100, "gfx1100"),
            committed!($file, Gfx1100Wave64, "gfx1100w64"),
            committed!($file, Gfx1201, "gfx1201"),
        )*];
    };
    ($file:literal, $target:ident, $name:literal) => {
        Committed {
            file: $file,
            target: Target::$target,
            code_object: include_bytes!(concat!("../../golden/objects/", $file, "-", $name, "-O2-v5.co")),
        }
    };
}

committed! { "vector_add" "matmul" "reduction" "fault" "spin" }

/// The code object of a source file for a target, if it is committed.
pub fn code_object(file: &str, target: Target) -> Option<&'static [u8]> {
    ALL.iter()
        .find(|object| object.file == file && object.target == target)
        .map(|object| object.code_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_object_is_an_elf_file_for_amdgpu() {
        for object in ALL {
            assert_eq!(&object.code_object[..4], b"\x7fELF", "{}", object.file);
            assert_eq!(object.code_object[18..20], [0xe0, 0], "{}", object.file);
        }
    }

    #[test]
    fn every_file_is_found_by_its_name_and_target() {
        assert!(
            ALL.iter()
                .all(|object| code_object(object.file, object.target).is_some())
        );
    }
}
