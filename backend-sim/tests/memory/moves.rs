//! Vector moves whose registers M0 numbers, in every form, and instructions that look a value up or do nothing.

use super::bed::{Bed, Random};
use rukh_backend_sim::isa::Arch;

/// Fills v0 to v39 with random numbers; gives them by register and lane.
fn fill(bed: &mut Bed, seed: u64) -> Vec<[u32; 32]> {
    let mut random = Random(seed);
    (0..40)
        .map(|register| {
            let row: [u32; 32] = std::array::from_fn(|_| random.next());
            bed.set(register, |lane| row[lane % 32]);
            row
        })
        .collect()
}

/// The four moves: mnemonic, what M0 holds, and the registers that `move v5, v1` then writes and reads.
const MOVES: [(&str, u32, u16, usize); 4] = [
    ("v_movreld_b32", 7, 12, 1),
    ("v_movrels_b32", 7, 5, 8),
    ("v_movrelsd_b32", 7, 12, 8),
    ("v_movrelsd_2_b32", 4 << 16 | 9, 9, 10),
];

#[test]
fn relative_moves_with_parts_of_registers_take_the_part_of_the_register_that_m0_says() {
    for (name, m0, to, from) in MOVES {
        let mut bed = Bed::of(Arch::Gfx1030);
        let old = fill(&mut bed, 1);
        bed.wave.set_exec(0xffff_0f0f);
        bed.run(&format!(
            "s_mov_b32 m0, {m0:#x}\n\
             {name}_sdwa v5, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1"
        ));
        for register in 0..40 {
            for (lane, &before) in old[usize::from(register)].iter().enumerate() {
                let written = register == to && 0xffff_0f0fu32 >> lane & 1 != 0;
                let part = (old[from][lane] >> 8 & 0xff) << 16;
                let expected = if written {
                    before & 0xff00_ffff | part
                } else {
                    before
                };
                assert_eq!(
                    bed.get(register, lane),
                    expected,
                    "{name} v{register}, {lane}"
                );
            }
        }
        // The sign of a half, extended over the whole register.
        let old = fill(&mut bed, 2);
        bed.wave.set_exec(u64::from(u32::MAX));
        bed.run(&format!(
            "s_mov_b32 m0, {m0:#x}\n\
             {name}_sdwa v5, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1"
        ));
        for (lane, &source) in old[from].iter().enumerate() {
            assert_eq!(bed.get(to, lane), (source as i32 >> 16) as u32, "{name}");
        }
    }
}

#[test]
fn relative_moves_permute_the_lanes_of_the_register_that_m0_says() {
    for arch in [Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        for (name, m0, to, from) in MOVES {
            let mut bed = Bed::of(arch);
            let old = fill(&mut bed, 3);
            bed.run(&format!(
                "s_mov_b32 m0, {m0:#x}\n\
                 {name}_dpp v5, v1 quad_perm:[1,0,3,2] row_mask:0x1 bank_mask:0xd"
            ));
            for (lane, &before) in old[usize::from(to)].iter().enumerate() {
                let written = lane < 16 && lane / 4 != 1;
                let expected = if written { old[from][lane ^ 1] } else { before };
                assert_eq!(bed.get(to, lane), expected, "{arch} {name}, lane {lane}");
            }
            let old = fill(&mut bed, 4);
            bed.run(&format!(
                "s_mov_b32 m0, {m0:#x}\n{name}_dpp v5, v1 dpp8:[7,6,5,4,3,2,1,0]"
            ));
            for lane in 0..32 {
                let expected = old[from][lane ^ 7];
                assert_eq!(bed.get(to, lane), expected, "{arch} {name}, lane {lane}");
            }
        }
    }
}

#[test]
fn a_move_to_a_register_that_the_wave_has_not_faults_in_every_form() {
    for form in [
        "v_movreld_b32 v5, v1",
        "v_movreld_b32_sdwa v5, v1 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:DWORD",
        "v_movrels_b32_dpp v5, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf",
    ] {
        let mut bed = Bed::of(Arch::Gfx1030);
        let fault = bed.fault(&format!("s_movk_i32 m0, 0x1234\n{form}"));
        assert!(fault.to_string().contains("v466"), "{form}: {fault}");
    }
}

/// The table of AMD's Vega manual, sixteen entries a line, for the low byte from zero up.
const PARTITIONS: [&str; 16] = [
    "137f5fff7fffffff",
    "f26efafffbffffff",
    "df4cff5fffdfffff",
    "9bf8fffafffeffff",
    "ffff4cdf6fffefff",
    "fffff89bf99ffdff",
    "ffff7f13ff9fffbf",
    "ffff6ef26ff6fff7",
    "bfffffff23bfafff",
    "f7fffffff19df5ff",
    "ffefffffef8cffaf",
    "fffdffff67f4fff5",
    "9fffdfffffff8cef",
    "f66ffefffffff467",
    "ff6fff7fffffbf23",
    "9ff9fffbffff9df1",
];

