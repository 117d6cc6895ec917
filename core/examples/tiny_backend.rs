// A complete backend, and a program that runs on it. Section numbers are those of the guide.
#![allow(missing_docs)]
use rukh_core::backend::*;
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig, WaitOutcome};
use rukh_core::wire::aql::{Header, KernelDispatchPacket, PACKET_SIZE, Packet, PacketType};
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::{AmdSignal, Condition};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::{NonNull, with_exposed_provenance as at};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{JoinHandle, park as until_rung, spawn};
use std::time::{Duration, Instant};

const GPU: AgentId = AgentId(1);
const RAM: u64 = 64 << 20;
/// Queues, and events, that there can be at once.
const QUEUES: usize = 8;
const EVENTS: usize = 32;

/// 1. What the backend owns. No statics: several backends and runtimes live side by side.
pub struct Tiny {
    device: Arc<Device>,
    /// The device's own thread, if it interrupts; else it runs when somebody waits.
    thread: Option<JoinHandle<()>>,
    started: Instant,
    memory: Lock<BTreeMap<u64, (Layout, AgentId)>>,
    next_queue: AtomicU64,
    /// Whether each event exists.
    events: Lock<[bool; EVENTS]>,
}

impl Tiny {
    pub fn new(interrupts: bool) -> Self {
        let device = Arc::new(Device::default());
        let of_thread = device.clone();
        Self {
            device,
            thread: interrupts.then(|| spawn(move || of_thread.run_until_off())),
            started: Instant::now(),
            memory: Lock::default(),
            next_queue: AtomicU64::new(1),
            events: Lock::default(),
        }
    }

    fn used(&self, of: AgentId) -> u64 {
        let memory = self.memory.lock(self.parker());
        let sizes = memory.values().filter(|(_, agent)| *agent == of);
        sizes.map(|(layout, _)| layout.size() as u64).sum()
    }

    fn event_bit(&self, event: EventId) -> Result<u32, EventError> {
        let exists = self.events.lock(self.parker()).get(event.0 as usize) == Some(&true);
        exists
            .then(|| 1 << event.0)
            .ok_or(EventError::NoEvent(event))
    }
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
            max_queues: QUEUES as u32,
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
        let heap = match agent {
            AgentId(0) => HeapKind::System,
            GPU => HeapKind::VramPublic,
            _ => return,
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
        let (size, align, bank) = (request.size, request.align, request.bank);
        let page = self.page_size();
        let available = self.available(bank)?;
        if size > available {
            return Err(MemoryError::OutOfMemory { size, available });
        }
        let bad = MemoryError::BadSize { size, align, page };
        if size == 0 || !size.is_multiple_of(page) {
            return Err(bad);
        }
        let layout = Layout::from_size_align(size as usize, align as usize).map_err(|_| bad)?;
        // SAFETY: the size is not zero.
        let host = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or(MemoryError::OutOfMemory { size, available })?;
        let gpu_va = host.as_ptr().expose_provenance() as u64;
        self.memory
            .lock(self.parker())
            .insert(gpu_va, (layout, bank.agent));
        Ok(Allocation {
            handle: MemoryHandle(gpu_va),
            gpu_va,
            host: Some(host),
            size,
        })
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        let none = MemoryError::NoAllocation { handle };
        let (layout, _) = self
            .memory
            .lock(self.parker())
            .remove(&handle.0)
            .ok_or(none)?;
        // SAFETY: allocated with this layout, and the caller no longer uses it.
        unsafe { dealloc(at::<u8>(handle.0 as usize).cast_mut(), layout) };
        Ok(())
    }

    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        match agents.iter().find(|agent| agent.0 >= self.agent_count()) {
            Some(&agent) => Err(MemoryError::BadAgent { agent }),
            None => self.unmap(handle, agents),
        }
    }

    fn unmap(&self, handle: MemoryHandle, _: &[AgentId]) -> Result<(), MemoryError> {
        let known = self.memory.lock(self.parker()).contains_key(&handle.0);
        known
            .then_some(())
            .ok_or(MemoryError::NoAllocation { handle })
    }

    fn available(&self, bank: BankId) -> Result<u64, MemoryError> {
        if bank.agent.0 >= self.agent_count() || bank.index != 0 {
            return Err(MemoryError::NoBank { bank });
        }
        Ok(RAM.saturating_sub(self.used(bank.agent)))
    }
}

