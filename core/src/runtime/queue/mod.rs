//! Queues: what a client dispatches to. [`create`] makes them; [`serve`] is what happens when one wants scratch or stops.

mod create;
mod serve;

use super::Runtime;
use super::dispatch::InFlight;
use super::error::QueueError;
use super::reactor::Reactor;
use super::reactor::service::ErrorCallback;
use super::scratch::QueueScratch;
use crate::backend::{
    AgentId, Backend, Doorbell, Lock, QueueHandle, QueuePriority, QueueUpdate, Timeout,
};
use crate::config::{POLL_NS, QUEUE_PACKETS};
use crate::mem::Block;
use crate::queue::memory::Bell;
use crate::queue::{Batch, Claim, MappedRing, QueueStatus, Ring, RingError, RingMemory};
use crate::signal::{MemoryOrder, SignalHandle};
use crate::wire::queue::{AmdQueue, QueueProperties};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Who may produce packets (`hsa_queue_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueueType {
    /// Many threads.
    #[default]
    Multi,
    /// One thread at a time.
    Single,
    /// Many threads, for grids whose work-groups wait for each other.
    Cooperative,
}

/// What queue to create.
pub struct QueueConfig {
    /// Packets: a power of two from 64 to 131072.
    pub size: u32,
    /// Who produces.
    pub kind: QueueType,
    /// Called once if the queue is stopped by an error.
    pub error_callback: Option<ErrorCallback>,
    /// Private memory per work-item to expect, in bytes; `u32::MAX` for no hint.
    pub private_segment_size: u32,
    /// Group memory per work-group to expect, in bytes; `u32::MAX` for no hint.
    pub group_segment_size: u32,
    /// How it competes with others.
    pub priority: QueuePriority,
}

impl Default for QueueConfig {
    /// [`QUEUE_PACKETS`] packets from many threads, no callback, no hints.
    fn default() -> Self {
        Self {
            size: QUEUE_PACKETS,
            kind: QueueType::default(),
            error_callback: None,
            private_segment_size: u32::MAX,
            group_segment_size: u32::MAX,
            priority: QueuePriority::default(),
        }
    }
}

impl core::fmt::Debug for QueueConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueueConfig")
            .field("size", &self.size)
            .field("kind", &self.kind)
            .field("private_segment_size", &self.private_segment_size)
            .field("group_segment_size", &self.group_segment_size)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// A queue that was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueFailure {
    /// Why.
    pub status: QueueStatus,
    /// Address of its `hsa_queue_t`: the handle that C clients know.
    pub queue: u64,
    /// Its id.
    pub id: u64,
}

/// Rings the doorbell that the backend gave.
pub(crate) struct RingBell<B: Backend + ?Sized> {
    backend: Arc<B>,
    doorbell: Doorbell,
    queue: QueueHandle,
}

// SAFETY: the register is an atomic that any thread may store to.
unsafe impl<B: Backend + ?Sized> Send for RingBell<B> {}
// SAFETY: as above.
unsafe impl<B: Backend + ?Sized> Sync for RingBell<B> {}

impl<B: Backend + ?Sized> Bell for RingBell<B> {
    #[inline]
    fn ring(&self, index: u64) {
        match self.doorbell {
            // SAFETY: valid until the queue is destroyed, which happens when its last claim is gone:
            // claims borrow the queue. Release: the packets are visible before the register changes.
            Doorbell::Mmio(register) => unsafe {
                register.as_ref().store(index, Ordering::Release);
            },
            Doorbell::Callback => self.backend.ring_doorbell(self.queue, index),
        }
    }
}

/// The ring of a runtime's queue.
pub(crate) type QueueRing<B> = Ring<MappedRing<RingBell<B>>>;

/// A queue without its hold on the runtime: what the reactor watches.
pub(crate) struct QueueInner<B: Backend + ?Sized> {
    reactor: Arc<Reactor<B>>,
    agent: AgentId,
    id: u64,
    size: u32,
    /// None once the hardware queue is gone. Held while the backend is asked about it.
    hardware: Lock<Option<QueueHandle>>,
    priority: Lock<QueuePriority>,
    cu_mask: Lock<Option<Vec<u32>>>,
    doorbell_index: u32,
    doorbell: SignalHandle,
    inactive: SignalHandle,
    failure: SignalHandle,
    failed: AtomicBool,
    status: Lock<Option<QueueStatus>>,
    callback: Lock<Option<ErrorCallback>>,
    scratch: Lock<QueueScratch<B>>,
    /// What dispatches need that nobody waits for any more.
    kept: Lock<Vec<InFlight<B>>>,
    ring: QueueRing<B>,
    // After what points into them.
    _packets: Block<B>,
    _page: Block<B>,
}

impl<B: Backend + ?Sized> QueueInner<B> {
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// Whether the backend knows it by this name, still.
    pub fn is(&self, hardware: QueueHandle) -> bool {
        *self.hardware.lock(self.reactor.park()) == Some(hardware)
    }

    pub fn amd_queue(&self) -> &AmdQueue {
        self.ring.memory().amd_queue()
    }

    pub const fn failure_signal(&self) -> SignalHandle {
        self.failure
    }

    fn failure(&self, status: QueueStatus) -> QueueFailure {
        QueueFailure {
            status,
            queue: core::ptr::from_ref(self.amd_queue()).addr() as u64,
            id: self.id,
        }
    }

    pub fn status(&self) -> Option<QueueStatus> {
        if !self.failed.load(Ordering::Acquire) {
            return None;
        }
        *self.status.lock(self.reactor.park())
    }

    /// Keeps what a dispatch needs until it is complete, or the hardware queue is gone.
    pub fn keep(&self, flight: InFlight<B>) {
        let park = self.reactor.park();
        let hardware = self.hardware.lock(park);
        if hardware.is_some() {
            self.kept.lock(park).push(flight);
        }
    }

    /// Frees what complete dispatches needed.
    pub fn forget_done(&self) {
        let mut kept = self.kept.lock(self.reactor.park());
        if !kept.is_empty() {
            let done: Vec<_> = kept.extract_if(.., |flight| flight.is_done()).collect();
            // Without the lock: what goes here may be the last to hold a runtime.
            drop(kept);
            drop(done);
        }
    }
}

impl<B: Backend + ?Sized> Drop for QueueInner<B> {
    fn drop(&mut self) {
        self.stop();
        for handle in [self.doorbell, self.inactive, self.failure] {
            if let Ok(slot) = self.reactor.slot(handle) {
                self.reactor.destroy_slot(slot);
            }
        }
        let this: *const Self = self;
        self.reactor
            .queues
            .lock(self.reactor.park())
            .retain(|queue| !core::ptr::eq(queue.as_ptr(), this));
    }
}

/// A queue of a GPU. Dropping it stops the hardware queue, then frees its memory; packets that are
/// not complete are abandoned.
pub struct Queue<B: Backend + ?Sized> {
    inner: Arc<QueueInner<B>>,
    runtime: Arc<Runtime<B>>,
}

impl<B: Backend + ?Sized> Queue<B> {
    pub(crate) const fn inner(&self) -> &Arc<QueueInner<B>> {
        &self.inner
    }

    /// The runtime that it belongs to.
    pub const fn runtime(&self) -> &Arc<Runtime<B>> {
        &self.runtime
    }

    /// The agent that consumes it.
    pub fn agent(&self) -> AgentId {
        self.inner.agent
    }

    /// The backend's name of it; none once the hardware queue is gone.
    pub fn hardware(&self) -> Option<QueueHandle> {
        *self.inner.hardware.lock(self.runtime.park())
    }

    /// Identifies it in its runtime.
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// Packets.
    pub fn size(&self) -> u32 {
        self.inner.size
    }

    /// Address of its `hsa_queue_t`, which is also its `amd_queue_t`: the handle of C clients.
    pub fn address(&self) -> u64 {
        self.inner.failure(QueueStatus::Destroyed).queue
    }

    /// The structure that devices and C clients see.
    pub fn amd_queue(&self) -> &AmdQueue {
        self.inner.amd_queue()
    }

    /// Its doorbell signal.
    pub fn doorbell_signal(&self) -> SignalHandle {
        self.inner.doorbell
    }

    /// A signal that is 0 while the queue runs and 1 when it was stopped: to wait for beside
    /// completion signals.
    pub fn failure_signal(&self) -> SignalHandle {
        self.inner.failure
    }

    /// Why it was stopped, if it was.
    pub fn status(&self) -> Option<QueueStatus> {
        self.inner.status()
    }

    /// Claims a slot if one is free.
    ///
    /// # Errors
    /// [`QueueError::Stopped`], [`QueueError::Ring`].
    pub fn try_claim(&self) -> Result<Claim<'_, impl RingMemory + use<B>>, QueueError> {
        self.running()?;
        Ok(self.inner.ring.try_claim()?)
    }

    /// Claims a slot, waiting for one.
    ///
    /// # Errors
    /// [`QueueError::Stopped`], [`QueueError::TimedOut`], [`QueueError::Ring`].
    pub fn claim(
        &self,
        timeout: Timeout,
    ) -> Result<Claim<'_, impl RingMemory + use<B>>, QueueError> {
        self.wait_for_space(timeout, || self.inner.ring.try_claim())
    }

    /// Claims consecutive slots, waiting for them.
    ///
    /// # Errors
    /// As [`Queue::claim`].
    pub fn claim_batch(
        &self,
        count: u32,
        timeout: Timeout,
    ) -> Result<Batch<'_, impl RingMemory + use<B>>, QueueError> {
        self.wait_for_space(timeout, || self.inner.ring.try_claim_batch(count))
    }

    fn running(&self) -> Result<(), QueueError> {
        match self.status() {
            Some(status) => Err(status.into()),
            None => Ok(()),
        }
    }

    fn wait_for_space<T>(
        &self,
        timeout: Timeout,
        mut claim: impl FnMut() -> Result<T, RingError>,
    ) -> Result<T, QueueError> {
        let reactor = self.runtime.reactor();
        let mut looks = 0u32;
        loop {
            self.running()?;
            match claim() {
                Err(RingError::Full { .. }) => {}
                done => return Ok(done?),
            }
            match timeout {
                Timeout::Poll => return Err(QueueError::TimedOut),
                Timeout::At(t) if looks.is_multiple_of(64) && reactor.backend.now() >= t => {
                    return Err(QueueError::TimedOut);
                }
                Timeout::At(_) | Timeout::Never => {}
            }
            reactor.backend.relax();
            looks = looks.wrapping_add(1);
            // No event says that the read index moved: sleep a little between looks, and do the
            // leader's work meanwhile, for the queue may be full because it wants scratch.
            if looks >= crate::config::SPIN_LOOKS && looks.is_multiple_of(64) {
                reactor.poll_events();
                reactor.run_pending_if_unthreaded();
                let word = AtomicU32::new(0);
                reactor.park().park(&word, 0, Some(POLL_NS));
            }
        }
    }

    /// The write index.
    pub fn write_index(&self, order: MemoryOrder) -> u64 {
        self.inner.ring.write_index(order)
    }

    /// Stores the write index.
    pub fn store_write_index(&self, value: u64, order: MemoryOrder) {
        self.inner.ring.store_write_index(value, order);
    }

    /// Replaces the write index if it is `expected`; gives the value found.
    pub fn cas_write_index(&self, expected: u64, value: u64, order: MemoryOrder) -> u64 {
        self.inner.ring.cas_write_index(expected, value, order)
    }

    /// Adds to the write index; gives the old value.
    pub fn add_write_index(&self, value: u64, order: MemoryOrder) -> u64 {
        self.inner.ring.add_write_index(value, order)
    }

    /// The read index.
    pub fn read_index(&self, order: MemoryOrder) -> u64 {
        self.inner.ring.read_index(order)
    }

    /// Stores the read index.
    pub fn store_read_index(&self, value: u64, order: MemoryOrder) {
        self.inner.ring.store_read_index(value, order);
    }

    /// Has completion signals carry start and end times, or not.
    pub fn set_profiling(&self, on: bool) {
        let properties = &self.amd_queue().queue_properties;
        let bit = QueueProperties::ENABLE_PROFILING.bits();
        if on {
            properties.fetch_or(bit, Ordering::Release);
        } else {
            properties.fetch_and(!bit, Ordering::Release);
        }
    }

    /// Stops the queue for good, as an error would, without calling its callback.
    ///
    /// # Errors
    /// [`QueueError::Backend`].
    pub fn inactivate(&self) -> Result<(), QueueError> {
        drop(self.inner.callback.lock(self.runtime.park()).take());
        self.inner.fail(QueueStatus::Destroyed);
        Ok(())
    }

    /// Changes how it competes with others.
    ///
    /// # Errors
    /// [`QueueError::Backend`], [`QueueError::Stopped`].
    pub fn set_priority(&self, priority: QueuePriority) -> Result<(), QueueError> {
        self.running()?;
        let hardware = self.inner.hardware.lock(self.runtime.park());
        if let Some(queue) = *hardware {
            let update = QueueUpdate {
                active: true,
                priority,
            };
            self.runtime.backend().update_queue(queue, &update)?;
            *self.inner.priority.lock(self.runtime.park()) = priority;
        }
        Ok(())
    }

    /// Restricts it to compute units: bit `n` of the mask is unit `n`.
    ///
    /// # Errors
    /// [`QueueError::Backend`], [`QueueError::Stopped`].
    pub fn set_cu_mask(&self, mask: &[u32]) -> Result<(), QueueError> {
        self.running()?;
        let hardware = self.inner.hardware.lock(self.runtime.park());
        if let Some(queue) = *hardware {
            self.runtime.backend().set_cu_mask(queue, mask)?;
            *self.inner.cu_mask.lock(self.runtime.park()) = Some(mask.to_vec());
        }
        Ok(())
    }

    /// The mask of compute units that was set last; None is all of them.
    pub fn cu_mask(&self) -> Option<Vec<u32>> {
        self.inner.cu_mask.lock(self.runtime.park()).clone()
    }
}

impl<B: Backend + ?Sized> Drop for Queue<B> {
    fn drop(&mut self) {
        self.inner.stop();
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Queue<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Queue")
            .field("id", &self.inner.id)
            .field("agent", &self.inner.agent)
            .field("size", &self.inner.size)
            .field("status", &self.status())
            .finish()
    }
}
