//! What core's reactor is made of, and its operations by plain names.

#[path = "../../../../../core/src/runtime/reactor/copies.rs"]
pub(crate) mod copies;
#[path = "../../../../../core/src/runtime/reactor/handlers.rs"]
pub(crate) mod handlers;
#[path = "../../../../../core/src/runtime/reactor/keeper.rs"]
pub(crate) mod keeper;
#[path = "../../../../../core/src/runtime/reactor/service.rs"]
pub(crate) mod service;
#[path = "../../../../../core/src/runtime/reactor/waiters.rs"]
pub(crate) mod waiters;

use super::error::SignalError;
use super::queue::QueueInner;
use crate::backend::{
    AgentId, Backend, Dma, DmaProgress, DmaTicket, EventId, EventReport, Events, Lock,
    MemoryFaultInfo, Park, QueueHandle, Timeout,
};
use crate::device::{Barrier, Device};
use crate::queue::QueueStatus;
use crate::signal::{
    Condition, MemoryOrder, SignalArena, SignalFlags, SignalHandle, SignalOps, SignalSlot,
};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use copies::Flight;
use handlers::{Handler, HandlerId};
use service::{Pending, SystemHandler};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use waiters::{How, WaitHint, Waited, Waiters};

struct Config {
    spin_ns: u64,
    poll_ns: u64,
    recheck_ns: u64,
}

pub(crate) struct Reactor<B: Backend + ?Sized> {
    pub(crate) backend: Arc<B>,
    config: Config,
    pub(crate) arena: SignalArena,
    shared: Vec<EventId>,
    all: Vec<EventId>,
    light_stores: bool,
    waiters: Lock<Waiters>,
    handlers: Lock<Vec<Handler>>,
    next_handler: AtomicU64,
    control: SignalHandle,
    threaded: AtomicBool,
    stop: AtomicBool,
    pub(crate) queues: Lock<Vec<Weak<QueueInner<B>>>>,
    pub(crate) queue_count: AtomicUsize,
    pending: Lock<VecDeque<Pending>>,
    pending_count: AtomicUsize,
    system: Lock<Vec<Arc<SystemHandler>>>,
    copies: Lock<Vec<Flight>>,
    copy_count: AtomicUsize,
    copies_due: AtomicU64,
}

impl<B: Backend + ?Sized> Reactor<B> {
    pub(crate) fn park(&self) -> &dyn Park {
        self.backend.parker()
    }

    pub(crate) fn slot(&self, handle: SignalHandle) -> Result<&SignalSlot, SignalError> {
        self.arena
            .get(handle)
            .ok_or(SignalError::BadHandle { handle })
    }

    pub(crate) fn free_doorbell(&self, _: u32) {}
}

/// A reactor over the device, and an arena of a few signals.
pub struct Runtime {
    reactor: Arc<Reactor<Device>>,
    /// The arena's memory.
    slots: NonNull<[SignalSlot]>,
}

// SAFETY: the slots are made of atomics, and freed when the last thread has given the runtime back.
unsafe impl Send for Runtime {}
// SAFETY: as above.
unsafe impl Sync for Runtime {}

/// Whose engine copies.
const AGENT: AgentId = AgentId(1);

/// The model's queue.
pub struct Queue(Arc<QueueInner<Device>>);

#[allow(missing_docs, clippy::missing_panics_doc)]
impl Runtime {
    /// With room for so many signals.
    pub fn new(slots: usize) -> Self {
        Self::with(slots, Barrier::Fences)
    }

    /// The same, with this between stores and looks.
    pub fn with(slots: usize, barrier: Barrier) -> Self {
        Self::build(slots, barrier, false)
    }

    /// The same for a runtime whose thread is going to [`run`](Self::run).
    pub fn threaded(slots: usize, barrier: Barrier) -> Self {
        Self::build(slots + 1, barrier, true)
    }

