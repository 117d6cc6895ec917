//! Capacities and defaults, all in one place.
//!
//! Tables that must not allocate have their capacity here. Each figure says what happens when it
//! is not enough.

/// Events that all signals of a runtime share: the runtime's own signals the first, clients' the others. Waiting costs
/// one system call over all of them; more of clients' events only keep the thread that calls handlers from waking for
/// completions that nobody handles.
pub const SHARED_EVENTS: usize = 4;

/// Chunks of a signal arena. Each new chunk of a growing arena doubles the total, so 20 chunks of
/// [`SIGNALS_PER_CHUNK`] slots and up are beyond any use; an arena without one left is full.
pub const SIGNAL_CHUNKS: usize = 20;

/// Signals that a process can share with others at a time, its own and theirs.
pub const SHARED_SIGNALS: usize = 64;

/// Signals in the first chunk that a runtime allocates (128 bytes each).
pub const SIGNALS_PER_CHUNK: u32 = 1024;

/// Freed signals that wait before the oldest is used again, so that a stale handle
/// meets an invalid slot for as long as possible.
pub const SIGNAL_QUARANTINE: u32 = 256;

/// Queues that a runtime can have at once, over all agents. Creation fails beyond.
pub const QUEUES: usize = 1024;

/// Packets of a queue whose size is not chosen.
pub const QUEUE_PACKETS: u32 = 1024;

/// Smallest ring of a queue, in packets.
pub const QUEUE_MIN_PACKETS: u32 = 64;

/// Largest ring of a queue, in packets.
pub const QUEUE_MAX_PACKETS: u32 = 131_072;

/// Most private memory per work-item that a queue can be created with, in bytes.
pub const MAX_PRIVATE_SEGMENT: u32 = 262_128;

/// How long a blocking wait looks at the value before it sleeps, in nanoseconds.
pub const SPIN_NS: u64 = 200_000;

/// Bound of that spin in looks, for clocks that stand still while nothing else happens.
pub const SPIN_LOOKS: u32 = 16_384;

/// Looks of that spin between two readings of the clock.
pub const CLOCK_LOOKS: u32 = 64;

/// Looks at a held lock before sleeping: about the length of the critical sections.
pub const LOCK_SPINS: u32 = 64;

/// How often a sleeping waiter looks at signals that no event announces (signals that devices alone
/// use, or when the system has no events left), in nanoseconds.
pub const POLL_NS: u64 = 50_000;

/// How often a sleeping waiter looks again although nothing woke it, in nanoseconds: a bound on the
/// damage of a device or driver that loses an interrupt.
pub const RECHECK_NS: u64 = 1_000_000_000;

/// Size of the block that kernel arguments of the dispatch helper come from, in bytes.
pub const KERNARG_BYTES: u64 = 1 << 20;

/// Most bytes of scratch memory that a queue keeps between dispatches; more is given
/// back when the packet processor says that it is done with it.
pub const SCRATCH_KEEP_BYTES: u64 = 140 << 20;

/// Most work-items in a work-group, on every agent.
pub const MAX_WORKGROUP_ITEMS: u32 = 1024;

/// Private memory per work-item that the dispatch helper gives a kernel whose stack depends on what it
/// calls (recursion, function pointers), in bytes.
pub const DYNAMIC_STACK_BYTES: u32 = 16 << 10;
