//! The dispatcher: by number, with the sizes and the copying of the kernel's.

use super::KfdFace;
use super::errno::{EBADF, EBUSY, EFAULT, EINVAL, ENODEV, ENOMEM, ENOTTY, EOPNOTSUPP, EPERM};
use super::events::{FAILED, has_slot};
use super::memory::{ADDRESS_LIMIT, TYPE_EVENTS};
use super::other::{Criu, DebugTrap, OldApertures, TileConfig};
use super::process::File;
use alloc::vec::Vec;
use rukh_core::kfd::KfdFile;
use rukh_core::kfd::uapi::{
    AcquireVm, AllocMemoryOfGpu, AllocQueueGws, AvailableMemory, CreateEvent, CreateQueue,
    DestroyEvent, DestroyQueue, EventData, ExportDmabuf, FreeMemoryOfGpu, GetClockCounters,
    GetDmabufInfo, GetProcessAperturesNew, GetQueueWaveState, GetVersion, ImportDmabuf,
    MapMemoryToGpu, ProcessDeviceApertures, ResetEvent, RuntimeEnable, SetCuMask, SetEvent,
    SetMemoryPolicy, SetScratchBackingVa, SetTrapHandler, SetXnackMode, SmiEvents,
    UnmapMemoryFromGpu, UpdateQueue, WaitEvents,
};
use rustix::time::{ClockId, clock_gettime};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What the host maps of device memory without resizable BARs.
const SMALL_BAR_BYTES: u64 = 256 << 20;

/// Most elements of an array that the kernel finds memory for.
const MOST: u32 = 1 << 16;

/// Which way an argument is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
    Both,
}

/// Reads the client's array.
///
/// # Safety
/// The pointer, unless it is null or no address of a process's, is of so many elements.
pub(super) unsafe fn read_array<T: FromBytes>(pointer: u64, count: u32) -> Result<Vec<T>, i32> {
    let count = count.min(MOST + 1);
    if count > MOST {
        return Err(ENOMEM);
    }
    let bytes = count as usize * size_of::<T>();
    check_user(pointer, bytes)?;
    let mut list: Vec<T> = Vec::with_capacity(count as usize);
    // SAFETY: by the caller's promise; any bytes are a value, and the vector has room for as many.
    unsafe {
        core::ptr::copy_nonoverlapping(
            core::ptr::with_exposed_provenance::<u8>(pointer as usize),
            list.as_mut_ptr().cast::<u8>(),
            bytes,
        );
        list.set_len(count as usize);
    }
    Ok(list)
}

/// Writes the client's array.
///
/// # Safety
/// As for [`read_array`].
unsafe fn write_array<T: IntoBytes + Immutable>(pointer: u64, list: &[T]) -> Result<(), i32> {
    let bytes = size_of_val(list);
    check_user(pointer, bytes)?;
    // SAFETY: by the caller's promise.
    unsafe {
        core::ptr::copy_nonoverlapping(
            list.as_ptr().cast::<u8>(),
            core::ptr::with_exposed_provenance_mut::<u8>(pointer as usize),
            bytes,
        );
    }
    Ok(())
}

fn check_user(pointer: u64, bytes: usize) -> Result<(), i32> {
    let end = pointer.checked_add(bytes as u64);
    if bytes != 0 && (pointer == 0 || end.is_none_or(|end| end > ADDRESS_LIMIT)) {
        return Err(EFAULT);
    }
    Ok(())
}

