//! One queue of an engine: fetches packets in order and executes them.

use super::error::SdmaError;
use super::moves::{Bad, Move};
use super::ring::Ring;
use crate::cp::Served;
use crate::device::{FaultCause, FaultReport, Gpu, PacketError, System};
use crate::mem::{Access, MemoryFault, MemoryView, raw};
use core::sync::atomic::{Ordering, fence};
use rukh_core::backend::{EventId, QueueHandle};
use rukh_core::wire::sdma::{
    Atomic, AtomicOp, AtomicOperation, AtomicWidth, CondExe, ConstantFill, Generation, Indirect,
    MAX_HEAD, Packet, ParseError, Poll, PollFunction, WriteLinear,
};

/// Bytes that a queue moves before others get a turn.
const BUDGET: u64 = 256 << 10;
/// What a packet costs of it, besides what it moves.
const PACKET_COST: u64 = 256;

/// A packet that is under way.
enum Work {
    Move(Move),
    /// Dwords from behind the head: where they go, how many, how many are written.
    Write {
        destination: u64,
        dwords: u64,
        done: u64,
    },
    Poll(Poll, u32),
    /// A compare-and-swap that is tried again.
    Atomic(Atomic, AtomicOp),
}

/// An indirect buffer that is under way.
#[derive(Clone, Copy)]
struct Buffer {
    base: u64,
    dwords: u64,
    /// Dwords that have been executed.
    at: u64,
    /// Dwords of the packet that called it.
    call: u64,
}

/// Why a queue stops.
enum Trouble {
    Packet(SdmaError),
    Memory(&'static str, MemoryFault),
}

impl From<SdmaError> for Trouble {
    fn from(error: SdmaError) -> Self {
        Self::Packet(error)
    }
}

impl From<ParseError> for Trouble {
    fn from(error: ParseError) -> Self {
        Self::Packet(SdmaError::Packet(error))
    }
}

impl From<Bad> for Trouble {
    fn from((what, fault): Bad) -> Self {
        Self::Memory(what, fault)
    }
}

/// What to do next.
enum Step {
    /// Go on.
    Again,
    /// Nothing until somebody calls.
    Blocked,
    /// Nothing until memory changes.
    Poll,
}

/// How far a packet is.
enum Progress {
    Done,
    /// Its turn is over.
    More,
    /// It waits for memory.
    Waits,
}

/// A queue.
pub(crate) struct SdmaQueue {
    pub handle: QueueHandle,
    /// Index of its GPU among the system's.
    pub gpu: usize,
    /// The engine that it is on, by number.
    pub engine: usize,
    pub error_event: Option<EventId>,
    pub active: bool,
    generation: Generation,
    ring: Ring,
    stopped: bool,
    /// Byte offset of the packet that is under way or next, in the endless ring.
    read: u64,
    /// Up to where packets were published.
    write: u64,
    buffer: Option<Buffer>,
    /// The packet that is under way, and its dwords.
    work: Option<(Work, u64)>,
    /// What the engine's clock is ahead of the device's.
    clock_offset: u64,
}

impl SdmaQueue {
    pub(crate) fn new(
        handle: QueueHandle,
        gpu: usize,
        engine: usize,
        generation: Generation,
        ring: Ring,
        error_event: Option<EventId>,
    ) -> Self {
        let read = ring.load_read_pointer();
        Self {
            handle,
            gpu,
            engine,
            error_event,
            active: true,
            generation,
            ring,
            stopped: false,
            read,
            write: read,
            buffer: None,
            work: None,
            clock_offset: 0,
        }
    }

    /// Drops what is under way, for good.
    pub(crate) fn abandon(&mut self) {
        self.stopped = true;
        self.work = None;
        self.buffer = None;
    }

