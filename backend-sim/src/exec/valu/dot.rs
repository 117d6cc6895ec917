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

#[inline(always)]
fn finish_i32(sum: i64, clamp: bool) -> i32 {
    if clamp {
        sum.clamp(i32::MIN as i64, i32::MAX as i64) as i32
    } else {
        sum as i32
    }
}

#[inline(always)]
fn finish_u32(sum: u64, clamp: bool) -> u32 {
    if clamp {
        sum.min(u32::MAX as u64) as u32
    } else {
        sum as u32
    }
}

/// Field `i` of `BITS` bits, sign-extended if asked for.
#[inline(always)]
fn field<const BITS: u32>(x: u32, i: u32, signed: bool) -> i32 {
    let up = x << (32 - BITS - BITS * i);
    if signed {
        (up as i32) >> (32 - BITS)
    } else {
        (up >> (32 - BITS)) as i32
    }
}

/// A dot product of the `32 / BITS` fields of two dwords.
#[inline(always)]
unsafe fn fields<const BITS: u32>(
    args: &VArgs,
    signed_a: bool,
    signed_b: bool,
    signed_sum: bool,
) -> u64 {
    let clamp = args.clamp;
    let products = |a: u32, b: u32| {
        let mut sum = 0;
        let mut i = 0;
        while i < 32 / BITS {
            // Two 16-bit fields of unsigned type reach beyond i32.
            sum += field::<BITS>(a, i, signed_a) as i64 * field::<BITS>(b, i, signed_b) as i64;
            i += 1;
        }
        sum
    };
    // SAFETY: the caller keeps the contract for dwords.
    unsafe {
        if signed_sum {
            map3(args, |a: u32, b: u32, c: i32| {
                finish_i32(c as i64 + products(a, b), clamp)
            })
        } else {
            map3(args, |a: u32, b: u32, c: u32| {
                finish_u32((c as i64 + products(a, b)) as u64, clamp)
            })
        }
    }
}

#[inline(always)]
pub(super) unsafe fn dot2_i32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<16>(args, true, true, true) }
}

#[inline(always)]
pub(super) unsafe fn dot2_u32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<16>(args, false, false, false) }
}

#[inline(always)]
pub(super) unsafe fn dot4_i32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<8>(args, true, true, true) }
}

#[inline(always)]
pub(super) unsafe fn dot4_u32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<8>(args, false, false, false) }
}

#[inline(always)]
pub(super) unsafe fn dot8_i32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<4>(args, true, true, true) }
}

#[inline(always)]
pub(super) unsafe fn dot8_u32(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<4>(args, false, false, false) }
}

/// The signedness of each factor comes with the instruction: bit 0 and 1 of `imm`.
#[inline(always)]
pub(super) unsafe fn dot_iu<const BITS: u32>(args: &VArgs) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { fields::<BITS>(args, args.imm & 1 != 0, args.imm & 2 != 0, true) }
}
