//! Vector ALU encodings.

use super::super::list::vopd::DUALS;
use super::super::table::vop3_opcode;
use super::super::{Dir, Dpp, DppCtrl, Field, Flags, Format, Operand, Sdwa};
use super::graphics::vintrp_vop3;
use super::{Cx, EncodeError, Encoded, flag};

pub(super) fn short(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let row = cx.inst.op.row();
    let mods = &cx.inst.mods;
    let mut word = match cx.inst.format {
        Format::Vop1 => 0x3f << 25 | opcode << 9,
        Format::Vopc => 0x3e << 25 | opcode << 17,
        _ => opcode << 25,
    };
    let mut literal = None;
    let (mut src0, mut src1, mut mask) = (0, 0, None);
    let halves = row.short_halves(cx.arch) & mods.op_sel;
    let half = |operand: Operand, bit: u8| match operand {
        Operand::Vgpr(_) => u32::from(halves >> bit & 1) << 7,
        _ => 0,
    };
    for (operand, desc) in cx.operands() {
        match desc.field {
            Field::Dst => word |= (cx.vgpr(operand)? | half(operand, 3)) << 17,
            Field::AccDst => word |= cx.source(operand, &mut literal)? << 17 & 0xff << 17,
            Field::ScalarDst => word |= cx.scalar_register(operand)? << 17,
            Field::MaskDst | Field::CmpxDst if operand != implied_mask(cx, desc.field) => {
                if mods.sdwa.is_none() {
                    let op = cx.inst.op;
                    return Err(EncodeError::BadOperand { op, operand });
                }
                mask = Some(cx.scalar_register(operand)?);
            }
            Field::Src0 | Field::AccSrc0 => {
                src0 = cx.source(operand, &mut literal)? | half(operand, 0);
            }
            Field::Src1 => src1 = cx.source(operand, &mut literal)? | half(operand, 1),
            Field::Literal => {
                cx.source(operand, &mut literal)?;
            }
            _ => {}
        }
    }
    if row.operands().is_empty() && mods.dpp.is_some() {
        // v_nop: a register that nobody reads.
        src0 = 256;
    }
    let extra = match (mods.sdwa, mods.dpp) {
        (Some(_), Some(_)) => return Err(cx.bad_modifier()),
        (Some(sdwa), None) => {
            if !row.has_sdwa(cx.arch) || literal.is_some() {
                return Err(cx.not_here());
            }
            let high = sdwa_word(cx, sdwa, src0, src1, mask);
            (src0, src1) = (249, if src1 >= 256 { src1 } else { 256 | src1 & 0xff });
            Some(high)
        }
        (None, Some(dpp)) => {
            let no_lanes = src0 < 256 && row.has(Field::Src0);
            if no_lanes || !row.has_dpp(cx.arch, cx.inst.format) {
                return Err(cx.not_here());
            }
            let (code, high) = dpp_word(cx, dpp, src0)?;
            src0 = code;
            Some(high)
        }
        (None, None) => literal,
    };
    if row.has(Field::Src1) {
        if src1 < 256 {
            return Err(cx.bad_modifier());
        }
        word |= (src1 & 0xff) << 9;
    }
    let mut encoded = Encoded::new(&[word | src0]);
    if let Some(extra) = extra {
        encoded.push(extra);
    }
    Ok(encoded)
}

/// The destination of a comparison that no bit of its encoding names. SDWA can name every other one, EXEC of a
/// GFX9 `v_cmpx` too, which writes EXEC beside its destination.
fn implied_mask(cx: &Cx, field: Field) -> Operand {
    if field == Field::CmpxDst && cx.arch.is_gfx10_plus() {
        Operand::ExecLo
    } else {
        Operand::VccLo
    }
}

fn sdwa_word(cx: &Cx, sdwa: Sdwa, src0: u32, src1: u32, mask: Option<u32>) -> u32 {
    let mods = &cx.inst.mods;
    let bit = |value: u8, index: u8, at: u32| u32::from(value >> index & 1) << at;
    let mut high = src0 & 0xff | flag(src0 < 256, 23) | (sdwa.src0_sel as u32) << 16;
    high |= bit(sdwa.sext, 0, 19) | bit(mods.neg, 0, 20) | bit(mods.abs, 0, 21);
    if cx.inst.op.row().has(Field::Src1) {
        high |= flag(src1 < 256, 31) | (sdwa.src1_sel as u32) << 24;
        high |= bit(sdwa.sext, 1, 27) | bit(mods.neg, 1, 28) | bit(mods.abs, 1, 29);
    }
    if cx.inst.format == Format::Vopc {
        high | mask.map_or(0, |code| code << 8 | 1 << 15)
    } else {
        let dst = (sdwa.dst_sel as u32) << 8 | (sdwa.dst_unused as u32) << 11;
        high | dst | flag(mods.clamp, 13) | u32::from(mods.omod) << 14
    }
}

