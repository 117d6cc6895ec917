//! MIMG, and VIMAGE on gfx12.

use super::super::image::Image;
use super::super::{Cache, Column, Field, Format, Inst, Mods, Op, Operand};
use super::source::{aligned, scalar_register};
use super::{Cx, DecodeError, bit, bits, inst};

/// The encoding's fields.
struct Fields {
    op: Op,
    mods: Mods,
    data: Operand,
    rsrc: u32,
    /// First address register, and the others if they are named one by one.
    vaddr: [u8; 4],
    scattered: bool,
    dwords: u8,
}

fn finish(cx: &Cx, fields: &Fields) -> Result<Inst, DecodeError> {
    let Fields { op, mods, rsrc, .. } = *fields;
    let count = mods.image.address_dwords(op);
    let register =
        scalar_register(cx.arch, rsrc).ok_or(DecodeError::BadOperand { op, code: rsrc })?;
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        *slot = match desc.field {
            Field::Dst | Field::Data => fields.data,
            Field::Addr => Operand::Vgpr(fields.vaddr[0]),
            Field::Rsrc => aligned(register, desc.ty),
            Field::Nsa(n) if fields.scattered && usize::from(n) < count => {
                Operand::Vgpr(fields.vaddr[usize::from(n & 3)])
            }
            _ => Operand::None,
        };
    }
    Ok(inst(op, Format::Mimg, fields.dwords, operands, mods))
}

pub(super) fn mimg(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let arch = cx.arch;
    let column = arch.column();
    let gfx11 = arch.is_gfx11_plus();
    let opcode = match column {
        Column::Gfx11 => bits(word, 18, 8),
        Column::Gfx10 => bits(word, 18, 7) | bits(word, 0, 1) << 7,
        _ => bits(word, 18, 7),
    };
    let op = cx.lookup(Format::Mimg, opcode)?;
    let high = cx.words.at(1)?;
    let acc = arch.is_gfx90a_plus() && bit(word, 16);
    let mut cache = Cache::default();
    cache.set(Cache::GLC, bit(word, if gfx11 { 14 } else { 13 }));
    cache.set(Cache::SLC, bit(word, if gfx11 { 12 } else { 25 }));
    let mut image = Image {
        dmask: bits(word, 8, 4) as u8,
        ..Image::default()
    };
    let (nsa, tfe);
    match column {
        Column::Gfx11 => {
            cache.set(Cache::DLC, bit(word, 13));
            image.dim = Some(bits(word, 2, 3) as u8);
            image.unorm = bit(word, 7);
            (image.r128, image.a16, image.d16) = (bit(word, 15), bit(word, 16), bit(word, 17));
            (tfe, image.lwe) = (bit(high, 21), bit(high, 22));
            nsa = bits(word, 0, 1);
        }
        Column::Gfx10 => {
            cache.set(Cache::DLC, bit(word, 7));
            image.dim = Some(bits(word, 3, 3) as u8);
            image.unorm = bit(word, 12);
            (image.r128, image.a16, image.d16) = (bit(word, 15), bit(high, 30), bit(high, 31));
            (tfe, image.lwe) = (bit(word, 16), bit(word, 17));
            nsa = bits(word, 1, 2);
        }
        _ => {
            cache.set(Cache::SCC, arch.is_gfx90a_plus() && bit(word, 7));
            image.unorm = bit(word, 12);
            (image.da, image.a16, image.d16) = (bit(word, 14), bit(word, 15), bit(high, 31));
            (tfe, image.lwe) = (!arch.is_gfx90a_plus() && bit(word, 16), bit(word, 17));
            nsa = 0;
        }
    }
    let mut vaddr = [bits(high, 0, 8) as u8, 0, 0, 0];
    match nsa {
        0 => {}
        1 => {
            let [a, b, c, _] = cx.words.at(2)?.to_le_bytes();
            vaddr[1..].copy_from_slice(&[a, b, c]);
        }
        // No operation of the list has so many coordinates.
        _ => return Err(DecodeError::UnknownEncoding { arch, word }),
    }
    let number = bits(high, 8, 8) as u8;
    finish(
        cx,
        &Fields {
            op,
            mods: Mods {
                cache,
                tfe,
                image,
                ..Mods::default()
            },
            data: if acc {
                Operand::Acc(number)
            } else {
                Operand::Vgpr(number)
            },
            rsrc: bits(high, 16, 5) << 2,
            vaddr,
            scattered: nsa != 0,
            dwords: 2 + nsa as u8,
        },
    )
}

pub(super) fn vimage(cx: &Cx, word: u32) -> Result<Inst, DecodeError> {
    let op = cx.lookup(Format::Mimg, bits(word, 14, 8))?;
    let (middle, high) = (cx.words.at(1)?, cx.words.at(2)?);
    let image = Image {
        dmask: bits(word, 22, 4) as u8,
        dim: Some(bits(word, 0, 3) as u8),
        r128: bit(word, 4),
        d16: bit(word, 5),
        a16: bit(word, 6),
        ..Image::default()
    };
    finish(
        cx,
        &Fields {
            op,
            mods: Mods {
                cache: Cache((bits(middle, 20, 3) | bits(middle, 18, 2) << 3) as u8),
                tfe: bit(middle, 23),
                image,
                ..Mods::default()
            },
            data: Operand::Vgpr(bits(middle, 0, 8) as u8),
            rsrc: bits(middle, 9, 9),
            vaddr: high.to_le_bytes(),
            scattered: true,
            dwords: 3,
        },
    )
}
