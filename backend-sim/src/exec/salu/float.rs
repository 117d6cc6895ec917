//! Scalar floating point (GFX12), and the vector transcendentals that write a scalar.
//!
//! Each does what a vector instruction does in every lane: its handler runs on broadcast rows, and lane 0 is
//! the result. One definition of each operation serves both.

use alloc::boxed::Box;

use crate::exec::code::Page;
use crate::exec::lower::{Cx, Ext, Lowered, destination, modifiers_of, operands, source};
use crate::exec::machine::Machine;
use crate::exec::microop::{ABSENT, CONST, Flow, MicroOp, VGPR};
use crate::exec::rows::Row;
use crate::exec::valu;
use crate::exec::vector::blank;
use crate::isa::{Dir, Inst, Mods, Op};

/// The vector operation of a scalar one.
fn vector_of(op: Op) -> Option<Op> {
    Some(match op {
        Op::s_add_f32 => Op::v_add_f32,
        Op::s_sub_f32 => Op::v_sub_f32,
        Op::s_min_num_f32 => Op::v_min_f32,
        Op::s_max_num_f32 => Op::v_max_f32,
        Op::s_mul_f32 => Op::v_mul_f32,
        Op::s_fmaak_f32 => Op::v_fmaak_f32,
        Op::s_fmamk_f32 => Op::v_fmamk_f32,
        Op::s_fmac_f32 => Op::v_fma_f32,
        Op::s_cvt_pk_rtz_f16_f32 => Op::v_cvt_pkrtz_f16_f32,
        Op::s_add_f16 => Op::v_add_f16,
        Op::s_sub_f16 => Op::v_sub_f16,
        Op::s_min_num_f16 => Op::v_min_f16,
        Op::s_max_num_f16 => Op::v_max_f16,
        Op::s_mul_f16 => Op::v_mul_f16,
        Op::s_fmac_f16 => Op::v_fma_f16,
        Op::s_minimum_f32 => Op::v_minimum_f32,
        Op::s_maximum_f32 => Op::v_maximum_f32,
        Op::s_minimum_f16 => Op::v_minimum_f16,
        Op::s_maximum_f16 => Op::v_maximum_f16,
        Op::s_ceil_f32 => Op::v_ceil_f32,
        Op::s_floor_f32 => Op::v_floor_f32,
        Op::s_trunc_f32 => Op::v_trunc_f32,
        Op::s_rndne_f32 => Op::v_rndne_f32,
        Op::s_cvt_f32_i32 => Op::v_cvt_f32_i32,
        Op::s_cvt_f32_u32 => Op::v_cvt_f32_u32,
        Op::s_cvt_i32_f32 => Op::v_cvt_i32_f32,
        Op::s_cvt_u32_f32 => Op::v_cvt_u32_f32,
        Op::s_cvt_f16_f32 => Op::v_cvt_f16_f32,
        Op::s_cvt_f32_f16 | Op::s_cvt_hi_f32_f16 => Op::v_cvt_f32_f16,
        Op::s_ceil_f16 => Op::v_ceil_f16,
        Op::s_floor_f16 => Op::v_floor_f16,
        Op::s_trunc_f16 => Op::v_trunc_f16,
        Op::s_rndne_f16 => Op::v_rndne_f16,
        Op::s_cmp_lt_f16 => Op::v_cmp_lt_f16,
        Op::s_cmp_eq_f16 => Op::v_cmp_eq_f16,
        Op::s_cmp_le_f16 => Op::v_cmp_le_f16,
        Op::s_cmp_gt_f16 => Op::v_cmp_gt_f16,
        Op::s_cmp_lg_f16 => Op::v_cmp_lg_f16,
        Op::s_cmp_ge_f16 => Op::v_cmp_ge_f16,
        Op::s_cmp_o_f16 => Op::v_cmp_o_f16,
        Op::s_cmp_u_f16 => Op::v_cmp_u_f16,
        Op::s_cmp_nge_f16 => Op::v_cmp_nge_f16,
        Op::s_cmp_nlg_f16 => Op::v_cmp_nlg_f16,
        Op::s_cmp_ngt_f16 => Op::v_cmp_ngt_f16,
        Op::s_cmp_nle_f16 => Op::v_cmp_nle_f16,
        Op::s_cmp_neq_f16 => Op::v_cmp_neq_f16,
        Op::s_cmp_nlt_f16 => Op::v_cmp_nlt_f16,
        Op::v_s_exp_f32 => Op::v_exp_f32,
        Op::v_s_exp_f16 => Op::v_exp_f16,
        Op::v_s_log_f32 => Op::v_log_f32,
        Op::v_s_log_f16 => Op::v_log_f16,
        Op::v_s_rcp_f32 => Op::v_rcp_f32,
        Op::v_s_rcp_f16 => Op::v_rcp_f16,
        Op::v_s_rsq_f32 => Op::v_rsq_f32,
        Op::v_s_rsq_f16 => Op::v_rsq_f16,
        Op::v_s_sqrt_f32 => Op::v_sqrt_f32,
        Op::v_s_sqrt_f16 => Op::v_sqrt_f16,
        _ => return None,
    })
}

