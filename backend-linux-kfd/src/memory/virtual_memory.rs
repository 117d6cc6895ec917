//! Virtual memory: buffer objects without addresses, and imports of them where a client maps them.
//!
//! Memory without an address is a buffer object at address 0, on the GPU whose memory it is or, for host memory, on the first
//! one. A mapping is an import of its dmabuf at the client's address, made when the first GPU is given access, and mapped to
//! each GPU that has some. The host maps the buffer object's pages at the same address. No descriptor stays open but those of
//! memory that came from other processes.
//!
//! The kernel maps imports for reading and writing, so that a GPU has both or nothing.

use super::alloc_flags;
use super::bo::{self, Bo};
use super::table::{Entry, Source};
use super::va::{PAGE, Reservation};
use crate::backend::{KfdBackend, call_name};
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use rukh_core::backend::{
    AgentId, BankId, HeapKind, ImportedMemory, MappedMemory, MemoryAccess, MemoryError,
    MemoryFlags, MemoryHandle, MemoryRequest, VirtualMemory,
};
use rukh_core::kfd::uapi::{AllocFlags, ExportDmabuf, GetDmabufInfo, ImportDmabuf, Ioctl};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping as Pages, PortError, Protection, call};
use rustix::fd::{AsRawFd, OwnedFd};

const EBADF: i32 = 9;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;
const EMFILE: i32 = 24;
/// `O_CLOEXEC`
const CLOEXEC: u32 = 0o2_000_000;

/// What memory without addresses is to the driver.
#[derive(Debug)]
enum Origin {
    /// A buffer object of this process, whose pages are at the offset that it says.
    Own(Bo),
    /// Another process's, by its dmabuf.
    Others(OwnedFd),
}

/// Memory without addresses.
#[derive(Debug)]
struct Memory {
    origin: Origin,
    /// Index of the GPU that imports are made on.
    gpu: usize,
    size: u64,
    /// Whether it counts as that GPU's memory.
    vram: bool,
    /// Where the runtime reaches it; none if the host does not map it.
    host: Option<Reservation>,
    mappings: u32,
}

/// Memory at an address.
#[derive(Debug)]
struct Mapping {
    memory: u64,
    /// The import, once a GPU has access.
    entry: Entry,
}

/// Addresses, memory and mappings, by handle.
#[derive(Debug, Default)]
pub(super) struct VirtualTable {
    ranges: BTreeMap<u64, Reservation>,
    memories: BTreeMap<u64, Memory>,
    mappings: BTreeMap<u64, Mapping>,
}

impl VirtualTable {
    pub(super) fn has(&self, handle: MemoryHandle) -> bool {
        self.memories.contains_key(&handle.0)
    }
}

fn os(error: &PortError, size: u64) -> MemoryError {
    match error.errno() {
        ENOMEM => MemoryError::OutOfMemory { size, available: 0 },
        errno => MemoryError::Os {
            call: call_name(error),
            size,
            errno,
        },
    }
}

/// A mapping of a file's pages on the host, without a place yet.
const fn pages(file: Option<KfdFile>, offset: u64, protection: Protection) -> Pages {
    Pages {
        file,
        offset,
        size: 0,
        protection,
        fixed: None,
    }
}

impl<P: KfdPort> KfdBackend<P> {
    /// The file and the offset of memory's pages.
    fn pages_of(&self, memory: &Memory) -> Option<(KfdFile, u64)> {
        match &memory.origin {
            Origin::Own(bo) => Some((self.gpus.get(memory.gpu)?.render, bo.mmap_offset)),
            Origin::Others(file) => Some((KfdFile(file.as_raw_fd()), 0)),
        }
    }

