//! What the leader does besides waking: queues that stopped or want scratch, and faults.

use super::Reactor;
use crate::backend::{AgentId, Backend, EventReport, HardwareEvent, MemoryFaultInfo};
use crate::queue::QueueStatus;
use crate::runtime::queue::QueueFailure;
use crate::sync::Ordering;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What came with the events of one wait.
pub(crate) type Reports = Vec<EventReport>;

/// Something that concerns the whole system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemEvent {
    /// A memory fault on an agent. The queue is stopped, or all of the agent's if the hardware does
    /// not say which it was.
    MemoryFault {
        /// The agent.
        agent: AgentId,
        /// What the hardware reported.
        fault: MemoryFaultInfo,
    },
    /// A hardware exception on an agent. Its queues are stopped.
    HardwareException {
        /// The agent.
        agent: AgentId,
        /// What the hardware reported.
        exception: HardwareEvent,
    },
}

/// Called for system events; gives whether it handled the event.
pub type SystemHandler = dyn Fn(&SystemEvent) -> bool + Send + Sync;

/// Called when a queue was stopped, once.
pub type ErrorCallback = Box<dyn FnOnce(QueueFailure) + Send>;

/// A call that is due.
pub(crate) enum Pending {
    System(SystemEvent),
    Queue(ErrorCallback, QueueFailure),
}

impl<B: Backend + ?Sized> Reactor<B> {
    /// Serves the queues and what was reported. Makes calls due, but calls nobody.
    pub fn service(&self, reports: Reports) {
        for report in reports {
            let (agent, hardware, event, status) = match report {
                EventReport::Memory(agent, fault) => (
                    agent,
                    fault.queue,
                    SystemEvent::MemoryFault { agent, fault },
                    QueueStatus::MemoryFault {
                        address: fault.address,
                    },
                ),
                EventReport::Hardware(agent, exception) => (
                    agent,
                    None,
                    SystemEvent::HardwareException { agent, exception },
                    QueueStatus::Exception,
                ),
                EventReport::Queue(handle, status) => {
                    for queue in self.live_queues() {
                        if queue.is(handle) {
                            queue.fail(status);
                        }
                    }
                    continue;
                }
            };
            self.make_due(Pending::System(event));
            if hardware.is_none() {
                self.lose_copies(agent);
            }
            for queue in self.live_queues() {
                if queue.agent() == agent && hardware.is_none_or(|h| queue.is(h)) {
                    queue.fail(status);
                }
            }
        }
        self.serve_copies();
        if self.queue_count.load(Ordering::Acquire) != 0 {
            for queue in self.live_queues() {
                queue.serve();
            }
        }
    }

    fn live_queues(&self) -> Vec<Arc<crate::runtime::queue::QueueInner<B>>> {
        let queues = self.queues.lock(self.park());
        queues
            .iter()
            .filter_map(alloc::sync::Weak::upgrade)
            .collect()
    }

    /// Makes a call due and, if there is one, wakes the thread that makes calls.
    pub fn make_due(&self, call: Pending) {
        self.pending.lock(self.park()).push_back(call);
        self.pending_count.fetch_add(1, Ordering::Release);
        self.poke();
    }

    pub fn has_pending(&self) -> bool {
        self.pending_count.load(Ordering::Acquire) != 0
    }

    pub fn run_pending_if_unthreaded(&self) {
        if self.has_pending() && !self.threaded.load(Ordering::Acquire) {
            self.run_pending();
        }
    }

    /// Makes the calls that are due; gives how many. No lock is held during a call.
    pub fn run_pending(&self) -> usize {
        let mut calls = 0;
        loop {
            let next = self.pending.lock(self.park()).pop_front();
            let Some(call) = next else {
                return calls;
            };
            self.pending_count.fetch_sub(1, Ordering::AcqRel);
            calls += 1;
            match call {
                Pending::Queue(callback, failure) => callback(failure),
                Pending::System(event) => {
                    let handlers = self.system.lock(self.park()).clone();
                    let handled = handlers
                        .iter()
                        .fold(false, |handled, handler| handler(&event) | handled);
                    if !handled {
                        report_unhandled(&event);
                    }
                }
            }
        }
    }

    pub fn add_system_handler(&self, handler: Arc<SystemHandler>) {
        self.system.lock(self.park()).push(handler);
    }
}

fn report_unhandled(event: &SystemEvent) {
    match event {
        SystemEvent::MemoryFault { agent, fault } => crate::trace::event!(
            error,
            "memory fault by agent {} at {:#x}, which nobody handles",
            agent.0,
            fault.address
        ),
        SystemEvent::HardwareException { agent, exception } => crate::trace::event!(
            error,
            "hardware exception of agent {}, cause {:#x}, which nobody handles",
            agent.0,
            exception.cause
        ),
    }
}
