//! Float operations over rows, in every rounding and denormal mode.
//!
//! An operation is given twice: by host arithmetic, which rounds to nearest even and keeps subnormals, and by
//! [`soft`](super::soft) arithmetic for the other roundings. The first is vectorised, with flushing around it where
//! MODE asks for it. NaN results are found by one test per chunk of lanes and then put right out of line.

use super::VArgs;
use super::float::{self, F16, F32, F64, Format, is_nan, nan_result};
use super::lanes::{CHUNK, Chunk, Lane, lanes, map2};
use super::mode::{Denorm, Round};
use super::soft;

/// An operation in soft arithmetic: sources without NaN, `None` if invalid.
pub(super) type Exact<const N: usize> = fn([u64; N], Round) -> Option<u64>;

/// How a float instruction treats its operands: MODE as the instruction sees it.
#[derive(Clone, Copy)]
pub(super) struct Env {
    pub round: Round,
    pub denorm: Denorm,
}

impl Env {
    /// What MODE says for format `F`.
    #[inline(always)]
    pub fn of<F: Format>(args: &VArgs) -> Self {
        Self {
            round: F::round(args.mode),
            denorm: F::denorm(args.mode),
        }
    }

    /// To nearest even, whatever MODE says: the transcendental unit does not read FP_ROUND.
    #[inline(always)]
    pub fn nearest(self) -> Self {
        Self {
            round: Round::NearestEven,
            ..self
        }
    }

    /// Subnormals flushed, whatever MODE says.
    #[inline(always)]
    pub fn flushing(self) -> Self {
        Self {
            denorm: Denorm {
                flush_in: true,
                flush_out: true,
            },
            ..self
        }
    }
}

#[inline(always)]
unsafe fn load<F: Format, const N: usize>(
    src: [*const u32; N],
    i: usize,
    n: usize,
) -> [F::Bits; N] {
    // SAFETY: lane i of each source, by the caller's contract.
    src.map(|row| unsafe { F::Bits::get(row, i, n) })
}

/// Runs `f` over `n` lanes and puts NaN results right.
#[inline(always)]
unsafe fn run<F: Format, const N: usize>(
    dst: *mut u32,
    src: [*const u32; N],
    n: usize,
    f: impl Fn([F::Bits; N]) -> F::Bits,
) {
    for start in (0..n).step_by(CHUNK) {
        let mut chunk = Chunk::new();
        let out = chunk.rows();
        let mut nans = 0u32;
        // SAFETY: sources and destination by the caller's contract; lanes of the chunk, all of which are written
        // before they are stored.
        unsafe {
            for i in 0..CHUNK {
                let result = f(load::<F, N>(src, start + i, n));
                nans |= is_nan::<F>(result) as u32;
                result.put(out, i, CHUNK);
            }
            if nans != 0 {
                settle_nans::<F, N>(dst, chunk, src, start, n);
            } else {
                chunk.store::<F::Bits>(dst, start, n);
            }
        }
    }
}

/// Stores a chunk of results with what the sources call for in the place of NaNs.
#[cold]
#[inline(never)]
unsafe fn settle_nans<F: Format, const N: usize>(
    dst: *mut u32,
    mut chunk: Chunk,
    src: [*const u32; N],
    start: usize,
    n: usize,
) {
    let out = chunk.rows();
    // SAFETY: as in `run`.
    unsafe {
        for i in 0..CHUNK {
            if is_nan::<F>(F::Bits::get(out, i, CHUNK)) {
                nan_result::<F, N>(load::<F, N>(src, start + i, n)).put(out, i, CHUNK);
            }
        }
        chunk.store::<F::Bits>(dst, start, n);
    }
}

/// One lane in soft arithmetic.
pub(super) fn exact_lane<F: Format, const N: usize>(
    x: [F::Bits; N],
    env: Env,
    exact: Exact<N>,
) -> F::Bits {
    if x.iter().any(|&x| is_nan::<F>(x)) {
        return nan_result::<F, N>(x);
    }
    let x = x.map(|x| F::to_u64(float::flush_if::<F>(env.denorm.flush_in, x)));
    match exact(x, env.round) {
        Some(bits) => float::flush_if::<F>(env.denorm.flush_out, F::from_u64(bits)),
        None => float::default_nan::<F>(),
    }
}

