//! Lowering of vector ALU instructions.

use alloc::boxed::Box;

use super::{Cx, Ext, Lowered, destination, rows, source};
use crate::exec::code::Page;
use crate::exec::dpp::{Pattern, Permute};
use crate::exec::dual::{Dual, Pair};
use crate::exec::leveled::function_of;
use crate::exec::microop::{ABSENT, CONST, MicroOp, VGPR};
use crate::exec::modifiers::{Float, Out, Pick, Place, SrcForm, placement};
use crate::exec::scalars::{EXEC, TRASH, VCC};
use crate::exec::valu::{self, Level};
use crate::exec::vector::{
    CLAMP, MASK_IN, MASK_OUT, Modified, OVERLAP, Plain, Simple, VectorForm, WIDE_DST, WIDE_SRC0,
};
use crate::isa::{
    Arch, Dir, Dpp, DppCtrl, Field, Format, Inst, Mods, Op, Operand, OperandDesc, Type, Unused,
};

/// What the operands of a vector instruction are, before it is known how it will be executed.
struct Shape {
    dst: u16,
    dst_ty: Option<Type>,
    src: [u16; 3],
    value: [u64; 3],
    ty: [Type; 3],
    sources: usize,
    mask_in: Option<u8>,
    mask_out: Option<u16>,
    mask_to_exec: bool,
}

fn shape(
    op: Op,
    operands: &[Operand],
    descs: &[OperandDesc],
    arch: Arch,
) -> Result<Shape, &'static str> {
    let mut shape = Shape {
        dst: ABSENT,
        dst_ty: None,
        src: [ABSENT; 3],
        value: [0; 3],
        ty: [Type::B32; 3],
        sources: 0,
        mask_in: None,
        mask_out: None,
        mask_to_exec: false,
    };
    let mut old = None;
    for (&operand, desc) in operands.iter().zip(descs) {
        match desc.field {
            Field::MaskDst => shape.mask_out = Some(mask_destination(operand)?),
            Field::CmpxDst if arch.is_gfx9() => {
                shape.mask_out = Some(mask_destination(operand)?);
                shape.mask_to_exec = true;
            }
            Field::CmpxDst => shape.mask_out = Some(EXEC as u16),
            _ if desc.dir != Dir::Read => {
                shape.dst = destination(operand)?;
                shape.dst_ty = Some(desc.ty);
                if desc.dir == Dir::ReadWrite {
                    old = Some(desc.ty);
                }
            }
            _ if desc.ty == Type::Mask => {
                shape.mask_in = Some(match operand {
                    Operand::None => VCC as u8,
                    _ => super::scalar_index(operand).ok_or("a constant lane mask")? as u8,
                });
            }
            _ => {
                let (src, value) = source(operand, desc.ty)?;
                push(&mut shape, src, value, desc.ty)?;
            }
        }
    }
    if let Some(ty) = old {
        let dst = shape.dst;
        push(&mut shape, dst, 0, ty)?;
    }
    if matches!(op, Op::v_div_fmas_f32 | Op::v_div_fmas_f64) {
        shape.mask_in = Some(VCC as u8);
    }
    Ok(shape)
}

fn push(shape: &mut Shape, src: u16, value: u64, ty: Type) -> Result<(), &'static str> {
    if shape.sources == 3 {
        return Err("its operand count");
    }
    shape.src[shape.sources] = src;
    shape.value[shape.sources] = value;
    shape.ty[shape.sources] = ty;
    shape.sources += 1;
    Ok(())
}

fn mask_destination(operand: Operand) -> Result<u16, &'static str> {
    match operand {
        Operand::None => Ok(VCC as u16),
        _ => destination(operand),
    }
}

pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let row = inst.op.row();
    let shape = shape(inst.op, &inst.operands, row.operands(), cx.arch)?;
    let handler = valu::handler(inst.op, cx.level).ok_or("the instruction")?;
    let mut micro = MicroOp::undecoded(0);
    micro.handler = Some(handler);
    micro.dst = shape.dst;
    micro.dst2 = shape.mask_out.unwrap_or(ABSENT);
    place_sources(&mut micro, &shape, cx.page);

    let form = form(cx.arch, inst, &shape)?;
    let unmodified = form.src.iter().all(SrcForm::is_plain)
        && Out {
            clamp: false,
            ..form.out
        } == Out::PLAIN
        && form.dpp.is_none()
        && !form.mask_to_exec
        && form.imm == 0
        && form.dst_rows <= 2
        && form.src.iter().all(|src| src.rows <= 2);
    if unmodified {
        finish_plain(&mut micro, &shape, form.out.clamp, cx.level);
        if let Some(run) = valu::hot::function(inst.op, &micro, cx.level) {
            micro.run = run;
        }
    } else {
        micro.ext = cx.add(Ext::Vector(Box::new(form)));
        micro.run = function_of::<Modified>(cx.level);
    }
    Ok(micro)
}

/// Sources into the micro-op, constants into the page.
fn place_sources(micro: &mut MicroOp, shape: &Shape, page: &mut Page) {
    for i in 0..shape.sources {
        micro.src[i] = shape.src[i];
        if shape.src[i] == CONST {
            micro.k[i] = u64::from(page.constant(shape.value[i]));
        }
    }
}

/// Chooses among the functions for instructions without modifiers.
fn finish_plain(micro: &mut MicroOp, shape: &Shape, clamp: bool, level: Level) {
    let dst_rows = shape.dst_ty.map_or(0, rows);
    let mut flags = 0;
    if clamp {
        flags |= CLAMP;
    }
    // A mask that goes to the null register goes nowhere.
    if shape
        .mask_out
        .is_some_and(|mask| usize::from(mask) != TRASH)
    {
        flags |= MASK_OUT;
    }
    if let Some(mask) = shape.mask_in {
        flags |= MASK_IN;
        micro.ext = u32::from(mask);
    }
    if dst_rows == 2 {
        flags |= WIDE_DST;
    }
    for i in 0..shape.sources {
        let rows = u16::from(rows(shape.ty[i]));
        if rows == 2 {
            flags |= WIDE_SRC0 << i;
        }
        if overlaps(shape.dst, u16::from(dst_rows), shape.src[i], rows) {
            flags |= OVERLAP;
        }
    }
    micro.flags = flags;
    let simple = flags == 0 && micro.dst != ABSENT;
    micro.run = match (simple, shape.sources) {
        (true, 0) => function_of::<Simple<0>>(level),
        (true, 1) => function_of::<Simple<1>>(level),
        (true, 2) => function_of::<Simple<2>>(level),
        (true, _) => function_of::<Simple<3>>(level),
        (false, 0) => function_of::<Plain<0>>(level),
        (false, 1) => function_of::<Plain<1>>(level),
        (false, 2) => function_of::<Plain<2>>(level),
        (false, _) => function_of::<Plain<3>>(level),
    };
}

/// Whether two ranges of vector registers overlap without being the same.
fn overlaps(dst: u16, dst_rows: u16, src: u16, src_rows: u16) -> bool {
    let vector = |r: u16| (VGPR..CONST - 1).contains(&r);
    vector(dst)
        && vector(src)
        && (dst, dst_rows) != (src, src_rows)
        && dst < src + src_rows
        && src < dst + dst_rows
}

/// What the modifiers of an instruction with scalar operands say.
pub(crate) fn modifiers_of(arch: Arch, inst: &Inst) -> Result<VectorForm, &'static str> {
    let shape = shape(inst.op, &inst.operands, inst.op.row().operands(), arch)?;
    form(arch, inst, &shape)
}

