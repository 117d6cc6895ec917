//! The packet processor of one queue: reads packets in order, launches them, completes them.

use super::memory::{QueueMemory, Signal, Times};
use super::pm4::{self, Pm4Error};
use super::scratch::{ScratchSlots, TmpRing};
use crate::device::{FaultCause, FaultReport, PacketError, QueueCode, System};
use crate::grid::{self, QueueContext};
use crate::mem::MemoryFault;
use crate::sched::{Dispatch, DispatchScratch};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{Ordering, fence};
use rukh_core::backend::{EventId, QueueHandle, QueuePriority};
use rukh_core::wire::aql::{
    AmdFormat, BarrierPacket, BarrierValuePacket, Header, KernelDispatchPacket, PACKET_SIZE,
    Packet, Pm4IbPacket,
};
use rukh_core::wire::pm4::{Command, Packet as Pm4};
use rukh_core::wire::queue::QueueProperties;
use rukh_core::wire::signal::Condition;

/// Packets of one queue that can be under way at once.
const MAX_IN_FLIGHT: usize = 16;

/// Waves of a dispatch from which on it is spread over workers at once. A smaller one is shared
/// only if it turns out to take long.
const WORTH_WAKING: u64 = 8;

/// Whether a queue executes packets.
enum State {
    Running,
    /// Until the host has set the inactive signal back to 0.
    WaitsForHost,
    /// An error has stopped it.
    Stopped,
}

/// A packet that has been launched.
struct InFlight {
    index: u64,
    work: Work,
    completion: u64,
}

enum Work {
    Dispatch(Arc<Dispatch>),
    /// Complete, and the host has been told; its slot is given back in order.
    Complete,
}

/// What to do next.
enum Step {
    /// Something has happened: look again.
    Again,
    /// Nothing can happen until somebody calls.
    Blocked,
    /// Nothing can happen until memory changes that nobody reports: look again in a while.
    Poll,
}

/// Why a packet cannot be launched.
enum Refusal {
    Packet(PacketError),
    Memory(&'static str, MemoryFault),
}

impl From<PacketError> for Refusal {
    fn from(error: PacketError) -> Self {
        Self::Packet(error)
    }
}

impl From<Pm4Error> for Refusal {
    fn from(error: Pm4Error) -> Self {
        match error {
            Pm4Error::Packet(error) => Self::Packet(error),
            Pm4Error::Memory(what, fault) => Self::Memory(what, fault),
        }
    }
}

/// Commands that a packet has called.
struct Commands {
    buffer: pm4::Buffer,
    machine: pm4::Machine,
    command: Vec<u32>,
}

impl Commands {
    fn new(packet: &Pm4IbPacket) -> Result<Self, Pm4Error> {
        let jump = Command::parse(&packet.ib_jump).map(|command| command.packet);
        let Ok(Pm4::IndirectBuffer(call)) = jump else {
            let why = "is not a jump to an indirect buffer";
            return Err(pm4::bad(packet.ib_jump[0], 0, why));
        };
        Ok(Self {
            buffer: pm4::Buffer::new(&call),
            machine: pm4::Machine::default(),
            command: Vec::new(),
        })
    }
}

/// One queue.
pub(crate) struct Queue {
    pub handle: QueueHandle,
    /// Its place in the table.
    pub slot: usize,
    /// Index of its GPU among the system's.
    pub gpu: usize,
    pub memory: QueueMemory,
    pub error_event: Option<EventId>,
    pub priority: QueuePriority,
    pub active: bool,
    /// Compute units that it may use.
    pub compute_units: u32,
    state: State,
    /// Index of the next packet to launch.
    next: u64,
    /// That packet, once it has been read.
    snapshot: Option<[u8; PACKET_SIZE]>,
    in_flight: VecDeque<InFlight>,
    scratch: Arc<ScratchSlots>,
    /// Of the next packet, while they wait.
    commands: Option<Box<Commands>>,
    /// Something has happened since service began.
    progress: bool,
}

/// What servicing a queue came to.
#[derive(Default)]
pub(crate) struct Served {
    /// Something has happened.
    pub progress: bool,
    /// The queue wants to be looked at again although nobody calls.
    pub look_again: bool,
    /// The queue's turn is over before its work is.
    pub again: bool,
}

impl Queue {
    pub(crate) fn new(
        handle: QueueHandle,
        slot: usize,
        gpu: usize,
        memory: QueueMemory,
        error_event: Option<EventId>,
        priority: QueuePriority,
        compute_units: u32,
    ) -> Self {
        Self {
            handle,
            slot,
            gpu,
            next: memory.load_read_index(),
            memory,
            error_event,
            priority,
            active: true,
            compute_units,
            state: State::Running,
            snapshot: None,
            in_flight: VecDeque::new(),
            scratch: Arc::new(ScratchSlots::default()),
            commands: None,
            progress: false,
        }
    }

