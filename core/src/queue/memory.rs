//! What a ring lies in.

use crate::wire::queue::AmdQueue;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A 64-bit atomic: [`AtomicU64`], or a model checker's.
pub trait IndexCell {
    /// Loads.
    fn load(&self, order: Ordering) -> u64;
    /// Stores.
    fn store(&self, value: u64, order: Ordering);
    /// Compares and exchanges; the value found.
    ///
    /// # Errors
    /// The value found, if it was not `current`.
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64>;
    /// Adds, wrapping; the old value.
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
}

/// A 32-bit atomic: [`AtomicU32`], or a model checker's.
pub trait WordCell {
    /// Loads.
    fn load(&self, order: Ordering) -> u32;
    /// Stores.
    fn store(&self, value: u32, order: Ordering);
}

impl IndexCell for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        Self::load(self, order)
    }
    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }
    #[inline]
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        Self::compare_exchange(self, current, new, success, failure)
    }
    #[inline]
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        Self::fetch_add(self, value, order)
    }
}

impl WordCell for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        Self::load(self, order)
    }
    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        Self::store(self, value, order);
    }
}

/// Dwords of a packet.
pub const PACKET_DWORDS: usize = 16;

/// The memory of a ring: two indices, the packets as dwords, a host-side shadow, and a doorbell.
///
/// All of it is atomic cells, for a device and other producers may touch any of it at any time: a
/// hostile one can garble packets, never cause a data race in this program.
pub trait RingMemory {
    /// Cell of an index.
    type Index: IndexCell;
    /// Cell of a packet's dword.
    type Word: WordCell;

    /// Number of packets: a power of two, the same at every call.
    fn packets(&self) -> u32;
    /// Count of packets that were claimed.
    fn write_index(&self) -> &Self::Index;
    /// Count of packets that were consumed; the device writes it.
    fn read_index(&self) -> &Self::Index;
    /// Where the ring remembers the highest read index that made sense. Not visible to the device.
    fn read_shadow(&self) -> &Self::Index;
    /// The 16 dwords of a slot. `slot` is less than [`RingMemory::packets`].
    fn packet(&self, slot: u32) -> &[Self::Word; PACKET_DWORDS];
    /// Tells the device that the packet of this index, and maybe earlier ones, are published.
    fn ring_doorbell(&self, index: u64);
}

impl<M: RingMemory + ?Sized> RingMemory for &M {
    type Index = M::Index;
    type Word = M::Word;
    #[inline]
    fn packets(&self) -> u32 {
        (**self).packets()
    }
    #[inline]
    fn write_index(&self) -> &Self::Index {
        (**self).write_index()
    }
    #[inline]
    fn read_index(&self) -> &Self::Index {
        (**self).read_index()
    }
    #[inline]
    fn read_shadow(&self) -> &Self::Index {
        (**self).read_shadow()
    }
    #[inline]
    fn packet(&self, slot: u32) -> &[Self::Word; PACKET_DWORDS] {
        (**self).packet(slot)
    }
    #[inline]
    fn ring_doorbell(&self, index: u64) {
        (**self).ring_doorbell(index);
    }
}

/// Rings a doorbell; closures do.
pub trait Bell {
    /// Tells the device that the packet of this index, and maybe earlier ones, are published.
    fn ring(&self, index: u64);
}

impl<F: Fn(u64)> Bell for F {
    #[inline]
    fn ring(&self, index: u64) {
        self(index);
    }
}

/// A ring in memory that is shared with a device.
#[derive(Debug)]
pub struct MappedRing<D> {
    packets: NonNull<[AtomicU32; PACKET_DWORDS]>,
    count: u32,
    queue: NonNull<AmdQueue>,
    shadow: AtomicU64,
    doorbell: D,
}

// SAFETY: the pointers name memory of atomics that `new`'s caller keeps mapped for the life of the
// ring, whatever thread uses it.
unsafe impl<D: Send> Send for MappedRing<D> {}
// SAFETY: as above; shared use is through atomics alone.
unsafe impl<D: Sync> Sync for MappedRing<D> {}

impl<D> MappedRing<D> {
    /// A ring of `count` packets at `packets` with the indices of `queue`. `doorbell` is called with
    /// the index of the last packet that was published.
    ///
    /// # Safety
    /// `packets` names `count` packets of mapped memory, aligned to 4 bytes at least, and
    /// `queue` a mapped `amd_queue_t`, both for the life of the ring. `count` is a power of two.
    pub unsafe fn new(
        packets: NonNull<u8>,
        count: u32,
        queue: NonNull<AmdQueue>,
        doorbell: D,
    ) -> Self {
        debug_assert!(count.is_power_of_two());
        Self {
            packets: packets.cast(),
            count,
            queue,
            shadow: AtomicU64::new(0),
            doorbell,
        }
    }

    /// The queue structure.
    pub fn amd_queue(&self) -> &AmdQueue {
        // SAFETY: mapped for the life of the ring by `new`'s contract; fields that others write
        // while it lives are atomics.
        unsafe { self.queue.as_ref() }
    }

    /// What rings the doorbell.
    pub const fn doorbell(&self) -> &D {
        &self.doorbell
    }

    /// What rings the doorbell, to change it before the ring is used.
    pub const fn doorbell_mut(&mut self) -> &mut D {
        &mut self.doorbell
    }
}

impl<D: Bell> RingMemory for MappedRing<D> {
    type Index = AtomicU64;
    type Word = AtomicU32;

    #[inline]
    fn packets(&self) -> u32 {
        self.count
    }
    #[inline]
    fn write_index(&self) -> &AtomicU64 {
        &self.amd_queue().write_dispatch_id
    }
    #[inline]
    fn read_index(&self) -> &AtomicU64 {
        &self.amd_queue().read_dispatch_id
    }
    #[inline]
    fn read_shadow(&self) -> &AtomicU64 {
        &self.shadow
    }
    #[inline]
    fn packet(&self, slot: u32) -> &[AtomicU32; PACKET_DWORDS] {
        // Masked, so that a wrong slot is a wrong packet and not a wild pointer.
        let slot = slot & (self.count - 1);
        // SAFETY: one of the `count` packets that `new`'s caller keeps mapped.
        unsafe { self.packets.add(slot as usize).as_ref() }
    }
    #[inline]
    fn ring_doorbell(&self, index: u64) {
        self.doorbell.ring(index);
    }
}
