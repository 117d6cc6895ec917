//! The shapes of matrix instructions, and where their elements lie.
//!
//! Facts: AMD's Matrix Instruction Calculator (CDNA 1 to 3, RDNA 3 and 4); the layouts of gfx950's longer shapes as
//! AMD's notes on programming its matrix cores have them.

use alloc::vec::Vec;

use super::element::Element;
use super::element::Element::*;
use crate::isa::{Arch, Op};

/// What results are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sum {
    F32,
    F64,
    I32,
    F16,
    Bf16,
}

/// Which generation's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// MFMA and SMFMAC: wave64.
    Cdna,
    /// WMMA of gfx11: both halves of the wave hold A and B.
    Gfx11,
    /// WMMA and SWMMAC of gfx12.
    Gfx12,
}

/// The product of an `m` by `k` and a `k` by `m` matrix, `blocks` times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) family: Family,
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) blocks: usize,
    pub(super) a: Element,
    pub(super) b: Element,
    pub(super) sum: Sum,
    /// Of each four elements of A along K two are stored, and an index register says which.
    pub(super) sparse: bool,
}

macro_rules! shapes {
    ($op:expr; $family:ident $sparse:literal { $($m:literal x $k:literal, $blocks:literal, $a:ident $b:ident $sum:ident: $($name:ident)|+;)* }) => {
        match $op {
            $($(Op::$name)|+ => Some(Shape {
                family: Family::$family,
                m: $m,
                k: $k,
                blocks: $blocks,
                a: $a,
                b: $b,
                sum: Sum::$sum,
                sparse: $sparse,
            }),)*
            _ => None,
        }
    };
}

/// The shape of a matrix operation. Formats that the instruction itself names are [`Fp8`] here.
pub(super) fn shape(op: Op) -> Option<Shape> {
    mfma(op)
        .or_else(|| smfmac(op))
        .or_else(|| wmma_gfx11(op))
        .or_else(|| wmma_gfx12(op))
        .or_else(|| swmmac(op))
}

