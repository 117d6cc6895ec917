//! Vector ALU encodings: VOP1, VOP2, VOPC with their DPP and SDWA forms, VOP3, VOP3P.

use super::super::table::{VOP2_IN_VOP3, vop1_in_vop3};
use super::super::{
    Code, Dpp, DppCtrl, Field, Flags, Format, Inst, Mods, Op, Operand, OperandDesc, Sdwa, Select,
    Type, Unused,
};
use super::graphics::vintrp_vop3;
use super::source::{aligned, scalar_register, source};
use super::{Cx, DecodeError, bit, bits, inst};

/// Codes of the first source that announce another dword instead of naming a register.
const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FI: u32 = 234;
const LITERAL: u32 = 255;
const VGPR: u32 = 256;

pub(super) fn vop1(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 9, 8);
    let fields = Short {
        dst: bits(word, 17, 8),
        src0: bits(word, 0, 9),
        src1: 0,
    };
    short(
        cx,
        Format::Vop1,
        u32::from(vop1_in_vop3(cx.arch)),
        opcode,
        fields,
    )
}

pub(super) fn vop2(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 25, 6);
    let fields = Short {
        dst: bits(word, 17, 8),
        src0: bits(word, 0, 9),
        src1: bits(word, 9, 8),
    };
    short(cx, Format::Vop2, u32::from(VOP2_IN_VOP3), opcode, fields)
}

pub(super) fn vopc(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 17, 8);
    let fields = Short {
        dst: 0,
        src0: bits(word, 0, 9),
        src1: bits(word, 9, 8),
    };
    short(cx, Format::Vopc, 0, opcode, fields)
}

/// The fields of the 32-bit encodings.
struct Short {
    dst: u32,
    src0: u32,
    src1: u32,
}

fn short(
    cx: &Cx,
    format: Format,
    base: u32,
    opcode: u32,
    mut fields: Short,
) -> Result<Inst, DecodeError> {
    let unknown = DecodeError::UnknownOpcode {
        arch: cx.arch,
        format,
        opcode,
    };
    let op = cx.lookup(format, base + opcode).map_err(|_| unknown)?;
    let row = op.row();
    if row.format != format || !matches!(row.code(cx.arch), Code::Own(_)) {
        return Err(unknown);
    }
    let mut mods = Mods::default();
    let mut dwords = 1;
    let mut literal = 0;
    // SDWA may name scalar sources and another mask than VCC.
    let mut src1_base = VGPR;
    let mut mask = None;
    match fields.src0 {
        LITERAL => {
            literal = cx.words.at(1)?;
            dwords = 2;
        }
        SDWA if !cx.arch.is_gfx11_plus() => {
            if !row.has_sdwa(cx.arch) {
                return Err(DecodeError::NoSuchForm { op, form: "SDWA" });
            }
            let high = cx.words.at(1)?;
            dwords = 2;
            fields.src0 = bits(high, 0, 8) + if bit(high, 23) { 0 } else { VGPR };
            src1_base = if bit(high, 31) { 0 } else { VGPR };
            mods.sdwa = Some(match op {
                // There is nothing to choose parts of.
                Op::v_nop => Sdwa::WHOLE,
                _ => sdwa(op, high, format == Format::Vopc)?,
            });
            mods.neg = (bit(high, 20) as u8) | (bit(high, 28) as u8) << 1;
            mods.abs = (bit(high, 21) as u8) | (bit(high, 29) as u8) << 1;
            if format == Format::Vopc {
                mask = bit(high, 15).then(|| bits(high, 8, 7));
            } else {
                mods.clamp = bit(high, 13);
                mods.omod = bits(high, 14, 2) as u8;
            }
        }
        code if is_dpp(cx, code) => {
            if !row.has_dpp(cx.arch, format) {
                return Err(DecodeError::NoSuchForm { op, form: "DPP" });
            }
            let high = cx.words.at(1)?;
            dwords = 2;
            let (dpp, src0) = dpp(cx, op, code, high)?;
            fields.src0 = src0;
            mods.dpp = Some(dpp);
            if code == DPP16 {
                mods.neg = (bit(high, 20) as u8) | (bit(high, 22) as u8) << 1;
                mods.abs = (bit(high, 21) as u8) | (bit(high, 23) as u8) << 1;
            }
        }
        _ => {}
    }
    // Only numbers with a sign can be negated.
    mods.neg &= row.signed_sources();
    mods.abs &= row.signed_sources();
    // VGPR numbers whose top bit selects the register's half.
    let halves = row.short_halves(cx.arch);
    let mut half = |code: u32, index: u32| {
        if halves >> index & 1 == 0 {
            return code;
        }
        mods.op_sel |= ((code >> 7 & 1) << index) as u8;
        code & !0x80
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(half(fields.dst, 3) as u8),
            Field::AccDst => Operand::Acc(fields.dst as u8),
            Field::ScalarDst => scalar(cx, op, fields.dst, desc.ty)?,
            Field::MaskDst | Field::CmpxDst => match mask {
                Some(code) => scalar(cx, op, code, desc.ty)?,
                None if desc.field == Field::CmpxDst && cx.arch.is_gfx10_plus() => Operand::ExecLo,
                None => Operand::VccLo,
            },
            Field::Src0 if fields.src0 >= VGPR => Operand::Vgpr(half(fields.src0, 0) as u8),
            Field::Src0 => any(cx, op, fields.src0, desc.ty, literal)?,
            Field::AccSrc0 => Operand::Acc(fields.src0 as u8),
            Field::Src1 if src1_base == VGPR => Operand::Vgpr(half(fields.src1, 1) as u8),
            Field::Src1 => any(cx, op, fields.src1, desc.ty, literal)?,
            Field::Src2 => Operand::VccLo,
            Field::Literal => {
                literal = cx.words.at(1)?;
                dwords = 2;
                Operand::Literal(literal)
            }
            _ => Operand::None,
        };
    }
    Ok(inst(op, format, dwords, operands, mods))
}

