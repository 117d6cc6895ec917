//! What devices raise, on its way to the process's events.

use super::events::EventTable;
use super::memory::is_mapped;
use crate::device::{FaultCause, FaultReport, Interrupts, QueueCode};
use crate::mem::raw;
use crate::sync::Mutex;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicBool, Ordering, fence};
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
    pub agent: AgentId,
    /// The number of the queue's doorbell, by which waves name it.
    pub doorbell: u32,
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
    /// RUNTIME_ENABLE: the client wants to know of its queues' exceptions.
    runtime: AtomicBool,
}

impl Shared {
    pub(super) fn new(gpu_ids: alloc::vec::Vec<u32>) -> Self {
        Self {
            events: EventTable::new(),
            exceptions: Mutex::new(BTreeMap::new()),
            gpu_ids,
            log: OnceLock::new(),
            runtime: AtomicBool::new(false),
        }
    }

    /// RUNTIME_ENABLE, or its end.
    pub(super) fn enable_runtime(&self, on: bool) {
        self.runtime.store(on, Ordering::SeqCst);
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

/// What a message of a wave's names beside a doorbell (`KFD_INT_DATA_DEBUG_*` of the driver): exceptions of the queue,
/// by the number of their code less one.
const DOORBELL_MASK: u32 = 0x3ff;
const REASON_SHIFT: u32 = 10;
/// `KFD_EC_MASK_QUEUE`, as far as messages carry it: the codes of waves, 1 to 6.
const WAVE_REASONS: u32 = 0x3f;

/// Leaves reasons in the client's word, and raises the event.
fn send(shared: &Shared, target: Exceptions, code: u64) {
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
    if target.event != 0 {
        shared.raise(EventId(target.event));
    }
}

impl Interrupts for Shared {
    fn raise(&self, event: EventId) {
        // An id that is none is ignored, as the driver does.
        let _ = self.events.set(event.0);
    }

    /// As the driver: a wave's exception goes to its queue if the client has enabled its runtime, and else the message is
    /// an event's number.
    fn message(&self, agent: AgentId, payload: u32) {
        let (doorbell, reasons) = (payload & DOORBELL_MASK, payload >> REASON_SHIFT);
        if reasons & WAVE_REASONS != 0 && self.runtime.load(Ordering::SeqCst) {
            let target = {
                let exceptions = self.exceptions.lock();
                let named = |e: &&Exceptions| e.agent == agent && e.doorbell == doorbell;
                exceptions.values().find(named).copied()
            };
            if let Some(target) = target {
                send(self, target, u64::from(reasons));
                return;
            }
        }
        self.raise(EventId(payload));
    }

    fn stopped(&self, report: &FaultReport) {
        if let Some(log) = self.log.get() {
            log(report);
        }
        let code = match &report.cause {
            FaultCause::Packet(error) => reason(error.code()),
            // Told by the client's trap handler.
            FaultCause::Wave(fault) if fault.handled => return,
            FaultCause::Wave(fault) if fault.memory.is_none() => reason(fault.code),
            // No wave traps without a handler, nor in the packet processor: the event of the fault is all.
            FaultCause::Wave(_) | FaultCause::Memory { .. } => return,
        };
        let target = self.exceptions.lock().get(&report.queue.0).copied();
        if let Some(target) = target {
            send(self, target, code);
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
