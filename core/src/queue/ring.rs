//! Claiming slots of a ring, and the operations on its indices.

use super::claim::{Batch, Claim};
use super::memory::{IndexCell, RingMemory};
use crate::signal::MemoryOrder;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering;
use thiserror_no_std::Error;

/// Why no slot was claimed. Nothing changed then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum RingError {
    /// Not enough slots are free.
    #[error("the ring has no {wanted} free slots: {used} of {size} are in use")]
    Full {
        /// Slots wanted.
        wanted: u32,
        /// Slots in use.
        used: u64,
        /// Slots there are.
        size: u32,
    },
    /// More slots were wanted at once than there are, or none.
    #[error("{wanted} slots cannot be claimed at once in a ring of {size}")]
    TooMany {
        /// Slots wanted.
        wanted: u32,
        /// Slots there are.
        size: u32,
    },
    /// The read index is ahead of the write index: something wrote to one of them that should not have.
    #[error("the read index {read} is ahead of the write index {write}")]
    BadReadIndex {
        /// The read index found.
        read: u64,
        /// The write index found.
        write: u64,
    },
}

/// A ring of packets for many producers.
///
/// # The read index is not trusted
/// It lies where devices, and clients through the API, can write. It is read once per decision and
/// must lie between the highest value that made sense before and the write index: one that jumps back
/// is ignored, one that runs ahead is an error, and in neither case is a slot claimed. In between, the
/// device's word is all there is: one that says it has read what it has not loses packets.
/// Whatever it says, packets are written as atomics to the ring's own memory and nowhere else.
#[derive(Debug)]
pub struct Ring<M> {
    memory: M,
}

impl<M: RingMemory> Ring<M> {
    /// A ring in this memory.
    pub const fn new(memory: M) -> Self {
        Self { memory }
    }