    /// Maps memory on the host, for the runtime itself.
    fn map_for_runtime(&self, memory: &mut Memory) -> Result<(), MemoryError> {
        let Some((file, offset)) = self.pages_of(memory) else {
            return Ok(());
        };
        let failed = |error: PortError| os(&error, memory.size);
        let range = Reservation::new(self.port(), memory.size, PAGE).map_err(failed)?;
        let pages = pages(Some(file), offset, Protection::ReadWrite);
        if let Err(error) = range.fill(self.port(), &pages) {
            // SAFETY: taken just now.
            unsafe { range.release(self.port()) };
            return Err(os(&error, memory.size));
        }
        memory.host = Some(range);
        Ok(())
    }

    /// Asks the driver for a descriptor of a buffer object.
    fn export_bo(&self, bo: u64, size: u64) -> Result<i32, MemoryError> {
        let mut argument = ExportDmabuf {
            handle: bo,
            flags: CLOEXEC,
            dmabuf_fd: 0,
        };
        self.kfd
            .call(&mut argument)
            .map_err(|error| match error.errno() {
                // User pointers, which are the process's own pages, and registers.
                1 | EINVAL => MemoryError::NotSupported("dmabuf export of this memory"),
                _ => os(&error, size),
            })?;
        i32::try_from(argument.dmabuf_fd)
            .map_err(|_| MemoryError::NotSupported("a dmabuf that is no file descriptor"))
    }

    /// A descriptor of an allocation, or of memory without addresses.
    pub(crate) fn export(&self, handle: MemoryHandle) -> Result<i32, MemoryError> {
        self.check_inherited()?;
        if !self.kfd.since(ExportDmabuf::INFO.since_minor) {
            return Err(MemoryError::NotSupported("dmabuf export before KFD 1.12"));
        }
        let own = {
            let memory = self.memory.lock(&self.park);
            match memory.virtual_memory.memories.get(&handle.0) {
                Some(Memory {
                    origin: Origin::Own(bo),
                    size,
                    ..
                }) => Some((bo.handle, *size)),
                Some(Memory {
                    origin: Origin::Others(file),
                    size,
                    ..
                }) => {
                    let copy = sys::duplicate(file.as_raw_fd());
                    return copy
                        .map(rustix::fd::IntoRawFd::into_raw_fd)
                        .map_err(|errno| MemoryError::Os {
                            call: "fcntl",
                            size: *size,
                            errno,
                        });
                }
                None => None,
            }
        };
        let (bo, size) = match own {
            Some(own) => own,
            None => {
                let bo = self.buffer_object(handle);
                let none = MemoryError::NotSupported("dmabuf export of memory that no GPU has");
                (bo.ok_or(none)?, 0)
            }
        };
        self.export_bo(bo, size)
    }

    /// Gives memory back that is mapped nowhere.
    pub(super) fn free_virtual(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        let mut memory = self.memory.lock(&self.park);
        let table = &mut memory.virtual_memory;
        let none = MemoryError::NoAllocation { handle };
        let found = table.memories.get_mut(&handle.0).ok_or(none)?;
        if found.mappings != 0 {
            return Err(MemoryError::InUse {
                handle,
                user: "a mapping",
            });
        }
        if let Origin::Own(bo) = found.origin
            && !self.kfd.inherited()
        {
            bo::free(&self.kfd, bo).map_err(|error| os(&error, found.size))?;
        }
        let Some(found) = table.memories.remove(&handle.0) else {
            return Ok(());
        };
        if let Some(range) = found.host {
            // SAFETY: the runtime's own, which uses it for mappings alone.
            unsafe { range.release(self.port()) };
        }
        if found.vram
            && let Some(total) = memory.vram.get_mut(&found.gpu)
        {
            *total = total.saturating_sub(found.size);
        }
        Ok(())
    }

    /// Keeps memory; gives its handle.
    fn keep(&self, made: Memory) -> MemoryHandle {
        let mut memory = self.memory.lock(&self.park);
        if made.vram {
            *memory.vram.entry(made.gpu).or_default() += made.size;
        }
        let handle = memory.number();
        memory.virtual_memory.memories.insert(handle, made);
        MemoryHandle(handle)
    }