fn any(cx: &Cx, op: Op, code: u32, ty: Type, literal: u32) -> Result<Operand, DecodeError> {
    let operand = source(cx.arch, code, literal).ok_or(DecodeError::BadOperand { op, code })?;
    Ok(aligned(operand, ty))
}

fn scalar(cx: &Cx, op: Op, code: u32, ty: Type) -> Result<Operand, DecodeError> {
    let operand = scalar_register(cx.arch, code).filter(|_| code < 128);
    Ok(aligned(
        operand.ok_or(DecodeError::BadOperand { op, code })?,
        ty,
    ))
}

fn is_dpp(cx: &Cx, src0: u32) -> bool {
    match src0 {
        DPP16 => true,
        DPP8 | DPP8_FI => cx.arch.is_gfx10_plus(),
        _ => false,
    }
}

/// The permutation, and the code of the source that it applies to.
fn dpp(cx: &Cx, op: Op, code: u32, word: u32) -> Result<(Dpp, u32), DecodeError> {
    let src0 = bits(word, 0, 8) + VGPR;
    if code != DPP16 {
        return Ok((
            Dpp::Dpp8 {
                selectors: bits(word, 8, 24),
                fetch_inactive: code == DPP8_FI,
            },
            src0,
        ));
    }
    let ctrl = bits(word, 8, 9);
    let low = (ctrl & 15) as u8;
    let gfx9 = cx.arch.is_gfx9();
    let ctrl = match ctrl {
        0..=0xff => DppCtrl::QuadPerm([0, 2, 4, 6].map(|at| bits(ctrl, at, 2) as u8)),
        0x101..=0x10f => DppCtrl::RowShl(low),
        0x111..=0x11f => DppCtrl::RowShr(low),
        0x121..=0x12f => DppCtrl::RowRor(low),
        0x130 if gfx9 => DppCtrl::WaveShl,
        0x134 if gfx9 => DppCtrl::WaveRol,
        0x138 if gfx9 => DppCtrl::WaveShr,
        0x13c if gfx9 => DppCtrl::WaveRor,
        0x140 => DppCtrl::RowMirror,
        0x141 => DppCtrl::RowHalfMirror,
        0x142 if gfx9 => DppCtrl::RowBcast15,
        0x143 if gfx9 => DppCtrl::RowBcast31,
        0x150..=0x15f if !gfx9 || cx.arch.is_gfx90a_plus() => DppCtrl::RowShare(low),
        0x160..=0x16f if !gfx9 => DppCtrl::RowXmask(low),
        _ => return Err(DecodeError::BadOperand { op, code: ctrl }),
    };
    let dpp = Dpp::Dpp16 {
        ctrl,
        row_mask: bits(word, 28, 4) as u8,
        bank_mask: bits(word, 24, 4) as u8,
        bound_ctrl: bit(word, 19),
        fetch_inactive: !gfx9 && bit(word, 18),
    };
    Ok((dpp, src0))
}

