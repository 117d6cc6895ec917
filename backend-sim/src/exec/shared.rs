//! What the waves of a device share beside memory: the global data share, global wave sync, and the trap handler.

use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::isa::Arch;
use crate::sync::Mutex;

/// A resource of global wave sync.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resource {
    /// A barrier's waves that are still to come, or a semaphore's count.
    pub(crate) counter: i32,
    /// How often waiting waves were let go.
    pub(crate) releases: u32,
}

/// Resources that instructions can name: six bits.
pub(crate) const RESOURCES: usize = 64;

/// A device's state that its waves share beside memory.
#[derive(Debug)]
pub struct Shared {
    /// The global data share; empty where there is none.
    pub(crate) gds: Mutex<Vec<u8>>,
    pub(crate) gws: Mutex<[Resource; RESOURCES]>,
    handler: AtomicU64,
    handler_memory: AtomicU64,
}

impl Shared {
    /// That of a processor: 64 KiB of global data share up to gfx908 and on gfx10, 4 KiB on gfx90a and gfx11, none on
    /// gfx942 and later and on gfx12; no trap handler.
    pub fn new(arch: Arch) -> Shared {
        let bytes = match arch {
            _ if arch.is_gfx942_plus() || arch.is_gfx12_plus() => 0,
            _ if arch.is_gfx90a_plus() || arch.is_gfx11_plus() => 4 << 10,
            _ => 64 << 10,
        };
        Shared {
            gds: Mutex::new(vec![0; bytes]),
            gws: Mutex::new([Resource::default(); RESOURCES]),
            handler: AtomicU64::new(0),
            handler_memory: AtomicU64::new(0),
        }
    }

    /// Installs a trap handler: the address of its first instruction (TBA; its low eight bits are ignored) and that
    /// of its memory (TMA). Zero for the former takes it away: traps are faults then.
    pub fn set_trap_handler(&self, code: u64, memory: u64) {
        self.handler_memory.store(memory, Ordering::SeqCst);
        self.handler.store(code & !0xff, Ordering::SeqCst);
    }

    /// The trap handler's address; zero if there is none.
    pub fn trap_handler(&self) -> u64 {
        self.handler.load(Ordering::SeqCst)
    }

    /// The trap handler's memory.
    pub fn trap_handler_memory(&self) -> u64 {
        self.handler_memory.load(Ordering::SeqCst)
    }
}
