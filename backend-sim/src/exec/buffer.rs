//! MUBUF: memory through a buffer descriptor.
//!
//! The descriptor's four dwords: base address (48 bits), stride (14 bits), swizzle enable; records;
//! and, in the last dword, index stride, ADD_TID_ENABLE and more. What lies beyond the records
//! reads as zero and is not written. Code without optimisation reaches private memory this way on
//! GFX9 and GFX10, through a swizzled descriptor that adds the lane's number.

use super::access::{Addresses, Lanes, Spec};
use super::code::Page;
use super::flat::{Action, atomic_of, encode_action, nothing, private_load, private_store, vector};
use super::lower::{Cx, Lowered, scalar_index, source};
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, VGPR};
use crate::isa::{Field, Inst, Op};

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

fn action(op: Op) -> Option<Action> {
    use super::atomic::AtomicOp as A;
    use Action::{Atomic, Load, Nothing, Store};
    actions! { op,
        Load(B1) => buffer_load_ubyte;
        Load(B1.signed()) => buffer_load_sbyte;
        Load(B2) => buffer_load_ushort;
        Load(B2.signed()) => buffer_load_sshort;
        Load(B1.low()) => buffer_load_ubyte_d16;
        Load(B1.high()) => buffer_load_ubyte_d16_hi;
        Load(B1.signed().low()) => buffer_load_sbyte_d16;
        Load(B1.signed().high()) => buffer_load_sbyte_d16_hi;
        Load(B2.low()) => buffer_load_short_d16;
        Load(B2.high()) => buffer_load_short_d16_hi;
        Load(Spec::new(4)) => buffer_load_dword;
        Load(Spec::new(8)) => buffer_load_dwordx2;
        Load(Spec::new(12)) => buffer_load_dwordx3;
        Load(Spec::new(16)) => buffer_load_dwordx4;
        Store(B1) => buffer_store_byte;
        Store(B1.high()) => buffer_store_byte_d16_hi;
        Store(B2) => buffer_store_short;
        Store(B2.high()) => buffer_store_short_d16_hi;
        Store(Spec::new(4)) => buffer_store_dword;
        Store(Spec::new(8)) => buffer_store_dwordx2;
        Store(Spec::new(12)) => buffer_store_dwordx3;
        Store(Spec::new(16)) => buffer_store_dwordx4;
        Atomic(A::Swap, false) => buffer_atomic_swap;
        Atomic(A::CmpSwap, false) => buffer_atomic_cmpswap;
        Atomic(A::Add, false) => buffer_atomic_add;
        Atomic(A::Sub, false) => buffer_atomic_sub;
        Atomic(A::SMin, false) => buffer_atomic_smin;
        Atomic(A::UMin, false) => buffer_atomic_umin;
        Atomic(A::SMax, false) => buffer_atomic_smax;
        Atomic(A::UMax, false) => buffer_atomic_umax;
        Atomic(A::And, false) => buffer_atomic_and;
        Atomic(A::Or, false) => buffer_atomic_or;
        Atomic(A::Xor, false) => buffer_atomic_xor;
        Atomic(A::Inc, false) => buffer_atomic_inc;
        Atomic(A::Dec, false) => buffer_atomic_dec;
        Atomic(A::FAdd, false) => buffer_atomic_add_f32;
        Atomic(A::FMin, false) => buffer_atomic_fmin;
        Atomic(A::FMax, false) => buffer_atomic_fmax;
        Atomic(A::FCmpSwap, false) => buffer_atomic_fcmpswap;
        Atomic(A::PkAddF16, false) => buffer_atomic_pk_add_f16;
        Atomic(A::PkAddBf16, false) => buffer_atomic_pk_add_bf16;
        Atomic(A::SubClamp, false) => buffer_atomic_csub | buffer_atomic_sub_clamp_u32;
        Atomic(A::CondSub, false) => buffer_atomic_cond_sub_u32;
        Atomic(A::Swap, true) => buffer_atomic_swap_x2;
        Atomic(A::CmpSwap, true) => buffer_atomic_cmpswap_x2;
        Atomic(A::Add, true) => buffer_atomic_add_x2;
        Atomic(A::Sub, true) => buffer_atomic_sub_x2;
        Atomic(A::SMin, true) => buffer_atomic_smin_x2;
        Atomic(A::UMin, true) => buffer_atomic_umin_x2;
        Atomic(A::SMax, true) => buffer_atomic_smax_x2;
        Atomic(A::UMax, true) => buffer_atomic_umax_x2;
        Atomic(A::And, true) => buffer_atomic_and_x2;
        Atomic(A::Or, true) => buffer_atomic_or_x2;
        Atomic(A::Xor, true) => buffer_atomic_xor_x2;
        Atomic(A::Inc, true) => buffer_atomic_inc_x2;
        Atomic(A::Dec, true) => buffer_atomic_dec_x2;
        Atomic(A::FAdd, true) => buffer_atomic_add_f64;
        Atomic(A::FMin, true) => buffer_atomic_min_f64 | buffer_atomic_fmin_x2;
        Atomic(A::FMax, true) => buffer_atomic_max_f64 | buffer_atomic_fmax_x2;
        Atomic(A::FCmpSwap, true) => buffer_atomic_fcmpswap_x2;
        Nothing => buffer_gl0_inv | buffer_gl1_inv | buffer_wbl2 | buffer_invl2 | buffer_wbinvl1
            | buffer_wbinvl1_vol | buffer_inv;
    }
}

