//! Middleware: a backend around a backend, with a hook that sees every call.
//!
//! [`Wrap`] implements all traits once, so that a hook is all there is to write:
//! [`Trace`](super::Trace) reports calls, [`FaultInjector`](super::FaultInjector) has some of them fail. Wraps nest.

use super::{
    AgentId, AgentInfo, Allocation, BankId, CacheInfo, Clock, ClockCounters, Debug, Dma, DmaEngine,
    DmaError, DmaProgress, DmaRequest, DmaTicket, EventError, EventId, EventKind, EventOutcome,
    EventReport, Events, HardwareQueue, ImportedMemory, Ipc, LinkInfo, MappedMemory, Memory,
    MemoryAccess, MemoryBank, MemoryError, MemoryFlags, MemoryHandle, MemoryRequest, Park,
    Profiling, QueueCreateError, QueueHandle, QueueRequest, QueueUpdate, Queues, SkippedAgent, Svm,
    SvmAttribute, SvmError, Timeout, Topology, TopologyError, VirtualMemory, WaitMode, WaveStop,
};
use core::error::Error;
use core::ptr::NonNull;

/// A call of a backend that does something. Questions whose answers never change, and clocks, are
/// not shown to hooks, but for the one question that can fail.
#[derive(Clone, Copy, Debug)]
#[allow(
    missing_docs,
    reason = "the fields are the parameters of the trait's method"
)]
pub enum Call<'a> {
    /// [`Topology::agent`].
    Agent(AgentId),
    /// [`Memory::allocate`]; gives the handle.
    Allocate(&'a MemoryRequest),
    /// [`Memory::free`].
    Free(MemoryHandle),
    /// [`Memory::map`].
    Map {
        handle: MemoryHandle,
        agents: &'a [AgentId],
    },
    /// [`Memory::unmap`].
    Unmap {
        handle: MemoryHandle,
        agents: &'a [AgentId],
    },
    /// [`Memory::register_host`]; gives the handle.
    RegisterHost {
        address: u64,
        size: u64,
        flags: MemoryFlags,
        agents: &'a [AgentId],
    },
    /// [`Queues::create_queue`]; gives the handle.
    CreateQueue(&'a QueueRequest),
    /// [`Queues::destroy_queue`].
    DestroyQueue(QueueHandle),
    /// [`Queues::update_queue`].
    UpdateQueue(QueueHandle, &'a QueueUpdate),
    /// [`Queues::set_cu_mask`].
    SetCuMask(QueueHandle, &'a [u32]),
    /// [`Queues::ring_doorbell`]; cannot fail.
    RingDoorbell(QueueHandle, u64),
    /// [`Queues::invalidate_code`].
    InvalidateCode(AgentId),
    /// [`Events::create_event`]; gives the id.
    CreateEvent(EventKind),
    /// [`Events::destroy_event`].
    DestroyEvent(EventId),
    /// [`Events::set_event`].
    SetEvent(EventId),
    /// [`Events::wait_events`]; gives 1 if they were raised. One that is refused is a wait that ends early.
    WaitEvents {
        events: &'a [EventId],
        mode: WaitMode,
        timeout: Timeout,
    },
    /// [`Dma::copy`].
    Copy {
        agent: AgentId,
        to: u64,
        from: u64,
        bytes: u64,
    },
    /// [`Dma::submit`]; gives the ticket.
    Submit(&'a DmaRequest<'a>),
    /// [`Ipc::export_dmabuf`]; gives the descriptor.
    ExportDmabuf(MemoryHandle),
    /// [`Ipc::import_dmabuf`]; gives the handle.
    ImportDmabuf(AgentId, i32),
    /// [`VirtualMemory::reserve`]; gives the address.
    Reserve { size: u64, align: u64, wish: u64 },
    /// [`VirtualMemory::unreserve`]; cannot fail.
    Unreserve { address: u64, size: u64 },
    /// [`VirtualMemory::create_memory`]; gives the handle.
    CreateMemory(&'a MemoryRequest),
    /// [`VirtualMemory::import_memory`]; gives the handle.
    ImportMemory(i32),
    /// [`VirtualMemory::map_memory`]; gives the mapping's handle.
    MapMemory { memory: MemoryHandle, address: u64 },
    /// [`VirtualMemory::unmap_memory`].
    UnmapMemory(MemoryHandle),
    /// [`VirtualMemory::set_access`].
    SetAccess {
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    },
    /// [`Svm::set_svm`].
    SetSvm {
        address: u64,
        size: u64,
        set: &'a [SvmAttribute],
    },
    /// [`Svm::svm`].
    Svm { address: u64, size: u64 },
}

/// What a hook wants done with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The backend gets it.
    Pass,
    /// The backend does not get it, and the caller gets an error as from a system without resources.
    Refuse,
}

/// Sees calls, from any thread.
pub trait Hook: Send + Sync {
    /// Before a call.
    fn before(&self, call: &Call<'_>) -> Verdict {
        let _ = call;
        Verdict::Pass
    }

    /// After it, with the number that it gave ([`Call`] says which; else 0), also if it was refused.
    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn Error>) {
        let _ = (call, outcome);
    }

    /// After [`Memory::allocate`] has succeeded: what it gave. For hooks that play the device.
    fn allocated(&self, allocation: &Allocation) {
        let _ = allocation;
    }

    /// An event's mailbox is at an address, where it stays while the backend lives: an answer of [`Events::mailbox`].
    fn mailbox(&self, event: EventId, address: u64) {
        let _ = (event, address);
    }

    /// After [`Events::wait_events`] has asked the backend: what its caller is told besides. For hooks that play the device.
    fn reports(&self, report: &mut dyn FnMut(EventReport)) {
        let _ = report;
    }
}

impl<H: Hook + ?Sized> Hook for &H {
    fn before(&self, call: &Call<'_>) -> Verdict {
        (**self).before(call)
    }

    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn Error>) {
        (**self).after(call, outcome);
    }

    fn allocated(&self, allocation: &Allocation) {
        (**self).allocated(allocation);
    }

    fn mailbox(&self, event: EventId, address: u64) {
        (**self).mailbox(event, address);
    }

    fn reports(&self, report: &mut dyn FnMut(EventReport)) {
        (**self).reports(report);
    }
}

#[cfg(feature = "alloc")]
impl<H: Hook + ?Sized> Hook for alloc::sync::Arc<H> {
    fn before(&self, call: &Call<'_>) -> Verdict {
        (**self).before(call)
    }

    fn after(&self, call: &Call<'_>, outcome: Result<u64, &dyn Error>) {
        (**self).after(call, outcome);
    }

    fn allocated(&self, allocation: &Allocation) {
        (**self).allocated(allocation);
    }

    fn mailbox(&self, event: EventId, address: u64) {
        (**self).mailbox(event, address);
    }

    fn reports(&self, report: &mut dyn FnMut(EventReport)) {
        (**self).reports(report);
    }
}

/// A backend with a hook.
#[derive(Clone, Debug)]
pub struct Wrap<B, H> {
    inner: B,
    hook: H,
}

impl<B, H> Wrap<B, H> {
    /// Puts the hook around the backend.
    pub const fn new(inner: B, hook: H) -> Self {
        Self { inner, hook }
    }

    /// The backend inside.
    pub const fn inner(&self) -> &B {
        &self.inner
    }

    /// The hook.
    pub const fn hook(&self) -> &H {
        &self.hook
    }
}

/// `ENOMEM`, which all systems know.
const NO_MEMORY: i32 = 12;

impl<B, H: Hook> Wrap<B, H> {
    fn call<T, E: Error>(
        &self,
        call: &Call<'_>,
        refused: impl FnOnce() -> E,
        pass: impl FnOnce() -> Result<T, E>,
        number: impl FnOnce(&T) -> u64,
    ) -> Result<T, E> {
        let result = match self.hook.before(call) {
            Verdict::Pass => pass(),
            Verdict::Refuse => Err(refused()),
        };
        match &result {
            Ok(value) => self.hook.after(call, Ok(number(value))),
            Err(error) => self.hook.after(call, Err(error)),
        }
        result
    }

    fn memory<T>(
        &self,
        call: &Call<'_>,
        pass: impl FnOnce() -> Result<T, MemoryError>,
        number: impl FnOnce(&T) -> u64,
    ) -> Result<T, MemoryError> {
        let refused = || match call {
            Call::Allocate(request) | Call::CreateMemory(request) => MemoryError::OutOfMemory {
                size: request.size,
                available: 0,
            },
            Call::ImportDmabuf(..) => MemoryError::Os {
                call: "import_dmabuf",
                size: 0,
                errno: NO_MEMORY,
            },
            Call::RegisterHost { size, .. } => MemoryError::Os {
                call: "register_host",
                size: *size,
                errno: NO_MEMORY,
            },
            _ => MemoryError::Os {
                call: "map",
                size: 0,
                errno: NO_MEMORY,
            },
        };
        self.call(call, refused, pass, number)
    }

    fn queue<T>(
        &self,
        call: &Call<'_>,
        name: &'static str,
        pass: impl FnOnce() -> Result<T, QueueCreateError>,
        number: impl FnOnce(&T) -> u64,
    ) -> Result<T, QueueCreateError> {
        let refused = || QueueCreateError::Os {
            call: name,
            errno: NO_MEMORY,
        };
        self.call(call, refused, pass, number)
    }

    fn event<T>(
        &self,
        call: &Call<'_>,
        name: &'static str,
        pass: impl FnOnce() -> Result<T, EventError>,
        number: impl FnOnce(&T) -> u64,
    ) -> Result<T, EventError> {
        let refused = || EventError::Os {
            call: name,
            errno: NO_MEMORY,
        };
        self.call(call, refused, pass, number)
    }
}

const fn nothing(_: &()) -> u64 {
    0
}

impl<B: Topology, H: Hook> Topology for Wrap<B, H> {
    fn agent_count(&self) -> u32 {
        self.inner.agent_count()
    }

    fn agent(&self, agent: AgentId) -> Result<AgentInfo, TopologyError> {
        let refused = || TopologyError::Os {
            call: "agent",
            errno: NO_MEMORY,
        };
        let pass = || self.inner.agent(agent);
        self.call(&Call::Agent(agent), refused, pass, |_| 0)
    }

    fn memory_banks(&self, agent: AgentId, visit: &mut dyn FnMut(&MemoryBank)) {
        self.inner.memory_banks(agent, visit);
    }

    fn caches(&self, agent: AgentId, visit: &mut dyn FnMut(&CacheInfo)) {
        self.inner.caches(agent, visit);
    }

    fn links(&self, visit: &mut dyn FnMut(&LinkInfo)) {
        self.inner.links(visit);
    }

    fn skipped(&self, visit: &mut dyn FnMut(&SkippedAgent)) {
        self.inner.skipped(visit);
    }
}

// SAFETY: every answer is the inner backend's, which keeps the contract, or an error.
unsafe impl<B: Memory, H: Hook> Memory for Wrap<B, H> {
    fn page_size(&self) -> u64 {
        self.inner.page_size()
    }

    fn allocate(&self, request: &MemoryRequest) -> Result<Allocation, MemoryError> {
        let pass = || self.inner.allocate(request);
        let result = self.memory(&Call::Allocate(request), pass, |a| a.handle.0);
        if let Ok(allocation) = &result {
            self.hook.allocated(allocation);
        }
        result
    }

    unsafe fn free(&self, handle: MemoryHandle) -> Result<(), MemoryError> {
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.free(handle) };
        self.memory(&Call::Free(handle), pass, nothing)
    }

    fn map(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        let pass = || self.inner.map(handle, agents);
        self.memory(&Call::Map { handle, agents }, pass, nothing)
    }

    fn unmap(&self, handle: MemoryHandle, agents: &[AgentId]) -> Result<(), MemoryError> {
        let pass = || self.inner.unmap(handle, agents);
        self.memory(&Call::Unmap { handle, agents }, pass, nothing)
    }

    unsafe fn register_host(
        &self,
        address: NonNull<u8>,
        size: u64,
        flags: MemoryFlags,
        agents: &[AgentId],
    ) -> Result<Allocation, MemoryError> {
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.register_host(address, size, flags, agents) };
        let call = Call::RegisterHost {
            address: address.addr().get() as u64,
            size,
            flags,
            agents,
        };
        self.memory(&call, pass, |a| a.handle.0)
    }

    fn flush_host_writes(&self, agent: AgentId) {
        self.inner.flush_host_writes(agent);
    }

    fn available(&self, bank: BankId) -> Result<u64, MemoryError> {
        self.inner.available(bank)
    }
}

