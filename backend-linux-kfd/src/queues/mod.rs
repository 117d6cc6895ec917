//! Hardware queues, and the buffers beside them.

mod doorbells;
mod exceptions;
mod sizes;

pub(crate) use doorbells::Doorbells;
pub use sizes::QueueSizes;

use crate::backend::{INHERITED, KfdBackend, call_name};
use crate::memory::{Source, Want};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use rukh_core::backend::{
    AgentId, Doorbell, EventId, HardwareQueue, MemoryError, QueueCreateError, QueueHandle,
    QueueKind, QueuePriority, QueueRequest, QueueUpdate, Queues,
};
use rukh_core::kfd::uapi::{
    AllocFlags, ContextSaveAreaHeader, CreateQueue, DestroyQueue, Ioctl, SetCuMask, UpdateQueue,
    queue_type,
};
use rukh_core::kfd::{EAGAIN, EINTR, KfdPort, PortError, RETRIES, call};
use zerocopy::IntoBytes;

/// Queues of a GPU at once, for a client to plan with. The driver schedules more than the hardware has.
pub const MAX_QUEUES: u32 = 128;

const PAGE: u64 = 4096;
const EINVAL: i32 = 22;
const ENOMEM: i32 = 12;
const ENOSPC: i32 = 28;

/// Size of CREATE_QUEUE's argument before interface 1.17, which added the engine id.
const SHORT_CREATE: usize = 88;
const ENGINE_ID_SINCE: u32 = 17;

/// A queue that exists.
#[derive(Debug)]
struct Queue {
    id: u32,
    ring: u64,
    ring_bytes: u32,
    /// The client's allocations that it needs.
    used: Vec<u64>,
    /// Its own: end-of-pipe buffer, context save area.
    own: Vec<u64>,
    /// Receives the reasons of an exception; the driver knows its address from the save area's header.
    reasons: Box<AtomicU64>,
}

/// All queues, by handle. Handles are never used twice.
#[derive(Debug, Default)]
pub(crate) struct QueueTable {
    queues: BTreeMap<u64, Queue>,
    last: u64,
}

impl QueueTable {
    fn insert(&mut self, queue: Queue) -> u64 {
        self.last += 1;
        self.queues.insert(self.last, queue);
        self.last
    }
}

const fn priority(priority: QueuePriority) -> u32 {
    match priority {
        QueuePriority::Low => 0,
        QueuePriority::Normal => 7,
        QueuePriority::High => 15,
    }
}

fn os(error: &PortError) -> QueueCreateError {
    QueueCreateError::Os {
        call: call_name(error),
        errno: error.errno(),
    }
}

/// What is left of a queue's error when its memory was not to be had.
pub(crate) fn out_of_memory(error: MemoryError) -> QueueCreateError {
    match error {
        MemoryError::Os { call, errno, .. } => QueueCreateError::Os { call, errno },
        MemoryError::NotSupported(what) => QueueCreateError::NotSupported(what),
        _ => QueueCreateError::Os {
            call: "memory for a queue",
            errno: ENOMEM,
        },
    }
}

/// Buffers of a queue that is being made: given back unless it comes to be.
struct Parts<'b, P: KfdPort> {
    backend: &'b KfdBackend<P>,
    used: Vec<u64>,
    own: Vec<u64>,
}

impl<P: KfdPort> Parts<'_, P> {
    /// Holds the allocation that a device address lies in.
    ///
    /// The driver wants a queue's buffers to be whole mappings (6.12 and later): `start..start + bytes` must be one
    /// allocation, mapped to the GPU. Saying so here tells which of them is wrong.
    fn hold(
        &mut self,
        gpu: usize,
        what: &'static str,
        address: u64,
        start: u64,
        bytes: u64,
    ) -> Result<(), QueueCreateError> {
        let mut memory = self.backend.memory.lock(&self.backend.park);
        let handle = memory
            .containing(address)
            .filter(|(_, entry)| {
                entry.gpu_va == start && entry.size == bytes && entry.is_mapped_to(gpu)
            })
            .map(|(handle, _)| handle)
            .ok_or(QueueCreateError::BadAddress { what, address })?;
        memory.set_used(handle, true);
        self.used.push(handle);
        Ok(())
    }

    fn own(&mut self, want: &Want) -> Result<crate::memory::Block, QueueCreateError> {
        let block = self.backend.acquire(want).map_err(out_of_memory)?;
        self.own.push(block.handle);
        Ok(block)
    }
}

