//! MIMG, and VIMAGE and VSAMPLE on gfx12.

use super::super::image::{Image, is_ray, is_vsample};
use super::super::{Cache, Column, Field, Format, Inst, Mods, Op, Operand};
use super::source::{aligned, scalar_register};
use super::{Cx, DecodeError, bit, bits, inst};

/// The encoding's fields.
struct Fields {
    op: Op,
    mods: Mods,
    data: Operand,
    rsrc: u32,
    samp: u32,
    /// First registers of the address's groups, as many as the encoding names.
    vaddr: [u8; 13],
    names: usize,
    dwords: u8,
}

fn finish(cx: &Cx, mut fields: Fields) -> Result<Inst, DecodeError> {
    let op = fields.op;
    let image = &mut fields.mods.image;
    if is_ray(op) {
        *image = Image {
            dmask: 15,
            dim: Some(0),
            unorm: !cx.arch.is_gfx12_plus(),
            r128: true,
            a16: image.a16,
            ..Image::default()
        };
        (fields.mods.cache, fields.mods.tfe) = (Cache::default(), false);
    }
    if fields.names > 1 {
        image.groups = image
            .grouped(cx.arch, op, fields.names)
            .ok_or(DecodeError::NoSuchForm {
                op,
                form: "shorter NSA",
            })?;
        for (to, from) in image
            .further
            .iter_mut()
            .zip(&fields.vaddr[1..])
            .take(usize::from(image.groups).saturating_sub(1))
        {
            *to = *from;
        }
    }
    let mut operands = [Operand::None; 8];
    for (slot, desc) in operands.iter_mut().zip(op.row().operands()) {
        let scalar = |code: u32| {
            scalar_register(cx.arch, code)
                .map(|register| aligned(register, desc.ty))
                .ok_or(DecodeError::BadOperand { op, code })
        };
        *slot = match desc.field {
            Field::Dst | Field::Data => fields.data,
            Field::Addr => Operand::Vgpr(fields.vaddr[0]),
            Field::Rsrc => scalar(fields.rsrc)?,
            Field::Samp => scalar(fields.samp)?,
            _ => Operand::None,
        };
    }
    Ok(inst(op, Format::Mimg, fields.dwords, operands, fields.mods))
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
    let (nsa, tfe, samp);
    match column {
        Column::Gfx11 => {
            cache.set(Cache::DLC, bit(word, 13));
            image.dim = Some(bits(word, 2, 3) as u8);
            image.unorm = bit(word, 7);
            (image.r128, image.a16, image.d16) = (bit(word, 15), bit(word, 16), bit(word, 17));
            (tfe, image.lwe) = (bit(high, 21), bit(high, 22));
            nsa = bits(word, 0, 1);
            samp = bits(high, 26, 5);
        }
        Column::Gfx10 => {
            cache.set(Cache::DLC, bit(word, 7));
            image.dim = Some(bits(word, 3, 3) as u8);
            image.unorm = bit(word, 12);
            (image.r128, image.a16, image.d16) = (bit(word, 15), bit(high, 30), bit(high, 31));
            (tfe, image.lwe) = (bit(word, 16), bit(word, 17));
            nsa = bits(word, 1, 2);
            samp = bits(high, 21, 5);
        }
        _ => {
            cache.set(Cache::SCC, arch.is_gfx90a_plus() && bit(word, 7));
            image.unorm = bit(word, 12);
            (image.da, image.a16, image.d16) = (bit(word, 14), bit(word, 15), bit(high, 31));
            (tfe, image.lwe) = (!arch.is_gfx90a_plus() && bit(word, 16), bit(word, 17));
            nsa = 0;
            samp = bits(high, 21, 5);
        }
    }
    let mut vaddr = [0; 13];
    vaddr[0] = bits(high, 0, 8) as u8;
    for (dword, names) in (0..nsa as usize).zip(vaddr[1..].chunks_exact_mut(4)) {
        names.copy_from_slice(&cx.words.at(2 + dword)?.to_le_bytes());
    }
    let number = bits(high, 8, 8) as u8;
    finish(
        cx,
        Fields {
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
            samp: samp << 2,
            vaddr,
            names: 1 + 4 * nsa as usize,
            dwords: 2 + nsa as u8,
        },
    )
}

/// VIMAGE, or VSAMPLE.
pub(super) fn gfx12(cx: &Cx, word: u32, sampled: bool) -> Result<Inst, DecodeError> {
    let opcode = bits(word, 14, 8);
    let op = cx.lookup(Format::Mimg, opcode)?;
    if is_vsample(op) != sampled {
        return Err(DecodeError::UnknownOpcode {
            arch: cx.arch,
            format: Format::Mimg,
            opcode,
        });
    }
    let (middle, high) = (cx.words.at(1)?, cx.words.at(2)?);
    let image = Image {
        dmask: bits(word, 22, 4) as u8,
        dim: Some(bits(word, 0, 3) as u8),
        r128: bit(word, 4),
        d16: bit(word, 5),
        a16: bit(word, 6),
        unorm: sampled && bit(word, 13),
        lwe: sampled && bit(middle, 8),
        ..Image::default()
    };
    let mut vaddr = [0; 13];
    vaddr[..4].copy_from_slice(&high.to_le_bytes());
    vaddr[4] = if sampled {
        0
    } else {
        bits(middle, 24, 8) as u8
    };
    finish(
        cx,
        Fields {
            op,
            mods: Mods {
                cache: Cache((bits(middle, 20, 3) | bits(middle, 18, 2) << 3) as u8),
                tfe: if sampled {
                    bit(word, 3)
                } else {
                    bit(middle, 23)
                },
                image,
                ..Mods::default()
            },
            data: Operand::Vgpr(bits(middle, 0, 8) as u8),
            rsrc: bits(middle, 9, 9),
            samp: bits(middle, 23, 9),
            vaddr,
            names: if sampled { 4 } else { 5 },
            dwords: 3,
        },
    )
}
