//! SMEM: scalar loads, stores and atomics, cache control, clocks.
//!
//! Addresses of dwords lose their two low bits. Through a buffer descriptor, dwords beyond its records read as zero
//! and are not written; records are bytes if the stride is zero, else multiples of it.

use super::atomic::{AtomicOp, Word};
use super::code::Page;
use super::descriptor::Buffer;
use super::flat::{atomic_index, atomic_of, done, nothing};
use super::lower::{Cx, Lowered, destination, source};
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, OpFn};
use crate::isa::{Dir, Field, Inst, Op};
use crate::mem::{Access, raw};

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// A 64-bit address.
    Global,
    /// A 64-bit address, with the scalar offset in units of 64 bytes.
    Scratch,
    /// A buffer descriptor.
    Buffer,
}

/// What an access does.
#[derive(Clone, Copy)]
enum Kind {
    Load { sext: bool },
    Store,
    Atomic(AtomicOp),
}

struct Shape {
    bytes: u8,
    base: Base,
    kind: Kind,
}

macro_rules! shapes {
    ($op:ident, $($bytes:literal $kind:expr => $($name:ident $base:ident)|+;)*) => {
        match $op {
            $($(Op::$name => Some(Shape { bytes: $bytes, base: Base::$base, kind: $kind }),)+)*
            _ => None,
        }
    };
}

fn shape(op: Op) -> Option<Shape> {
    use AtomicOp as A;
    use Kind::{Atomic, Load, Store};
    let load = Load { sext: false };
    let signed = Load { sext: true };
    shapes! { op,
        1 load => s_load_u8 Global | s_buffer_load_u8 Buffer;
        1 signed => s_load_i8 Global | s_buffer_load_i8 Buffer;
        2 load => s_load_u16 Global | s_buffer_load_u16 Buffer;
        2 signed => s_load_i16 Global | s_buffer_load_i16 Buffer;
        4 load => s_load_dword Global | s_buffer_load_dword Buffer | s_scratch_load_dword Scratch;
        8 load => s_load_dwordx2 Global | s_buffer_load_dwordx2 Buffer | s_scratch_load_dwordx2 Scratch;
        12 load => s_load_dwordx3 Global | s_buffer_load_dwordx3 Buffer;
        16 load => s_load_dwordx4 Global | s_buffer_load_dwordx4 Buffer | s_scratch_load_dwordx4 Scratch;
        32 load => s_load_dwordx8 Global | s_buffer_load_dwordx8 Buffer;
        64 load => s_load_dwordx16 Global | s_buffer_load_dwordx16 Buffer;
        4 Store => s_store_dword Global | s_buffer_store_dword Buffer | s_scratch_store_dword Scratch;
        8 Store => s_store_dwordx2 Global | s_buffer_store_dwordx2 Buffer | s_scratch_store_dwordx2 Scratch;
        16 Store => s_store_dwordx4 Global | s_buffer_store_dwordx4 Buffer | s_scratch_store_dwordx4 Scratch;
        4 Atomic(A::Swap) => s_atomic_swap Global | s_buffer_atomic_swap Buffer;
        4 Atomic(A::CmpSwap) => s_atomic_cmpswap Global | s_buffer_atomic_cmpswap Buffer;
        4 Atomic(A::Add) => s_atomic_add Global | s_buffer_atomic_add Buffer;
        4 Atomic(A::Sub) => s_atomic_sub Global | s_buffer_atomic_sub Buffer;
        4 Atomic(A::SMin) => s_atomic_smin Global | s_buffer_atomic_smin Buffer;
        4 Atomic(A::UMin) => s_atomic_umin Global | s_buffer_atomic_umin Buffer;
        4 Atomic(A::SMax) => s_atomic_smax Global | s_buffer_atomic_smax Buffer;
        4 Atomic(A::UMax) => s_atomic_umax Global | s_buffer_atomic_umax Buffer;
        4 Atomic(A::And) => s_atomic_and Global | s_buffer_atomic_and Buffer;
        4 Atomic(A::Or) => s_atomic_or Global | s_buffer_atomic_or Buffer;
        4 Atomic(A::Xor) => s_atomic_xor Global | s_buffer_atomic_xor Buffer;
        4 Atomic(A::Inc) => s_atomic_inc Global | s_buffer_atomic_inc Buffer;
        4 Atomic(A::Dec) => s_atomic_dec Global | s_buffer_atomic_dec Buffer;
        8 Atomic(A::Swap) => s_atomic_swap_x2 Global | s_buffer_atomic_swap_x2 Buffer;
        8 Atomic(A::CmpSwap) => s_atomic_cmpswap_x2 Global | s_buffer_atomic_cmpswap_x2 Buffer;
        8 Atomic(A::Add) => s_atomic_add_x2 Global | s_buffer_atomic_add_x2 Buffer;
        8 Atomic(A::Sub) => s_atomic_sub_x2 Global | s_buffer_atomic_sub_x2 Buffer;
        8 Atomic(A::SMin) => s_atomic_smin_x2 Global | s_buffer_atomic_smin_x2 Buffer;
        8 Atomic(A::UMin) => s_atomic_umin_x2 Global | s_buffer_atomic_umin_x2 Buffer;
        8 Atomic(A::SMax) => s_atomic_smax_x2 Global | s_buffer_atomic_smax_x2 Buffer;
        8 Atomic(A::UMax) => s_atomic_umax_x2 Global | s_buffer_atomic_umax_x2 Buffer;
        8 Atomic(A::And) => s_atomic_and_x2 Global | s_buffer_atomic_and_x2 Buffer;
        8 Atomic(A::Or) => s_atomic_or_x2 Global | s_buffer_atomic_or_x2 Buffer;
        8 Atomic(A::Xor) => s_atomic_xor_x2 Global | s_buffer_atomic_xor_x2 Buffer;
        8 Atomic(A::Inc) => s_atomic_inc_x2 Global | s_buffer_atomic_inc_x2 Buffer;
        8 Atomic(A::Dec) => s_atomic_dec_x2 Global | s_buffer_atomic_dec_x2 Buffer;
    }
}