impl<P: KfdPort> Drop for Parts<'_, P> {
    fn drop(&mut self) {
        self.backend.drop_parts(&self.used, &self.own);
    }
}

impl<P: KfdPort> KfdBackend<P> {
    /// Lets go of the buffers of a queue that is not there (any more).
    fn drop_parts(&self, used: &[u64], own: &[u64]) {
        {
            let mut memory = self.memory.lock(&self.park);
            for &handle in used {
                memory.set_used(handle, false);
            }
        }
        for &handle in own {
            // SAFETY: this room's own buffers: the queue is gone, and the host never kept a pointer. What the driver
            // does not take back stays in the table until the backend goes.
            let _ = unsafe { self.relinquish(handle) };
        }
    }

    /// The context save area, with a header for each XCC.
    fn save_area(
        &self,
        parts: &mut Parts<'_, P>,
        gpu: usize,
        sizes: &QueueSizes,
        event: Option<EventId>,
        reasons: u64,
    ) -> Result<u64, QueueCreateError> {
        let area = parts.own(&Want {
            source: Source::Host,
            gpu: Some(gpu),
            size: sizes.total(),
            align: PAGE,
            flags: AllocFlags::WRITABLE
                | AllocFlags::EXECUTABLE
                | AllocFlags::NO_SUBSTITUTE
                | AllocFlags::COHERENT,
        })?;
        let Some(host) = area.host else {
            return Err(QueueCreateError::NotSupported(
                "a context save area that the host does not map",
            ));
        };
        for xcc in 0..sizes.xcc_count {
            let (debug_offset, debug_size) = sizes.debug_range(xcc);
            let header = ContextSaveAreaHeader {
                debug_offset,
                debug_size,
                err_payload_addr: reasons,
                err_event_id: event.map_or(0, |event| event.0),
                ..ContextSaveAreaHeader::default()
            };
            // SAFETY: one header at the start of each XCC's area, all within `sizes.total()` bytes that are mapped; the
            // queue that will use them does not exist yet.
            unsafe {
                host.add(xcc as usize * sizes.save_area as usize)
                    .cast::<ContextSaveAreaHeader>()
                    .write(header);
            }
        }
        Ok(area.gpu_va)
    }

    fn send_create(&self, argument: &mut CreateQueue) -> Result<(), PortError> {
        if self.kfd.since(ENGINE_ID_SINCE) {
            return self.kfd.call(argument);
        }
        let size_bits = 0x3fff << 16;
        let request = CreateQueue::INFO.request & !size_bits | (SHORT_CREATE as u32) << 16;
        let mut tries = 0;
        loop {
            let bytes = &mut argument.as_mut_bytes()[..SHORT_CREATE];
            // SAFETY: the argument has no pointer that the driver follows, and its request states the bytes' length.
            match unsafe { self.port().ioctl_raw(self.kfd.file(), request, bytes) } {
                Ok(()) => return Ok(()),
                Err(EINTR | EAGAIN) if tries < RETRIES => tries += 1,
                Err(errno) => {
                    return Err(PortError::Ioctl {
                        name: CreateQueue::INFO.name,
                        errno,
                    });
                }
            }
        }
    }

    fn destroy_id(&self, queue_id: u32) -> Result<(), PortError> {
        self.kfd.call(&mut DestroyQueue { queue_id, pad: 0 })
    }