fn sdwa(op: Op, word: u32, compare: bool) -> Result<Sdwa, DecodeError> {
    let select = |at| {
        Ok(match bits(word, at, 3) {
            0 => Select::Byte0,
            1 => Select::Byte1,
            2 => Select::Byte2,
            3 => Select::Byte3,
            4 => Select::Word0,
            5 => Select::Word1,
            6 => Select::Dword,
            code => return Err(DecodeError::BadOperand { op, code }),
        })
    };
    let unused = match bits(word, 11, 2) {
        _ if compare => Unused::Pad,
        0 => Unused::Pad,
        1 => Unused::Sext,
        2 => Unused::Preserve,
        code => return Err(DecodeError::BadOperand { op, code }),
    };
    Ok(Sdwa {
        dst_sel: if compare { Select::Dword } else { select(8)? },
        dst_unused: unused,
        src0_sel: select(16)?,
        src1_sel: if op.row().operands().iter().any(|o| o.field == Field::Src1) {
            select(24)?
        } else {
            Select::Dword
        },
        sext: (bit(word, 19) as u8) | (bit(word, 27) as u8) << 1,
    })
}

pub(super) fn vop3(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Vop3, bits(word, 16, 10))?;
    let row = op.row();
    if !row.has_vop3(cx.arch) {
        return Err(DecodeError::NoSuchForm { op, form: "VOP3" });
    }
    if row.format == Format::Vintrp {
        return vintrp_vop3(cx, op, word);
    }
    let high = cx.words.at(1)?;
    let mut mods = Mods {
        clamp: bit(word, 15),
        omod: bits(high, 27, 2) as u8,
        neg: bits(high, 29, 3) as u8,
        ..Mods::default()
    };
    // VOP3B: a lane mask takes the place of ABS and OP_SEL.
    let vop3b =
        row.format != Format::Vopc && row.operands().iter().any(|o| o.field == Field::MaskDst);
    if !vop3b {
        mods.abs = bits(word, 8, 3) as u8;
        mods.op_sel = bits(word, 11, 4) as u8;
    }
    if op.is_bitop3() {
        mods.bitop3 = mods.omod << 6 | mods.abs << 3 | mods.neg;
        mods.omod = 0;
    }
    // Bits that mean nothing for this instruction are dropped, so that whoever executes it need not ask.
    mods.neg &= row.signed_sources();
    mods.abs &= row.signed_sources();
    mods.op_sel &= row.selectable(cx.arch);
    let mut long = Long::fetch(cx, op, Format::Vop3, high, &mut mods)?;
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        let dst = bits(word, 0, 8);
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(dst as u8),
            Field::ScalarDst => scalar(cx, op, dst, desc.ty)?,
            Field::MaskDst if vop3b => scalar(cx, op, bits(word, 8, 7), desc.ty)?,
            Field::CmpxDst if cx.arch.is_gfx10_plus() => Operand::ExecLo,
            Field::MaskDst | Field::CmpxDst => scalar(cx, op, dst, desc.ty)?,
            _ => long.source(cx, op, desc)?,
        };
    }
    Ok(inst(op, Format::Vop3, long.dwords, operands, mods))
}

/// The three sources of a 64-bit encoding, and the dword that may follow.
struct Long {
    src: [u32; 3],
    literal: u32,
    dwords: u8,
}

impl Long {
    fn fetch(
        cx: &Cx,
        op: Op,
        format: Format,
        high: u32,
        mods: &mut Mods,
    ) -> Result<Long, DecodeError> {
        let mut src = [bits(high, 0, 9), bits(high, 9, 9), bits(high, 18, 9)];
        let mut literal = 0;
        let mut dwords = 2;
        if cx.arch.is_gfx11_plus() && is_dpp(cx, src[0]) {
            if !op.row().has_dpp(cx.arch, format) {
                return Err(DecodeError::NoSuchForm { op, form: "DPP" });
            }
            let (dpp, src0) = dpp(cx, op, src[0], cx.words.at(2)?)?;
            mods.dpp = Some(dpp);
            src[0] = src0;
            dwords = 3;
        } else if cx.arch.is_gfx10_plus() {
            let sources = op.row().operands().iter().filter_map(|o| match o.field {
                Field::Src0 => Some(src[0]),
                Field::Src1 => Some(src[1]),
                Field::Src2 => Some(src[2]),
                _ => None,
            });
            if sources.into_iter().any(|code| code == LITERAL) {
                literal = cx.words.at(2)?;
                dwords = 3;
            }
        }
        Ok(Long {
            src,
            literal,
            dwords,
        })
    }

    fn source(&mut self, cx: &Cx, op: Op, desc: &OperandDesc) -> Result<Operand, DecodeError> {
        let code = match desc.field {
            Field::Src0 => self.src[0],
            Field::Src1 => self.src[1],
            Field::Src2 => self.src[2],
            Field::AccSrc0 => return Ok(Operand::Acc(self.src[0] as u8)),
            _ => return Ok(Operand::None),
        };
        if code == LITERAL && cx.arch.is_gfx9() {
            return Err(DecodeError::BadOperand { op, code });
        }
        any(cx, op, code, desc.ty, self.literal)
    }
}

