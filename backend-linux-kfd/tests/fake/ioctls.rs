//! The ioctls, each as the kernel answers it.

use super::kernel::{
    Bo, DOORBELL_TYPE, EBADF, EBUSY, EFAULT, EINVAL, EIO, ENOMEM, ENOSPC, ENOTTY, EPERM, Event,
    File, Kernel, PAGE, Queue, anonymous,
};
use super::{Shared, sharing};
use rukh_backend_linux_kfd::sys;
use rukh_core::kfd::KfdFile;
use rukh_core::kfd::uapi::*;
use rustix::fd::IntoRawFd;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};
use zerocopy::FromBytes;

const EINTR: i32 = 4;

fn with<A: Ioctl>(
    argument: &mut [u8],
    run: impl FnOnce(&mut A) -> Result<(), i32>,
) -> Result<(), i32> {
    // As the kernel: a shorter argument is padded with zeros, and only its part is written back.
    let mut value = A::new_zeroed();
    let bytes = value.as_mut_bytes();
    let common = bytes.len().min(argument.len());
    bytes[..common].copy_from_slice(&argument[..common]);
    let answer = run(&mut value);
    argument[..common].copy_from_slice(&value.as_bytes()[..common]);
    answer
}

/// The caller's array behind a pointer.
fn array<'a, T: FromBytes>(pointer: u64, count: u32) -> Result<&'a mut [T], i32> {
    if pointer == 0 {
        return Err(EFAULT);
    }
    // SAFETY: the backend under test passes arrays of its own that live across the call; that is the
    // contract of `ioctl_raw`.
    Ok(unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut(pointer as usize),
            count as usize,
        )
    })
}

pub fn run(shared: &Shared, file: KfdFile, request: u32, argument: &mut [u8]) -> Result<(), i32> {
    let mut kernel = shared.lock();
    assert_eq!(
        (request >> 16 & 0x3fff) as usize,
        argument.len(),
        "the request states the argument's size"
    );
    match kernel.files.get(&file.0).ok_or(EBADF)? {
        File::Render(id) => {
            let id = *id;
            kernel.enter()?;
            return device_info(&kernel, id, request, argument);
        }
        File::Kfd => {}
    }
    let nr = request as u8;
    let info = IOCTLS.iter().find(|info| info.nr == nr).ok_or(ENOTTY)?;
    kernel.log.push(info.name);
    if kernel.minor < info.since_minor {
        return Err(ENOTTY);
    }
    kernel.enter()?;
    let k = &mut *kernel;
    match nr {
        0x01 => with(argument, |a: &mut GetVersion| {
            (a.major_version, a.minor_version) = (1, k.minor);
            Ok(())
        }),
        0x02 => with(argument, |a| create_queue(k, a)),
        0x03 => with(argument, |a: &mut DestroyQueue| {
            k.queues.remove(&a.queue_id).map(drop).ok_or(EINVAL)
        }),
        0x05 => with(argument, |a: &mut GetClockCounters| {
            a.system_clock_counter = sys::now();
            a.cpu_clock_counter = a.system_clock_counter;
            a.system_clock_freq = 1_000_000_000;
            a.gpu_clock_counter = k.gpu(a.gpu_id).map_or(0, |_| a.system_clock_counter / 10);
            Ok(())
        }),
        0x07 => with(argument, |a: &mut UpdateQueue| {
            let queue = k.queues.get_mut(&a.queue_id).ok_or(EFAULT)?;
            (queue.percentage, queue.priority) = (a.queue_percentage, a.queue_priority);
            Ok(())
        }),
        0x08 => with(argument, |a| create_event(k, a)),
        0x09 => {
            let answer = with(argument, |a: &mut DestroyEvent| {
                k.events.remove(&a.event_id).map(drop).ok_or(EINVAL)
            });
            shared.raised.notify_all();
            answer
        }
        0x0a => {
            let answer = with(argument, |a: &mut SetEvent| {
                let event = k.events.get(&a.event_id).ok_or(EINVAL)?;
                if event.kind != event_type::SIGNAL {
                    return Err(EINVAL);
                }
                k.raise(a.event_id, [0; 4]);
                Ok(())
            });
            shared.raised.notify_all();
            answer
        }
        0x0c => with(argument, |a| wait_events(shared, kernel, a)),
        0x11 => Ok(()),
        0x13 => with(argument, |a: &mut SetTrapHandler| {
            k.gpu(a.gpu_id)?;
            k.traps.insert(a.gpu_id, a.tba_addr);
            Ok(())
        }),
        0x14 => with(argument, |a| apertures(k, a)),
        0x15 => with(argument, |a: &mut AcquireVm| {
            let fd = a.drm_fd as i32;
            match k.files.get(&fd) {
                Some(File::Render(id)) if *id == a.gpu_id => {}
                _ => return Err(EINVAL),
            }
            match k.acquired.insert(a.gpu_id, fd) {
                Some(before) if before != fd => {
                    k.acquired.insert(a.gpu_id, before);
                    Err(EBUSY)
                }
                _ => Ok(()),
            }
        }),
        0x16 => with(argument, |a| allocate(k, a)),
        0x17 => with(argument, |a: &mut FreeMemoryOfGpu| {
            let bo = k.bos.get(&a.handle).ok_or(EINVAL)?;
            if k.event_page == Some(a.handle) {
                return Err(EPERM);
            }
            if !bo.mapped.is_empty() || k.queue_uses(a.handle) {
                return Err(EBUSY);
            }
            k.bos.remove(&a.handle);
            Ok(())
        }),
        0x18 => with(argument, |a| map(k, a)),
        0x19 => with(argument, |a| unmap(k, a)),
        0x1a => with(argument, |a: &mut SetCuMask| {
            if a.num_cu_mask == 0 || !a.num_cu_mask.is_multiple_of(32) {
                return Err(EINVAL);
            }
            let mask: &mut [u32] = array(a.cu_mask_ptr, a.num_cu_mask / 32)?;
            k.queues.get_mut(&a.queue_id).ok_or(EFAULT)?.mask = mask.to_vec();
            Ok(())
        }),
        0x1c => with(argument, |a| sharing::dmabuf_info(k, a)),
        0x1d => with(argument, |a| sharing::import(k, a)),
        0x20 => sharing::svm(k, argument),
        0x21 => with(argument, |a: &mut SetXnackMode| {
            a.xnack_enabled = 0;
            Ok(())
        }),
        0x23 => with(argument, |a: &mut AvailableMemory| {
            k.gpu(a.gpu_id)?;
            let used: u64 = k
                .bos
                .values()
                .filter(|bo| bo.gpu == a.gpu_id && bo.flags.contains(AllocFlags::VRAM))
                .map(|bo| bo.size)
                .sum();
            a.available = (64 << 30) - used;
            Ok(())
        }),
        0x24 => with(argument, |a: &mut ExportDmabuf| {
            let bo = k.bos.get(&a.handle).ok_or(EINVAL)?;
            let memory = bo.memory.as_ref().ok_or(EINVAL)?;
            a.dmabuf_fd = memory.try_clone().map_err(|_| ENOMEM)?.into_raw_fd() as u32;
            k.exported.insert(a.dmabuf_fd, (bo.gpu, bo.size));
            Ok(())
        }),
        0x25 => with(argument, |a: &mut RuntimeEnable| {
            let on = a.mode_mask & 1 != 0;
            if on && k.runtime {
                return Err(EBUSY);
            }
            k.runtime = on;
            Ok(())
        }),
        _ => Err(ENOTTY),
    }
}