    /// Destroys what is left, when the backend goes.
    pub(crate) fn close_queues(&mut self) {
        let inherited = self.kfd.inherited();
        let queues = core::mem::take(&mut self.queues.get_mut().queues);
        for queue in queues.into_values() {
            if !inherited {
                // Once more if the driver refuses: what it keeps now, it keeps until the process ends, and its buffers
                // with it.
                let _ = self
                    .destroy_id(queue.id)
                    .or_else(|_| self.destroy_id(queue.id));
            }
            self.drop_parts(&queue.used, &queue.own);
        }
    }
}

impl<P: KfdPort> KfdBackend<P> {
    /// Creates a queue, whose end-of-pipe buffer comes from `end_of_pipe`.
    pub(crate) fn create_with(
        &self,
        request: &QueueRequest,
        end_of_pipe: Source,
    ) -> Result<HardwareQueue, QueueCreateError> {
        if self.kfd.inherited() {
            return Err(QueueCreateError::NotSupported(INHERITED));
        }
        let agent = request.agent;
        let no_such = QueueCreateError::NoSuchKind {
            agent,
            kind: request.kind,
        };
        let (index, gpu) = match self.gpu_index(agent) {
            Some(index) => (index, &self.gpus[index]),
            None => return Err(no_such),
        };
        let kind = match request.kind {
            QueueKind::Compute => queue_type::COMPUTE_AQL,
            QueueKind::Sdma if gpu.properties.sdma_engines != 0 => queue_type::SDMA,
            QueueKind::SdmaXgmi if gpu.properties.sdma_xgmi_engines != 0 => queue_type::SDMA_XGMI,
            QueueKind::Sdma | QueueKind::SdmaXgmi => return Err(no_such),
            QueueKind::SdmaEngine(_) => {
                return Err(QueueCreateError::NotSupported(
                    "SDMA queues of an engine by number",
                ));
            }
            QueueKind::Pm4 => return Err(QueueCreateError::NotSupported("PM4 queues")),
        };
        let bytes = request.ring_bytes;
        let ring_bytes = u32::try_from(bytes)
            .ok()
            .filter(|&n| n.is_power_of_two() && u64::from(n) >= PAGE)
            .ok_or(QueueCreateError::BadRingSize { bytes })?;
        let mut parts = Parts {
            backend: self,
            used: Vec::new(),
            own: Vec::new(),
        };
        parts.hold(index, "ring", request.ring, request.ring, bytes)?;
        for (what, address) in [
            ("write index", request.write_index),
            ("read index", request.read_index),
        ] {
            parts.hold(index, what, address, address & !(PAGE - 1), PAGE)?;
        }
        let reasons = Box::new(AtomicU64::new(0));
        let mut argument = CreateQueue {
            ring_base_address: request.ring,
            write_pointer_address: request.write_index,
            read_pointer_address: request.read_index,
            ring_size: ring_bytes,
            gpu_id: gpu.id,
            queue_type: kind,
            queue_percentage: 100,
            queue_priority: priority(request.priority),
            ..CreateQueue::default()
        };
        if request.kind == QueueKind::Compute {
            let sizes = gpu.identity.sizes;
            if sizes.end_of_pipe != 0 {
                let buffer = parts.own(&Want {
                    source: end_of_pipe,
                    gpu: Some(index),
                    size: u64::from(sizes.end_of_pipe),
                    align: PAGE,
                    flags: AllocFlags::WRITABLE
                        | AllocFlags::EXECUTABLE
                        | AllocFlags::NO_SUBSTITUTE,
                })?;
                argument.eop_buffer_address = buffer.gpu_va;
                argument.eop_buffer_size = u64::from(sizes.end_of_pipe);
            }
            let address = core::ptr::from_ref(&*reasons).expose_provenance() as u64;
            argument.ctx_save_restore_address =
                self.save_area(&mut parts, index, &sizes, request.error_event, address)?;
            argument.ctx_save_restore_size = sizes.save_area;
            argument.ctl_stack_size = sizes.control_stack;
        }
        self.send_create(&mut argument)
            .map_err(|error| match error.errno() {
                ENOSPC => QueueCreateError::NoneLeft {
                    agent,
                    limit: MAX_QUEUES,
                },
                _ => os(&error),
            })?;
        let queue = Queue {
            id: argument.queue_id,
            ring: request.ring,
            ring_bytes,
            used: core::mem::take(&mut parts.used),
            own: core::mem::take(&mut parts.own),
            reasons,
        };
        let register = match self.doorbell(index, gpu, argument.doorbell_offset) {
            Ok(register) => register,
            Err(error) => {
                if self.destroy_id(queue.id).is_ok() {
                    (parts.used, parts.own) = (queue.used, queue.own);
                } else {
                    // The driver may still use the buffers: it is destroyed when the backend goes.
                    self.queues.lock(&self.park).insert(queue);
                }
                return Err(error);
            }
        };
        Ok(HardwareQueue {
            handle: QueueHandle(self.queues.lock(&self.park).insert(queue)),
            doorbell: Doorbell::Mmio(register),
        })
    }
}

