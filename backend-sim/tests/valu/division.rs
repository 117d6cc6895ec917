//! The division that compilers emit, step by step through the handlers, against the host's division.

use rukh_backend_sim::exec::valu::{FloatMode, Level, VArgs, handler};
use rukh_backend_sim::isa::Op;

use crate::harness::*;

/// A row register of one lane width, 64 lanes.
type Reg = Vec<u32>;

struct Machine {
    level: Level,
    rows: usize,
}

impl Machine {
    fn run(&self, op: Op, src: [&Reg; 3], mask_in: u64) -> (Reg, u64) {
        let mut out = vec![0; 64 * self.rows];
        let args = VArgs {
            dst: out.as_mut_ptr(),
            dst2: core::ptr::null_mut(),
            src: src.map(|s| s.as_ptr()),
            lanes: 64,
            exec: u64::MAX,
            mask_in,
            mode: FloatMode::COMPUTE,
            clamp: false,
            imm: 0,
        };
        // SAFETY: every register has the rows of the format; the level was asked to be available.
        let mask = unsafe { handler(op, self.level).unwrap()(&args) };
        (out, mask)
    }

    fn neg(&self, x: &Reg) -> Reg {
        let mut x = x.clone();
        for word in &mut x[64 * (self.rows - 1)..] {
            *word ^= 1 << 31;
        }
        x
    }

    /// The sequence LLVM expands a correctly rounded f32 division to.
    fn divide_f32(&self, n: &Reg, d: &Reg) -> Reg {
        let fma = |a: &Reg, b: &Reg, c: &Reg| self.run(Op::v_fma_f32, [a, b, c], 0).0;
        let one: Reg = vec![1f32.to_bits(); 64];
        let (den, _) = self.run(Op::v_div_scale_f32, [d, d, n], 0);
        let (num, vcc) = self.run(Op::v_div_scale_f32, [n, d, n], 0);
        let minus = self.neg(&den);
        let (r, _) = self.run(Op::v_rcp_f32, [&den; 3], 0);
        let r = fma(&fma(&minus, &r, &one), &r, &r);
        let (q, _) = self.run(Op::v_mul_f32, [&num, &r, &r], 0);
        let q = fma(&fma(&minus, &q, &num), &r, &q);
        let error = fma(&minus, &q, &num);
        let (q, _) = self.run(Op::v_div_fmas_f32, [&error, &r, &q], vcc);
        self.run(Op::v_div_fixup_f32, [&q, d, n], 0).0
    }

    /// The sequence LLVM expands a f64 division to.
    fn divide_f64(&self, n: &Reg, d: &Reg) -> Reg {
        let fma = |a: &Reg, b: &Reg, c: &Reg| self.run(Op::v_fma_f64, [a, b, c], 0).0;
        let mut one: Reg = vec![0; 128];
        one[64..].fill(0x3ff0_0000);
        let (den, _) = self.run(Op::v_div_scale_f64, [d, d, n], 0);
        let (num, vcc) = self.run(Op::v_div_scale_f64, [n, d, n], 0);
        let minus = self.neg(&den);
        let (r, _) = self.run(Op::v_rcp_f64, [&den; 3], 0);
        let r = fma(&r, &fma(&minus, &r, &one), &r);
        let r = fma(&r, &fma(&minus, &r, &one), &r);
        let (q, _) = self.run(Op::v_mul_f64, [&num, &r, &r], 0);
        let error = fma(&minus, &q, &num);
        let (q, _) = self.run(Op::v_div_fmas_f64, [&error, &r, &q], vcc);
        self.run(Op::v_div_fixup_f64, [&q, d, n], 0).0
    }
}

fn levels() -> impl Iterator<Item = Level> {
    [Level::Baseline, Level::Avx2Fma]
        .into_iter()
        .filter(|level| level.is_available())
}

/// Quotients of edge exponents, ties among subnormal results, and random ones.
fn cases(fmt: Fmt) -> Vec<[u64; 3]> {
    let mut cases = fmt.cases(2, 60_000);
    let mut random = Random(99);
    let range = 1 << fmt.exponent;
    for _ in 0..60_000 {
        let fraction = |r: &mut Random| {
            (r.next() & ((1 << fmt.fraction) - 1)) & !((1 << (r.next() % fmt.fraction as u64)) - 1)
        };
        // Exponents whose difference is near the bottom, the top or one of the thresholds between.
        let d = random.next() % range;
        let edge = [0, 96, 126, 149, 150, 23, 768, 1022, 1074, 53][(random.next() % 10) as usize];
        let n = (d + edge * (random.next() % 3))
            .wrapping_add(random.next() % 5)
            .wrapping_sub(2 + edge)
            % range;
        cases.push([
            n << fmt.fraction | fraction(&mut random),
            d << fmt.fraction | fraction(&mut random),
            0,
        ]);
    }
    cases
}

