// A complete backend, and a program that runs on it. Section numbers are those of the guide.
#![allow(missing_docs)]
use rukh_core::backend::*;
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig, WaitOutcome};
use rukh_core::wire::aql::{Header, KernelDispatchPacket, PACKET_SIZE, Packet, PacketType};
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::{AmdSignal, Condition};
use spin::Mutex;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::{NonNull, with_exposed_provenance as at};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::*};

const GPU: AgentId = AgentId(1);
const RAM: u64 = 64 << 20;

/// 1. What the backend owns. No statics: several backends and runtimes live side by side.
#[derive(Default)]
struct Tiny {
    /// Whether the device runs when its doorbell rings, and interrupts; else it runs when somebody waits.
    interrupts: bool,
    memory: Mutex<BTreeMap<u64, Layout>>,
    queues: Mutex<BTreeMap<u64, QueueRequest>>,
    next: AtomicU32,
    /// A bit for each event: whether it exists, and whether it was raised.
    events: AtomicU64,
    raised: AtomicU64,
    time: AtomicU64,
}

/// 2. Agents. What is not known stays zero.
impl Topology for Tiny {
    fn agent_count(&self) -> u32 {
        2
    }

    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError> {
        let name = |text: &str| Name::try_from(text).unwrap_or_default();
        let gpu = GpuInfo {
            isa: name("amdgcn-amd-amdhsa--gfx90a"),
            wavefront_size: 64,
            compute_units: 1,
            max_slots_scratch_cu: 32,
            shader_engines: 1,
            xcc_count: 1,
            lds_bytes: 65536,
            ..GpuInfo::default()
        };
        let kind = match agent.0 {
            0 => AgentKind::Cpu { cores: 1 },
            1 => AgentKind::Gpu(gpu),
            _ => return Err(TopologyError::NoAgent { agent, count: 2 }),
        };
        Ok(AgentInfo {
            kind,
            name: name(if agent == GPU { "gfx90a" } else { "cpu" }),
            product_name: name("tiny"),
            vendor: name("example"),
            node: agent.0,
            cache_line_bytes: 64,
        })
    }

    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank)) {
        let heap = if agent == GPU {
            HeapKind::VramPublic
        } else {
            HeapKind::System
        };
        visit(&MemoryBank {
            heap,
            size: RAM,
            width_bits: 64,
            max_clock_mhz: 0,
        });
    }

    fn caches(&self, _: AgentId, _: &mut dyn FnMut(&CacheInfo)) {}
    fn links(&self, _: &mut dyn FnMut(&LinkInfo)) {}
}

/// 3. Memory. Here host and device share every address; a kernel gives pages of its own and maps them.
// SAFETY: blocks come zeroed from the allocator, belong to nobody else, and stay until `free`.
unsafe impl Memory for Tiny {
    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError> {
        let (size, align) = (request.size, request.align);
        let bad = MemoryError::BadSize {
            size,
            align,
            page: self.page_size(),
        };
        if size == 0 || !size.is_multiple_of(self.page_size()) {
            return Err(bad);
        }
        let layout = Layout::from_size_align(size as usize, align as usize).map_err(|_| bad)?;
        // SAFETY: the size is not zero.
        let host = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or(MemoryError::OutOfMemory { size, available: 0 })?;
        let gpu_va = host.as_ptr().expose_provenance() as u64;
        self.memory.lock().insert(gpu_va, layout);
        Ok(Allocation {
            handle: MemoryHandle(gpu_va),
            gpu_va,
            host: Some(host),
            size,
        })
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        let none = MemoryError::NoAllocation { handle };
        let layout = self.memory.lock().remove(&handle.0).ok_or(none)?;
        // SAFETY: allocated with this layout, and the caller no longer uses it.
        unsafe { dealloc(at::<u8>(handle.0 as usize).cast_mut(), layout) };
        Ok(())
    }

    fn map(&self, _: MemoryHandle, _: &[AgentId]) -> Result<(), MemoryError> {
        Ok(())
    }

    fn unmap(&self, _: MemoryHandle, _: &[AgentId]) -> Result<(), MemoryError> {
        Ok(())
    }

    fn available(&self, _: BankId) -> Result<u64, MemoryError> {
        Ok(RAM)
    }
}

/// 4. Queues. The runtime has allocated ring and descriptor; the device consumes from here on.
impl Queues for Tiny {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        let (agent, kind) = (request.agent, request.kind);
        if agent != GPU || kind != QueueKind::Compute {
            return Err(QueueCreateError::NoSuchKind { agent, kind });
        }
        let handle = QueueHandle(self.next.fetch_add(1, Relaxed).into());
        self.queues.lock().insert(handle.0, *request);
        Ok(HardwareQueue {
            handle,
            doorbell: Doorbell::Callback,
        })
    }

    /// When this returns nothing consumes: the lock waits for a packet that is under way.
    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        let removed = self.queues.lock().remove(&queue.0);
        removed.map(|_| ()).ok_or(QueueCreateError::NoQueue(queue))
    }

    fn update_queue(&self, _: QueueHandle, _: &QueueUpdate) -> Result<(), QueueCreateError> {
        Err(QueueCreateError::NotSupported("changing queues"))
    }

    fn ring_doorbell(&self, _: QueueHandle, _: u64) {
        if self.interrupts {
            self.run_device();
        }
    }

    fn invalidate_code(&self, _: AgentId) -> Result<(), QueueCreateError> {
        Ok(())
    }
}

