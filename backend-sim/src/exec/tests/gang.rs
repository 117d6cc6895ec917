//! What waves do that go together is what each does by itself.

use super::fused::{COUNT, END, FIRST, VGPR, code, draw, value};
use super::*;
use alloc::string::String;

const WAVES: usize = 5;
const REGISTERS: u16 = 32;

/// Instructions of gfx90a that read and write scalars, VCC and EXEC, and branches over the one behind them.
fn draw_control(random: &mut Random) -> Vec<u32> {
    let mut below = |n: u64| (random.next() >> 9) % n;
    let a = VGPR + (FIRST + below(COUNT)) as u32;
    let b = (FIRST + below(COUNT)) as u32;
    match below(9) {
        // v_cmp_gt_u32 and v_cmp_eq_u32 to VCC
        0 => vec![0x7d98_0000 | b << 9 | a],
        1 => vec![0x7d94_0000 | b << 9 | a],
        // v_readfirstlane_b32 s4 to s7
        2 => vec![0x7e00_0400 | (4 + below(4) as u32) << 17 | a],
        // v_readlane_b32 s5, a, 33
        3 => vec![0xd289_0005, a | (128 + 33) << 9],
        // s_and_saveexec_b64 s[0:1], vcc
        4 => vec![0xbe80_206a],
        // s_or_b64 exec, exec, s[0:1]
        5 => vec![0x87fe_007e],
        // s_add_u32 s6, s6, s4
        6 => vec![0x8006_0406],
        // s_cbranch_vccz and s_cbranch_execz over v_mov_b32
        7 => vec![0xbf86_0001, 0x7e00_0200 | b << 17 | a],
        _ => vec![0xbf88_0001, 0x7e00_0200 | b << 17 | a],
    }
}

/// What each of the waves starts with.
fn registers(seed: u64) -> Vec<Vec<[u32; 64]>> {
    let mut random = Random(seed);
    let common: Vec<[u32; 64]> = (0..REGISTERS)
        .map(|_| core::array::from_fn(|_| value(&mut random, false)))
        .collect();
    // In a third of the programs all waves are alike.
    let differ = random.next() >> 5;
    if seed.is_multiple_of(3) {
        return alloc::vec![common; WAVES];
    }
    let of = |n: usize| {
        let mut random = Random(seed ^ (n as u64 + 1) << 32);
        let mut rows = common.clone();
        for (number, row) in rows.iter_mut().enumerate() {
            if number < 4 {
                *row = core::array::from_fn(|lane| (lane as u32 * 4 + n as u32 * 64) % 2048);
            } else if differ >> (number % 8) & 1 != 0 {
                *row = core::array::from_fn(|_| value(&mut random, false));
            }
        }
        rows
    };
    (0..WAVES).map(of).collect()
}

fn config(wave: u32) -> WaveConfig {
    WaveConfig {
        arch: Arch::Gfx90a,
        lanes: 64,
        vgprs: REGISTERS,
        acc_vgprs: 0,
        mode: 0x3f0,
        ids: WaveIds {
            wave,
            ..WaveIds::default()
        },
    }
}

/// Scalars of all waves at their start.
fn set_scalars(wave: &mut Wave, seed: u64, entry: u64) {
    let mut random = Random(seed);
    for number in 0..16 {
        wave.set_sgpr(number, value(&mut random, false));
    }
    wave.set_pc(entry);
    if seed.is_multiple_of(7) {
        wave.set_exec(random.next() | 1);
    }
}

#[derive(PartialEq, Debug)]
struct State {
    vectors: Vec<Vec<u32>>,
    scalars: Vec<u32>,
    retired: u64,
    pc: u64,
    wave: u32,
    exit: String,
}

fn state(wave: &Wave, entry: u64, exit: &Exit) -> State {
    State {
        vectors: (0..REGISTERS)
            .map(|r| wave.vgpr(r).expect("a register").to_vec())
            .collect(),
        scalars: (0..128).map(|n| wave.sgpr(n)).collect(),
        retired: wave.retired(),
        pc: wave.pc().wrapping_sub(entry),
        wave: wave.ids().wave,
        exit: alloc::format!("{exit:?}"),
    }
}

fn each_by_itself(bed: &mut Bed, seed: u64, rows: &[Vec<[u32; 64]>]) -> Vec<State> {
    let mut states = Vec::new();
    for (n, rows) in rows.iter().enumerate() {
        let mut wave = Wave::new(config(n as u32));
        set_scalars(&mut wave, seed, bed.entry);
        for (number, row) in (0..).zip(rows) {
            set_lanes(&mut wave, number, row);
        }
        let exit = bed.run(&mut wave, 1 << 20);
        states.push(state(&wave, bed.entry, &exit));
    }
    states
}

