//! Buffer objects: allocated, mapped to GPUs, mapped by the client.
//!
//! A buffer object has pages of the face's own, which the devices reach through a mapping of their own whatever the client
//! does with its mappings; or the client's pages (a user pointer), wherever they are; or registers.

use super::KfdFace;
use super::errno::{EADDRINUSE, EBUSY, EFAULT, EINVAL, ENODEV, ENOMEM, ENOSPC, EPERM};
use super::gpu::{DOORBELL_BYTES, FaceGpu};
use super::ioctl::read_array;
use super::pages::Pages;
use super::process::{EventPage, Process};
use crate::mem::{Block, HostMemory, PAGE_SIZE, RegionId, Rights};
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::kfd::uapi::{
    AllocFlags, AllocMemoryOfGpu, FreeMemoryOfGpu, MapMemoryToGpu, UnmapMemoryFromGpu,
};
use rustix::mm::{Advice, MsyncFlags, ProtFlags};

/// Addresses that a process has.
pub(super) const ADDRESS_LIMIT: u64 = 0x7fff_ffff_f000;
/// Type of an offset of `/dev/kfd`: bits 62 and 63.
pub(super) const TYPE_EVENTS: u64 = 2 << 62;
/// As above.
pub(super) const TYPE_DOORBELL: u64 = 3 << 62;
const TYPE_MASK: u64 = 3 << 62;
const TYPE_MMIO: u64 = 0;
/// Where an offset has the GPU's id.
pub(super) const GPU_ID_SHIFT: u32 = 46;

/// What is behind a buffer object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Pages of the face's own, by number.
    Pages(u64),
    /// The client's, at this address.
    User(u64),
    /// Doorbells or registers of the GPU.
    Registers(Block),
}

/// A buffer object.
#[derive(Debug)]
pub(super) struct Object {
    /// Index of its GPU.
    pub gpu: usize,
    pub va: u64,
    pub size: u64,
    pub flags: AllocFlags,
    pub source: Source,
    /// Bits of the GPUs that it is mapped to.
    pub mapped: u32,
    /// In the devices' address map, while it is mapped to any.
    pub region: Option<RegionId>,
    pub offset: u64,
    /// Uses of it by queues.
    pub queues: u32,
    /// Another's memory, by dmabuf.
    pub imported: bool,
}

/// Whether all pages of a range of the process are mapped.
pub(super) fn is_mapped(address: u64, size: u64) -> bool {
    let start = address & !(PAGE_SIZE - 1);
    let Some(end) = address
        .checked_add(size)
        .filter(|end| *end <= ADDRESS_LIMIT)
    else {
        return false;
    };
    let pages = core::ptr::without_provenance_mut(start as usize);
    // SAFETY: asynchronous synchronisation of a range does nothing on Linux but look whether it is mapped.
    start != 0
        && unsafe { rustix::mm::msync(pages, (end - start) as usize, MsyncFlags::ASYNC) }.is_ok()
}

impl Object {
    fn rights(&self) -> Rights {
        let mut rights = Rights::READ;
        rights.set(Rights::WRITE, self.flags.contains(AllocFlags::WRITABLE));
        rights.set(Rights::EXECUTE, self.flags.contains(AllocFlags::EXECUTABLE));
        rights
    }

    fn is_vram(&self) -> bool {
        self.flags.contains(AllocFlags::VRAM)
    }
}

impl Process {
    /// Gives an object of a GPU a handle.
    pub(super) fn add_object(&mut self, gpu: u32, object: Object) -> u64 {
        let on = &mut self.gpus[object.gpu];
        on.last_object += 1;
        let handle = u64::from(gpu) << 32 | u64::from(on.last_object);
        self.objects.insert(handle, object);
        handle
    }

    /// The object with exactly one mapping on a GPU, which begins at an address.
    pub(super) fn mapped_at(&mut self, gpu: u32, address: u64) -> Option<(u64, &mut Object)> {
        self.objects
            .iter_mut()
            .find(|(_, object)| object.va == address && object.mapped & gpu != 0)
            .map(|(handle, object)| (*handle, object))
    }
}

