//! A backend for tests: one CPU, one GPU whose packet processor is a few lines of Rust, and a count
//! of everything that was given out.
//!
//! Its GPU runs on a thread of its own, or, in step mode, only inside `wait_events` and
//! `relax`, with a clock that stands still in between.

use rukh_core::backend::*;
use rukh_core::wire::aql::{Header, KernelDispatchPacket, PACKET_SIZE, Packet};
use rukh_core::wire::queue::AmdQueue;
use rukh_core::wire::signal::AmdSignal;
use std::alloc::Layout;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

#[derive(Default)]
struct State {
    memory: HashMap<u64, Held>,
    events: HashMap<u32, Event>,
    queues: HashMap<u64, Hardware>,
    reports: Vec<EventReport>,
    next: u64,
    /// Allocations that may still succeed before all fail.
    allocations_left: Option<u32>,
    vram_limit: Option<u64>,
}

struct Held {
    layout: Layout,
    flags: MemoryFlags,
    mapped: Vec<AgentId>,
    registered: bool,
}

struct Event {
    kind: EventKind,
    raised: bool,
    waiting: u32,
    /// Grows when raised while somebody waits.
    round: u64,
}

#[derive(Clone, Copy)]
struct Hardware {
    request: QueueRequest,
    active: bool,
    halted: bool,
}

pub struct Fake {
    step: bool,
    register_doorbells: bool,
    doorbell_register: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
    time: AtomicU64,
    start: Instant,
    park: StdPark,
    stop: AtomicBool,
    pub rings: AtomicU64,
    pub waits: AtomicU64,
    pub sets: AtomicU64,
    pub code_invalidations: AtomicU64,
}

pub const GPU: AgentId = AgentId(1);
/// A size of private memory that this packet processor never thinks it has.
pub const INSATIABLE: u32 = 333;
pub const VRAM: u64 = 1 << 30;

impl Fake {
    fn with(step: bool) -> Self {
        Self {
            step,
            register_doorbells: false,
            doorbell_register: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
            time: AtomicU64::new(1),
            start: Instant::now(),
            park: StdPark::new(),
            stop: AtomicBool::new(false),
            rings: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            sets: AtomicU64::new(0),
            code_invalidations: AtomicU64::new(0),
        }
    }

    /// A GPU that runs when somebody waits.
    pub fn step() -> Arc<Self> {
        Arc::new(Self::with(true))
    }

    /// A GPU that runs by itself.
    pub fn threaded() -> Arc<Self> {
        let fake = Arc::new(Self::with(false));
        let device = Arc::downgrade(&fake);
        std::thread::spawn(move || {
            while let Some(fake) = device.upgrade() {
                if fake.stop.load(Ordering::Relaxed) {
                    return;
                }
                if !fake.progress() {
                    let state = fake.state.lock().unwrap();
                    drop(
                        fake.changed
                            .wait_timeout(state, Duration::from_micros(200))
                            .unwrap(),
                    );
                }
            }
        });
        fake
    }

    /// What has not been given back: allocations, events, queues.
    pub fn held(&self) -> (usize, usize, usize) {
        let state = self.state.lock().unwrap();
        (state.memory.len(), state.events.len(), state.queues.len())
    }

    pub fn fail_allocations_after(&self, n: u32) {
        self.state.lock().unwrap().allocations_left = Some(n);
    }

    pub fn limit_vram(&self, bytes: u64) {
        self.state.lock().unwrap().vram_limit = Some(bytes);
    }

    pub fn flags_at(&self, address: u64) -> Option<MemoryFlags> {
        Some(self.state.lock().unwrap().memory.get(&address)?.flags)
    }

    pub fn is_mapped(&self, address: u64, agent: AgentId) -> bool {
        let state = self.state.lock().unwrap();
        state.memory[&address].mapped.contains(&agent)
    }

    pub fn active_queues(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.queues.values().filter(|q| q.active).count()
    }

