//! Executes one command.

use super::registers::Registers;
use super::{Pm4Error, bad};
use crate::device::{Gpu, System};
use crate::mem::{Access, MemoryView, raw};
use crate::sdma::Move;
use core::sync::atomic::{Ordering, fence};
use rukh_core::backend::EventId;
use rukh_core::wire::pm4::{
    AtomicMem, Command, CopyData, DataSource, DispatchDirect, DmaData, IndirectBuffer, Packet,
    ReleaseData, ReleaseInterrupt, ReleaseMem, WaitRegMem, WriteData,
};
use rukh_core::wire::sdma::{AtomicOp, AtomicOperation, AtomicWidth, PollFunction};

/// CS_PARTIAL_FLUSH's index among events, and those that nothing follows from here.
const PARTIAL_FLUSH: u32 = 4;

/// Where a command is executed.
pub(in crate::cp) struct Cx<'a> {
    pub system: &'a System,
    pub gpu: &'a Gpu,
    /// Where it stands, in dwords: for reports.
    pub offset: u64,
    /// Whether dispatches are under way that it may have to wait for.
    pub busy: bool,
}

/// What comes after a command.
pub(in crate::cp) enum Next {
    /// The next one.
    Done,
    /// It again, when memory has changed.
    Wait,
    /// It again, when no dispatch is under way.
    Idle,
    /// It again, in the next turn.
    More,
    /// A dispatch, then the next one.
    Dispatch(DispatchDirect),
    /// The commands of a buffer, then the next one.
    Call(IndirectBuffer),
    /// The one after so many dwords.
    Skip(u32),
}

/// What commands leave behind for others.
#[derive(Default)]
pub(in crate::cp) struct Machine {
    pub registers: Registers,
    /// What the last atomic found.
    returned: u64,
    /// A copy that is under way.
    moving: Option<Move>,
}

impl Machine {
    /// Executes a command.
    pub(in crate::cp) fn execute(
        &mut self,
        cx: &Cx<'_>,
        dwords: &[u32],
        budget: &mut u64,
    ) -> Result<Next, Pm4Error> {
        *budget = budget.saturating_sub(64 + dwords.len() as u64 * 4);
        let header = dwords.first().copied().unwrap_or(0);
        let bad = |why| bad(header, cx.offset, why);
        let command =
            Command::parse(dwords).map_err(|_| bad("is shorter than its operation needs"))?;
        let view = &cx.gpu.view;
        match &command.packet {
            Packet::Nop(_) => {}
            Packet::AcquireMem(_) | Packet::AcquireMemGcr(_) => {
                fence(Ordering::SeqCst);
                cx.gpu.invalidate_code();
            }
            Packet::WriteData(write) => {
                if !write.is_memory() {
                    return Err(bad("writes to something else than memory"));
                }
                if command.rest.is_empty() {
                    return Err(bad("has no data"));
                }
                write_data(view, write, command.rest)?;
                cx.system.signal_changed();
            }
            Packet::CopyData(copy) => self.copy_data(cx, copy, &bad)?,
            Packet::AtomicMem(atomic) => return self.atomic(cx, atomic, &bad),
            Packet::WaitRegMem(wait) => return wait_for(view, wait, &bad),
            Packet::ReleaseMem(release) => {
                if cx.busy {
                    return Ok(Next::Idle);
                }
                release_mem(cx, release, &bad)?;
            }
            Packet::EventWrite(event) => {
                if event.event >> 8 & 15 == PARTIAL_FLUSH && cx.busy {
                    return Ok(Next::Idle);
                }
                if command.rest.iter().any(|dword| *dword != 0) {
                    return Err(bad("writes what it counts"));
                }
            }
            Packet::SetShReg(set) => {
                if !self.registers.set(set.first(), command.rest) {
                    return Err(bad("sets registers that are not of compute shaders"));
                }
            }
            Packet::DispatchDirect(dispatch) => return Ok(Next::Dispatch(*dispatch)),
            Packet::IndirectBuffer(call) => {
                if call.control >> 24 & 15 != 0 {
                    return Err(bad("is in another address space"));
                }
                return Ok(Next::Call(*call));
            }
            Packet::DmaData(dma) => return self.dma_data(cx, dma, budget, &bad),
            Packet::PredExec(pred) => {
                // All dies are one here: the first.
                if pred.dies() & 1 == 0 {
                    return Ok(Next::Skip(pred.dwords()));
                }
            }
            Packet::SetUconfigReg(_) => return Err(bad("SET_UCONFIG_REG is not supported")),
            Packet::Unknown(_) => return Err(bad("unknown operation")),
        }
        Ok(Next::Done)
    }