impl<B: Queues, H: Hook> Queues for Wrap<B, H> {
    fn create_queue(&self, request: &QueueRequest) -> Result<HardwareQueue, QueueCreateError> {
        let pass = || self.inner.create_queue(request);
        let call = Call::CreateQueue(request);
        self.queue(&call, "create_queue", pass, |q| q.handle.0)
    }

    fn destroy_queue(&self, queue: QueueHandle) -> Result<(), QueueCreateError> {
        let pass = || self.inner.destroy_queue(queue);
        self.queue(&Call::DestroyQueue(queue), "destroy_queue", pass, nothing)
    }

    fn update_queue(
        &self,
        queue: QueueHandle,
        update: &QueueUpdate,
    ) -> Result<(), QueueCreateError> {
        let pass = || self.inner.update_queue(queue, update);
        let call = Call::UpdateQueue(queue, update);
        self.queue(&call, "update_queue", pass, nothing)
    }

    fn set_cu_mask(&self, queue: QueueHandle, mask: &[u32]) -> Result<(), QueueCreateError> {
        let pass = || self.inner.set_cu_mask(queue, mask);
        self.queue(&Call::SetCuMask(queue, mask), "set_cu_mask", pass, nothing)
    }

    fn ring_doorbell(&self, queue: QueueHandle, value: u64) {
        let call = Call::RingDoorbell(queue, value);
        if self.hook.before(&call) == Verdict::Pass {
            self.inner.ring_doorbell(queue, value);
        }
        self.hook.after(&call, Ok(0));
    }