    /// Reports a memory fault.
    pub fn fault(&self, address: u64) {
        let mut state = self.state.lock().unwrap();
        state.reports.push(EventReport::Memory(
            GPU,
            MemoryFaultInfo {
                address,
                not_present: true,
                ..MemoryFaultInfo::default()
            },
        ));
        for event in state.events.values_mut() {
            if event.kind == EventKind::MemoryFault {
                raise(event);
            }
        }
        self.changed.notify_all();
    }

    fn raise(&self, id: u32) {
        self.raise_locked(&mut self.state.lock().unwrap(), id);
    }

    fn raise_locked(&self, state: &mut State, id: u32) {
        if let Some(event) = state.events.get_mut(&id) {
            raise(event);
        }
        self.changed.notify_all();
    }

    /// Changes a signal as a device does: the value, the mailbox, the event.
    pub fn complete(&self, signal: &AmdSignal) {
        self.complete_locked(&mut self.state.lock().unwrap(), signal);
    }

    fn complete_locked(&self, state: &mut State, signal: &AmdSignal) {
        signal.value.fetch_sub(1, Ordering::AcqRel);
        self.announce_locked(state, signal);
    }

    fn announce_locked(&self, state: &mut State, signal: &AmdSignal) {
        if signal.event_mailbox_ptr.load(Ordering::Relaxed) != 0 {
            let id = signal.event_id.load(Ordering::Relaxed) as u32;
            self.raise_locked(state, id);
        }
    }

    /// Runs at most one packet of each queue. Gives whether anything happened.
    pub fn progress(&self) -> bool {
        let queues: Vec<u64> = {
            let state = self.state.lock().unwrap();
            let active = state.queues.iter().filter(|(_, q)| q.active);
            active.map(|(handle, _)| *handle).collect()
        };
        let mut any = false;
        for handle in queues {
            any |= self.run_one(handle);
        }
        any
    }

    fn run_one(&self, handle: u64) -> bool {
        // The lock is held so that destroying the queue waits for the packet.
        let mut state = self.state.lock().unwrap();
        let Some(hardware) = state.queues.get_mut(&handle) else {
            return false;
        };
        if !hardware.active {
            return false;
        }
        let request = hardware.request;
        // SAFETY: the runtime keeps the structure and the ring until the queue is destroyed.
        let queue = unsafe { &*(request.descriptor as *const AmdQueue) };
        let inactive = queue.queue_inactive_signal.load(Ordering::Relaxed);
        // SAFETY: as above, a signal of the runtime's arena.
        let inactive = unsafe { &*(inactive as *const AmdSignal) };
        if hardware.halted {
            if inactive.value.load(Ordering::Acquire) != 0 {
                return false;
            }
            hardware.halted = false;
        }
        let read = queue.read_dispatch_id.load(Ordering::Relaxed);
        if read >= queue.write_dispatch_id.load(Ordering::Acquire) {
            return false;
        }
        let slot = read % (request.ring_bytes / PACKET_SIZE as u64);
        let address = request.ring + slot * PACKET_SIZE as u64;
        // SAFETY: a slot of the ring.
        let header = unsafe { &*(address as *const AtomicU16) };
        if Header(header.load(Ordering::Acquire)) == Header::INVALID {
            return false;
        }
        // SAFETY: published, so nobody writes it.
        let bytes = unsafe { *(address as *const [u8; PACKET_SIZE]) };
        let packet = Packet::parse(&bytes);
        let error = match packet {
            Packet::KernelDispatch(dispatch) => run(queue, &dispatch),
            Packet::BarrierAnd(barrier) => {
                let waits = barrier.dep_signal.iter().any(|&dep| {
                    // SAFETY: handles of live signals.
                    dep != 0
                        && unsafe { &*(dep as *const AmdSignal) }
                            .value
                            .load(Ordering::Acquire)
                            != 0
                });
                if waits {
                    return false;
                }
                0
            }
            _ => 0x20,
        };
        if error != 0 {
            hardware.halted = true;
            inactive.value.store(error, Ordering::Release);
            self.announce_locked(&mut state, inactive);
            return true;
        }
        header.store(Header::INVALID.0, Ordering::Relaxed);
        queue.read_dispatch_id.store(read + 1, Ordering::Release);
        if let Some(signal) = packet.completion_signal() {
            // SAFETY: a live signal's handle.
            self.complete_locked(&mut state, unsafe { &*(signal as *const AmdSignal) });
        }
        true
    }
}

