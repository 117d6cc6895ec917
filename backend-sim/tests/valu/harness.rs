//! Runs one operation on lists of operands at every level and compares each lane with a judge.

use rukh_backend_sim::exec::valu::{FloatMode, Level, VArgs, handler};
use rukh_backend_sim::isa::Op;

/// How wide an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// In the low half of a lane; the other half holds garbage.
    W16,
    W32,
    /// Two rows.
    W64,
}
pub use Width::{W16, W32, W64};

impl Width {
    fn rows(self) -> usize {
        if self == W64 { 2 } else { 1 }
    }
}

/// What an operation is run with, apart from its sources.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub mode: FloatMode,
    pub clamp: bool,
    pub imm: u32,
    /// The value of the lane mask input in every lane.
    pub mask: bool,
}

pub const PLAIN: Setting = Setting {
    mode: FloatMode::COMPUTE,
    clamp: false,
    imm: 0,
    mask: false,
};

impl Setting {
    /// A setting with other FP_ROUND and FP_DENORM fields.
    pub fn mode(round: u32, denorm: u32) -> Self {
        Self {
            mode: FloatMode::from_mode_register(round | denorm << 4 | 0x300),
            ..PLAIN
        }
    }

    pub fn clamp(self) -> Self {
        Self {
            clamp: true,
            ..self
        }
    }
}

/// What a lane has to come out as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    pub value: u64,
    pub mask: bool,
}

impl From<u64> for Lane {
    fn from(value: u64) -> Self {
        Self { value, mask: false }
    }
}

/// The result of one batch.
struct Batch {
    values: Vec<u64>,
    mask: u64,
}

fn levels() -> Vec<Level> {
    [Level::Baseline, Level::Avx2Fma]
        .into_iter()
        .filter(|level| level.is_available())
        .collect()
}

fn garbage(i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9e37_79b9) << 16
}

#[allow(clippy::too_many_arguments)]
fn run(
    op: Op,
    level: Level,
    dst: Width,
    src: &[Width],
    lanes: usize,
    set: Setting,
    cases: &[[u64; 3]],
    alias: Option<usize>,
) -> Batch {
    let handler = handler(op, level).unwrap_or_else(|| panic!("{op:?} has no handler"));
    let mut rows: Vec<Vec<u32>> = src
        .iter()
        .enumerate()
        .map(|(s, width)| {
            let mut row = vec![0; lanes * width.rows()];
            for (i, case) in cases.iter().enumerate() {
                match width {
                    W16 => row[i] = case[s] as u16 as u32 | garbage(i),
                    W32 => row[i] = case[s] as u32,
                    W64 => {
                        row[i] = case[s] as u32;
                        row[lanes + i] = (case[s] >> 32) as u32;
                    }
                }
            }
            row
        })
        .collect();
    let mut out = vec![0xdead_beef; lanes * 2];
    let pointers: Vec<*mut u32> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
    let mut sources = [core::ptr::null(); 3];
    for (source, pointer) in sources.iter_mut().zip(&pointers) {
        *source = *pointer as *const u32;
    }
    let target = alias.map_or(out.as_mut_ptr(), |s| pointers[s]);
    let args = VArgs {
        dst: target,
        dst2: core::ptr::null_mut(),
        src: sources,
        lanes: lanes as u32,
        exec: u64::MAX,
        mask_in: if set.mask { u64::MAX } else { 0 },
        mode: set.mode,
        clamp: set.clamp,
        imm: set.imm,
    };
    // SAFETY: rows are as long as the widths say, and the level was asked to be available.
    let mask = unsafe { handler(&args) };
    let result = alias.map_or(&out, |s| &rows[s]);
    let values = (0..cases.len())
        .map(|i| match dst {
            W16 | W32 => result[i] as u64,
            W64 => result[i] as u64 | (result[lanes + i] as u64) << 32,
        })
        .collect();
    Batch { values, mask }
}

/// Checks values and masks of an operation on every case.
pub fn check_with_mask(
    op: Op,
    dst: Option<Width>,
    src: &[Width],
    set: Setting,
    cases: &[[u64; 3]],
    judge: impl Fn([u64; 3]) -> Lane,
) {
    let bits = |w: Width, x: u64| match w {
        W16 => x as u16 as u64,
        W32 => x as u32 as u64,
        W64 => x,
    };
    for level in levels() {
        for (chunk, lanes) in cases
            .chunks(32)
            .map(|c| (c, 32))
            .chain(cases.chunks(64).map(|c| (c, 64)))
        {
            let aliases = [None]
                .into_iter()
                .chain((0..src.len()).filter(|&s| Some(src[s]) == dst).map(Some));
            for alias in aliases {
                let batch = run(op, level, dst.unwrap_or(W32), src, lanes, set, chunk, alias);
                for (i, case) in chunk.iter().enumerate() {
                    let mut seen = *case;
                    for (value, width) in seen.iter_mut().zip(src) {
                        *value = bits(*width, *value);
                    }
                    let expected = judge(seen);
                    let got = Lane {
                        value: batch.values[i],
                        mask: batch.mask >> i & 1 != 0,
                    };
                    let got = if dst.is_none() {
                        Lane {
                            value: expected.value,
                            ..got
                        }
                    } else {
                        got
                    };
                    assert!(
                        got == expected,
                        "{op:?} at {level:?}, lane {i} of {lanes}, alias {alias:?}, {set:x?}: \
                         of {seen:#x?} expected {expected:x?}, got {got:x?}"
                    );
                }
                assert!(
                    lanes == 64 || batch.mask >> 32 == 0,
                    "{op:?} sets mask bits beyond lane 31"
                );
            }
        }
    }
}

