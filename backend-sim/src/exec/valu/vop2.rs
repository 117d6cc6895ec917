//! VOP2: two sources.

use super::arith::ops::{HostFormat, add, fma, mad, mul, sub, subrev};
use super::arith::{Env, ldexp};
use super::convert::f32_to_f16_toward_zero;
use super::float::{F16, F32, F64, Format, flush_if, is_zero};
use super::integral::ldexp_f16;
use super::lanes::{Lane, carry2, lanes, map2, select2};
use super::levels::Host;
use super::order::{choose, greater, lesser, max, min};
use super::{VArgs, arith, dot, soft};

/// An integer operation that the clamp bit makes saturate.
#[inline(always)]
pub(super) unsafe fn saturating<A: Lane>(
    args: &VArgs,
    wrap: impl Fn(A, A) -> A,
    saturate: impl Fn(A, A) -> A,
) -> u64 {
    // SAFETY: the caller keeps the contract for the type.
    unsafe {
        if args.clamp {
            map2(args, saturate)
        } else {
            map2(args, wrap)
        }
    }
}

/// Sign-extends 24 bits.
#[inline(always)]
pub(super) fn i24(x: u32) -> i32 {
    ((x << 8) as i32) >> 8
}

/// The low 24 bits.
#[inline(always)]
pub(super) fn u24(x: u32) -> u32 {
    x & 0xff_ffff
}

/// A 64-bit number, low dword first, shifted by the low six bits of `by`. Dword by dword, as rows have them: hosts have no
/// cheap way to put two rows' lanes together and to take them apart.
#[inline(always)]
fn shift_left_64(by: u32, [low, high]: [u32; 2]) -> [u32; 2] {
    let left = |x: u32, by: u32| x.checked_shl(by).unwrap_or(0);
    let right = |x: u32, by: u32| x.checked_shr(by).unwrap_or(0);
    let by = by & 63;
    // Distances below zero are large ones here, which leave nothing.
    let (up, down) = (by.wrapping_sub(32), 32u32.wrapping_sub(by));
    [
        left(low, by),
        left(high, by) | right(low, down) | left(low, up),
    ]
}

#[inline(always)]
fn add_carry(carry: bool, x: u32, y: u32) -> (u32, bool) {
    let sum = x.wrapping_add(y);
    let total = sum.wrapping_add(carry as u32);
    (total, (sum < x) | (total < sum))
}

#[inline(always)]
fn sub_borrow(borrow: bool, x: u32, y: u32) -> (u32, bool) {
    let difference = x.wrapping_sub(y);
    let total = difference.wrapping_sub(borrow as u32);
    (total, (x < y) | (difference < borrow as u32))
}

/// An add or subtract with a carry mask out, and saturation under clamp.
#[inline(always)]
unsafe fn carrying<H: Host>(
    args: &VArgs,
    saturated: u32,
    f: impl Fn(bool, u32, u32) -> (u32, bool),
) -> u64 {
    // SAFETY: the caller keeps the contract for u32.
    unsafe {
        if args.clamp {
            carry2::<H>(args, |c, x, y| {
                let (value, out) = f(c, x, y);
                (if out { saturated } else { value }, out)
            })
        } else {
            carry2::<H>(args, f)
        }
    }
}

/// The factors of a legacy product, in which zero times anything is zero, NaN and infinity included: where one is
/// zero both become zeros, whose product has the sign of `sign`.
#[inline(always)]
unsafe fn legacy_factors(args: &VArgs, env: Env, sign: impl Fn(usize) -> u32) -> [[u32; 64]; 2] {
    let mut factors = [[0; 64]; 2];
    let zero = |x: u32| is_zero::<F32>(flush_if::<F32>(env.denorm.flush_in, x));
    for i in 0..lanes(args) {
        // SAFETY: the caller keeps the contract for f32.
        let (x, y) = unsafe { (*args.src[0].add(i), *args.src[1].add(i)) };
        let none = zero(x) | zero(y);
        factors[0][i & 63] = if none { sign(i) } else { x };
        factors[1][i & 63] = if none { 0 } else { y };
    }
    factors
}

/// `v_mul_legacy_f32`: a product with a zero factor is plus zero.
#[inline(always)]
unsafe fn mul_legacy(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for f32; the factors are rows of 64 lanes.
    unsafe {
        let [x, y] = &legacy_factors(args, Env::of::<F32>(args), |_| 0);
        let src = [x.as_ptr(), y.as_ptr(), args.src[2]];
        mul::<F32>(&VArgs { src, ..*args })
    }
}

