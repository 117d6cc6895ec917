//! A client as small as can be: memory, signals and a queue, straight on the backend's traits.

use super::fake::{self, Fake};
use crate::backend::{Mode, SimBackend, SimConfig};
use crate::mem::raw;
use crate::profile;
use alloc::vec::Vec;
use rukh_core::backend::*;
use rukh_core::wire::aql::*;
use rukh_core::wire::kernel_descriptor::KernelDescriptor;
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::AmdSignal;

pub const GPU: AgentId = AgentId(1);
pub const PACKETS: u64 = 64;

pub struct Rig {
    pub backend: SimBackend,
    pub queue: HardwareQueue,
    pub error_event: EventId,
    pub inactive: u64,
    ring: u64,
    pub amd_queue: u64,
    heap: core::cell::Cell<u64>,
    heap_end: u64,
    kernargs: core::cell::Cell<u64>,
}

fn request(agent: AgentId, size: u64, flags: MemoryFlags) -> MemoryRequest {
    MemoryRequest {
        bank: BankId { agent, index: 0 },
        size,
        align: 4096,
        flags: flags | MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE,
    }
}

/// Memory of the host that the first GPU can reach.
pub fn shared(backend: &SimBackend, size: u64) -> Allocation {
    let flags = MemoryFlags::COHERENT | MemoryFlags::EXECUTABLE;
    let allocation = backend
        .allocate(&request(AgentId(0), size, flags))
        .expect("memory");
    backend.map(allocation.handle, &[GPU]).expect("mapped");
    allocation
}

pub fn load32(va: u64) -> u32 {
    // SAFETY: tests only give addresses of memory that they have allocated.
    unsafe { raw::load_u32(core::ptr::with_exposed_provenance(va as usize)) }
}

pub fn load64(va: u64) -> u64 {
    // SAFETY: as above.
    unsafe { raw::load_u64(core::ptr::with_exposed_provenance(va as usize)) }
}

pub fn store32(va: u64, value: u32) {
    // SAFETY: as above.
    unsafe { raw::store_u32(core::ptr::with_exposed_provenance_mut(va as usize), value) }
}

pub fn store64(va: u64, value: u64) {
    // SAFETY: as above.
    unsafe { raw::store_u64(core::ptr::with_exposed_provenance_mut(va as usize), value) }
}

pub fn store_bytes(va: u64, bytes: &[u8]) {
    for (i, byte) in bytes.iter().enumerate() {
        // SAFETY: as above.
        unsafe {
            raw::store_u8(
                core::ptr::with_exposed_provenance_mut(va as usize + i),
                *byte,
            );
        }
    }
}

/// Both modes: what a test says must hold in each.
pub fn modes() -> Vec<Mode> {
    alloc::vec![
        Mode::Threads { workers: 2 },
        Mode::Threads { workers: 1 },
        Mode::Step { seed: 1 },
        Mode::Step { seed: 99 },
    ]
}

impl Rig {
    pub fn new(list: &str, mode: Mode) -> Self {
        let profiles = profile::parse(list).expect("profiles");
        let config = SimConfig::new(profiles).mode(mode);
        Self::on(SimBackend::with_executor::<Fake>(config).expect("a system"))
    }

    /// A rig on the first GPU of a backend.
    pub fn on(backend: SimBackend) -> Self {
        let heap = shared(&backend, 1 << 20);
        let ring = shared(&backend, PACKETS * 64);
        let amd_queue = shared(&backend, 4096);
        for base in [heap, ring, amd_queue] {
            // Tests make pointers from addresses.
            base.host.expect("host memory").as_ptr().expose_provenance();
        }
        for i in 0..PACKETS {
            store32(ring.gpu_va + 64 * i, u32::from(Header::INVALID.0));
        }
        let error_event = backend.create_event(EventKind::Signal).expect("an event");
        let queue_va = amd_queue.gpu_va;
        let field = |offset: usize| queue_va + offset as u64;
        let mut rig = Self {
            queue: HardwareQueue {
                handle: QueueHandle(0),
                doorbell: Doorbell::Callback,
            },
            backend,
            error_event,
            inactive: 0,
            ring: ring.gpu_va,
            amd_queue: queue_va,
            heap: core::cell::Cell::new(heap.gpu_va),
            heap_end: heap.gpu_va + heap.size,
            kernargs: core::cell::Cell::new(0),
        };
        rig.inactive = rig.signal(0);
        store64(
            field(core::mem::offset_of!(AmdQueue, queue_inactive_signal)),
            rig.inactive,
        );
        rig.queue = rig
            .backend
            .create_queue(&rig.queue_request())
            .expect("a queue");
        rig
    }

