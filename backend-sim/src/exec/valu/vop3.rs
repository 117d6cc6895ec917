//! VOP3 operations without a shorter form.

use super::arith::{Env, exact_lane, ldexp};
use super::convert::{f32_to_f16_in, f32_to_u8, snorm16, unorm16};
use super::division::{div_fixup, div_fixup_f16, div_fmas, div_scale, trig_preop};
use super::float::{F16, F32, F64, Format, f16_to_f32, f32_to_bf16, flush_if, is_nan};
use super::integral::{ldexp_f32, ldexp_f64};
use super::lanes::{Lane, build, carry3, lanes, map2, map3, quick_carry3};
use super::mode::Round;
use super::narrow::{Narrow, Rounding};
use super::order::{Ordered, choose, greater, lesser, max, med3, median, min, propagating};
use super::vop2::{i24, saturating, u24};
use super::{VArgs, dot, sad, soft};

/// A multiply-add with an exact sum, which wraps or, under clamp, saturates.
macro_rules! mad {
    ($args:ident, $a:ty, $b:ty, $c:ty, $wide:ty, $x:expr, $y:expr) => {{
        let clamp = $args.clamp;
        map3($args, |a: $a, b: $b, c: $c| -> $c {
            let sum = $x(a) as $wide * $y(b) as $wide + c as $wide;
            if clamp {
                sum.clamp(<$c>::MIN as $wide, <$c>::MAX as $wide) as $c
            } else {
                sum as $c
            }
        })
    }};
}

fn same<T>(x: T) -> T {
    x
}

/// Minimum of minimum, and their like, of three sources.
#[inline(always)]
unsafe fn choose3<F: Ordered>(
    args: &VArgs,
    numbers: impl Fn([F::Bits; 3]) -> F::Bits,
    any: fn([F::Bits; 3], bool) -> F::Bits,
) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe { choose::<F, 3>(args, numbers, any) }
}

#[inline(always)]
unsafe fn min3<F: Ordered>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        choose3::<F>(
            args,
            |[x, y, z]| lesser::<F>(lesser::<F>(x, y), z),
            |[x, y, z], ieee| min::<F>(min::<F>(x, y, ieee), z, ieee),
        )
    }
}

#[inline(always)]
unsafe fn max3<F: Ordered>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        choose3::<F>(
            args,
            |[x, y, z]| greater::<F>(greater::<F>(x, y), z),
            |[x, y, z], ieee| max::<F>(max::<F>(x, y, ieee), z, ieee),
        )
    }
}

#[inline(always)]
unsafe fn maxmin<F: Ordered>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        choose3::<F>(
            args,
            |[x, y, z]| lesser::<F>(greater::<F>(x, y), z),
            |[x, y, z], ieee| min::<F>(max::<F>(x, y, ieee), z, ieee),
        )
    }
}

#[inline(always)]
unsafe fn minmax<F: Ordered>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        choose3::<F>(
            args,
            |[x, y, z]| greater::<F>(lesser::<F>(x, y), z),
            |[x, y, z], ieee| max::<F>(min::<F>(x, y, ieee), z, ieee),
        )
    }
}

/// An operation in which any NaN source makes the result NaN, and no result is rounded.
#[inline(always)]
unsafe fn propagate<F: Ordered, const N: usize>(
    args: &VArgs,
    f: impl Fn([F::Bits; N]) -> F::Bits,
) -> u64 {
    let env = Env::of::<F>(args).nearest();
    // SAFETY: the caller keeps the contract for the format. Soft arithmetic is never asked for.
    unsafe {
        super::arith::float::<F, N>(
            args.dst,
            super::arith::sources(args),
            lanes(args),
            env,
            f,
            |_, _| None,
        )
    }
}

fn lo<F: Ordered>(x: F::Bits, y: F::Bits) -> F::Bits {
    propagating::<F>(x, y, lesser::<F>)
}

fn hi<F: Ordered>(x: F::Bits, y: F::Bits) -> F::Bits {
    propagating::<F>(x, y, greater::<F>)
}

#[inline(always)]
fn bfe_u32(x: u32, offset: u32, width: u32) -> u32 {
    (x >> (offset & 31)) & ((1 << (width & 31)) - 1)
}

