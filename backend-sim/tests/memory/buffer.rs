//! Buffer instructions: addresses, bounds, halves, LDS, and the word that says whether something failed.

use super::bed::Bed;
use rukh_backend_sim::exec::FaultKind;
use rukh_backend_sim::isa::Arch;

const GENERATIONS: [Arch; 5] = [
    Arch::Gfx900,
    Arch::Gfx90a,
    Arch::Gfx1030,
    Arch::Gfx1100,
    Arch::Gfx1201,
];

/// Word 3: what is out of bounds (gfx10 and later), a 32-bit format, X Y Z W as they are.
const STRUCTURED_OFFSET: u32 = 0;
const STRUCTURED: u32 = 1 << 28;
const ONLY_IF_EMPTY: u32 = 2 << 28;
const RAW: u32 = 3 << 28;
const ADD_TID: u32 = 1 << 23;

/// A bed with a page of words 1000, 1001, ... and a descriptor of it in s[8:11].
fn bed(arch: Arch, stride: u32, records: u32, word3: u32) -> (Bed, u64) {
    let mut bed = Bed::of(arch);
    let at = bed.allocate(1);
    for i in 0..1024u32 {
        bed.write(at + u64::from(i) * 4, &(1000 + i).to_le_bytes());
    }
    let words = [at as u32, (at >> 32) as u32 | stride << 16, records, word3];
    bed.set_scalars(8, &words);
    (bed, at)
}

fn zero(arch: Arch) -> &'static str {
    if arch >= Arch::Gfx1201 { "null" } else { "0" }
}

#[test]
fn raw_bounds_are_checked_dword_by_dword() {
    for arch in GENERATIONS {
        let (mut bed, at) = bed(arch, 0, 40, RAW);
        bed.set(0, |lane| 4 * lane as u32);
        bed.set(4, |_| 7);
        let soffset = zero(arch);
        bed.run(&format!(
            "buffer_load_dwordx4 v[4:7], v0, s[8:11], {soffset} offen offset:16"
        ));
        for lane in 0..32 {
            for word in 0..4 {
                // Ten words are inside.
                let index = 4 + lane + word;
                let expected = if index < 10 { 1000 + index as u32 } else { 0 };
                assert_eq!(
                    bed.get(4 + word as u16, lane),
                    expected,
                    "{arch}, lane {lane}"
                );
            }
        }
        for register in 4..8 {
            bed.set(register, |_| 5);
        }
        bed.run(&format!(
            "buffer_store_dwordx4 v[4:7], v0, s[8:11], {soffset} offen offset:16"
        ));
        for i in 0..64 {
            let expected = if (4..10).contains(&i) { 5 } else { 1000 + i };
            assert_eq!(bed.word(at + u64::from(i) * 4), expected, "{arch}");
        }
        // Half of a sub-dword access is none of it.
        bed.run(&format!(
            "buffer_load_ushort v8, v0, s[8:11], {soffset} offen offset:3"
        ));
        assert_eq!(bed.get(8, 9), 0, "{arch}");
        assert_ne!(bed.get(8, 8), 0, "{arch}");
    }
}

#[test]
fn the_scalar_offset_counts_in_raw_bounds_since_gfx10_only() {
    for arch in GENERATIONS {
        let (mut bed, _) = bed(arch, 0, 40, RAW);
        bed.wave.set_sgpr(4, 20);
        bed.set(0, |lane| 4 * lane as u32);
        bed.run("buffer_load_dword v4, v0, s[8:11], s4 offen");
        let inside = if arch < Arch::Gfx1030 { 10 } else { 5 };
        for lane in 0..32 {
            let expected = if lane < inside { 1005 + lane as u32 } else { 0 };
            assert_eq!(bed.get(4, lane), expected, "{arch}, lane {lane}");
        }
    }
}

