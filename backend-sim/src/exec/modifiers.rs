//! Input and output modifiers, applied to rows.

use super::dpp::Flat;
use super::rows::{Row, WIDEST};
use super::valu::FloatMode;
use crate::isa::{Select, Unused};

/// How a source's dwords are picked before the sign modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pick {
    /// As they are.
    Whole,
    /// The high half, moved down.
    High,
    /// A byte or half, extended with zeros or its sign.
    Part { shift: u8, bits: u8, sext: bool },
    /// Two halves, each from either half.
    Halves {
        low_from_high: bool,
        high_from_high: bool,
    },
    /// Two dwords of a pair, each from either.
    Pair {
        low_from_high: bool,
        high_from_high: bool,
    },
    /// A half-precision value (from the high half, if so) widened to single precision.
    Widened { high: bool },
}

impl Pick {
    /// What an SDWA selection picks.
    pub(crate) fn sdwa(select: Select, sext: bool) -> Pick {
        let (shift, bits) = placement(select);
        if bits == 32 {
            Pick::Whole
        } else {
            Pick::Part { shift, bits, sext }
        }
    }
}

/// Lowest bit and number of bits of an SDWA selection.
pub(crate) fn placement(select: Select) -> (u8, u8) {
    match select {
        Select::Byte0 => (0, 8),
        Select::Byte1 => (8, 8),
        Select::Byte2 => (16, 8),
        Select::Byte3 => (24, 8),
        Select::Word0 => (0, 16),
        Select::Word1 => (16, 16),
        Select::Dword => (0, 32),
    }
}

/// One source: what is picked, then what the sign modifiers do to the bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SrcForm {
    pub(crate) rows: u8,
    pub(crate) pick: Pick,
    /// Bits kept and bits flipped in the last row, where sign bits are.
    pub(crate) keep: u32,
    pub(crate) flip: u32,
    /// Bits flipped in the first of two rows (packed single precision).
    pub(crate) flip_low: u32,
}

impl SrcForm {
    pub(crate) const fn plain(rows: u8) -> SrcForm {
        SrcForm {
            rows,
            pick: Pick::Whole,
            keep: u32::MAX,
            flip: 0,
            flip_low: 0,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        *self == SrcForm::plain(self.rows)
    }

    /// Copies a source into temporary rows as the modifiers have it.
    pub(crate) fn apply(&self, from: *const u32, to: &mut [Row; WIDEST], lanes: u32) {
        let count = usize::from(self.rows).min(WIDEST) * lanes as usize;
        // SAFETY: the executor's `source` gives a pointer to `rows` rows of `lanes` dwords; `to` is a
        // temporary of `WIDEST` rows, and what `from` points to is either another allocation or `to` itself.
        unsafe { core::ptr::copy(from, to.as_flattened_mut().as_mut_ptr(), count) };
        self.apply_in_place(to, lanes);
    }

    /// The modifiers, on rows that are temporary already.
    pub(crate) fn apply_in_place(&self, to: &mut [Row; WIDEST], lanes: u32) {
        let lanes = lanes as usize;
        let rows = usize::from(self.rows).min(WIDEST);
        let (keep, flip) = (self.keep, self.flip);
        let flat = to.as_flattened_mut();
        match self.pick {
            Pick::Whole => {}
            Pick::High => each(&mut flat[..lanes], |x| x >> 16),
            Pick::Part { shift, bits, sext } => {
                let up = 32 - u32::from(bits);
                let shift = u32::from(shift);
                if sext {
                    each(&mut flat[..lanes], |x| {
                        ((x >> shift << up) as i32 >> up) as u32
                    });
                } else {
                    each(&mut flat[..lanes], |x| x >> shift << up >> up);
                }
            }
            Pick::Halves {
                low_from_high,
                high_from_high,
            } => {
                let low = if low_from_high { 16 } else { 0 };
                let high = if high_from_high { 16 } else { 0 };
                each(&mut flat[..lanes], |x| x >> low & 0xffff | x >> high << 16);
            }
            Pick::Pair {
                low_from_high,
                high_from_high,
            } => {
                for lane in 0..lanes {
                    let pair = [flat[lane], flat[lanes + lane]];
                    flat[lane] = pair[usize::from(low_from_high)];
                    flat[lanes + lane] = pair[usize::from(high_from_high)];
                }
                if self.flip_low != 0 {
                    each(&mut flat[..lanes], |x| x ^ self.flip_low);
                }
            }
            Pick::Widened { high } => {
                let shift = if high { 16 } else { 0 };
                each(&mut flat[..lanes], |x| widen((x >> shift) as u16));
            }
        }
        if keep != u32::MAX || flip != 0 {
            let last = rows.saturating_sub(1) * lanes;
            each(&mut flat[last..last + lanes], |x| x & keep ^ flip);
        }
    }
}

#[inline(always)]
fn each(row: &mut [u32], f: impl Fn(u32) -> u32) {
    for chunk in row.chunks_exact_mut(32) {
        for x in chunk {
            *x = f(*x);
        }
    }
}

/// Half precision to single precision, exactly, NaN payloads moved up as they are.
pub(crate) fn widen(half: u16) -> u32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    if magnitude >= 0x7c00 {
        return sign | 0x7f80_0000 | (magnitude & 0x3ff) << 13;
    }
    if magnitude >= 0x400 {
        return sign | (magnitude + (112 << 10)) << 13;
    }
    // Subnormal: the value is magnitude times 2^-24, which single precision holds exactly.
    if magnitude == 0 {
        return sign;
    }
    let top = 31 - magnitude.leading_zeros();
    sign | (top + 103) << 23 | magnitude << (23 - top) & 0x7f_ffff
}