fn device_info(kernel: &Kernel, _: u32, request: u32, argument: &mut [u8]) -> Result<(), i32> {
    if request & 0xff != 0x45 || argument.len() != 32 {
        return Err(EINVAL);
    }
    let word = |at: usize| u32::from_ne_bytes(argument[at..at + 4].try_into().unwrap());
    let pointer = u64::from(word(0)) | u64::from(word(4)) << 32;
    let answer: &mut [u8] = array(pointer, word(8))?;
    answer.fill(0);
    answer[12..16].copy_from_slice(&2u32.to_ne_bytes());
    answer[16..20].copy_from_slice(&141u32.to_ne_bytes());
    if kernel.frequency_is_told {
        answer[28..32].copy_from_slice(&100_000u32.to_ne_bytes());
    }
    Ok(())
}

fn apertures(kernel: &Kernel, a: &mut GetProcessAperturesNew) -> Result<(), i32> {
    let count = kernel.gpus.len() as u32;
    if a.num_of_nodes == 0 {
        a.num_of_nodes = count;
        return Ok(());
    }
    if count == 0 {
        return Err(EINVAL);
    }
    let count = count.min(a.num_of_nodes);
    let list = array(a.kfd_process_device_apertures_ptr, a.num_of_nodes)?;
    for (entry, gpu) in list.iter_mut().zip(&kernel.gpus) {
        *entry = ProcessDeviceApertures {
            lds_base: 1 << 48,
            lds_limit: (1 << 48) + 0xffff_ffff,
            scratch_base: 2 << 48,
            scratch_limit: (2 << 48) + 0xffff_ffff,
            gpuvm_base: 0x4000,
            gpuvm_limit: gpu.gpuvm_limit,
            gpu_id: gpu.id,
            pad: 0,
        };
    }
    a.num_of_nodes = count;
    Ok(())
}

