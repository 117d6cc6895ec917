//! System events: memory faults and hardware exceptions; logging.

use crate::abi::{MemoryFaultDetails, Opaque, Status, SystemEvent, SystemEventCallback};
use crate::arg::In;
use crate::diag;
use crate::entry::entry;
use crate::environment;
use crate::runtime::{ClientPointer, State};
use crate::stop;
use core::ffi::c_void;
use rukh_core::backend::{AgentId, MemoryFaultInfo};
use rukh_core::runtime::SystemEvent as CoreEvent;
use std::sync::{Arc, PoisonError, Weak};

/// `hsa_amd_memory_fault_reason_t`
const PAGE_NOT_PRESENT: u32 = 1 << 0;
const READ_ONLY: u32 = 1 << 1;
const NO_EXECUTE: u32 = 1 << 2;
const IMPRECISE: u32 = 1 << 5;

/// `HSA_AMD_GPU_MEMORY_FAULT_EVENT`
const MEMORY_FAULT_EVENT: u32 = 0;

fn reasons(fault: &MemoryFaultInfo) -> (u32, &'static str) {
    let mut mask = 0;
    for (set, bit) in [
        (fault.not_present, PAGE_NOT_PRESENT),
        (fault.read_only, READ_ONLY),
        (fault.no_execute, NO_EXECUTE),
        (fault.imprecise, IMPRECISE),
    ] {
        if set {
            mask |= bit;
        }
    }
    let text = if fault.no_execute {
        "it is not executable"
    } else if fault.read_only {
        "it is read-only"
    } else {
        "it is not mapped to the agent"
    };
    (mask, text)
}

/// Shows a memory fault to the client's handlers. Without one that answers SUCCESS, and
/// without a queue on the agent that tells its client, the process ends: it would wait for ever.
fn memory_fault(state: &State, agent: AgentId, fault: &MemoryFaultInfo) -> bool {
    let (mask, text) = reasons(fault);
    let name = state
        .agents()
        .get(agent.0 as usize)
        .map_or("", |agent| agent.info.name.as_str());
    if environment::flag("HSA_ENABLE_VM_FAULT_MESSAGE", true) {
        diag::say(format_args!(
            "memory fault by agent {} ({name}) at {:#x}: {text}",
            agent.0, fault.address
        ));
        if let Some(queue) = fault.queue {
            stop::say(state, queue);
        }
    }
    let event = SystemEvent {
        event_type: MEMORY_FAULT_EVENT,
        memory_fault: MemoryFaultDetails {
            agent: state.agent_handle(agent).unwrap_or_default(),
            virtual_address: fault.address,
            fault_reason_mask: mask,
        },
    };
    let handlers = {
        let handlers = state.system_handlers.lock();
        handlers.unwrap_or_else(PoisonError::into_inner).clone()
    };
    let mut handled = false;
    for (handler, data) in handlers {
        if let Some(handler) = handler {
            // SAFETY: a function of this type, by the contract of the registering export.
            let answer = unsafe { handler(&raw const event, data.get()) };
            handled |= answer == Status::SUCCESS;
        }
    }
    if !handled && !state.queues.any_callback(agent) {
        diag::fatal(format_args!(
            "nobody handles the fault: neither a system event handler nor a queue's error callback"
        ));
    }
    true
}

/// Has the runtime report its events to a state.
pub fn attach(state: &Arc<State>) {
    let weak: Weak<State> = Arc::downgrade(state);
    state
        .runtime
        .on_system_event(Arc::new(move |event| match (weak.upgrade(), event) {
            (Some(state), CoreEvent::MemoryFault { agent, fault }) => {
                memory_fault(&state, *agent, fault)
            }
            (_, CoreEvent::HardwareException { agent, exception }) => {
                diag::say(format_args!(
                    "hardware exception on agent {}: cause {:#x}",
                    agent.0, exception.cause
                ));
                true
            }
            (None, CoreEvent::MemoryFault { .. }) => false,
        }));
}

entry! {
    /// `hsa_amd_register_system_event_handler`: calls back on memory faults.
    fn hsa_amd_register_system_event_handler(state; callback: SystemEventCallback, data: *mut c_void) {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let mut handlers = state.system_handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.push((Some(callback), ClientPointer(data)));
        Ok(())
    }

    /// `hsa_amd_enable_logging`: what this library says goes to a file of the client's too, if any of the eight
    /// bytes of flags is set; null is standard error alone.
    fn hsa_amd_enable_logging(_state; flags: In<[u8; 8]>, file: *mut Opaque) {
        let wanted = flags.required()?.iter().any(|byte| *byte != 0);
        diag::also_to(if wanted { file.cast() } else { core::ptr::null_mut() });
        Ok(())
    }
}
