//! MIMG, and VIMAGE and VSAMPLE on gfx12.

use super::super::image::is_vsample;
use super::super::{Cache, Column, Field};
use super::memory::Accs;
use super::{Cx, EncodeError, Encoded, flag};

pub(super) fn image(cx: &Cx) -> Result<Encoded, EncodeError> {
    let arch = cx.arch;
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let image = &mods.image;
    let mut accs = Accs::default();
    let (mut data, mut rsrc, mut samp) = (0, 0, 0);
    let mut vaddr = [0; 13];
    for (to, from) in vaddr[1..].iter_mut().zip(image.further) {
        *to = u32::from(from);
    }
    for (operand, desc) in cx.operands() {
        match (desc.field, operand) {
            (Field::Dst | Field::Data, _) => data = accs.data(cx, operand)?,
            (Field::Addr, _) => vaddr[0] = cx.vgpr(operand)?,
            (Field::Rsrc, _) => rsrc = cx.scalar_register(operand)?,
            (Field::Samp, _) => samp = cx.scalar_register(operand)?,
            _ => return Err(cx.bad(operand)),
        }
    }
    let groups = usize::from(image.groups);
    if groups > vaddr.len() {
        return Err(cx.bad_modifier());
    }
    let has = |bit: u8| mods.cache.0 & bit != 0;
    let dmask = u32::from(image.dmask & 15);
    let dim = u32::from(image.dim.unwrap_or(0) & 7);
    if arch.is_gfx12_plus() {
        let sampled = is_vsample(cx.inst.op);
        let encoding = if sampled { 0b111001 } else { 0b110100 };
        let low = encoding << 26
            | dmask << 22
            | opcode << 14
            | flag(sampled && image.unorm, 13)
            | flag(image.a16, 6)
            | flag(image.d16, 5)
            | flag(image.r128, 4)
            | flag(sampled && mods.tfe, 3)
            | dim;
        let [a, b, c, d, e, ..] = vaddr;
        let middle = data
            | flag(sampled && image.lwe, 8)
            | rsrc << 9
            | u32::from(mods.cache.scope()) << 18
            | u32::from(mods.cache.temporal_hint()) << 20
            | if sampled {
                samp << 23
            } else {
                flag(mods.tfe, 23) | e << 24
            };
        return Ok(Encoded::new(&[low, middle, a | b << 8 | c << 16 | d << 24]));
    }
    let dwords = groups.saturating_sub(1).div_ceil(4) as u32;
    let mut low = 0b111100 << 26 | dmask << 8;
    let mut high = vaddr[0] | data << 8 | rsrc >> 2 << 16;
    match arch.column() {
        Column::Gfx11 => {
            low |= opcode << 18
                | dwords & 1
                | dim << 2
                | flag(image.unorm, 7)
                | flag(has(Cache::SLC), 12)
                | flag(has(Cache::DLC), 13)
                | flag(has(Cache::GLC), 14)
                | flag(image.r128, 15)
                | flag(image.a16, 16)
                | flag(image.d16, 17);
            high |= flag(mods.tfe, 21) | flag(image.lwe, 22) | samp >> 2 << 26;
        }
        Column::Gfx10 => {
            low |= (opcode & 127) << 18
                | opcode >> 7
                | (dwords & 3) << 1
                | dim << 3
                | flag(has(Cache::DLC), 7)
                | flag(image.unorm, 12)
                | flag(has(Cache::GLC), 13)
                | flag(image.r128, 15)
                | flag(mods.tfe, 16)
                | flag(image.lwe, 17)
                | flag(has(Cache::SLC), 25);
            high |= flag(image.a16, 30) | flag(image.d16, 31) | samp >> 2 << 21;
        }
        _ => {
            low |= opcode << 18
                | flag(has(Cache::SCC) && arch.is_gfx90a_plus(), 7)
                | flag(image.unorm, 12)
                | flag(has(Cache::GLC), 13)
                | flag(image.da, 14)
                | flag(image.a16, 15)
                | flag(mods.tfe || accs.acc, 16)
                | flag(image.lwe, 17)
                | flag(has(Cache::SLC), 25);
            high |= flag(image.d16, 31) | samp >> 2 << 21;
        }
    }
    let mut encoded = Encoded::new(&[low, high]);
    for names in vaddr[1..].chunks_exact(4).take(dwords as usize) {
        encoded.push(names[0] | names[1] << 8 | names[2] << 16 | names[3] << 24);
    }
    Ok(encoded)
}
