//! What core's reactor needs for waiting, and its operations by plain names.

#[path = "../../../../../core/src/runtime/reactor/keeper.rs"]
pub(crate) mod keeper;
#[path = "../../../../../core/src/runtime/reactor/waiters.rs"]
pub(crate) mod waiters;

use crate::backend::{Backend, EventId, Events, Lock, Park, Timeout};
use crate::device::Device;
use crate::signal::{Condition, MemoryOrder, SignalArena, SignalFlags, SignalOps, SignalSlot};
use std::ptr::NonNull;
use std::sync::Arc;
use waiters::{How, WaitHint, Waited, Waiters};

pub(crate) mod service {
    pub(crate) type Reports = Vec<crate::backend::EventReport>;
}

struct Config {
    spin_ns: u64,
    poll_ns: u64,
    recheck_ns: u64,
}

pub(crate) struct Reactor<B: Backend + ?Sized> {
    backend: Arc<B>,
    config: Config,
    shared: Vec<EventId>,
    all: Vec<EventId>,
    light_stores: bool,
    waiters: Lock<Waiters>,
}

// What else the reactor does while it waits is not part of the models.
impl<B: Backend + ?Sized> Reactor<B> {
    fn park(&self) -> &dyn Park {
        self.backend.parker()
    }

    fn service(&self, _: service::Reports) {}

    fn has_pending(&self) -> bool {
        false
    }

    fn run_pending_if_unthreaded(&self) {}
}

/// A reactor over the device, and an arena of a few signals.
pub struct Runtime {
    reactor: Reactor<Device>,
    arena: SignalArena,
    /// The arena's memory.
    slots: NonNull<[SignalSlot]>,
}

// SAFETY: the slots are made of atomics, and freed when the last thread has given the runtime back.
unsafe impl Send for Runtime {}
// SAFETY: as above.
unsafe impl Sync for Runtime {}

#[allow(missing_docs, clippy::missing_panics_doc)]
impl Runtime {
    /// With room for so many signals.
    pub fn new(slots: usize) -> Self {
        let slots: Box<[SignalSlot]> = (0..slots).map(|_| SignalSlot::new()).collect();
        let count = slots.len() as u32;
        let slots = NonNull::from(Box::leak(slots));
        let this = Self {
            reactor: Reactor {
                backend: Arc::new(Device::new()),
                config: Config {
                    spin_ns: 0,
                    poll_ns: 0,
                    recheck_ns: 0,
                },
                shared: Device::SHARED.into(),
                all: [&[Device::FAULT], &Device::SHARED[..]].concat(),
                light_stores: false,
                waiters: Lock::new(Waiters::default()),
            },
            arena: SignalArena::new(),
            slots,
        };
        // SAFETY: fresh slots, which live until the runtime is dropped.
        unsafe { this.arena.add_chunk(slots.cast(), count, this.park()) }.expect("a first chunk");
        drop(this.reactor.waiters.lock(this.park()));
        this
    }

    pub fn arena(&self) -> &SignalArena {
        &self.arena
    }

    pub fn park(&self) -> &dyn Park {
        self.reactor.park()
    }

    pub fn create(&self, value: i64) -> &SignalSlot {
        self.arena
            .allocate(value, SignalFlags::empty(), self.park())
            .expect("room in the arena")
    }

    /// As core's reactor destroys a signal.
    pub fn destroy(&self, slot: &SignalSlot) -> bool {
        let gone = self.arena.release(slot, self.park());
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