const OFFEN: u64 = 1 << 16;
const IDXEN: u64 = 1 << 17;

/// Source 0 is the address register (pair), source 1 the scalar offset, source 2 the data; `k[0]` the offset and
/// which of OFFEN and IDXEN are set, `dst2` the descriptor. Source 1 as a constant is in `k[2]`.
pub(crate) fn lower(_: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let action = action(inst.op).ok_or("the instruction")?;
    let mods = &inst.mods;
    if mods.lds {
        return Err("a load to LDS");
    }
    if mods.tfe {
        return Err("TFE");
    }
    if mods.addr64 {
        return Err("ADDR64");
    }
    let mut micro = MicroOp::undecoded(0);
    if action == Action::Nothing {
        micro.run = nothing;
        return Ok(micro);
    }
    let mut data = ABSENT;
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Addr => micro.src[0] = vector(operand)?,
            Field::Soffset => (micro.src[1], micro.k[2]) = source(operand, desc.ty)?,
            Field::Rsrc => {
                micro.dst2 = scalar_index(operand).ok_or("this descriptor")? as u16;
            }
            _ => data = vector(operand)?,
        }
    }
    micro.k[0] = u64::from(mods.offset as u32 & 0xffff)
        | if mods.offen { OFFEN } else { 0 }
        | if mods.idxen { IDXEN } else { 0 };
    match action {
        Action::Load(_) => micro.dst = data,
        _ => micro.src[2] = data,
    }
    if data == ABSENT {
        return Err("an access without data");
    }
    // An atomic returns the old value in its data register.
    if matches!(action, Action::Atomic(..)) && mods.cache.glc() {
        micro.dst = data;
    }
    encode_action(&mut micro, action, [load, store, atomic]);
    Ok(micro)
}

/// What the lanes of a buffer access address.
#[allow(clippy::large_enum_variant)] // lives on the stack for one instruction
enum Target {
    /// A byte each; the mask is of the lanes inside the buffer.
    Linear(Addresses, u64),
    /// Private offsets from a base.
    Private(u64, [u32; 64], u64),
}