#[test]
fn f32_division_equals_the_host() {
    for level in levels() {
        let machine = Machine { level, rows: 1 };
        for chunk in cases(SINGLE).chunks_exact(64) {
            let n: Reg = chunk.iter().map(|c| c[0] as u32).collect();
            let d: Reg = chunk.iter().map(|c| c[1] as u32).collect();
            let quotient = machine.divide_f32(&n, &d);
            for i in 0..64 {
                let (x, y) = (f32::from_bits(n[i]), f32::from_bits(d[i]));
                let (got, expected) = (f32::from_bits(quotient[i]), x / y);
                let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                assert!(
                    same,
                    "{level:?}: {x:e} / {y:e} ({:#x} / {:#x}) = {got:e}, not {expected:e}",
                    n[i], d[i]
                );
            }
        }
    }
}

#[test]
fn f64_division_equals_the_host() {
    for level in levels() {
        let machine = Machine { level, rows: 2 };
        for chunk in cases(DOUBLE).chunks_exact(64) {
            let reg = |s: usize| -> Reg {
                let low = chunk.iter().map(|c| c[s] as u32);
                low.chain(chunk.iter().map(|c| (c[s] >> 32) as u32))
                    .collect()
            };
            let (n, d) = (reg(0), reg(1));
            let quotient = machine.divide_f64(&n, &d);
            for i in 0..64 {
                let (x, y) = (f64::from_bits(chunk[i][0]), f64::from_bits(chunk[i][1]));
                let got = f64::from_bits(quotient[i] as u64 | (quotient[64 + i] as u64) << 32);
                let same = got.to_bits() == (x / y).to_bits() || got.is_nan() && (x / y).is_nan();
                assert!(same, "{level:?}: {x:e} / {y:e} = {got:e}, not {:e}", x / y);
            }
        }
    }
}

#[test]
fn fixup_f16_decides_the_special_quotients() {
    check(
        Op::v_div_fixup_f16,
        W16,
        &[W16, W16, W16],
        PLAIN,
        &HALF.cases(3, 1000),
        |[q, d, n]| {
            let sign = (d ^ n) & HALF.sign();
            let magnitude = |x: u64| x & !HALF.sign();
            if HALF.is_nan(n) || HALF.is_nan(d) {
                return if HALF.is_nan(n) { n } else { d } | HALF.quiet();
            }
            match (magnitude(n), magnitude(d)) {
                (0, 0) | (0x7c00, 0x7c00) => 0xfe00,
                (_, 0) | (0x7c00, _) => sign | 0x7c00,
                (0, _) | (_, 0x7c00) => sign,
                _ if HALF.is_nan(q) => sign | magnitude(q) | HALF.quiet(),
                _ => sign | magnitude(q),
            }
        },
    );
}

#[test]
fn segments_of_two_over_pi_are_53_bits_each() {
    // The first 159 bits of 2 / pi, cut into three, each exact in f64.
    let segments = [0x3fe45f306dc9c882, 0x3c94a7f09d5f47d4, 0x394a6ee06db14acc];
    for (i, &segment) in segments.iter().enumerate() {
        let case = [1f64.to_bits(), i as u64, 0];
        check(
            Op::v_trig_preop_f64,
            W64,
            &[W64, W32],
            PLAIN,
            &[case],
            |_| segment,
        );
    }
    assert_eq!(
        segments.map(f64::from_bits).iter().sum::<f64>(),
        core::f64::consts::FRAC_2_PI
    );
    // An argument of 2^56 skips two bits: its multiples of four turns do not matter.
    let skipped = (f64::from_bits(segments[0]) * 4.0).fract();
    let case = [2f64.powi(56).to_bits(), 0, 0];
    check(
        Op::v_trig_preop_f64,
        W64,
        &[W64, W32],
        PLAIN,
        &[case],
        |_| {
            (skipped / 4.0 + (f64::from_bits(segments[1]) * 2f64.powi(55)).floor() * 2f64.powi(-55))
                .to_bits()
        },
    );
}