    /// Imports memory at a mapping's address, on the GPU that imports of it are made on.
    fn import_at(&self, memory: &Memory, address: u64) -> Result<Bo, MemoryError> {
        let none = || MemoryError::NotSupported("memory of a GPU that is gone");
        let gpu = self.gpus.get(memory.gpu).ok_or_else(none)?;
        let exported = match &memory.origin {
            Origin::Own(bo) => sys::adopt(self.export_bo(bo.handle, memory.size)?),
            Origin::Others(_) => None,
        };
        let file = match (&exported, &memory.origin) {
            (Some(file), _) | (None, Origin::Others(file)) => file.as_raw_fd(),
            (None, Origin::Own(_)) => return Err(none()),
        };
        let mut argument = ImportDmabuf {
            va_addr: address,
            handle: 0,
            gpu_id: gpu.id,
            dmabuf_fd: file.cast_unsigned(),
        };
        self.kfd
            .call(&mut argument)
            .map_err(|error| os(&error, memory.size))?;
        Ok(Bo {
            handle: argument.handle,
            mmap_offset: 0,
            gpu: memory.gpu,
        })
    }

    /// Replaces what the host has at a mapping's address.
    fn set_host_access(
        &self,
        memory: &Memory,
        address: u64,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        let mut wish = if access.is_empty() {
            pages(None, 0, Protection::None)
        } else {
            let (file, offset) = memory
                .host
                .as_ref()
                .and_then(|_| self.pages_of(memory))
                .ok_or(MemoryError::NotSupported(
                    "host access to device memory behind a small BAR",
                ))?;
            let protection = if access == MemoryAccess::READ {
                Protection::Read
            } else {
                // No processor of ours writes what it may not read.
                Protection::ReadWrite
            };
            pages(Some(file), offset, protection)
        };
        wish.size = memory.size as usize;
        wish.fixed =
            core::ptr::NonNull::new(core::ptr::with_exposed_provenance_mut(address as usize));
        // SAFETY: the range is the mapping's; replacing what the host has there is what the client asks for.
        unsafe { self.port().map(&wish) }
            .map(drop)
            .map_err(|error| os(&error, memory.size))
    }

    /// Gives everything back, when the backend goes.
    pub(super) fn close_virtual(&self, table: VirtualTable) {
        for (_, mut mapping) in table.mappings {
            // Once more if the driver refuses: what it keeps now, it keeps until the process ends.
            if self.release(&mut mapping.entry).is_err() {
                let _ = self.release(&mut mapping.entry);
            }
        }
        for (_, memory) in table.memories {
            if let Origin::Own(bo) = memory.origin
                && !self.kfd.inherited()
                && bo::free(&self.kfd, bo).is_err()
            {
                let _ = bo::free(&self.kfd, bo);
            }
            if let Some(range) = memory.host {
                // SAFETY: the backend is going.
                unsafe { range.release(self.port()) };
            }
        }
        for (_, range) in table.ranges {
            // SAFETY: the backend is going, and all that it gave out with it.
            unsafe { range.release(self.port()) };
        }
    }

    /// What the driver says of a descriptor.
    fn dmabuf_info(&self, descriptor: i32) -> Result<GetDmabufInfo, MemoryError> {
        let not_shared = MemoryError::NotShared { descriptor };
        let mut info = GetDmabufInfo {
            dmabuf_fd: u32::try_from(descriptor).map_err(|_| not_shared.clone())?,
            ..GetDmabufInfo::default()
        };
        // SAFETY: there is no room for metadata, so the driver follows no pointer.
        unsafe { call(self.port(), self.kfd.file(), &mut info) }.map_err(|error| {
            match error.errno() {
                EINVAL | EBADF => not_shared,
                _ => os(&error, 0),
            }
        })?;
        Ok(info)
    }
}

// SAFETY: ranges come from `Reservation`, and stay until they are given back. A mapping's import is at the client's address
// for every GPU, and the host maps the same pages there. The runtime's own mapping stays until the memory is freed, which
// takes that no mapping is left.
unsafe impl<P: KfdPort> VirtualMemory for KfdBackend<P> {
    fn has_virtual_memory(&self) -> bool {
        !self.gpus.is_empty() && self.kfd.since(ExportDmabuf::INFO.since_minor)
    }

