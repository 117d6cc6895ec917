//! Queues that the client consumes (`hsa_soft_queue_create`): a ring in memory, two indices, and a
//! doorbell signal of the client's.

use crate::abi::{QueueType, Signal, Status};
use crate::entry::Result;
use crate::runtime::{State, SystemBackend};
use core::sync::atomic::{AtomicU64, Ordering};
use rukh_core::mem::Pool;
use rukh_core::runtime::Buffer;
use rukh_core::wire::aql::{Header, PACKET_SIZE};
use rukh_core::wire::queue::{AmdQueue, HsaQueue};

/// Ids of soft queues: high, so that no device queue of the process has the same.
static NEXT_ID: AtomicU64 = AtomicU64::new(1 << 32);

/// A queue without a device.
pub struct SoftQueue {
    /// Holds the `amd_queue_t`, then the ring.
    memory: Buffer<SystemBackend>,
}

impl SoftQueue {
    /// A queue of `size` packets in memory of a pool that the host reaches.
    pub fn new(
        state: &State,
        pool: &Pool,
        size: u32,
        kind: QueueType,
        features: u32,
        doorbell: Signal,
    ) -> Result<Self> {
        if !size.is_power_of_two() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let head = size_of::<AmdQueue>();
        let bytes = head as u64 + u64::from(size) * PACKET_SIZE as u64;
        let memory = state.runtime.create_buffer(pool.id, bytes, &state.gpus())?;
        let base = memory.address();
        let info = state.runtime.pointer_info(base);
        if info.host_base != base {
            return Err(Status::INVALID_REGION);
        }
        let client = HsaQueue {
            kind: kind as u32,
            features,
            base_address: base.offset(head as u64).0,
            doorbell_signal: doorbell.handle,
            size,
            reserved1: 0,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        };
        // SAFETY: fresh memory of this function's own, which the host maps and which is page-aligned
        // and long enough for the structure.
        unsafe { base.as_ptr().cast::<HsaQueue>().write(client) };
        for slot in 0..u64::from(size) {
            let header = base.offset(head as u64 + slot * PACKET_SIZE as u64);
            // SAFETY: inside the ring, which follows the structure in the same memory.
            unsafe { header.as_ptr().cast::<u16>().write(Header::INVALID.0) };
        }
        Ok(Self { memory })
    }

    /// What the client calls it.
    pub fn address(&self) -> *mut HsaQueue {
        self.memory.address().as_ptr().cast()
    }
}
