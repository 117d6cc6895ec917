//! All interleavings (with few preemptions) of producers and the packet processor on a queue's ring.

use loom::thread;
use rukh_core::queue::memory::PACKET_DWORDS;
use rukh_core::queue::{Ring, RingError};
use rukh_core::wire::aql::PACKET_SIZE;
use rukh_loom::ring::Memory;
use std::sync::Arc;

/// An agent-dispatch packet whose every word tells its number.
fn packet(number: u8) -> [u8; PACKET_SIZE] {
    let mut bytes = [number; PACKET_SIZE];
    bytes[0] = 4;
    bytes
}

fn number(packet: &[u32; PACKET_DWORDS]) -> u8 {
    let number = packet[1] as u8;
    let whole = u32::from_ne_bytes([number; 4]);
    assert_eq!(packet[0], whole & !0xff | 4, "a header of another packet");
    assert_eq!(packet[1], whole);
    assert_eq!(packet[PACKET_DWORDS - 1], whole, "a packet in parts");
    number
}

fn consume<const N: usize>(ring: &Ring<Memory<N>>) -> u8 {
    loop {
        if let Some(packet) = ring.memory().consume() {
            return number(&packet);
        }
        thread::yield_now();
    }
}

fn produce<const N: usize>(ring: &Ring<Memory<N>>, number: u8) {
    loop {
        match ring.try_claim() {
            Ok(claim) => return claim.publish_packet(&packet(number)),
            Err(RingError::Full { .. }) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 20_000;
    builder.check(body);
}

#[test]
fn packets_of_two_producers_arrive_whole_and_once() {
    model(|| {
        let ring = Arc::new(Ring::new(Memory::<2>::new()));
        let producers = [7, 9].map(|number| {
            let ring = ring.clone();
            thread::spawn(move || produce(&ring, number))
        });
        let mut seen = [consume(&ring), consume(&ring)];
        seen.sort_unstable();
        assert_eq!(seen, [7, 9]);
        for producer in producers {
            producer.join().expect("the producer ends");
        }
    });
}

#[test]
fn a_full_ring_is_written_again_only_when_it_was_read() {
    model(|| {
        let ring = Arc::new(Ring::new(Memory::<1>::new()));
        let producer = {
            let ring = ring.clone();
            thread::spawn(move || {
                produce(&ring, 1);
                produce(&ring, 2);
            })
        };
        assert_eq!([consume(&ring), consume(&ring)], [1, 2]);
        producer.join().expect("the producer ends");
    });
}

#[test]
fn a_claim_that_is_dropped_lets_the_queue_go_on() {
    model(|| {
        let ring = Arc::new(Ring::new(Memory::<2>::new()));
        let other = {
            let ring = ring.clone();
            thread::spawn(move || drop(ring.try_claim().expect("a slot")))
        };
        produce(&ring, 3);
        let mut numbered = 0;
        for _ in 0..2 {
            let packet = loop {
                match ring.memory().consume() {
                    Some(packet) => break packet,
                    None => thread::yield_now(),
                }
            };
            // Type 3: the barrier-AND without dependencies that a dropped claim becomes.
            if packet[0] & 0xff == 3 {
                assert_eq!([packet[1], packet[PACKET_DWORDS - 1]], [0, 0]);
            } else {
                assert_eq!(number(&packet), 3);
                numbered += 1;
            }
        }
        assert_eq!(numbered, 1);
        other.join().expect("the other ends");
    });
}