    /// Does what can be done now, or a turn of it. `doorbell` is one past the write pointer that the doorbell was rung
    /// with last, 0 if it was not.
    pub(crate) fn service(&mut self, system: &System, doorbell: u64) -> Served {
        let mut budget = BUDGET;
        let mut served = Served::default();
        loop {
            if self.stopped || !self.active {
                return served;
            }
            if budget == 0 {
                served.again = true;
                return served;
            }
            let before = budget;
            let step = self.step(system, doorbell, &mut budget);
            system.clock.tick((before - budget) / 64);
            match step {
                Ok(Step::Again) => served.progress = true,
                Ok(Step::Blocked) => return served,
                Ok(Step::Poll) => {
                    served.look_again = true;
                    return served;
                }
                Err(trouble) => {
                    served.progress = true;
                    self.stop(system, trouble);
                    return served;
                }
            }
        }
    }

    fn step(&mut self, system: &System, doorbell: u64, budget: &mut u64) -> Result<Step, Trouble> {
        let gpu = &system.gpus[self.gpu];
        if let Some((mut work, dwords)) = self.work.take() {
            let step = match self.go_on(gpu, &mut work, budget)? {
                Progress::Done => {
                    self.retire(system, dwords);
                    return Ok(Step::Again);
                }
                Progress::More => Step::Again,
                Progress::Waits => Step::Poll,
            };
            self.work = Some((work, dwords));
            return Ok(step);
        }
        if self.buffer.is_some_and(|buffer| buffer.at >= buffer.dwords) {
            let call = self.buffer.take().map_or(0, |buffer| buffer.call);
            self.retire(system, call);
            return Ok(Step::Again);
        }
        let available = self.available(doorbell)?;
        if available == 0 {
            return Ok(Step::Blocked);
        }
        let mut head = [0u32; MAX_HEAD];
        let length = MAX_HEAD.min(available as usize);
        self.fetch(gpu, 0, &mut head[..length])?;
        let packet = match Packet::parse(&head[..length], self.generation) {
            Ok(packet) => packet,
            // The rest of it is yet to come.
            Err(ParseError::Incomplete { needed, .. }) if self.may_grow(needed as u64) => {
                return Ok(Step::Blocked);
            }
            Err(error) => return Err(error.into()),
        };
        let dwords = packet.dwords();
        if dwords > available {
            if self.may_grow(dwords) {
                return Ok(Step::Blocked);
            }
            return Err(SdmaError::TooLong { dwords, available }.into());
        }
        *budget = budget.saturating_sub(PACKET_COST);
        self.execute(system, &packet, dwords, available)
    }

    /// Dwords that can be executed now.
    fn available(&mut self, doorbell: u64) -> Result<u64, Trouble> {
        if let Some(buffer) = self.buffer {
            return Ok(buffer.dwords - buffer.at);
        }
        let write = self
            .ring
            .load_write_pointer()
            .max(doorbell.saturating_sub(1));
        let published = write.wrapping_sub(self.read);
        if published > self.ring.bytes || !write.is_multiple_of(4) {
            let read = self.read;
            return Err(SdmaError::WritePointer { write, read }.into());
        }
        self.write = write;
        Ok(published / 4)
    }

    /// Whether a packet of so many dwords can still become whole by a producer's doing.
    fn may_grow(&self, dwords: u64) -> bool {
        self.buffer.is_none() && dwords <= self.ring.bytes / 4
    }

    /// Reads dwords of the packet that is next, from `skip` on. They are available.
    fn fetch(&self, gpu: &Gpu, skip: u64, to: &mut [u32]) -> Result<(), Trouble> {
        let Some(buffer) = self.buffer else {
            self.ring.read(self.read.wrapping_add(skip * 4), to);
            return Ok(());
        };
        let start = buffer.base.wrapping_add((buffer.at + skip) * 4);
        for (index, dword) in (0u64..).zip(to) {
            let at = start.wrapping_add(index * 4);
            *dword = load_u32(&gpu.view, at, "SDMA indirect buffer")?;
        }
        Ok(())
    }

    /// A packet of so many dwords is complete.
    fn retire(&mut self, system: &System, dwords: u64) {
        if let Some(buffer) = &mut self.buffer {
            buffer.at = buffer.at.saturating_add(dwords);
        } else {
            self.read = self.read.wrapping_add(dwords * 4);
            self.ring.store_read_pointer(self.read);
        }
        system.signal_changed();
    }

