//! MUBUF and MTBUF: memory through a buffer descriptor ([`super::descriptor`]).
//!
//! What is out of bounds reads as zero and is not written: dword by dword for accesses of several dwords, all or
//! nothing for atomics and for elements with a format. Code without optimisation reaches private memory this way on
//! GFX9 and GFX10, through a swizzled descriptor that adds the lane's number.

use super::access::{Addresses, Lanes, Spec};
use super::code::Page;
use super::descriptor::{Buffer, Place};
use super::flat::{Action, atomic_of, done, encode_action, nothing, vector};
use super::format::{self, Width};
use super::lower::{Cx, Lowered, scalar_index, source};
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, OpFn, VGPR};
use super::private;
use super::scalars::M0;
use crate::isa::{BufferFormat, DataFormat, Field, Format, Inst, Op, buffer_format};

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
        Store(Spec::new(4)) => buffer_store_lds_dword;
        Load(B1) => buffer_load_lds_ubyte;
        Load(B1.signed()) => buffer_load_lds_sbyte;
        Load(B2) => buffer_load_lds_ushort;
        Load(B2.signed()) => buffer_load_lds_sshort;
        Load(Spec::new(4)) => buffer_load_lds_dword;
        Nothing => buffer_gl0_inv | buffer_gl1_inv | buffer_wbl2 | buffer_invl2 | buffer_wbinvl1
            | buffer_wbinvl1_vol | buffer_inv;
    }
}

/// An access to elements with a format.
#[derive(Clone, Copy)]
struct Typed {
    store: bool,
    /// 1 to 4.
    components: u8,
    width: Width,
    /// The high half of the register, of one component of 16 bits.
    high: bool,
}

macro_rules! typed {
    ($op:ident, $($($name:ident)|+ => $store:literal $components:literal $width:ident $high:literal;)*) => {
        match $op {
            $($(Op::$name)|+ => Some(Typed {
                store: $store,
                components: $components,
                width: Width::$width,
                high: $high,
            }),)*
            _ => None,
        }
    };
}

fn typed(op: Op) -> Option<Typed> {
    typed! { op,
        buffer_load_format_x | tbuffer_load_format_x => false 1 Full false;
        buffer_load_format_xy | tbuffer_load_format_xy => false 2 Full false;
        buffer_load_format_xyz | tbuffer_load_format_xyz => false 3 Full false;
        buffer_load_format_xyzw | tbuffer_load_format_xyzw => false 4 Full false;
        buffer_store_format_x | tbuffer_store_format_x => true 1 Full false;
        buffer_store_format_xy | tbuffer_store_format_xy => true 2 Full false;
        buffer_store_format_xyz | tbuffer_store_format_xyz => true 3 Full false;
        buffer_store_format_xyzw | tbuffer_store_format_xyzw => true 4 Full false;
        buffer_load_format_d16_x | tbuffer_load_format_d16_x => false 1 Half false;
        buffer_load_format_d16_xy | tbuffer_load_format_d16_xy => false 2 Half false;
        buffer_load_format_d16_xyz | tbuffer_load_format_d16_xyz => false 3 Half false;
        buffer_load_format_d16_xyzw | tbuffer_load_format_d16_xyzw => false 4 Half false;
        buffer_store_format_d16_x | tbuffer_store_format_d16_x => true 1 Half false;
        buffer_store_format_d16_xy | tbuffer_store_format_d16_xy => true 2 Half false;
        buffer_store_format_d16_xyz | tbuffer_store_format_d16_xyz => true 3 Half false;
        buffer_store_format_d16_xyzw | tbuffer_store_format_d16_xyzw => true 4 Half false;
        buffer_load_format_d16_hi_x => false 1 Half true;
        buffer_store_format_d16_hi_x => true 1 Half true;
        buffer_load_lds_format_x => false 1 Full false;
    }
}

impl Typed {
    fn encode(self) -> u64 {
        u64::from(self.components)
            | u64::from(self.width == Width::Half) << 3
            | u64::from(self.high) << 4
    }

