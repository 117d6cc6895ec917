//! The simulated system: what its devices, workers and the backend share.

use super::clock::SimClock;
use super::engines::Engines;
use super::events::Events;
use super::fault::{FaultCause, FaultReport};
use crate::cp::QueueTable;
use crate::exec::{Alignment, Shared, TraceHook, valu::Level};
use crate::mem::{AddressMap, MemoryFault, MemoryView};
use crate::profile::Profile;
use crate::sched::{Active, Dispatch, Parking, Quiescence, ShaderClock};
use crate::sync::Mutex;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::{AgentId, EventId, EventKind, EventReport, MemoryFaultInfo};

/// Fault reports that are kept.
const MAX_FAULTS: usize = 64;
/// s_sendmsg's message for an interrupt.
const MSG_INTERRUPT: u16 = 1;
/// What of M0 the interrupt carries.
const MESSAGE_BITS: u32 = 0xff_ffff;

/// A GPU.
pub(crate) struct Gpu {
    pub agent: AgentId,
    pub profile: &'static Profile,
    pub view: MemoryView,
    /// Compute queues that exist.
    pub queues: AtomicU32,
    /// What its waves share beside memory.
    pub shared: Shared,
    /// Engines that copy.
    pub engines: Engines,
    code_epoch: AtomicU64,
}

impl Gpu {
    pub(crate) fn new(agent: AgentId, profile: &'static Profile, view: MemoryView) -> Self {
        Self {
            agent,
            profile,
            view,
            queues: AtomicU32::new(0),
            shared: Shared::new(profile.arch),
            engines: Engines::new(profile),
            code_epoch: AtomicU64::new(0),
        }
    }

    /// The device's counter now.
    pub(crate) fn counter(&self, clock: &SimClock) -> u64 {
        self.to_counter(clock.now())
    }

    /// The device's counter at a time of the clock.
    pub(crate) fn to_counter(&self, now: u64) -> u64 {
        (u128::from(now) * u128::from(self.profile.counter_hz) / 1_000_000_000) as u64
    }

    /// Has workers look at code again before they go on.
    pub(crate) fn invalidate_code(&self) {
        self.code_epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Changes when code is to be looked at again.
    pub(crate) fn code_epoch(&self) -> u64 {
        self.code_epoch.load(Ordering::SeqCst)
    }

    pub(crate) fn shader_clock<'a>(&'a self, clock: &'a SimClock) -> GpuClock<'a> {
        GpuClock { gpu: self, clock }
    }
}

/// The clocks that instructions read.
pub(crate) struct GpuClock<'a> {
    gpu: &'a Gpu,
    clock: &'a SimClock,
}

impl ShaderClock for GpuClock<'_> {
    fn cycles(&self) -> u64 {
        let mhz = u128::from(self.gpu.profile.max_clock_mhz);
        (u128::from(self.clock.now()) * mhz / 1000) as u64
    }

    fn counter(&self) -> u64 {
        self.gpu.counter(self.clock)
    }
}

/// Whoever takes the devices' interrupts in the place of [`Events`]: a driver that keeps events of its own.
/// Called with a queue's lock held, so that it must not call back into queues.
pub(crate) trait Interrupts: Send + Sync {
    /// A device raises an event.
    fn raise(&self, event: EventId);
    /// A wave interrupts the host.
    fn message(&self, agent: AgentId, payload: u32);
    /// A queue has stopped; after the memory fault, if that is why.
    fn stopped(&self, report: &FaultReport);
    /// A device has met a memory fault.
    fn memory_fault(&self, agent: AgentId, fault: MemoryFaultInfo);
}

/// What everything shares.
pub(crate) struct System {
    pub map: Arc<AddressMap>,
    pub gpus: Vec<Gpu>,
    pub queues: QueueTable,
    pub events: Events,
    /// Takes what devices raise and report, if it is not `events`.
    interrupts: Option<Arc<dyn Interrupts>>,
    pub clock: SimClock,
    pub active: Active,
    pub parking: Parking,
    pub quiesce: Quiescence,
    /// How many workers there are.
    pub workers: usize,
    /// Called after each instruction.
    pub trace: Option<Arc<TraceHook>>,
    /// The host instruction set that workers use.
    pub level: Level,
    /// How memory instructions take addresses.
    pub alignment: Alignment,
    faults: Mutex<VecDeque<FaultReport>>,
    dispatches: AtomicU64,
    retired: AtomicU64,
    stopping: AtomicBool,
}

