//! SDMA packets: parsing loses nothing, and executing them touches nothing but what is mapped.

use rukh_core::backend::QueueKind;
use rukh_core::wire::sdma::{Generation, Packet, ParseError};

use super::input::Input;
use super::shape::Field::{self, Address, Any, Below, More, Of};
use super::shape::{made, put};

/// Columns and rows; slices and pitches, which have other places in each generation; elements of a slice.
const XY: Field = Of(&[0, 1 | 1 << 16, 3 | 2 << 16, 39 | 39 << 16]);
const PITCH: Field = Of(&[39 << 13, 7 << 13, 1 | 39 << 13, 39 << 16, 7 << 16]);
const SLICE: Field = Of(&[400, 63, 1599, 0]);

/// What an engine's packets are made of.
const SHAPES: [&[Field]; 18] = [
    &[
        Of(&[1, 1 | 1 << 25]),
        Below(8192),
        Of(&[0]),
        Address,
        Address,
    ],
    &[
        Of(&[1 | 1 << 27]),
        Below(8192),
        Of(&[0]),
        Address,
        Address,
        Address,
    ],
    &[
        // Log2 of an element's bytes.
        Of(&[
            0x401,
            0x401 | 1 << 29,
            0x401 | 2 << 29,
            0x401 | 3 << 29,
            0x401 | 4 << 29,
            0x401 | 5 << 29,
        ]),
        Address,
        XY,
        PITCH,
        SLICE,
        Address,
        XY,
        PITCH,
        SLICE,
        XY,
        Below(2),
    ],
    &[Of(&[2]), Address, Below(8), More(8)],
    // What stands in the block is what stands in the ring.
    &[Of(&[4]), Address, Below(64), Address],
    &[Of(&[5, 5 | 3 << 16]), Address, Any],
    &[Of(&[6]), Below(32)],
    // Each comparison, of memory.
    &[
        Of(&[
            0x8000_0008,
            0x9000_0008,
            0xa000_0008,
            0xb000_0008,
            0xc000_0008,
            0xd000_0008,
            0xe000_0008,
            0xf000_0008,
        ]),
        Address,
        Below(4),
        Of(&[!0, 0, 0xff]),
        Of(&[1 << 16, 4 << 16 | 1, 0xfff << 16]),
    ],
    &[Of(&[8 | 1 << 26, 8]), Address, Any, Any, Of(&[0])],
    &[Of(&[9]), Address, Below(4), Below(32)],
    // Each operation, of both widths, those that loop, and codes that do not exist.
    &[
        Of(&[
            0x47 << 25 | 10,
            0x48 << 25 | 1 << 16 | 10,
            0x48 << 25 | 10,
            0x4f << 25 | 10,
            0x50 << 25 | 10,
            0x51 << 25 | 10,
            0x52 << 25 | 10,
            0x53 << 25 | 10,
            0x54 << 25 | 10,
            0x55 << 25 | 10,
            0x56 << 25 | 10,
            0x57 << 25 | 10,
            0x58 << 25 | 10,
            0x59 << 25 | 10,
            0x67 << 25 | 10,
            0x68 << 25 | 1 << 16 | 10,
            0x6f << 25 | 10,
            0x70 << 25 | 10,
            0x71 << 25 | 10,
            0x72 << 25 | 10,
            0x73 << 25 | 10,
            0x74 << 25 | 10,
            0x75 << 25 | 10,
            0x76 << 25 | 10,
            0x77 << 25 | 10,
            0x78 << 25 | 10,
            0x79 << 25 | 10,
            0x07 << 25 | 10,
            0x2f << 25 | 10,
            0x7f << 25 | 10,
        ]),
        Address,
        Any,
        Any,
        Any,
        Any,
        Below(16),
    ],
    &[
        Of(&[11, 11 | 1 << 30, 11 | 2 << 30, 11 | 3 << 30]),
        Address,
        Any,
        Below(8192),
    ],
    &[Of(&[13 | 1 << 8, 13 | 2 << 8]), Address],
    &[Of(&[13]), Any, Any],
    &[Of(&[17 | 1 << 8, 17]), Any, Any, Any, Any],
    &[Of(&[0])],
    &[Of(&[5 << 16]), Any, Any, Any, Any, Any],
    // What is refused: semaphores, other devices' packets, the driver's packets, forms that nobody reads.
    &[
        Of(&[
            7,
            7 | 1 << 8,
            15 | 1 << 16,
            12,
            14,
            16,
            32,
            0x101,
            0x801,
            0x108,
            0x308,
        ]),
        Address,
    ],
];

fn packet(input: &mut Input<'_>, dwords: &mut Vec<u32>) {
    let shape = SHAPES[input.below(SHAPES.len())];
    put(input, shape, dwords);
}

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

/// Parses and executes. The first byte chooses the processor, and whether the rest is dwords or decisions on packets.
pub fn check(data: &[u8]) {
    let made = made(data, packet);
    let data = made.as_deref().unwrap_or(data);
    check_packets(data.get(1..).unwrap_or(data));
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
    fn packets_that_are_nearly_right_hold() {
        let mut rng = Rng::new(3);
        let mut decisions = [0u8; 400];
        for _ in 0..1_000 {
            rng.fill(&mut decisions);
            decisions[0] |= 128;
            check(&decisions);
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
