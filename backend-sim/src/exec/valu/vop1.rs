//! VOP1: one source.

use super::arith::{Env, nearest, rows};
use super::convert::{self, f64_to_f32};
use super::float::{
    F16, F32, F64, Format, f16_to_f32, f32_to_f16, f64_to_f16, flush_if, sqrt_f32, sqrt_f64,
};
use super::integral::{
    Integral, fract_exact, fract_f16, fract_f32, fract_f64, frexp_exponent, frexp_mantissa,
};
use super::lanes::map1;
use super::narrow::Narrow;
use super::partition::screen_partition_4se;
use super::transcendental::{cos_turns, exp2, exp2_f32, log2, sin_turns};
use super::{VArgs, levels::Host};

/// A transcendental function of f32, computed in f64 and rounded once to nearest. These units flush subnormals.
#[inline(always)]
unsafe fn wide32(args: &VArgs, f: impl Fn(f64) -> f64) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        nearest::<F32>(args, Env::of::<F32>(args).flushing(), |x| {
            (f(f32::from_bits(x) as f64) as f32).to_bits()
        })
    }
}

/// The sine and cosine of f32, as [`wide32`] with subnormals as MODE has them.
#[inline(always)]
unsafe fn trigonometric32(args: &VArgs, f: impl Fn(f64) -> f64) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        nearest::<F32>(args, Env::of::<F32>(args), |x| {
            (f(f32::from_bits(x) as f64) as f32).to_bits()
        })
    }
}

/// A function of f16, computed in f64 and rounded once to nearest.
#[inline(always)]
unsafe fn wide16(args: &VArgs, f: impl Fn(f64) -> f64) -> u64 {
    // SAFETY: the caller keeps the contract for f16.
    unsafe {
        nearest::<F16>(args, Env::of::<F16>(args), |x| {
            f64_to_f16(f(f16_to_f32(x) as f64))
        })
    }
}

/// 1 / x.
#[inline(always)]
unsafe fn rcp32(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        nearest::<F32>(args, Env::of::<F32>(args).flushing(), |x| {
            (1.0 / f32::from_bits(x)).to_bits()
        })
    }
}

/// A function that rounds to nearest in every mode, or is exact.
#[inline(always)]
unsafe fn unary32(args: &VArgs, f: impl Fn(f32) -> f32) -> u64 {
    // SAFETY: the caller keeps the contract for f32.
    unsafe {
        nearest::<F32>(args, Env::of::<F32>(args), |x| {
            f(f32::from_bits(x)).to_bits()
        })
    }
}

#[inline(always)]
unsafe fn unary64(args: &VArgs, f: impl Fn(f64) -> f64) -> u64 {
    // SAFETY: the caller keeps the contract for f64.
    unsafe {
        nearest::<F64>(args, Env::of::<F64>(args), |x| {
            f(f64::from_bits(x)).to_bits()
        })
    }
}

#[inline(always)]
unsafe fn unary16(args: &VArgs, f: impl Fn(f32) -> f32) -> u64 {
    // SAFETY: the caller keeps the contract for f16.
    unsafe { nearest::<F16>(args, Env::of::<F16>(args), |x| f32_to_f16(f(f16_to_f32(x)))) }
}

#[inline(always)]
unsafe fn frexp_exp<F: Format>(args: &VArgs) -> u64 {
    let flush = F::denorm(args.mode).flush_in;
    // SAFETY: the caller keeps the contract for the format.
    unsafe {
        map1(args, |x: F::Bits| {
            frexp_exponent::<F>(flush_if::<F>(flush, x))
        })
    }
}

#[inline(always)]
unsafe fn frexp_mant<F: Format>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for the format.
    unsafe { nearest::<F>(args, Env::of::<F>(args), frexp_mantissa::<F>) }
}

#[inline(always)]
unsafe fn ubyte<H: Host, const BYTE: u32>(args: &VArgs) -> u64 {
    // SAFETY: the caller keeps the contract for u32 and f32.
    unsafe { map1(args, |x: u32| ((x >> (8 * BYTE)) & 0xff) as i32 as f32) }
}

/// Leading zeros; all ones if there is no one.
#[inline(always)]
fn ffbh(x: u32) -> u32 {
    if x == 0 { u32::MAX } else { x.leading_zeros() }
}

/// The number that an eight-bit float means. Bit 0 of `imm` says that the formats are gfx942's.
#[inline(always)]
unsafe fn widen(args: &VArgs, format: Narrow, fnuz: Narrow) -> u64 {
    let format = if args.imm & 1 != 0 { fnuz } else { format };
    // SAFETY: the caller keeps the contract for u32 and f32.
    unsafe { map1(args, |x: u32| format.decode(x as u16 & 0xff)) }
}

