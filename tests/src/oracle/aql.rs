//! AQL packets: parsing is total and loses nothing; what a packet says is what its parts were set to; a device executes it or
//! stops its queue with the status that the packet asks for.

use rukh_core::queue::QueueStatus;
use rukh_core::runtime::QueueConfig;
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{AmdFormat, Header, PACKET_SIZE, Packet, PacketType};

use super::bed::{Bed, GPU};

/// Packets that are executed of one input: the first ones.
const EXECUTED: usize = 8;

/// Parses each 64 bytes of `data` and holds the result against the bytes. With bytes left over, a device executes them too, of
/// the processor that the first of these chooses.
pub fn check(data: &[u8]) {
    let (packets, rest) = data.as_chunks::<PACKET_SIZE>();
    for bytes in packets {
        check_packet(bytes);
    }
    if let [choice, ..] = rest {
        let packets = &packets[..packets.len().min(EXECUTED)];
        Bed::lend(*choice, |bed| execute(bed, packets));
    }
}

/// One after the other, each as it is, until one stops the queue or is none.
fn execute(bed: &Bed, packets: &[[u8; PACKET_SIZE]]) {
    let queue = bed
        .runtime
        .create_queue(GPU, QueueConfig::default())
        .expect("a queue");
    for (done, bytes) in (0..).zip(packets) {
        let claim = queue.try_claim().expect("room for a packet");
        claim.publish_packet(bytes);
        bed.step(50);
        Bed::check_queue(&queue);
        let executed = queue.read_index(MemoryOrder::Acquire) == done + 1;
        let status = queue.status();
        // A signal that a packet names is nobody's: what comes of waiting for it, or of telling it, is any fault.
        let lonely = bytes[8..].iter().all(|byte| *byte == 0);
        match Packet::parse(bytes) {
            Packet::Invalid(_) => assert!(!executed && status.is_none(), "{status:?}"),
            Packet::Unknown(_) | Packet::AgentDispatch(_) => {
                assert_eq!(status, Some(QueueStatus::InvalidPacketFormat));
            }
            Packet::KernelDispatch(packet) if packet.dimensions() == 0 => {
                assert_eq!(status, Some(QueueStatus::IncompatibleArguments));
            }
            Packet::KernelDispatch(packet) if packet.workgroup_size[0] == 0 => {
                assert_eq!(status, Some(QueueStatus::InvalidArgument));
            }
            Packet::KernelDispatch(_) if lonely => assert!(status.is_some(), "no kernel ran"),
            Packet::BarrierAnd(_) | Packet::BarrierOr(_) if lonely => {
                assert!(executed && status.is_none(), "{status:?}");
            }
            _ => {}
        }
        if !executed || status.is_some() {
            break;
        }
    }
    drop(queue);
    bed.check();
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
    let header = packet.header();
    assert_eq!(header.packet_type(), kind);
    let parts = Header::new(kind)
        .barrier(header.has_barrier())
        .acquire(header.acquire_scope())
        .release(header.release_scope());
    // Bits 13 to 15 are reserved.
    assert_eq!(parts.0, header.0 & 0x1fff, "{header:?}");
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

    #[test]
    fn a_device_executes_packets_or_says_what_is_wrong_with_them() {
        let mut rng = Rng::new(2);
        for case in 0..3000u32 {
            let mut data = [0; 3 * PACKET_SIZE + 1];
            let count = data.len();
            data[count - 1] = case as u8;
            for packet in data.as_chunks_mut::<PACKET_SIZE>().0 {
                rng.fill(packet);
                packet[0] %= 8;
                packet[2] %= 4;
                // Half of them name nothing, so that they get on.
                if rng.below(2) == 0 {
                    packet[8..].fill(0);
                }
            }
            check(&data);
        }
    }
}