/// Checks the values of an operation that returns no mask.
pub fn check(
    op: Op,
    dst: Width,
    src: &[Width],
    set: Setting,
    cases: &[[u64; 3]],
    judge: impl Fn([u64; 3]) -> u64,
) {
    check_with_mask(op, Some(dst), src, set, cases, |case| judge(case).into());
}

/// A xorshift generator: the same cases in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Edge values in every combination, then random ones.
pub fn mix(
    edges: &[u64],
    sources: usize,
    random: usize,
    mut make: impl FnMut(&mut Random) -> u64,
) -> Vec<[u64; 3]> {
    let mut cases = Vec::new();
    let last = |s: usize| if s < sources { edges.len() } else { 1 };
    for i in 0..last(0) {
        for j in 0..last(1) {
            for k in 0..last(2) {
                cases.push([edges[i], edges[j], edges[k]]);
            }
        }
    }
    let mut source = Random(0x1234_5678_9abc_def1);
    for _ in 0..random {
        cases.push([make(&mut source), make(&mut source), make(&mut source)]);
    }
    cases
}

const EDGES_32: [u64; 12] = [
    0,
    1,
    2,
    31,
    32,
    0x7f,
    0xffff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// Integers of all sizes, as 64-bit patterns of which operands take what they need.
pub fn integers(sources: usize) -> Vec<[u64; 3]> {
    let edges: Vec<u64> = EDGES_32.iter().map(|&e| e | e << 32).collect();
    mix(&edges, sources, 2000, |r| {
        let (shift, x) = (r.next() % 64, r.next());
        if r.next() & 1 == 0 { x >> shift } else { x }
    })
}

/// A format as the tests know it.
#[derive(Clone, Copy, Debug)]
pub struct Fmt {
    pub exponent: u32,
    pub fraction: u32,
}

pub const HALF: Fmt = Fmt {
    exponent: 5,
    fraction: 10,
};
pub const SINGLE: Fmt = Fmt {
    exponent: 8,
    fraction: 23,
};
pub const DOUBLE: Fmt = Fmt {
    exponent: 11,
    fraction: 52,
};

impl Fmt {
    pub fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }
    pub fn inf(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }
    pub fn quiet(self) -> u64 {
        1 << (self.fraction - 1)
    }
    pub fn is_nan(self, x: u64) -> bool {
        x & !self.sign() > self.inf()
    }
    pub fn flush(self, x: u64) -> u64 {
        if x & self.inf() == 0 {
            x & self.sign()
        } else {
            x
        }
    }
    pub fn width(self) -> Width {
        match self.fraction {
            10 => W16,
            23 => W32,
            _ => W64,
        }
    }

    fn edges(self) -> Vec<u64> {
        let one = ((1u64 << (self.exponent - 1)) - 1) << self.fraction;
        let step = 1 << self.fraction;
        let positive = [
            0,
            1,
            step - 1,
            step,
            step + 1,
            one - 1,
            one,
            one + 1,
            one + step + step / 2,
            one - step * (self.fraction as u64 + 1).min(one / step - 1),
            self.inf() - 1,
            self.inf(),
            self.inf() | self.quiet() | 5,
            self.inf() | 3,
        ];
        positive
            .iter()
            .flat_map(|&p| [p, p | self.sign()])
            .collect()
    }

    /// Edge values in combination and random values: uniform bits, and values of nearby exponents.
    pub fn cases(self, sources: usize, random: usize) -> Vec<[u64; 3]> {
        let bits = self.exponent + self.fraction + 1;
        let one = ((1u64 << (self.exponent - 1)) - 1) << self.fraction;
        mix(&self.edges(), sources, random, |r| {
            let x = r.next() >> (64 - bits);
            let near = (x & (self.sign() | ((1 << self.fraction) - 1)))
                | (one + ((r.next() % 8) << self.fraction)).wrapping_sub(4 << self.fraction)
                    & self.inf();
            let sparse = near & !((1 << (r.next() % self.fraction as u64)) - 1);
            match r.next() % 4 {
                0 | 1 => x,
                2 => near,
                _ => sparse,
            }
        })
    }
}

/// What an operation of `fmt` gives: NaN rules and flushing around exact arithmetic on the flushed sources.
pub fn float_rule(fmt: Fmt, set: Setting, sources: &[u64], result: impl Fn(&[u64]) -> u64) -> u64 {
    if let Some(nan) = sources.iter().find(|&&x| fmt.is_nan(x)) {
        return nan | fmt.quiet();
    }
    let denorm = if fmt.fraction == 23 {
        set.mode.denorm_f32()
    } else {
        set.mode.denorm_f16_f64()
    };
    let flushed: Vec<u64> = sources
        .iter()
        .map(|&x| if denorm.flush_in { fmt.flush(x) } else { x })
        .collect();
    let result = result(&flushed);
    if fmt.is_nan(result) {
        fmt.inf() | fmt.quiet()
    } else if denorm.flush_out {
        fmt.flush(result)
    } else {
        result
    }
}
