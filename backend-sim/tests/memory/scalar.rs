//! Scalar memory: loads of every width, stores, atomics, scratch, and buffers that end.

use super::bed::Bed;
use rukh_backend_sim::exec::FaultKind;
use rukh_backend_sim::isa::Arch;

fn bed(arch: Arch) -> (Bed, u64) {
    let mut bed = Bed::of(arch);
    let at = bed.allocate(1);
    for i in 0..1024u32 {
        bed.write(at + u64::from(i) * 4, &(1000 + i).to_le_bytes());
    }
    bed.set_address(4, at);
    (bed, at)
}

#[test]
fn scalar_atomics_do_what_their_names_say_and_return_the_old_value_if_asked() {
    // Operation, old value, data, new value; of 32 bits.
    let cases: &[(&str, u32, u32, u32)] = &[
        ("swap", 7, 9, 9),
        ("add", u32::MAX, 2, 1),
        ("sub", 1, 2, u32::MAX),
        ("smin", 5, -3i32 as u32, -3i32 as u32),
        ("umin", 5, -3i32 as u32, 5),
        ("smax", 5, -3i32 as u32, 5),
        ("umax", 5, -3i32 as u32, -3i32 as u32),
        ("and", 0b1100, 0b1010, 0b1000),
        ("or", 0b1100, 0b1010, 0b1110),
        ("xor", 0b1100, 0b1010, 0b0110),
        ("inc", 9, 9, 0),
        ("inc", 8, 9, 9),
        ("dec", 0, 9, 9),
        ("dec", 10, 9, 9),
        ("dec", 9, 9, 8),
    ];
    for arch in [Arch::Gfx900, Arch::Gfx90a] {
        for &(name, old, data, new) in cases {
            let (mut bed, at) = bed(arch);
            bed.write(at + 16, &old.to_le_bytes());
            bed.write(at + 24, &old.to_le_bytes());
            bed.write(at + 32, &(u64::from(old) << 32).to_le_bytes());
            bed.set_scalars(8, &[data, data, 0, data]);
            bed.run(&format!(
                "s_atomic_{name} s8, s[4:5], 0x10 glc\n\
                 s_atomic_{name} s9, s[4:5], 0x18\n\
                 s_atomic_{name}_x2 s[10:11], s[4:5], 0x20 glc\ns_waitcnt lgkmcnt(0)"
            ));
            assert_eq!((bed.wave.sgpr(8), bed.word(at + 16)), (old, new), "{name}");
            assert_eq!((bed.wave.sgpr(9), bed.word(at + 24)), (data, new), "{name}");
            assert_eq!((bed.wave.sgpr(10), bed.wave.sgpr(11)), (0, old), "{name}");
            let wide = u64::from(bed.word(at + 36)) << 32 | u64::from(bed.word(at + 32));
            let (wide_old, wide_data) = (u64::from(old) << 32, u64::from(data) << 32);
            let expected = match name {
                "inc" if wide_old >= wide_data => 0,
                "inc" => wide_old + 1,
                "dec" if wide_old == 0 || wide_old > wide_data => wide_data,
                "dec" => wide_old - 1,
                "add" => wide_old.wrapping_add(wide_data),
                "sub" => wide_old.wrapping_sub(wide_data),
                _ => u64::from(new) << 32,
            };
            assert_eq!(wide, expected, "{name}");
        }
        let (mut bed, at) = bed(arch);
        bed.set_scalars(8, &[77, 1000, 78, 1]);
        bed.run("s_atomic_cmpswap s[8:9], s[4:5], 0x0 glc\ns_atomic_cmpswap s[10:11], s[4:5], 0x4 glc\ns_waitcnt lgkmcnt(0)");
        assert_eq!((bed.wave.sgpr(8), bed.word(at)), (1000, 77));
        assert_eq!((bed.wave.sgpr(10), bed.word(at + 4)), (1001, 1001));
    }
}

#[test]
fn scalar_buffers_end_where_their_records_do() {
    for (stride, records) in [(0, 12), (4, 3)] {
        let (mut bed, at) = bed(Arch::Gfx90a);
        bed.set_scalars(
            8,
            &[at as u32, (at >> 32) as u32 | stride << 16, records, 0],
        );
        bed.set_scalars(16, &[5, 6, 7, 8, 9]);
        bed.run(
            "s_buffer_load_dwordx4 s[12:15], s[8:11], 0x4\n\
             s_buffer_store_dwordx4 s[16:19], s[8:11], 0x4\n\
             s_buffer_atomic_add s20, s[8:11], 0xc glc\ns_waitcnt lgkmcnt(0)",
        );
        let got: [u32; 4] = std::array::from_fn(|i| bed.wave.sgpr(12 + i));
        assert_eq!(got, [1001, 1002, 0, 0]);
        let now: [u32; 5] = std::array::from_fn(|i| bed.word(at + 4 * i as u64));
        assert_eq!(now, [1000, 5, 6, 1003, 1004]);
        assert_eq!(bed.wave.sgpr(20), 0);
    }
}

#[test]
fn scalar_scratch_counts_its_offset_register_in_units_of_64_bytes() {
    let (mut bed, at) = bed(Arch::Gfx900);
    bed.wave.set_sgpr(6, 2);
    bed.set_scalars(8, &[1, 2]);
    bed.run("s_scratch_load_dword s12, s[4:5], s6\ns_scratch_store_dwordx2 s[8:9], s[4:5], s6\ns_waitcnt lgkmcnt(0)");
    assert_eq!(bed.wave.sgpr(12), 1000 + 32);
    assert_eq!((bed.word(at + 128), bed.word(at + 132)), (1, 2));
}

#[test]
fn small_scalar_loads_extend_with_or_without_sign() {
    let (mut bed, at) = bed(Arch::Gfx1201);
    bed.write(at, &[0x80, 0xff, 0x01, 0x80]);
    bed.run(
        "s_load_u8 s8, s[4:5], 0x0\ns_load_i8 s9, s[4:5], 0x0\ns_load_u16 s10, s[4:5], 0x2\n\
         s_load_i16 s11, s[4:5], 0x2\ns_load_b96 s[12:14], s[4:5], 0x8\ns_wait_kmcnt 0x0",
    );
    let got: [u32; 7] = std::array::from_fn(|i| bed.wave.sgpr(8 + i));
    assert_eq!(
        got,
        [0x80, -128i32 as u32, 0x8001, 0xffff_8001, 1002, 1003, 1004]
    );
}

#[test]
fn prefetches_and_discards_touch_nothing_even_where_nothing_is_mapped() {
    let mut bed = Bed::of(Arch::Gfx1201);
    bed.set_address(4, 0x1000);
    bed.run("s_prefetch_data s[4:5], 0x10, s8, 3\ns_prefetch_inst s[4:5], 0x10, null, 0\ns_prefetch_inst_pc_rel 0x10, s8, 1");
    let mut bed = Bed::of(Arch::Gfx900);
    bed.set_address(4, 0x1000);
    bed.run("s_dcache_discard s[4:5], 0x10\ns_atc_probe 7, s[4:5], 0x0\ns_dcache_wb");
}

#[test]
fn a_scalar_access_that_is_not_mapped_names_its_dword() {
    let (mut bed, at) = bed(Arch::Gfx1030);
    let fault = bed.fault("s_load_dwordx4 s[8:11], s[4:5], 0xff8");
    let FaultKind::Memory { lane: None, fault } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((fault.address, fault.len), (at + 4096, 4));
}
