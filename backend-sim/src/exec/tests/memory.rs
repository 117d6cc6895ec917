//! Memory instructions: widths, LDS, atomics, and the one layout of private memory.

use super::*;

const PROGRAM: &[u8] = include_bytes!("programs/memory.gfx90a.bin");

struct Run {
    wave: Wave,
    bed: Bed,
    data: u64,
    scratch: u64,
    before: Vec<u8>,
}

/// Runs the program with each lane's sixteen bytes at `at(lane)`.
fn execute(exec: u64, at: impl Fn(usize) -> u64) -> Run {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let all = Rights::READ | Rights::WRITE;
    let (data, scratch) = (bed.allocate(8192, all), bed.allocate(16384, all));
    let mut random = Random(4);
    let before: Vec<u8> = (0..8192).map(|_| (random.next() >> 20) as u8).collect();
    bed.write(data, &before);
    let mut wave = bed.wave(64);
    wave.set_exec(exec);
    set_lanes(
        &mut wave,
        0,
        &core::array::from_fn(|lane| (data + at(lane)) as u32),
    );
    set_lanes(
        &mut wave,
        1,
        &core::array::from_fn(|lane| ((data + at(lane)) >> 32) as u32),
    );
    set_lanes(&mut wave, 2, &core::array::from_fn(|lane| lane as u32 * 16));
    // Swizzled, four-byte elements, 64 lanes apart, with the lane's number added.
    let descriptor = [
        scratch as u32,
        (scratch >> 32) as u32 | 1 << 31,
        u32::MAX,
        0x00e8_0000,
    ];
    for (number, value) in descriptor.into_iter().enumerate() {
        wave.set_sgpr(number, value);
    }
    // FLAT_SCRATCH: the same memory, past the scalar offset that the buffer accesses add.
    wave.set_sgpr(102, (scratch + 16) as u32);
    wave.set_sgpr(103, ((scratch + 16) >> 32) as u32);
    let exit = bed.run(&mut wave, 1000);
    assert!(matches!(exit, Exit::Ended), "{exit:?}");
    Run {
        wave,
        bed,
        data,
        scratch,
        before,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn check(exec: u64, at: impl Fn(usize) -> u64 + Copy) {
    let run = execute(exec, at);
    let after = run.bed.read(run.data, 8192);
    let scratch = run.bed.read(run.scratch, 16384);
    for lane in (0..64).filter(|lane| exec >> lane & 1 != 0) {
        let own = &run.before[at(lane) as usize..][..16];
        let word = |i: usize| u32_at(own, 4 * i);
        let got = |register: u16| lanes_of(&run.wave, register)[lane];
        for i in 0..4 {
            assert_eq!(got(4 + i as u16), word(i), "lane {lane}");
        }
        assert_eq!(got(8), own[3] as i8 as i32 as u32);
        let half = u32::from(u16::from_le_bytes([own[5], own[6]]));
        assert_eq!(got(9), half << 16 | 0xffff);
        assert_eq!((got(10), got(11)), (word(1), word(3)));
        assert_eq!(got(12), u32::from(u16::from_le_bytes([own[7], own[8]])));
        assert_eq!(got(13), word(2));
        assert_eq!(got(14), word(2).wrapping_add(word(0)));
        // Private offset 12 is the third dword: 3 * 64 lanes of four bytes on, from offset 16.
        let place = |offset: usize| 16 + offset / 4 * 256 + lane * 4 + offset % 4;
        assert_eq!(u32_at(&scratch, place(12)), word(0));
        assert_eq!(u32_at(&scratch, place(16)), word(1));
        assert_eq!(scratch[place(23)], own[8]);
        // Through the flat aperture the program sees the same bytes, also unaligned.
        assert_eq!((got(16), got(17)), (word(0), word(1)));
        assert_eq!(got(18), word(0) >> 16 | word(1) << 16);
        assert_eq!(got(19), word(3));
        let now = &after[at(lane) as usize..][..16];
        assert_eq!(&now[..12], &own[..12]);
        assert_eq!(u32_at(now, 12), word(3).wrapping_add(word(3)));
    }
}

#[test]
fn neighbouring_lanes_load_and_store_what_is_theirs() {
    check(u64::MAX, |lane| lane as u64 * 16);
}

#[test]
fn scattered_lanes_load_and_store_what_is_theirs() {
    check(u64::MAX, |lane| (lane as u64 * 29 % 64) * 64 + 4);
}

#[test]
fn groups_of_lanes_that_lie_differently_load_and_store_what_is_theirs() {
    check(0xffff_0f0f_ffff_ffff, |lane| match lane {
        16..32 => 2048 + (lane as u64 * 7 % 16) * 64 + 4,
        _ => lane as u64 * 16,
    });
}

/// Writes v1 to LDS at v0 plus an offset, then ends.
fn write_lds(offset: u8, exec: u64, at: [u32; 64]) -> Vec<u8> {
    let program = [0xd81a_0000 | u32::from(offset), 0x0000_0100, 0xbf81_0000];
    let mut bed = Bed::new(Arch::Gfx90a, &program.map(u32::to_le_bytes).concat());
    let mut wave = bed.wave(64);
    wave.set_exec(exec);
    set_lanes(&mut wave, 0, &at);
    set_lanes(&mut wave, 1, &core::array::from_fn(|lane| lane as u32 + 1));
    let exit = bed.run(&mut wave, 10);
    assert!(matches!(exit, Exit::Ended), "{exit:?}");
    bed.lds
}

#[test]
fn the_last_of_the_lanes_that_write_the_same_lds_wins() {
    // The first group is not whole, the later ones are: they must not be written before it.
    let exec = !(1u64 << 3);
    let lds = write_lds(0, exec, core::array::from_fn(|lane| lane as u32 % 16 * 4));
    for lane in 0..16 {
        assert_eq!(u32_at(&lds, lane * 4), lane as u32 + 49);
    }
}

#[test]
fn lds_addresses_wrap_around_before_they_are_compared_with_its_size() {
    let at = core::array::from_fn(|lane| (lane as u32 * 4).wrapping_sub(64));
    let lds = write_lds(64, u64::MAX, at);
    for lane in 0..64 {
        assert_eq!(u32_at(&lds, lane * 4), lane as u32 + 1);
    }
    // Without the offset only the lanes from 16 on are inside.
    let lds = write_lds(0, u64::MAX, at);
    for lane in 16..64 {
        assert_eq!(u32_at(&lds, lane * 4 - 64), lane as u32 + 1);
    }
    assert!(lds[192..].iter().all(|&byte| byte == 0));
}

#[test]
fn inactive_lanes_touch_nothing() {
    check(0x0123_4567_89ab_cdef, |lane| lane as u64 * 16);
    let run = execute(1 << 9, |lane| if lane == 9 { 32 } else { 1 << 40 });
    let after = run.bed.read(run.data, 8192);
    assert_eq!(after[..32], run.before[..32]);
    assert_eq!(after[48..], run.before[48..]);
}

#[test]
fn a_bad_address_is_a_fault_that_names_the_lane() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let data = bed.allocate(4096, Rights::READ);
    let mut wave = bed.wave(64);
    let address = |lane: usize| if lane == 21 { data + 4096 } else { data };
    set_lanes(
        &mut wave,
        0,
        &core::array::from_fn(|lane| address(lane) as u32),
    );
    set_lanes(
        &mut wave,
        1,
        &core::array::from_fn(|lane| (address(lane) >> 32) as u32),
    );
    let Exit::Fault(fault) = bed.run(&mut wave, 1000) else {
        panic!("a fault")
    };
    assert_eq!(fault.pc, bed.entry);
    let FaultKind::Memory {
        lane: Some(21),
        fault,
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(fault.address, data + 4096);
    // The whole access, not the byte at which it went wrong.
    assert_eq!(fault.len, 16);
}
