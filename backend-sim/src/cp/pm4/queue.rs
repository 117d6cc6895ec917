//! A compute queue of PM4 commands.

use super::registers::{Prepared, Refused};
use super::{BUDGET, Buffer, Cx, Machine, Next, Pm4Error, bad};
use crate::cp::queue::Served;
use crate::cp::scratch::{ScratchSlots, TmpRing};
use crate::device::{FaultCause, FaultReport, System, WaveFault};
use crate::sched::{Dispatch, DispatchScratch};
use crate::sdma::Ring;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use rukh_core::backend::{EventId, QueueHandle, QueuePriority};
use rukh_core::wire::pm4::{DispatchDirect, Header};

/// Dispatches of one queue that can be under way at once.
const MAX_IN_FLIGHT: usize = 16;

/// Why a queue stops.
enum Trouble {
    Command(Pm4Error),
    Wave(Box<WaveFault>),
}

impl From<Pm4Error> for Trouble {
    fn from(error: Pm4Error) -> Self {
        Self::Command(error)
    }
}

/// What to do next.
enum Step {
    Again,
    Blocked,
    Poll,
    /// The turn is over.
    Yield,
}

/// A queue.
pub(crate) struct Pm4Queue {
    pub handle: QueueHandle,
    /// Its place in the table.
    slot: usize,
    /// Index of its GPU among the system's.
    pub gpu: usize,
    pub error_event: Option<EventId>,
    pub priority: QueuePriority,
    pub active: bool,
    /// Compute units that it may use.
    pub compute_units: u32,
    ring: Ring,
    stopped: bool,
    /// Dwords that are done, in the endless ring.
    read: u64,
    machine: Machine,
    /// The buffer that is under way, and the dwords of the command that called it.
    buffer: Option<(Buffer, u64)>,
    in_flight: VecDeque<Arc<Dispatch>>,
    scratch: Arc<ScratchSlots>,
    /// The command that is next, once it has been read.
    command: Vec<u32>,
}

impl Pm4Queue {
    pub(crate) fn new(
        handle: QueueHandle,
        slot: usize,
        gpu: usize,
        ring: Ring,
        error_event: Option<EventId>,
        priority: QueuePriority,
        compute_units: u32,
    ) -> Self {
        Self {
            handle,
            slot,
            gpu,
            error_event,
            priority,
            active: true,
            compute_units,
            read: ring.load_read_pointer() & 0xffff_ffff,
            ring,
            stopped: false,
            machine: Machine::default(),
            buffer: None,
            in_flight: VecDeque::new(),
            scratch: Arc::new(ScratchSlots::default()),
            command: Vec::new(),
        }
    }

    /// Abandons everything: dispatches under way are cancelled.
    pub(crate) fn abandon(&mut self) {
        self.stopped = true;
        self.buffer = None;
        for dispatch in &self.in_flight {
            if dispatch.cancel() {
                dispatch.set_done();
            }
        }
    }

