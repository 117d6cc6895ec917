//! Asynchronous copies: after signals have reached zero, bytes are copied and a signal decremented.
//!
//! A copy whose dependencies are met is done at once, by the caller; others are done by the runtime's
//! thread when the last dependency is met.

use crate::abi::{Agent, Dim3, PitchedPtr, Signal, Status};
use crate::arg::{In, Out};
use crate::diag;
use crate::entry::{Result, entry};
use crate::runtime::State;
use crate::signal::{dependencies, find};
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use rukh_core::mem::Address;
use rukh_core::runtime::AllocError;
use rukh_core::signal::{Condition, MemoryOrder, SignalHandle};
use std::sync::{Arc, Weak};

/// `HSA_AMD_SDMA_ENGINE_0` and `_1`: what copies to device memory, and what copies from it.
const INWARD_ENGINE: u32 = 1;
const OUTWARD_ENGINE: u32 = 2;

/// Rows of bytes to copy: one for a plain copy.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    to: Side,
    from: Side,
    row_bytes: u64,
    rows: u64,
    slices: u64,
}

/// One end of a transfer.
#[derive(Clone, Copy, Debug)]
struct Side {
    base: Address,
    pitch: u64,
    slice: u64,
}

impl Side {
    fn linear(base: Address) -> Self {
        Self {
            base,
            pitch: 0,
            slice: 0,
        }
    }

    /// One end of a rectangle copy.
    fn pitched(pointer: PitchedPtr, offset: Dim3, range: Dim3) -> Result<Self> {
        let (pitch, slice) = (pointer.pitch as u64, pointer.slice as u64);
        let fits = pitch >= u64::from(range.x) || range.y <= 1;
        let end = |extent: u32, step: u64| u64::from(extent).checked_mul(step);
        let start = end(offset.y, pitch)
            .zip(end(offset.z, slice))
            .and_then(|(rows, slices)| rows.checked_add(slices))
            .and_then(|start| start.checked_add(offset.x.into()))
            .and_then(|start| (pointer.base.expose_provenance() as u64).checked_add(start));
        let last = end(range.y, pitch).zip(end(range.z, slice));
        match (start, last) {
            (Some(start), Some((rows, slices)))
                if fits
                    && !pointer.base.is_null()
                    && rows
                        .checked_add(slices)
                        .and_then(|size| start.checked_add(size))
                        .is_some() =>
            {
                Ok(Self {
                    base: Address(start),
                    pitch,
                    slice,
                })
            }
            _ => Err(Status::INVALID_ARGUMENT),
        }
    }

    fn row(&self, row: u64, slice: u64) -> Address {
        self.base.offset(row * self.pitch + slice * self.slice)
    }
}

impl Transfer {
    /// Copies.
    ///
    /// # Safety
    /// All rows are valid memory that nothing else writes.
    unsafe fn run(&self, state: &State) -> core::result::Result<(), AllocError> {
        for slice in 0..self.slices {
            for row in 0..self.rows {
                let (to, from) = (self.to.row(row, slice), self.from.row(row, slice));
                // SAFETY: rows of this transfer, by the caller's promise.
                unsafe { state.runtime.copy(to, from, self.row_bytes) }?;
            }
        }
        Ok(())
    }
}

/// Gives a copy to an engine, which decrements the completion signal; false if the host is to copy.
fn submit(
    state: &State,
    transfer: &Transfer,
    done: SignalHandle,
) -> core::result::Result<bool, Status> {
    if (transfer.rows, transfer.slices) != (1, 1) {
        return Ok(false);
    }
    let signal = state.runtime.signal(done)?;
    let stamp = state.copy_profiling.load(Ordering::Relaxed);
    let (to, from) = (transfer.to.base, transfer.from.base);
    // Held until it is known whose clock stamps.
    let clocks = stamp.then(|| state.copy_clocks());
    // SAFETY: the specification of the copying functions demands this of the client.
    let agent = unsafe {
        state
            .runtime
            .copy_async(to, from, transfer.row_bytes, signal, stamp)
    }?;
    if let Some(mut clocks) = clocks {
        match agent {
            Some(agent) => clocks.insert(done.0, agent),
            None => clocks.remove(&done.0),
        };
    }
    Ok(agent.is_some())
}

