//! AMD's additions to signals: attributes, handlers, waiting for several.

use crate::abi::{Agent, AsyncFunction, Signal, SignalHandler, Status};
use crate::arg::{In, Out};
use crate::entry::{Result, entry, value};
use crate::runtime::ClientPointer;
use crate::signal::{condition, create, find, hint, timeout, wait_conditions};
use crate::state::open;
use core::ffi::c_void;
use rukh_core::runtime::SignalError;
use rukh_core::signal::SignalFlags;

/// `hsa_amd_signal_attribute_t`
const GPU_ONLY: u64 = 1;
const IPC: u64 = 2;

/// What a wait for several signals answers if the time was over.
const NONE: u32 = u32::MAX;

entry! {
    /// `hsa_amd_signal_create`: a signal with attributes.
    fn hsa_amd_signal_create(state; initial_value: i64, num_consumers: u32, consumers: In<Agent>,
        attributes: u64, signal: Out<Signal>) {
        if attributes & !(GPU_ONLY | IPC) != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut flags = SignalFlags::empty();
        flags.set(SignalFlags::BUSY, attributes & GPU_ONLY != 0);
        flags.set(SignalFlags::IPC, attributes & IPC != 0);
        create(&state, initial_value, num_consumers, consumers, flags, signal)
    }

    /// `hsa_amd_signal_value_pointer`: the address of the value, for signals that no event announces.
    fn hsa_amd_signal_value_pointer(state; signal: Signal, value_ptr: Out<*mut i64>) {
        let place = value_ptr.required()?;
        let signal = find(&state, signal)?;
        if signal.is_doorbell() {
            return Err(Status::INVALID_ARGUMENT);
        }
        place.put(core::ptr::with_exposed_provenance_mut(signal.value_address() as usize));
        Ok(())
    }

    /// `hsa_amd_signal_async_handler`: calls back when a condition holds, as long as the handler answers true.
    fn hsa_amd_signal_async_handler(state; signal: Signal, cond: u32, value: i64,
        handler: SignalHandler, arg: *mut c_void) {
        let handler = handler.ok_or(Status::INVALID_ARGUMENT)?;
        let arg = ClientPointer(arg);
        let condition = condition(cond)?;
        find(&state, signal).map_err(|_| Status::INVALID_SIGNAL)?;
        state.runtime.on_signal(
            signal.core(),
            condition,
            value,
            // SAFETY: a function of this type, by the contract of this export.
            Box::new(move |value| unsafe { handler(value, arg.get()) }),
        )?;
        Ok(())
    }

    /// `hsa_amd_async_function`: calls a function once, soon, on the runtime's thread.
    fn hsa_amd_async_function(state; callback: AsyncFunction, arg: *mut c_void) {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let arg = ClientPointer(arg);
        state.runtime.call_soon(Box::new(move || {
            // SAFETY: a function of this type, by the contract of this export.
            unsafe { callback(arg.get()) };
        }))?;
        Ok(())
    }
}

/// Waits for several signals; gives an index, or [`NONE`].
fn wait_for(
    all: bool,
    count: u32,
    (signals, conditions, values): (In<Signal>, In<u32>, In<i64>),
    (timeout_hint, wait_hint): (u64, u32),
    satisfying: Out<i64>,
) -> Result<u32> {
    let state = open()?;
    let signals = signals.list(count as usize)?;
    let waits = wait_conditions(
        &signals,
        &conditions.list(count as usize)?,
        &values.list(count as usize)?,
    )?;
    if waits.iter().all(|wait| wait.signal.is_null()) {
        return Ok(NONE);
    }
    let (limit, hint) = (timeout(&state, timeout_hint), hint(wait_hint));
    if all {
        return match state.runtime.wait_all(&waits, limit, hint) {
            Ok(true) => {
                if let Some(place) = satisfying.optional() {
                    for (index, wait) in waits.iter().enumerate() {
                        let found = state.runtime.signal(wait.signal);
                        let order = rukh_core::signal::MemoryOrder::Relaxed;
                        place.put_at(index, found.map_or(0, |signal| signal.load(order)));
                    }
                }
                Ok(0)
            }
            Ok(false) | Err(SignalError::Destroyed { .. }) => Ok(NONE),
            Err(error) => Err(error.into()),
        };
    }
    match state.runtime.wait_any(&waits, limit, hint) {
        Ok(Some((index, value))) => {
            if let Some(place) = satisfying.optional() {
                place.put(value);
            }
            Ok(u32::try_from(index).unwrap_or(NONE))
        }
        Ok(None) | Err(SignalError::Destroyed { .. }) => Ok(NONE),
        Err(error) => Err(error.into()),
    }
}

value! {
    /// `hsa_amd_signal_wait_any`: gives the index of a signal whose condition holds, or the largest
    /// number if the time was over.
    fn hsa_amd_signal_wait_any(signal_count: u32, signals: In<Signal>, conds: In<u32>,
        values: In<i64>, timeout_hint: u64, wait_hint: u32, satisfying_value: Out<i64>) -> u32 {
        wait_for(false, signal_count, (signals, conds, values), (timeout_hint, wait_hint), satisfying_value)
    }

    /// `hsa_amd_signal_wait_all`: gives 0 when all conditions hold at once, or the largest number if
    /// the time was over.
    fn hsa_amd_signal_wait_all(signal_count: u32, signals: In<Signal>, conds: In<u32>,
        values: In<i64>, timeout_hint: u64, wait_hint: u32, satisfying_values: Out<i64>) -> u32 {
        wait_for(true, signal_count, (signals, conds, values), (timeout_hint, wait_hint), satisfying_values)
    }
}
