//! The ring under real threads and under indices that make no sense.
#![allow(missing_docs, reason = "tests")]

use rukh_core::queue::{
    IndexCell, MappedRing, Ring, RingError, RingMemory, SingleProducer, WordCell,
};
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{AgentDispatchPacket, Header, PacketType};
use rukh_core::wire::queue::AmdQueue;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

/// A ring in plain memory, and the device's side of it.
struct Bench {
    ring: Ring<Memory>,
}

struct Memory {
    packets: Vec<[AtomicU32; 16]>,
    write: AtomicU64,
    read: AtomicU64,
    shadow: AtomicU64,
    doorbell: AtomicU64,
    rings: AtomicU64,
}

impl RingMemory for Memory {
    type Index = AtomicU64;
    type Word = AtomicU32;
    fn packets(&self) -> u32 {
        self.packets.len() as u32
    }
    fn write_index(&self) -> &AtomicU64 {
        &self.write
    }
    fn read_index(&self) -> &AtomicU64 {
        &self.read
    }
    fn read_shadow(&self) -> &AtomicU64 {
        &self.shadow
    }
    fn packet(&self, slot: u32) -> &[AtomicU32; 16] {
        &self.packets[slot as usize]
    }
    fn ring_doorbell(&self, index: u64) {
        self.doorbell.fetch_max(index, Ordering::Release);
        self.rings.fetch_add(1, Ordering::Relaxed);
    }
}

impl Bench {
    fn new(size: usize) -> Self {
        let invalid = u32::from(Header::INVALID.0);
        let packets = (0..size)
            .map(|_| core::array::from_fn(|i| AtomicU32::new(if i == 0 { invalid } else { 0 })))
            .collect();
        Self {
            ring: Ring::new(Memory {
                packets,
                write: AtomicU64::new(0),
                read: AtomicU64::new(0),
                shadow: AtomicU64::new(0),
                doorbell: AtomicU64::new(0),
                rings: AtomicU64::new(0),
            }),
        }
    }

    fn memory(&self) -> &Memory {
        self.ring.memory()
    }

    /// Consumes the next packet if one is published: its type, and the argument it carries.
    fn consume(&self) -> Option<(PacketType, u64)> {
        let memory = self.memory();
        let read = memory.read.load(Ordering::Relaxed);
        let slot = &memory.packets[(read % memory.packets.len() as u64) as usize];
        let header = Header(slot[0].load(Ordering::Acquire) as u16);
        if header.packet_type() == PacketType::Invalid {
            return None;
        }
        let low = u64::from(slot[4].load(Ordering::Relaxed));
        let high = u64::from(slot[5].load(Ordering::Relaxed));
        slot[0].store(u32::from(Header::INVALID.0), Ordering::Relaxed);
        memory.read.store(read + 1, Ordering::Release);
        Some((header.packet_type(), low | high << 32))
    }
}

/// A packet that carries a number at byte 16, and its complement all over, to show torn packets.
fn numbered(value: u64) -> AgentDispatchPacket {
    AgentDispatchPacket {
        header: Header::new(PacketType::AgentDispatch),
        arg: [value, !value, value, !value],
        completion_signal: value,
        ..AgentDispatchPacket::default()
    }
}

#[test]
fn many_producers_lose_and_double_nothing() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    let bench = Bench::new(64);
    let mut seen = HashSet::new();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let ring = &bench.ring;
            scope.spawn(move || {
                let mut next = 0;
                while next < EACH {
                    let wait = || {
                        thread::yield_now();
                        ControlFlow::Continue(())
                    };
                    if next % 5 == 0 && EACH - next >= 5 {
                        let mut batch = ring.claim_batch(5, wait).unwrap();
                        for at in 0..5 {
                            assert!(batch.push(&numbered(thread << 32 | (next + at))));
                        }
                        next += 5;
                    } else {
                        let mut claim = ring.claim(wait).unwrap();
                        let packet = numbered(thread << 32 | next);
                        claim.write(&packet);
                        claim.publish(packet.header, 0);
                        next += 1;
                    }
                }
            });
        }
        let mut last = [None; THREADS as usize];
        while (seen.len() as u64) < THREADS * EACH {
            let Some((kind, value)) = bench.consume() else {
                thread::yield_now();
                continue;
            };
            assert_eq!(kind, PacketType::AgentDispatch);
            assert!(seen.insert(value), "{value:#x} twice");
            // One producer's packets stay in order.
            let (thread, number) = ((value >> 32) as usize, value & 0xffff_ffff);
            assert!(last[thread].is_none_or(|before| before < number));
            last[thread] = Some(number);
        }
    });
    assert_eq!(bench.ring.write_index(MemoryOrder::Relaxed), THREADS * EACH);
    assert_eq!(
        bench.memory().doorbell.load(Ordering::Relaxed),
        THREADS * EACH - 1
    );
}

