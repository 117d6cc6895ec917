//! Flat, global and scratch instructions beyond plain loads and stores.

use super::bed::{APERTURES, Bed, Random};
use rukh_backend_sim::exec::FaultKind;
use rukh_backend_sim::isa::Arch;

fn filled(arch: Arch, lanes: u32) -> (Bed, u64) {
    let mut bed = Bed::new(arch, lanes);
    let at = bed.allocate(4);
    for i in 0..4096u32 {
        bed.write(at + u64::from(i) * 4, &(0x1111_0080 + i).to_le_bytes());
    }
    bed.set_address(4, at);
    (bed, at)
}

#[test]
fn global_loads_to_lds_place_the_lanes_side_by_side() {
    for (name, dwords) in [
        ("ubyte", 1),
        ("sbyte", 1),
        ("ushort", 1),
        ("sshort", 1),
        ("dword", 1),
        ("dwordx3", 3),
        ("dwordx4", 4),
    ] {
        let arch = if dwords == 1 {
            Arch::Gfx942
        } else {
            Arch::Gfx950
        };
        let (mut bed, _) = filled(arch, 64);
        bed.set(0, |lane| (63 - lane as u32) * 16);
        bed.wave.set_sgpr(124, 0x200);
        bed.wave.set_exec(0xff);
        bed.run(&format!("global_load_lds_{name} v0, s[4:5] offset:32"));
        for lane in 0..8usize {
            for word in 0..dwords {
                let value = 0x1111_0080 + ((63 - lane as u32) * 16 + 32) / 4 + word as u32;
                let expected = match name {
                    "ubyte" => value & 0xff,
                    "sbyte" => value as i8 as u32,
                    "ushort" => value & 0xffff,
                    "sshort" => value as i16 as u32,
                    _ => value,
                };
                assert_eq!(
                    bed.lds_word(0x220 + (lane * dwords + word) * 4),
                    expected,
                    "{name}"
                );
            }
        }
        assert_eq!(bed.lds_word(0x220 + 8 * dwords * 4), 0);
    }
}

#[test]
fn scratch_loads_to_lds_read_the_lane_s_own_memory() {
    let mut bed = Bed::of(Arch::Gfx942);
    let scratch = bed.allocate(4);
    bed.wave.set_flat_scratch(scratch);
    // Dword 3 of each lane.
    for lane in 0..64u64 {
        bed.write(
            scratch + 3 * 256 + lane * 4,
            &(500 + lane as u32).to_le_bytes(),
        );
    }
    bed.set(0, |_| 8);
    bed.wave.set_sgpr(124, 0x40);
    bed.run("scratch_load_lds_dword v0, off offset:4");
    for lane in 0..64usize {
        assert_eq!(bed.lds_word(0x44 + lane * 4), 500 + lane as u32);
    }
}

#[test]
fn addtid_accesses_add_four_times_the_lane() {
    for (arch, load, store) in [
        (
            Arch::Gfx1030,
            "global_load_dword_addtid",
            "global_store_dword_addtid",
        ),
        (
            Arch::Gfx1100,
            "global_load_addtid_b32",
            "global_store_addtid_b32",
        ),
        (
            Arch::Gfx1201,
            "global_load_addtid_b32",
            "global_store_addtid_b32",
        ),
    ] {
        let (mut bed, at) = filled(arch, 32);
        bed.run(&format!(
            "{load} v4, s[4:5] offset:16\n{store} v4, s[4:5] offset:1024"
        ));
        for lane in 0..32 {
            assert_eq!(bed.get(4, lane), 0x1111_0084 + lane as u32, "{arch}");
            assert_eq!(
                bed.word(at + 1024 + lane as u64 * 4),
                0x1111_0084 + lane as u32,
                "{arch}"
            );
        }
    }
}

