//! SDMA queues: packets written by hand, as a runtime's copy engine does.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rukh_core::backend::{
    AgentId, AgentKind, Allocation, Backend, BankId, Doorbell, EventId, EventKind, EventOutcome,
    EventReport, Events, HardwareQueue, MemoryFlags, MemoryRequest, QueueKind, QueuePriority,
    QueueRequest, Timeout, WaitMode,
};
use rukh_core::isa::Isa;
use rukh_core::wire::sdma::{Generation, Writer};

use super::failure::{ensure, ensure_eq};
use super::{Factory, Failure, Outcome};

const PAGE: u64 = 4096;
const RING: u64 = 4 * PAGE;

/// Memory that host and GPU reach, and an engine's queue.
struct Engine<'b, B: Backend> {
    backend: &'b B,
    gpu: AgentId,
    generation: Generation,
    /// How long to wait for what must come, in nanoseconds.
    patience: u64,
    queue: Option<HardwareQueue>,
    /// Ring, page of pointers, page of data.
    memory: Vec<Allocation>,
}

impl<'b, B: Backend> Engine<'b, B> {
    fn new(backend: &'b B, patience: Duration) -> Outcome<Self> {
        let broken = |what: &str| Failure::Broken(what.into());
        let gpu = (0..backend.agent_count()).map(AgentId).find_map(|id| {
            match backend.agent(id).map(|agent| agent.kind) {
                Ok(AgentKind::Gpu(info)) => Some((id, info)),
                _ => None,
            }
        });
        let (gpu, info) = gpu.ok_or_else(|| broken("there is no GPU"))?;
        let isa = info.isa.parse::<Isa>()?;
        let generation = Generation::of_processor(isa.processor());
        let mut engine = Self {
            backend,
            gpu,
            generation: generation.ok_or_else(|| broken("the GPU has engines of no generation"))?,
            patience: patience.as_nanos() as u64,
            queue: None,
            memory: Vec::new(),
        };
        for bytes in [RING, PAGE, 16 * PAGE] {
            engine.allocate(bytes)?;
        }
        let pointers = engine.memory[1].gpu_va;
        engine.queue = Some(backend.create_queue(&QueueRequest {
            agent: gpu,
            kind: QueueKind::Sdma,
            ring: engine.memory[0].gpu_va,
            ring_bytes: RING,
            write_index: pointers,
            read_index: pointers + 8,
            descriptor: 0,
            priority: QueuePriority::High,
            error_event: None,
        })?);
        Ok(engine)
    }

    fn allocate(&mut self, size: u64) -> Outcome<Allocation> {
        let allocation = self.backend.allocate(&MemoryRequest {
            bank: BankId {
                agent: AgentId(0),
                index: 0,
            },
            size,
            align: PAGE,
            flags: MemoryFlags::HOST_ACCESS
                | MemoryFlags::WRITABLE
                | MemoryFlags::EXECUTABLE
                | MemoryFlags::COHERENT
                | MemoryFlags::UNCACHED
                | MemoryFlags::QUEUE,
        })?;
        self.memory.push(allocation);
        self.backend.map(allocation.handle, &[self.gpu])?;
        Ok(allocation)
    }

    fn host(&self, which: usize) -> Outcome<NonNull<u8>> {
        let host = self.memory[which].host;
        host.ok_or_else(|| Failure::Broken("memory that the host does not map".into()))
    }

    /// A dword of the data, by its number.
    fn dword(&self, number: u64) -> Outcome<&AtomicU32> {
        let host = self.host(2)?.as_ptr().cast::<u32>();
        assert!(number * 4 < self.memory[2].size);
        // SAFETY: within the data, which is mapped as long as `self` lives, and aligned.
        Ok(unsafe { AtomicU32::from_ptr(host.add(number as usize)) })
    }

    /// Its address.
    fn address(&self, number: u64) -> u64 {
        self.memory[2].gpu_va + number * 4
    }

    fn pointer(&self, number: usize) -> Outcome<&AtomicU64> {
        // SAFETY: the page of pointers, mapped as long as `self` lives.
        Ok(unsafe { AtomicU64::from_ptr(self.host(1)?.as_ptr().cast::<u64>().add(number)) })
    }

    /// Publishes packets.
    fn send(
        &self,
        fill: impl FnOnce(&mut Writer<'_>) -> Result<(), rukh_core::wire::sdma::Full>,
    ) -> Outcome {
        let mut buffer = [0; 512];
        let mut writer = Writer::new(self.generation, &mut buffer);
        fill(&mut writer)?;
        let write = self.pointer(0)?;
        let begin = write.load(Ordering::Relaxed);
        let ring = self.host(0)?.as_ptr().cast::<u32>();
        for (index, dword) in (0..).zip(writer.written()) {
            let at = (begin / 4 + index) % (RING / 4);
            // SAFETY: within the ring, which is mapped as long as `self` lives.
            unsafe { ptr::write_volatile(ring.add(at as usize), *dword) };
        }
        let end = begin + writer.written().len() as u64 * 4;
        write.store(end, Ordering::Release);
        match self.queue {
            Some(HardwareQueue {
                doorbell: Doorbell::Mmio(register),
                ..
            }) => {
                // SAFETY: a register of a queue that exists.
                unsafe { register.as_ref() }.store(end, Ordering::Release);
            }
            Some(queue) => self.backend.ring_doorbell(queue.handle, end),
            None => {}
        }
        Ok(())
    }

    /// Waits until all packets are consumed.
    fn finish(&self) -> Outcome {
        let begun = self.backend.now();
        let mut looks = 0u32;
        while self.pointer(1)?.load(Ordering::Acquire) != self.pointer(0)?.load(Ordering::Relaxed) {
            ensure!(
                self.backend.now() - begun < self.patience,
                "the queue does not end"
            );
            self.backend.relax();
            looks += 1;
            if looks > 1000 {
                // What it waits for may need this thread's processor.
                let word = AtomicU32::new(0);
                self.backend.parker().park(&word, 0, Some(50_000));
            }
        }
        Ok(())
    }
}

impl<B: Backend> Drop for Engine<'_, B> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue {
            let _ = self.backend.destroy_queue(queue.handle);
        }
        for allocation in &self.memory {
            // SAFETY: the queue that used it is gone.
            let _ = unsafe { self.backend.free(allocation.handle) };
        }
    }
}

