//! Matrix instructions: MFMA and SMFMAC of CDNA, WMMA and SWMMAC of RDNA 3 and 4.
//!
//! A wave multiplies matrices whose elements lie in the lanes of its registers, whatever EXEC says. [`shape`] knows the
//! shapes and where elements lie, [`element`] what they are, [`multiply`] adds the products up.
//!
//! Each element of a result is its accumulator with the products added one after the other, lowest step along K
//! first, each step fused and rounded once to nearest even, whatever MODE says. Hardware documents neither order nor
//! internal precision; results agree where sums are exact. NaN results are the default NaN. Subnormals count, except
//! those of 16-bit MFMA on gfx90a, which AMD documents as flushed. XF32 rounds its factors to nearest even.

mod element;
mod multiply;
mod shape;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub(crate) use element::Numbers;
pub(crate) use multiply::Registers;

use element::Element;
use multiply::{Double, Factors, Half, Integer, Single, multiply};
use shape::{Family, Layout, Shape, Sum};

use super::code::Page;
use super::fault::FaultKind;
use super::leveled::{Leveled, function_of};
use super::lower::{Cx, Ext, Lowered, destination, source};
use super::machine::Machine;
use super::microop::{CONST, Flow, MicroOp, VGPR};
use super::valu::levels::Host;
use crate::isa::{Arch, Dir, Field, Inst, Operand, Type};

/// What a matrix instruction works in: kept between instructions, since it is large.
pub(crate) struct Scratch {
    a: Numbers,
    b: Numbers,
    stored: Numbers,
    sums: Registers,
}

impl Scratch {
    pub(crate) const ZERO: Scratch = Scratch {
        a: [[0; 64]; element::MOST],
        b: [[0; 64]; element::MOST],
        stored: [[0; 64]; element::MOST],
        sums: [[0; 64]; 32],
    };
}

/// What execution needs.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    shape: Shape,
    /// For 32 and 64 lanes.
    layouts: [Layout; 2],
    /// By block: the block of A that it multiplies with (CBSZ and ABID).
    blocks: Vec<u8>,
    /// The lane that each lane's B comes from (BLGP).
    pattern: Option<Box<[u8; 64]>>,
    /// Which of the sets in the index register (sparse A).
    indices: u32,
    /// Signs flipped of even and odd elements of A and B (the high and the only word, for doubles).
    flip: [[bool; 2]; 2],
    /// The accumulator's sign is flipped, after it was cleared.
    negate: bool,
    absolute: bool,
    clamp: bool,
    flush: bool,
    /// 16-bit results in the high halves (gfx11).
    high: bool,
    /// The bytes of the registers of scales, and where those are.
    scales: Option<[(u16, u32); 2]>,
}

/// Lowers matrix instructions; `None` for all others.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    shape::shape(inst.op).map(|shape| lower_matrix(cx, inst, shape))
}

fn lower_matrix(cx: &mut Cx<'_>, inst: &Inst, mut shape: Shape) -> Lowered {
    let mods = &inst.mods;
    let wmma = shape.family != Family::Cdna;
    let narrow = inst.op.is_f8f6f4();
    if narrow {
        shape.a = named_format(mods.cbsz).ok_or("this value of CBSZ")?;
        shape.b = named_format(mods.blgp).ok_or("this value of BLGP")?;
    }
    shape.a = shape::native(cx.arch, shape.a);
    shape.b = shape::native(cx.arch, shape.b);
    for (element, bit) in [(&mut shape.a, 1), (&mut shape.b, 2)] {
        *element = match *element {
            Element::U8 if mods.neg & bit != 0 => Element::I8,
            Element::U4 if mods.neg & bit != 0 => Element::I4,
            other => other,
        };
    }
    let mut micro = MicroOp::undecoded(0);
    operands(inst, &shape, &mut micro)?;
    let double = shape.sum == Sum::F64;
    let bit = |mask: u8, at: u8| mask >> at & 1 != 0;
    // Before gfx942 the field means nothing to doubles.
    let signs = if double && cx.arch.is_gfx942_plus() {
        mods.blgp
    } else {
        0
    };
    let floats = wmma && matches!(shape.a, Element::F16 | Element::Bf16);
    let negates = wmma && shape.sum != Sum::I32;
    let flip = |at: u8| match double {
        true => [false, bit(signs, at)],
        false => [floats && bit(mods.neg, at), floats && bit(mods.neg_hi, at)],
    };
    let plain = double || narrow;
    let sixteen = matches!(shape.a, Element::F16 | Element::Bf16);
    let matrix = Matrix {
        layouts: [shape.layout(32), shape.layout(64)],
        blocks: blocks(&shape, mods.cbsz, mods.abid),
        pattern: (!wmma && !plain && mods.blgp != 0).then(|| pattern(mods.blgp)),
        indices: match (shape.sparse, wmma) {
            (true, true) => u32::from(mods.op_sel & 3),
            (true, false) if mods.cbsz == 0 => u32::from(mods.abid),
            _ => 0,
        },
        flip: [flip(0), flip(1)],
        negate: bit(signs, 2) || negates && bit(mods.neg, 2),
        absolute: negates && bit(mods.neg_hi, 2),
        clamp: mods.clamp,
        flush: cx.arch == Arch::Gfx90a && sixteen,
        high: shape.family == Family::Gfx11 && bit(mods.op_sel, 2),
        scales: scales(inst)?,
        shape,
    };
    micro.ext = cx.add(Ext::Matrix(Box::new(matrix)));
    micro.run = function_of::<Multiply>(cx.level);
    Ok(micro)
}

