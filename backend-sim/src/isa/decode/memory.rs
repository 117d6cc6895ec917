//! Memory encodings: DS, FLAT (with GLOBAL and SCRATCH), MUBUF, MTBUF.

use super::super::{Arch, Cache, Field, Format, Inst, Mods, Op, Operand};
use super::source::{aligned, scalar_register, source};
use super::{Cx, DecodeError, bit, bits, inst, signed};

/// A data register: an accumulation register if the instruction's ACC bit says so (gfx90a and later).
fn data(number: u32, acc: bool) -> Operand {
    if acc {
        Operand::Acc(number as u8)
    } else {
        Operand::Vgpr(number as u8)
    }
}

fn cache(glc: bool, slc: bool, dlc: bool, scc: bool) -> Cache {
    let mut cache = Cache::default();
    cache.set(Cache::GLC, glc);
    cache.set(Cache::SLC, slc);
    cache.set(Cache::DLC, dlc);
    cache.set(Cache::SCC, scc);
    cache
}

pub(super) fn ds(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let gfx9 = cx.arch.is_gfx9();
    let opcode = if gfx9 {
        bits(word, 17, 8)
    } else {
        bits(word, 18, 8)
    };
    let op = cx.lookup(Format::Ds, opcode)?;
    let row = op.row();
    let high = cx.words.at(1)?;
    let acc = cx.arch.is_gfx90a_plus() && bit(word, 25);
    let mut mods = Mods {
        gds: bit(word, if gfx9 { 16 } else { 17 }),
        ..Mods::default()
    };
    if row.flags.has(super::super::Flags::TWO_OFFSETS) {
        mods.offset = bits(word, 0, 8) as i32;
        mods.offset1 = bits(word, 8, 8) as u8;
    } else {
        mods.offset = bits(word, 0, 16) as i32;
    }
    if op == Op::ds_nop {
        mods = Mods::default();
    }
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(row.operands()) {
        *slot = match desc.field {
            // What GWS instructions take from a register is data, wherever it stands.
            Field::Addr if row.mnemonic.starts_with("ds_gws_") => data(bits(high, 0, 8), acc),
            Field::Addr => Operand::Vgpr(bits(high, 0, 8) as u8),
            Field::Data => data(bits(high, 8, 8), acc),
            Field::Data1 => data(bits(high, 16, 8), acc),
            Field::Dst => data(bits(high, 24, 8), acc),
            _ => Operand::None,
        };
    }
    Ok(inst(op, Format::Ds, 2, operands, mods))
}

pub(super) fn flat(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let arch = cx.arch;
    let segment = bits(word, if arch.is_gfx11_plus() { 16 } else { 14 }, 2);
    let format = match segment {
        0 => Format::Flat,
        1 => Format::Scratch,
        2 => Format::Global,
        _ => return Err(DecodeError::UnknownEncoding { arch, word }),
    };
    let op = cx.lookup(format, bits(word, 18, 7))?;
    let high = cx.words.at(1)?;
    let width = if arch.is_gfx9() || arch.is_gfx11_plus() {
        13
    } else {
        12
    };
    let flat = format == Format::Flat;
    let mods = Mods {
        // Flat addresses take no negative offset: their sign bit is ignored.
        offset: if flat {
            bits(word, 0, width - 1) as i32
        } else {
            signed(word, width)
        },
        cache: if arch.is_gfx11_plus() {
            cache(bit(word, 14), bit(word, 15), bit(word, 13), false)
        } else if arch.is_gfx10_plus() {
            cache(bit(word, 16), bit(word, 17), bit(word, 12), false)
        } else {
            cache(
                bit(word, 16),
                bit(word, 17),
                false,
                arch.is_gfx90a_plus() && bit(word, 25),
            )
        },
        lds: !arch.is_gfx11_plus() && !arch.is_gfx942_plus() && bit(word, 13),
        ..Mods::default()
    };
    let acc = arch.is_gfx90a_plus() && bit(high, 23);
    let saddr = match bits(high, 16, 7) {
        _ if flat => None,
        0x7f => None,
        code => match scalar_register(arch, code).ok_or(DecodeError::BadOperand { op, code })? {
            Operand::Null => None,
            register => Some(register),
        },
    };
    // Scratch: the address register may be missing.
    let vaddr = match format {
        Format::Scratch if arch.is_gfx942_plus() => bit(word, 13),
        Format::Scratch if arch.is_gfx11_plus() => bit(high, 23),
        // gfx10.3 has a code for a scalar address that is absent, and one for no address at all.
        Format::Scratch if arch.is_gfx10_plus() => saddr.is_none() && bits(high, 16, 7) != 0x7f,
        Format::Scratch => saddr.is_none(),
        _ => true,
    };
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Addr if vaddr => Operand::Vgpr(bits(high, 0, 8) as u8),
            Field::Data => data(bits(high, 8, 8), acc),
            // A load that goes to LDS has no data register.
            Field::Dst if mods.lds => Operand::None,
            Field::Dst => data(bits(high, 24, 8), acc),
            Field::Ret if mods.cache.glc() => data(bits(high, 24, 8), acc),
            Field::Saddr => saddr.map_or(Operand::None, |register| aligned(register, desc.ty)),
            _ => Operand::None,
        };
    }
    Ok(inst(op, format, 2, operands, mods))
}

