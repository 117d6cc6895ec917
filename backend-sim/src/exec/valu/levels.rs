//! The host instruction sets that vector handlers are compiled for.
//!
//! A handler is written once, as a [`Kernel`] generic over [`Host`], and compiled once per [`Level`]. Everything
//! that differs between levels is in `Host`, and must give the same bits in each implementation.

use super::{VArgs, VHandler};
use crate::mem::raw;

/// A host instruction set. Every handler exists once per level, from one source, and gives the same bytes at each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum Level {
    /// What the compilation target guarantees (SSE2 on x86_64).
    Baseline,
    /// x86_64 with AVX2, FMA, BMI1 and BMI2. Unknown to other targets, where it is never available.
    Avx2Fma,
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
cpufeatures::new!(host_avx2_fma, "avx2", "fma", "bmi1", "bmi2");

impl Level {
    /// The best level of this host.
    pub fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        if host_avx2_fma::get() {
            return Self::Avx2Fma;
        }
        Self::Baseline
    }

    /// Whether this host can run handlers of this level.
    pub fn is_available(self) -> bool {
        self <= Self::detect()
    }
}

/// The host operations that are written differently for each level.
pub(crate) trait Host {
    /// `a * b + c`, rounded once to nearest even. NaN bits are unspecified.
    fn fma_f32(a: f32, b: f32, c: f32) -> f32;
    /// `a * b + c`, rounded once to nearest even. NaN bits are unspecified.
    fn fma_f64(a: f64, b: f64, c: f64) -> f64;
    /// Bit `i` is the top bit of `row[i]`.
    ///
    /// # Safety
    ///
    /// `row` points to `n` dwords, 32 or 64.
    unsafe fn movemask(row: *const u32, n: usize) -> u64;
    /// Whether each value is `step` above the one before it, wrapping.
    fn ascending(values: &[u32; 16], step: u32) -> bool;
    /// Whether each lane of a row is `step` above the one before it, wrapping.
    ///
    /// # Safety
    ///
    /// `row` points to `n` dwords, 32 or 64.
    unsafe fn ascending_row(row: *const u32, n: usize, step: u32) -> bool;
    /// `to += a * b` for pairs of rows in order, each rounded once to nearest even. False, with nothing written, if
    /// a result is a NaN.
    ///
    /// # Safety
    ///
    /// The numbers are of rows of `N` lanes, 32 or 64, from `rows` on, the destination's writable; it is no factor
    /// unless there is one pair alone.
    unsafe fn multiply_adds<const N: usize>(rows: *mut u32, to: u16, factors: &[[u16; 2]]) -> bool;
    /// Eight sums of 64-bit numbers, low dwords apart from high ones, and their carries.
    ///
    /// # Safety
    ///
    /// All are eight dwords, the destinations writable: read and written in any order but that what a lane's sum needs
    /// is read before it is written.
    unsafe fn add64(to: [*mut u32; 2], a: [*const u32; 2], b: [*const u32; 2]) -> u32;
    /// A hint that bytes from an address on are wanted soon. Any address will do.
    fn prefetch(from: *const u8, bytes: usize);
    /// Copies 64 bytes of simulated memory to or from a private buffer.
    ///
    /// # Safety
    ///
    /// 64 bytes are readable at `from` and writable at `to`.
    unsafe fn copy_64(from: *const u8, to: *mut u8);
}

/// What every target can do.
pub(crate) struct Portable;

