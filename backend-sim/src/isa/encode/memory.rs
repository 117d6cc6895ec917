//! Memory encodings.

use super::super::{Cache, Column, Field, Flags, Format, Operand};
use super::{Cx, EncodeError, Encoded, flag};

pub(super) fn ds(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let gfx9 = cx.arch.is_gfx9();
    let mut low = 0b110110 << 26
        | opcode << if gfx9 { 17 } else { 18 }
        | flag(mods.gds, if gfx9 { 16 } else { 17 });
    low |= match cx.inst.op.row().flags.has(Flags::TWO_OFFSETS) {
        true => cx.offset(8, false)? | u32::from(mods.offset1) << 8,
        false => cx.offset(16, false)?,
    };
    let mut high = 0;
    let mut accs = Accs::default();
    for (operand, desc) in cx.operands() {
        high |= match desc.field {
            Field::Addr if cx.inst.op.row().mnemonic.starts_with("ds_gws_") => {
                accs.data(cx, operand)?
            }
            Field::Addr => cx.vgpr(operand)?,
            Field::Data => accs.data(cx, operand)? << 8,
            Field::Data1 => accs.data(cx, operand)? << 16,
            Field::Dst => accs.data(cx, operand)? << 24,
            _ => return Err(cx.bad(operand)),
        };
    }
    Ok(Encoded::new(&[low | flag(accs.acc, 25), high]))
}

/// Data operands, which are all vector registers or all accumulation registers.
#[derive(Default)]
pub(super) struct Accs {
    pub(super) acc: bool,
    seen: bool,
}

impl Accs {
    pub(super) fn data(&mut self, cx: &Cx, operand: Operand) -> Result<u32, EncodeError> {
        let (number, acc) = cx.data(operand)?;
        if self.seen && acc != self.acc {
            return Err(cx.bad(operand));
        }
        (self.seen, self.acc) = (true, acc);
        Ok(number)
    }
}

fn has(cache: Cache, bit: u8) -> bool {
    cache.0 & bit != 0
}

pub(super) fn flat(cx: &Cx) -> Result<Encoded, EncodeError> {
    let arch = cx.arch;
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let gfx11 = arch.is_gfx11_plus();
    let segment = match cx.inst.format {
        Format::Scratch => 1,
        Format::Global => 2,
        _ => 0,
    };
    let is_flat = segment == 0;
    let width = if arch.is_gfx9() || gfx11 { 13 } else { 12 };
    let mut low = 0b110111 << 26 | opcode << 18 | segment << if gfx11 { 16 } else { 14 };
    low |= if is_flat {
        cx.offset(width - 1, false)?
    } else {
        cx.offset(width, true)?
    };
    let (glc, slc, dlc) = if gfx11 { (14, 15, 13) } else { (16, 17, 12) };
    low |= flag(has(mods.cache, Cache::GLC), glc) | flag(has(mods.cache, Cache::SLC), slc);
    low |= flag(has(mods.cache, Cache::DLC) && arch.is_gfx10_plus(), dlc);
    low |= flag(has(mods.cache, Cache::SCC) && arch.is_gfx90a_plus(), 25);
    low |= flag(mods.lds && !gfx11 && !arch.is_gfx942_plus(), 13);
    let null = match arch.column() {
        Column::Gfx10 => 125,
        Column::Gfx11 => 124,
        _ => 127,
    };
    let mut high = 0;
    let mut accs = Accs::default();
    let (mut vaddr, mut saddr) = (true, true);
    for (operand, desc) in cx.operands() {
        high |= match (desc.field, operand) {
            (Field::Addr, Operand::None) if segment == 1 => {
                vaddr = false;
                0
            }
            (Field::Addr, _) => cx.vgpr(operand)?,
            (Field::Data, _) => accs.data(cx, operand)? << 8,
            (Field::Ret, Operand::None) => 0,
            (Field::Dst | Field::Ret, _) => accs.data(cx, operand)? << 24,
            (Field::Saddr, Operand::None) => {
                saddr = false;
                null << 16
            }
            (Field::Saddr, _) => cx.scalar_register(operand)? << 16,
            _ => return Err(cx.bad(operand)),
        };
    }
    let returns = cx.inst.operands[0] != Operand::None;
    if cx.inst.op.row().has(Field::Ret) && returns != mods.cache.glc() {
        return Err(cx.bad_modifier());
    }
    if is_flat && gfx11 {
        high |= 124 << 16;
    } else if is_flat && arch.column() == Column::Gfx10 {
        high |= 125 << 16;
    }
    if segment == 1 {
        if arch.is_gfx942_plus() {
            low |= flag(vaddr, 13);
        } else if gfx11 {
            high |= flag(vaddr, 23);
        } else if !vaddr && !saddr && arch.is_gfx10_plus() {
            // Neither address: a code of its own, since the one for no scalar address says that there is a vector's.
            high |= 0x7f << 16;
        } else if vaddr == saddr {
            return Err(cx.bad(Operand::None));
        }
    }
    Ok(Encoded::new(&[low, high | flag(accs.acc, 23)]))
}