#[cold]
#[inline(never)]
unsafe fn run_exact<F: Format, const N: usize>(
    dst: *mut u32,
    src: [*const u32; N],
    n: usize,
    env: Env,
    exact: Exact<N>,
) {
    // SAFETY: the caller's contract.
    unsafe { run::<F, N>(dst, src, n, |x| exact_lane::<F, N>(x, env, exact)) }
}

/// An operation over `n` lanes of `N` sources.
///
/// `host` computes it with host arithmetic; `exact` in soft arithmetic.
///
/// # Safety
///
/// Each source points to readable rows, and `dst` to writable rows, of `n` lanes for format `F`; `n` is at most 128,
/// for 64-bit formats at most 64. A row of `dst` is a row of a source or disjoint from it.
#[inline(always)]
pub(super) unsafe fn float<F: Format, const N: usize>(
    dst: *mut u32,
    src: [*const u32; N],
    n: usize,
    env: Env,
    host: impl Fn([F::Bits; N]) -> F::Bits,
    exact: Exact<N>,
) -> u64 {
    let Denorm {
        flush_in,
        flush_out,
    } = env.denorm;
    // SAFETY: the caller's contract.
    unsafe {
        if env.round != Round::NearestEven {
            run_exact::<F, N>(dst, src, n, env, exact);
        } else if flush_in | flush_out {
            run::<F, N>(dst, src, n, |x| {
                let x = x.map(|x| float::flush_if::<F>(flush_in, x));
                float::flush_if::<F>(flush_out, host(x))
            });
        } else {
            run::<F, N>(dst, src, n, host);
        }
    }
    0
}

/// [`float`] over the lanes and first `N` sources of an instruction, in its mode.
///
/// # Safety
///
/// The contract of [`VArgs`] for sources and destination of format `F`.
#[inline(always)]
pub(super) unsafe fn rows<F: Format, const N: usize>(
    args: &VArgs,
    host: impl Fn([F::Bits; N]) -> F::Bits,
    exact: Exact<N>,
) -> u64 {
    // SAFETY: the caller's contract.
    unsafe {
        float::<F, N>(
            args.dst,
            sources(args),
            lanes(args),
            Env::of::<F>(args),
            host,
            exact,
        )
    }
}

/// The first `N` sources.
#[inline(always)]
pub(super) fn sources<const N: usize>(args: &VArgs) -> [*const u32; N] {
    core::array::from_fn(|i| args.src[i])
}

/// A unary operation that rounds to nearest in every mode.
///
/// # Safety
///
/// The contract of [`VArgs`] for source and destination of format `F`.
#[inline(always)]
pub(super) unsafe fn nearest<F: Format>(
    args: &VArgs,
    env: Env,
    host: impl Fn(F::Bits) -> F::Bits,
) -> u64 {
    let Denorm {
        flush_in,
        flush_out,
    } = env.denorm;
    // SAFETY: the caller's contract.
    unsafe {
        run::<F, 1>(args.dst, sources(args), lanes(args), |[x]| {
            float::flush_if::<F>(flush_out, host(float::flush_if::<F>(flush_in, x)))
        });
    }
    0
}

/// `src0 * 2^src1`. `host` rounds to nearest and need not care about NaN.
///
/// # Safety
///
/// The contract of [`VArgs`] for a source and a destination of format `F` and an exponent of type `E`.
#[inline(always)]
pub(super) unsafe fn ldexp<F: Format, E: Lane + Into<i32>>(
    args: &VArgs,
    host: impl Fn(F::Bits, i32) -> F::Bits,
) -> u64 {
    let Env {
        round,
        denorm: Denorm {
            flush_in,
            flush_out,
        },
    } = Env::of::<F>(args);
    let lane = |x: F::Bits, result: F::Bits| {
        let result = float::flush_if::<F>(flush_out, result);
        if is_nan::<F>(x) {
            float::quiet::<F>(x)
        } else {
            result
        }
    };
    let flushed = |x: F::Bits| float::flush_if::<F>(flush_in, x);
    // SAFETY: the caller's contract.
    unsafe {
        if round == Round::NearestEven {
            map2(args, |x: F::Bits, e: E| lane(x, host(flushed(x), e.into())))
        } else {
            map2(args, |x: F::Bits, e: E| {
                lane(
                    x,
                    F::from_u64(soft::scale::<F, F>(F::to_u64(flushed(x)), e.into(), round)),
                )
            })
        }
    }
}

