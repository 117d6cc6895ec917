//! AQL packets: parsing is total and loses nothing.

use rukh_core::wire::aql::{AmdFormat, PACKET_SIZE, Packet, PacketType};

/// Parses each 64 bytes of `data` and holds the result against the bytes.
pub fn check(data: &[u8]) {
    for bytes in data.as_chunks::<PACKET_SIZE>().0 {
        check_packet(bytes);
    }
}

fn check_packet(bytes: &[u8; PACKET_SIZE]) {
    let packet = Packet::parse(bytes);
    assert_eq!(
        &packet.emit(),
        bytes,
        "a packet does not survive a round trip"
    );
    assert_eq!(Packet::parse(&packet.emit()), packet);

    let kind = PacketType::from_bits(bytes[0]);
    assert_eq!(packet.header().packet_type(), kind);
    let matches = match packet {
        Packet::KernelDispatch(_) => kind == PacketType::KernelDispatch,
        Packet::AgentDispatch(_) => kind == PacketType::AgentDispatch,
        Packet::BarrierAnd(_) => kind == PacketType::BarrierAnd,
        Packet::BarrierOr(_) => kind == PacketType::BarrierOr,
        Packet::BarrierValue(_) => {
            kind == PacketType::VendorSpecific
                && AmdFormat::from_bits(bytes[2]) == AmdFormat::BarrierValue
        }
        Packet::Pm4Ib(_) => {
            kind == PacketType::VendorSpecific && AmdFormat::from_bits(bytes[2]) == AmdFormat::Pm4Ib
        }
        Packet::Invalid(_) => kind == PacketType::Invalid,
        Packet::Unknown(_) => matches!(kind, PacketType::Unknown(_) | PacketType::VendorSpecific),
    };
    assert!(matches, "{kind:?} was parsed as {packet:?}");

    let last = u64::from_le_bytes(bytes[56..].try_into().expect("8 of 64 bytes"));
    match packet {
        Packet::Invalid(_) | Packet::Unknown(_) => assert_eq!(packet.completion_signal(), None),
        _ => assert_eq!(packet.completion_signal().unwrap_or(0), last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn random_packets_hold() {
        let mut rng = Rng::new(1);
        let mut bytes = [0u8; PACKET_SIZE];
        for case in 0..20_000u32 {
            rng.fill(&mut bytes);
            // Half of the cases have a type that the specification knows.
            if case % 2 == 0 {
                bytes[0] = (case / 2 % 6) as u8;
                bytes[2] = (case / 12 % 4) as u8;
            }
            check(&bytes);
        }
    }
}