/// 4. Queues. The runtime has allocated ring and descriptor; the device consumes from here on.
impl Queues for Tiny {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        let (agent, kind) = (request.agent, request.kind);
        if agent != GPU || kind != QueueKind::Compute {
            return Err(QueueCreateError::NoSuchKind { agent, kind });
        }
        let mut queues = self.device.queues.lock(self.parker());
        if queues.len() == QUEUES {
            let limit = QUEUES as u32;
            return Err(QueueCreateError::NoneLeft { agent, limit });
        }
        let handle = QueueHandle(self.next_queue.fetch_add(1, Relaxed));
        queues.insert(handle.0, *request);
        Ok(HardwareQueue {
            handle,
            doorbell: Doorbell::Callback,
        })
    }

    /// When this returns nothing consumes: the lock waits for a packet that is under way.
    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        let removed = self.device.queues.lock(self.parker()).remove(&queue.0);
        removed.map(|_| ()).ok_or(QueueCreateError::NoQueue(queue))
    }

    fn update_queue(&self, _: QueueHandle, _: &QueueUpdate) -> Result<(), QueueCreateError> {
        Err(QueueCreateError::NotSupported("changing queues"))
    }

    /// Any value, and any queue: the device looks at them all. No lock is taken here.
    fn ring_doorbell(&self, _: QueueHandle, _: u64) {
        if let Some(device) = &self.thread {
            self.device.rung.store(true, Release);
            device.thread().unpark();
        }
    }

    fn invalidate_code(&self, _: AgentId) -> Result<(), QueueCreateError> {
        Ok(())
    }
}

/// 5. Events: bits, which the device's interrupt sets.
impl Events for Tiny {
    /// Threads that wait for others sleep as those do that wait for the device.
    fn parker(&self) -> &dyn Park {
        &self.device.line
    }

    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError> {
        if kind != EventKind::Signal {
            return Err(EventError::NotSupported("events for faults"));
        }
        let mut events = self.events.lock(self.parker());
        let limit = EVENTS as u32;
        let free = events.iter().position(|exists| !exists);
        let free = free.ok_or(EventError::NoneLeft { limit })?;
        events[free] = true;
        self.device.raised.fetch_and(!(1 << free), SeqCst);
        Ok(EventId(free as u32))
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        self.event_bit(event)?;
        self.events.lock(self.parker())[event.0 as usize] = false;
        // Whoever sleeps on it looks again.
        self.device.interrupt(0);
        Ok(())
    }

    /// No mailbox: this device raises events by the ids in signals.
    fn mailbox(&self, _: EventId) -> u64 {
        0
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        self.device.interrupt(self.event_bit(event)?);
        Ok(())
    }

    fn wait_events(
        &self,
        events: &[EventId],
        mode: WaitMode,
        timeout: Timeout,
        _: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let mut mask = 0;
        for event in events {
            mask |= self.event_bit(*event)?;
        }
        let take = || {
            let met = |raised: u32| match mode {
                WaitMode::Any => raised & mask != 0,
                WaitMode::All => raised & mask == mask,
            };
            let taken = |raised| met(raised).then_some(raised & !mask);
            let taken = self.device.raised.fetch_update(SeqCst, SeqCst, taken);
            taken.is_ok()
        };
        // Before the look: an interrupt that comes after it is one more than this.
        let seen = self.device.interrupts.load(SeqCst);
        if self.thread.is_none() {
            self.device.run();
        }
        let left = match timeout {
            Timeout::Poll => Some(0),
            Timeout::At(end) => Some(end.saturating_sub(self.now())),
            Timeout::Never => None,
        };
        let mut raised = take();
        if !raised && left != Some(0) && self.thread.is_some() {
            // An interrupt for others ends this too: to end early is allowed, and what two wait for wakes both.
            let interrupts = &self.device.interrupts;
            self.device.line.park(interrupts, seen, left);
            raised = take();
        }
        Ok(if raised {
            EventOutcome::Raised
        } else {
            EventOutcome::TimedOut
        })
    }
}

