//! Functions for the commonest vector instructions, with their handlers inside.
//!
//! An instruction in general takes two calls, of a function that brings its operands and of its handler, and what one
//! tells the other goes through memory. For those listed here the two are compiled as one, for all lanes active and
//! no modifiers; the general way is there for the rest.

use super::levels::{Host, Kernel};
use super::{Level, VArgs, vop1, vop2, vop3, vopc};
use crate::exec::code::Page;
use crate::exec::gang::{MASK, MOST, NOTHING, each};
use crate::exec::leveled::{Leveled, function_of};
use crate::exec::machine::Machine;
use crate::exec::microop::{ABSENT, CONST, Flow, MicroOp, OpFn, VGPR};
use crate::exec::vector::{MASK_IN, MASK_OUT, OVERLAP, WIDE_DST, WIDE_SRC0, blank, general};
use crate::isa::Op;

/// An instruction of `N` sources and just these flags; with `GANG` for all waves that go together.
struct Direct<K, const N: usize, const FLAGS: u8, const GANG: bool>(core::marker::PhantomData<K>);

impl<K: Kernel, const N: usize, const FLAGS: u8, const GANG: bool> Leveled
    for Direct<K, N, FLAGS, GANG>
{
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        if m.wave.lanes == 64 {
            whole::<H, K, N, FLAGS, GANG, 64>(m, op, page)
        } else {
            whole::<H, K, N, FLAGS, GANG, 32>(m, op, page)
        }
    }
}

#[inline(always)]
fn whole<
    H: Host,
    K: Kernel,
    const N: usize,
    const FLAGS: u8,
    const GANG: bool,
    const LANES: usize,
>(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
) -> Flow {
    let exec = m.wave.exec();
    if exec != m.wave.lane_mask() {
        return match (GANG, FLAGS & MASK_OUT != 0) {
            (false, _) => general::<N>(m, op, page),
            (true, false) => each::<NOTHING>(m, op, page),
            (true, true) => each::<MASK>(m, op, page),
        };
    }
    let rows = m.wave.rows.ptr(0);
    let row = |register: u16| rows.wrapping_add(usize::from(register - VGPR) * LANES);
    // How far it is from a wave's registers to the next one's.
    let stride = if GANG { m.wave.rows.dwords() } else { 0 };
    let mut steps = [0; N];
    let mut args = VArgs {
        lanes: LANES as u32,
        ..blank(m, exec)
    };
    for (i, step) in steps.iter_mut().enumerate() {
        let register = op.src[i];
        if (VGPR..CONST).contains(&register) {
            *step = stride;
        }
        args.src[i] = if (VGPR..VGPR + 256).contains(&register) {
            row(register)
        } else if register < VGPR && FLAGS & WIDE_SRC0 << i == 0 {
            let value = m.wave.s[usize::from(register as u8)];
            let temp = &mut m.temps.src[i][0].0;
            temp[..LANES].fill(value);
            temp.as_ptr()
        } else if register == CONST
            && FLAGS & WIDE_SRC0 << i == 0
            && let Some([low, _]) = page.consts.get(op.k[i] as usize)
        {
            low.0.as_ptr()
        } else {
            m.other_source(op, page, i, 1 + u32::from(FLAGS & WIDE_SRC0 << i != 0))
        };
    }
    if FLAGS & MASK_IN != 0 {
        args.mask_in = m.wave.mask(op.ext as usize);
    }
    if op.dst != ABSENT {
        args.dst = if op.dst < VGPR + 256 {
            row(op.dst)
        } else {
            m.wave.rows.ptr(op.dst - VGPR)
        };
    }
    if !GANG {
        // SAFETY: sources and destination are rows of the width that the operation's operands have: registers checked
        // by the run loop, constants of the page or temporaries of four rows. The host is that of the function's level.
        let mask = unsafe { K::run::<H>(&args) };
        if FLAGS & MASK_OUT != 0 {
            m.wave.set_mask(usize::from(op.dst2), mask & exec);
        }
        return Flow::Next;
    }
    let mut masks = [0; MOST];
    for mask in &mut masks[..m.waves()] {
        // SAFETY: as above, for the registers of one wave after the other.
        *mask = unsafe { K::run::<H>(&args) } & exec;
        for (source, step) in args.src.iter_mut().zip(steps) {
            *source = source.wrapping_add(step);
        }
        args.dst = args.dst.wrapping_add(stride);
    }
    if FLAGS & MASK_OUT != 0 {
        return m.put_masks(op.dst2, &masks);
    }
    Flow::Next
}

/// `v_mov_b32` of a scalar; with `GANG` for all waves that go together.
struct Spread<const GANG: bool>;

impl<const GANG: bool> Leveled for Spread<GANG> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        if m.wave.exec() != m.wave.lane_mask() || op.dst == ABSENT {
            return if GANG {
                each::<NOTHING>(m, op, page)
            } else {
                general::<1>(m, op, page)
            };
        }
        if m.wave.lanes == 64 {
            spread::<GANG, 64>(m, op);
        } else {
            spread::<GANG, 32>(m, op);
        }
        Flow::Next
    }
}

