//! SDMA packets: parsing loses nothing, and executing them touches nothing but what is mapped.

use rukh_core::backend::QueueKind;
use rukh_core::wire::sdma::{Generation, Packet, ParseError};

/// Parses the dwords of `data` for each generation of engines.
pub fn check_packets(data: &[u8]) {
    let dwords: Vec<u32> = data
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect();
    for generation in Generation::ALL {
        let mut rest = &dwords[..];
        loop {
            match Packet::parse(rest, generation) {
                Ok(packet) => {
                    let head = packet.emit();
                    assert_eq!(head, &rest[..head.len()], "{generation:?}");
                    assert_eq!(Packet::parse(head, generation), Ok(packet));
                    let size = packet.dwords();
                    assert!(size >= 1 && size >= head.len() as u64);
                    rest = rest.get(size as usize..).unwrap_or(&[]);
                }
                Err(ParseError::Incomplete {
                    needed, available, ..
                }) => {
                    assert_eq!(available, rest.len());
                    assert!(needed > available);
                    break;
                }
                // What follows cannot be found.
                Err(_) => break,
            }
        }
    }
}

/// Parses and executes.
pub fn check(data: &[u8]) {
    check_packets(data);
    super::ring::run(QueueKind::Sdma, data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_packets_hold() {
        let mut rng = Rng::new(1);
        let mut bytes = [0u8; 241];
        for case in 0..2_000u32 {
            rng.fill(&mut bytes);
            // Most have operations that exist, and addresses that are mapped.
            for (index, dword) in bytes[1..].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let value = match rng.below(6) {
                    0 => {
                        rng.below(18) as u32
                            | (rng.below(5) as u32) << 8
                            | dword[3] as u32 >> 7 << 31
                    }
                    1 => 0xa500_0000 | rng.below(1 << 16) as u32 & !3,
                    2 => 0xa600_0000,
                    3 => rng.below(300) as u32,
                    _ => u32::from_le_bytes(*dword),
                };
                if case % 4 != 0 || index % 8 == 0 {
                    *dword = value.to_le_bytes();
                }
            }
            check(&bytes);
        }
    }

    #[test]
    fn copies_of_every_form_hold() {
        let mut rng = Rng::new(2);
        for _ in 0..500 {
            let address = |rng: &mut Rng| [0xa500_0000 | rng.below(1 << 16) as u32, 0xa600_0000];
            let mut dwords = Vec::new();
            for _ in 0..4 {
                let (from, to) = (address(&mut rng), address(&mut rng));
                let size = rng.below(5000) as u32;
                match rng.below(3) {
                    0 => dwords.extend([1, size, 0, from[0], from[1], to[0], to[1]]),
                    1 => {
                        let fill = rng.below(4) as u32;
                        dwords.extend([11 | fill << 30, to[0], to[1], 7, size]);
                    }
                    _ => {
                        let word =
                            |rng: &mut Rng| rng.below(40) as u32 | (rng.below(40) as u32) << 16;
                        dwords.extend([0x401 | (rng.below(6) as u32) << 29, from[0] & !3, from[1]]);
                        dwords.extend([word(&mut rng), 39 << 13, 400, to[0] & !3, to[1]]);
                        dwords.extend([word(&mut rng), 39 << 13, 400, word(&mut rng), 1]);
                    }
                }
            }
            let mut bytes = vec![rng.below(6) as u8];
            bytes.extend(dwords.iter().flat_map(|dword| dword.to_le_bytes()));
            check(&bytes);
        }
    }
}
