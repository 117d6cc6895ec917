//! Signals as clients use them: owned ones, handles, operations that wake, waits.

use super::Runtime;
use super::error::SignalError;
use super::reactor::Reactor;
use super::reactor::handlers::{HandlerId, SignalCallback};
use super::reactor::waiters::{How, WaitHint, Waited, Watch};
use crate::backend::{Backend, Timeout};
use crate::signal::slot::KIND_CALLBACK_DOORBELL;
use crate::signal::{
    Condition, MemoryOrder, SignalFlags, SignalHandle, SignalKind, SignalOps, SignalSlot,
};
use crate::wire::signal::AmdSignal;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// A signal by handle and what is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitCondition {
    /// The signal. A null handle is skipped: it never ends a wait for any, and does not keep a wait for all.
    pub signal: SignalHandle,
    /// How to compare.
    pub condition: Condition,
    /// What to compare with.
    pub value: i64,
}

/// How a wait on one signal ended, with the value last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitOutcome {
    /// The condition held for this value.
    Met(i64),
    /// The time was over.
    TimedOut(i64),
}

impl WaitOutcome {
    /// The value last seen, as `hsa_signal_wait_*` returns it.
    pub const fn value(self) -> i64 {
        match self {
            Self::Met(value) | Self::TimedOut(value) => value,
        }
    }

    /// Whether the condition held.
    pub const fn is_met(self) -> bool {
        matches!(self, Self::Met(_))
    }
}

/// A signal of a runtime, found by its handle: the operations of the HSA specification, which wake
/// whoever sleeps for the value.
///
/// Of a doorbell, stores ring it and everything else does nothing and gives 0.
pub struct SignalRef<'r, B: Backend + ?Sized> {
    reactor: &'r Reactor<B>,
    slot: &'r SignalSlot,
    user: bool,
}

impl<B: Backend + ?Sized> Clone for SignalRef<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend + ?Sized> Copy for SignalRef<'_, B> {}

impl<B: Backend + ?Sized> core::fmt::Debug for SignalRef<'_, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SignalRef")
            .field("slot", self.slot)
            .finish()
    }
}

macro_rules! modify {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),+);)+) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(self, $($arg: i64,)+ order: MemoryOrder) -> i64 {
            if !self.user {
                return 0;
            }
            let old = SignalOps::$name(&self.slot.signal, $($arg,)+ order);
            self.reactor.wake_after_rmw(self.slot);
            old
        }
    )+};
}

impl<'r, B: Backend + ?Sized> SignalRef<'r, B> {
    #[inline]
    fn new(reactor: &'r Reactor<B>, handle: SignalHandle) -> Result<Self, SignalError> {
        let slot = reactor.slot(handle)?;
        Ok(Self {
            reactor,
            slot,
            user: slot.is_user(),
        })
    }

    /// Its handle.
    pub fn handle(self) -> SignalHandle {
        self.slot.handle()
    }

    pub(crate) const fn slot(self) -> &'r SignalSlot {
        self.slot
    }

    /// The structure that devices see.
    pub fn amd_signal(self) -> &'r AmdSignal {
        &self.slot.signal
    }

    /// Whether it is a doorbell.
    pub const fn is_doorbell(self) -> bool {
        !self.user
    }

    /// Address of the value, for devices and programs that change it without an operation. They
    /// wake nobody: signals that are changed so are created with [`SignalFlags::BUSY`].
    pub fn value_address(self) -> u64 {
        core::ptr::from_ref(&self.slot.signal.value).expose_provenance() as u64
    }

    /// When the packet that completed on this signal last started and ended, in ticks of its
    /// device's clock; zeros if its queue was not profiled.
    pub fn timestamps(self) -> (u64, u64) {
        (
            self.slot.signal.start_ts.load(Ordering::Relaxed),
            self.slot.signal.end_ts.load(Ordering::Relaxed),
        )
    }

    /// The value.
    #[inline]
    pub fn load(self, order: MemoryOrder) -> i64 {
        if self.user {
            self.slot.signal.load(order)
        } else {
            0
        }
    }

    /// Replaces the value, or rings the doorbell.
    #[inline]
    pub fn store(self, value: i64, order: MemoryOrder) {
        if self.user {
            self.slot.signal.store(value, order);
            self.reactor.wake_after_store(self.slot);
        } else {
            self.reactor.ring(self.slot, value as u64);
        }
    }

    /// Replaces the value and wakes nobody (`hsa_signal_silent_store_*`).
    #[inline]
    pub fn silent_store(self, value: i64, order: MemoryOrder) {
        if self.user {
            self.slot.signal.store(value, order);
        }
    }

    modify! {
        /// Replaces the value; gives the old one.
        exchange(value);
        /// Replaces the value if it is `expected`; gives the value found.
        cas(expected, value);
        /// Adds, wrapping; gives the old value.
        add(value);
        /// Subtracts, wrapping; gives the old value.
        subtract(value);
        /// Bitwise and; gives the old value.
        and(value);
        /// Bitwise or; gives the old value.
        or(value);
        /// Bitwise exclusive or; gives the old value.
        xor(value);
    }

    /// Waits until `(value condition compare)` holds or the time is over. What was written before
    /// the value was is visible afterwards.
    ///
    /// # Errors
    /// [`SignalError::Doorbell`], [`SignalError::Destroyed`].
    pub fn wait(
        self,
        condition: Condition,
        compare: i64,
        timeout: Timeout,
        hint: WaitHint,
    ) -> Result<WaitOutcome, SignalError> {
        let handle = self.handle();
        if !self.user {
            return Err(SignalError::Doorbell { handle });
        }
        let watch = Reactor::<B>::watch(self.slot, condition, compare);
        let how = How {
            all: false,
            timeout,
            hint,
        };
        match self.reactor.wait(&[watch], how) {
            Waited::Met(_, value) => Ok(WaitOutcome::Met(value)),
            Waited::TimedOut => Ok(WaitOutcome::TimedOut(
                self.slot.signal.load(MemoryOrder::Relaxed),
            )),
            Waited::Gone(_) => Err(SignalError::Destroyed { handle }),
        }
    }
}

