//! Matrix multiply-accumulate against plain matrix products, with the layouts of AMD's matrix instruction notes.

use rukh_backend_sim::exec::valu::{FloatMode, Level, VArgs, matrix_handler};
use rukh_backend_sim::isa::Op;

use crate::harness::Random;

fn run(op: Op, lanes: usize, [a, b, c]: [&[u32]; 3], imm: u32) -> Vec<u32> {
    let mut results = Vec::new();
    for level in [Level::Baseline, Level::Avx2Fma]
        .into_iter()
        .filter(|level| level.is_available())
    {
        // The accumulator is the destination, as compilers have it.
        let mut out = c.to_vec();
        let dst = out.as_mut_ptr();
        let args = VArgs {
            dst,
            dst2: core::ptr::null_mut(),
            src: [a.as_ptr(), b.as_ptr(), dst],
            lanes: lanes as u32,
            exec: 0,
            mask_in: 0,
            mode: FloatMode::COMPUTE,
            clamp: false,
            imm,
        };
        // SAFETY: the rows have the dwords of the shape; the level is available.
        unsafe { matrix_handler(op, level).unwrap()(&args) };
        results.push(out);
    }
    assert!(
        results.windows(2).all(|w| w[0] == w[1]),
        "{op:?}: levels differ"
    );
    results.remove(0)
}

/// Small integers, which every format holds and every order of summation adds exactly.
fn small(random: &mut Random) -> i32 {
    (random.next() % 15) as i32 - 7
}

#[derive(Clone, Copy)]
enum Kind {
    F32,
    F16,
    Bf16,
    I8,
}

impl Kind {
    /// Elements in a dword, and one as its bits.
    fn encode(self, x: i32) -> (usize, u32) {
        let single = (x as f32).to_bits();
        match self {
            Kind::F32 => (1, single),
            Kind::Bf16 => (2, single >> 16),
            Kind::F16 if x == 0 => (2, 0),
            Kind::F16 => (
                2,
                (single >> 16 & 0x8000) | (single & 0x7fff_ffff) - (112 << 23) >> 13,
            ),
            Kind::I8 => (4, x as u8 as u32),
        }
    }

    fn put(self, row: &mut [u32], lanes: usize, lane: usize, element: usize, x: i32) {
        let (per, bits) = self.encode(x);
        row[element / per * lanes + lane] |= bits << (32 / per * (element % per));
    }

    fn result(self, x: i32) -> u32 {
        if let Kind::I8 = self {
            x as u32
        } else {
            (x as f32).to_bits()
        }
    }
}

/// `a` by row and `k`, `b` by `k` and column, `c` by row and column.
type Matrices = (Vec<Vec<i32>>, Vec<Vec<i32>>, Vec<Vec<i32>>);

fn matrices(random: &mut Random, edge: usize, k: usize) -> Matrices {
    let mut make = |m: usize, n: usize| {
        (0..m)
            .map(|_| (0..n).map(|_| small(random)).collect())
            .collect()
    };
    (make(edge, k), make(k, edge), make(edge, edge))
}

fn product((a, b, c): &Matrices, i: usize, j: usize) -> i32 {
    (0..b.len()).fold(c[i][j], |sum, k| sum + a[i][k] * b[k][j])
}

#[test]
fn mfma_multiplies_every_block() {
    let mut random = Random(5);
    for (op, kind, edge, k, blocks) in [
        (Op::v_mfma_f32_32x32x1f32, Kind::F32, 32, 1, 2),
        (Op::v_mfma_f32_16x16x1f32, Kind::F32, 16, 1, 4),
        (Op::v_mfma_f32_4x4x1f32, Kind::F32, 4, 1, 16),
        (Op::v_mfma_f32_32x32x2f32, Kind::F32, 32, 2, 1),
        (Op::v_mfma_f32_16x16x4f32, Kind::F32, 16, 4, 1),
        (Op::v_mfma_f32_32x32x8f16, Kind::F16, 32, 8, 1),
        (Op::v_mfma_f32_16x16x16f16, Kind::F16, 16, 16, 1),
        (Op::v_mfma_f32_4x4x4f16, Kind::F16, 4, 4, 16),
        (Op::v_mfma_f32_16x16x16bf16_1k, Kind::Bf16, 16, 16, 1),
        (Op::v_mfma_f32_16x16x8bf16, Kind::Bf16, 16, 8, 1),
        (Op::v_mfma_i32_32x32x8i8, Kind::I8, 32, 8, 1),
        (Op::v_mfma_i32_16x16x16i8, Kind::I8, 16, 16, 1),
        (Op::v_mfma_i32_16x16x32_i8, Kind::I8, 16, 32, 1),
    ] {
        let all: Vec<_> = (0..blocks)
            .map(|_| matrices(&mut random, edge, k))
            .collect();
        // Each lane has consecutive k of one row (or column); rows fill the lanes, then blocks, then k.
        let each = k * edge * blocks / 64;
        let (mut a, mut b) = (vec![0; 64 * 8], vec![0; 64 * 8]);
        let (mut c, mut expected) = (vec![0; 64 * 32], vec![0; 64 * 32]);
        for (block, m) in all.iter().enumerate() {
            for x in 0..edge {
                for e in 0..k {
                    let lane = x + edge * (block + blocks * (e / each));
                    kind.put(&mut a, 64, lane, e % each, m.0[x][e]);
                    kind.put(&mut b, 64, lane, e % each, m.1[e][x]);
                }
            }
            for i in 0..edge {
                for j in 0..edge {
                    let (lane, register) = match edge {
                        32 => (j + 32 * (i % 8 / 4), i % 4 + i / 8 * 4 + block * 16),
                        16 => (j + 16 * (i / 4), i % 4 + block * 4),
                        _ => (j + 4 * block, i),
                    };
                    c[register * 64 + lane] = kind.result(m.2[i][j]);
                    expected[register * 64 + lane] = kind.result(product(m, i, j));
                }
            }
        }
        assert_eq!(run(op, 64, [&a, &b, &c], 0), expected, "{op:?}");
    }
}

