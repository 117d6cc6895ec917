//! Queues: created with their memory checked once, consumed by the packet processor.

use super::SimBackend;
use crate::cp::{AnyQueue, Pm4Queue, Queue, QueueMemory};
use crate::device::{Gpu, NoEngine};
use crate::mem::Access;
use crate::profile::MAX_QUEUES;
use crate::sdma::{Ring, SdmaQueue};
use alloc::boxed::Box;
use core::sync::atomic::Ordering;
use rukh_core::backend::{
    AgentId, Doorbell, HardwareQueue, QueueCreateError, QueueHandle, QueueKind, QueueRequest,
    QueueUpdate, Queues,
};
use rukh_core::wire::aql::PACKET_SIZE;
use rukh_core::wire::queue::AmdQueue;

/// Largest ring, in packets.
const MAX_PACKETS: u64 = 1 << 20;

/// Largest ring of dwords, in bytes.
const MAX_RING: u64 = 1 << 30;

/// What a compute queue's packet processor works on.
enum Parts {
    Aql(QueueMemory),
    Pm4(Ring),
}

/// Host address of memory that the GPU reads and writes.
fn host(
    gpu: &Gpu,
    what: &'static str,
    address: u64,
    len: u64,
    align: u64,
) -> Result<*mut u8, QueueCreateError> {
    gpu.view
        .host(address, len, Access::ReadWrite)
        .filter(|_| address.is_multiple_of(align))
        .ok_or(QueueCreateError::BadAddress { what, address })
}

/// Checks the addresses of a request for a ring of dwords.
fn ring(gpu: &Gpu, request: &QueueRequest) -> Result<Ring, QueueCreateError> {
    let bytes = request.ring_bytes;
    if !bytes.is_power_of_two() || !(256..=MAX_RING).contains(&bytes) {
        return Err(QueueCreateError::BadRingSize { bytes });
    }
    Ok(Ring {
        host: host(gpu, "ring", request.ring, bytes, 256)?,
        bytes,
        write_pointer: host(gpu, "write index", request.write_index, 8, 8)?,
        read_pointer: host(gpu, "read index", request.read_index, 8, 8)?,
    })
}

/// Checks the addresses of a request for AQL packets.
fn memory(gpu: &Gpu, request: &QueueRequest) -> Result<QueueMemory, QueueCreateError> {
    let bytes = request.ring_bytes;
    let packets = bytes / PACKET_SIZE as u64;
    if !bytes.is_power_of_two() || packets == 0 || packets > MAX_PACKETS {
        return Err(QueueCreateError::BadRingSize { bytes });
    }
    let host = |what, address, len, align| host(gpu, what, address, len, align);
    Ok(QueueMemory {
        ring: host("ring", request.ring, bytes, PACKET_SIZE as u64)?,
        ring_va: request.ring,
        packets,
        write_index: host("write index", request.write_index, 8, 8)?,
        read_index: host("read index", request.read_index, 8, 8)?,
        descriptor: host(
            "descriptor",
            request.descriptor,
            size_of::<AmdQueue>() as u64,
            align_of::<AmdQueue>() as u64,
        )?,
        descriptor_va: request.descriptor,
    })
}

impl SimBackend {
    /// Starts threads, where devices have them.
    fn start_engine(&self) -> Result<(), QueueCreateError> {
        self.engine
            .start(&self.system)
            .map_err(|errno| QueueCreateError::Os {
                call: "clone",
                errno,
            })
    }

    fn create_sdma_queue(
        &self,
        gpu: &Gpu,
        request: &QueueRequest,
    ) -> Result<HardwareQueue, QueueCreateError> {
        let agent = request.agent;
        let kind = request.kind;
        let ring = ring(gpu, request)?;
        self.start_engine()?;
        let engine = gpu.engines.take(kind).map_err(|none| match none {
            NoEngine::NoSuch => QueueCreateError::NoSuchKind { agent, kind },
            NoEngine::Taken(limit) => QueueCreateError::NoneLeft { agent, limit },
        })?;
        let handle = self.system.queues.insert(|_, handle| {
            AnyQueue::Sdma(Box::new(SdmaQueue::new(
                handle,
                agent.0 as usize - 1,
                engine,
                gpu.profile.sdma_generation(),
                ring,
                request.error_event,
            )))
        });
        let Some(handle) = handle else {
            gpu.engines.give_back(engine);
            return Err(QueueCreateError::NoneLeft {
                agent,
                limit: MAX_QUEUES,
            });
        };
        self.books.lock().pin(
            handle,
            &[request.ring, request.write_index, request.read_index],
        );
        Ok(HardwareQueue {
            handle,
            doorbell: Doorbell::Callback,
        })
    }