/// A signal that is destroyed when this is dropped.
pub struct Signal<B: Backend + ?Sized> {
    runtime: Arc<Runtime<B>>,
    handle: SignalHandle,
}

impl<B: Backend + ?Sized> Signal<B> {
    /// Its handle, which packets and C clients use.
    pub const fn handle(&self) -> SignalHandle {
        self.handle
    }

    /// Its operations.
    pub fn get(&self) -> SignalRef<'_, B> {
        let reactor = self.runtime.reactor();
        match SignalRef::new(reactor, self.handle) {
            Ok(signal) => signal,
            // Only whoever destroys the handle of an owned signal gets here: a signal that reads as
            // 0 and ignores stores.
            Err(_) => SignalRef {
                reactor,
                slot: self.runtime.dead_signal(),
                user: false,
            },
        }
    }

    /// The value.
    pub fn load(&self, order: MemoryOrder) -> i64 {
        self.get().load(order)
    }

    /// Replaces the value.
    pub fn store(&self, value: i64, order: MemoryOrder) {
        self.get().store(value, order);
    }

    /// Waits; see [`SignalRef::wait`].
    ///
    /// # Errors
    /// As [`SignalRef::wait`].
    pub fn wait(
        &self,
        condition: Condition,
        compare: i64,
        timeout: Timeout,
    ) -> Result<WaitOutcome, SignalError> {
        self.get()
            .wait(condition, compare, timeout, WaitHint::Blocked)
    }

    /// Gives the handle away; [`Runtime::destroy_signal`] ends it.
    #[must_use]
    pub fn into_handle(self) -> SignalHandle {
        let handle = self.handle;
        let mut this = core::mem::ManuallyDrop::new(self);
        // SAFETY: the value is not used or dropped again; its other field needs no drop.
        unsafe { core::ptr::drop_in_place(&raw mut this.runtime) };
        handle
    }
}

