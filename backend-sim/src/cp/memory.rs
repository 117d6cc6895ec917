//! What the packet processor reads and writes of memory: the ring, the queue's structure, signals.

use crate::mem::{Access, MemoryFault, MemoryView, raw};
use core::mem::offset_of;
use core::sync::atomic::{Ordering, fence};
use rukh_core::wire::aql::{Header, PACKET_SIZE, PacketType};
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::AmdSignal;

/// A queue's memory. It stays mapped as long as the queue exists: [`super::QueueTable`] sees to it.
pub(crate) struct QueueMemory {
    /// Host address of the ring.
    pub ring: *mut u8,
    /// Device address of the ring.
    pub ring_va: u64,
    /// Packets in the ring: a power of two.
    pub packets: u64,
    /// Host address of the write index.
    pub write_index: *mut u8,
    /// Host address of the read index.
    pub read_index: *mut u8,
    /// Host address of the `amd_queue_t`.
    pub descriptor: *mut u8,
    /// Device address of the `amd_queue_t`.
    pub descriptor_va: u64,
}

// SAFETY: the addresses are of memory that clients and devices share; every use goes through `raw`,
// which makes no assumption on who else uses it.
unsafe impl Send for QueueMemory {}

/// What a dispatch needs to know of the `amd_queue_t`.
pub(crate) struct QueueFields {
    pub tmpring: u32,
    pub scratch_descriptor: [u32; 4],
    pub scratch_base: u64,
    pub scratch_bytes: u64,
    pub scratch_lane_bytes: u32,
}

impl QueueMemory {
    fn offset(&self, index: u64) -> usize {
        (index & (self.packets - 1)) as usize * PACKET_SIZE
    }

    /// Device address of a packet.
    pub(crate) fn packet_va(&self, index: u64) -> u64 {
        self.ring_va + self.offset(index) as u64
    }

    /// The packet at an index, read once, if it has been published.
    pub(crate) fn read_packet(&self, index: u64) -> Option<[u8; PACKET_SIZE]> {
        let host = self.ring.wrapping_add(self.offset(index));
        // The header alone: whoever owns the slot may still write what follows it.
        // SAFETY: the ring is mapped and the offset inside it.
        let header = unsafe { raw::load_u16(host) };
        if Header(header).packet_type() == PacketType::Invalid {
            return None;
        }
        // The body was stored before the header.
        fence(Ordering::Acquire);
        let mut bytes = [0u8; PACKET_SIZE];
        // SAFETY: as above; `bytes` holds a packet.
        unsafe { raw::copy_in(host, bytes.as_mut_ptr(), PACKET_SIZE) };
        // The header that was tested is the one that counts.
        bytes[..2].copy_from_slice(&header.to_le_bytes());
        Some(bytes)
    }

    /// Marks a packet's slot as free to use.
    pub(crate) fn retire(&self, index: u64) {
        let host = self.ring.wrapping_add(self.offset(index));
        // SAFETY: the ring is mapped and the offset inside it.
        unsafe { raw::store_u16(host, Header::INVALID.0) };
    }

    pub(crate) fn load_write_index(&self) -> u64 {
        // SAFETY: the index is mapped.
        unsafe { raw::load_u64(self.write_index) }
    }

    pub(crate) fn load_read_index(&self) -> u64 {
        // SAFETY: the index is mapped.
        unsafe { raw::load_u64(self.read_index) }
    }

    pub(crate) fn store_read_index(&self, index: u64) {
        fence(Ordering::Release);
        // SAFETY: the index is mapped.
        unsafe { raw::store_u64(self.read_index, index) };
    }

    fn u32_at(&self, offset: usize) -> u32 {
        // SAFETY: the whole structure is mapped; the offsets are those of its fields.
        unsafe { raw::load_u32(self.descriptor.wrapping_add(offset)) }
    }

    fn u64_at(&self, offset: usize) -> u64 {
        // SAFETY: the whole structure is mapped; the offsets are those of its fields.
        unsafe { raw::load_u64(self.descriptor.wrapping_add(offset)) }
    }

