//! Making a GPU forget instructions that it has cached.
//!
//! Only the packet processor can, so there is a small queue of the backend's own on each GPU that was asked: its one
//! kind of packet runs a PM4 command buffer with an ACQUIRE_MEM over all of memory.

use crate::backend::KfdBackend;
use crate::memory::{Block, Source, Want};
use crate::queues::out_of_memory;
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use rukh_core::backend::{
    AgentId, Doorbell, HardwareQueue, Park, QueueCreateError, QueueKind, QueuePriority,
    QueueRequest,
};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;
use rukh_core::wire::queue::{AmdQueue, HsaQueue, QueueProperties};

const PACKETS: u64 = 64;
const PACKET_BYTES: u64 = 64;
const PAGE: u64 = 4096;

/// A vendor packet whose second half-word says that a PM4 command follows.
const HEADER_PM4: u32 = 1 << 16;
/// INDIRECT_BUFFER with its three operands.
const INDIRECT_BUFFER: u32 = 0xc002_3f00;
const INDIRECT_BUFFER_VALID: u32 = 1 << 23;
/// Dwords of the packet behind the command, less what the packet processor does not count.
const DWORDS_LEFT: u32 = 0xa;
/// Invalid, for slots that are not published.
const HEADER_INVALID: u32 = 1;

/// ACQUIRE_MEM of GFX9: invalidate the instruction, scalar and vector caches, and write the second level back, over all
/// addresses.
const ACQUIRE_GFX9: [u32; 7] = [0xc005_5800, 0x2884_0000, 0xffff_ffff, 0xff, 0, 0, 0];
/// ACQUIRE_MEM of GFX10 and later. GCR_CNTL: invalidate GLI, GLK, GLV, GL1, GL2, and write GL2 back.
const ACQUIRE_GFX10: [u32; 8] = [
    0xc006_5800,
    0,
    0xffff_ffff,
    0xff_ffff,
    0,
    0,
    0,
    1 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 14 | 1 << 15,
];

/// How long the packet processor may take: it has nothing else to do on this queue.
const TIMEOUT_NS: u64 = 2_000_000_000;
/// Nanoseconds between two looks after the first ones.
const LOOK_NS: u64 = 20_000;

/// The queue of one GPU.
#[derive(Debug)]
struct CodeQueue {
    queue: HardwareQueue,
    page: Block,
    ring: Block,
    commands: Block,
    write: u64,
}

/// The queues, by GPU.
#[derive(Debug, Default)]
pub(crate) struct CodeQueues(BTreeMap<usize, CodeQueue>);

// SAFETY: the host addresses are of the queue's own memory, reached under the lock that this lies in.
unsafe impl Send for CodeQueues {}

/// Memory that goes back unless the queue comes to be.
struct Parts<'b, P: KfdPort> {
    backend: &'b KfdBackend<P>,
    blocks: heapless::Vec<Block, 3>,
}

impl<P: KfdPort> Parts<'_, P> {
    fn block(
        &mut self,
        source: Source,
        gpu: usize,
    ) -> Result<(Block, NonNull<u8>), QueueCreateError> {
        let block = self
            .backend
            .acquire(&Want {
                source,
                gpu: Some(gpu),
                size: PAGE,
                align: PAGE,
                flags: AllocFlags::WRITABLE
                    | AllocFlags::EXECUTABLE
                    | AllocFlags::NO_SUBSTITUTE
                    | AllocFlags::COHERENT
                    | AllocFlags::UNCACHED,
            })
            .map_err(out_of_memory)?;
        // Three are taken, of three.
        let _ = self.blocks.push(block);
        block
            .host
            .map(|host| (block, host))
            .ok_or(QueueCreateError::NotSupported(
                "a queue that the host does not map",
            ))
    }
}

impl<P: KfdPort> Drop for Parts<'_, P> {
    fn drop(&mut self) {
        for block in &self.blocks {
            // SAFETY: nobody else has seen it, and no queue uses it.
            let _ = unsafe { self.backend.relinquish(block.handle) };
        }
    }
}

