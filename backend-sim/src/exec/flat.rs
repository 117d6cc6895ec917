//! FLAT, GLOBAL and SCRATCH instructions.
//!
//! Flat addresses in the shared aperture are LDS offsets, in the private aperture private memory
//! of the lane ([`super::private`]); all others are global memory.

use super::access::{Addresses, Lanes, Spec};
use super::atomic::AtomicOp;
use super::code::Page;
use super::fault::FaultKind;
use super::gang::{NOTHING, each};
use super::hwreg;
use super::leveled::{Leveled, function_of};
use super::lower::{Cx, GRAPHICS, Lowered, destination, scalar_index};
use super::machine::Machine;
use super::microop::{ABSENT, Flow, MicroOp, OpFn, VGPR};
use super::private;
use super::scalars::M0;
use super::transpose;
use super::valu::Level;
use super::valu::levels::Host;
use crate::isa::{Dir, Field, Format, Inst, Op, Operand};

/// What a memory instruction does, whatever its segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Load(Spec),
    Store(Spec),
    Atomic(AtomicOp, bool),
    /// Cache control: every access is coherent already.
    Nothing,
}

/// Declares the operations of the three segments at once.
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
const B12: Spec = Spec::new(12);
const B16: Spec = Spec::new(16);

pub(crate) fn action(op: Op) -> Option<Action> {
    use Action::{Atomic, Load, Nothing, Store};
    use AtomicOp as A;
    let found = actions! { op,
        Load(B1) => flat_load_ubyte | global_load_ubyte | scratch_load_ubyte;
        Load(B1.signed()) => flat_load_sbyte | global_load_sbyte | scratch_load_sbyte;
        Load(B2) => flat_load_ushort | global_load_ushort | scratch_load_ushort;
        Load(B2.signed()) => flat_load_sshort | global_load_sshort | scratch_load_sshort;
        Load(B4) => flat_load_dword | global_load_dword | scratch_load_dword;
        Load(B8) => flat_load_dwordx2 | global_load_dwordx2 | scratch_load_dwordx2;
        Load(B12) => flat_load_dwordx3 | global_load_dwordx3 | scratch_load_dwordx3;
        Load(B16) => flat_load_dwordx4 | global_load_dwordx4 | scratch_load_dwordx4;
        Load(B1.low()) => flat_load_ubyte_d16 | global_load_ubyte_d16 | scratch_load_ubyte_d16;
        Load(B1.high()) => flat_load_ubyte_d16_hi | global_load_ubyte_d16_hi | scratch_load_ubyte_d16_hi;
        Load(B1.signed().low()) => flat_load_sbyte_d16 | global_load_sbyte_d16 | scratch_load_sbyte_d16;
        Load(B1.signed().high()) => flat_load_sbyte_d16_hi | global_load_sbyte_d16_hi | scratch_load_sbyte_d16_hi;
        Load(B2.low()) => flat_load_short_d16 | global_load_short_d16 | scratch_load_short_d16;
        Load(B2.high()) => flat_load_short_d16_hi | global_load_short_d16_hi | scratch_load_short_d16_hi;
        Store(B1) => flat_store_byte | global_store_byte | scratch_store_byte;
        Store(B1.high()) => flat_store_byte_d16_hi | global_store_byte_d16_hi | scratch_store_byte_d16_hi;
        Store(B2) => flat_store_short | global_store_short | scratch_store_short;
        Store(B2.high()) => flat_store_short_d16_hi | global_store_short_d16_hi | scratch_store_short_d16_hi;
        Store(B4) => flat_store_dword | global_store_dword | scratch_store_dword;
        Store(B8) => flat_store_dwordx2 | global_store_dwordx2 | scratch_store_dwordx2;
        Store(B12) => flat_store_dwordx3 | global_store_dwordx3 | scratch_store_dwordx3;
        Store(B16) => flat_store_dwordx4 | global_store_dwordx4 | scratch_store_dwordx4;
        Nothing => global_inv | global_wb | global_wbinv;
    };
    if found.is_some() {
        return found;
    }
    actions! { op,
        Atomic(A::Swap, false) => flat_atomic_swap | global_atomic_swap;
        Atomic(A::CmpSwap, false) => flat_atomic_cmpswap | global_atomic_cmpswap;
        Atomic(A::Add, false) => flat_atomic_add | global_atomic_add;
        Atomic(A::Sub, false) => flat_atomic_sub | global_atomic_sub;
        Atomic(A::SMin, false) => flat_atomic_smin | global_atomic_smin;
        Atomic(A::UMin, false) => flat_atomic_umin | global_atomic_umin;
        Atomic(A::SMax, false) => flat_atomic_smax | global_atomic_smax;
        Atomic(A::UMax, false) => flat_atomic_umax | global_atomic_umax;
        Atomic(A::And, false) => flat_atomic_and | global_atomic_and;
        Atomic(A::Or, false) => flat_atomic_or | global_atomic_or;
        Atomic(A::Xor, false) => flat_atomic_xor | global_atomic_xor;
        Atomic(A::Inc, false) => flat_atomic_inc | global_atomic_inc;
        Atomic(A::Dec, false) => flat_atomic_dec | global_atomic_dec;
        Atomic(A::FAdd, false) => flat_atomic_add_f32 | global_atomic_add_f32;
        Atomic(A::FMin, false) => flat_atomic_fmin | global_atomic_fmin;
        Atomic(A::FMax, false) => flat_atomic_fmax | global_atomic_fmax;
        Atomic(A::FCmpSwap, false) => flat_atomic_fcmpswap | global_atomic_fcmpswap;
        Atomic(A::PkAddF16, false) => flat_atomic_pk_add_f16 | global_atomic_pk_add_f16;
        Atomic(A::PkAddBf16, false) => flat_atomic_pk_add_bf16 | global_atomic_pk_add_bf16;
        Atomic(A::SubClamp, false) => flat_atomic_sub_clamp_u32 | global_atomic_sub_clamp_u32 | global_atomic_csub;
        Atomic(A::CondSub, false) => flat_atomic_cond_sub_u32 | global_atomic_cond_sub_u32;
        Atomic(A::Swap, true) => flat_atomic_swap_x2 | global_atomic_swap_x2;
        Atomic(A::CmpSwap, true) => flat_atomic_cmpswap_x2 | global_atomic_cmpswap_x2;
        Atomic(A::Add, true) => flat_atomic_add_x2 | global_atomic_add_x2;
        Atomic(A::Sub, true) => flat_atomic_sub_x2 | global_atomic_sub_x2;
        Atomic(A::SMin, true) => flat_atomic_smin_x2 | global_atomic_smin_x2;
        Atomic(A::UMin, true) => flat_atomic_umin_x2 | global_atomic_umin_x2;
        Atomic(A::SMax, true) => flat_atomic_smax_x2 | global_atomic_smax_x2;
        Atomic(A::UMax, true) => flat_atomic_umax_x2 | global_atomic_umax_x2;
        Atomic(A::And, true) => flat_atomic_and_x2 | global_atomic_and_x2;
        Atomic(A::Or, true) => flat_atomic_or_x2 | global_atomic_or_x2;
        Atomic(A::Xor, true) => flat_atomic_xor_x2 | global_atomic_xor_x2;
        Atomic(A::Inc, true) => flat_atomic_inc_x2 | global_atomic_inc_x2;
        Atomic(A::Dec, true) => flat_atomic_dec_x2 | global_atomic_dec_x2;
        Atomic(A::FAdd, true) => flat_atomic_add_f64 | global_atomic_add_f64;
        Atomic(A::FMin, true) => flat_atomic_min_f64 | global_atomic_min_f64 | flat_atomic_fmin_x2 | global_atomic_fmin_x2;
        Atomic(A::FMax, true) => flat_atomic_max_f64 | global_atomic_max_f64 | flat_atomic_fmax_x2 | global_atomic_fmax_x2;
        Atomic(A::FCmpSwap, true) => flat_atomic_fcmpswap_x2 | global_atomic_fcmpswap_x2;
    }
}

