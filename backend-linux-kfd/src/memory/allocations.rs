//! Making allocations, mapping them, giving them back.

use super::bo::{self, Bo};
use super::table::{Entry, Source};
use super::va::{PAGE, Reservation};
use crate::backend::{INHERITED, KfdBackend, call_name};
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::backend::{AgentId, MemoryError, MemoryHandle};
use rukh_core::kfd::uapi::{AllocFlags, AvailableMemory, Ioctl};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection};

const EFAULT: i32 = 14;
const EINVAL: i32 = 22;
const EPERM: i32 = 1;
const ENOMEM: i32 = 12;

/// What to allocate, in the driver's terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub source: Source,
    /// The GPU that it is allocated on and mapped to, for what is a GPU's.
    pub gpu: Option<usize>,
    pub size: u64,
    pub align: u64,
    pub flags: AllocFlags,
}

/// What an allocation came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub handle: u64,
    pub gpu_va: u64,
    pub host: Option<NonNull<u8>>,
}

fn anonymous() -> Mapping {
    Mapping {
        file: None,
        offset: 0,
        size: 0,
        protection: Protection::ReadWrite,
        fixed: None,
    }
}

impl<P: KfdPort> KfdBackend<P> {
    fn os(&self, error: &PortError, size: u64) -> MemoryError {
        MemoryError::Os {
            call: call_name(error),
            size,
            errno: error.errno(),
        }
    }

    /// The ids of GPUs by their indices.
    fn ids(&self, gpus: &[usize]) -> Vec<u32> {
        gpus.iter()
            .filter_map(|&gpu| Some(self.gpus.get(gpu)?.id))
            .collect()
    }

    /// Allocates; what is a GPU's is mapped to it.
    pub(crate) fn acquire(&self, want: &Want) -> Result<Block, MemoryError> {
        let out_of = |error: &PortError| {
            if error.errno() == ENOMEM {
                MemoryError::OutOfMemory {
                    size: want.size,
                    available: 0,
                }
            } else {
                self.os(error, want.size)
            }
        };
        let mut entry = Entry {
            range: None,
            gpu_va: 0,
            size: want.size,
            source: want.source,
            flags: want.flags,
            host: None,
            bo: None,
            mapped: Vec::new(),
            users: 0,
        };
        let pages = match want.source {
            Source::Registered(host) => {
                let offset = host & (PAGE - 1);
                (offset + want.size).next_multiple_of(PAGE)
            }
            _ => want.size,
        };
        if let Source::Registered(host) = want.source {
            entry.host = NonNull::new(core::ptr::with_exposed_provenance_mut(host as usize));
            entry.gpu_va = host;
        }
        if !matches!(want.source, Source::Registered(_)) || !self.gpus.is_empty() {
            let range = Reservation::new(self.port(), pages, want.align).map_err(|e| out_of(&e))?;
            entry.gpu_va = range.address()
                + match want.source {
                    Source::Registered(host) => host & (PAGE - 1),
                    _ => 0,
                };
            if matches!(want.source, Source::Host | Source::Queue) {
                if let Err(error) = range.fill(self.port(), &anonymous()) {
                    // SAFETY: taken above; nobody has seen it.
                    unsafe { range.release(self.port()) };
                    return Err(out_of(&error));
                }
                entry.host = Some(range.start());
            }
            entry.range = Some(range);
        }
        if let Some(gpu) = want.gpu {
            let made = self
                .create_bo(&mut entry, gpu)
                .and_then(|()| self.map_entry(&mut entry, &[gpu]));
            if let Err(error) = made {
                if self.release(&mut entry).is_err() {
                    // The driver will not take it back now: it is tried again when the backend goes.
                    self.memory.lock(&self.park).insert(entry);
                }
                return Err(error);
            }
        }
        let (gpu_va, host) = (entry.gpu_va, entry.host);
        let mut memory = self.memory.lock(&self.park);
        if let (Source::Vram { .. }, Some(gpu)) = (want.source, want.gpu) {
            *memory.vram.entry(gpu).or_default() += want.size;
        }
        Ok(Block {
            handle: memory.insert(entry),
            gpu_va,
            host,
        })
    }