pub(super) fn vop3p(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Vop3p, bits(word, 16, 7))?;
    let row = op.row();
    let high = cx.words.at(1)?;
    if row.flags.has(Flags::MATRIX) {
        return matrix(cx, op, word, high);
    }
    if op == Op::v_mfma_ld_scale_b32
        && let Some(scaled) = scaled_matrix(cx, word, high)
    {
        return scaled;
    }
    let mut mods = Mods {
        clamp: bit(word, 15),
        neg_hi: bits(word, 8, 3) as u8,
        op_sel: bits(word, 11, 3) as u8,
        op_sel_hi: (bits(high, 27, 2) | bits(word, 14, 1) << 2) as u8,
        neg: bits(high, 29, 3) as u8,
        ..Mods::default()
    };
    // Bytes and nibbles have no halves to choose from.
    if row.is_byte_dot() {
        (mods.op_sel, mods.op_sel_hi) = (0, 7);
    }
    let mut long = Long::fetch(cx, op, Format::Vop3p, high, &mut mods)?;
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = match desc.field {
            Field::Dst => Operand::Vgpr(bits(word, 0, 8) as u8),
            _ => long.source(cx, op, desc)?,
        };
    }
    Ok(inst(op, Format::Vop3p, long.dwords, operands, mods))
}

/// A matrix operation behind its scales. `None` if what follows does not take them.
fn scaled_matrix(cx: &Cx, prefix: u32, scales: u32) -> Option<Result<Inst, DecodeError>> {
    let word = cx.words.at(2).ok()?;
    let takes_scales = word >> 23 == 0x1a7 && bit(word, 11);
    let marked = bits(word, 16, 7) | 0x80;
    let op = cx
        .lookup(Format::Vop3p, marked)
        .ok()
        .filter(|_| takes_scales)?;
    Some(cx.words.at(3).and_then(|high| {
        let mut inst = matrix(cx, op, word & !(15 << 11), high)?;
        inst.len = 16;
        inst.mods.op_sel = bits(prefix, 11, 2) as u8;
        inst.mods.op_sel_hi = bits(scales, 27, 2) as u8;
        for (operand, at) in inst.operands[4..6].iter_mut().zip([0, 9]) {
            *operand = any(cx, op, bits(scales, at, 9), Type::B32, 0)?;
        }
        Ok(inst)
    }))
}

/// Matrix operations of CDNA and the moves to and from accumulation registers.
fn matrix(cx: &Cx, op: Op, word: u32, high: u32) -> Result<Inst, DecodeError> {
    let mods = Mods {
        cbsz: bits(word, 8, 3) as u8,
        abid: bits(word, 11, 4) as u8,
        blgp: bits(high, 29, 3) as u8,
        ..Mods::default()
    };
    // gfx908 accumulates in accumulation registers only; later the instruction says where.
    let acc_cd = bit(word, 15) || !cx.arch.is_gfx90a_plus();
    let acc = |operand, acc: bool| match operand {
        Operand::Vgpr(n) if acc => Operand::Acc(n),
        other => other,
    };
    let sparse = op
        .row()
        .operands()
        .first()
        .is_some_and(|o| o.field == Field::Dst && o.dir == super::super::Dir::ReadWrite);
    let moves = op.row().operands().len() == 2;
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        let dst = bits(word, 0, 8) as u8;
        let code = match desc.field {
            Field::Src1 => bits(high, 9, 9),
            Field::Src2 => bits(high, 18, 9),
            _ => bits(high, 0, 9),
        };
        *slot = match desc.field {
            Field::Dst if moves => Operand::Vgpr(dst),
            Field::Dst => acc(Operand::Vgpr(dst), acc_cd),
            Field::AccDst => Operand::Acc(dst),
            Field::AccSrc0 => Operand::Acc(code as u8),
            Field::Src0 if moves => any(cx, op, code, desc.ty, 0)?,
            Field::Src0 => acc(any(cx, op, code, desc.ty, 0)?, bit(high, 27)),
            Field::Src1 => acc(any(cx, op, code, desc.ty, 0)?, bit(high, 28)),
            Field::Src2 => acc(any(cx, op, code, desc.ty, 0)?, acc_cd && !sparse),
            _ => Operand::None,
        };
        if matches!(*slot, Operand::Literal(_)) {
            return Err(DecodeError::BadOperand { op, code });
        }
    }
    Ok(inst(op, Format::Vop3p, 2, operands, mods))
}
