//! Hardware registers, as s_getreg and s_setreg see them.
//!
//! The immediate holds the register's number in bits 5:0, the field's offset in 10:6 and its
//! width less one in 15:11. Lowering puts it in `k[1]`, the value to write in source 0.

use super::code::Page;
use super::machine::Machine;
use super::microop::{Flow, MicroOp};
use super::scalars::{EXEC, FLAT_SCRATCH, FLAT_SCRATCH_GFX9, SCC, VCC, XNACK_MASK};
use crate::isa::Arch;

const MODE: u32 = 1;
const STATUS: u32 = 2;
const TRAPSTS: u32 = 3;
const HW_ID: u32 = 4;
/// On gfx12, where HW_ID was.
const STATE_PRIV: u32 = 4;
const GPR_ALLOC: u32 = 5;
const LDS_ALLOC: u32 = 6;
const SH_MEM_BASES: u32 = 15;
/// The trap handler's address and that of its memory, up to gfx10; both in units of 256 bytes.
const TBA_LO: u32 = 16;
const TBA_HI: u32 = 17;
const TMA_LO: u32 = 18;
const TMA_HI: u32 = 19;
/// On gfx12, where TBA_HI was.
const EXCP_FLAG_PRIV: u32 = 17;
/// Likewise where TMA_LO and TMA_HI were: floating-point exceptions that were met, and those that trap.
const EXCP_FLAG_USER: u32 = 18;
const TRAP_CTRL: u32 = 19;
/// FLAT_SCR_LO on GFX10 and GFX11; XCC_ID on gfx940.
const FLAT_SCR_LO: u32 = 20;
const FLAT_SCR_HI: u32 = 21;
const REG_XNACK_MASK: u32 = 22;
const HW_ID1: u32 = 23;
const SHADER_CYCLES: u32 = 29;
const SHADER_CYCLES_HI: u32 = 30;

/// STATUS as far as a compute wave can tell: SCC, EXECZ, VCCZ, in a work-group, valid.
fn status(m: &Machine<'_>) -> u32 {
    let bit = |at: u32, set: bool| u32::from(set) << at;
    bit(0, m.wave.s[SCC] != 0)
        | bit(5, m.wave.privileged)
        | bit(6, m.shared.trap_handler() != 0)
        | bit(9, m.wave.mask(EXEC) == 0)
        | bit(10, m.wave.mask(VCC) == 0)
        | bit(11, true)
        | bit(13, m.wave.halted)
        | bit(16, true)
}