/// Everything that modifiers say.
fn form(arch: Arch, inst: &Inst, shape: &Shape) -> Result<VectorForm, &'static str> {
    let mods = &inst.mods;
    let mut src = [SrcForm::plain(1); 3];
    for (i, src) in src.iter_mut().enumerate().take(shape.sources) {
        // Both numbers change where compilers fold the sign of a whole vector into the modifier; of the others nobody
        // says which.
        let folds = matches!(inst.op, Op::v_dot2_f16_f16 | Op::v_dot2_bf16_bf16);
        let packed = matches!(shape.ty[i], Type::PkF16 | Type::PkBf16) && !folds;
        if packed && inst.format != Format::Vop3p && (mods.neg | mods.abs) >> i & 1 != 0 {
            return Err("a sign modifier of a packed source");
        }
        *src = source_form(inst, mods, i, shape.ty[i]);
    }
    Ok(VectorForm {
        src,
        sources: shape.sources as u8,
        dst_rows: shape.dst_ty.map_or(0, rows),
        out: out_form(arch, inst, shape),
        dpp: mods.dpp.map(permute),
        mask_in: shape.mask_in,
        mask_out: shape.mask_out.is_some(),
        mask_to_exec: shape.mask_to_exec,
        imm: immediate(arch, inst),
    })
}

/// What a handler is told beside its operands.
fn immediate(arch: Arch, inst: &Inst) -> u32 {
    match inst.op {
        // The signedness of the sources is in the neg bits.
        Op::v_dot4_i32_iu8 | Op::v_dot8_i32_iu4 => u32::from(inst.mods.neg),
        Op::v_bitop3_b32 | Op::v_bitop3_b16 => u32::from(inst.mods.bitop3),
        op if converts_bytes(op) => u32::from(arch == Arch::Gfx942),
        _ => 0,
    }
}

/// Conversions from and to eight-bit floats.
fn converts_bytes(op: Op) -> bool {
    widens_bytes(op)
        || matches!(
            op,
            Op::v_cvt_pk_fp8_f32
                | Op::v_cvt_pk_bf8_f32
                | Op::v_cvt_sr_fp8_f32
                | Op::v_cvt_sr_bf8_f32
        )
}

fn widens_bytes(op: Op) -> bool {
    matches!(
        op,
        Op::v_cvt_f32_fp8
            | Op::v_cvt_f32_bf8
            | Op::v_cvt_pk_f32_fp8
            | Op::v_cvt_pk_f32_bf8
            | Op::v_cvt_pk_f32_fp8_b16
            | Op::v_cvt_pk_f32_bf8_b16
    )
}

fn is_mix(op: Op) -> bool {
    matches!(
        op,
        Op::v_mad_mix_f32
            | Op::v_mad_mixlo_f16
            | Op::v_mad_mixhi_f16
            | Op::v_fma_mix_f32
            | Op::v_fma_mixlo_f16
            | Op::v_fma_mixhi_f16
    )
}

fn source_form(inst: &Inst, mods: &Mods, i: usize, ty: Type) -> SrcForm {
    let bit = |bits: u8| bits >> i & 1 != 0;
    let mut form = SrcForm::plain(rows(ty));
    let (neg, abs) = (bit(mods.neg), bit(mods.abs));
    // An accumulation's old value is the half of the destination that the result goes to.
    let descs = inst.op.row().operands();
    let accumulates = descs.first().is_some_and(|d| d.dir == Dir::ReadWrite);
    let half = if accumulates && i + 1 == descs.len() {
        3
    } else {
        i
    };
    if inst.format == Format::Vop3p {
        if is_mix(inst.op) {
            if bit(mods.op_sel_hi) {
                form.pick = Pick::Widened {
                    high: bit(mods.op_sel),
                };
            }
            if bit(mods.neg_hi) {
                form.keep = 0x7fff_ffff;
            }
            form.flip = if neg { 0x8000_0000 } else { 0 };
            return form;
        }
        let (low, high) = (bit(mods.op_sel), bit(mods.op_sel_hi));
        let sign = |set: bool, at: u32| if set { at } else { 0 };
        match ty {
            Type::PkF16 | Type::PkBf16 | Type::PkU16 | Type::PkI16 => {
                if low || !high {
                    form.pick = Pick::Halves {
                        low_from_high: low,
                        high_from_high: high,
                    };
                }
                if matches!(ty, Type::PkF16 | Type::PkBf16) {
                    form.flip = sign(neg, 0x8000) | sign(bit(mods.neg_hi), 0x8000_0000);
                }
            }
            Type::PkF32 | Type::PkB32 => {
                if low || !high || neg {
                    form.pick = Pick::Pair {
                        low_from_high: low,
                        high_from_high: high,
                    };
                }
                form.flip_low = sign(neg, 0x8000_0000);
                form.flip = sign(bit(mods.neg_hi), 0x8000_0000);
            }
            Type::F32 | Type::F64 => {
                form.flip = sign(neg, 0x8000_0000);
                if inst.op.row().mnemonic.starts_with("v_dot4_f32_") && bit(mods.neg_hi) {
                    form.keep = 0x7fff_ffff;
                }
            }
            _ => {}
        }
        return form;
    }
    if let Some(sdwa) = mods.sdwa {
        let select = match i {
            0 => Some(sdwa.src0_sel),
            1 => Some(sdwa.src1_sel),
            // The old destination of an accumulation.
            _ => None,
        };
        if let Some(select) = select {
            form.pick = Pick::sdwa(select, bit(sdwa.sext));
        }
    } else if ty.is_16() && mods.op_sel >> half & 1 != 0 {
        form.pick = Pick::High;
    } else if matches!(inst.op, Op::v_cvt_f32_fp8 | Op::v_cvt_f32_bf8) && mods.op_sel & 3 != 0 {
        // The bits of the byte's number are stored in reverse.
        let byte = (mods.op_sel & 1) << 1 | mods.op_sel >> 1 & 1;
        form.pick = Pick::Part {
            shift: 8 * byte,
            bits: 8,
            sext: false,
        };
    }
    let sign = match ty {
        Type::PkF16 | Type::PkBf16 => 0x8000_8000,
        _ if ty.is_16() => 0x8000,
        _ => 0x8000_0000,
    };
    if abs {
        form.keep = !sign;
    }
    if neg {
        form.flip = sign;
    }
    form
}

