//! Signals and queues under real threads: what the threads saw could have come from one operation after another.

use rukh_backend_sim::{SimBackend, SimConfig};
use rukh_core::backend::{Clock as _, Timeout};
use rukh_core::queue::memory::{PACKET_DWORDS, RingMemory};
use rukh_core::queue::{Ring, RingError};
use rukh_core::runtime::{Runtime, RuntimeConfig, SignalRef, WaitHint, WaitOutcome};
use rukh_core::signal::{Condition, MemoryOrder};
use rukh_core::wire::aql::PACKET_SIZE;
use rukh_tests::history::{Clock, Event, Model, is_linearizable};
use rukh_tests::oracle::rng::Rng;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

const ROUNDS: u64 = 300;
const THREADS: u64 = 3;
const OPERATIONS: u64 = 8;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Value(i64);

#[derive(Clone, Debug)]
enum OnSignal {
    Load {
        gave: i64,
    },
    Store {
        value: i64,
    },
    Exchange {
        value: i64,
        gave: i64,
    },
    CompareExchange {
        expected: i64,
        value: i64,
        gave: i64,
    },
    Add {
        value: i64,
        gave: i64,
    },
    And {
        value: i64,
        gave: i64,
    },
    Xor {
        value: i64,
        gave: i64,
    },
    Wait {
        below: i64,
        gave: i64,
    },
}

impl Model for Value {
    type Operation = OnSignal;

    fn apply(&self, operation: &OnSignal) -> Option<Self> {
        let Self(now) = *self;
        let (gave, next) = match *operation {
            OnSignal::Load { gave } => (gave, now),
            OnSignal::Store { value } => (now, value),
            OnSignal::Exchange { value, gave } => (gave, value),
            OnSignal::CompareExchange {
                expected,
                value,
                gave,
            } => (gave, if now == expected { value } else { now }),
            OnSignal::Add { value, gave } => (gave, now.wrapping_add(value)),
            OnSignal::And { value, gave } => (gave, now & value),
            OnSignal::Xor { value, gave } => (gave, now ^ value),
            OnSignal::Wait { below, gave } if gave < below => (gave, now),
            OnSignal::Wait { .. } => return None,
        };
        (gave == now).then_some(Self(next))
    }
}

/// One operation on the signal, by chance. Few values, so that they meet.
fn operate(signal: SignalRef<'_, SimBackend>, rng: &mut Rng) -> OnSignal {
    const ORDER: MemoryOrder = MemoryOrder::AcqRel;
    let value = rng.below(4) as i64;
    match rng.below(8) {
        0 | 1 => OnSignal::Load {
            gave: signal.load(ORDER),
        },
        2 => {
            signal.store(value, ORDER);
            OnSignal::Store { value }
        }
        3 => OnSignal::Exchange {
            value,
            gave: signal.exchange(value, ORDER),
        },
        4 => {
            let expected = rng.below(4) as i64;
            OnSignal::CompareExchange {
                expected,
                value,
                gave: signal.cas(expected, value, ORDER),
            }
        }
        5 => OnSignal::Add {
            value,
            gave: signal.add(value, ORDER),
        },
        6 => OnSignal::And {
            value,
            gave: signal.and(value, ORDER),
        },
        _ => OnSignal::Xor {
            value,
            gave: signal.xor(value, ORDER),
        },
    }
}

