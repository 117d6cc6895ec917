//! Memory as clients see it: pools to allocate from, and what is known about an address.
//!
//! - [`pool`]: the pools of an agent.
//! - [`block`]: an allocation of the runtime's own, freed when dropped.
//! - [`registry`]: the client's allocations by address.
//! - [`kernarg`]: small pieces of one block, for kernel arguments.
//! - [`virtual_memory`]: addresses and memory apart.

pub mod block;
pub mod kernarg;
pub mod pool;
pub mod registry;
pub mod virtual_memory;

pub use block::Block;
pub use kernarg::{KernargArena, KernargError, KernargPiece};
pub use pool::{Pool, PoolFlags, PoolId, Segment, pools_of};
pub use registry::{AllocFlags, PointerInfo, PointerKind, Registry};
pub use virtual_memory::{MemoryProperties, RangeError, VirtualBooks, VirtualMemoryId};

crate::impl_error!(KernargError, RangeError);

/// An address that host and devices share, or a device's for memory that the host does not map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(pub u64);

impl Address {
    /// The null address.
    pub const NULL: Self = Self(0);

    /// As a pointer of the host. Meaningful if the host maps the memory.
    pub const fn as_ptr(self) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.0 as usize)
    }

    /// This many bytes on, wrapping.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl core::fmt::Display for Address {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<T> From<*mut T> for Address {
    fn from(pointer: *mut T) -> Self {
        Self(pointer.expose_provenance() as u64)
    }
}

impl<T> From<*const T> for Address {
    fn from(pointer: *const T) -> Self {
        Self(pointer.expose_provenance() as u64)
    }
}
