//! Matrix instructions: MFMA of CDNA, WMMA of RDNA 3.
//!
//! A wave multiplies matrices whose elements lie in the lanes of its registers. Lowering works
//! out, for each register of the result and each lane, which row of A and which column of B it is made of; execution
//! then is a row-wise fused multiply-add for each step along K, in ascending order. Hardware does not document the
//! order and rounding of its sums; results agree where sums are exact.
//!
//! Layouts: AMD's Matrix Instruction Calculator; the ISA guides' chapters on matrix arithmetic.

use alloc::vec::Vec;

use super::code::Page;
use super::fault::FaultKind;
use super::lower::{Cx, Ext, Lowered, destination, source};
use super::machine::Machine;
use super::microop::{CONST, Flow, MicroOp, VGPR};
use super::modifiers::widen;
use super::rows::Row;
use super::valu::{self, FloatMode, VHandler};
use super::vector::blank;
use crate::isa::{Dir, Inst, Op, Type};

/// The elements of A and B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Element {
    F32,
    F64,
    F16,
    Bf16,
    I8,
    I4,
}

impl Element {
    const fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::F32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::I8 => 8,
            Element::I4 => 4,
        }
    }
}

/// Rows (and columns), steps along K, independent blocks.
#[derive(Clone, Copy, Debug)]
struct Size {
    m: usize,
    k: usize,
    blocks: usize,
    element: Element,
}

/// What execution needs: where the parts of each result are.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    size: Size,
    /// Elements of A (and B) that a lane holds.
    per_lane: usize,
    /// Lanes between one group of steps along K and the next.
    step: usize,
    /// For each register of the result, by lane: the lane that holds the row of A, and that of the
    /// column of B, at the first step.
    a: Vec<[u8; 64]>,
    b: Vec<[u8; 64]>,
    handler: Option<VHandler>,
    /// Integer elements are signed (A, B).
    signed: [bool; 2],
    clamp: bool,
    /// WMMA: the number of registers follows the wave's size.
    wmma: bool,
}

macro_rules! sizes {
    ($op:expr; $($m:literal x $k:literal, $blocks:literal, $element:ident => $($name:ident)|+;)*) => {
        match $op {
            $($(Op::$name)|+ => Some(Size { m: $m, k: $k, blocks: $blocks, element: Element::$element }),)*
            _ => None,
        }
    };
}

fn mfma(op: Op) -> Option<Size> {
    sizes! { op;
        32 x 1, 2, F32 => v_mfma_f32_32x32x1f32 | v_mfma_f32_32x32x1_2b_f32;
        16 x 1, 4, F32 => v_mfma_f32_16x16x1f32 | v_mfma_f32_16x16x1_4b_f32;
        4 x 1, 16, F32 => v_mfma_f32_4x4x1f32 | v_mfma_f32_4x4x1_16b_f32;
        32 x 2, 1, F32 => v_mfma_f32_32x32x2f32 | v_mfma_f32_32x32x2_f32;
        16 x 4, 1, F32 => v_mfma_f32_16x16x4f32 | v_mfma_f32_16x16x4_f32;
        32 x 4, 2, F16 => v_mfma_f32_32x32x4f16 | v_mfma_f32_32x32x4_2b_f16;
        16 x 4, 4, F16 => v_mfma_f32_16x16x4f16 | v_mfma_f32_16x16x4_4b_f16;
        4 x 4, 16, F16 => v_mfma_f32_4x4x4f16 | v_mfma_f32_4x4x4_16b_f16;
        32 x 8, 1, F16 => v_mfma_f32_32x32x8f16 | v_mfma_f32_32x32x8_f16;
        16 x 16, 1, F16 => v_mfma_f32_16x16x16f16 | v_mfma_f32_16x16x16_f16;
        32 x 4, 2, Bf16 => v_mfma_f32_32x32x4bf16_1k | v_mfma_f32_32x32x4_2b_bf16;
        16 x 4, 4, Bf16 => v_mfma_f32_16x16x4bf16_1k | v_mfma_f32_16x16x4_4b_bf16;
        4 x 4, 16, Bf16 => v_mfma_f32_4x4x4bf16_1k | v_mfma_f32_4x4x4_16b_bf16;
        32 x 8, 1, Bf16 => v_mfma_f32_32x32x8bf16_1k | v_mfma_f32_32x32x8_bf16;
        16 x 16, 1, Bf16 => v_mfma_f32_16x16x16bf16_1k | v_mfma_f32_16x16x16_bf16;
        32 x 2, 2, Bf16 => v_mfma_f32_32x32x2bf16;
        16 x 2, 4, Bf16 => v_mfma_f32_16x16x2bf16;
        4 x 2, 16, Bf16 => v_mfma_f32_4x4x2bf16;
        32 x 4, 1, Bf16 => v_mfma_f32_32x32x4bf16;
        16 x 8, 1, Bf16 => v_mfma_f32_16x16x8bf16;
        32 x 4, 2, I8 => v_mfma_i32_32x32x4i8 | v_mfma_i32_32x32x4_2b_i8;
        16 x 4, 4, I8 => v_mfma_i32_16x16x4i8 | v_mfma_i32_16x16x4_4b_i8;
        4 x 4, 16, I8 => v_mfma_i32_4x4x4i8 | v_mfma_i32_4x4x4_16b_i8;
        32 x 8, 1, I8 => v_mfma_i32_32x32x8i8;
        16 x 16, 1, I8 => v_mfma_i32_16x16x16i8;
        32 x 16, 1, I8 => v_mfma_i32_32x32x16_i8;
        16 x 32, 1, I8 => v_mfma_i32_16x16x32_i8;
        16 x 4, 1, F64 => v_mfma_f64_16x16x4f64 | v_mfma_f64_16x16x4_f64;
        4 x 4, 4, F64 => v_mfma_f64_4x4x4f64 | v_mfma_f64_4x4x4_4b_f64;
    }
}

