//! Accesses at any address: the driver has compute waves access memory and LDS unaligned (SH_MEM_CONFIG), atomics not.
//! In the other modes, what is not aligned faults or loses its low bits.

use super::bed::{Bed, Random};
use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::exec::{Alignment, CodeCache, Exit, FaultKind};
use rukh_backend_sim::isa::Arch;

const TARGETS: [Arch; 6] = [
    Arch::Gfx900,
    Arch::Gfx90a,
    Arch::Gfx942,
    Arch::Gfx1030,
    Arch::Gfx1100,
    Arch::Gfx1201,
];

/// Suffixes of accesses up to gfx10 and since gfx11, bytes, and registers.
const SIZES: [(&str, &str, u64, u16); 5] = [
    ("ushort", "u16", 2, 1),
    ("dword", "b32", 4, 1),
    ("dwordx2", "b64", 8, 2),
    ("dwordx3", "b96", 12, 3),
    ("dwordx4", "b128", 16, 4),
];

fn registers(first: u16, count: u16) -> String {
    match count {
        1 => format!("v{first}"),
        _ => format!("v[{first}:{}]", first + count - 1),
    }
}

fn name(arch: Arch, (old, new): (&str, &str), what: &str, segment: &str) -> String {
    if arch < Arch::Gfx1100 {
        let size = if what == "store" {
            old.trim_start_matches('u')
        } else {
            old
        };
        format!("{segment}_{what}_{size}")
    } else {
        let size = if what == "store" {
            new.replace('u', "b")
        } else {
            new.to_string()
        };
        format!("{segment}_{what}_{size}")
    }
}

/// Little-endian dwords of `bytes`, the rest zero.
fn dwords(bytes: &[u8]) -> Vec<u32> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    };
    bytes.chunks(4).map(word).collect()
}

#[test]
fn loads_and_stores_take_any_address_and_cross_pages() {
    for arch in TARGETS {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(2);
        let mut random = Random(3);
        let content: Vec<u8> = (0..8192).map(|_| random.next() as u8).collect();
        let lanes = if arch < Arch::Gfx1030 { 64 } else { 32 };
        // Every misalignment, and across the page.
        let offset = |lane: usize| 4060 + 3 * lane as u64 / 2 + lane as u64 % 7;
        bed.set_address(4, at);
        for segment in ["global", "flat"] {
            for (old, new, bytes, count) in SIZES {
                bed.write(at, &content);
                bed.set(0, |lane| (at + offset(lane)) as u32);
                bed.set(1, |lane| ((at + offset(lane)) >> 32) as u32);
                let (load, store) = (
                    name(arch, (old, new), "load", segment),
                    name(arch, (old, new), "store", segment),
                );
                let off = if segment == "global" { ", off" } else { "" };
                let to = registers(4, count);
                bed.run(&format!("{load} {to}, v[0:1]{off}"));
                for lane in 0..lanes {
                    let from = offset(lane) as usize;
                    let expected = dwords(&content[from..from + bytes as usize]);
                    for (register, &word) in (4..).zip(&expected) {
                        assert_eq!(bed.get(register, lane), word, "{arch} {load}, {lane}");
                    }
                }
                // One lane stores, to a place that straddles the pages.
                bed.wave.set_exec(1);
                for place in 4096 - bytes + 1..4096 {
                    bed.write(at, &content);
                    bed.set(0, |_| (at + place) as u32);
                    bed.set(1, |_| ((at + place) >> 32) as u32);
                    for register in 4..8 {
                        bed.set(register, |_| {
                            (0x0101_0101 * u32::from(register)) | 0x8040_2010
                        });
                    }
                    bed.run(&format!("{store} v[0:1], {to}{off}"));
                    let mut expected = content.clone();
                    for (i, byte) in expected[place as usize..][..bytes as usize]
                        .iter_mut()
                        .enumerate()
                    {
                        let word = (0x0101_0101 * (4 + i as u32 / 4)) | 0x8040_2010;
                        *byte = word.to_le_bytes()[i % 4];
                    }
                    assert!(bed.read(at, 8192) == expected, "{arch} {store} at {place}");
                }
                let all = if lanes == 64 { u64::MAX } else { 0xffff_ffff };
                bed.wave.set_exec(all);
            }
        }
    }
}