/// The operation of an atomic as a micro-op keeps it.
pub(crate) fn atomic_index(op: AtomicOp, wide: bool) -> u64 {
    op as u64 | u64::from(wide) << 8
}

/// The operation that a micro-op keeps, and whether it is 64 bits wide.
pub(crate) fn atomic_of(index: u64) -> (AtomicOp, bool) {
    (AtomicOp::from_index(index & 0xff), index & 0x100 != 0)
}

/// Puts an action in a micro-op: the [`Spec`] in its flags, or the operation in `k[1]`. The three functions are
/// those of loads, stores and atomics.
pub(crate) fn encode_action(micro: &mut MicroOp, action: Action, [load, store, atomic]: [OpFn; 3]) {
    match action {
        Action::Load(spec) => {
            micro.flags = spec.flags();
            micro.run = load;
        }
        Action::Store(spec) => {
            micro.flags = spec.flags();
            micro.run = store;
        }
        Action::Atomic(op, wide) => {
            micro.k[1] = atomic_index(op, wide);
            micro.run = atomic;
        }
        Action::Nothing => micro.run = nothing,
    }
}

pub(crate) fn nothing(_: &mut Machine<'_>, _: &MicroOp, _: &Page) -> Flow {
    Flow::Next
}

/// Source 0 is the address, source 1 the scalar base, source 2 the data; `k[0]` the offset.
pub(crate) fn lower(cx: &mut Cx<'_>, inst: &Inst) -> Lowered {
    if inst.op == Op::global_atomic_ordered_add_b64 {
        // Counts what geometry streams out.
        return Err(GRAPHICS);
    }
    let special = special(inst);
    let action = match special {
        Some((_, spec)) => Action::Load(spec),
        None => action(inst.op).ok_or("the instruction")?,
    };
    let mut micro = MicroOp::undecoded(0);
    micro.k[0] = i64::from(inst.mods.offset) as u64;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Addr => micro.src[0] = vector(operand)?,
            Field::Saddr => micro.src[1] = scalar_base(operand)?,
            Field::Data => micro.src[2] = vector(operand)?,
            _ if desc.dir == Dir::Write => micro.dst = destination(operand)?,
            _ => return Err("this operand"),
        }
    }
    let functions: [OpFn; 3] = match inst.format {
        Format::Flat => [flat_load, flat_store, flat_atomic],
        Format::Global => {
            let bytes = match action {
                Action::Load(spec) | Action::Store(spec) => spec.bytes,
                _ => 0,
            };
            let (load, store) = if cx.page.alignment.is_free() {
                global_functions(bytes, cx.level)
            } else {
                (global_load_small as OpFn, global_store_small as OpFn)
            };
            [load, store, global_atomic]
        }
        _ => [scratch_load, scratch_store, no_atomic],
    };
    if let Some((run, spec)) = special {
        micro.flags = spec.flags();
        micro.run = run;
        return Ok(micro);
    }
    if matches!(action, Action::Load(_)) && micro.dst == ABSENT {
        return Err("a load without destination");
    }
    encode_action(&mut micro, action, functions);
    Ok(micro)
}