fn mfma(op: Op) -> Option<Shape> {
    shapes! { op; Cdna false {
        32 x 1, 2, F32 F32 F32: v_mfma_f32_32x32x1f32 | v_mfma_f32_32x32x1_2b_f32;
        16 x 1, 4, F32 F32 F32: v_mfma_f32_16x16x1f32 | v_mfma_f32_16x16x1_4b_f32;
        4 x 1, 16, F32 F32 F32: v_mfma_f32_4x4x1f32 | v_mfma_f32_4x4x1_16b_f32;
        32 x 2, 1, F32 F32 F32: v_mfma_f32_32x32x2f32 | v_mfma_f32_32x32x2_f32;
        16 x 4, 1, F32 F32 F32: v_mfma_f32_16x16x4f32 | v_mfma_f32_16x16x4_f32;
        16 x 8, 1, Xf32 Xf32 F32: v_mfma_f32_16x16x8_xf32;
        32 x 4, 1, Xf32 Xf32 F32: v_mfma_f32_32x32x4_xf32;
        32 x 4, 2, F16 F16 F32: v_mfma_f32_32x32x4f16 | v_mfma_f32_32x32x4_2b_f16;
        16 x 4, 4, F16 F16 F32: v_mfma_f32_16x16x4f16 | v_mfma_f32_16x16x4_4b_f16;
        4 x 4, 16, F16 F16 F32: v_mfma_f32_4x4x4f16 | v_mfma_f32_4x4x4_16b_f16;
        32 x 8, 1, F16 F16 F32: v_mfma_f32_32x32x8f16 | v_mfma_f32_32x32x8_f16;
        16 x 16, 1, F16 F16 F32: v_mfma_f32_16x16x16f16 | v_mfma_f32_16x16x16_f16;
        16 x 32, 1, F16 F16 F32: v_mfma_f32_16x16x32_f16;
        32 x 16, 1, F16 F16 F32: v_mfma_f32_32x32x16_f16;
        32 x 4, 2, Bf16 Bf16 F32: v_mfma_f32_32x32x4bf16_1k | v_mfma_f32_32x32x4_2b_bf16;
        16 x 4, 4, Bf16 Bf16 F32: v_mfma_f32_16x16x4bf16_1k | v_mfma_f32_16x16x4_4b_bf16;
        4 x 4, 16, Bf16 Bf16 F32: v_mfma_f32_4x4x4bf16_1k | v_mfma_f32_4x4x4_16b_bf16;
        32 x 8, 1, Bf16 Bf16 F32: v_mfma_f32_32x32x8bf16_1k | v_mfma_f32_32x32x8_bf16;
        16 x 16, 1, Bf16 Bf16 F32: v_mfma_f32_16x16x16bf16_1k | v_mfma_f32_16x16x16_bf16;
        32 x 2, 2, Bf16 Bf16 F32: v_mfma_f32_32x32x2bf16;
        16 x 2, 4, Bf16 Bf16 F32: v_mfma_f32_16x16x2bf16;
        4 x 2, 16, Bf16 Bf16 F32: v_mfma_f32_4x4x2bf16;
        32 x 4, 1, Bf16 Bf16 F32: v_mfma_f32_32x32x4bf16;
        16 x 8, 1, Bf16 Bf16 F32: v_mfma_f32_16x16x8bf16;
        16 x 32, 1, Bf16 Bf16 F32: v_mfma_f32_16x16x32_bf16;
        32 x 16, 1, Bf16 Bf16 F32: v_mfma_f32_32x32x16_bf16;
        32 x 4, 2, I8 I8 I32: v_mfma_i32_32x32x4i8 | v_mfma_i32_32x32x4_2b_i8;
        16 x 4, 4, I8 I8 I32: v_mfma_i32_16x16x4i8 | v_mfma_i32_16x16x4_4b_i8;
        4 x 4, 16, I8 I8 I32: v_mfma_i32_4x4x4i8 | v_mfma_i32_4x4x4_16b_i8;
        32 x 8, 1, I8 I8 I32: v_mfma_i32_32x32x8i8;
        16 x 16, 1, I8 I8 I32: v_mfma_i32_16x16x16i8;
        32 x 16, 1, I8 I8 I32: v_mfma_i32_32x32x16_i8;
        16 x 32, 1, I8 I8 I32: v_mfma_i32_16x16x32_i8;
        16 x 64, 1, I8 I8 I32: v_mfma_i32_16x16x64_i8;
        32 x 32, 1, I8 I8 I32: v_mfma_i32_32x32x32_i8;
        16 x 4, 1, F64 F64 F64: v_mfma_f64_16x16x4f64 | v_mfma_f64_16x16x4_f64;
        4 x 4, 4, F64 F64 F64: v_mfma_f64_4x4x4f64 | v_mfma_f64_4x4x4_4b_f64;
        16 x 32, 1, Bf8 Bf8 F32: v_mfma_f32_16x16x32_bf8_bf8;
        16 x 32, 1, Bf8 Fp8 F32: v_mfma_f32_16x16x32_bf8_fp8;
        16 x 32, 1, Fp8 Bf8 F32: v_mfma_f32_16x16x32_fp8_bf8;
        16 x 32, 1, Fp8 Fp8 F32: v_mfma_f32_16x16x32_fp8_fp8;
        32 x 16, 1, Bf8 Bf8 F32: v_mfma_f32_32x32x16_bf8_bf8;
        32 x 16, 1, Bf8 Fp8 F32: v_mfma_f32_32x32x16_bf8_fp8;
        32 x 16, 1, Fp8 Bf8 F32: v_mfma_f32_32x32x16_fp8_bf8;
        32 x 16, 1, Fp8 Fp8 F32: v_mfma_f32_32x32x16_fp8_fp8;
        16 x 128, 1, Fp8 Fp8 F32: v_mfma_f32_16x16x128_f8f6f4 | v_mfma_scale_f32_16x16x128_f8f6f4;
        32 x 64, 1, Fp8 Fp8 F32: v_mfma_f32_32x32x64_f8f6f4 | v_mfma_scale_f32_32x32x64_f8f6f4;
    } }
}

