//! SMEM: scalar loads and stores, cache control, clocks.

use super::code::Page;
use super::flat::nothing;
use super::lower::{Cx, Lowered, destination, source};
use super::machine::Machine;
use super::microop::{ABSENT, CONST, Flow, MicroOp, OpFn};
use crate::isa::{Dir, Field, Inst, Op};
use crate::mem::{Access, raw};

/// Bytes, sign extension, whether through a buffer descriptor, whether a store.
struct Shape {
    bytes: u8,
    sext: bool,
    buffer: bool,
    store: bool,
}

fn shape(op: Op) -> Option<Shape> {
    let (bytes, sext, buffer, store) = match op {
        Op::s_load_dword => (4, false, false, false),
        Op::s_load_dwordx2 => (8, false, false, false),
        Op::s_load_dwordx3 => (12, false, false, false),
        Op::s_load_dwordx4 => (16, false, false, false),
        Op::s_load_dwordx8 => (32, false, false, false),
        Op::s_load_dwordx16 => (64, false, false, false),
        Op::s_load_i8 => (1, true, false, false),
        Op::s_load_u8 => (1, false, false, false),
        Op::s_load_i16 => (2, true, false, false),
        Op::s_load_u16 => (2, false, false, false),
        Op::s_buffer_load_dword => (4, false, true, false),
        Op::s_buffer_load_dwordx2 => (8, false, true, false),
        Op::s_buffer_load_dwordx3 => (12, false, true, false),
        Op::s_buffer_load_dwordx4 => (16, false, true, false),
        Op::s_buffer_load_dwordx8 => (32, false, true, false),
        Op::s_buffer_load_dwordx16 => (64, false, true, false),
        Op::s_buffer_load_i8 => (1, true, true, false),
        Op::s_buffer_load_u8 => (1, false, true, false),
        Op::s_buffer_load_i16 => (2, true, true, false),
        Op::s_buffer_load_u16 => (2, false, true, false),
        Op::s_store_dword => (4, false, false, true),
        Op::s_store_dwordx2 => (8, false, false, true),
        Op::s_store_dwordx4 => (16, false, false, true),
        _ => return None,
    };
    Some(Shape {
        bytes,
        sext,
        buffer,
        store,
    })
}

fn special(op: Op) -> Option<OpFn> {
    Some(match op {
        Op::s_memtime => memtime,
        Op::s_memrealtime => memrealtime,
        Op::s_dcache_inv
        | Op::s_dcache_wb
        | Op::s_dcache_inv_vol
        | Op::s_dcache_wb_vol
        | Op::s_gl1_inv
        | Op::s_atc_probe
        | Op::s_atc_probe_buffer => nothing,
        _ => return None,
    })
}

/// Source 0 is the base, source 1 the offset register; `k[2]` the immediate offset; the width in
/// bytes and, in bit 7, the sign in the flags.
pub(crate) fn lower(_: &mut Cx<'_>, inst: &Inst) -> Lowered {
    let mut micro = MicroOp::undecoded(0);
    for (&operand, desc) in inst.operands.iter().zip(inst.op.row().operands()) {
        match desc.field {
            Field::Base => micro.src[0] = source(operand, desc.ty)?.0,
            Field::Soffset => (micro.src[1], micro.k[1]) = source(operand, desc.ty)?,
            Field::Data => micro.src[2] = source(operand, desc.ty)?.0,
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
    micro.flags = shape.bytes | u8::from(shape.sext) << 7;
    micro.run = match (shape.store, shape.buffer) {
        (true, _) => store,
        (false, true) => buffer_load,
        (false, false) => load,
    };
    Ok(micro)
}

fn offset(m: &Machine<'_>, op: &MicroOp) -> u64 {
    let register = match op.src[1] {
        ABSENT => 0,
        CONST => op.k[1],
        at => u64::from(m.wave.s[usize::from(at as u8)]),
    };
    register.wrapping_add(op.k[2])
}

fn load(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let bytes = op.flags & 0x7f;
    let base = m.wave.pair(usize::from(op.src[0]));
    let at = base.wrapping_add(offset(m, op));
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
    let rsrc: [u32; 4] = core::array::from_fn(|i| m.wave.s[(usize::from(op.src[0]) + i) & 255]);
    let base = u64::from(rsrc[0]) | u64::from(rsrc[1] & 0xffff) << 32;
    let stride = u64::from(rsrc[1] >> 16 & 0x3fff);
    let records = u64::from(rsrc[2]);
    let size = if stride == 0 {
        records
    } else {
        stride * records
    };
    let bytes = u64::from(op.flags & 0x7f);
    let offset = offset(m, op) & 0xffff_ffff;
    let offset = if bytes < 4 { offset } else { offset & !3 };
    if offset + bytes <= size {
        return if bytes < 4 {
            load_small(m, op, page, base + offset)
        } else {
            load_at(m, op, page, base + offset)
        };
    }
    for word in 0..(bytes as usize).div_ceil(4) {
        let at = offset + word as u64 * 4;
        let mut value = 0;
        if bytes >= 4 && at + 4 <= size {
            m.tlb.sync(m.view);
            let Some(host) = m.tlb.host(m.view, base + at, 4, Access::Read) else {
                return m.memory_fault(op, page, None, (base + at, 4), Access::Read);
            };
            // SAFETY: the span covers the dword, readable.
            value = unsafe { raw::load_u32(host) };
        }
        m.wave.s[(usize::from(op.dst) + word) & 255] = value;
    }
    Flow::Next
}

fn store(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let base = m.wave.pair(usize::from(op.src[0]));
    let at = base.wrapping_add(offset(m, op)) & !3;
    m.tlb.sync(m.view);
    for word in 0..usize::from(op.flags & 0x7f) / 4 {
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