#[test]
fn lds_takes_any_address() {
    for arch in TARGETS {
        let new = arch >= Arch::Gfx1100;
        let mut bed = Bed::of(arch);
        let mut random = Random(4);
        let content: Vec<u8> = (0..4096).map(|_| random.next() as u8).collect();
        let lanes = if arch < Arch::Gfx1030 { 64 } else { 32 };
        for (size, bytes, count) in [
            ("u16", 2, 1),
            ("b32", 4, 1),
            ("b64", 8, 2),
            ("b96", 12, 3),
            ("b128", 16, 4),
        ] {
            bed.lds.copy_from_slice(&content);
            bed.set(0, |lane| 100 + 17 * lane as u32);
            let to = registers(4, count);
            let load = if new { "load" } else { "read" };
            // M0 limits LDS on gfx9 only where it is told to; here it does not.
            bed.run(&format!("s_mov_b32 m0, -1\nds_{load}_{size} {to}, v0"));
            for lane in 0..lanes {
                let from = 100 + 17 * lane;
                let expected = dwords(&content[from..from + bytes]);
                for (register, &word) in (4..).zip(&expected) {
                    assert_eq!(bed.get(register, lane), word, "{arch} {size}, {lane}");
                }
            }
            for register in 4..8 {
                bed.set(register, |lane| {
                    u32::from(register) << 24 | 0x80_1000 | lane as u32
                });
            }
            let store = if new { "store" } else { "write" };
            let size = size.replace('u', "b");
            bed.run(&format!("ds_{store}_{size} v0, {to}"));
            let mut expected = content.clone();
            for lane in 0..lanes {
                let to = &mut expected[100 + 17 * lane..][..bytes];
                for (i, byte) in to.iter_mut().enumerate() {
                    let word = (4 + i as u32 / 4) << 24 | 0x80_1000 | lane as u32;
                    *byte = word.to_le_bytes()[i % 4];
                }
            }
            assert!(bed.lds == expected, "{arch} {size}");
        }
    }
}

#[test]
fn atomics_on_memory_insist_on_their_alignment() {
    for arch in TARGETS {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(1) + 2;
        bed.set(0, |_| at as u32);
        bed.set(1, |_| (at >> 32) as u32);
        let name = if arch < Arch::Gfx1100 {
            "add"
        } else {
            "add_u32"
        };
        let fault = bed.fault(&format!("global_atomic_{name} v[0:1], v2, off"));
        assert!(
            matches!(fault.kind, FaultKind::Misaligned { align: 4, .. }),
            "{arch}: {fault}"
        );
    }
}

/// A load and a store of each kind of memory: the instruction with `{}` for the data, and where its offset counts from.
fn accesses(arch: Arch, (old, new): (&str, &str)) -> Vec<(String, String, &'static str)> {
    let of = |what: &str, segment: &str| name(arch, (old, new), what, segment);
    let lds = |what: &str, other: &str| {
        let size = if what == "load" {
            new.to_string()
        } else {
            new.replace('u', "b")
        };
        match arch < Arch::Gfx1100 {
            true => format!("ds_{other}_{size}"),
            false => format!("ds_{what}_{size}"),
        }
    };
    vec![
        (
            format!("{} {{}}, v[0:1], off", of("load", "global")),
            format!("{} v[0:1], {{}}, off", of("store", "global")),
            "global",
        ),
        (
            format!("{} {{}}, v[0:1]", of("load", "flat")),
            format!("{} v[0:1], {{}}", of("store", "flat")),
            "flat",
        ),
        (
            format!("{} {{}}, v2", lds("load", "read")),
            format!("{} v2, {{}}", lds("store", "write")),
            "lds",
        ),
        (
            format!("{} {{}}, v2, off", of("load", "scratch")),
            format!("{} v2, {{}}, off", of("store", "scratch")),
            "scratch",
        ),
    ]
}

