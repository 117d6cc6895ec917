//! DS: the local data share.
//!
//! Addresses are byte offsets into the work-group's LDS. A read beyond it gives zero, a write
//! there is dropped. A work-group stays on one worker, so LDS is ordinary memory.

use super::access::{Lanes, Spec};
use super::atomic::{AtomicOp, Word};
use super::code::Page;
use super::crossbar::{self, write_active};
use super::flat::{Action, atomic_index, atomic_of, encode_action, vector};
use super::gds;
use super::leveled::{Leveled, function_of};
use super::lower::{Cx, GRAPHICS, Lowered, destination};
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, OpFn, VGPR};
use super::scalars::M0;
use super::transpose;
use super::valu::Level;
use super::valu::levels::Host;
use crate::isa::{Dir, Field, Inst, Op};

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

impl Machine<'_> {
    /// Byte offsets of the lanes. The sum wraps: compilers fold negative addresses into offsets.
    #[inline(always)]
    fn lds_offsets(&mut self, op: &MicroOp, offset: u64, offsets: &mut [u32; 64]) {
        let lanes = self.wave.lanes as usize & 127;
        let row: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        // SAFETY: the address register's row was checked by the run loop.
        let row = unsafe { core::slice::from_raw_parts(row, lanes) };
        for (to, &address) in offsets.iter_mut().zip(row) {
            *to = address.wrapping_add(offset as u32);
        }
    }

    /// Byte offsets of the lanes, as the device takes addresses.
    fn aligned_lds(
        &mut self,
        op: &MicroOp,
        page: &Page,
        offset: u64,
        lanes: u64,
    ) -> Result<[u32; 64], Flow> {
        let mut offsets = [0; 64];
        self.lds_offsets(op, offset, &mut offsets);
        let bytes = Spec::from_flags(op.flags).bytes;
        self.aligned_offsets(op, page, bytes, &offsets, lanes)
    }

    /// Reads LDS into the registers of an operand.
    pub(crate) fn lds_load(&mut self, dst: u16, spec: Spec, offsets: &[u32; 64], mask: u64) {
        let lanes = self.wave.lanes as usize & 127;
        let words = spec.dwords();
        let to = self.wave.rows.ptr(dst - VGPR);
        let lds = &*self.lds;
        for lane in Lanes(mask) {
            for word in 0..words {
                let at = offsets[lane] as usize + word * 4;
                let size = usize::from(spec.bytes).min(4);
                let value = lds.get(at..at + size).map_or(0, |bytes| {
                    let mut value = [0; 4];
                    value[..size].copy_from_slice(bytes);
                    u32::from_le_bytes(value)
                });
                // SAFETY: the destination's rows were checked by the run loop.
                unsafe {
                    let to = to.add(word * lanes + lane);
                    *to = spec.merge(*to, value);
                }
            }
        }
    }

    /// Writes the registers of an operand to LDS, lane after lane.
    pub(crate) fn lds_store(&mut self, data: u16, spec: Spec, offsets: &[u32; 64], mask: u64) {
        let lanes = self.wave.lanes as usize & 127;
        let words = spec.dwords();
        let from: *const u32 = self.wave.rows.ptr(data - VGPR);
        for lane in Lanes(mask) {
            for word in 0..words {
                // SAFETY: the data's rows were checked by the run loop.
                let value = spec.part(unsafe { *from.add(word * lanes + lane) });
                let at = offsets[lane] as usize + word * 4;
                let size = usize::from(spec.bytes).min(4);
                if let Some(to) = self.lds.get_mut(at..at + size) {
                    to.copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
    }

    /// Atomics on LDS, lane after lane. `data` are the first registers of the two values.
    pub(crate) fn lds_atomic(
        &mut self,
        dst: u16,
        what: AtomicOp,
        wide: bool,
        data: [u16; 2],
        offsets: &[u32; 64],
        mask: u64,
    ) {
        if wide {
            self.lds_atomic_of::<8>(dst, what, data, offsets, mask);
        } else {
            self.lds_atomic_of::<4>(dst, what, data, offsets, mask);
        }
    }

    /// [`Machine::lds_atomic`] on so many bytes.
    #[inline(always)]
    fn lds_atomic_of<const BYTES: usize>(
        &mut self,
        dst: u16,
        what: AtomicOp,
        data: [u16; 2],
        offsets: &[u32; 64],
        mask: u64,
    ) {
        let wide = BYTES == 8;
        for lane in Lanes(mask) {
            let a = self.lane_value(data[0], wide, lane);
            let b = if what.two_values() {
                self.lane_value(data[1], wide, lane)
            } else {
                0
            };
            let at = offsets[lane] as usize;
            let mut old = 0u64;
            if let Some(bytes) = self.lds.get_mut(at..at + BYTES) {
                let mut value = [0; 8];
                value[..BYTES].copy_from_slice(bytes);
                old = u64::from_le_bytes(value);
                let new = if wide {
                    what.apply(old, a, b)
                } else {
                    u64::from(what.apply(old as u32, a as u32, b as u32))
                };
                bytes.copy_from_slice(&new.to_le_bytes()[..BYTES]);
            }
            if dst != ABSENT {
                self.set_lane_value(dst, wide, lane, old);
            }
        }
    }

    /// One lane of a register or pair.
    #[inline]
    pub(crate) fn lane_value(&self, src: u16, wide: bool, lane: usize) -> u64 {
        let word = |src: u16| {
            self.wave
                .rows
                .row(src - VGPR)
                .map_or(0, |row| u64::from(row[lane]))
        };
        if src < VGPR || src == ABSENT {
            0
        } else if wide {
            word(src) | word(src + 1) << 32
        } else {
            word(src)
        }
    }

    /// Writes one lane of a register or pair.
    pub(crate) fn set_lane_value(&mut self, dst: u16, wide: bool, lane: usize, value: u64) {
        if let Some(row) = self.wave.rows.row_mut(dst - VGPR) {
            row[lane] = value as u32;
        }
        if wide && let Some(row) = self.wave.rows.row_mut(dst + 1 - VGPR) {
            row[lane] = (value >> 32) as u32;
        }
    }
}

/// Reads of `W` dwords a lane.
struct Load<const W: usize>;

impl<const W: usize> Leveled for Load<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        let rest = m.lds_load_groups::<H, W, 1>(op, [op.k[0] as u32]);
        match rest {
            0 => Flow::Next,
            rest => load_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn load_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match m.aligned_lds(op, page, op.k[0], lanes) {
        Ok(offsets) => m.lds_load(op.dst, spec, &offsets, lanes),
        Err(flow) => return flow,
    }
    Flow::Next
}

fn load_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    load_lanes(m, op, page, exec)
}

/// Writes of `W` dwords a lane.
struct Store<const W: usize>;

impl<const W: usize> Leveled for Store<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.lds_store_groups::<H, W>(op, op.k[0] as u32, op.src[1]) {
            0 => Flow::Next,
            rest => store_lanes(m, op, page, (op.k[0], op.src[1]), rest),
        }
    }
}