/// What is more than a load or a store of its registers.
fn special(inst: &Inst) -> Option<(OpFn, Spec)> {
    let global = |spec| Some((global_load_lds as OpFn, spec));
    let scratch = |spec| Some((scratch_load_lds as OpFn, spec));
    match inst.op {
        Op::global_load_lds_ubyte => global(B1),
        Op::global_load_lds_sbyte => global(B1.signed()),
        Op::global_load_lds_ushort => global(B2),
        Op::global_load_lds_sshort => global(B2.signed()),
        Op::global_load_lds_dword => global(B4),
        Op::global_load_lds_dwordx3 => global(B12),
        Op::global_load_lds_dwordx4 => global(B16),
        Op::scratch_load_lds_ubyte => scratch(B1),
        Op::scratch_load_lds_sbyte => scratch(B1.signed()),
        Op::scratch_load_lds_ushort => scratch(B2),
        Op::scratch_load_lds_sshort => scratch(B2.signed()),
        Op::scratch_load_lds_dword => scratch(B4),
        Op::global_load_dword_addtid => Some((load_addtid, B4)),
        Op::global_store_dword_addtid => Some((store_addtid, B4)),
        Op::global_load_block => Some((load_block::<false>, B4)),
        Op::global_store_block => Some((store_block::<false>, B4)),
        Op::scratch_load_block => Some((load_block::<true>, B4)),
        Op::scratch_store_block => Some((store_block::<true>, B4)),
        Op::global_load_tr_b128 => Some((transpose::global_load::<16>, B4)),
        Op::global_load_tr_b64 => Some((transpose::global_load::<8>, B4)),
        op if inst.mods.lds => match (action(op)?, inst.format) {
            (Action::Load(spec), Format::Global) => global(spec),
            (Action::Load(spec), Format::Scratch) => scratch(spec),
            _ => None,
        },
        _ => None,
    }
}

