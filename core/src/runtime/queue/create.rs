//! Creating a queue: its memory, its signals, the structure that hardware reads.

use super::{Queue, QueueConfig, QueueInner, QueueType, RingBell};
use crate::backend::{
    AgentId, Backend, Doorbell, EventId, GpuInfo, Lock, MemoryFlags, MemoryRequest, QueueKind,
    QueueRequest,
};
use crate::config::{MAX_PRIVATE_SEGMENT, QUEUE_MAX_PACKETS, QUEUE_MIN_PACKETS};
use crate::mem::Block;
use crate::queue::{MappedRing, Ring};
use crate::runtime::Runtime;
use crate::runtime::error::QueueError;
use crate::runtime::reactor::Reactor;
use crate::runtime::scratch::QueueScratch;
use crate::runtime::signals::doorbell_kind;
use crate::signal::{SignalFlags, SignalHandle, SignalSlot};
use crate::wire::aql::{Header, PACKET_SIZE};
use crate::wire::queue::{AmdQueue, AmdQueueV2, HsaQueue, QueueProperties};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Signals and a doorbell entry that are given back if creation fails.
struct Parts<'a, B: Backend + ?Sized> {
    reactor: &'a Reactor<B>,
    signals: heapless::Vec<&'a SignalSlot, 3>,
    doorbell: Option<u32>,
}

impl<'a, B: Backend + ?Sized> Parts<'a, B> {
    fn signal(&mut self) -> Result<&'a SignalSlot, QueueError> {
        let slot = self.reactor.create_slot(0, SignalFlags::RUNTIME)?;
        // Three are taken, of three.
        let _ = self.signals.push(slot);
        Ok(slot)
    }
}

impl<B: Backend + ?Sized> Drop for Parts<'_, B> {
    fn drop(&mut self) {
        for slot in &self.signals {
            self.reactor.destroy_slot(slot);
        }
        if let Some(index) = self.doorbell {
            self.reactor.free_doorbell(index);
        }
    }
}

impl<B: Backend + ?Sized + 'static> Runtime<B> {
    /// Creates a queue of a GPU.
    ///
    /// # Errors
    /// See [`QueueError`]; nothing is kept then.
    pub fn create_queue(
        self: &Arc<Self>,
        agent: AgentId,
        config: QueueConfig,
    ) -> Result<Queue<B>, QueueError> {
        let info = self.agent(agent).ok_or(QueueError::NoAgent { agent })?;
        let gpu = info.gpu().ok_or(QueueError::NotAGpu { agent })?;
        check(&config)?;
        self.start_thread()?;
        let reactor = self.reactor();
        let park = self.park();
        let (page, packets) = self.queue_memory(agent, config.size)?;
        let (Some(page_host), Some(packets_host)) = (page.host(), packets.host()) else {
            return Err(QueueError::Unsupported(
                "queues in memory that the host does not map",
            ));
        };
        let mut parts = Parts {
            reactor,
            signals: heapless::Vec::new(),
            doorbell: None,
        };
        let doorbell = parts.signal()?;
        let inactive = parts.signal()?;
        let failure = parts.signal()?;
        let index = reactor.take_doorbell()?;
        parts.doorbell = Some(index);
        let id = self.next_queue.fetch_add(1, Ordering::Relaxed);

        let queue: NonNull<AmdQueue> = page_host.cast();
        let client = HsaQueue {
            kind: config.kind as u32,
            features: 1,
            base_address: packets.gpu_va(),
            doorbell_signal: doorbell.handle().0,
            size: config.size,
            reserved1: 0,
            id,
        };
        // SAFETY: a fresh page of this function's own, large enough (see `queue_memory`), and a ring
        // of `size` packets; no device knows them yet.
        unsafe {
            describe(queue, client, gpu, inactive.handle());
            invalidate_headers(packets_host, config.size);
        }
        let event = (!inactive.flags().contains(SignalFlags::BUSY))
            .then(|| EventId(inactive.signal.event_id.load(Ordering::Relaxed) as u32));
        let hardware = reactor.backend.create_queue(&QueueRequest {
            agent,
            kind: QueueKind::Compute,
            ring: packets.gpu_va(),
            ring_bytes: u64::from(config.size) * PACKET_SIZE as u64,
            write_index: page.gpu_va() + core::mem::offset_of!(AmdQueue, write_dispatch_id) as u64,
            read_index: page.gpu_va() + core::mem::offset_of!(AmdQueue, read_dispatch_id) as u64,
            descriptor: page.gpu_va(),
            priority: config.priority,
            error_event: event,
        })?;
        let register = match hardware.doorbell {
            Doorbell::Mmio(register) => register.as_ptr().expose_provenance() as u64,
            Doorbell::Callback => 0,
        };
        let entry = &reactor.doorbells[index as usize];
        entry.queue.store(hardware.handle.0, Ordering::Relaxed);
        entry.register.store(register, Ordering::Release);
        doorbell.doorbell.store(index, Ordering::Relaxed);
        doorbell
            .signal
            .queue_ptr
            .store(page.gpu_va(), Ordering::Relaxed);
        doorbell.bind_event(0, 0);
        doorbell
            .signal
            .value
            .store(register as i64, Ordering::Relaxed);
        doorbell
            .signal
            .kind
            .store(doorbell_kind(register != 0), Ordering::Release);
        let bell = RingBell {
            backend: reactor.backend.clone(),
            doorbell: hardware.doorbell,
            queue: hardware.handle,
        };
        // SAFETY: both blocks are kept in the queue beside the ring, which is dropped first.
        let ring = unsafe { MappedRing::new(packets_host, config.size, queue, bell) };
        parts.signals.clear();
        parts.doorbell = None;
        drop(parts);
        let inner = Arc::new(QueueInner {
            reactor: self.reactor.clone(),
            agent,
            id,
            size: config.size,
            hardware: Lock::new(Some(hardware.handle)),
            priority: Lock::new(config.priority),
            cu_mask: Lock::new(None),
            doorbell_index: index,
            doorbell: doorbell.handle(),
            inactive: inactive.handle(),
            failure: failure.handle(),
            failed: AtomicBool::new(false),
            status: Lock::new(None),
            callback: Lock::new(config.error_callback),
            scratch: Lock::new(QueueScratch::new(info, self.reactor.config.on_scratch)),
            kept: Lock::new(Vec::new()),
            ring: Ring::new(ring),
            _packets: packets,
            _page: page,
        });
        reactor.queues.lock(park).push(Arc::downgrade(&inner));
        reactor.queue_count.fetch_add(1, Ordering::AcqRel);
        Ok(Queue {
            inner,
            runtime: self.clone(),
        })
    }

    /// Memory for the queue's structure and its packets. Each is an allocation of its own, of whole
    /// pages: the kernel driver insists.
    fn queue_memory(
        &self,
        agent: AgentId,
        packets: u32,
    ) -> Result<(Block<B>, Block<B>), QueueError> {
        let reactor = self.reactor();
        let page = reactor.backend.page_size();
        let block = |bytes: u64| {
            Block::new(
                &reactor.backend,
                &MemoryRequest {
                    bank: reactor.host_bank,
                    size: bytes.next_multiple_of(page),
                    align: page,
                    flags: MemoryFlags::HOST_ACCESS
                        | MemoryFlags::WRITABLE
                        | MemoryFlags::EXECUTABLE
                        | MemoryFlags::COHERENT
                        | MemoryFlags::UNCACHED
                        | MemoryFlags::QUEUE,
                },
                &[agent],
            )
        };
        Ok((
            block(size_of::<AmdQueueV2>() as u64)?,
            block(u64::from(packets) * PACKET_SIZE as u64)?,
        ))
    }
}