#[test]
fn blocks_skip_the_dwords_that_m0_leaves_out() {
    let (mut bed, at) = filled(Arch::Gfx1201, 32);
    bed.wave.set_exec(3);
    bed.set(0, |lane| lane as u32 * 256);
    for register in 32..64 {
        bed.set(register, |_| 7);
    }
    bed.wave.set_sgpr(125, 0);
    bed.run("s_mov_b32 m0, 0x80000105\nglobal_load_block v[32:63], v0, s[4:5]");
    for lane in 0..2usize {
        for word in 0..32u16 {
            let chosen = 0x8000_0105u32 >> word & 1 == 1;
            let expected = 0x1111_0080 + lane as u32 * 64 + u32::from(word);
            assert_eq!(bed.get(32 + word, lane), if chosen { expected } else { 7 });
        }
    }
    bed.run("s_mov_b32 m0, 0x6\nglobal_store_block v0, v[32:63], s[4:5]");
    let expected = [0x1111_0080, 7, 0x1111_0082, 0x1111_0083];
    let got: [u32; 4] = std::array::from_fn(|i| bed.word(at + 4 * i as u64));
    assert_eq!(got, expected);
}

#[test]
fn transposed_loads_give_each_lane_a_column() {
    for (name, bits) in [("b128", 16usize), ("b64", 8)] {
        for lanes in [32usize, 64] {
            let mut bed = Bed::new(Arch::Gfx1201, lanes as u32);
            let at = bed.allocate(1);
            let mut random = Random(9);
            let mut tile = [[0u32; 16]; 16];
            let bytes = bits / 8;
            for (r, row) in tile.iter_mut().enumerate() {
                for (c, cell) in row.iter_mut().enumerate() {
                    *cell = random.next() & ((1 << bits) - 1);
                    let to = at + ((r * 16 + c) * bytes) as u64;
                    bed.write(to, &cell.to_le_bytes()[..bytes]);
                }
            }
            bed.set_address(4, at);
            let count = 256 / lanes;
            bed.set(0, |lane| {
                ((lane % 16 * 16 + lane / 16 * count) * bytes) as u32
            });
            let dwords = count * bytes / 4;
            let last = 3 + dwords;
            let registers = if dwords == 1 {
                "v4".to_string()
            } else {
                format!("v[4:{last}]")
            };
            bed.run(&format!("global_load_tr_{name} {registers}, v0, s[4:5]"));
            for lane in 0..lanes {
                for i in 0..count {
                    let low = i * bits;
                    let got =
                        bed.get(4 + (low / 32) as u16, lane) >> (low % 32) & ((1 << bits) - 1);
                    assert_eq!(
                        got,
                        tile[lane / 16 * count + i][lane % 16],
                        "{name}, lane {lane}"
                    );
                }
            }
        }
    }
}

#[test]
fn flat_atomics_work_in_every_aperture() {
    for arch in [Arch::Gfx900, Arch::Gfx90a, Arch::Gfx1030, Arch::Gfx1100] {
        let (mut bed, at) = filled(arch, 32.max(if arch < Arch::Gfx1030 { 64 } else { 32 }));
        let scratch = bed.allocate(4);
        if arch < Arch::Gfx1030 {
            bed.set_address(102, scratch);
        } else {
            bed.wave.set_flat_scratch(scratch);
        }
        bed.lds[32..40].copy_from_slice(&5u64.to_le_bytes());
        let stride = if arch < Arch::Gfx1030 { 256 } else { 128 };
        // Private offset 8 of lane 2: dwords 2 and 3.
        bed.write(scratch + 2 * stride + 8, &6u32.to_le_bytes());
        let addresses = [at, APERTURES.shared + 32, APERTURES.private + 8];
        bed.set(0, |lane| addresses[lane % 3] as u32);
        bed.set(1, |lane| (addresses[lane % 3] >> 32) as u32);
        bed.set(2, |_| 1);
        bed.set(3, |_| 1);
        bed.wave.set_exec(7);
        let name = if arch == Arch::Gfx1100 {
            "flat_atomic_add_u64"
        } else {
            "flat_atomic_add_x2"
        };
        bed.run(&format!("{name} v[4:5], v[0:1], v[2:3] glc"));
        assert_eq!(
            [bed.get(4, 0), bed.get(4, 1), bed.get(4, 2)],
            [0x1111_0080, 5, 6],
            "{arch}"
        );
        assert_eq!(
            (bed.word(at), bed.word(at + 4)),
            (0x1111_0081, 0x1111_0082),
            "{arch}"
        );
        assert_eq!((bed.lds_word(32), bed.lds_word(36)), (6, 1), "{arch}");
        assert_eq!(bed.word(scratch + 2 * stride + 8), 7, "{arch}");
        assert_eq!(bed.word(scratch + 3 * stride + 8), 1, "{arch}");
    }
}

