//! The products themselves.

use super::super::valu::formats::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::super::valu::levels::Host;
use super::element::Numbers;
use super::shape::{Layout, Place};

/// Registers of a result, one row of 64 lanes each.
pub(crate) type Registers = [[u32; 64]; 32];

/// What a sum is computed in.
pub(super) trait Number: Copy {
    const ZERO: Self;
    fn factor(rows: &Numbers, element: usize, lane: usize) -> Self;
    fn step<H: Host>(a: Self, b: Self, c: Self) -> Self;
}

impl Number for f32 {
    const ZERO: f32 = 0.0;
    #[inline(always)]
    fn factor(rows: &Numbers, element: usize, lane: usize) -> f32 {
        f32::from_bits(rows[element & 31][lane & 63])
    }
    #[inline(always)]
    fn step<H: Host>(a: f32, b: f32, c: f32) -> f32 {
        H::fma_f32(a, b, c)
    }
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn factor(rows: &Numbers, element: usize, lane: usize) -> f64 {
        let word = |w: usize| u64::from(rows[(2 * element + w) & 31][lane & 63]);
        f64::from_bits(word(0) | word(1) << 32)
    }
    #[inline(always)]
    fn step<H: Host>(a: f64, b: f64, c: f64) -> f64 {
        H::fma_f64(a, b, c)
    }
}

impl Number for i32 {
    const ZERO: i32 = 0;
    #[inline(always)]
    fn factor(rows: &Numbers, element: usize, lane: usize) -> i32 {
        rows[element & 31][lane & 63] as i32
    }
    #[inline(always)]
    fn step<H: Host>(a: i32, b: i32, c: i32) -> i32 {
        c.wrapping_add(a.wrapping_mul(b))
    }
}

/// Integers whose sum is exact, for saturation at its end.
impl Number for i64 {
    const ZERO: i64 = 0;
    #[inline(always)]
    fn factor(rows: &Numbers, element: usize, lane: usize) -> i64 {
        i64::from(rows[element & 31][lane & 63] as i32)
    }
    #[inline(always)]
    fn step<H: Host>(a: i64, b: i64, c: i64) -> i64 {
        c.wrapping_add(a.wrapping_mul(b))
    }
}

/// How a number lies in the registers of a result.
pub(super) trait Cell<S> {
    fn load(&self, sums: &Registers, place: Place, column: usize) -> S;
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: S);
}

fn quiet(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        0x7fc0_0000
    } else {
        bits
    }
}

/// Single precision; `flush` writes subnormals as zero.
pub(super) struct Single {
    pub(super) flush: bool,
}

impl Cell<f32> for Single {
    #[inline(always)]
    fn load(&self, sums: &Registers, place: Place, column: usize) -> f32 {
        f32::from_bits(
            sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63],
        )
    }
    #[inline(always)]
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: f32) {
        let bits = quiet(value);
        let bits = if self.flush && bits & 0x7f80_0000 == 0 {
            bits & 0x8000_0000
        } else {
            bits
        };
        sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63] = bits;
    }
}

/// Double precision, in two registers.
pub(super) struct Double;

impl Cell<f64> for Double {
    #[inline(always)]
    fn load(&self, sums: &Registers, place: Place, column: usize) -> f64 {
        let (register, lane) = (
            usize::from(place.register) * 2,
            usize::from(place.lane) + column,
        );
        let word = |w: usize| u64::from(sums[(register + w) & 31][lane & 63]);
        f64::from_bits(word(0) | word(1) << 32)
    }
    #[inline(always)]
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: f64) {
        let bits = if value.is_nan() {
            0x7ff8_0000_0000_0000
        } else {
            value.to_bits()
        };
        let (register, lane) = (
            usize::from(place.register) * 2,
            usize::from(place.lane) + column,
        );
        sums[register & 31][lane & 63] = bits as u32;
        sums[(register + 1) & 31][lane & 63] = (bits >> 32) as u32;
    }
}

