//! Matrix multiply-accumulate: MFMA of gfx908 to gfx942 (wave64) and WMMA of gfx11.
//!
//! The lanes of a wavefront hold matrix elements; EXEC does not matter. Each result element is its accumulator with
//! the products added one after the other, lowest `k` first, each step fused and rounded once to nearest even with
//! subnormals kept, whatever MODE says. Silicon's order and internal precision are not documented. NaN results are
//! the default NaN.

// Matrix elements are named by their row and column.
#![allow(clippy::needless_range_loop)]

use core::mem::MaybeUninit;

use super::VArgs;
use super::float::{
    F32, F64, bf16_to_f32, default_nan, f16_to_f32, f32_to_bf16, f32_to_f16, is_nan,
};
use super::lanes::lanes;
use super::levels::Host;

/// What a result element is computed in.
pub(super) trait Sum: Copy {
    /// Dwords of one element.
    const DWORDS: usize;
    const ZERO: Self;
    fn step<H: Host>(a: Self, b: Self, c: Self) -> Self;
    fn from_words(words: [u32; 2]) -> Self;
    /// The pattern to write.
    fn to_words(self) -> [u32; 2];
    fn negate(self) -> Self;
}

impl Sum for f32 {
    const DWORDS: usize = 1;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn step<H: Host>(a: f32, b: f32, c: f32) -> f32 {
        H::fma_f32(a, b, c)
    }
    #[inline(always)]
    fn from_words(words: [u32; 2]) -> Self {
        f32::from_bits(words[0])
    }
    #[inline(always)]
    fn to_words(self) -> [u32; 2] {
        let bits = self.to_bits();
        [
            if is_nan::<F32>(bits) {
                default_nan::<F32>()
            } else {
                bits
            },
            0,
        ]
    }
    #[inline(always)]
    fn negate(self) -> Self {
        -self
    }
}

impl Sum for f64 {
    const DWORDS: usize = 2;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn step<H: Host>(a: f64, b: f64, c: f64) -> f64 {
        H::fma_f64(a, b, c)
    }
    #[inline(always)]
    fn from_words(words: [u32; 2]) -> Self {
        f64::from_bits(words[0] as u64 | (words[1] as u64) << 32)
    }
    #[inline(always)]
    fn to_words(self) -> [u32; 2] {
        let bits = self.to_bits();
        let bits = if is_nan::<F64>(bits) {
            default_nan::<F64>()
        } else {
            bits
        };
        [bits as u32, (bits >> 32) as u32]
    }
    #[inline(always)]
    fn negate(self) -> Self {
        -self
    }
}

impl Sum for i32 {
    const DWORDS: usize = 1;
    const ZERO: Self = 0;
    #[inline(always)]
    fn step<H: Host>(a: i32, b: i32, c: i32) -> i32 {
        c.wrapping_add(a.wrapping_mul(b))
    }
    #[inline(always)]
    fn from_words(words: [u32; 2]) -> Self {
        words[0] as i32
    }
    #[inline(always)]
    fn to_words(self) -> [u32; 2] {
        [self as u32, 0]
    }
    #[inline(always)]
    fn negate(self) -> Self {
        self.wrapping_neg()
    }
}

/// How factors lie in dwords: element `e` of a lane, widened to `S`.
pub(super) trait Factor<S> {
    /// # Safety
    ///
    /// `row` has readable rows of `n` lanes up to the dword that element `e` is in; `lane < n`.
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> S;
}

/// 32-bit floats, one dword each.
pub(super) struct Single;
/// 64-bit floats, two dwords each.
pub(super) struct Double;
/// f16, two in a dword.
pub(super) struct Half;
/// bfloat16, two in a dword.
pub(super) struct Brain;
/// Signed bytes, four in a dword.
pub(super) struct Int8;

impl Factor<f32> for Single {
    #[inline(always)]
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> f32 {
        // SAFETY: the caller's contract.
        f32::from_bits(unsafe { *row.add(e * n + lane) })
    }
}