/// A vector register, or none.
pub(crate) fn vector(operand: Operand) -> Result<u16, &'static str> {
    match operand {
        Operand::Vgpr(n) => Ok(VGPR + u16::from(n)),
        Operand::Acc(n) => Ok(VGPR + 256 + u16::from(n)),
        Operand::None => Ok(ABSENT),
        _ => Err("this operand"),
    }
}

fn scalar_base(operand: Operand) -> Result<u16, &'static str> {
    match operand {
        Operand::None | Operand::Null => Ok(ABSENT),
        _ => scalar_index(operand)
            .map(|index| index as u16)
            .ok_or("this operand"),
    }
}

impl Machine<'_> {
    /// Global addresses: a 64-bit register pair, or a scalar base and a 32-bit register.
    #[inline(always)]
    pub(crate) fn global_addresses(&mut self, op: &MicroOp, va: &mut Addresses) {
        let lanes = self.wave.lanes as usize & 127;
        let offset = op.k[0];
        if op.src[0] == ABSENT {
            let base = self.wave.pair(usize::from(op.src[1])).wrapping_add(offset);
            va[..lanes].fill(base);
            return;
        }
        let low: *const u32 = self.wave.rows.ptr(op.src[0] - VGPR);
        if op.src[1] != ABSENT {
            let base = self.wave.pair(usize::from(op.src[1])).wrapping_add(offset);
            // SAFETY: the address register's row was checked by the run loop.
            let low = unsafe { core::slice::from_raw_parts(low, lanes) };
            for (va, &low) in va.iter_mut().zip(low) {
                *va = base.wrapping_add(u64::from(low));
            }
        } else {
            // SAFETY: the address pair's two rows were checked by the run loop.
            let (low, high) = unsafe {
                (
                    core::slice::from_raw_parts(low, lanes),
                    core::slice::from_raw_parts(low.add(lanes), lanes),
                )
            };
            for ((va, &low), &high) in va.iter_mut().zip(low).zip(high) {
                *va = (u64::from(low) | u64::from(high) << 32).wrapping_add(offset);
            }
        }
    }

    /// Private offsets of a scratch instruction.
    fn scratch_offsets(&mut self, op: &MicroOp) -> [u32; 64] {
        let mut base = op.k[0] as u32;
        if op.src[1] != ABSENT {
            base = base.wrapping_add(self.wave.s[usize::from(op.src[1] as u8)]);
        }
        let mut offsets = [base; 64];
        if op.src[0] != ABSENT
            && let Some(row) = self.wave.rows.row(op.src[0] - VGPR)
        {
            for (offset, &address) in offsets.iter_mut().zip(row) {
                *offset = base.wrapping_add(address);
            }
        }
        offsets
    }
}

/// What the run loop is told.
pub(crate) fn done(result: Result<(), Flow>) -> Flow {
    match result {
        Ok(()) => Flow::Next,
        Err(flow) => flow,
    }
}