#[test]
fn index_operations_of_many_threads_total_exactly() {
    let bench = Bench::new(64);
    let ring = &bench.ring;
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    ring.add_write_index(1, MemoryOrder::Relaxed);
                }
            });
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let mut seen = ring.write_index(MemoryOrder::Acquire);
                    loop {
                        let found = ring.cas_write_index(seen, seen + 1, MemoryOrder::AcqRel);
                        if found == seen {
                            break;
                        }
                        seen = found;
                    }
                }
            });
        }
    });
    assert_eq!(ring.write_index(MemoryOrder::Relaxed), 600_000);
    for order in [
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
    ] {
        ring.store_write_index(7, order);
        ring.store_read_index(3, order);
        assert_eq!((ring.write_index(order), ring.read_index(order)), (7, 3));
        assert_eq!(ring.add_write_index(2, order), 7);
        assert_eq!(ring.cas_write_index(9, 11, order), 9);
        assert_eq!(ring.cas_write_index(9, 12, order), 11);
    }
}

#[test]
fn a_full_ring_says_so_and_recovers() {
    let bench = Bench::new(4);
    for n in 0..4 {
        bench.ring.try_claim().unwrap().publish_packet(&numbered(n));
    }
    let full = RingError::Full {
        wanted: 1,
        used: 4,
        size: 4,
    };
    assert_eq!(bench.ring.try_claim().unwrap_err(), full);
    let mut looks = 0;
    let given_up = bench.ring.claim(|| {
        looks += 1;
        if looks == 10 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(given_up.unwrap_err(), full);
    // Nothing was claimed by giving up.
    assert_eq!(bench.ring.write_index(MemoryOrder::Relaxed), 4);
    assert_eq!(bench.consume(), Some((PacketType::AgentDispatch, 0)));
    assert_eq!(bench.ring.try_claim().unwrap().index(), 4);
    for wanted in [0, 5, u32::MAX] {
        assert_eq!(
            bench.ring.try_claim_batch(wanted).unwrap_err(),
            RingError::TooMany { wanted, size: 4 }
        );
    }
}

#[test]
fn a_claim_that_is_dropped_becomes_a_packet_that_does_nothing() {
    let bench = Bench::new(8);
    drop(bench.ring.try_claim().unwrap());
    bench.ring.try_claim().unwrap().publish_packet(&numbered(1));
    let mut batch = bench.ring.try_claim_batch(3).unwrap();
    assert!(batch.push(&numbered(2)));
    assert_eq!(batch.remaining(), 2);
    drop(batch);
    let mut claim = bench.ring.try_claim().unwrap();
    claim.write(&numbered(3));
    // Written, but never published: nothing of it may be left.
    drop(claim);
    let consumed: Vec<_> = core::iter::from_fn(|| bench.consume()).collect();
    assert_eq!(
        consumed,
        [
            (PacketType::BarrierAnd, 0),
            (PacketType::AgentDispatch, 1),
            (PacketType::AgentDispatch, 2),
            (PacketType::BarrierAnd, 0),
            (PacketType::BarrierAnd, 0),
            (PacketType::BarrierAnd, 0),
        ]
    );
    let memory = bench.memory();
    for slot in [0, 3, 4, 5] {
        let dwords = &memory.packets[slot][1..];
        assert!(dwords.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }
    // Four doorbells: one for each claim, one for the batch.
    assert_eq!(memory.rings.load(Ordering::Relaxed), 4);
}

#[test]
fn a_panicking_producer_leaves_a_queue_that_goes_on() {
    let bench = Bench::new(8);
    let ring = &bench.ring;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _claim = ring.try_claim().unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!(bench.consume(), Some((PacketType::BarrierAnd, 0)));
}

#[test]
fn read_indices_that_make_no_sense_claim_nothing() {
    let bench = Bench::new(64);
    for n in 0..10 {
        bench.ring.try_claim().unwrap().publish_packet(&numbered(n));
    }
    for _ in 0..5 {
        bench.consume().unwrap();
    }
    assert_eq!(bench.ring.try_claim().unwrap().index(), 10);
    let memory = bench.memory();
    for read in [12, 1000, 1 << 40, u64::MAX - 3, u64::MAX] {
        memory.read.store(read, Ordering::Relaxed);
        assert_eq!(
            bench.ring.try_claim().unwrap_err(),
            RingError::BadReadIndex { read, write: 11 }
        );
    }
    assert_eq!(bench.ring.write_index(MemoryOrder::Relaxed), 11);
    // Back before what it had said: the ring remembers, and neither blocks nor gives out more.
    memory.read.store(0, Ordering::Relaxed);
    let mut claimed = 0;
    while bench.ring.try_claim().is_ok() {
        claimed += 1;
    }
    assert_eq!(claimed, 64 - (11 - 5));
}

#[test]
fn write_indices_at_the_end_of_numbers_are_refused() {
    let bench = Bench::new(64);
    let memory = bench.memory();
    for write in [u64::MAX, u64::MAX - 1, u64::MAX - 63] {
        memory.write.store(write, Ordering::Relaxed);
        memory.read.store(write, Ordering::Relaxed);
        assert!(matches!(
            bench.ring.try_claim(),
            Err(RingError::BadReadIndex { .. })
        ));
    }
}

#[test]
fn a_device_that_writes_random_read_indices_never_gets_a_slot_overcommitted() {
    let bench = Bench::new(16);
    let memory = bench.memory();
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut highest = 0;
    for _ in 0..100_000 {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let read = match state % 4 {
            0 => state,
            1 => state % 64,
            2 => memory
                .write
                .load(Ordering::Relaxed)
                .wrapping_sub(state % 40),
            _ => memory.write.load(Ordering::Relaxed).wrapping_add(state % 3),
        };
        memory.read.store(read, Ordering::Relaxed);
        let write = memory.write.load(Ordering::Relaxed);
        if read <= write {
            highest = highest.max(read);
        }
        if let Ok(batch) = bench.ring.try_claim_batch(1 + (state >> 60) as u32) {
            // Never more than the ring beyond what the device has once said it read.
            let end = batch.index() + u64::from(batch.remaining());
            assert!(end - highest <= 16, "{end} {highest}");
        }
    }
}

#[test]
fn producers_race_a_device_that_lies() {
    let bench = Bench::new(32);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for n in 0..3 {
            let (ring, stop) = (&bench.ring, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(claim) = ring.try_claim() {
                        claim.publish_packet(&numbered(n));
                    }
                }
            });
        }
        let memory = bench.memory();
        for round in 0..50_000u64 {
            let write = memory.write.load(Ordering::Relaxed);
            memory.read.store(
                write.wrapping_sub(round % 37).wrapping_add(round % 5),
                Ordering::Release,
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_single_producer_claims_without_compare_and_exchange() {
    let mut bench = Bench::new(8);
    let mut producer = bench.ring.single_producer();
    for n in 0..8 {
        producer.try_claim().unwrap().publish_packet(&numbered(n));
    }
    assert!(matches!(producer.try_claim(), Err(RingError::Full { .. })));
    for n in 0..8 {
        assert_eq!(bench.consume(), Some((PacketType::AgentDispatch, n)));
    }
    thread::scope(|scope| {
        let mut producer = SingleProducer::assume(&bench.ring);
        scope.spawn(move || {
            let mut n = 0;
            while n < 10_000 {
                match producer.try_claim_batch(2) {
                    Ok(mut batch) => {
                        assert!(batch.push(&numbered(n)) && batch.push(&numbered(n + 1)));
                        n += 2;
                    }
                    Err(RingError::Full { .. }) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let mut expected = 0;
        while expected < 10_000 {
            if let Some((_, value)) = bench.consume() {
                assert_eq!(value, expected);
                expected += 1;
            } else {
                thread::yield_now();
            }
        }
    });
}

#[test]
fn a_mapped_ring_uses_the_indices_of_the_queue_structure() {
    #[repr(C, align(64))]
    struct Queue([u64; 32]);
    let mut queue = Queue([0; 32]);
    let mut packets = [[1u32; 16]; 64];
    let rung = AtomicU64::new(u64::MAX);
    let doorbell = |index: u64| rung.store(index, Ordering::Relaxed);
    let at = NonNull::from(&mut queue).cast::<AmdQueue>();
    // SAFETY: both live longer than the ring and are only used through it.
    let ring =
        Ring::new(unsafe { MappedRing::new(NonNull::from(&mut packets).cast(), 64, at, doorbell) });
    ring.try_claim().unwrap().publish_packet(&numbered(9));
    ring.try_claim().unwrap().publish_packet(&numbered(8));
    assert_eq!(rung.load(Ordering::Relaxed), 1);
    assert_eq!(
        ring.memory()
            .amd_queue()
            .write_dispatch_id
            .load(Ordering::Relaxed),
        2
    );
    ring.memory()
        .amd_queue()
        .read_dispatch_id
        .store(2, Ordering::Release);
    assert_eq!(ring.read_index(MemoryOrder::Acquire), 2);
    // Through the seam's own cells as well.
    assert_eq!(
        IndexCell::load(ring.memory().write_index(), Ordering::Relaxed),
        2
    );
    assert_eq!(
        WordCell::load(&ring.memory().packet(1)[4], Ordering::Relaxed),
        8
    );
    // A slot out of range is another slot, not other memory.
    assert_eq!(
        WordCell::load(&ring.memory().packet(65)[4], Ordering::Relaxed),
        8
    );
}
