//! Sizes of a compute queue's buffers, which the driver (6.12 and later) compares with what a client passes.

use crate::profile::Profile;

const PAGE: u64 = 4096;

/// Sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// Control stack of one XCC.
    pub control_stack: u64,
    /// Context save area of one XCC, with its control stack.
    pub save_area: u64,
    /// The mapping that has the areas of all XCCs and the debugger's memory.
    pub mapping: u64,
    /// End-of-pipe buffer; 0 for none.
    pub end_of_pipe: u64,
}

impl Sizes {
    pub(super) fn of(profile: &Profile) -> Self {
        let xccs = u64::from(profile.xcc_count);
        let units = u64::from(profile.compute_units) / xccs;
        let engines = u64::from(profile.shader_engines);
        let gfx10 = profile.arch.is_gfx10_plus();
        let (waves, entry) = if gfx10 {
            (units * 32, 12)
        } else {
            ((units * 40).min(engines * 512), 8)
        };
        // A header of 40 bytes, an entry for each wave, 8 bytes at the end.
        let mut control_stack = (48 + waves * entry).next_multiple_of(PAGE);
        if gfx10 && !profile.arch.is_gfx11_plus() {
            control_stack = control_stack.min(0x7000);
        }
        let registers = match profile.name {
            "gfx908" | "gfx90a" | "gfx942" | "gfx950" => 0x80000,
            "gfx1100" | "gfx1101" | "gfx1200" | "gfx1201" => 0x60000,
            _ => 0x40000,
        };
        let group_memory = match profile.name {
            "gfx950" => u64::from(profile.lds_bytes),
            _ => 0x10000,
        };
        // Vector registers, scalar registers, group memory, hardware registers.
        let unit = registers + 0x4000 + group_memory + 0x1000;
        let save_area = control_stack + (units * unit).next_multiple_of(PAGE);
        let debugger = (waves * 32).next_multiple_of(64);
        Self {
            control_stack,
            save_area,
            mapping: ((save_area + debugger) * xccs).next_multiple_of(PAGE),
            end_of_pipe: if profile.name == "gfx942" { 0 } else { PAGE },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gfx90a_has_the_sizes_that_a_deployed_runtime_was_seen_to_pass() {
        let sizes = Sizes::of(Profile::by_name("gfx90a").unwrap());
        assert_eq!(
            sizes,
            Sizes {
                control_stack: 0x9000,
                save_area: 0x3c9_1000,
                mapping: 0x3cb_1000,
                end_of_pipe: 0x1000,
            }
        );
    }
}
