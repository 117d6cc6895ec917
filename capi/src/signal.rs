//! Chapter signals: creating, every operation in every memory order, waiting, groups.
//!
//! Operations are on the path of every dispatch: they take no lock, and of the runtime they need only
//! the arena that knows which addresses are signals.

use crate::abi::{Agent, Signal, SignalCondition, SignalGroup as GroupHandle, Status, WaitState};
use crate::amd::intercept;
use crate::arg::{In, Out};
use crate::entry::{Result, entry, value};
use crate::runtime::{State, SystemBackend, SystemRuntime};
use crate::state::{open, ring_register, with_runtime, with_slot};
use core::sync::atomic::{Ordering, compiler_fence};
use rukh_core::backend::Timeout;
use rukh_core::runtime::{SignalError, SignalRef, WaitCondition, WaitHint};
use rukh_core::signal::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release};
use rukh_core::signal::{Condition, SignalFlags, SignalHandle, SignalOps};
use rukh_core::wire::signal::{AmdSignal, SignalKind};
use std::sync::Arc;

type Ref<'a> = SignalRef<'a, SystemBackend>;

impl Signal {
    /// As core names it.
    pub const fn core(self) -> SignalHandle {
        SignalHandle(self.handle)
    }
}

/// Finds a signal; null is an argument of another kind of wrong.
pub fn find(state: &State, signal: Signal) -> Result<Ref<'_>> {
    find_in(&state.runtime, signal)
}

#[inline(always)]
fn find_in(runtime: &SystemRuntime, signal: Signal) -> Result<Ref<'_>> {
    // Null is in no arena.
    match runtime.signal(signal.core()) {
        Ok(found) => Ok(found),
        Err(error) => Err(not_found(signal, &error)),
    }
}

#[cold]
fn not_found(signal: Signal, error: &SignalError) -> Status {
    match signal.handle {
        0 => Status::INVALID_ARGUMENT,
        _ => error.clone().into(),
    }
}

/// Finds signals that another call is to wait for; null ones are left out.
pub fn dependencies(state: &State, count: u32, signals: In<Signal>) -> Result<Vec<SignalHandle>> {
    let mut found = Vec::new();
    for signal in signals.list(count as usize)? {
        if signal.handle != 0 {
            found.push(find(state, signal)?.handle());
        }
    }
    Ok(found)
}

/// Checks a list of agents that only tells who will use something: agents that there are, none of them twice.
fn check_consumers(state: &State, count: u32, consumers: In<Agent>) -> Result {
    let agents = consumers.list(count as usize)?;
    for (at, agent) in agents.iter().enumerate() {
        state.agent(*agent)?;
        if agents[..at].contains(agent) {
            return Err(Status::INVALID_ARGUMENT);
        }
    }
    Ok(())
}

/// Creates a signal.
pub fn create(
    state: &State,
    initial: i64,
    count: u32,
    consumers: In<Agent>,
    flags: SignalFlags,
    signal: Out<Signal>,
) -> Result {
    let place = signal.required()?;
    check_consumers(state, count, consumers)?;
    let shared = if flags.contains(SignalFlags::IPC) {
        // One that cannot be shared, or of which there are too many, is a signal all the same: sharing it is refused.
        state.runtime.create_shared_signal(initial, flags).ok()
    } else {
        None
    };
    let handle = match shared {
        Some(handle) => handle,
        None => state.runtime.create_signal_handle(initial, flags)?,
    };
    place.put(Signal { handle: handle.0 });
    Ok(())
}

/// When a wait ends that may last this many system ticks from now.
pub fn timeout(state: &State, hint: u64) -> Timeout {
    match hint {
        0 => Timeout::Poll,
        u64::MAX => Timeout::Never,
        ticks => match state.now().checked_add(ticks) {
            Some(end) => Timeout::At(end),
            None => Timeout::Never,
        },
    }
}