    fn copy_data(
        &self,
        cx: &Cx<'_>,
        copy: &CopyData,
        bad: &impl Fn(&'static str) -> Pm4Error,
    ) -> Result<(), Pm4Error> {
        let view = &cx.gpu.view;
        if !copy.is_to_memory() {
            return Err(bad("copies to something else than memory"));
        }
        let bytes = if copy.is_64() { 8 } else { 4 };
        let value = match copy.from() {
            DataSource::Immediate => copy.source.get(),
            DataSource::Clock => cx.gpu.counter(&cx.system.clock),
            DataSource::AtomicReturn => self.returned,
            DataSource::Memory => {
                let at = copy.source.get() & !(bytes - 1);
                let host = check(view, at, bytes, Access::Read, "COPY_DATA's source")?;
                // SAFETY: checked for the read just now.
                unsafe {
                    if bytes == 8 {
                        raw::load_u64(host)
                    } else {
                        u64::from(raw::load_u32(host))
                    }
                }
            }
            DataSource::Other(_) => return Err(bad("copies from something else than memory")),
        };
        store(view, copy.destination.get(), bytes, value, "COPY_DATA")?;
        cx.system.signal_changed();
        Ok(())
    }

    fn atomic(
        &mut self,
        cx: &Cx<'_>,
        atomic: &AtomicMem,
        bad: &impl Fn(&'static str) -> Pm4Error,
    ) -> Result<Next, Pm4Error> {
        let op = AtomicOp::from_code(atomic.code())
            .ok_or_else(|| bad("has an operation that is not supported"))?;
        let address = atomic.address.get();
        let bytes = match op.width {
            AtomicWidth::Bits32 => 4,
            AtomicWidth::Bits64 => 8,
        };
        let host = check(
            &cx.gpu.view,
            address,
            bytes,
            Access::ReadWrite,
            "ATOMIC_MEM",
        )?;
        if !address.is_multiple_of(bytes) || !(host.addr() as u64).is_multiple_of(bytes) {
            return Err(bad("has an address that is not aligned"));
        }
        let (source, compare) = (atomic.source.get(), atomic.compare.get());
        fence(Ordering::SeqCst);
        // SAFETY: checked for reading and writing, and aligned.
        let (old, wanted) = unsafe {
            match op.width {
                AtomicWidth::Bits32 => {
                    let new = |old: u32| op.apply(u64::from(old), source, compare) as u32;
                    let old = raw::rmw_u32(host, new);
                    (u64::from(old), u64::from(compare as u32))
                }
                AtomicWidth::Bits64 => {
                    let old = raw::rmw_u64(host, |old| op.apply(old, source, compare));
                    (old, compare)
                }
            }
        };
        self.returned = old;
        if atomic.is_loop() && op.operation == AtomicOperation::CompareSwap && old != wanted {
            return Ok(Next::Wait);
        }
        cx.system.signal_changed();
        Ok(Next::Done)
    }

    fn dma_data(
        &mut self,
        cx: &Cx<'_>,
        dma: &DmaData,
        budget: &mut u64,
        bad: &impl Fn(&'static str) -> Pm4Error,
    ) -> Result<Next, Pm4Error> {
        let mut moving = match self.moving.take() {
            Some(moving) => moving,
            None => {
                if !dma.is_to_memory() || !dma.is_ascending() {
                    return Err(bad("copies to something else than memory"));
                }
                let (destination, bytes) = (dma.destination.get(), u64::from(dma.bytes()));
                match dma.from() {
                    DataSource::Memory => Move::copy(destination, dma.source.get(), bytes),
                    DataSource::Immediate if destination % 4 == 0 && bytes % 4 == 0 => {
                        Move::fill(destination, dma.source.low, bytes)
                    }
                    DataSource::Immediate => return Err(bad("fills parts of dwords")),
                    _ => return Err(bad("copies from something else than memory")),
                }
            }
        };
        let done = moving
            .advance(&cx.gpu.view, budget)
            .map_err(|(what, fault)| Pm4Error::Memory(what, fault))?;
        if !done {
            self.moving = Some(moving);
            return Ok(Next::More);
        }
        cx.system.signal_changed();
        Ok(Next::Done)
    }
}

fn check(
    view: &MemoryView,
    address: u64,
    bytes: u64,
    access: Access,
    what: &'static str,
) -> Result<*mut u8, Pm4Error> {
    view.check(address, bytes, access)
        .map_err(|fault| Pm4Error::Memory(what, fault))
}

/// Stores 4 or 8 bytes; low bits of the address are none of its.
fn store(
    view: &MemoryView,
    address: u64,
    bytes: u64,
    value: u64,
    what: &'static str,
) -> Result<(), Pm4Error> {
    let host = check(view, address & !(bytes - 1), bytes, Access::Write, what)?;
    // SAFETY: checked for the write just now.
    unsafe {
        if bytes == 8 {
            raw::store_u64(host, value);
        } else {
            raw::store_u32(host, value as u32);
        }
    }
    Ok(())
}

fn write_data(view: &MemoryView, write: &WriteData, data: &[u32]) -> Result<(), Pm4Error> {
    for (index, dword) in (0u64..).zip(data) {
        let offset = if write.is_single() { 0 } else { index * 4 };
        let at = write.destination.get().wrapping_add(offset);
        store(view, at, 4, u64::from(*dword), "WRITE_DATA")?;
    }
    Ok(())
}

fn wait_for(
    view: &MemoryView,
    wait: &WaitRegMem,
    bad: &impl Fn(&'static str) -> Pm4Error,
) -> Result<Next, Pm4Error> {
    if !wait.is_memory() {
        return Err(bad("waits for something else than memory"));
    }
    if wait.function() == PollFunction::Reserved {
        return Err(bad("has a comparison that means nothing"));
    }
    let at = wait.address.get() & !3;
    let host = check(view, at, 4, Access::Read, "WAIT_REG_MEM")?;
    // SAFETY: checked for the read just now.
    let found = unsafe { raw::load_u32(host) };
    if !wait.function().holds(found & wait.mask, wait.reference) {
        return Ok(Next::Wait);
    }
    fence(Ordering::Acquire);
    Ok(Next::Done)
}

fn release_mem(
    cx: &Cx<'_>,
    release: &ReleaseMem,
    bad: &impl Fn(&'static str) -> Pm4Error,
) -> Result<(), Pm4Error> {
    fence(Ordering::SeqCst);
    let view = &cx.gpu.view;
    let (address, data) = (release.address.get(), release.data.get());
    let kind = release.data_kind();
    if kind != ReleaseData::None && !release.is_memory() {
        return Err(bad("writes to something else than memory"));
    }
    match kind {
        ReleaseData::None => {}
        ReleaseData::Low32 => store(view, address, 4, data, "RELEASE_MEM")?,
        ReleaseData::Bits64 => store(view, address, 8, data, "RELEASE_MEM")?,
        ReleaseData::Clock => {
            let now = cx.gpu.counter(&cx.system.clock);
            store(view, address, 8, now, "RELEASE_MEM")?;
        }
        ReleaseData::Other(_) => return Err(bad("writes what is not supported")),
    }
    match release.interrupt() {
        ReleaseInterrupt::None => {}
        ReleaseInterrupt::Always => cx.system.raise(EventId(release.context)),
        ReleaseInterrupt::Conditional(_) => return Err(bad("interrupts under a condition")),
    }
    cx.system.signal_changed();
    Ok(())
}
