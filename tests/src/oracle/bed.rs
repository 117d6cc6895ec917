//! A small machine in single-step mode with a runtime on it, and pages around that its device must leave alone.

use std::cell::RefCell;
use std::sync::Arc;

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Allocation, BankId, Clock, Memory, MemoryFlags, MemoryRequest};
use rukh_core::mem::{Address, AllocFlags, PoolFlags};
use rukh_core::runtime::{Queue, Runtime, RuntimeConfig};

/// The GPU.
pub(super) const GPU: AgentId = AgentId(1);
const HOST: AgentId = AgentId(0);
const PAGE: u64 = 4096;
/// What is in the pages that no device has.
const GUARD: u8 = 0x5a;
/// Processors by a byte of the input.
const PROFILES: [&str; 6] = [
    "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
];

thread_local! {
    /// A machine of each processor: to start one costs more than what inputs do with it.
    static BEDS: [RefCell<Option<Bed>>; PROFILES.len()] =
        const { [const { RefCell::new(None) }; PROFILES.len()] };
}

/// The machine.
pub(super) struct Bed {
    pub runtime: Arc<Runtime<SimBackend>>,
    pub profile: &'static str,
    /// Memory that the host and the GPU have: [`Self::BLOCK`] bytes.
    pub block: Address,
    guards: [Allocation; 2],
}

impl Bed {
    /// Bytes of the block.
    pub const BLOCK: u64 = 4 * PAGE;

    /// Lends this thread's machine with the processor that `choice` stands for. Its block is all zeros; what the use has
    /// created it has to destroy.
    pub fn lend<T>(choice: u8, using: impl FnOnce(&Self) -> T) -> T {
        let at = usize::from(choice) % PROFILES.len();
        BEDS.with(|beds| {
            let bed = &mut *beds[at].borrow_mut();
            let bed = bed.get_or_insert_with(|| Self::new(PROFILES[at]));
            bed.write(0, &[0; Self::BLOCK as usize]);
            using(bed)
        })
    }

    fn new(profile: &'static str) -> Self {
        let config = SimConfig::parse(profile)
            .expect("the bed names profiles that exist")
            .mode(Mode::Step { seed: 1 })
            .heap_memory();
        let backend = Arc::new(SimBackend::new(config).expect("one GPU"));
        let config = RuntimeConfig {
            signals: 64,
            kernarg_bytes: PAGE,
            ..RuntimeConfig::default()
        };
        let runtime = Runtime::new(backend, config).expect("a runtime");
        let before = guard(runtime.backend());
        let pool = runtime.find_pool(HOST, PoolFlags::FINE).expect("a pool").id;
        let block = runtime
            .allocate(pool, Self::BLOCK, AllocFlags::EXECUTABLE)
            .expect("memory");
        runtime.allow_access(&[GPU], block).expect("access");
        let after = guard(runtime.backend());
        Self {
            runtime,
            profile,
            block,
            guards: [before, after],
        }
    }

    /// Writes into the block; what is beyond its end is left out.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let offset = offset.min(Self::BLOCK);
        let count = bytes.len().min((Self::BLOCK - offset) as usize);
        // SAFETY: within the block, which lives as long as the runtime; the device makes progress in calls alone.
        unsafe {
            core::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.block.as_ptr().add(offset as usize),
                count,
            );
        }
    }

    /// Lets the device and the runtime go on for so many turns.
    pub fn step(&self, turns: usize) {
        let mut idle = 0;
        for _ in 0..turns {
            if self.runtime.backend().step() {
                idle = 0;
            } else {
                // Time passes, and what waits for it goes on.
                self.runtime.backend().relax();
                idle += 1;
                if idle == 3 {
                    break;
                }
            }
        }
        self.runtime.poll();
    }

    /// Writes a word of a queue's memory as a device or a hostile client could: at a byte offset from an address that holds
    /// `bytes` of it.
    pub fn spoil(&self, base: u64, bytes: u64, offset: u64, value: u32) {
        let at = base + offset % bytes / 4 * 4;
        let word = core::ptr::with_exposed_provenance_mut::<u32>(at as usize);
        // SAFETY: callers name memory of a live queue, which is all atomics or volatile to its users.
        unsafe { core::sync::atomic::AtomicU32::from_ptr(word) }
            .store(value, std::sync::atomic::Ordering::SeqCst);
    }

    /// What a queue says of itself can be told.
    pub fn check_queue(queue: &Queue<SimBackend>) {
        if let Some(status) = queue.status() {
            assert!(!status.to_string().is_empty());
        }
    }

    /// Nothing was written to memory that no device has, and faults can be told.
    pub fn check(&self) {
        for guard in &self.guards {
            let host = guard.host.expect("host memory").as_ptr();
            // SAFETY: a page of the host's own, which no device has.
            let bytes = unsafe { std::slice::from_raw_parts(host, PAGE as usize) };
            assert!(
                bytes.iter().all(|byte| *byte == GUARD),
                "the device has written to memory that is not mapped to it"
            );
        }
        for report in self.runtime.backend().last_faults() {
            assert!(!report.to_string().is_empty());
        }
    }
}

fn guard(backend: &SimBackend) -> Allocation {
    let request = MemoryRequest {
        bank: BankId {
            agent: HOST,
            index: 0,
        },
        size: PAGE,
        align: PAGE,
        flags: MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE,
    };
    let allocation = backend.allocate(&request).expect("memory for a guard");
    let host = allocation.host.expect("host memory").as_ptr();
    // SAFETY: a page of the host's own.
    unsafe { host.write_bytes(GUARD, PAGE as usize) };
    allocation
}
