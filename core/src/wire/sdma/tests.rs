//! Layouts against what AMD's runtime was seen to send, and the promises of parsing and writing.

use super::*;

/// Packets of AMD's runtime 5.2.3 on gfx90a, as they were recorded.
#[test]
fn packets_of_amds_runtime_are_made_dword_for_dword() {
    let mut buffer = [0u32; 256];
    let mut writer = Writer::new(Generation::V4, &mut buffer);
    writer.wait_for_zero(0x7f00_0000_1008).unwrap();
    writer.timestamp(0x7f00_0000_1040).unwrap();
    writer.flush_host_data_path().unwrap();
    writer
        .copy(0x7f00_0000_3000, 0x7f00_0000_2000, 4096)
        .unwrap();
    writer.add_64(0x7f00_0000_1008, -1).unwrap();
    writer.fence(0x7f00_0000_4010, 7).unwrap();
    writer.trap(7).unwrap();
    #[rustfmt::skip]
    let recorded = [
        0xb000_0008, 0x100c, 0x7f00, 0, 0xffff_ffff, 0x0fff_0004,
        0xb000_0008, 0x1008, 0x7f00, 0, 0xffff_ffff, 0x0fff_0004,
        0x0000_020d, 0x1040, 0x7f00,
        8, 0, 0x8000_0000, 0, 0, 0,
        1, 4095, 0, 0x2000, 0x7f00, 0x3000, 0x7f00,
        0x5e00_000a, 0x1008, 0x7f00, 0xffff_ffff, 0xffff_ffff, 0, 0, 0,
        5, 0x4010, 0x7f00, 7,
        6, 7,
    ];
    assert_eq!(writer.written(), recorded);
}

#[test]
fn what_was_parsed_is_emitted_again_whatever_its_bits() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 32) as u32
    };
    for generation in Generation::ALL {
        let mut parsed = 0;
        for op in 0..=40u32 {
            for sub in 0..=40u32 {
                let mut dwords = [0u32; MAX_HEAD];
                dwords.fill_with(&mut random);
                dwords[0] = dwords[0] & !0xffff | op | sub << 8;
                let Ok(packet) = Packet::parse(&dwords, generation) else {
                    continue;
                };
                parsed += 1;
                assert_eq!(packet.emit(), &dwords[..packet.emit().len()]);
                for short in 0..packet.emit().len() {
                    assert!(matches!(
                        Packet::parse(&dwords[..short], generation),
                        Err(ParseError::Incomplete { available, .. }) if available == short
                    ));
                }
            }
        }
        assert!(parsed > 200, "{generation:?}: {parsed}");
    }
}

#[test]
fn a_large_copy_is_pieces_that_the_count_has_bits_for() {
    for generation in Generation::ALL {
        let bytes = 3 * (1 << 30) + 5;
        let mut buffer = std::vec![0u32; Writer::copy_dwords(generation, bytes) as usize];
        let mut writer = Writer::new(generation, &mut buffer);
        writer.copy(1 << 40, 1 << 41, bytes).unwrap();
        assert_eq!(writer.left(), 0);
        let mut done = 0;
        let mut rest = writer.written();
        while !rest.is_empty() {
            let Packet::CopyLinear(copy) = Packet::parse(rest, generation).unwrap() else {
                panic!("not a copy");
            };
            assert_eq!(copy.destination.get(), (1 << 40) + done);
            assert_eq!(copy.source.get(), (1 << 41) + done);
            assert_eq!(u64::from(copy.count) + 1, copy.bytes(generation));
            done += copy.bytes(generation);
            rest = &rest[CopyLinear::DWORDS..];
        }
        assert_eq!(done, bytes);
        assert_eq!(
            Writer::new(generation, &mut []).copy(0, 0, 1),
            Err(Full { needed: 7, left: 0 })
        );
    }
}

#[test]
fn a_fill_counts_bytes_whatever_the_runtime_puts_in_the_low_bits() {
    for generation in Generation::ALL {
        let fill = ConstantFill::new(0x1000, 7, 25);
        assert_eq!(fill.bytes(generation), 100);
        // AMD's runtime counts the dwords less one, in bytes.
        assert_eq!(ConstantFill { count: 96, ..fill }.bytes(generation), 100);
        let bytes = ConstantFill {
            header: 11,
            count: 96,
            ..fill
        };
        assert_eq!((bytes.pattern_log2(), bytes.bytes(generation)), (0, 97));
    }
}

#[test]
fn a_rectangle_survives_in_each_generations_layout() {
    let side = |base, slice| RectSide {
        base,
        at: [3, 5, 7],
        pitch: 640,
        slice,
    };
    let rect = Rect {
        element_log2: 2,
        source: side(0x1_0000_1000, 640 * 480),
        destination: side(0x2_0000_2000, 1),
        size: [1 << 14, 480, 1 << 11],
    };
    for generation in Generation::ALL {
        let packet = CopyRect::new(&rect, generation).unwrap();
        assert_eq!(packet.rect(generation), rect, "{generation:?}");
    }
    // 17 bits of a pitch fit the older layouts alone.
    let mut wide = rect;
    wide.source.pitch = 1 << 17;
    assert!(CopyRect::new(&wide, Generation::V6).is_some());
    assert!(CopyRect::new(&wide, Generation::V7).is_none());
    let packet = CopyRect::new(&rect, Generation::V4).unwrap();
    assert_eq!(packet.header, 0x4000_0401);
    assert_eq!(packet.source_z_pitch, 7 | 639 << 13);
    let packet = CopyRect::new(&rect, Generation::V7).unwrap();
    assert_eq!(packet.source_z_pitch, 7 | 639 << 16);
}

#[test]
fn processors_have_the_engines_that_their_drivers_name() {
    for processor in crate::isa::PROCESSORS {
        let has = Generation::of_processor(processor).is_some();
        assert_eq!(has, processor.version.major >= 9, "{}", processor.name);
    }
    let of = |name| Generation::of_processor(crate::isa::Processor::from_name(name).unwrap());
    assert_eq!(of("gfx90a"), Some(Generation::V4_4));
    assert_eq!(of("gfx942"), Some(Generation::V4_4_2));
    assert_eq!(of("gfx1030"), Some(Generation::V5_2));
    assert_eq!(of("gfx1201"), Some(Generation::V7));
}

#[test]
fn atomics_wrap_as_the_caches_documentation_says() {
    let op = |operation, width| AtomicOp { operation, width };
    use AtomicOperation as A;
    use AtomicWidth::{Bits32, Bits64};
    assert_eq!(op(A::Add, Bits32).apply(u64::MAX, 2, 0), 1);
    assert_eq!(
        op(A::MinSigned, Bits32).apply(0xffff_ffff, 1, 0),
        0xffff_ffff
    );
    assert_eq!(op(A::MinUnsigned, Bits32).apply(0xffff_ffff, 1, 0), 1);
    assert_eq!(op(A::Increment, Bits64).apply(5, 5, 0), 0);
    assert_eq!(op(A::Decrement, Bits64).apply(0, 5, 0), 5);
    assert_eq!(op(A::CompareSwap, Bits32).apply(3, 9, 3), 9);
    assert_eq!(op(A::CompareSwap, Bits32).apply(4, 9, 3), 4);
    for code in 0..=255u8 {
        if let Some(op) = AtomicOp::from_code(code) {
            assert_eq!(op.code(), code & !0x40);
        }
    }
    assert_eq!(AtomicOp::ADD_64.code(), 47);
}