    fn execute(
        &mut self,
        system: &System,
        packet: &Packet,
        dwords: u64,
        available: u64,
    ) -> Result<Step, Trouble> {
        let gpu = &system.gpus[self.gpu];
        let view = &gpu.view;
        let generation = self.generation;
        let work = match packet {
            Packet::Nop(_) => None,
            Packet::CopyLinear(copy) => Some(Work::Move(Move::Copy {
                source: copy.source.get(),
                destinations: [copy.destination.get(), 0],
                count: 1,
                bytes: copy.bytes(generation),
                backwards: copy.is_backwards(generation),
                done: 0,
            })),
            Packet::CopyBroadcast(copy) => Some(Work::Move(Move::Copy {
                source: copy.source.get(),
                destinations: [copy.destination.get(), copy.second.get()],
                count: 2,
                bytes: copy.bytes(generation),
                backwards: false,
                done: 0,
            })),
            Packet::CopyRect(copy) => {
                let rect = copy.rect(generation);
                if rect.element_log2 > 4 {
                    let (field, value) = ("element size", rect.element_log2);
                    return Err(SdmaError::Reserved { field, value }.into());
                }
                aligned("rectangle's source", rect.source.base, 4)?;
                aligned("rectangle's destination", rect.destination.base, 4)?;
                Some(Work::Move(Move::Rect {
                    rect,
                    row: 0,
                    done: 0,
                }))
            }
            Packet::ConstantFill(fill) => Some(Work::Move(fill_work(fill, generation)?)),
            Packet::WriteLinear(write) => Some(write_work(write)?),
            Packet::Poll(poll) => Some(poll_work(poll)?),
            Packet::Atomic(atomic) => self.atomic(system, atomic)?,
            Packet::Fence(packet) => {
                let address = packet.address.get();
                aligned("fence's address", address, 4)?;
                fence(Ordering::SeqCst);
                let host = check(view, address, 4, Access::Write, "SDMA fence")?;
                // SAFETY: checked for the write just now.
                unsafe { raw::store_u32(host, packet.data) };
                None
            }
            Packet::HdpFlush(_) | Packet::Gcr(_) => {
                // Memory has no caches here: to order accesses is all that is left of them.
                fence(Ordering::SeqCst);
                None
            }
            Packet::TimestampSet(set) => {
                let now = gpu.counter(&system.clock);
                self.clock_offset = set.value.get().wrapping_sub(now);
                None
            }
            Packet::TimestampGet(get) => {
                let now = gpu.counter(&system.clock);
                store_time(view, get.address.get(), now.wrapping_add(self.clock_offset))?;
                None
            }
            Packet::TimestampGlobal(get) => {
                store_time(view, get.address.get(), gpu.counter(&system.clock))?;
                None
            }
            Packet::Trap(trap) => {
                // What was written before is there when somebody wakes.
                fence(Ordering::SeqCst);
                system.raise(EventId(trap.event()));
                None
            }
            Packet::CondExe(condition) => {
                return self.condition(system, condition, dwords, available);
            }
            Packet::Indirect(indirect) => return self.call(indirect, dwords),
            Packet::Semaphore(_) => return Err(not_supported("SEMAPHORE")),
            Packet::PreExe(_) => return Err(not_supported("PRE_EXE")),
        };
        match work {
            Some(work) => self.work = Some((work, dwords)),
            None => self.retire(system, dwords),
        }
        Ok(Step::Again)
    }

