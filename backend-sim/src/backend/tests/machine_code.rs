//! Real machine code through the whole device: queue, packet processor, waves, memory.

use super::rig::*;
use crate::backend::{Mode, SimBackend, SimConfig};
use alloc::string::ToString;
use core::mem::offset_of;
use rukh_core::loader::kernarg::{self, Explicit, Grid, Hidden};
use rukh_core::loader::{CodeObject, Place};
use rukh_core::wire::aql::{KernelDispatchPacket, Packet};
use rukh_core::wire::queue::AmdQueue;

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/data/vector_add-", $name, ".co"))
    };
}

fn rig(profile: &str, mode: Mode) -> Rig {
    let config = SimConfig::parse(profile).expect("a profile").mode(mode);
    Rig::on(SimBackend::new(config).expect("a system"))
}

/// Puts a code object without relocations into memory; gives the address of a kernel's descriptor.
fn load(rig: &Rig, code: &CodeObject<'_>, name: &str) -> u64 {
    let segments = code.segments();
    let base = rig.alloc(segments.size(), segments.align().max(4096)) - segments.base();
    for segment in segments.as_slice() {
        store_bytes(base + segment.address, segment.data);
    }
    let (symbol, _) = code
        .kernels()
        .find(|(symbol, _)| symbol.name == name)
        .expect("a kernel");
    match symbol.place {
        Place::Address(address) => base + address,
        ref other => panic!("{other:?}"),
    }
}

/// Gives the queue scratch memory, as a runtime does when it is asked.
fn provide_scratch(rig: &Rig, units_per_kib: u32) {
    let bytes = 1 << 18;
    let scratch = shared(&rig.backend, bytes);
    rig.set_queue_field64(
        offset_of!(AmdQueue, scratch_backing_memory_location),
        scratch.gpu_va,
    );
    rig.set_queue_field64(
        offset_of!(AmdQueue, scratch_backing_memory_byte_size),
        bytes,
    );
    rig.set_queue_field32(offset_of!(AmdQueue, scratch_wave64_lane_byte_size), 128);
    // 8 KiB a wave.
    rig.set_queue_field32(
        offset_of!(AmdQueue, compute_tmpring_size),
        32 | (8 * units_per_kib) << 12,
    );
    let srd = [
        scratch.gpu_va as u32,
        (scratch.gpu_va >> 32) as u32 | 1 << 31,
        bytes as u32,
        // UINT of 32 bits, element size 4, index stride 64, ADD_TID.
        0x00ea_7fac,
    ];
    for (i, word) in srd.into_iter().enumerate() {
        rig.set_queue_field32(
            offset_of!(AmdQueue, scratch_resource_descriptor) + 4 * i,
            word,
        );
    }
}

/// c = a + b over `count` elements, compared with the host's sums.
fn vector_add(profile: &str, object: &[u8], mode: Mode, count: u32) {
    let rig = rig(profile, mode);
    let code = CodeObject::parse(object).expect("a code object");
    let metadata = code.metadata().expect("notes").expect("metadata");
    let kernel = metadata.kernel("vector_add").expect("kernels").expect("it");
    let kernel_object = load(&rig, &code, kernel.symbol);
    if kernel.private_segment_fixed_size > 0 {
        provide_scratch(&rig, if profile == "gfx1100" { 4 } else { 1 });
    }
    let bytes = (u64::from(count) * 4).next_multiple_of(4096);
    let [a, b, c] = [0; 3].map(|_| {
        let memory = shared(&rig.backend, bytes);
        memory
            .host
            .expect("host memory")
            .as_ptr()
            .expose_provenance();
        memory.gpu_va
    });
    let value = |i: u32, salt: u32| (i.wrapping_mul(salt) >> 8) as f32 / 64.0;
    for i in 0..count {
        store32(a + 4 * u64::from(i), value(i, 0x9e37_79b9).to_bits());
        store32(b + 4 * u64::from(i), value(i, 0x85eb_ca6b).to_bits());
    }
    let group = 256u16;
    let grid = count.next_multiple_of(64);
    let mut block = [0u8; 1024];
    let filled = kernarg::fill(
        &kernel,
        &Grid::new([grid, 1, 1], [group, 1, 1]),
        &[
            Explicit::Bytes(&a.to_le_bytes()),
            Explicit::Bytes(&b.to_le_bytes()),
            Explicit::Bytes(&c.to_le_bytes()),
            Explicit::Bytes(&count.to_le_bytes()),
        ],
        &Hidden::default(),
        &mut block,
    )
    .expect("arguments");
    let args = rig.alloc(filled.size as u64, 16);
    store_bytes(args, &block[..filled.size]);
    let packet = KernelDispatchPacket {
        kernarg_address: args,
        private_segment_size: kernel.private_segment_fixed_size,
        group_segment_size: filled.group_segment_size,
        ..rig.packet(kernel_object, grid, group)
    };
    let ran = rig.run(packet);
    assert!(ran, "{profile} {mode:?}: {:?}", rig.backend.last_faults());
    for i in 0..count {
        let sum = value(i, 0x9e37_79b9) + value(i, 0x85eb_ca6b);
        assert_eq!(load32(c + 4 * u64::from(i)), sum.to_bits(), "element {i}");
    }
}

