//! Machine code that nobody vouches for, executed: it ends, faults by name or is still running, within the memory that
//! it was given.

use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::exec::{
    Apertures, Barriers, Clock, CodeCache, Context, Exit, Place, Shared, Wave, WaveConfig, WaveIds,
    Worker, run,
};
use rukh_backend_sim::isa::{self, Arch, Op, encode, generate, generate_dual};
use rukh_backend_sim::mem::{AddressMap, Rights};

/// Bytes of a page, and most that code has.
const PAGE: usize = 4096;
/// Where the kernel's code and its data are mapped; the pages around them are not.
const CODE: u64 = 0x7f00_0001_0000;
const DATA: u64 = 0x7f00_0002_0000;
/// What the pages hold around the one that is mapped.
const GUARD: u8 = 0xa5;
/// Turns of a wave, and the instructions of each.
const TURNS: u64 = 8;
const BUDGET: u64 = 500;
/// All denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;
/// Programs of an input that has short ones.
const PROGRAMS: usize = 40;

#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; PAGE]);

struct Standing;

impl Clock for Standing {
    fn cycles(&self) -> u64 {
        1
    }

    fn realtime(&self) -> u64 {
        1
    }
}

/// Executes code. The first byte chooses the processor, the second the lanes (bit 0), whether a trap handler is set
/// (bit 1), whether the rest is code or the seed of valid instructions with random operands (bit 2), and whether those are
/// programs of a few each (bit 3): behind the first fault of one long program nothing runs.
pub fn check(data: &[u8]) {
    let [choice, knobs, rest @ ..] = data else {
        return;
    };
    let arch = Arch::ALL[usize::from(*choice) % Arch::ALL.len()];
    let lanes = if arch < Arch::Gfx1030 || knobs & 1 != 0 {
        64
    } else {
        32
    };
    let handler = knobs & 2 != 0;
    let seed = rest
        .iter()
        .fold(0u64, |seed, byte| seed.rotate_left(8) ^ u64::from(*byte));
    match knobs >> 2 & 3 {
        0 | 2 => check_code(arch, lanes, handler, rest),
        1 => check_code(arch, lanes, handler, &instructions(arch, seed)),
        _ => check_programs(arch, lanes, handler, seed),
    }
}

fn any(rng: &mut isa::Rng) -> Op {
    Op::ALL[rng.next_u32() as usize % Op::ALL.len()]
}

/// Adds a valid instruction with random operands; gives whether there is one.
fn instruction(arch: Arch, op: Op, rng: &mut isa::Rng, code: &mut Vec<u8>) -> bool {
    let dual = rng.next_u32().is_multiple_of(8);
    let inst = match dual.then(|| generate_dual(arch, rng)).flatten() {
        Some(both) => Some(both),
        None => generate(arch, op, rng),
    };
    match inst.map(|inst| encode(arch, &inst)) {
        Some(Ok(encoded)) => {
            code.extend_from_slice(&encoded.bytes()[..encoded.len()]);
            true
        }
        _ => false,
    }
}

/// Valid instructions with random operands.
pub fn instructions(arch: Arch, seed: u64) -> Vec<u8> {
    let mut rng = isa::Rng::new(seed);
    let mut code = Vec::new();
    while code.len() < PAGE - 64 {
        let op = any(&mut rng);
        instruction(arch, op, &mut rng, &mut code);
    }
    code
}

/// Executes programs of a few valid instructions, by waves that have all registers.
fn check_programs(arch: Arch, lanes: u32, handler: bool, seed: u64) {
    let end: u32 = if arch < Arch::Gfx1100 {
        0xbf81_0000
    } else {
        0xbfb0_0000
    };
    let mut rng = isa::Rng::new(seed);
    for _ in 0..PROGRAMS {
        let mut code = Vec::new();
        // Several of the same, which may be executed at once, or any.
        let mut op = any(&mut rng);
        let same = rng.next_u32().is_multiple_of(2);
        let mut left = 1 + rng.next_u32() % 4;
        while left != 0 {
            let added = instruction(arch, op, &mut rng, &mut code);
            left -= u32::from(added);
            if !added || !same {
                op = any(&mut rng);
            }
        }
        code.extend_from_slice(&end.to_le_bytes());
        // Half of them trap floating-point exceptions.
        let traps = match rng.next_u32() % 256 {
            traps @ 128.. => traps - 128,
            _ => 0,
        };
        check_in_memory(arch, lanes, handler, (256, MODE | traps << 12), &code);
    }
}

/// Executes at most a page of code by a wave whose first registers are addresses, descriptors and numbers of lanes.
pub fn check_code(arch: Arch, lanes: u32, handler: bool, code: &[u8]) {
    check_in_memory(arch, lanes, handler, (64, MODE), code);
}