fn allocate(kernel: &mut Kernel, a: &mut AllocMemoryOfGpu) -> Result<(), i32> {
    kernel.gpu(a.gpu_id)?;
    if !kernel.acquired.contains_key(&a.gpu_id) || a.size == 0 {
        return Err(EINVAL);
    }
    let flags = AllocFlags::from_bits_retain(a.flags);
    let kinds = AllocFlags::VRAM
        | AllocFlags::GTT
        | AllocFlags::USERPTR
        | AllocFlags::DOORBELL
        | AllocFlags::MMIO_REMAP;
    if (flags & kinds).bits().count_ones() != 1 {
        return Err(EINVAL);
    }
    if ![a.va_addr, a.size, a.mmap_offset]
        .iter()
        .all(|n| n.is_multiple_of(PAGE))
    {
        return Err(EINVAL);
    }
    let user = flags.contains(AllocFlags::USERPTR);
    if user && a.mmap_offset == 0 {
        return Err(EFAULT);
    }
    let overlaps = |bo: &Bo| bo.va < a.va_addr + a.size && a.va_addr < bo.va + bo.size;
    if kernel.bos.values().any(overlaps) {
        return Err(EINVAL);
    }
    let handle = kernel.next_bo;
    kernel.next_bo += 1;
    kernel.bos.insert(
        handle,
        Bo {
            gpu: a.gpu_id,
            va: a.va_addr,
            size: a.size,
            flags,
            host: if user { a.mmap_offset } else { 0 },
            mapped: Default::default(),
            memory: (!user && !flags.contains(AllocFlags::DOORBELL)).then(|| anonymous(a.size)),
        },
    );
    a.handle = handle;
    if !user {
        a.mmap_offset = handle << 32;
    }
    Ok(())
}

fn map(kernel: &mut Kernel, a: &mut MapMemoryToGpu) -> Result<(), i32> {
    if a.n_devices == 0 || a.n_success > a.n_devices {
        return Err(EINVAL);
    }
    let ids: Vec<u32> = array(a.device_ids_array_ptr, a.n_devices)?.to_vec();
    let interrupt = kernel.interrupt_map_after.take_if(|_| a.n_devices > 1);
    for (index, id) in ids.iter().enumerate().skip(a.n_success as usize) {
        if interrupt == Some(index as u32) {
            return Err(EINTR);
        }
        kernel.gpu(*id)?;
        let bo = kernel.bos.get_mut(&a.handle).ok_or(EINVAL)?;
        bo.mapped.insert(*id);
        a.n_success = index as u32 + 1;
    }
    Ok(())
}

fn unmap(kernel: &mut Kernel, a: &mut UnmapMemoryFromGpu) -> Result<(), i32> {
    if a.n_devices == 0 || a.n_success > a.n_devices {
        return Err(EINVAL);
    }
    if kernel.queue_uses(a.handle) {
        return Err(EBUSY);
    }
    let bo = kernel.bos.get_mut(&a.handle).ok_or(EINVAL)?;
    for id in array::<u32>(a.device_ids_array_ptr, a.n_devices)?.iter() {
        assert!(bo.mapped.remove(id), "unmapped is what was mapped");
    }
    a.n_success = a.n_devices;
    Ok(())
}

fn create_queue(kernel: &mut Kernel, a: &mut CreateQueue) -> Result<(), i32> {
    let gpu = kernel.gpu(a.gpu_id)?;
    if a.queue_percentage > 100 || a.queue_priority > 15 || !a.ring_size.is_power_of_two() {
        return Err(EINVAL);
    }
    let mut buffers = Vec::new();
    let mut buffer = |address: u64, size: u64, own_pages: bool| {
        let (handle, bo) = kernel.mapping_at(a.gpu_id, address).ok_or(EINVAL)?;
        if bo.size != size
            || (own_pages && (!bo.flags.contains(AllocFlags::GTT) || bo.gpu != gpu.id))
        {
            return Err(EINVAL);
        }
        buffers.push(handle);
        Ok(())
    };
    buffer(a.write_pointer_address & !(PAGE - 1), PAGE, gpu.mes)?;
    buffer(a.read_pointer_address & !(PAGE - 1), PAGE, gpu.mes)?;
    buffer(a.ring_base_address, u64::from(a.ring_size), gpu.mes)?;
    match a.queue_type {
        queue_type::COMPUTE_AQL => {
            if a.eop_buffer_address != 0 {
                if a.eop_buffer_size != gpu.end_of_pipe {
                    return Err(EINVAL);
                }
                buffer(a.eop_buffer_address, gpu.end_of_pipe, false)?;
            } else if gpu.end_of_pipe != 0 {
                return Err(EINVAL);
            }
            if a.ctl_stack_size != gpu.control_stack || a.ctx_save_restore_size != gpu.save_area {
                return Err(EINVAL);
            }
            buffer(a.ctx_save_restore_address, gpu.save_total, false)?;
            check_headers(&gpu, a)?;
        }
        queue_type::SDMA | queue_type::SDMA_XGMI => {}
        _ => return Err(524),
    }
    let id = (0..1024)
        .find(|id| !kernel.queues.contains_key(id))
        .ok_or(ENOSPC)?;
    kernel.queues.insert(
        id,
        Queue {
            gpu: a.gpu_id,
            kind: a.queue_type,
            percentage: a.queue_percentage,
            priority: a.queue_priority,
            buffers,
            mask: Vec::new(),
            write_pointer: a.write_pointer_address,
            read_pointer: a.read_pointer_address,
        },
    );
    a.queue_id = id;
    a.doorbell_offset = DOORBELL_TYPE | (u64::from(gpu.id) << 32) | (u64::from(id + 1) * 8);
    Ok(())
}