    /// Has the driver know an allocation, on `gpu`, and maps it on the host if that is due.
    fn create_bo(&self, entry: &mut Entry, gpu: usize) -> Result<(), MemoryError> {
        let Some(device) = self.gpus.get(gpu) else {
            return Err(MemoryError::NotSupported("memory of a GPU that is gone"));
        };
        let Some(range) = &entry.range else {
            return Err(MemoryError::NotSupported(
                "memory without addresses on a GPU",
            ));
        };
        if entry.source == Source::Queue {
            entry.source = if device.has_mes() {
                Source::Gtt
            } else {
                Source::Host
            };
        }
        let size = range.size() as u64;
        let address = range.address();
        let (kind, host) = match entry.source {
            Source::Host | Source::Queue => (AllocFlags::USERPTR, address),
            Source::Registered(host) => (AllocFlags::USERPTR, host & !(PAGE - 1)),
            Source::Gtt => (AllocFlags::GTT, 0),
            Source::Vram { host: true } => (AllocFlags::VRAM | AllocFlags::PUBLIC, 0),
            Source::Vram { host: false } => (AllocFlags::VRAM, 0),
            Source::Doorbells(_) => (AllocFlags::DOORBELL, 0),
            Source::Registers => (AllocFlags::MMIO_REMAP, 0),
            Source::Imported => {
                return Err(MemoryError::NotSupported("a second import of a dmabuf"));
            }
            Source::AddressOnly => {
                return Err(MemoryError::NotSupported(
                    "mapping addresses without memory",
                ));
            }
        };
        let bo = bo::allocate(
            &self.kfd,
            (gpu, device.id),
            address,
            size,
            entry.flags | kind,
            host,
        )
        .map_err(|error| match (error.errno(), entry.source) {
            (EFAULT | EINVAL | EPERM, Source::Registered(host)) => MemoryError::BadHostRange {
                address: host,
                size: entry.size,
            },
            (ENOMEM, _) => MemoryError::OutOfMemory {
                size,
                available: self.left(gpu).unwrap_or(0),
            },
            _ => self.os(&error, size),
        })?;
        let mapped = match entry.source {
            Source::Gtt => self.map_kernel_pages(entry, device.render, bo),
            Source::Vram { host: true } => range.fill(
                self.port(),
                &Mapping {
                    file: Some(device.render),
                    offset: bo.mmap_offset,
                    ..anonymous()
                },
            ),
            Source::Registers => range.fill(
                self.port(),
                &Mapping {
                    file: Some(self.kfd.file()),
                    offset: bo.mmap_offset,
                    ..anonymous()
                },
            ),
            Source::Doorbells(offset) => range.fill(
                self.port(),
                &Mapping {
                    file: Some(self.kfd.file()),
                    offset,
                    ..anonymous()
                },
            ),
            _ => Ok(()),
        };
        if let Err(error) = mapped {
            let _ = bo::free(&self.kfd, bo);
            return Err(self.os(&error, size));
        }
        if !matches!(
            entry.source,
            Source::Registered(_) | Source::Vram { host: false }
        ) {
            entry.host = Some(range.start());
        }
        entry.bo = Some(bo);
        Ok(())
    }

    /// Maps the kernel's pages over the range. What the host had written to the pages that were there is copied first.
    fn map_kernel_pages(&self, entry: &Entry, render: KfdFile, bo: Bo) -> Result<(), PortError> {
        let Some(range) = &entry.range else {
            return Ok(());
        };
        let mapping = Mapping {
            file: Some(render),
            offset: bo.mmap_offset,
            size: range.size(),
            ..anonymous()
        };
        if let Some(old) = entry.host {
            // SAFETY: not fixed.
            let copy = unsafe { self.port().map(&mapping) }?;
            // SAFETY: both are mapped for as many bytes and distinct. The memory is being handed to its first
            // device: its user writes to it after `map` has returned.
            unsafe {
                core::ptr::copy_nonoverlapping(old.as_ptr(), copy.as_ptr(), range.size());
                self.port().unmap(copy, range.size());
            }
        }
        range.fill(self.port(), &mapping)
    }

    /// Maps an allocation to GPUs; those that it is mapped to already stay so.
    pub(super) fn map_entry(&self, entry: &mut Entry, gpus: &[usize]) -> Result<(), MemoryError> {
        let mut fresh: Vec<usize> = Vec::new();
        for &gpu in gpus {
            if !entry.mapped.contains(&gpu) && !fresh.contains(&gpu) {
                fresh.push(gpu);
            }
        }
        let Some(&first) = fresh.first() else {
            return Ok(());
        };
        if entry.bo.is_none() {
            self.create_bo(entry, first)?;
        }
        let Some(bo) = entry.bo else {
            return Ok(());
        };
        let ids = self.ids(&fresh);
        if let Err((done, error)) = bo::map(&self.kfd, bo, &ids) {
            let done = (done as usize).min(ids.len());
            if done != 0 && bo::unmap(&self.kfd, bo, &ids[..done]).is_err() {
                // Still mapped there: that is what the table has to say.
                entry.mapped.extend(&fresh[..done]);
            }
            return Err(self.os(&error, entry.size));
        }
        entry.mapped.extend(fresh);
        Ok(())
    }

    pub(super) fn unmap_entry(&self, entry: &mut Entry, gpus: &[usize]) -> Result<(), MemoryError> {
        let lost: Vec<usize> = entry
            .mapped
            .iter()
            .copied()
            .filter(|gpu| gpus.contains(gpu))
            .collect();
        let Some(bo) = entry.bo.filter(|_| !lost.is_empty()) else {
            return Ok(());
        };
        let (done, answer) = match bo::unmap(&self.kfd, bo, &self.ids(&lost)) {
            Ok(()) => (lost.len(), Ok(())),
            Err((done, error)) => (
                (done as usize).min(lost.len()),
                Err(self.os(&error, entry.size)),
            ),
        };
        entry.mapped.retain(|gpu| !lost[..done].contains(gpu));
        answer
    }

