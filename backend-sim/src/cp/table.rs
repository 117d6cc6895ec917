//! All queues of a system. Slots are never freed, so that a doorbell needs no lock to find one.

use super::any::AnyQueue;
use crate::device::System;
use crate::mem::raw;
use crate::sync::Mutex;
use alloc::boxed::Box;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use rukh_core::backend::QueueHandle;

/// Queues of all GPUs together.
pub(crate) const MAX_QUEUES: usize = 1024;
const WORDS: usize = MAX_QUEUES / 64;

struct Slot {
    /// Odd while there is a queue; part of its handle.
    generation: AtomicU32,
    /// One past the highest index that the doorbell was rung with.
    doorbell: AtomicU64,
    /// Somebody has called; whoever holds the queue looks at this after letting go.
    pending: AtomicBool,
    queue: Mutex<Option<AnyQueue>>,
    /// A doorbell that is plain memory: nobody calls when it is stored to.
    register: AtomicPtr<u8>,
    /// What was found there last.
    seen: AtomicU64,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            generation: AtomicU32::new(0),
            doorbell: AtomicU64::new(0),
            pending: AtomicBool::new(false),
            queue: Mutex::new(None),
            register: AtomicPtr::new(null_mut()),
            seen: AtomicU64::new(NOT_RUNG),
        }
    }
}

/// What a doorbell in memory holds until it is rung: no index.
pub(crate) const NOT_RUNG: u64 = u64::MAX;

/// Bits of slots.
#[derive(Default)]
struct Bits {
    words: [AtomicU64; WORDS],
    /// Which words may have bits.
    summary: AtomicU64,
}

impl Bits {
    fn set(&self, slot: usize) {
        self.words[slot / 64].fetch_or(1 << (slot % 64), Ordering::SeqCst);
        self.summary.fetch_or(1 << (slot / 64), Ordering::SeqCst);
    }

    fn is_empty(&self) -> bool {
        self.summary.load(Ordering::SeqCst) == 0
    }

    #[cfg(feature = "std")]
    fn clear(&self, slot: usize) {
        self.words[slot / 64].fetch_and(!(1 << (slot % 64)), Ordering::SeqCst);
    }

