//! Queues: checked as the driver checks them, executed by the simulated packet processor.

use super::KfdFace;
use super::errno::{EBUSY, EFAULT, EINVAL, EIO, ENODEV, ENOMEM, ENOSPC, ENOTSUPP, EPERM};
use super::gpu::{DOORBELL_BYTES, FaceGpu};
use super::interrupts::Exceptions;
use super::ioctl::read_array;
use super::memory::{ADDRESS_LIMIT, GPU_ID_SHIFT, TYPE_DOORBELL, is_mapped};
use super::process::Process;
use crate::cp::NOT_RUNG;
use crate::mem::{PAGE_SIZE, raw};
use alloc::vec::Vec;
use core::mem::offset_of;
use rukh_core::backend::{
    AgentId, QueueCreateError, QueueHandle, QueueKind, QueuePriority, QueueRequest, QueueUpdate,
    Queues,
};
use rukh_core::kfd::uapi::{
    AllocFlags, AllocQueueGws, ContextSaveAreaHeader, CreateQueue, DestroyQueue, GetQueueWaveState,
    SetCuMask, UpdateQueue, queue_type,
};
use rukh_core::wire::queue::AmdQueue;
use zerocopy::FromBytes;

/// Queues of a process.
const MAX_QUEUES: u32 = 1024;
/// Bits of a mask of compute units, at most: more are not looked at.
const MAX_CU_MASK: u32 = 1024;

/// A queue.
#[derive(Debug)]
pub(super) struct FaceQueue {
    /// The device's name of it.
    handle: QueueHandle,
    kind: QueueKind,
    /// Index of its GPU.
    gpu: usize,
    /// Handles of the buffer objects that it needs.
    objects: Vec<u64>,
    doorbell: usize,
    active: bool,
}

/// Whether an address can be one of the process's.
const fn accessible(address: u64) -> bool {
    address < ADDRESS_LIMIT
}

fn priority(value: u32) -> QueuePriority {
    match value {
        0..=6 => QueuePriority::Low,
        7..=8 => QueuePriority::Normal,
        _ => QueuePriority::High,
    }
}

/// What every queue's properties must be.
fn check_properties(percentage: u32, priority: u32, ring: u64, bytes: u32) -> Result<(), i32> {
    if percentage & 0xff > 100 || priority > 15 {
        return Err(EINVAL);
    }
    if ring != 0 && !accessible(ring) {
        return Err(EFAULT);
    }
    if bytes != 0 && !bytes.is_power_of_two() {
        return Err(EINVAL);
    }
    Ok(())
}

impl KfdFace {
    pub(super) fn create_queue(&self, a: &mut CreateQueue) -> Result<(), i32> {
        check_properties(
            a.queue_percentage,
            a.queue_priority,
            a.ring_base_address,
            a.ring_size,
        )?;
        let addresses = [
            a.read_pointer_address,
            a.write_pointer_address,
            a.eop_buffer_address,
            a.ctx_save_restore_address,
        ];
        if !addresses.into_iter().all(accessible) {
            return Err(EFAULT);
        }
        let kind = match a.queue_type {
            queue_type::COMPUTE => QueueKind::Pm4,
            queue_type::COMPUTE_AQL => QueueKind::Compute,
            queue_type::SDMA => QueueKind::Sdma,
            queue_type::SDMA_XGMI => QueueKind::SdmaXgmi,
            queue_type::SDMA_BY_ENG_ID => QueueKind::SdmaEngine(a.sdma_engine_id),
            _ => return Err(ENOTSUPP),
        };
        let gpu = self.gpu(a.gpu_id)?;
        let engines = gpu.info.sdma_engines + gpu.info.sdma_xgmi_engines;
        if matches!(kind, QueueKind::SdmaEngine(engine) if engine >= engines) {
            return Err(EINVAL);
        }
        let index = Self::index(gpu);
        let process = &mut *self.process.lock();
        if process.gpus[index].render.is_none() {
            return Err(ENODEV);
        }
        let objects = buffers(process, gpu, kind, a, self.interface.since(17))?;
        let id = (0..MAX_QUEUES)
            .find(|id| !process.queues.contains_key(id))
            .ok_or(ENOSPC)?;
        let on = &mut process.gpus[index];
        on.doorbells.resize(DOORBELL_BYTES as usize / 8, false);
        let doorbell = on.doorbells.iter().position(|taken| !taken).ok_or(ENOSPC)?;
        let handle = self.start(gpu, kind, a, doorbell)?;
        on.doorbells[doorbell] = true;
        for object in &objects {
            if let Some(object) = process.objects.get_mut(object) {
                object.queues += 1;
            }
        }
        process.queues.insert(
            id,
            FaceQueue {
                handle,
                kind,
                gpu: index,
                objects,
                doorbell,
                active: a.queue_percentage & 0xff != 0
                    && a.ring_base_address != 0
                    && a.ring_size != 0,
            },
        );
        a.queue_id = id;
        a.doorbell_offset =
            TYPE_DOORBELL | u64::from(gpu.id) << GPU_ID_SHIFT | (doorbell as u64 * 8);
        Ok(())
    }