#[inline(never)]
fn store_lanes(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    (offset, data): (u64, u16),
    lanes: u64,
) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match m.aligned_lds(op, page, offset, lanes) {
        Ok(offsets) => m.lds_store(data, spec, &offsets, lanes),
        Err(flow) => return flow,
    }
    Flow::Next
}

fn store_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    store_lanes(m, op, page, (op.k[0], op.src[1]), exec)
}

fn lds_atomic(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let mut offsets = [0; 64];
    m.lds_offsets(op, op.k[0], &mut offsets);
    let exec = m.wave.exec();
    let (what, wide) = atomic_of(op.k[1]);
    m.lds_atomic(op.dst, what, wide, [op.src[1], op.src[2]], &offsets, exec);
    Flow::Next
}

/// Reads of `W` dwords a lane at two offsets.
struct Read2<const W: usize>;

impl<const W: usize> Leveled for Read2<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.lds_load_groups::<H, W, 2>(op, [op.k[0] as u32, op.k[2] as u32]) {
            0 => Flow::Next,
            rest => read2_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn read2_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let spec = Spec::from_flags(op.flags);
    // Both before a result overwrites an address.
    let [first, second] = [op.k[0], op.k[2]].map(|offset| m.aligned_lds(op, page, offset, lanes));
    match (first, second) {
        (Ok(first), Ok(second)) => {
            m.lds_load(op.dst, spec, &first, lanes);
            m.lds_load(op.dst + spec.dwords() as u16, spec, &second, lanes);
            Flow::Next
        }
        (Err(flow), _) | (_, Err(flow)) => flow,
    }
}

/// Where addresses must be, or are made to be, aligned.
fn read2_aligned(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    read2_lanes(m, op, page, exec)
}

fn write2_aligned(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    match store_lanes(m, op, page, (op.k[0], op.src[1]), exec) {
        Flow::Next => store_lanes(m, op, page, (op.k[2], op.src[2]), exec),
        flow => flow,
    }
}

/// Writes of `W` dwords a lane at two offsets.
struct Write2<const W: usize>;

impl<const W: usize> Leveled for Write2<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        for (offset, data) in [(op.k[0], op.src[1]), (op.k[2], op.src[2])] {
            let rest = m.lds_store_groups::<H, W>(op, offset as u32, data);
            if rest != 0 {
                // Only where addresses must be aligned do stores fault, and there this is not used.
                store_lanes(m, op, page, (offset, data), rest);
            }
        }
        Flow::Next
    }
}