/// `v_fma_legacy_f32`, `v_mad_legacy_f32`: a product with a zero factor leaves the addend as it is.
#[inline(always)]
unsafe fn fma_legacy<H: Host>(args: &VArgs, fused: bool) -> u64 {
    let env = Env::of::<F32>(args);
    let env = if fused { env } else { env.flushing() };
    // SAFETY: the caller keeps the contract for f32; the factors are rows of 64 lanes.
    unsafe {
        // A zero of the addend's own sign changes no addend.
        let [x, y] = &legacy_factors(args, env, |i| *args.src[2].add(i) & F32::SIGN);
        let src = [x.as_ptr(), y.as_ptr(), args.src[2]];
        let args = VArgs { src, ..*args };
        if fused {
            fma::<F32, H>(&args)
        } else {
            mad::<F32>(&args, env)
        }
    }
}

/// `v_mad_f32`, `v_mac_f32`: two roundings, and subnormals flushed whatever MODE says.
#[inline(always)]
unsafe fn mad32(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe { mad::<F32>(args, Env::of::<F32>(args).flushing()) }
}

/// `v_mad_f16`, `v_mac_f16`: two roundings.
#[inline(always)]
unsafe fn mad16(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for f16.
    unsafe { mad::<F16>(args, Env::of::<F16>(args)) }
}

/// Two f32 as f16, rounded toward zero whatever MODE says.
#[inline(always)]
unsafe fn pack_toward_zero(args: &VArgs) -> u64 {
    let flush = F16::denorm(args.mode).flush_out;
    let convert = |x| flush_if::<F16>(flush, f32_to_f16_toward_zero(x));
    // SAFETY: the caller keeps the contract for f32 and packed f16.
    unsafe { map2(args, |x: u32, y: u32| [convert(x), convert(y)]) }
}

