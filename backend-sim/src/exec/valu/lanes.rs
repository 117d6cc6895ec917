//! Loops over the lanes of a row.
//!
//! Every loop reads its sources through raw pointers and writes a local buffer, which is copied to the destination
//! at the end. The buffer cannot alias a source, so the loops vectorise without overlap checks, and a destination
//! may be one of the sources.

use core::mem::MaybeUninit;

use super::VArgs;
use super::levels::Host;

/// Most dwords one lane of a result has.
const MAX_ROWS: usize = 4;

/// A row (or rows) under construction.
type Buffer = MaybeUninit<[u32; 64 * MAX_ROWS]>;

/// A value that lies in one lane of one or more rows.
pub(super) trait Lane: Copy {
    /// Dwords per lane.
    const ROWS: usize;

    /// # Safety
    ///
    /// `row` points to `ROWS` rows of `n` lanes, readable; `i < n`.
    unsafe fn get(row: *const u32, i: usize, n: usize) -> Self;

    /// # Safety
    ///
    /// `row` points to `ROWS` rows of `n` lanes, writable; `i < n`.
    unsafe fn put(self, row: *mut u32, i: usize, n: usize);
}

macro_rules! one_row {
    ($($ty:ty, $word:ident => $from:expr, $value:ident => $to:expr;)*) => {$(
        impl Lane for $ty {
            const ROWS: usize = 1;
            #[inline(always)]
            unsafe fn get(row: *const u32, i: usize, _: usize) -> Self {
                // SAFETY: lane i of the row, by the caller's contract.
                let $word = unsafe { *row.add(i) };
                $from
            }
            #[inline(always)]
            unsafe fn put(self, row: *mut u32, i: usize, _: usize) {
                let $value = self;
                // SAFETY: lane i of the row, by the caller's contract.
                unsafe { *row.add(i) = $to }
            }
        }
    )*};
}

one_row! {
    u32, w => w, v => v;
    i32, w => w as i32, v => v as u32;
    f32, w => f32::from_bits(w), v => v.to_bits();
    u16, w => w as u16, v => v as u32;
    i16, w => w as i16, v => v as u16 as u32;
    [u16; 2], w => [w as u16, (w >> 16) as u16], v => v[0] as u32 | (v[1] as u32) << 16;
    [i16; 2], w => [w as i16, (w >> 16) as i16], v => v[0] as u16 as u32 | (v[1] as u16 as u32) << 16;
}

macro_rules! two_rows {
    ($($ty:ty, $word:ident => $from:expr, $value:ident => $to:expr;)*) => {$(
        impl Lane for $ty {
            const ROWS: usize = 2;
            #[inline(always)]
            unsafe fn get(row: *const u32, i: usize, n: usize) -> Self {
                // SAFETY: lane i of both rows, by the caller's contract.
                let $word = unsafe { *row.add(i) as u64 | (*row.add(n + i) as u64) << 32 };
                $from
            }
            #[inline(always)]
            unsafe fn put(self, row: *mut u32, i: usize, n: usize) {
                let $value = self;
                let word: u64 = $to;
                // SAFETY: lane i of both rows, by the caller's contract.
                unsafe {
                    *row.add(i) = word as u32;
                    *row.add(n + i) = (word >> 32) as u32;
                }
            }
        }
    )*};
}

two_rows! {
    u64, w => w, v => v;
    i64, w => w as i64, v => v as u64;
    f64, w => f64::from_bits(w), v => v.to_bits();
    [u32; 2], w => [w as u32, (w >> 32) as u32], v => v[0] as u64 | (v[1] as u64) << 32;
}

impl Lane for [u32; 4] {
    const ROWS: usize = 4;
    #[inline(always)]
    unsafe fn get(row: *const u32, i: usize, n: usize) -> Self {
        // SAFETY: lane i of four rows, by the caller's contract.
        unsafe {
            [
                *row.add(i),
                *row.add(n + i),
                *row.add(2 * n + i),
                *row.add(3 * n + i),
            ]
        }
    }
    #[inline(always)]
    unsafe fn put(self, row: *mut u32, i: usize, n: usize) {
        for (r, word) in self.into_iter().enumerate() {
            // SAFETY: lane i of four rows, by the caller's contract.
            unsafe { *row.add(r * n + i) = word }
        }
    }
}

/// Lanes of a row, as a value the compiler knows to be 32 or 64: loops need no remainder.
#[inline(always)]
pub(super) fn lanes(args: &VArgs) -> usize {
    debug_assert!(
        args.lanes == 32 || args.lanes == 64,
        "a row has 32 or 64 lanes, not {}",
        args.lanes
    );
    if args.lanes == 64 { 64 } else { 32 }
}

/// Builds `R` for every lane, in a buffer, and then writes it to `dst`.
///
/// # Safety
///
/// `dst` has `R::ROWS` writable rows.
#[inline(always)]
pub(super) unsafe fn build<R: Lane>(dst: *mut u32, n: usize, mut f: impl FnMut(usize) -> R) {
    let mut buffer = Buffer::uninit();
    let out = buffer.as_mut_ptr().cast::<u32>();
    for i in 0..n {
        // SAFETY: the buffer has room for MAX_ROWS rows of 64 lanes.
        unsafe { f(i).put(out, i, n) }
    }
    // SAFETY: R::ROWS * n dwords of the buffer are written above; dst by the caller's contract.
    unsafe { dst.copy_from_nonoverlapping(out, R::ROWS * n) }
}

