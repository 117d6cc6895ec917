//! Dot products.
//!
//! Integer sums wrap, or saturate under clamp after the exact sum. Float sums add the products one after the other,
//! lowest first, to the accumulator, each step fused and rounded once: the order of AMD's pseudocode.

use super::VArgs;
use super::arith::{Env, exact_lane, ops::HostFormat};
use super::float::{F16, F32, Format, bf16_to_f32, f16_to_f32, flush_if, is_nan, nan_result};
use super::lanes::map3;
use super::levels::Host;
use super::mode::{Denorm, Round};
use super::narrow::Narrow;
use super::soft;

/// `c + a0 * b0 + a1 * b1` in f32, where a and b widen exactly.
#[inline(always)]
unsafe fn dot2_f32<H: Host>(args: &VArgs, wide: impl Fn(u16) -> u32) -> u64 {
    let env = Env::of::<F32>(args);
    let dot = |a: [u16; 2], b: [u16; 2], c: u32, step: fn(Env, [u32; 3]) -> u32| {
        let low = step(env, [wide(a[0]), wide(b[0]), c]);
        step(env, [wide(a[1]), wide(b[1]), low])
    };
    // SAFETY: the caller keeps the contract for packed 16-bit sources and f32.
    unsafe {
        if env.round == Round::NearestEven {
            map3(args, |a, b, c| dot(a, b, c, fma_nearest::<H>))
        } else {
            map3(args, |a, b, c| dot(a, b, c, fma_exact))
        }
    }
}

/// A fused step in f32, rounded to nearest, with the mode's denormals and the rules for NaN.
#[inline(always)]
pub(super) fn fma_nearest<H: Host>(env: Env, source: [u32; 3]) -> u32 {
    let Denorm {
        flush_in,
        flush_out,
    } = env.denorm;
    let [a, b, c] = source.map(|v| flush_if::<F32>(flush_in, v));
    let result = flush_if::<F32>(flush_out, F32::fma::<H>(a, b, c));
    if is_nan::<F32>(result) {
        nan_result::<F32, 3>(source)
    } else {
        result
    }
}

/// As [`fma_nearest`], in the mode's rounding.
pub(super) fn fma_exact(env: Env, source: [u32; 3]) -> u32 {
    exact_lane::<F32, 3>(source, env, |[x, y, z], round| {
        soft::fma::<F32>(x, y, z, round)
    })
}

/// `c + a0 * b0 + a1 * b1` of f16 in f32.
#[inline(always)]
pub(super) unsafe fn dot2_f32_f16<H: Host>(args: &VArgs) -> u64 {
    let flush = F16::denorm(args.mode).flush_in;
    // SAFETY: the caller's contract.
    unsafe { dot2_f32::<H>(args, |h| f16_to_f32(flush_if::<F16>(flush, h)).to_bits()) }
}

/// `c + a0 * b0 + a1 * b1` of bf16 in f32.
#[inline(always)]
pub(super) unsafe fn dot2_f32_bf16<H: Host>(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { dot2_f32::<H>(args, |h| bf16_to_f32(h).to_bits()) }
}

/// The sum of four products of eight-bit floats, and `c`, in f32.
#[inline(always)]
pub(super) unsafe fn dot4_f32<H: Host>(args: &VArgs, left: Narrow, right: Narrow) -> u64 {
    let env = Env::of::<F32>(args);
    let dot = |a: u32, b: u32, c: u32, step: fn(Env, [u32; 3]) -> u32| {
        (0..4).fold(c, |sum, i| {
            let byte = |x: u32| (x >> (8 * i)) as u16 & 0xff;
            step(env, [left.decode(byte(a)), right.decode(byte(b)), sum])
        })
    };
    // SAFETY: the caller keeps the contract for u32 and f32.
    unsafe {
        if env.round == Round::NearestEven {
            map3(args, |a, b, c| dot(a, b, c, fma_nearest::<H>))
        } else {
            map3(args, |a, b, c| dot(a, b, c, fma_exact))
        }
    }
}