fn wmma(op: Op) -> Option<Size> {
    sizes! { op;
        16 x 16, 1, F16 => v_wmma_f32_16x16x16_f16;
        16 x 16, 1, Bf16 => v_wmma_f32_16x16x16_bf16;
        16 x 16, 1, I8 => v_wmma_i32_16x16x16_iu8;
        16 x 16, 1, I4 => v_wmma_i32_16x16x16_iu4;
    }
}

/// Where the element of block `b`, row `i`, column `j` of an MFMA's result is: register and lane.
/// Four rows at a time are in consecutive registers; of doubles, one.
fn place(size: Size, (b, i, j): (usize, usize, usize)) -> (usize, usize) {
    let Size {
        m, blocks, element, ..
    } = size;
    if element == Element::F64 {
        let groups = 64 / (m * blocks);
        return (i / groups, j + m * (b + blocks * (i % groups)));
    }
    let groups = (64 / m).min(m / 4);
    let across = 64 / (m * groups);
    let register = b / across * (m / groups) + i / 4 / groups * 4 + i % 4;
    (
        register,
        j + m * (i / 4 % groups) + m * groups * (b % across),
    )
}

fn tables(size: Size, broadcast: usize, from: usize) -> (Vec<[u8; 64]>, Vec<[u8; 64]>) {
    let Size { m, blocks, .. } = size;
    let registers = m * m * blocks / 64;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    a.resize(registers, [0; 64]);
    b.resize(registers, [0; 64]);
    for block in 0..blocks {
        // CBSZ: groups of 2^cbsz blocks share the block of A that ABID names.
        let shared = (block >> broadcast << broadcast) + if broadcast > 0 { from } else { 0 };
        for i in 0..m {
            for j in 0..m {
                let (register, lane) = place(size, (block, i, j));
                a[register][lane] = (i + m * (shared % blocks)) as u8;
                b[register][lane] = (j + m * block) as u8;
            }
        }
    }
    (a, b)
}

/// Lowers matrix instructions; `None` for all others.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    let (size, wmma) = match (mfma(inst.op), wmma(inst.op)) {
        (Some(size), _) => (size, false),
        (None, Some(size)) => (size, true),
        (None, None) => return None,
    };
    Some(lower_matrix(cx, inst, size, wmma))
}