/// `dst = f(src0)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn map1<A: Lane, R: Lane>(args: &VArgs, f: impl Fn(A) -> R) -> u64 {
    let (n, [a, _, _]) = (lanes(args), args.src);
    // SAFETY: sources and destination have the rows that their types need, by the contract.
    unsafe { build(args.dst, n, |i| f(A::get(a, i, n))) }
    0
}

/// `dst = f(src0, src1)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn map2<A: Lane, B: Lane, R: Lane>(args: &VArgs, f: impl Fn(A, B) -> R) -> u64 {
    let (n, [a, b, _]) = (lanes(args), args.src);
    // SAFETY: sources and destination have the rows that their types need, by the contract.
    unsafe { build(args.dst, n, |i| f(A::get(a, i, n), B::get(b, i, n))) }
    0
}

/// `dst = f(src0, src1, src2)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    args: &VArgs,
    f: impl Fn(A, B, C) -> R,
) -> u64 {
    let (n, [a, b, c]) = (lanes(args), args.src);
    // SAFETY: sources and destination have the rows that their types need, by the contract.
    unsafe {
        build(args.dst, n, |i| {
            f(A::get(a, i, n), B::get(b, i, n), C::get(c, i, n))
        })
    }
    0
}

/// The lane mask of a condition.
///
/// # Safety
///
/// `f` may be called with every lane below `n`.
#[inline(always)]
pub(super) unsafe fn mask_of<H: Host>(n: usize, mut f: impl FnMut(usize) -> bool) -> u64 {
    let mut buffer = Buffer::uninit();
    let out = buffer.as_mut_ptr().cast::<u32>();
    for i in 0..n {
        // SAFETY: the buffer has room for 64 lanes.
        unsafe { *out.add(i) = if f(i) { u32::MAX } else { 0 } }
    }
    // SAFETY: n dwords of the buffer are written above.
    unsafe { H::movemask(out, n) }
}

/// The lanes where `f(src0, src1)` holds.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn compare<H: Host, A: Lane, B: Lane>(
    args: &VArgs,
    f: impl Fn(A, B) -> bool,
) -> u64 {
    let (n, [a, b, _]) = (lanes(args), args.src);
    // SAFETY: sources have the rows that their types need, by the contract.
    unsafe { mask_of::<H>(n, |i| f(A::get(a, i, n), B::get(b, i, n))) }
}

/// Bit `i % 32` at index `i`: a mask is tested by AND with this row, which vectorises on every host.
static LANE_BIT: [u32; 64] = {
    let mut bits = [0; 64];
    let mut i = 0;
    while i < 64 {
        bits[i] = 1 << (i % 32);
        i += 1;
    }
    bits
};

/// Whether lane `i` of a mask is set.
#[inline(always)]
pub(super) fn lane_of(mask: u64, i: usize) -> bool {
    let half = if i < 32 {
        mask as u32
    } else {
        (mask >> 32) as u32
    };
    half & LANE_BIT[i & 63] != 0
}

/// `dst = f(mask_in, src0, src1)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn select2<A: Lane, B: Lane, R: Lane>(
    args: &VArgs,
    f: impl Fn(bool, A, B) -> R,
) -> u64 {
    let (n, [a, b, _], mask) = (lanes(args), args.src, args.mask_in);
    // SAFETY: sources and destination have the rows that their types need, by the contract.
    unsafe {
        build(args.dst, n, |i| {
            f(lane_of(mask, i), A::get(a, i, n), B::get(b, i, n))
        })
    }
    0
}

/// `(dst, mask out) = f(mask_in, src0, src1)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn carry2<H: Host>(
    args: &VArgs,
    f: impl Fn(bool, u32, u32) -> (u32, bool),
) -> u64 {
    let (n, [a, b, _], mask) = (lanes(args), args.src, args.mask_in);
    let (mut sum, mut carry) = (Buffer::uninit(), Buffer::uninit());
    let (sum, carry) = (
        sum.as_mut_ptr().cast::<u32>(),
        carry.as_mut_ptr().cast::<u32>(),
    );
    for i in 0..n {
        // SAFETY: the buffers have room for 64 lanes; sources by the contract.
        unsafe {
            let (value, out) = f(lane_of(mask, i), *a.add(i), *b.add(i));
            *sum.add(i) = value;
            *carry.add(i) = if out { u32::MAX } else { 0 };
        }
    }
    // SAFETY: n dwords of both buffers are written above; dst by the contract.
    unsafe {
        args.dst.copy_from_nonoverlapping(sum, n);
        H::movemask(carry, n)
    }
}

/// `(dst, mask out) = f(src0, src1, src2)` in every lane, for instructions where that need not be quick.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn carry3<A: Lane, B: Lane, C: Lane, R: Lane>(
    args: &VArgs,
    f: impl Fn(A, B, C) -> (R, bool),
) -> u64 {
    let (n, [a, b, c]) = (lanes(args), args.src);
    let mut mask = 0;
    // SAFETY: sources and destination have the rows that their types need, by the contract.
    unsafe {
        build(args.dst, n, |i| {
            let (value, out) = f(A::get(a, i, n), B::get(b, i, n), C::get(c, i, n));
            mask |= (out as u64) << i;
            value
        });
    }
    mask
}
