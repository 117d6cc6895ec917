//! VOP3P: packed 16-bit and 32-bit operations, mixed precision, dot products.
//!
//! Sources of packed operations come with both halves selected and negated. Sources of `mix` operations come as f32.

use super::arith::ops::HostFormat;
use super::arith::{Env, Exact, exact_lane, float, packed, sources};
use super::convert::f32_to_f16_in;
use super::dot::{self, fma_exact, fma_nearest};
use super::float::{F16, F32, Format, flush_if, is_nan, nan_result};
use super::lanes::{lanes, map2, map3};
use super::levels::Host;
use super::mode::Round;
use super::narrow::Narrow;
use super::order::{greater, lesser, max, min};
use super::vop2::saturating;
use super::{VArgs, soft};

/// Two f32 in two rows each: one long row.
#[inline(always)]
unsafe fn pair32<const N: usize>(
    args: &VArgs,
    host: impl Fn([u32; N]) -> u32,
    exact: Exact<N>,
) -> u64 {
    // SAFETY: the caller keeps the contract for packed f32, two rows that lie one after the other.
    unsafe {
        float::<F32, N>(
            args.dst,
            sources(args),
            2 * lanes(args),
            Env::of::<F32>(args),
            host,
            exact,
        )
    }
}

/// An operation on both halves.
#[inline(always)]
fn each<T: Copy, R>(x: [T; 2], y: [T; 2], f: impl Fn(T, T) -> R) -> [R; 2] {
    [f(x[0], y[0]), f(x[1], y[1])]
}

/// A 16-bit operation on both halves, saturating under clamp.
#[inline(always)]
unsafe fn saturating_pair<T: Copy>(
    args: &VArgs,
    wrap: impl Fn(T, T) -> T,
    saturate: impl Fn(T, T) -> T,
) -> u64
where
    [T; 2]: super::lanes::Lane,
{
    // SAFETY: the caller keeps the contract for packed 16-bit integers.
    unsafe {
        saturating(
            args,
            |x: [T; 2], y| each(x, y, &wrap),
            |x, y| each(x, y, &saturate),
        )
    }
}

/// `f32_to_f16(x * y + z)`: two roundings, each in its own mode.
#[inline(always)]
unsafe fn fma_mix_f16<H: Host>(args: &VArgs) -> u64 {
    let env = Env::of::<F32>(args);
    let to_f16 = F16::round(args.mode);
    // SAFETY: the caller keeps the contract for f32 and f16.
    unsafe {
        if env.round == Round::NearestEven && to_f16 == Round::NearestEven {
            map3(args, |x, y, z| {
                f32_to_f16_in(args, fma_nearest::<H>(env, [x, y, z]), Round::NearestEven)
            })
        } else {
            map3(args, |x, y, z| {
                f32_to_f16_in(args, fma_exact(env, [x, y, z]), to_f16)
            })
        }
    }
}

/// As [`fma_mix_f16`], with the product rounded too.
#[inline(always)]
unsafe fn mad_mix_f16(args: &VArgs) -> u64 {
    let env = Env::of::<F32>(args).flushing();
    let to_f16 = F16::round(args.mode);
    // SAFETY: the caller keeps the contract for f32 and f16.
    unsafe {
        map3(args, |x, y, z| {
            let sum = exact_lane::<F32, 3>([x, y, z], env, |[x, y, z], round| {
                soft::add::<F32>(soft::mul::<F32>(x, y, round)?, z, round)
            });
            f32_to_f16_in(args, sum, to_f16)
        })
    }
}

/// Minimum or maximum of both halves.
#[inline(always)]
unsafe fn choose_pair(
    args: &VArgs,
    numbers: impl Fn(u16, u16) -> u16,
    any: fn(u16, u16, bool) -> u16,
) -> u64 {
    let (denorm, ieee) = (F16::denorm(args.mode), args.mode.ieee());
    let flush = denorm.flush_in | denorm.flush_out;
    let half = |x: u16, y: u16| {
        let [x, y] = [x, y].map(|v| flush_if::<F16>(flush, v));
        if is_nan::<F16>(x) | is_nan::<F16>(y) {
            any(x, y, ieee)
        } else {
            numbers(x, y)
        }
    };
    // SAFETY: the caller keeps the contract for packed f16.
    unsafe { map2(args, |x: [u16; 2], y: [u16; 2]| each(x, y, half)) }
}

/// `minimum` or `maximum` of both halves: NaN if either source is.
#[inline(always)]
unsafe fn propagate_pair(args: &VArgs, pick: fn(u16, u16) -> u16) -> u64 {
    // SAFETY: the caller keeps the contract for packed f16.
    unsafe {
        choose_pair(args, pick, |x, y, _| {
            exact_lane::<F16, 2>(
                [x, y],
                Env {
                    round: Round::NearestEven,
                    denorm: KEEP,
                },
                |_, _| None,
            )
        })
    }
}

/// As [`propagate_pair`], of three sources.
#[inline(always)]
unsafe fn propagate_three(args: &VArgs, pick: fn(u16, u16) -> u16) -> u64 {
    let denorm = F16::denorm(args.mode);
    let flush = denorm.flush_in | denorm.flush_out;
    let half = |sources: [u16; 3]| {
        let flushed = sources.map(|v| flush_if::<F16>(flush, v));
        if sources.iter().any(|&v| is_nan::<F16>(v)) {
            nan_result::<F16, 3>(sources)
        } else {
            pick(pick(flushed[0], flushed[1]), flushed[2])
        }
    };
    // SAFETY: the caller keeps the contract for packed f16.
    unsafe {
        map3(args, |x: [u16; 2], y: [u16; 2], z: [u16; 2]| {
            [half([x[0], y[0], z[0]]), half([x[1], y[1], z[1]])]
        })
    }
}