impl KfdFace {
    pub(super) fn allocate(&self, a: &mut AllocMemoryOfGpu) -> Result<(), i32> {
        if a.size == 0 {
            return Err(EINVAL);
        }
        let process = &mut *self.process.lock();
        let flags = AllocFlags::from_bits_retain(a.flags);
        let is_shared = |at: u64| process.svm.overlap(at, at.saturating_add(a.size));
        if (a.va_addr != 0 || !flags.contains(AllocFlags::VRAM)) && is_shared(a.va_addr)
            || flags.contains(AllocFlags::USERPTR) && is_shared(a.mmap_offset)
        {
            return Err(EADDRINUSE);
        }
        let gpu = self.gpu(a.gpu_id)?;
        if self.small_bar && flags.contains(AllocFlags::PUBLIC | AllocFlags::VRAM) {
            return Err(EINVAL);
        }
        let index = Self::index(gpu);
        if process.gpus[index].render.is_none() {
            return Err(ENODEV);
        }
        let size = a
            .size
            .checked_next_multiple_of(PAGE_SIZE)
            .filter(|size| a.va_addr.checked_add(*size).is_some())
            .ok_or(EINVAL)?;
        let kinds = AllocFlags::VRAM
            | AllocFlags::GTT
            | AllocFlags::USERPTR
            | AllocFlags::DOORBELL
            | AllocFlags::MMIO_REMAP;
        let kind = flags & kinds;
        let source = if kind == AllocFlags::VRAM {
            let left = gpu
                .profile
                .vram_bytes
                .saturating_sub(process.gpus[index].used);
            if size > left {
                return Err(ENOMEM);
            }
            self.take_pages(process, gpu.id, flags, size)?
        } else if kind == AllocFlags::GTT {
            if size > self.sim.host().memory_bytes {
                return Err(ENOMEM);
            }
            self.take_pages(process, gpu.id, flags, size)?
        } else if kind == AllocFlags::USERPTR {
            if a.mmap_offset == 0 || !a.mmap_offset.is_multiple_of(PAGE_SIZE) {
                return Err(EINVAL);
            }
            if !is_mapped(a.mmap_offset, size) {
                return Err(EFAULT);
            }
            Source::User(a.mmap_offset)
        } else if kind == AllocFlags::DOORBELL && size == DOORBELL_BYTES {
            Source::Registers(gpu.doorbells)
        } else if kind == AllocFlags::MMIO_REMAP && size == PAGE_SIZE {
            Source::Registers(gpu.registers)
        } else {
            return Err(EINVAL);
        };
        if kind == AllocFlags::VRAM {
            process.gpus[index].used += size;
        }
        let registers = kind == AllocFlags::MMIO_REMAP;
        let mut offset = process.last_offset;
        if registers {
            // Not a render node's but `/dev/kfd`'s.
            offset = TYPE_MMIO | u64::from(gpu.id) << GPU_ID_SHIFT;
        } else {
            process.last_offset += size;
        }
        a.handle = process.add_object(
            gpu.id,
            Object {
                gpu: index,
                va: a.va_addr,
                size,
                flags,
                source,
                mapped: 0,
                region: None,
                offset,
                queues: 0,
                imported: false,
            },
        );
        if !registers {
            process.offsets.insert(offset, a.handle);
        }
        a.mmap_offset = offset;
        Ok(())
    }