#[test]
fn screen_partitions_are_looked_up_by_the_low_byte() {
    for arch in [Arch::Gfx900, Arch::Gfx90a] {
        let mut bed = Bed::of(arch);
        for (index, line) in PARTITIONS.iter().enumerate() {
            bed.set(1, |lane| 0xabcd_1200 | (16 * index + lane % 16) as u32);
            bed.run("v_screen_partition_4se_b32 v2, v1");
            for (lane, digit) in line.chars().enumerate() {
                assert_eq!(Some(bed.get(2, lane)), digit.to_digit(16), "{arch} {lane}");
            }
        }
    }
}

#[test]
fn what_does_nothing_does_nothing_in_every_form() {
    for arch in [Arch::Gfx900, Arch::Gfx90a, Arch::Gfx1030] {
        let mut bed = Bed::of(arch);
        let old = fill(&mut bed, 5);
        bed.run(
            "v_nop_sdwa\nv_nop_dpp quad_perm:[1,1,1,1] row_mask:0xf bank_mask:0xf\nds_nop\n\
             v_nop\ns_nop 1",
        );
        for (register, row) in old.iter().enumerate() {
            for (lane, &before) in row.iter().enumerate() {
                assert_eq!(bed.get(register as u16, lane), before, "{arch}");
            }
        }
    }
    let mut bed = Bed::of(Arch::Gfx1201);
    let at = bed.allocate(1);
    bed.set_scalars(4, &[at as u32, (at >> 32) as u32, 4096, 0]);
    bed.run(
        "ds_nop\ns_version UC_VERSION_GFX12|UC_VERSION_W32_BIT\n\
         s_buffer_prefetch_data s[4:7], 0x10, null, 7",
    );
    assert_eq!(bed.word(at), 0);
}

#[test]
fn signs_of_packed_sources_of_dot_products_change_both_numbers() {
    // LLVM folds the negation of a whole vector, and for halves its absolute value, into the modifier.
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        for kind in ["f16", "bf16"] {
            let mut bed = Bed::of(arch);
            let mut random = Random(9);
            for register in 0..3 {
                // Finite halves and bfloat16s of both signs.
                let row: Vec<u32> = (0..32)
                    .map(|_| random.next() & 0xbfff_bfff | 0x0400_0400)
                    .collect();
                bed.set(register, |lane| row[lane]);
            }
            bed.run(&format!(
                "v_dot2_{kind}_{kind} v4, -v0, |v1|, v2
                 v_dot2_{kind}_{kind} v5, -|v0|, v1, -v2
                 v_xor_b32 v6, 0x80008000, v0
                 v_and_b32 v7, 0x7fff7fff, v1
                 v_dot2_{kind}_{kind} v8, v6, v7, v2
                 v_or_b32 v6, 0x80008000, v0
                 v_xor_b32 v7, 0x8000, v2
                 v_dot2_{kind}_{kind} v9, v6, v1, v7
                 v_dot2_{kind}_{kind} v10, v0, v1, v2"
            ));
            let mut differ = 0;
            for lane in 0..32 {
                assert_eq!(bed.get(4, lane), bed.get(8, lane), "{arch} {kind} {lane}");
                assert_eq!(bed.get(5, lane), bed.get(9, lane), "{arch} {kind} {lane}");
                differ += u32::from(bed.get(4, lane) != bed.get(10, lane));
            }
            assert!(differ > 10, "{arch} {kind}");
        }
    }
}

#[test]
fn a_source_of_four_registers_may_be_scalars_or_a_constant() {
    // Sums of absolute differences: of nothing from zeros, so that only the accumulators remain.
    for arch in [Arch::Gfx900, Arch::Gfx942, Arch::Gfx1030] {
        let mut bed = Bed::of(arch);
        bed.set_scalars(4, &[11, 12, 13, 14]);
        let code = |src2: u32| {
            let opcode = if arch < Arch::Gfx1030 { 0x1e7 } else { 0x175 };
            let encoding = if arch < Arch::Gfx1030 {
                0b110100
            } else {
                0b110101
            };
            let low: u32 = encoding << 26 | opcode << 16 | 8;
            let high: u32 = 256 | (256 + 2) << 9 | src2 << 18;
            [
                low.to_le_bytes(),
                high.to_le_bytes(),
                0xbf81_0000_u32.to_le_bytes(),
            ]
            .concat()
        };
        for register in 0..3 {
            bed.set(register, |_| 0);
        }
        // v_mqsad_u32_u8 v[8:11], v[0:1], v2 and s[4:7], 33 or -2.
        for (src2, expected) in [
            (4, [11, 12, 13, 14]),
            (128 + 33, [33, 0, 0, 0]),
            (192 + 2, [0xffff_fffe, u32::MAX, u32::MAX, u32::MAX]),
        ] {
            bed.run_code(&code(src2));
            for (register, expected) in (8..12).zip(expected) {
                assert_eq!(bed.get(register, 5), expected, "{arch} {src2} v{register}");
            }
        }
    }
}