/// Whether an operation is one of these.
pub(crate) fn is_scalar(op: Op) -> bool {
    vector_of(op).is_some()
}

/// Lowers scalar floating point; `None` for all other instructions.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Option<Lowered> {
    let vector = vector_of(inst.op)?;
    Some(lower_as(cx, inst, vector))
}

fn lower_as(cx: &mut Cx<'_>, inst: &Inst, vector: Op) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    micro.handler = Some(valu::handler(vector, cx.level).ok_or("the instruction")?);
    let mut next = 0;
    let mut old = None;
    for (operand, desc) in operands(inst) {
        if desc.dir != Dir::Read {
            micro.dst = destination(operand)?;
            old = (desc.dir == Dir::ReadWrite).then_some(micro.dst);
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
    if let (Some(old), Some(slot)) = (old, micro.src.get_mut(next)) {
        *slot = old;
    }
    if micro.src.iter().any(|&src| (VGPR..ABSENT).contains(&src)) {
        return Err("a vector register as its operand");
    }
    if inst.mods != Mods::default() {
        let form = modifiers_of(cx.arch, inst)?;
        micro.ext = cx.add(Ext::Vector(Box::new(form)));
        micro.run = run_modified;
        return Ok(micro);
    }
    micro.flags = u8::from(inst.op == Op::s_cvt_hi_f32_f16);
    micro.run = run;
    Ok(micro)
}

/// The pseudo-scalar transcendentals have the modifiers of vector instructions.
fn run_modified(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let form = page.ext.get(op.ext as usize).and_then(|ext| ext.vector());
    let (Some(form), Some(handler)) = (form, op.handler) else {
        return Flow::Next;
    };
    let mut args = blank(m, 1);
    args.lanes = 32;
    let value = m.s32(op, 0);
    args.src[0] = m.broadcast(0, u64::from(value), 1);
    form.src[0].apply_in_place(&mut m.temps.src[0], 32);
    args.dst = m.temps.dst.as_mut_ptr().cast();
    // SAFETY: the operands are temporary rows; the operations lowered here have one source and a result, of a row
    // each. The handler is of the code cache's level.
    unsafe { handler(&args) };
    let old = Row([m.wave.s[usize::from(op.dst as u8)]; 64]);
    form.out
        .apply(&mut m.temps.dst, old.0.as_ptr(), 32, 1, m.wave.float);
    let value = m.temps.dst[0].0[0];
    m.put32(op.dst, value);
    Flow::Next
}

fn run(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let Some(handler) = op.handler else {
        return Flow::Next;
    };
    let mut args = blank(m, 1);
    args.lanes = 32;
    for i in 0..3 {
        if op.src[i] == ABSENT {
            continue;
        }
        debug_assert!(op.src[i] < VGPR || op.src[i] == CONST);
        let value = m.s32(op, i) >> (16 * u32::from(op.flags));
        args.src[i] = m.broadcast(i, u64::from(value), 1);
    }
    if op.dst != ABSENT {
        args.dst = m.temps.dst.as_mut_ptr().cast();
    }
    // SAFETY: the operands are temporary rows; the operations lowered here have one-row operands and, but for
    // compares, a one-row result. The handler is of the code cache's level.
    let mask = unsafe { handler(&args) };
    if op.dst == ABSENT {
        m.set_scc(mask & 1 != 0);
    } else {
        let value = m.temps.dst[0].0[0];
        m.put32(op.dst, value);
    }
    Flow::Next
}
