//! Where signals live: chunks of slots that are never unmapped while the arena is, so that a stale
//! handle is at worst a wrong value and never a wild pointer.
//!
//! A handle is valid if it lies in a chunk, on a slot's boundary, and the slot's kind is a
//! signal's. Freed slots wait in a first-in-first-out list: the arena takes fresh slots
//! first and keeps at least [`SIGNAL_QUARANTINE`] freed ones back, so that a handle that is used after its
//! destruction meets an invalid slot for long. Once the slot is used again, the old
//! handle and the new one are the same number, and nothing can tell them apart.
//!
//! A chunk's memory may be anything that lives long enough: a static, a block of device-visible memory.

use super::slot::{NO_SLOT, SignalFlags, SignalHandle, SignalSlot};
use crate::backend::{Lock, Park};
use crate::config::{SHARED_SIGNALS, SIGNAL_CHUNKS, SIGNAL_QUARANTINE};
use crate::sync::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use crate::wire::signal::SignalKind;
use core::ptr::NonNull;
use thiserror_no_std::Error;

/// Why there is no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ArenaError {
    /// All slots are in use, or too few are free to let freed ones wait.
    #[error("all {slots} signal slots are in use or wait in quarantine")]
    Full {
        /// How many there are.
        slots: u32,
    },
    /// The table of chunks is full.
    #[error("the arena already has all of its {limit} chunks")]
    NoChunkLeft {
        /// How many it can have.
        limit: usize,
    },
}

#[derive(Debug)]
struct Chunk {
    base: AtomicPtr<SignalSlot>,
    slots: AtomicU32,
}

#[derive(Debug)]
struct Free {
    /// Slots that were never used start here, counted over all chunks.
    fresh: u32,
    /// All slots of all chunks.
    total: u32,
    /// Oldest freed slot.
    head: u32,
    /// Latest freed slot.
    tail: u32,
    /// Length of the list.
    waiting: u32,
}

/// An arena of signals. The memory of its chunks belongs to whoever added them.
#[derive(Debug)]
pub struct SignalArena {
    chunks: [Chunk; SIGNAL_CHUNKS],
    /// Signals in memory that processes share, each with memory of its own; bit 0 is set in what is another process's.
    shared: [AtomicPtr<SignalSlot>; SHARED_SIGNALS],
    count: AtomicUsize,
    free: Lock<Free>,
}

impl SignalArena {
    /// An arena without memory.
    pub const fn new() -> Self {
        Self {
            chunks: [const {
                Chunk {
                    base: AtomicPtr::new(core::ptr::null_mut()),
                    slots: AtomicU32::new(0),
                }
            }; SIGNAL_CHUNKS],
            shared: [const { AtomicPtr::new(core::ptr::null_mut()) }; SHARED_SIGNALS],
            count: AtomicUsize::new(0),
            free: Lock::new(Free {
                fresh: 0,
                total: 0,
                head: NO_SLOT,
                tail: NO_SLOT,
                waiting: 0,
            }),
        }
    }

    /// Gives the arena memory for `slots` more signals.
    ///
    /// # Safety
    /// `base` points to `slots` slots of zeroed memory, aligned to 128 bytes, that stay
    /// mapped and belong to this arena as long as it or a slot of it is used.
    ///
    /// # Errors
    /// [`ArenaError::NoChunkLeft`].
    pub unsafe fn add_chunk(
        &self,
        base: NonNull<SignalSlot>,
        slots: u32,
        park: &dyn Park,
    ) -> Result<(), ArenaError> {
        let mut free = self.free.lock(park);
        let at = self.count.load(Ordering::Relaxed);
        let total = free.total.checked_add(slots).filter(|&n| n < NO_SLOT);
        let (Some(chunk), Some(total)) = (self.chunks.get(at), total) else {
            return Err(ArenaError::NoChunkLeft {
                limit: SIGNAL_CHUNKS,
            });
        };
        chunk.base.store(base.as_ptr(), Ordering::Relaxed);
        chunk.slots.store(slots, Ordering::Release);
        // Readers look at as many chunks as the count says, and at the first one at once.
        self.count.store(at + 1, Ordering::Release);
        free.total = total;
        Ok(())
    }

