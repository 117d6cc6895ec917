//! Images: linear layouts, their formats, and what lies outside of them.

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
const ONE_D: u32 = 8;
const TWO_D: u32 = 9;
const THREE_D: u32 = 10;
const TWO_D_ARRAY: u32 = 13;

/// What the fields of a descriptor are to say.
struct Image {
    kind: u32,
    size: [u32; 3],
    pitch: u32,
    /// Codes on gfx9 (data, number), gfx10 and gfx11.
    format: (u32, u32, u32),
}

const FLOAT_32: (u32, u32, u32) = (4 | 7 << 6, 22, 22);
const UINT_32: (u32, u32, u32) = (4 | 4 << 6, 20, 20);
const UNORM_8_8_8_8: (u32, u32, u32) = (10, 56, 42);

fn set_descriptor(bed: &mut Bed, arch: Arch, at: u64, image: &Image) {
    let [width, height, depth] = image.size.map(|size| size - 1);
    let base = at >> 8;
    let selects = 0xfac | image.kind << 28;
    let plain = image.kind == ONE_D || image.kind == TWO_D;
    let format = match arch {
        Arch::Gfx1030 => image.format.1 << 20,
        Arch::Gfx1100 => image.format.2 << 20,
        Arch::Gfx1201 => image.format.2 << 17,
        _ => image.format.0 << 20,
    };
    // Since gfx10 the width begins in the word of the format, and other images' pitch stands where depth does.
    let (format, size, depth) = match arch < Arch::Gfx1030 {
        true => (
            format,
            width | height << 14,
            depth | (image.pitch - 1) << 13,
        ),
        false => (
            format | (width & 3) << 30,
            width >> 2 | height << 14,
            if plain { image.pitch - 1 } else { depth },
        ),
    };
    let high = (base >> 32) as u32 | format;
    bed.set_scalars(8, &[base as u32, high, size, selects, depth, 0, 0, 0]);
}

/// The syntax of a generation: addresses are a tuple, and since gfx10 the dimension is written.
fn modifiers(arch: Arch, dimension: &str) -> String {
    match arch {
        Arch::Gfx900 | Arch::Gfx90a if dimension.ends_with("ARRAY") => "unorm da".into(),
        Arch::Gfx900 | Arch::Gfx90a => "unorm".into(),
        Arch::Gfx1201 => format!("dim:SQ_RSRC_IMG_{dimension}"),
        _ => format!("dim:SQ_RSRC_IMG_{dimension} unorm"),
    }
}

/// The registers of an address: consecutive ones as a tuple, and on gfx12 one by one.
fn address(arch: Arch, first: u32, count: u32) -> String {
    let last = first + count - 1;
    match (arch, count) {
        (_, 1) => format!("v{first}"),
        (Arch::Gfx1201, _) => {
            let names: Vec<String> = (first..=last).map(|n| format!("v{n}")).collect();
            format!("[{}]", names.join(", "))
        }
        _ => format!("v[{first}:{last}]"),
    }
}

#[test]
fn loads_and_stores_follow_the_pitch_and_stop_at_the_edges() {
    for arch in GENERATIONS {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(2);
        for i in 0..2048u32 {
            bed.write(at + u64::from(i) * 4, &i.to_le_bytes());
        }
        let image = Image {
            kind: TWO_D,
            size: [10, 6, 1],
            pitch: 64,
            format: UINT_32,
        };
        set_descriptor(&mut bed, arch, at, &image);
        bed.set(2, |lane| lane as u32 % 16);
        bed.set(3, |lane| lane as u32 / 4);
        let dim = modifiers(arch, "2D");
        let address = address(arch, 2, 2);
        bed.run(&format!(
            "image_load v6, {address}, s[8:15] dmask:0x1 {dim}"
        ));
        for lane in 0..32 {
            let (x, y) = (lane % 16, lane / 4);
            let expected = if x < 10 && y < 6 { y * 64 + x } else { 0 };
            assert_eq!(bed.get(6, lane as usize), expected, "{arch}");
        }
        bed.set(6, |_| 7777);
        bed.run(&format!(
            "image_store v6, {address}, s[8:15] dmask:0x1 {dim}"
        ));
        let stored = (0..2048u64)
            .filter(|i| bed.word(at + i * 4) == 7777)
            .count();
        let lanes = if arch < Arch::Gfx1030 { 64 } else { 32 };
        let inside: std::collections::BTreeSet<(u32, u32)> = (0..lanes)
            .map(|lane| (lane % 16, lane / 4))
            .filter(|&(x, y)| x < 10 && y < 6)
            .collect();
        assert_eq!(stored, inside.len(), "{arch}");
    }
}