/// A "kernel": adds the second argument to what the first points to. Error bits, or 0.
fn run(queue: &AmdQueue, dispatch: &KernelDispatchPacket) -> i64 {
    if !(1..=3).contains(&dispatch.dimensions()) {
        return 2;
    }
    if dispatch.group_segment_size > 65536 {
        return 4;
    }
    if dispatch.kernel_object == 0 {
        return 8;
    }
    let lane = queue.scratch_wave64_lane_byte_size.load(Ordering::Acquire);
    // One that is never content asks for ever.
    if dispatch.private_segment_size > lane || dispatch.private_segment_size == INSATIABLE {
        return 1;
    }
    if dispatch.kernarg_address != 0 {
        // SAFETY: the tests pass an address and a number.
        unsafe {
            let [target, value] = *(dispatch.kernarg_address as *const [u64; 2]);
            if target != 0 {
                (*(target as *const AtomicU64)).fetch_add(value, Ordering::Relaxed);
            }
        }
    }
    0
}

fn raise(event: &mut Event) {
    if event.waiting > 0 {
        event.round += 1;
    } else {
        event.raised = true;
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn name(text: &str) -> Name {
    Name::try_from(text).unwrap()
}

impl Topology for Fake {
    fn agent_count(&self) -> u32 {
        2
    }

    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError> {
        let kind = match agent.0 {
            0 => AgentKind::Cpu { cores: 2 },
            1 => AgentKind::Gpu(GpuInfo {
                isa: name("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+"),
                wavefront_size: 64,
                compute_units: 104,
                simds_per_cu: 4,
                shader_engines: 8,
                max_waves_per_simd: 8,
                max_slots_scratch_cu: 32,
                xcc_count: 1,
                lds_bytes: 65536,
                group_aperture: 1 << 48,
                private_aperture: 2 << 48,
                ..GpuInfo::default()
            }),
            _ => return Err(TopologyError::NoAgent { agent, count: 2 }),
        };
        Ok(AgentInfo {
            kind,
            name: name(["cpu", "gfx90a"][agent.0 as usize]),
            product_name: name("fake"),
            vendor: name("test"),
            node: agent.0,
            cache_line_bytes: 64,
        })
    }

    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank)) {
        let banks = match agent.0 {
            0 => vec![(HeapKind::System, 1 << 32)],
            _ => vec![(HeapKind::VramPublic, VRAM), (HeapKind::Lds, 65536)],
        };
        for (heap, size) in banks {
            visit(&MemoryBank {
                heap,
                size,
                width_bits: 64,
                max_clock_mhz: 1000,
            });
        }
    }

    fn caches(&self, _: AgentId, _: &mut dyn FnMut(&CacheInfo)) {}
    fn links(&self, _: &mut dyn FnMut(&LinkInfo)) {}
}