    /// Whether no dispatch is under way.
    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.iter().all(|dispatch| dispatch.is_done())
    }

    /// Does what can be done now, or a turn of it. `doorbell` is one past the write index that the doorbell was rung with
    /// last, 0 if it was not.
    pub(crate) fn service(&mut self, system: &System, doorbell: u64) -> Served {
        let mut budget = BUDGET;
        let mut served = Served::default();
        loop {
            if self.stopped {
                return served;
            }
            match self.step(system, doorbell, &mut budget) {
                Ok(Step::Again) if budget > 0 => served.progress = true,
                Ok(Step::Again | Step::Yield) => {
                    served.progress = true;
                    served.again = true;
                    return served;
                }
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

    /// Counts dispatches that have ended.
    fn reap(&mut self) -> Result<(), Trouble> {
        while let Some(at) = self.in_flight.iter().position(|d| d.is_done()) {
            if let Some(dispatch) = self.in_flight.remove(at)
                && let Some(fault) = dispatch.take_fault()
            {
                return Err(Trouble::Wave(Box::new(fault)));
            }
        }
        Ok(())
    }

    fn step(&mut self, system: &System, doorbell: u64, budget: &mut u64) -> Result<Step, Trouble> {
        self.reap()?;
        if !self.active {
            return Ok(Step::Blocked);
        }
        let gpu = &system.gpus[self.gpu];
        if let Some((buffer, call)) = self.buffer
            && buffer.is_done()
        {
            self.buffer = None;
            self.retire(call);
            return Ok(Step::Again);
        }
        let mut command = core::mem::take(&mut self.command);
        let read = match &self.buffer {
            Some((buffer, _)) => buffer.next(&gpu.view, &mut command).map(|()| true),
            None => self.next(doorbell, &mut command),
        };
        let cx = Cx {
            system,
            gpu,
            offset: self.buffer.map_or(self.read, |(buffer, _)| buffer.at),
            busy: !self.in_flight.is_empty(),
        };
        let next = match read {
            Ok(true) => self.machine.execute(&cx, &command, budget),
            Ok(false) => {
                self.command = command;
                return Ok(Step::Blocked);
            }
            Err(error) => Err(error),
        };
        let dwords = command.len() as u64;
        let header = command.first().copied().unwrap_or(0);
        self.command = command;
        match next? {
            Next::Done => self.retire(dwords),
            Next::Skip(more) => {
                let dwords = dwords + u64::from(more);
                if self.buffer.is_none() && dwords > self.available(doorbell) {
                    // What is skipped is yet to come.
                    return Ok(Step::Blocked);
                }
                self.retire(dwords);
            }
            Next::Wait => return Ok(Step::Poll),
            Next::Idle => return Ok(Step::Blocked),
            Next::More => return Ok(Step::Yield),
            Next::Call(call) => match &mut self.buffer {
                None => self.buffer = Some((Buffer::new(&call), dwords)),
                Some((buffer, _)) if call.is_chain() => {
                    *buffer = Buffer::new(&call);
                    // A chain without end has turns as anybody else.
                    *budget = budget.saturating_sub(4096);
                }
                Some(_) => return Err(bad(header, cx.offset, "calls from within a buffer").into()),
            },
            Next::Dispatch(dispatch) => {
                if self.in_flight.len() >= MAX_IN_FLIGHT {
                    return Ok(Step::Blocked);
                }
                self.dispatch(system, &dispatch, header, cx.offset)?;
                self.retire(dwords);
            }
        }
        Ok(Step::Again)
    }

    /// Dwords of the ring that were published and are not done.
    fn available(&self, doorbell: u64) -> u64 {
        let write = self
            .ring
            .load_write_pointer()
            .max(doorbell.saturating_sub(1));
        write.wrapping_sub(self.read)
    }

    /// Reads the next command of the ring; false if it is not there yet.
    fn next(&self, doorbell: u64, command: &mut Vec<u32>) -> Result<bool, Pm4Error> {
        let size = self.ring.bytes / 4;
        let available = self.available(doorbell);
        if available == 0 {
            return Ok(false);
        }
        let header = self.ring.dword(self.read.wrapping_mul(4));
        if available > size {
            return Err(bad(header, self.read, "is not before the write index"));
        }
        let dwords = Header(header)
            .dwords()
            .ok_or_else(|| bad(header, self.read, "is not a command of type 3"))?;
        if u64::from(dwords) > available {
            if u64::from(dwords) > size {
                return Err(bad(header, self.read, "is longer than the ring"));
            }
            return Ok(false);
        }
        command.clear();
        command.resize(dwords as usize, 0);
        self.ring.read(self.read.wrapping_mul(4), command);
        Ok(true)
    }

    /// So many dwords are done.
    fn retire(&mut self, dwords: u64) {
        if let Some((buffer, _)) = &mut self.buffer {
            buffer.at = buffer.at.saturating_add(dwords);
            return;
        }
        self.read = self.read.wrapping_add(dwords);
        let index = self.read & (self.ring.bytes / 4 - 1);
        self.ring.store_read_pointer_32(index as u32);
    }

    fn dispatch(
        &mut self,
        system: &System,
        command: &DispatchDirect,
        header: u32,
        offset: u64,
    ) -> Result<(), Trouble> {
        let gpu = &system.gpus[self.gpu];
        let registers = &self.machine.registers;
        let prepared = registers
            .prepare(&gpu.view, gpu.profile, self.compute_units, command)
            .map_err(|refused| match refused {
                Refused::Why(why) => bad(header, offset, why),
                Refused::Packet(error) => error.into(),
            })?;
        let Some(prepared) = prepared else {
            return Ok(());
        };
        let Prepared {
            kernel,
            shape,
            entry,
            tmpring,
        } = prepared;
        let mut scratch = None;
        if kernel.uses_scratch {
            let ring = TmpRing::parse(gpu.profile.arch, tmpring, gpu.profile.shader_engines);
            let waves = u64::from(shape.workgroup_items().div_ceil(kernel.lanes));
            if ring.waves < waves {
                let why = "has scratch memory for less than a work-group";
                return Err(bad(header, offset, why).into());
            }
            self.scratch.resize(ring.waves as usize);
            scratch = Some(DispatchScratch {
                slots: self.scratch.clone(),
                wave_bytes: ring.wave_bytes,
            });
        }
        let dispatch = Dispatch::new(
            self.gpu,
            self.slot,
            entry,
            system.next_dispatch(),
            self.priority,
            kernel,
            shape,
            scratch,
            gpu.counter(&system.clock),
        );
        self.in_flight.push_back(dispatch.clone());
        let groups = shape.total_groups();
        system.active.push(dispatch);
        if groups > 1 {
            system.parking.wake(groups - 1);
        }
        Ok(())
    }

    /// Stops the queue for good, and says why.
    fn stop(&mut self, system: &System, trouble: Trouble) {
        self.abandon();
        let cause = match trouble {
            Trouble::Command(Pm4Error::Packet(error)) => FaultCause::Packet(error),
            Trouble::Command(Pm4Error::Memory(what, fault)) => FaultCause::Memory { what, fault },
            Trouble::Wave(fault) => FaultCause::Wave(*fault),
        };
        system.record(FaultReport {
            agent: system.gpus[self.gpu].agent,
            queue: self.handle,
            packet: self.read,
            cause,
        });
        if let Some(event) = self.error_event {
            system.raise(event);
        }
    }
}