    /// Goes on with the packet that is under way.
    fn go_on(&self, gpu: &Gpu, work: &mut Work, budget: &mut u64) -> Result<Progress, Trouble> {
        let view = &gpu.view;
        match work {
            Work::Move(moving) => Ok(match moving.advance(view, budget)? {
                true => Progress::Done,
                false => Progress::More,
            }),
            Work::Write {
                destination,
                dwords,
                done,
            } => {
                let mut data = [0u32; 64];
                while *done < *dwords && *budget > 0 {
                    let count = (*dwords - *done).min(data.len() as u64);
                    let piece = &mut data[..count as usize];
                    self.fetch(gpu, WriteLinear::DWORDS as u64 + *done, piece)?;
                    for dword in piece.iter() {
                        let at = destination.wrapping_add(*done * 4);
                        let host = check(view, at, 4, Access::Write, "SDMA write")?;
                        // SAFETY: checked for the write just now.
                        unsafe { raw::store_u32(host, *dword) };
                        *done += 1;
                    }
                    *budget = budget.saturating_sub(count * 16);
                }
                Ok(match done >= dwords {
                    true => Progress::Done,
                    false => Progress::More,
                })
            }
            Work::Poll(poll, looks) => {
                let found = load_u32(view, poll.address.get(), "SDMA wait")?;
                if poll.function().holds(found & poll.mask, poll.value) {
                    fence(Ordering::Acquire);
                    return Ok(Progress::Done);
                }
                if let Some(retries) = poll.retries() {
                    if *looks >= retries {
                        return Err(SdmaError::PollTimeout { retries }.into());
                    }
                    *looks += 1;
                }
                Ok(Progress::Waits)
            }
            Work::Atomic(atomic, op) => Ok(match swap(view, atomic, *op)? {
                true => Progress::Done,
                false => Progress::Waits,
            }),
        }
    }

    /// An atomic: done at once, unless it loops and its comparison does not hold.
    fn atomic(&self, system: &System, atomic: &Atomic) -> Result<Option<Work>, Trouble> {
        let view = &system.gpus[self.gpu].view;
        let code = atomic.code();
        let op = AtomicOp::from_code(code).ok_or(SdmaError::AtomicCode { code })?;
        // Release: what was written before is visible before the value changes.
        fence(Ordering::SeqCst);
        let done = swap(view, atomic, op)?;
        let again = atomic.is_loop() && op.operation == AtomicOperation::CompareSwap && !done;
        Ok(again.then_some(Work::Atomic(*atomic, op)))
    }

    fn condition(
        &mut self,
        system: &System,
        condition: &CondExe,
        dwords: u64,
        available: u64,
    ) -> Result<Step, Trouble> {
        let view = &system.gpus[self.gpu].view;
        let address = condition.address.get();
        aligned("condition's address", address, 4)?;
        let holds = load_u32(view, address, "SDMA condition")? == condition.reference;
        let skipped = if holds {
            0
        } else {
            u64::from(condition.dwords())
        };
        let dwords = dwords + skipped;
        if dwords > available {
            // What is skipped is yet to come; the condition is looked at again then.
            if self.may_grow(dwords) {
                return Ok(Step::Blocked);
            }
            return Err(SdmaError::TooLong { dwords, available }.into());
        }
        self.retire(system, dwords);
        Ok(Step::Again)
    }

    fn call(&mut self, indirect: &Indirect, dwords: u64) -> Result<Step, Trouble> {
        if self.buffer.is_some() {
            return Err(not_supported("INDIRECT within an indirect buffer"));
        }
        if indirect.header >> 16 & 0xf != 0 {
            return Err(not_supported("INDIRECT in another address space"));
        }
        let base = indirect.base.get();
        aligned("indirect buffer", base, 32)?;
        self.buffer = Some(Buffer {
            base,
            dwords: u64::from(indirect.dwords()),
            at: 0,
            call: dwords,
        });
        Ok(Step::Again)
    }

    /// Stops the queue for good, and says why.
    fn stop(&mut self, system: &System, trouble: Trouble) {
        let gpu = &system.gpus[self.gpu];
        let cause = match trouble {
            Trouble::Memory(what, fault) => FaultCause::Memory { what, fault },
            Trouble::Packet(error) => FaultCause::Packet(PacketError::Sdma {
                offset: self.buffer.map_or(0, |buffer| buffer.at * 4),
                indirect: self.buffer.map(|buffer| buffer.base),
                header: self.header(gpu),
                error,
            }),
        };
        self.abandon();
        system.record(FaultReport {
            agent: gpu.agent,
            queue: self.handle,
            packet: self.read,
            cause,
        });
        if let Some(event) = self.error_event {
            system.raise(event);
        }
    }

