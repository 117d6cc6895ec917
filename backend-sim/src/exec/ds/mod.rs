//! DS: the local data share.
//!
//! Addresses are byte offsets into the work-group's LDS. A read beyond it gives zero, a write
//! there is dropped. A work-group stays on one worker, so LDS is ordinary memory.
//!
//! Here: which instruction is what, and lowering. [`memory`]: LDS itself. [`lanes`]: an access of each lane.
//! [`mod@special`]: the rest.

mod lanes;
mod memory;
mod special;

use super::access::Spec;
use super::atomic::AtomicOp;
use super::code::Page;
use super::crossbar;
use super::flat::{Action, atomic_index, encode_action, vector};
use super::gds;
use super::leveled::function_of;
use super::lower::{Cx, GRAPHICS, Lowered, destination};
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, OpFn};
use super::transpose;
use super::valu::Level;
use crate::isa::{Dir, Field, Inst, Op};
use lanes::{
    Load, Read2, Store, Write2, exchange2, lds_atomic, load_small, read2_aligned, store_small,
    write2_aligned,
};
use special::{append, atomic_src2, condxchg, read_addtid, write_addtid, write_src2};

macro_rules! actions {
    ($op:ident, $($action:expr => $($name:ident)|+;)*) => {
        match $op {
            $($(Op::$name)|+ => Some($action),)*
            _ => None,
        }
    };
}

const B1: Spec = Spec::new(1);
const B2: Spec = Spec::new(2);
const B4: Spec = Spec::new(4);
const B8: Spec = Spec::new(8);

fn action(op: Op) -> Option<Action> {
    use Action::{Load, Store};
    let found = actions! { op,
        Load(B1) => ds_read_u8;
        Load(B1.signed()) => ds_read_i8;
        Load(B2) => ds_read_u16;
        Load(B2.signed()) => ds_read_i16;
        Load(B1.low()) => ds_read_u8_d16;
        Load(B1.high()) => ds_read_u8_d16_hi;
        Load(B1.signed().low()) => ds_read_i8_d16;
        Load(B1.signed().high()) => ds_read_i8_d16_hi;
        Load(B2.low()) => ds_read_u16_d16;
        Load(B2.high()) => ds_read_u16_d16_hi;
        Load(B4) => ds_read_b32;
        Load(B8) => ds_read_b64;
        Load(Spec::new(12)) => ds_read_b96;
        Load(Spec::new(16)) => ds_read_b128;
        Store(B1) => ds_write_b8;
        Store(B1.high()) => ds_write_b8_d16_hi;
        Store(B2) => ds_write_b16;
        Store(B2.high()) => ds_write_b16_d16_hi;
        Store(B4) => ds_write_b32;
        Store(B8) => ds_write_b64;
        Store(Spec::new(12)) => ds_write_b96;
        Store(Spec::new(16)) => ds_write_b128;
    };
    found.or_else(|| atomic(op).map(|(op, wide)| Action::Atomic(op, wide)))
}

fn atomic(op: Op) -> Option<(AtomicOp, bool)> {
    use AtomicOp as A;
    actions! { op,
        (A::Add, false) => ds_add_u32 | ds_add_rtn_u32;
        (A::Sub, false) => ds_sub_u32 | ds_sub_rtn_u32;
        (A::RSub, false) => ds_rsub_u32 | ds_rsub_rtn_u32;
        (A::Inc, false) => ds_inc_u32 | ds_inc_rtn_u32;
        (A::Dec, false) => ds_dec_u32 | ds_dec_rtn_u32;
        (A::SMin, false) => ds_min_i32 | ds_min_rtn_i32;
        (A::SMax, false) => ds_max_i32 | ds_max_rtn_i32;
        (A::UMin, false) => ds_min_u32 | ds_min_rtn_u32;
        (A::UMax, false) => ds_max_u32 | ds_max_rtn_u32;
        (A::And, false) => ds_and_b32 | ds_and_rtn_b32;
        (A::Or, false) => ds_or_b32 | ds_or_rtn_b32;
        (A::Xor, false) => ds_xor_b32 | ds_xor_rtn_b32;
        (A::MskOr, false) => ds_mskor_b32 | ds_mskor_rtn_b32;
        (A::Swap, false) => ds_wrxchg_rtn_b32;
        (A::CmpSwap, false) => ds_cmpst_b32 | ds_cmpst_rtn_b32 | ds_cmpstore_b32 | ds_cmpstore_rtn_b32;
        (A::FCmpSwap, false) => ds_cmpst_f32 | ds_cmpst_rtn_f32 | ds_cmpstore_f32 | ds_cmpstore_rtn_f32;
        (A::FMin, false) => ds_min_f32 | ds_min_rtn_f32;
        (A::FMax, false) => ds_max_f32 | ds_max_rtn_f32;
        (A::FAdd, false) => ds_add_f32 | ds_add_rtn_f32;
        (A::Wrap, false) => ds_wrap_rtn_b32;
        (A::PkAddF16, false) => ds_pk_add_f16 | ds_pk_add_rtn_f16;
        (A::PkAddBf16, false) => ds_pk_add_bf16 | ds_pk_add_rtn_bf16;
        (A::CondSub, false) => ds_cond_sub_u32 | ds_cond_sub_rtn_u32;
        (A::SubClamp, false) => ds_sub_clamp_u32 | ds_sub_clamp_rtn_u32;
        (A::Add, true) => ds_add_u64 | ds_add_rtn_u64;
        (A::Sub, true) => ds_sub_u64 | ds_sub_rtn_u64;
        (A::RSub, true) => ds_rsub_u64 | ds_rsub_rtn_u64;
        (A::Inc, true) => ds_inc_u64 | ds_inc_rtn_u64;
        (A::Dec, true) => ds_dec_u64 | ds_dec_rtn_u64;
        (A::SMin, true) => ds_min_i64 | ds_min_rtn_i64;
        (A::SMax, true) => ds_max_i64 | ds_max_rtn_i64;
        (A::UMin, true) => ds_min_u64 | ds_min_rtn_u64;
        (A::UMax, true) => ds_max_u64 | ds_max_rtn_u64;
        (A::And, true) => ds_and_b64 | ds_and_rtn_b64;
        (A::Or, true) => ds_or_b64 | ds_or_rtn_b64;
        (A::Xor, true) => ds_xor_b64 | ds_xor_rtn_b64;
        (A::MskOr, true) => ds_mskor_b64 | ds_mskor_rtn_b64;
        (A::Swap, true) => ds_wrxchg_rtn_b64;
        (A::CmpSwap, true) => ds_cmpst_b64 | ds_cmpst_rtn_b64 | ds_cmpstore_b64 | ds_cmpstore_rtn_b64;
        (A::FCmpSwap, true) => ds_cmpst_f64 | ds_cmpst_rtn_f64 | ds_cmpstore_f64 | ds_cmpstore_rtn_f64;
        (A::FMin, true) => ds_min_f64 | ds_min_rtn_f64;
        (A::FMax, true) => ds_max_f64 | ds_max_rtn_f64;
        (A::FAdd, true) => ds_add_f64 | ds_add_rtn_f64;
    }
}