#[test]
fn structured_bounds_compare_the_index_with_the_records() {
    for arch in GENERATIONS {
        for word3 in [STRUCTURED, STRUCTURED_OFFSET] {
            let (mut bed, _) = bed(arch, 16, 3, word3);
            bed.set(0, |lane| lane as u32 / 4);
            bed.set(1, |lane| lane as u32 % 4 * 4 + 8);
            let soffset = zero(arch);
            bed.run(&format!(
                "buffer_load_dword v4, v[0:1], s[8:11], {soffset} idxen offen"
            ));
            for lane in 0..32 {
                let (index, offset) = (lane / 4, lane % 4 * 4 + 8);
                let by_offset = arch >= Arch::Gfx1030 && word3 == STRUCTURED_OFFSET;
                let inside = index < 3 && (!by_offset || offset < 16);
                let expected = 1000 + (index * 16 + offset) as u32 / 4;
                assert_eq!(
                    bed.get(4, lane),
                    if inside { expected } else { 0 },
                    "{arch}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn bounds_that_are_off_end_where_there_are_no_records() {
    for arch in [Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        for records in [0, 1] {
            let (mut bed, _) = bed(arch, 0, records, ONLY_IF_EMPTY);
            bed.set(0, |lane| 4 * lane as u32);
            bed.run(&format!(
                "buffer_load_dword v4, v0, s[8:11], {} offen",
                zero(arch)
            ));
            for lane in 0..32 {
                assert_eq!(bed.get(4, lane), records * (1000 + lane as u32), "{arch}");
            }
        }
    }
}

#[test]
fn swizzled_buffers_interleave_elements_of_neighbouring_records() {
    // AMD's formula: (index_high * stride + offset_high * element) * index_stride + index_low * element + offset_low.
    for arch in GENERATIONS {
        let sizes: &[(u32, u32)] = if arch >= Arch::Gfx1100 {
            &[(1 << 14, 4), (2 << 14, 8), (3 << 14, 16)]
        } else {
            &[(2 << 14, 4)]
        };
        for &(enable, element) in sizes {
            // Index stride 16 (code 1).
            let (mut bed, _) = bed(arch, enable | 32, 1000, STRUCTURED | 1 << 21);
            bed.wave.set_exec(0xffff_ffff);
            bed.set(0, |lane| lane as u32 * 3);
            bed.set(1, |lane| lane as u32 % 8 * 4);
            bed.run(&format!(
                "buffer_load_dword v4, v[0:1], s[8:11], {} idxen offen",
                zero(arch)
            ));
            for lane in 0..32u32 {
                let (index, offset) = (lane * 3, lane % 8 * 4);
                let at = (index / 16 * 32 + offset / element * element) * 16
                    + index % 16 * element
                    + offset % element;
                assert_eq!(
                    bed.get(4, lane as usize),
                    1000 + at / 4,
                    "{arch}, {element} bytes"
                );
            }
        }
    }
}

#[test]
fn the_lane_is_added_to_the_index_where_the_descriptor_says_so() {
    for arch in GENERATIONS {
        let (mut bed, _) = bed(arch, 12, 4096, RAW | ADD_TID);
        bed.run(&format!(
            "buffer_load_dword v4, off, s[8:11], {} offset:8",
            zero(arch)
        ));
        for lane in 0..32 {
            assert_eq!(bed.get(4, lane as usize), 1000 + lane * 3 + 2, "{arch}");
        }
    }
}

#[test]
fn loads_of_halves_leave_the_other_half() {
    for arch in GENERATIONS {
        // A 16-bit float format; codes as each generation numbers them.
        let format = match arch {
            Arch::Gfx900 | Arch::Gfx90a => 7 << 12 | 12 << 15,
            Arch::Gfx1030 => 71 << 12,
            _ => 57 << 12,
        };
        let (mut bed, at) = bed(arch, 8, 4, STRUCTURED | format | 0xfac);
        bed.write(at, &[0x00, 0x3c, 0x00, 0x40, 0x00, 0x42, 0x00, 0x44]);
        for register in 4..7 {
            bed.set(register, |_| 0xaaaa_bbbb);
        }
        bed.wave.set_exec(1);
        let soffset = zero(arch);
        if arch == Arch::Gfx900 || arch == Arch::Gfx90a || arch == Arch::Gfx1030 {
            bed.run(&format!(
                "buffer_load_format_d16_xyz v[4:5], v0, s[8:11], {soffset} idxen\n\
                 buffer_load_format_d16_hi_x v6, v0, s[8:11], {soffset} idxen"
            ));
        } else {
            bed.run(&format!(
                "buffer_load_d16_format_xyz v[4:5], v0, s[8:11], {soffset} idxen\n\
                 buffer_load_d16_hi_format_x v6, v0, s[8:11], {soffset} idxen"
            ));
        }
        assert_eq!(bed.get(4, 0), 0x4000_3c00, "{arch}");
        assert_eq!(bed.get(5, 0), 0xaaaa_4200, "{arch}");
        assert_eq!(bed.get(6, 0), 0x3c00_bbbb, "{arch}");
    }
}

#[test]
fn descriptors_choose_what_each_component_reads() {
    // X reads one, Y the element's X, Z nothing, W the element's Y, of 8_8_8_8 UINT.
    let selects = 1 | 4 << 3 | 5 << 9;
    for (arch, format) in [
        (Arch::Gfx900, 4 << 12 | 10 << 15),
        (Arch::Gfx1030, 60 << 12),
        (Arch::Gfx1100, 46 << 12),
    ] {
        let (mut bed, at) = bed(arch, 4, 4, STRUCTURED | format | selects);
        bed.write(at, &[11, 22, 33, 44]);
        bed.wave.set_exec(1);
        bed.run("buffer_load_format_xyzw v[4:7], v0, s[8:11], 0 idxen");
        let got: [u32; 4] = std::array::from_fn(|i| bed.get(4 + i as u16, 0));
        assert_eq!(got, [1, 11, 0, 22], "{arch}");
    }
}

#[test]
fn an_invalid_format_reads_as_zero_and_is_not_written() {
    for arch in GENERATIONS {
        let (mut bed, at) = bed(arch, 4, 4, STRUCTURED | 0xfac);
        bed.set(4, |_| 7);
        let soffset = zero(arch);
        bed.run(&format!(
            "buffer_store_format_x v4, v0, s[8:11], {soffset} idxen\n\
             buffer_load_format_x v4, v0, s[8:11], {soffset} idxen"
        ));
        assert_eq!((bed.get(4, 0), bed.word(at)), (0, 1000), "{arch}");
    }
}

#[test]
fn the_word_after_the_data_says_that_nothing_failed() {
    for arch in [Arch::Gfx900, Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        let (mut bed, _) = bed(arch, 0, 4096, RAW);
        for register in 4..8 {
            bed.set(register, |_| 99);
        }
        bed.wave.set_exec(2);
        bed.set(0, |lane| lane as u32 * 4);
        bed.run(&format!(
            "buffer_load_dwordx2 v[4:6], v0, s[8:11], {} offen tfe",
            zero(arch)
        ));
        let got: [u32; 4] = std::array::from_fn(|i| bed.get(4 + i as u16, 1));
        assert_eq!(got, [1001, 1002, 0, 99], "{arch}");
        assert_eq!(bed.get(6, 0), 99, "{arch}: an inactive lane");
    }
}

#[test]
fn loads_to_lds_place_the_lanes_side_by_side_from_m0_on() {
    let cases = [
        (
            Arch::Gfx900,
            "buffer_load_dword v0, s[8:11], 0 offen offset:8 lds",
            0,
        ),
        (
            Arch::Gfx90a,
            "buffer_load_sbyte v0, s[8:11], 0 offen offset:8 lds",
            1,
        ),
        (
            Arch::Gfx1030,
            "buffer_load_ushort v0, s[8:11], 0 offen offset:8 lds",
            2,
        ),
    ];
    for (arch, source, kind) in cases {
        let (mut bed, at) = bed(arch, 0, 4096, RAW);
        for lane in 0..32u64 {
            bed.write(
                at + 8 + lane * 8,
                &(0x1234_5680 + lane as u32).to_le_bytes(),
            );
        }
        bed.set(0, |lane| lane as u32 * 8);
        // The base is sixteen bits of M0.
        bed.wave.set_sgpr(124, 0xffff_0100);
        bed.wave.set_exec(0x0f0f);
        bed.run(source);
        for lane in 0..32usize {
            let value = 0x1234_5680 + lane as u32;
            let loaded = match kind {
                0 => value,
                1 => i32::from(value as i8) as u32,
                _ => value & 0xffff,
            };
            let active = 0x0f0f >> lane & 1 == 1;
            let got = bed.lds_word(0x108 + lane * 4);
            assert_eq!(got, if active { loaded } else { 0 }, "{arch}, lane {lane}");
        }
    }
}

#[test]
fn lds_is_stored_to_memory_through_a_buffer() {
    for arch in [Arch::Gfx900, Arch::Gfx90a] {
        let (mut bed, at) = bed(arch, 0, 64, RAW);
        for lane in 0..64u32 {
            let to = 0x40 + lane as usize * 4;
            bed.lds[to..to + 4].copy_from_slice(&(lane + 5).to_le_bytes());
        }
        bed.wave.set_sgpr(124, 0x40);
        // Stride 0 and no offset: every lane writes the same word but for the lane in the descriptor.
        let word1 = bed.wave.sgpr(9);
        bed.wave.set_sgpr(9, word1 | 4 << 16);
        bed.wave.set_sgpr(11, ADD_TID);
        bed.run("buffer_store_lds_dword s[8:11], 0 lds");
        for lane in 0..32 {
            let expected = if lane < 16 { lane + 5 } else { 1000 + lane };
            assert_eq!(bed.word(at + u64::from(lane) * 4), expected, "{arch}");
        }
    }
}

#[test]
fn atomics_are_all_or_nothing_and_return_zero_out_of_bounds() {
    for arch in GENERATIONS {
        let (mut bed, at) = bed(arch, 0, 12, RAW);
        bed.set(0, |lane| lane as u32 * 8);
        bed.set(4, |lane| lane as u32 + 1);
        bed.set(5, |_| 0);
        let (soffset, returns) = (
            zero(arch),
            if arch >= Arch::Gfx1201 {
                "th:TH_ATOMIC_RETURN"
            } else {
                "glc"
            },
        );
        bed.run(&format!(
            "buffer_atomic_add_x2 v[4:5], v0, s[8:11], {soffset} offen {returns}"
        ));
        assert_eq!((bed.get(4, 0), bed.get(5, 0)), (1000, 1001), "{arch}");
        // The second one has only half of its bytes inside.
        assert_eq!((bed.get(4, 1), bed.get(5, 1)), (0, 0), "{arch}");
        assert_eq!((bed.word(at), bed.word(at + 8)), (1001, 1002), "{arch}");
    }
}

#[test]
fn a_misaligned_atomic_is_a_fault_that_says_so() {
    let (mut bed, at) = bed(Arch::Gfx90a, 0, 4096, 0);
    bed.set(0, |lane| if lane == 5 { 6 } else { 0 });
    let fault = bed.fault("buffer_atomic_add v4, v0, s[8:11], 0 offen");
    let FaultKind::Misaligned {
        address,
        align: 4,
        lane: 5,
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(address, at + 6);
}
