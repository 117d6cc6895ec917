//! Traps and their handler, operands that are values of the moment, forks, and what else governs control flow.

use super::bed::{Bed, assemble};
use rukh_backend_sim::exec::{Exit, FaultKind};
use rukh_backend_sim::isa::Arch;
use rukh_backend_sim::mem::Rights;

const ALL: [Arch; 5] = [
    Arch::Gfx900,
    Arch::Gfx90a,
    Arch::Gfx1030,
    Arch::Gfx1100,
    Arch::Gfx1201,
];

/// Installs a handler.
fn handler(bed: &Bed, arch: Arch, source: &str) -> u64 {
    let lanes = if arch < Arch::Gfx1030 { 64 } else { 32 };
    let at = bed.allocate_with(1, Rights::READ | Rights::EXECUTE);
    bed.write(at, &assemble(arch, lanes, source));
    bed.shared.set_trap_handler(at, 0x1234_5600);
    at
}

/// Past the s_trap: the handler gets its own address.
const SKIP: &str = "s_and_b32 ttmp1, ttmp1, 0xffff\ns_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\ns_rfe_b64 ttmp[0:1]";

#[test]
fn a_trap_runs_the_handler_with_its_number_and_address() {
    for arch in ALL {
        let mut bed = Bed::of(arch);
        handler(
            &bed,
            arch,
            &format!("s_mov_b32 s10, ttmp0\ns_mov_b32 s11, ttmp1\n{SKIP}"),
        );
        let at = bed.load("s_mov_b32 s4, 1\ns_trap 5\ns_mov_b32 s5, 2");
        assert!(matches!(bed.resume(), Exit::Ended), "{arch}");
        let pc = at + 4;
        let number = if arch == Arch::Gfx1201 {
            5 << 28
        } else {
            5 << 16
        };
        assert_eq!(bed.wave.sgpr(10), pc as u32, "{arch}");
        assert_eq!(
            bed.wave.sgpr(11),
            (pc >> 32) as u32 & 0xffff | number,
            "{arch}"
        );
        assert_eq!((bed.wave.sgpr(4), bed.wave.sgpr(5)), (1, 2), "{arch}");
    }
}

#[test]
fn the_handler_is_privileged_and_knows_where_its_memory_is() {
    for (arch, source) in [
        (
            Arch::Gfx90a,
            "s_getreg_b32 s10, hwreg(2, 5, 1)\ns_getreg_b32 s12, hwreg(18)\ns_getreg_b32 s13, hwreg(19)\n",
        ),
        (
            Arch::Gfx1100,
            "s_getreg_b32 s10, hwreg(2, 5, 1)\ns_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_TMA)\n",
        ),
    ] {
        let mut bed = Bed::of(arch);
        handler(&bed, arch, &format!("{source}{SKIP}"));
        bed.run("s_getreg_b32 s14, hwreg(2, 5, 1)\ns_trap 1");
        assert_eq!((bed.wave.sgpr(14), bed.wave.sgpr(10)), (0, 1), "{arch}");
        assert_eq!(
            (bed.wave.sgpr(12), bed.wave.sgpr(13)),
            (0x12_3456, 0),
            "{arch}"
        );
    }
}

#[test]
fn a_memory_violation_goes_to_the_handler_which_may_halt_the_wave_with_it() {
    for arch in ALL {
        let mut bed = Bed::of(arch);
        let flags = if arch == Arch::Gfx1201 {
            "hwreg(17, 4, 1)"
        } else {
            "hwreg(3, 8, 1)"
        };
        handler(
            &bed,
            arch,
            &format!("s_getreg_b32 s10, {flags}\ns_mov_b32 s11, ttmp0\ns_sethalt 1"),
        );
        bed.set_address(4, 0x1000);
        let (load, wait) = match arch {
            Arch::Gfx1100 | Arch::Gfx1201 => ("s_load_b32 s6, s[4:5], 0x0", ""),
            _ => ("s_load_dword s6, s[4:5], 0x0", "\ns_waitcnt lgkmcnt(0)"),
        };
        let at = bed.load(&format!("s_nop 0\n{load}{wait}"));
        let Exit::Fault(fault) = bed.resume() else {
            panic!("{arch}: a fault")
        };
        assert_eq!(fault.pc, at + 4, "{arch}");
        let FaultKind::Memory { fault, .. } = fault.kind else {
            panic!("{arch}")
        };
        assert_eq!(fault.address, 0x1000, "{arch}");
        assert_eq!(
            (bed.wave.sgpr(10), bed.wave.sgpr(11)),
            (1, (at + 4) as u32),
            "{arch}"
        );
    }
}

#[test]
fn an_illegal_instruction_goes_to_the_handler() {
    let mut bed = Bed::of(Arch::Gfx90a);
    handler(
        &bed,
        Arch::Gfx90a,
        "s_getreg_b32 s10, hwreg(3, 11, 1)\ns_sethalt 1",
    );
    let fault = bed.fault_code(&[0xff; 8]);
    assert!(
        matches!(fault.kind, FaultKind::IllegalInstruction { .. }),
        "{fault}"
    );
    assert_eq!(bed.wave.sgpr(10), 1);
}

#[test]
fn a_trap_in_the_handler_or_without_one_is_a_fault() {
    let mut bed = Bed::of(Arch::Gfx1030);
    let fault = bed.fault("s_trap 2");
    assert!(matches!(fault.kind, FaultKind::Trap { id: 2 }), "{fault}");
    handler(&bed, Arch::Gfx1030, "s_trap 7");
    let fault = bed.fault("s_trap 2");
    assert!(matches!(fault.kind, FaultKind::Trap { id: 7 }), "{fault}");
    // Debuggers' trap does nothing without a handler.
    let mut bed = Bed::of(Arch::Gfx1030);
    bed.run("s_trap 3\ns_mov_b32 s4, 1");
    assert_eq!(bed.wave.sgpr(4), 1);
}