/// What threads saw of a signal of value 1, one of them by waiting until it is below 0, which it is in the end.
fn signal_history(runtime: &Arc<Runtime<SimBackend>>, seed: u64) -> Vec<Event<OnSignal>> {
    let clock = Clock::default();
    let signal = runtime.create_signal(1).expect("a signal is created");
    let start = Barrier::new(THREADS as usize + 1);
    let deadline = Timeout::At(runtime.backend().now() + 60_000_000_000);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (clock, start, signal) = (&clock, &start, signal.get());
                scope.spawn(move || {
                    let mut rng = Rng::new(seed * THREADS + thread);
                    start.wait();
                    (0..OPERATIONS)
                        .filter_map(|_| {
                            clock.record(|| {
                                // Others get their turn between the call and what it does.
                                if rng.below(2) == 0 {
                                    thread::yield_now();
                                }
                                Some(operate(signal, &mut rng))
                            })
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let waiter = {
            let (clock, start, signal) = (&clock, &start, signal.get());
            scope.spawn(move || {
                start.wait();
                clock.record(
                    || match signal.wait(Condition::Lt, 0, deadline, WaitHint::Blocked) {
                        Ok(WaitOutcome::Met(gave)) => Some(OnSignal::Wait { below: 0, gave }),
                        other => panic!("the wait ended with {other:?}"),
                    },
                )
            })
        };
        let mut history: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("it ends"))
            .collect();
        let last = clock.record(|| {
            signal.store(-5, MemoryOrder::AcqRel);
            Some(OnSignal::Store { value: -5 })
        });
        history.extend(last);
        history.extend(waiter.join().expect("it ends"));
        history
    })
}

#[test]
fn operations_and_waits_on_a_signal_are_linearizable() {
    let backend = SimBackend::new(SimConfig::parse("gfx90a").expect("the profile exists"))
        .expect("the software GPU starts");
    let runtime =
        Runtime::new(Arc::new(backend), RuntimeConfig::threaded()).expect("the runtime starts");
    let mut overlapping = 0;
    for seed in 0..ROUNDS {
        let history = signal_history(&runtime, seed);
        assert_eq!(history.len() as u64, THREADS * OPERATIONS + 2);
        overlapping += u64::from(overlaps(&history));
        assert!(
            is_linearizable(&Value(1), &history),
            "seed {seed}: {history:#?}"
        );
    }
    // A test that threads never met in would show nothing.
    assert_ne!(overlapping, 0);
}

/// Whether two operations were under way at once, other than the wait.
fn overlaps<O>(history: &[Event<O>]) -> bool {
    let short = || history.iter().filter(|e| e.returned - e.called < 20);
    short().any(|a| short().any(|b| a.called < b.called && b.called < a.returned))
}

const PACKETS: usize = 4;
const INVALID: u32 = 1;

/// A ring on the host's heap, of which this test is the packet processor.
struct Memory {
    indices: [AtomicU64; 3],
    packets: [[AtomicU32; PACKET_DWORDS]; PACKETS],
}

impl Memory {
    fn new() -> Self {
        let word = |at| AtomicU32::new(if at == 0 { INVALID } else { 0 });
        Self {
            indices: Default::default(),
            packets: std::array::from_fn(|_| std::array::from_fn(word)),
        }
    }

    /// Takes a packet if one is there; its number.
    fn consume(&self) -> Option<u32> {
        let read = self.read_index().load(Ordering::Relaxed);
        let slot = &self.packets[read as usize % PACKETS];
        if slot[0].load(Ordering::Acquire) & 0xff == INVALID {
            return None;
        }
        let number = slot[PACKET_DWORDS - 1].load(Ordering::Relaxed);
        slot[0].store(INVALID, Ordering::Relaxed);
        self.read_index().store(read + 1, Ordering::Release);
        Some(number)
    }
}

impl RingMemory for Memory {
    type Index = AtomicU64;
    type Word = AtomicU32;

    fn packets(&self) -> u32 {
        PACKETS as u32
    }

    fn write_index(&self) -> &AtomicU64 {
        &self.indices[0]
    }

    fn read_index(&self) -> &AtomicU64 {
        &self.indices[1]
    }

    fn read_shadow(&self) -> &AtomicU64 {
        &self.indices[2]
    }

    fn packet(&self, slot: u32) -> &[AtomicU32; PACKET_DWORDS] {
        &self.packets[slot as usize]
    }

    fn ring_doorbell(&self, _: u64) {}
}

/// Packets that were claimed and not consumed, oldest first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Queued(Vec<u32>);

#[derive(Clone, Debug)]
enum OnQueue {
    Published(u32),
    Full,
    Consumed(u32),
}

impl Model for Queued {
    type Operation = OnQueue;

    fn apply(&self, operation: &OnQueue) -> Option<Self> {
        let mut next = self.clone();
        match *operation {
            OnQueue::Published(number) => {
                next.0.push(number);
                (next.0.len() <= PACKETS).then_some(next)
            }
            OnQueue::Full => (self.0.len() == PACKETS).then_some(next),
            OnQueue::Consumed(number) => {
                (!next.0.is_empty() && next.0.remove(0) == number).then_some(next)
            }
        }
    }
}

/// Claims a slot and publishes the packet of a number in it, if one is free.
fn publish(ring: &Ring<Memory>, number: u32) -> OnQueue {
    let mut packet = [0u8; PACKET_SIZE];
    // An agent dispatch, by its type.
    packet[0] = 4;
    packet[PACKET_SIZE - 4..].copy_from_slice(&number.to_le_bytes());
    match ring.try_claim() {
        Ok(claim) => {
            claim.publish_packet(&packet);
            OnQueue::Published(number)
        }
        Err(RingError::Full { .. }) => OnQueue::Full,
        Err(error) => panic!("{error}"),
    }
}

fn queue_history() -> Vec<Event<OnQueue>> {
    let (clock, ring) = (Clock::default(), Ring::new(Memory::new()));
    let start = Barrier::new(THREADS as usize + 1);
    thread::scope(|scope| {
        let producers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (clock, ring, start) = (&clock, &ring, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..OPERATIONS)
                        .filter_map(|at| {
                            let number = (thread * OPERATIONS + at) as u32;
                            clock.record(|| Some(publish(ring, number)))
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        start.wait();
        let mut history = Vec::new();
        let mut consume = || {
            let event = clock.record(|| ring.memory().consume().map(OnQueue::Consumed));
            let some = event.is_some();
            history.extend(event);
            some
        };
        while producers.iter().any(|thread| !thread.is_finished()) {
            consume();
        }
        while consume() {}
        for thread in producers {
            history.extend(thread.join().expect("it ends"));
        }
        history
    })
}

#[test]
fn publishing_and_consuming_packets_is_linearizable() {
    let (mut overlapping, mut full) = (0, 0);
    for round in 0..ROUNDS {
        let history = queue_history();
        overlapping += u64::from(overlaps(&history));
        let count =
            |which: fn(&OnQueue) -> bool| history.iter().filter(|e| which(&e.operation)).count();
        full += count(|o| matches!(o, OnQueue::Full));
        assert_eq!(
            count(|o| matches!(o, OnQueue::Published(_))),
            count(|o| matches!(o, OnQueue::Consumed(_))),
        );
        assert!(
            is_linearizable(&Queued::default(), &history),
            "round {round}: {history:#?}"
        );
    }
    assert_ne!(overlapping, 0);
    assert_ne!(full, 0, "the ring was never full");
}