/// Says that a copy will never be done, as the specification of the asynchronous copies says of errors.
fn fail(state: &State, done: SignalHandle) {
    // A signal that is gone has nobody waiting for it.
    if let Ok(signal) = state.runtime.signal(done) {
        signal.store(-1, MemoryOrder::Release);
    }
}

/// Copies, stamps the times if they are wanted, and decrements the completion signal. A copy that
/// fails sets it to -1.
fn complete(state: &State, transfer: &Transfer, done: SignalHandle) -> Result {
    match submit(state, transfer, done) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(status) => {
            diag::say(format_args!("an asynchronous copy failed: {status:?}"));
            fail(state, done);
            return Err(status);
        }
    }
    let start = state.now();
    // SAFETY: the specification of the copying functions demands this of the client.
    let copied = unsafe { transfer.run(state) };
    let end = state.now();
    let signal = state.runtime.signal(done)?;
    match copied {
        Ok(()) => {
            if state.copy_profiling.load(Ordering::Relaxed) {
                let raw = signal.amd_signal();
                raw.start_ts.store(start, Ordering::Relaxed);
                raw.end_ts.store(end, Ordering::Relaxed);
            }
            signal.subtract(1, MemoryOrder::AcqRel);
            Ok(())
        }
        Err(error) => {
            diag::say(format_args!("an asynchronous copy failed: {error}"));
            fail(state, done);
            Err(error.into())
        }
    }
}

/// A copy that has not begun. One that never will, since a signal was destroyed that it waits for, fails.
struct Waiting {
    state: Weak<State>,
    /// What it waits for; None once it goes on.
    signals: Option<Vec<SignalHandle>>,
    transfer: Transfer,
    done: SignalHandle,
}