    /// The fields that say what scratch memory there is.
    pub(crate) fn fields(&self) -> QueueFields {
        let srd = offset_of!(AmdQueue, scratch_resource_descriptor);
        QueueFields {
            tmpring: self.u32_at(offset_of!(AmdQueue, compute_tmpring_size)),
            scratch_descriptor: [0, 1, 2, 3].map(|i| self.u32_at(srd + 4 * i)),
            scratch_base: self.u64_at(offset_of!(AmdQueue, scratch_backing_memory_location)),
            scratch_bytes: self.u64_at(offset_of!(AmdQueue, scratch_backing_memory_byte_size)),
            scratch_lane_bytes: self.u32_at(offset_of!(AmdQueue, scratch_wave64_lane_byte_size)),
        }
    }

    pub(crate) fn properties(&self) -> u32 {
        self.u32_at(offset_of!(AmdQueue, queue_properties))
    }

    pub(crate) fn inactive_signal(&self) -> u64 {
        self.u64_at(offset_of!(AmdQueue, queue_inactive_signal))
    }
}

/// A signal, by its handle.
pub(crate) struct Signal(*mut u8);

/// When a packet started and ended, in ticks of the device's counter.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub start: u64,
    pub end: u64,
}

impl Signal {
    /// The signal of a handle.
    pub(crate) fn find(view: &MemoryView, handle: u64) -> Result<Self, MemoryFault> {
        let bytes = size_of::<AmdSignal>() as u64;
        let host = view.check(handle, bytes, Access::ReadWrite)?;
        if host.addr() % 8 != 0 {
            // An atomic at such an address is a fault of the memory system.
            return Err(view.fault(handle, bytes, Access::ReadWrite));
        }
        Ok(Self(host))
    }

    pub(crate) fn value(&self) -> i64 {
        // SAFETY: `find` checked the whole structure for reading and writing.
        unsafe { raw::load_u64(self.0.wrapping_add(offset_of!(AmdSignal, value))) as i64 }
    }

    /// Decrements the value, and says which event to raise, if any.
    pub(crate) fn complete(
        &self,
        view: &MemoryView,
        times: Option<Times>,
    ) -> Result<Option<u32>, MemoryFault> {
        // SAFETY: as above. The value is aligned as `find` checked.
        unsafe {
            if let Some(times) = times {
                raw::store_u64(
                    self.0.wrapping_add(offset_of!(AmdSignal, start_ts)),
                    times.start,
                );
                raw::store_u64(
                    self.0.wrapping_add(offset_of!(AmdSignal, end_ts)),
                    times.end,
                );
            }
            // Once the value has changed the host may free the signal: read the rest before.
            let event = self.event();
            raw::add_u64(self.0.wrapping_add(offset_of!(AmdSignal, value)), u64::MAX);
            notify(view, event)
        }
    }

    /// Stores the value, and says which event to raise, if any.
    pub(crate) fn store(&self, view: &MemoryView, value: u64) -> Result<Option<u32>, MemoryFault> {
        let event = self.event();
        // SAFETY: as above.
        unsafe { raw::swap_u64(self.0.wrapping_add(offset_of!(AmdSignal, value)), value) };
        notify(view, event)
    }

    fn event(&self) -> (u64, u64) {
        // SAFETY: as above.
        unsafe {
            (
                raw::load_u64(
                    self.0
                        .wrapping_add(offset_of!(AmdSignal, event_mailbox_ptr)),
                ),
                raw::load_u64(self.0.wrapping_add(offset_of!(AmdSignal, event_id))),
            )
        }
    }
}

/// Writes an event's id to its mailbox, if there is one.
fn notify(view: &MemoryView, (mailbox, id): (u64, u64)) -> Result<Option<u32>, MemoryFault> {
    if mailbox == 0 {
        return Ok(None);
    }
    let host = view.check(mailbox, 8, Access::Write)?;
    // SAFETY: checked for the write just now.
    unsafe { raw::store_u64(host, id) };
    Ok(Some(id as u32))
}