    /// Does all that can be done now.
    pub(crate) fn service(&mut self, system: &System, doorbell: u64) -> Served {
        self.progress = false;
        let look_again = loop {
            let step = match self.complete(system) {
                Step::Again => Step::Again,
                _ => self.launch(system, doorbell),
            };
            match step {
                Step::Again => self.progress = true,
                Step::Blocked => break false,
                Step::Poll => break true,
            }
        };
        Served {
            progress: self.progress,
            look_again,
            again: false,
        }
    }

    /// Abandons everything: dispatches under way are cancelled, signals keep their values.
    pub(crate) fn abandon(&mut self) {
        self.state = State::Stopped;
        for packet in &self.in_flight {
            if let Work::Dispatch(dispatch) = &packet.work
                && dispatch.cancel()
            {
                dispatch.set_done();
            }
        }
    }

    /// Whether no dispatch is under way.
    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.iter().all(|packet| match &packet.work {
            Work::Dispatch(dispatch) => dispatch.is_done(),
            Work::Complete => true,
        })
    }

    /// Tells the host of dispatches that have finished, and gives slots back in order.
    fn complete(&mut self, system: &System) -> Step {
        if matches!(self.state, State::Stopped) {
            return Step::Blocked;
        }
        let done = self.in_flight.iter().position(
            |packet| matches!(&packet.work, Work::Dispatch(dispatch) if dispatch.is_done()),
        );
        let Some(at) = done else {
            return Step::Blocked;
        };
        let packet = &mut self.in_flight[at];
        let (index, completion) = (packet.index, packet.completion);
        let Work::Dispatch(dispatch) = core::mem::replace(&mut packet.work, Work::Complete) else {
            return Step::Blocked;
        };
        if let Some(fault) = dispatch.take_fault() {
            self.stop(system, index, FaultCause::Wave(fault));
            return Step::Blocked;
        }
        // Release: what the waves wrote is visible before the signal changes.
        fence(Ordering::SeqCst);
        self.give_back();
        let times = Times {
            start: dispatch.start,
            end: system.gpus[self.gpu].counter(&system.clock),
        };
        if !self.signal(system, index, completion, times) {
            return Step::Blocked;
        }
        let once = QueueProperties::USE_SCRATCH_ONCE.bits();
        if dispatch.scratch.is_some() && self.memory.properties() & once != 0 {
            self.tell_host(system, QueueCode::ScratchReclaim);
        }
        Step::Again
    }

    /// Gives the slots of packets that are complete back, oldest first.
    fn give_back(&mut self) {
        let mut read = None;
        while let Some(packet) = self.in_flight.front()
            && matches!(packet.work, Work::Complete)
        {
            self.memory.retire(packet.index);
            read = Some(packet.index + 1);
            self.in_flight.pop_front();
        }
        if let Some(read) = read {
            self.memory.store_read_index(read);
        }
    }