fn check(config: &QueueConfig) -> Result<(), QueueError> {
    if !config.size.is_power_of_two() || config.size < QUEUE_MIN_PACKETS {
        return Err(QueueError::BadSize {
            packets: config.size,
            min: QUEUE_MIN_PACKETS,
        });
    }
    if config.size > QUEUE_MAX_PACKETS {
        return Err(QueueError::TooLarge {
            packets: config.size,
            max: QUEUE_MAX_PACKETS,
        });
    }
    let private = config.private_segment_size;
    if private != u32::MAX && private > MAX_PRIVATE_SEGMENT {
        return Err(QueueError::PrivateTooLarge {
            bytes: private,
            max: MAX_PRIVATE_SEGMENT,
        });
    }
    if config.kind == QueueType::Cooperative {
        return Err(QueueError::Unsupported("cooperative queues"));
    }
    Ok(())
}

/// Fills the fields that hardware and compiled code read.
///
/// # Safety
/// `queue` is zeroed memory of an `amd_queue_t` that nobody else uses yet.
unsafe fn describe(
    queue: NonNull<AmdQueue>,
    client: HsaQueue,
    gpu: &GpuInfo,
    inactive: SignalHandle,
) {
    let slots = gpu.max_waves_per_simd.saturating_mul(gpu.simds_per_cu);
    // SAFETY: zeroed memory is a valid structure, and this function has it to itself.
    let queue = unsafe { &mut *queue.as_ptr() };
    queue.hsa_queue = client;
    queue.caps = 0;
    queue.group_segment_aperture_base_hi = (gpu.group_aperture >> 32) as u32;
    queue.private_segment_aperture_base_hi = (gpu.private_aperture >> 32) as u32;
    queue.max_cu_id = gpu.compute_units.saturating_sub(1);
    queue.max_wave_id = slots.saturating_sub(1);
    queue.read_dispatch_id_field_base_byte_offset =
        core::mem::offset_of!(AmdQueue, read_dispatch_id) as u32;
    queue.queue_properties = AtomicU32::new(QueueProperties::IS_PTR64.bits());
    queue.queue_inactive_signal = AtomicU64::new(inactive.0);
}

/// Makes every slot one that no producer has published.
///
/// # Safety
/// `packets` is memory of `count` packets that nobody else uses yet.
unsafe fn invalidate_headers(packets: NonNull<u8>, count: u32) {
    for at in 0..count as usize {
        // SAFETY: inside the ring, by the caller's promise.
        unsafe {
            packets
                .add(at * PACKET_SIZE)
                .cast::<u16>()
                .write(Header::INVALID.0);
        }
    }
}