fn smfmac(op: Op) -> Option<Shape> {
    shapes! { op; Cdna true {
        16 x 32, 1, F16 F16 F32: v_smfmac_f32_16x16x32_f16;
        32 x 16, 1, F16 F16 F32: v_smfmac_f32_32x32x16_f16;
        16 x 32, 1, Bf16 Bf16 F32: v_smfmac_f32_16x16x32_bf16;
        32 x 16, 1, Bf16 Bf16 F32: v_smfmac_f32_32x32x16_bf16;
        16 x 64, 1, I8 I8 I32: v_smfmac_i32_16x16x64_i8;
        32 x 32, 1, I8 I8 I32: v_smfmac_i32_32x32x32_i8;
        16 x 64, 1, Bf8 Bf8 F32: v_smfmac_f32_16x16x64_bf8_bf8;
        16 x 64, 1, Bf8 Fp8 F32: v_smfmac_f32_16x16x64_bf8_fp8;
        16 x 64, 1, Fp8 Bf8 F32: v_smfmac_f32_16x16x64_fp8_bf8;
        16 x 64, 1, Fp8 Fp8 F32: v_smfmac_f32_16x16x64_fp8_fp8;
        32 x 32, 1, Bf8 Bf8 F32: v_smfmac_f32_32x32x32_bf8_bf8;
        32 x 32, 1, Bf8 Fp8 F32: v_smfmac_f32_32x32x32_bf8_fp8;
        32 x 32, 1, Fp8 Bf8 F32: v_smfmac_f32_32x32x32_fp8_bf8;
        32 x 32, 1, Fp8 Fp8 F32: v_smfmac_f32_32x32x32_fp8_fp8;
        16 x 64, 1, F16 F16 F32: v_smfmac_f32_16x16x64_f16;
        32 x 32, 1, F16 F16 F32: v_smfmac_f32_32x32x32_f16;
        16 x 64, 1, Bf16 Bf16 F32: v_smfmac_f32_16x16x64_bf16;
        32 x 32, 1, Bf16 Bf16 F32: v_smfmac_f32_32x32x32_bf16;
        16 x 128, 1, I8 I8 I32: v_smfmac_i32_16x16x128_i8;
        32 x 64, 1, I8 I8 I32: v_smfmac_i32_32x32x64_i8;
        16 x 128, 1, Bf8 Bf8 F32: v_smfmac_f32_16x16x128_bf8_bf8;
        16 x 128, 1, Bf8 Fp8 F32: v_smfmac_f32_16x16x128_bf8_fp8;
        16 x 128, 1, Fp8 Bf8 F32: v_smfmac_f32_16x16x128_fp8_bf8;
        16 x 128, 1, Fp8 Fp8 F32: v_smfmac_f32_16x16x128_fp8_fp8;
        32 x 64, 1, Bf8 Bf8 F32: v_smfmac_f32_32x32x64_bf8_bf8;
        32 x 64, 1, Bf8 Fp8 F32: v_smfmac_f32_32x32x64_bf8_fp8;
        32 x 64, 1, Fp8 Bf8 F32: v_smfmac_f32_32x32x64_fp8_bf8;
        32 x 64, 1, Fp8 Fp8 F32: v_smfmac_f32_32x32x64_fp8_fp8;
    } }
}

fn wmma_gfx11(op: Op) -> Option<Shape> {
    shapes! { op; Gfx11 false {
        16 x 16, 1, F16 F16 F32: v_wmma_f32_16x16x16_f16;
        16 x 16, 1, Bf16 Bf16 F32: v_wmma_f32_16x16x16_bf16;
        16 x 16, 1, F16 F16 F16: v_wmma_f16_16x16x16_f16;
        16 x 16, 1, Bf16 Bf16 Bf16: v_wmma_bf16_16x16x16_bf16;
        16 x 16, 1, U8 U8 I32: v_wmma_i32_16x16x16_iu8;
        16 x 16, 1, U4 U4 I32: v_wmma_i32_16x16x16_iu4;
    } }
}