#[test]
fn components_are_converted_and_chosen_by_the_mask() {
    for arch in GENERATIONS {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(1);
        bed.write(at + 8, &[255, 51, 0, 102]);
        let image = Image {
            kind: ONE_D,
            size: [64, 1, 1],
            pitch: 64,
            format: UNORM_8_8_8_8,
        };
        set_descriptor(&mut bed, arch, at, &image);
        bed.set(2, |_| 2);
        bed.wave.set_exec(1);
        let dim = modifiers(arch, "1D");
        bed.run(&format!(
            "image_load v[4:5], v2, s[8:15] dmask:0xa {dim}\nimage_load v[6:7], v2, s[8:15] dmask:0xf {dim} d16"
        ));
        let got = [bed.get(4, 0), bed.get(5, 0)].map(f32::from_bits);
        assert_eq!(got, [0.2, 0.4], "{arch}");
        // 1.0, 0.2, 0.0 and 0.4 in half precision.
        assert_eq!(
            [bed.get(6, 0), bed.get(7, 0)],
            [0x3266_3c00, 0x3666_0000],
            "{arch}"
        );
    }
}

#[test]
fn slices_and_depth_are_planes_of_the_whole_height() {
    for arch in GENERATIONS {
        for (kind, dimension) in [(THREE_D, "3D"), (TWO_D_ARRAY, "2D_ARRAY")] {
            let mut bed = Bed::of(arch);
            let at = bed.allocate(8);
            for i in 0..8192u32 {
                bed.write(at + u64::from(i) * 4, &(i as f32).to_bits().to_le_bytes());
            }
            let image = Image {
                kind,
                size: [64, 4, 8],
                pitch: 64,
                format: FLOAT_32,
            };
            set_descriptor(&mut bed, arch, at, &image);
            bed.set(2, |lane| lane as u32 + 1);
            bed.set(3, |lane| lane as u32 % 4);
            bed.set(4, |lane| lane as u32 % 10);
            let dim = modifiers(arch, dimension);
            let address = address(arch, 2, 3);
            bed.run(&format!(
                "image_load v6, {address}, s[8:15] dmask:0x1 {dim}"
            ));
            for lane in 0..32u32 {
                let expected = if lane % 10 < 8 {
                    (lane % 10 * 4 + lane % 4) * 64 + lane + 1
                } else {
                    0
                };
                assert_eq!(
                    f32::from_bits(bed.get(6, lane as usize)),
                    expected as f32,
                    "{arch} {dimension}"
                );
            }
        }
    }
}

#[test]
fn addresses_may_be_registers_apart_since_gfx10() {
    for arch in [Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(1);
        bed.write(at + (3 * 64 + 5) * 4, &99u32.to_le_bytes());
        let image = Image {
            kind: TWO_D,
            size: [64, 16, 1],
            pitch: 64,
            format: UINT_32,
        };
        set_descriptor(&mut bed, arch, at, &image);
        bed.set(2, |_| 5);
        bed.set(7, |_| 3);
        bed.set(9, |_| 3 << 16 | 5);
        let dim = modifiers(arch, "2D");
        bed.run(&format!(
            "image_load v10, [v2, v7], s[8:15] dmask:0x1 {dim}\n\
             image_load v11, v9, s[8:15] dmask:0x1 {dim} a16",
        ));
        assert_eq!((bed.get(10, 0), bed.get(11, 0)), (99, 99), "{arch}");
    }
}

#[test]
fn atomics_on_images_return_what_was_there() {
    for arch in GENERATIONS {
        let mut bed = Bed::of(arch);
        let at = bed.allocate(1);
        bed.write(at + 12, &100u32.to_le_bytes());
        let image = Image {
            kind: ONE_D,
            size: [64, 1, 1],
            pitch: 64,
            format: UINT_32,
        };
        set_descriptor(&mut bed, arch, at, &image);
        bed.set(2, |_| 3);
        bed.set(4, |_| 1);
        bed.wave.set_exec(0xff);
        let (name, returning) = match arch {
            Arch::Gfx1201 => ("image_atomic_add_uint", "th:TH_ATOMIC_RETURN"),
            _ => ("image_atomic_add", "glc"),
        };
        bed.run(&format!(
            "{name} v4, v2, s[8:15] dmask:0x1 {} {returning}",
            modifiers(arch, "1D")
        ));
        assert_eq!(bed.word(at + 12), 108, "{arch}");
        for lane in 0..8 {
            assert_eq!(bed.get(4, lane), 100 + lane as u32, "{arch}");
        }
    }
}

