//! The memory of a queue ring in loom's atomics, so that core's own ring runs under the model checker.

use loom::sync::atomic::{AtomicU32, AtomicU64};
use rukh_core::queue::memory::{IndexCell, PACKET_DWORDS, RingMemory, WordCell};
use std::sync::atomic::Ordering;

/// An index in the model.
#[derive(Debug)]
pub struct Index(AtomicU64);

/// A dword of a packet in the model.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl IndexCell for Index {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }

    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }

    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
}

impl WordCell for Word {
    fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    fn store(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }
}

/// A ring of `N` packets, and the device that consumes it.
#[derive(Debug)]
pub struct Memory<const N: usize> {
    write: Index,
    read: Index,
    shadow: Index,
    packets: [[Word; PACKET_DWORDS]; N],
}

/// A packet header's type field of a slot that holds none (HSA 1.2, 2.9.1).
const INVALID: u32 = 1;

impl<const N: usize> Memory<N> {
    /// A ring without packets.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let index = || Index(AtomicU64::new(0));
        let word = |at| Word(AtomicU32::new(if at == 0 { INVALID } else { 0 }));
        Self {
            write: index(),
            read: index(),
            shadow: index(),
            packets: std::array::from_fn(|_| std::array::from_fn(word)),
        }
    }

    /// What a packet processor does with the slot at its read index, if a packet is in it: reads it, marks the
    /// slot as invalid, then counts it as read.
    pub fn consume(&self) -> Option<[u32; PACKET_DWORDS]> {
        let read = self.read.load(Ordering::Relaxed);
        let slot = &self.packets[read as usize % N];
        let header = slot[0].load(Ordering::Acquire);
        if header & 0xff == INVALID {
            return None;
        }
        let mut packet = [header; PACKET_DWORDS];
        // The first and the last word tell whether the packet is whole; each more multiplies the model's states.
        for at in [1, PACKET_DWORDS - 1] {
            packet[at] = slot[at].load(Ordering::Relaxed);
        }
        slot[0].store(INVALID, Ordering::Relaxed);
        self.read.store(read + 1, Ordering::Release);
        Some(packet)
    }
}

impl<const N: usize> RingMemory for Memory<N> {
    type Index = Index;
    type Word = Word;

    fn packets(&self) -> u32 {
        N as u32
    }

    fn write_index(&self) -> &Index {
        &self.write
    }

    fn read_index(&self) -> &Index {
        &self.read
    }

    fn read_shadow(&self) -> &Index {
        &self.shadow
    }

    fn packet(&self, slot: u32) -> &[Word; PACKET_DWORDS] {
        &self.packets[slot as usize]
    }

    fn ring_doorbell(&self, _: u64) {}
}