    #[cfg(feature = "std")]
    fn any(&self) -> bool {
        self.words
            .iter()
            .any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// Visits all bits, and leaves them.
    fn visit(&self, mut visit: impl FnMut(usize)) {
        let mut words = self.summary.load(Ordering::Relaxed);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let mut bits = self.words[word].load(Ordering::Acquire);
            while bits != 0 {
                visit(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Takes all bits.
    fn drain(&self, mut visit: impl FnMut(usize)) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut words = self.summary.swap(0, Ordering::SeqCst);
        let mut any = false;
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let mut bits = self.words[word].swap(0, Ordering::SeqCst);
            while bits != 0 {
                visit(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
                any = true;
            }
        }
        any
    }
}

/// All queues.
pub(crate) struct QueueTable {
    slots: Box<[Slot]>,
    /// Queues that somebody has called.
    called: Bits,
    /// Queues that wait for memory that nobody reports.
    polling: Bits,
    /// Queues whose doorbells are plain memory.
    watched: Bits,
}

impl QueueTable {
    pub(crate) fn new() -> Self {
        Self {
            slots: (0..MAX_QUEUES).map(|_| Slot::default()).collect(),
            called: Bits::default(),
            polling: Bits::default(),
            watched: Bits::default(),
        }
    }

    /// Puts a queue in a free slot: `make` is told the slot and the handle.
    pub(crate) fn insert(
        &self,
        make: impl FnOnce(usize, QueueHandle) -> AnyQueue,
    ) -> Option<QueueHandle> {
        for (number, slot) in self.slots.iter().enumerate() {
            if slot.generation.load(Ordering::Relaxed) & 1 != 0 {
                continue;
            }
            let mut queue = slot.queue.lock();
            let generation = slot.generation.load(Ordering::Relaxed);
            if generation & 1 != 0 || queue.is_some() {
                continue;
            }
            let generation = generation.wrapping_add(1);
            let handle = QueueHandle(u64::from(generation) << 16 | number as u64);
            slot.doorbell.store(0, Ordering::Relaxed);
            slot.pending.store(false, Ordering::Relaxed);
            *queue = Some(make(number, handle));
            slot.generation.store(generation, Ordering::SeqCst);
            return Some(handle);
        }
        None
    }

    fn slot(&self, handle: QueueHandle) -> Option<(usize, &Slot)> {
        let number = (handle.0 & 0xffff) as usize;
        let slot = self.slots.get(number)?;
        let generation = slot.generation.load(Ordering::Acquire);
        (generation & 1 != 0 && u64::from(generation) == handle.0 >> 16).then_some((number, slot))
    }

    /// Calls `f` with a queue, locked. `None` if there is no such queue.
    pub(crate) fn with<T>(
        &self,
        handle: QueueHandle,
        f: impl FnOnce(&mut AnyQueue) -> T,
    ) -> Option<T> {
        let (number, slot) = self.slot(handle)?;
        let mut queue = slot.queue.lock();
        let answer = queue.as_mut().filter(|q| q.handle() == handle).map(f);
        drop(queue);
        // A worker that found the queue locked has left the call to us.
        if slot.pending.load(Ordering::SeqCst) {
            self.called.set(number);
        }
        answer
    }

    /// Takes a queue out, which must have been abandoned and drained. True if it was there.
    pub(crate) fn remove(&self, handle: QueueHandle) -> bool {
        let Some((_, slot)) = self.slot(handle) else {
            return false;
        };
        let mut queue = slot.queue.lock();
        let found = queue.take_if(|q| q.handle() == handle).is_some();
        if found {
            slot.generation.fetch_add(1, Ordering::SeqCst);
        }
        found
    }

    /// A doorbell: packets up to `value` are ready. False if there is no such queue.
    pub(crate) fn ring(&self, handle: QueueHandle, value: u64) -> bool {
        let Some((number, slot)) = self.slot(handle) else {
            return false;
        };
        slot.doorbell
            .fetch_max(value.saturating_add(1), Ordering::Relaxed);
        self.call(number);
        true
    }

    /// From now on a queue is rung by storing to `register`, which holds [`NOT_RUNG`] so far. False if there is no such
    /// queue.
    ///
    /// # Safety
    /// `register` is aligned and valid for reads until [`Self::unwatch`] has returned and every turn that began before is
    /// over.
    #[cfg(feature = "std")]
    pub(crate) unsafe fn watch(&self, handle: QueueHandle, register: *mut u8) -> bool {
        let Some((number, slot)) = self.slot(handle) else {
            return false;
        };
        slot.seen.store(NOT_RUNG, Ordering::Relaxed);
        slot.register.store(register, Ordering::Release);
        self.watched.set(number);
        true
    }

    /// Looks at a queue's doorbell no more.
    #[cfg(feature = "std")]
    pub(crate) fn unwatch(&self, handle: QueueHandle) {
        if let Some((number, slot)) = self.slot(handle) {
            self.watched.clear(number);
            slot.register.store(null_mut(), Ordering::Release);
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn has_doorbells(&self) -> bool {
        !self.watched.is_empty() && self.watched.any()
    }

    /// Calls queues whose doorbells were stored to. Each packet's index is stored once, so that a doorbell that holds what
    /// it held was not.
    pub(crate) fn look_at_doorbells(&self) {
        self.watched.visit(|number| {
            let slot = &self.slots[number];
            let register = slot.register.load(Ordering::Acquire);
            if register.is_null() {
                return;
            }
            // SAFETY: by the promise of `watch`, since whoever looks does so in a turn.
            let value = unsafe { raw::load_u64(register) };
            if value != slot.seen.swap(value, Ordering::AcqRel) && value != NOT_RUNG {
                // The packets were stored before.
                fence(Ordering::Acquire);
                slot.doorbell
                    .fetch_max(value.saturating_add(1), Ordering::Relaxed);
                self.call(number);
            }
        });
    }

    /// Has a queue looked at.
    pub(crate) fn call(&self, number: usize) {
        self.slots[number].pending.store(true, Ordering::SeqCst);
        self.called.set(number);
    }

    /// Has all queues looked at that wait for memory. True if there are any.
    pub(crate) fn call_polling(&self) -> bool {
        self.polling.drain(|number| self.call(number))
    }

    #[cfg(feature = "std")]
    pub(crate) fn has_calls(&self) -> bool {
        !self.called.is_empty()
    }

    pub(crate) fn has_polling(&self) -> bool {
        !self.polling.is_empty()
    }

    /// Services all queues that were called. True if something happened.
    pub(crate) fn service(&self, system: &System) -> bool {
        let mut progress = false;
        self.called
            .drain(|number| progress |= self.service_one(system, number));
        progress
    }

    /// Services a queue, unless another worker does: that one will notice the call. True if something
    /// happened.
    pub(crate) fn service_one(&self, system: &System, number: usize) -> bool {
        let slot = &self.slots[number];
        let mut progress = false;
        loop {
            let Some(mut queue) = slot.queue.try_lock() else {
                return progress;
            };
            slot.pending.store(false, Ordering::SeqCst);
            let mut again = false;
            if let Some(queue) = queue.as_mut() {
                let doorbell = slot.doorbell.load(Ordering::Relaxed);
                let served = queue.service(system, doorbell);
                progress |= served.progress;
                again = served.again;
                if served.look_again {
                    self.polling.set(number);
                }
            }
            drop(queue);
            if again {
                // After the others.
                self.call(number);
                return progress;
            }
            if !slot.pending.load(Ordering::SeqCst) {
                return progress;
            }
        }
    }
}
