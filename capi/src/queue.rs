//! Chapter queues: creating and destroying. Their indices are in `queue_index.rs`.

use crate::abi::{Agent, QueueErrorCallback, QueueType, Region, Signal, Status};
use crate::amd::intercept::InterceptQueue;
use crate::arg::Out;
use crate::diag;
use crate::entry::{Result, entry};
use crate::environment;
use crate::error::status_of_stop;
use crate::queue_index::QueuePtr;
use crate::runtime::{ClientPointer, State, SystemBackend};
use crate::signal::find;
use crate::soft_queue::SoftQueue;
use crate::stop;
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use rukh_core::backend::AgentId;
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{Queue, QueueConfig, QueueFailure, QueueType as CoreType};
use rukh_core::signal::SignalHandle;
use rukh_core::wire::queue::HsaQueue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A queue that a client created.
pub enum ClientQueue {
    /// A device consumes it.
    Device {
        /// Core's queue.
        queue: Queue<SystemBackend>,
        /// Whether its errors go to a callback of the client's.
        has_callback: bool,
    },
    /// The client consumes it.
    Soft(SoftQueue),
    /// Tools see its packets first.
    Intercepted(Arc<InterceptQueue>),
}

impl ClientQueue {
    /// The queue of a device.
    ///
    /// # Errors
    /// INVALID_QUEUE for one that the client consumes.
    pub fn device(&self) -> Result<&Queue<SystemBackend>> {
        match self {
            Self::Device { queue, .. } => Ok(queue),
            Self::Intercepted(queue) => Ok(queue.device()),
            Self::Soft(_) => Err(Status::INVALID_QUEUE),
        }
    }
}

/// Queues by the address of their `hsa_queue_t`.
#[derive(Default)]
pub struct ClientQueues {
    by_address: Mutex<BTreeMap<usize, Arc<ClientQueue>>>,
}

impl ClientQueues {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<ClientQueue>>> {
        self.by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a queue; gives what the client calls it.
    pub fn insert(&self, address: *mut HsaQueue, queue: ClientQueue) -> *mut HsaQueue {
        self.lock().insert(address.addr(), Arc::new(queue));
        address
    }

    /// The queue that a client names.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null, INVALID_QUEUE.
    pub fn get(&self, queue: QueuePtr) -> Result<Arc<ClientQueue>> {
        let address = queue.address()?.addr().get();
        self.lock()
            .get(&address)
            .cloned()
            .ok_or(Status::INVALID_QUEUE)
    }

    /// The queue whose structure is at an address.
    fn at(&self, address: u64) -> Option<Arc<ClientQueue>> {
        let address = usize::try_from(address).ok()?;
        self.lock().get(&address).cloned()
    }

    /// As [`get`](Self::get), for AMD's functions: the header says INVALID_QUEUE for null too.
    ///
    /// # Errors
    /// INVALID_QUEUE.
    pub fn find(&self, queue: QueuePtr) -> Result<Arc<ClientQueue>> {
        self.get(queue).map_err(|_| Status::INVALID_QUEUE)
    }

    fn remove(&self, queue: QueuePtr) -> Result<Arc<ClientQueue>> {
        let address = queue.address()?.addr().get();
        self.lock().remove(&address).ok_or(Status::INVALID_QUEUE)
    }

    /// Destroys all queues.
    pub fn clear(&self) {
        let all = core::mem::take(&mut *self.lock());
        drop(all);
    }

    /// How many queues of an agent there are.
    pub fn count(&self, agent: AgentId) -> usize {
        let queues = self.lock();
        let devices = queues.values().filter_map(|queue| queue.device().ok());
        devices.filter(|queue| queue.agent() == agent).count()
    }

    /// The intercept queue of a doorbell.
    pub fn intercepted(&self, doorbell: SignalHandle) -> Option<Arc<InterceptQueue>> {
        self.lock().values().find_map(|queue| match &**queue {
            ClientQueue::Intercepted(queue) if queue.doorbell() == doorbell => Some(queue.clone()),
            _ => None,
        })
    }

    /// Whether a queue of this agent tells its client of errors.
    pub fn any_callback(&self, agent: AgentId) -> bool {
        self.lock().values().any(|queue| match &**queue {
            ClientQueue::Device {
                queue,
                has_callback,
            } => *has_callback && queue.agent() == agent,
            ClientQueue::Intercepted(queue) => queue.device().agent() == agent,
            ClientQueue::Soft(_) => false,
        })
    }
}

/// What a client calls the queue of a device, if that is not where the queue is: an intercept queue's client knows what
/// it fills.
#[derive(Clone, Default)]
pub struct ShownAs(Arc<AtomicUsize>);

impl ShownAs {
    /// From now on it is called this.
    pub fn set(&self, address: *mut HsaQueue) {
        self.0.store(address.expose_provenance(), Ordering::Release);
    }

