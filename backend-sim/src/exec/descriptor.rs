//! Buffer descriptors: the four scalars that say where a buffer is, how it is laid out and where it ends.
//!
//! | bits | gfx9 | gfx10 | gfx11, gfx12 |
//! |---|---|---|---|
//! | 47-0 | base address | the same | the same |
//! | 61-48 | stride in bytes | the same | the same |
//! | 63-62 | swizzle enable in 63 | the same | swizzle enable: elements of 4, 8 or 16 bytes |
//! | 95-64 | records | the same | the same |
//! | 107-96 | what each of X, Y, Z and W reads | the same | the same |
//! | 114-108 | number format (3 bits), data format (4); the latter is 17-14 of the stride if the lane is added | format | format (6 bits) |
//! | 118-117 | index stride: 8, 16, 32 or 64 | the same | the same |
//! | 119 | add the lane to the index | the same | the same |
//! | 125-124 | | what is out of bounds | the same |

use super::machine::Machine;
use crate::isa::{Arch, BufferFormat, buffer_format};

/// What is out of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bounds {
    /// Records are bytes, and offsets are compared with them.
    Raw,
    /// An index at or beyond the records.
    Structured,
    /// As `Structured`, and an offset beyond the stride.
    StructuredOffset,
    /// Everything, if there are no records; else nothing.
    Empty,
}

/// A buffer, as its descriptor says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) base: u64,
    pub(crate) stride: u64,
    pub(crate) records: u64,
    /// Bytes of a swizzled element, if the buffer is swizzled.
    element: Option<u64>,
    index_stride: u64,
    pub(crate) add_lane: bool,
    select: Option<Bounds>,
    words: [u32; 4],
}

/// What an instruction adds up, per lane.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The index register, if the instruction has one.
    pub(crate) index: Option<u32>,
    /// The offset register and the immediate offset.
    pub(crate) offset: i64,
    /// The scalar offset.
    pub(crate) scalar: u64,
    pub(crate) lane: u64,
}

impl Buffer {
    pub(crate) fn new(arch: Arch, words: [u32; 4]) -> Buffer {
        let gfx9 = arch.is_gfx9();
        let add_lane = words[3] >> 23 & 1 != 0;
        let mut stride = u64::from(words[1] >> 16 & 0x3fff);
        if gfx9 && add_lane {
            stride |= u64::from(words[3] >> 15 & 15) << 14;
        }
        let element = match words[1] >> 30 {
            0 => None,
            enable if arch.is_gfx11_plus() => Some(2 << enable),
            enable => (enable & 2 != 0).then_some(4),
        };
        let select = (!gfx9).then_some(match words[3] >> 28 & 3 {
            0 => Bounds::StructuredOffset,
            1 => Bounds::Structured,
            2 => Bounds::Empty,
            _ => Bounds::Raw,
        });
        Buffer {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride,
            records: u64::from(words[2]),
            element,
            index_stride: 8 << (words[3] >> 21 & 3),
            add_lane,
            select,
            words,
        }
    }

    /// The descriptor in scalars from `at` on.
    pub(crate) fn of(m: &Machine<'_>, at: u16) -> Buffer {
        let words = core::array::from_fn(|i| m.wave.s[(usize::from(at) + i) & 255]);
        Buffer::new(m.arch(), words)
    }

    /// Whether this is the descriptor of private memory: dwords of the lanes side by side.
    pub(crate) fn is_private(&self, lanes: u64) -> bool {
        self.element == Some(4) && self.add_lane && self.stride == 0 && self.index_stride == lanes
    }

    /// The format that the descriptor names.
    pub(crate) fn format(&self, arch: Arch) -> Option<BufferFormat> {
        let field = self.words[3] >> 12;
        let code = if arch.is_gfx9() {
            // As the instructions order it.
            field >> 3 & 15 | (field & 7) << 4
        } else if arch.is_gfx11_plus() {
            field & 0x3f
        } else {
            field & 0x7f
        };
        buffer_format(arch, code as u8)
    }

    /// What X, Y, Z and W of a load read: 0 zero, 1 one, 4 to 7 the element's X to W.
    pub(crate) fn selects(&self) -> [u32; 4] {
        core::array::from_fn(|i| self.words[3] >> (3 * i) & 7)
    }

    /// The address, and how many of `bytes` from there on are in bounds.
    pub(crate) fn locate(&self, place: &Place, bytes: u64) -> (u64, u64) {
        let lane = if self.add_lane { place.lane } else { 0 };
        let index = u64::from(place.index.unwrap_or(0)).wrapping_add(lane);
        let offset = place.offset as u64;
        let at = match self.element {
            Some(element) => {
                let (index_high, index_low) =
                    (index / self.index_stride, index % self.index_stride);
                let (offset_high, offset_low) = (offset / element, offset % element);
                index_high
                    .wrapping_mul(self.stride)
                    .wrapping_add(offset_high.wrapping_mul(element))
                    .wrapping_mul(self.index_stride)
                    .wrapping_add(index_low * element)
                    .wrapping_add(offset_low)
            }
            None => index.wrapping_mul(self.stride).wrapping_add(offset),
        };
        let va = self.base.wrapping_add(place.scalar).wrapping_add(at);
        let up_to = |limit: u64, from: u64| limit.saturating_sub(from).min(bytes);
        let all = |inside: bool| if inside { bytes } else { 0 };
        let inside = match self.select {
            // Older processors choose by the instruction.
            None if self.element.is_some() && self.add_lane => bytes,
            None if place.index.is_some() && self.stride != 0 => all(index < self.records),
            None => up_to(
                self.records,
                if self.element.is_some() { offset } else { at },
            ),
            Some(Bounds::Empty) => all(self.records != 0),
            Some(Bounds::Structured) => all(index < self.records),
            Some(Bounds::StructuredOffset) if index >= self.records => 0,
            Some(Bounds::StructuredOffset) => up_to(self.stride, offset),
            Some(Bounds::Raw) if self.element.is_some() && self.stride != 0 => {
                if index < self.records {
                    up_to(self.stride, offset)
                } else {
                    0
                }
            }
            Some(Bounds::Raw) => up_to(self.records.saturating_sub(place.scalar), at),
        };
        (va, inside)
    }
}
