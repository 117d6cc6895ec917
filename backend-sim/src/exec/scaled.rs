//! `v_cvt_scalef32_*` of gfx950: conversions between narrow floats and wider ones with a common scale.
//!
//! The scale is the exponent of a single-precision number, read as a power of two: what is widened is multiplied by it,
//! what is narrowed is divided by it first. The exponent of infinity and NaN makes every result NaN. Operands have up to
//! 32 registers, so that these are no handlers of rows.

use super::access::Lanes;
use super::code::Page;
use super::lower::{Cx, Ext, Lowered, destination, source};
use super::machine::Machine;
use super::microop::{CONST, Flow, MicroOp, VGPR};
use super::valu::formats::{Narrow, Rounding, bf16_to_f32, f16_to_f32};
use crate::isa::{Dir, Inst, Op};

/// The wider format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wide {
    F32,
    F16,
    Bf16,
}

/// Where the packed result or source stands in its register, if it does not fill it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Whole,
    Half,
    Byte,
}

/// What a name says.
#[derive(Clone, Copy, Debug)]
struct Kind {
    narrow: Narrow,
    wide: Wide,
    /// From wide to narrow.
    narrows: bool,
    stochastic: bool,
    /// Numbers converted.
    count: usize,
    /// Two sources whose numbers alternate: one each, or sixteen each.
    pair: bool,
    part: Part,
}

/// A conversion, ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    kind: Kind,
    /// First bit of the part.
    shift: u32,
    /// Of single widened half-precision results: the high half.
    high: bool,
    /// First bit of a single 16-bit source.
    from: u32,
    keep: [u32; 2],
    flip: [u32; 2],
}

fn kind(op: Op) -> Option<Kind> {
    let name = op.row().mnemonic.strip_prefix("v_cvt_scalef32_")?;
    let mut words = name.split('_');
    let mut next = words.next()?;
    let stochastic = next == "sr";
    if stochastic {
        next = words.next()?;
    }
    let (count, pair) = match next {
        "pk" => (2, false),
        "pk32" => (32, false),
        "2xpk16" => (32, true),
        _ => (1, false),
    };
    let (to, from) = if count == 1 {
        (next, words.next()?)
    } else {
        (words.next()?, words.next()?)
    };
    let wide = |name| match name {
        "f32" => Some(Wide::F32),
        "f16" => Some(Wide::F16),
        "bf16" => Some(Wide::Bf16),
        _ => None,
    };
    let narrow = |name| match name {
        "fp8" => Some(Narrow::FP8),
        "bf8" => Some(Narrow::BF8),
        "fp6" => Some(Narrow::FP6),
        "bf6" => Some(Narrow::BF6),
        "fp4" => Some(Narrow::FP4),
        _ => None,
    };
    let narrows = narrow(to).is_some();
    let (narrow, wide) = if narrows {
        (narrow(to)?, wide(from)?)
    } else {
        (narrow(from)?, wide(to)?)
    };
    Some(Kind {
        narrow,
        wide,
        narrows,
        stochastic,
        count,
        pair: pair || narrows && count == 2 && wide == Wide::F32 && !stochastic,
        part: match count as u32 * narrow.bits {
            8 => Part::Byte,
            16 => Part::Half,
            _ => Part::Whole,
        },
    })
}

/// Lowers these conversions; `None` for all other instructions.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    kind(inst.op).map(|kind| lower_kind(cx, inst, kind))
}

fn lower_kind(cx: &mut Cx<'_>, inst: &Inst, kind: Kind) -> Lowered {
    let mods = &inst.mods;
    let mut micro = MicroOp::undecoded(0);
    let mut next = 0;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        if desc.dir == Dir::Write {
            micro.dst = destination(operand)?;
            continue;
        }
        let (src, value) = source(operand, desc.ty)?;
        let Some(slot) = micro.src.get_mut(next) else {
            return Err("its operand count");
        };
        *slot = src;
        micro.k[next] = value;
        next += 1;
    }
    let select = u32::from(mods.op_sel);
    let shift = match (kind.part, kind.narrows) {
        (Part::Whole, _) => 0,
        (Part::Half, true) => 16 * (select >> 3 & 1),
        (Part::Half, false) => 16 * (select & 1),
        (Part::Byte, true) => 8 * (select >> 2 & 3),
        (Part::Byte, false) => 8 * (select & 3),
    };
    let sign = match kind.wide {
        Wide::F32 => 0x8000_0000,
        _ => 0x8000_8000,
    };
    let bit = |mask: u8, at: usize| kind.narrows && mask >> at & 1 != 0;
    let single = kind.narrows && kind.count == 1 && kind.wide != Wide::F32;
    let conversion = Conversion {
        kind,
        shift,
        high: !kind.narrows && kind.count == 1 && select & 8 != 0,
        from: if single { 16 * (select & 1) } else { 0 },
        keep: [0, 1].map(|i| if bit(mods.abs, i) { !sign } else { u32::MAX }),
        flip: [0, 1].map(|i| if bit(mods.neg, i) { sign } else { 0 }),
    };
    micro.ext = cx.add(Ext::Conversion(conversion));
    micro.run = convert;
    Ok(micro)
}

/// Dword `word` of source `i` in a lane.
fn dword(m: &Machine<'_>, op: &MicroOp, i: usize, word: usize, lane: usize) -> u32 {
    let src = op.src[i];
    if src == CONST {
        return (op.k[i] >> (32 * (word & 1))) as u32;
    }
    if src < VGPR {
        return m.wave.s[(usize::from(src) + word) & 255];
    }
    m.wave
        .rows
        .row(src - VGPR + word as u16)
        .map_or(0, |row| row[lane])
}