    pub fn queue_request(&self) -> QueueRequest {
        let field = |offset: usize| self.amd_queue + offset as u64;
        QueueRequest {
            agent: GPU,
            kind: QueueKind::Compute,
            ring: self.ring,
            ring_bytes: PACKETS * 64,
            write_index: field(core::mem::offset_of!(AmdQueue, write_dispatch_id)),
            read_index: field(core::mem::offset_of!(AmdQueue, read_dispatch_id)),
            descriptor: self.amd_queue,
            priority: QueuePriority::Normal,
            error_event: Some(self.error_event),
        }
    }

    /// Memory that stays for the rig's life.
    pub fn alloc(&self, size: u64, align: u64) -> u64 {
        let at = self.heap.get().next_multiple_of(align);
        assert!(at + size <= self.heap_end, "the rig's heap is full");
        self.heap.set(at + size);
        at
    }

    pub fn signal(&self, value: i64) -> u64 {
        let va = self.alloc(64, 64);
        store64(va, 1);
        store64(va + 8, value as u64);
        va
    }

    /// A signal that raises an event when a device changes it.
    pub fn event_signal(&self, value: i64) -> (u64, EventId) {
        let event = self
            .backend
            .create_event(EventKind::Signal)
            .expect("an event");
        let va = self.signal(value);
        let offset = core::mem::offset_of!(AmdSignal, event_mailbox_ptr) as u64;
        store64(va + offset, self.backend.mailbox(event));
        store64(va + offset + 8, u64::from(event.0));
        (va, event)
    }

    pub fn value(&self, signal: u64) -> i64 {
        load64(signal + 8) as i64
    }

    /// Waits until a signal has a value; false if it does not get it within a second or so.
    pub fn wait(&self, signal: u64, value: i64) -> bool {
        self.until(|| self.value(signal) == value)
    }

    pub fn until(&self, condition: impl Fn() -> bool) -> bool {
        let start = std::time::Instant::now();
        while !condition() {
            self.backend.relax();
            if start.elapsed().as_secs() >= 20 {
                return false;
            }
        }
        true
    }

    /// A kernel of the fake executor: pairs of operation and operand.
    pub fn kernel(&self, code: &[[u32; 2]], change: impl FnOnce(&mut KernelDescriptor)) -> u64 {
        let entry = self.alloc(code.len() as u64 * 8, 256);
        for (i, word) in code.iter().flatten().enumerate() {
            store32(entry + i as u64 * 4, *word);
        }
        self.descriptor(entry, change)
    }

    pub fn descriptor(&self, entry: u64, change: impl FnOnce(&mut KernelDescriptor)) -> u64 {
        let object = self.alloc(64, 64);
        let mut descriptor = KernelDescriptor {
            kernel_code_entry_byte_offset: entry.wrapping_sub(object) as i64,
            ..Default::default()
        };
        let properties = descriptor.properties;
        descriptor.properties = properties.with_enable_sgpr_kernarg_segment_ptr(true);
        descriptor.rsrc2 = descriptor
            .rsrc2
            .with_user_sgpr_count(2)
            .with_enable_sgpr_workgroup_id_x(true);
        change(&mut descriptor);
        store_bytes(object, &descriptor.emit());
        object
    }

    pub fn plain_kernel(&self, code: &[[u32; 2]]) -> u64 {
        self.kernel(code, |_| {})
    }

    /// Kernel arguments.
    pub fn args(&self, args: &[u64]) -> u64 {
        let va = self.alloc(args.len() as u64 * 8, 16);
        for (i, arg) in args.iter().enumerate() {
            store64(va + 8 * i as u64, *arg);
        }
        self.kernargs.set(va);
        va
    }

    pub fn packet(&self, kernel_object: u64, grid: u32, group: u16) -> KernelDispatchPacket {
        KernelDispatchPacket {
            header: Header::new(PacketType::KernelDispatch)
                .barrier(true)
                .acquire(FenceScope::System)
                .release(FenceScope::System),
            setup: 1,
            workgroup_size: [group, 1, 1],
            grid_size: [grid, 1, 1],
            kernel_object,
            kernarg_address: self.kernargs.get(),
            ..Default::default()
        }
    }