/// Runs an ioctl over its argument. The request's size truncates what is copied, the table says which way.
fn with<A: FromBytes + IntoBytes + Immutable + KnownLayout>(
    argument: &mut [u8],
    copy: Way,
    run: impl FnOnce(&mut A) -> Result<(), i32>,
) -> Result<(), i32> {
    let mut value = A::new_zeroed();
    let common = argument.len().min(size_of::<A>());
    if copy != Way::Out {
        value.as_mut_bytes()[..common].copy_from_slice(&argument[..common]);
    }
    let answer = run(&mut value);
    // The kernel copies back after errors as well.
    if copy != Way::In {
        argument[..common].copy_from_slice(&value.as_bytes()[..common]);
        if copy == Way::Out {
            argument[common..].fill(0);
        }
    }
    answer
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl KfdFace {
    /// Answers an ioctl.
    ///
    /// # Safety
    /// Pointers inside the argument are valid for what the ioctl does with them.
    pub(super) unsafe fn ioctl(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        let kind = self.process.lock().files.get(&file.0).copied();
        let index = match kind.ok_or(EBADF)? {
            File::Kfd => None,
            File::Render(index) => Some(index),
        };
        if let Some(index) = index {
            let now = self.now(index);
            // SAFETY: by the caller's promise.
            return unsafe { super::drm::ioctl(&self.gpus[index], now, request, argument) };
        }
        let nr = request as u8;
        if !(0x01..=self.interface.last_ioctl()).contains(&nr) {
            return Err(ENOTTY);
        }
        let size = (request >> 16 & 0x3fff) as usize;
        let argument = argument.get_mut(..size).ok_or(EFAULT)?;
        // SAFETY: by the caller's promise.
        unsafe { self.kfd_ioctl(nr, argument) }
    }

    /// # Safety
    /// As for [`Self::ioctl`].
    unsafe fn kfd_ioctl(&self, nr: u8, argument: &mut [u8]) -> Result<(), i32> {
        use Way::{Both, In, Out};
        match nr {
            0x01 => with(argument, Out, |a: &mut GetVersion| {
                (a.major_version, a.minor_version) = self.interface.version();
                Ok(())
            }),
            0x02 => with(argument, Both, |a: &mut CreateQueue| self.create_queue(a)),
            0x03 => with(argument, Both, |a: &mut DestroyQueue| self.destroy_queue(a)),
            0x04 => with(argument, In, |a: &mut SetMemoryPolicy| {
                if a.default_policy > 1 || a.alternate_policy > 1 {
                    return Err(EINVAL);
                }
                self.gpu(a.gpu_id).map(drop)
            }),
            0x05 => with(argument, Both, |a| {
                self.clocks(a);
                Ok(())
            }),
            0x06 => with(argument, Out, |a: &mut OldApertures| {
                for (entry, found) in a.apertures.iter_mut().zip(self.apertures()) {
                    entry.as_mut_bytes().copy_from_slice(found.as_bytes());
                    a.count += 1;
                }
                Ok(())
            }),
            0x07 => with(argument, In, |a: &mut UpdateQueue| self.update_queue(a)),
            0x08 => with(argument, Both, |a| self.create_event(a)),
            0x09 => with(argument, In, |a: &mut DestroyEvent| {
                self.shared.events.destroy(a.event_id)
            }),
            0x0a => with(argument, In, |a: &mut SetEvent| {
                self.shared.events.set(a.event_id)
            }),
            0x0b => with(argument, In, |a: &mut ResetEvent| {
                self.shared.events.reset(a.event_id)
            }),
            // SAFETY: by the caller's promise.
            0x0c => with(argument, Both, |a| unsafe { self.wait_events(a) }),
            // The debugger's calls before RUNTIME_ENABLE: no kernel takes them any more.
            0x0d..=0x10 => Err(EPERM),
            0x11 => with(argument, Both, |a: &mut SetScratchBackingVa| {
                // GFX9 and later find it in the queue's structure.
                self.gpu(a.gpu_id).map(drop)
            }),
            0x12 => with(argument, Both, |a: &mut TileConfig| {
                self.gpu(a.gpu_id)?;
                // Chips since GFX9 have no tables.
                (a.tile_count, a.macro_tile_count) = (0, 0);
                Ok(())
            }),
            0x13 => with(argument, In, |a: &mut SetTrapHandler| {
                let index = Self::index(self.gpu(a.gpu_id)?);
                let shared = &self.sim.system().gpus[index].shared;
                shared.set_trap_handler(a.tba_addr, a.tma_addr);
                Ok(())
            }),
            // SAFETY: by the caller's promise.
            0x14 => with(argument, Both, |a| unsafe { self.apertures_new(a) }),
            0x15 => with(argument, In, |a| self.acquire_vm(a)),
            0x16 => with(argument, Both, |a: &mut AllocMemoryOfGpu| self.allocate(a)),
            0x17 => with(argument, In, |a: &mut FreeMemoryOfGpu| self.free(a)),
            // SAFETY: by the caller's promise.
            0x18 => with(argument, Both, |a: &mut MapMemoryToGpu| unsafe {
                self.map_to_gpus(a)
            }),
            // SAFETY: by the caller's promise.
            0x19 => with(argument, Both, |a: &mut UnmapMemoryFromGpu| unsafe {
                self.unmap_from_gpus(a)
            }),
            // SAFETY: by the caller's promise.
            0x1a => with(argument, In, |a: &mut SetCuMask| unsafe {
                self.set_cu_mask(a)
            }),
            0x1b => with(argument, Both, |a: &mut GetQueueWaveState| {
                self.wave_state(a)
            }),
            0x1c => with(argument, Both, |a: &mut GetDmabufInfo| self.dmabuf_info(a)),
            0x1d => with(argument, Both, |a: &mut ImportDmabuf| self.import_dmabuf(a)),
            0x1e => with(argument, Both, |a: &mut AllocQueueGws| self.allocate_gws(a)),
            0x1f => with(argument, Both, |a: &mut SmiEvents| {
                self.gpu(a.gpuid)?;
                Err(EOPNOTSUPP)
            }),
            0x20 => self.svm(argument),
            0x21 => with(argument, Both, |a| self.set_xnack(a)),
            0x22 => with(argument, Both, |a: &mut Criu| {
                Err(if a.op == 0 { ENODEV } else { EINVAL })
            }),
            0x23 => with(argument, Both, |a| self.available(a)),
            0x24 => with(argument, Both, |a: &mut ExportDmabuf| self.export_dmabuf(a)),
            0x25 => with(argument, Both, |a| self.runtime_enable(a)),
            0x26 => with(argument, Both, |a| self.debug_trap(a)),
            _ => Err(ENOTTY),
        }
    }

    fn now(&self, index: usize) -> super::drm::Now {
        let time = nanoseconds(ClockId::Boottime);
        super::drm::Now {
            used: self.process.lock().gpus[index].used,
            gtt: self.sim.host().memory_bytes,
            visible: if self.small_bar {
                SMALL_BAR_BYTES
            } else {
                self.gpus[index].profile.vram_bytes
            },
            counter: self.sim.system().gpus[index].to_counter(time),
        }
    }

    fn clocks(&self, a: &mut GetClockCounters) {
        a.cpu_clock_counter = nanoseconds(ClockId::MonotonicRaw);
        a.system_clock_counter = nanoseconds(ClockId::Boottime);
        a.system_clock_freq = 1_000_000_000;
        a.gpu_clock_counter = self.gpu(a.gpu_id).map_or(0, |gpu| {
            let system = self.sim.system();
            system.gpus[Self::index(gpu)].to_counter(a.system_clock_counter)
        });
    }

    fn apertures(&self) -> impl Iterator<Item = ProcessDeviceApertures> {
        self.gpus.iter().map(|gpu| {
            let (lds, scratch) = (gpu.info.group_aperture, gpu.info.private_aperture);
            ProcessDeviceApertures {
                lds_base: lds,
                lds_limit: lds | 0xffff_ffff,
                scratch_base: scratch,
                scratch_limit: scratch | 0xffff_ffff,
                gpuvm_base: 0x4000,
                gpuvm_limit: 0x7fff_ffff_ffff,
                gpu_id: gpu.id,
                pad: 0,
            }
        })
    }

    /// # Safety
    /// The argument's pointer is of as many entries as it says.
    unsafe fn apertures_new(&self, a: &mut GetProcessAperturesNew) -> Result<(), i32> {
        if a.num_of_nodes == 0 {
            a.num_of_nodes = self.gpus.len() as u32;
            return Ok(());
        }
        if a.num_of_nodes > self.nodes() {
            return Err(EINVAL);
        }
        let list: Vec<_> = self.apertures().take(a.num_of_nodes as usize).collect();
        // SAFETY: by the caller's promise: not more than it says.
        unsafe { write_array(a.kfd_process_device_apertures_ptr, &list) }?;
        a.num_of_nodes = list.len() as u32;
        Ok(())
    }

    fn create_event(&self, a: &mut CreateEvent) -> Result<(), i32> {
        if a.event_page_offset != 0 || has_slot(a.event_type) {
            self.set_event_page(a.event_page_offset)?;
        }
        let id = self.shared.events.create(a.event_type, a.auto_reset != 0)?;
        (a.event_id, a.event_trigger_data) = (id, id);
        if has_slot(a.event_type) {
            a.event_page_offset = TYPE_EVENTS;
            a.event_slot_index = id;
        }
        Ok(())
    }

    /// # Safety
    /// The argument's pointer is of as many elements as it says.
    unsafe fn wait_events(&self, a: &mut WaitEvents) -> Result<(), i32> {
        a.wait_result = FAILED;
        // SAFETY: by the caller's promise.
        let mut list: Vec<EventData> = unsafe { read_array(a.events_ptr, a.num_events) }?;
        let all = a.wait_for_all != 0;
        a.wait_result =
            self.shared
                .events
                .wait(&mut list, all, &mut a.timeout, self.interface.since(14))?;
        // SAFETY: as above.
        unsafe { write_array(a.events_ptr, &list) }
    }

    fn acquire_vm(&self, a: &mut AcquireVm) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        let file = i32::try_from(a.drm_fd).map_err(|_| EINVAL)?;
        let kind = *process.files.get(&file).ok_or(EINVAL)?;
        let index = Self::index(self.gpu(a.gpu_id)?);
        let on = &mut process.gpus[index];
        match on.render {
            Some(known) if known == file => Ok(()),
            Some(_) => Err(EBUSY),
            None if kind == File::Render(index) => {
                on.render = Some(file);
                Ok(())
            }
            None => Err(EINVAL),
        }
    }

    fn set_xnack(&self, a: &mut SetXnackMode) -> Result<(), i32> {
        if self.gpus.is_empty() {
            // As with SVM.
            return Err(EPERM);
        }
        if a.xnack_enabled >= 0 {
            if !self.process.lock().queues.is_empty() {
                return Err(EBUSY);
            }
            if a.xnack_enabled != 0 {
                // Retrying faults is not simulated.
                return Err(EPERM);
            }
        }
        a.xnack_enabled = 0;
        Ok(())
    }

    fn available(&self, a: &mut AvailableMemory) -> Result<(), i32> {
        let gpu = self.gpu(a.gpu_id)?;
        let used = self.process.lock().gpus[Self::index(gpu)].used;
        a.available = gpu.profile.vram_bytes.saturating_sub(used);
        Ok(())
    }

    fn runtime_enable(&self, a: &mut RuntimeEnable) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        let enable = a.mode_mask & 1 != 0;
        if enable && process.runtime_enabled {
            return Err(EBUSY);
        }
        process.runtime_enabled = enable;
        self.shared.enable_runtime(enable);
        a.capabilities_mask = 0;
        Ok(())
    }

    /// A process that debugs itself may say so, and on a machine without GPUs nothing follows from it.
    fn debug_trap(&self, a: &mut DebugTrap) -> Result<(), i32> {
        if !self.gpus.is_empty() || a.pid != std::process::id() {
            return Err(EOPNOTSUPP);
        }
        if a.op > 1 { Err(EINVAL) } else { Ok(()) }
    }
}