    /// Has the device execute the queue.
    fn start(
        &self,
        gpu: &FaceGpu,
        kind: QueueKind,
        a: &CreateQueue,
        doorbell: usize,
    ) -> Result<QueueHandle, i32> {
        // The packet processor finds the structure from the address of its index.
        let descriptor = match kind {
            QueueKind::Compute => a
                .write_pointer_address
                .wrapping_sub(offset_of!(AmdQueue, write_dispatch_id) as u64),
            _ => 0,
        };
        let request = QueueRequest {
            agent: gpu.agent,
            kind,
            ring: a.ring_base_address,
            ring_bytes: u64::from(a.ring_size),
            write_index: a.write_pointer_address,
            read_index: a.read_pointer_address,
            descriptor,
            priority: priority(a.queue_priority),
            // Raised by `Shared::stopped`, after it has left the reason.
            error_event: None,
        };
        let queue = self
            .sim
            .create_queue(&request)
            .map_err(|error| match error {
                // All queues of the engines are taken, or there are no engines of the kind.
                QueueCreateError::NoneLeft { .. } | QueueCreateError::NoSuchKind { .. }
                    if !is_compute(kind) =>
                {
                    ENOMEM
                }
                error => errno(&error),
            })?;
        let handle = queue.handle;
        if is_compute(kind) {
            self.shared
                .add_queue(handle.0, exceptions(a, gpu.agent, doorbell as u32));
        }
        let register = gpu.doorbells.host.as_ptr().wrapping_add(doorbell * 8);
        let system = self.sim.system();
        // SAFETY: the doorbells are mapped until the devices have stopped, and this one is within them.
        let watched = unsafe {
            raw::store_u64(register, NOT_RUNG);
            system.queues.watch(handle, register, doorbell as u32)
        };
        // Workers that sleep for good would not look.
        system.parking.wake(u64::MAX);
        if a.queue_percentage & 0xff == 0 || a.ring_base_address == 0 {
            let update = QueueUpdate {
                active: false,
                priority: request.priority,
            };
            // The queue was made above.
            let _ = self.sim.update_queue(handle, &update);
        }
        if watched { Ok(handle) } else { Err(EIO) }
    }

    pub(super) fn destroy_queue(&self, a: &DestroyQueue) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        let queue = process.queues.remove(&a.queue_id).ok_or(EINVAL)?;
        self.sim.system().queues.unwatch(queue.handle);
        // It exists, and when this returns nothing is left of it on the device.
        let _ = self.sim.destroy_queue(queue.handle);
        self.shared.remove_queue(queue.handle.0);
        for object in &queue.objects {
            if let Some(object) = process.objects.get_mut(object) {
                object.queues = object.queues.saturating_sub(1);
            }
        }
        let on = &mut process.gpus[queue.gpu];
        if let Some(taken) = on.doorbells.get_mut(queue.doorbell) {
            *taken = false;
        }
        if on.gws == Some(a.queue_id) {
            on.gws = None;
        }
        Ok(())
    }

    pub(super) fn update_queue(&self, a: &UpdateQueue) -> Result<(), i32> {
        check_properties(
            a.queue_percentage,
            a.queue_priority,
            a.ring_base_address,
            a.ring_size,
        )?;
        let process = &mut *self.process.lock();
        let queue = process.queues.get_mut(&a.queue_id).ok_or(EFAULT)?;
        let update = QueueUpdate {
            active: a.queue_percentage & 0xff != 0 && a.ring_base_address != 0 && a.ring_size != 0,
            priority: priority(a.queue_priority),
        };
        queue.active = update.active;
        self.sim
            .update_queue(queue.handle, &update)
            .map_err(|e| errno(&e))
    }

    /// # Safety
    /// The argument's pointer is of as many bits as it says.
    pub(super) unsafe fn set_cu_mask(&self, a: &SetCuMask) -> Result<(), i32> {
        if a.num_cu_mask == 0 || !a.num_cu_mask.is_multiple_of(32) {
            return Err(EINVAL);
        }
        let words = a.num_cu_mask.min(MAX_CU_MASK) / 32;
        // SAFETY: by the caller's promise.
        let mask: Vec<u32> = unsafe { read_array(a.cu_mask_ptr, words) }?;
        let process = self.process.lock();
        let queue = process.queues.get(&a.queue_id).ok_or(EFAULT)?;
        let gpu = &self.gpus[queue.gpu];
        // Two compute units of a work-group processor go together.
        let halved = |word: &u32| (word ^ word >> 1) & 0x5555_5555 != 0;
        if gpu.profile.arch.is_gfx10_plus() && mask.iter().any(halved) {
            return Err(EINVAL);
        }
        if !is_compute(queue.kind) {
            // Kept, and of no consequence.
            return Ok(());
        }
        self.sim
            .set_cu_mask(queue.handle, &mask)
            .map_err(|e| errno(&e))
    }

    /// One queue of a GPU has the unit; whether waves of one dispatch synchronise is not what this decides here.
    pub(super) fn allocate_gws(&self, a: &mut AllocQueueGws) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        let gpu = process.queues.get(&a.queue_id).ok_or(EINVAL)?.gpu;
        let on = &mut process.gpus[gpu];
        match (on.gws, a.num_gws) {
            (Some(_), 1..) => return Err(EBUSY),
            (None, 0) => return Err(EINVAL),
            (_, num) => on.gws = (num != 0).then_some(a.queue_id),
        }
        a.first_gws = 0;
        Ok(())
    }

    /// The state of the waves of a compute queue that is not active: none is left on the device, and none was saved.
    pub(super) fn wave_state(&self, a: &mut GetQueueWaveState) -> Result<(), i32> {
        let process = self.process.lock();
        let queue = process.queues.get(&a.queue_id).ok_or(EFAULT)?;
        if !is_compute(queue.kind) || queue.active {
            return Err(EINVAL);
        }
        a.ctl_stack_used_size = 0;
        a.save_area_used_size = 0;
        Ok(())
    }
}