impl Factor<f64> for Double {
    #[inline(always)]
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> f64 {
        // SAFETY: the caller's contract.
        f64::from_words(unsafe { [*row.add(2 * e * n + lane), *row.add((2 * e + 1) * n + lane)] })
    }
}

impl Factor<f32> for Half {
    #[inline(always)]
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> f32 {
        // SAFETY: the caller's contract.
        f16_to_f32((unsafe { *row.add(e / 2 * n + lane) } >> (16 * (e % 2))) as u16)
    }
}

impl Factor<f32> for Brain {
    #[inline(always)]
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> f32 {
        // SAFETY: the caller's contract.
        bf16_to_f32((unsafe { *row.add(e / 2 * n + lane) } >> (16 * (e % 2))) as u16)
    }
}

impl Factor<i32> for Int8 {
    #[inline(always)]
    unsafe fn get(row: *const u32, lane: usize, e: usize, n: usize) -> i32 {
        // SAFETY: the caller's contract.
        ((unsafe { *row.add(e / 4 * n + lane) } >> (8 * (e % 4))) as i8).into()
    }
}

/// Largest edge of a result and largest depth.
const EDGE: usize = 32;
const DEPTH: usize = 32;

/// `c += a * b`, where `a` is by rows of `k`, `b` by rows of `j`.
#[inline(always)]
fn multiply<H: Host, S: Sum>(
    a: &[[S; DEPTH]; EDGE],
    b: &[[S; EDGE]; DEPTH],
    c: &mut [[S; EDGE]; EDGE],
    [m, n, k]: [usize; 3],
) {
    for i in 0..m.min(EDGE) {
        for (&factor, row) in a[i].iter().zip(b).take(k) {
            for j in 0..n.min(EDGE) {
                c[i][j] = S::step::<H>(factor, row[j], c[i][j]);
            }
        }
    }
}

/// Where element (i, j) of block `b` of an MFMA result is: lane, and number of the element in the lane.
#[inline(always)]
fn mfma_place<S: Sum>(edge: usize, blocks: usize, [i, j, b]: [usize; 3]) -> (usize, usize) {
    match (edge, S::DWORDS) {
        (4, 2) => (j + 4 * b + 16 * i, 0),
        (4, _) => (j + 4 * b, i),
        (16, 2) => (j + 16 * (i % 4), i / 4),
        (16, _) => (j + 16 * (i / 4), i % 4 + 4 * b),
        _ => (
            j + 32 * (i / 4 % 2),
            i % 4 + 4 * (i / 8) + 32 * 32 / 64 * b.min(blocks),
        ),
    }
}

/// The lane that B is read from, by the lane-group pattern of the instruction (BLGP).
#[inline(always)]
fn pattern(lane: usize, blgp: u32) -> usize {
    match blgp {
        0 => lane,
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % 64,
        group => lane % 16 + 16 * (group as usize - 4),
    }
}