/// The next number of the generator that `v_prng_b32` steps.
fn next_random(x: u32) -> u32 {
    x << 1 ^ if x >> 31 != 0 { 197 } else { 0 }
}

fn convert(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let Some(Ext::Conversion(conversion)) = page.ext.get(op.ext as usize) else {
        return Flow::Next;
    };
    let kind = conversion.kind;
    for lane in Lanes(m.wave.exec()) {
        let result = if kind.narrows {
            narrow(m, op, conversion, lane)
        } else {
            widen(m, op, conversion, lane)
        };
        let (words, count) = result;
        for (word, &value) in words.iter().enumerate().take(count) {
            let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + word as u16) else {
                return Flow::Next;
            };
            row[lane] = value;
        }
    }
    Flow::Next
}

/// The dwords of a lane's result, and how many.
type Words = ([u32; 32], usize);

fn narrow(m: &Machine<'_>, op: &MicroOp, conversion: &Conversion, lane: usize) -> Words {
    let kind = conversion.kind;
    let sources = if kind.pair { 2 } else { 1 };
    let scale_at = sources + usize::from(kind.stochastic);
    let scale = dword(m, op, scale_at, 0, lane) >> 23 & 0xff;
    let saturate = m.wave.float.saturates();
    let mut random = if kind.stochastic {
        dword(m, op, sources, 0, lane)
    } else {
        0
    };
    let mut words = [0; 32];
    for i in 0..kind.count {
        let (source, number) = if kind.pair { (i % 2, i / 2) } else { (0, i) };
        let read = |word| {
            dword(m, op, source, word, lane) & conversion.keep[source] ^ conversion.flip[source]
        };
        let half = |word: u32| (word >> (16 * (number % 2) as u32) >> conversion.from) as u16;
        let value = match kind.wide {
            Wide::F32 => read(number),
            Wide::F16 => f16_to_f32(half(read(number / 2))).to_bits(),
            Wide::Bf16 => bf16_to_f32(half(read(number / 2))).to_bits(),
        };
        let value = if scale == 255 { 0x7fc0_0000 } else { value };
        let rounding = if kind.stochastic {
            Rounding::Stochastic(random)
        } else {
            Rounding::Nearest
        };
        let code = kind
            .narrow
            .encode(value, scale as i32 - 127, rounding, saturate);
        random = next_random(random);
        let at = i * kind.narrow.bits as usize;
        let wide = u64::from(code) << (at % 32);
        words[at / 32] |= wide as u32;
        if let Some(word) = words.get_mut(at / 32 + 1) {
            *word |= (wide >> 32) as u32;
        }
    }
    let bits = match kind.part {
        Part::Whole => return (words, kind.count * kind.narrow.bits as usize / 32),
        Part::Half => 0xffff,
        Part::Byte => 0xff,
    };
    (merged(m, op, lane, bits, conversion.shift, words[0]), 1)
}

/// A part of the destination, the rest as it was.
fn merged(
    m: &Machine<'_>,
    op: &MicroOp,
    lane: usize,
    bits: u32,
    shift: u32,
    value: u32,
) -> [u32; 32] {
    let old = m.wave.rows.row(op.dst - VGPR).map_or(0, |row| row[lane]);
    let mut words = [0; 32];
    words[0] = old & !(bits << shift) | (value & bits) << shift;
    words
}

fn widen(m: &Machine<'_>, op: &MicroOp, conversion: &Conversion, lane: usize) -> Words {
    let kind = conversion.kind;
    let scale = dword(m, op, 1, 0, lane) >> 23 & 0xff;
    let saturate = m.wave.float.saturates();
    let mut words = [0; 32];
    for i in 0..kind.count {
        let at = i * kind.narrow.bits as usize + conversion.shift as usize;
        let low = u64::from(dword(m, op, 0, at / 32, lane));
        let high = if at % 32 + kind.narrow.bits as usize > 32 {
            u64::from(dword(m, op, 0, at / 32 + 1, lane))
        } else {
            0
        };
        let code = (high << 32 | low) >> (at % 32) & ((1 << kind.narrow.bits) - 1);
        let value = match scale {
            255 => 0x7fc0_0000,
            _ => kind.narrow.decode(code as u16),
        };
        let by = scale as i32 - 127;
        let half =
            |format: Narrow| u32::from(format.encode(value, -by, Rounding::Nearest, saturate));
        match kind.wide {
            Wide::F32 => {
                let factor = f64::from_bits(((1023 + by) as u64) << 52);
                let wide = (f64::from(f32::from_bits(value)) * factor) as f32;
                words[i] = if wide.is_nan() {
                    0x7fc0_0000
                } else {
                    wide.to_bits()
                };
            }
            Wide::F16 => words[i / 2] |= half(Narrow::F16) << (16 * (i % 2)),
            Wide::Bf16 => words[i / 2] |= half(Narrow::BF16) << (16 * (i % 2)),
        }
    }
    match (kind.wide, kind.count) {
        (Wide::F32, count) => (words, count),
        (_, 1) => {
            let shift = if conversion.high { 16 } else { 0 };
            (merged(m, op, lane, 0xffff, shift, words[0]), 1)
        }
        (_, count) => (words, count / 2),
    }
}