    fn reserve(&self, size: u64, align: u64, wish: u64) -> Result<u64, MemoryError> {
        self.check_inherited()?;
        let range = match wish {
            0 => None,
            wish => Reservation::at(self.port(), wish, size).ok(),
        };
        let range = match range {
            Some(range) => range,
            None => Reservation::new(self.port(), size, align).map_err(|error| os(&error, size))?,
        };
        let address = range.address();
        let mut memory = self.memory.lock(&self.park);
        memory.virtual_memory.ranges.insert(address, range);
        Ok(address)
    }

    unsafe fn unreserve(&self, address: u64, size: u64) {
        let mut memory = self.memory.lock(&self.park);
        let table = &mut memory.virtual_memory;
        if table.ranges.get(&address).map(Reservation::size) == Some(size as usize)
            && let Some(range) = table.ranges.remove(&address)
        {
            // SAFETY: by the caller's promise.
            unsafe { range.release(self.port()) };
        }
    }

    fn create_memory(&self, request: &MemoryRequest) -> Result<MemoryHandle, MemoryError> {
        self.check_inherited()?;
        let &MemoryRequest {
            bank,
            size,
            align,
            flags,
        } = request;
        let none = MemoryError::NoBank { bank };
        let record = self.record(bank.agent).ok_or(none.clone())?;
        let heap = record.banks.get(bank.index as usize).map(|bank| bank.heap);
        if size == 0 || !size.is_multiple_of(PAGE) || !align.is_power_of_two() || align < PAGE {
            let page = PAGE;
            return Err(MemoryError::BadSize { size, align, page });
        }
        let (kind, gpu, host) = match (heap, record.gpu) {
            (Some(HeapKind::System), _) => (AllocFlags::GTT, 0, true),
            (Some(HeapKind::VramPublic), Some(gpu)) => {
                let host = flags.contains(MemoryFlags::HOST_ACCESS);
                let public = if host {
                    AllocFlags::PUBLIC
                } else {
                    AllocFlags::empty()
                };
                (AllocFlags::VRAM | public, gpu, host)
            }
            (Some(HeapKind::VramPrivate), Some(gpu)) => (AllocFlags::VRAM, gpu, false),
            _ => return Err(none),
        };
        let gone = MemoryError::NotSupported("virtual memory without a GPU");
        let id = self.gpus.get(gpu).ok_or(gone)?.id;
        let vram = kind.contains(AllocFlags::VRAM);
        let wishes = alloc_flags(flags) | kind;
        let bo =
            bo::allocate(&self.kfd, (gpu, id), 0, size, wishes, 0).map_err(|error| match error
                .errno()
            {
                ENOMEM => MemoryError::OutOfMemory {
                    size,
                    available: if vram { self.left(gpu).unwrap_or(0) } else { 0 },
                },
                _ => os(&error, size),
            })?;
        let mut made = Memory {
            origin: Origin::Own(bo),
            gpu,
            size,
            vram,
            host: None,
            mappings: 0,
        };
        if host && let Err(error) = self.map_for_runtime(&mut made) {
            if bo::free(&self.kfd, bo).is_err() {
                // Tried again when the backend goes.
                self.keep(made);
            }
            return Err(error);
        }
        Ok(self.keep(made))
    }

