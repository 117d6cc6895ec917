//! Layouts against what AMD's runtime and kfdtest send, and the promises of parsing.

use super::*;

#[test]
fn commands_of_amds_runtime_are_made_dword_for_dword() {
    // Recorded from AMD's runtime 5.2.3, but for the compute bit, which it sets on GFX7 alone.
    let jump = IndirectBuffer::new(0x7f00_1234_5000, 7);
    assert_eq!(
        Packet::IndirectBuffer(jump).emit(),
        [0xc002_3f02, 0x1234_5000, 0x7f00, 0x0080_0007]
    );
    let recorded = [0xc005_5800, 0x2884_0000, 0xffff_ffff, 0xff, 0, 0, 0];
    let command = Command::parse(&recorded).unwrap();
    let Packet::AcquireMem(acquire) = command.packet else {
        panic!("{command:?}");
    };
    assert_eq!((acquire.coherence, acquire.size_high), (0x2884_0000, 0xff));
}

#[test]
fn what_was_parsed_is_emitted_again_whatever_its_bits() {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 32) as u32
    };
    for op in 0..=255u8 {
        for body in [1, 2, 3, 4, 6, 7, 8, 9, 30] {
            let mut dwords = [0u32; 32];
            dwords.fill_with(&mut random);
            dwords[0] = Header::new(op, body).0 | dwords[0] & 0xfd;
            let size = body as usize + 1;
            match Command::parse(&dwords) {
                Ok(command) => {
                    let mut again = [0; 32];
                    assert_eq!(command.emit(&mut again), Some(size));
                    assert_eq!(again[..size], dwords[..size]);
                    assert_eq!(command.emit(&mut again[..size - 1]), None);
                }
                Err(error) => assert!(matches!(error, ParseError::Short { .. }), "{error}"),
            }
            assert!(matches!(
                Command::parse(&dwords[..size - 1]),
                Err(ParseError::Incomplete { needed, .. }) if needed as usize == size
            ));
        }
    }
}

#[test]
fn fillers_and_nops_have_the_length_that_their_headers_say() {
    assert_eq!(Header(0x8000_0000).dwords(), Some(1));
    assert_eq!(Header(0xffff_1000).dwords(), Some(1));
    assert_eq!(Header::new(opcode::NOP, 0).dwords(), Some(1));
    assert_eq!(Header::new(opcode::NOP, 5).dwords(), Some(6));
    assert_eq!(Header(0).dwords(), None);
    assert!(matches!(
        Command::parse(&[1]),
        Err(ParseError::Type { header: 1 })
    ));
}