    fn build(slots: usize, barrier: Barrier, threaded: bool) -> Self {
        let slots: Box<[SignalSlot]> = (0..slots).map(|_| SignalSlot::new()).collect();
        let count = slots.len() as u32;
        let slots = NonNull::from(Box::leak(slots));
        let backend = Arc::new(Device::new(barrier));
        let mut reactor = Reactor {
            light_stores: backend.parker().has_heavy_barrier(),
            backend,
            config: Config {
                spin_ns: 0,
                poll_ns: 0,
                recheck_ns: 0,
            },
            arena: SignalArena::new(),
            shared: Device::SHARED.into(),
            all: [&[Device::FAULT], &Device::SHARED[..]].concat(),
            waiters: Lock::new(Waiters::default()),
            handlers: Lock::new(Vec::new()),
            next_handler: AtomicU64::new(1),
            control: SignalHandle::NULL,
            threaded: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            queues: Lock::new(Vec::new()),
            queue_count: AtomicUsize::new(0),
            pending: Lock::new(VecDeque::new()),
            pending_count: AtomicUsize::new(0),
            system: Lock::new(Vec::new()),
            copies: Lock::new(Vec::new()),
            copy_count: AtomicUsize::new(0),
            copies_due: AtomicU64::new(0),
        };
        crate::sync::begin();
        let park = reactor.backend.parker();
        // SAFETY: fresh slots, which live until the runtime is dropped.
        unsafe { reactor.arena.add_chunk(slots.cast(), count, park) }.expect("a first chunk");
        // First uses, by the only thread.
        drop(reactor.waiters.lock(park));
        drop(reactor.handlers.lock(park));
        drop(reactor.queues.lock(park));
        drop(reactor.pending.lock(park));
        drop(reactor.copies.lock(park));
        reactor.copy_count.load(Ordering::Relaxed);
        reactor.copies_due.load(Ordering::Relaxed);
        reactor.next_handler.load(Ordering::Relaxed);
        reactor.stop.load(Ordering::Relaxed);
        reactor.queue_count.load(Ordering::Relaxed);
        reactor.pending_count.load(Ordering::Relaxed);
        reactor.threaded.load(Ordering::Relaxed);
        if threaded {
            let control = reactor
                .arena
                .allocate(0, SignalFlags::RUNTIME, park)
                .expect("room in the arena");
            control.bind_event(0, Device::SHARED[0].0);
            let control = control.handle();
            reactor.control = control;
            reactor.set_threaded(true);
        }
        Self {
            reactor: Arc::new(reactor),
            slots,
        }
    }

    pub fn arena(&self) -> &SignalArena {
        &self.reactor.arena
    }

    pub fn park(&self) -> &dyn Park {
        self.reactor.park()
    }

    pub fn create(&self, value: i64) -> &SignalSlot {
        self.arena()
            .allocate(value, SignalFlags::empty(), self.park())
            .expect("room in the arena")
    }

    /// As core's reactor destroys a signal.
    pub fn destroy(&self, slot: &SignalSlot) -> bool {
        let gone = self.arena().release(slot, self.park());
        if gone {
            self.reactor.wake_after_store(slot);
        }
        gone
    }

    /// A host's store, as core's runtime makes it.
    pub fn store(&self, slot: &SignalSlot, value: i64) {
        slot.signal.store(value, MemoryOrder::Release);
        self.reactor.wake_after_store(slot);
    }

    /// A host's addition.
    pub fn add(&self, slot: &SignalSlot, value: i64) {
        slot.signal.add(value, MemoryOrder::AcqRel);
        self.reactor.wake_after_rmw(slot);
    }

    /// A store that looks whether somebody waits, without the barrier that has to be in between.
    pub fn store_without_barrier(&self, slot: &SignalSlot, value: i64) {
        slot.signal.store(value, MemoryOrder::Release);
        if slot.waiters.load(std::sync::atomic::Ordering::Relaxed) != 0 {
            self.reactor.notify(slot);
        }
    }

    /// A device's addition: the value, then the event.
    pub fn device_adds(&self, slot: &SignalSlot, value: i64) {
        slot.signal.add(value, MemoryOrder::Release);
        self.raise();
    }

    /// An event that comes with no change.
    pub fn raise(&self) {
        self.set(Device::SHARED[1]);
    }

    fn set(&self, event: EventId) {
        self.reactor
            .backend
            .set_event(event)
            .expect("the event is there");
    }

    /// The runtime's own thread, until the runtime's own signal is 0: what core's `run` does around its callbacks.
    pub fn keep(&self, own: &SignalSlot) {
        let watch = Reactor::<Device>::watch(own, Condition::Eq, 0);
        waiters::register(&watch);
        while watch.look() == waiters::Seen::NotYet(1) {
            self.reactor.keep(&[watch]);
        }
        waiters::unregister(&watch);
        self.reactor.keeper_leaves();
    }

    /// A device's addition to a signal of the runtime's own.
    pub fn device_adds_to_own(&self, own: &SignalSlot, value: i64) {
        own.signal.add(value, MemoryOrder::Release);
        self.set(Device::SHARED[0]);
    }

    /// A signal that devices announce by the clients' event.
    pub fn create_bound(&self, value: i64) -> &SignalSlot {
        let slot = self.create(value);
        slot.bind_event(0, Device::SHARED[1].0);
        slot
    }

    /// The body of the runtime's thread, until [`stop`](Self::stop).
    pub fn run(&self) {
        self.reactor.run();
    }

    pub fn stop(&self) {
        self.reactor.stop();
    }

    /// Has it called when the signal is 0.
    pub fn add_handler(
        &self,
        slot: &SignalSlot,
        callback: impl FnMut(i64) -> bool + Send + 'static,
    ) -> HandlerId {
        self.reactor
            .add_handler(Some((slot.handle(), Condition::Eq, 0)), Box::new(callback))
            .expect("a signal")
    }

    pub fn remove_handler(&self, id: HandlerId) -> bool {
        self.reactor.remove_handler(id)
    }

