//! A queue without packets: what core does when one wants scratch or stops, around a device that checks the order.

#[path = "../../../../../core/src/runtime/queue/serve.rs"]
mod serve;

use super::reactor::Reactor;
use super::reactor::service::ErrorCallback;
use crate::backend::{AgentId, Backend, Lock, QueueHandle, QueuePriority};
use crate::queue::{QueueStatus, ScratchRequest};
use crate::signal::{MemoryOrder, SignalFlags, SignalHandle, SignalOps};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use loom::cell::Cell;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueFailure {
    pub status: QueueStatus,
}

/// The scratch of a queue: how often it was given and taken. Loom reports accesses that no lock orders.
#[derive(Debug, Default)]
struct QueueScratch {
    given: Cell<u32>,
    taken: Cell<u32>,
}

impl QueueScratch {
    fn reclaim(&mut self, (): &()) {
        self.taken.set(self.taken.get() + 1);
    }

    fn provide<B: Backend + ?Sized>(
        &mut self,
        reactor: &Arc<Reactor<B>>,
        ring: &QueueRing,
        _: ScratchRequest,
    ) -> Result<(), QueueStatus> {
        assert!(
            reactor.backend.queue_is_there(ring.queue),
            "scratch for a queue that was destroyed"
        );
        self.given.set(self.given.get() + 1);
        Ok(())
    }
}

/// The doorbell, which nobody may ring that is gone.
#[derive(Debug)]
struct QueueRing {
    queue: QueueHandle,
    rung: AtomicU64,
    is_there: Box<dyn IsThere>,
}

trait IsThere: Send + Sync + std::fmt::Debug {
    fn is_there(&self) -> bool;
}

#[derive(Debug)]
struct Named<B: Backend + ?Sized>(QueueHandle, Arc<B>);

impl<B: Backend + ?Sized + std::fmt::Debug> IsThere for Named<B> {
    fn is_there(&self) -> bool {
        self.1.queue_is_there(self.0)
    }
}

impl QueueRing {
    fn write_index(&self, _: MemoryOrder) -> u64 {
        1
    }

    fn memory(&self) -> &Self {
        self
    }

    fn ring_doorbell(&self, _: u64) {
        assert!(
            self.is_there.is_there(),
            "the doorbell of a queue that was destroyed"
        );
        self.rung.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) struct QueueInner<B: Backend + ?Sized> {
    reactor: Arc<Reactor<B>>,
    agent: AgentId,
    id: u64,
    hardware: Lock<Option<QueueHandle>>,
    priority: Lock<QueuePriority>,
    doorbell_index: u32,
    inactive: SignalHandle,
    failure: SignalHandle,
    failed: AtomicBool,
    status: Lock<Option<QueueStatus>>,
    callback: Lock<Option<ErrorCallback>>,
    scratch: Lock<QueueScratch>,
    kept: Lock<Vec<()>>,
    ring: QueueRing,
}

impl<B: Backend + ?Sized + std::fmt::Debug + 'static> QueueInner<B> {
    /// A queue that the reactor knows; takes two signals.
    pub(crate) fn new(reactor: &Arc<Reactor<B>>, callback: ErrorCallback) -> Arc<Self> {
        let [inactive, failure] = [0; 2].map(|value| {
            reactor
                .arena
                .allocate(value, SignalFlags::RUNTIME, reactor.park())
                .expect("room in the arena")
                .handle()
        });
        let queue = QueueHandle(1);
        let this = Arc::new(Self {
            reactor: reactor.clone(),
            agent: AgentId(1),
            id: 1,
            hardware: Lock::new(Some(queue)),
            priority: Lock::new(QueuePriority::default()),
            doorbell_index: 0,
            inactive,
            failure,
            failed: AtomicBool::new(false),
            status: Lock::new(None),
            callback: Lock::new(Some(callback)),
            scratch: Lock::new(QueueScratch::default()),
            kept: Lock::new(Vec::new()),
            ring: QueueRing {
                queue,
                rung: AtomicU64::new(0),
                is_there: Box::new(Named(queue, reactor.backend.clone())),
            },
        });
        // First uses, by the only thread.
        let park = reactor.park();
        drop(this.hardware.lock(park));
        drop(this.priority.lock(park));
        drop(this.status.lock(park));
        drop(this.callback.lock(park));
        drop(this.scratch.lock(park));
        drop(this.kept.lock(park));
        this.failed.load(Ordering::Relaxed);
        this.ring.rung.load(Ordering::Relaxed);
        reactor.queues.lock(park).push(Arc::downgrade(&this));
        reactor.queue_count.fetch_add(1, Ordering::Relaxed);
        this
    }
}

impl<B: Backend + ?Sized> QueueInner<B> {
    pub(crate) fn agent(&self) -> AgentId {
        self.agent
    }

    pub(crate) fn is(&self, hardware: QueueHandle) -> bool {
        *self.hardware.lock(self.reactor.park()) == Some(hardware)
    }

    fn amd_queue(&self) -> &() {
        &()
    }

    fn failure(&self, status: QueueStatus) -> QueueFailure {
        QueueFailure { status }
    }

    pub(crate) fn failure_signal(&self) -> SignalHandle {
        self.failure
    }

    pub(crate) fn status(&self) -> Option<QueueStatus> {
        *self.status.lock(self.reactor.park())
    }

    /// The packet processor wants scratch.
    pub(crate) fn device_asks_for_scratch(&self) {
        let slot = self.reactor.slot(self.inactive).expect("a signal");
        slot.signal.store(1, MemoryOrder::Release);
    }

    /// How often scratch was given, and taken back, and how often the doorbell rang.
    pub(crate) fn counts(&self) -> [u64; 3] {
        let scratch = self.scratch.lock(self.reactor.park());
        [
            u64::from(scratch.given.get()),
            u64::from(scratch.taken.get()),
            self.ring.rung.load(Ordering::Relaxed),
        ]
    }

    /// What the packet processor sees.
    pub(crate) fn inactive(&self) -> i64 {
        let slot = self.reactor.slot(self.inactive).expect("a signal");
        slot.signal.load(MemoryOrder::Acquire)
    }

    /// As whoever destroys the queue does.
    pub(crate) fn destroy(&self) {
        self.stop();
    }
}
