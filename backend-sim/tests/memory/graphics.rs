//! Instructions of graphics are refused by their names; what compute can use of them is executed.

use super::bed::Bed;
use rukh_backend_sim::exec::FaultKind;
use rukh_backend_sim::isa::Arch;

#[test]
fn graphics_instructions_fault_with_their_names() {
    for (arch, name, operands) in [
        (
            Arch::Gfx900,
            "image_sample",
            "v1, v[2:3], s[4:11], s[4:7] dmask:0x1",
        ),
        (
            Arch::Gfx90a,
            "image_sample",
            "v1, v[2:3], s[4:11], s[4:7] dmask:0x1",
        ),
        (
            Arch::Gfx900,
            "image_gather4",
            "v[4:7], v[2:3], s[4:11], s[4:7] dmask:0x1",
        ),
        (Arch::Gfx908, "exp", "mrt0 v0, v1, v2, v3 done vm"),
        (Arch::Gfx908, "v_interp_p1_f32", "v1, v2, attr0.x"),
        (Arch::Gfx1030, "v_interp_p2_f16", "v5, v2, attr0.x, v3"),
        (
            Arch::Gfx1030,
            "image_sample_c_d_cl_o",
            "v5, [v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12], s[4:11], s[4:7] dmask:0x1 dim:SQ_RSRC_IMG_3D",
        ),
        (
            Arch::Gfx1030,
            "image_msaa_load",
            "v1, v[5:7], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA",
        ),
        (
            Arch::Gfx1030,
            "image_bvh_intersect_ray",
            "v[4:7], v[9:19], s[4:7]",
        ),
        (
            Arch::Gfx1100,
            "image_bvh64_intersect_ray",
            "v[9:12], [v[0:1], v2, v[3:5], v[6:8]], s[4:7] a16",
        ),
        (
            Arch::Gfx1100,
            "image_get_lod",
            "v1, v2, s[4:11], s[4:7] dmask:0x1 dim:SQ_RSRC_IMG_1D",
        ),
        (Arch::Gfx1100, "v_interp_p10_f32", "v0, v1, v2, v3"),
        (Arch::Gfx1100, "lds_param_load", "v1, attr2.x"),
        (Arch::Gfx1201, "ds_param_load", "v1, attr2.x"),
        (Arch::Gfx1201, "export", "mrt0 v0, v1, v2, v3 done"),
        (
            Arch::Gfx1201,
            "image_sample",
            "v[4:6], [v2, v3], s[4:11], s[4:7] dmask:0x7 dim:SQ_RSRC_IMG_2D",
        ),
        (
            Arch::Gfx1201,
            "image_bvh8_intersect_ray",
            "v[0:9], [v[11:12], v[13:14], v[5:7], v[8:10], v12], s[0:3]",
        ),
    ] {
        let mut bed = Bed::of(arch);
        let fault = bed.fault(&format!("{name} {operands}"));
        match fault.kind {
            FaultKind::Unsupported { mnemonic, what, .. } => {
                assert_eq!((mnemonic, what), (name, "graphics"), "{arch}");
            }
            _ => panic!("{arch}: {name}: {fault}"),
        }
    }
}

#[test]
fn a_dword_of_lds_is_loaded_into_all_active_lanes_as_m0_says() {
    // M0: the address in its low half, above it the type: byte, half, dword, and signed bytes and halves.
    for (arch, load) in [
        (Arch::Gfx1100, "lds_direct_load"),
        (Arch::Gfx1201, "ds_direct_load"),
    ] {
        for (m0, expected) in [
            (0x0_0040u32, 0xf4),
            (0x1_0040, 0x83f4),
            (0x2_0040, 0x9283_83f4),
            (0x4_0040, 0xffff_fff4),
            (0x5_0040, 0xffff_83f4),
        ] {
            let mut bed = Bed::of(arch);
            bed.lds[0x40..0x44].copy_from_slice(&0x9283_83f4_u32.to_le_bytes());
            bed.set(1, |_| 7);
            bed.wave.set_exec(0x0000_ff01);
            bed.run(&format!("s_mov_b32 m0, {m0:#x}\n{load} v1"));
            for lane in 0..32 {
                let active = 0x0000_ff01 >> lane & 1 != 0;
                let expected = if active { expected } else { 7 };
                assert_eq!(bed.get(1, lane), expected, "{arch} {m0:#x} {lane}");
            }
        }
    }
}
