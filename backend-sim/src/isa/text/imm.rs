//! Immediates with a meaning of their own: counters, messages, hardware registers, delays, buffer formats.

use core::fmt::{self, Formatter};

use super::super::{Arch, Column, NumberFormat};

/// `s_waitcnt`: only counters that are waited for are written, all of them if there is none.
pub(super) fn waitcnt(f: &mut Formatter<'_>, arch: Arch, value: u32) -> fmt::Result {
    let (vm, exp, lgkm, vm_max, lgkm_max);
    if arch.is_gfx11_plus() {
        (vm, exp, lgkm) = (value >> 10 & 63, value & 7, value >> 4 & 63);
        (vm_max, lgkm_max) = (63, 63);
    } else {
        (vm, exp) = ((value & 15) | (value >> 14 & 3) << 4, value >> 4 & 7);
        (vm_max, lgkm_max) = (63, if arch.is_gfx10_plus() { 63 } else { 15 });
        lgkm = value >> 8 & lgkm_max;
    }
    let none = vm == vm_max && exp == 7 && lgkm == lgkm_max;
    let mut separator = "";
    for (name, count, max) in [
        ("vmcnt", vm, vm_max),
        ("expcnt", exp, 7),
        ("lgkmcnt", lgkm, lgkm_max),
    ] {
        if none || count != max {
            write!(f, "{separator}{name}({count})")?;
            separator = " ";
        }
    }
    Ok(())
}

/// `s_sendmsg` and its kin. `returning` messages have numbers of their own.
pub(super) fn message(
    f: &mut Formatter<'_>,
    arch: Arch,
    value: u32,
    returning: bool,
) -> fmt::Result {
    let gfx11 = arch.is_gfx11_plus();
    let id = value & if gfx11 { 0xff } else { 0xf };
    let (op, stream) = if gfx11 {
        (0, 0)
    } else {
        (value >> 4 & 7, value >> 8 & 3)
    };
    let rest = value & !(if gfx11 { 0xff } else { 0x37f });
    let name = message_name(arch, id, returning);
    if rest != 0 && !(gfx11 && name.is_some()) {
        return write!(f, "{value}");
    }
    const GS_OPS: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    // The third one acknowledged host traps on GFX8.
    const SYSTEM_OPS: [Option<&str>; 4] = [
        Some("SYSMSG_OP_ECC_ERR_INTERRUPT"),
        Some("SYSMSG_OP_REG_RD"),
        None,
        Some("SYSMSG_OP_TTRACE_PC"),
    ];
    match (id, op, stream) {
        (2 | 3, 1..=3, _) if !gfx11 => {
            write!(
                f,
                "sendmsg({}, {}, {stream})",
                ["MSG_GS", "MSG_GS_DONE"][id as usize - 2],
                GS_OPS[op as usize]
            )
        }
        (3, 0, 0) if !gfx11 => f.write_str("sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
        (15, 1..=4, 0) if !gfx11 => match SYSTEM_OPS[op as usize - 1] {
            Some(name) => write!(f, "sendmsg(MSG_SYSMSG, {name})"),
            None => write!(f, "sendmsg(15, {op}, 0)"),
        },
        (_, 0, 0) => match name {
            Some(name) => write!(f, "sendmsg({name})"),
            None => write!(f, "sendmsg({id}, 0, 0)"),
        },
        _ => write!(f, "sendmsg({id}, {op}, {stream})"),
    }
}

fn message_name(arch: Arch, id: u32, returning: bool) -> Option<&'static str> {
    let before_gfx12 = !arch.is_gfx12_plus();
    Some(match (id, arch.is_gfx11_plus()) {
        (1, _) => "MSG_INTERRUPT",
        (2, true) => "MSG_HS_TESSFACTOR",
        (3, true) => "MSG_DEALLOC_VGPRS",
        (4, false) => "MSG_SAVEWAVE",
        (5, _) if before_gfx12 => "MSG_STALL_WAVE_GEN",
        (6, _) if before_gfx12 => "MSG_HALT_WAVES",
        (7, false) => "MSG_ORDERED_PS_DONE",
        (8, false) => "MSG_EARLY_PRIM_DEALLOC",
        (9, _) => "MSG_GS_ALLOC_REQ",
        (10, false) => "MSG_GET_DOORBELL",
        (11, false) if arch.column() == Column::Gfx10 => "MSG_GET_DDID",
        (128, true) => "MSG_RTN_GET_DOORBELL",
        (129, true) => "MSG_RTN_GET_DDID",
        (130, true) => "MSG_RTN_GET_TMA",
        (131, true) => "MSG_RTN_GET_REALTIME",
        (132, true) => "MSG_RTN_SAVE_WAVE",
        (133, true) => "MSG_RTN_GET_TBA",
        (134, true) => "MSG_RTN_GET_TBA_TO_PC",
        (135, true) if !before_gfx12 => "MSG_RTN_GET_SE_AID_ID",
        _ => return None,
    })
    .filter(|_| returning || id < 128 || arch.is_gfx11_plus())
}

