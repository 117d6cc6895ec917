//! Chapter queues: read and write indices, in every memory order.
//!
//! A queue is a pointer to its `hsa_queue_t`, which the client reads itself, so these follow it
//! without looking it up: they are on the path of every dispatch.

use crate::abi::Status;
use crate::entry::{Result, value};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use rukh_core::signal::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release};
use rukh_core::wire::queue::{AmdQueue, HsaQueue};

/// A queue that a client names: a pointer to the first 40 of the 256 bytes of an `amd_queue_t`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct QueuePtr(*const HsaQueue);

impl QueuePtr {
    /// The address, for looking the queue up.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null.
    pub fn address(self) -> Result<NonNull<HsaQueue>> {
        NonNull::new(self.0.cast_mut()).ok_or(Status::INVALID_ARGUMENT)
    }

    /// The whole queue.
    fn queue(&self) -> Result<&AmdQueue> {
        let queue = self.0.cast::<AmdQueue>();
        if queue.is_null() || !queue.is_aligned() {
            return Err(Status::INVALID_QUEUE);
        }
        // SAFETY: a queue that this library created, by the contract of the export that it is an
        // argument of: mapped, aligned as checked, and shared through atomics only. It lives at
        // least as long as the call.
        Ok(unsafe { &*queue })
    }

    fn write_index(&self) -> Result<&AtomicU64> {
        Ok(&self.queue()?.write_dispatch_id)
    }

    fn read_index(&self) -> Result<&AtomicU64> {
        Ok(&self.queue()?.read_dispatch_id)
    }
}

fn cas(queue: QueuePtr, expected: u64, new: u64, order: MemoryOrder) -> Result<u64> {
    let index = queue.write_index()?;
    let (Ok(found) | Err(found)) = index.compare_exchange(expected, new, order.rmw(), order.load());
    Ok(found)
}

fn add(queue: QueuePtr, count: u64, order: MemoryOrder) -> Result<u64> {
    Ok(queue.write_index()?.fetch_add(count, order.rmw()))
}

fn store_write(queue: QueuePtr, index: u64, order: MemoryOrder) -> Result {
    queue.write_index()?.store(index, order.store());
    Ok(())
}

fn store_read(queue: QueuePtr, index: u64, order: MemoryOrder) -> Result {
    queue.read_index()?.store(index, order.store());
    Ok(())
}

value! {
    /// `hsa_queue_load_read_index_scacquire`.
    fn hsa_queue_load_read_index_scacquire alias hsa_queue_load_read_index_acquire (queue: QueuePtr) -> u64 {
        Ok(queue.read_index()?.load(Ordering::Acquire))
    }
    /// `hsa_queue_load_read_index_relaxed`.
    fn hsa_queue_load_read_index_relaxed(queue: QueuePtr) -> u64 {
        Ok(queue.read_index()?.load(Ordering::Relaxed))
    }
    /// `hsa_queue_load_write_index_scacquire`.
    fn hsa_queue_load_write_index_scacquire alias hsa_queue_load_write_index_acquire (queue: QueuePtr) -> u64 {
        Ok(queue.write_index()?.load(Ordering::Acquire))
    }
    /// `hsa_queue_load_write_index_relaxed`.
    fn hsa_queue_load_write_index_relaxed(queue: QueuePtr) -> u64 {
        Ok(queue.write_index()?.load(Ordering::Relaxed))
    }

    /// `hsa_queue_store_write_index_relaxed`.
    fn hsa_queue_store_write_index_relaxed(queue: QueuePtr, value: u64) { store_write(queue, value, Relaxed) }
    /// `hsa_queue_store_write_index_screlease`.
    fn hsa_queue_store_write_index_screlease alias hsa_queue_store_write_index_release (queue: QueuePtr, value: u64) {
        store_write(queue, value, Release)
    }
    /// `hsa_queue_store_read_index_relaxed`.
    fn hsa_queue_store_read_index_relaxed(queue: QueuePtr, value: u64) { store_read(queue, value, Relaxed) }
    /// `hsa_queue_store_read_index_screlease`.
    fn hsa_queue_store_read_index_screlease alias hsa_queue_store_read_index_release (queue: QueuePtr, value: u64) {
        store_read(queue, value, Release)
    }

    /// `hsa_queue_cas_write_index_scacq_screl`: gives the index found.
    fn hsa_queue_cas_write_index_scacq_screl alias hsa_queue_cas_write_index_acq_rel (
        queue: QueuePtr, expected: u64, value: u64) -> u64 { cas(queue, expected, value, AcqRel) }
    /// `hsa_queue_cas_write_index_scacquire`: gives the index found.
    fn hsa_queue_cas_write_index_scacquire alias hsa_queue_cas_write_index_acquire (
        queue: QueuePtr, expected: u64, value: u64) -> u64 { cas(queue, expected, value, Acquire) }
    /// `hsa_queue_cas_write_index_relaxed`: gives the index found.
    fn hsa_queue_cas_write_index_relaxed(queue: QueuePtr, expected: u64, value: u64) -> u64 {
        cas(queue, expected, value, Relaxed)
    }
    /// `hsa_queue_cas_write_index_screlease`: gives the index found.
    fn hsa_queue_cas_write_index_screlease alias hsa_queue_cas_write_index_release (
        queue: QueuePtr, expected: u64, value: u64) -> u64 { cas(queue, expected, value, Release) }

    /// `hsa_queue_add_write_index_scacq_screl`: gives the index before.
    fn hsa_queue_add_write_index_scacq_screl alias hsa_queue_add_write_index_acq_rel (
        queue: QueuePtr, value: u64) -> u64 { add(queue, value, AcqRel) }
    /// `hsa_queue_add_write_index_scacquire`: gives the index before.
    fn hsa_queue_add_write_index_scacquire alias hsa_queue_add_write_index_acquire (
        queue: QueuePtr, value: u64) -> u64 { add(queue, value, Acquire) }
    /// `hsa_queue_add_write_index_relaxed`: gives the index before.
    fn hsa_queue_add_write_index_relaxed(queue: QueuePtr, value: u64) -> u64 {
        add(queue, value, Relaxed)
    }
    /// `hsa_queue_add_write_index_screlease`: gives the index before.
    fn hsa_queue_add_write_index_screlease alias hsa_queue_add_write_index_release (
        queue: QueuePtr, value: u64) -> u64 { add(queue, value, Release) }
}