/// Both halves of packed f16, as [`rows`].
///
/// # Safety
///
/// The contract of [`VArgs`] for packed sources and destination.
#[inline(always)]
pub(super) unsafe fn packed<const N: usize>(
    args: &VArgs,
    host: impl Fn([u16; N]) -> u16,
    exact: Exact<N>,
) -> u64 {
    let (n, env, src) = (lanes(args), Env::of::<F16>(args), sources::<N>(args));
    let Denorm {
        flush_in,
        flush_out,
    } = env.denorm;
    // SAFETY: the caller's contract.
    unsafe {
        if env.round != Round::NearestEven {
            run_packed(args.dst, src, n, |x| exact_lane::<F16, N>(x, env, exact));
        } else if flush_in | flush_out {
            run_packed(args.dst, src, n, |x| {
                let x = x.map(|x| float::flush_if::<F16>(flush_in, x));
                float::flush_if::<F16>(flush_out, host(x))
            });
        } else {
            run_packed(args.dst, src, n, host);
        }
    }
    0
}

/// [`run`] for both halves of packed f16.
#[inline(always)]
unsafe fn run_packed<const N: usize>(
    dst: *mut u32,
    src: [*const u32; N],
    n: usize,
    f: impl Fn([u16; N]) -> u16,
) {
    for start in (0..n).step_by(CHUNK) {
        let mut chunk = Chunk::new();
        let out = chunk.rows();
        let mut nans = 0u32;
        // SAFETY: as in `run`.
        unsafe {
            for i in 0..CHUNK {
                let [low, high] = halves(src, start + i);
                let (low, high) = (f(low), f(high));
                nans |= is_nan::<F16>(low) as u32;
                nans |= is_nan::<F16>(high) as u32;
                *out.add(i) = low as u32 | (high as u32) << 16;
            }
            if nans != 0 {
                settle_packed_nans(dst, chunk, src, start, n);
            } else {
                chunk.store::<u32>(dst, start, n);
            }
        }
    }
}

/// The low halves, then the high halves, of lane `i` of the sources.
#[inline(always)]
unsafe fn halves<const N: usize>(src: [*const u32; N], i: usize) -> [[u16; N]; 2] {
    let (mut low, mut high) = ([0; N], [0; N]);
    for (s, row) in src.into_iter().enumerate() {
        // SAFETY: lane i of each source, by the caller's contract.
        let word = unsafe { *row.add(i) };
        (low[s], high[s]) = (word as u16, (word >> 16) as u16);
    }
    [low, high]
}

#[cold]
#[inline(never)]
unsafe fn settle_packed_nans<const N: usize>(
    dst: *mut u32,
    mut chunk: Chunk,
    src: [*const u32; N],
    start: usize,
    n: usize,
) {
    let out = chunk.rows();
    // SAFETY: as in `run`.
    unsafe {
        for i in 0..CHUNK {
            for (h, sources) in halves(src, start + i).into_iter().enumerate() {
                let shift = 16 * h;
                if is_nan::<F16>((*out.add(i) >> shift) as u16) {
                    let nan = nan_result::<F16, N>(sources) as u32;
                    *out.add(i) = (*out.add(i) & !(0xffff << shift)) | nan << shift;
                }
            }
        }
        chunk.store::<u32>(dst, start, n);
    }
}

/// The host and soft forms of the basic operations.
pub(super) mod ops {
    use super::super::levels::Host;
    use super::super::soft;
    use super::*;

    /// A format with host arithmetic.
    pub(in super::super) trait HostFormat: Format {
        fn add(x: Self::Bits, y: Self::Bits) -> Self::Bits;
        fn mul(x: Self::Bits, y: Self::Bits) -> Self::Bits;
        fn fma<H: Host>(x: Self::Bits, y: Self::Bits, z: Self::Bits) -> Self::Bits;
    }

    impl HostFormat for F32 {
        #[inline(always)]
        fn add(x: u32, y: u32) -> u32 {
            (f32::from_bits(x) + f32::from_bits(y)).to_bits()
        }
        #[inline(always)]
        fn mul(x: u32, y: u32) -> u32 {
            (f32::from_bits(x) * f32::from_bits(y)).to_bits()
        }
        #[inline(always)]
        fn fma<H: Host>(x: u32, y: u32, z: u32) -> u32 {
            H::fma_f32(f32::from_bits(x), f32::from_bits(y), f32::from_bits(z)).to_bits()
        }
    }