fn out_form(arch: Arch, inst: &Inst, shape: &Shape) -> Out {
    let mods = &inst.mods;
    let mut out = Out {
        nan_to_zero: arch.is_gfx12_plus(),
        ..Out::PLAIN
    };
    let Some(ty) = shape.dst_ty else {
        return Out::PLAIN;
    };
    let float = match ty {
        Type::F16 => Some(Float::F16),
        Type::F32 => Some(Float::F32),
        Type::F64 => Some(Float::F64),
        Type::PkF16 => Some(Float::PkF16),
        Type::PkF32 => Some(Float::PkF32),
        _ => None,
    };
    match float {
        Some(float) if mods.clamp || mods.omod != 0 => {
            out.float = Some((float, mods.omod, mods.clamp));
        }
        Some(_) => {}
        None => out.clamp = mods.clamp,
    }
    if out.float.is_none() {
        out.nan_to_zero = false;
    }
    out.place = if widens_bytes(inst.op) {
        Place::Whole
    } else if let Some(sdwa) = mods.sdwa {
        match placement(sdwa.dst_sel) {
            (_, 32) => Place::Whole,
            (shift, bits) => Place::Part {
                shift,
                bits,
                unused: sdwa.dst_unused,
            },
        }
    } else if matches!(inst.op, Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32) {
        Place::Part {
            shift: 8 * (mods.op_sel >> 2 & 3),
            bits: 8,
            unused: Unused::Preserve,
        }
    } else if matches!(inst.op, Op::v_cvt_pk_fp8_f32 | Op::v_cvt_pk_bf8_f32) {
        if mods.op_sel & 8 != 0 {
            Place::High
        } else {
            Place::Low
        }
    } else if matches!(inst.op, Op::v_mad_mixhi_f16 | Op::v_fma_mixhi_f16)
        || (mods.op_sel & 8 != 0 && inst.format != Format::Vop3p && ty.is_16())
    {
        Place::High
    } else if matches!(inst.op, Op::v_mad_mixlo_f16 | Op::v_fma_mixlo_f16)
        || (ty.is_16() && keeps_high_half(arch, inst.op))
    {
        Place::Low
    } else {
        Place::Whole
    };
    out
}