handlers! {
    (args, H)
    v_cndmask_b32 | v_cndmask_b16 => select2(args, |c, x: u32, y: u32| if c { y } else { x });
    v_add_f32 => add::<F32>(args);
    v_sub_f32 => sub::<F32>(args);
    v_subrev_f32 => subrev::<F32>(args);
    v_mul_f32 => mul::<F32>(args);
    v_mul_legacy_f32 => mul_legacy(args);
    v_add_f16 => add::<F16>(args);
    v_sub_f16 => sub::<F16>(args);
    v_subrev_f16 => subrev::<F16>(args);
    v_mul_f16 => mul::<F16>(args);
    v_add_f64 => add::<F64>(args);
    v_mul_f64 => mul::<F64>(args);
    // The old destination is the third source of `fmac`; the sources of `mix` are f32 already.
    v_fmac_f32 | v_fmamk_f32 | v_fmaak_f32 | v_fma_f32 | v_fma_mix_f32 => fma::<F32, H>(args);
    v_fmac_f16 | v_fmamk_f16 | v_fmaak_f16 | v_fma_f16 | v_fma_legacy_f16 => fma::<F16, H>(args);
    v_fmac_f64 | v_fma_f64 => fma::<F64, H>(args);
    v_fmac_legacy_f32 | v_fma_legacy_f32 => fma_legacy::<H>(args, true);
    v_mac_f32 | v_madmk_f32 | v_madak_f32 | v_mad_f32 | v_mad_mix_f32 => mad32(args);
    v_mad_legacy_f32 => fma_legacy::<H>(args, false);
    v_mac_f16 | v_madmk_f16 | v_madak_f16 | v_mad_f16 | v_mad_legacy_f16 => mad16(args);
    v_min_f32 => choose::<F32, 2>(args, |[x, y]| lesser::<F32>(x, y), |[x, y], ieee| min::<F32>(x, y, ieee));
    v_max_f32 => choose::<F32, 2>(args, |[x, y]| greater::<F32>(x, y), |[x, y], ieee| max::<F32>(x, y, ieee));
    v_min_f16 => choose::<F16, 2>(args, |[x, y]| lesser::<F16>(x, y), |[x, y], ieee| min::<F16>(x, y, ieee));
    v_max_f16 => choose::<F16, 2>(args, |[x, y]| greater::<F16>(x, y), |[x, y], ieee| max::<F16>(x, y, ieee));
    v_min_f64 => choose::<F64, 2>(args, |[x, y]| lesser::<F64>(x, y), |[x, y], ieee| min::<F64>(x, y, ieee));
    v_max_f64 => choose::<F64, 2>(args, |[x, y]| greater::<F64>(x, y), |[x, y], ieee| max::<F64>(x, y, ieee));
    // The exponent is a 16-bit integer.
    v_ldexp_f16 => ldexp::<F16, i16>(args, ldexp_f16);
    v_cvt_pkrtz_f16_f32 => pack_toward_zero(args);

    v_mul_i32_i24 => map2(args, |x: u32, y: u32| i24(x).wrapping_mul(i24(y)));
    v_mul_u32_u24 => map2(args, |x: u32, y: u32| u24(x).wrapping_mul(u24(y)));
    v_mul_hi_i32_i24 => map2(args, |x: u32, y: u32| ((i24(x) as i64 * i24(y) as i64) >> 32) as i32);
    v_mul_hi_u32_u24 => map2(args, |x: u32, y: u32| ((u24(x) as u64 * u24(y) as u64) >> 32) as u32);
    v_min_i32 => map2(args, |x: i32, y: i32| x.min(y));
    v_max_i32 => map2(args, |x: i32, y: i32| x.max(y));
    v_min_u32 => map2(args, |x: u32, y: u32| x.min(y));
    v_max_u32 => map2(args, |x: u32, y: u32| x.max(y));
    v_min_i16 => map2(args, |x: i16, y: i16| x.min(y));
    v_max_i16 => map2(args, |x: i16, y: i16| x.max(y));
    v_min_u16 => map2(args, |x: u16, y: u16| x.min(y));
    v_max_u16 => map2(args, |x: u16, y: u16| x.max(y));
    v_lshlrev_b32 => map2(args, |s: u32, x: u32| x << (s & 31));
    v_lshrrev_b32 => map2(args, |s: u32, x: u32| x >> (s & 31));
    v_ashrrev_i32 => map2(args, |s: u32, x: i32| x >> (s & 31));
    v_lshlrev_b16 => map2(args, |s: u16, x: u16| x << (s & 15));
    v_lshrrev_b16 => map2(args, |s: u16, x: u16| x >> (s & 15));
    v_ashrrev_i16 => map2(args, |s: u16, x: i16| x >> (s & 15));
    v_lshlrev_b64 => map2(args, shift_left_64);
    v_and_b32 => map2(args, |x: u32, y: u32| x & y);
    v_or_b32 => map2(args, |x: u32, y: u32| x | y);
    v_xor_b32 => map2(args, |x: u32, y: u32| x ^ y);
    v_xnor_b32 => map2(args, |x: u32, y: u32| !(x ^ y));
    v_add_u32 => saturating(args, u32::wrapping_add, u32::saturating_add);
    v_sub_u32 => saturating(args, u32::wrapping_sub, u32::saturating_sub);
    v_subrev_u32 => saturating(args, |x: u32, y| y.wrapping_sub(x), |x, y| y.saturating_sub(x));
    v_add_u16 => saturating(args, u16::wrapping_add, u16::saturating_add);
    v_sub_u16 => saturating(args, u16::wrapping_sub, u16::saturating_sub);
    v_subrev_u16 => saturating(args, |x: u16, y| y.wrapping_sub(x), |x, y| y.saturating_sub(x));
    v_mul_lo_u16 => saturating(args, u16::wrapping_mul, u16::saturating_mul);
    v_add_co_u32 => carrying::<H>(args, u32::MAX, |_, x, y| add_carry(false, x, y));
    v_sub_co_u32 => carrying::<H>(args, 0, |_, x, y| sub_borrow(false, x, y));
    v_subrev_co_u32 => carrying::<H>(args, 0, |_, x, y| sub_borrow(false, y, x));
    v_addc_co_u32 => carrying::<H>(args, u32::MAX, add_carry);
    v_subb_co_u32 => carrying::<H>(args, 0, sub_borrow);
    v_subbrev_co_u32 => carrying::<H>(args, 0, |c, x, y| sub_borrow(c, y, x));

    v_dot2c_f32_f16 | v_dot2_f32_f16 => dot::dot2_f32_f16::<H>(args);
    v_dot2c_i32_i16 | v_dot2_i32_i16 => dot::integer::i::<16>(args);
    v_dot4c_i32_i8 | v_dot4_i32_i8 => dot::integer::i::<8>(args);
    v_dot8c_i32_i4 | v_dot8_i32_i4 => dot::integer::i::<4>(args);
    v_pk_fmac_f16 | v_pk_fma_f16 => arith::packed::<3>(
        args,
        |[x, y, z]| F16::fma::<H>(x, y, z),
        |[x, y, z], round| soft::fma::<F16>(x, y, z, round),
    );
}