    /// Writes a packet to the ring and rings the doorbell; gives its index.
    pub fn submit(&self, packet: Packet) -> u64 {
        let index = self.publish(packet);
        self.backend.ring_doorbell(self.queue.handle, index);
        index
    }

    pub fn publish(&self, packet: Packet) -> u64 {
        let write = self.queue_request().write_index;
        let index = load64(write);
        assert!(index - self.read_index() < PACKETS, "the ring is full");
        store64(write, index + 1);
        self.fill(index, packet);
        index
    }

    /// Writes a packet to the slot of an index: the header last.
    pub fn fill(&self, index: u64, packet: Packet) {
        let bytes = packet.emit();
        let slot = self.ring + index % PACKETS * 64;
        store_bytes(slot + 4, &bytes[4..]);
        core::sync::atomic::fence(core::sync::atomic::Ordering::Release);
        store32(
            slot,
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        );
    }

    pub fn header(&self, index: u64) -> u16 {
        load32(self.ring + index % PACKETS * 64) as u16
    }

    pub fn read_index(&self) -> u64 {
        load64(self.queue_request().read_index)
    }

    /// Runs a kernel and waits for it.
    pub fn run(&self, mut packet: KernelDispatchPacket) -> bool {
        let signal = self.signal(1);
        packet.completion_signal = signal;
        self.submit(Packet::KernelDispatch(packet));
        self.wait(signal, 0)
    }

    pub fn set_queue_field32(&self, offset: usize, value: u32) {
        store32(self.amd_queue + offset as u64, value);
    }

    pub fn set_queue_field64(&self, offset: usize, value: u64) {
        store64(self.amd_queue + offset as u64, value);
    }
}

/// A kernel that does nothing.
pub const NOTHING: &[[u32; 2]] = &[[fake::END, 0]];

/// A queue beside the rig's own.
pub struct Beside {
    queue: HardwareQueue,
    ring: u64,
    write_index: u64,
}

impl Beside {
    pub fn publish(&self, rig: &Rig, packet: KernelDispatchPacket) {
        let bytes = Packet::KernelDispatch(packet).emit();
        let index = load64(self.write_index);
        store64(self.write_index, index + 1);
        let slot = self.ring + index % PACKETS * 64;
        store_bytes(slot + 4, &bytes[4..]);
        store32(
            slot,
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        );
        rig.backend.ring_doorbell(self.queue.handle, index);
    }
}

impl Rig {
    /// A queue of another agent, which is given access to everything.
    pub fn second_queue(&self, agent: AgentId) -> Beside {
        for handle in (1..100).map(MemoryHandle) {
            let _ = self.backend.map(handle, &[agent]);
        }
        let ring = self.alloc(PACKETS * 64, 64);
        for i in 0..PACKETS {
            store32(ring + 64 * i, u32::from(Header::INVALID.0));
        }
        let amd_queue = self.alloc(256, 64);
        let write_index = amd_queue + core::mem::offset_of!(AmdQueue, write_dispatch_id) as u64;
        let request = QueueRequest {
            agent,
            ring,
            write_index,
            read_index: amd_queue + core::mem::offset_of!(AmdQueue, read_dispatch_id) as u64,
            descriptor: amd_queue,
            error_event: None,
            ..self.queue_request()
        };
        Beside {
            queue: self.backend.create_queue(&request).expect("a queue"),
            ring,
            write_index,
        }
    }

    /// The same rig with a new queue in new memory.
    pub fn on_new_queue(rig: Self) -> Self {
        Self::on(rig.backend)
    }

    /// Whether freeing this handle would free the memory at an address: asked by unmapping and
    /// mapping it, which changes who can reach it.
    pub fn is_region_at(&self, handle: MemoryHandle, va: u64) -> bool {
        let view = self.backend.system.map.view(GPU.0);
        let before = view.lookup(va).is_some();
        if self.backend.unmap(handle, &[GPU]).is_err() {
            return false;
        }
        let after = view.lookup(va).is_some();
        let _ = self.backend.map(handle, &[GPU]);
        before && !after
    }
}