fn special(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::s_memtime => memtime,
        Op::s_memrealtime => memrealtime,
        // Caches are not modelled: probing, writing back, discarding and prefetching change nothing.
        Op::s_dcache_inv
        | Op::s_dcache_wb
        | Op::s_dcache_inv_vol
        | Op::s_dcache_wb_vol
        | Op::s_dcache_discard
        | Op::s_dcache_discard_x2
        | Op::s_gl1_inv
        | Op::s_atc_probe
        | Op::s_atc_probe_buffer
        | Op::s_prefetch_inst
        | Op::s_prefetch_inst_pc_rel
        | Op::s_prefetch_data
        | Op::s_prefetch_data_pc_rel
        | Op::s_buffer_prefetch_data => nothing,
        _ => return None,
    })
}

/// Whether an operation writes nothing but scalars.
pub(crate) fn only_reads(op: Op) -> bool {
    let loads = shape(op).is_some_and(|shape| matches!(shape.kind, Kind::Load { .. }));
    loads || special(op).is_some()
}

/// Source 0 is the base, source 1 the offset register, source 2 the data; `k[1]` the offset register's value if it is
/// a constant, `k[2]` the immediate offset. Flags: the width in bytes and, in bit 7, the sign. `dst2`: whether a buffer
/// ([`BUFFER`]) or scratch ([`SCRATCH`]), and for atomics in `k[0]` the operation.
pub(crate) fn lower(_: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Base => micro.src[0] = source(operand, desc.ty)?.0,
            Field::Soffset => (micro.src[1], micro.k[1]) = source(operand, desc.ty)?,
            Field::Data => micro.src[2] = source(operand, desc.ty)?.0,
            // An atomic's data, which the old value replaces if it is asked for.
            _ if desc.dir == Dir::ReadWrite => {
                micro.src[2] = source(operand, desc.ty)?.0;
                if inst.mods.cache.glc() {
                    micro.dst = destination(operand)?;
                }
            }
            _ if desc.dir == Dir::Write => micro.dst = destination(operand)?,
            _ => {}
        }
    }
    micro.k[2] = i64::from(inst.mods.offset) as u64;
    if let Some(run) = special(inst.op) {
        micro.run = run;
        return Ok(micro);
    }
    let shape = shape(inst.op).ok_or("the instruction")?;
    if micro.src[0] >= 128 {
        return Err("a base that is no register");
    }
    micro.flags = shape.bytes;
    micro.dst2 = match shape.base {
        Base::Global => 0,
        Base::Scratch => SCRATCH,
        Base::Buffer => BUFFER,
    };
    micro.run = match shape.kind {
        Kind::Load { sext } => {
            micro.flags |= u8::from(sext) << 7;
            match (shape.base, shape.bytes) {
                (Base::Buffer, _) => buffer_load,
                (Base::Global, 4) if fits(&micro, 1) => load_words::<1>,
                (Base::Global, 8) if fits(&micro, 2) => load_words::<2>,
                (Base::Global, 16) if fits(&micro, 4) => load_words::<4>,
                (Base::Global, 32) if fits(&micro, 8) => load_words::<8>,
                _ => load,
            }
        }
        Kind::Store if micro.src[2] >= 128 => return Err("data that is no register"),
        Kind::Store => store,
        Kind::Atomic(op) => {
            micro.k[0] = atomic_index(op, shape.bytes == 8);
            atomic
        }
    };
    Ok(micro)
}

