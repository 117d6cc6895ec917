//! Loops over the lanes of a row.
//!
//! Every loop reads its sources through raw pointers and writes a local [`Chunk`] of some lanes, which is copied to the
//! destination before the next lanes are read. A chunk cannot alias a source, so the loops vectorise without overlap
//! checks, and a destination may be one of the sources. It is small enough to stay in host registers.

use core::mem::MaybeUninit;

use super::VArgs;
use super::levels::Host;

/// Most dwords one lane of a result has.
const MAX_ROWS: usize = 4;

/// Lanes computed before any is stored: a divisor of every number of lanes.
pub(super) const CHUNK: usize = 32;

/// Some lanes of a row (or rows) under construction.
#[derive(Clone, Copy)]
pub(super) struct Chunk(MaybeUninit<[u32; CHUNK * MAX_ROWS]>);

impl Chunk {
    #[inline(always)]
    pub fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Rows of [`CHUNK`] lanes, as many as a result may have.
    #[inline(always)]
    pub fn rows(&mut self) -> *mut u32 {
        self.0.as_mut_ptr().cast()
    }

    /// Copies the chunk to the lanes from `start` on.
    ///
    /// # Safety
    ///
    /// All lanes of an `R` were written; `dst` has as many rows of `n` lanes, writable; `start + CHUNK <= n`.
    #[inline(always)]
    pub unsafe fn store<R: Lane>(&mut self, dst: *mut u32, start: usize, n: usize) {
        for row in 0..R::ROWS {
            // SAFETY: the caller's word on both.
            unsafe {
                let from = self.rows().add(row * CHUNK);
                dst.add(row * n + start)
                    .copy_from_nonoverlapping(from, CHUNK);
            }
        }
    }
}

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

/// Writes `f(lane)` to every lane of `dst`. What `f` reads of a lane is read before that lane is written.
///
/// # Safety
///
/// `dst` has `R::ROWS` writable rows.
#[inline(always)]
pub(super) unsafe fn build<R: Lane>(dst: *mut u32, n: usize, mut f: impl FnMut(usize) -> R) {
    for start in (0..n).step_by(CHUNK) {
        let mut chunk = Chunk::new();
        let out = chunk.rows();
        for i in 0..CHUNK {
            // SAFETY: a lane of the chunk.
            unsafe { f(start + i).put(out, i, CHUNK) }
        }
        // SAFETY: all lanes are written above; dst by the caller's contract.
        unsafe { chunk.store::<R>(dst, start, n) }
    }
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
    let mut mask = 0;
    for start in (0..n).step_by(CHUNK) {
        let mut chunk = Chunk::new();
        let out = chunk.rows();
        // SAFETY: lanes of the chunk, all of which are written before they are read.
        unsafe {
            for i in 0..CHUNK {
                *out.add(i) = if f(start + i) { u32::MAX } else { 0 };
            }
            mask |= H::movemask(out, CHUNK) << start;
        }
    }
    mask
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

/// Bit `i` at index `i`: a mask is tested by AND with this row, which vectorises on every host.
static LANE_BIT: [u32; CHUNK] = {
    let mut bits = [0; CHUNK];
    let mut i = 0;
    while i < CHUNK {
        bits[i] = 1 << i;
        i += 1;
    }
    bits
};

/// Whether lane `i` of a mask is set.
#[inline(always)]
pub(super) fn lane_of(mask: u64, i: usize) -> bool {
    // The shift is the same for a whole chunk.
    (mask >> (i / CHUNK * CHUNK)) as u32 & LANE_BIT[i % CHUNK] != 0
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
    let mut out = 0;
    for start in (0..n).step_by(CHUNK) {
        let (mut sums, mut carries) = (Chunk::new(), Chunk::new());
        let (sum, carry) = (sums.rows(), carries.rows());
        // SAFETY: lanes of the chunks, all of which are written before they are read; sources and destination by
        // the contract.
        unsafe {
            for i in 0..CHUNK {
                let at = start + i;
                let (value, over) = f(lane_of(mask, at), *a.add(at), *b.add(at));
                *sum.add(i) = value;
                *carry.add(i) = if over { u32::MAX } else { 0 };
            }
            sums.store::<u32>(args.dst, start, n);
            out |= H::movemask(carry, CHUNK) << start;
        }
    }
    out
}

/// `(dst, mask out) = f(src0, src1, src2)` in every lane.
///
/// # Safety
///
/// The contract of [`VArgs`], for these types.
#[inline(always)]
pub(super) unsafe fn quick_carry3<H: Host, A: Lane, B: Lane, C: Lane, R: Lane>(
    args: &VArgs,
    f: impl Fn(A, B, C) -> (R, bool),
) -> u64 {
    let (n, [a, b, c]) = (lanes(args), args.src);
    let mut mask = 0;
    for start in (0..n).step_by(CHUNK) {
        let (mut values, mut carries) = (Chunk::new(), Chunk::new());
        let (value, carry) = (values.rows(), carries.rows());
        // SAFETY: lanes of the chunks, all of which are written before they are read; sources and destination by
        // the contract.
        unsafe {
            for i in 0..CHUNK {
                let at = start + i;
                let (result, over) = f(A::get(a, at, n), B::get(b, at, n), C::get(c, at, n));
                result.put(value, i, CHUNK);
                *carry.add(i) = if over { u32::MAX } else { 0 };
            }
            values.store::<R>(args.dst, start, n);
            mask |= H::movemask(carry, CHUNK) << start;
        }
    }
    mask
}

/// [`quick_carry3`], for instructions where that need not be quick.
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
