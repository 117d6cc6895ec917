//! How the client's threads sleep: as the standard library's do, with the system's barrier that
//! spares stores to signals a fence of their own.

use core::sync::atomic::AtomicU32;
#[cfg(target_os = "linux")]
use core::sync::atomic::{Ordering, fence};
use rukh_core::backend::{Park, StdPark};

pub(super) struct SimPark {
    threads: StdPark,
    /// The process has announced that it uses the barrier.
    heavy: bool,
}

impl SimPark {
    pub(super) fn new() -> Self {
        Self {
            threads: StdPark::new(),
            heavy: register(),
        }
    }
}

#[cfg(target_os = "linux")]
fn register() -> bool {
    use rustix::thread::{MembarrierCommand as Command, membarrier, membarrier_query};
    membarrier_query().contains_command(Command::PrivateExpedited)
        && membarrier(Command::RegisterPrivateExpedited).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn register() -> bool {
    false
}

impl Park for SimPark {
    fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) {
        self.threads.park(word, expected, nanoseconds);
    }

    fn unpark(&self, word: *const AtomicU32) {
        self.threads.unpark(word);
    }

    fn has_heavy_barrier(&self) -> bool {
        self.heavy
    }

    #[cfg(target_os = "linux")]
    fn heavy_barrier(&self) {
        use rustix::thread::{MembarrierCommand, membarrier};
        if !self.heavy || membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            fence(Ordering::SeqCst);
        }
    }
}
