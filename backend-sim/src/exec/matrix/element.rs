//! The elements of A and B: from packed bits in registers to one number a lane.

use super::super::rows::RowFile;
use super::super::valu::formats::{Narrow, f16_to_f32};

/// What a matrix is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    F64,
    F32,
    /// Single precision of which ten fraction bits count.
    Xf32,
    F16,
    Bf16,
    I8,
    U8,
    I4,
    U4,
    Fp8,
    Bf8,
    Fp8Fnuz,
    Bf8Fnuz,
    Fp6,
    Bf6,
    Fp4,
}

/// Elements a lane of A or B has at most, as if A were not sparse.
pub(super) const MOST: usize = 32;

/// A matrix, one row of 64 lanes for each of a lane's elements: bits of single-precision numbers or integers; of
/// doubles, two rows each.
pub(crate) type Numbers = [[u32; 64]; MOST];

static FP8: [u32; 256] = Narrow::FP8.table();
static BF8: [u32; 256] = Narrow::BF8.table();
static FP8_FNUZ: [u32; 256] = Narrow::FP8_FNUZ.table();
static BF8_FNUZ: [u32; 256] = Narrow::BF8_FNUZ.table();
static FP6: [u32; 256] = Narrow::FP6.table();
static BF6: [u32; 256] = Narrow::BF6.table();
static FP4: [u32; 256] = Narrow::FP4.table();

impl Element {
    pub(super) const fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::Xf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::I8 | Element::U8 => 8,
            Element::Fp8 | Element::Bf8 | Element::Fp8Fnuz | Element::Bf8Fnuz => 8,
            Element::Fp6 | Element::Bf6 => 6,
            Element::I4 | Element::U4 | Element::Fp4 => 4,
        }
    }

    /// Reads `count` elements a lane from the registers at `first`. `flush` makes subnormal 16-bit numbers zero.
    /// `None` if the wave lacks a register.
    #[inline(always)]
    pub(super) fn read(
        self,
        rows: &RowFile,
        first: u16,
        count: usize,
        flush: bool,
        to: &mut Numbers,
    ) -> Option<()> {
        let flush = |x: u32| {
            if flush && x & 0x7f80_0000 == 0 {
                x & 0x8000_0000
            } else {
                x
            }
        };
        let flush_half = |h: u32| {
            if flush(1) == 0 && h & 0x7c00 == 0 {
                h & 0x8000
            } else {
                h
            }
        };
        match self {
            Element::F64 => {
                for (word, to) in to.iter_mut().enumerate().take(2 * count) {
                    copy(rows.row(first + word as u16)?, to, |x| x);
                }
            }
            Element::F32 => each(self, rows, first, count, to, |x| x)?,
            // Rounded to nearest even.
            Element::Xf32 => each(self, rows, first, count, to, |x| {
                let rounded = x.wrapping_add(0xfff + (x >> 13 & 1)) & !0x1fff;
                if x & 0x7f80_0000 == 0x7f80_0000 {
                    x
                } else {
                    rounded
                }
            })?,
            Element::F16 => each(self, rows, first, count, to, |x| {
                f16_to_f32(flush_half(x) as u16).to_bits()
            })?,
            Element::Bf16 => each(self, rows, first, count, to, |x| flush(x << 16))?,
            Element::I8 => each(self, rows, first, count, to, |x| i32::from(x as i8) as u32)?,
            Element::U8 => each(self, rows, first, count, to, |x| x & 0xff)?,
            Element::I4 => each(self, rows, first, count, to, |x| {
                ((x << 28) as i32 >> 28) as u32
            })?,
            Element::U4 => each(self, rows, first, count, to, |x| x & 15)?,
            Element::Fp8 => self.look_up(&FP8, rows, first, count, to)?,
            Element::Bf8 => self.look_up(&BF8, rows, first, count, to)?,
            Element::Fp8Fnuz => self.look_up(&FP8_FNUZ, rows, first, count, to)?,
            Element::Bf8Fnuz => self.look_up(&BF8_FNUZ, rows, first, count, to)?,
            Element::Fp6 => self.look_up(&FP6, rows, first, count, to)?,
            Element::Bf6 => self.look_up(&BF6, rows, first, count, to)?,
            Element::Fp4 => self.look_up(&FP4, rows, first, count, to)?,
        }
        Some(())
    }

    #[inline(always)]
    fn look_up(
        self,
        table: &[u32; 256],
        rows: &RowFile,
        first: u16,
        count: usize,
        to: &mut Numbers,
    ) -> Option<()> {
        each(self, rows, first, count, to, |x| table[x as u8 as usize])
    }
}

/// Brings each element's bits down to bit 0 (more may stand above) and converts them.
#[inline(always)]
fn each(
    element: Element,
    rows: &RowFile,
    first: u16,
    count: usize,
    to: &mut Numbers,
    convert: impl Fn(u32) -> u32,
) -> Option<()> {
    let bits = element.bits();
    for (e, to) in to.iter_mut().enumerate().take(count) {
        let (word, shift) = (e * bits / 32, (e * bits % 32) as u32);
        let low = rows.row(first + word as u16)?;
        if shift as usize + bits > 32 {
            let high = rows.row(first + word as u16 + 1)?;
            for ((to, &low), &high) in to.iter_mut().zip(low).zip(high) {
                *to = convert((u64::from(high) << 32 | u64::from(low)).wrapping_shr(shift) as u32);
            }
        } else {
            copy(low, to, |x| convert(x >> shift));
        }
    }
    Some(())
}

#[inline(always)]
fn copy(from: &[u32], to: &mut [u32; 64], convert: impl Fn(u32) -> u32) {
    if let Ok(from) = <&[u32; 64]>::try_from(from) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
    } else {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
    }
}