fn wmma_gfx12(op: Op) -> Option<Shape> {
    shapes! { op; Gfx12 false {
        16 x 16, 1, F16 F16 F32: v_wmma_f32_16x16x16_f16_w128;
        16 x 16, 1, Bf16 Bf16 F32: v_wmma_f32_16x16x16_bf16_w128;
        16 x 16, 1, F16 F16 F16: v_wmma_f16_16x16x16_f16_w128;
        16 x 16, 1, Bf16 Bf16 Bf16: v_wmma_bf16_16x16x16_bf16_w128;
        16 x 16, 1, U8 U8 I32: v_wmma_i32_16x16x16_iu8_w64;
        16 x 16, 1, U4 U4 I32: v_wmma_i32_16x16x16_iu4_w32;
        16 x 32, 1, U4 U4 I32: v_wmma_i32_16x16x32_iu4;
        16 x 16, 1, Fp8 Fp8 F32: v_wmma_f32_16x16x16_fp8_fp8;
        16 x 16, 1, Fp8 Bf8 F32: v_wmma_f32_16x16x16_fp8_bf8;
        16 x 16, 1, Bf8 Fp8 F32: v_wmma_f32_16x16x16_bf8_fp8;
        16 x 16, 1, Bf8 Bf8 F32: v_wmma_f32_16x16x16_bf8_bf8;
    } }
}

fn swmmac(op: Op) -> Option<Shape> {
    shapes! { op; Gfx12 true {
        16 x 32, 1, F16 F16 F32: v_swmmac_f32_16x16x32_f16;
        16 x 32, 1, Bf16 Bf16 F32: v_swmmac_f32_16x16x32_bf16;
        16 x 32, 1, F16 F16 F16: v_swmmac_f16_16x16x32_f16;
        16 x 32, 1, Bf16 Bf16 Bf16: v_swmmac_bf16_16x16x32_bf16;
        16 x 32, 1, U8 U8 I32: v_swmmac_i32_16x16x32_iu8;
        16 x 32, 1, U4 U4 I32: v_swmmac_i32_16x16x32_iu4;
        16 x 64, 1, U4 U4 I32: v_swmmac_i32_16x16x64_iu4;
        16 x 32, 1, Fp8 Fp8 F32: v_swmmac_f32_16x16x32_fp8_fp8;
        16 x 32, 1, Fp8 Bf8 F32: v_swmmac_f32_16x16x32_fp8_bf8;
        16 x 32, 1, Bf8 Fp8 F32: v_swmmac_f32_16x16x32_bf8_fp8;
        16 x 32, 1, Bf8 Bf8 F32: v_swmmac_f32_16x16x32_bf8_bf8;
    } }
}

/// A step along K: which of a lane's elements it is, and the lane of row (or column) zero of block zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) element: u8,
    pub(super) lane: u8,
}

/// A row of a result: the register that holds it, the lane of its first column, which half of the dword.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) register: u8,
    pub(super) lane: u8,
    pub(super) high: bool,
}

/// Where everything is, for one size of wave.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// By step: A and B.
    pub(super) a: Vec<Step>,
    pub(super) b: Vec<Step>,
    /// Elements that a lane has of A and B, as if A were not sparse.
    pub(super) each: [usize; 2],
    /// By block and row.
    pub(super) rows: Vec<Place>,
    /// Registers of the result; twice as many dwords for doubles.
    pub(super) registers: usize,
}

impl Shape {
    /// The layout for a wave of 32 or 64 lanes.
    pub(super) fn layout(&self, lanes: usize) -> Layout {
        let (a, each_a) = self.steps(lanes, self.a, true);
        let (b, each_b) = self.steps(lanes, self.b, false);
        let mut rows = Vec::new();
        for block in 0..self.blocks {
            rows.extend((0..self.m).map(|i| self.place(lanes, block, i)));
        }
        let registers = rows.iter().map(|p| usize::from(p.register) + 1).max();
        Layout {
            a,
            b,
            each: [each_a, each_b],
            rows,
            registers: registers.unwrap_or(0),
        }
    }

    /// Steps along K, and how many elements a lane has.
    fn steps(&self, lanes: usize, element: Element, is_a: bool) -> (Vec<Step>, usize) {
        // Groups of lanes that share the work along K, and the steps that each takes.
        let (groups, stride) = match self.family {
            Family::Cdna => (64 / (self.m * self.blocks), self.m * self.blocks),
            Family::Gfx11 => (1, 16),
            Family::Gfx12 => {
                // Half of a wave64 suffices for so few nibbles.
                let idle = element.bits() == 4
                    && (!self.sparse && self.k == 16 || self.sparse && self.k == 32 && is_a);
                (if idle { 2 } else { lanes / 16 }, 16)
            }
        };
        let each = self.k / groups;
        let mut steps = Vec::new();
        steps.resize(
            self.k,
            Step {
                element: 0,
                lane: 0,
            },
        );
        for group in 0..groups {
            for e in 0..each {
                let k = self.step(lanes, element, (groups, group), (each, e));
                steps[k] = Step {
                    element: e as u8,
                    lane: (group * stride) as u8,
                };
            }
        }
        (steps, each)
    }