impl Waiting {
    fn go_on(mut self) {
        if let (Some(state), Some(signals)) = (self.state.upgrade(), self.signals.take())
            && let Err(status) = after(&state, signals, self.transfer, self.done)
        {
            diag::say(format_args!("an asynchronous copy failed: {status:?}"));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.signals.is_some()
            && let Some(state) = self.state.upgrade()
        {
            fail(&state, self.done);
        }
    }
}

/// Does a copy when all dependencies are zero.
fn after(
    state: &Arc<State>,
    mut waiting: Vec<SignalHandle>,
    transfer: Transfer,
    done: SignalHandle,
) -> Result {
    while let Some(&next) = waiting.last() {
        let signal = state
            .runtime
            .signal(next)
            .inspect_err(|_| fail(state, done))?;
        if signal.load(MemoryOrder::Acquire) == 0 {
            waiting.pop();
            continue;
        }
        let mut rest = Some(Waiting {
            state: Arc::downgrade(state),
            signals: Some(waiting),
            transfer,
            done,
        });
        let again = Box::new(move |_| {
            if let Some(rest) = rest.take() {
                rest.go_on();
            }
            false
        });
        state.runtime.on_signal(next, Condition::Eq, 0, again)?;
        return Ok(());
    }
    complete(state, &transfer, done)
}

fn linear(
    state: &Arc<State>,
    (dst, dst_agent): (*mut c_void, Agent),
    (src, src_agent): (*const c_void, Agent),
    size: usize,
    (count, signals): (u32, In<Signal>),
    done: Signal,
) -> Result {
    if dst.is_null() || src.is_null() || (count == 0) != signals.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    state.agent(dst_agent)?;
    state.agent(src_agent)?;
    let waiting = dependencies(state, count, signals)?;
    let done = find(state, done)?.handle();
    let transfer = Transfer {
        to: Side::linear(Address::from(dst)),
        from: Side::linear(Address::from(src)),
        row_bytes: size as u64,
        rows: 1,
        slices: 1,
    };
    after(state, waiting, transfer, done)
}

entry! {
    /// `hsa_amd_memory_async_copy`: copies after the dependencies are zero, then decrements the
    /// completion signal.
    fn hsa_amd_memory_async_copy(state; dst: *mut c_void, dst_agent: Agent, src: *const c_void,
        src_agent: Agent, size: usize, num_dep_signals: u32, dep_signals: In<Signal>,
        completion_signal: Signal) {
        linear(&state, (dst, dst_agent), (src, src_agent), size, (num_dep_signals, dep_signals),
            completion_signal)
    }

    /// `hsa_amd_memory_async_copy_on_engine`: as [`hsa_amd_memory_async_copy`]; which engine copies is
    /// a wish.
    fn hsa_amd_memory_async_copy_on_engine(state; dst: *mut c_void, dst_agent: Agent,
        src: *const c_void, src_agent: Agent, size: usize, num_dep_signals: u32,
        dep_signals: In<Signal>, completion_signal: Signal, engine_id: u32,
        force_copy_on_sdma: bool) {
        let _ = force_copy_on_sdma;
        if !engine_id.is_power_of_two() {
            return Err(Status::INVALID_ARGUMENT);
        }
        linear(&state, (dst, dst_agent), (src, src_agent), size, (num_dep_signals, dep_signals),
            completion_signal)
    }

    /// `hsa_amd_memory_async_copy_rect`: copies rows of a pitched box.
    fn hsa_amd_memory_async_copy_rect(state; dst: In<PitchedPtr>, dst_offset: In<Dim3>,
        src: In<PitchedPtr>, src_offset: In<Dim3>, range: In<Dim3>, copy_agent: Agent, dir: u32,
        num_dep_signals: u32, dep_signals: In<Signal>, completion_signal: Signal) {
        let range = range.required()?;
        let to = Side::pitched(dst.required()?, dst_offset.required()?, range)?;
        let from = Side::pitched(src.required()?, src_offset.required()?, range)?;
        state.agent(copy_agent)?;
        if dir > 3 || (num_dep_signals == 0) != dep_signals.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let waiting = dependencies(&state, num_dep_signals, dep_signals)?;
        let done = find(&state, completion_signal)?.handle();
        let transfer = Transfer {
            to,
            from,
            row_bytes: range.x.into(),
            rows: range.y.into(),
            slices: range.z.into(),
        };
        after(&state, waiting, transfer, done)
    }

    /// `hsa_amd_memory_copy_engine_status`: whether what would do such a copy is free. Where the host copies there is none.
    fn hsa_amd_memory_copy_engine_status(state; dst_agent: Agent, src_agent: Agent,
        engine_ids_mask: Out<u32>) {
        let (to, from) = (state.agent(dst_agent)?.id, state.agent(src_agent)?.id);
        let place = engine_ids_mask.required()?;
        let engine = |agent| state.backend().dma_engine(agent);
        // As copies choose: the engines of where they go, if it has any.
        let free = match (engine(to), engine(from)) {
            (Some(engines), _) if engines.inward_idle => INWARD_ENGINE,
            (None, Some(engines)) if engines.outward_idle => OUTWARD_ENGINE,
            _ => 0,
        };
        place.put(free);
        if free == 0 {
            return Err(Status::OUT_OF_RESOURCES);
        }
        Ok(())
    }

    /// `hsa_amd_memory_get_preferred_copy_engine`: no engine is better than another.
    fn hsa_amd_memory_get_preferred_copy_engine(state; dst_agent: Agent, src_agent: Agent,
        recommended_ids_mask: Out<u32>) {
        state.agent(dst_agent)?;
        state.agent(src_agent)?;
        recommended_ids_mask.required()?.put(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(pitch: usize, slice: usize, offset: Dim3, range: Dim3) -> Result<Side> {
        let pointer = PitchedPtr {
            base: core::ptr::without_provenance_mut(0x1000),
            pitch,
            slice,
        };
        Side::pitched(pointer, offset, range)
    }

    #[test]
    fn a_pitched_side_starts_at_its_offset_and_steps_by_pitch_and_slice() {
        let offset = Dim3 { x: 3, y: 2, z: 1 };
        let range = Dim3 { x: 8, y: 4, z: 2 };
        let side = side(64, 1024, offset, range).unwrap();
        assert_eq!(side.base, Address(0x1000 + 1024 + 128 + 3));
        assert_eq!(side.row(3, 1), Address(side.base.0 + 3 * 64 + 1024));
    }

    #[test]
    fn boxes_that_overlap_themselves_or_leave_the_address_space_are_refused() {
        let none = Dim3::default();
        let range = Dim3 { x: 8, y: 4, z: 2 };
        assert!(side(4, 1024, none, range).is_err());
        assert!(side(usize::MAX, 0, none, range).is_err());
        let far = Dim3 {
            x: 0,
            y: u32::MAX,
            z: 0,
        };
        assert!(side(usize::MAX / 8, 0, far, range).is_err());
    }
}