    /// The first dword of the packet that is next; 0 if it cannot be read.
    fn header(&self, gpu: &Gpu) -> u32 {
        let mut header = [0];
        match self.fetch(gpu, 0, &mut header) {
            Ok(()) => header[0],
            Err(_) => 0,
        }
    }
}

fn not_supported(what: &'static str) -> Trouble {
    SdmaError::NotSupported { what }.into()
}

fn aligned(what: &'static str, address: u64, align: u64) -> Result<(), Trouble> {
    if !address.is_multiple_of(align) {
        return Err(SdmaError::Misaligned {
            what,
            address,
            align,
        }
        .into());
    }
    Ok(())
}

fn check(
    view: &MemoryView,
    address: u64,
    len: u64,
    access: Access,
    what: &'static str,
) -> Result<*mut u8, Trouble> {
    view.check(address, len, access)
        .map_err(|fault| Trouble::Memory(what, fault))
}

fn load_u32(view: &MemoryView, address: u64, what: &'static str) -> Result<u32, Trouble> {
    let host = check(view, address, 4, Access::Read, what)?;
    // SAFETY: checked for the read just now.
    Ok(unsafe { raw::load_u32(host) })
}

/// Stores a clock. The low bits of the address are none of the field's.
fn store_time(view: &MemoryView, address: u64, time: u64) -> Result<(), Trouble> {
    let host = check(view, address & !7, 8, Access::Write, "SDMA timestamp")?;
    // SAFETY: checked for the write just now.
    unsafe { raw::store_u64(host, time) };
    Ok(())
}

/// Does an atomic; false if it compares and the comparison does not hold.
fn swap(view: &MemoryView, atomic: &Atomic, op: AtomicOp) -> Result<bool, Trouble> {
    let address = atomic.address.get();
    let (source, compare) = (atomic.source.get(), atomic.compare.get());
    let bytes = match op.width {
        AtomicWidth::Bits32 => 4,
        AtomicWidth::Bits64 => 8,
    };
    aligned("atomic's address", address, bytes)?;
    let host = check(view, address, bytes, Access::ReadWrite, "SDMA atomic")?;
    // The host's address of it is as aligned as the device's, up to a page.
    aligned("atomic's host address", host.addr() as u64, bytes)?;
    // SAFETY: checked for reading and writing, and aligned.
    let (old, compare) = unsafe {
        match op.width {
            AtomicWidth::Bits32 => {
                let new = |old: u32| op.apply(u64::from(old), source, compare) as u32;
                (
                    u64::from(raw::rmw_u32(host, new)),
                    u64::from(compare as u32),
                )
            }
            AtomicWidth::Bits64 => (
                raw::rmw_u64(host, |old| op.apply(old, source, compare)),
                compare,
            ),
        }
    };
    Ok(op.operation != AtomicOperation::CompareSwap || old == compare)
}

fn fill_work(fill: &ConstantFill, generation: Generation) -> Result<Move, Trouble> {
    let log2 = fill.pattern_log2();
    if log2 > 2 {
        let (field, value) = ("fill size", log2);
        return Err(SdmaError::Reserved { field, value }.into());
    }
    let destination = fill.destination.get();
    aligned("fill's destination", destination, 1 << log2)?;
    Ok(Move::Fill {
        destination,
        pattern: fill.data,
        pattern_bytes: 1 << log2,
        bytes: fill.bytes(generation),
        done: 0,
    })
}

fn write_work(write: &WriteLinear) -> Result<Work, Trouble> {
    let destination = write.destination.get();
    aligned("write's destination", destination, 4)?;
    Ok(Work::Write {
        destination,
        dwords: u64::from(write.dwords()),
        done: 0,
    })
}

fn poll_work(poll: &Poll) -> Result<Work, Trouble> {
    if !poll.is_memory() {
        return Err(not_supported("POLL_REGMEM of a register"));
    }
    if poll.function() == PollFunction::Reserved {
        let (field, value) = ("comparison", 7);
        return Err(SdmaError::Reserved { field, value }.into());
    }
    aligned("wait's address", poll.address.get(), 4)?;
    Ok(Work::Poll(*poll, 0))
}
