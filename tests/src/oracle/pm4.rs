//! PM4 commands: parsing loses nothing, and executing them touches nothing but what is mapped.

use rukh_core::backend::QueueKind;
use rukh_core::wire::pm4::{Command, Header, ParseError, opcode, register};

use super::input::Input;
use super::shape::Field::{self, Address, Any, Below, More, Of};
use super::shape::{made, put};

/// Commands, and what their bodies are made of.
const SHAPES: [(u8, &[Field]); 20] = [
    (opcode::NOP, &[Any, More(4)]),
    // Programs for the dispatches: both ends, and whatever comes.
    (opcode::NOP, &[Of(&[0xbf81_0000, 0xbfb0_0000]), More(20)]),
    (
        opcode::WRITE_DATA,
        &[
            Of(&[5 << 8 | 1 << 20, 5 << 8 | 1 << 16, 2 << 8, 0]),
            Address,
            More(8),
        ],
    ),
    // What stands in the block is what stands in the ring.
    (
        opcode::INDIRECT_BUFFER,
        &[
            Address,
            Of(&[16 | 1 << 23, 64 | 1 << 23, 16 | 1 << 20 | 1 << 23, 16]),
        ],
    ),
    (opcode::ACQUIRE_MEM, &[Any, Any, Any, Address, Below(16)]),
    (
        opcode::ACQUIRE_MEM,
        &[Any, Any, Any, Address, Below(16), Any],
    ),
    (
        opcode::RELEASE_MEM,
        &[
            Of(&[0x14 | 5 << 8, 0x28 | 6 << 8]),
            // Nothing, 32 bits, 64, the clock; with interrupts and without.
            Of(&[
                0,
                1 << 29,
                2 << 29,
                3 << 29,
                2 << 24 | 1 << 29,
                1 << 24 | 2 << 29,
                4 << 24,
                4 << 29,
            ]),
            Address,
            Any,
            Any,
            Below(32),
        ],
    ),
    (
        opcode::COPY_DATA,
        &[
            // From memory, caches, a value, an atomic, clocks and registers; to memory and elsewhere.
            Of(&[
                0x501, 0x1_0501, 0x502, 0x1_0202, 0x505, 0x1_0505, 0x506, 0x1_0509, 0x509, 0x500,
                0x001,
            ]),
            Address,
            Address,
        ],
    ),
    (
        opcode::WAIT_REG_MEM,
        &[
            Of(&[0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x03]),
            Address,
            Below(4),
            Of(&[!0, 0xff, 0]),
            Below(16),
        ],
    ),
    (
        opcode::ATOMIC_MEM,
        &[
            // Each operation, of both widths, those that loop, and codes that do not exist.
            Of(&[
                0x47, 0x48, 0x148, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
                0x59, 0x67, 0x168, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
                0x79, 0x07, 0x2f, 0x7f,
            ]),
            Address,
            Any,
            Any,
            Any,
            Any,
            Below(16),
        ],
    ),
    (
        opcode::SET_SH_REG,
        &[Of(&[register::NUM_THREAD]), Below(70), Below(4), Below(4)],
    ),
    (
        opcode::SET_SH_REG,
        &[Of(&[register::PGM]), Of(&[0xa700_0000]), Of(&[0])],
    ),
    (opcode::SET_SH_REG, &[Of(&[register::PGM_RSRC1]), Any, Any]),
    (
        opcode::SET_SH_REG,
        &[
            Of(&[
                register::START,
                register::TMPRING_SIZE,
                register::USER_DATA,
                register::END,
            ]),
            More(16),
        ],
    ),
    (
        opcode::DISPATCH_DIRECT,
        &[
            Below(5),
            Below(3),
            Below(3),
            Of(&[1, 1 | 1 << 2, 1 | 1 << 5, 1 | 1 << 15, 0]),
        ],
    ),
    (opcode::EVENT_WRITE, &[Of(&[7 | 4 << 8, 0x28])]),
    (
        opcode::DMA_DATA,
        &[
            // From memory, a value and other places, to memory and elsewhere.
            Of(&[
                3 << 20 | 3 << 29,
                0,
                2 << 29,
                3 << 20 | 2 << 29,
                1 << 29,
                1 << 20,
            ]),
            Address,
            Address,
            Of(&[4, 64, 1000, 8192, 5, 64 | 1 << 26, 64 | 1 << 28]),
        ],
    ),
    (
        opcode::PRED_EXEC,
        &[Of(&[1 << 24 | 4, 2 << 24 | 4, 0xff << 24])],
    ),
    (opcode::SET_UCONFIG_REG, &[Any, Any]),
    (0x77, &[More(4)]),
];

