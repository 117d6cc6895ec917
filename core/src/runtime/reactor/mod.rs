//! Waking whoever waits.
//!
//! A runtime has a few backend events and any number of signals, each bound to one of the events
//! when it is created: a device that changes the signal writes the event's id to the mailbox and
//! raises it. Of all client threads that wait, one, the *leader*, sleeps in the backend on all of their
//! events; the others, *followers*, sleep on a word of their own ([`Park`](crate::backend::Park)).
//! When an event is raised the leader looks at every follower's signals and wakes those
//! whose wait is over; when its own is over it hands the lead to a follower.
//!
//! - [`waiters`]: leading, following, and why no wake-up is lost.
//! - [`keeper`]: how the runtime's own thread sleeps beside them.
//! - [`handlers`]: callbacks on signals, and the thread that calls them.
//! - [`service`]: queues that stopped or want scratch, faults.
//! - [`copies`]: copies by engines, and those that engines do not do.
//! - [`signals`]: creating and destroying signals; doorbells.

pub(crate) mod copies;
pub(crate) mod handlers;
pub(crate) mod keeper;
pub(crate) mod service;
pub(crate) mod signals;
pub(crate) mod waiters;

use super::config::RuntimeConfig;
use super::error::InitError;
use super::queue::QueueInner;
use crate::backend::{AgentId, Backend, BankId, EventError, EventId, EventKind, Lock, Park};
use crate::config::{QUEUES, SHARED_EVENTS};
use crate::mem::Block;
use crate::signal::{SignalArena, SignalHandle};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use copies::Flight;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use handlers::Handler;
use service::{Pending, SystemHandler};
use waiters::Waiters;

/// A doorbell, by index of a table that devices cannot write: a doorbell signal holds the index.
#[derive(Debug, Default)]
pub(crate) struct DoorbellEntry {
    /// Whether the entry is taken.
    pub taken: AtomicBool,
    /// Address of the register, or 0 for a callback.
    pub register: AtomicU64,
    /// The backend's name of the queue.
    pub queue: AtomicU64,
}

/// Signals, waiters, handlers and the watch over queues.
pub(crate) struct Reactor<B: Backend + ?Sized> {
    pub backend: Arc<B>,
    pub config: RuntimeConfig,
    pub arena: SignalArena,
    /// Where signals and queues live.
    pub host_bank: BankId,
    /// The agents that reach them.
    pub gpus: Vec<AgentId>,
    /// The events that signals are bound to: the runtime's own to the first, clients' to the others.
    shared: heapless::Vec<EventId, SHARED_EVENTS>,
    /// The fault events and those.
    all: heapless::Vec<EventId, { SHARED_EVENTS + 2 }>,
    next_event: AtomicU32,
    /// Whether waiters pay for the barrier, so that stores need none.
    light_stores: bool,
    waiters: Lock<Waiters>,
    handlers: Lock<Vec<Handler>>,
    next_handler: AtomicU64,
    /// Changes when the handlers' thread is to look around.
    control: SignalHandle,
    threaded: AtomicBool,
    stop: AtomicBool,
    pub queues: Lock<Vec<Weak<QueueInner<B>>>>,
    pub queue_count: AtomicUsize,
    pending: Lock<VecDeque<Pending>>,
    pending_count: AtomicUsize,
    system: Lock<Vec<Arc<SystemHandler>>>,
    copies: Lock<Vec<Flight>>,
    copy_count: AtomicUsize,
    /// When to look at them again.
    copies_due: AtomicU64,
    pub doorbells: Box<[DoorbellEntry]>,
    chunks: Lock<Vec<Block<B>>>,
}

impl<B: Backend + ?Sized> Reactor<B> {
    pub fn new(
        backend: Arc<B>,
        config: RuntimeConfig,
        host_bank: BankId,
        gpus: Vec<AgentId>,
    ) -> Result<Self, InitError> {
        let light_stores = backend.parker().has_heavy_barrier();
        let mut reactor = Self {
            backend,
            config,
            arena: SignalArena::new(),
            host_bank,
            gpus,
            shared: heapless::Vec::new(),
            all: heapless::Vec::new(),
            next_event: AtomicU32::new(0),
            light_stores,
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
            doorbells: (0..QUEUES).map(|_| DoorbellEntry::default()).collect(),
            chunks: Lock::new(Vec::new()),
        };
        // From here on a failure drops the reactor, which gives back what it has.
        for kind in [EventKind::MemoryFault, EventKind::HardwareException] {
            match reactor.backend.create_event(kind) {
                Ok(event) => {
                    // Two of SHARED_EVENTS + 2: there is room.
                    let _ = reactor.all.push(event);
                }
                Err(EventError::NotSupported(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for _ in 0..SHARED_EVENTS {
            match reactor.backend.create_event(EventKind::Signal) {
                Ok(event) => {
                    let _ = reactor.shared.push(event);
                    let _ = reactor.all.push(event);
                }
                Err(EventError::NoneLeft { .. }) => {
                    // With fewer events, signals share them; with none, waiters look.
                    crate::trace::event!(
                        warn,
                        "only {} of {} events are left",
                        reactor.shared.len(),
                        SHARED_EVENTS
                    );
                    break;
                }
                Err(EventError::NotSupported(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        reactor.grow(config.signals.max(1))?;
        reactor.control = reactor
            .create_slot(0, crate::signal::SignalFlags::RUNTIME)?
            .handle();
        Ok(reactor)
    }

    pub fn park(&self) -> &dyn Park {
        self.backend.parker()
    }
}

impl<B: Backend + ?Sized> Drop for Reactor<B> {
    fn drop(&mut self) {
        for event in &self.all {
            if self.backend.destroy_event(*event).is_err() {
                crate::trace::event!(warn, "event {} was gone already", event.0);
            }
        }
    }
}
