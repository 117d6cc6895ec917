//! Memory: a range of addresses, what is behind it, and which GPUs reach it.
//!
//! Every allocation takes addresses of the host first and gives the same numbers to the GPUs, so that a pointer means the
//! same everywhere. Host memory stays the process's own until the first GPU maps it: only then the driver hears of it.

mod allocations;
mod bo;
mod hdp;
mod imports;
mod placement;
mod table;
mod va;
mod virtual_memory;

pub(crate) use allocations::{Block, Want};
pub(crate) use hdp::Hdp;
pub(crate) use table::{MemoryTable, Source};

use crate::backend::KfdBackend;
use crate::kfd::Kfd;
use core::ptr::NonNull;
use rukh_core::backend::{
    AgentId, Allocation, BankId, HeapKind, Memory, MemoryError, MemoryFlags, MemoryHandle,
    MemoryRequest,
};
use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::AllocFlags;
use va::PAGE;

/// The interface's version that knows contiguous device memory.
const CONTIGUOUS_SINCE: u32 = 16;

fn alloc_flags(flags: MemoryFlags) -> AllocFlags {
    [
        (MemoryFlags::WRITABLE, AllocFlags::WRITABLE),
        (MemoryFlags::EXECUTABLE, AllocFlags::EXECUTABLE),
        (MemoryFlags::COHERENT, AllocFlags::COHERENT),
        (MemoryFlags::EXT_COHERENT, AllocFlags::EXT_COHERENT),
        (MemoryFlags::UNCACHED, AllocFlags::UNCACHED),
        (MemoryFlags::CONTIGUOUS, AllocFlags::CONTIGUOUS),
    ]
    .into_iter()
    .filter(|(wish, _)| flags.contains(*wish))
    // Nothing else than what was asked for: a fall-back to host memory would be slow in silence.
    .fold(AllocFlags::NO_SUBSTITUTE, |all, (_, flag)| all | flag)
}

