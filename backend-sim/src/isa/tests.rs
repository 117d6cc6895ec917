//! What holds for the whole list, on every processor.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use super::{Arch, Code, DecodeError, Lanes, Op, Rng, decode, encode, generate, generate_dual};

#[test]
fn every_row_survives_encoding_and_decoding_on_every_processor_that_has_it() {
    for arch in Arch::ALL {
        let mut rng = Rng::new(arch as u64);
        for &op in Op::ALL {
            for _ in 0..20 {
                let Some(inst) = generate(arch, op, &mut rng) else {
                    assert_eq!(
                        op.row().code(arch),
                        Code::Absent,
                        "{op:?} cannot be generated for {arch}"
                    );
                    break;
                };
                let encoded = encode(arch, &inst).expect("what is generated can be encoded");
                assert_eq!(encoded.len(), usize::from(inst.len));
                assert_eq!(decode(arch, &encoded.bytes()), Ok(inst), "{op:?} on {arch}");
                assert!(!inst.text(arch, Lanes::W64).to_string().is_empty());
            }
        }
    }
}

#[test]
fn dual_instructions_survive_encoding_and_decoding() {
    for arch in [Arch::Gfx1100, Arch::Gfx1201] {
        let mut rng = Rng::new(2);
        for _ in 0..2000 {
            let inst = generate_dual(arch, &mut rng).expect("VOPD exists since gfx11");
            let encoded = encode(arch, &inst).expect("what is generated can be encoded");
            assert_eq!(decode(arch, &encoded.bytes()), Ok(inst), "on {arch}");
        }
    }
}

#[test]
fn decoding_and_writing_random_bytes_never_panics() {
    let mut rng = Rng::new(3);
    let mut text = String::new();
    for arch in Arch::ALL {
        for _ in 0..50_000 {
            let mut bytes = [0; 20];
            for chunk in bytes.chunks_exact_mut(4) {
                chunk.copy_from_slice(&rng.next_u32().to_le_bytes());
            }
            if let Ok(inst) = decode(arch, &bytes) {
                assert!(matches!(inst.len, 4 | 8 | 12 | 16 | 20));
                text.clear();
                core::fmt::write(&mut text, format_args!("{}", inst.text(arch, Lanes::W32)))
                    .expect("writing to a string");
                // What is decoded may have no encoding (reserved codes), but asking must be safe.
                let _ = encode(arch, &inst);
            }
        }
    }
}

#[test]
fn an_instruction_cut_short_says_how_much_it_needs() {
    let mut rng = Rng::new(4);
    for arch in Arch::ALL {
        for &op in Op::ALL {
            let Some(inst) = generate(arch, op, &mut rng) else {
                continue;
            };
            let bytes = encode(arch, &inst)
                .expect("what is generated can be encoded")
                .bytes();
            for have in 0..usize::from(inst.len) {
                match decode(arch, &bytes[..have]) {
                    Err(DecodeError::Truncated { need, have: said }) => {
                        assert!(need > have && need <= usize::from(inst.len));
                        assert_eq!(said, have);
                    }
                    // What brings the scales of a matrix operation is an instruction by itself.
                    Ok(prefix) if prefix.op == Op::v_mfma_ld_scale_b32 => {
                        assert!(inst.len == 16 && have >= 8, "{op:?} on {arch}");
                    }
                    other => panic!("{op:?} on {arch}, cut to {have} bytes: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn no_two_operations_of_a_processor_share_a_mnemonic() {
    for arch in Arch::ALL {
        let mut names = BTreeMap::new();
        for &op in Op::ALL {
            if op.row().code(arch) == Code::Absent {
                continue;
            }
            let other = names.insert(op.row().mnemonic_on(arch), op);
            assert_eq!(other, None, "{op:?} has a namesake on {arch}");
        }
    }
}