/// The float format of a result, as far as output modifiers go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Float {
    F16,
    F32,
    F64,
    PkF16,
    PkF32,
}

/// Where a result's bits go in the destination dword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// All of it.
    Whole,
    /// The low half; the high half stays.
    Low,
    /// The high half; the low half stays.
    High,
    /// A part, with a rule for the rest (SDWA).
    Part { shift: u8, bits: u8, unused: Unused },
}

/// What happens to a result before it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Out {
    /// Integer saturation, which the handler does.
    pub(crate) clamp: bool,
    /// Output modifiers of floats: format, multiplier (as encoded), clamp.
    pub(crate) float: Option<(Float, u8, bool)>,
    /// NaN becomes zero under clamp whatever MODE says (GFX12 has no DX10_CLAMP).
    pub(crate) nan_to_zero: bool,
    pub(crate) place: Place,
}

impl Out {
    pub(crate) const PLAIN: Out = Out {
        clamp: false,
        float: None,
        nan_to_zero: false,
        place: Place::Whole,
    };

    /// Applies the output modifiers to the temporary result, merging with the old destination.
    pub(crate) fn apply(
        &self,
        result: &mut [Row; WIDEST],
        old: *const u32,
        lanes: u32,
        rows: u8,
        mode: FloatMode,
    ) {
        let lanes = lanes as usize;
        let flat = result.as_flattened_mut();
        if let Some((float, omod, clamp)) = self.float {
            let zero_nan = self.nan_to_zero || mode.dx10_clamp();
            let scale = [1.0f64, 2.0, 4.0, 0.5][usize::from(omod & 3)];
            match float {
                Float::F32 => each(&mut flat[..lanes], |x| {
                    single(x, scale, clamp, zero_nan, mode.denorm_f32().flush_out)
                }),
                Float::PkF32 => each(&mut flat[..2 * lanes], |x| {
                    single(x, scale, clamp, zero_nan, mode.denorm_f32().flush_out)
                }),
                Float::F16 => each(&mut flat[..lanes], |x| half(x, omod, clamp, zero_nan)),
                Float::PkF16 => each(&mut flat[..lanes], |x| {
                    half(x & 0xffff, omod, clamp, zero_nan)
                        | half(x >> 16, omod, clamp, zero_nan) << 16
                }),
                Float::F64 => {
                    for lane in 0..lanes {
                        let bits = u64::from(flat[lane]) | u64::from(flat[lanes + lane]) << 32;
                        let bits = double(bits, scale, clamp, zero_nan);
                        flat[lane] = bits as u32;
                        flat[lanes + lane] = (bits >> 32) as u32;
                    }
                }
            }
        }
        let _ = rows;
        let (shift, bits, unused) = match self.place {
            Place::Whole => return,
            Place::Low => (0, 16, Unused::Preserve),
            Place::High => (16, 16, Unused::Preserve),
            Place::Part {
                shift,
                bits,
                unused,
            } => (u32::from(shift), u32::from(bits), unused),
        };
        let mask = if bits >= 32 {
            u32::MAX
        } else {
            ((1u32 << bits) - 1) << shift
        };
        for (lane, x) in flat[..lanes].iter_mut().enumerate() {
            let part = *x << shift & mask;
            *x = match unused {
                Unused::Pad => part,
                Unused::Sext => {
                    let up = 32 - shift - bits;
                    // Above the part its sign, below it zeros.
                    ((part << up) as i32 >> up) as u32
                }
                Unused::Preserve => {
                    // SAFETY: `old` is the destination's first row, of `lanes` dwords.
                    let old = unsafe { old.add(lane).read() };
                    part | old & !mask
                }
            };
        }
    }
}

fn single(bits: u32, scale: f64, clamp: bool, zero_nan: bool, flush: bool) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return if clamp && zero_nan { 0 } else { bits };
    }
    let mut out = bits;
    if scale != 1.0 {
        // Exact in double precision; one rounding.
        out = ((f64::from(value) * scale) as f32).to_bits();
        if flush && out & 0x7f80_0000 == 0 {
            out &= 0x8000_0000;
        }
    }
    if clamp { clamp_single(out) } else { out }
}

fn clamp_single(bits: u32) -> u32 {
    if bits & 0x8000_0000 != 0 {
        0
    } else {
        bits.min(0x3f80_0000)
    }
}

fn double(bits: u64, scale: f64, clamp: bool, zero_nan: bool) -> u64 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        return if clamp && zero_nan { 0 } else { bits };
    }
    let out = if scale != 1.0 {
        (value * scale).to_bits()
    } else {
        bits
    };
    match (clamp, out >> 63) {
        (false, _) => out,
        (true, 1) => 0,
        (true, _) => out.min(0x3ff0_0000_0000_0000),
    }
}

/// A half-precision result. Multiplication by a power of two is exponent arithmetic.
fn half(bits: u32, omod: u8, clamp: bool, zero_nan: bool) -> u32 {
    let bits = bits & 0xffff;
    let magnitude = bits & 0x7fff;
    if magnitude > 0x7c00 {
        return if clamp && zero_nan { 0 } else { bits };
    }
    let mut out = bits;
    if omod != 0 && magnitude != 0 && magnitude != 0x7c00 {
        let sign = bits & 0x8000;
        let exponent = (magnitude >> 10) as i32;
        let moved = exponent + [0, 1, 2, -1][usize::from(omod & 3)];
        out = if exponent == 0 || moved <= 0 {
            sign
        } else if moved >= 31 {
            sign | 0x7c00
        } else {
            sign | (moved as u32) << 10 | magnitude & 0x3ff
        };
    }
    if !clamp {
        out
    } else if out & 0x8000 != 0 {
        0
    } else {
        out.min(0x3c00)
    }
}