/// With so many registers and that mode.
fn check_in_memory(arch: Arch, lanes: u32, handler: bool, state: (u16, u32), code: &[u8]) {
    let code = &code[..code.len().min(PAGE)];
    let mut pages = vec![Page([GUARD; PAGE]); 6];
    pages[1].0 = [0; PAGE];
    pages[1].0[..code.len()].copy_from_slice(code);
    pages[4].0 = [0; PAGE];
    let base = pages.as_mut_ptr().cast::<u8>();
    let map = AddressMap::new();
    for (at, page, rights) in [
        (CODE, 1, Rights::READ | Rights::EXECUTE),
        (DATA, 4, Rights::READ | Rights::WRITE),
    ] {
        let host = base.wrapping_add(page * PAGE);
        // SAFETY: the pages outlive the map, and are looked at again when nothing runs any more.
        let region = unsafe { map.insert(at, PAGE as u64, host, 0) };
        map.set_rights(region.expect("a free range"), 0, rights)
            .expect("a region");
    }
    execute(&map, arch, lanes, handler, state);
    drop(map);
    let guards = [0, 2, 3, 5].map(|page: usize| pages[page].0.iter().all(|byte| *byte == GUARD));
    assert_eq!(guards, [true; 4], "memory beside that of the kernel");
    assert_eq!(pages[1].0[..code.len()], *code, "code was written");
}

fn execute(
    map: &std::sync::Arc<AddressMap>,
    arch: Arch,
    lanes: u32,
    handler: bool,
    (vgprs, mode): (u16, u32),
) {
    let view = map.view(0);
    let mut wave = Wave::new(WaveConfig {
        arch,
        lanes,
        vgprs,
        acc_vgprs: if arch < Arch::Gfx1030 { vgprs / 2 } else { 0 },
        mode,
        ids: WaveIds::default(),
    });
    wave.set_pc(CODE);
    // Addresses, a buffer and another: what instructions can do something with.
    for number in 0..96 {
        let word = match number % 8 {
            0 | 2 | 4 => DATA as u32 + 64 * number as u32,
            1 | 3 => (DATA >> 32) as u32,
            5 => (DATA >> 32) as u32 | 4 << 16,
            6 => PAGE as u32 / 4,
            _ => 0x0002_7000 | 0xfac,
        };
        wave.set_sgpr(number, word);
    }
    for register in 0..vgprs {
        let row = wave.vgpr_mut(register).expect("a register of the wave");
        for (lane, word) in row.iter_mut().enumerate() {
            *word = match register % 4 {
                0 => DATA as u32 + 4 * lane as u32,
                1 => (DATA >> 32) as u32,
                2 => lane as u32,
                _ => 4 * lane as u32,
            };
        }
    }
    let shared = Shared::new(arch);
    if handler {
        shared.set_trap_handler(CODE + 2048, DATA);
    }
    let mut lds = vec![0; PAGE];
    let mut cache = CodeCache::new(arch, Level::detect());
    let mut worker = Worker::new();
    let mut barriers = Barriers::new(1);
    for _ in 0..TURNS {
        let before = wave.retired();
        let mut cx = Context {
            view: &view,
            code: &mut cache,
            worker: &mut worker,
            lds: &mut lds,
            clock: &Standing,
            apertures: Apertures {
                shared: 1 << 48,
                private: 2 << 48,
            },
            place: Place::default(),
            shared: &shared,
            barriers: &mut barriers,
            trace: None,
        };
        let exit = run(&mut wave, &mut cx, BUDGET);
        let retired = wave.retired() - before;
        assert!(
            retired <= BUDGET + 2 * PAGE as u64 / 4,
            "{retired} instructions"
        );
        match exit {
            Exit::Ended => return,
            Exit::Fault(fault) | Exit::Halted(fault) => {
                assert!(!fault.to_string().is_empty());
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_and_valid_kernels_end_or_fault_within_their_memory() {
        let mut rng = Rng::new(6);
        let mut data = [0; 1024];
        for round in 0..50u8 {
            for choice in 0..Arch::ALL.len() as u8 {
                rng.fill(&mut data);
                (data[0], data[1]) = (choice, round);
                check(&data);
            }
        }
    }

    #[test]
    fn valid_kernels_with_damage_hold_as_well() {
        let mut rng = Rng::new(7);
        for arch in Arch::ALL {
            for seed in 0..20 {
                let code = instructions(arch, seed);
                let start = 4 * rng.below(code.len() as u64 / 8) as usize;
                let damaged = crate::oracle::mutate::mutate(&code[start..], &mut rng);
                check_code(arch, 64, seed & 1 != 0, &damaged);
            }
        }
    }
}
