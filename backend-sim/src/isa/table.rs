//! Opcode to operation, per processor and encoding: built from the instruction list at compile time.

use super::op::rows;
use super::row::{Code, Row};
use super::{Arch, Format, Op};

const NONE: u16 = u16::MAX;

/// Opcode tables of one processor.
pub(super) struct Table {
    sop1: [u16; 256],
    sop2: [u16; 128],
    sopk: [u16; 32],
    sopc: [u16; 128],
    sopp: [u16; 128],
    smem: [u16; 256],
    /// VOPC, VOP2, VOP1, VINTRP and VOP3 in the ten bits of VOP3's opcode.
    vop: [u16; 1024],
    /// Beyond 128: the operations behind a prefix of scales.
    vop3p: [u16; 256],
    ds: [u16; 256],
    flat: [u16; 256],
    global: [u16; 256],
    scratch: [u16; 256],
    mubuf: [u16; 256],
    mtbuf: [u16; 256],
    mimg: [u16; 256],
    vinterp: [u16; 128],
    ldsdir: [u16; 4],
    exp: [u16; 1],
}

static TABLES: [Table; Arch::ALL.len()] = {
    let mut tables = [const { Table::empty() }; Arch::ALL.len()];
    let mut i = 0;
    while i < tables.len() {
        tables[i] = Table::build(Arch::ALL[i]);
        i += 1;
    }
    tables
};

/// First VOP3 opcode of the instructions that VOP2 and VOP1 share with VOP3. VOPC's begin at 0.
pub(super) const VOP2_IN_VOP3: u16 = 0x100;

/// As [`VOP2_IN_VOP3`], for VOP1.
pub(super) const fn vop1_in_vop3(arch: Arch) -> u16 {
    if arch.is_gfx9() { 0x140 } else { 0x180 }
}

/// As [`VOP2_IN_VOP3`], for VINTRP.
pub(super) const fn vintrp_in_vop3(arch: Arch) -> u16 {
    if arch.is_gfx9() { 0x270 } else { 0x200 }
}

/// The VOP3 opcode of a row of the VOP lists, if the processor has the row. `SHORT_ONLY` rows get the
/// number that their VOP3 form would have.
pub(super) const fn vop3_opcode(row: &Row, arch: Arch) -> Option<u16> {
    let base = match row.format {
        Format::Vop1 => vop1_in_vop3(arch),
        Format::Vop2 => VOP2_IN_VOP3,
        Format::Vintrp => vintrp_in_vop3(arch),
        _ => 0,
    };
    match row.code(arch) {
        Code::Absent => None,
        Code::Own(code) => Some(base + code),
        Code::Vop3(code) => Some(code),
    }
}

impl Table {
    const fn empty() -> Table {
        Table {
            sop1: [NONE; 256],
            sop2: [NONE; 128],
            sopk: [NONE; 32],
            sopc: [NONE; 128],
            sopp: [NONE; 128],
            smem: [NONE; 256],
            vop: [NONE; 1024],
            vop3p: [NONE; 256],
            ds: [NONE; 256],
            flat: [NONE; 256],
            global: [NONE; 256],
            scratch: [NONE; 256],
            mubuf: [NONE; 256],
            mtbuf: [NONE; 256],
            mimg: [NONE; 256],
            vinterp: [NONE; 128],
            ldsdir: [NONE; 4],
            exp: [NONE; 1],
        }
    }

    const fn build(arch: Arch) -> Table {
        let mut table = Table::empty();
        let rows = rows();
        let mut i = 0;
        while i < rows.len() {
            let row = &rows[i];
            let opcode = match row.format {
                Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp => {
                    vop3_opcode(row, arch)
                }
                _ => match row.code(arch) {
                    Code::Own(code) => Some(code),
                    _ => None,
                },
            };
            if let Some(opcode) = opcode {
                let slots: &mut [u16] = match row.format {
                    Format::Sop1 => &mut table.sop1,
                    Format::Sop2 => &mut table.sop2,
                    Format::Sopk => &mut table.sopk,
                    Format::Sopc => &mut table.sopc,
                    Format::Sopp => &mut table.sopp,
                    Format::Smem => &mut table.smem,
                    Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp => {
                        &mut table.vop
                    }
                    Format::Vop3p => &mut table.vop3p,
                    Format::Ds => &mut table.ds,
                    Format::Flat => &mut table.flat,
                    Format::Global => &mut table.global,
                    Format::Scratch => &mut table.scratch,
                    Format::Mubuf => &mut table.mubuf,
                    Format::Mtbuf => &mut table.mtbuf,
                    Format::Mimg => &mut table.mimg,
                    Format::Vinterp => &mut table.vinterp,
                    Format::Ldsdir => &mut table.ldsdir,
                    Format::Exp => &mut table.exp,
                    Format::Vopd => panic!("VOPD has a list of its own"),
                };
                assert!(slots[opcode as usize] == NONE, "two rows claim one opcode");
                slots[opcode as usize] = i as u16;
            }
            i += 1;
        }
        table
    }
}

/// The operation with the given opcode, on a processor, in an encoding. For the VOP encodings the opcode is
/// the ten-bit one of VOP3.
pub(super) fn lookup(arch: Arch, format: Format, opcode: u32) -> Option<Op> {
    let table = &TABLES[arch as usize];
    let slots: &[u16] = match format {
        Format::Sop1 => &table.sop1,
        Format::Sop2 => &table.sop2,
        Format::Sopk => &table.sopk,
        Format::Sopc => &table.sopc,
        Format::Sopp => &table.sopp,
        Format::Smem => &table.smem,
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vintrp => &table.vop,
        Format::Vop3p => &table.vop3p,
        Format::Ds => &table.ds,
        Format::Flat => &table.flat,
        Format::Global => &table.global,
        Format::Scratch => &table.scratch,
        Format::Mubuf => &table.mubuf,
        Format::Mtbuf => &table.mtbuf,
        Format::Mimg => &table.mimg,
        Format::Vinterp => &table.vinterp,
        Format::Ldsdir => &table.ldsdir,
        Format::Exp => &table.exp,
        Format::Vopd => return None,
    };
    let index = *slots.get(opcode as usize)?;
    Op::ALL.get(index as usize).copied()
}