// SAFETY: allocations come zeroed from the standard allocator and stay until `free`.
unsafe impl Memory for Fake {
    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError> {
        let mut state = self.state.lock().unwrap();
        if let Some(left) = &mut state.allocations_left {
            if *left == 0 {
                return Err(MemoryError::OutOfMemory {
                    size: request.size,
                    available: 0,
                });
            }
            *left -= 1;
        }
        if request.bank.agent == GPU
            && let Some(limit) = state.vram_limit
            && request.size > limit
        {
            return Err(MemoryError::OutOfMemory {
                size: request.size,
                available: limit,
            });
        }
        assert!(
            request.size != 0 && request.size.is_multiple_of(4096),
            "{request:?}"
        );
        let layout =
            Layout::from_size_align(request.size as usize, request.align as usize).unwrap();
        // SAFETY: the size is not zero.
        let host = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).unwrap();
        let address = host.as_ptr().expose_provenance() as u64;
        state.memory.insert(
            address,
            Held {
                layout,
                flags: request.flags,
                mapped: vec![request.bank.agent],
                registered: false,
            },
        );
        Ok(Allocation {
            handle: MemoryHandle(address),
            gpu_va: address,
            host: request
                .flags
                .contains(MemoryFlags::HOST_ACCESS)
                .then_some(host),
            size: request.size,
        })
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        let mut state = self.state.lock().unwrap();
        let used = state
            .queues
            .values()
            .any(|q| [q.request.ring, q.request.descriptor].contains(&handle.0));
        if used {
            return Err(MemoryError::InUse {
                handle,
                user: "a queue",
            });
        }
        let held = state
            .memory
            .remove(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        if !held.registered {
            // SAFETY: allocated with this layout.
            unsafe { std::alloc::dealloc(handle.0 as *mut u8, held.layout) };
        }
        Ok(())
    }

    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        let mut state = self.state.lock().unwrap();
        let held = state
            .memory
            .get_mut(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        held.mapped.extend(agents);
        Ok(())
    }

    fn unmap(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        let mut state = self.state.lock().unwrap();
        let held = state
            .memory
            .get_mut(&handle.0)
            .ok_or(MemoryError::NoAllocation { handle })?;
        held.mapped.retain(|agent| !agents.contains(agent));
        Ok(())
    }

    unsafe fn register_host(
        &self,
        address: NonNull<u8>,
        size: u64,
        flags: MemoryFlags,
        agents: &[AgentId],
    ) -> Result<Allocation, MemoryError> {
        // Another address than the host's, so that mistaking them shows.
        let gpu_va = address.as_ptr() as u64 + (1 << 52);
        self.state.lock().unwrap().memory.insert(
            gpu_va,
            Held {
                layout: Layout::new::<u8>(),
                flags,
                mapped: agents.to_vec(),
                registered: true,
            },
        );
        Ok(Allocation {
            handle: MemoryHandle(gpu_va),
            gpu_va,
            host: Some(address),
            size,
        })
    }

    fn available(&self, _: BankId) -> Result<u64, MemoryError> {
        Ok(VRAM)
    }
}