impl<P: KfdPort> Queues for KfdBackend<P> {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        self.create_with(request, Source::Vram { host: false })
    }

    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        let mut table = self.queues.lock(&self.park);
        let entry = table
            .queues
            .get(&queue.0)
            .ok_or(QueueCreateError::NoQueue(queue))?;
        if !self.kfd.inherited() {
            // On a failure the device may still use the queue: it stays, with its buffers.
            self.destroy_id(entry.id).map_err(|error| os(&error))?;
        }
        if let Some(entry) = table.queues.remove(&queue.0) {
            self.drop_parts(&entry.used, &entry.own);
        }
        Ok(())
    }

    fn update_queue(
        &self,
        queue: QueueHandle,
        update: &QueueUpdate,
    ) -> Result<(), QueueCreateError> {
        if self.kfd.inherited() {
            return Err(QueueCreateError::NotSupported(INHERITED));
        }
        let table = self.queues.lock(&self.park);
        let entry = table
            .queues
            .get(&queue.0)
            .ok_or(QueueCreateError::NoQueue(queue))?;
        self.kfd
            .call(&mut UpdateQueue {
                ring_base_address: entry.ring,
                queue_id: entry.id,
                ring_size: entry.ring_bytes,
                queue_percentage: if update.active { 100 } else { 0 },
                queue_priority: priority(update.priority),
            })
            .map_err(|error| os(&error))
    }

    fn set_cu_mask(&self, queue: QueueHandle, mask: &[u32]) -> Result<(), QueueCreateError> {
        if self.kfd.inherited() {
            return Err(QueueCreateError::NotSupported(INHERITED));
        }
        let table = self.queues.lock(&self.park);
        let entry = table
            .queues
            .get(&queue.0)
            .ok_or(QueueCreateError::NoQueue(queue))?;
        let bits = u32::try_from(mask.len())
            .ok()
            .and_then(|words| words.checked_mul(32))
            .filter(|&bits| bits != 0)
            .ok_or(QueueCreateError::Os {
                call: SetCuMask::INFO.name,
                errno: EINVAL,
            })?;
        let mut argument = SetCuMask {
            queue_id: entry.id,
            num_cu_mask: bits,
            cu_mask_ptr: mask.as_ptr().expose_provenance() as u64,
        };
        // SAFETY: the pointer is of `mask`, which has as many bits as the argument says.
        unsafe { call(self.port(), self.kfd.file(), &mut argument) }.map_err(|error| os(&error))
    }

    fn invalidate_code(&self, agent: AgentId) -> Result<(), QueueCreateError> {
        if self.kfd.inherited() {
            return Err(QueueCreateError::NotSupported(INHERITED));
        }
        self.invalidate(agent)
    }
}