    fn import_memory(&self, descriptor: i32) -> Result<ImportedMemory, MemoryError> {
        self.check_inherited()?;
        let not_shared = MemoryError::NotShared { descriptor };
        let info = self.dmabuf_info(descriptor)?;
        let size = info.size;
        if size == 0 || !size.is_multiple_of(PAGE) {
            return Err(not_shared);
        }
        let flags = AllocFlags::from_bits_retain(info.flags);
        let vram = flags.contains(AllocFlags::VRAM);
        // Of a GPU that is not this process's there is nothing that could import it.
        let agent = self
            .agent_by_gpu_id(info.gpu_id)
            .ok_or(not_shared.clone())?;
        let gpu = self.gpu_index(agent).ok_or(not_shared.clone())?;
        let owner = if vram { agent } else { AgentId(0) };
        let banks = self.record(owner).map_or(&[][..], |record| &record.banks);
        let index = banks.iter().position(|bank| match bank.heap {
            HeapKind::VramPublic | HeapKind::VramPrivate => vram,
            HeapKind::System => !vram,
            _ => false,
        });
        let index = index.ok_or(not_shared)? as u32;
        let file = sys::duplicate(descriptor).map_err(|errno| match errno {
            EMFILE => MemoryError::Os {
                call: "fcntl",
                size,
                errno,
            },
            _ => MemoryError::NotShared { descriptor },
        })?;
        let mut made = Memory {
            origin: Origin::Others(file),
            gpu,
            size,
            vram: false,
            host: None,
            mappings: 0,
        };
        if !vram || flags.contains(AllocFlags::PUBLIC) {
            self.map_for_runtime(&mut made)?;
        }
        Ok(ImportedMemory {
            handle: self.keep(made),
            size,
            bank: BankId {
                agent: owner,
                index,
            },
        })
    }

    unsafe fn map_memory(
        &self,
        memory: MemoryHandle,
        address: u64,
    ) -> Result<MappedMemory, MemoryError> {
        self.check_inherited()?;
        let mut table = self.memory.lock(&self.park);
        let handle = table.number();
        let table = &mut table.virtual_memory;
        let none = MemoryError::NoAllocation { handle: memory };
        let found = table.memories.get_mut(&memory.0).ok_or(none)?;
        found.mappings += 1;
        let entry = Entry {
            range: None,
            gpu_va: address,
            size: found.size,
            source: Source::Imported,
            flags: AllocFlags::empty(),
            host: None,
            bo: None,
            mapped: Vec::new(),
            users: 0,
        };
        let host = found.host.as_ref().map(Reservation::start);
        let mapping = Mapping {
            memory: memory.0,
            entry,
        };
        table.mappings.insert(handle, mapping);
        Ok(MappedMemory {
            handle: MemoryHandle(handle),
            host,
        })
    }

    unsafe fn unmap_memory(&self, mapping: MemoryHandle) -> Result<(), MemoryError> {
        let mut table = self.memory.lock(&self.park);
        let table = &mut table.virtual_memory;
        let none = MemoryError::NoAllocation { handle: mapping };
        let found = table.mappings.get_mut(&mapping.0).ok_or(none.clone())?;
        let memory = table.memories.get_mut(&found.memory).ok_or(none)?;
        self.release(&mut found.entry)?;
        self.set_host_access(memory, found.entry.gpu_va, MemoryAccess::empty())?;
        memory.mappings -= 1;
        table.mappings.remove(&mapping.0);
        Ok(())
    }

    fn set_access(
        &self,
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        self.check_inherited()?;
        let record = self.record(agent).ok_or(MemoryError::BadAgent { agent })?;
        let mut table = self.memory.lock(&self.park);
        let table = &mut table.virtual_memory;
        let none = MemoryError::NoAllocation { handle: mapping };
        let found = table.mappings.get_mut(&mapping.0).ok_or(none.clone())?;
        let memory = table.memories.get(&found.memory).ok_or(none)?;
        let Some(gpu) = record.gpu else {
            return self.set_host_access(memory, found.entry.gpu_va, access);
        };
        if access.is_empty() {
            self.unmap_entry(&mut found.entry, &[gpu])?;
            if found.entry.mapped.is_empty() {
                self.release(&mut found.entry)?;
            }
            return Ok(());
        }
        if access != MemoryAccess::all() {
            return Err(MemoryError::NotSupported(
                "access of a GPU for reading alone, or for writing alone, through KFD",
            ));
        }
        if found.entry.bo.is_none() {
            found.entry.bo = Some(self.import_at(memory, found.entry.gpu_va)?);
        }
        self.map_entry(&mut found.entry, &[gpu])
    }
}
