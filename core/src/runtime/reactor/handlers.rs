//! Callbacks on signals, and the thread that calls them.

use super::Reactor;
use super::waiters::{Seen, Watch, register, unregister};
use crate::backend::Backend;
use crate::runtime::error::SignalError;
use crate::signal::{Condition, MemoryOrder, SignalHandle, SignalOps, SignalSlot};
use crate::sync::Ordering;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Called with a signal's value when its condition holds; gives whether to keep the handler.
pub type SignalCallback = Box<dyn FnMut(i64) -> bool + Send>;

/// A handler's name, to take it back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HandlerId(pub(crate) u64);

/// A callback that waits for a signal, or, without one, for its turn.
pub(crate) struct Handler {
    id: u64,
    watch: Option<HeldWatch>,
    callback: SignalCallback,
}

/// A watch without a borrow: the slot lies in an arena that lives as long as the list of handlers.
#[derive(Clone, Copy)]
struct HeldWatch {
    slot: NonNull<SignalSlot>,
    generation: u32,
    condition: Condition,
    compare: i64,
}

// SAFETY: the slot is memory of atomics that the reactor keeps mapped, and all threads may use it.
unsafe impl Send for HeldWatch {}

impl HeldWatch {
    fn new(watch: &Watch<'_>) -> Self {
        Self {
            slot: NonNull::from(watch.slot),
            generation: watch.generation,
            condition: watch.condition,
            compare: watch.compare,
        }
    }

    /// The watch, for as long as `_reactor` keeps the arena.
    fn get<'a, B: Backend + ?Sized>(&self, _reactor: &'a Reactor<B>) -> Watch<'a> {
        Watch {
            // SAFETY: a slot of this reactor's arena, whose chunks stay mapped while it lives.
            slot: unsafe { self.slot.as_ref() },
            generation: self.generation,
            condition: self.condition,
            compare: self.compare,
        }
    }
}

impl<B: Backend + ?Sized> Reactor<B> {
    /// Adds a handler; without a signal it is called once, soon.
    pub fn add_handler(
        &self,
        on: Option<(SignalHandle, Condition, i64)>,
        callback: SignalCallback,
    ) -> Result<HandlerId, SignalError> {
        let watch = match on {
            None => None,
            Some((handle, condition, compare)) => {
                let slot = self.slot(handle)?;
                let watch = Self::watch(slot, condition, compare);
                register(&watch);
                Some(HeldWatch::new(&watch))
            }
        };
        // As in a wait: the count is up before the first look, which the poke causes.
        self.park().heavy_barrier();
        let id = self.next_handler.fetch_add(1, Ordering::Relaxed);
        self.handlers.lock(self.park()).push(Handler {
            id,
            watch,
            callback,
        });
        self.poke();
        Ok(HandlerId(id))
    }

    /// Takes a handler back. Gives false if it is not there: it was called and ended, or is being
    /// called now.
    pub fn remove_handler(&self, id: HandlerId) -> bool {
        let removed = {
            let mut handlers = self.handlers.lock(self.park());
            handlers
                .iter()
                .position(|handler| handler.id == id.0)
                .map(|at| handlers.swap_remove(at))
        };
        if let Some(watch) = removed.as_ref().and_then(|handler| handler.watch) {
            unregister(&watch.get(self));
        }
        removed.is_some()
    }

    /// Calls the handlers whose condition holds; gives how many. No lock is held during a call.
    pub fn run_handlers(&self) -> usize {
        self.run_handlers_after(|| {})
    }

    /// As [`run_handlers`](Self::run_handlers), and does something before the first call if there is one.
    fn run_handlers_after(&self, before: impl FnOnce()) -> usize {
        // Dropped without the lock: a callback may own anything.
        let mut gone = Vec::new();
        let ready: Vec<(Handler, i64)> = {
            let mut handlers = self.handlers.lock(self.park());
            let mut ready = Vec::new();
            let mut at = 0;
            while let Some(handler) = handlers.get(at) {
                let value = match handler.watch.map(|watch| watch.get(self).look()) {
                    None => Some(0),
                    Some(Seen::Met(value)) => Some(value),
                    Some(Seen::NotYet(_)) => None,
                    // Its signal is gone, so it can never be called.
                    Some(Seen::Gone) => {
                        gone.push(handlers.swap_remove(at));
                        continue;
                    }
                };
                match value {
                    Some(value) => ready.push((handlers.swap_remove(at), value)),
                    None => at += 1,
                }
            }
            ready
        };
        drop(gone);
        let calls = ready.len();
        if calls != 0 {
            before();
        }
        for (mut handler, value) in ready {
            let keep = (handler.callback)(value);
            match handler.watch {
                Some(_) if keep => self.handlers.lock(self.park()).push(handler),
                Some(watch) => unregister(&watch.get(self)),
                None => {}
            }
        }
        calls
    }

    /// Has the thread that calls look around.
    pub fn poke(&self) {
        if self.threaded.load(Ordering::Acquire)
            && let Ok(control) = self.slot(self.control)
        {
            control.signal.add(1, MemoryOrder::Release);
            self.wake_after_rmw(control);
        }
    }

    /// Says that a thread will be in [`Reactor::run`].
    pub fn set_threaded(&self, on: bool) {
        if let Ok(control) = self.slot(self.control) {
            control.waiters.store(u32::from(on), Ordering::SeqCst);
        }
        self.threaded.store(on, Ordering::Release);
        self.park().heavy_barrier();
    }

    /// Ends [`Reactor::run`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.poke();
    }

    /// Calls handlers and what is due until [`Reactor::stop`]: the body of the runtime's thread.
    pub fn run(&self) {
        let Ok(control) = self.slot(self.control) else {
            return;
        };
        loop {
            let seen = control.signal.load(MemoryOrder::Acquire);
            if self.stop.load(Ordering::Acquire) {
                self.keeper_leaves();
                return;
            }
            if self.has_pending() {
                self.keeper_leaves();
                self.run_pending();
                continue;
            }
            if self.run_handlers_after(|| self.keeper_leaves()) != 0 {
                continue;
            }
            let held: Vec<HeldWatch> = {
                let handlers = self.handlers.lock(self.park());
                handlers.iter().filter_map(|h| h.watch).collect()
            };
            let watches: Vec<Watch<'_>> =
                core::iter::once(Self::watch(control, Condition::Ne, seen))
                    .chain(held.iter().map(|watch| watch.get(self)))
                    .collect();
            self.keep(&watches);
        }
    }
}