/// Instructions with two addresses: bytes of each access, and what an offset unit is in bytes.
fn pair(op: Op, level: Level) -> Option<(Spec, u64, OpFn)> {
    let narrow = [
        function_of::<Read2<1>>(level),
        function_of::<Write2<1>>(level),
        exchange2,
    ];
    let wide = [
        function_of::<Read2<2>>(level),
        function_of::<Write2<2>>(level),
        exchange2,
    ];
    Some(match op {
        Op::ds_read2_b32 => (B4, 4, narrow[0]),
        Op::ds_read2st64_b32 => (B4, 256, narrow[0]),
        Op::ds_read2_b64 => (B8, 8, wide[0]),
        Op::ds_read2st64_b64 => (B8, 512, wide[0]),
        Op::ds_write2_b32 => (B4, 4, narrow[1]),
        Op::ds_write2st64_b32 => (B4, 256, narrow[1]),
        Op::ds_write2_b64 => (B8, 8, wide[1]),
        Op::ds_write2st64_b64 => (B8, 512, wide[1]),
        Op::ds_wrxchg2_rtn_b32 => (B4, 4, narrow[2]),
        Op::ds_wrxchg2st64_rtn_b32 => (B4, 256, narrow[2]),
        Op::ds_wrxchg2_rtn_b64 => (B8, 8, wide[2]),
        Op::ds_wrxchg2st64_rtn_b64 => (B8, 512, wide[2]),
        _ => return None,
    })
}

/// Atomics whose data is at a second address (gfx9), in the order of the list.
fn src2(op: Op) -> Option<(AtomicOp, bool)> {
    use AtomicOp as A;
    actions! { op,
        (A::Add, false) => ds_add_src2_u32;
        (A::Sub, false) => ds_sub_src2_u32;
        (A::RSub, false) => ds_rsub_src2_u32;
        (A::Inc, false) => ds_inc_src2_u32;
        (A::Dec, false) => ds_dec_src2_u32;
        (A::SMin, false) => ds_min_src2_i32;
        (A::SMax, false) => ds_max_src2_i32;
        (A::UMin, false) => ds_min_src2_u32;
        (A::UMax, false) => ds_max_src2_u32;
        (A::And, false) => ds_and_src2_b32;
        (A::Or, false) => ds_or_src2_b32;
        (A::Xor, false) => ds_xor_src2_b32;
        (A::FMin, false) => ds_min_src2_f32;
        (A::FMax, false) => ds_max_src2_f32;
        (A::FAdd, false) => ds_add_src2_f32;
        (A::Add, true) => ds_add_src2_u64;
        (A::Sub, true) => ds_sub_src2_u64;
        (A::RSub, true) => ds_rsub_src2_u64;
        (A::Inc, true) => ds_inc_src2_u64;
        (A::Dec, true) => ds_dec_src2_u64;
        (A::SMin, true) => ds_min_src2_i64;
        (A::SMax, true) => ds_max_src2_i64;
        (A::UMin, true) => ds_min_src2_u64;
        (A::UMax, true) => ds_max_src2_u64;
        (A::And, true) => ds_and_src2_b64;
        (A::Or, true) => ds_or_src2_b64;
        (A::Xor, true) => ds_xor_src2_b64;
        (A::FMin, true) => ds_min_src2_f64;
        (A::FMax, true) => ds_max_src2_f64;
    }
}

