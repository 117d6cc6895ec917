//! What image instructions carry beside their registers.

use super::{Op, Type};

/// Modifiers of image instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Image {
    /// Components that are loaded or stored, X in bit 0; atomics: as many ones as there are dwords of data.
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

impl Image {
    /// Registers of the address, or one where the instruction does not say (gfx9).
    pub fn address_dwords(&self, op: Op) -> usize {
        let Some(dim) = self.dim else {
            return 1;
        };
        let coordinates = match op {
            Op::image_get_resinfo => 1,
            _ => [1, 2, 3, 3, 2, 3, 3, 4][usize::from(dim & 7)] + usize::from(has_level(op)),
        };
        if self.a16 {
            usize::div_ceil(coordinates, 2)
        } else {
            coordinates
        }
    }

    /// Registers of the data.
    pub fn data_dwords(&self) -> usize {
        let components = (self.dmask & 15).count_ones().max(1) as usize;
        if self.d16 {
            components.div_ceil(2)
        } else {
            components
        }
    }
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
        _ => Type::B160,
    }
}
