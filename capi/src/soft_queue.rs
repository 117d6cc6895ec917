//! Queues that the client consumes (`hsa_soft_queue_create`): a ring in memory, two indices, and a
//! doorbell signal of the client's.

use crate::abi::{QueueType, Signal, Status};
use crate::entry::Result;
use crate::runtime::{State, SystemBackend};
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use rukh_core::mem::{Pool, PoolFlags};
use rukh_core::runtime::{AllocError, Buffer, Queue};
use rukh_core::signal::SignalHandle;
use rukh_core::wire::aql::{Header, PACKET_SIZE, PacketType};
use rukh_core::wire::queue::{AmdQueue, HsaQueue};

/// Ids of soft queues: high, so that no device queue of the process has the same.
static NEXT_ID: AtomicU64 = AtomicU64::new(1 << 32);

/// The memory of a queue that no device reads: the `amd_queue_t`, then the ring.
fn ring_memory(
    state: &State,
    pool: &Pool,
    client: impl FnOnce(u64) -> HsaQueue,
    size: u32,
) -> Result<Buffer<SystemBackend>> {
    let head = size_of::<AmdQueue>();
    let bytes = head as u64 + u64::from(size) * PACKET_SIZE as u64;
    let memory = state
        .runtime
        .create_buffer(pool.id, bytes, &state.gpus())
        .map_err(|error| match error {
            AllocError::TooLarge { .. } => Status::OUT_OF_RESOURCES,
            other => other.into(),
        })?;
    let base = memory.address();
    let info = state.runtime.pointer_info(base);
    if info.host_base != base {
        return Err(Status::INVALID_REGION);
    }
    let client = client(base.offset(head as u64).0);
    // SAFETY: fresh memory of this function's own, which the host maps and which is page-aligned
    // and long enough for the structure.
    unsafe { base.as_ptr().cast::<HsaQueue>().write(client) };
    for slot in 0..u64::from(size) {
        let header = base.offset(head as u64 + slot * PACKET_SIZE as u64);
        // SAFETY: inside the ring, which follows the structure in the same memory.
        unsafe { header.as_ptr().cast::<u16>().write(Header::INVALID.0) };
    }
    Ok(memory)
}

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
        let client = |base_address| HsaQueue {
            kind: kind as u32,
            features,
            base_address,
            doorbell_signal: doorbell.handle,
            size,
            reserved1: 0,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        };
        let memory = ring_memory(state, pool, client, size)?;
        Ok(Self { memory })
    }

    /// What the client calls it.
    pub fn address(&self) -> *mut HsaQueue {
        self.memory.address().as_ptr().cast()
    }
}

/// What a client fills in place of a device's queue, for an intercept queue to read.
pub struct ProxyQueue {
    memory: Buffer<SystemBackend>,
    size: u64,
}

impl ProxyQueue {
    /// A queue that looks like the device's, but for its doorbell.
    pub fn new(
        state: &State,
        device: &Queue<SystemBackend>,
        doorbell: SignalHandle,
    ) -> Result<Self> {
        let mut pools = state.agents().iter().flat_map(|agent| &agent.pools);
        let pool = pools.find(|pool| pool.allocatable && pool.flags.contains(PoolFlags::FINE));
        let pool = *pool.ok_or(Status::OUT_OF_RESOURCES)?;
        let size = device.size();
        let client = |base_address| HsaQueue {
            base_address,
            doorbell_signal: doorbell.0,
            ..device.amd_queue().hsa_queue
        };
        Ok(Self {
            memory: ring_memory(state, &pool, client, size)?,
            size: size.into(),
        })
    }

    /// What the client calls it.
    pub fn address(&self) -> *mut HsaQueue {
        self.memory.address().as_ptr().cast()
    }

    fn indices(&self) -> &AmdQueue {
        // SAFETY: `ring_memory` made the structure at the start of the memory, which lives as long as
        // this; what changes in it is atomic.
        unsafe { &*self.memory.address().as_ptr().cast::<AmdQueue>() }
    }

    fn slot(&self, index: u64) -> *mut [u8; PACKET_SIZE] {
        let offset = size_of::<AmdQueue>() as u64 + index % self.size * PACKET_SIZE as u64;
        self.memory.address().offset(offset).as_ptr().cast()
    }

    /// Copies the packet of an index, if it is published.
    pub fn take(&self, index: u64) -> Option<[u8; PACKET_SIZE]> {
        let end = self.indices().write_dispatch_id.load(Ordering::Acquire);
        if index >= end {
            return None;
        }
        let slot = self.slot(index);
        // SAFETY: inside the ring; headers are aligned and written by the client as one store.
        let header = unsafe { AtomicU16::from_ptr(slot.cast()) }.load(Ordering::Acquire);
        if Header(header).packet_type() == PacketType::Invalid {
            return None;
        }
        // SAFETY: the client has published the packet, and writes to its slot only when the read index has
        // passed it.
        Some(unsafe { slot.read_volatile() })
    }

    /// Gives the slots before this index back to the client.
    pub fn consumed(&self, end: u64) {
        let read = &self.indices().read_dispatch_id;
        for index in read.load(Ordering::Relaxed)..end {
            // SAFETY: inside the ring, and not the client's before the read index says so.
            let header = unsafe { AtomicU16::from_ptr(self.slot(index).cast()) };
            header.store(Header::INVALID.0, Ordering::Relaxed);
        }
        read.store(end, Ordering::Release);
    }
}