    /// Decrements a completion signal. False if that stopped the queue.
    fn signal(&mut self, system: &System, index: u64, handle: u64, times: Times) -> bool {
        if handle == 0 {
            return true;
        }
        let view = &system.gpus[self.gpu].view;
        let profiling = self.memory.properties() & QueueProperties::ENABLE_PROFILING.bits() != 0;
        let raised = Signal::find(view, handle)
            .and_then(|signal| signal.complete(view, profiling.then_some(times)));
        match raised {
            Ok(event) => {
                if let Some(event) = event {
                    system.raise(EventId(event));
                }
                system.signal_changed();
                true
            }
            Err(fault) => {
                let what = "completion signal";
                self.stop(system, index, FaultCause::Memory { what, fault });
                false
            }
        }
    }

    /// Stores a code in the inactive signal and raises the queue's event.
    fn tell_host(&mut self, system: &System, code: QueueCode) {
        self.state = State::WaitsForHost;
        self.progress = true;
        let handle = self.memory.inactive_signal();
        if handle != 0 {
            let view = &system.gpus[self.gpu].view;
            let raised =
                Signal::find(view, handle).and_then(|signal| signal.store(view, code as u64));
            match raised {
                Ok(Some(event)) => system.raise(EventId(event)),
                Ok(None) => {}
                // There is nobody to tell: the queue stays stopped, and the report says why.
                Err(fault) => system.record(FaultReport {
                    agent: system.gpus[self.gpu].agent,
                    queue: self.handle,
                    packet: self.next,
                    cause: FaultCause::Memory {
                        what: "inactive signal",
                        fault,
                    },
                }),
            }
        }
        if let Some(event) = self.error_event {
            system.raise(event);
        }
    }

    /// Stops the queue for good.
    fn stop(&mut self, system: &System, packet: u64, cause: FaultCause) {
        self.abandon();
        self.progress = true;
        let report = FaultReport {
            agent: system.gpus[self.gpu].agent,
            queue: self.handle,
            packet,
            cause,
        };
        let code = match &report.cause {
            FaultCause::Packet(error) => Some(error.code()),
            FaultCause::Wave(fault) if fault.memory.is_none() => Some(fault.code),
            _ => None,
        };
        system.record(report);
        if let Some(code) = code {
            self.tell_host(system, code);
        } else if let Some(event) = self.error_event {
            system.raise(event);
        }
        self.state = State::Stopped;
    }

    /// Whether the host has set the inactive signal back.
    fn host_answered(&self, system: &System) -> bool {
        let view = &system.gpus[self.gpu].view;
        Signal::find(view, self.memory.inactive_signal()).is_ok_and(|signal| signal.value() == 0)
    }

    /// Launches the next packet, if it is there and may start.
    fn launch(&mut self, system: &System, doorbell: u64) -> Step {
        match self.state {
            State::Stopped => return Step::Blocked,
            State::WaitsForHost => {
                if !self.host_answered(system) {
                    return Step::Poll;
                }
                self.state = State::Running;
            }
            State::Running => {}
        }
        if !self.active || self.in_flight.len() >= MAX_IN_FLIGHT {
            return Step::Blocked;
        }
        let bytes = match self.snapshot {
            Some(bytes) => bytes,
            None => {
                if self.next >= doorbell && self.next >= self.memory.load_write_index() {
                    return Step::Blocked;
                }
                let Some(bytes) = self.memory.read_packet(self.next) else {
                    return Step::Blocked;
                };
                *self.snapshot.insert(bytes)
            }
        };
        let packet = Packet::parse(&bytes);
        if packet.header().has_barrier() && !self.in_flight.is_empty() {
            return Step::Blocked;
        }
        // Acquire: what others released before is visible to the packet's work.
        fence(Ordering::SeqCst);
        match self.start(system, &packet) {
            Ok(Some(step)) => step,
            Ok(None) => {
                self.snapshot = None;
                self.next += 1;
                Step::Again
            }
            Err(refusal) => {
                let cause = match refusal {
                    Refusal::Packet(error) => FaultCause::Packet(error),
                    Refusal::Memory(what, fault) => FaultCause::Memory { what, fault },
                };
                self.stop(system, self.next, cause);
                Step::Blocked
            }
        }
    }