#[test]
fn vector_add_for_gfx90a() {
    for mode in modes() {
        vector_add("gfx90a", object!("gfx90a-O2-v5"), mode, 10_000);
    }
}

#[test]
fn vector_add_for_gfx90a_with_its_locals_in_scratch() {
    for mode in modes() {
        vector_add("gfx90a", object!("gfx90a-O0-v5"), mode, 1000);
    }
}

#[test]
fn vector_add_for_gfx1100_in_waves_of_32() {
    for mode in modes() {
        vector_add("gfx1100", object!("gfx1100-O2-v5"), mode, 10_000);
    }
}

#[test]
fn vector_add_for_gfx1100_in_waves_of_64_with_its_locals_in_scratch() {
    for mode in modes() {
        vector_add("gfx1100", object!("gfx1100w64-O0-v4"), mode, 1000);
    }
}

#[test]
fn a_million_elements() {
    vector_add(
        "gfx90a",
        object!("gfx90a-O2-v5"),
        Mode::default(),
        1_000_000,
    );
}

#[test]
fn waves_of_gfx12_find_their_place_in_trap_registers() {
    // llvm-mc 19, gfx1201: out[group.x * 96 + item] = wave << 16 | group.y << 8 | group.z.
    let code = [
        0xf400_2080,
        0xf800_0000, // s_load_b64 s[2:3], s[0:1], 0x0
        0x9304_ff74,
        0x0005_0019, // s_bfe_u32 s4, ttmp8, 0x50019
        0x8404_9004, // s_lshl_b32 s4, s4, 16
        0x9305_ff73,
        0x0010_0000, // s_bfe_u32 s5, ttmp7, 0x100000
        0x8405_8805, // s_lshl_b32 s5, s5, 8
        0x8c04_0504, // s_or_b32 s4, s4, s5
        0x8505_9073, // s_lshr_b32 s5, ttmp7, 16
        0x8c04_0504, // s_or_b32 s4, s4, s5
        0x9606_ff75,
        0x0000_0060, // s_mul_i32 s6, ttmp9, 96
        0x3600_00ff,
        0x0000_03ff, // v_and_b32 v0, 0x3ff, v0
        0x4a02_0006, // v_add_nc_u32 v1, s6, v0
        0x3002_0282, // v_lshlrev_b32 v1, 2, v1
        0x7e04_0204, // v_mov_b32 v2, s4
        0xbfc7_0000, // s_wait_kmcnt 0x0
        0xee06_8002,
        0x0100_0000,
        0x0000_0001, // global_store_b32 v1, v2, s[2:3]
        0xbfb0_0000, // s_endpgm
    ];
    let rig = rig("gfx1201", Mode::Step { seed: 1 });
    let entry = rig.alloc(4 * code.len() as u64, 256);
    for (i, word) in (0u64..).zip(code) {
        store32(entry + 4 * i, word);
    }
    let kernel = rig.descriptor(entry, |descriptor| {
        descriptor.properties = descriptor.properties.with_enable_wavefront_size32(true);
    });
    let out = rig.alloc(4 * 3 * 96, 4);
    rig.args(&[out]);
    let packet = rig.packet(kernel, 3 * 96, 96);
    assert!(rig.run(packet), "{:?}", rig.backend.last_faults());
    for item in 0..3 * 96 {
        let wave = item % 96 / 32;
        assert_eq!(load32(out + 4 * u64::from(item)), wave << 16, "{item}");
    }
}

#[test]
fn floating_point_exceptions_that_a_kernel_descriptor_enables_trap() {
    for (profile, code) in [
        // v_rcp_f32 v1, 0 and s_endpgm.
        ("gfx90a", [0x7e02_4480, 0xbf81_0000]),
        ("gfx1201", [0x7e02_5480, 0xbfb0_0000]),
    ] {
        let rig = rig(profile, Mode::Step { seed: 1 });
        let entry = rig.alloc(8, 256);
        for (i, word) in (0u64..).zip(code) {
            store32(entry + 4 * i, word);
        }
        let kernel = |enable: bool| {
            rig.descriptor(entry, |descriptor| {
                let properties = descriptor.properties;
                let wave32 = profile == "gfx1201";
                descriptor.properties = properties.with_enable_wavefront_size32(wave32);
                descriptor.rsrc2 = descriptor
                    .rsrc2
                    .with_enable_exception_ieee_754_fp_division_by_zero(enable);
            })
        };
        assert!(rig.run(rig.packet(kernel(false), 64, 64)), "{profile}");
        let packet = rig.packet(kernel(true), 64, 64);
        rig.submit(Packet::KernelDispatch(packet));
        assert!(
            rig.until(|| !rig.backend.last_faults().is_empty()),
            "{profile}"
        );
        let fault = rig.backend.last_faults()[0].to_string();
        let named = fault.contains("floating-point exception: division by zero");
        assert!(named, "{profile}: {fault}");
    }
}