const SCRATCH: u16 = 1;
const BUFFER: u16 = 2;

fn offset(m: &Machine<'_>, op: &MicroOp) -> u64 {
    let register = match op.src[1] {
        ABSENT => 0,
        CONST => op.k[1],
        at => u64::from(m.wave.s[usize::from(at as u8)]),
    };
    let register = if op.dst2 == SCRATCH {
        register.wrapping_mul(64)
    } else {
        register
    };
    register.wrapping_add(op.k[2])
}

/// The address of an access, and how many bytes from there on there are.
fn place(m: &Machine<'_>, op: &MicroOp) -> (u64, u64) {
    let offset = offset(m, op);
    if op.dst2 != BUFFER {
        let base = m.wave.pair(usize::from(op.src[0]));
        return (base.wrapping_add(offset), u64::MAX);
    }
    let buffer = Buffer::of(m, op.src[0]);
    let size = match buffer.stride {
        0 => buffer.records,
        stride => stride * buffer.records,
    };
    let offset = offset & 0xffff_ffff;
    (
        buffer.base.wrapping_add(offset),
        size.saturating_sub(offset),
    )
}

/// Whether a load's destination is so many entries of the scalar file.
fn fits(micro: &MicroOp, words: u16) -> bool {
    micro.dst <= 128 - words
}

/// Loads of so many dwords from a 64-bit address, the usual ones.
fn load_words<const W: usize>(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let base = m.wave.pair(usize::from(op.src[0]));
    let at = base.wrapping_add(offset(m, op)) & !3;
    m.tlb.sync(m.view);
    let bytes = W as u64 * 4;
    let host = m.tlb.host_of(op.slot, m.view, at, bytes, Access::Read);
    let dst = usize::from(op.dst);
    let (Some(host), Some(to)) = (host, m.wave.s.get_mut(dst..dst + W)) else {
        return load_at(m, op, page, at);
    };
    for (word, to) in to.iter_mut().enumerate() {
        // SAFETY: the span covers the bytes, readable.
        *to = unsafe { raw::load_u32(host.add(word * 4)) };
    }
    Flow::Next
}

fn load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let bytes = op.flags & 0x7f;
    let (at, _) = place(m, op);
    if bytes < 4 {
        return load_small(m, op, page, at);
    }
    load_at(m, op, page, at & !3)
}

fn load_at(m: &mut Machine<'_>, op: &MicroOp, page: &Page, at: u64) -> Flow {
    let bytes = u64::from(op.flags & 0x7f);
    let dst = usize::from(op.dst);
    m.tlb.sync(m.view);
    match m.tlb.host(m.view, at, bytes, Access::Read) {
        Some(host) => {
            for word in 0..bytes as usize / 4 {
                // SAFETY: the span covers the bytes, readable.
                m.wave.s[(dst + word) & 255] = unsafe { raw::load_u32(host.add(word * 4)) };
            }
        }
        None => {
            // Perhaps two spans side by side: dwords never straddle them.
            let mut words = [0; 16];
            for (word, value) in words.iter_mut().enumerate().take(bytes as usize / 4) {
                let at = at.wrapping_add(word as u64 * 4);
                let Some(host) = m.tlb.host(m.view, at, 4, Access::Read) else {
                    return m.memory_fault(op, page, None, (at, 4), Access::Read);
                };
                // SAFETY: the span covers the dword, readable.
                *value = unsafe { raw::load_u32(host) };
            }
            for (word, value) in words.into_iter().enumerate().take(bytes as usize / 4) {
                m.wave.s[(dst + word) & 255] = value;
            }
        }
    }
    Flow::Next
}