// SAFETY: host addresses are of ranges that `Reservation` took from the system and that stay mapped until the entry
// is released, which `free` alone does (or the backend's end). Fresh pages are anonymous, or come cleared
// from the driver. A buffer object is mapped to GPUs at the very address of its host range.
unsafe impl<P: KfdPort> Memory for KfdBackend<P> {
    fn page_size(&self) -> u64 {
        PAGE
    }

    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError> {
        self.check_inherited()?;
        let bank = request.bank;
        let record = self
            .record(bank.agent)
            .ok_or(MemoryError::NoBank { bank })?;
        let heap = record
            .banks
            .get(bank.index as usize)
            .map(|bank| bank.heap)
            .ok_or(MemoryError::NoBank { bank })?;
        if request.size == 0
            || !request.size.is_multiple_of(PAGE)
            || !request.align.is_power_of_two()
            || request.align < PAGE
        {
            return Err(MemoryError::BadSize {
                size: request.size,
                align: request.align,
                page: PAGE,
            });
        }
        let wishes = request.flags;
        let host = wishes.contains(MemoryFlags::HOST_ACCESS);
        let source = match heap {
            _ if wishes.contains(MemoryFlags::ADDRESS_ONLY) => Source::AddressOnly,
            HeapKind::System if wishes.contains(MemoryFlags::QUEUE) => Source::Queue,
            HeapKind::System => Source::Host,
            HeapKind::VramPublic => Source::Vram { host },
            HeapKind::VramPrivate if host => {
                return Err(MemoryError::NotSupported(
                    "host access to device memory behind a small BAR",
                ));
            }
            HeapKind::VramPrivate => Source::Vram { host: false },
            HeapKind::Lds | HeapKind::Scratch => return Err(MemoryError::NoBank { bank }),
        };
        if wishes.contains(MemoryFlags::CONTIGUOUS) && !self.kfd.since(CONTIGUOUS_SINCE) {
            return Err(MemoryError::NotSupported(
                "contiguous memory before KFD 1.16",
            ));
        }
        let block = self.acquire(&Want {
            source,
            gpu: record.gpu.filter(|_| matches!(source, Source::Vram { .. })),
            size: request.size,
            align: request.align,
            flags: alloc_flags(wishes),
        })?;
        if heap == HeapKind::System && block.host.is_some() {
            let strict = wishes.contains(MemoryFlags::NO_SUBSTITUTE);
            self.place(&block, request.size, record.info.node, strict)?;
        }
        Ok(Allocation {
            handle: MemoryHandle(block.handle),
            gpu_va: block.gpu_va,
            host: block.host,
            size: request.size,
        })
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        // In a child nothing is asked of the driver, but its copy of the pages can go.
        // SAFETY: by the caller's promise.
        unsafe { self.relinquish(handle.0) }
    }

    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        self.check_inherited()?;
        let gpus = self.gpus_of(agents)?;
        self.map_to(handle.0, &gpus)
    }

    fn unmap(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        self.check_inherited()?;
        let gpus = self.gpus_of(agents)?;
        let mut memory = self.memory.lock(&self.park);
        let entry = memory
            .entries
            .get_mut(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        if entry.users != 0 && gpus.iter().any(|&gpu| entry.is_mapped_to(gpu)) {
            return Err(MemoryError::InUse {
                handle,
                user: "a queue",
            });
        }
        self.unmap_entry(entry, &gpus)
    }

    unsafe fn register_host(
        &self,
        address: NonNull<u8>,
        size: u64,
        flags: MemoryFlags,
        agents: &[AgentId],
    ) -> Result<Allocation, MemoryError> {
        self.check_inherited()?;
        let gpus = self.gpus_of(agents)?;
        let host = address.as_ptr().expose_provenance() as u64;
        let bad = MemoryError::BadHostRange {
            address: host,
            size,
        };
        if size == 0 || host.checked_add(size).is_none_or(|end| end >= 1 << 47) {
            return Err(bad);
        }
        let block = self.acquire(&Want {
            source: Source::Registered(host),
            gpu: None,
            size,
            align: PAGE,
            flags: alloc_flags(flags),
        })?;
        if let Err(error) = self.map_to(block.handle, &gpus) {
            // SAFETY: nobody has seen it, and the host's pages are the caller's in any case.
            let _ = unsafe { self.relinquish(block.handle) };
            return Err(error);
        }
        Ok(Allocation {
            handle: MemoryHandle(block.handle),
            gpu_va: block.gpu_va,
            host: Some(address),
            size,
        })
    }

    fn flush_host_writes(&self, agent: AgentId) {
        if let Some(gpu) = self.gpu_index(agent) {
            self.flush_hdp(gpu);
        }
    }

    fn available(&self, bank: BankId) -> Result<u64, MemoryError> {
        let none = MemoryError::NoBank { bank };
        let record = self.record(bank.agent).ok_or(none.clone())?;
        let info = record.banks.get(bank.index as usize).ok_or(none.clone())?;
        match (info.heap, record.gpu) {
            (HeapKind::System, _) => Ok(free_host_memory(&self.kfd)
                .unwrap_or(info.size)
                .min(info.size)),
            (HeapKind::VramPublic | HeapKind::VramPrivate, Some(gpu)) => {
                Ok(self.left(gpu).map_or_else(
                    || {
                        let taken = self.memory.lock(&self.park).vram.get(&gpu).copied();
                        info.size.saturating_sub(taken.unwrap_or(0))
                    },
                    |left| left.min(info.size),
                ))
            }
            _ => Err(none),
        }
    }
}

/// What the system says is left for programs.
fn free_host_memory<P: KfdPort>(kfd: &Kfd<P>) -> Option<u64> {
    let mut buffer = [0; 8192];
    let length = kfd.port().read_file("/proc/meminfo", &mut buffer).ok()?;
    let text = crate::topology::text::Properties(buffer.get(..length)?);
    text.get("MemAvailable:").number()?.checked_mul(1024)
}