/// A hardware register: number, first bit and count of bits.
pub(super) fn hwreg(f: &mut Formatter<'_>, arch: Arch, value: u32) -> fmt::Result {
    let (id, offset, size) = (value & 63, value >> 6 & 31, (value >> 11 & 31) + 1);
    match hwreg_name(arch, id) {
        Some(name) => write!(f, "hwreg({name}")?,
        None => write!(f, "hwreg({id}")?,
    }
    if offset != 0 || size != 32 {
        write!(f, ", {offset}, {size}")?;
    }
    f.write_str(")")
}

fn hwreg_name(arch: Arch, id: u32) -> Option<&'static str> {
    let column = arch.column();
    let gfx9 = arch.is_gfx9();
    let gfx12 = arch.is_gfx12_plus();
    let gfx10 = column == Column::Gfx10;
    let gfx11 = column == Column::Gfx11;
    Some(match id {
        1 if gfx12 => "HW_REG_WAVE_MODE",
        2 if gfx12 => "HW_REG_WAVE_STATUS",
        5 if gfx12 => "HW_REG_WAVE_GPR_ALLOC",
        6 if gfx12 => "HW_REG_WAVE_LDS_ALLOC",
        23 if gfx12 => "HW_REG_WAVE_HW_ID1",
        24 if gfx12 => "HW_REG_WAVE_HW_ID2",
        26 if gfx12 => "HW_REG_WAVE_SCHED_MODE",
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 if !gfx12 => "HW_REG_TRAPSTS",
        4 if gfx9 => "HW_REG_HW_ID",
        4 if gfx12 => "HW_REG_WAVE_STATE_PRIV",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        10 if gfx12 => "HW_REG_PERF_SNAPSHOT_DATA",
        11 if gfx12 => "HW_REG_PERF_SNAPSHOT_PC_LO",
        12 if gfx12 => "HW_REG_PERF_SNAPSHOT_PC_HI",
        15 if gfx12 => "HW_REG_PERF_SNAPSHOT_DATA1",
        15 => "HW_REG_SH_MEM_BASES",
        16 if gfx12 => "HW_REG_PERF_SNAPSHOT_DATA2",
        17 if gfx12 => "HW_REG_WAVE_EXCP_FLAG_PRIV",
        18 if gfx12 => "HW_REG_WAVE_EXCP_FLAG_USER",
        19 if gfx12 => "HW_REG_WAVE_TRAP_CTRL",
        20 if gfx12 => "HW_REG_WAVE_SCRATCH_BASE_LO",
        21 if gfx12 => "HW_REG_WAVE_SCRATCH_BASE_HI",
        29 if gfx12 => "HW_REG_SHADER_CYCLES_LO",
        30 if gfx12 => "HW_REG_SHADER_CYCLES_HI",
        31 if gfx12 => "HW_REG_WAVE_DVGPR_ALLOC_LO",
        32 if gfx12 => "HW_REG_WAVE_DVGPR_ALLOC_HI",
        16 if gfx9 || gfx10 => "HW_REG_TBA_LO",
        17 if gfx9 || gfx10 => "HW_REG_TBA_HI",
        18 if gfx9 || gfx10 => "HW_REG_TMA_LO",
        19 if gfx9 || gfx10 => "HW_REG_TMA_HI",
        18 if gfx11 => "HW_REG_PERF_SNAPSHOT_PC_LO",
        19 if gfx11 => "HW_REG_PERF_SNAPSHOT_PC_HI",
        20 if arch.is_gfx942_plus() => "HW_REG_XCC_ID",
        21 if arch.is_gfx942_plus() => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        22 if arch.is_gfx942_plus() => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        23 if arch.is_gfx942_plus() => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        24 if arch.is_gfx942_plus() => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
        20 if gfx10 || gfx11 => "HW_REG_FLAT_SCR_LO",
        21 if gfx10 || gfx11 => "HW_REG_FLAT_SCR_HI",
        23 if !gfx9 => "HW_REG_HW_ID1",
        24 if !gfx9 => "HW_REG_HW_ID2",
        25 if gfx10 => "HW_REG_POPS_PACKER",
        27 if gfx11 => "HW_REG_PERF_SNAPSHOT_DATA",
        29 if gfx10 || gfx11 => "HW_REG_SHADER_CYCLES",
        _ => return None,
    })
}

