//! What several instructions do as one is what they do one by one.

use super::*;
use crate::isa::{Op, decode};

/// Instructions of gfx90a, as its manual encodes them.
pub(super) mod code {
    pub fn vop2(op: u32, dst: u32, src0: u32, src1: u32) -> [u32; 1] {
        [op << 25 | dst << 17 | src1 << 9 | src0]
    }

    pub fn vop3(op: u32, dst: u32, src: [u32; 3]) -> [u32; 2] {
        [
            0b110100 << 26 | op << 16 | dst,
            src[0] | src[1] << 9 | src[2] << 18,
        ]
    }

    pub fn ds(op: u32, dst: u32, address: u32, offsets: u32) -> [u32; 2] {
        [0b110110 << 26 | op << 17 | offsets, address | dst << 24]
    }
}

pub(super) const VGPR: u32 = 256;
const WAITCNT: u32 = 0xbf8c_0000;
const NOP: u32 = 0xbf80_0000;
pub(super) const END: u32 = 0xbf81_0000;

/// Registers that instructions work on; those below are addresses in group memory.
pub(super) const FIRST: u64 = 4;
pub(super) const COUNT: u64 = 12;

/// An instruction, or two that belong together, of the kinds that are fused and of some that come between.
pub(super) fn draw(random: &mut Random, kind: u64) -> Vec<u32> {
    let mut any = || (FIRST + random.next() % COUNT) as u32;
    let (dst, a, b, c) = (any(), any(), any(), any());
    let mut below = |n: u64| (random.next() >> 7) % n;
    // A register, a scalar or a constant.
    let source = match below(4) {
        0 => 2 + below(8) as u32,
        1 => 128 + below(64) as u32,
        _ => VGPR + a,
    };
    match kind {
        0..=3 => code::vop2(0x3b, FIRST as u32 + (kind as u32 & 1), VGPR + a, b).into(),
        4 => code::vop2(0x3b, dst, source, b).into(),
        5 => code::vop3(
            0x1cb,
            dst,
            [VGPR + a, VGPR + b, VGPR + if c % 2 == 0 { dst } else { c }],
        )
        .into(),
        6..=9 => {
            let (op, wide) = [
                (0x36, 1),
                (0x76, 1),
                (0xff, 1),
                (0x37, 2),
                (0x38, 2),
                (0x77, 2),
            ][below(6) as usize];
            let offsets = if wide == 1 {
                below(300) as u32
            } else {
                below(1 << 16) as u32 & 0x0707
            };
            code::ds(op, dst, below(4) as u32, offsets).into()
        }
        10 | 11 => {
            let mut pair = code::vop2(0x19, dst, source, b).to_vec();
            pair.extend(code::vop2(
                0x1c,
                c,
                3 + below(4) as u32,
                any_of(below(COUNT)),
            ));
            pair
        }
        12 => code::vop3(0x28f, dst, [128 + below(64) as u32, VGPR + a, 0]).into(),
        13 => code::vop2(
            [1, 0x13, 0x12, 0x34, 0, 5][below(6) as usize],
            dst,
            source,
            b,
        )
        .into(),
        14 => vec![0x7e00_0200 | dst << 17 | source],
        15 => vec![NOP, WAITCNT],
        _ => vec![WAITCNT],
    }
}

fn any_of(n: u64) -> u32 {
    (FIRST + n) as u32
}

/// Values of single precision that matter: ordinary ones, most often, and all that is special.
pub(super) fn value(random: &mut Random, special: bool) -> u32 {
    let bits = (random.next() >> 16) as u32;
    match bits % 32 {
        0 if special => 0x7f80_0000,
        1 if special => 0x7fa0_0001,
        2 if special => 0xffc1_2345,
        3 => bits & 0x807f_ffff,
        4 => bits & 0x8000_0000,
        _ => (bits & 0x80ff_ffff) + 0x3f00_0000,
    }
}

#[derive(PartialEq, Debug)]
struct State {
    vectors: Vec<Vec<u32>>,
    scalars: Vec<u32>,
    retired: u64,
    pc: u64,
}