    fn invalidate_code(&self, agent: AgentId) -> Result<(), QueueCreateError> {
        let pass = || self.inner.invalidate_code(agent);
        let call = Call::InvalidateCode(agent);
        self.queue(&call, "invalidate_code", pass, nothing)
    }
}

impl<B: Events, H: Hook> Events for Wrap<B, H> {
    fn parker(&self) -> &dyn Park {
        self.inner.parker()
    }

    fn create_event(&self, kind: EventKind) -> Result<EventId, EventError> {
        let pass = || self.inner.create_event(kind);
        let call = Call::CreateEvent(kind);
        self.event(&call, "create_event", pass, |e| u64::from(e.0))
    }

    fn destroy_event(&self, event: EventId) -> Result<(), EventError> {
        let pass = || self.inner.destroy_event(event);
        self.event(&Call::DestroyEvent(event), "destroy_event", pass, nothing)
    }

    fn mailbox(&self, event: EventId) -> u64 {
        let address = self.inner.mailbox(event);
        self.hook.mailbox(event, address);
        address
    }

    fn set_event(&self, event: EventId) -> Result<(), EventError> {
        let pass = || self.inner.set_event(event);
        self.event(&Call::SetEvent(event), "set_event", pass, nothing)
    }

    fn wait_events(
        &self,
        events: &[EventId],
        mode: WaitMode,
        timeout: Timeout,
        report: &mut dyn FnMut(EventReport),
    ) -> Result<EventOutcome, EventError> {
        let call = Call::WaitEvents {
            events,
            mode,
            timeout,
        };
        let result = match self.hook.before(&call) {
            Verdict::Pass => self.inner.wait_events(events, mode, timeout, report),
            // Progress may depend on waiting: a wait that ends early has looked, at least.
            Verdict::Refuse => self.inner.wait_events(events, mode, Timeout::Poll, report),
        };
        if result.is_ok() {
            self.hook.reports(report);
        }
        match &result {
            Ok(outcome) => {
                let raised = u64::from(*outcome == EventOutcome::Raised);
                self.hook.after(&call, Ok(raised));
            }
            Err(error) => self.hook.after(&call, Err(error)),
        }
        result
    }
}