#[test]
fn a_halted_wave_is_a_fault_that_says_so() {
    let mut bed = Bed::of(Arch::Gfx900);
    let fault = bed.fault("s_sethalt 1");
    assert!(matches!(fault.kind, FaultKind::Halted), "{fault}");
    let mut bed = Bed::of(Arch::Gfx900);
    bed.load("s_sendmsghalt sendmsg(MSG_INTERRUPT)");
    assert!(matches!(bed.resume(), Exit::Message { message: 1, .. }));
    assert!(matches!(bed.resume(), Exit::Fault(fault) if matches!(fault.kind, FaultKind::Halted)));
}

#[test]
fn conditions_can_be_operands() {
    let mut bed = Bed::of(Arch::Gfx900);
    bed.run(
        "s_mov_b64 vcc, 0\ns_mov_b32 s4, src_vccz\ns_mov_b32 s5, src_execz\n\
         s_mov_b64 vcc, 1\ns_add_u32 s6, src_vccz, 4\nv_mov_b32 v2, src_execz\n\
         s_mov_b64 exec, 0\ns_mov_b32 s7, src_execz\ns_mov_b64 exec, -1",
    );
    let got: [u32; 4] = std::array::from_fn(|i| bed.wave.sgpr(4 + i));
    assert_eq!(got, [1, 0, 4, 1]);
    assert_eq!(bed.get(2, 0), 0);
}

#[test]
fn a_dword_of_lds_can_be_an_operand() {
    let mut bed = Bed::of(Arch::Gfx900);
    bed.lds[16..20].copy_from_slice(&[0xfe, 0xff, 0x34, 0x12]);
    // Kinds: dword, signed byte, unsigned short.
    bed.run(
        "s_mov_b32 m0, 0x20010\nv_mov_b32 v2, src_lds_direct\n\
         s_mov_b32 m0, 0x40010\nv_add_u32 v3, src_lds_direct, v1\n\
         s_mov_b32 m0, 0x10010\nv_mov_b32 v4, src_lds_direct",
    );
    assert_eq!(
        [bed.get(2, 5), bed.get(3, 5), bed.get(4, 5)],
        [0x1234_fffe, -2i32 as u32, 0xfffe]
    );
}

#[test]
fn both_sides_of_a_fork_run_and_meet_at_the_join() {
    let mut bed = Bed::of(Arch::Gfx900);
    bed.wave.set_exec(0xff);
    // s[8:9]: the lanes that go to the label; s10: the forks that were open before.
    bed.set_scalars(8, &[0x0f, 0, 0]);
    bed.run(
        "v_mov_b32 v2, 0\ns_cbranch_i_fork s[8:9], 2\n\
         v_add_u32 v2, 1, v2\ns_branch 1\n\
         v_add_u32 v2, 2, v2\n\
         s_cbranch_join s10\n\
         v_add_u32 v2, 16, v2",
    );
    // Of two sides of a size the one at the label runs first; the join leaves it for the other, which goes on past
    // the join alone: restoring EXEC is up to the program.
    for lane in 0..8 {
        assert_eq!(
            bed.get(2, lane),
            if lane < 4 { 2 } else { 1 + 16 },
            "lane {lane}"
        );
    }
    assert_eq!(bed.wave.exec(), 0xf0);
}

#[test]
fn vector_instructions_are_skipped_while_asked_to() {
    let mut bed = Bed::of(Arch::Gfx900);
    bed.wave.set_sgpr(4, 0b100);
    bed.run(
        "s_setvskip s4, 2\nv_mov_b32 v2, 5\ns_mov_b32 s5, 1\ns_setvskip s4, 0\nv_mov_b32 v3, 6",
    );
    assert_eq!((bed.get(2, 0), bed.get(3, 0), bed.wave.sgpr(5)), (0, 6, 1));
}

#[test]
fn subvector_loops_run_each_half_of_the_lanes() {
    for arch in [Arch::Gfx1030, Arch::Gfx1100] {
        let mut bed = Bed::new(arch, 64);
        // The loop counts its passes, and each lane's.
        bed.run(
            "s_mov_b32 s5, 0\ns_subvector_loop_begin s4, 4\n\
             v_add_nc_u32 v2, 1, v2\ns_add_u32 s5, s5, 1\ns_nop 0\n\
             s_subvector_loop_end s4, -4",
        );
        assert_eq!(bed.wave.sgpr(5), 2, "{arch}");
        assert_eq!((bed.get(2, 0), bed.get(2, 63)), (1, 1), "{arch}");
        assert_eq!(bed.wave.exec(), u64::MAX, "{arch}");
    }
}

#[test]
fn scalar_moves_relative_to_both_fields_of_m0() {
    let mut bed = Bed::of(Arch::Gfx1030);
    bed.set_scalars(10, &[1, 2, 3, 4]);
    bed.run("s_mov_b32 m0, 0x50002\ns_movrelsd_2_b32 s20, s10");
    assert_eq!(bed.wave.sgpr(25), 3);
}

#[test]
fn what_pads_code_is_not_to_be_executed() {
    let mut bed = Bed::of(Arch::Gfx1100);
    let fault = bed.fault("s_code_end");
    assert!(
        matches!(fault.kind, FaultKind::IllegalInstruction { .. }),
        "{fault}"
    );
}
