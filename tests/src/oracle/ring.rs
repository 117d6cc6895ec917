//! Dwords in a ring of a simulated device: it may do with its own memory what they say, and with nothing else.

use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{
    AgentId, Allocation, BankId, Clock, Memory, MemoryFlags, MemoryRequest, QueueKind,
    QueuePriority, QueueRequest, Queues,
};

const GPU: AgentId = AgentId(1);
const PAGE: u64 = 4096;
/// Bytes of the ring.
const RING: u64 = PAGE;
/// Bytes that the device may change.
const BLOCK: u64 = 16 * PAGE;
/// Turns that the device has: an input may ask for a copy without end, or wait for what never comes.
const TURNS: usize = 400;

/// Processors by a byte of the input.
const PROFILES: [&str; 6] = [
    "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
];

fn allocate(backend: &SimBackend, size: u64, gpu: bool) -> Allocation {
    let request = MemoryRequest {
        bank: BankId {
            agent: AgentId(0),
            index: 0,
        },
        size,
        align: PAGE,
        flags: MemoryFlags::HOST_ACCESS
            | MemoryFlags::WRITABLE
            | MemoryFlags::EXECUTABLE
            | MemoryFlags::COHERENT,
    };
    let allocation = backend.allocate(&request).expect("memory for the oracle");
    if gpu {
        backend
            .map(allocation.handle, &[GPU])
            .expect("the memory is mapped to the GPU");
    }
    allocation
}

/// Executes an input: its first byte chooses the processor, the rest are dwords for the ring and for the block.
///
/// Addresses would never be hit upon: a dword 0xa5xxxxxx stands for the low half of an address in the block, 0xa6xxxxxx for
/// its upper half, 0xa7xxxxxx for the block's second 256 bytes in units of that.
pub(super) fn run(kind: QueueKind, data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let profile = PROFILES[first as usize % PROFILES.len()];
    let config = SimConfig::parse(profile)
        .expect("the oracle names profiles that exist")
        .mode(Mode::Step { seed: 1 })
        .heap_memory();
    let backend = SimBackend::new(config).expect("one GPU");
    // The guard stands before and behind what the GPU has.
    let before = allocate(&backend, PAGE, false);
    let ring = allocate(&backend, RING, true);
    let block = allocate(&backend, BLOCK, true);
    let indices = allocate(&backend, PAGE, true);
    let after = allocate(&backend, PAGE, false);
    let host = |allocation: &Allocation| allocation.host.expect("host memory").as_ptr();
    for guard in [&before, &after] {
        // SAFETY: a page of the host's own.
        unsafe { host(guard).write_bytes(0x5a, PAGE as usize) };
    }
    let dwords: Vec<u32> = rest
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| match u32::from_le_bytes(*bytes) {
            low if low >> 24 == 0xa5 => {
                (block.gpu_va as u32).wrapping_add(low & (BLOCK as u32 - 1))
            }
            high if high >> 24 == 0xa6 => (block.gpu_va >> 32) as u32,
            page if page >> 24 == 0xa7 => (block.gpu_va >> 8) as u32 + 1,
            other => other,
        })
        .collect();
    let count = dwords.len().min(RING as usize / 4);
    // SAFETY: the ring and the block hold as many dwords, and the queue does not exist yet.
    unsafe {
        let ring = host(&ring).cast::<u32>();
        let block = host(&block).cast::<u32>();
        for (index, dword) in dwords.iter().take(count).enumerate() {
            ring.add(index).write(*dword);
            block.add(index).write(*dword);
        }
    }
    let queue = backend
        .create_queue(&QueueRequest {
            agent: GPU,
            kind,
            ring: ring.gpu_va,
            ring_bytes: RING,
            write_index: indices.gpu_va,
            read_index: indices.gpu_va + 8,
            descriptor: 0,
            priority: QueuePriority::Normal,
            error_event: None,
        })
        .expect("a queue");
    let end = match kind {
        QueueKind::Pm4 => count as u64,
        _ => count as u64 * 4,
    };
    backend.ring_doorbell(queue.handle, end);
    let mut idle = 0;
    for _ in 0..TURNS {
        if backend.step() {
            idle = 0;
        } else {
            // Time passes, and what waits for it goes on.
            backend.relax();
            idle += 1;
            if idle == 3 {
                break;
            }
        }
    }
    backend
        .destroy_queue(queue.handle)
        .expect("the queue exists");
    for guard in [&before, &after] {
        // SAFETY: as above; the device is done.
        let bytes = unsafe { std::slice::from_raw_parts(host(guard), PAGE as usize) };
        assert!(
            bytes.iter().all(|byte| *byte == 0x5a),
            "the device has written to memory that is not mapped to it"
        );
    }
    for report in backend.last_faults() {
        assert_eq!(report.queue, queue.handle);
        assert!(!report.to_string().is_empty());
    }
}