#[inline(always)]
fn bfe_i32(x: i32, offset: u32, width: u32) -> i32 {
    let width = width & 31;
    let field = (x >> (offset & 31)) as u32 & ((1 << width) - 1);
    let sign = (1u32 << width) >> 1;
    (field ^ sign).wrapping_sub(sign) as i32
}

/// The signed middle of three.
#[inline(always)]
fn med3_of<T: Ord + Copy>(x: T, y: T, z: T) -> T {
    x.max(y).min(x.min(y).max(z))
}

/// Set bits of `x` in lanes below this one, from lane `first` on, plus `y`.
#[inline(always)]
unsafe fn mbcnt(args: &VArgs, first: u32) -> u64 {
    let (n, [a, b, _]) = (lanes(args), args.src);
    // SAFETY: the caller keeps the contract for u32.
    unsafe {
        build(args.dst, n, |i| {
            let below = ((1u64 << i) - 1) >> first;
            (*a.add(i) & below as u32)
                .count_ones()
                .wrapping_add(*b.add(i))
        });
    }
    0
}

/// The largest component of a cube-map vector: 2 for z, 1 for y, 0 for x.
#[inline(always)]
fn major(x: f32, y: f32, z: f32) -> u32 {
    let [x, y, z] = [x, y, z].map(|v| f32::from_bits(v.to_bits() & 0x7fff_ffff));
    if (z >= x) & (z >= y) {
        2
    } else if y >= x {
        1
    } else {
        0
    }
}

#[inline(always)]
fn flip(x: f32) -> f32 {
    f32::from_bits(x.to_bits() ^ 0x8000_0000)
}

fn cube_id(x: f32, y: f32, z: f32) -> f32 {
    match major(x, y, z) {
        2 => {
            if z < 0.0 {
                5.0
            } else {
                4.0
            }
        }
        1 => {
            if y < 0.0 {
                3.0
            } else {
                2.0
            }
        }
        _ => {
            if x < 0.0 {
                1.0
            } else {
                0.0
            }
        }
    }
}

fn cube_s(x: f32, y: f32, z: f32) -> f32 {
    match major(x, y, z) {
        2 => {
            if z < 0.0 {
                flip(x)
            } else {
                x
            }
        }
        1 => x,
        _ => {
            if x < 0.0 {
                z
            } else {
                flip(z)
            }
        }
    }
}

fn cube_t(x: f32, y: f32, z: f32) -> f32 {
    match major(x, y, z) {
        1 => {
            if y < 0.0 {
                flip(z)
            } else {
                z
            }
        }
        _ => flip(y),
    }
}

fn cube_major(x: f32, y: f32, z: f32) -> f32 {
    [x, y, z][major(x, y, z) as usize] * 2.0
}

/// A cube-map operation: sources flushed as MODE says, NaN results settled.
#[inline(always)]
unsafe fn cube(args: &VArgs, f: fn(f32, f32, f32) -> f32) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        let env = Env::of::<F32>(args).nearest();
        super::arith::float::<F32, 3>(
            args.dst,
            args.src,
            lanes(args),
            env,
            |v| {
                let [x, y, z] = v.map(f32::from_bits);
                f(x, y, z).to_bits()
            },
            |_, _| None,
        )
    }
}

/// `v_mullit_f32`: a product, or minus the largest number where the lighting rules say so.
#[inline(always)]
unsafe fn mullit(args: &VArgs) -> u64 {
    let env = Env::of::<F32>(args);
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        map3(args, |x: u32, y: u32, z: u32| {
            let least = (-f32::MAX).to_bits();
            let blocked = y == least || y == (F32::INFINITY | F32::SIGN) || is_nan::<F32>(y);
            let dark =
                is_nan::<F32>(z) || f32::from_bits(flush_if::<F32>(env.denorm.flush_in, z)) <= 0.0;
            if blocked || dark {
                least
            } else {
                exact_lane::<F32, 2>([x, y], env, |[x, y], round| soft::mul::<F32>(x, y, round))
            }
        })
    }
}

/// A lane function of two or three dwords.
#[inline(always)]
unsafe fn words(args: &VArgs, f: impl Fn(u32, u32, u32) -> u32) -> u64 {
    // SAFETY: the caller keeps the contract for u32.
    unsafe { map3(args, f) }
}