/// What the first level of trap handlers saves: STATUS, or what gfx12 has in its place.
pub(super) fn status_word(m: &Machine<'_>) -> u32 {
    if m.arch().is_gfx12_plus() {
        state_priv(m)
    } else {
        status(m)
    }
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

/// STATE_PRIV of gfx12: SCC in bit 9, HALT in bit 14.
fn state_priv(m: &Machine<'_>) -> u32 {
    m.wave.s[SCC] << 9 | u32::from(m.wave.halted) << 14
}

/// What a register reads as; zero where there is none, as the manuals say.
fn read(m: &Machine<'_>, id: u32) -> u32 {
    let gfx9 = m.is_gfx9();
    let gfx12 = m.arch().is_gfx12_plus();
    let old = !m.arch().is_gfx11_plus();
    match id {
        MODE => m.wave.mode,
        STATUS => status(m),
        TRAPSTS if !gfx12 => m.wave.trap_status,
        STATE_PRIV if gfx12 => state_priv(m),
        HW_ID if gfx9 => hw_id(m),
        GPR_ALLOC => {
            // Sizes in the granules that the kernel descriptor uses.
            let rows = u32::from(m.wave.rows.vgprs()) + u32::from(m.wave.rows.accs());
            (rows.div_ceil(4).max(1) - 1) << 8
        }
        LDS_ALLOC => ((m.lds.len() as u32).div_ceil(512) & 0x1ff) << 12,
        SH_MEM_BASES if !gfx12 => {
            (m.apertures.private >> 48) as u32 & 0xffff
                | (m.apertures.shared >> 48 << 16) as u32 & 0xffff_0000
        }
        TBA_LO if old => (m.shared.trap_handler() >> 8) as u32,
        TBA_HI if old => (m.shared.trap_handler() >> 40) as u32,
        TMA_LO if old => (m.shared.trap_handler_memory() >> 8) as u32,
        TMA_HI if old => (m.shared.trap_handler_memory() >> 40) as u32,
        EXCP_FLAG_PRIV if gfx12 => m.wave.trap_status,
        EXCP_FLAG_USER if gfx12 => m.wave.excp_flag_user,
        TRAP_CTRL if gfx12 => m.wave.trap_ctrl,
        FLAT_SCR_LO if gfx9 && m.arch().is_gfx942_plus() => u32::from(m.place.xcc & 15),
        FLAT_SCR_LO if !gfx9 => m.wave.s[FLAT_SCRATCH],
        FLAT_SCR_HI if !gfx9 => m.wave.s[FLAT_SCRATCH + 1],
        REG_XNACK_MASK if m.arch() == Arch::Gfx1030 => m.wave.s[XNACK_MASK],
        HW_ID1 if !gfx9 => hw_id1(m),
        SHADER_CYCLES if gfx12 => m.clock.cycles() as u32,
        SHADER_CYCLES if !gfx9 => m.clock.cycles() as u32 & 0xf_ffff,
        SHADER_CYCLES_HI if gfx12 => (m.clock.cycles() >> 32) as u32,
        // Counters of what is in flight, snapshots of performance counters, queue and process numbers: nothing is in
        // flight between two instructions, nobody takes snapshots, and there is one process.
        _ => 0,
    }
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

pub(crate) fn getreg(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let field = field(op.k[1]);
    let value = read(m, field.id);
    m.put32(op.dst, value >> field.offset & field.mask);
    Flow::Next
}

/// Writes a field. Registers that a wave cannot write stay as they are, as the manuals say; the trap handler may
/// write more of them.
fn write(m: &mut Machine<'_>, op: &MicroOp, value: u32) {
    let field = field(op.k[1]);
    let merge = |old: u32| {
        let mask = field.mask << field.offset;
        old & !mask | value << field.offset & mask
    };
    let gfx9 = m.is_gfx9();
    let gfx12 = m.arch().is_gfx12_plus();
    match field.id {
        MODE => {
            let mode = merge(m.wave.mode);
            m.wave.set_mode(mode);
        }
        TRAPSTS if !gfx12 => m.wave.trap_status = merge(m.wave.trap_status),
        EXCP_FLAG_PRIV if gfx12 => m.wave.trap_status = merge(m.wave.trap_status),
        EXCP_FLAG_USER if gfx12 => m.wave.excp_flag_user = merge(m.wave.excp_flag_user),
        TRAP_CTRL if gfx12 => m.wave.trap_ctrl = merge(m.wave.trap_ctrl),
        STATUS if !gfx12 && m.wave.privileged => {
            let status = merge(status(m));
            m.set_scc(status & 1 != 0);
            // Takes effect when the handler returns.
            m.wave.halted = status >> 13 & 1 != 0;
        }
        STATE_PRIV if gfx12 && m.wave.privileged => {
            let state = merge(state_priv(m));
            m.set_scc(state >> 9 & 1 != 0);
            m.wave.halted = state >> 14 & 1 != 0;
        }
        FLAT_SCR_LO if !gfx9 => m.wave.s[FLAT_SCRATCH] = merge(m.wave.s[FLAT_SCRATCH]),
        FLAT_SCR_HI if !gfx9 => m.wave.s[FLAT_SCRATCH + 1] = merge(m.wave.s[FLAT_SCRATCH + 1]),
        REG_XNACK_MASK if !gfx9 => m.wave.s[XNACK_MASK] = merge(m.wave.s[XNACK_MASK]),
        _ => {}
    }
}

/// Where floating-point exceptions trap from now on, the slow loop takes over: it alone looks for them.
fn written(m: &Machine<'_>) -> Flow {
    if m.wave.exceptions_enabled() != 0 {
        Flow::Indexed
    } else {
        Flow::Next
    }
}

pub(crate) fn setreg(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    let value = m.s32(op, 0);
    write(m, op, value);
    written(m)
}

/// The value is the literal, which lowering puts in `k[0]`.
pub(crate) fn setreg_imm(m: &mut Machine<'_>, op: &MicroOp, _: &Page) -> Flow {
    write(m, op, op.k[0] as u32);
    written(m)
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