    fn of(k: u64) -> Typed {
        Typed {
            store: false,
            components: (k & 7) as u8,
            width: if k >> 3 & 1 != 0 {
                Width::Half
            } else {
                Width::Full
            },
            high: k >> 4 & 1 != 0,
        }
    }

    /// Where a component stands: its register, and its lowest bit there.
    fn at(self, component: usize) -> (u16, u32) {
        match self.width {
            Width::Full => (component as u16, 0),
            Width::Half if self.high => (0, 16),
            Width::Half => (component as u16 / 2, component as u32 % 2 * 16),
        }
    }
}

/// Flags beside the offset in `k[0]`.
const OFFEN: u64 = 1 << 32;
const IDXEN: u64 = 1 << 33;
const TFE: u64 = 1 << 34;
/// Where the instruction's own format starts in `k[1]`, and whether it has one.
const FORMAT: u32 = 8;
const HAS_FORMAT: u64 = 1 << 16;

fn loads_to_lds(inst: &Inst) -> bool {
    inst.mods.lds
        || matches!(
            inst.op,
            Op::buffer_load_lds_ubyte
                | Op::buffer_load_lds_sbyte
                | Op::buffer_load_lds_ushort
                | Op::buffer_load_lds_sshort
                | Op::buffer_load_lds_dword
                | Op::buffer_load_lds_format_x
        )
}