/// `s_set_gpr_idx_mode`.
pub(super) fn gpr_index(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    if value > 15 {
        return write!(f, "{value:#x}");
    }
    f.write_str("gpr_idx(")?;
    let mut separator = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
        if value >> bit & 1 == 1 {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
    }
    f.write_str(")")
}

/// `s_waitcnt_depctr`: only counters that are waited for, all of them if there is none.
pub(super) fn depctr(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    const COUNTERS: [(&str, u32, u32); 7] = [
        ("depctr_hold_cnt", 7, 1),
        ("depctr_sa_sdst", 0, 1),
        ("depctr_va_vdst", 12, 15),
        ("depctr_va_sdst", 9, 7),
        ("depctr_va_ssrc", 8, 1),
        ("depctr_va_vcc", 1, 1),
        ("depctr_vm_vsrc", 2, 7),
    ];
    const KNOWN: u32 = 0xff9f;
    if value & !KNOWN != 0 {
        return write!(f, "{value:#x}");
    }
    let mut separator = "";
    for (name, shift, max) in COUNTERS {
        let count = value >> shift & max;
        if value == KNOWN || count != max {
            write!(f, "{separator}{name}({count})")?;
            separator = " ";
        }
    }
    Ok(())
}

/// `s_delay_alu`.
pub(super) fn delay(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    const DISTANCES: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let name = |names: &[&'static str], invalid: &'static str, value: u32| {
        names.get(value as usize).copied().unwrap_or(invalid)
    };
    let (first, skip, second) = (value & 15, value >> 4 & 7, value >> 7 & 15);
    let mut separator = "";
    for (what, value, name) in [
        (
            "instid0",
            first,
            name(&DISTANCES, "/* invalid instid value */", first),
        ),
        (
            "instskip",
            skip,
            name(&SKIPS, "/* invalid instskip value */", skip),
        ),
        (
            "instid1",
            second,
            name(&DISTANCES, "/* invalid instid value */", second),
        ),
    ] {
        if value != 0 {
            write!(f, "{separator}{what}({name})")?;
            separator = " | ";
        }
    }
    if separator.is_empty() {
        f.write_str("0")
    } else {
        Ok(())
    }
}

/// `s_version`: a generation, and what the code relies on. LLVM writes it as an expression.
pub(super) fn version(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    const FLAGS: [(u32, &str); 3] = [
        (1 << 13, "UC_VERSION_W64_BIT"),
        (1 << 14, "UC_VERSION_W32_BIT"),
        (1 << 15, "UC_VERSION_MDP_BIT"),
    ];
    if value & 0x1f00 != 0 {
        return write!(f, "{value:#x}");
    }
    let flags = FLAGS.iter().filter(|(bit, _)| value & bit != 0);
    for _ in 1..flags.clone().count() {
        f.write_str("(")?;
    }
    match value & 0xff {
        0 => f.write_str("UC_VERSION_GFX7")?,
        4 => f.write_str("UC_VERSION_GFX10")?,
        6 => f.write_str("UC_VERSION_GFX11")?,
        9 => f.write_str("UC_VERSION_GFX12")?,
        generation => write!(f, "{generation}")?,
    }
    for (index, (_, name)) in flags.enumerate() {
        write!(f, "{}|{name}", if index == 0 { "" } else { ")" })?;
    }
    Ok(())
}

/// The offset of `ds_swizzle_b32`.
pub(super) fn swizzle(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    if value == 0 {
        return Ok(());
    }
    f.write_str(" offset:")?;
    if value >> 8 == 0x80 {
        let lane = |at: u32| value >> at & 3;
        return write!(
            f,
            "swizzle(QUAD_PERM,{},{},{},{})",
            lane(0),
            lane(2),
            lane(4),
            lane(6)
        );
    }
    if value >> 13 == 7 {
        return write!(f, "swizzle(FFT,{})", value & 31);
    }
    if value >> 14 == 3 {
        return write!(f, "swizzle(ROTATE,{},{})", value >> 10 & 1, value >> 5 & 31);
    }
    if value >> 15 != 0 {
        return write!(f, "{value}");
    }
    let (and, or, xor) = (value & 31, value >> 5 & 31, value >> 10 & 31);
    if and == 31 && or == 0 && xor.is_power_of_two() {
        return write!(f, "swizzle(SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor != 0 && (xor + 1).is_power_of_two() {
        return write!(f, "swizzle(REVERSE,{})", xor + 1);
    }
    // A group of lanes reads one of them: the bits kept say how large the group is.
    let group = 32 - and;
    if xor == 0 && group > 1 && group.is_power_of_two() && or < group {
        return write!(f, "swizzle(BROADCAST,{group},{or})");
    }
    f.write_str("swizzle(BITMASK_PERM,\"")?;
    for bit in (0..5).rev() {
        let at = |mask: u32| mask >> bit & 1 == 1;
        // What a lane's bit becomes if it was 0, and if it was 1.
        let zero = at(or) ^ at(xor);
        let one = (at(and) | at(or)) ^ at(xor);
        f.write_str(match (zero, one) {
            (false, false) => "0",
            (true, true) => "1",
            (false, true) => "p",
            (true, false) => "i",
        })?;
    }
    f.write_str("\")")
}

/// The format of a typed buffer access, as `Mods::fmt` holds it.
pub(super) fn buffer_format(f: &mut Formatter<'_>, arch: Arch, format: u8) -> fmt::Result {
    if format == 1 {
        return Ok(());
    }
    let Some((data, number)) = super::super::buffer_format(arch, format) else {
        return write!(f, " format:{format}");
    };
    let (data, default) = (data.name(), number == NumberFormat::Unorm);
    let number = number.name();
    match (arch.is_gfx9(), format & 15) {
        (true, 1) => write!(f, " format:[BUF_NUM_FORMAT_{number}]"),
        (true, _) if default => write!(f, " format:[BUF_DATA_FORMAT_{data}]"),
        (true, _) => write!(
            f,
            " format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}]"
        ),
        (false, _) if format == 0 => write!(f, " format:[BUF_FMT_INVALID]"),
        (false, _) => write!(f, " format:[BUF_FMT_{data}_{number}]"),
    }
}

/// An attribute and its component.
pub(super) fn attribute(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    let component = ["x", "y", "z", "w"][(value >> 6 & 3) as usize];
    write!(f, "attr{}.{component}", value & 63)
}

/// Which of a triangle's values an interpolation moves.
pub(super) fn parameter(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    match value {
        0 => f.write_str("p10"),
        1 => f.write_str("p20"),
        2 => f.write_str("p0"),
        other => write!(f, "invalid_param_{other}"),
    }
}

/// What is exported to.
pub(super) fn target(f: &mut Formatter<'_>, arch: Arch, value: u32) -> fmt::Result {
    let gfx11 = arch.is_gfx11_plus();
    match value {
        0..=7 => write!(f, "mrt{value}"),
        8 => f.write_str("mrtz"),
        9 if !gfx11 => f.write_str("null"),
        12..=15 => write!(f, "pos{}", value - 12),
        16 if arch.is_gfx10_plus() => f.write_str("pos4"),
        20 if arch.is_gfx10_plus() => f.write_str("prim"),
        21 | 22 if gfx11 => write!(f, "dual_src_blend{}", value - 21),
        32..=63 if !gfx11 => write!(f, "param{}", value - 32),
        _ => write!(f, "invalid_target_{value}"),
    }
}