/// 5. Events. A kernel sleeps here until its interrupt handler has set a bit.
impl Events for Tiny {
    fn create_event(&self, _: EventKind) -> Result<EventId, EventError> {
        let id = self.events.load(Relaxed).trailing_ones();
        if id == 64 {
            return Err(EventError::NoneLeft { limit: 64 });
        }
        self.events.fetch_or(1 << id, Relaxed);
        Ok(EventId(id))
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        self.events.fetch_and(!(1 << event.0), Relaxed);
        Ok(())
    }

    /// Not 0, so that signals carry their event; nothing reads what a device writes there.
    fn mailbox(&self, _: EventId) -> u64 {
        (&raw const self.raised).expose_provenance() as u64
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        self.raised.fetch_or(1 << event.0, Release);
        Ok(())
    }

    fn wait_events(
        &self,
        events: &[EventId],
        _: WaitMode,
        _: Timeout,
        _: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        self.relax();
        let mask: u64 = events.iter().map(|event| 1 << event.0).sum();
        let raised = self.raised.fetch_and(!mask, Acquire) & mask != 0;
        // Ending early is allowed: the caller looks at its signals and at the time, and waits again.
        Ok(if raised {
            EventOutcome::Raised
        } else {
            EventOutcome::TimedOut
        })
    }
}

/// 6. Time: here, a microsecond a look.
impl Clock for Tiny {
    fn now(&self) -> u64 {
        self.time.fetch_add(1000, Relaxed)
    }

    fn counters(&self, _: AgentId) -> ClockCounters {
        ClockCounters {
            device: self.now(),
            system: self.now(),
        }
    }

    fn device_frequency(&self, _: AgentId) -> u64 {
        1_000_000_000
    }

    fn relax(&self) {
        if !self.interrupts {
            self.run_device();
        }
    }
}

/// 7. What it does not do.
impl Dma for Tiny {}
impl Ipc for Tiny {}
impl Svm for Tiny {}
// SAFETY: it has none.
unsafe impl VirtualMemory for Tiny {}
impl Debug for Tiny {}
impl Profiling for Tiny {}

/// 8. The device itself, which hardware has and you do not write: a dispatch adds its grid's size to a number.
impl Tiny {
    fn run_device(&self) {
        for queue in self.queues.lock().values() {
            // SAFETY: mapped until the queue is destroyed, which waits for the lock.
            let amd = unsafe { &*at::<AmdQueue>(queue.descriptor as usize) };
            let mut read = amd.read_dispatch_id.load(Relaxed);
            while read < amd.write_dispatch_id.load(Acquire) {
                let offset = read * PACKET_SIZE as u64 % queue.ring_bytes;
                let slot = (queue.ring + offset) as usize;
                // SAFETY: a slot of the ring. The header is published last.
                let header = unsafe { &*at::<AtomicU16>(slot) };
                if Header(header.load(Acquire)) == Header::INVALID {
                    break;
                }
                // SAFETY: published, so that nobody writes it any more.
                let packet = Packet::parse(unsafe { &*at(slot) });
                header.store(Header::INVALID.0, Relaxed);
                read += 1;
                amd.read_dispatch_id.store(read, Release);
                if let Packet::KernelDispatch(dispatch) = &packet {
                    // SAFETY: this device's kernels take the address of a number that the client allocated.
                    let number = unsafe { &*at::<AtomicU32>(dispatch.kernarg_address as usize) };
                    number.fetch_add(dispatch.grid_size[0], Relaxed);
                }
                if let Some(signal) = packet.completion_signal() {
                    // SAFETY: a live signal of the runtime's arena: clients may not destroy it before.
                    let signal = unsafe { &*at::<AmdSignal>(signal as usize) };
                    signal.value.fetch_sub(1, Release);
                    let event = signal.event_id.load(Relaxed);
                    self.raised.fetch_or(1 << (event % 64), Release);
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for interrupts in [false, true] {
        let backend = Tiny {
            interrupts,
            ..Tiny::default()
        };
        let runtime = Runtime::new(Arc::new(backend), RuntimeConfig::default())?;
        let pool = runtime
            .find_pool(AgentId(0), PoolFlags::FINE)
            .ok_or("no host memory")?;
        let number = runtime.create_buffer(pool.id, 4096, &[GPU])?;
        let queue = runtime.create_queue(GPU, QueueConfig::default())?;
        let signal = runtime.create_signal(3)?;
        for grid in [1, 20, 300] {
            queue
                .claim(Timeout::Never)?
                .publish_packet(&KernelDispatchPacket {
                    header: Header::new(PacketType::KernelDispatch),
                    setup: 1,
                    workgroup_size: [1, 1, 1],
                    grid_size: [grid, 1, 1],
                    kernarg_address: number.address().0,
                    completion_signal: signal.handle().0,
                    ..KernelDispatchPacket::default()
                });
        }
        let outcome = signal.wait(Condition::Eq, 0, Timeout::Never)?;
        assert_eq!(outcome, WaitOutcome::Met(0));
        let mut bytes = [0; 4];
        number.read(0, &mut bytes)?;
        assert_eq!(u32::from_le_bytes(bytes), 321);
        println!("interrupts: {interrupts}: the device has added 1 + 20 + 300");
    }
    Ok(())
}