impl Host for Portable {
    #[inline(always)]
    fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        // The product of two 24-bit significands is exact in f64. The sum is rounded to odd there (two-sum gives
        // its error), so that the one rounding that counts is the conversion: 53 >= 2 * 24 + 2 bits.
        let p = a as f64 * b as f64;
        let c = c as f64;
        let sum = p + c;
        let c_part = sum - p;
        let err = (p - (sum - c_part)) + (c - c_part);
        let bits = sum.to_bits();
        // False for a NaN error, which an infinite sum has.
        let inexact = (err > 0.0) | (err < 0.0);
        let away = (err > 0.0) == (sum > 0.0);
        let step = if away { 1u64 } else { u64::MAX };
        let step = if inexact & (bits & 1 == 0) { step } else { 0 };
        f64::from_bits(bits.wrapping_add(step)) as f32
    }

    #[inline(always)]
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }

    #[inline(always)]
    unsafe fn movemask(row: *const u32, n: usize) -> u64 {
        let mut mask = 0;
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        for i in (0..n).step_by(4) {
            use core::arch::x86_64::{_mm_loadu_ps, _mm_movemask_ps};
            // SAFETY: n is a multiple of 4 and the row has n dwords; SSE2 is part of the target.
            let bits = unsafe { _mm_movemask_ps(_mm_loadu_ps(row.add(i).cast())) };
            mask |= (bits as u64) << i;
        }
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        for i in 0..n {
            // SAFETY: the row has n dwords.
            mask |= ((unsafe { *row.add(i) } >> 31) as u64) << i;
        }
        mask
    }

    #[inline(always)]
    fn ascending(values: &[u32; 16], step: u32) -> bool {
        let mut differs = 0;
        for (i, &value) in values.iter().enumerate() {
            differs |= value ^ values[0].wrapping_add(step.wrapping_mul(i as u32));
        }
        differs == 0
    }

    #[inline(always)]
    unsafe fn ascending_row(row: *const u32, n: usize, step: u32) -> bool {
        let mut differs = 0;
        for i in 0..n {
            // SAFETY: the row has n dwords.
            let (value, first) = unsafe { (*row.add(i), *row) };
            differs |= value ^ first.wrapping_add(step.wrapping_mul(i as u32));
        }
        differs == 0
    }

    #[inline(always)]
    unsafe fn multiply_adds<const N: usize>(rows: *mut u32, to: u16, factors: &[[u16; 2]]) -> bool {
        let row = |number: u16| rows.cast::<f32>().wrapping_add(usize::from(number) * N);
        let mut sums = [0.0; N];
        // SAFETY: rows of N lanes, which are written only here, after all were read.
        unsafe {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = *row(to).add(i);
            }
            for &[a, b] in factors {
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = Self::fma_f32(*row(a).add(i), *row(b).add(i), *sum);
                }
            }
            let nan = sums.iter().fold(false, |any, sum| any | sum.is_nan());
            if !nan {
                row(to).copy_from_nonoverlapping(sums.as_ptr(), N);
            }
            !nan
        }
    }

    #[inline(always)]
    unsafe fn add64(to: [*mut u32; 2], a: [*const u32; 2], b: [*const u32; 2]) -> u32 {
        let mut carries = 0;
        for i in 0..8 {
            // SAFETY: the caller's word: all are eight dwords.
            unsafe {
                let (low, carry) = (*a[0].add(i)).overflowing_add(*b[0].add(i));
                let sum = u64::from(*a[1].add(i)) + u64::from(*b[1].add(i)) + u64::from(carry);
                *to[0].add(i) = low;
                *to[1].add(i) = sum as u32;
                carries |= ((sum >> 32) as u32) << i;
            }
        }
        carries
    }

    #[inline(always)]
    fn prefetch(_: *const u8, _: usize) {}

    #[inline(always)]
    unsafe fn copy_64(from: *const u8, to: *mut u8) {
        // SAFETY: the caller's word.
        unsafe { raw::copy_in(from, to, 64) }
    }
}