pub(super) fn copies_and_fills_arrive_in_order<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let engine = Engine::new(&backend, factory.patience())?;
    for number in 0..1000 {
        engine
            .dword(number)?
            .store(number as u32 * 7, Ordering::Relaxed);
    }
    // More than the ring holds, so that it wraps.
    for round in 0..40 {
        let (from, to) = (engine.address(0), engine.address(2000));
        engine.send(|w| {
            w.copy(to, from, 4000)?;
            w.fill(engine.address(3000), round, 500)?;
            w.copy(engine.address(4000), to, 4000)?;
            w.write(engine.address(5000), &[round; 60])?;
            w.fence(engine.address(6000), round)
        })?;
        engine.finish()?;
        for number in 0..1000 {
            let expected = number as u32 * 7;
            ensure_eq!(
                engine.dword(4000 + number)?.load(Ordering::Relaxed),
                expected
            );
        }
        ensure_eq!(engine.dword(3499)?.load(Ordering::Relaxed), round);
        ensure_eq!(engine.dword(3500)?.load(Ordering::Relaxed), 0);
        ensure_eq!(engine.dword(5059)?.load(Ordering::Relaxed), round);
        ensure_eq!(engine.dword(6000)?.load(Ordering::Relaxed), round);
    }
    Ok(())
}

pub(super) fn a_wait_holds_back_what_follows_and_an_event_tells<F: Factory>(
    factory: &F,
) -> Outcome {
    let backend = factory.make();
    let event = backend.create_event(EventKind::Signal)?;
    let outcome = wait_and_tell(&backend, event, factory.patience());
    let _ = backend.destroy_event(event);
    outcome
}

fn wait_and_tell<B: Backend>(backend: &B, event: EventId, patience: Duration) -> Outcome {
    let engine = Engine::new(backend, patience)?;
    engine.dword(0)?.store(1, Ordering::Relaxed);
    engine.dword(2)?.store(5, Ordering::Relaxed);
    engine.send(|w| {
        w.wait_for_zero(engine.address(0))?;
        w.timestamp(engine.address(8))?;
        w.flush_host_data_path()?;
        w.caches(true)?;
        w.fill(engine.address(100), 9, 1)?;
        w.caches(false)?;
        w.timestamp(engine.address(10))?;
        w.add_64(engine.address(2), -1)?;
        w.fence(backend.mailbox(event), event.0)?;
        w.trap(event.0)
    })?;
    let wait =
        |timeout| backend.wait_events(&[event], WaitMode::Any, timeout, &mut |_: EventReport| {});
    let moment = Timeout::At(backend.now() + 5_000_000);
    ensure_eq!(wait(moment)?, EventOutcome::TimedOut);
    ensure_eq!(engine.dword(100)?.load(Ordering::Relaxed), 0);
    engine.dword(0)?.store(0, Ordering::Release);
    let deadline = Timeout::At(backend.now() + engine.patience);
    ensure_eq!(wait(deadline)?, EventOutcome::Raised);
    ensure_eq!(engine.dword(100)?.load(Ordering::Acquire), 9);
    ensure_eq!(engine.dword(2)?.load(Ordering::Relaxed), 4);
    let time = |number| -> Outcome<u64> {
        let half = |n| Ok::<_, Failure>(u64::from(engine.dword(n)?.load(Ordering::Relaxed)));
        Ok(half(number)? | half(number + 1)? << 32)
    };
    let now = backend.counters(engine.gpu).device;
    ensure!(0 < time(8)? && time(8)? <= time(10)? && time(10)? <= now);
    engine.finish()
}

pub(super) fn a_bad_address_is_reported<F: Factory>(factory: &F) -> Outcome {
    let backend = factory.make();
    let event = backend.create_event(EventKind::MemoryFault)?;
    let outcome = fault(
        &backend,
        event,
        factory.patience(),
        !factory.faults_stop_the_agent(),
    );
    let _ = backend.destroy_event(event);
    outcome
}

/// `apart`: a bad address of one queue leaves the others alone.
fn fault<B: Backend>(backend: &B, event: EventId, patience: Duration, apart: bool) -> Outcome {
    let engine = Engine::new(backend, patience)?;
    let bystander = Engine::new(backend, patience)?;
    // The first page is never mapped.
    engine.send(|w| w.fence(0x10, 1))?;
    let mut reports = Vec::new();
    let deadline = Timeout::At(backend.now() + engine.patience);
    let outcome = backend.wait_events(&[event], WaitMode::Any, deadline, &mut |report| {
        reports.push(report);
    })?;
    ensure_eq!(outcome, EventOutcome::Raised);
    ensure!(
        matches!(
            reports[..],
            [EventReport::Memory(agent, info), ..]
                if agent == engine.gpu && info.address == 0 && info.not_present
        ),
        "{reports:?}"
    );
    if apart {
        bystander.send(|w| w.fence(bystander.address(0), 3))?;
        bystander.finish()?;
        ensure_eq!(bystander.dword(0)?.load(Ordering::Relaxed), 3);
    }
    Ok(())
}