/// `c + a0 * b0 + a1 * b1` of f16, each step fused in f16.
#[inline(always)]
pub(super) unsafe fn dot2_f16_f16(args: &VArgs) -> u64 {
    let env = Env::of::<F16>(args);
    let step = |x: u16, y: u16, z: u16| {
        exact_lane::<F16, 3>([x, y, z], env, |[x, y, z], round| {
            soft::fma::<F16>(x, y, z, round)
        })
    };
    // SAFETY: the caller keeps the contract for packed f16 and f16.
    unsafe {
        map3(args, |a: [u16; 2], b: [u16; 2], c: u16| {
            step(a[1], b[1], step(a[0], b[0], c))
        })
    }
}

/// `c + a0 * b0 + a1 * b1` of bf16, each step fused in bf16.
#[inline(always)]
pub(super) unsafe fn dot2_bf16_bf16(args: &VArgs) -> u64 {
    use super::float::Bf16;
    let env = Env::of::<Bf16>(args);
    let step = |x: u16, y: u16, z: u16| {
        exact_lane::<Bf16, 3>([x, y, z], env, |[x, y, z], round| {
            soft::fma::<Bf16>(x, y, z, round)
        })
    };
    // SAFETY: the caller keeps the contract for packed bf16 and bf16.
    unsafe {
        map3(args, |a: [u16; 2], b: [u16; 2], c: u16| {
            step(a[1], b[1], step(a[0], b[0], c))
        })
    }
}

/// Field `i` of `BITS` bits, sign-extended if `SIGNED`.
#[inline(always)]
fn field<const BITS: u32, const SIGNED: bool>(x: u32, i: u32) -> i32 {
    let up = x << (32 - BITS - BITS * i);
    if SIGNED {
        (up as i32) >> (32 - BITS)
    } else {
        (up >> (32 - BITS)) as i32
    }
}

/// The sum of products of the fields of two dwords, and `c`, modulo 2^32.
#[inline(always)]
fn wrapping<const BITS: u32, const A: bool, const B: bool>(a: u32, b: u32, c: u32) -> u32 {
    (0..32 / BITS).fold(c, |sum, i| {
        let product = field::<BITS, A>(a, i).wrapping_mul(field::<BITS, B>(b, i));
        sum.wrapping_add(product as u32)
    })
}

/// The sum of products of the fields of two dwords.
#[inline(always)]
fn exact<const BITS: u32, const A: bool, const B: bool>(a: u32, b: u32) -> i64 {
    // Two products of unsigned 16-bit fields reach beyond i32.
    (0..32 / BITS).fold(0, |sum, i| {
        sum + field::<BITS, A>(a, i) as i64 * field::<BITS, B>(b, i) as i64
    })
}

/// A dot product with a signed accumulator.
#[inline(always)]
unsafe fn signed<const BITS: u32, const A: bool, const B: bool>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for dwords.
    unsafe {
        if args.clamp {
            let (min, max) = (i32::MIN as i64, i32::MAX as i64);
            map3(args, |a: u32, b: u32, c: i32| {
                (c as i64 + exact::<BITS, A, B>(a, b)).clamp(min, max) as i32
            })
        } else {
            map3(args, wrapping::<BITS, A, B>)
        }
    }
}

/// A dot product of unsigned fields and accumulator.
#[inline(always)]
unsafe fn unsigned<const BITS: u32>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for dwords.
    unsafe {
        if args.clamp {
            let max = u32::MAX as i64;
            map3(args, |a: u32, b: u32, c: u32| {
                (c as i64 + exact::<BITS, false, false>(a, b)).min(max) as u32
            })
        } else {
            map3(args, wrapping::<BITS, false, false>)
        }
    }
}

/// The integer dot products, by width and signedness of the fields.
pub(super) mod integer {
    use super::*;

    #[inline(always)]
    pub(in super::super) unsafe fn i<const BITS: u32>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { signed::<BITS, true, true>(args) }
    }

    #[inline(always)]
    pub(in super::super) unsafe fn u<const BITS: u32>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { unsigned::<BITS>(args) }
    }

    /// The signedness of each factor comes with the instruction: bits 0 and 1 of `imm`.
    #[inline(always)]
    pub(in super::super) unsafe fn iu<const BITS: u32>(args: &VArgs) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            match args.imm & 3 {
                0 => signed::<BITS, false, false>(args),
                1 => signed::<BITS, true, false>(args),
                2 => signed::<BITS, false, true>(args),
                _ => signed::<BITS, true, true>(args),
            }
        }
    }
}