impl System {
    pub(crate) fn new(
        map: Arc<AddressMap>,
        gpus: Vec<Gpu>,
        clock: SimClock,
        workers: usize,
        (trace, level, alignment): (Option<Arc<TraceHook>>, Level, Alignment),
        interrupts: Option<Arc<dyn Interrupts>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            map,
            gpus,
            queues: QueueTable::new(),
            events: Events::default(),
            interrupts,
            clock,
            active: Active::default(),
            parking: Parking::default(),
            quiesce: Quiescence::new(workers),
            workers,
            faults: Mutex::new(VecDeque::new()),
            dispatches: AtomicU64::new(0),
            retired: AtomicU64::new(0),
            trace,
            level,
            alignment,
            stopping: AtomicBool::new(false),
        })
    }

    /// Services queues that were called.
    pub(crate) fn service_pending(&self) -> bool {
        self.queues.look_at_doorbells();
        self.queues.service(self)
    }

    /// All work-groups of a dispatch are accounted for.
    pub(crate) fn dispatch_done(&self, dispatch: &Dispatch) {
        dispatch.set_done();
        self.queues.call(dispatch.queue);
        self.queues.service_one(self, dispatch.queue);
    }

    /// A device has changed a signal: queues may have waited for it.
    pub(crate) fn signal_changed(&self) {
        if self.queues.has_polling() {
            self.queues.call_polling();
            self.parking.wake(1);
        }
    }

    /// Counts instructions that a work-group's turn has executed, and lets virtual time pass for them.
    pub(crate) fn retire(&self, instructions: u64) {
        self.retired.fetch_add(instructions, Ordering::Relaxed);
        self.clock.tick(instructions);
    }

    /// Instructions that all waves have executed.
    pub(crate) fn retired(&self) -> u64 {
        self.retired.load(Ordering::Relaxed)
    }

    pub(crate) fn next_dispatch(&self) -> u64 {
        self.dispatches.fetch_add(1, Ordering::Relaxed)
    }

    /// A wave has sent a message.
    pub(crate) fn message(&self, agent: AgentId, message: u16, payload: u32) {
        if message & 0xff == MSG_INTERRUPT {
            match &self.interrupts {
                Some(interrupts) => interrupts.message(agent, payload & MESSAGE_BITS),
                None => self.events.raise(EventId(payload & MESSAGE_BITS)),
            }
        }
    }

    /// An access of a wave's has failed that its trap handler learns of next.
    pub(crate) fn trapped(&self, agent: AgentId, fault: &MemoryFault) {
        match &self.interrupts {
            Some(interrupts) => interrupts.memory_fault(agent, info(fault)),
            None => self.events.report(
                EventKind::MemoryFault,
                EventReport::Memory(agent, info(fault)),
            ),
        }
    }

    /// A device raises an event.
    pub(crate) fn raise(&self, event: EventId) {
        match &self.interrupts {
            Some(interrupts) => interrupts.raise(event),
            None => self.events.raise(event),
        }
    }

    /// Keeps a report, and tells of memory faults.
    pub(crate) fn record(&self, report: FaultReport) {
        let handled = matches!(&report.cause, FaultCause::Wave(fault) if fault.handled);
        let memory = report.memory().filter(|_| !handled).map(|fault| {
            let mut info = info(fault);
            info.queue = Some(report.queue);
            (report.agent, info)
        });
        {
            let mut faults = self.faults.lock();
            if faults.len() == MAX_FAULTS {
                faults.pop_front();
            }
            faults.push_back(report.clone());
        }
        let Some(interrupts) = &self.interrupts else {
            if let Some((agent, info)) = memory {
                self.events
                    .report(EventKind::MemoryFault, EventReport::Memory(agent, info));
            }
            return;
        };
        // The memory hub's interrupt comes first: a wave traps once its access has come back.
        if let Some((agent, info)) = memory {
            interrupts.memory_fault(agent, info);
        }
        interrupts.stopped(&report);
    }

    pub(crate) fn faults(&self) -> Vec<FaultReport> {
        self.faults.lock().iter().cloned().collect()
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.parking.wake(u64::MAX);
    }

    #[cfg(feature = "std")]
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Whether a worker without work may sleep.
    #[cfg(feature = "std")]
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_stopping() && !self.queues.has_calls() && self.active.is_empty()
    }

    /// How long a worker may sleep while queues wait for memory that nobody reports: longer the
    /// longer that lasts. `None`: until it is woken.
    ///
    /// Doorbells that are plain memory are among it, so that a system that has any never sleeps for good: the
    /// first worker looks every millisecond then, after a while without work, and the others every four, for
    /// when the first is busy. With two workers that was measured as 1.5 % of a processor, unoptimised.
    #[cfg(feature = "std")]
    pub(crate) fn poll_interval(&self, worker: usize, looks: u32) -> Option<core::time::Duration> {
        let polling = self.queues.has_polling();
        (polling || self.queues.has_doorbells()).then(|| {
            let micros = if polling || worker == 0 {
                (20u64 << (looks / 16).min(6)).min(1000)
            } else {
                4000
            };
            core::time::Duration::from_micros(micros)
        })
    }

    /// Has queues looked at that wait for memory that nobody reports.
    pub(crate) fn poll_waiting(&self) -> bool {
        self.queues.call_polling()
    }
}

/// A memory fault as hardware reports it.
fn info(fault: &MemoryFault) -> MemoryFaultInfo {
    use crate::mem::FaultReason::{
        NotCanonical, NotExecutable, NotMapped, NotReadable, NotWritable, OtherAgent,
    };
    MemoryFaultInfo {
        address: fault.page(),
        not_present: matches!(
            fault.reason,
            NotMapped | OtherAgent | NotCanonical | NotReadable
        ),
        read_only: fault.reason == NotWritable,
        no_execute: fault.reason == NotExecutable,
        imprecise: false,
        queue: None,
    }
}