/// The code that announces the permutation, and its dword.
fn dpp_word(cx: &Cx, dpp: Dpp, src0: u32) -> Result<(u32, u32), EncodeError> {
    let mods = &cx.inst.mods;
    let gfx9 = cx.arch.is_gfx9();
    let (ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive) = match dpp {
        Dpp::Dpp8 {
            selectors,
            fetch_inactive,
        } if !gfx9 => {
            return Ok((
                if fetch_inactive { 234 } else { 233 },
                src0 & 0xff | selectors << 8,
            ));
        }
        Dpp::Dpp8 { .. } => return Err(cx.not_here()),
        Dpp::Dpp16 {
            ctrl,
            row_mask,
            bank_mask,
            bound_ctrl,
            fetch_inactive,
        } => (ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive),
    };
    let ctrl = match ctrl {
        DppCtrl::QuadPerm(lanes) => lanes
            .iter()
            .rev()
            .fold(0, |code, lane| code << 2 | u32::from(lane & 3)),
        DppCtrl::RowShl(n) => 0x100 | u32::from(n),
        DppCtrl::RowShr(n) => 0x110 | u32::from(n),
        DppCtrl::RowRor(n) => 0x120 | u32::from(n),
        DppCtrl::WaveShl if gfx9 => 0x130,
        DppCtrl::WaveRol if gfx9 => 0x134,
        DppCtrl::WaveShr if gfx9 => 0x138,
        DppCtrl::WaveRor if gfx9 => 0x13c,
        DppCtrl::RowMirror => 0x140,
        DppCtrl::RowHalfMirror => 0x141,
        DppCtrl::RowBcast15 if gfx9 => 0x142,
        DppCtrl::RowBcast31 if gfx9 => 0x143,
        DppCtrl::RowShare(n) if !gfx9 || cx.arch.is_gfx90a_plus() => 0x150 | u32::from(n),
        DppCtrl::RowXmask(n) if !gfx9 => 0x160 | u32::from(n),
        _ => return Err(cx.bad_modifier()),
    };
    let mut word = src0 & 0xff | ctrl << 8 | u32::from(row_mask) << 28 | u32::from(bank_mask) << 24;
    word |= flag(bound_ctrl, 19) | flag(fetch_inactive && !gfx9, 18);
    if cx.inst.format != Format::Vop3 && cx.inst.format != Format::Vop3p {
        let bit = |value: u8, index: u8, at: u32| u32::from(value >> index & 1) << at;
        word |= bit(mods.neg, 0, 20)
            | bit(mods.abs, 0, 21)
            | bit(mods.neg, 1, 22)
            | bit(mods.abs, 1, 23);
    }
    Ok((250, word))
}

/// The sources of a 64-bit encoding, in their places of the second dword.
struct Long {
    sources: u32,
    extra: Option<u32>,
}

fn long(cx: &Cx) -> Result<Long, EncodeError> {
    let mut literal = None;
    let mut src = [0u32; 3];
    for (operand, desc) in cx.operands() {
        match desc.field {
            Field::Src0 | Field::AccSrc0 => src[0] = cx.source(operand, &mut literal)?,
            Field::Src1 => src[1] = cx.source(operand, &mut literal)?,
            Field::Src2 => src[2] = cx.source(operand, &mut literal)?,
            _ => {}
        }
    }
    if literal.is_some() && (cx.arch.is_gfx9() || cx.inst.mods.dpp.is_some()) {
        return Err(EncodeError::TooLong { op: cx.inst.op });
    }
    let mut extra = literal;
    if let Some(dpp) = cx.inst.mods.dpp {
        if !cx.inst.op.row().has_dpp(cx.arch, cx.inst.format) || src[0] < 256 {
            return Err(cx.not_here());
        }
        let (code, word) = dpp_word(cx, dpp, src[0])?;
        src[0] = code;
        extra = Some(word);
    }
    Ok(Long {
        sources: src[0] | src[1] << 9 | src[2] << 18,
        extra,
    })
}

fn finish(low: u32, high: u32, extra: Option<u32>) -> Encoded {
    let mut encoded = Encoded::new(&[low, high]);
    if let Some(extra) = extra {
        encoded.push(extra);
    }
    encoded
}

pub(super) fn vop3(cx: &Cx) -> Result<Encoded, EncodeError> {
    let row = cx.inst.op.row();
    if row.format == Format::Vintrp {
        return vintrp_vop3(cx);
    }
    let opcode = vop3_opcode(row, cx.arch)
        .filter(|_| row.has_vop3(cx.arch))
        .ok_or(cx.not_here())?;
    let mods = &cx.inst.mods;
    let long = long(cx)?;
    let table = u32::from(mods.bitop3);
    let mut low = if cx.arch.is_gfx9() {
        0b110100 << 26
    } else {
        0b110101 << 26
    };
    low |= u32::from(opcode) << 16 | flag(mods.clamp, 15);
    let vop3b = row.format != Format::Vopc && row.has(Field::MaskDst);
    if !vop3b {
        low |= u32::from(mods.abs & 7) << 8 | u32::from(mods.op_sel & 15) << 11;
    }
    for (operand, desc) in cx.operands() {
        low |= match desc.field {
            Field::Dst => cx.vgpr(operand)?,
            Field::ScalarDst => cx.scalar_register(operand)?,
            Field::MaskDst if vop3b => cx.scalar_register(operand)? << 8,
            Field::MaskDst | Field::CmpxDst => cx.scalar_register(operand)?,
            _ => 0,
        };
    }
    let mut high = long.sources | u32::from(mods.omod & 3) << 27 | u32::from(mods.neg & 7) << 29;
    if cx.inst.op.is_bitop3() {
        low |= (table >> 3 & 7) << 8;
        high |= (table >> 6) << 27 | (table & 7) << 29;
    }
    Ok(finish(low, high, long.extra))
}

