//! Queues: rings of 64-byte packets in memory that producers fill and a packet processor empties.
//!
//! - [`memory`]: what a ring lies in. [`RingMemory`] is the seam: mapped memory, or a model's.
//! - [`ring`]: claiming slots, for many producers or for one, and the index operations.
//! - [`claim`]: a claimed slot, which is written and then published.
//! - [`status`]: what a packet processor says when it stops a queue.
//!
//! Nothing here allocates, locks or enters the system (a doorbell of the callback kind may wake a device).

pub mod claim;
pub mod memory;
pub mod ring;
pub mod status;

pub use claim::{AqlPacket, Batch, Claim};
pub use memory::{Bell, IndexCell, MappedRing, RingMemory, WordCell};
pub use ring::{Ring, RingError, SingleProducer};
pub use status::{ErrorBits, Inactive, QueueStatus, ScratchRequest};

crate::impl_error!(RingError, QueueStatus);