    /// A queue, whose callback is told why it stopped. Takes two signals.
    pub fn create_queue(&self, callback: impl FnOnce(QueueStatus) + Send + 'static) -> Queue {
        let callback =
            Box::new(move |failure: super::queue::QueueFailure| callback(failure.status));
        Queue(QueueInner::new(&self.reactor, callback))
    }

    /// What a thread does that looks after queues.
    pub fn service(&self) {
        self.reactor.service(Vec::new());
    }

    /// The calls that are due, by this thread.
    pub fn run_pending(&self) -> usize {
        self.reactor.run_pending()
    }

    /// The driver reports that the queue has stopped.
    pub fn driver_reports(&self, status: QueueStatus) {
        self.reactor
            .backend
            .report(EventReport::Queue(QueueHandle(1), status));
    }

    /// Gives the engine a copy whose signal it is going to count down; as core's runtime does, with a
    /// [look](Self::look_after) at it later.
    pub fn submit(&self) -> DmaTicket {
        self.reactor.backend.submit()
    }

    /// The second half of submitting a copy.
    pub fn look_after(&self, ticket: DmaTicket, slot: &SignalSlot) {
        self.reactor.look_after(Flight::new(AGENT, ticket, slot));
    }

    /// How far the engine is with a copy.
    pub fn progress(&self, ticket: DmaTicket) -> DmaProgress {
        self.reactor.backend.dma_progress(AGENT, ticket)
    }

    /// The engine does a copy, unless it was lost: counts its signal down and raises the event.
    pub fn engine_does(&self, ticket: DmaTicket, slot: &SignalSlot) {
        let count = || {
            slot.signal.add(-1, MemoryOrder::Release);
        };
        if self.reactor.backend.engine_ends(ticket, count) {
            self.raise();
        }
    }

    /// Sleeps as an engine until it was given so many copies.
    pub fn engine_waits_for_copies(&self, count: usize) {
        self.reactor.backend.wait_for_copies(count);
    }

    /// The driver reports a fault of the agent's that names no queue.
    pub fn driver_reports_fault(&self) {
        let fault = EventReport::Memory(AGENT, MemoryFaultInfo::default());
        self.reactor.backend.report(fault);
    }

    /// The engine is lost, and nobody says so.
    pub fn lose_engine(&self) {
        self.reactor.backend.abandon_dma(AGENT);
    }

    /// What a thread does now and then, or after a fault.
    pub fn sweep_copies(&self) {
        self.reactor.sweep_copies();
    }

    /// What the runtime's end does before the signals' memory goes.
    pub fn finish_copies(&self) {
        self.reactor.finish_copies();
    }

    /// Copies that are looked after.
    pub fn copies(&self) -> usize {
        let count = self.reactor.copies.lock(self.park()).len();
        assert_eq!(count, self.reactor.copy_count.load(Ordering::Acquire));
        count
    }

    /// Waits, sleeping; the value that ended it, or none if the signal was destroyed.
    pub fn wait(&self, slot: &SignalSlot, condition: Condition, compare: i64) -> Option<i64> {
        let watch = Reactor::<Device>::watch(slot, condition, compare);
        self.wait_for(&[watch], false)
    }

    /// Waits until all are 0.
    pub fn wait_all(&self, slots: &[&SignalSlot]) -> Option<i64> {
        let watches: Vec<_> = slots
            .iter()
            .map(|slot| Reactor::<Device>::watch(slot, Condition::Eq, 0))
            .collect();
        self.wait_for(&watches, true)
    }

    fn wait_for(&self, watches: &[waiters::Watch<'_>], all: bool) -> Option<i64> {
        let how = How {
            all,
            timeout: Timeout::Never,
            hint: WaitHint::Blocked,
        };
        match self.reactor.wait(watches, how) {
            Waited::Met(_, value) => Some(value),
            Waited::Gone(_) => None,
            Waited::TimedOut => panic!("a wait without a timeout timed out"),
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SAFETY: leaked from a box in `new`, and nobody has the runtime any more.
        drop(unsafe { Box::from_raw(self.slots.as_ptr()) });
    }
}

#[allow(missing_docs, clippy::missing_panics_doc)]
impl Queue {
    pub fn device_asks_for_scratch(&self) {
        self.0.device_asks_for_scratch();
    }

    /// How often scratch was given and taken back, and how often the doorbell rang.
    pub fn counts(&self) -> [u64; 3] {
        self.0.counts()
    }

    pub fn inactive(&self) -> i64 {
        self.0.inactive()
    }

    pub fn fail(&self, status: QueueStatus) {
        self.0.fail(status);
    }

    pub fn status(&self) -> Option<QueueStatus> {
        self.0.status()
    }

    /// Its failure signal, 1 when it has stopped.
    pub fn failure<'a>(&self, runtime: &'a Runtime) -> &'a SignalSlot {
        runtime
            .arena()
            .get(self.0.failure_signal())
            .expect("a signal")
    }

    pub fn destroy(&self) {
        self.0.destroy();
    }
}