#[test]
fn images_tell_their_size() {
    for arch in GENERATIONS {
        let mut bed = Bed::of(arch);
        let image = Image {
            kind: TWO_D_ARRAY,
            size: [100, 30, 7],
            pitch: 128,
            format: UINT_32,
        };
        set_descriptor(&mut bed, arch, 0, &image);
        let dim = modifiers(arch, "2D_ARRAY");
        bed.run(&format!(
            "image_get_resinfo v[4:7], v2, s[8:15] dmask:0xf {dim}"
        ));
        let got: [u32; 4] = std::array::from_fn(|i| bed.get(4 + i as u16, 0));
        assert_eq!(got, [100, 30, 7, 1], "{arch}");
    }
}

#[test]
fn what_is_not_linear_is_refused_by_name() {
    for arch in GENERATIONS {
        let mut bed = Bed::of(arch);
        let image = Image {
            kind: TWO_D,
            size: [64, 1, 1],
            pitch: 64,
            format: UINT_32,
        };
        set_descriptor(&mut bed, arch, 0, &image);
        let word3 = bed.wave.sgpr(11);
        bed.wave.set_sgpr(11, word3 | 9 << 20);
        let fault = bed.fault(&format!(
            "image_load v6, {}, s[8:15] dmask:0x1 {}",
            address(arch, 2, 2),
            modifiers(arch, "2D")
        ));
        assert!(
            matches!(
                fault.kind,
                FaultKind::Unsupported {
                    what: "a tiled image",
                    ..
                }
            ),
            "{fault}"
        );
    }
}

#[test]
fn floats_are_added_and_compared_in_images_of_gfx12() {
    let mut bed = Bed::of(Arch::Gfx1201);
    let at = bed.allocate(1);
    let image = Image {
        kind: ONE_D,
        size: [64, 1, 1],
        pitch: 64,
        format: FLOAT_32,
    };
    set_descriptor(&mut bed, Arch::Gfx1201, at, &image);
    bed.wave.set_exec(1);
    for (offset, value) in [
        (0, 1.5f32.to_bits()),
        (4, (-2.0f32).to_bits()),
        (8, 7.0f32.to_bits()),
        // Halves 1 and 2; the bfloats 1 and 2.
        (12, 0x4000_3c00),
        (16, 0x4000_3f80),
    ] {
        bed.write(at + offset, &value.to_le_bytes());
    }
    let programs = [
        ("add_flt", 2.25f32.to_bits(), 3.75f32.to_bits()),
        ("min_flt", (-3.0f32).to_bits(), (-3.0f32).to_bits()),
        ("max_flt", 5.0f32.to_bits(), 7.0f32.to_bits()),
        ("pk_add_f16", 0x3c00_3c00, 0x4200_4000),
        ("pk_add_bf16", 0x3f80_3f80, 0x4040_4000),
    ];
    for (index, (name, operand, expected)) in programs.into_iter().enumerate() {
        bed.set(2, |_| index as u32);
        bed.set(4, |_| operand);
        bed.run(&format!(
            "image_atomic_{name} v4, v2, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D"
        ));
        assert_eq!(bed.word(at + 4 * index as u64), expected, "{name}");
        assert_eq!(bed.get(4, 0), operand, "{name}");
    }
}

#[test]
fn wide_images_of_gfx12_use_the_fields_that_grew() {
    let arch = Arch::Gfx1201;
    let mut bed = Bed::of(arch);
    // 40,000 elements a row and levels 1 to 3, in a pitch of 40,960.
    let pitch = 40_960u32;
    let at = bed.allocate(81);
    bed.write(at + (u64::from(pitch) + 39_999) * 4, &5u32.to_le_bytes());
    let image = Image {
        kind: TWO_D,
        size: [40_000, 2, 1],
        pitch,
        format: UINT_32,
    };
    set_descriptor(&mut bed, arch, at, &image);
    let (word1, word3) = (bed.wave.sgpr(9), bed.wave.sgpr(11));
    bed.wave.set_sgpr(9, word1 | 1 << 25);
    bed.wave.set_sgpr(11, word3 | 3 << 15);
    bed.set(2, |lane| 39_999 + lane as u32);
    bed.set(3, |_| 1);
    bed.set(4, |_| 0);
    bed.run(
        "image_load v6, [v2, v3], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D\n\
         image_get_resinfo v[8:11], v4, s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D",
    );
    assert_eq!([bed.get(6, 0), bed.get(6, 1)], [5, 0]);
    let size: [u32; 4] = std::array::from_fn(|i| bed.get(8 + i as u16, 0));
    assert_eq!(size, [40_000, 2, 1, 3]);
}