/// Loads of `W` dwords a lane.
struct GlobalLoad<const W: usize>;

impl<const W: usize> Leveled for GlobalLoad<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.global_load_groups::<H, W>(op) {
            0 => Flow::Next,
            rest => load_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn load_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    done(m.vmem_load(op, page, Spec::from_flags(op.flags), &va, 4, lanes))
}

fn global_load_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    load_lanes(m, op, page, exec)
}

/// Stores of `W` dwords a lane.
struct GlobalStore<const W: usize>;

impl<const W: usize> Leveled for GlobalStore<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        match m.global_store_groups::<H, W>(op) {
            0 => Flow::Next,
            rest => store_lanes(m, op, page, rest),
        }
    }
}

#[inline(never)]
fn store_lanes(m: &mut Machine<'_>, op: &MicroOp, page: &Page, lanes: u64) -> Flow {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    let spec = Spec::from_flags(op.flags);
    done(m.vmem_store(op, page, spec, op.src[2], &va, 4, lanes))
}

fn global_store_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let exec = m.wave.exec();
    store_lanes(m, op, page, exec)
}

/// The functions of a global load or store of so many bytes.
fn global_functions(bytes: u8, level: Level) -> (OpFn, OpFn) {
    macro_rules! of {
        ($words:literal) => {
            (
                function_of::<GlobalLoad<$words>>(level),
                function_of::<GlobalStore<$words>>(level),
            )
        };
    }
    match bytes {
        4 => of!(1),
        8 => of!(2),
        12 => of!(3),
        16 => of!(4),
        _ => (global_load_small, global_store_small),
    }
}

/// Loads of `W` dwords a lane for waves that go together.
struct GangLoad<const W: usize>;

impl<const W: usize> Leveled for GangLoad<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        if m.global_load_gang::<H, W>(op) {
            return Flow::Next;
        }
        each::<NOTHING>(m, op, page)
    }
}

/// Stores of `W` dwords a lane for waves that go together.
struct GangStore<const W: usize>;

impl<const W: usize> Leveled for GangStore<W> {
    #[inline(always)]
    fn run<H: Host>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
        if m.global_store_gang::<H, W>(op) {
            return Flow::Next;
        }
        each::<NOTHING>(m, op, page)
    }
}

/// The function of a global load or store of dwords for waves that go together.
pub(crate) fn together(inst: &Inst, level: Level) -> Option<OpFn> {
    if special(inst).is_some() {
        return None;
    }
    Some(match action(inst.op)? {
        Action::Load(spec) => match spec.bytes {
            4 => function_of::<GangLoad<1>>(level),
            8 => function_of::<GangLoad<2>>(level),
            16 => function_of::<GangLoad<4>>(level),
            _ => return None,
        },
        Action::Store(spec) => match spec.bytes {
            4 => function_of::<GangStore<1>>(level),
            8 => function_of::<GangStore<2>>(level),
            16 => function_of::<GangStore<4>>(level),
            _ => return None,
        },
        _ => return None,
    })
}

fn global_atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    let exec = m.wave.exec();
    let (what, wide) = atomic_of(op.k[1]);
    done(m.vmem_atomic(op, page, what, wide, op.src[2], &va, exec))
}

fn scratch_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let offsets = m.scratch_offsets(op);
    let base = hwreg::flat_scratch(m);
    let exec = m.wave.exec();
    done(private::load(m, op, page, base, &offsets, exec))
}

fn scratch_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let offsets = m.scratch_offsets(op);
    let base = hwreg::flat_scratch(m);
    let exec = m.wave.exec();
    done(private::store(
        m,
        op,
        page,
        base,
        (op.src[2], &offsets),
        exec,
    ))
}

fn global_load_lds(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    let spec = Spec::from_flags(op.flags);
    let offset = op.k[0] as u32;
    done(Lanes(m.wave.exec()).try_for_each(|lane| {
        m.load_lane_to_lds(op, page, spec, (lane, va[lane], spec.bytes), offset)
    }))
}