fn packet(input: &mut Input<'_>, dwords: &mut Vec<u32>) {
    let (operation, fields) = SHAPES[input.below(SHAPES.len())];
    let at = dwords.len();
    dwords.push(0);
    put(input, fields, dwords);
    // One in sixteen says that it is shorter or longer than it is.
    let body = (dwords.len() - at - 1) as u32;
    let body = match input.below(16) {
        15 => input.below(12) as u32 + 1,
        _ => body.max(1),
    };
    dwords[at] = Header::new(operation, body).0;
}

/// Parses the dwords of `data`.
pub fn check_commands(data: &[u8]) {
    let dwords: Vec<u32> = data
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect();
    let mut again = vec![0; dwords.len()];
    let mut rest = &dwords[..];
    loop {
        match Command::parse(rest) {
            Ok(command) => {
                let size = command.dwords();
                assert_eq!(command.emit(&mut again), Some(size));
                assert_eq!(&again[..size], &rest[..size]);
                assert_eq!(Command::parse(&again[..size]), Ok(command));
                rest = &rest[size..];
            }
            Err(ParseError::Incomplete {
                needed, available, ..
            }) => {
                assert_eq!(available, rest.len());
                assert!(needed as usize > available);
                break;
            }
            Err(ParseError::Short { body, .. }) => {
                rest = &rest[1 + body as usize..];
            }
            // What follows cannot be found.
            Err(ParseError::Type { .. }) => break,
        }
    }
}

/// Parses and executes. The first byte chooses the processor, and whether the rest is dwords or decisions on commands.
pub fn check(data: &[u8]) {
    let made = made(data, packet);
    let data = made.as_deref().unwrap_or(data);
    check_commands(data.get(1..).unwrap_or(data));
    super::ring::run(QueueKind::Pm4, data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn commands_that_are_nearly_right_hold() {
        let mut rng = Rng::new(3);
        let mut decisions = [0u8; 400];
        for _ in 0..1_000 {
            rng.fill(&mut decisions);
            decisions[0] |= 128;
            check(&decisions);
        }
    }

    #[test]
    fn random_commands_hold() {
        const OPERATIONS: [u8; 14] = [
            opcode::NOP,
            opcode::DISPATCH_DIRECT,
            opcode::ATOMIC_MEM,
            opcode::PRED_EXEC,
            opcode::WRITE_DATA,
            opcode::WAIT_REG_MEM,
            opcode::INDIRECT_BUFFER,
            opcode::COPY_DATA,
            opcode::EVENT_WRITE,
            opcode::RELEASE_MEM,
            opcode::DMA_DATA,
            opcode::ACQUIRE_MEM,
            opcode::SET_SH_REG,
            opcode::SET_UCONFIG_REG,
        ];
        let mut rng = Rng::new(1);
        for _ in 0..2_000u32 {
            let mut bytes = vec![rng.below(6) as u8];
            for _ in 0..6 {
                let operation = OPERATIONS[rng.below(14) as usize];
                let body = 1 + rng.below(9) as u32;
                bytes.extend(Header::new(operation, body).0.to_le_bytes());
                for _ in 0..body {
                    let value = match rng.below(6) {
                        0 => 0xa500_0000 | rng.below(1 << 16) as u32 & !3,
                        1 => 0xa600_0000,
                        2 => rng.below(300) as u32,
                        3 => 5 << 8 | rng.below(16) as u32,
                        4 => register::FIRST + rng.below(0x80) as u32,
                        _ => rng.next_u64() as u32,
                    };
                    bytes.extend(value.to_le_bytes());
                }
            }
            check(&bytes);
        }
    }

    #[test]
    fn dispatches_of_random_programs_hold() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let mut dwords = Vec::new();
            let mut set = |first: u32, values: &[u32]| {
                dwords.push(Header::new(opcode::SET_SH_REG, 1 + values.len() as u32).0);
                dwords.push(first);
                dwords.extend(values);
            };
            let groups = [1, 1 + rng.below(70) as u32, 1];
            set(register::NUM_THREAD, &groups);
            // Whatever stands in the block, 256 bytes behind its start: addresses are in units of that.
            set(register::PGM, &[0xa700_0000, 0]);
            set(
                register::PGM_RSRC1,
                &[rng.next_u64() as u32, rng.next_u64() as u32],
            );
            dwords.extend([Header::new(opcode::DISPATCH_DIRECT, 4).0, 3, 2, 1]);
            dwords.push(1 | (rng.below(2) as u32) << 5 | (rng.below(2) as u32) << 15);
            let mut bytes = vec![rng.below(6) as u8];
            bytes.extend(dwords.iter().flat_map(|dword| dword.to_le_bytes()));
            while bytes.len() < 1000 {
                bytes.extend((rng.next_u64() as u32).to_le_bytes());
            }
            check(&bytes);
        }
    }
}
