//! LDS, the exchanges that go through it, the global data share and global wave sync.

use super::bed::{Bed, Random};
use rukh_backend_sim::exec::{Barriers, Exit};
use rukh_backend_sim::isa::Arch;

const GENERATIONS: [Arch; 5] = [
    Arch::Gfx900,
    Arch::Gfx90a,
    Arch::Gfx1030,
    Arch::Gfx1100,
    Arch::Gfx1201,
];

fn prologue(arch: Arch) -> &'static str {
    // LDS of gfx8 and older needs a limit in M0; later ones ignore it.
    if arch < Arch::Gfx1030 {
        "s_mov_b32 m0, -1\n"
    } else {
        ""
    }
}

/// The lane that each lane reads, as AMD's pseudocode says.
fn swizzle(offset: u32, i: u32) -> u32 {
    if offset >= 0xe000 {
        let mask = offset & 0x1f;
        let mut j = 0;
        for bit in 0..5 {
            j |= (i >> bit & 1) << (4 - bit);
        }
        return (j >> mask.count_ones()) | (i & mask & 0x1f) | (i & 0x20);
    }
    if offset >= 0xc000 {
        let (rotate, mask) = (offset >> 5 & 0x1f, offset & 0x1f);
        let rotate = if offset >> 10 & 1 != 0 {
            32 - rotate
        } else {
            rotate
        };
        return (i & mask) | ((i + rotate) & !mask & 0x1f) | (i & 0x20);
    }
    if offset & 0x8000 != 0 {
        return (i & !3) | (offset >> (2 * (i & 3)) & 3);
    }
    let (and, or, xor) = (offset & 0x1f, offset >> 5 & 0x1f, offset >> 10 & 0x1f);
    (((i & 0x1f & and) | or) ^ xor) | (i & 0x20)
}