/// How threads sleep. In a kernel with a scheduler its futex; in one without, until the next interrupt: on
/// x86-64 `cli`, look at the word, then `sti; hlt` if it is still `expected`.
#[derive(Default)]
struct Line(Mutex<()>, Condvar);

impl Park for Line {
    fn park(&self, word: &AtomicU32, expected: u32, nanoseconds: Option<u64>) {
        let Ok(guard) = self.0.lock() else { return };
        if word.load(SeqCst) == expected {
            let time = Duration::from_nanos(nanoseconds.unwrap_or(u64::MAX));
            drop(self.1.wait_timeout(guard, time));
        }
    }

    /// Sleepers hold the lock until they sleep, so that the news comes neither too early nor too late.
    fn unpark(&self, _: *const AtomicU32) {
        drop(self.0.lock());
        self.1.notify_all();
    }
}

/// 6. Time: nanoseconds that never go backwards.
impl Clock for Tiny {
    fn now(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn counters(&self, _: AgentId) -> ClockCounters {
        let now = self.now();
        ClockCounters {
            device: now,
            system: now,
        }
    }

    fn device_frequency(&self, _: AgentId) -> u64 {
        1_000_000_000
    }

    fn relax(&self) {
        if self.thread.is_none() {
            self.device.run();
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

impl Drop for Tiny {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.device.off.store(true, Release);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// 8. The device itself, which hardware has and you do not write: a dispatch adds its grid's size to a number.
#[derive(Default)]
struct Device {
    queues: Lock<BTreeMap<u64, QueueRequest>>,
    rung: AtomicBool,
    off: AtomicBool,
    /// A bit for each event that was raised, and how often anything was.
    raised: AtomicU32,
    interrupts: AtomicU32,
    line: Line,
}

impl Device {
    /// What the interrupt handler of a kernel does.
    fn interrupt(&self, bits: u32) {
        self.raised.fetch_or(bits, SeqCst);
        self.interrupts.fetch_add(1, SeqCst);
        self.line.unpark(&self.interrupts);
    }

    fn run_until_off(&self) {
        while !self.off.load(Acquire) {
            let waits = self.run();
            // A packet that waits for a signal of the host is looked at again and again, as hardware does.
            if !self.rung.swap(false, AcqRel) {
                if waits {
                    std::thread::yield_now();
                } else {
                    until_rung();
                }
            }
        }
    }

    /// Executes what is there; whether a packet waits for others.
    fn run(&self) -> bool {
        let mut waits = false;
        for queue in self.queues.lock(&self.line).values() {
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
                // SAFETY: live signals of the runtime's arena: clients may not destroy them before.
                let signal = |handle| unsafe { &*at::<AmdSignal>(handle as usize) };
                if let Packet::BarrierAnd(barrier) = &packet {
                    let given = barrier.dep_signal.into_iter().filter(|&handle| handle != 0);
                    if given.map(signal).any(|s| s.value.load(Acquire) != 0) {
                        waits = true;
                        break;
                    }
                }
                if let Packet::KernelDispatch(dispatch) = &packet {
                    // SAFETY: this device's kernels take the address of a number that the client allocated.
                    let number = unsafe { &*at::<AtomicU32>(dispatch.kernarg_address as usize) };
                    number.fetch_add(dispatch.grid_size[0], Relaxed);
                }
                header.store(Header::INVALID.0, Relaxed);
                read += 1;
                amd.read_dispatch_id.store(read, Release);
                if let Some(handle) = packet.completion_signal() {
                    let event = signal(handle).event_id.load(Relaxed);
                    signal(handle).value.fetch_sub(1, Release);
                    self.interrupt(1u32.checked_shl(event as u32).unwrap_or(0));
                }
            }
        }
        waits
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for interrupts in [false, true] {
        let backend = Tiny::new(interrupts);
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