#[test]
fn mfma_f64_interleaves_rows() {
    let mut random = Random(6);
    let m = matrices(&mut random, 16, 4);
    let put = |row: &mut Vec<u32>, register: usize, lane: usize, x: i32| {
        row[2 * register * 64 + lane] = 0;
        row[(2 * register + 1) * 64 + lane] = ((x as f64).to_bits() >> 32) as u32;
    };
    let (mut a, mut b) = (vec![0; 128], vec![0; 128]);
    let (mut c, mut expected) = (vec![0; 64 * 8], vec![0; 64 * 8]);
    for x in 0..16 {
        for k in 0..4 {
            put(&mut a, 0, x + 16 * k, m.0[x][k]);
            put(&mut b, 0, x + 16 * k, m.1[k][x]);
        }
        for j in 0..16 {
            put(&mut c, x / 4, j + 16 * (x % 4), m.2[x][j]);
            put(&mut expected, x / 4, j + 16 * (x % 4), product(&m, x, j));
        }
    }
    assert_eq!(
        run(Op::v_mfma_f64_16x16x4f64, 64, [&a, &b, &c], 0),
        expected
    );
}

#[test]
fn a_block_of_a_can_serve_its_neighbours() {
    // 4x4x1, 16 blocks of one row each: CBSZ 2 and ABID 3 take A from block 3 of each four.
    let a: Vec<u32> = (0..64).map(|lane| ((lane / 4) as f32).to_bits()).collect();
    let b = vec![1f32.to_bits(); 64];
    let out = run(Op::v_mfma_f32_4x4x1f32, 64, [&a, &b, &[0; 256]], 2 | 3 << 3);
    for (lane, &value) in out.iter().take(64).enumerate() {
        assert_eq!(f32::from_bits(value), (lane / 16 * 4 + 3) as f32);
    }
}

#[test]
fn wmma_spreads_rows_over_lane_groups() {
    let mut random = Random(7);
    for lanes in [32, 64] {
        for (op, kind) in [
            (Op::v_wmma_f32_16x16x16_f16, Kind::F16),
            (Op::v_wmma_f32_16x16x16_bf16, Kind::Bf16),
            (Op::v_wmma_i32_16x16x16_iu8, Kind::I8),
        ] {
            let m = matrices(&mut random, 16, 16);
            let (mut a, mut b) = (vec![0; lanes * 8], vec![0; lanes * 8]);
            let (mut c, mut expected) = (vec![0; 256], vec![0; 256]);
            for lane in 0..lanes {
                for k in 0..16 {
                    kind.put(&mut a, lanes, lane, k, m.0[lane % 16][k]);
                    kind.put(&mut b, lanes, lane, k, m.1[k][lane % 16]);
                }
                for register in 0..256 / lanes {
                    let (i, j) = (register * (lanes / 16) + lane / 16, lane % 16);
                    c[register * lanes + lane] = kind.result(m.2[i][j]);
                    expected[register * lanes + lane] = kind.result(product(&m, i, j));
                }
            }
            assert_eq!(
                run(op, lanes, [&a, &b, &c], 3),
                expected,
                "{op:?} of {lanes} lanes"
            );
        }
    }
}

#[test]
fn half_precision_wmma_keeps_the_other_halves() {
    let mut random = Random(8);
    for (op, kind) in [
        (Op::v_wmma_f16_16x16x16_f16, Kind::F16),
        (Op::v_wmma_bf16_16x16x16_bf16, Kind::Bf16),
    ] {
        for (high, lanes) in [(false, 32), (true, 32), (true, 64)] {
            // Bits few enough that no half rounds.
            let mut m = matrices(&mut random, 16, 16);
            m.0.iter_mut().flatten().for_each(|x| *x %= 2);
            let (mut a, mut b) = (vec![0; lanes * 8], vec![0; lanes * 8]);
            let (mut c, mut expected) = (vec![0x5a5a_a5a5u32; 256], vec![0x5a5a_a5a5; 256]);
            for lane in 0..lanes {
                for k in 0..16 {
                    kind.put(&mut a, lanes, lane, k, m.0[lane % 16][k]);
                    kind.put(&mut b, lanes, lane, k, m.1[k][lane % 16]);
                }
                for register in 0..256 / lanes {
                    let (i, j) = (register * (lanes / 16) + lane / 16, lane % 16);
                    let set = |word: &mut u32, x: i32| {
                        let shift = if high { 16 } else { 0 };
                        *word = *word & !(0xffff << shift) | kind.encode(x).1 << shift;
                    };
                    set(&mut c[register * lanes + lane], m.2[i][j]);
                    set(&mut expected[register * lanes + lane], product(&m, i, j));
                }
            }
            assert_eq!(
                run(op, lanes, [&a, &b, &c], if high { 4 } else { 0 }),
                expected,
                "{op:?}"
            );
        }
    }
}