pub(super) fn flat_gfx12(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let arch = cx.arch;
    let format = match bits(word, 24, 2) {
        0 => Format::Flat,
        1 => Format::Scratch,
        2 => Format::Global,
        _ => return Err(DecodeError::UnknownEncoding { arch, word }),
    };
    let op = cx.lookup(format, bits(word, 14, 8))?;
    let (middle, high) = (cx.words.at(1)?, cx.words.at(2)?);
    let mods = Mods {
        offset: signed(high >> 8, 24),
        cache: Cache((bits(middle, 20, 3) | bits(middle, 18, 2) << 3) as u8),
        ..Mods::default()
    };
    let saddr = match scalar_register(arch, bits(word, 0, 7)) {
        Some(Operand::Null) => Operand::None,
        Some(register) => register,
        None => {
            return Err(DecodeError::BadOperand {
                op,
                code: bits(word, 0, 7),
            });
        }
    };
    let vaddr = format != Format::Scratch || bit(middle, 17);
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Addr if vaddr => Operand::Vgpr(bits(high, 0, 8) as u8),
            Field::Data => Operand::Vgpr(bits(middle, 23, 8) as u8),
            Field::Dst => Operand::Vgpr(bits(middle, 0, 8) as u8),
            Field::Ret if mods.cache.temporal_hint() & 1 != 0 => {
                Operand::Vgpr(bits(middle, 0, 8) as u8)
            }
            Field::Saddr => aligned(saddr, desc.ty),
            _ => Operand::None,
        };
    }
    Ok(inst(op, format, 3, operands, mods))
}

/// Operands common to buffer instructions of every generation.
struct Buffer {
    vdata: Operand,
    vaddr: u32,
    rsrc: u32,
    soffset: Operand,
    dwords: u8,
}

fn buffer(
    op: Op,
    format: Format,
    fields: &Buffer,
    mods: Mods,
    arch: Arch,
) -> Result<Inst, DecodeError> {
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            // A load that goes to LDS has no data register.
            Field::Dst if mods.lds => Operand::None,
            Field::Dst | Field::Data => fields.vdata,
            Field::Addr if mods.offen || mods.idxen || mods.addr64 => {
                Operand::Vgpr(fields.vaddr as u8)
            }
            Field::Rsrc => {
                let code = fields.rsrc;
                let register =
                    scalar_register(arch, code).ok_or(DecodeError::BadOperand { op, code })?;
                aligned(register, desc.ty)
            }
            Field::Soffset => fields.soffset,
            _ => Operand::None,
        };
    }
    Ok(inst(op, format, fields.dwords, operands, mods))
}