impl<P: KfdPort> KfdBackend<P> {
    fn make_code_queue(&self, agent: AgentId, gpu: usize) -> Result<CodeQueue, QueueCreateError> {
        let device = &self.gpus[gpu];
        let mut parts = Parts {
            backend: self,
            blocks: heapless::Vec::new(),
        };
        let (page, page_host) = parts.block(Source::Queue, gpu)?;
        let (ring, ring_host) = parts.block(Source::Queue, gpu)?;
        let (commands, commands_host) = parts.block(Source::Queue, gpu)?;
        // SAFETY: three fresh zeroed pages of this function's own; all that is written lies within them.
        unsafe {
            let queue = &mut *page_host.cast::<AmdQueue>().as_ptr();
            queue.hsa_queue = HsaQueue {
                kind: 0,
                features: 0,
                base_address: ring.gpu_va,
                doorbell_signal: 0,
                size: PACKETS as u32,
                reserved1: 0,
                id: 0,
            };
            queue.max_cu_id = device.properties.compute_units().saturating_sub(1);
            queue.max_wave_id = (device.properties.max_waves_per_simd
                * device.properties.simd_per_cu)
                .saturating_sub(1);
            queue.read_dispatch_id_field_base_byte_offset =
                offset_of!(AmdQueue, read_dispatch_id) as u32;
            queue.queue_properties = AtomicU32::new(QueueProperties::IS_PTR64.bits());
            for packet in 0..PACKETS as usize {
                ring_host
                    .add(packet * PACKET_BYTES as usize)
                    .cast::<u32>()
                    .write(HEADER_INVALID);
            }
            let acquire: &[u32] = if device.identity.processor.version.major >= 10 {
                &ACQUIRE_GFX10
            } else {
                &ACQUIRE_GFX9
            };
            core::ptr::copy_nonoverlapping(
                acquire.as_ptr(),
                commands_host.cast::<u32>().as_ptr(),
                acquire.len(),
            );
        }
        let request = QueueRequest {
            agent,
            kind: QueueKind::Compute,
            ring: ring.gpu_va,
            ring_bytes: PACKETS * PACKET_BYTES,
            write_index: page.gpu_va + offset_of!(AmdQueue, write_dispatch_id) as u64,
            read_index: page.gpu_va + offset_of!(AmdQueue, read_dispatch_id) as u64,
            descriptor: page.gpu_va,
            priority: QueuePriority::Normal,
            error_event: None,
        };
        // The kernel's pages for the end-of-pipe buffer, as for its own queues: this one runs no dispatch, and device
        // memory is the clients'.
        let queue = self.create_with(&request, Source::Gtt)?;
        parts.blocks.clear();
        Ok(CodeQueue {
            queue,
            page,
            ring,
            commands,
            write: 0,
        })
    }

    /// Runs the command buffer on a GPU and waits for the packet processor to have taken it.
    pub(crate) fn invalidate(&self, agent: AgentId) -> Result<(), QueueCreateError> {
        let gpu = self.gpu_index(agent).ok_or(QueueCreateError::NoSuchKind {
            agent,
            kind: QueueKind::Compute,
        })?;
        let mut queues = self.code.lock(&self.park);
        let queue = match queues.0.entry(gpu) {
            Entry::Occupied(queue) => queue.into_mut(),
            Entry::Vacant(place) => place.insert(self.make_code_queue(agent, gpu)?),
        };
        // The code itself has to have arrived before caches are emptied for it.
        self.flush_hdp(gpu);
        let gfx10 = self.gpus[gpu].identity.processor.version.major >= 10;
        queue.submit(if gfx10 {
            ACQUIRE_GFX10.len()
        } else {
            ACQUIRE_GFX9.len()
        } as u32)?;
        let read = queue.read_index()?;
        let deadline = sys::now().saturating_add(TIMEOUT_NS);
        let mut looks = 0u32;
        while read.load(Ordering::Acquire) < queue.write {
            looks = looks.saturating_add(1);
            if looks < 1000 {
                core::hint::spin_loop();
                continue;
            }
            if sys::now() > deadline {
                return Err(QueueCreateError::Os {
                    call: "waiting for the packet processor",
                    errno: 110,
                });
            }
            self.park.park(&AtomicU32::new(0), 0, Some(LOOK_NS));
        }
        Ok(())
    }
}

impl CodeQueue {
    fn host(block: &Block) -> Result<NonNull<u8>, QueueCreateError> {
        block.host.ok_or(QueueCreateError::NotSupported(
            "a queue that the host does not map",
        ))
    }

    fn read_index(&self) -> Result<&AtomicU64, QueueCreateError> {
        let page = Self::host(&self.page)?;
        // SAFETY: the page holds an `amd_queue_t` and lives as long as the queue; host and device use the index as
        // an atomic.
        Ok(unsafe { &page.cast::<AmdQueue>().as_ref().read_dispatch_id })
    }

    fn submit(&mut self, dwords: u32) -> Result<(), QueueCreateError> {
        let page = Self::host(&self.page)?;
        let slot = (self.write % PACKETS * PACKET_BYTES) as usize;
        let buffer = self.commands.gpu_va;
        let packet = [
            INDIRECT_BUFFER,
            buffer as u32,
            (buffer >> 32) as u32,
            dwords | INDIRECT_BUFFER_VALID,
            DWORDS_LEFT,
        ];
        // SAFETY: a slot of the ring page; every earlier packet was waited for, or its wait timed out and this is a later
        // one of 64. The header is stored last, as an atomic, since the device polls it.
        unsafe {
            let slot = Self::host(&self.ring)?.add(slot).cast::<u32>();
            for (at, dword) in packet.into_iter().enumerate() {
                slot.add(1 + at).write(dword);
            }
            slot.cast::<AtomicU32>()
                .as_ref()
                .store(HEADER_PM4, Ordering::Release);
        }
        let index = self.write;
        self.write += 1;
        // SAFETY: as in `read_index`.
        unsafe { &page.cast::<AmdQueue>().as_ref().write_dispatch_id }
            .store(self.write, Ordering::Release);
        if let Doorbell::Mmio(register) = self.queue.doorbell {
            // SAFETY: a doorbell is valid as long as its queue.
            unsafe { register.as_ref() }.store(index, Ordering::Release);
        }
        Ok(())
    }
}