fn target(m: &mut Machine<'_>, op: &MicroOp, bytes: u64) -> Target {
    let exec = m.wave.exec();
    let rsrc: [u32; 4] = core::array::from_fn(|i| m.wave.s[(usize::from(op.dst2) + i) & 255]);
    let base = u64::from(rsrc[0]) | u64::from(rsrc[1] & 0xffff) << 32;
    let gfx9 = m.is_gfx9();
    let newest = m.arch().is_gfx11_plus();
    let swizzled = if newest {
        rsrc[1] >> 30 != 0
    } else {
        rsrc[1] >> 31 != 0
    };
    let add_tid = rsrc[3] >> 23 & 1 != 0;
    // With ADD_TID_ENABLE GFX9 keeps four more bits of the stride in the format field.
    let mut stride = u64::from(rsrc[1] >> 16 & 0x3fff);
    if gfx9 && add_tid {
        stride |= u64::from(rsrc[3] >> 15 & 15) << 14;
    }
    let records = u64::from(rsrc[2]);
    let index_stride = 8u64 << (rsrc[3] >> 21 & 3);
    let element = if gfx9 { 2u64 << (rsrc[3] >> 19 & 3) } else { 4 };
    let soffset = match op.src[1] {
        ABSENT => 0,
        CONST => op.k[2],
        at => u64::from(m.wave.s[usize::from(at as u8)]),
    };
    let instruction_offset = op.k[0] & 0xffff;
    let (offen, idxen) = (op.k[0] & OFFEN != 0, op.k[0] & IDXEN != 0);
    let lane_word = |m: &Machine<'_>, row: u16, lane: usize| {
        if op.src[0] == ABSENT {
            return 0;
        }
        m.wave
            .rows
            .row(op.src[0] - VGPR + row)
            .map_or(0, |row| u64::from(row[lane]))
    };
    if swizzled && add_tid && !idxen && stride == 0 && element == 4 {
        // The scratch descriptor: the layout of private memory.
        let mut offsets = [instruction_offset as u32; 64];
        if offen {
            for (lane, offset) in offsets.iter_mut().enumerate().take(m.wave.lanes as usize) {
                *offset = offset.wrapping_add(lane_word(m, 0, lane) as u32);
            }
        }
        return Target::Private(base.wrapping_add(soffset), offsets, exec);
    }
    let mut va = [0; 64];
    let mut inside = 0;
    for lane in Lanes(exec) {
        let (index, offset) = match (idxen, offen) {
            (true, true) => (lane_word(m, 0, lane), lane_word(m, 1, lane)),
            (true, false) => (lane_word(m, 0, lane), 0),
            (false, true) => (0, lane_word(m, 0, lane)),
            (false, false) => (0, 0),
        };
        let index = index + if add_tid { lane as u64 } else { 0 };
        let offset = offset + instruction_offset;
        let at = if swizzled {
            let (index_high, index_low) = (index / index_stride, index % index_stride);
            let (offset_high, offset_low) = (offset / element, offset % element);
            (index_high * stride + offset_high * element) * index_stride
                + index_low * element
                + offset_low
        } else {
            index * stride + offset
        };
        // Structured buffers count records, raw ones bytes.
        let fits = if stride == 0 || (!swizzled && !idxen) {
            let reach = if swizzled { offset } else { at };
            let limit = if stride == 0 {
                records
            } else {
                records * stride
            };
            reach.saturating_add(bytes) <= limit.saturating_sub(if gfx9 { 0 } else { soffset })
        } else {
            index < records && offset + bytes <= stride
        };
        if fits || (swizzled && add_tid) {
            inside |= 1 << lane;
        }
        va[lane] = base.wrapping_add(soffset).wrapping_add(at);
    }
    Target::Linear(va, inside)
}

fn done(result: Result<(), Flow>) -> Flow {
    match result {
        Ok(()) => Flow::Next,
        Err(flow) => flow,
    }
}

fn load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match target(m, op, u64::from(spec.bytes)) {
        Target::Private(base, offsets, mask) => {
            done(private_load(m, op, page, base, &offsets, mask))
        }
        Target::Linear(va, inside) => {
            let outside = m.wave.exec() & !inside;
            for row in 0..spec.dwords() as u16 {
                if let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + row) {
                    for lane in Lanes(outside) {
                        row[lane] = spec.merge(row[lane], 0);
                    }
                }
            }
            done(m.vmem_load(op, page, spec, &va, 4, inside))
        }
    }
}

fn store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let spec = Spec::from_flags(op.flags);
    match target(m, op, u64::from(spec.bytes)) {
        Target::Private(base, offsets, mask) => done(private_store(
            m,
            op,
            page,
            base,
            (op.src[2], &offsets),
            mask,
        )),
        Target::Linear(va, inside) => done(m.vmem_store(op, page, spec, op.src[2], &va, 4, inside)),
    }
}

fn atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (what, wide) = atomic_of(op.k[1]);
    let (va, mask) = match target(m, op, if wide { 8 } else { 4 }) {
        Target::Private(base, offsets, mask) => (m.private_addresses(base, &offsets), mask),
        Target::Linear(va, inside) => (va, inside),
    };
    done(m.vmem_atomic(op, page, what, wide, op.src[2], &va, mask))
}