    /// Takes a slot and makes it a signal of value `initial`, bound to no event.
    ///
    /// # Errors
    /// [`ArenaError::Full`]: add a chunk and try again, or [`SignalArena::allocate_oldest`].
    pub fn allocate(
        &self,
        initial: i64,
        flags: SignalFlags,
        park: &dyn Park,
    ) -> Result<&SignalSlot, ArenaError> {
        self.take(initial, flags, SIGNAL_QUARANTINE, park)
    }

    /// As [`SignalArena::allocate`], but cuts the quarantine short if need be.
    ///
    /// # Errors
    /// [`ArenaError::Full`] if every slot is in use.
    pub fn allocate_oldest(
        &self,
        initial: i64,
        flags: SignalFlags,
        park: &dyn Park,
    ) -> Result<&SignalSlot, ArenaError> {
        self.take(initial, flags, 0, park)
    }

    fn take(
        &self,
        initial: i64,
        flags: SignalFlags,
        keep: u32,
        park: &dyn Park,
    ) -> Result<&SignalSlot, ArenaError> {
        let slot = {
            let mut free = self.free.lock(park);
            if free.fresh < free.total {
                let index = free.fresh;
                free.fresh += 1;
                self.slot(index)
            } else if free.waiting > keep {
                self.pop(&mut free)
            } else {
                None
            }
            .ok_or(ArenaError::Full { slots: free.total })?
        };
        Self::begin(slot, initial, flags);
        Ok(slot)
    }

    /// Makes a slot a signal.
    fn begin(slot: &SignalSlot, initial: i64, flags: SignalFlags) {
        slot.waiters.store(0, Ordering::Relaxed);
        slot.flags.store(flags.bits(), Ordering::Relaxed);
        slot.doorbell.store(0, Ordering::Relaxed);
        // Release: whoever reads this value sees that the generation has changed.
        slot.signal.value.store(initial, Ordering::Release);
        slot.bind_event(0, 0);
        slot.signal.start_ts.store(0, Ordering::Relaxed);
        slot.signal.end_ts.store(0, Ordering::Relaxed);
        slot.signal.queue_ptr.store(0, Ordering::Relaxed);
        slot.generation.fetch_add(1, Ordering::Release);
        // Last: from here the handle is valid.
        slot.signal
            .kind
            .store(SignalKind::User as i64, Ordering::Release);
    }

    /// Makes a slot in memory that other processes can have a signal.
    ///
    /// # Safety
    /// The slot is zeroed memory that stays mapped as long as the arena or a slot of it is used, or until
    /// [`SignalArena::forget_shared`].
    ///
    /// # Errors
    /// [`ArenaError::Full`].
    pub unsafe fn add_shared(
        &self,
        slot: NonNull<SignalSlot>,
        initial: i64,
        flags: SignalFlags,
    ) -> Result<(), ArenaError> {
        // SAFETY: mapped and zeroed, by the caller's promise; all of its fields that change are atomics.
        Self::begin(unsafe { slot.as_ref() }, initial, flags);
        self.enter(slot.as_ptr())
    }

    /// Takes a signal of another process in. Releasing it ends it for this process alone.
    ///
    /// # Safety
    /// As for [`SignalArena::add_shared`], but for what is in the slot.
    ///
    /// # Errors
    /// [`ArenaError::Full`].
    pub unsafe fn attach_shared(&self, slot: NonNull<SignalSlot>) -> Result<(), ArenaError> {
        self.enter(slot.as_ptr().map_addr(|address| address | 1))
    }

