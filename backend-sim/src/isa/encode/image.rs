//! MIMG, and VIMAGE on gfx12.

use super::super::{Cache, Column, Field, Operand};
use super::memory::Accs;
use super::{Cx, EncodeError, Encoded, flag};

pub(super) fn image(cx: &Cx) -> Result<Encoded, EncodeError> {
    let arch = cx.arch;
    let opcode = cx.own_opcode()?;
    let mods = &cx.inst.mods;
    let image = &mods.image;
    let mut accs = Accs::default();
    let (mut data, mut rsrc, mut scattered) = (0, 0, false);
    let mut vaddr = [0; 4];
    for (operand, desc) in cx.operands() {
        match (desc.field, operand) {
            (Field::Dst | Field::Data, _) => data = accs.data(cx, operand)?,
            (Field::Addr, _) => vaddr[0] = cx.vgpr(operand)?,
            (Field::Rsrc, _) => rsrc = cx.scalar_register(operand)?,
            (Field::Nsa(_), Operand::None) => {}
            (Field::Nsa(n), _) => {
                vaddr[usize::from(n & 3)] = cx.vgpr(operand)?;
                scattered = true;
            }
            _ => return Err(cx.bad(operand)),
        }
    }
    let has = |bit: u8| mods.cache.0 & bit != 0;
    let dmask = u32::from(image.dmask & 15);
    let dim = u32::from(image.dim.unwrap_or(0) & 7);
    if arch.is_gfx12_plus() {
        let low = 0b110100 << 26
            | dmask << 22
            | opcode << 14
            | flag(image.a16, 6)
            | flag(image.d16, 5)
            | flag(image.r128, 4)
            | dim;
        let middle = data
            | rsrc << 9
            | u32::from(mods.cache.scope()) << 18
            | u32::from(mods.cache.temporal_hint()) << 20
            | flag(mods.tfe, 23);
        let [a, b, c, d] = vaddr;
        return Ok(Encoded::new(&[low, middle, a | b << 8 | c << 16 | d << 24]));
    }
    let mut low = 0b111100 << 26 | dmask << 8;
    let mut high = vaddr[0] | data << 8 | rsrc >> 2 << 16;
    match arch.column() {
        Column::Gfx11 => {
            low |= opcode << 18
                | flag(scattered, 0)
                | dim << 2
                | flag(image.unorm, 7)
                | flag(has(Cache::SLC), 12)
                | flag(has(Cache::DLC), 13)
                | flag(has(Cache::GLC), 14)
                | flag(image.r128, 15)
                | flag(image.a16, 16)
                | flag(image.d16, 17);
            high |= flag(mods.tfe, 21) | flag(image.lwe, 22);
        }
        Column::Gfx10 => {
            low |= (opcode & 127) << 18
                | opcode >> 7
                | flag(scattered, 1)
                | dim << 3
                | flag(has(Cache::DLC), 7)
                | flag(image.unorm, 12)
                | flag(has(Cache::GLC), 13)
                | flag(image.r128, 15)
                | flag(mods.tfe, 16)
                | flag(image.lwe, 17)
                | flag(has(Cache::SLC), 25);
            high |= flag(image.a16, 30) | flag(image.d16, 31);
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
            high |= flag(image.d16, 31);
        }
    }
    let rest = vaddr[1] | vaddr[2] << 8 | vaddr[3] << 16;
    Ok(if scattered {
        Encoded::new(&[low, high, rest])
    } else {
        Encoded::new(&[low, high])
    })
}