    pub(super) fn free(&self, a: &FreeMemoryOfGpu) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        if matches!(process.event_page, Some(EventPage::Object(page)) if page == a.handle) {
            return Err(EPERM);
        }
        let object = process.objects.get(&a.handle).ok_or(EINVAL)?;
        if object.mapped != 0 {
            return Err(EBUSY);
        }
        let Some(object) = process.objects.remove(&a.handle) else {
            return Err(EINVAL);
        };
        process.offsets.remove(&object.offset);
        if object.is_vram() && !object.imported {
            let on = &mut process.gpus[object.gpu];
            on.used = on.used.saturating_sub(object.size);
        }
        if let Source::Pages(pages) = object.source {
            let block = process.drop_pages(pages);
            self.release(block);
        }
        Ok(())
    }

    /// The GPUs of an argument.
    ///
    /// # Safety
    /// The pointer is of so many ids.
    unsafe fn ids(&self, pointer: u64, count: u32, done: u32) -> Result<Vec<u32>, i32> {
        if count == 0 || done > count {
            return Err(EINVAL);
        }
        // SAFETY: by the caller's promise.
        unsafe { read_array(pointer, count) }
    }

    /// # Safety
    /// The argument's pointer is of as many ids as it says.
    pub(super) unsafe fn map_to_gpus(&self, a: &mut MapMemoryToGpu) -> Result<(), i32> {
        // SAFETY: by the caller's promise.
        let ids = unsafe { self.ids(a.device_ids_array_ptr, a.n_devices, a.n_success) }?;
        let process = &mut *self.process.lock();
        for id in ids.iter().skip(a.n_success as usize) {
            let object = process.objects.get_mut(&a.handle).ok_or(EINVAL)?;
            let gpu = self.gpu(*id)?;
            if process.gpus[Self::index(gpu)].render.is_none() {
                return Err(ENODEV);
            }
            self.map_object(&process.pages, object, gpu)?;
            a.n_success += 1;
        }
        Ok(())
    }

    fn map_object(
        &self,
        pages: &alloc::collections::BTreeMap<u64, Pages>,
        object: &mut Object,
        gpu: &FaceGpu,
    ) -> Result<(), i32> {
        let map = &self.sim.system().map;
        let region = match object.region {
            Some(region) => region,
            None => {
                let host = match object.source {
                    Source::Pages(number) => pages.get(&number).ok_or(EINVAL)?.block.host.as_ptr(),
                    Source::User(address) => {
                        core::ptr::with_exposed_provenance_mut(address as usize)
                    }
                    Source::Registers(block) => block.host.as_ptr(),
                };
                // The handle that fault reports name.
                let handle = object.offset;
                // SAFETY: pages and registers stay until the object is freed, which takes that it is mapped to no GPU
                // any more; the client keeps its own pages until then.
                let region = unsafe { map.insert(object.va, object.size, host, handle) };
                // Two objects at one address, be it of different GPUs, are more than one map of addresses holds.
                region.map_err(|_| EINVAL)?
            }
        };
        object.region = Some(region);
        // The agent exists, and the region.
        let _ = map.set_rights(region, gpu.agent.0, object.rights());
        object.mapped |= gpu.bit();
        Ok(())
    }

    /// # Safety
    /// As for [`Self::map_to_gpus`].
    pub(super) unsafe fn unmap_from_gpus(&self, a: &mut UnmapMemoryFromGpu) -> Result<(), i32> {
        // SAFETY: by the caller's promise.
        let ids = unsafe { self.ids(a.device_ids_array_ptr, a.n_devices, a.n_success) }?;
        let process = &mut *self.process.lock();
        let system = self.sim.system();
        let mut answer = Ok(());
        let mut lost = false;
        for id in ids.iter().skip(a.n_success as usize) {
            let object = process.objects.get_mut(&a.handle).ok_or(EINVAL)?;
            let gpu = match self.gpu(*id) {
                Ok(gpu) => gpu,
                Err(errno) => {
                    answer = Err(errno);
                    break;
                }
            };
            if object.queues != 0 && object.mapped & gpu.bit() != 0 {
                answer = Err(EBUSY);
                break;
            }
            if object.mapped & gpu.bit() != 0
                && let Some(region) = object.region
            {
                object.mapped &= !gpu.bit();
                lost = true;
                if object.mapped == 0 {
                    object.region = None;
                    let _ = system.map.remove(region, system.clock.now());
                } else {
                    let _ = system.map.set_rights(region, gpu.agent.0, Rights::empty());
                }
            }
            a.n_success += 1;
        }
        if lost {
            // As the driver flushes the translations: afterwards no device reaches the memory.
            system.quiesce.wait(system.quiesce.advance());
        }
        answer
    }

    /// Maps what a file has at an offset. Gives the address.
    ///
    /// # Safety
    /// With `at` the range is the caller's to replace.
    pub(super) unsafe fn map_file(
        &self,
        gpu: Option<usize>,
        offset: u64,
        size: usize,
        mut protection: ProtFlags,
        at: Option<NonNull<u8>>,
    ) -> Result<NonNull<u8>, i32> {
        let process = &mut *self.process.lock();
        let bytes = (size as u64)
            .checked_next_multiple_of(PAGE_SIZE)
            .ok_or(ENOMEM)?;
        let number = match gpu {
            Some(_) => {
                let handle = process.offsets.get(&offset).ok_or(EINVAL)?;
                let object = process.objects.get(handle).ok_or(EINVAL)?;
                let Source::Pages(number) = object.source else {
                    // User pages have no second mapping.
                    return Err(EPERM);
                };
                if self.small_bar && object.is_vram() {
                    // The kernel maps it, and the first access is a fault.
                    protection = ProtFlags::empty();
                }
                Some(number)
            }
            None => None,
        };
        let block = match number {
            Some(number) => process.pages.get(&number).ok_or(EINVAL)?.block,
            None => self.kfd_block(process, offset, bytes)?,
        };
        if bytes == 0 || bytes > block.size {
            return Err(EINVAL);
        }
        if let Some(at) = at {
            self.forget_mappings(process, at, bytes as usize);
        }
        let bytes = bytes as usize;
        let address = match number.and_then(|number| process.pages.get(&number)) {
            // SAFETY: by the caller's promise.
            Some(pages) => unsafe { self.map_pages(pages, bytes, protection, at) }?,
            // SAFETY: by the caller's promise; the block is one of `memory`'s and not released.
            None => unsafe { self.memory.map_again(&block, 0, bytes, protection, at) }
                .map_err(|errno| errno.raw_os_error())?,
        };
        match number {
            Some(pages) => {
                let start = address.addr().get();
                process.note_mapping(start, start + bytes, pages);
            }
            // What `/dev/kfd` maps is not copied to children. One that got it all the same could not do harm with it.
            None => {
                let at = address.as_ptr().cast();
                // SAFETY: mapped just now; this process keeps it.
                let _ = unsafe { rustix::mm::madvise(at, bytes, Advice::LinuxDontFork) };
            }
        }
        Ok(address)
    }

    /// What `/dev/kfd` has at an offset.
    fn kfd_block(&self, process: &Process, offset: u64, bytes: u64) -> Result<Block, i32> {
        if offset & TYPE_MASK == TYPE_EVENTS {
            let Some(EventPage::Own(block)) = process.event_page else {
                return Err(EINVAL);
            };
            if bytes > block.size {
                return Err(EINVAL);
            }
            self.shared.events.set_mapped(bytes);
            return Ok(block);
        }
        let id = (offset >> GPU_ID_SHIFT) as u32 & 0xffff;
        let gpu = self.gpus.iter().find(|gpu| gpu.id == id).ok_or(ENODEV)?;
        let block = match offset & TYPE_MASK {
            TYPE_DOORBELL => gpu.doorbells,
            TYPE_MMIO => gpu.registers,
            // Memory that the driver reserves for saved waves, on APUs alone.
            _ => return Err(EINVAL),
        };
        if bytes != block.size {
            return Err(EINVAL);
        }
        Ok(block)
    }

    /// The client's mappings in a range are gone.
    pub(super) fn forget_mappings(&self, process: &mut Process, at: NonNull<u8>, size: usize) {
        let start = at.addr().get();
        let end = start.saturating_add(size);
        while let Some((&from, &(to, pages))) = process
            .mappings
            .range(..end)
            .next_back()
            .filter(|(_, (to, _))| *to > start)
        {
            process.mappings.remove(&from);
            if to > end {
                process.note_mapping(end, to, pages);
            }
            if from < start {
                process.note_mapping(from, start, pages);
            }
            let block = process.drop_pages(pages);
            self.release(block);
        }
    }

    /// Makes a buffer object the event page, or makes the driver's own.
    pub(super) fn set_event_page(&self, handle: u64) -> Result<(), i32> {
        let process = &mut *self.process.lock();
        if handle == 0 {
            if process.event_page.is_none() {
                let block = self
                    .memory
                    .allocate(super::events::PAGE_BYTES, PAGE_SIZE)
                    .map_err(|_| ENOMEM)?;
                fill(&block, super::events::PAGE_BYTES);
                process.event_page = Some(EventPage::Own(block));
            }
            return Ok(());
        }
        if process.event_page.is_some() {
            return Err(EINVAL);
        }
        let object = process.objects.get(&handle).ok_or(EINVAL)?;
        let Source::Pages(number) = object.source else {
            return Err(EINVAL);
        };
        let block = process.pages.get(&number).ok_or(EINVAL)?.block;
        if !object.flags.contains(AllocFlags::GTT) || object.size < super::events::PAGE_BYTES {
            return Err(ENOSPC);
        }
        fill(&block, super::events::PAGE_BYTES);
        self.shared.events.set_mapped(object.size);
        process.event_page = Some(EventPage::Object(handle));
        Ok(())
    }

    /// Gives everything back. The devices have stopped.
    pub(super) fn release_all(&mut self) {
        let process = self.process.get_mut();
        let own = match process.event_page.take() {
            Some(EventPage::Own(block)) => Some(block),
            _ => None,
        };
        let all = core::mem::take(&mut process.pages);
        let blocks: Vec<_> = own
            .into_iter()
            .chain(self.gpus.iter().flat_map(|g| [g.doorbells, g.registers]))
            .collect();
        for pages in all.into_values() {
            self.release(Some(pages));
        }
        for block in blocks {
            // SAFETY: devices have stopped; mappings of the client's have pages of their own account.
            unsafe { self.memory.release(block, PAGE_SIZE) };
        }
    }
}

/// All slots hold ones: nobody has written them.
fn fill(block: &Block, bytes: u64) {
    // SAFETY: the block is mapped for at least so many bytes; devices and clients that use it at the same time lose
    // what they wrote, as with the driver.
    unsafe { core::ptr::write_bytes(block.host.as_ptr(), 0xff, bytes as usize) };
}
