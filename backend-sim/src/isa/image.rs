//! What image instructions carry beside their registers.

use super::{Arch, Op, Type};

/// Modifiers of image instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Image {
    /// Components that are loaded or stored, X in bit 0; atomics: as many ones as there are dwords of data; gathers:
    /// the component that is gathered.
    pub dmask: u8,
    /// The image's dimensions, as gfx10 and later encode them in the instruction; `None` on gfx9.
    pub dim: Option<u8>,
    /// Coordinates are not normalised.
    pub unorm: bool,
    /// A descriptor of 128 bits (gfx10 and later).
    pub r128: bool,
    /// Coordinates are 16 bits wide, two a register.
    pub a16: bool,
    /// Data are 16 bits wide, two a register.
    pub d16: bool,
    /// LOD warning enable.
    pub lwe: bool,
    /// The image is an array (gfx9).
    pub da: bool,
    /// Of how many groups of registers the address consists, where the instruction names them one by one (gfx10 and
    /// later); zero where it is one group. The first is an operand.
    pub groups: u8,
    /// First registers of the other groups, as many as there are; zero beyond.
    pub further: [u8; 12],
}

/// Names of the dimensions, by their code.
pub(super) const DIMENSIONS: [&str; 8] = [
    "1D",
    "2D",
    "3D",
    "CUBE",
    "1D_ARRAY",
    "2D_ARRAY",
    "2D_MSAA",
    "2D_MSAA_ARRAY",
];

/// What an operation's mnemonic says about its address.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// Offsets, a bias, a reference: a register each.
    extra: usize,
    gradients: bool,
    short_gradients: bool,
    /// A level, or a clamp of it, behind the coordinates.
    level: bool,
}

fn parts(op: Op) -> Parts {
    let mut parts = Parts {
        level: has_level(op),
        ..Parts::default()
    };
    let name = op.row().mnemonic;
    let sampled = name.strip_prefix("image_sample");
    if let Some(rest) = sampled.or(name.strip_prefix("image_gather4")) {
        for part in rest.split('_') {
            match part {
                "c" | "b" | "o" => parts.extra += 1,
                "d" | "cd" => parts.gradients = true,
                "g16" => parts.short_gradients = true,
                "l" | "cl" => parts.level = true,
                _ => {}
            }
        }
    }
    parts
}

impl Image {
    /// Registers of the address: where the instruction does not say (gfx9), the fewest.
    pub fn address_dwords(&self, op: Op) -> usize {
        if let Some(groups) = ray(op, self.a16) {
            return groups.iter().map(|dwords| usize::from(*dwords)).sum();
        }
        let parts = parts(op);
        let Some(dim) = self.dim.map(|dim| usize::from(dim & 7)) else {
            return parts.extra + if parts.gradients { 2 } else { 1 };
        };
        let coordinates = match op {
            Op::image_get_resinfo => 1,
            _ => [1, 2, 3, 3, 2, 3, 3, 4][dim] + usize::from(parts.level),
        };
        // Two of each direction of the plane or space, slices and faces have none.
        let directions = [1, 2, 3, 2, 1, 2, 2, 2][dim];
        let gradients = match (parts.gradients, parts.short_gradients) {
            (false, _) => 0,
            (true, false) => 2 * directions,
            (true, true) => usize::next_multiple_of(directions, 2),
        };
        let coordinates = if self.a16 {
            coordinates.div_ceil(2)
        } else {
            coordinates
        };
        parts.extra + gradients + coordinates
    }

    /// How many groups of registers an address is in an encoding that names up to `names`; an error if that is too few.
    pub(super) fn grouped(&self, arch: Arch, op: Op, names: usize) -> Option<u8> {
        let count = match ray(op, self.a16) {
            Some(groups) if arch.is_gfx11_plus() => groups.len(),
            _ => self.address_dwords(op),
        };
        // Since gfx11 the last group holds what is left.
        let groups = if arch.is_gfx11_plus() {
            count.min(names)
        } else {
            count
        };
        (groups <= names).then_some(if groups > 1 { groups as u8 } else { 0 })
    }

    /// Registers of a group of the address.
    pub(super) fn group_dwords(&self, op: Op, group: usize) -> usize {
        let (all, groups) = (self.address_dwords(op), usize::from(self.groups));
        match ray(op, self.a16) {
            _ if groups <= 1 => all,
            Some(sizes) if sizes.len() == groups => sizes.get(group).map_or(1, |n| usize::from(*n)),
            _ if group + 1 == groups => all - group,
            _ => 1,
        }
    }

    /// Registers of the data.
    pub fn data_dwords(&self, op: Op) -> usize {
        let name = op.row().mnemonic;
        let components = match op {
            Op::image_bvh_dual_intersect_ray | Op::image_bvh8_intersect_ray => return 10,
            Op::image_msaa_load => 4,
            _ if name.starts_with("image_gather4") => 4,
            _ => (self.dmask & 15).count_ones().max(1) as usize,
        };
        if self.d16 {
            components.div_ceil(2)
        } else {
            components
        }
    }
}

/// The groups of registers that describe a ray, in registers each; `None` for other operations.
fn ray(op: Op, a16: bool) -> Option<&'static [u8]> {
    Some(match op {
        Op::image_bvh_intersect_ray if a16 => &[1, 1, 3, 3],
        Op::image_bvh_intersect_ray => &[1, 1, 3, 3, 3],
        Op::image_bvh64_intersect_ray if a16 => &[2, 1, 3, 3],
        Op::image_bvh64_intersect_ray => &[2, 1, 3, 3, 3],
        Op::image_bvh_dual_intersect_ray => &[2, 2, 3, 3, 2],
        Op::image_bvh8_intersect_ray => &[2, 2, 3, 3, 1],
        _ => return None,
    })
}

/// Whether it tests a ray. Such instructions have no modifiers but A16.
pub(crate) fn is_ray(op: Op) -> bool {
    ray(op, false).is_some()
}

/// Whether gfx12 encodes it as VSAMPLE.
pub(super) fn is_vsample(op: Op) -> bool {
    op == Op::image_msaa_load || op.row().has(super::Field::Samp)
}

/// Whether the mip level is the last coordinate.
pub(crate) fn has_level(op: Op) -> bool {
    matches!(
        op,
        Op::image_load_mip
            | Op::image_load_mip_pck
            | Op::image_load_mip_pck_sgn
            | Op::image_store_mip
            | Op::image_store_mip_pck
    )
}

/// So many registers.
pub(super) fn registers(dwords: usize) -> Type {
    match dwords {
        0 | 1 => Type::B32,
        2 => Type::B64,
        3 => Type::B96,
        4 => Type::B128,
        5 => Type::B160,
        6 => Type::B192,
        7 => Type::B224,
        8 => Type::B256,
        9 => Type::B288,
        10 => Type::B320,
        11 => Type::B352,
        _ => Type::B384,
    }
}