/// Destination and sources. Of constants only the accumulator can be one.
fn operands(inst: &Inst, shape: &Shape, micro: &mut MicroOp) -> Result<(), &'static str> {
    let ty = match shape.sum {
        Sum::F64 => Type::F64,
        Sum::I32 => Type::I32,
        Sum::F32 => Type::F32,
        Sum::F16 => Type::F16,
        Sum::Bf16 => Type::Bf16,
    };
    let mut next = 0;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        if desc.dir != Dir::Read {
            micro.dst = destination(operand)?;
            continue;
        }
        if desc.field == Field::Scale {
            continue;
        }
        let (src, value) = source(operand, ty)?;
        let Some(slot) = micro.src.get_mut(next) else {
            return Err("its operand count");
        };
        *slot = src;
        micro.k[next] = value;
        next += 1;
    }
    let vector = |src: &u16| (VGPR..CONST - 1).contains(src);
    if !micro.src[..2].iter().all(vector) || shape.sparse && !vector(&micro.src[2]) {
        return Err("a matrix that is not in vector registers");
    }
    Ok(())
}

/// The format that CBSZ or BLGP names.
fn named_format(code: u8) -> Option<Element> {
    Some(match code {
        0 => Element::Fp8,
        1 => Element::Bf8,
        2 => Element::Fp6,
        3 => Element::Bf6,
        4 => Element::Fp4,
        _ => return None,
    })
}

/// CBSZ: groups of `2^cbsz` blocks share the block of A that ABID names.
fn blocks(shape: &Shape, cbsz: u8, abid: u8) -> Vec<u8> {
    let block = |block: usize| match cbsz {
        0 => block as u8,
        _ if shape.blocks == 1 => 0,
        _ => ((block >> cbsz << cbsz) + usize::from(abid)) as u8 % shape.blocks as u8,
    };
    (0..shape.blocks).map(block).collect()
}

/// BLGP: the lane that each lane's part of B comes from.
fn pattern(blgp: u8) -> Box<[u8; 64]> {
    Box::new(core::array::from_fn(|lane| match (blgp, lane as u8) {
        (1, lane) => lane % 32,
        (2, lane) => lane % 32 + 32,
        (3, lane) => (lane + 16) % 64,
        (group, lane) => lane % 16 + 16 * (group & 3),
    }))
}

/// Where the scales are: vector registers, and the first bit of the byte that counts.
fn scales(inst: &Inst) -> Result<Option<[(u16, u32); 2]>, &'static str> {
    if !inst.op.row().has(Field::Scale) {
        return Ok(None);
    }
    let mut scales = [(0, 0); 2];
    for (i, (scale, &operand)) in scales.iter_mut().zip(&inst.operands[4..6]).enumerate() {
        let Operand::Vgpr(number) = operand else {
            return Err("scales that are not in a vector register");
        };
        let byte = inst.mods.op_sel >> i & 1 | (inst.mods.op_sel_hi >> i & 1) << 1;
        *scale = (u16::from(number), u32::from(byte) * 8);
    }
    Ok(Some(scales))
}

/// Executes a matrix instruction.
struct Multiply;