    /// Gives an allocation back. After an error it is still there, as far as the entry says.
    pub(super) fn release(&self, entry: &mut Entry) -> Result<(), MemoryError> {
        if !self.kfd.inherited() {
            let mapped = entry.mapped.clone();
            self.unmap_entry(entry, &mapped)?;
            if let Some(bo) = entry.bo {
                bo::free(&self.kfd, bo).map_err(|error| self.os(&error, entry.size))?;
                entry.bo = None;
            }
        }
        if let Some(range) = entry.range.take()
            && !(self.kfd.inherited() && entry.is_the_drivers())
        {
            // SAFETY: no GPU maps it any more, and whoever frees an allocation has promised that the host does not
            // use it.
            unsafe { range.release(self.port()) };
        }
        Ok(())
    }

    /// Gives back what [`KfdBackend::acquire`] gave.
    ///
    /// # Safety
    /// Nothing on the host uses the memory any more.
    pub(crate) unsafe fn relinquish(&self, handle: u64) -> Result<(), MemoryError> {
        let name = MemoryHandle(handle);
        let mut memory = self.memory.lock(&self.park);
        if memory.virtual_memory.has(name) {
            drop(memory);
            return self.free_virtual(name);
        }
        let Some(entry) = memory.entries.get(&handle) else {
            return Err(MemoryError::NoAllocation { handle: name });
        };
        if entry.users != 0 {
            return Err(MemoryError::InUse {
                handle: name,
                user: "a queue",
            });
        }
        let Some(mut entry) = memory.remove(handle) else {
            return Err(MemoryError::NoAllocation { handle: name });
        };
        let (size, vram) = (
            entry.size,
            matches!(entry.source, Source::Vram { .. })
                .then(|| entry.bo.map(|bo| bo.gpu))
                .flatten(),
        );
        if let Err(error) = self.release(&mut entry) {
            memory.put_back(handle, entry);
            return Err(error);
        }
        if let Some(total) = vram.and_then(|gpu| memory.vram.get_mut(&gpu)) {
            *total = total.saturating_sub(size);
        }
        Ok(())
    }

    /// Maps an allocation to GPUs by index.
    pub(crate) fn map_to(&self, handle: u64, gpus: &[usize]) -> Result<(), MemoryError> {
        let mut memory = self.memory.lock(&self.park);
        let entry = memory
            .entries
            .get_mut(&handle)
            .ok_or(MemoryError::NoAllocation {
                handle: MemoryHandle(handle),
            })?;
        self.map_entry(entry, gpus)
    }

    /// The driver's handle of an allocation, if the driver knows it.
    pub(crate) fn buffer_object(&self, handle: MemoryHandle) -> Option<u64> {
        let memory = self.memory.lock(&self.park);
        Some(memory.entries.get(&handle.0)?.bo?.handle)
    }

    /// Bytes of device memory that the driver says are left.
    pub(super) fn left(&self, gpu: usize) -> Option<u64> {
        if !self.kfd.since(AvailableMemory::INFO.since_minor) {
            return None;
        }
        let mut argument = AvailableMemory {
            available: 0,
            gpu_id: self.gpus.get(gpu)?.id,
            pad: 0,
        };
        self.kfd.call(&mut argument).ok()?;
        Some(argument.available)
    }

    pub(super) fn gpus_of(&self, agents: &[AgentId]) -> Result<Vec<usize>, MemoryError> {
        let mut gpus = Vec::new();
        for &agent in agents {
            let record = self.record(agent).ok_or(MemoryError::BadAgent { agent })?;
            gpus.extend(record.gpu);
        }
        Ok(gpus)
    }

    pub(super) fn check_inherited(&self) -> Result<(), MemoryError> {
        if self.kfd.inherited() {
            return Err(MemoryError::NotSupported(INHERITED));
        }
        Ok(())
    }

    /// Gives everything back, when the backend goes.
    pub(crate) fn close_memory(&mut self) {
        let table = core::mem::take(&mut self.memory.get_mut().virtual_memory);
        self.close_virtual(table);
        let entries = core::mem::take(&mut self.memory.get_mut().entries);
        for (_, mut entry) in entries {
            // Once more if the driver refuses: what it keeps now, it keeps until the process ends.
            if self.release(&mut entry).is_err()
                && self.release(&mut entry).is_err()
                && let Some(range) = entry.range
            {
                // SAFETY: the backend is going, and all that it gave out with it.
                unsafe { range.release(self.port()) };
            }
        }
    }

    /// Leaves an allocation to the driver, which uses it until the process ends: when the backend goes,
    /// only its addresses on the host are given back.
    pub(crate) fn abandon(&mut self, handle: u64) {
        if let Some(entry) = self.memory.get_mut().entries.get_mut(&handle) {
            entry.bo = None;
            entry.mapped.clear();
        }
    }
}
