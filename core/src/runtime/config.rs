//! What can be set when a runtime is made.

use super::scratch::ScratchEvent;
use super::spawn::Spawn;
use crate::config;

/// Settings of a runtime. The defaults are those of [`crate::config`], and no thread.
#[derive(Clone, Copy)]
pub struct RuntimeConfig {
    /// Who calls back: a thread, started when the first queue or handler needs it, or, if None,
    /// whoever calls [`poll`](super::Runtime::poll) or waits.
    pub spawn: Option<&'static dyn Spawn>,
    /// How long a blocking wait looks before it sleeps, in nanoseconds.
    pub spin_ns: u64,
    /// How often a sleeping waiter looks at signals without an event, in nanoseconds.
    pub poll_ns: u64,
    /// How often a sleeping waiter looks again in any case, in nanoseconds.
    pub recheck_ns: u64,
    /// Signals to have memory for from the start.
    pub signals: u32,
    /// Bytes of kernel argument memory of the dispatch helper.
    pub kernarg_bytes: u64,
    /// Most bytes of scratch memory that a queue keeps after use.
    pub scratch_keep_bytes: u64,
    /// Who is told when queues get scratch memory and give it back: on the thread that serves the queue, which is not served
    /// meanwhile. It must not destroy the queue.
    pub on_scratch: Option<fn(&ScratchEvent)>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            spawn: None,
            spin_ns: config::SPIN_NS,
            poll_ns: config::POLL_NS,
            recheck_ns: config::RECHECK_NS,
            signals: config::SIGNALS_PER_CHUNK,
            kernarg_bytes: config::KERNARG_BYTES,
            scratch_keep_bytes: config::SCRATCH_KEEP_BYTES,
            on_scratch: None,
        }
    }
}

#[cfg(feature = "std")]
impl RuntimeConfig {
    /// The defaults, with a thread of the standard library that calls back.
    pub fn threaded() -> Self {
        Self {
            spawn: Some(&super::spawn::StdSpawn),
            ..Self::default()
        }
    }
}

impl core::fmt::Debug for RuntimeConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RuntimeConfig")
            .field("threaded", &self.spawn.is_some())
            .field("spin_ns", &self.spin_ns)
            .field("poll_ns", &self.poll_ns)
            .field("recheck_ns", &self.recheck_ns)
            .field("signals", &self.signals)
            .field("kernarg_bytes", &self.kernarg_bytes)
            .field("scratch_keep_bytes", &self.scratch_keep_bytes)
            .finish()
    }
}
