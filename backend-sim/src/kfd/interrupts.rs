//! What devices raise, on its way to the process's events.

use super::events::EventTable;
use super::memory::is_mapped;
use crate::device::{FaultCause, FaultReport, Interrupts, QueueCode};
use crate::mem::raw;
use crate::sync::Mutex;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU32, Ordering, fence};
use rukh_core::backend::{AgentId, EventId, MemoryFaultInfo};
use rukh_core::kfd::uapi::event_type;
use std::sync::OnceLock;

/// Where the reasons of a queue's exceptions go, as its context save area's header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exceptions {
    /// Address of the client's word.
    pub payload: u64,
    /// The event to raise then.
    pub event: u32,
}

/// What workers and ioctls share.
pub(super) struct Shared {
    pub events: EventTable,
    /// By the device's name of the queue. Held for short, and never while a queue is called.
    exceptions: Mutex<BTreeMap<u64, Exceptions>>,
    /// The driver's ids of the GPUs, by agent number less one.
    gpu_ids: alloc::vec::Vec<u32>,
    /// Is shown each report first.
    pub log: OnceLock<fn(&FaultReport)>,
    /// GPUs, by agent number less one, whose waves trap into a handler of the client's.
    trap_handlers: AtomicU32,
}

impl Shared {
    pub(super) fn new(gpu_ids: alloc::vec::Vec<u32>) -> Self {
        Self {
            events: EventTable::new(),
            exceptions: Mutex::new(BTreeMap::new()),
            gpu_ids,
            log: OnceLock::new(),
            trap_handlers: AtomicU32::new(0),
        }
    }

    /// The client has set a trap handler on a GPU, or taken it away.
    pub(super) fn set_trap_handler(&self, bit: u32, on: bool) {
        if on {
            self.trap_handlers.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.trap_handlers.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    fn has_trap_handler(&self, agent: AgentId) -> bool {
        let bit = 1u32.checked_shl(agent.0.wrapping_sub(1)).unwrap_or(0);
        self.trap_handlers.load(Ordering::Relaxed) & bit != 0
    }

    pub(super) fn add_queue(&self, handle: u64, exceptions: Exceptions) {
        self.exceptions.lock().insert(handle, exceptions);
    }

    pub(super) fn remove_queue(&self, handle: u64) {
        self.exceptions.lock().remove(&handle);
    }
}

/// The bit of a code of `enum kfd_dbg_trap_exception_code`, for what stopped a queue.
const fn reason(code: QueueCode) -> u64 {
    let code: u32 = match code {
        QueueCode::IncompatibleArguments => 16,
        QueueCode::InvalidAllocation => 17,
        QueueCode::InvalidCodeObject => 18,
        QueueCode::InvalidPacket => 20,
        QueueCode::InvalidArgument => 21,
        QueueCode::OutOfRegisters => 22,
        QueueCode::InvalidVendorPacket => 23,
        QueueCode::IllegalInstruction => 4,
        QueueCode::ApertureViolation => 6,
        QueueCode::Exception => 2,
        // Asks for memory, and is no exception.
        QueueCode::Scratch | QueueCode::ScratchWave32 | QueueCode::ScratchReclaim => return 0,
    };
    1 << (code - 1)
}

/// EC_QUEUE_WAVE_MEMORY_VIOLATION. The event of a memory fault names no queue; the driver learns of it from the trap handler,
/// which the wave runs when its access comes back: AMD's sends the queue's doorbell and this code with s_sendmsg. Handlers are
/// not executed here; that one is set counts as if it did that.
const WAVE_MEMORY_VIOLATION: u64 = 1 << 4;

impl Interrupts for Shared {
    fn raise(&self, event: EventId) {
        // An id that is none is ignored, as the driver does.
        let _ = self.events.set(event.0);
    }

    fn stopped(&self, report: &FaultReport) {
        if let Some(log) = self.log.get() {
            log(report);
        }
        let code = match &report.cause {
            FaultCause::Packet(error) => reason(error.code()),
            FaultCause::Wave(fault) if fault.memory.is_none() => reason(fault.code),
            FaultCause::Wave(_) if self.has_trap_handler(report.agent) => WAVE_MEMORY_VIOLATION,
            // An access of the packet processor's own: no wave traps, and the event of the fault is all.
            FaultCause::Wave(_) | FaultCause::Memory { .. } => return,
        };
        let event = {
            let exceptions = self.exceptions.lock();
            let Some(target) = exceptions.get(&report.queue.0) else {
                return;
            };
            if !target.payload.is_multiple_of(8) || !is_mapped(target.payload, 8) {
                return;
            }
            let word = core::ptr::with_exposed_provenance_mut::<u8>(target.payload as usize);
            // SAFETY: the client left the address in the header of a queue that it has not destroyed, which is its
            // promise that the word is there; it is mapped and aligned, and the client reads it as an atomic.
            unsafe {
                let reasons = raw::load_u64(word) | code;
                fence(Ordering::Release);
                raw::store_u64(word, reasons);
            }
            target.event
        };
        if event != 0 {
            self.raise(EventId(event));
        }
    }

    fn memory_fault(&self, agent: AgentId, fault: MemoryFaultInfo) {
        let index = agent.0.wrapping_sub(1) as usize;
        let gpu = self.gpu_ids.get(index).copied().unwrap_or(0);
        let pair = |low: bool, high: bool| u64::from(low) | u64::from(high) << 32;
        self.events.report(
            event_type::MEMORY,
            [
                pair(fault.not_present, fault.read_only),
                pair(fault.no_execute, fault.imprecise),
                fault.address,
                u64::from(gpu),
            ],
        );
    }
}