/// AVX2 and FMA. Used only inside [`avx2`], which enables the features.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) struct Avx2;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
impl Host for Avx2 {
    #[inline(always)]
    fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        use core::arch::x86_64::{_mm_cvtss_f32, _mm_fmadd_ss, _mm_set_ss};
        // SAFETY: kernels are instantiated with this host only inside `avx2`, whose caller has checked the level.
        unsafe { _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))) }
    }

    #[inline(always)]
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        use core::arch::x86_64::{_mm_cvtsd_f64, _mm_fmadd_sd, _mm_set_sd};
        // SAFETY: as in fma_f32.
        unsafe { _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c))) }
    }

    #[inline(always)]
    unsafe fn movemask(row: *const u32, n: usize) -> u64 {
        use core::arch::x86_64::{_mm256_loadu_ps, _mm256_movemask_ps};
        let mut mask = 0;
        for i in (0..n).step_by(8) {
            // SAFETY: n is a multiple of 8 and the row has n dwords; features as in fma_f32.
            let bits = unsafe { _mm256_movemask_ps(_mm256_loadu_ps(row.add(i).cast())) };
            mask |= (bits as u32 as u64) << i;
        }
        mask
    }

    #[inline(always)]
    fn ascending(values: &[u32; 16], step: u32) -> bool {
        use core::arch::x86_64::{
            _mm256_add_epi32, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_or_si256,
            _mm256_set1_epi32, _mm256_setr_epi32, _mm256_testz_si256, _mm256_xor_si256,
        };
        // SAFETY: both halves are inside the array; features as in fma_f32.
        unsafe {
            let step = _mm256_set1_epi32(step as i32);
            let steps = _mm256_mullo_epi32(step, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            let half = _mm256_mullo_epi32(step, _mm256_set1_epi32(8));
            let low = _mm256_add_epi32(_mm256_set1_epi32(values[0] as i32), steps);
            let high = _mm256_add_epi32(low, half);
            let low = _mm256_xor_si256(low, _mm256_loadu_si256(values.as_ptr().cast()));
            let high = _mm256_xor_si256(high, _mm256_loadu_si256(values.as_ptr().add(8).cast()));
            let differs = _mm256_or_si256(low, high);
            _mm256_testz_si256(differs, differs) != 0
        }
    }

    #[inline(always)]
    unsafe fn ascending_row(row: *const u32, n: usize, step: u32) -> bool {
        use core::arch::x86_64::{
            _mm256_add_epi32, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_or_si256,
            _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_testz_si256,
            _mm256_xor_si256,
        };
        // SAFETY: n is a multiple of 8 and the row has n dwords; features as in fma_f32.
        unsafe {
            let steps = _mm256_mullo_epi32(
                _mm256_set1_epi32(step as i32),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            );
            let eight = _mm256_set1_epi32(step.wrapping_mul(8) as i32);
            let mut expected = _mm256_add_epi32(_mm256_set1_epi32(*row as i32), steps);
            let mut differs = _mm256_setzero_si256();
            for i in (0..n).step_by(8) {
                let value = _mm256_loadu_si256(row.add(i).cast());
                differs = _mm256_or_si256(differs, _mm256_xor_si256(value, expected));
                expected = _mm256_add_epi32(expected, eight);
            }
            _mm256_testz_si256(differs, differs) != 0
        }
    }

    #[expect(
        clippy::needless_range_loop,
        reason = "the number counts in rows as well as in sums"
    )]
    #[inline(always)]
    unsafe fn multiply_adds<const N: usize>(rows: *mut u32, to: u16, factors: &[[u16; 2]]) -> bool {
        use core::arch::x86_64::{
            _CMP_UNORD_Q, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_movemask_ps,
            _mm256_or_ps, _mm256_setzero_ps, _mm256_storeu_ps,
        };
        let row = |number: u16| rows.cast::<f32>().wrapping_add(usize::from(number) * N);
        // SAFETY: rows of N lanes, which are written only here, after all were read; features as in fma_f32.
        unsafe {
            let mut sums = [_mm256_setzero_ps(); 8];
            for i in 0..N / 8 {
                sums[i] = _mm256_loadu_ps(row(to).add(i * 8));
            }
            for &[a, b] in factors {
                let (a, b) = (row(a), row(b));
                for i in 0..N / 8 {
                    let (a, b) = (_mm256_loadu_ps(a.add(i * 8)), _mm256_loadu_ps(b.add(i * 8)));
                    sums[i] = _mm256_fmadd_ps(a, b, sums[i]);
                }
            }
            let mut nan = _mm256_setzero_ps();
            for sum in &sums[..N / 8] {
                nan = _mm256_or_ps(nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(*sum, *sum));
            }
            if _mm256_movemask_ps(nan) != 0 {
                return false;
            }
            for (i, sum) in sums[..N / 8].iter().enumerate() {
                _mm256_storeu_ps(row(to).add(i * 8), *sum);
            }
            true
        }
    }

    #[inline(always)]
    unsafe fn add64(to: [*mut u32; 2], a: [*const u32; 2], b: [*const u32; 2]) -> u32 {
        use core::arch::x86_64::{
            __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpeq_epi32,
            _mm256_loadu_si256, _mm256_max_epu32, _mm256_or_si256, _mm256_set1_epi32,
            _mm256_storeu_si256, _mm256_sub_epi32,
        };
        // SAFETY: the caller's word: all are eight dwords; features as in fma_f32.
        unsafe {
            let load = |row: *const u32| _mm256_loadu_si256(row.cast());
            let (x, y) = (load(a[0]), load(b[0]));
            let low = _mm256_add_epi32(x, y);
            // All ones, which is minus one, where there is no carry.
            let none = _mm256_cmpeq_epi32(_mm256_max_epu32(low, x), low);
            let (x, y) = (load(a[1]), load(b[1]));
            let carried = _mm256_sub_epi32(none, _mm256_set1_epi32(-1));
            let high = _mm256_add_epi32(_mm256_add_epi32(x, y), carried);
            // Their top bits are the carries out of the top bits.
            let out = _mm256_andnot_si256(high, _mm256_or_si256(x, y));
            let out = _mm256_or_si256(out, _mm256_and_si256(x, y));
            _mm256_storeu_si256(to[0].cast::<__m256i>(), low);
            _mm256_storeu_si256(to[1].cast::<__m256i>(), high);
            sign_bits(out)
        }
    }

    #[inline(always)]
    fn prefetch(from: *const u8, bytes: usize) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for at in (0..bytes).step_by(64) {
            // SAFETY: prefetching reads nothing and faults nowhere.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at).cast()) };
        }
    }

    #[inline(always)]
    unsafe fn copy_64(from: *const u8, to: *mut u8) {
        // SAFETY: the caller's word; features as in fma_f32.
        unsafe { raw::copy_64_avx(from, to) }
    }
}