impl<B: Clock, H: Hook> Clock for Wrap<B, H> {
    fn now(&self) -> u64 {
        self.inner.now()
    }

    fn counters(&self, agent: AgentId) -> ClockCounters {
        self.inner.counters(agent)
    }

    fn device_frequency(&self, agent: AgentId) -> u64 {
        self.inner.device_frequency(agent)
    }

    fn relax(&self) {
        self.inner.relax();
    }
}

impl<B: Dma, H: Hook> Dma for Wrap<B, H> {
    fn dma_engine(&self, agent: AgentId) -> Option<DmaEngine> {
        self.inner.dma_engine(agent)
    }

    unsafe fn copy(&self, agent: AgentId, to: u64, from: u64, bytes: u64) -> Result<(), DmaError> {
        let call = Call::Copy {
            agent,
            to,
            from,
            bytes,
        };
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.copy(agent, to, from, bytes) };
        self.call(&call, no_engine, pass, nothing)
    }

    unsafe fn submit(&self, request: &DmaRequest<'_>) -> Result<DmaTicket, DmaError> {
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.submit(request) };
        self.call(&Call::Submit(request), no_engine, pass, |ticket| ticket.0)
    }

    fn dma_progress(&self, agent: AgentId, ticket: DmaTicket) -> DmaProgress {
        self.inner.dma_progress(agent, ticket)
    }

    fn abandon_dma(&self, agent: AgentId) {
        self.inner.abandon_dma(agent);
    }
}

