//! A claimed slot: written, then published.

use super::memory::{PACKET_DWORDS, RingMemory, WordCell};
use super::ring::Ring;
use crate::wire::aql::{
    AgentDispatchPacket, BarrierPacket, BarrierValuePacket, Header, KernelDispatchPacket,
    PACKET_SIZE, PacketType, Pm4IbPacket,
};
use core::sync::atomic::Ordering;

mod sealed {
    pub trait Sealed {}
}

/// A packet structure of 64 bytes whose first four are the header and the setup field.
pub trait AqlPacket: sealed::Sealed + Copy {
    /// Its bytes.
    fn bytes(&self) -> [u8; PACKET_SIZE];
}

macro_rules! aql_packets {
    ($($ty:ty),+) => {$(
        impl sealed::Sealed for $ty {}
        impl AqlPacket for $ty {
            fn bytes(&self) -> [u8; PACKET_SIZE] {
                zerocopy::transmute!(*self)
            }
        }
    )+};
}
aql_packets!(
    KernelDispatchPacket,
    AgentDispatchPacket,
    BarrierPacket,
    BarrierValuePacket,
    Pm4IbPacket
);
impl sealed::Sealed for [u8; PACKET_SIZE] {}
impl AqlPacket for [u8; PACKET_SIZE] {
    fn bytes(&self) -> [u8; PACKET_SIZE] {
        *self
    }
}

/// A barrier-AND packet without dependencies or completion signal: it does nothing.
const NO_OP: u32 = Header::new(PacketType::BarrierAnd).0 as u32;

/// One slot of a ring that belongs to the holder until it is published.
///
/// The packet processor stops at a slot that is claimed and not published. So dropping a
/// claim publishes a packet that does nothing (a barrier-AND without dependencies) and rings the
/// doorbell: the queue goes on. Only leaking a claim, with `mem::forget`, wedges the queue.
#[must_use = "the queue stops at this slot until it is published"]
pub struct Claim<'r, M: RingMemory> {
    ring: &'r Ring<M>,
    index: u64,
}

impl<'r, M: RingMemory> Claim<'r, M> {
    pub(super) fn new(ring: &'r Ring<M>, index: u64) -> Self {
        Self { ring, index }
    }

    /// The packet's index: the count of packets before it.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Writes the packet but for its first four bytes (the header and what follows it up to byte 4).
    pub fn write<P: AqlPacket>(&mut self, packet: &P) {
        write_body(self.ring, self.index, &packet.bytes());
    }

    /// Publishes what was written under this header and setup field, and rings the doorbell.
    pub fn publish(self, header: Header, setup: u16) {
        self.publish_quietly(header, setup);
    }

    /// Writes and publishes a packet with its own header and rings the doorbell.
    pub fn publish_packet<P: AqlPacket>(self, packet: &P) {
        let bytes = packet.bytes();
        write_body(self.ring, self.index, &bytes);
        let first = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        self.finish(first);
    }

    fn publish_quietly(self, header: Header, setup: u16) {
        self.finish(u32::from(header.0) | u32::from(setup) << 16);
    }

    fn finish(self, first: u32) {
        publish_word(self.ring, self.index, first);
        self.ring.memory().ring_doorbell(self.index);
        core::mem::forget(self);
    }
}

impl<M: RingMemory> Drop for Claim<'_, M> {
    fn drop(&mut self) {
        publish_no_op(self.ring, self.index);
        self.ring.memory().ring_doorbell(self.index);
    }
}

/// Consecutive slots that were claimed together. The doorbell is rung once, when the batch ends;
/// slots that were not published by then become packets that do nothing, as with [`Claim`].
#[must_use = "the queue stops at these slots until they are published"]
pub struct Batch<'r, M: RingMemory> {
    ring: &'r Ring<M>,
    first: u64,
    count: u32,
    done: u32,
}

impl<'r, M: RingMemory> Batch<'r, M> {
    pub(super) fn new(ring: &'r Ring<M>, first: u64, count: u32) -> Self {
        Self {
            ring,
            first,
            count,
            done: 0,
        }
    }

    /// Index of the first packet.
    pub const fn index(&self) -> u64 {
        self.first
    }

    /// Number of slots that are not published yet.
    pub const fn remaining(&self) -> u32 {
        self.count - self.done
    }

    /// Writes the next packet and publishes it with its own header; the doorbell follows when the
    /// batch ends. Gives false, and writes nothing, if all slots are used.
    #[must_use]
    pub fn push<P: AqlPacket>(&mut self, packet: &P) -> bool {
        if self.done == self.count {
            return false;
        }
        let index = self.first.wrapping_add(u64::from(self.done));
        let bytes = packet.bytes();
        write_body(self.ring, index, &bytes);
        let first = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        publish_word(self.ring, index, first);
        self.done += 1;
        true
    }
}

impl<M: RingMemory> Drop for Batch<'_, M> {
    fn drop(&mut self) {
        for at in self.done..self.count {
            publish_no_op(self.ring, self.first.wrapping_add(u64::from(at)));
        }
        let last = self.first.wrapping_add(u64::from(self.count) - 1);
        self.ring.memory().ring_doorbell(last);
    }
}

fn words<M: RingMemory>(ring: &Ring<M>, index: u64) -> &[M::Word; PACKET_DWORDS] {
    let memory = ring.memory();
    memory.packet((index & u64::from(memory.packets() - 1)) as u32)
}

fn write_body<M: RingMemory>(ring: &Ring<M>, index: u64, bytes: &[u8; PACKET_SIZE]) {
    let words = words(ring, index);
    let (dwords, _) = bytes.as_chunks::<4>();
    for (word, dword) in words.iter().zip(dwords).skip(1) {
        word.store(u32::from_le_bytes(*dword), Ordering::Relaxed);
    }
}

/// The header and the setup field go last, in one store: a packet processor that sees the type
/// sees the whole packet.
fn publish_word<M: RingMemory>(ring: &Ring<M>, index: u64, first: u32) {
    words(ring, index)[0].store(first, Ordering::Release);
}

fn publish_no_op<M: RingMemory>(ring: &Ring<M>, index: u64) {
    write_body(ring, index, &[0; PACKET_SIZE]);
    publish_word(ring, index, NO_OP);
}

impl<M: RingMemory> core::fmt::Debug for Claim<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Claim").field("index", &self.index).finish()
    }
}

impl<M: RingMemory> core::fmt::Debug for Batch<'_, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Batch")
            .field("index", &self.first)
            .field("count", &self.count)
            .field("published", &self.done)
            .finish()
    }
}