const KEEP: super::mode::Denorm = super::mode::Denorm {
    flush_in: false,
    flush_out: false,
};

/// A packed 16-bit multiply-add, saturating under clamp.
macro_rules! pk_mad {
    ($args:ident, $ty:ty) => {{
        let clamp = $args.clamp;
        let mad = |x: $ty, y: $ty, z: $ty| -> $ty {
            let sum = x as i64 * y as i64 + z as i64;
            if clamp {
                sum.clamp(<$ty>::MIN as i64, <$ty>::MAX as i64) as $ty
            } else {
                sum as $ty
            }
        };
        map3($args, |x: [$ty; 2], y: [$ty; 2], z: [$ty; 2]| {
            [mad(x[0], y[0], z[0]), mad(x[1], y[1], z[1])]
        })
    }};
}

handlers! {
    (args, H)
    v_pk_mad_i16 => pk_mad!(args, i16);
    v_pk_mad_u16 => pk_mad!(args, u16);
    v_pk_mul_lo_u16 => saturating_pair(args, u16::wrapping_mul, u16::saturating_mul);
    v_pk_add_i16 => saturating_pair(args, i16::wrapping_add, i16::saturating_add);
    v_pk_sub_i16 => saturating_pair(args, i16::wrapping_sub, i16::saturating_sub);
    v_pk_add_u16 => saturating_pair(args, u16::wrapping_add, u16::saturating_add);
    v_pk_sub_u16 => saturating_pair(args, u16::wrapping_sub, u16::saturating_sub);
    v_pk_lshlrev_b16 => map2(args, |s: [u16; 2], x: [u16; 2]| each(s, x, |s, x| x << (s & 15)));
    v_pk_lshrrev_b16 => map2(args, |s: [u16; 2], x: [u16; 2]| each(s, x, |s, x| x >> (s & 15)));
    v_pk_ashrrev_i16 => map2(args, |s: [i16; 2], x: [i16; 2]| each(s, x, |s, x| x >> (s & 15)));
    v_pk_max_i16 => map2(args, |x: [i16; 2], y: [i16; 2]| each(x, y, Ord::max));
    v_pk_min_i16 => map2(args, |x: [i16; 2], y: [i16; 2]| each(x, y, Ord::min));
    v_pk_max_u16 => map2(args, |x: [u16; 2], y: [u16; 2]| each(x, y, Ord::max));
    v_pk_min_u16 => map2(args, |x: [u16; 2], y: [u16; 2]| each(x, y, Ord::min));
    v_pk_add_f16 => packed::<2>(args, |[x, y]| F16::add(x, y), |[x, y], round| soft::add::<F16>(x, y, round));
    v_pk_mul_f16 => packed::<2>(args, |[x, y]| F16::mul(x, y), |[x, y], round| soft::mul::<F16>(x, y, round));
    v_pk_min_f16 => choose_pair(args, lesser::<F16>, min::<F16>);
    v_pk_max_f16 => choose_pair(args, greater::<F16>, max::<F16>);
    v_pk_minimum_f16 => propagate_pair(args, lesser::<F16>);
    v_pk_maximum_f16 => propagate_pair(args, greater::<F16>);
    v_pk_minimum3_f16 => propagate_three(args, lesser::<F16>);
    v_pk_maximum3_f16 => propagate_three(args, greater::<F16>);
    v_dot4_f32_fp8_fp8 => dot::dot4_f32::<H>(args, Narrow::FP8, Narrow::FP8);
    v_dot4_f32_fp8_bf8 => dot::dot4_f32::<H>(args, Narrow::FP8, Narrow::BF8);
    v_dot4_f32_bf8_fp8 => dot::dot4_f32::<H>(args, Narrow::BF8, Narrow::FP8);
    v_dot4_f32_bf8_bf8 => dot::dot4_f32::<H>(args, Narrow::BF8, Narrow::BF8);
    v_pk_add_f32 => pair32::<2>(args, |[x, y]| F32::add(x, y), |[x, y], round| soft::add::<F32>(x, y, round));
    v_pk_mul_f32 => pair32::<2>(args, |[x, y]| F32::mul(x, y), |[x, y], round| soft::mul::<F32>(x, y, round));
    v_pk_fma_f32 => pair32::<3>(
        args,
        |[x, y, z]| F32::fma::<H>(x, y, z),
        |[x, y, z], round| soft::fma::<F32>(x, y, z, round),
    );
    // The low result is the selected half of the first source, the high one of the second, each come as the low row.
    v_pk_mov_b32 => map2(args, |x: u32, y: u32| [x, y]);
    v_fma_mixlo_f16 | v_fma_mixhi_f16 => fma_mix_f16::<H>(args);
    v_mad_mixlo_f16 | v_mad_mixhi_f16 => mad_mix_f16(args);
    v_dot2_u32_u16 => dot::integer::u::<16>(args);
    v_dot4_u32_u8 => dot::integer::u::<8>(args);
    v_dot8_u32_u4 => dot::integer::u::<4>(args);
    v_dot4_i32_iu8 => dot::integer::iu::<8>(args);
    v_dot8_i32_iu4 => dot::integer::iu::<4>(args);
    v_dot2_f32_bf16 | v_dot2c_f32_bf16 => dot::dot2_f32_bf16::<H>(args);
}