pub(super) fn vop3p(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let long = long(cx)?;
    let mut low = if cx.arch.is_gfx9() {
        0x1a7 << 23
    } else {
        0b110011 << 26
    } | (opcode & 0x7f) << 16;
    if cx.inst.op.row().flags.has(Flags::MATRIX) {
        return matrix(cx, low, long.sources);
    }
    low |=
        flag(mods.clamp, 15) | u32::from(mods.neg_hi & 7) << 8 | u32::from(mods.op_sel & 7) << 11;
    low |= u32::from(mods.op_sel_hi >> 2 & 1) << 14;
    for (operand, desc) in cx.operands() {
        if desc.field == Field::Dst {
            low |= cx.vgpr(operand)?;
        }
    }
    let high = long.sources | u32::from(mods.op_sel_hi & 3) << 27 | u32::from(mods.neg & 7) << 29;
    Ok(finish(low, high, long.extra))
}

fn matrix(cx: &Cx, mut low: u32, mut high: u32) -> Result<Encoded, EncodeError> {
    let mods = &cx.inst.mods;
    let moves = cx.inst.op.row().operands().len() == 2;
    for (operand, desc) in cx.operands() {
        let acc = matches!(operand, Operand::Acc(_));
        match desc.field {
            Field::Dst | Field::AccDst => {
                let (Operand::Vgpr(n) | Operand::Acc(n)) = operand else {
                    return Err(cx.bad(operand));
                };
                low |= u32::from(n) | flag(acc && !moves && cx.arch.is_gfx90a_plus(), 15);
            }
            Field::Src0 if !moves => high |= flag(acc, 27),
            Field::Src1 => high |= flag(acc, 28),
            Field::Src2 => {
                // The accumulator comes from where the result goes.
                let dst = matches!(cx.inst.operands[0], Operand::Acc(_));
                let vector = matches!(operand, Operand::Vgpr(_) | Operand::Acc(_));
                let sparse = cx.inst.op.row().operands()[0].dir == Dir::ReadWrite;
                if vector && !sparse && acc != dst {
                    return Err(cx.bad(operand));
                }
            }
            _ => {}
        }
    }
    if !moves {
        low |= u32::from(mods.cbsz & 7) << 8 | u32::from(mods.abid & 15) << 11;
        high |= u32::from(mods.blgp & 7) << 29;
    }
    if !cx.inst.op.row().has(Field::Scale) {
        return Ok(Encoded::new(&[low, high]));
    }
    let mut scales = 0;
    for (operand, at) in cx.inst.operands[4..6].iter().zip([0, 9]) {
        scales |= cx.source(*operand, &mut None)? << at;
    }
    let prefix = 0x1a7 << 23 | 0x2c << 16 | u32::from(mods.op_sel & 3) << 11;
    scales |= u32::from(mods.op_sel_hi & 3) << 27;
    Ok(Encoded::new(&[prefix, scales, low | 1 << 11, high]))
}

pub(super) fn vopd(cx: &Cx) -> Result<Encoded, EncodeError> {
    let find = |op| DUALS.iter().find(|d| d.op == op).ok_or(cx.not_here());
    let x = find(cx.inst.op)?;
    let y = find(cx.inst.op_y.ok_or(cx.not_here())?)?;
    let opcode_x = x.x.ok_or(cx.not_here())?;
    if !cx.arch.is_gfx11_plus() {
        return Err(cx.not_here());
    }
    let mut literal = None;
    let mut half = |op: super::Op, operands: &[Operand]| {
        let (mut dst, mut src0, mut src1) = (0, 0, 0);
        for (operand, desc) in operands.iter().zip(op.row().operands()) {
            match desc.field {
                Field::Dst => dst = cx.vgpr(*operand)?,
                Field::Src0 => src0 = cx.source(*operand, &mut literal)?,
                Field::Src1 => src1 = cx.vgpr(*operand)?,
                Field::Literal => {
                    cx.source(*operand, &mut literal)?;
                }
                _ => {}
            }
        }
        Ok((dst, src0 | src1 << 9))
    };
    let (dst_x, sources_x) = half(x.op, &cx.inst.operands[..4])?;
    let (dst_y, sources_y) = half(y.op, &cx.inst.operands[4..])?;
    if dst_x & 1 == dst_y & 1 {
        return Err(cx.bad(cx.inst.operands[4]));
    }
    let low = 0b110010 << 26 | u32::from(opcode_x) << 22 | u32::from(y.y) << 17 | sources_x;
    Ok(finish(
        low,
        sources_y | dst_y >> 1 << 17 | dst_x << 24,
        literal,
    ))
}