fn scratch_load_lds(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let offsets = m.scratch_offsets(op);
    let base = hwreg::flat_scratch(m);
    let spec = Spec::from_flags(op.flags);
    let offset = op.k[0] as u32;
    done(Lanes(m.wave.exec()).try_for_each(|lane| {
        let mut bytes = [0; 4];
        let to = &mut bytes[..usize::from(spec.bytes.min(4))];
        m.read_private(op, page, (base, lane, offsets[lane]), to)?;
        let value = spec.merge(0, u32::from_le_bytes(bytes));
        m.put_lds(lane, 4, offset, 0, value);
        Ok(())
    }))
}

/// Each lane a dword, side by side from the scalar base on.
fn addtid_addresses(m: &Machine<'_>, op: &MicroOp) -> Addresses {
    let base = match op.src[1] {
        ABSENT => 0,
        at => m.wave.pair(usize::from(at)),
    };
    let base = base.wrapping_add(op.k[0]);
    core::array::from_fn(|lane| base.wrapping_add(lane as u64 * 4))
}

fn load_addtid(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (va, exec) = (addtid_addresses(m, op), m.wave.exec());
    done(m.vmem_load(op, page, B4, &va, 4, exec))
}

fn store_addtid(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (va, exec) = (addtid_addresses(m, op), m.wave.exec());
    done(m.vmem_store(op, page, B4, op.src[2], &va, 4, exec))
}

/// The dwords of a block that M0 names, of 32.
fn block(m: &Machine<'_>) -> impl Iterator<Item = u16> + use<> {
    let mask = m.wave.s[M0];
    (0..32).filter(move |at| mask >> at & 1 != 0)
}

fn load_block<const PRIVATE: bool>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    // The first register may be the address.
    let places = block_places::<PRIVATE>(m, op);
    done(block(m).try_for_each(|at| {
        Lanes(m.wave.exec()).try_for_each(|lane| {
            let mut bytes = [0; 4];
            let (base, first) = places[lane];
            if PRIVATE {
                let offset = (first as u32).wrapping_add(u32::from(at) * 4);
                m.read_private(op, page, (base, lane, offset), &mut bytes)?;
            } else {
                m.read_lane(
                    op,
                    page,
                    lane,
                    first.wrapping_add(u64::from(at) * 4),
                    &mut bytes,
                )?;
            }
            m.set_lane_value(op.dst + at, false, lane, u32::from_le_bytes(bytes).into());
            Ok(())
        })
    }))
}

fn store_block<const PRIVATE: bool>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let places = block_places::<PRIVATE>(m, op);
    done(block(m).try_for_each(|at| {
        Lanes(m.wave.exec()).try_for_each(|lane| {
            let bytes = (m.lane_value(op.src[2] + at, false, lane) as u32).to_le_bytes();
            let (base, first) = places[lane];
            if PRIVATE {
                let offset = (first as u32).wrapping_add(u32::from(at) * 4);
                m.write_private(op, page, (base, lane, offset), &bytes)
            } else {
                m.write_lane(
                    op,
                    page,
                    lane,
                    first.wrapping_add(u64::from(at) * 4),
                    &bytes,
                )
            }
        })
    }))
}

/// The base of private memory, and each lane's offset or address.
fn block_places<const PRIVATE: bool>(m: &mut Machine<'_>, op: &MicroOp) -> [(u64, u64); 64] {
    if PRIVATE {
        let (offsets, base) = (m.scratch_offsets(op), hwreg::flat_scratch(m));
        offsets.map(|offset| (base, u64::from(offset)))
    } else {
        let mut va = [0; 64];
        m.global_addresses(op, &mut va);
        va.map(|va| (0, va))
    }
}

fn no_atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    m.unsupported(op, page, "scratch_atomic", "an atomic on private memory")
}

/// The lanes of a flat access by segment.
struct Segments {
    va: Addresses,
    low: [u32; 64],
    global: u64,
    shared: u64,
    private: u64,
}