/// As [`widen`], of two bytes.
#[inline(always)]
unsafe fn widen_pair(args: &VArgs, format: Narrow, fnuz: Narrow) -> u64 {
    let format = if args.imm & 1 != 0 { fnuz } else { format };
    // SAFETY: the caller keeps the contract for u32 and two dwords.
    unsafe {
        map1(args, |x: u32| {
            [x, x >> 8].map(|x| format.decode(x as u16 & 0xff))
        })
    }
}

/// i16 to a byte, saturating.
#[inline(always)]
fn sat_u8(x: i16) -> u16 {
    x.clamp(0, 255) as u16
}

handlers! {
    (args, H)
    v_mov_b32 | v_mov_b16 => {
        // A copy keeps every bit; 16-bit moves keep the low half, the rest is the caller's.
        map1(args, |x: u32| x)
    };
    v_mov_b64 => map1(args, |x: u64| x);
    v_cvt_i32_f64 => map1(args, |x: f64| x as i32);
    v_cvt_u32_f64 => map1(args, |x: f64| x as u32);
    v_cvt_i32_f32 => map1(args, convert::f32_to_i32);
    v_cvt_u32_f32 => map1(args, convert::f32_to_u32);
    v_cvt_rpi_i32_f32 => map1(args, |x: f32| convert::f32_to_i32((x + 0.5).floor()));
    v_cvt_flr_i32_f32 => map1(args, |x: f32| convert::f32_to_i32(x.floor()));
    v_cvt_u16_f16 => map1(args, |x: u16| f16_to_f32(x) as u16);
    v_cvt_i16_f16 => map1(args, |x: u16| f16_to_f32(x) as i16);
    v_cvt_norm_i16_f16 => map1(args, |x: u16| convert::snorm16(f16_to_f32(x)));
    v_cvt_norm_u16_f16 => map1(args, |x: u16| convert::unorm16(f16_to_f32(x)));
    v_cvt_f64_i32 => map1(args, |x: i32| x as f64);
    v_cvt_f64_u32 => map1(args, |x: u32| x as f64);
    v_cvt_f32_i32 => convert::from_int::<i32, F32>(args, |x| (x as f32).to_bits());
    v_cvt_f32_u32 => convert::from_int::<u32, F32>(args, |x| (x as f32).to_bits());
    v_cvt_f16_u16 => convert::from_int::<u16, F16>(args, |x| f32_to_f16(x as f32));
    v_cvt_f16_i16 => convert::from_int::<i16, F16>(args, |x| f32_to_f16(x as f32));
    v_cvt_f32_ubyte0 => ubyte::<H, 0>(args);
    v_cvt_f32_ubyte1 => ubyte::<H, 1>(args);
    v_cvt_f32_ubyte2 => ubyte::<H, 2>(args);
    v_cvt_f32_ubyte3 => ubyte::<H, 3>(args);
    // A signed nibble in sixteenths.
    v_cvt_off_f32_i4 => map1(args, |x: u32| (((x as i32) << 28) >> 28) as f32 * 0.0625);
    v_cvt_f16_f32 => convert::convert::<F32, F16>(args, |x| f32_to_f16(f32::from_bits(x)));
    v_cvt_f32_f16 => convert::convert::<F16, F32>(args, |x| f16_to_f32(x).to_bits());
    v_cvt_f32_f64 => convert::convert::<F64, F32>(args, f64_to_f32);
    v_cvt_f64_f32 => convert::convert::<F32, F64>(args, |x| (f32::from_bits(x) as f64).to_bits());
    v_cvt_i32_i16 => map1(args, |x: i16| x as i32);
    v_cvt_u32_u16 => map1(args, |x: u16| x as u32);

    v_trunc_f32 => unary32(args, Integral::trunc);
    v_ceil_f32 => unary32(args, Integral::ceil);
    v_rndne_f32 => unary32(args, Integral::nearest_even);
    v_floor_f32 => unary32(args, Integral::floor);
    v_trunc_f64 => unary64(args, Integral::trunc);
    v_ceil_f64 => unary64(args, Integral::ceil);
    v_rndne_f64 => unary64(args, Integral::nearest_even);
    v_floor_f64 => unary64(args, Integral::floor);
    v_trunc_f16 => unary16(args, Integral::trunc);
    v_ceil_f16 => unary16(args, Integral::ceil);
    v_rndne_f16 => unary16(args, Integral::nearest_even);
    v_floor_f16 => unary16(args, Integral::floor);
    v_fract_f32 => rows::<F32, 1>(args, |[x]| fract_f32(x), fract_exact::<F32>);
    v_fract_f64 => rows::<F64, 1>(args, |[x]| fract_f64(x), fract_exact::<F64>);
    v_fract_f16 => rows::<F16, 1>(args, |[x]| fract_f16(x), fract_exact::<F16>);
    v_frexp_exp_i32_f32 => frexp_exp::<F32>(args);
    v_frexp_exp_i32_f64 => frexp_exp::<F64>(args);
    v_frexp_exp_i16_f16 => {
        let flush = F16::denorm(args.mode).flush_in;
        map1(args, |x: u16| frexp_exponent::<F16>(flush_if::<F16>(flush, x)) as i16)
    };
    v_frexp_mant_f32 => frexp_mant::<F32>(args);
    v_frexp_mant_f64 => frexp_mant::<F64>(args);
    v_frexp_mant_f16 => frexp_mant::<F16>(args);

    v_exp_f32 | v_exp_legacy_f32 | v_s_exp_f32 => {
        let env = Env::of::<F32>(args).flushing();
        nearest::<F32>(args, env, |x| exp2_f32(f32::from_bits(x)).to_bits())
    };
    v_log_f32 | v_log_legacy_f32 | v_s_log_f32 => wide32(args, log2);
    v_rcp_f32 | v_rcp_iflag_f32 | v_s_rcp_f32 => rcp32(args);
    v_rsq_f32 | v_s_rsq_f32 => wide32(args, |x| 1.0 / sqrt_f64(x));
    v_sqrt_f32 | v_s_sqrt_f32 => {
        nearest::<F32>(args, Env::of::<F32>(args).flushing(), |x| sqrt_f32(f32::from_bits(x)).to_bits())
    };
    v_sin_f32 => trigonometric32(args, sin_turns);
    v_cos_f32 => trigonometric32(args, cos_turns);
    v_rcp_f64 => unary64(args, |x| 1.0 / x);
    v_rsq_f64 => unary64(args, |x| 1.0 / sqrt_f64(x));
    v_sqrt_f64 => unary64(args, sqrt_f64);
    v_rcp_f16 | v_s_rcp_f16 => unary16(args, |x| 1.0 / x);
    v_sqrt_f16 | v_s_sqrt_f16 => unary16(args, sqrt_f32);
    v_rsq_f16 | v_s_rsq_f16 => wide16(args, |x| 1.0 / sqrt_f64(x));
    v_log_f16 | v_s_log_f16 => wide16(args, log2);
    v_exp_f16 | v_s_exp_f16 => wide16(args, exp2);
    v_sin_f16 => wide16(args, sin_turns);
    v_cos_f16 => wide16(args, cos_turns);

    v_cvt_f32_fp8 => widen(args, Narrow::FP8, Narrow::FP8_FNUZ);
    v_cvt_f32_bf8 => widen(args, Narrow::BF8, Narrow::BF8_FNUZ);
    v_cvt_pk_f32_fp8 | v_cvt_pk_f32_fp8_b16 => widen_pair(args, Narrow::FP8, Narrow::FP8_FNUZ);
    v_cvt_pk_f32_bf8 | v_cvt_pk_f32_bf8_b16 => widen_pair(args, Narrow::BF8, Narrow::BF8_FNUZ);
    v_cvt_f32_bf16 => map1(args, |x: u16| (x as u32) << 16);
    // A step of a shift register with feedback.
    v_prng_b32 => map1(args, |x: u32| x << 1 ^ if x >> 31 != 0 { 197 } else { 0 });

    v_not_b32 => map1(args, |x: u32| !x);
    v_not_b16 => map1(args, |x: u16| !x);
    v_screen_partition_4se_b32 => map1(args, screen_partition_4se);
    v_bfrev_b32 => map1(args, |x: u32| x.reverse_bits());
    v_ffbh_u32 => map1(args, ffbh);
    v_ffbl_b32 => map1(args, |x: u32| if x == 0 { u32::MAX } else { x.trailing_zeros() });
    // Bits equal to the sign bit, counted from the top; all ones if they all are.
    v_ffbh_i32 => map1(args, |x: u32| ffbh(x ^ ((x as i32 >> 31) as u32)));
    v_sat_pk_u8_i16 => map1(args, |x: [i16; 2]| sat_u8(x[0]) | sat_u8(x[1]) << 8);
}