fn lower_matrix(cx: &mut Cx<'_>, inst: &Inst, size: Size, wmma: bool) -> Lowered {
    let mods = &inst.mods;
    let integers = matches!(size.element, Element::I8 | Element::I4);
    if mods.blgp != 0 {
        return Err("BLGP");
    }
    if wmma && !integers && (mods.neg != 0 || mods.neg_hi != 0) {
        return Err("negation of a matrix");
    }
    let mut micro = MicroOp::undecoded(0);
    let mut next = 0;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        if desc.dir == Dir::Write {
            micro.dst = destination(operand)?;
            continue;
        }
        // Of constants only the sum's first value can be one.
        let ty = if size.element == Element::F64 {
            Type::F64
        } else {
            element_type(size.element)
        };
        let (src, value) = source(operand, ty)?;
        let Some(slot) = micro.src.get_mut(next) else {
            return Err("its operand count");
        };
        *slot = src;
        micro.k[next] = value;
        next += 1;
    }
    if micro.src[..2]
        .iter()
        .any(|&src| !(VGPR..CONST - 1).contains(&src))
    {
        return Err("a matrix that is not in vector registers");
    }
    let (a, b) = if wmma {
        (Vec::new(), Vec::new())
    } else {
        tables(size, usize::from(mods.cbsz), usize::from(mods.abid))
    };
    let multiply_add = match size.element {
        Element::F64 => valu::handler(Op::v_fma_f64, cx.level),
        _ => valu::handler(Op::v_fma_f32, cx.level),
    };
    let signed = if wmma {
        [mods.neg & 1 != 0, mods.neg & 2 != 0]
    } else {
        [true; 2]
    };
    micro.ext = cx.add(Ext::Matrix(alloc::boxed::Box::new(Matrix {
        size,
        per_lane: if wmma {
            size.k
        } else {
            size.k * size.m * size.blocks / 64
        },
        step: size.m * size.blocks,
        a,
        b,
        handler: multiply_add,
        signed,
        clamp: mods.clamp,
        wmma,
    })));
    micro.run = multiply;
    Ok(micro)
}

fn element_type(element: Element) -> Type {
    if matches!(element, Element::I8 | Element::I4) {
        Type::I32
    } else {
        Type::F32
    }
}

/// One matrix, in 64 lanes of up to 8 registers.
type Operand = [Row; 8];

fn read(m: &Machine<'_>, src: u16, registers: usize) -> Option<Operand> {
    let mut operand = [Row::ZERO; 8];
    for (register, row) in operand.iter_mut().enumerate().take(registers) {
        let from = m.wave.rows.row(src - VGPR + register as u16)?;
        row.0[..from.len()].copy_from_slice(from);
    }
    Some(operand)
}

/// Step `k` of a matrix for the lanes given, as the two dwords of a row.
fn fetch(operand: &Operand, lanes: &[u8; 64], matrix: &Matrix, k: usize, signed: bool) -> [Row; 2] {
    let element = matrix.size.element;
    let ahead = if matrix.wmma {
        0
    } else {
        matrix.step * (k / matrix.per_lane)
    };
    let bit = k % matrix.per_lane * element.bits();
    let (word, shift) = (bit / 32, bit % 32);
    let mut out = [Row::ZERO; 2];
    for (lane, &holder) in lanes.iter().enumerate() {
        let from = (usize::from(holder) + ahead) & 63;
        let dword = operand[word & 7].0[from];
        out[0].0[lane] = match element {
            Element::F32 | Element::F64 => dword,
            Element::F16 => widen((dword >> shift) as u16),
            Element::Bf16 => dword >> shift << 16,
            Element::I8 if signed => i32::from((dword >> shift) as i8) as u32,
            Element::I8 => dword >> shift & 0xff,
            Element::I4 if signed => ((dword >> shift << 28) as i32 >> 28) as u32,
            Element::I4 => dword >> shift & 15,
        };
        if element == Element::F64 {
            out[1].0[lane] = operand[(word + 1) & 7].0[from];
        }
    }
    out
}