/// Integers.
pub(super) struct Integer;

impl Cell<i32> for Integer {
    #[inline(always)]
    fn load(&self, sums: &Registers, place: Place, column: usize) -> i32 {
        sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63] as i32
    }
    #[inline(always)]
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: i32) {
        sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63] =
            value as u32;
    }
}

impl Cell<i64> for Integer {
    #[inline(always)]
    fn load(&self, sums: &Registers, place: Place, column: usize) -> i64 {
        <Integer as Cell<i32>>::load(self, sums, place, column).into()
    }
    #[inline(always)]
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: i64) {
        let value = value.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        <Integer as Cell<i32>>::store(self, sums, place, column, value);
    }
}

/// 16-bit floats: the sum is kept in single precision and rounded once.
pub(super) struct Half {
    pub(super) brain: bool,
    /// All rows in the high halves (gfx11).
    pub(super) high: bool,
}

impl Half {
    fn shift(&self, place: Place) -> u32 {
        if self.high || place.high { 16 } else { 0 }
    }
}

impl Cell<f32> for Half {
    #[inline(always)]
    fn load(&self, sums: &Registers, place: Place, column: usize) -> f32 {
        let word = sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63];
        let half = (word >> self.shift(place)) as u16;
        if self.brain {
            bf16_to_f32(half)
        } else {
            f16_to_f32(half)
        }
    }
    #[inline(always)]
    fn store(&self, sums: &mut Registers, place: Place, column: usize, value: f32) {
        let value = f32::from_bits(quiet(value));
        let half = if self.brain {
            f32_to_bf16(value)
        } else {
            f32_to_f16(value)
        };
        let shift = self.shift(place);
        let word =
            &mut sums[usize::from(place.register & 31)][(usize::from(place.lane) + column) & 63];
        *word = *word & !(0xffff << shift) | u32::from(half) << shift;
    }
}

/// The factors of all blocks.
pub(super) struct Factors<'a> {
    pub(super) layout: &'a Layout,
    pub(super) a: &'a Numbers,
    pub(super) b: &'a Numbers,
    /// By block: the block of A that it multiplies with.
    pub(super) blocks: &'a [u8],
}

/// `sums += a * b` for results of `M` rows and columns, `R` rows at a time: each element's products are added one after the
/// other, lowest step first, each fused and rounded once.
#[inline(always)]
pub(super) fn multiply<H: Host, S: Number, const M: usize, const R: usize>(
    factors: &Factors<'_>,
    cell: &impl Cell<S>,
    sums: &mut Registers,
) {
    let Factors {
        layout,
        a,
        b,
        blocks,
    } = factors;
    for (block, &from) in blocks.iter().enumerate() {
        let Some(rows) = layout.rows.get(block * M..(block + 1) * M) else {
            return;
        };
        for (part, places) in rows.chunks_exact(R).enumerate() {
            let mut sum = [[S::ZERO; M]; R];
            for (sum, &place) in sum.iter_mut().zip(places) {
                for (column, value) in sum.iter_mut().enumerate() {
                    *value = cell.load(sums, place, column);
                }
            }
            for (left, right) in layout.a.iter().zip(&layout.b) {
                let lane = usize::from(left.lane) + M * usize::from(from) + part * R;
                let start = usize::from(right.lane) + M * block;
                let column: [S; M] =
                    core::array::from_fn(|j| S::factor(b, right.element.into(), start + j));
                for (r, sum) in sum.iter_mut().enumerate() {
                    let factor = S::factor(a, left.element.into(), lane + r);
                    for (value, &other) in sum.iter_mut().zip(&column) {
                        *value = S::step::<H>(factor, other, *value);
                    }
                }
            }
            for (sum, &place) in sum.iter().zip(places) {
                for (column, &value) in sum.iter().enumerate() {
                    cell.store(sums, place, column, value);
                }
            }
        }
    }
}