fn exchange2(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let spec = Spec::from_flags(op.flags);
    let exec = m.wave.exec();
    let wide = spec.bytes == 8;
    let (mut first, mut second) = ([0; 64], [0; 64]);
    m.lds_offsets(op, op.k[0], &mut first);
    m.lds_offsets(op, op.k[2], &mut second);
    // The second value is read before the result of the first is written, lane by lane.
    for lane in Lanes(exec) {
        let mask = 1 << lane;
        let saved = m.lane_value(op.src[2], wide, lane);
        m.lds_atomic(op.dst, AtomicOp::Swap, wide, [op.src[1]; 2], &first, mask);
        let at = second[lane] as usize;
        let size = usize::from(spec.bytes);
        let mut old = 0;
        if let Some(bytes) = m.lds.get_mut(at..at + size) {
            let mut value = [0; 8];
            value[..size].copy_from_slice(bytes);
            old = u64::from_le_bytes(value);
            bytes.copy_from_slice(&saved.to_le_bytes()[..size]);
        }
        m.set_lane_value(op.dst + spec.dwords() as u16, wide, lane, old);
    }
    Flow::Next
}

/// The second address of the instructions that have their data there: a signed distance in dwords, in the offset
/// or, if the offset's highest bit is set, in the upper bits of the address.
fn second_address(offset: u32, address: u32) -> (usize, usize) {
    let distance = if offset >> 15 & 1 != 0 {
        address as i32 >> 17
    } else {
        ((offset << 17) as i32) >> 17
    };
    let first = if offset >> 15 & 1 != 0 {
        address & 0x1_ffff
    } else {
        address
    };
    let second = first.wrapping_add((distance * 4) as u32);
    (first as usize, second as usize)
}

impl Machine<'_> {
    /// A little-endian value of LDS; zero beyond its end.
    pub(crate) fn lds_value(&self, at: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        if let Some(from) = at.checked_add(bytes).and_then(|end| self.lds.get(at..end)) {
            value[..bytes].copy_from_slice(from);
        }
        u64::from_le_bytes(value)
    }

    /// Writes a value to LDS; nothing beyond its end.
    pub(crate) fn set_lds_value(&mut self, at: usize, bytes: usize, value: u64) {
        let end = at.checked_add(bytes);
        if let Some(to) = end.and_then(|end| self.lds.get_mut(at..end)) {
            to.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
}

fn atomic_src2<W: Word>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    let (what, _) = atomic_of(op.k[1]);
    for lane in Lanes(m.wave.exec()) {
        let (first, second) = second_address(op.k[0] as u32, addresses[lane]);
        let old = W::of(m.lds_value(first, W::BYTES));
        let data = W::of(m.lds_value(second, W::BYTES));
        let new = what.apply(old, data, W::ZERO);
        m.set_lds_value(first, W::BYTES, new.bits());
    }
    Flow::Next
}

fn write_src2<const BYTES: usize>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    for lane in Lanes(m.wave.exec()) {
        let (first, second) = second_address(op.k[0] as u32, addresses[lane]);
        let data = m.lds_value(second, BYTES);
        m.set_lds_value(first, BYTES, data);
    }
    Flow::Next
}

/// Exchanges each of two dwords whose new value has its highest bit set; that bit is not written.
fn condxchg(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let addresses = crossbar::row_copy(m, op.src[0]);
    for lane in Lanes(m.wave.exec()) {
        let at = (addresses[lane].wrapping_add(op.k[0] as u32) & 0xfff8) as usize;
        let data = m.lane_value(op.src[1], true, lane);
        let mut old = 0;
        for half in 0..2 {
            let at = at + 4 * half;
            let data = data >> (32 * half) & 0xffff_ffff;
            old |= m.lds_value(at, 4) << (32 * half);
            if data >> 31 != 0 {
                m.set_lds_value(at, 4, data & 0x7fff_ffff);
            }
        }
        m.set_lane_value(op.dst, true, lane, old);
    }
    Flow::Next
}

/// A wave-wide counter: adds (or takes) the number of active lanes at M0 plus the offset, and gives every active
/// lane the value before.
fn append<const ADD: bool>(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let exec = m.wave.exec();
    let count = exec.count_ones();
    // M0 holds the base address in its high half, as the instruction's manual entry says.
    let at = (m.wave.s[M0] >> 16) as usize + op.k[0] as usize;
    let mut old = 0;
    if let Some(bytes) = m.lds.get_mut(at..at + 4) {
        let mut value = [0; 4];
        value.copy_from_slice(bytes);
        old = u32::from_le_bytes(value);
        let new = if ADD {
            old.wrapping_add(count)
        } else {
            old.wrapping_sub(count)
        };
        bytes.copy_from_slice(&new.to_le_bytes());
    }
    write_active(m, op.dst, &[old; 64], exec);
    Flow::Next
}

fn addtid_offsets(m: &Machine<'_>, op: &MicroOp) -> [u32; 64] {
    let base = (m.wave.s[M0] & 0xffff).wrapping_add(op.k[0] as u32);
    core::array::from_fn(|lane| base.wrapping_add(lane as u32 * 4))
}

fn read_addtid(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (offsets, exec) = (addtid_offsets(m, op), m.wave.exec());
    m.lds_load(op.dst, B4, &offsets, exec);
    Flow::Next
}

fn write_addtid(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let (offsets, exec) = (addtid_offsets(m, op), m.wave.exec());
    m.lds_store(op.src[1], B4, &offsets, exec);
    Flow::Next
}
