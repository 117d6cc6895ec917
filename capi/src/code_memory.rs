//! Memory for executables, from the pools of the runtime.

use crate::runtime::SystemRuntime;
use rukh_core::backend::{AgentId, BankId, MemoryError};
use rukh_core::loader::{LoaderMemory, SegmentError, SegmentMemory};
use rukh_core::mem::{Address, AllocFlags};
use rukh_core::runtime::AllocError;
use std::sync::Arc;

/// Executable memory of agents.
#[derive(Clone, Debug)]
pub struct CodeMemory(pub Arc<SystemRuntime>);

/// What the loader is told of an error of the runtime.
fn segment_error(error: AllocError, agent: AgentId, size: u64) -> SegmentError {
    SegmentError::Memory(match error {
        AllocError::Backend(error) => error,
        AllocError::NoPool { .. } | AllocError::NotAllocatable { .. } => MemoryError::NoBank {
            bank: BankId { agent, index: 0 },
        },
        AllocError::NoAgent { agent } => MemoryError::BadAgent { agent },
        AllocError::TooLarge { max, .. } => MemoryError::OutOfMemory {
            size,
            available: max,
        },
        AllocError::ZeroSize
        | AllocError::UnknownAddress { .. }
        | AllocError::OutOfRange { .. }
        | AllocError::NotReachable { .. } => MemoryError::BadAgent { agent },
    })
}

impl LoaderMemory for CodeMemory {
    fn allocate(
        &self,
        agent: AgentId,
        size: u64,
        align: u64,
    ) -> Result<SegmentMemory, SegmentError> {
        let pool = self
            .0
            .agent(agent)
            .and_then(|agent| agent.pools.iter().find(|pool| pool.allocatable))
            .ok_or(MemoryError::NoBank {
                bank: BankId { agent, index: 0 },
            })?;
        if align > pool.align {
            return Err(SegmentError::Memory(MemoryError::BadSize {
                size,
                align,
                page: pool.align,
            }));
        }
        let address = self
            .0
            .allocate(pool.id, size, AllocFlags::EXECUTABLE)
            .map_err(|error| segment_error(error, agent, size))?;
        Ok(SegmentMemory {
            agent,
            gpu_va: address.0,
            size,
            key: address.0,
        })
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
        let (to, from) = (
            Address(memory.key).offset(offset),
            Address::from(bytes.as_ptr()),
        );
        // SAFETY: inside of memory that `allocate` gave and that nothing executes yet, from a slice.
        unsafe { self.0.copy(to, from, size) }
            .map_err(|error| segment_error(error, memory.agent, size))
    }

    fn finish(&self, memory: &SegmentMemory) -> Result<(), SegmentError> {
        Ok(self.0.backend().invalidate_code(memory.agent)?)
    }

    fn free(&self, memory: SegmentMemory) {
        // SAFETY: the executable is gone, and nobody else knows the memory.
        let freed = unsafe { self.0.free(Address(memory.key)) };
        if let Err(error) = freed {
            crate::diag::say(format_args!("memory of code could not be freed: {error}"));
        }
    }
}
