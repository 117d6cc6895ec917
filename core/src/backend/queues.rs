//! Hardware queues and their doorbells.

use super::events::EventId;
use super::topology::AgentId;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use thiserror_no_std::Error;

/// What a queue consumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// AQL packets.
    Compute,
    /// SDMA packets; the indices count bytes.
    Sdma,
    /// SDMA packets, on an engine for transfers between GPUs.
    SdmaXgmi,
    /// SDMA packets, on the engine of this number: those for transfers with the host first.
    SdmaEngine(u32),
    /// PM4 packets; the indices count dwords.
    Pm4,
}

/// How a queue competes with others (`hsa_amd_queue_priority_t`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum QueuePriority {
    /// After the others.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before the others.
    High,
}

/// What to create. The addresses name memory that stays mapped to the agent until
/// [`Queues::destroy_queue`].
#[derive(Clone, Copy, Debug)]
pub struct QueueRequest {
    /// The agent that is to consume the queue.
    pub agent: AgentId,
    /// What it consumes.
    pub kind: QueueKind,
    /// Device address of the ring.
    pub ring: u64,
    /// Size of the ring in bytes: a power of two.
    pub ring_bytes: u64,
    /// Device address of the 64-bit write index (AQL: packets; SDMA: bytes; PM4: dwords).
    pub write_index: u64,
    /// Device address of the read index: 64 bits; PM4: 32 bits, within the ring.
    pub read_index: u64,
    /// Compute: device address of the `amd_queue_t` that holds both indices. Other kinds: 0.
    pub descriptor: u64,
    /// How it competes with others.
    pub priority: QueuePriority,
    /// The event to raise when the packet processor stops the queue, after it has stored the
    /// reason in the queue's inactive signal.
    pub error_event: Option<EventId>,
}

/// The backend's name of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueHandle(pub u64);

impl core::fmt::Display for QueueHandle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How a queue is told that packets are ready.
#[derive(Clone, Copy, Debug)]
pub enum Doorbell {
    /// A register: store the new write index (AQL: that of the last packet) as 64 bits.
    /// Valid until the queue is destroyed.
    Mmio(NonNull<AtomicU64>),
    /// Call [`Queues::ring_doorbell`].
    Callback,
}

/// A queue that the device consumes.
#[derive(Clone, Copy, Debug)]
pub struct HardwareQueue {
    /// Names it to the backend.
    pub handle: QueueHandle,
    /// How to ring it.
    pub doorbell: Doorbell,
}

/// What to change of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueUpdate {
    /// Whether the device consumes it; an inactive queue keeps its packets.
    pub active: bool,
    /// How it competes with others.
    pub priority: QueuePriority,
}

/// Why a queue cannot be had or changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum QueueCreateError {
    /// The agent consumes no queues of this kind.
    #[error("agent {} has no {kind:?} queues", .agent.0)]
    NoSuchKind {
        /// The agent asked.
        agent: AgentId,
        /// The kind asked for.
        kind: QueueKind,
    },
    /// All hardware queues are taken.
    #[error("agent {} has all of its {limit} queues in use", .agent.0)]
    NoneLeft {
        /// The agent asked.
        agent: AgentId,
        /// How many it has.
        limit: u32,
    },
    /// An address is not mapped to the agent, or not aligned as it must be.
    #[error("the queue's {what} at {address:#x} is not usable by the agent")]
    BadAddress {
        /// What the address is of.
        what: &'static str,
        /// The address.
        address: u64,
    },
    /// The ring's size is not one that the device takes.
    #[error("a ring of {bytes} bytes is not possible")]
    BadRingSize {
        /// The size asked for.
        bytes: u64,
    },
    /// No such queue.
    #[error("there is no queue {0}")]
    NoQueue(QueueHandle),
    /// The operating system refused.
    #[error("{call} failed with errno {errno}")]
    Os {
        /// The call that failed.
        call: &'static str,
        /// What the system answered.
        errno: i32,
    },
    /// The backend does not do this.
    #[error("this backend does not support {0}")]
    NotSupported(&'static str),
}

/// Creates hardware queues.
pub trait Queues {
    /// Has the device consume a queue.
    ///
    /// # Errors
    /// See [`QueueCreateError`]; nothing is created then.
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError>;

    /// Stops a queue. When this returns the device touches none of its memory any more; packets
    /// that were not complete are abandoned and their completion signals keep their values.
    ///
    /// # Errors
    /// [`QueueCreateError::NoQueue`].
    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError>;

    /// Changes a queue.
    ///
    /// # Errors
    /// See [`QueueCreateError`]; nothing changes then.
    fn update_queue(
        &self,
        queue: QueueHandle,
        update: &QueueUpdate,
    ) -> Result<(), QueueCreateError>;

    /// Restricts a queue to compute units: bit `n` of the mask is unit `n`.
    ///
    /// # Errors
    /// See [`QueueCreateError`]; nothing changes then.
    fn set_cu_mask(&self, queue: QueueHandle, mask: &[u32]) -> Result<(), QueueCreateError> {
        let _ = (queue, mask);
        Err(QueueCreateError::NotSupported("compute unit masks"))
    }

    /// Rings a queue whose doorbell is [`Doorbell::Callback`]: packets up to `value` are ready (AQL: the last packet's
    /// index; others: the write index).
    /// On the dispatch path: takes no lock, allocates nothing, and enters the system only to wake a
    /// device that sleeps. An unknown queue is ignored, as hardware ignores a stale doorbell.
    fn ring_doorbell(&self, queue: QueueHandle, value: u64) {
        let _ = (queue, value);
    }

    /// Makes an agent forget instructions that it has cached, after code was written to memory.
    ///
    /// # Errors
    /// See [`QueueCreateError`].
    fn invalidate_code(&self, agent: AgentId) -> Result<(), QueueCreateError>;
}