    /// Starts a packet: `None` if it is under way or complete, a step if it has to wait.
    fn start(&mut self, system: &System, packet: &Packet) -> Result<Option<Step>, Refusal> {
        let ready = match packet {
            Packet::KernelDispatch(packet) => return self.dispatch(system, packet),
            Packet::BarrierAnd(packet) => self.dependencies(system, packet, true)?,
            Packet::BarrierOr(packet) => self.dependencies(system, packet, false)?,
            Packet::BarrierValue(packet) => self.barrier_value(system, packet)?,
            Packet::Pm4Ib(packet) => {
                if let Some(step) = self.indirect(system, packet)? {
                    return Ok(Some(step));
                }
                true
            }
            Packet::AgentDispatch(_) | Packet::Invalid(_) | Packet::Unknown(_) => {
                return Err(unknown(&packet.emit()).into());
            }
        };
        if !ready {
            return Ok(Some(Step::Poll));
        }
        let now = system.gpus[self.gpu].counter(&system.clock);
        let index = self.next;
        self.in_flight.push_back(InFlight {
            index,
            work: Work::Complete,
            completion: 0,
        });
        self.give_back();
        let completion = packet.completion_signal().unwrap_or(0);
        let times = Times {
            start: now,
            end: now,
        };
        if !self.signal(system, index, completion, times) {
            return Ok(Some(Step::Blocked));
        }
        Ok(None)
    }