fn segments(m: &mut Machine<'_>, op: &MicroOp) -> Segments {
    let mut va = [0; 64];
    m.global_addresses(op, &mut va);
    let exec = m.wave.exec();
    let shared = (m.apertures.shared >> 32) as u32;
    let private = (m.apertures.private >> 32) as u32;
    let mut s = Segments {
        va,
        low: [0; 64],
        global: exec,
        shared: 0,
        private: 0,
    };
    let mut other = 0u32;
    for (lane, &va) in va.iter().enumerate().take(m.wave.lanes as usize) {
        let high = (va >> 32) as u32;
        other |= u32::from(high == shared) | u32::from(high == private);
        s.low[lane] = va as u32;
    }
    if other != 0 {
        for lane in Lanes(exec) {
            let high = (va[lane] >> 32) as u32;
            s.shared |= u64::from(high == shared) << lane;
            s.private |= u64::from(high == private && high != shared) << lane;
        }
        s.global = exec & !s.shared & !s.private;
    }
    s
}

/// Flat accesses to the shared aperture must be inside the work-group's LDS.
fn check_shared(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    s: &Segments,
    bytes: u32,
) -> Result<(), Flow> {
    let size = m.lds.len() as u32;
    for lane in Lanes(s.shared) {
        let offset = s.low[lane];
        if u64::from(offset) + u64::from(bytes) > u64::from(size) {
            let lane = lane as u32;
            let kind = FaultKind::Aperture {
                aperture: "shared",
                offset,
                size,
                lane,
            };
            return Err(m.fault(op, page, kind));
        }
    }
    Ok(())
}

fn flat_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let s = segments(m, op);
    let spec = Spec::from_flags(op.flags);
    done((|| {
        if s.global != 0 {
            m.vmem_load(op, page, spec, &s.va, 4, s.global)?;
        }
        if s.shared != 0 {
            check_shared(m, op, page, &s, u32::from(spec.bytes))?;
            let offsets = m.aligned_offsets(op, page, spec.bytes, &s.low, s.shared)?;
            m.lds_load(op.dst, spec, &offsets, s.shared);
        }
        if s.private != 0 {
            let base = hwreg::flat_scratch(m);
            private::load(m, op, page, base, &s.low, s.private)?;
        }
        Ok(())
    })())
}

fn flat_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let s = segments(m, op);
    let spec = Spec::from_flags(op.flags);
    done((|| {
        if s.global != 0 {
            m.vmem_store(op, page, spec, op.src[2], &s.va, 4, s.global)?;
        }
        if s.shared != 0 {
            check_shared(m, op, page, &s, u32::from(spec.bytes))?;
            let offsets = m.aligned_offsets(op, page, spec.bytes, &s.low, s.shared)?;
            m.lds_store(op.src[2], spec, &offsets, s.shared);
        }
        if s.private != 0 {
            let base = hwreg::flat_scratch(m);
            private::store(m, op, page, base, (op.src[2], &s.low), s.private)?;
        }
        Ok(())
    })())
}

fn flat_atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let s = segments(m, op);
    let (what, wide) = atomic_of(op.k[1]);
    done((|| {
        if s.global != 0 {
            m.vmem_atomic(op, page, what, wide, op.src[2], &s.va, s.global)?;
        }
        if s.shared != 0 {
            check_shared(m, op, page, &s, if wide { 8 } else { 4 })?;
            let rows = if wide { 2 } else { 1 };
            let data = [op.src[2], op.src[2] + rows];
            m.lds_atomic(op.dst, what, wide, data, &s.low, s.shared);
        }
        if s.private != 0 {
            let base = hwreg::flat_scratch(m);
            let (memory, operation) = ((base, &s.low), (what, op.src[2]));
            if wide {
                private::atomic::<u64>(m, op, page, memory, operation, s.private)?;
            } else {
                private::atomic::<u32>(m, op, page, memory, operation, s.private)?;
            }
        }
        Ok(())
    })())
}
