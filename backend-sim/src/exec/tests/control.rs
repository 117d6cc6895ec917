//! Control flow, waiting, faults, and code that changes.

use super::*;

const PROGRAM: &[u8] = include_bytes!("programs/control.gfx90a.bin");

#[test]
fn loops_and_calls_end_where_they_should() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 5);
    assert!(matches!(bed.run(&mut wave, 1000), Exit::Barrier));
    assert_eq!(wave.sgpr(1), 150);
    assert!(!wave.ended());
    assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
    assert!(wave.ended());
    // Four instructions in the loop, five times; eight to the barrier, two of the function; the end.
    assert_eq!(wave.retired(), 5 * 4 + 8 + 1 + 2 + 1);
}

#[test]
fn a_spinning_wave_gives_its_budget_back() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 1);
    wave.set_sgpr(2, 1);
    for _ in 0..3 {
        assert!(matches!(bed.run(&mut wave, 100), Exit::Budget));
    }
    assert!((300..400).contains(&wave.retired()), "{}", wave.retired());
}

#[test]
fn a_single_step_is_one_instruction() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 2);
    for (count, offset) in [(1, 4), (2, 8), (3, 12), (4, 0), (5, 4)] {
        assert!(matches!(bed.run(&mut wave, 1), Exit::Budget));
        assert_eq!((wave.retired(), wave.pc()), (count, bed.entry + offset));
    }
}

#[test]
fn a_trap_is_a_fault_with_its_number() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 1);
    wave.set_sgpr(2, 2);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert!(matches!(fault.kind, FaultKind::Trap { id: 2 }), "{fault}");
    assert_eq!(fault.pc, wave.pc());
}

#[test]
fn bytes_that_are_no_instruction_are_named_in_the_fault() {
    let mut bed = Bed::new(Arch::Gfx90a, &[0xff; 8]);
    let mut wave = bed.wave(64);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    let FaultKind::IllegalInstruction { encoding, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(encoding[0], u32::MAX);
}

#[test]
fn a_register_that_the_wave_was_not_given_is_a_fault() {
    // v_mov_b32 v40, 0
    let mut bed = Bed::new(Arch::Gfx90a, &0x7e50_0280u32.to_le_bytes());
    let mut wave = bed.wave(64);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert!(
        matches!(
            fault.kind,
            FaultKind::Register {
                file: 'v',
                number: 40,
                allocated: 32
            }
        ),
        "{fault}"
    );
}

#[test]
fn jumps_to_nowhere_are_instruction_fetch_faults() {
    // s_setpc_b64 s[0:1]
    let mut bed = Bed::new(Arch::Gfx90a, &0xbe80_1d00u32.to_le_bytes());
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 0x1000);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert!(
        matches!(fault.kind, FaultKind::Memory { lane: None, .. }),
        "{fault}"
    );
    let mut wave = bed.wave(64);
    wave.set_sgpr(0, 0x1002);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert!(
        matches!(fault.kind, FaultKind::MisalignedPc { target: 0x1002 }),
        "{fault}"
    );
}

#[test]
fn changed_code_runs_once_the_cache_is_validated() {
    // s_mov_b32 s0, 1; s_endpgm
    let program = |value: u32| {
        [0xbe80_0080 + value, 0xbf81_0000]
            .map(u32::to_le_bytes)
            .concat()
    };
    let mut bed = Bed::new(Arch::Gfx90a, &program(1));
    let once = |bed: &mut Bed| {
        let mut wave = bed.wave(64);
        assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
        wave.sgpr(0)
    };
    assert_eq!(once(&mut bed), 1);
    let changed = program(2);
    bed.write(bed.entry, &changed);
    assert_eq!(once(&mut bed), 1, "an instruction cache keeps what it has");
    bed.code.validate(&bed.view);
    assert_eq!(once(&mut bed), 2);
}

#[test]
fn indexed_moves_reach_the_register_that_m0_names() {
    let program = include_bytes!("programs/indexed.gfx90a.bin");
    let mut bed = Bed::new(Arch::Gfx90a, program);
    let mut wave = bed.wave(64);
    for register in 0..32 {
        set_lanes(&mut wave, register, &[u32::from(register) + 100; 64]);
    }
    wave.set_sgpr(0, 7);
    wave.set_sgpr(1, 12);
    assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
    assert_eq!(lanes_of(&wave, 11)[63], 120);
    assert_eq!(lanes_of(&wave, 4)[0], 104);
    assert_eq!(lanes_of(&wave, 2)[0], 108);
    let mut wave = bed.wave(64);
    wave.set_sgpr(1, 24);
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert!(
        matches!(fault.kind, FaultKind::Register { number: 32, .. }),
        "{fault}"
    );
}