/// The top bits of eight dwords. Not the intrinsic, which the compiler turns into longer ways to put several results
/// together.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[target_feature(enable = "avx")]
#[inline]
fn sign_bits(dwords: core::arch::x86_64::__m256i) -> u32 {
    let bits: u32;
    // SAFETY: reads and writes nothing but the two registers.
    unsafe {
        core::arch::asm!("vmovmskps {0:e}, {1}", out(reg) bits, in(ymm_reg) dwords,
            options(pure, nomem, nostack, preserves_flags));
    }
    bits
}

/// The source of one handler, generic over the host.
pub(super) trait Kernel {
    /// Computes all lanes. Must be `#[inline(always)]`, so that it takes on the features of its caller.
    ///
    /// # Safety
    ///
    /// The contract of [`VHandler`].
    unsafe fn run<H: Host>(args: &VArgs) -> u64;
}

unsafe fn baseline<K: Kernel>(args: &VArgs) -> u64 {
    // SAFETY: the contract is the caller's.
    unsafe { K::run::<Portable>(args) }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
unsafe fn avx2<K: Kernel>(args: &VArgs) -> u64 {
    // SAFETY: the contract is the caller's.
    unsafe { K::run::<Avx2>(args) }
}

/// The kernel compiled for a level.
pub(super) fn handler_of<K: Kernel>(level: Level) -> VHandler {
    match level {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        Level::Avx2Fma => avx2::<K>,
        _ => baseline::<K>,
    }
}