/// Whether a 16-bit result leaves the destination's high half as it was. GFX10 made that the
/// rule; on GFX9 only the instructions that got half selection then do, the others write zeros.
fn keeps_high_half(arch: Arch, op: Op) -> bool {
    if arch.is_gfx10_plus() {
        return true;
    }
    matches!(
        op,
        Op::v_mad_f16
            | Op::v_mad_u16
            | Op::v_mad_i16
            | Op::v_fma_f16
            | Op::v_div_fixup_f16
            | Op::v_min3_f16
            | Op::v_max3_f16
            | Op::v_med3_f16
            | Op::v_min3_i16
            | Op::v_max3_i16
            | Op::v_med3_i16
            | Op::v_min3_u16
            | Op::v_max3_u16
            | Op::v_med3_u16
            | Op::v_add_i16
            | Op::v_sub_i16
            | Op::v_bitop3_b16
            | Op::v_ashr_pk_i8_i32
            | Op::v_ashr_pk_u8_i32
            | Op::v_cvt_sr_f16_f32
            | Op::v_cvt_sr_bf16_f32
    )
}

fn permute(dpp: Dpp) -> Permute {
    match dpp {
        Dpp::Dpp8 {
            selectors,
            fetch_inactive,
        } => {
            // Inactive source lanes read as zero.
            Permute::new(Pattern::Eight(selectors), 15, 15, true, fetch_inactive)
        }
        Dpp::Dpp16 {
            ctrl,
            row_mask,
            bank_mask,
            bound_ctrl,
            fetch_inactive,
        } => {
            let pattern = match ctrl {
                DppCtrl::QuadPerm(lanes) => {
                    let bits = lanes
                        .iter()
                        .rev()
                        .fold(0, |bits, lane| bits << 2 | lane & 3);
                    Pattern::Quad(bits)
                }
                DppCtrl::RowShl(n) => Pattern::RowShl(n),
                DppCtrl::RowShr(n) => Pattern::RowShr(n),
                DppCtrl::RowRor(n) => Pattern::RowRor(n),
                DppCtrl::WaveShl => Pattern::WaveShl,
                DppCtrl::WaveRol => Pattern::WaveRol,
                DppCtrl::WaveShr => Pattern::WaveShr,
                DppCtrl::WaveRor => Pattern::WaveRor,
                DppCtrl::RowMirror => Pattern::RowMirror,
                DppCtrl::RowHalfMirror => Pattern::RowHalfMirror,
                DppCtrl::RowBcast15 => Pattern::Bcast15,
                DppCtrl::RowBcast31 => Pattern::Bcast31,
                DppCtrl::RowShare(n) => Pattern::RowShare(n),
                DppCtrl::RowXmask(n) => Pattern::RowXmask(n),
            };
            Permute::new(pattern, row_mask, bank_mask, bound_ctrl, fetch_inactive)
        }
    }
}

/// VOPD: two plain micro-ops, executed by a function that lets both read before either writes.
pub(super) fn lower_dual(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let op_y = inst.op_y.ok_or("a VOPD without its second half")?;
    let mut halves = [MicroOp::undecoded(0); 2];
    for (half, op, operands) in [
        (0, inst.op, &inst.operands[..4]),
        (1, op_y, &inst.operands[4..]),
    ] {
        let shape = shape(op, operands, op.row().operands(), cx.arch)?;
        let micro = &mut halves[half];
        micro.handler = Some(valu::handler(op, cx.level).ok_or("one of its halves")?);
        micro.dst = shape.dst;
        place_sources(micro, &shape, cx.page);
        if let Some(mask) = shape.mask_in {
            micro.flags |= MASK_IN;
            micro.k[2] = u64::from(mask);
        }
        micro.len = shape.sources as u8;
    }
    let mut micro = MicroOp::undecoded(0);
    // One after the other, where the second does not read what the first writes.
    let reads = |half: &MicroOp, of: &MicroOp| half.src[..usize::from(half.len)].contains(&of.dst);
    if reads(&halves[1], &halves[0]) && !reads(&halves[0], &halves[1]) {
        halves.swap(0, 1);
    }
    micro.run = if reads(&halves[1], &halves[0]) {
        function_of::<Dual>(cx.level)
    } else {
        function_of::<Pair>(cx.level)
    };
    micro.ext = cx.add(Ext::Dual(Box::new(halves)));
    Ok(micro)
}