/// MFMA of `blocks` results of `edge` by `edge`, each over `k` products. `imm` holds CBSZ (bits 2:0), ABID (6:3) and
/// BLGP (9:7); for f64 BLGP negates A, B and C instead.
#[inline(always)]
pub(super) unsafe fn mfma<H: Host, S: Sum, F: Factor<S>>(
    args: &VArgs,
    edge: usize,
    k: usize,
    blocks: usize,
) -> u64 {
    let [sa, sb, sc] = args.src;
    let (cbsz, abid, blgp) = (
        args.imm & 7,
        (args.imm >> 3 & 15) as usize,
        args.imm >> 7 & 7,
    );
    let double = S::DWORDS == 2;
    let sign = |on: u32, x: S| if double && on != 0 { x.negate() } else { x };
    // Lanes that share the work of one row of A, and the elements each has.
    let groups = 64 / (edge * blocks);
    let each = k / groups;
    let n = 64;
    debug_assert!(lanes(args) == n, "MFMA is for wave64");
    let mut a = [[S::ZERO; DEPTH]; EDGE];
    let mut b = [[S::ZERO; EDGE]; DEPTH];
    let mut c = [[S::ZERO; EDGE]; EDGE];
    let mut result = MaybeUninit::<[u32; 64 * 32]>::uninit();
    let out = result.as_mut_ptr().cast::<u32>();
    // SAFETY: the operands of the row's operations have the dwords that shape and element type need: A and B
    // `k * edge * blocks / 64` elements, C and D `edge * edge * blocks / 64`, in 64 lanes.
    unsafe {
        for block in 0..blocks {
            // A broadcast takes block `abid` of each group of 2^cbsz blocks.
            let span = if double { 1 } else { 1usize << cbsz };
            let from = if span > 1 {
                (block & !(span - 1)) + (abid & (span - 1))
            } else {
                block
            };
            for x in 0..edge {
                for e in 0..k {
                    let lane = |block| (x + edge * (block + blocks * (e / each))) & 63;
                    a[x][e] = sign(blgp & 1, F::get(sa, lane(from), e % each, n));
                    let lane = if double {
                        lane(block)
                    } else {
                        pattern(lane(block), blgp)
                    };
                    b[e][x] = sign(blgp & 2, F::get(sb, lane, e % each, n));
                }
            }
            let place = |i, j| {
                let (lane, element) = mfma_place::<S>(edge, blocks, [i, j, block]);
                (element * S::DWORDS * n + lane, S::DWORDS)
            };
            for i in 0..edge {
                for j in 0..edge {
                    let (at, dwords) = place(i, j);
                    let high = if dwords == 2 { *sc.add(at + n) } else { 0 };
                    c[i][j] = sign(blgp & 4, S::from_words([*sc.add(at), high]));
                }
            }
            multiply::<H, S>(&a, &b, &mut c, [edge, edge, k]);
            for i in 0..edge {
                for j in 0..edge {
                    let (at, dwords) = place(i, j);
                    let words = c[i][j].to_words();
                    out.add(at).write(words[0]);
                    if dwords == 2 {
                        out.add(at + n).write(words[1]);
                    }
                }
            }
        }
        args.dst
            .copy_from_nonoverlapping(out, edge * edge * blocks * S::DWORDS);
    }
    0
}

/// Reads the factors of a 16 by 16 WMMA: lane `x` holds row `x` of A, or column `x` of B, in its `k` elements. The
/// other lanes repeat the first sixteen.
#[inline(always)]
unsafe fn wmma_factors<S: Sum>(
    n: usize,
    get: impl Fn(usize, usize) -> (S, S),
) -> ([[S; DEPTH]; EDGE], [[S; EDGE]; DEPTH]) {
    let mut a = [[S::ZERO; DEPTH]; EDGE];
    let mut b = [[S::ZERO; EDGE]; DEPTH];
    debug_assert!(n >= 16);
    for x in 0..16 {
        for k in 0..16 {
            (a[x][k], b[k][x]) = get(x, k);
        }
    }
    (a, b)
}

/// Where element (i, j) of a WMMA result is among `n` lanes: an offset in dwords.
#[inline(always)]
fn wmma_place(i: usize, j: usize, n: usize) -> usize {
    let groups = n / 16;
    i / groups * n + j + 16 * (i % groups)
}

/// WMMA with a result of f32.
#[inline(always)]
pub(super) unsafe fn wmma_f32<H: Host, F: Factor<f32>>(args: &VArgs) -> u64 {
    let n = lanes(args);
    let [sa, sb, sc] = args.src;
    let mut c = [[0.0; EDGE]; EDGE];
    // SAFETY: A and B have eight dwords a lane, C and D `256 / n`.
    unsafe {
        let (a, b) = wmma_factors::<f32>(n, |x, k| (F::get(sa, x, k, n), F::get(sb, x, k, n)));
        for i in 0..16 {
            for j in 0..16 {
                c[i][j] = f32::from_bits(*sc.add(wmma_place(i, j, n)));
            }
        }
        multiply::<H, f32>(&a, &b, &mut c, [16; 3]);
        for i in 0..16 {
            for j in 0..16 {
                *args.dst.add(wmma_place(i, j, n)) = c[i][j].to_words()[0];
            }
        }
    }
    0
}