/// Computes all lanes whatever EXEC says, as the hardware does.
fn multiply(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(Ext::Matrix(matrix)) = page.ext.get(op.ext as usize) else {
        return Flow::Next;
    };
    let lanes = m.wave.lanes as usize;
    let size = matrix.size;
    let (a_lanes, b_lanes);
    let (a_table, b_table): (&[[u8; 64]], &[[u8; 64]]) = if matrix.wmma {
        (a_lanes, b_lanes) = wmma_tables(lanes);
        (&a_lanes, &b_lanes)
    } else {
        (&matrix.a, &matrix.b)
    };
    let wide = size.element == Element::F64;
    let words = if wide { 2 } else { 1 };
    let holds = (matrix.per_lane * size.element.bits()).div_ceil(32);
    let registers = a_table.len() * words;
    let reach = u32::from(op.dst - VGPR) + registers as u32;
    let (Some(a), Some(b)) = (read(m, op.src[0], holds), read(m, op.src[1], holds)) else {
        return missing(m, op, page, reach);
    };
    let mut sums = Vec::with_capacity(a_table.len());
    for register in 0..a_table.len() {
        let mut sum = [Row::ZERO; 2];
        for (word, row) in sum.iter_mut().enumerate().take(words) {
            if (VGPR..CONST - 1).contains(&op.src[2]) {
                let number = op.src[2] - VGPR + (register * words + word) as u16;
                let Some(from) = m.wave.rows.row(number) else {
                    return missing(m, op, page, u32::from(number) + 1);
                };
                row.0[..lanes].copy_from_slice(from);
            } else {
                row.0 = [(m.s64(op, 2) >> (32 * word)) as u32; 64];
            }
        }
        sums.push(sum);
    }
    for (register, sum) in sums.iter_mut().enumerate() {
        for k in 0..size.k {
            let x = fetch(&a, &a_table[register], matrix, k, matrix.signed[0]);
            let y = fetch(&b, &b_table[register], matrix, k, matrix.signed[1]);
            accumulate(m, matrix, x, y, sum);
        }
    }
    for (register, sum) in sums.iter().enumerate() {
        for (word, row) in sum.iter().enumerate().take(words) {
            let number = op.dst - VGPR + (register * words + word) as u16;
            let Some(to) = m.wave.rows.row_mut(number) else {
                return missing(m, op, page, reach);
            };
            to.copy_from_slice(&row.0[..lanes]);
        }
    }
    Flow::Next
}

#[cold]
fn missing(m: &mut Machine<'_>, op: &MicroOp, page: &Page, reach: u32) -> Flow {
    let allocated = u32::from(m.wave.rows.vgprs());
    let number = reach.saturating_sub(1);
    m.fault(
        op,
        page,
        FaultKind::Register {
            file: 'v',
            number,
            allocated,
        },
    )
}

fn accumulate(m: &Machine<'_>, matrix: &Matrix, x: [Row; 2], y: [Row; 2], sum: &mut [Row; 2]) {
    if matches!(matrix.size.element, Element::I8 | Element::I4) {
        for lane in 0..64 {
            let product = (x[0].0[lane] as i32).wrapping_mul(y[0].0[lane] as i32);
            let old = sum[0].0[lane] as i32;
            let new = if matrix.clamp {
                old.saturating_add(product)
            } else {
                old.wrapping_add(product)
            };
            sum[0].0[lane] = new as u32;
        }
        return;
    }
    let Some(handler) = matrix.handler else {
        return;
    };
    let mut args = blank(m, u64::MAX);
    // All 64 lanes of a row, so that wide operands have one layout for every wave size.
    args.lanes = 64;
    args.mode = FloatMode::COMPUTE;
    let z = *sum;
    args.src = [x.as_ptr().cast(), y.as_ptr().cast(), z.as_ptr().cast()];
    args.dst = sum.as_mut_ptr().cast();
    // SAFETY: four distinct operands of two rows of 64 lanes each, local to this function or its
    // caller; the handler is of the code cache's level.
    unsafe { handler(&args) };
}

/// Register `r`, lane `l` of a WMMA result is row `groups * r + l / 16`, column `l % 16`.
fn wmma_tables(lanes: usize) -> (Vec<[u8; 64]>, Vec<[u8; 64]>) {
    let groups = lanes / 16;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for register in 0..16 / groups {
        a.push(core::array::from_fn(|lane| {
            (groups * register + lane / 16 % groups) as u8
        }));
        b.push(core::array::from_fn(|lane| (lane % 16) as u8));
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_of_a_result_has_its_own_place() {
        for &op in Op::ALL {
            let Some(size) = mfma(op) else { continue };
            let registers = size.m * size.m * size.blocks / 64;
            let mut taken = alloc::vec![[false; 64]; registers];
            for b in 0..size.blocks {
                for i in 0..size.m {
                    for j in 0..size.m {
                        let (register, lane) = place(size, (b, i, j));
                        assert!(
                            !core::mem::replace(&mut taken[register][lane], true),
                            "{op:?}"
                        );
                    }
                }
            }
            assert!(taken.iter().flatten().all(|taken| *taken), "{op:?}");
        }
    }
}