    fn pointer(&self, own: usize) -> *mut HsaQueue {
        let address = match self.0.load(Ordering::Acquire) {
            0 => own,
            other => other,
        };
        core::ptr::with_exposed_provenance_mut(address)
    }
}

/// Tells a client that its queue stopped. One that did not want to know would wait for ever for
/// packets that are never processed: the process ends instead, as it does in AMD's runtime.
fn report(
    state: &Weak<State>,
    callback: QueueErrorCallback,
    data: ClientPointer,
    shown: &ShownAs,
    failure: QueueFailure,
) {
    let status = status_of_stop(&failure.status);
    // A memory fault has been told of as an event of the system.
    let is_told = matches!(failure.status, QueueStatus::MemoryFault { .. });
    if !is_told && environment::flag("HSA_ENABLE_QUEUE_FAULT_MESSAGE", true) {
        let state = state.upgrade();
        let hardware = state.as_ref().and_then(|state| {
            let queue = state.queues.at(failure.queue)?;
            queue.device().ok()?.hardware()
        });
        if let (Some(state), Some(hardware)) = (state, hardware) {
            stop::say(&state, hardware);
        }
    }
    match callback {
        Some(callback) => {
            let queue = shown.pointer(failure.queue as usize);
            // SAFETY: a function of this type, by the contract of `hsa_queue_create`.
            unsafe { callback(status, queue, data.get()) };
        }
        None if environment::flag("HSA_ENABLE_QUEUE_FAULT_MESSAGE", true) => {
            diag::fatal(format_args!(
                "queue {} stopped: {} ({status:?}); it has no error callback",
                failure.id, failure.status
            ))
        }
        None => std::process::abort(),
    }
}

/// Creates a queue of a device; gives it and how its callback is told of it.
pub fn create_device_queue(
    state: &State,
    agent: Agent,
    size: u32,
    kind: u32,
    (callback, data): (QueueErrorCallback, *mut c_void),
    (private_segment_size, group_segment_size): (u32, u32),
) -> Result<(Queue<SystemBackend>, ShownAs)> {
    let agent = state.agent(agent)?;
    if !agent.is_gpu() {
        return Err(Status::ERROR);
    }
    let kind = match QueueType::from_raw(kind).ok_or(Status::INVALID_ARGUMENT)? {
        QueueType::Multi => CoreType::Multi,
        QueueType::Single => CoreType::Single,
        QueueType::Cooperative => CoreType::Cooperative,
    };
    let data = ClientPointer(data);
    let shown = ShownAs::default();
    let told = shown.clone();
    let weak = state.weak();
    let config = QueueConfig {
        size,
        kind,
        error_callback: Some(Box::new(move |failure| {
            report(&weak, callback, data, &told, failure);
        })),
        private_segment_size,
        group_segment_size,
        ..QueueConfig::default()
    };
    let limit = state.devices.max_queues;
    if limit.is_some_and(|limit| state.queues.count(agent.id) >= limit as usize) {
        return Err(Status::OUT_OF_RESOURCES);
    }
    let queue = state.runtime.create_queue(agent.id, config)?;
    if let Some(mask) = state
        .devices
        .mask(agent.id.0)
        .filter(|_| state.devices.initial_mask)
    {
        queue.set_cu_mask(mask)?;
    }
    Ok((queue, shown))
}

fn create(
    state: &State,
    agent: Agent,
    size: u32,
    kind: u32,
    callback: (QueueErrorCallback, *mut c_void),
    segments: (u32, u32),
) -> Result<*mut HsaQueue> {
    let has_callback = callback.0.is_some();
    let (queue, _) = create_device_queue(state, agent, size, kind, callback, segments)?;
    let address = core::ptr::with_exposed_provenance_mut(queue.address() as usize);
    let queue = ClientQueue::Device {
        queue,
        has_callback,
    };
    Ok(state.queues.insert(address, queue))
}

entry! {
    /// `hsa_queue_create`: a queue that an agent consumes.
    fn hsa_queue_create(state; agent: Agent, size: u32, kind: u32, callback: QueueErrorCallback,
        data: *mut c_void, private_segment_size: u32, group_segment_size: u32,
        queue: Out<*mut HsaQueue>) {
        let place = queue.required()?;
        place.put(create(&state, agent, size, kind, (callback, data),
            (private_segment_size, group_segment_size))?);
        Ok(())
    }

    /// `hsa_soft_queue_create`: a queue that the client itself consumes.
    fn hsa_soft_queue_create(state; region: Region, size: u32, kind: u32, features: u32,
        doorbell_signal: Signal, queue: Out<*mut HsaQueue>) {
        let place = queue.required()?;
        find(&state, doorbell_signal)?;
        let pool = region.parts().and_then(|parts| state.pool_of_parts(parts));
        let pool = *pool.ok_or(Status::INVALID_REGION)?;
        let kind = QueueType::from_raw(kind).ok_or(Status::INVALID_ARGUMENT)?;
        let soft = SoftQueue::new(&state, &pool, size, kind, features, doorbell_signal)?;
        let address = soft.address();
        place.put(state.queues.insert(address, ClientQueue::Soft(soft)));
        Ok(())
    }

    /// `hsa_queue_destroy`: stops a queue and frees it.
    fn hsa_queue_destroy(state; queue: QueuePtr) {
        let queue = state.queues.remove(queue)?;
        if let ClientQueue::Intercepted(queue) = &*queue {
            state.runtime.destroy_signal(queue.doorbell())?;
        }
        Ok(())
    }

    /// `hsa_queue_inactivate`: stops a queue; packets that are not complete are abandoned.
    fn hsa_queue_inactivate(state; queue: QueuePtr) {
        match &*state.queues.get(queue)? {
            ClientQueue::Soft(_) => Ok(()),
            queue => Ok(queue.device()?.inactivate()?),
        }
    }
}
