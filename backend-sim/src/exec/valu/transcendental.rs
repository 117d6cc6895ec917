//! Exponential, logarithm, sine and cosine.
//!
//! Silicon promises about one unit in the last place here, without saying which result. These functions compute in
//! f64 with a relative error below 2^-51, in operations that every host rounds alike, and the caller rounds once.
//!
//! For f32 that is the correctly rounded result of every input. All f32 inputs were searched for f64 results within
//! 2^-50 of a tie between two f32; the 189 that turned up (reciprocal square root included) were compared with
//! 300-bit arithmetic, and two exponentials were on the wrong side: [`exp2_f32`] knows them.
//!
//! No function branches, so that loops over them vectorise.

/// Evaluates a polynomial, highest coefficient last.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + coefficients[i];
    }
    sum
}

/// Adding this leaves a value below 2^51 rounded to an integer, in the low bits.
const TO_INTEGER: f64 = 6755399441055744.0;

/// ln(2)^k / k!
const EXP2: [f64; 14] = [
    1.0,
    core::f64::consts::LN_2,
    0.24022650695910072,
    0.05550410866482158,
    0.009618129107628477,
    0.0013333558146428443,
    0.0001540353039338161,
    1.5252733804059841e-05,
    1.321548679014431e-06,
    1.01780860092397e-07,
    7.054911620801123e-09,
    4.4455382718708116e-10,
    2.5678435993488206e-11,
    1.3691488853904128e-12,
];

/// 2^x, for any x whose result f32 can hold; zero or infinity beyond. NaN for NaN.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    // Far outside f32, well inside f64.
    let x = if x > 300.0 { 300.0 } else { x };
    let x = if x < -300.0 { -300.0 } else { x };
    let shifted = x + TO_INTEGER;
    let fraction = x - (shifted - TO_INTEGER);
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    polynomial(fraction, &EXP2) * scale
}

/// 2^x for f32, correctly rounded. NaN for NaN.
#[inline(always)]
pub(super) fn exp2_f32(x: f32) -> f32 {
    let result = exp2(x as f64) as f32;
    // Here the f64 result is a tie of two f32, and the true value is not on the even one's side.
    let result = if x.to_bits() == 0x3b42_9d37 {
        f32::from_bits(0x3f80_4385)
    } else {
        result
    };
    if x.to_bits() == 0xbcf3_a937 {
        f32::from_bits(0x3f7a_c6b1)
    } else {
        result
    }
}

/// 2 / ln(2) / (2k + 1)
const LOG2: [f64; 11] = [
    2.8853900817779268,
    0.9617966939259756,
    0.5770780163555853,
    0.4121985831111324,
    0.3205988979753252,
    0.2623081892525388,
    0.22195308321368667,
    0.19235933878519512,
    0.16972882833987804,
    0.15186263588304877,
    0.1373995277037108,
];

/// Base-2 logarithm of a normal positive f64 with at most 24 significant bits; special values as IEEE 754 has them.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    // Split x = m * 2^k with m in [sqrt(1/2), sqrt(2)), on the high word.
    let bits = x.to_bits();
    let k = ((bits >> 32) as i32).wrapping_sub(0x3fe6_a09e) >> 20;
    let m = f64::from_bits(bits.wrapping_sub((k as u32 as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let result = k as f64 + s * polynomial(s * s, &LOG2);
    let result = if x == f64::INFINITY { x } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f64::NAN }
}

/// (-1)^k / (2k + 1)!
const SIN: [f64; 11] = [
    1.0,
    -0.16666666666666666,
    0.008333333333333333,
    -0.0001984126984126984,
    2.7557319223985893e-06,
    -2.505210838544172e-08,
    1.6059043836821613e-10,
    -7.647163731819816e-13,
    2.8114572543455206e-15,
    -8.22063524662433e-18,
    1.9572941063391263e-20,
];

/// Sine of a quarter turn at most, in turns.
#[inline(always)]
fn sin_quarter(turns: f64) -> f64 {
    let x = turns * core::f64::consts::TAU;
    x * polynomial(x * x, &SIN)
}

/// The part of an f32 or f16 beyond whole turns, in [-1/2, 1/2]. NaN for infinities.
#[inline(always)]
fn turns(x: f64) -> f64 {
    let whole = (x + TO_INTEGER) - TO_INTEGER;
    // From 2^24 on an f32 is a whole number.
    let magnitude = if x < 0.0 { -x } else { x };
    let whole = if magnitude < 16777216.0 { whole } else { x };
    x - whole
}

/// Sine of `x` full turns. Exact at quarter turns.
#[inline(always)]
pub(super) fn sin_turns(x: f64) -> f64 {
    let r = turns(x);
    let r = if r > 0.25 { 0.5 - r } else { r };
    let r = if r < -0.25 { -0.5 - r } else { r };
    sin_quarter(r)
}

/// Cosine of `x` full turns. Exact at quarter turns.
#[inline(always)]
pub(super) fn cos_turns(x: f64) -> f64 {
    let r = turns(x);
    let r = if r < 0.0 { -r } else { r };
    sin_quarter(0.25 - r)
}