/// Two bytes in a half.
trait Pair {
    fn pair(self) -> u16;
}

impl Pair for [u16; 2] {
    #[inline(always)]
    fn pair(self) -> u16 {
        self[0] | self[1] << 8
    }
}

/// The processor's eight-bit format: bit 0 of `imm` says that it is gfx942's.
#[inline(always)]
fn pick(args: &VArgs, format: Narrow, fnuz: Narrow) -> Narrow {
    if args.imm & 1 != 0 { fnuz } else { format }
}

/// Two f32 as eight-bit floats, to nearest even.
#[inline(always)]
unsafe fn narrow_pair(args: &VArgs, format: Narrow, fnuz: Narrow) -> u64 {
    let (format, saturate) = (pick(args, format, fnuz), args.mode.saturates());
    // SAFETY: the caller keeps the contract for u32 and u16.
    unsafe {
        map2(args, |x: u32, y: u32| {
            [x, y]
                .map(|x| format.encode(x, 0, Rounding::Nearest, saturate))
                .pair()
        })
    }
}

/// A f32 in a narrower format, rounded up as often as the second source's bits say.
#[inline(always)]
unsafe fn stochastic(args: &VArgs, format: Narrow) -> u64 {
    let saturate = args.mode.saturates();
    // SAFETY: the caller keeps the contract for u32 and u16.
    unsafe {
        map2(args, |x: u32, random: u32| {
            format.encode(x, 0, Rounding::Stochastic(random), saturate)
        })
    }
}

/// Each bit of the result is the bit of the table that the three sources' bits number.
#[inline(always)]
fn bitop3(table: u32, a: u32, b: u32, c: u32) -> u32 {
    (0..8).fold(0, |result, row| {
        let pick = |x: u32, bit: u32| if row >> bit & 1 != 0 { x } else { !x };
        let here = pick(a, 2) & pick(b, 1) & pick(c, 0);
        result | if table >> row & 1 != 0 { here } else { 0 }
    })
}

/// Adds saturating under clamp, on top of a sum that is exact in u64.
#[inline(always)]
fn sum_u32(sum: u64, clamp: bool) -> u32 {
    if clamp {
        sum.min(u32::MAX as u64) as u32
    } else {
        sum as u32
    }
}

/// A sum of absolute differences plus the third source.
#[inline(always)]
unsafe fn sad3<T: Lane>(args: &VArgs, f: impl Fn(T, T) -> u32) -> u64 {
    let clamp = args.clamp;
    // SAFETY: the caller keeps the contract for the types.
    unsafe {
        map3(args, |a: T, b: T, c: u32| {
            sum_u32(f(a, b) as u64 + c as u64, clamp)
        })
    }
}