/// Source 0 is the address register (pair), source 1 the scalar offset, source 2 the data; `k[0]` the immediate
/// offset and flags, `dst2` the descriptor. Source 1 as a constant is in `k[2]`; `k[1]` holds the atomic operation or
/// what is known of an element's format.
pub(crate) fn lower(_: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let mods = &inst.mods;
    let mut micro = MicroOp::undecoded(0);
    let typed = typed(inst.op);
    let action = match typed {
        Some(_) => Action::Nothing,
        None => action(inst.op).ok_or("the instruction")?,
    };
    if typed.is_none() && action == Action::Nothing {
        micro.run = nothing;
        return Ok(micro);
    }
    if mods.addr64 {
        return Err("ADDR64");
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
    let flag = |set: bool, flag: u64| if set { flag } else { 0 };
    micro.k[0] = u64::from(mods.offset as u32)
        | flag(mods.offen, OFFEN)
        | flag(mods.idxen, IDXEN)
        | flag(mods.tfe, TFE);
    let to_lds = loads_to_lds(inst);
    if to_lds {
        let stores =
            typed.is_some_and(|t| t.store) || !matches!(action, Action::Load(_) | Action::Nothing);
        if stores && inst.op != Op::buffer_store_lds_dword {
            return Err("LDS with what is no load");
        }
    } else if data == ABSENT {
        return Err("an access without data");
    }
    let loads = typed.map_or(matches!(action, Action::Load(_)), |typed| !typed.store);
    if loads {
        micro.dst = data;
    } else {
        micro.src[2] = data;
    }
    if let Some(typed) = typed {
        micro.k[1] = typed.encode();
        if inst.format == Format::Mtbuf {
            micro.k[1] |= u64::from(mods.fmt) << FORMAT | HAS_FORMAT;
        }
        micro.run = match (typed.store, to_lds) {
            (true, _) => typed_store,
            (false, true) => typed_load_lds,
            (false, false) => typed_load,
        };
        return Ok(micro);
    }
    // An atomic returns the old value in its data register.
    if matches!(action, Action::Atomic(..)) && mods.cache.glc() {
        micro.dst = data;
    }
    let (load, store): (OpFn, OpFn) = if to_lds {
        (load_lds, store_lds)
    } else {
        (load, store)
    };
    encode_action(&mut micro, action, [load, store, atomic]);
    Ok(micro)
}

/// Calls `each` with every active lane's place in the buffer.
fn places(m: &Machine<'_>, op: &MicroOp, mut each: impl FnMut(&Place)) {
    let scalar = match op.src[1] {
        ABSENT => 0,
        CONST => op.k[2],
        at => u64::from(m.wave.s[usize::from(at as u8)]),
    };
    let immediate = i64::from(op.k[0] as u32 as i32);
    let (offen, idxen) = (op.k[0] & OFFEN != 0, op.k[0] & IDXEN != 0);
    let row = |row: u16| match op.src[0] {
        ABSENT => None,
        at => m.wave.rows.row(at - VGPR + row),
    };
    let first = row(0);
    let offsets = if offen { row(u16::from(idxen)) } else { None };
    for lane in Lanes(m.wave.exec()) {
        let index = first.filter(|_| idxen).map_or(0, |row| row[lane]);
        let offset = offsets.map_or(0, |row| i64::from(row[lane]));
        each(&Place {
            index: idxen.then_some(index),
            offset: offset + immediate,
            scalar,
            lane: lane as u64,
        });
    }
}

/// What the lanes of a buffer access address.
#[allow(clippy::large_enum_variant)] // lives on the stack for one instruction
enum Target {
    /// A byte each; how many bytes from there on are in bounds.
    Linear(Addresses, [u8; 64]),
    /// Private offsets from a base.
    Private(u64, [u32; 64]),
}

fn target(m: &Machine<'_>, op: &MicroOp, buffer: &Buffer, bytes: u64) -> Target {
    if op.k[0] & IDXEN == 0 && buffer.is_private(u64::from(m.wave.lanes)) {
        // The scratch descriptor: the layout of private memory.
        let mut offsets = [0; 64];
        let mut scalar = 0;
        places(m, op, |place| {
            offsets[place.lane as usize & 63] = place.offset as u32;
            scalar = place.scalar;
        });
        return Target::Private(buffer.base.wrapping_add(scalar), offsets);
    }
    let (mut va, mut inside) = ([0; 64], [0; 64]);
    places(m, op, |place| {
        let lane = place.lane as usize & 63;
        let reach;
        (va[lane], reach) = buffer.locate(place, bytes);
        inside[lane] = reach as u8;
    });
    Target::Linear(va, inside)
}

/// The lanes that have all of their bytes in bounds, and those that have some whole dwords there.
fn split(exec: u64, inside: &[u8; 64], bytes: u8) -> (u64, u64) {
    let (mut whole, mut part) = (0, 0);
    for lane in Lanes(exec) {
        if inside[lane] >= bytes {
            whole |= 1 << lane;
        } else if bytes > 4 && inside[lane] >= 4 {
            part |= 1 << lane;
        }
    }
    (whole, part)
}

/// What TFE asks for: the register after the data, zero as nothing failed.
fn status(m: &mut Machine<'_>, op: &MicroOp, registers: u16) {
    if op.k[0] & TFE != 0 && op.dst != ABSENT {
        let exec = m.wave.exec();
        if let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + registers) {
            for lane in Lanes(exec) {
                row[lane] = 0;
            }
        }
    }
}

fn load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    done(try_load(m, op, page))
}

fn try_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<(), Flow> {
    let spec = Spec::from_flags(op.flags);
    let buffer = Buffer::of(m, op.dst2);
    match target(m, op, &buffer, u64::from(spec.bytes)) {
        Target::Private(base, offsets) => {
            let exec = m.wave.exec();
            private::load(m, op, page, base, &offsets, exec)?;
        }
        Target::Linear(va, inside) => {
            let exec = m.wave.exec();
            let (whole, part) = split(exec, &inside, spec.bytes);
            for row in 0..spec.dwords() as u16 {
                if let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + row) {
                    for lane in Lanes(exec & !whole) {
                        row[lane] = spec.merge(row[lane], 0);
                    }
                }
            }
            m.vmem_load(op, page, spec, &va, 4, whole)?;
            for lane in Lanes(part) {
                for word in 0..u16::from(inside[lane] / 4) {
                    let mut bytes = [0; 4];
                    m.read_lane(op, page, lane, va[lane] + u64::from(word) * 4, &mut bytes)?;
                    m.set_lane_value(op.dst + word, false, lane, u32::from_le_bytes(bytes).into());
                }
            }
        }
    }
    status(m, op, spec.dwords() as u16);
    Ok(())
}