    fn enter(&self, tagged: *mut SignalSlot) -> Result<(), ArenaError> {
        let free = self.shared.iter().find(|place| {
            place
                .compare_exchange(
                    core::ptr::null_mut(),
                    tagged,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
                .is_ok()
        });
        free.map(drop).ok_or(ArenaError::Full {
            slots: SHARED_SIGNALS as u32,
        })
    }

    /// Finds no shared signal any more: before their memory goes, and when nobody uses one.
    pub fn forget_shared(&self) {
        for place in &self.shared {
            place.store(core::ptr::null_mut(), Ordering::Release);
        }
    }

    /// The place of a shared signal, and what is in it.
    fn shared_at(&self, address: u64) -> Option<(&AtomicPtr<SignalSlot>, *mut SignalSlot)> {
        let places = self.shared.iter();
        let mut found = places.map(|place| (place, place.load(Ordering::Acquire)));
        found.find(|(_, tagged)| address != 0 && tagged.addr() as u64 & !1 == address)
    }

    /// Leaves a signal of another process, which may have ended it. False if the handle is not of one.
    pub fn leave_shared(&self, handle: SignalHandle) -> bool {
        let Some((place, tagged)) = self.shared_at(handle.0) else {
            return false;
        };
        let none = core::ptr::null_mut();
        tagged.addr() & 1 != 0
            && place
                .compare_exchange(tagged, none, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Ends a shared signal, for all if it is this process's own.
    fn release_shared(&self, slot: &SignalSlot) -> bool {
        let address = core::ptr::from_ref(slot).addr() as u64;
        let Some((place, tagged)) = self.shared_at(address) else {
            return false;
        };
        let gone = place.compare_exchange(
            tagged,
            core::ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if gone.is_ok() && tagged.addr() & 1 == 0 {
            slot.generation.fetch_add(1, Ordering::Release);
            slot.signal
                .kind
                .store(SignalKind::Invalid as i64, Ordering::Release);
        }
        gone.is_ok()
    }

    /// Ends a signal. Gives false, and does nothing, if the slot is none (freed twice).
    /// A waiter that looks at it from now on sees that it is gone.
    pub fn release(&self, slot: &SignalSlot, park: &dyn Park) -> bool {
        let Some(index) = self.index_of(slot) else {
            return self.release_shared(slot);
        };
        let mut free = self.free.lock(park);
        if slot
            .signal
            .kind
            .swap(SignalKind::Invalid as i64, Ordering::AcqRel)
            == SignalKind::Invalid as i64
        {
            return false;
        }
        slot.generation.fetch_add(1, Ordering::Release);
        slot.next.store(NO_SLOT, Ordering::Relaxed);
        match self.slot(free.tail) {
            Some(tail) => tail.next.store(index, Ordering::Relaxed),
            None => free.head = index,
        }
        free.tail = index;
        free.waiting += 1;
        true
    }

    /// The signal that a handle names: by range, alignment and kind.
    #[inline]
    pub fn get(&self, handle: SignalHandle) -> Option<&SignalSlot> {
        let slot = self.at_address(handle.0)?;
        (slot.signal.kind.load(Ordering::Acquire) != SignalKind::Invalid as i64).then_some(slot)
    }

    /// Where the first chunk lies and how many slots it has: most programs' signals are all in it. None before there
    /// is one.
    pub fn first_chunk(&self) -> Option<(NonNull<SignalSlot>, u32)> {
        self.chunks().next()
    }

    /// Number of slots, used or not.
    pub fn capacity(&self, park: &dyn Park) -> u32 {
        self.free.lock(park).total
    }

    /// Number of signals that exist.
    pub fn live(&self, park: &dyn Park) -> u32 {
        let free = self.free.lock(park);
        free.fresh - free.waiting
    }

    fn chunks(&self) -> impl Iterator<Item = (NonNull<SignalSlot>, u32)> {
        let count = self.count.load(Ordering::Acquire).min(SIGNAL_CHUNKS);
        self.chunks[..count].iter().filter_map(|chunk| {
            let base = NonNull::new(chunk.base.load(Ordering::Relaxed))?;
            Some((base, chunk.slots.load(Ordering::Relaxed)))
        })
    }

    #[inline]
    fn at_address(&self, address: u64) -> Option<&SignalSlot> {
        // Most programs never need a second chunk, so this is straight.
        const SIZE: u64 = size_of::<SignalSlot>() as u64;
        let bytes = u64::from(self.chunks[0].slots.load(Ordering::Acquire)) * SIZE;
        let base = self.chunks[0].base.load(Ordering::Relaxed);
        let offset = address.wrapping_sub(base.addr() as u64);
        if offset < bytes && offset.is_multiple_of(SIZE) {
            // SAFETY: the offset is that of a whole slot in a chunk, whose base was stored before its number of
            // slots was; `add_chunk`'s caller promised a mapped slot for as long as the arena is used, and all of
            // its fields that change are atomics.
            return Some(unsafe { &*base.byte_add(offset as usize) });
        }
        self.beyond_first_chunk(address)
    }

    fn beyond_first_chunk(&self, address: u64) -> Option<&SignalSlot> {
        const SIZE: u64 = size_of::<SignalSlot>() as u64;
        for (base, slots) in self.chunks() {
            let offset = address.wrapping_sub(base.addr().get() as u64);
            if offset < u64::from(slots) * SIZE {
                if !offset.is_multiple_of(SIZE) {
                    return None;
                }
                // SAFETY: the offset is that of a whole slot in a chunk, which `add_chunk`'s
                // caller promised to be a mapped slot for as long as the arena is used; all of its
                // fields that change are atomics.
                return Some(unsafe { base.byte_add(offset as usize).as_ref() });
            }
        }
        let (_, tagged) = self.shared_at(address)?;
        let slot = NonNull::new(tagged.map_addr(|address| address & !1))?;
        // SAFETY: a slot that stays mapped, as the callers of `add_shared` and `attach_shared` promised.
        Some(unsafe { slot.as_ref() })
    }

    fn slot(&self, mut index: u32) -> Option<&SignalSlot> {
        for (base, slots) in self.chunks() {
            if index < slots {
                // SAFETY: as in `at_address`: the index is one of this chunk's.
                return Some(unsafe { base.add(index as usize).as_ref() });
            }
            index -= slots;
        }
        None
    }

    fn index_of(&self, slot: &SignalSlot) -> Option<u32> {
        let address = core::ptr::from_ref(slot).addr();
        let mut first = 0;
        for (base, slots) in self.chunks() {
            let offset = address.wrapping_sub(base.addr().get());
            if offset < slots as usize * size_of::<SignalSlot>() {
                return Some(first + (offset / size_of::<SignalSlot>()) as u32);
            }
            first += slots;
        }
        None
    }

    /// Takes the oldest slot off the list. The links lie where devices can write: one that
    /// leads nowhere, or to a slot that is in use, ends the list, and what was behind it is lost.
    fn pop(&self, free: &mut Free) -> Option<&SignalSlot> {
        let slot = self
            .slot(free.head)
            .filter(|s| s.signal.kind.load(Ordering::Relaxed) == SignalKind::Invalid as i64);
        let next = slot.map_or(NO_SLOT, |s| s.next.load(Ordering::Relaxed));
        let last = free.head == free.tail;
        free.waiting -= 1;
        if slot.is_none() || last || next >= free.total {
            free.head = NO_SLOT;
            free.tail = NO_SLOT;
            // Slots that are lost count as in use for good.
            free.waiting = 0;
        } else {
            free.head = next;
        }
        slot
    }
}

impl Default for SignalArena {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::SpinPark;
    use std::boxed::Box;
    use std::vec::Vec;

    fn arena(slots: u32) -> SignalArena {
        let arena = SignalArena::new();
        grow(&arena, slots);
        arena
    }

    fn grow(arena: &SignalArena, slots: u32) {
        let memory: Vec<SignalSlot> = (0..slots).map(|_| SignalSlot::new()).collect();
        let base = NonNull::new(Box::leak(memory.into_boxed_slice()).as_mut_ptr()).unwrap();
        // SAFETY: leaked memory of exactly that many fresh slots.
        unsafe { arena.add_chunk(base, slots, &SpinPark) }.unwrap();
    }

    #[test]
    fn a_handle_is_valid_on_a_slot_of_a_live_signal_and_nowhere_else() {
        let arena = arena(4);
        let handle = arena
            .allocate(7, SignalFlags::empty(), &SpinPark)
            .unwrap()
            .handle();
        assert_eq!(
            arena
                .get(handle)
                .unwrap()
                .signal
                .value
                .load(Ordering::Relaxed),
            7
        );
        for wrong in [
            0,
            handle.0 + 1,
            handle.0 + 64,
            handle.0 + 128,
            handle.0 + 128 * 4,
            handle.0.wrapping_sub(128),
            u64::MAX,
        ] {
            assert!(arena.get(SignalHandle(wrong)).is_none(), "{wrong:#x}");
        }
        assert!(arena.release(arena.get(handle).unwrap(), &SpinPark));
        assert!(arena.get(handle).is_none());
    }

    #[test]
    fn a_freed_slot_waits_behind_all_others_before_it_is_used_again() {
        let slots = SIGNAL_QUARANTINE + 10;
        let arena = arena(slots);
        let handles: Vec<_> = (0..slots)
            .map(|i| {
                arena
                    .allocate(i64::from(i), SignalFlags::empty(), &SpinPark)
                    .unwrap()
                    .handle()
            })
            .collect();
        assert_eq!(
            arena
                .allocate(0, SignalFlags::empty(), &SpinPark)
                .unwrap_err(),
            ArenaError::Full { slots }
        );
        for &handle in &handles {
            assert!(arena.release(arena.get(handle).unwrap(), &SpinPark));
        }
        assert_eq!(arena.live(&SpinPark), 0);
        // Ten may be used again, oldest first; then the quarantine holds.
        for expected in &handles[..10] {
            let slot = arena.allocate(0, SignalFlags::empty(), &SpinPark).unwrap();
            assert_eq!(slot.handle(), *expected);
        }
        assert!(arena.allocate(0, SignalFlags::empty(), &SpinPark).is_err());
        assert!(
            arena
                .allocate_oldest(0, SignalFlags::empty(), &SpinPark)
                .is_ok()
        );
        grow(&arena, 1);
        assert!(arena.allocate(0, SignalFlags::empty(), &SpinPark).is_ok());
        assert_eq!(arena.live(&SpinPark), 12);
    }

    #[test]
    fn freeing_twice_is_refused() {
        let arena = arena(2);
        let slot = arena.allocate(1, SignalFlags::empty(), &SpinPark).unwrap();
        assert!(arena.release(slot, &SpinPark));
        assert!(!arena.release(slot, &SpinPark));
    }

    #[test]
    fn a_device_that_scribbles_over_free_slots_loses_slots_and_breaks_nothing() {
        let arena = arena(SIGNAL_QUARANTINE + 3);
        let handles: Vec<_> = (0..SIGNAL_QUARANTINE + 3)
            .map(|_| {
                arena
                    .allocate(0, SignalFlags::empty(), &SpinPark)
                    .unwrap()
                    .handle()
            })
            .collect();
        for &handle in &handles {
            let slot = arena.get(handle).unwrap();
            arena.release(slot, &SpinPark);
        }
        let first = arena.at_address(handles[0].0).unwrap();
        first.next.store(0x7fff_fff0, Ordering::Relaxed);
        assert!(arena.allocate(0, SignalFlags::empty(), &SpinPark).is_ok());
        // The rest of the list is gone, and that is all.
        assert!(matches!(
            arena.allocate_oldest(0, SignalFlags::empty(), &SpinPark),
            Err(ArenaError::Full { .. })
        ));
    }

    #[test]
    fn the_table_of_chunks_has_an_end() {
        let arena = arena(1);
        for _ in 1..SIGNAL_CHUNKS {
            grow(&arena, 1);
        }
        let mut spare = SignalSlot::new();
        // SAFETY: refused before the memory is looked at.
        let refused = unsafe { arena.add_chunk(NonNull::from(&mut spare), 1, &SpinPark) };
        assert_eq!(
            refused,
            Err(ArenaError::NoChunkLeft {
                limit: SIGNAL_CHUNKS
            })
        );
    }
}