/// What belongs to graphics: geometry streams, ray tracing, and the counter that pixel order governs.
fn is_graphics(op: Op) -> bool {
    matches!(
        op,
        Op::ds_add_gs_reg_rtn
            | Op::ds_sub_gs_reg_rtn
            | Op::ds_ordered_count
            | Op::ds_bvh_stack_rtn_b32
            | Op::ds_bvh_stack_push4_pop1_rtn_b32
            | Op::ds_bvh_stack_push8_pop1_rtn_b32
            | Op::ds_bvh_stack_push8_pop2_rtn_b64
    )
}

fn special(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::ds_nop => nothing,
        Op::ds_permute_b32 => crossbar::permute,
        Op::ds_bpermute_b32 => crossbar::bpermute::<false>,
        Op::ds_bpermute_fi_b32 => crossbar::bpermute::<true>,
        Op::ds_swizzle_b32 => crossbar::swizzle,
        Op::ds_condxchg32_rtn_b64 => condxchg,
        Op::ds_read_b64_tr_b4 => transpose::lds_read::<4>,
        Op::ds_read_b96_tr_b6 => transpose::lds_read::<6>,
        Op::ds_read_b64_tr_b8 => transpose::lds_read::<8>,
        Op::ds_read_b64_tr_b16 => transpose::lds_read::<16>,
        Op::ds_write_src2_b32 => write_src2::<4>,
        Op::ds_write_src2_b64 => write_src2::<8>,
        Op::ds_append => append::<true>,
        Op::ds_consume => append::<false>,
        Op::ds_read_addtid_b32 => read_addtid,
        Op::ds_write_addtid_b32 => write_addtid,
        _ => return None,
    })
}

fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

/// Operand order of compare-and-store: the comparison value comes first up to GFX10.
fn compares_first(op: Op) -> bool {
    matches!(
        op,
        Op::ds_cmpst_b32
            | Op::ds_cmpst_rtn_b32
            | Op::ds_cmpst_f32
            | Op::ds_cmpst_rtn_f32
            | Op::ds_cmpst_b64
            | Op::ds_cmpst_rtn_b64
            | Op::ds_cmpst_f64
            | Op::ds_cmpst_rtn_f64
    )
}

/// Source 0 is the address, sources 1 and 2 the data; `k[0]` the offset (of the first address), `k[2]` the second
/// one.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    if is_graphics(inst.op) {
        return Err(GRAPHICS);
    }
    if let Some(lowered) = gds::lower(cx, inst) {
        return lowered;
    }
    lower_local(cx, inst)
}

/// [`lower`], for group memory; what is true of it is true of the global data share too.
pub(crate) fn lower_local(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Addr => micro.src[0] = vector(operand)?,
            Field::Data => micro.src[1] = vector(operand)?,
            Field::Data1 => micro.src[2] = vector(operand)?,
            _ if desc.dir == Dir::Write => micro.dst = destination(operand)?,
            _ => return Err("this operand"),
        }
    }
    micro.k[0] = u64::from(inst.mods.offset as u32 & 0xffff);
    let free = cx.page.alignment.is_free();
    if let Some((spec, unit, run)) = pair(inst.op, cx.level) {
        micro.k[0] = u64::from(inst.mods.offset as u32 & 0xff) * unit;
        micro.k[2] = u64::from(inst.mods.offset1) * unit;
        micro.flags = spec.flags();
        micro.run = match micro.dst {
            _ if free || micro.dst != ABSENT && micro.src[1] != ABSENT => run,
            ABSENT => write2_aligned,
            _ => read2_aligned,
        };
    } else if let Some(run) = special(inst.op) {
        micro.run = run;
    } else if let Some((what, wide)) = src2(inst.op) {
        micro.k[1] = atomic_index(what, wide);
        micro.run = if wide {
            atomic_src2::<u64>
        } else {
            atomic_src2::<u32>
        };
    } else {
        let action = action(inst.op).ok_or("the instruction")?;
        let level = cx.level;
        let (load, store): (OpFn, OpFn) = match action {
            Action::Load(spec) | Action::Store(spec) if free => match spec.bytes {
                4 => (
                    function_of::<Load<1>>(level),
                    function_of::<Store<1>>(level),
                ),
                8 => (
                    function_of::<Load<2>>(level),
                    function_of::<Store<2>>(level),
                ),
                12 => (
                    function_of::<Load<3>>(level),
                    function_of::<Store<3>>(level),
                ),
                16 => (
                    function_of::<Load<4>>(level),
                    function_of::<Store<4>>(level),
                ),
                _ => (load_small, store_small),
            },
            _ => (load_small, store_small),
        };
        encode_action(&mut micro, action, [load, store, lds_atomic]);
        if compares_first(inst.op) {
            micro.src.swap(1, 2);
        }
    }
    Ok(micro)
}