#[test]
fn swizzles_follow_the_pseudocode_in_all_modes() {
    for arch in GENERATIONS {
        for offset in [
            0x801f, 0x80b1, 0x041f, 0x7c1f, 0x1f, 0xc025, 0xc461, 0xc3e3, 0xe000, 0xe010, 0xe01c,
            0xe01f,
        ] {
            let mut bed = Bed::of(arch);
            bed.set(1, |lane| 100 + lane as u32);
            bed.wave.set_exec(0xffff_0fff);
            bed.run(&format!("ds_swizzle_b32 v2, v1 offset:{offset}"));
            for lane in 0..32u32 {
                let from = swizzle(offset, lane);
                let active = |lane: u32| 0xffff_0fffu64 >> lane & 1 == 1;
                let expected = if active(lane) && active(from) {
                    100 + from
                } else {
                    0
                };
                assert_eq!(
                    bed.get(2, lane as usize),
                    expected,
                    "{arch}, {offset:#x}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn bpermute_reaches_as_far_as_the_generation_lets_it() {
    for arch in GENERATIONS {
        let mut bed = Bed::new(arch, 64);
        bed.set(0, |lane| (lane as u32 * 7 + 40) * 4);
        bed.set(1, |lane| 100 + lane as u32);
        bed.run("ds_bpermute_b32 v2, v0, v1 offset:8");
        // RDNA 2 and 3 permute halves of a wave64.
        let halves = arch == Arch::Gfx1030 || arch == Arch::Gfx1100;
        for lane in 0..64 {
            let from = lane * 7 + 42;
            let from = if halves {
                from % 32 + (lane & 32)
            } else {
                from % 64
            };
            assert_eq!(bed.get(2, lane as usize), 100 + from, "{arch}");
        }
    }
    let mut bed = Bed::of(Arch::Gfx1201);
    bed.set(0, |_| 12);
    bed.set(1, |lane| 100 + lane as u32);
    bed.wave.set_exec(1);
    bed.run("ds_bpermute_b32 v2, v0, v1\nds_bpermute_fi_b32 v3, v0, v1");
    assert_eq!((bed.get(2, 0), bed.get(3, 0)), (0, 103));
}

#[test]
fn atomics_with_the_data_in_lds_take_it_from_a_signed_distance() {
    let mut bed = Bed::of(Arch::Gfx900);
    for i in 0..64u32 {
        bed.lds[i as usize * 4..][..4].copy_from_slice(&(10 * i).to_le_bytes());
    }
    bed.set(0, |_| 80);
    bed.wave.set_exec(1);
    // Two dwords back: fifteen bits of -2.
    bed.run(&format!(
        "s_mov_b32 m0, -1\nds_add_src2_u32 v0 offset:{}",
        0x7ffe
    ));
    assert_eq!(bed.lds_word(80), 200 + 180);
    bed.run("ds_rsub_src2_u32 v0 offset:1\nds_write_src2_b32 v0 offset:3");
    assert_eq!(bed.lds_word(80), 230);
    // The distance in the address, three dwords on.
    bed.set(0, |_| 3 << 17 | 40);
    bed.run(&format!("ds_max_src2_u32 v0 offset:{}", 0x8000));
    assert_eq!(bed.lds_word(40), 130);
}

#[test]
fn conditional_exchange_stores_what_has_its_highest_bit_set_without_it() {
    for arch in [Arch::Gfx90a, Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201] {
        let mut bed = Bed::of(arch);
        bed.lds[8..16].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
        // The address is that of eight bytes.
        bed.set(0, |_| 11);
        bed.set(2, |_| 0x8000_0007);
        bed.set(3, |_| 0x7000_0009);
        bed.wave.set_exec(1);
        bed.run(&format!(
            "{}ds_condxchg32_rtn_b64 v[4:5], v0, v[2:3]",
            prologue(arch)
        ));
        assert_eq!((bed.get(4, 0), bed.get(5, 0)), (1, 2), "{arch}");
        assert_eq!((bed.lds_word(8), bed.lds_word(12)), (7, 2), "{arch}");
    }
}

#[test]
fn transposed_reads_give_each_lane_a_column() {
    let mut random = Random(3);
    let mut bed = Bed::of(Arch::Gfx950);
    for byte in &mut bed.lds {
        *byte = random.next() as u8;
    }
    let lds = bed.lds.clone();
    // Bits of lane l's read, from `low` on.
    let bits = |at: usize, low: usize, width: usize| {
        (0..width).fold(0u32, |value, bit| {
            let bit_at = low + bit;
            value | u32::from(lds[at + bit_at / 8] >> (bit_at % 8) & 1) << bit
        })
    };
    for (name, width, bytes) in [
        ("b64_tr_b16", 16, 8),
        ("b64_tr_b8", 8, 8),
        ("b64_tr_b4", 4, 8),
        ("b96_tr_b6", 6, 12),
    ] {
        bed.set(0, |lane| lane as u32 * 16);
        bed.run(&format!(
            "s_mov_b32 m0, -1\nds_read_{name} v[4:{}], v0",
            3 + bytes / 4
        ));
        let count = bytes * 8 / width;
        for lane in 0..64 {
            for row in 0..count {
                let got = bit_of(&bed, lane, row * width, width);
                // Sixteen columns a row: 16 / count lanes hold one.
                let column = lane % 16;
                let from = lane / 16 * 16 + row * (16 / count) + column / count;
                let expected = bits(from * 16, column % count * width, width);
                assert_eq!(got, expected, "{name}, lane {lane}, row {row}");
            }
        }
    }
}

/// Bits of what a lane has in v4 and on.
fn bit_of(bed: &Bed, lane: usize, low: usize, width: usize) -> u32 {
    (0..width).fold(0, |value, bit| {
        let at = low + bit;
        value | (bed.get(4 + (at / 32) as u16, lane) >> (at % 32) & 1) << bit
    })
}

#[test]
fn floating_point_minima_and_packed_sums_in_lds() {
    let f = |x: f32| x.to_bits();
    for (arch, min, pk) in [
        (Arch::Gfx90a, "ds_min_rtn_f32", None),
        (Arch::Gfx942, "ds_min_rtn_f32", Some("ds_pk_add_rtn_f16")),
        (
            Arch::Gfx1201,
            "ds_min_num_rtn_f32",
            Some("ds_pk_add_rtn_f16"),
        ),
    ] {
        let mut bed = Bed::of(arch);
        bed.wave.set_exec(7);
        bed.set(0, |lane| lane as u32 * 4);
        for (lane, old) in [f(1.0), f(f32::NAN), f(0.0)].into_iter().enumerate() {
            bed.lds[lane * 4..][..4].copy_from_slice(&old.to_le_bytes());
        }
        bed.set(1, |lane| [f(-2.0), f(3.0), f(-0.0)][lane % 3]);
        bed.run(&format!("{}{min} v2, v0, v1", prologue(arch)));
        assert_eq!(
            [bed.lds_word(0), bed.lds_word(4), bed.lds_word(8)],
            [f(-2.0), f(3.0), f(-0.0)]
        );
        assert_eq!(bed.get(2, 0), f(1.0));
        if let Some(pk) = pk {
            // 1.0 + 0.5 in the low half, 2.0 + 65504 to the nearest in the high one.
            bed.lds[..4].copy_from_slice(&0x4000_3c00u32.to_le_bytes());
            bed.set(1, |_| 0x7bff_3800);
            bed.wave.set_exec(1);
            bed.run(&format!("{}{pk} v2, v0, v1", prologue(arch)));
            assert_eq!(
                (bed.lds_word(0), bed.get(2, 0)),
                (0x7bff_3e00, 0x4000_3c00),
                "{arch}"
            );
        }
    }
}

#[test]
fn the_global_data_share_is_the_device_s_and_m0_says_which_part() {
    for arch in [Arch::Gfx900, Arch::Gfx1030] {
        let mut bed = Bed::of(arch);
        bed.set(0, |lane| lane as u32 * 4);
        bed.set(1, |lane| 50 + lane as u32);
        bed.wave.set_exec(0xff);
        // From 64 on, sixteen bytes.
        bed.run("s_mov_b32 m0, 0x400010\nds_write_b32 v0, v1 gds\nds_add_u32 v0, v1 gds");
        assert!(bed.lds.iter().all(|&byte| byte == 0));
        // Another wave of the device, with all of it.
        bed.run("s_mov_b32 m0, 0xffff\nds_read_b32 v2, v0 offset:64 gds");
        for lane in 0..8 {
            let expected = if lane < 4 { 2 * (50 + lane as u32) } else { 0 };
            assert_eq!(bed.get(2, lane), expected, "{arch}");
        }
    }
}

#[test]
fn waves_meet_at_a_global_barrier() {
    for arch in [Arch::Gfx900, Arch::Gfx90a, Arch::Gfx1030] {
        let mut bed = Bed::of(arch);
        // One less than the waves that meet.
        bed.set(0, |_| 1);
        bed.run("s_mov_b32 m0, 0\nds_gws_init v0 offset:3 gds\ns_waitcnt lgkmcnt(0)");
        let start =
            bed.load("s_mov_b32 m0, 0\nds_gws_barrier v0 offset:3 gds\ns_waitcnt lgkmcnt(0)");
        assert!(matches!(bed.resume(), Exit::Waiting), "{arch}");
        assert!(matches!(bed.resume(), Exit::Waiting), "{arch}");
        let mut other = Bed::of(arch);
        other.set(0, |_| 1);
        std::mem::swap(&mut bed.wave, &mut other.wave);
        bed.wave.set_pc(start);
        assert!(matches!(bed.resume(), Exit::Ended), "{arch}");
        std::mem::swap(&mut bed.wave, &mut other.wave);
        assert!(matches!(bed.resume(), Exit::Ended), "{arch}");
    }
}

#[test]
fn semaphores_count() {
    let mut bed = Bed::of(Arch::Gfx90a);
    bed.set(0, |_| 0);
    bed.run("s_mov_b32 m0, 0\nds_gws_init v0 offset:1 gds\nds_gws_sema_v offset:1 gds\nds_gws_sema_p offset:1 gds");
    bed.load("ds_gws_sema_p offset:1 gds");
    assert!(matches!(bed.resume(), Exit::Waiting));
    let waiting = bed.wave.pc();
    bed.set(0, |_| 2);
    let mut other = Bed::of(Arch::Gfx90a);
    std::mem::swap(&mut bed.wave, &mut other.wave);
    bed.set(0, |_| 2);
    bed.run("ds_gws_sema_br v0 offset:1 gds");
    std::mem::swap(&mut bed.wave, &mut other.wave);
    bed.wave.set_pc(waiting);
    assert!(matches!(bed.resume(), Exit::Ended));
}

#[test]
fn a_wave_may_signal_go_on_and_wait_later() {
    let mut bed = Bed::of(Arch::Gfx1201);
    bed.barriers = Barriers::new(2);
    let start = bed.load(
        "s_barrier_signal -1\ns_mov_b32 s4, 7\ns_barrier_wait -1\ns_get_barrier_state s5, -1",
    );
    assert!(matches!(bed.resume(), Exit::Waiting));
    assert_eq!(bed.wave.sgpr(4), 7);
    let mut other = Bed::of(Arch::Gfx1201);
    std::mem::swap(&mut bed.wave, &mut other.wave);
    bed.wave.set_pc(start);
    assert!(
        matches!(bed.resume(), Exit::Ended),
        "the last one does not wait"
    );
    std::mem::swap(&mut bed.wave, &mut other.wave);
    assert!(matches!(bed.resume(), Exit::Ended));
    // Valid, two members, no signals.
    assert_eq!(bed.wave.sgpr(5), 1 | 2 << 4);
}

#[test]
fn named_barriers_have_the_members_that_they_are_given() {
    let mut bed = Bed::of(Arch::Gfx1201);
    bed.barriers = Barriers::new(4);
    // Barrier 3 of one member.
    bed.run(
        "s_mov_b32 m0, 0x10003\ns_barrier_init 3\ns_barrier_join 3\ns_barrier_signal_isfirst 3\n\
         s_cselect_b32 s4, 1, 0\ns_barrier_wait 1\ns_get_barrier_state s5, 3\ns_barrier_leave",
    );
    assert_eq!((bed.wave.sgpr(4), bed.wave.sgpr(5)), (1, 1 | 1 << 4));
}
