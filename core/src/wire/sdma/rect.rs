//! Boxes out of pitched images: what [`CopyRect`]'s fields say, which each generation packs in its own way.

use super::generation::Generation;
use super::heads::{CopyRect, header, low_bits};
use super::{opcode, sub_opcode};
use crate::wire::dword::Address;

/// One side of a rectangular copy, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RectSide {
    /// Address of the image's first element.
    pub base: u64,
    /// First column, row and slice.
    pub at: [u32; 3],
    /// Elements from one row to the next; at least 1.
    pub pitch: u64,
    /// Elements from one slice to the next; at least 1.
    pub slice: u64,
}

/// What [`CopyRect`] says, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rect {
    /// log2 of an element's bytes.
    pub element_log2: u32,
    /// From where.
    pub source: RectSide,
    /// To where.
    pub destination: RectSide,
    /// Columns, rows and slices; each at least 1.
    pub size: [u32; 3],
}

/// Widths of a rectangle's fields.
#[derive(Clone, Copy)]
struct RectWidths {
    xy: u32,
    z: u32,
    pitch_shift: u32,
    slice: u32,
}

impl RectWidths {
    const fn of(generation: Generation) -> Self {
        match generation {
            Generation::V7 => Self {
                xy: 16,
                z: 14,
                pitch_shift: 16,
                slice: 32,
            },
            Generation::V4 | Generation::V4_4 | Generation::V4_4_2 => Self {
                xy: 14,
                z: 11,
                pitch_shift: 13,
                slice: 28,
            },
            _ => Self {
                xy: 14,
                z: 13,
                pitch_shift: 13,
                slice: 28,
            },
        }
    }

    fn side(self, base: Address, xy: u32, z_pitch: u32, slice: u32) -> RectSide {
        RectSide {
            base: base.get(),
            at: [
                xy & low_bits(self.xy),
                xy >> 16 & low_bits(self.xy),
                z_pitch & low_bits(self.z),
            ],
            pitch: u64::from(z_pitch >> self.pitch_shift) + 1,
            slice: (u64::from(slice) & ((1 << self.slice) - 1)) + 1,
        }
    }

    /// The fields of a side, if they hold its values.
    fn fields(self, side: &RectSide) -> Option<(u32, u32, u32)> {
        let fits = side.at[0] <= low_bits(self.xy)
            && side.at[1] <= low_bits(self.xy)
            && side.at[2] <= low_bits(self.z)
            && (1..=1 << (32 - self.pitch_shift)).contains(&side.pitch)
            && (1..=1 << self.slice).contains(&side.slice);
        fits.then_some((
            side.at[0] | side.at[1] << 16,
            side.at[2] | ((side.pitch - 1) as u32) << self.pitch_shift,
            (side.slice - 1) as u32,
        ))
    }
}

impl CopyRect {
    /// The packet of a rectangle; `None` if a field of this generation does not hold its value.
    pub fn new(rect: &Rect, generation: Generation) -> Option<Self> {
        let widths = RectWidths::of(generation);
        let (source_xy, source_z_pitch, source_slice) = widths.fields(&rect.source)?;
        let (destination_xy, destination_z_pitch, destination_slice) =
            widths.fields(&rect.destination)?;
        let [x, y, z] = rect.size;
        let fits = rect.element_log2 <= 4
            && (1..=1 << widths.xy).contains(&x)
            && (1..=1 << widths.xy).contains(&y)
            && (1..=1 << widths.z).contains(&z);
        fits.then(|| Self {
            header: header(opcode::COPY, sub_opcode::COPY_RECT) | rect.element_log2 << 29,
            source: Address::new(rect.source.base),
            source_xy,
            source_z_pitch,
            source_slice,
            destination: Address::new(rect.destination.base),
            destination_xy,
            destination_z_pitch,
            destination_slice,
            size_xy: (x - 1) | (y - 1) << 16,
            size_z: z - 1,
        })
    }

    /// What the packet says.
    pub fn rect(&self, generation: Generation) -> Rect {
        let widths = RectWidths::of(generation);
        Rect {
            element_log2: self.header >> 29,
            source: widths.side(
                self.source,
                self.source_xy,
                self.source_z_pitch,
                self.source_slice,
            ),
            destination: widths.side(
                self.destination,
                self.destination_xy,
                self.destination_z_pitch,
                self.destination_slice,
            ),
            size: [
                (self.size_xy & low_bits(widths.xy)) + 1,
                (self.size_xy >> 16 & low_bits(widths.xy)) + 1,
                (self.size_z & low_bits(widths.z)) + 1,
            ],
        }
    }
}