fn store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    done(try_store(m, op, page))
}

fn try_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<(), Flow> {
    let spec = Spec::from_flags(op.flags);
    let buffer = Buffer::of(m, op.dst2);
    let exec = m.wave.exec();
    match target(m, op, &buffer, u64::from(spec.bytes)) {
        Target::Private(base, offsets) => {
            private::store(m, op, page, base, (op.src[2], &offsets), exec)
        }
        Target::Linear(va, inside) => {
            let (whole, part) = split(exec, &inside, spec.bytes);
            m.vmem_store(op, page, spec, op.src[2], &va, 4, whole)?;
            for lane in Lanes(part) {
                for word in 0..u16::from(inside[lane] / 4) {
                    let value = m.lane_value(op.src[2] + word, false, lane) as u32;
                    let at = va[lane] + u64::from(word) * 4;
                    m.write_lane(op, page, lane, at, &value.to_le_bytes())?;
                }
            }
            Ok(())
        }
    }
}

fn atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (what, wide) = atomic_of(op.k[1]);
    let bytes = if wide { 8 } else { 4 };
    let buffer = Buffer::of(m, op.dst2);
    let exec = m.wave.exec();
    let (va, mask) = match target(m, op, &buffer, u64::from(bytes)) {
        Target::Private(base, offsets) => (m.private_addresses(base, &offsets), exec),
        Target::Linear(va, inside) => {
            let (whole, _) = split(exec, &inside, bytes);
            // Out of bounds there is nothing to return but zero.
            if op.dst != ABSENT {
                for lane in Lanes(exec & !whole) {
                    m.set_lane_value(op.dst, wide, lane, 0);
                }
            }
            (va, whole)
        }
    };
    let registers = if wide { 2 } else { 1 } * if what.two_values() { 2 } else { 1 };
    done(
        m.vmem_atomic(op, page, what, wide, op.src[2], &va, mask)
            .map(|()| status(m, op, registers)),
    )
}

/// Loads to LDS: lane by lane, a dword (or several) each, from M0 and the immediate offset on.
fn load_lds(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let spec = Spec::from_flags(op.flags);
    let buffer = Buffer::of(m, op.dst2);
    let exec = m.wave.exec();
    let (va, inside) = match target(m, op, &buffer, u64::from(spec.bytes)) {
        Target::Private(..) => {
            return m.unsupported(op, page, "buffer_load lds", "private memory as its source");
        }
        Target::Linear(va, inside) => (va, inside),
    };
    let offset = op.k[0] as u32;
    done(Lanes(exec).try_for_each(|lane| {
        let bytes = if spec.bytes < 4 && inside[lane] < spec.bytes {
            0
        } else {
            inside[lane].min(spec.bytes)
        };
        m.load_lane_to_lds(op, page, spec, (lane, va[lane], bytes), offset)
    }))
}

/// Stores from LDS: a dword for each lane, from M0 and the immediate offset on.
fn store_lds(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let buffer = Buffer::of(m, op.dst2);
    let exec = m.wave.exec();
    let (va, inside) = match target(m, op, &buffer, 4) {
        Target::Private(base, offsets) => (m.private_addresses(base, &offsets), [4; 64]),
        Target::Linear(va, inside) => (va, inside),
    };
    let from = (m.wave.s[M0] & 0xffff).wrapping_add(op.k[0] as u32) as usize;
    done(
        Lanes(exec)
            .filter(|&lane| inside[lane] >= 4)
            .try_for_each(|lane| {
                let value = m.lds_value(from + lane * 4, 4) as u32;
                m.write_lane(op, page, lane, va[lane], &value.to_le_bytes())
            }),
    )
}

