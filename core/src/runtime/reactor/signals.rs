//! Creating and destroying signals; doorbells.

use super::Reactor;
use crate::backend::{Backend, MemoryFlags, MemoryRequest, QueueHandle};
use crate::config::QUEUES;
use crate::mem::Block;
use crate::runtime::error::{QueueError, SignalError};
use crate::signal::{ArenaError, SignalFlags, SignalHandle, SignalSlot};
use core::sync::atomic::{AtomicU64, Ordering};

impl<B: Backend + ?Sized> Reactor<B> {
    /// Memory for at least `slots` more signals.
    pub fn grow(&self, slots: u32) -> Result<(), SignalError> {
        let page = self.backend.page_size().max(4096);
        let bytes = (u64::from(slots) * size_of::<SignalSlot>() as u64).next_multiple_of(page);
        let block = Block::new(
            &self.backend,
            &MemoryRequest {
                bank: self.host_bank,
                size: bytes,
                align: page,
                flags: MemoryFlags::HOST_ACCESS
                    | MemoryFlags::WRITABLE
                    | MemoryFlags::COHERENT
                    | MemoryFlags::UNCACHED,
            },
            &self.gpus,
        )?;
        let Some(host) = block.host() else {
            return Err(SignalError::Arena(ArenaError::Full { slots: 0 }));
        };
        let slots = (bytes / size_of::<SignalSlot>() as u64) as u32;
        // The block outlives every use of the arena: both belong to the reactor.
        let mut chunks = self.chunks.lock(self.park());
        // SAFETY: fresh zeroed memory of that many slots, page-aligned, that nobody else has and
        // that stays mapped as long as the reactor lives, because its block is kept.
        unsafe { self.arena.add_chunk(host.cast(), slots, self.park()) }?;
        chunks.push(block);
        Ok(())
    }

    /// A signal, bound to an event unless its flags say otherwise.
    pub fn create_slot(
        &self,
        initial: i64,
        flags: SignalFlags,
    ) -> Result<&SignalSlot, SignalError> {
        let park = self.park();
        let flags = if self.shared.is_empty() || flags.contains(SignalFlags::IPC) {
            flags | SignalFlags::BUSY
        } else {
            flags
        };
        let slot = match self.arena.allocate(initial, flags, park) {
            Ok(slot) => slot,
            Err(ArenaError::Full { slots }) => {
                // Twice as many from now on; if that cannot be had, the quarantine has to give way.
                match self.grow(slots.clamp(1, 1 << 20)) {
                    Ok(()) => self.arena.allocate(initial, flags, park)?,
                    Err(_) => self.arena.allocate_oldest(initial, flags, park)?,
                }
            }
            Err(error) => return Err(error.into()),
        };
        if !flags.contains(SignalFlags::BUSY) {
            let event = if flags.contains(SignalFlags::RUNTIME) {
                self.shared[0]
            } else {
                let clients = self.client_events();
                clients[self.next_event.fetch_add(1, Ordering::Relaxed) as usize % clients.len()]
            };
            slot.bind_event(self.backend.mailbox(event), event.0);
        }
        Ok(slot)
    }

    /// Ends a signal; waits on it end.
    pub fn destroy_slot(&self, slot: &SignalSlot) -> bool {
        let gone = self.arena.release(slot, self.park());
        if gone {
            self.wake_after_store(slot);
        }
        gone
    }

    #[inline]
    pub fn slot(&self, handle: SignalHandle) -> Result<&SignalSlot, SignalError> {
        self.arena
            .get(handle)
            .ok_or(SignalError::BadHandle { handle })
    }

    /// Whether waiters pay for the barrier between a store and the look at the waiters count.
    pub const fn has_light_stores(&self) -> bool {
        self.light_stores
    }

    /// Takes an entry of the table of doorbells.
    pub fn take_doorbell(&self) -> Result<u32, QueueError> {
        self.doorbells
            .iter()
            .position(|entry| !entry.taken.swap(true, Ordering::AcqRel))
            .map(|at| at as u32)
            .ok_or(QueueError::NoneLeft { limit: QUEUES })
    }

    /// Gives an entry back.
    pub fn free_doorbell(&self, index: u32) {
        if let Some(entry) = self.doorbells.get(index as usize) {
            entry.register.store(0, Ordering::Relaxed);
            entry.queue.store(0, Ordering::Relaxed);
            entry.taken.store(false, Ordering::Release);
        }
    }

    /// Rings the doorbell that a doorbell signal stands for. The index lies where devices can
    /// write: a wrong one rings another queue's doorbell, or none.
    pub fn ring(&self, slot: &SignalSlot, value: u64) {
        let index = slot.doorbell.load(Ordering::Relaxed) as usize;
        let Some(entry) = self.doorbells.get(index) else {
            return;
        };
        if !entry.taken.load(Ordering::Acquire) {
            return;
        }
        let register = entry.register.load(Ordering::Relaxed);
        if register == 0 {
            let queue = entry.queue.load(Ordering::Relaxed);
            self.backend.ring_doorbell(QueueHandle(queue), value);
        } else {
            self.ring_register(slot, value);
        }
    }

    /// As [`ring`](Self::ring), if the doorbell is a register; gives whether it was.
    #[inline]
    pub fn ring_register(&self, slot: &SignalSlot, value: u64) -> bool {
        let index = slot.doorbell.load(Ordering::Relaxed) as usize;
        let Some(entry) = self.doorbells.get(index) else {
            return false;
        };
        // Of an entry that is not taken this is 0, and it is set after the entry is taken.
        let register = entry.register.load(Ordering::Acquire);
        if register == 0 {
            return false;
        }
        let register = core::ptr::with_exposed_provenance::<AtomicU64>(register as usize);
        // SAFETY: the address is that of a doorbell that the backend gave for a queue, from a
        // table that only this module writes. It is removed before the queue is destroyed;
        // a client that stores to the doorbell of a queue while destroying it breaks the
        // specification's rule for queue handles.
        unsafe { (*register).store(value, Ordering::Release) };
        true
    }
}
