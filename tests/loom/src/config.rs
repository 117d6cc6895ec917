//! Capacities for models: as small as shows the behaviour, since each step more multiplies the states.

/// One of the runtime's own, one of clients.
pub const SHARED_EVENTS: usize = 2;
pub const SIGNAL_CHUNKS: usize = 2;
/// Signals of other processes: none here.
pub const SHARED_SIGNALS: usize = 1;
/// None: a slot is used again at once, which is the hard case.
pub const SIGNAL_QUARANTINE: u32 = 0;
/// A wait looks once and sleeps.
pub const SPIN_LOOKS: u32 = 1;
pub const CLOCK_LOOKS: u32 = 1;
/// Who sleeps for so long looks again by itself: the one sleep that ends without being woken.
pub const POLL_NS: u64 = 1_000_000;
/// A lock that is held is slept on at once.
pub const LOCK_SPINS: u32 = 0;