/// What an access of so many bytes is aligned to in a mode, and whether it must be.
fn rule(mode: Alignment, bytes: u64) -> (u64, bool) {
    match mode {
        Alignment::Dword => (bytes.min(4), false),
        Alignment::DwordStrict => (bytes.min(4), true),
        Alignment::Strict => (bytes.next_power_of_two(), true),
        Alignment::Unaligned => (1, false),
    }
}

#[test]
fn each_mode_faults_or_ignores_low_bits_where_it_says_so() {
    for arch in TARGETS {
        for mode in Alignment::ALL {
            let mut bed = Bed::of(arch);
            bed.code = CodeCache::new(arch, Level::detect()).aligned(mode);
            let at = bed.allocate(8);
            bed.wave.set_flat_scratch(at);
            if arch < Arch::Gfx1030 {
                // Where gfx9 has it among the scalars.
                bed.set_address(102, at);
            }
            bed.wave.set_exec(1);
            for (old, new, bytes, count) in SIZES {
                let (unit, strict) = rule(mode, bytes);
                for (load, store, segment) in accesses(arch, (old, new)) {
                    let data = registers(4, count);
                    let [load, store] = [load, store].map(|source| source.replace("{}", &data));
                    let programs = [&load, &store]
                        .map(|source| bed.load(&format!("s_mov_b32 m0, -1\n{source}")));
                    let go = |bed: &mut Bed, program: usize| {
                        bed.wave.set_pc(programs[program]);
                        let exit = bed.resume();
                        bed.wave.restart();
                        exit
                    };
                    for offset in 256..256 + 17 {
                        bed.set(0, |_| (at + offset) as u32);
                        bed.set(1, |_| ((at + offset) >> 32) as u32);
                        bed.set(2, |_| offset as u32);
                        if strict && offset % unit != 0 {
                            for (program, source) in [&load, &store].into_iter().enumerate() {
                                let Exit::Fault(fault) = go(&mut bed, program) else {
                                    panic!("{arch} {mode:?} {source} at {offset}: no fault");
                                };
                                let needs = match fault.kind {
                                    FaultKind::Misaligned { align, .. } => u64::from(align),
                                    _ => 0,
                                };
                                assert_eq!(needs, unit, "{arch} {mode:?} {source}: {fault}");
                            }
                            continue;
                        }
                        // What a byte of the memory is, by its offset from the lane's view.
                        let placed = offset - offset % unit;
                        for register in 4..8 {
                            bed.set(register, |_| {
                                (0x0101_0101 * u32::from(register)) | 0x8040_2010
                            });
                        }
                        let exit = go(&mut bed, 1);
                        assert!(matches!(exit, Exit::Ended), "{arch} {store}: {exit:?}");
                        let lanes = if arch < Arch::Gfx1030 { 64 } else { 32 };
                        for byte in 0..bytes {
                            let word = (0x0101_0101 * (4 + byte as u32 / 4)) | 0x8040_2010;
                            let expected = word.to_le_bytes()[byte as usize % 4];
                            let place = placed + byte;
                            let got = match segment {
                                "lds" => bed.lds[place as usize],
                                "scratch" => bed.read(at + place / 4 * 4 * lanes + place % 4, 1)[0],
                                _ => bed.read(at + place, 1)[0],
                            };
                            assert_eq!(got, expected, "{arch} {mode:?} {store} at {offset}");
                        }
                        for register in 4..8 {
                            bed.set(register, |_| 0);
                        }
                        let exit = go(&mut bed, 0);
                        assert!(matches!(exit, Exit::Ended), "{arch} {load}: {exit:?}");
                        for (register, byte) in (4..4 + count).zip((0..bytes).step_by(4)) {
                            let word = (0x0101_0101 * (4 + byte as u32 / 4)) | 0x8040_2010;
                            let all = if bytes < 4 { word & 0xffff } else { word };
                            assert_eq!(
                                bed.get(register, 0),
                                all,
                                "{arch} {mode:?} {load} at {offset}"
                            );
                        }
                    }
                }
            }
        }
    }
}
