//! Hardware registers, as s_getreg and s_setreg see them.
//!
//! The immediate holds the register's number in bits 5:0, the field's offset in 10:6 and its
//! width less one in 15:11. Lowering puts it in `k[1]`, the value to write in source 0.

use super::code::Page;
use super::machine::Machine;
use super::microop::{Flow, MicroOp};
use super::scalars::{EXEC, FLAT_SCRATCH, FLAT_SCRATCH_GFX9, SCC, VCC, XNACK_MASK};

const MODE: u32 = 1;
const STATUS: u32 = 2;
const TRAPSTS: u32 = 3;
const HW_ID: u32 = 4;
const GPR_ALLOC: u32 = 5;
const LDS_ALLOC: u32 = 6;
const IB_STS: u32 = 7;
const SH_MEM_BASES: u32 = 15;
/// FLAT_SCR_LO on GFX10 and GFX11; XCC_ID on gfx940.
const FLAT_SCR_LO: u32 = 20;
const FLAT_SCR_HI: u32 = 21;
const REG_XNACK_MASK: u32 = 22;
const HW_ID1: u32 = 23;
const HW_ID2: u32 = 24;
const SHADER_CYCLES: u32 = 29;
const SHADER_CYCLES_HI: u32 = 30;

/// STATUS as far as a compute wave can tell: SCC, EXECZ, VCCZ, in a work-group, valid.
fn status(m: &Machine<'_>) -> u32 {
    let bit = |at: u32, set: bool| u32::from(set) << at;
    bit(0, m.wave.s[SCC] != 0)
        | bit(9, m.wave.mask(EXEC) == 0)
        | bit(10, m.wave.mask(VCC) == 0)
        | bit(11, true)
        | bit(16, true)
}

fn hw_id(m: &Machine<'_>) -> u32 {
    let p = m.place;
    u32::from(p.slot & 15)
        | u32::from(p.simd & 3) << 4
        | u32::from(p.compute_unit & 15) << 8
        | u32::from(p.shader_array & 1) << 12
        | u32::from(p.shader_engine & 3) << 13
}

fn hw_id1(m: &Machine<'_>) -> u32 {
    let p = m.place;
    u32::from(p.slot & 31)
        | u32::from(p.simd & 3) << 8
        | u32::from(p.compute_unit & 15) << 10
        | u32::from(p.shader_array & 1) << 16
        | u32::from(p.shader_engine & 7) << 18
}

fn read(m: &Machine<'_>, id: u32) -> Option<u32> {
    let gfx9 = m.is_gfx9();
    let gfx12 = m.arch().is_gfx12_plus();
    Some(match id {
        MODE => m.wave.mode,
        STATUS => status(m),
        TRAPSTS => m.wave.trap_status,
        HW_ID if gfx9 => hw_id(m),
        GPR_ALLOC => {
            // Sizes in the granules that the kernel descriptor uses.
            let rows = u32::from(m.wave.rows.vgprs()) + u32::from(m.wave.rows.accs());
            (rows.div_ceil(4).max(1) - 1) << 8
        }
        LDS_ALLOC => ((m.lds.len() as u32).div_ceil(512) & 0x1ff) << 12,
        IB_STS => 0,
        SH_MEM_BASES => {
            (m.apertures.private >> 48) as u32 & 0xffff
                | (m.apertures.shared >> 48 << 16) as u32 & 0xffff_0000
        }
        FLAT_SCR_LO if gfx9 => u32::from(m.place.xcc & 15),
        FLAT_SCR_LO => m.wave.s[FLAT_SCRATCH],
        FLAT_SCR_HI if !gfx9 => m.wave.s[FLAT_SCRATCH + 1],
        REG_XNACK_MASK if !gfx9 => m.wave.s[XNACK_MASK],
        HW_ID1 if !gfx9 => hw_id1(m),
        HW_ID2 if !gfx9 => 0,
        SHADER_CYCLES if gfx12 => m.clock.cycles() as u32,
        SHADER_CYCLES => m.clock.cycles() as u32 & 0xf_ffff,
        SHADER_CYCLES_HI if gfx12 => (m.clock.cycles() >> 32) as u32,
        _ => return None,
    })
}

struct Field {
    id: u32,
    offset: u32,
    mask: u32,
}

fn field(immediate: u64) -> Field {
    let immediate = immediate as u32;
    let width = (immediate >> 11 & 31) + 1;
    Field {
        id: immediate & 63,
        offset: immediate >> 6 & 31,
        mask: if width == 32 {
            u32::MAX
        } else {
            (1 << width) - 1
        },
    }
}

pub(crate) fn getreg(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let field = field(op.k[1]);
    let Some(value) = read(m, field.id) else {
        return m.unsupported(op, page, "s_getreg_b32", "this hardware register");
    };
    m.put32(op.dst, value >> field.offset & field.mask);
    Flow::Next
}

fn write(m: &mut Machine<'_>, op: &MicroOp, page: &Page, value: u32) -> Flow {
    let field = field(op.k[1]);
    let merge = |old: u32| {
        let mask = field.mask << field.offset;
        old & !mask | value << field.offset & mask
    };
    let gfx9 = m.is_gfx9();
    match field.id {
        MODE => {
            let mode = merge(m.wave.mode);
            m.wave.set_mode(mode);
        }
        TRAPSTS => m.wave.trap_status = merge(m.wave.trap_status),
        // SCC and friends are read-only through this register outside a trap handler.
        STATUS => {}
        FLAT_SCR_LO if !gfx9 => m.wave.s[FLAT_SCRATCH] = merge(m.wave.s[FLAT_SCRATCH]),
        FLAT_SCR_HI if !gfx9 => m.wave.s[FLAT_SCRATCH + 1] = merge(m.wave.s[FLAT_SCRATCH + 1]),
        REG_XNACK_MASK if !gfx9 => m.wave.s[XNACK_MASK] = merge(m.wave.s[XNACK_MASK]),
        _ => return m.unsupported(op, page, "s_setreg_b32", "this hardware register"),
    }
    Flow::Next
}

pub(crate) fn setreg(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    let value = m.s32(op, 0);
    write(m, op, page, value)
}

/// The value is the literal, which lowering puts in `k[0]`.
pub(crate) fn setreg_imm(m: &mut Machine<'_>, op: &MicroOp, page: &Page) -> Flow {
    write(m, op, page, op.k[0] as u32)
}

/// FLAT_SCRATCH: the address of the wave's private memory.
pub(crate) fn flat_scratch(m: &Machine<'_>) -> u64 {
    // From gfx940 the register is architected (no SGPR pair shadows it), as on GFX11 and later.
    if m.is_gfx9() && !m.arch().is_gfx942_plus() {
        m.wave.pair(FLAT_SCRATCH_GFX9)
    } else {
        m.wave.pair(FLAT_SCRATCH)
    }
}