pub(super) fn flat_gfx12(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let segment = match cx.inst.format {
        Format::Scratch => 1,
        Format::Global => 2,
        _ => 0,
    };
    let mut low = 0b111011 << 26 | segment << 24 | opcode << 14;
    let mut middle =
        u32::from(mods.cache.temporal_hint()) << 20 | u32::from(mods.cache.scope()) << 18;
    let mut high = cx.offset(24, true)? << 8;
    let mut saddr = 124;
    for (operand, desc) in cx.operands() {
        match (desc.field, operand) {
            (Field::Addr, Operand::None) if segment == 1 => {}
            (Field::Addr, _) => {
                high |= cx.vgpr(operand)?;
                middle |= flag(segment == 1, 17);
            }
            (Field::Data, _) => middle |= cx.vgpr(operand)? << 23,
            (Field::Ret, Operand::None) => {}
            (Field::Dst | Field::Ret, _) => middle |= cx.vgpr(operand)?,
            (Field::Saddr, Operand::None) => {}
            (Field::Saddr, _) => saddr = cx.scalar_register(operand)?,
            _ => return Err(cx.bad(operand)),
        }
    }
    low |= saddr;
    Ok(Encoded::new(&[low, middle, high]))
}

pub(super) fn buffer(cx: &Cx) -> Result<Encoded, EncodeError> {
    let arch = cx.arch;
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let gfx11 = arch.is_gfx11_plus();
    let typed = cx.inst.format == Format::Mtbuf;
    let glc = has(mods.cache, Cache::GLC);
    let slc = has(mods.cache, Cache::SLC);
    let dlc = has(mods.cache, Cache::DLC);
    let scc = has(mods.cache, Cache::SCC);
    let mut low = cx.offset(12, false)? | flag(glc, 14);
    let mut high = 0;
    low |= match (typed, arch.column()) {
        (false, _) => 0b111000 << 26 | opcode << 18,
        (true, Column::Gfx10) => 0b111010 << 26 | (opcode & 7) << 16,
        (true, _) => 0b111010 << 26 | opcode << 15,
    };
    if typed {
        low |= u32::from(mods.fmt & 0x7f) << 19;
    }
    if gfx11 {
        low |= flag(slc, 12) | flag(dlc, 13);
        high |= flag(mods.tfe, 21) | flag(mods.offen, 22) | flag(mods.idxen, 23);
    } else {
        low |= flag(mods.offen, 12) | flag(mods.idxen, 13);
        let slc_in_low = arch.is_gfx9() && !typed;
        low |= flag(slc && slc_in_low, 17);
        high |= flag(slc && !slc_in_low, 22) | flag(mods.tfe && !arch.is_gfx90a_plus(), 23);
        low |= flag(dlc && arch.is_gfx10_plus(), 15) | flag(mods.lds && !typed, 16);
        if arch.is_gfx90a_plus() {
            low |= flag(scc && !typed, 15);
            high |= flag(scc && typed, 21);
        }
        high |= flag(
            typed && arch.column() == Column::Gfx10 && opcode >> 3 != 0,
            21,
        );
    }
    let mut accs = Accs::default();
    let mut literal = None;
    for (operand, desc) in cx.operands() {
        high |= match (desc.field, operand) {
            (Field::Dst, Operand::None) if mods.lds => 0,
            (Field::Dst | Field::Data, _) => accs.data(cx, operand)? << 8,
            (Field::Addr, Operand::None) => 0,
            (Field::Addr, _) => cx.vgpr(operand)?,
            (Field::Rsrc, _) => cx.scalar_register(operand)? >> 2 << 16,
            (Field::Soffset, _) => cx.source(operand, &mut literal)? << 24,
            _ => return Err(cx.bad(operand)),
        };
    }
    if literal.is_some() {
        return Err(EncodeError::TooLong { op: cx.inst.op });
    }
    Ok(Encoded::new(&[low, high | flag(accs.acc, 23)]))
}

pub(super) fn buffer_gfx12(cx: &Cx) -> Result<Encoded, EncodeError> {
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let mut low = 0b110001 << 26 | opcode << 14 | flag(mods.tfe, 22);
    let mut middle =
        u32::from(mods.cache.temporal_hint()) << 20 | u32::from(mods.cache.scope()) << 18;
    middle |= flag(mods.offen, 30) | flag(mods.idxen, 31);
    if cx.inst.format == Format::Mtbuf {
        middle |= u32::from(mods.fmt & 0x7f) << 23;
    }
    let mut high = cx.offset(24, true)? << 8;
    for (operand, desc) in cx.operands() {
        match (desc.field, operand) {
            (Field::Dst | Field::Data, _) => middle |= cx.vgpr(operand)?,
            (Field::Addr, Operand::None) => {}
            (Field::Addr, _) => high |= cx.vgpr(operand)?,
            (Field::Rsrc, _) => middle |= cx.scalar_register(operand)? << 9,
            (Field::Soffset, _) => low |= cx.scalar_register(operand)?,
            _ => return Err(cx.bad(operand)),
        }
    }
    Ok(Encoded::new(&[low, middle, high]))
}