    /// Executes the commands that a packet calls, or goes on with them: a step if they have to wait.
    fn indirect(&mut self, system: &System, packet: &Pm4IbPacket) -> Result<Option<Step>, Refusal> {
        let gpu = &system.gpus[self.gpu];
        let mut run = match self.commands.take() {
            Some(run) => run,
            None => Box::new(Commands::new(packet)?),
        };
        let mut budget = pm4::BUDGET;
        while !run.buffer.is_done() {
            let cx = pm4::Cx {
                system,
                gpu,
                offset: run.buffer.at,
                busy: !self.in_flight.is_empty(),
            };
            run.buffer.next(&gpu.view, &mut run.command)?;
            let dwords = run.command.len() as u64;
            let header = run.command.first().copied().unwrap_or(0);
            let step = match run.machine.execute(&cx, &run.command, &mut budget)? {
                pm4::Next::Done => {
                    run.buffer.at += dwords;
                    None
                }
                pm4::Next::Skip(more) => {
                    run.buffer.at += dwords + u64::from(more);
                    None
                }
                pm4::Next::Call(call) if call.is_chain() => {
                    run.buffer = pm4::Buffer::new(&call);
                    budget = budget.saturating_sub(4096);
                    None
                }
                pm4::Next::Idle => Some(Step::Blocked),
                pm4::Next::Wait | pm4::Next::More => Some(Step::Poll),
                pm4::Next::Call(_) | pm4::Next::Dispatch(_) => {
                    let why = "is not supported in buffers that AQL packets call";
                    return Err(pm4::bad(header, cx.offset, why).into());
                }
            };
            if let Some(step) = step.or((budget == 0).then_some(Step::Poll)) {
                self.commands = Some(run);
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Whether the dependencies of a barrier packet are met. Null handles are no dependencies.
    fn dependencies(
        &self,
        system: &System,
        packet: &BarrierPacket,
        all: bool,
    ) -> Result<bool, Refusal> {
        let view = &system.gpus[self.gpu].view;
        let mut handles = packet.dep_signal.iter().filter(|h| **h != 0).peekable();
        if handles.peek().is_none() {
            return Ok(true);
        }
        for handle in handles {
            let met = Signal::find(view, *handle)
                .map_err(|fault| Refusal::Memory("dependency signal", fault))?
                .value()
                == 0;
            if met != all {
                return Ok(!all);
            }
        }
        Ok(all)
    }

    fn barrier_value(&self, system: &System, packet: &BarrierValuePacket) -> Result<bool, Refusal> {
        let condition = Condition::from_bits(packet.condition).ok_or(PacketError::Condition {
            condition: packet.condition,
        })?;
        if packet.signal == 0 {
            return Ok(true);
        }
        let signal = Signal::find(&system.gpus[self.gpu].view, packet.signal)
            .map_err(|fault| Refusal::Memory("dependency signal", fault))?;
        Ok(condition.holds(signal.value() & packet.mask, packet.value))
    }

    fn dispatch(
        &mut self,
        system: &System,
        packet: &KernelDispatchPacket,
    ) -> Result<Option<Step>, Refusal> {
        let gpu = &system.gpus[self.gpu];
        let shape = grid::shape(packet)?;
        let descriptor = grid::descriptor(&gpu.view, gpu.profile, packet)?;
        let fields = self.memory.fields();
        let cx = QueueContext {
            packet: self.memory.packet_va(self.next),
            queue: self.memory.descriptor_va,
            dispatch_id: self.next,
            scratch_descriptor: fields.scratch_descriptor,
            scratch_base: fields.scratch_base,
        };
        let kernel = grid::prepare(
            &gpu.view,
            gpu.profile,
            self.compute_units,
            packet,
            &descriptor,
            &shape,
            &cx,
        )?;
        if packet.completion_signal != 0 {
            // Better now than after the work.
            Signal::find(&gpu.view, packet.completion_signal)
                .map_err(|fault| Refusal::Memory("completion signal", fault))?;
        }
        let mut scratch = None;
        if kernel.uses_scratch {
            let ring = TmpRing::parse(gpu.profile.arch, fields.tmpring, gpu.profile.shader_engines);
            let waves = u64::from(shape.workgroup_items().div_ceil(kernel.lanes));
            let need = u64::from(packet.private_segment_size) * u64::from(kernel.lanes);
            let lane_bytes = u64::from(fields.scratch_lane_bytes) * 64;
            let held = match ring.wave_bytes {
                0 => 0,
                bytes => ring.waves.min(fields.scratch_bytes / bytes),
            };
            if held < waves || ring.wave_bytes < need || lane_bytes < need {
                // Dispatches under way still use what there is.
                if !self.in_flight.is_empty() {
                    return Ok(Some(Step::Blocked));
                }
                let code = if kernel.lanes == 32 {
                    QueueCode::ScratchWave32
                } else {
                    QueueCode::Scratch
                };
                self.tell_host(system, code);
                return Ok(Some(Step::Poll));
            }
            self.scratch.resize(held as usize);
            scratch = Some(DispatchScratch {
                slots: self.scratch.clone(),
                wave_bytes: ring.wave_bytes,
            });
        }
        let dispatch = Dispatch::new(
            self.gpu,
            self.slot,
            packet.kernel_object,
            system.next_dispatch(),
            self.priority,
            kernel,
            shape,
            scratch,
            gpu.counter(&system.clock),
        );
        self.in_flight.push_back(InFlight {
            index: self.next,
            work: Work::Dispatch(dispatch.clone()),
            completion: packet.completion_signal,
        });
        let groups = shape.total_groups();
        let waves = u64::from(shape.workgroup_items() / 64).max(1);
        system.active.push(dispatch);
        // The worker that does this takes the first work-group itself. What is small is done before
        // another worker is awake.
        if groups.saturating_mul(waves) >= WORTH_WAKING {
            system.parking.wake(groups - 1);
        }
        Ok(None)
    }
}

/// The error of a packet that a GPU does not execute.
fn unknown(bytes: &[u8; PACKET_SIZE]) -> PacketError {
    let header = Header(u16::from_le_bytes([bytes[0], bytes[1]]));
    match header.packet_type().bits() {
        0 => PacketError::VendorFormat {
            format: AmdFormat::from_bits(bytes[2]).bits(),
        },
        kind => PacketError::PacketType { kind },
    }
}