    /// Has a queue looked at.
    fn call(&self, queue: QueueHandle) {
        self.system.queues.ring(queue, 0);
        self.system.parking.wake(1);
    }
}

impl Queues for SimBackend {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        let agent = request.agent;
        let kind = request.kind;
        let Some(gpu) = self.gpu(agent) else {
            return Err(QueueCreateError::NoSuchKind { agent, kind });
        };
        match kind {
            QueueKind::Compute => {}
            QueueKind::Pm4 => {}
            QueueKind::Sdma | QueueKind::SdmaXgmi | QueueKind::SdmaEngine(_) => {
                return self.create_sdma_queue(gpu, request);
            }
        }
        let parts = match kind {
            QueueKind::Pm4 => Parts::Pm4(ring(gpu, request)?),
            _ => Parts::Aql(memory(gpu, request)?),
        };
        let none_left = QueueCreateError::NoneLeft {
            agent,
            limit: MAX_QUEUES,
        };
        self.start_engine()?;
        gpu.queues
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
                (n < MAX_QUEUES).then_some(n + 1)
            })
            .map_err(|_| none_left.clone())?;
        let handle = self.system.queues.insert(|slot, handle| {
            let index = agent.0 as usize - 1;
            let (event, priority) = (request.error_event, request.priority);
            let units = gpu.profile.compute_units;
            match parts {
                Parts::Aql(memory) => AnyQueue::Aql(Box::new(Queue::new(
                    handle, slot, index, memory, event, priority, units,
                ))),
                Parts::Pm4(ring) => AnyQueue::Pm4(Box::new(Pm4Queue::new(
                    handle, slot, index, ring, event, priority, units,
                ))),
            }
        });
        let Some(handle) = handle else {
            gpu.queues.fetch_sub(1, Ordering::AcqRel);
            return Err(none_left);
        };
        let descriptor = if kind == QueueKind::Pm4 {
            // It has none.
            request.ring
        } else {
            request.descriptor
        };
        self.books.lock().pin(
            handle,
            &[
                request.ring,
                request.write_index,
                request.read_index,
                descriptor,
            ],
        );
        Ok(HardwareQueue {
            handle,
            doorbell: Doorbell::Callback,
        })
    }

    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        let (gpu, engine) = self
            .system
            .queues
            .with(queue, |q| {
                q.abandon();
                (q.gpu(), q.engine())
            })
            .ok_or(QueueCreateError::NoQueue(queue))?;
        // Its work-groups leave at their next turn.
        while self.system.queues.with(queue, |q| q.is_drained()) == Some(false) {
            if !self.engine.advance(&self.system) {
                self.system.parking.wake(u64::MAX);
                #[cfg(feature = "std")]
                std::thread::yield_now();
            }
        }
        if self.system.queues.remove(queue) {
            let gpu = &self.system.gpus[gpu];
            match engine {
                Some(engine) => gpu.engines.give_back(engine),
                None => {
                    gpu.queues.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
        self.system.quiesce.wait(self.system.quiesce.advance());
        self.books.lock().unpin(queue);
        Ok(())
    }

    fn update_queue(
        &self,
        queue: QueueHandle,
        update: &QueueUpdate,
    ) -> Result<(), QueueCreateError> {
        self.system
            .queues
            .with(queue, |q| q.update(update.active, update.priority))
            .ok_or(QueueCreateError::NoQueue(queue))?;
        self.call(queue);
        Ok(())
    }

    fn set_cu_mask(&self, queue: QueueHandle, mask: &[u32]) -> Result<(), QueueCreateError> {
        let chosen: u32 = mask.iter().map(|word| word.count_ones()).sum();
        if chosen == 0 {
            return Err(QueueCreateError::NotSupported(
                "a mask without compute units",
            ));
        }
        self.system
            .queues
            .with(queue, |q| {
                let all = self.system.gpus[q.gpu()].profile.compute_units;
                q.set_compute_units(chosen.min(all));
            })
            .ok_or(QueueCreateError::NoQueue(queue))
    }

    fn ring_doorbell(&self, queue: QueueHandle, value: u64) {
        if self.system.queues.ring(queue, value) {
            self.system.parking.wake(1);
        }
    }

    fn invalidate_code(&self, agent: AgentId) -> Result<(), QueueCreateError> {
        let gpu = self.gpu(agent).ok_or(QueueCreateError::NoSuchKind {
            agent,
            kind: QueueKind::Compute,
        })?;
        gpu.invalidate_code();
        Ok(())
    }
}