/// The states, and whether the waves went together to their end.
fn together(bed: &mut Bed, seed: u64, rows: &[Vec<[u32; 64]>]) -> (Vec<State>, bool) {
    let mut lead = Wave::new(config(0));
    lead.reset_gang(config(0), rows.len() as u16);
    set_scalars(&mut lead, seed, bed.entry);
    for (n, rows) in rows.iter().enumerate() {
        lead.rows.select(n);
        for (number, row) in (0..).zip(rows) {
            set_lanes(&mut lead, number, row);
        }
    }
    lead.rows.select(0);
    let exit = bed.run_gang(&mut lead, 1 << 20);
    let mut waves: Vec<Wave> = (1..rows.len())
        .map(|n| {
            let mut wave = Wave::new(config(0));
            wave.leave_gang(&lead, n);
            wave
        })
        .collect();
    lead.end_gang();
    waves.insert(0, lead);
    let mut states = Vec::new();
    for wave in &mut waves {
        let exit = match &exit {
            Some(exit) => exit.clone(),
            None => bed.run(wave, 1 << 20),
        };
        states.push(state(wave, bed.entry, &exit));
    }
    (states, exit.is_some())
}

fn bed(words: &[u32], level: Level) -> Bed {
    let program: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bed = Bed::new(Arch::Gfx90a, &program);
    bed.code = CodeCache::new(Arch::Gfx90a, level);
    let mut random = Random(5);
    for byte in &mut bed.lds {
        *byte = (random.next() >> 20) as u8;
    }
    bed
}

#[test]
fn programs_give_the_same_together_and_one_wave_after_the_other() {
    let (mut stayed, mut parted) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed * 6007 + 1);
        let mut words = Vec::new();
        let control = if seed % 3 == 1 {
            0
        } else {
            random.next() >> 9 & 3
        };
        for _ in 0..24 {
            if random.next() >> 11 & 3 < control {
                words.extend(draw_control(&mut random));
            } else {
                // In another third nothing writes lane masks.
                let kind = (random.next() >> 8) % 18;
                let masks = (10..=11).contains(&kind);
                let kind = if masks && seed % 3 == 1 { 0 } else { kind };
                words.extend(draw(&mut random, kind));
            }
        }
        words.push(END);
        let rows = registers(seed);
        for level in [Level::Baseline, Level::detect()] {
            let mut bed = bed(&words, level);
            let alone = each_by_itself(&mut bed, seed, &rows);
            let (states, all) = together(&mut bed, seed, &rows);
            assert_eq!(states, alone, "seed {seed}, {level:?}: {words:08x?}");
            *(if all { &mut stayed } else { &mut parted }) += 1;
        }
    }
    assert!(
        stayed > 50 && parted > 50,
        "{stayed} stayed, {parted} parted"
    );
}

/// v[4:5] are addresses, of which one wave has a bad one.
#[test]
fn a_fault_of_one_wave_is_its_own() {
    for bad in 0..WAVES {
        // v_mov_b32 v6, 1; global_load_dword v7, v[4:5], off; v_mov_b32 v6, 2
        let words = [0x7e0c_0281, 0xdc50_8000, 0x077f_0004, 0x7e0c_0282, END];
        let mut bed = bed(&words, Level::detect());
        let memory = bed.allocate(4096, Rights::READ);
        let mut rows = registers(1);
        for (n, rows) in rows.iter_mut().enumerate() {
            let at = |lane: usize| {
                let hole = if n == bad && lane == 17 { 1 << 40 } else { 0 };
                memory + lane as u64 * 4 + hole
            };
            rows[4] = core::array::from_fn(|lane| at(lane) as u32);
            rows[5] = core::array::from_fn(|lane| (at(lane) >> 32) as u32);
        }
        let alone = each_by_itself(&mut bed, 1, &rows);
        let (states, all) = together(&mut bed, 1, &rows);
        assert!(!all);
        for (n, (state, alone)) in states.iter().zip(&alone).enumerate() {
            assert_eq!(state, alone, "wave {n}");
            assert_eq!(state.exit.contains("Fault"), n == bad, "{}", state.exit);
        }
    }
}

#[test]
fn waves_go_on_together_after_a_barrier() {
    // s_barrier; v_add_u32 v6, v6, v7
    let add = code::vop2(0x34, 6, VGPR + 6, 7);
    let mut bed = bed(&[0xbf8a_0000, add[0], END], Level::detect());
    let mut lead = Wave::new(config(0));
    lead.reset_gang(config(0), WAVES as u16);
    lead.set_pc(bed.entry);
    let exit = bed.run_gang(&mut lead, 1 << 20);
    assert!(matches!(exit, Some(Exit::Barrier)), "{exit:?}");
    let exit = bed.run_gang(&mut lead, 1 << 20);
    assert!(matches!(exit, Some(Exit::Ended)), "{exit:?}");
    assert_eq!(lead.retired(), 3);
}

#[test]
fn what_knows_the_wave_is_done_apart() {
    // s_getreg_b32 s0, HW_REG_HW_ID; s_sendmsg of an interrupt; s_mov_b32 s0, ttmp8
    for word in [0xb880_f804, 0xbf90_0001, 0xbe80_0074] {
        let mut bed = bed(&[word, END], Level::detect());
        let mut lead = Wave::new(config(0));
        lead.reset_gang(config(0), WAVES as u16);
        lead.set_pc(bed.entry);
        let exit = bed.run_gang(&mut lead, 1 << 20);
        assert!(exit.is_none(), "{word:08x}: {exit:?}");
        assert_eq!(lead.pc(), bed.entry);
    }
}
