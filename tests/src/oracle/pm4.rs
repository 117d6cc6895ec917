//! PM4 commands: parsing loses nothing, and executing them touches nothing but what is mapped.

use rukh_core::backend::QueueKind;
use rukh_core::wire::pm4::{Command, ParseError};

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

/// Parses and executes.
pub fn check(data: &[u8]) {
    check_commands(data);
    super::ring::run(QueueKind::Pm4, data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;
    use rukh_core::wire::pm4::{Header, opcode, register};

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