    /// The step that element `e` of lane group `group` is.
    fn step(
        &self,
        lanes: usize,
        element: Element,
        (groups, group): (usize, usize),
        (each, e): (usize, usize),
    ) -> usize {
        match self.family {
            // 32 bytes are two chunks of 16, which lie half of K apart.
            Family::Cdna if self.k >= 64 && each == 32 && !self.sparse && element.bits() == 8 => {
                e / 16 * (self.k / 2) + 16 * group + e % 16
            }
            Family::Gfx12 if lanes == 32 && element.bits() == 16 => {
                // Two chunks a lane, alternating with the other half's.
                let chunk = each / 2;
                2 * chunk * (e / chunk) + chunk * group + e % chunk
            }
            // The upper half of a wave64 continues what the lower half has of the same rows.
            Family::Gfx12 if groups == 4 && element.bits() < 16 => {
                2 * each * (group % 2) + each * (group / 2) + e
            }
            _ => each * group + e,
        }
    }

    /// Where row `i` of a block's result is.
    fn place(&self, lanes: usize, block: usize, i: usize) -> Place {
        let Shape { m, blocks, .. } = *self;
        let (register, lane, high) = match (self.family, self.sum) {
            (Family::Cdna, Sum::F64) if m == 4 => (0, 16 * i + 4 * block, false),
            (Family::Cdna, Sum::F64) => (i / 4, 16 * (i % 4), false),
            (Family::Cdna, _) if m == 4 => (i, 4 * block, false),
            (Family::Cdna, _) if m == 16 => (i % 4 + 4 * block, 16 * (i / 4), false),
            (Family::Cdna, _) => (
                i % 4 + 4 * (i / 8) + m * m / 64 * (block % blocks),
                32 * (i / 4 % 2),
                false,
            ),
            (Family::Gfx11, _) => {
                let groups = lanes / 16;
                (i / groups, 16 * (i % groups), false)
            }
            (Family::Gfx12, sum) => {
                let (lane, number) = if lanes == 32 {
                    (16 * (i / 8), i % 8)
                } else {
                    (32 * (i / 4 % 2) + 16 * (i / 8), i % 4)
                };
                match sum {
                    Sum::F16 | Sum::Bf16 => (number / 2, lane, number % 2 == 1),
                    _ => (number, lane, false),
                }
            }
        };
        Place {
            register: register as u8,
            lane: lane as u8,
            high,
        }
    }

    /// The first bit of a lane's indices in the index register, and what the choice among its sets is.
    pub(super) fn index_shift(&self, layout: &Layout, chosen: u32) -> u32 {
        // One bit for each dense element.
        let width = layout.each[0] as u32;
        (width * chosen) & 31
    }
}

/// Formats of FP8 and BF8 on a processor.
pub(super) fn native(arch: Arch, element: Element) -> Element {
    match (arch, element) {
        (Arch::Gfx942, Fp8) => Fp8Fnuz,
        (Arch::Gfx942, Bf8) => Bf8Fnuz,
        _ => element,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_of_a_result_has_its_own_place() {
        let mut seen = 0;
        for &op in Op::ALL {
            let Some(shape) = shape(op) else { continue };
            seen += 1;
            for lanes in [32, 64] {
                if lanes == 32 && shape.family == Family::Cdna {
                    continue;
                }
                let layout = shape.layout(lanes);
                let mut taken = [[0u8; 64]; 64];
                for place in &layout.rows {
                    for j in 0..shape.m {
                        let register = usize::from(place.register);
                        let half = 1 << u8::from(place.high);
                        let slot = &mut taken[register][usize::from(place.lane) + j];
                        assert_eq!(*slot & half, 0, "{op:?}, {lanes} lanes");
                        *slot |= half;
                    }
                }
            }
        }
        assert!(seen > 100);
    }
}