impl Leveled for Multiply {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let Some(Ext::Matrix(matrix)) = page.ext.get(op.ext as usize) else {
            return Flow::Next;
        };
        let layout = &matrix.layouts[usize::from(m.wave.lanes == 64)];
        if read(m, op, matrix, layout).is_none() {
            return missing(m, op, page, layout);
        }
        let Scratch { a, b, sums, .. } = &mut m.temps.matrix;
        let factors = Factors {
            layout,
            a,
            b,
            blocks: &matrix.blocks,
        };
        let single = Single {
            flush: matrix.flush,
        };
        let half = Half {
            brain: matrix.shape.sum == Sum::Bf16,
            high: matrix.high,
        };
        match (matrix.shape.sum, matrix.shape.m) {
            (Sum::F32, 32) => multiply::<H, f32, 32, 2>(&factors, &single, sums),
            (Sum::F32, 16) => multiply::<H, f32, 16, 4>(&factors, &single, sums),
            (Sum::F32, _) => multiply::<H, f32, 4, 4>(&factors, &single, sums),
            (Sum::F64, 16) => multiply::<H, f64, 16, 2>(&factors, &Double, sums),
            (Sum::F64, _) => multiply::<H, f64, 4, 4>(&factors, &Double, sums),
            (Sum::I32, 16) if matrix.clamp => multiply::<H, i64, 16, 1>(&factors, &Integer, sums),
            (Sum::I32, 32) => multiply::<H, i32, 32, 2>(&factors, &Integer, sums),
            (Sum::I32, 16) => multiply::<H, i32, 16, 4>(&factors, &Integer, sums),
            (Sum::I32, _) => multiply::<H, i32, 4, 4>(&factors, &Integer, sums),
            (Sum::F16 | Sum::Bf16, _) => multiply::<H, f32, 16, 4>(&factors, &half, sums),
        }
        match write(m, op, matrix, layout) {
            Some(()) => Flow::Next,
            None => missing(m, op, page, layout),
        }
    }
}

/// Dwords of the result in a lane.
fn registers(matrix: &Matrix, layout: &Layout) -> usize {
    layout.registers * if matrix.shape.sum == Sum::F64 { 2 } else { 1 }
}

/// Brings A, B and the accumulator into the scratch.
#[inline(always)]
fn read(m: &mut Machine<'_>, op: &MicroOp, matrix: &Matrix, layout: &Layout) -> Option<()> {
    let shape = &matrix.shape;
    let rows = &m.wave.rows;
    let scratch = &mut m.temps.matrix;
    let (a, b) = (op.src[0] - VGPR, op.src[1] - VGPR);
    let [each_a, each_b] = layout.each;
    if shape.sparse {
        shape
            .a
            .read(rows, a, each_a / 2, matrix.flush, &mut scratch.stored)?;
        let indices = rows.row(op.src[2] - VGPR)?;
        let shift = shape.index_shift(layout, matrix.indices);
        spread(scratch, indices, shift, each_a);
    } else {
        shape
            .a
            .read(rows, a, each_a, matrix.flush, &mut scratch.a)?;
    }
    shape
        .b
        .read(rows, b, each_b, matrix.flush, &mut scratch.b)?;
    if let Some(pattern) = &matrix.pattern {
        for row in scratch.b.iter_mut().take(each_b) {
            let old = *row;
            for (to, &from) in row.iter_mut().zip(pattern.iter()) {
                *to = old[usize::from(from & 63)];
            }
        }
    }
    for (numbers, flip, count) in [
        (&mut scratch.a, matrix.flip[0], each_a),
        (&mut scratch.b, matrix.flip[1], each_b),
    ] {
        if flip != [false; 2] {
            let words = if shape.sum == Sum::F64 {
                2 * count
            } else {
                count
            };
            for (e, row) in numbers.iter_mut().enumerate().take(words) {
                let sign = if flip[e % 2] { 0x8000_0000 } else { 0 };
                row.iter_mut().for_each(|x| *x ^= sign);
            }
        }
    }
    if let Some(scales) = matrix.scales {
        scale(
            &mut scratch.a,
            layout.each[0],
            rows.row(scales[0].0)?,
            scales[0].1,
            shape,
            true,
        );
        scale(
            &mut scratch.b,
            layout.each[1],
            rows.row(scales[1].0)?,
            scales[1].1,
            shape,
            false,
        );
    }
    let accumulator = if shape.sparse { op.dst } else { op.src[2] };
    let words = if shape.sum == Sum::F64 { 2 } else { 1 };
    for (word, sums) in scratch
        .sums
        .iter_mut()
        .enumerate()
        .take(registers(matrix, layout))
    {
        if (VGPR..CONST - 1).contains(&accumulator) {
            let row = rows.row(accumulator - VGPR + word as u16)?;
            sums[..row.len()].copy_from_slice(row);
        } else {
            let value = if accumulator == CONST {
                op.k[2]
            } else {
                m.wave.pair(usize::from(accumulator))
            };
            // Both halves of a pair of 16-bit numbers.
            let value = match shape.sum {
                Sum::F16 | Sum::Bf16 => value & 0xffff | value << 16,
                _ => value >> (32 * (word % words)),
            };
            sums.fill(value as u32);
        }
        if matrix.absolute || matrix.negate {
            let sign = match shape.sum {
                Sum::F16 | Sum::Bf16 => 0x8000_8000,
                Sum::F64 if word % 2 == 0 => 0,
                _ => 0x8000_0000,
            };
            let keep = if matrix.absolute { !sign } else { u32::MAX };
            let flip = if matrix.negate { sign } else { 0 };
            sums.iter_mut().for_each(|x| *x = *x & keep ^ flip);
        }
    }
    Some(())
}