/// The format of an access to elements: the instruction's own, or the descriptor's; `None` if it is no format, so
/// that the buffer counts as unbound.
fn element_format(m: &Machine<'_>, op: &MicroOp, buffer: &Buffer) -> Option<BufferFormat> {
    let format = if op.k[1] & HAS_FORMAT != 0 {
        buffer_format(m.arch(), (op.k[1] >> FORMAT) as u8)
    } else {
        buffer.format(m.arch())
    };
    format.filter(|(data, _)| !matches!(data, DataFormat::Invalid | DataFormat::Reserved15))
}

/// Loads the elements of all lanes; gives what the registers get, lane by lane, to `put`.
fn typed_elements(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    mut put: impl FnMut(&mut Machine<'_>, usize, [u32; 4]),
) -> Result<(), Flow> {
    let typed = Typed::of(op.k[1]);
    let buffer = Buffer::of(m, op.dst2);
    let exec = m.wave.exec();
    let Some(format) = element_format(m, op, &buffer) else {
        for lane in Lanes(exec) {
            put(m, lane, [0; 4]);
        }
        return Ok(());
    };
    // A format in the instruction goes with components as they are.
    let selects = if op.k[1] & HAS_FORMAT != 0 {
        [4, 5, 6, 7]
    } else {
        buffer.selects()
    };
    let bytes = format.0.bytes();
    let one = format::one(format.1, typed.width);
    let (mut va, mut inside) = ([0; 64], 0u64);
    places(m, op, |place| {
        let lane = place.lane as usize & 63;
        let reach;
        (va[lane], reach) = buffer.locate(place, bytes as u64);
        inside |= u64::from(reach == bytes as u64) << lane;
    });
    for lane in Lanes(exec) {
        let mut element = [0; 4];
        if inside >> lane & 1 != 0 {
            let mut memory = [0; 16];
            m.read_lane(op, page, lane, va[lane], &mut memory[..bytes])?;
            element = format::load(format, &memory, typed.width);
        }
        let values = selects.map(|select| match select {
            1 => one,
            4.. => element[select as usize & 3],
            _ => 0,
        });
        put(m, lane, values);
    }
    Ok(())
}

fn typed_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let typed = Typed::of(op.k[1]);
    let loaded = typed_elements(m, op, page, |m, lane, values| {
        for (component, &value) in values[..usize::from(typed.components)].iter().enumerate() {
            let (register, low) = typed.at(component);
            let Some(row) = m.wave.rows.row_mut(op.dst - VGPR + register) else {
                continue;
            };
            row[lane] = match typed.width {
                Width::Full => value,
                // The other half stays.
                Width::Half => row[lane] & !(0xffff << low) | (value & 0xffff) << low,
            };
        }
    });
    let last = typed.at(usize::from(typed.components) - 1).0;
    done(loaded.map(|()| status(m, op, last + 1)))
}

fn typed_load_lds(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let offset = op.k[0] as u32;
    done(typed_elements(m, op, page, |m, lane, values| {
        m.put_lds(lane, 4, offset, 0, values[0]);
    }))
}

fn typed_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    done(try_typed_store(m, op, page))
}

fn try_typed_store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Result<(), Flow> {
    let typed = Typed::of(op.k[1]);
    let buffer = Buffer::of(m, op.dst2);
    let Some(format) = element_format(m, op, &buffer) else {
        return Ok(());
    };
    let bytes = format.0.bytes();
    let (mut va, mut inside) = ([0; 64], 0u64);
    places(m, op, |place| {
        let lane = place.lane as usize & 63;
        let reach;
        (va[lane], reach) = buffer.locate(place, bytes as u64);
        inside |= u64::from(reach == bytes as u64) << lane;
    });
    for lane in Lanes(inside) {
        let mut values = [0; 4];
        for (component, value) in values[..usize::from(typed.components)]
            .iter_mut()
            .enumerate()
        {
            let (register, low) = typed.at(component);
            *value = m.lane_value(op.src[2] + register, false, lane) as u32 >> low;
        }
        let memory = format::store(format, &values, typed.width);
        m.write_lane(op, page, lane, va[lane], &memory[..bytes])?;
    }
    Ok(())
}