/// How a wait is to pass its time; what is no hint is none.
pub const fn hint(raw: u32) -> WaitHint {
    match WaitState::from_raw(raw) {
        Some(WaitState::Active) => WaitHint::Active,
        Some(WaitState::Blocked) | None => WaitHint::Blocked,
    }
}

/// A condition that a client names.
pub fn condition(raw: u32) -> Result<Condition> {
    Ok(
        match SignalCondition::from_raw(raw).ok_or(Status::INVALID_ARGUMENT)? {
            SignalCondition::Eq => Condition::Eq,
            SignalCondition::Ne => Condition::Ne,
            SignalCondition::Lt => Condition::Lt,
            SignalCondition::Gte => Condition::Gte,
        },
    )
}

fn wait(
    signal: Signal,
    raw_condition: u32,
    compare: i64,
    ticks: u64,
    state_hint: u32,
) -> Result<i64> {
    let condition = condition(raw_condition)?;
    let now = load(signal, Acquire)?;
    if condition.holds(now, compare) {
        return Ok(now);
    }
    // A reference of its own: it may last.
    let state = open()?;
    let limit = timeout(&state, ticks);
    match find(&state, signal)?.wait(condition, compare, limit, hint(state_hint)) {
        Ok(outcome) => Ok(outcome.value()),
        // Destroying a signal ends its waits; there is no value left to give.
        Err(SignalError::Destroyed { .. }) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Operations on signals, each in two parts: the short way, in place, of signals with a value among the first ones,
/// and the whole way for all others, out of line.
///
/// After a change the waiters are looked at, with nothing but the compiler's order between: where that is
/// not enough, there is no short way ([`Runtime::first_signals`](rukh_core::runtime::Runtime::first_signals)).
#[inline(always)]
fn modify<T>(
    signal: Signal,
    short: impl FnOnce(&AmdSignal) -> T,
    whole: impl FnOnce(Ref<'_>) -> T,
) -> Result<T> {
    let done = with_slot(signal.handle, |slot| {
        if !slot.is_user() {
            return None;
        }
        let old = short(&slot.signal);
        compiler_fence(Ordering::SeqCst);
        Some((old, slot.waiters.load(Ordering::Relaxed)))
    });
    match done {
        Some((old, 0)) => Ok(old),
        Some((old, _)) => {
            wake(signal);
            Ok(old)
        }
        None => find_and(signal, whole),
    }
}

#[cold]
#[inline(never)]
fn find_and<T>(signal: Signal, operation: impl FnOnce(Ref<'_>) -> T) -> Result<T> {
    with_runtime(|runtime| Ok(operation(find_in(runtime, signal)?)))
}

/// Wakes waiters. The change is made: if the signal or the runtime is gone by now, they are woken already.
#[cold]
#[inline(never)]
fn wake(signal: Signal) {
    let _ = with_runtime(|runtime| {
        runtime.wake(signal.core());
        Ok(())
    });
}

#[inline(always)]
fn load(signal: Signal, order: MemoryOrder) -> Result<i64> {
    let value = with_slot(signal.handle, |slot| {
        slot.is_user().then(|| slot.signal.load(order))
    });
    match value {
        Some(value) => Ok(value),
        None => find_and(signal, |signal| signal.load(order)),
    }
}

#[inline(always)]
fn store(signal: Signal, value: i64, order: MemoryOrder) -> Result {
    let waiters = with_slot(signal.handle, |slot| {
        if slot.is_user() {
            slot.signal.store(value, order);
            compiler_fence(Ordering::SeqCst);
            Some(slot.waiters.load(Ordering::Relaxed))
        } else {
            // Not of a slot that is free, whatever it holds.
            let doorbell = slot.signal.kind.load(Ordering::Relaxed) == SignalKind::Doorbell as i64;
            (doorbell && ring_register(slot, value)).then_some(0)
        }
    });
    match waiters {
        Some(0) => {}
        Some(_) => wake(signal),
        None => find_and(signal, |signal| signal.store(value, order))?,
    }
    intercept::rung(signal);
    Ok(())
}

#[inline(always)]
fn silent_store(signal: Signal, value: i64, order: MemoryOrder) -> Result {
    let done = with_slot(signal.handle, |slot| {
        slot.is_user().then(|| slot.signal.store(value, order))
    });
    match done {
        Some(()) => Ok(()),
        None => find_and(signal, |signal| signal.silent_store(value, order)),
    }
}

#[inline(always)]
fn exchange(signal: Signal, value: i64, order: MemoryOrder) -> Result<i64> {
    modify(
        signal,
        |signal| signal.exchange(value, order),
        |signal| signal.exchange(value, order),
    )
}

#[inline(always)]
fn cas(signal: Signal, expected: i64, value: i64, order: MemoryOrder) -> Result<i64> {
    modify(
        signal,
        |signal| signal.cas(expected, value, order),
        |signal| signal.cas(expected, value, order),
    )
}

entry! {
    /// `hsa_signal_create`: a signal with a value. Every agent may use it.
    fn hsa_signal_create(state; initial_value: i64, num_consumers: u32, consumers: In<Agent>,
        signal: Out<Signal>) {
        create(&state, initial_value, num_consumers, consumers, SignalFlags::empty(), signal)
    }

    /// `hsa_signal_destroy`: waits on it end.
    fn hsa_signal_destroy(state; signal: Signal) {
        if signal.handle == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        Ok(state.runtime.destroy_signal(signal.core())?)
    }
}

value! {
    /// `hsa_signal_load_scacquire`.
    fn hsa_signal_load_scacquire alias hsa_signal_load_acquire (signal: Signal) -> i64 { load(signal, Acquire) }
    /// `hsa_signal_load_relaxed`.
    fn hsa_signal_load_relaxed(signal: Signal) -> i64 { load(signal, Relaxed) }
    /// `hsa_signal_store_relaxed`: replaces the value, or rings a queue's doorbell.
    fn hsa_signal_store_relaxed(signal: Signal, value: i64) { store(signal, value, Relaxed) }
    /// `hsa_signal_store_screlease`: replaces the value, or rings a queue's doorbell.
    fn hsa_signal_store_screlease alias hsa_signal_store_release (signal: Signal, value: i64) {
        store(signal, value, Release)
    }
    /// `hsa_signal_silent_store_relaxed`: replaces the value and wakes nobody.
    fn hsa_signal_silent_store_relaxed(signal: Signal, value: i64) { silent_store(signal, value, Relaxed) }
    /// `hsa_signal_silent_store_screlease`: replaces the value and wakes nobody.
    fn hsa_signal_silent_store_screlease(signal: Signal, value: i64) { silent_store(signal, value, Release) }

    /// `hsa_signal_exchange_scacq_screl`: gives the old value.
    fn hsa_signal_exchange_scacq_screl alias hsa_signal_exchange_acq_rel (signal: Signal, value: i64) -> i64 {
        exchange(signal, value, AcqRel)
    }
    /// `hsa_signal_exchange_scacquire`: gives the old value.
    fn hsa_signal_exchange_scacquire alias hsa_signal_exchange_acquire (signal: Signal, value: i64) -> i64 {
        exchange(signal, value, Acquire)
    }
    /// `hsa_signal_exchange_relaxed`: gives the old value.
    fn hsa_signal_exchange_relaxed(signal: Signal, value: i64) -> i64 { exchange(signal, value, Relaxed) }
    /// `hsa_signal_exchange_screlease`: gives the old value.
    fn hsa_signal_exchange_screlease alias hsa_signal_exchange_release (signal: Signal, value: i64) -> i64 {
        exchange(signal, value, Release)
    }

    /// `hsa_signal_cas_scacq_screl`: gives the value found.
    fn hsa_signal_cas_scacq_screl alias hsa_signal_cas_acq_rel (signal: Signal, expected: i64, value: i64) -> i64 {
        cas(signal, expected, value, AcqRel)
    }
    /// `hsa_signal_cas_scacquire`: gives the value found.
    fn hsa_signal_cas_scacquire alias hsa_signal_cas_acquire (signal: Signal, expected: i64, value: i64) -> i64 {
        cas(signal, expected, value, Acquire)
    }
    /// `hsa_signal_cas_relaxed`: gives the value found.
    fn hsa_signal_cas_relaxed(signal: Signal, expected: i64, value: i64) -> i64 {
        cas(signal, expected, value, Relaxed)
    }
    /// `hsa_signal_cas_screlease`: gives the value found.
    fn hsa_signal_cas_screlease alias hsa_signal_cas_release (signal: Signal, expected: i64, value: i64) -> i64 {
        cas(signal, expected, value, Release)
    }

    /// `hsa_signal_wait_scacquire`: gives the value last seen, whether the condition holds or the time is over.
    fn hsa_signal_wait_scacquire alias hsa_signal_wait_acquire (signal: Signal, condition: u32,
        compare_value: i64, timeout_hint: u64, wait_state_hint: u32) -> i64 {
        wait(signal, condition, compare_value, timeout_hint, wait_state_hint)
    }
    /// `hsa_signal_wait_relaxed`: as [`hsa_signal_wait_scacquire`], which orders more than was asked for.
    fn hsa_signal_wait_relaxed(signal: Signal, condition: u32, compare_value: i64,
        timeout_hint: u64, wait_state_hint: u32) -> i64 {
        wait(signal, condition, compare_value, timeout_hint, wait_state_hint)
    }
}

/// What those that answer nothing do with the old value.
#[inline(always)]
const fn drop_old(_old: i64) {}

/// The read-modify-write operations that answer nothing, each in four orders and three old names.
macro_rules! changes {
    ($($method:ident: $both:ident $old_both:ident, $acquire:ident $old_acquire:ident, $relaxed:ident,
        $release:ident $old_release:ident;)*) => {$(
        value! {
            #[doc = concat!("`", stringify!($both), "`.")]
            fn $both alias $old_both (signal: Signal, value: i64) {
                modify(signal, |signal| drop_old(signal.$method(value, AcqRel)), |signal| drop_old(signal.$method(value, AcqRel)))
            }
            #[doc = concat!("`", stringify!($acquire), "`.")]
            fn $acquire alias $old_acquire (signal: Signal, value: i64) {
                modify(signal, |signal| drop_old(signal.$method(value, Acquire)), |signal| drop_old(signal.$method(value, Acquire)))
            }
            #[doc = concat!("`", stringify!($relaxed), "`.")]
            fn $relaxed(signal: Signal, value: i64) {
                modify(signal, |signal| drop_old(signal.$method(value, Relaxed)), |signal| drop_old(signal.$method(value, Relaxed)))
            }
            #[doc = concat!("`", stringify!($release), "`.")]
            fn $release alias $old_release (signal: Signal, value: i64) {
                modify(signal, |signal| drop_old(signal.$method(value, Release)), |signal| drop_old(signal.$method(value, Release)))
            }
        }
    )*};
}

changes! {
    add: hsa_signal_add_scacq_screl hsa_signal_add_acq_rel, hsa_signal_add_scacquire hsa_signal_add_acquire,
        hsa_signal_add_relaxed, hsa_signal_add_screlease hsa_signal_add_release;
    subtract: hsa_signal_subtract_scacq_screl hsa_signal_subtract_acq_rel,
        hsa_signal_subtract_scacquire hsa_signal_subtract_acquire, hsa_signal_subtract_relaxed,
        hsa_signal_subtract_screlease hsa_signal_subtract_release;
    and: hsa_signal_and_scacq_screl hsa_signal_and_acq_rel, hsa_signal_and_scacquire hsa_signal_and_acquire,
        hsa_signal_and_relaxed, hsa_signal_and_screlease hsa_signal_and_release;
    or: hsa_signal_or_scacq_screl hsa_signal_or_acq_rel, hsa_signal_or_scacquire hsa_signal_or_acquire,
        hsa_signal_or_relaxed, hsa_signal_or_screlease hsa_signal_or_release;
    xor: hsa_signal_xor_scacq_screl hsa_signal_xor_acq_rel, hsa_signal_xor_scacquire hsa_signal_xor_acquire,
        hsa_signal_xor_relaxed, hsa_signal_xor_screlease hsa_signal_xor_release;
}

/// Signals that are waited for together.
#[derive(Debug)]
pub struct SignalGroup {
    signals: Vec<Signal>,
}

fn group_wait_any(
    state: &State,
    group: GroupHandle,
    conditions: In<u32>,
    compare_values: In<i64>,
    state_hint: u32,
    (signal, value): (Out<Signal>, Out<i64>),
) -> Result {
    let invalid = Status::INVALID_SIGNAL_GROUP;
    let group = group
        .parts()
        .and_then(|parts| state.groups.get(parts))
        .ok_or(invalid)?;
    let (signal, value) = (signal.required()?, value.required()?);
    let conditions = conditions.list(group.signals.len())?;
    let values = compare_values.list(group.signals.len())?;
    let waits = wait_conditions(&group.signals, &conditions, &values)?;
    let met = state
        .runtime
        .wait_any(&waits, Timeout::Never, hint(state_hint))?;
    let (index, found) = met.ok_or(Status::ERROR)?;
    signal.put(*group.signals.get(index).ok_or(Status::ERROR)?);
    value.put(found);
    Ok(())
}

/// Puts together what is waited for, as three parallel lists name it.
pub fn wait_conditions(
    signals: &[Signal],
    conditions: &[u32],
    values: &[i64],
) -> Result<Vec<WaitCondition>> {
    let lists = signals.iter().zip(conditions).zip(values);
    lists
        .map(|((signal, raw), value)| {
            Ok(WaitCondition {
                signal: signal.core(),
                condition: condition(*raw)?,
                value: *value,
            })
        })
        .collect()
}

entry! {
    /// `hsa_signal_group_create`: names signals to wait for together.
    fn hsa_signal_group_create(state; num_signals: u32, signals: In<Signal>, num_consumers: u32,
        consumers: In<Agent>, signal_group: Out<GroupHandle>) {
        let place = signal_group.required()?;
        // The specification has no groups without consumers, though AMD's runtime takes them.
        if num_signals == 0 || num_consumers == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let signals = signals.list(num_signals as usize)?;
        for signal in &signals {
            find(&state, *signal)?;
        }
        check_consumers(&state, num_consumers, consumers)?;
        let parts = state.groups.insert(Arc::new(SignalGroup { signals }));
        place.put(parts.and_then(GroupHandle::from_parts).ok_or(Status::OUT_OF_RESOURCES)?);
        Ok(())
    }

    /// `hsa_signal_group_destroy`: the signals stay.
    fn hsa_signal_group_destroy(state; signal_group: GroupHandle) {
        let invalid = Status::INVALID_SIGNAL_GROUP;
        let parts = signal_group.parts().ok_or(invalid)?;
        state.groups.remove(parts).map(drop).ok_or(invalid)
    }

    /// `hsa_signal_group_wait_any_scacquire`: waits until a condition holds; gives its signal and value.
    fn hsa_signal_group_wait_any_scacquire(state; signal_group: GroupHandle, conditions: In<u32>,
        compare_values: In<i64>, wait_state_hint: u32, signal: Out<Signal>, value: Out<i64>) {
        group_wait_any(&state, signal_group, conditions, compare_values, wait_state_hint, (signal, value))
    }

    /// `hsa_signal_group_wait_any_relaxed`: as [`hsa_signal_group_wait_any_scacquire`].
    fn hsa_signal_group_wait_any_relaxed(state; signal_group: GroupHandle, conditions: In<u32>,
        compare_values: In<i64>, wait_state_hint: u32, signal: Out<Signal>, value: Out<i64>) {
        group_wait_any(&state, signal_group, conditions, compare_values, wait_state_hint, (signal, value))
    }
}