pub(super) fn mubuf(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = if cx.arch.is_gfx10_plus() {
        bits(word, 18, 8)
    } else {
        bits(word, 18, 7)
    };
    let op = cx.lookup(Format::Mubuf, opcode)?;
    let high = cx.words.at(1)?;
    let mut mods = buffer_mods(cx.arch, word, high);
    if cx.arch.is_gfx90a_plus() {
        mods.cache = cache(bit(word, 14), bit(word, 17), false, bit(word, 15));
    } else if cx.arch.is_gfx9() {
        mods.cache = cache(bit(word, 14), bit(word, 17), false, false);
    }
    mods.lds = !cx.arch.is_gfx11_plus() && bit(word, 16);
    if op.row().operands().is_empty() {
        // Cache control: a scope on gfx942, nothing before.
        let scope = if cx.arch.is_gfx942_plus() {
            Cache::GLC | Cache::SCC
        } else {
            0
        };
        mods.cache = Cache(mods.cache.0 & scope);
    }
    typed_or_not(cx, op, Format::Mubuf, high, mods)
}

pub(super) fn mtbuf(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let high = cx.words.at(1)?;
    let opcode = match cx.arch.column() {
        super::super::Column::Gfx10 => bits(word, 16, 3) | bits(high, 21, 1) << 3,
        _ => bits(word, 15, 4),
    };
    let op = cx.lookup(Format::Mtbuf, opcode)?;
    let mut mods = buffer_mods(cx.arch, word, high);
    mods.fmt = bits(word, 19, 7) as u8;
    if cx.arch.is_gfx9() {
        mods.cache = cache(
            bit(word, 14),
            bit(high, 22),
            false,
            cx.arch.is_gfx90a_plus() && bit(high, 21),
        );
    }
    typed_or_not(cx, op, Format::Mtbuf, high, mods)
}

fn buffer_mods(arch: Arch, word: u32, high: u32) -> Mods {
    let gfx11 = arch.is_gfx11_plus();
    Mods {
        offset: bits(word, 0, 12) as i32,
        offen: if gfx11 { bit(high, 22) } else { bit(word, 12) },
        idxen: if gfx11 { bit(high, 23) } else { bit(word, 13) },
        tfe: match arch {
            _ if gfx11 => bit(high, 21),
            _ => !arch.is_gfx90a_plus() && bit(high, 23),
        },
        cache: if gfx11 {
            cache(bit(word, 14), bit(word, 12), bit(word, 13), false)
        } else {
            cache(bit(word, 14), bit(high, 22), bit(word, 15), false)
        },
        ..Mods::default()
    }
}

fn typed_or_not(
    cx: &Cx,
    op: Op,
    format: Format,
    high: u32,
    mods: Mods,
) -> Result<Inst, DecodeError> {
    let acc = cx.arch.is_gfx90a_plus() && bit(high, 23);
    let code = bits(high, 24, 8);
    let soffset = source(cx.arch, code, 0).filter(|o| !matches!(o, Operand::Literal(_)));
    let fields = Buffer {
        vdata: data(bits(high, 8, 8), acc),
        vaddr: bits(high, 0, 8),
        rsrc: bits(high, 16, 5) << 2,
        soffset: soffset.ok_or(DecodeError::BadOperand { op, code })?,
        dwords: 2,
    };
    buffer(op, format, &fields, mods, cx.arch)
}

pub(super) fn buffer_gfx12(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 14, 8);
    let format = if opcode >> 4 == 8 {
        Format::Mtbuf
    } else {
        Format::Mubuf
    };
    let op = cx.lookup(format, opcode)?;
    let (middle, high) = (cx.words.at(1)?, cx.words.at(2)?);
    let mods = Mods {
        offset: signed(high >> 8, 24),
        offen: bit(middle, 30),
        idxen: bit(middle, 31),
        tfe: bit(word, 22),
        fmt: if format == Format::Mtbuf {
            bits(middle, 23, 7) as u8
        } else {
            0
        },
        cache: Cache((bits(middle, 20, 3) | bits(middle, 18, 2) << 3) as u8),
        ..Mods::default()
    };
    let code = bits(word, 0, 7);
    let fields = Buffer {
        vdata: Operand::Vgpr(bits(middle, 0, 8) as u8),
        vaddr: bits(high, 0, 8),
        rsrc: bits(middle, 9, 9),
        soffset: scalar_register(cx.arch, code).ok_or(DecodeError::BadOperand { op, code })?,
        dwords: 3,
    };
    buffer(op, format, &fields, mods, cx.arch)
}
