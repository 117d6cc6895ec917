//! Address ranges and physical memory apart.
//!
//! Clients take a range of addresses, make memory that has none, map it where they like (once or several times) and say which
//! agent may do what through each mapping. Counting, overlaps and ranges are the runtime's business
//! ([`Runtime::map_memory`](crate::runtime::Runtime)): a backend is asked for what is possible by those rules alone.

use super::memory::{BankId, MemoryError, MemoryHandle, MemoryRequest};
use super::topology::AgentId;
use core::ptr::NonNull;

bitflags::bitflags! {
    /// What an agent may do through a mapping. Values are those of `hsa_access_permission_t`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct MemoryAccess: u8 {
        /// Read.
        const READ = 1 << 0;
        /// Write.
        const WRITE = 1 << 1;
    }
}

/// Memory that came from elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImportedMemory {
    /// Names it to the backend, as what [`VirtualMemory::create_memory`] gives.
    pub handle: MemoryHandle,
    /// Its size in bytes: whole pages.
    pub size: u64,
    /// The bank that it lies in, as far as this process can tell.
    pub bank: BankId,
}

/// Memory at an address.
#[derive(Clone, Copy, Debug)]
pub struct MappedMemory {
    /// Names the mapping to the backend.
    pub handle: MemoryHandle,
    /// Where the runtime itself reaches the bytes whatever the host's access through the mapping, if it does.
    pub host: Option<NonNull<u8>>,
}

/// Address ranges and physical memory apart. By default a backend has none of it.
///
/// # Implementation safety
/// A reserved range belongs to nobody else until it is given back. A mapping names the bytes of its memory, at its
/// address, for every agent that was given access, the host included. [`MappedMemory::host`] is valid for reads and writes of the
/// memory's size until the mapping is taken away.
pub unsafe trait VirtualMemory {
    /// Whether the rest can be used.
    fn has_virtual_memory(&self) -> bool {
        false
    }

    /// Takes `size` bytes of addresses, at `wish` if they are free there and it is not 0, otherwise anywhere at a multiple of
    /// `align`. Nothing is there: an access of the host's or of a device's is a fault. Size and alignment are as those of a
    /// [`MemoryRequest`].
    ///
    /// # Errors
    /// See [`MemoryError`].
    fn reserve(&self, size: u64, align: u64, wish: u64) -> Result<u64, MemoryError> {
        let _ = (size, align, wish);
        Err(NONE)
    }

    /// Gives addresses back.
    ///
    /// # Safety
    /// They came from [`Self::reserve`] with this size, and nothing is mapped there.
    unsafe fn unreserve(&self, address: u64, size: u64) {
        let _ = (address, size);
    }

    /// Allocates memory that has no address. It reads as zero. [`Memory::free`](super::Memory::free) gives it back, when no
    /// mapping of it is left; [`Ipc::export_dmabuf`](super::Ipc::export_dmabuf) shares it.
    ///
    /// # Errors
    /// See [`MemoryError`].
    fn create_memory(&self, request: &MemoryRequest) -> Result<MemoryHandle, MemoryError> {
        let _ = request;
        Err(NONE)
    }

    /// The memory behind a descriptor that a backend of this kind has exported, here or in another process. The descriptor stays
    /// the caller's. Given back as what [`Self::create_memory`] gives.
    ///
    /// # Errors
    /// [`MemoryError::NotShared`] for a descriptor that is none of these.
    fn import_memory(&self, descriptor: i32) -> Result<ImportedMemory, MemoryError> {
        let _ = descriptor;
        Err(NONE)
    }

    /// Maps all of a memory at an address. Nobody has access yet.
    ///
    /// # Safety
    /// The range was reserved and nothing is mapped there.
    ///
    /// # Errors
    /// See [`MemoryError`].
    unsafe fn map_memory(
        &self,
        memory: MemoryHandle,
        address: u64,
    ) -> Result<MappedMemory, MemoryError> {
        let _ = (memory, address);
        Err(NONE)
    }

    /// Takes a mapping away, and all access with it. The addresses stay reserved.
    ///
    /// # Safety
    /// Nothing on the host uses it any more. Devices that do are faulted.
    ///
    /// # Errors
    /// See [`MemoryError`]; the mapping stays then.
    unsafe fn unmap_memory(&self, mapping: MemoryHandle) -> Result<(), MemoryError> {
        let _ = mapping;
        Err(NONE)
    }

    /// Gives an agent exactly this access through a mapping. Of CPU agents the last one speaks for the host.
    ///
    /// # Errors
    /// See [`MemoryError`]; the agent has the access that it had before, or none.
    fn set_access(
        &self,
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        let _ = (mapping, agent, access);
        Err(NONE)
    }
}

const NONE: MemoryError = MemoryError::NotSupported("virtual memory");
