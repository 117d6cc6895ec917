//! Device memory for code.

use super::Runtime;
use super::error::AllocError;
use crate::backend::{
    AgentId, Backend, BankId, DmaError, HeapKind, MemoryError, MemoryFlags, MemoryRequest,
    QueueCreateError,
};
use crate::loader::{LoaderMemory, SegmentError, SegmentMemory};
use crate::mem::{Address, AllocFlags, Block};
use alloc::sync::Arc;

const IO_ERROR: i32 = 5;
const TIMED_OUT: i32 = 110;

/// Executable memory of a runtime's agents: device memory where there is some, written through the
/// host's mapping, or by a copy engine where the host has none.
pub struct CodeMemory<B: Backend + ?Sized> {
    runtime: Arc<Runtime<B>>,
}

impl<B: Backend + ?Sized> CodeMemory<B> {
    /// The memory of this runtime.
    pub const fn new(runtime: Arc<Runtime<B>>) -> Self {
        Self { runtime }
    }

    /// The runtime.
    pub const fn runtime(&self) -> &Arc<Runtime<B>> {
        &self.runtime
    }

    /// Writes what the host cannot: to a block that both reach, then by a copy engine.
    fn write_by_engine(
        &self,
        memory: &SegmentMemory,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), SegmentError> {
        let backend = self.runtime.backend();
        let page = backend.page_size();
        let staging = Block::new(
            backend,
            &MemoryRequest {
                bank: self.runtime.reactor().host_bank,
                size: (bytes.len() as u64).next_multiple_of(page),
                align: page,
                flags: MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE | MemoryFlags::COHERENT,
            },
            &[memory.agent],
        )?;
        let host = staging.host().ok_or(MemoryError::NotSupported(
            "host memory that the host does not map",
        ))?;
        // SAFETY: the block is fresh, large enough, and this function's own.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), host.as_ptr(), bytes.len()) };
        // SAFETY: the target lies in memory that `allocate` gave and that nothing executes yet; the
        // source is the block, which stays until the copy is done.
        unsafe {
            backend.copy(
                memory.agent,
                memory.gpu_va + offset,
                staging.gpu_va(),
                bytes.len() as u64,
            )
        }
        .map_err(|refused| {
            SegmentError::Queue(match refused {
                DmaError::NotSupported(what) => QueueCreateError::NotSupported(what),
                DmaError::Queue(error) => error,
                DmaError::Alignment { what, address } => {
                    QueueCreateError::BadAddress { what, address }
                }
                DmaError::Stuck { .. } | DmaError::Full { .. } => QueueCreateError::Os {
                    call: "copying code by a DMA engine",
                    errno: TIMED_OUT,
                },
                DmaError::Lost { .. } => QueueCreateError::Os {
                    call: "copying code by a DMA engine",
                    errno: IO_ERROR,
                },
            })
        })
    }
}

impl<B: Backend + ?Sized> Clone for CodeMemory<B> {
    fn clone(&self) -> Self {
        Self::new(self.runtime.clone())
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for CodeMemory<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CodeMemory").finish_non_exhaustive()
    }
}

fn segment_error(error: AllocError, agent: AgentId, size: u64) -> SegmentError {
    SegmentError::Memory(match error {
        AllocError::Backend(error) => error,
        AllocError::TooLarge { max, .. } => MemoryError::OutOfMemory {
            size,
            available: max,
        },
        AllocError::NoPool { .. } | AllocError::NotAllocatable { .. } => no_bank(agent),
        AllocError::ZeroSize
        | AllocError::NoAgent { .. }
        | AllocError::UnknownAddress { .. }
        | AllocError::OutOfRange { .. }
        | AllocError::NotReachable { .. }
        | AllocError::Engine(_) => MemoryError::BadAgent { agent },
    })
}

const fn no_bank(agent: AgentId) -> MemoryError {
    MemoryError::NoBank {
        bank: BankId { agent, index: 0 },
    }
}

impl<B: Backend + ?Sized> LoaderMemory for CodeMemory<B> {
    fn allocate(
        &self,
        agent: AgentId,
        size: u64,
        align: u64,
    ) -> Result<SegmentMemory, SegmentError> {
        let own = self
            .runtime
            .agent(agent)
            .ok_or(MemoryError::BadAgent { agent })?
            .pools
            .iter()
            .filter(|pool| pool.allocatable);
        // Memory that the host maps first. An APU may have no device memory at all: host memory then.
        let pool = own
            .clone()
            .find(|pool| pool.heap == HeapKind::VramPublic)
            .or_else(|| own.clone().next())
            .or_else(|| {
                let agents = self.runtime.agents().iter();
                agents
                    .flat_map(|agent| &agent.pools)
                    .find(|pool| pool.accessible_by_all)
            })
            .copied()
            .ok_or(no_bank(agent))?;
        let address = self
            .runtime
            .allocate_aligned(pool.id, size, align, AllocFlags::EXECUTABLE)
            .map_err(|error| segment_error(error, agent, size))?;
        let memory = SegmentMemory {
            agent,
            gpu_va: address.0,
            size,
            key: address.0,
        };
        if pool.owner != agent
            && let Err(error) = self.runtime.allow_access(&[agent], address)
        {
            LoaderMemory::free(self, memory);
            return Err(segment_error(error, agent, size));
        }
        Ok(memory)
    }

    fn write(&self, memory: &SegmentMemory, offset: u64, bytes: &[u8]) -> Result<(), SegmentError> {
        let size = bytes.len() as u64;
        if offset.checked_add(size).is_none_or(|end| end > memory.size) {
            return Err(SegmentError::Outside {
                offset,
                size,
                memory: memory.size,
            });
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let to = Address(memory.gpu_va).offset(offset);
        if self.runtime.pointer_info(to).host_base == Address::NULL {
            return self.write_by_engine(memory, offset, bytes);
        }
        // SAFETY: inside of memory that `allocate` gave and that nothing executes yet, from a slice.
        unsafe { self.runtime.copy(to, Address::from(bytes.as_ptr()), size) }
            .map_err(|error| segment_error(error, memory.agent, size))
    }

    fn finish(&self, memory: &SegmentMemory) -> Result<(), SegmentError> {
        Ok(self.runtime.backend().invalidate_code(memory.agent)?)
    }

    fn free(&self, memory: SegmentMemory) {
        // SAFETY: the executable is gone, and nobody else was given the memory to write.
        if unsafe { self.runtime.free(Address(memory.key)) }.is_err() {
            crate::trace::event!(error, "code at {:#x} could not be freed", memory.gpu_va);
        }
    }
}