impl<B: Backend + ?Sized> Drop for Signal<B> {
    fn drop(&mut self) {
        // Refused only if somebody destroyed the handle; then there is nothing left to do.
        let _ = self.runtime.destroy_signal(self.handle);
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Signal<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Signal")
            .field("handle", &self.handle)
            .finish()
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// A signal that lives until it is dropped.
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn create_signal(self: &Arc<Self>, initial: i64) -> Result<Signal<B>, SignalError> {
        Ok(Signal {
            handle: self.create_signal_handle(initial, SignalFlags::empty())?,
            runtime: self.clone(),
        })
    }

    /// A signal that lives until [`Runtime::destroy_signal`].
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn create_signal_handle(
        &self,
        initial: i64,
        flags: SignalFlags,
    ) -> Result<SignalHandle, SignalError> {
        Ok(self.reactor().create_slot(initial, flags)?.handle())
    }

    /// Destroys a signal. Waits on it end with [`SignalError::Destroyed`].
    ///
    /// # Errors
    /// [`SignalError::BadHandle`]; [`SignalError::Doorbell`] for a queue's, which goes with the queue.
    pub fn destroy_signal(&self, handle: SignalHandle) -> Result<(), SignalError> {
        let slot = match self.reactor().slot(handle) {
            Ok(slot) => slot,
            Err(_) if self.reactor().arena.leave_shared(handle) => {
                self.forget_shared_signal(handle);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if !slot.is_user() {
            return Err(SignalError::Doorbell { handle });
        }
        let shared = slot.flags().contains(SignalFlags::IPC);
        if self.reactor().destroy_slot(slot) {
            if shared {
                self.forget_shared_signal(handle);
            }
            Ok(())
        } else {
            Err(SignalError::BadHandle { handle })
        }
    }

    /// Where the signals of the first chunk lie, and how many slots it has, for clients that look signals up
    /// without the runtime. None where a store to a signal needs more than [`Runtime::wake`] after a look
    /// at [`SignalSlot::waiters`], with no fence between the two.
    pub fn first_signals(&self) -> Option<(NonNull<SignalSlot>, u32)> {
        let reactor = self.reactor();
        reactor
            .has_light_stores()
            .then(|| reactor.arena.first_chunk())?
    }

    /// Rings the doorbell that a signal stands for, if it is a register; gives whether it was.
    #[inline]
    pub fn ring_register(&self, slot: &SignalSlot, value: u64) -> bool {
        self.reactor().ring_register(slot, value)
    }

    /// Wakes who waits for a signal whose value was changed without an operation of [`SignalRef`]'s. A handle that
    /// names none wakes nobody.
    pub fn wake(&self, handle: SignalHandle) {
        if let Ok(slot) = self.reactor().slot(handle) {
            self.reactor().notify(slot);
        }
    }

    /// The signal that a handle names.
    ///
    /// # Errors
    /// [`SignalError::BadHandle`].
    #[inline]
    pub fn signal(&self, handle: SignalHandle) -> Result<SignalRef<'_, B>, SignalError> {
        SignalRef::new(self.reactor(), handle)
    }

    /// Waits until one of the conditions holds; gives its index and value, or None if the time was over.
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn wait_any(
        &self,
        conditions: &[WaitCondition],
        timeout: Timeout,
        hint: WaitHint,
    ) -> Result<Option<(usize, i64)>, SignalError> {
        let (watches, indices) = self.watches(conditions)?;
        let how = How {
            all: false,
            timeout,
            hint,
        };
        match self.reactor().wait(&watches, how) {
            Waited::Met(at, value) => Ok(Some((indices[at], value))),
            Waited::TimedOut => Ok(None),
            Waited::Gone(at) => Err(SignalError::Destroyed {
                handle: conditions[indices[at]].signal,
            }),
        }
    }

    /// Waits until all conditions hold at one look; gives whether they did.
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn wait_all(
        &self,
        conditions: &[WaitCondition],
        timeout: Timeout,
        hint: WaitHint,
    ) -> Result<bool, SignalError> {
        let (watches, indices) = self.watches(conditions)?;
        if watches.is_empty() {
            return Ok(true);
        }
        let how = How {
            all: true,
            timeout,
            hint,
        };
        match self.reactor().wait(&watches, how) {
            Waited::Met(..) => Ok(true),
            Waited::TimedOut => Ok(false),
            Waited::Gone(at) => Err(SignalError::Destroyed {
                handle: conditions[indices[at]].signal,
            }),
        }
    }

    fn watches(
        &self,
        conditions: &[WaitCondition],
    ) -> Result<(Vec<Watch<'_>>, Vec<usize>), SignalError> {
        let mut watches = Vec::with_capacity(conditions.len());
        let mut indices = Vec::with_capacity(conditions.len());
        for (index, condition) in conditions.iter().enumerate() {
            let handle = condition.signal;
            if handle.is_null() {
                continue;
            }
            let slot = self.reactor().slot(handle)?;
            if !slot.is_user() {
                return Err(SignalError::Doorbell { handle });
            }
            watches.push(Reactor::<B>::watch(
                slot,
                condition.condition,
                condition.value,
            ));
            indices.push(index);
        }
        Ok((watches, indices))
    }
}

impl<B: Backend + ?Sized + 'static> Runtime<B> {
    /// Calls `callback` with the value when `(value condition compare)` holds, and again as
    /// long as it gives true. Called by the runtime's thread, or by whoever
    /// [polls](Runtime::poll); with no lock held, so it may use the runtime, even wait.
    ///
    /// If the signal is destroyed first, the callback is dropped.
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn on_signal(
        self: &Arc<Self>,
        handle: SignalHandle,
        condition: Condition,
        compare: i64,
        callback: SignalCallback,
    ) -> Result<HandlerId, SignalError> {
        if !self.reactor().slot(handle)?.is_user() {
            return Err(SignalError::Doorbell { handle });
        }
        self.start_thread()?;
        self.reactor()
            .add_handler(Some((handle, condition, compare)), callback)
    }

    /// Calls `function` soon, from where handlers are called.
    ///
    /// # Errors
    /// See [`SignalError`].
    pub fn call_soon(
        self: &Arc<Self>,
        function: Box<dyn FnOnce() + Send>,
    ) -> Result<HandlerId, SignalError> {
        self.start_thread()?;
        let mut function = Some(function);
        self.reactor().add_handler(
            None,
            Box::new(move |_| {
                if let Some(function) = function.take() {
                    function();
                }
                false
            }),
        )
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// Takes a handler back; false if it has ended or is being called.
    pub fn remove_handler(&self, id: HandlerId) -> bool {
        self.reactor().remove_handler(id)
    }

    /// Serves events, queues and handlers once without sleeping; gives how many callbacks were called.
    /// For runtimes without a thread: call it now and then.
    pub fn poll(&self) -> usize {
        self.reactor().poll_events();
        self.reactor().run_pending() + self.reactor().run_handlers()
    }
}

/// The kind that a doorbell's signal has.
pub(crate) const fn doorbell_kind(register: bool) -> i64 {
    if register {
        SignalKind::Doorbell as i64
    } else {
        KIND_CALLBACK_DOORBELL
    }
}