fn load_small(m: &mut Machine<'_>, op: &MicroOp, page: &Page, at: u64) -> Flow {
    let bytes = u64::from(op.flags & 0x7f);
    let sext = op.flags & 0x80 != 0;
    let at = if bytes == 2 { at & !1 } else { at };
    m.tlb.sync(m.view);
    let Some(host) = m.tlb.host(m.view, at, bytes, Access::Read) else {
        return m.memory_fault(op, page, None, (at, bytes), Access::Read);
    };
    // SAFETY: the span covers the bytes, readable.
    let value = unsafe {
        match (bytes, sext) {
            (1, false) => u32::from(raw::load_u8(host)),
            (1, true) => i32::from(raw::load_u8(host) as i8) as u32,
            (_, false) => u32::from(raw::load_u16(host)),
            (_, true) => i32::from(raw::load_u16(host) as i16) as u32,
        }
    };
    m.put32(op.dst, value);
    Flow::Next
}

/// Through a descriptor: what lies beyond its records reads as zero.
fn buffer_load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (at, room) = place(m, op);
    let bytes = u64::from(op.flags & 0x7f);
    if bytes < 4 {
        if bytes <= room {
            return load_small(m, op, page, at);
        }
        m.put32(op.dst, 0);
        return Flow::Next;
    }
    let (at, room) = (at & !3, room + (at & 3));
    if bytes <= room {
        return load_at(m, op, page, at);
    }
    for word in 0..bytes / 4 {
        let mut value = [0; 4];
        if word * 4 + 4 <= room
            && let Err(flow) = read_dword(m, op, page, at.wrapping_add(word * 4), &mut value)
        {
            return flow;
        }
        m.wave.s[(usize::from(op.dst) + word as usize) & 255] = u32::from_le_bytes(value);
    }
    Flow::Next
}

fn read_dword(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    at: u64,
    to: &mut [u8; 4],
) -> Result<(), Flow> {
    m.tlb.sync(m.view);
    let Some(host) = m.tlb.host(m.view, at, 4, Access::Read) else {
        return Err(m.memory_fault(op, page, None, (at, 4), Access::Read));
    };
    // SAFETY: the span covers the dword, readable.
    *to = unsafe { raw::load_u32(host) }.to_le_bytes();
    Ok(())
}

fn store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (at, room) = place(m, op);
    let (at, room) = (at & !3, room.saturating_add(at & 3));
    m.tlb.sync(m.view);
    for word in 0..usize::from(op.flags & 0x7f) / 4 {
        if word as u64 * 4 + 4 > room {
            break;
        }
        let at = at.wrapping_add(word as u64 * 4);
        let Some(host) = m.tlb.host(m.view, at, 4, Access::Write) else {
            return m.memory_fault(op, page, None, (at, 4), Access::Write);
        };
        let value = m.wave.s[(usize::from(op.src[2]) + word) & 255];
        // SAFETY: the span covers the dword, writable.
        unsafe { raw::store_u32(host, value) };
    }
    Flow::Next
}

fn atomic(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let (what, wide) = atomic_of(op.k[0]);
    done(if wide {
        atomic_of_width::<u64>(m, op, page, what)
    } else {
        atomic_of_width::<u32>(m, op, page, what)
    })
}

fn atomic_of_width<W: Word>(
    m: &mut Machine<'_>,
    op: &MicroOp,
    page: &Page,
    what: AtomicOp,
) -> Result<(), Flow> {
    let (at, room) = place(m, op);
    let data = usize::from(op.src[2]);
    let (a, b) = (m.wave.pair(data), m.wave.pair(data + W::BYTES / 4));
    // The address is a dword's: its two low bits are not there.
    let at = at & !3;
    let old = if room < W::BYTES as u64 {
        W::ZERO
    } else {
        m.atomic_at(op, page, None, at, |old| {
            what.apply(old, W::of(a), W::of(b))
        })?
    };
    if op.dst != ABSENT {
        m.put32(op.dst, old.bits() as u32);
        if W::BYTES == 8 {
            m.put32(op.dst + 1, (old.bits() >> 32) as u32);
        }
    }
    Ok(())
}

fn memtime(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let now = m.clock.cycles();
    m.put64(op.dst, now);
    Flow::Next
}

fn memrealtime(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let now = m.clock.realtime();
    m.put64(op.dst, now);
    Flow::Next
}