impl<B: Ipc, H: Hook> Ipc for Wrap<B, H> {
    fn has_dmabufs(&self) -> bool {
        self.inner.has_dmabufs()
    }

    fn export_dmabuf(&self, handle: MemoryHandle) -> Result<i32, MemoryError> {
        let pass = || self.inner.export_dmabuf(handle);
        self.memory(&Call::ExportDmabuf(handle), pass, |fd| *fd as u64)
    }

    fn import_dmabuf(&self, agent: AgentId, descriptor: i32) -> Result<Allocation, MemoryError> {
        self.memory(
            &Call::ImportDmabuf(agent, descriptor),
            || self.inner.import_dmabuf(agent, descriptor),
            |allocation| allocation.handle.0,
        )
    }
}

impl<B: Svm, H: Hook> Svm for Wrap<B, H> {
    fn has_svm(&self) -> bool {
        self.inner.has_svm()
    }

    fn set_svm(&self, address: u64, size: u64, set: &[SvmAttribute]) -> Result<(), SvmError> {
        let pass = || self.inner.set_svm(address, size, set);
        self.call(&Call::SetSvm { address, size, set }, no_svm, pass, nothing)
    }

    fn svm(&self, address: u64, size: u64, ask: &mut [SvmAttribute]) -> Result<(), SvmError> {
        let pass = || self.inner.svm(address, size, ask);
        self.call(&Call::Svm { address, size }, no_svm, pass, nothing)
    }
}

const fn no_engine() -> DmaError {
    DmaError::NotSupported("DMA engines, at the moment")
}

const fn no_svm() -> SvmError {
    SvmError::Os {
        call: "svm",
        errno: NO_MEMORY,
    }
}

// SAFETY: every answer is the inner backend's, which keeps the contract, or an error.
unsafe impl<B: VirtualMemory, H: Hook> VirtualMemory for Wrap<B, H> {
    fn has_virtual_memory(&self) -> bool {
        self.inner.has_virtual_memory()
    }

    fn reserve(&self, size: u64, align: u64, wish: u64) -> Result<u64, MemoryError> {
        let pass = || self.inner.reserve(size, align, wish);
        self.memory(&Call::Reserve { size, align, wish }, pass, |at| *at)
    }

    unsafe fn unreserve(&self, address: u64, size: u64) {
        let call = Call::Unreserve { address, size };
        // Shown alone: what cannot fail is not refused.
        let _ = self.hook.before(&call);
        // SAFETY: the caller's promise is the same.
        unsafe { self.inner.unreserve(address, size) };
        self.hook.after(&call, Ok(0));
    }

    fn create_memory(&self, request: &MemoryRequest) -> Result<MemoryHandle, MemoryError> {
        let pass = || self.inner.create_memory(request);
        self.memory(&Call::CreateMemory(request), pass, |handle| handle.0)
    }

    fn import_memory(&self, descriptor: i32) -> Result<ImportedMemory, MemoryError> {
        let pass = || self.inner.import_memory(descriptor);
        self.memory(&Call::ImportMemory(descriptor), pass, |memory| {
            memory.handle.0
        })
    }

    unsafe fn map_memory(
        &self,
        memory: MemoryHandle,
        address: u64,
    ) -> Result<MappedMemory, MemoryError> {
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.map_memory(memory, address) };
        self.memory(&Call::MapMemory { memory, address }, pass, |mapped| {
            mapped.handle.0
        })
    }

    unsafe fn unmap_memory(&self, mapping: MemoryHandle) -> Result<(), MemoryError> {
        // SAFETY: the caller's promise is the same.
        let pass = || unsafe { self.inner.unmap_memory(mapping) };
        self.memory(&Call::UnmapMemory(mapping), pass, nothing)
    }

    fn set_access(
        &self,
        mapping: MemoryHandle,
        agent: AgentId,
        access: MemoryAccess,
    ) -> Result<(), MemoryError> {
        let call = Call::SetAccess {
            mapping,
            agent,
            access,
        };
        let pass = || self.inner.set_access(mapping, agent, access);
        self.memory(&call, pass, nothing)
    }
}

/// A question: hooks are not asked.
impl<B: Debug, H: Hook> Debug for Wrap<B, H> {
    fn wave_stop(&self, queue: QueueHandle, show: &mut dyn FnMut(&WaveStop<'_>)) {
        self.inner.wave_stop(queue, show);
    }
}

// These have no methods yet.
impl<B: Profiling, H: Hook> Profiling for Wrap<B, H> {}