#[test]
fn a_scratch_access_that_is_not_mapped_reports_its_whole_size() {
    for (offset, bytes) in [(0, 16), (2, 16)] {
        let mut bed = Bed::of(Arch::Gfx1100);
        bed.wave.set_flat_scratch(0x10_0000);
        bed.set(0, |_| offset);
        let fault = bed.fault("scratch_load_b128 v[4:7], v0, off");
        let FaultKind::Memory {
            lane: Some(0),
            fault,
        } = fault.kind
        else {
            panic!("{fault}")
        };
        // At a dword, dwords are apart and each is an access.
        let expected = if offset == 0 { 4 } else { bytes };
        assert_eq!(
            (fault.address, fault.len),
            (0x10_0000 + u64::from(offset), expected)
        );
    }
}

#[test]
fn double_precision_atomics_of_global_memory() {
    for (name, old, data, new) in [
        ("add", 1.5f64, 0.25f64, 1.75f64),
        ("min", 1.5, -2.0, -2.0),
        ("max", 1.5, -2.0, 1.5),
    ] {
        let (mut bed, at) = filled(Arch::Gfx90a, 64);
        bed.write(at, &old.to_bits().to_le_bytes());
        bed.wave.set_exec(1);
        bed.set(0, |_| 0);
        bed.set(2, |_| data.to_bits() as u32);
        bed.set(3, |_| (data.to_bits() >> 32) as u32);
        bed.run(&format!(
            "global_atomic_{name}_f64 v[4:5], v0, v[2:3], s[4:5] glc"
        ));
        let now = u64::from(bed.word(at)) | u64::from(bed.word(at + 4)) << 32;
        assert_eq!(f64::from_bits(now), new, "{name}");
        let returned = u64::from(bed.get(4, 0)) | u64::from(bed.get(5, 0)) << 32;
        assert_eq!(f64::from_bits(returned), old, "{name}");
    }
}

#[test]
fn sums_in_memory_flush_subnormal_numbers_on_the_processors_whose_memory_does() {
    // LLVM adds by compare-and-swap on gfx908 and gfx90a where subnormal numbers count, and by the instruction on others.
    for arch in [
        Arch::Gfx908,
        Arch::Gfx90a,
        Arch::Gfx942,
        Arch::Gfx1100,
        Arch::Gfx1201,
    ] {
        let flushes = matches!(arch, Arch::Gfx908 | Arch::Gfx90a);
        // Old value, addend, sum in full, sum with zeros for what is subnormal.
        for (old, add, full, flushed) in [
            (0x0000_0001u32, 0x0000_0001u32, 0x0000_0002u32, 0u32),
            (0x8000_0001, 0x8000_0003, 0x8000_0004, 0x8000_0000),
            (0x0080_0000, 0x8000_0001, 0x007f_ffff, 0x0080_0000),
            (0x0080_0001, 0x8080_0000, 0x0000_0001, 0),
            (0x3f80_0000, 0x3f80_0000, 0x4000_0000, 0x4000_0000),
        ] {
            let mut bed = Bed::of(arch);
            let at = bed.allocate(1);
            bed.write(at, &old.to_le_bytes());
            bed.wave.set_exec(1);
            bed.set(0, |_| at as u32);
            bed.set(1, |_| (at >> 32) as u32);
            bed.set(2, |_| add);
            bed.run("global_atomic_add_f32 v[0:1], v2, off");
            let expected = if flushes { flushed } else { full };
            assert_eq!(bed.word(at), expected, "{arch}: {old:#x} + {add:#x}");
        }
    }
}
