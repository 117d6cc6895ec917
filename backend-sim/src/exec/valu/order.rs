//! Minimum, maximum and median of floats.
//!
//! Zeros are ordered by sign. In IEEE mode a signalling NaN source comes back quiet; otherwise a NaN loses against
//! a number, and of two NaNs the first is returned as it is.

use super::VArgs;
use super::arith::sources;
use super::float::{self, F16, F32, F64, Format, flush_if, is_nan, is_signalling, is_zero, quiet};
use super::lanes::{CHUNK, Chunk, Lane, lanes};

/// A format whose values can be compared through integers.
pub(super) trait Ordered: Format {
    /// Whether `x` is below `y`, minus zero counting as below plus zero.
    fn below(x: Self::Bits, y: Self::Bits) -> bool;
}

macro_rules! ordered {
    ($format:ident, $bits:ty, $signed:ty) => {
        impl Ordered for $format {
            #[inline(always)]
            fn below(x: $bits, y: $bits) -> bool {
                let key = |x: $bits| {
                    (x ^ ((x as $signed >> (<$bits>::BITS - 1)) as $bits >> 1)) as $signed
                };
                key(x) < key(y)
            }
        }
    };
}

ordered!(F16, u16, i16);
ordered!(F32, u32, i32);
ordered!(F64, u64, i64);

/// The smaller of two, neither a NaN.
#[inline(always)]
pub(super) fn lesser<F: Ordered>(x: F::Bits, y: F::Bits) -> F::Bits {
    if F::below(x, y) { x } else { y }
}

/// The greater of two, neither a NaN.
#[inline(always)]
pub(super) fn greater<F: Ordered>(x: F::Bits, y: F::Bits) -> F::Bits {
    if F::below(y, x) { x } else { y }
}

/// `pick` where both are numbers; else by the rules for NaN.
#[inline(always)]
fn settle<F: Ordered>(
    x: F::Bits,
    y: F::Bits,
    ieee: bool,
    pick: fn(F::Bits, F::Bits) -> F::Bits,
) -> F::Bits {
    if ieee && is_signalling::<F>(x) {
        quiet::<F>(x)
    } else if ieee && is_signalling::<F>(y) {
        quiet::<F>(y)
    } else if is_nan::<F>(y) {
        x
    } else if is_nan::<F>(x) {
        y
    } else {
        pick(x, y)
    }
}

/// Minimum with the rules for NaN.
pub(super) fn min<F: Ordered>(x: F::Bits, y: F::Bits, ieee: bool) -> F::Bits {
    settle::<F>(x, y, ieee, lesser::<F>)
}

/// Maximum with the rules for NaN.
pub(super) fn max<F: Ordered>(x: F::Bits, y: F::Bits, ieee: bool) -> F::Bits {
    settle::<F>(x, y, ieee, greater::<F>)
}

/// Median of three numbers: the greatest is set aside, and the greater of the others is the result.
#[inline(always)]
pub(super) fn median<F: Ordered>([x, y, z]: [F::Bits; 3]) -> F::Bits {
    let top = greater::<F>(greater::<F>(x, y), z);
    let zero = is_zero::<F>(top);
    let same = |v: F::Bits| (v == top) | (zero & is_zero::<F>(v));
    let last = greater::<F>(x, y);
    let second = if same(y) { greater::<F>(x, z) } else { last };
    if same(x) { greater::<F>(y, z) } else { second }
}

/// Median with the rules for NaN: of sources with a NaN, the minimum.
pub(super) fn med3<F: Ordered>([x, y, z]: [F::Bits; 3], ieee: bool) -> F::Bits {
    if [x, y, z].iter().any(|&v| is_nan::<F>(v)) {
        min::<F>(min::<F>(x, y, ieee), z, ieee)
    } else {
        median::<F>([x, y, z])
    }
}

/// `numbers` in every lane, and `any` instead if a source row has a NaN. Sources are flushed as MODE says.
///
/// # Safety
///
/// The contract of [`VArgs`] for `N` sources and a destination of format `F`.
#[inline(always)]
pub(super) unsafe fn choose<F: Ordered, const N: usize>(
    args: &VArgs,
    numbers: impl Fn([F::Bits; N]) -> F::Bits,
    any: fn([F::Bits; N], bool) -> F::Bits,
) -> u64 {
    let (n, src) = (lanes(args), sources::<N>(args));
    let denorm = F::denorm(args.mode);
    let flush = denorm.flush_in | denorm.flush_out;
    for start in (0..n).step_by(CHUNK) {
        let mut chunk = Chunk::new();
        let out = chunk.rows();
        let mut nans = 0u32;
        // SAFETY: sources and destination by the caller's contract; lanes of the chunk, all of which are written
        // before they are stored.
        unsafe {
            for i in 0..CHUNK {
                let x = src.map(|row| flush_if::<F>(flush, F::Bits::get(row, start + i, n)));
                for &v in &x {
                    nans |= is_nan::<F>(v) as u32;
                }
                numbers(x).put(out, i, CHUNK);
            }
            if nans == 0 {
                chunk.store::<F::Bits>(args.dst, start, n);
            } else {
                choose_any::<F, N>(args, start, any);
            }
        }
    }
    0
}

#[cold]
#[inline(never)]
unsafe fn choose_any<F: Ordered, const N: usize>(
    args: &VArgs,
    start: usize,
    any: fn([F::Bits; N], bool) -> F::Bits,
) {
    let (n, src) = (lanes(args), sources::<N>(args));
    let (denorm, ieee) = (F::denorm(args.mode), args.mode.ieee());
    let flush = denorm.flush_in | denorm.flush_out;
    // SAFETY: the caller's contract.
    unsafe {
        for i in start..start + CHUNK {
            let x = src.map(|row| flush_if::<F>(flush, F::Bits::get(row, i, n)));
            any(x, ieee).put(args.dst, i, n);
        }
    }
}

/// The first NaN of the sources, or `pick` of them: `minimum` and `maximum` of IEEE 754-2019. A NaN result still has
/// to be quieted.
#[inline(always)]
pub(super) fn propagating<F: Ordered>(
    x: F::Bits,
    y: F::Bits,
    pick: impl Fn(F::Bits, F::Bits) -> F::Bits,
) -> F::Bits {
    let result = pick(x, y);
    let result = if is_nan::<F>(y) {
        float::default_nan::<F>()
    } else {
        result
    };
    if is_nan::<F>(x) {
        float::default_nan::<F>()
    } else {
        result
    }
}
