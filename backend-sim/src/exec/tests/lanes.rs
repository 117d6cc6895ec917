//! Data between lanes, against a model that says for each lane whom it reads.

use super::*;

/// A lane's source: another lane, the old value, or zero.
enum From {
    Lane(usize),
    Old,
    Zero,
}

fn check(
    wave: &Wave,
    register: u16,
    (data, old, exec): (&[u32; 64], &[u32; 64], u64),
    model: impl Fn(usize) -> From,
) {
    let got = lanes_of(wave, register);
    for lane in 0..wave.lanes() as usize {
        let active = exec >> lane & 1 != 0;
        let expected = match model(lane) {
            _ if !active => None,
            From::Lane(from) => Some(data[from]),
            From::Old => Some(old[lane]),
            From::Zero => Some(0),
        };
        if let Some(expected) = expected {
            assert_eq!(
                got[lane], expected,
                "v{register}, lane {lane}, exec {exec:#x}"
            );
        }
    }
}

#[test]
fn gfx9_permutations_read_the_lanes_that_the_manual_says() {
    let program = include_bytes!("programs/lanes.gfx90a.bin");
    let mut bed = Bed::new(Arch::Gfx90a, program);
    let mut random = Random(2);
    for exec in [u64::MAX, 0x8421_ffff_0ff0_f731] {
        let (data, mut old) = (random.row(), random.row());
        for value in &mut old {
            *value %= 64;
        }
        let mut wave = bed.wave(64);
        set_lanes(&mut wave, 0, &data);
        set_lanes(&mut wave, 1, &old);
        wave.set_exec(exec);
        assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
        let inputs = (&data, &old, exec);
        let live = |lane: usize| exec >> lane & 1 != 0;
        // A source that is inactive or out of bounds leaves the old value.
        let read = |from: Option<usize>| match from {
            Some(from) if live(from) => From::Lane(from),
            _ => From::Old,
        };
        check(&wave, 2, inputs, |lane| {
            read(Some(lane / 4 * 4 + [3, 0, 2, 1][lane % 4]))
        });
        check(&wave, 3, inputs, |lane| {
            read((lane % 16 < 13).then_some(lane + 3))
        });
        check(&wave, 4, inputs, |lane| match (lane % 16).checked_sub(5) {
            Some(from) if live(lane / 16 * 16 + from) => From::Lane(lane / 16 * 16 + from),
            _ => From::Zero,
        });
        check(&wave, 5, inputs, |lane| {
            read(Some(lane / 16 * 16 + (lane + 12) % 16))
        });
        check(&wave, 6, inputs, |lane| {
            read((lane < 63).then_some(lane + 1))
        });
        check(&wave, 7, inputs, |lane| read(Some((lane + 63) % 64)));
        check(&wave, 8, inputs, |lane| {
            read(Some(lane / 16 * 16 + 15 - lane % 16))
        });
        check(&wave, 9, inputs, |lane| match lane / 16 % 2 {
            0 => read(Some(lane / 8 * 8 + 7 - lane % 8)),
            _ => From::Old,
        });
        check(&wave, 10, inputs, |lane| match lane / 16 {
            1 => read(Some(15)),
            3 => read(Some(47)),
            _ => From::Old,
        });
        check(&wave, 11, inputs, |lane| {
            if lane < 32 { From::Old } else { read(Some(31)) }
        });
        check(&wave, 12, inputs, |lane| match lane / 4 % 4 {
            0 | 1 => read(Some(lane / 16 * 16 + 9)),
            _ => From::Old,
        });
        let zero = |from: usize| {
            if live(from) {
                From::Lane(from)
            } else {
                From::Zero
            }
        };
        check(&wave, 13, inputs, |lane| zero(old[lane] as usize));
        check(&wave, 14, inputs, |lane| {
            let sender = (0..64)
                .rev()
                .find(|&from| live(from) && old[from] as usize == lane);
            sender.map_or(From::Zero, From::Lane)
        });
        // Bits 4 and 3 become 0 and 1, bit 2 passes, bit 1 is inverted, bit 0 passes.
        check(&wave, 15, inputs, |lane| {
            zero(lane / 32 * 32 + (8 | lane & 4 | (lane & 2 ^ 2) | lane & 1))
        });
        check(&wave, 16, inputs, |lane| {
            zero(lane / 4 * 4 + [2, 3, 0, 1][lane % 4])
        });
        assert_eq!(wave.sgpr(10), data[37]);
        assert_eq!(wave.sgpr(11), data[exec.trailing_zeros() as usize]);
        assert_eq!(lanes_of(&wave, 17)[5], data[37]);
    }
}

#[test]
fn rdna_permutations_read_the_lanes_that_the_manual_says() {
    let program = include_bytes!("programs/lanes.gfx1100.bin");
    let mut bed = Bed::new(Arch::Gfx1100, program);
    let mut random = Random(3);
    for exec in [0xffff_ffff, 0x0ff0_f731] {
        let (data, old) = (random.row(), random.row());
        let mut wave = bed.wave(32);
        set_lanes(&mut wave, 0, &data);
        set_lanes(&mut wave, 1, &old);
        wave.set_exec(exec);
        assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
        let inputs = (&data, &old, exec);
        let live = |lane: usize| exec >> lane & 1 != 0;
        let read = |from: usize| {
            if live(from) {
                From::Lane(from)
            } else {
                From::Old
            }
        };
        check(&wave, 2, inputs, |lane| {
            read(lane / 4 * 4 + [3, 0, 2, 1][lane % 4])
        });
        check(&wave, 5, inputs, |lane| read(lane / 16 * 16 + 6));
        check(&wave, 6, inputs, |lane| From::Lane(lane ^ 5));
        check(&wave, 7, inputs, |lane| {
            let from = lane / 8 * 8 + 7 - lane % 8;
            if live(from) {
                From::Lane(from)
            } else {
                From::Zero
            }
        });
        // The other row of the pair, every lane its own number; the old register is zero.
        check(&wave, 8, (&data, &[0; 64], exec), |lane| {
            read((lane + 16) % 32)
        });
        // The halves exchanged; inactive lanes are fetched.
        check(&wave, 9, inputs, |lane| {
            From::Lane(lane / 16 * 16 + (lane + 8) % 16)
        });
    }
}