/// The headers that the client leaves for the kernel: the debugger's memory lies behind the last XCC's area.
fn check_headers(gpu: &super::FakeGpu, a: &CreateQueue) -> Result<(), i32> {
    let areas = gpu.save_total / u64::from(gpu.save_area);
    for xcc in 0..areas {
        let at = a.ctx_save_restore_address + xcc * u64::from(gpu.save_area);
        let header: &mut [ContextSaveAreaHeader] = array(at, 1)?;
        let debug = xcc * u64::from(gpu.save_area) + u64::from(header[0].debug_offset);
        let size = u64::from(header[0].debug_size);
        if debug != areas * u64::from(gpu.save_area)
            || (debug + size).next_multiple_of(PAGE) != gpu.save_total
            || header[0].err_payload_addr == 0
        {
            return Err(EFAULT);
        }
    }
    Ok(())
}

fn create_event(kernel: &mut Kernel, a: &mut CreateEvent) -> Result<(), i32> {
    if a.event_page_offset != 0 {
        if kernel.event_page.is_some() {
            return Err(EINVAL);
        }
        let bo = kernel.bos.get(&a.event_page_offset).ok_or(EINVAL)?;
        if !bo.flags.contains(AllocFlags::GTT) || bo.size != 0x8000 {
            return Err(EINVAL);
        }
        kernel.event_page = Some(a.event_page_offset);
    }
    let signal = a.event_type == event_type::SIGNAL;
    let range = if signal {
        1..4096
    } else {
        0x4000_0000..0x4001_0000
    };
    let id = range
        .into_iter()
        .find(|id| !kernel.events.contains_key(id))
        .ok_or(ENOSPC)?;
    kernel.events.insert(
        id,
        Event {
            kind: a.event_type,
            auto_reset: a.auto_reset != 0,
            signaled: false,
            age: 1,
            data: [0; 4],
        },
    );
    (a.event_id, a.event_trigger_data) = (id, id);
    if signal {
        a.event_slot_index = id;
    }
    Ok(())
}

fn wait_events(
    shared: &Shared,
    mut kernel: MutexGuard<'_, Kernel>,
    a: &mut WaitEvents,
) -> Result<(), i32> {
    a.wait_result = 2;
    let list: &mut [EventData] = if a.num_events == 0 {
        &mut []
    } else {
        array(a.events_ptr, a.num_events)?
    };
    if list
        .iter()
        .any(|data| !kernel.events.contains_key(&data.event_id))
    {
        return Err(EINVAL);
    }
    let deadline = (a.timeout < u32::MAX - 1)
        .then(|| Instant::now() + Duration::from_millis(u64::from(a.timeout)));
    loop {
        let mut active = Vec::new();
        for (index, data) in list.iter().enumerate() {
            let event = kernel.events.get(&data.event_id).ok_or(EIO)?;
            let aged = kernel.minor >= 14
                && event.kind == event_type::SIGNAL
                && data.data[0] != 0
                && event.age != data.data[0];
            if event.signaled || aged {
                active.push(index);
            }
        }
        let enough = if a.wait_for_all != 0 {
            active.len() == list.len()
        } else {
            !active.is_empty() || list.is_empty()
        };
        if enough {
            let minor = kernel.minor;
            for index in active {
                let data = &mut list[index];
                let event = kernel.events.get_mut(&data.event_id).ok_or(EIO)?;
                event.signaled &= !event.auto_reset;
                if event.kind != event_type::SIGNAL {
                    data.data = event.data;
                } else if minor >= 14 {
                    data.data[0] = event.age;
                }
            }
            a.wait_result = 0;
            return Ok(());
        }
        let now = Instant::now();
        kernel = match deadline {
            Some(deadline) if now >= deadline => {
                a.wait_result = 1;
                return Ok(());
            }
            Some(deadline) => {
                shared
                    .raised
                    .wait_timeout(kernel, deadline - now)
                    .unwrap_or_else(|e| e.into_inner())
                    .0
            }
            None => shared
                .raised
                .wait(kernel)
                .unwrap_or_else(|e| e.into_inner()),
        };
    }
}