/// Makes a sparse A dense: of each four elements two are stored, at the places that two bits each say.
fn spread(scratch: &mut Scratch, indices: &[u32], shift: u32, each: usize) {
    for row in scratch.a.iter_mut().take(each) {
        row.fill(0);
    }
    for (lane, &indices) in indices.iter().enumerate().take(64) {
        let indices = indices >> (shift & 31);
        for stored in 0..each / 2 {
            let place = indices >> ((2 * stored) & 31) & 3;
            let element = stored / 2 * 4 + place as usize;
            scratch.a[element & 31][lane] = scratch.stored[stored & 31][lane];
        }
    }
}

/// Multiplies each element by two to the power that its row's (column's) and its 32 steps' scale says.
fn scale(
    numbers: &mut Numbers,
    each: usize,
    scales: &[u32],
    shift: u32,
    shape: &Shape,
    is_a: bool,
) {
    let element = if is_a { shape.a } else { shape.b };
    for lane in 0..64 {
        for (e, row) in numbers.iter_mut().enumerate().take(each) {
            // The scale of a row's 32 steps is in the lane that has, or would have, those steps in one piece.
            let (x, group) = (lane % shape.m, lane / shape.m);
            let piece = if element.bits() == 8 {
                let k = e / 16 * (shape.k / 2) + 16 * group + e % 16;
                k / 32
            } else {
                group
            };
            let byte = scales
                .get(x + shape.m * piece)
                .map_or(127, |s| s >> shift & 0xff);
            let factor = match byte {
                255 => f64::NAN,
                byte => f64::from_bits(u64::from(byte + 1023 - 127) << 52),
            };
            row[lane] = ((f64::from(f32::from_bits(row[lane])) * factor) as f32).to_bits();
        }
    }
}

#[inline(always)]
fn write(m: &mut Machine<'_>, op: &MicroOp, matrix: &Matrix, layout: &Layout) -> Option<()> {
    let half =
        matrix.shape.family == Family::Gfx11 && matches!(matrix.shape.sum, Sum::F16 | Sum::Bf16);
    for (word, sums) in m
        .temps
        .matrix
        .sums
        .iter()
        .enumerate()
        .take(registers(matrix, layout))
    {
        let row = m.wave.rows.row_mut(op.dst - VGPR + word as u16)?;
        let count = row.len();
        if half {
            let mask = if matrix.high { 0xffff_0000 } else { 0xffff };
            for (to, &from) in row.iter_mut().zip(sums) {
                *to = *to & !mask | from & mask;
            }
        } else {
            row.copy_from_slice(&sums[..count]);
        }
    }
    Some(())
}

/// A register that the wave was not given: only waves of 32 lanes get here, whose operands are the larger.
#[cold]
fn missing(m: &mut Machine<'_>, op: &MicroOp, page: &Page, layout: &Layout) -> Flow {
    let allocated = u32::from(m.wave.rows.vgprs());
    let number = u32::from(op.dst - VGPR) + layout.registers as u32 - 1;
    m.fault(
        op,
        page,
        FaultKind::Register {
            file: 'v',
            number: number.max(allocated),
            allocated,
        },
    )
}