    /// The memory.
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// The memory, to change it before the ring is used.
    pub const fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Claims a slot if one is free.
    ///
    /// # Errors
    /// [`RingError::Full`], [`RingError::BadReadIndex`].
    pub fn try_claim(&self) -> Result<Claim<'_, M>, RingError> {
        Ok(Claim::new(self, self.reserve(1)?))
    }

    /// Claims `count` consecutive slots if they are free.
    ///
    /// # Errors
    /// See [`RingError`].
    pub fn try_claim_batch(&self, count: u32) -> Result<Batch<'_, M>, RingError> {
        Ok(Batch::new(self, self.reserve(count)?, count))
    }

    /// Claims a slot, calling `wait` as long as none is free, until it breaks.
    ///
    /// # Errors
    /// The [`RingError::Full`] that `wait` broke at; [`RingError::BadReadIndex`].
    pub fn claim(&self, wait: impl FnMut() -> ControlFlow<()>) -> Result<Claim<'_, M>, RingError> {
        Ok(Claim::new(self, self.reserve_waiting(1, wait)?))
    }

    /// Claims `count` consecutive slots, calling `wait` as long as they are not free, until it breaks.
    ///
    /// # Errors
    /// As [`Ring::claim`], and [`RingError::TooMany`].
    pub fn claim_batch(
        &self,
        count: u32,
        wait: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Batch<'_, M>, RingError> {
        Ok(Batch::new(self, self.reserve_waiting(count, wait)?, count))
    }

    fn reserve_waiting(
        &self,
        count: u32,
        mut wait: impl FnMut() -> ControlFlow<()>,
    ) -> Result<u64, RingError> {
        loop {
            match self.reserve(count) {
                Err(full @ RingError::Full { .. }) => {
                    if wait().is_break() {
                        return Err(full);
                    }
                }
                done => return done,
            }
        }
    }

    /// Moves the write index over free slots only, by compare and exchange. A fetch-add would be one
    /// instruction, but it claims first and asks later: a producer that then gives up, because
    /// its time is over or the device is gone, would leave a hole that stops the queue for all.
    fn reserve(&self, count: u32) -> Result<u64, RingError> {
        self.check_count(count)?;
        let mut write = self.memory.write_index().load(Ordering::Relaxed);
        loop {
            let read = self.read_position(write)?;
            let used = write - read;
            let size = self.memory.packets();
            if used + u64::from(count) > u64::from(size) {
                // The write index may have moved on since; then the answer is of the past.
                let now = self.memory.write_index().load(Ordering::Relaxed);
                if now != write {
                    write = now;
                    continue;
                }
                return Err(RingError::Full {
                    wanted: count,
                    used,
                    size,
                });
            }
            match self.memory.write_index().compare_exchange(
                write,
                write + u64::from(count),
                // Acquire through the read index orders the slots' reuse; the claim itself orders nothing.
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(write),
                Err(found) => write = found,
            }
        }
    }

    fn check_count(&self, count: u32) -> Result<(), RingError> {
        let size = self.memory.packets();
        if count == 0 || count > size {
            return Err(RingError::TooMany {
                wanted: count,
                size,
            });
        }
        Ok(())
    }

    /// The read index as far as it makes sense, at most `write`. `write` is a value that the write
    /// index had before this call.
    fn read_position(&self, write: u64) -> Result<u64, RingError> {
        let read = self.memory.read_index().load(Ordering::Acquire);
        let shadow = self.memory.read_shadow().load(Ordering::Acquire);
        if write > u64::MAX - u64::from(self.memory.packets()) {
            // No honest queue gets here in centuries: somebody stored this write index.
            return Err(RingError::BadReadIndex { read, write });
        }
        if read > write {
            // Others may have claimed, and the device consumed, since `write` was loaded. The read
            // index was loaded before this, so an honest one cannot be ahead now.
            let now = self.memory.write_index().load(Ordering::Acquire);
            if read > now {
                return Err(RingError::BadReadIndex { read, write: now });
            }
            // `write` is of the past, and the compare-exchange that uses it will fail.
            return Ok(write);
        }
        if read > shadow {
            // Two producers may store out of order: the shadow then says less than it could, never more.
            self.memory.read_shadow().store(read, Ordering::Release);
            return Ok(read);
        }
        // A step back, or a shadow from before the client stored a smaller write index.
        Ok(if shadow <= write { shadow } else { read })
    }

    /// The write index.
    pub fn write_index(&self, order: MemoryOrder) -> u64 {
        self.memory.write_index().load(order.load())
    }

    /// Stores the write index: for producers that claim on their own.
    pub fn store_write_index(&self, value: u64, order: MemoryOrder) {
        self.memory.write_index().store(value, order.store());
    }

    /// Replaces the write index if it is `expected`; gives the value found.
    pub fn cas_write_index(&self, expected: u64, value: u64, order: MemoryOrder) -> u64 {
        match self
            .memory
            .write_index()
            .compare_exchange(expected, value, order.rmw(), order.load())
        {
            Ok(found) | Err(found) => found,
        }
    }

    /// Adds to the write index; gives the old value. The caller waits for the slots to be free.
    pub fn add_write_index(&self, value: u64, order: MemoryOrder) -> u64 {
        self.memory.write_index().fetch_add(value, order.rmw())
    }

    /// The read index, as it is.
    pub fn read_index(&self, order: MemoryOrder) -> u64 {
        self.memory.read_index().load(order.load())
    }

    /// Stores the read index: for queues that a program consumes.
    pub fn store_read_index(&self, value: u64, order: MemoryOrder) {
        self.memory.read_index().store(value, order.store());
    }

    /// Makes this the ring's only producer.
    pub fn single_producer(&mut self) -> SingleProducer<'_, M> {
        SingleProducer { ring: self }
    }
}

/// The only producer of a ring: claims without compare and exchange.
#[derive(Debug)]
pub struct SingleProducer<'r, M> {
    ring: &'r Ring<M>,
}

impl<'r, M: RingMemory> SingleProducer<'r, M> {
    /// A producer for a ring that others share, on their word that they do not produce.
    ///
    /// Two producers that both believe to be the only one overwrite each other's packets; memory
    /// stays safe.
    pub const fn assume(ring: &'r Ring<M>) -> Self {
        Self { ring }
    }

    /// Claims a slot if one is free.
    ///
    /// # Errors
    /// [`RingError::Full`], [`RingError::BadReadIndex`].
    pub fn try_claim(&mut self) -> Result<Claim<'r, M>, RingError> {
        Ok(Claim::new(self.ring, self.reserve(1)?))
    }

    /// Claims `count` consecutive slots if they are free.
    ///
    /// # Errors
    /// See [`RingError`].
    pub fn try_claim_batch(&mut self, count: u32) -> Result<Batch<'r, M>, RingError> {
        Ok(Batch::new(self.ring, self.reserve(count)?, count))
    }

    fn reserve(&mut self, count: u32) -> Result<u64, RingError> {
        self.ring.check_count(count)?;
        let memory = &self.ring.memory;
        let write = memory.write_index().load(Ordering::Relaxed);
        let used = write - self.ring.read_position(write)?;
        if used + u64::from(count) > u64::from(memory.packets()) {
            return Err(RingError::Full {
                wanted: count,
                used,
                size: memory.packets(),
            });
        }
        memory
            .write_index()
            .store(write + u64::from(count), Ordering::Relaxed);
        Ok(write)
    }
}