const fn is_compute(kind: QueueKind) -> bool {
    matches!(kind, QueueKind::Compute | QueueKind::Pm4)
}

/// The buffers of a queue, each of which has to be one mapping. Whether those that waves are saved to have the right sizes
/// is checked by kernels since 6.12.
fn buffers(
    process: &mut Process,
    gpu: &FaceGpu,
    kind: QueueKind,
    a: &CreateQueue,
    check_sizes: bool,
) -> Result<Vec<u64>, i32> {
    let mut found = Vec::new();
    let mut want = |address: u64, size: u64, kernel_pages: bool| {
        let (handle, object) = process.mapped_at(gpu.bit(), address).ok_or(EINVAL)?;
        if object.size != size {
            return Err(EINVAL);
        }
        if kernel_pages && !object.flags.contains(AllocFlags::GTT) {
            return Err(EPERM);
        }
        found.push(handle);
        Ok(())
    };
    let page = |address: u64| address & !(PAGE_SIZE - 1);
    want(page(a.write_pointer_address), PAGE_SIZE, gpu.has_mes())?;
    want(page(a.read_pointer_address), PAGE_SIZE, false)?;
    want(a.ring_base_address, u64::from(a.ring_size), false)?;
    if !is_compute(kind) || !check_sizes {
        return Ok(found);
    }
    let sizes = gpu.sizes;
    if a.eop_buffer_address != 0 {
        // Where AQL queues need none, PM4 queues have the usual one.
        let bytes = match kind {
            QueueKind::Pm4 => sizes.end_of_pipe.max(PAGE_SIZE),
            _ => sizes.end_of_pipe,
        };
        if a.eop_buffer_size != bytes {
            return Err(EINVAL);
        }
        want(a.eop_buffer_address, bytes, false)?;
    }
    if u64::from(a.ctl_stack_size) != sizes.control_stack
        || u64::from(a.ctx_save_restore_size) != sizes.save_area
    {
        return Err(EINVAL);
    }
    let area = (a.ctx_save_restore_address, sizes.mapping);
    if let Err(errno) = want(area.0, area.1, false)
        && !process.svm.always_mapped(gpu.bit(), area.0, area.1)
    {
        return Err(errno);
    }
    Ok(found)
}

/// What the header of the context save area says.
fn exceptions(a: &CreateQueue, agent: AgentId, doorbell: u32) -> Exceptions {
    let mut bytes = [0u8; size_of::<ContextSaveAreaHeader>()];
    let address = a.ctx_save_restore_address;
    if is_mapped(address, bytes.len() as u64) {
        let host = core::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: mapped in the process at the address that the client says; it wrote the header before the call.
        unsafe { raw::copy_in(host, bytes.as_mut_ptr(), bytes.len()) };
    }
    let header = ContextSaveAreaHeader::read_from_bytes(&bytes).unwrap_or_default();
    Exceptions {
        payload: header.err_payload_addr,
        event: header.err_event_id,
        agent,
        doorbell,
    }
}

/// What the driver answers where the device refuses.
fn errno(error: &QueueCreateError) -> i32 {
    match error {
        QueueCreateError::NoneLeft { .. } => ENOSPC,
        QueueCreateError::NotSupported(_) => ENOTSUPP,
        QueueCreateError::Os { errno, .. } if *errno != 0 => *errno,
        QueueCreateError::Os { .. } => ENOMEM,
        _ => EINVAL,
    }
}