/// WMMA with accumulator and result in 16-bit halves of their dwords: the high ones if bit 2 of `imm` is set. The other
/// halves of the destination stay. The sum is kept in f32 and rounded once.
#[inline(always)]
pub(super) unsafe fn wmma_half<H: Host, F: Factor<f32>>(
    args: &VArgs,
    widen: impl Fn(u16) -> f32,
    narrow: impl Fn(f32) -> u16,
) -> u64 {
    let n = lanes(args);
    let [sa, sb, sc] = args.src;
    let shift = if args.imm & 4 != 0 { 16 } else { 0 };
    let mut c = [[0.0; EDGE]; EDGE];
    // SAFETY: A and B have eight dwords a lane, C and D `256 / n`.
    unsafe {
        let (a, b) = wmma_factors::<f32>(n, |x, k| (F::get(sa, x, k, n), F::get(sb, x, k, n)));
        for i in 0..16 {
            for j in 0..16 {
                c[i][j] = widen((*sc.add(wmma_place(i, j, n)) >> shift) as u16);
            }
        }
        multiply::<H, f32>(&a, &b, &mut c, [16; 3]);
        for i in 0..16 {
            for j in 0..16 {
                let word = args.dst.add(wmma_place(i, j, n));
                let half = narrow(f32::from_bits(c[i][j].to_words()[0])) as u32;
                *word = (*word & !(0xffff << shift)) | half << shift;
            }
        }
    }
    0
}

/// WMMA of `BITS`-bit integers. Bits 0 and 1 of `imm` say that A and B are signed; clamp saturates.
#[inline(always)]
pub(super) unsafe fn wmma_i32<const BITS: usize>(args: &VArgs) -> u64 {
    let n = lanes(args);
    let [sa, sb, sc] = args.src;
    let per = 32 / BITS;
    let field = |word: u32, k: usize, signed: bool| {
        let up = word << (32 - BITS - BITS * (k % per));
        if signed {
            up as i32 >> (32 - BITS)
        } else {
            (up >> (32 - BITS)) as i32
        }
    };
    let (signed_a, signed_b) = (args.imm & 1 != 0, args.imm & 2 != 0);
    // SAFETY: A and B have `BITS / 2` dwords a lane, C and D `256 / n`.
    unsafe {
        let (a, b) = wmma_factors::<i32>(n, |x, k| {
            (
                field(*sa.add(k / per * n + x), k, signed_a),
                field(*sb.add(k / per * n + x), k, signed_b),
            )
        });
        let mut out = [[0i32; 16]; 16];
        for (i, row) in out.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                let sum: i64 = (0..16).map(|k| (a[i][k] * b[k][j]) as i64).sum();
                let sum = sum + *sc.add(wmma_place(i, j, n)) as i32 as i64;
                let saturated = sum.clamp(i32::MIN as i64, i32::MAX as i64);
                *value = if args.clamp { saturated } else { sum } as i32;
            }
        }
        for (i, row) in out.iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                *args.dst.add(wmma_place(i, j, n)) = value as u32;
            }
        }
    }
    0
}

