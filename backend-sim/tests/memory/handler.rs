//! The trap handler that the Linux KFD backend installs, executed: what it tells the driver, and what it leaves.
//!
//! Messages are those of `kfd_ioctl.h`'s exception codes (bit 10 and up: the code less one) and the doorbell's number.

use super::bed::{Bed, DOORBELL};
use rukh_backend_sim::exec::{Exit, Fault, FaultKind};
use rukh_backend_sim::isa::Arch;
use rukh_backend_sim::mem::Rights;

/// The committed code, for processors of each family.
const HANDLERS: [(&[u8], &[Arch]); 5] = [
    (
        include_bytes!("../../../backend-linux-kfd/src/trap/gfx9.bin"),
        &[Arch::Gfx900, Arch::Gfx908, Arch::Gfx90a],
    ),
    (
        include_bytes!("../../../backend-linux-kfd/src/trap/gfx94.bin"),
        &[Arch::Gfx942, Arch::Gfx950],
    ),
    (
        include_bytes!("../../../backend-linux-kfd/src/trap/gfx10.bin"),
        &[Arch::Gfx1030],
    ),
    (
        include_bytes!("../../../backend-linux-kfd/src/trap/gfx11.bin"),
        &[Arch::Gfx1100],
    ),
    (
        include_bytes!("../../../backend-linux-kfd/src/trap/gfx12.bin"),
        &[Arch::Gfx1201],
    ),
];

/// Exceptions of a wave, by their code less one.
const ABORT: u32 = 0;
const TRAP: u32 = 1;
const ILLEGAL: u32 = 3;
const MEMORY: u32 = 4;
const APERTURE: u32 = 5;

const MSG_INTERRUPT: u16 = 1;
const M0: usize = 124;
const EXEC: usize = 126;
const VCC: usize = 106;

fn each(test: impl Fn(Arch, &mut Bed)) {
    for (code, targets) in HANDLERS {
        for &arch in targets {
            let mut bed = Bed::of(arch);
            let at = bed.allocate_with(1, Rights::READ | Rights::EXECUTE);
            bed.write(at, code);
            bed.shared.set_trap_handler(at, 0);
            bed.wave.set_sgpr(M0, 0xfeed);
            bed.wave.set_sgpr(VCC, 0x77);
            bed.wave.set_sgpr(EXEC, 0xaaaa);
            test(arch, &mut bed);
        }
    }
}

/// Goes on from a trap: the driver hears of this exception, and the wave is halted with its registers as they were.
fn reported(arch: Arch, bed: &mut Bed, exception: u32) -> Box<Fault> {
    match bed.resume() {
        Exit::Message { message, payload } => {
            assert_eq!(message, MSG_INTERRUPT, "{arch}");
            assert_eq!(payload, DOORBELL | 1 << (10 + exception), "{arch}");
        }
        other => panic!("{arch}: {other:?}"),
    }
    let exit = bed.resume();
    let Exit::Halted(fault) = exit else {
        panic!("{arch}: {exit:?}");
    };
    let registers = [M0, VCC, EXEC].map(|number| bed.wave.sgpr(number));
    assert_eq!(registers, [0xfeed, 0x77, 0xaaaa], "{arch}");
    // It stays so.
    assert!(matches!(bed.resume(), Exit::Fault(_) | Exit::Halted(_)));
    fault
}

#[test]
fn an_abort_and_other_traps_are_told_apart() {
    each(|arch, bed| {
        let at = bed.load("s_nop 0\ns_trap 2");
        let fault = reported(arch, bed, ABORT);
        assert_eq!(fault.pc, at + 4, "{arch}");
        assert!(matches!(fault.kind, FaultKind::Trap { id: 2 }), "{fault}");
    });
    each(|arch, bed| {
        bed.load("s_trap 77");
        let fault = reported(arch, bed, TRAP);
        assert!(matches!(fault.kind, FaultKind::Trap { id: 77 }), "{fault}");
    });
}

#[test]
fn a_breakpoint_is_stepped_over_and_leaves_everything_as_it_was() {
    for scc in [0, 1] {
        each(|arch, bed| {
            bed.load(&format!(
                "s_cmp_eq_u32 1, {scc}\ns_trap 3\ns_cselect_b32 s4, 7, 8"
            ));
            let exit = bed.resume();
            assert!(matches!(exit, Exit::Ended), "{arch}: {exit:?}");
            assert_eq!(bed.wave.sgpr(4), if scc == 1 { 7 } else { 8 }, "{arch}");
            let registers = [M0, VCC, EXEC].map(|number| bed.wave.sgpr(number));
            assert_eq!(registers, [0xfeed, 0x77, 0xaaaa], "{arch}");
        });
    }
}

#[test]
fn an_illegal_instruction_is_reported() {
    each(|arch, bed| {
        let at = bed.load_code(&[0xff; 8]);
        let fault = reported(arch, bed, ILLEGAL);
        assert_eq!(fault.pc, at, "{arch}");
        let kind = &fault.kind;
        assert!(
            matches!(kind, FaultKind::IllegalInstruction { .. }),
            "{fault}"
        );
    });
}

#[test]
fn an_access_without_a_translation_is_a_memory_violation_and_one_beyond_its_aperture_is_another() {
    let load = |arch| match arch {
        Arch::Gfx1201 => "flat_load_b32 v2, v[0:1]\ns_wait_loadcnt 0",
        Arch::Gfx1100 => "flat_load_b32 v2, v[0:1]\ns_waitcnt vmcnt(0)",
        _ => "flat_load_dword v2, v[0:1]\ns_waitcnt vmcnt(0)",
    };
    each(|arch, bed| {
        bed.set(0, |_| 0x1000);
        bed.load(load(arch));
        let exit = bed.resume();
        assert!(matches!(exit, Exit::Trapped(_)), "{arch}: {exit:?}");
        let fault = reported(arch, bed, MEMORY);
        assert!(matches!(fault.kind, FaultKind::Memory { .. }), "{fault}");
    });
    each(|arch, bed| {
        // Local memory has 4 KiB.
        bed.set(0, |_| 0x10_0000);
        bed.set(1, |_| 1 << 16);
        bed.load(load(arch));
        let fault = reported(arch, bed, APERTURE);
        assert!(matches!(fault.kind, FaultKind::Aperture { .. }), "{fault}");
    });
}