#[inline(always)]
fn spread<const GANG: bool, const LANES: usize>(m: &mut Machine<'_>, op: &MicroOp) {
    let value = m.wave.s[usize::from(op.src[0] as u8)];
    let waves = if GANG { m.waves() } else { 1 };
    let stride = m.wave.rows.dwords();
    let row = m.wave.rows.ptr(op.dst - VGPR);
    for n in 0..waves {
        // SAFETY: the destination's row of one wave after the other, which are of one shape; the run loop checked it.
        unsafe {
            row.add(n * stride)
                .cast::<[u32; LANES]>()
                .write([value; LANES]);
        }
    }
}

macro_rules! hot {
    ($gang:ident $op:ident, $flags:ident, $level:ident; $($module:ident $kernel:ident $sources:literal $want:expr => $($name:ident)|+;)*) => {
        match $op {
            $($(Op::$name)|+ if $flags == $want => {
                function_of::<Direct<$module::kernels::$kernel, $sources, { $want }, $gang>>($level)
            })*
            _ => return None,
        }
    };
}

/// The function of an instruction with these sources and flags, if it is listed.
pub(crate) fn function(op: Op, micro: &MicroOp, level: Level) -> Option<OpFn> {
    listed::<false>(op, micro, level)
}

/// [`function`] for waves that go together.
pub(crate) fn together(op: Op, micro: &MicroOp, level: Level) -> Option<OpFn> {
    listed::<true>(op, micro, level)
}

fn listed<const GANG: bool>(op: Op, micro: &MicroOp, level: Level) -> Option<OpFn> {
    const WIDE_1: u8 = WIDE_DST | WIDE_SRC0 << 1;
    const WIDE_2: u8 = WIDE_DST | WIDE_SRC0 << 2;
    // Those listed read a lane's sources, whatever rows they are in, before they write the lane's result.
    let flags = micro.flags & !OVERLAP;
    if op == Op::v_mov_b32 && flags == 0 && micro.src[0] < VGPR {
        return Some(if GANG {
            function_of::<Spread<true>>(level)
        } else {
            function_of::<Spread<false>>(level)
        });
    }
    Some(hot! { GANG op, flags, level;
        vop1 v_mov_b32 1 0 => v_mov_b32;
        vop2 v_add_f32 2 0 => v_add_f32;
        vop2 v_sub_f32 2 0 => v_sub_f32;
        vop2 v_mul_f32 2 0 => v_mul_f32;
        vop2 v_fmac_f32 3 0 => v_fmac_f32 | v_fmamk_f32 | v_fmaak_f32 | v_fma_f32;
        vop2 v_add_u32 2 0 => v_add_u32;
        vop2 v_sub_u32 2 0 => v_sub_u32;
        vop2 v_lshlrev_b32 2 0 => v_lshlrev_b32;
        vop2 v_lshrrev_b32 2 0 => v_lshrrev_b32;
        vop2 v_ashrrev_i32 2 0 => v_ashrrev_i32;
        vop2 v_and_b32 2 0 => v_and_b32;
        vop2 v_or_b32 2 0 => v_or_b32;
        vop2 v_xor_b32 2 0 => v_xor_b32;
        vop2 v_lshlrev_b64 2 WIDE_1 => v_lshlrev_b64;
        vop2 v_cndmask_b32 2 MASK_IN => v_cndmask_b32;
        vop2 v_add_co_u32 2 MASK_OUT => v_add_co_u32;
        vop2 v_addc_co_u32 2 MASK_OUT | MASK_IN => v_addc_co_u32;
        vop3 v_lshl_add_u32 3 0 => v_lshl_add_u32;
        vop3 v_add3_u32 3 0 => v_add3_u32;
        vop3 v_lshl_or_b32 3 0 => v_lshl_or_b32;
        vop3 v_and_or_b32 3 0 => v_and_or_b32;
        vop3 v_xor3_b32 3 0 => v_xor3_b32;
        vop3 v_bfe_u32 3 0 => v_bfe_u32;
        vop3 v_bfi_b32 3 0 => v_bfi_b32;
        vop3 v_alignbit_b32 3 0 => v_alignbit_b32;
        vop3 v_mad_u64_u32 3 MASK_OUT | WIDE_2 => v_mad_u64_u32;
        vop3 v_mad_u64_u32 3 WIDE_2 => v_mad_u64_u32;
        vop3 v_mul_lo_u32 2 0 => v_mul_lo_u32;
        vopc v_cmp_gt_f32 2 MASK_OUT => v_cmp_gt_f32;
        vopc v_cmp_lt_f32 2 MASK_OUT => v_cmp_lt_f32;
        vopc v_cmp_ngt_f32 2 MASK_OUT => v_cmp_ngt_f32;
        vopc v_cmp_gt_u32 2 MASK_OUT => v_cmp_gt_u32 | v_cmpx_gt_u32;
        vopc v_cmp_eq_i32 2 MASK_OUT => v_cmp_eq_u32 | v_cmp_eq_i32;
    })
}