    impl HostFormat for F64 {
        #[inline(always)]
        fn add(x: u64, y: u64) -> u64 {
            (f64::from_bits(x) + f64::from_bits(y)).to_bits()
        }
        #[inline(always)]
        fn mul(x: u64, y: u64) -> u64 {
            (f64::from_bits(x) * f64::from_bits(y)).to_bits()
        }
        #[inline(always)]
        fn fma<H: Host>(x: u64, y: u64, z: u64) -> u64 {
            H::fma_f64(f64::from_bits(x), f64::from_bits(y), f64::from_bits(z)).to_bits()
        }
    }

    /// A sum or product of two f16 rounds correctly through f32, which has 24 >= 2 * 11 + 2 bits. A fused sum of
    /// an exact product and an addend is rounded to odd in f32 first.
    impl HostFormat for F16 {
        #[inline(always)]
        fn add(x: u16, y: u16) -> u16 {
            float::f32_to_f16(float::f16_to_f32(x) + float::f16_to_f32(y))
        }
        #[inline(always)]
        fn mul(x: u16, y: u16) -> u16 {
            float::f32_to_f16(float::f16_to_f32(x) * float::f16_to_f32(y))
        }
        #[inline(always)]
        fn fma<H: Host>(x: u16, y: u16, z: u16) -> u16 {
            // Products have 22 bits, and everything here is a multiple of 2^-48 below 2^33: two-sum is exact.
            let product = float::f16_to_f32(x) * float::f16_to_f32(y);
            let addend = float::f16_to_f32(z);
            let sum = product + addend;
            let part = sum - product;
            let error = (product - (sum - part)) + (addend - part);
            float::f32_to_f16(float::odd_f32(sum, error))
        }
    }

    #[inline(always)]
    fn neg<F: Format>(x: F::Bits) -> F::Bits {
        x ^ F::SIGN
    }

    /// `x + y`.
    ///
    /// # Safety
    ///
    /// The contract of [`VArgs`] for format `F`, as for every operation here.
    #[inline(always)]
    pub(in super::super) unsafe fn add<F: HostFormat>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            rows::<F, 2>(
                args,
                |[x, y]| F::add(x, y),
                |[x, y], round| soft::add::<F>(x, y, round),
            )
        }
    }

    /// `x - y`. A NaN `y` keeps its sign.
    #[inline(always)]
    pub(in super::super) unsafe fn sub<F: HostFormat>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            rows::<F, 2>(
                args,
                |[x, y]| F::add(x, neg::<F>(y)),
                |[x, y], round| soft::add::<F>(x, y ^ F::to_u64(F::SIGN), round),
            )
        }
    }

    /// `y - x`.
    #[inline(always)]
    pub(in super::super) unsafe fn subrev<F: HostFormat>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            rows::<F, 2>(
                args,
                |[x, y]| F::add(y, neg::<F>(x)),
                |[x, y], round| soft::add::<F>(y, x ^ F::to_u64(F::SIGN), round),
            )
        }
    }

    /// `x * y`.
    #[inline(always)]
    pub(in super::super) unsafe fn mul<F: HostFormat>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            rows::<F, 2>(
                args,
                |[x, y]| F::mul(x, y),
                |[x, y], round| soft::mul::<F>(x, y, round),
            )
        }
    }

    /// `x * y + z`, rounded once.
    #[inline(always)]
    pub(in super::super) unsafe fn fma<F: HostFormat, H: Host>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            rows::<F, 3>(
                args,
                |[x, y, z]| F::fma::<H>(x, y, z),
                |[x, y, z], round| soft::fma::<F>(x, y, z, round),
            )
        }
    }

    /// `x * y + z`, the product rounded first.
    #[inline(always)]
    pub(in super::super) unsafe fn mad<F: HostFormat>(args: &VArgs, env: Env) -> u64 {
        let flush_product = env.denorm.flush_out;
        // SAFETY: the caller's contract.
        unsafe {
            float::<F, 3>(
                args.dst,
                args.src,
                lanes(args),
                env,
                |[x, y, z]| F::add(float::flush_if::<F>(flush_product, F::mul(x, y)), z),
                |[x, y, z], round| soft::add::<F>(soft::mul::<F>(x, y, round)?, z, round),
            )
        }
    }
}