handlers! {
    (args, H)
    v_mad_i32_i24 => mad!(args, u32, u32, i32, i64, i24, i24);
    v_mad_u32_u24 => mad!(args, u32, u32, u32, u64, u24, u24);
    v_mad_u32_u16 => mad!(args, u16, u16, u32, u64, same, same);
    v_mad_i32_i16 => mad!(args, i16, i16, i32, i64, same, same);
    v_mad_u16 | v_mad_legacy_u16 => mad!(args, u16, u16, u16, u64, same, same);
    v_mad_i16 | v_mad_legacy_i16 => mad!(args, i16, i16, i16, i64, same, same);
    v_mad_u64_u32 => {
        let clamp = args.clamp;
        quick_carry3::<H, _, _, _, _>(args, |x: u32, y: u32, z: u64| {
            let (sum, carry) = (x as u64 * y as u64).overflowing_add(z);
            (if clamp && carry { u64::MAX } else { sum }, carry)
        })
    };
    // The mask is bit 64 of the exact sum: its sign.
    v_mad_i64_i32 => {
        let clamp = args.clamp;
        carry3(args, |x: i32, y: i32, z: i64| {
            let sum = x as i128 * y as i128 + z as i128;
            let value = if clamp { sum.clamp(i64::MIN as i128, i64::MAX as i128) } else { sum };
            (value as i64, sum < 0)
        })
    };
    v_mul_lo_u32 => map2(args, |x: u32, y: u32| x.wrapping_mul(y));
    v_mul_hi_u32 => map2(args, |x: u32, y: u32| ((x as u64 * y as u64) >> 32) as u32);
    v_mul_hi_i32 => map2(args, |x: i32, y: i32| ((x as i64 * y as i64) >> 32) as i32);
    v_bfe_u32 => words(args, bfe_u32);
    v_bfe_i32 => map3(args, bfe_i32);
    v_bfi_b32 => words(args, |s, x, y| (s & x) | (!s & y));
    v_bfm_b32 => map2(args, |w: u32, o: u32| ((1u32 << (w & 31)) - 1) << (o & 31));
    v_alignbit_b32 | v_alignbit_b32_b16 => words(args, |h, l, s| ((((h as u64) << 32) | l as u64) >> (s & 31)) as u32);
    v_alignbyte_b32 | v_alignbyte_b32_b16 => words(args, |h, l, s| ((((h as u64) << 32) | l as u64) >> (8 * (s & 3))) as u32);
    v_perm_b32 => words(args, sad::perm);
    v_lerp_u8 => words(args, sad::lerp_u8);
    v_min3_i32 => map3(args, |x: i32, y: i32, z: i32| x.min(y).min(z));
    v_min3_u32 => map3(args, |x: u32, y: u32, z: u32| x.min(y).min(z));
    v_max3_i32 => map3(args, |x: i32, y: i32, z: i32| x.max(y).max(z));
    v_max3_u32 => map3(args, |x: u32, y: u32, z: u32| x.max(y).max(z));
    v_med3_i32 => map3(args, med3_of::<i32>);
    v_med3_u32 => map3(args, med3_of::<u32>);
    v_min3_i16 => map3(args, |x: i16, y: i16, z: i16| x.min(y).min(z));
    v_min3_u16 => map3(args, |x: u16, y: u16, z: u16| x.min(y).min(z));
    v_max3_i16 => map3(args, |x: i16, y: i16, z: i16| x.max(y).max(z));
    v_max3_u16 => map3(args, |x: u16, y: u16, z: u16| x.max(y).max(z));
    v_med3_i16 => map3(args, med3_of::<i16>);
    v_med3_u16 => map3(args, med3_of::<u16>);
    v_maxmin_u32 => map3(args, |x: u32, y: u32, z: u32| x.max(y).min(z));
    v_minmax_u32 => map3(args, |x: u32, y: u32, z: u32| x.min(y).max(z));
    v_maxmin_i32 => map3(args, |x: i32, y: i32, z: i32| x.max(y).min(z));
    v_minmax_i32 => map3(args, |x: i32, y: i32, z: i32| x.min(y).max(z));
    v_lshl_add_u32 => words(args, |x, s, y| (x << (s & 31)).wrapping_add(y));
    v_add_lshl_u32 => words(args, |x, y, s| x.wrapping_add(y) << (s & 31));
    v_add3_u32 => words(args, |x, y, z| x.wrapping_add(y).wrapping_add(z));
    v_lshl_or_b32 => words(args, |x, s, y| (x << (s & 31)) | y);
    v_and_or_b32 => words(args, |x, y, z| (x & y) | z);
    v_or3_b32 => words(args, |x, y, z| x | y | z);
    v_xor3_b32 => words(args, |x, y, z| x ^ y ^ z);
    v_xad_u32 => words(args, |x, y, z| (x ^ y).wrapping_add(z));
    v_lshl_add_u64 => map3(args, |x: u64, s: u32, y: u64| (x << (s & 7)).wrapping_add(y));
    v_lshrrev_b64 => map2(args, |s: u32, x: u64| x >> (s & 63));
    v_ashrrev_i64 => map2(args, |s: u32, x: i64| x >> (s & 63));
    v_add_i32 => saturating(args, i32::wrapping_add, i32::saturating_add);
    v_sub_i32 => saturating(args, i32::wrapping_sub, i32::saturating_sub);
    v_add_i16 => saturating(args, i16::wrapping_add, i16::saturating_add);
    v_sub_i16 => saturating(args, i16::wrapping_sub, i16::saturating_sub);
    v_and_b16 => map2(args, |x: u16, y: u16| x & y);
    v_or_b16 => map2(args, |x: u16, y: u16| x | y);
    v_xor_b16 => map2(args, |x: u16, y: u16| x ^ y);
    v_bcnt_u32_b32 => map2(args, |x: u32, y: u32| x.count_ones().wrapping_add(y));
    v_mbcnt_lo_u32_b32 => mbcnt(args, 0);
    v_mbcnt_hi_u32_b32 => mbcnt(args, 32);

    v_sad_u8 => sad3(args, |a: u32, b: u32| sad::sad_u8(a, b, 0));
    v_sad_hi_u8 => sad3(args, |a: u32, b: u32| sad::sad_u8(a, b, 0) << 16);
    v_sad_u16 => sad3(args, |a: [u16; 2], b: [u16; 2]| sad::sad_u16(a, b, 0));
    v_sad_u32 => sad3(args, |a: u32, b: u32| a.abs_diff(b));
    v_msad_u8 => sad3(args, |a: u32, b: u32| sad::msad_u8(a, b, 0));
    v_qsad_pk_u16_u8 => map3(args, |a: u64, b: u32, c: u64| sad::quad_u16(a, b, c, sad::sad_u8));
    v_mqsad_pk_u16_u8 => map3(args, |a: u64, b: u32, c: u64| sad::quad_u16(a, b, c, sad::msad_u8));
    v_mqsad_u32_u8 => map3(args, |a: u64, b: u32, c: [u32; 4]| sad::quad_u32(a, b, c));

    v_min3_f32 => min3::<F32>(args);
    v_max3_f32 => max3::<F32>(args);
    v_med3_f32 => choose3::<F32>(args, median::<F32>, med3::<F32>);
    v_maxmin_f32 => maxmin::<F32>(args);
    v_minmax_f32 => minmax::<F32>(args);
    v_min3_f16 => min3::<F16>(args);
    v_max3_f16 => max3::<F16>(args);
    v_med3_f16 => choose3::<F16>(args, median::<F16>, med3::<F16>);
    v_maxmin_f16 => maxmin::<F16>(args);
    v_minmax_f16 => minmax::<F16>(args);
    v_minimum_f64 => propagate::<F64, 2>(args, |[x, y]| lo::<F64>(x, y));
    v_maximum_f64 => propagate::<F64, 2>(args, |[x, y]| hi::<F64>(x, y));
    v_minimum_f32 => propagate::<F32, 2>(args, |[x, y]| lo::<F32>(x, y));
    v_maximum_f32 => propagate::<F32, 2>(args, |[x, y]| hi::<F32>(x, y));
    v_minimum_f16 => propagate::<F16, 2>(args, |[x, y]| lo::<F16>(x, y));
    v_maximum_f16 => propagate::<F16, 2>(args, |[x, y]| hi::<F16>(x, y));
    v_minimum3_f32 => propagate::<F32, 3>(args, |[x, y, z]| lo::<F32>(lo::<F32>(x, y), z));
    v_maximum3_f32 => propagate::<F32, 3>(args, |[x, y, z]| hi::<F32>(hi::<F32>(x, y), z));
    v_minimum3_f16 => propagate::<F16, 3>(args, |[x, y, z]| lo::<F16>(lo::<F16>(x, y), z));
    v_maximum3_f16 => propagate::<F16, 3>(args, |[x, y, z]| hi::<F16>(hi::<F16>(x, y), z));
    v_minimummaximum_f32 => propagate::<F32, 3>(args, |[x, y, z]| hi::<F32>(lo::<F32>(x, y), z));
    v_maximumminimum_f32 => propagate::<F32, 3>(args, |[x, y, z]| lo::<F32>(hi::<F32>(x, y), z));
    v_minimummaximum_f16 => propagate::<F16, 3>(args, |[x, y, z]| hi::<F16>(lo::<F16>(x, y), z));
    v_maximumminimum_f16 => propagate::<F16, 3>(args, |[x, y, z]| lo::<F16>(hi::<F16>(x, y), z));

    v_ldexp_f32 => ldexp::<F32, i32>(args, ldexp_f32);
    v_ldexp_f64 => ldexp::<F64, i32>(args, ldexp_f64);
    v_div_scale_f32 => div_scale::<F32>(args);
    v_div_scale_f64 => div_scale::<F64>(args);
    v_div_fmas_f32 => div_fmas::<F32, H>(args);
    v_div_fmas_f64 => div_fmas::<F64, H>(args);
    v_div_fixup_f32 => div_fixup::<F32>(args);
    v_div_fixup_f64 => div_fixup::<F64>(args);
    v_div_fixup_f16 | v_div_fixup_legacy_f16 => div_fixup_f16(args);
    v_trig_preop_f64 => trig_preop(args);
    v_mullit_f32 => mullit(args);
    v_cubeid_f32 => cube(args, cube_id);
    v_cubesc_f32 => cube(args, cube_s);
    v_cubetc_f32 => cube(args, cube_t);
    v_cubema_f32 => cube(args, cube_major);

    v_cvt_pk_u8_f32 | v_cvt_pkaccum_u8_f32 => {
        let round = F32::round(args.mode);
        map3(args, |x: f32, at: u32, old: u32| {
            let shift = 8 * (at & 3);
            (old & !(0xff << shift)) | (f32_to_u8(x, round) as u32) << shift
        })
    };
    v_cvt_pknorm_i16_f32 => map2(args, |x: f32, y: f32| [snorm16(x), snorm16(y)]);
    v_cvt_pknorm_u16_f32 => map2(args, |x: f32, y: f32| [unorm16(x), unorm16(y)]);
    v_cvt_pknorm_i16_f16 => map2(args, |x: u16, y: u16| [snorm16(f16_to_f32(x)), snorm16(f16_to_f32(y))]);
    v_cvt_pknorm_u16_f16 => map2(args, |x: u16, y: u16| [unorm16(f16_to_f32(x)), unorm16(f16_to_f32(y))]);
    v_cvt_pk_i16_f32 => map2(args, |x: f32, y: f32| [x as i16, y as i16]);
    v_cvt_pk_u16_f32 => map2(args, |x: f32, y: f32| [x as u16, y as u16]);
    v_cvt_pk_u16_u32 => map2(args, |x: u32, y: u32| [x.min(0xffff) as u16, y.min(0xffff) as u16]);
    v_cvt_pk_i16_i32 => map2(args, |x: i32, y: i32| [x, y].map(|v| v.clamp(-0x8000, 0x7fff) as i16));
    v_cvt_pk_f16_f32 => {
        map2(args, |x: u32, y: u32| [x, y].map(|x| f32_to_f16_in(args, x, Round::NearestEven)))
    };
    v_cvt_pk_bf16_f32 => map2(args, |x: f32, y: f32| [x, y].map(f32_to_bf16));
    v_cvt_sr_f16_f32 => stochastic(args, Narrow::F16);
    v_cvt_sr_bf16_f32 => stochastic(args, Narrow::BF16);
    v_cvt_pk_fp8_f32 => narrow_pair(args, Narrow::FP8, Narrow::FP8_FNUZ);
    v_cvt_pk_bf8_f32 => narrow_pair(args, Narrow::BF8, Narrow::BF8_FNUZ);
    v_cvt_sr_fp8_f32 => stochastic(args, pick(args, Narrow::FP8, Narrow::FP8_FNUZ));
    v_cvt_sr_bf8_f32 => stochastic(args, pick(args, Narrow::BF8, Narrow::BF8_FNUZ));
    v_bitop3_b32 => {
        let table = args.imm;
        words(args, |a, b, c| bitop3(table, a, b, c))
    };
    v_bitop3_b16 => {
        let table = args.imm;
        map3(args, |a: u16, b: u16, c: u16| bitop3(table, a as u32, b as u32, c as u32) as u16)
    };
    v_ashr_pk_i8_i32 => map3(args, |x: i32, y: i32, s: u32| {
        [x, y].map(|x| (x >> (s & 31)).clamp(-128, 127) as u8 as u16).pair()
    });
    v_ashr_pk_u8_i32 => map3(args, |x: i32, y: i32, s: u32| {
        [x, y].map(|x| (x >> (s & 31)).clamp(0, 255) as u16).pair()
    });
    v_pack_b32_f16 => map2(args, |x: u16, y: u16| [x, y]);
    v_dot2_f16_f16 => dot::dot2_f16_f16(args);
    v_dot2_bf16_bf16 => dot::dot2_bf16_bf16(args);
}