impl Queues for Fake {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        let mut state = self.state.lock().unwrap();
        assert!(state.memory[&request.ring].mapped.contains(&GPU));
        assert!(
            state.memory[&request.ring]
                .flags
                .contains(MemoryFlags::QUEUE)
        );
        assert_eq!(
            state.memory[&request.ring].layout.size() as u64,
            request.ring_bytes
        );
        assert_eq!(state.memory[&request.descriptor].layout.size(), 4096);
        state.next += 1;
        let handle = state.next;
        state.queues.insert(
            handle,
            Hardware {
                request: *request,
                active: true,
                halted: false,
            },
        );
        let register = NonNull::from(&self.doorbell_register);
        Ok(HardwareQueue {
            handle: QueueHandle(handle),
            doorbell: if self.register_doorbells {
                Doorbell::Mmio(register)
            } else {
                Doorbell::Callback
            },
        })
    }

    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        self.state
            .lock()
            .unwrap()
            .queues
            .remove(&queue.0)
            .map(|_| ())
            .ok_or(QueueCreateError::NoQueue(queue))
    }

    fn update_queue(
        &self,
        queue: QueueHandle,
        update: &QueueUpdate,
    ) -> Result<(), QueueCreateError> {
        let mut state = self.state.lock().unwrap();
        let hardware = state
            .queues
            .get_mut(&queue.0)
            .ok_or(QueueCreateError::NoQueue(queue))?;
        hardware.active = update.active;
        Ok(())
    }

    fn ring_doorbell(&self, _: QueueHandle, _: u64) {
        self.rings.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn invalidate_code(&self, _: AgentId) -> Result<(), QueueCreateError> {
        self.code_invalidations.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Events for Fake {
    fn parker(&self) -> &dyn Park {
        if self.step { &SpinPark } else { &self.park }
    }

    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError> {
        let mut state = self.state.lock().unwrap();
        state.next += 1;
        let id = state.next as u32;
        state.events.insert(
            id,
            Event {
                kind,
                raised: false,
                waiting: 0,
                round: 0,
            },
        );
        Ok(EventId(id))
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        self.state
            .lock()
            .unwrap()
            .events
            .remove(&event.0)
            .map(|_| ())
            .ok_or(EventError::NoEvent(event))
    }

    fn mailbox(&self, event: EventId) -> u64 {
        0x1000 + 8 * u64::from(event.0)
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        self.sets.fetch_add(1, Ordering::Relaxed);
        self.raise(event.0);
        Ok(())
    }

    fn wait_events(
        &self,
        events: &[EventId],
        _: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        if self.step {
            while self.progress() {}
        }
        let mut state = self.state.lock().unwrap();
        let take = |state: &mut State| {
            let mut any = false;
            for id in events {
                if let Some(event) = state.events.get_mut(&id.0) {
                    any |= core::mem::take(&mut event.raised);
                }
            }
            any
        };
        let rounds = |state: &State| -> u64 {
            let found = events.iter().filter_map(|id| state.events.get(&id.0));
            found.map(|event| event.round).sum()
        };
        let mut raised = take(&mut state);
        if !raised && self.step {
            // Nothing can happen any more until the deadline.
            if let Timeout::At(deadline) = timeout {
                self.time.fetch_max(deadline, Ordering::Relaxed);
            }
        } else if !raised && timeout != Timeout::Poll {
            let before = rounds(&state);
            let count = |state: &mut State, by: i32| {
                for id in events {
                    if let Some(event) = state.events.get_mut(&id.0) {
                        event.waiting = event.waiting.wrapping_add_signed(by);
                    }
                }
            };
            count(&mut state, 1);
            loop {
                let left = match timeout {
                    Timeout::At(deadline) => deadline.saturating_sub(self.now()),
                    _ => 1_000_000_000,
                };
                if left == 0 {
                    break;
                }
                state = self
                    .changed
                    .wait_timeout(state, Duration::from_nanos(left))
                    .unwrap()
                    .0;
                if rounds(&state) != before {
                    raised = true;
                    break;
                }
            }
            count(&mut state, -1);
        }
        let reports = if raised {
            core::mem::take(&mut state.reports)
        } else {
            Vec::new()
        };
        drop(state);
        reports.into_iter().for_each(report);
        Ok(if raised {
            EventOutcome::Raised
        } else {
            EventOutcome::TimedOut
        })
    }
}

impl Clock for Fake {
    fn now(&self) -> u64 {
        if self.step {
            self.time.load(Ordering::Relaxed)
        } else {
            self.start.elapsed().as_nanos() as u64
        }
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
        if self.step {
            self.time.fetch_add(1, Ordering::Relaxed);
            self.progress();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl Dma for Fake {}
impl Ipc for Fake {}
impl Svm for Fake {}
// SAFETY: it has none.
unsafe impl VirtualMemory for Fake {}
impl Debug for Fake {}
impl Profiling for Fake {}

/// A backend whose doorbells are a register.
pub fn with_register_doorbells() -> (Arc<Fake>, impl Fn(&Fake) -> u64) {
    let mut fake = Fake::with(true);
    fake.register_doorbells = true;
    (Arc::new(fake), |fake: &Fake| {
        fake.doorbell_register.load(Ordering::Relaxed)
    })
}