handlers! {
    (args, H)
    v_mfma_f32_32x32x1f32 | v_mfma_f32_32x32x1_2b_f32 => mfma::<H, f32, Single>(args, 32, 1, 2);
    v_mfma_f32_16x16x1f32 | v_mfma_f32_16x16x1_4b_f32 => mfma::<H, f32, Single>(args, 16, 1, 4);
    v_mfma_f32_4x4x1f32 | v_mfma_f32_4x4x1_16b_f32 => mfma::<H, f32, Single>(args, 4, 1, 16);
    v_mfma_f32_32x32x2f32 | v_mfma_f32_32x32x2_f32 => mfma::<H, f32, Single>(args, 32, 2, 1);
    v_mfma_f32_16x16x4f32 | v_mfma_f32_16x16x4_f32 => mfma::<H, f32, Single>(args, 16, 4, 1);
    v_mfma_f32_32x32x4f16 | v_mfma_f32_32x32x4_2b_f16 => mfma::<H, f32, Half>(args, 32, 4, 2);
    v_mfma_f32_16x16x4f16 | v_mfma_f32_16x16x4_4b_f16 => mfma::<H, f32, Half>(args, 16, 4, 4);
    v_mfma_f32_4x4x4f16 | v_mfma_f32_4x4x4_16b_f16 => mfma::<H, f32, Half>(args, 4, 4, 16);
    v_mfma_f32_32x32x8f16 | v_mfma_f32_32x32x8_f16 => mfma::<H, f32, Half>(args, 32, 8, 1);
    v_mfma_f32_16x16x16f16 | v_mfma_f32_16x16x16_f16 => mfma::<H, f32, Half>(args, 16, 16, 1);
    v_mfma_f32_32x32x4bf16_1k | v_mfma_f32_32x32x4_2b_bf16 => mfma::<H, f32, Brain>(args, 32, 4, 2);
    v_mfma_f32_16x16x4bf16_1k | v_mfma_f32_16x16x4_4b_bf16 => mfma::<H, f32, Brain>(args, 16, 4, 4);
    v_mfma_f32_4x4x4bf16_1k | v_mfma_f32_4x4x4_16b_bf16 => mfma::<H, f32, Brain>(args, 4, 4, 16);
    v_mfma_f32_32x32x8bf16_1k | v_mfma_f32_32x32x8_bf16 => mfma::<H, f32, Brain>(args, 32, 8, 1);
    v_mfma_f32_16x16x16bf16_1k | v_mfma_f32_16x16x16_bf16 => mfma::<H, f32, Brain>(args, 16, 16, 1);
    v_mfma_f32_32x32x2bf16 => mfma::<H, f32, Brain>(args, 32, 2, 2);
    v_mfma_f32_16x16x2bf16 => mfma::<H, f32, Brain>(args, 16, 2, 4);
    v_mfma_f32_4x4x2bf16 => mfma::<H, f32, Brain>(args, 4, 2, 16);
    v_mfma_f32_32x32x4bf16 => mfma::<H, f32, Brain>(args, 32, 4, 1);
    v_mfma_f32_16x16x8bf16 => mfma::<H, f32, Brain>(args, 16, 8, 1);
    v_mfma_i32_32x32x4i8 | v_mfma_i32_32x32x4_2b_i8 => mfma::<H, i32, Int8>(args, 32, 4, 2);
    v_mfma_i32_16x16x4i8 | v_mfma_i32_16x16x4_4b_i8 => mfma::<H, i32, Int8>(args, 16, 4, 4);
    v_mfma_i32_4x4x4i8 | v_mfma_i32_4x4x4_16b_i8 => mfma::<H, i32, Int8>(args, 4, 4, 16);
    v_mfma_i32_32x32x8i8 => mfma::<H, i32, Int8>(args, 32, 8, 1);
    v_mfma_i32_16x16x16i8 => mfma::<H, i32, Int8>(args, 16, 16, 1);
    v_mfma_i32_32x32x16_i8 => mfma::<H, i32, Int8>(args, 32, 16, 1);
    v_mfma_i32_16x16x32_i8 => mfma::<H, i32, Int8>(args, 16, 32, 1);
    v_mfma_f64_16x16x4f64 | v_mfma_f64_16x16x4_f64 => mfma::<H, f64, Double>(args, 16, 4, 1);
    v_mfma_f64_4x4x4f64 | v_mfma_f64_4x4x4_4b_f64 => mfma::<H, f64, Double>(args, 4, 4, 4);
    v_wmma_f32_16x16x16_f16 => wmma_f32::<H, Half>(args);
    v_wmma_f32_16x16x16_bf16 => wmma_f32::<H, Brain>(args);
    v_wmma_f16_16x16x16_f16 => wmma_half::<H, Half>(args, f16_to_f32, f32_to_f16);
    v_wmma_bf16_16x16x16_bf16 => wmma_half::<H, Brain>(args, bf16_to_f32, f32_to_bf16);
    v_wmma_i32_16x16x16_iu8 => wmma_i32::<8>(args);
    v_wmma_i32_16x16x16_iu4 => wmma_i32::<4>(args);
}