/// Runs a program from a start that the seed decides.
fn outcome(program: &[u8], seed: u64, level: Level, single: bool) -> State {
    let mut random = Random(seed);
    let mut bed = Bed::new(Arch::Gfx90a, program);
    bed.code = CodeCache::new(Arch::Gfx90a, level);
    for byte in &mut bed.lds {
        *byte = (random.next() >> 20) as u8;
    }
    let mut wave = bed.wave(64);
    let special = seed.is_multiple_of(4);
    for register in 0..32 {
        let row = core::array::from_fn(|_| value(&mut random, special));
        set_lanes(&mut wave, register, &row);
    }
    // Neighbours, the same for all, the same for sixteen, and anything.
    set_lanes(
        &mut wave,
        0,
        &core::array::from_fn(|lane| lane as u32 * 4 + 64),
    );
    set_lanes(&mut wave, 1, &[128; 64]);
    set_lanes(
        &mut wave,
        2,
        &core::array::from_fn(|lane| lane as u32 / 16 * 64),
    );
    let scattered = core::array::from_fn(|_| (random.next() >> 9) as u32 % 1200 * 4);
    set_lanes(&mut wave, 3, &scattered);
    for number in 0..16 {
        wave.set_sgpr(number, value(&mut random, special));
    }
    if seed.is_multiple_of(8) {
        wave.set_exec(random.next());
    }
    if seed.is_multiple_of(5) {
        wave.set_mode((random.next() >> 11) as u32 & 0x3ff);
    }
    let entry = wave.pc();
    let budget = if single { 1 } else { 1 << 20 };
    loop {
        match bed.run(&mut wave, budget) {
            Exit::Ended => break,
            Exit::Budget if single => {}
            exit => panic!("{exit:?}"),
        }
    }
    State {
        vectors: (0..32)
            .map(|r| wave.vgpr(r).expect("a register").to_vec())
            .collect(),
        scalars: (0..128).map(|n| wave.sgpr(n)).collect(),
        retired: wave.retired(),
        pc: wave.pc() - entry,
    }
}

#[test]
fn programs_give_the_same_at_once_and_in_single_steps() {
    for seed in 0..600 {
        let mut random = Random(seed * 7919 + 1);
        let mut words = Vec::new();
        let likely = random.next() >> 8;
        for _ in 0..24 {
            // Runs of one kind are likely.
            let kind = if random.next() >> 13 & 3 == 0 {
                random.next() >> 8
            } else {
                likely
            };
            words.extend(draw(&mut random, kind % 18));
        }
        words.push(END);
        let program: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let single = outcome(&program, seed, Level::detect(), true);
        for level in [Level::Baseline, Level::detect()] {
            let whole = outcome(&program, seed, level, false);
            assert_eq!(whole, single, "seed {seed}, {level:?}: {words:08x?}");
        }
    }
}

#[test]
fn the_encodings_here_are_those_meant() {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    for (code, op) in [
        (words(&code::vop2(0x3b, 4, 260, 5)), Op::v_fmac_f32),
        (words(&code::vop3(0x1cb, 4, [260, 261, 262])), Op::v_fma_f32),
        (words(&code::vop2(0x19, 4, 2, 5)), Op::v_add_co_u32),
        (words(&code::vop2(0x1c, 4, 2, 5)), Op::v_addc_co_u32),
        (words(&code::ds(0x36, 4, 0, 8)), Op::ds_read_b32),
        (words(&code::ds(0x77, 4, 0, 0x102)), Op::ds_read2_b64),
        (words(&code::ds(0xff, 4, 0, 16)), Op::ds_read_b128),
        (
            words(&code::vop3(0x28f, 4, [130, 260, 0])),
            Op::v_lshlrev_b64,
        ),
    ] {
        assert_eq!(decode(Arch::Gfx90a, &code).map(|inst| inst.op), Ok(op));
    }
}

/// Instructions that the first of a program stands for.
fn weight(words: &[u32]) -> u8 {
    let program: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bed = Bed::new(Arch::Gfx90a, &program);
    let mut wave = bed.wave(64);
    let exit = bed.run(&mut wave, 1000);
    assert!(matches!(exit, Exit::Ended), "{exit:?}");
    let page = bed.code.page(&bed.view, bed.entry).expect("a page");
    page.ops[(bed.entry - page.va) as usize / 4].weight
}

#[test]
fn what_goes_together_is_executed_as_one() {
    let sum = code::vop2(0x3b, 4, VGPR + 5, 6);
    assert_eq!(weight(&[sum[0], NOP, sum[0], sum[0], WAITCNT, END]), 5);
    let read = code::ds(0x36, 4, 0, 8);
    let two = code::ds(0x37, 5, 0, 0x0201);
    assert_eq!(weight(&[read[0], read[1], WAITCNT, two[0], two[1], END]), 3);
    let other = code::ds(0x37, 5, 1, 0x0201);
    assert_eq!(weight(&[read[0], read[1], other[0], other[1], END]), 1);
    let (low, high) = (code::vop2(0x19, 4, 2, 5), code::vop2(0x1c, 6, 3, 7));
    assert_eq!(weight(&[low[0], high[0], END]), 2);
    let reads_low = code::vop2(0x1c, 6, VGPR + 4, 7);
    assert_eq!(weight(&[low[0], reads_low[0], END]), 1);
    assert_eq!(weight(&[NOP, NOP, WAITCNT, END]), 3);
}
