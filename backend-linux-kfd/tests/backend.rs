//! Memory, events and queues over a driver that keeps books.

mod fake;

use fake::{Fake, FakeGpu};
use rukh_backend_linux_kfd::{KfdBackend, RuntimeMode, XnackMode};
use rukh_core::backend::*;
use rukh_core::kfd::uapi::{AllocFlags, ContextSaveAreaHeader};
use rukh_core::queue::QueueStatus;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CPU: AgentId = AgentId(0);
/// Of gfx90a's tree.
const GPU: AgentId = AgentId(2);
const HOST: BankId = BankId {
    agent: CPU,
    index: 0,
};
const VRAM: BankId = BankId {
    agent: GPU,
    index: 0,
};

fn request(bank: BankId, size: u64, flags: MemoryFlags) -> MemoryRequest {
    MemoryRequest {
        bank,
        size,
        align: 4096,
        flags,
    }
}

fn host() -> MemoryFlags {
    MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE
}

fn queue_flags() -> MemoryFlags {
    host()
        | MemoryFlags::EXECUTABLE
        | MemoryFlags::COHERENT
        | MemoryFlags::UNCACHED
        | MemoryFlags::QUEUE
}

/// SAFETY for all uses: tests free what nobody uses any more.
fn free<B: Memory>(backend: &B, handle: MemoryHandle) -> Result<(), MemoryError> {
    // SAFETY: see above.
    unsafe { backend.free(handle) }
}

#[test]
fn host_memory_is_the_process_s_own_until_a_gpu_maps_it() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let own = fake.kernel().bos.len();
    let memory = backend
        .allocate(&request(HOST, 0x3000, host() | MemoryFlags::COHERENT))
        .unwrap();
    assert_eq!(fake.kernel().bos.len(), own);
    let bytes = memory.host.unwrap();
    assert_eq!(bytes.as_ptr().addr() as u64, memory.gpu_va);
    // SAFETY: fresh memory of this test.
    unsafe { bytes.write(7) };
    backend.map(memory.handle, &[CPU, GPU, GPU]).unwrap();
    {
        let kernel = fake.kernel();
        let (_, bo) = kernel
            .mapping_at(FakeGpu::GFX90A.id, memory.gpu_va)
            .unwrap();
        assert_eq!(
            (bo.va, bo.host, bo.size),
            (memory.gpu_va, memory.gpu_va, 0x3000)
        );
        assert_eq!(
            bo.flags,
            AllocFlags::USERPTR
                | AllocFlags::WRITABLE
                | AllocFlags::COHERENT
                | AllocFlags::NO_SUBSTITUTE
        );
    }
    backend.unmap(memory.handle, &[GPU]).unwrap();
    assert!(
        fake.kernel()
            .mapping_at(FakeGpu::GFX90A.id, memory.gpu_va)
            .is_none()
    );
    free(&backend, memory.handle).unwrap();
    assert_eq!(
        free(&backend, memory.handle),
        Err(MemoryError::NoAllocation {
            handle: memory.handle
        })
    );
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn device_memory_is_at_one_address_on_host_and_gpu_and_reads_as_zero() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let size = 4 << 20;
    let memory = backend.allocate(&request(VRAM, size, host())).unwrap();
    assert!(memory.gpu_va.is_multiple_of(2 << 20), "a whole fragment");
    let bytes = memory.host.unwrap();
    assert_eq!(bytes.as_ptr().addr() as u64, memory.gpu_va);
    // SAFETY: mapped for `size` bytes.
    unsafe {
        assert_eq!(bytes.add(size as usize - 1).read(), 0);
        bytes.add(size as usize - 1).write(1);
    }
    let unmapped = backend
        .allocate(&request(VRAM, 0x1000, MemoryFlags::WRITABLE))
        .unwrap();
    assert_eq!(unmapped.host, None);
    assert_eq!(backend.available(VRAM).unwrap(), (64 << 30) - size - 0x1000);
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn alignment_is_kept_and_nonsense_is_refused() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let mut wish = request(HOST, 0x1000, host());
    wish.align = 1 << 30;
    assert!(
        backend
            .allocate(&wish)
            .unwrap()
            .gpu_va
            .is_multiple_of(1 << 30)
    );
    for (size, align) in [(0, 4096), (4097, 4096), (4096, 2048), (4096, 12288)] {
        let mut wish = request(HOST, size, host());
        wish.align = align;
        let page = 4096;
        assert_eq!(
            backend.allocate(&wish).unwrap_err(),
            MemoryError::BadSize { size, align, page }
        );
    }
    let huge = backend
        .allocate(&request(HOST, 1 << 60, host()))
        .unwrap_err();
    assert!(matches!(huge, MemoryError::OutOfMemory { .. }));
    let bank = BankId {
        agent: GPU,
        index: 9,
    };
    assert_eq!(
        backend.allocate(&request(bank, 4096, host())).unwrap_err(),
        MemoryError::NoBank { bank }
    );
    let agent = AgentId(99);
    let memory = backend.allocate(&request(HOST, 4096, host())).unwrap();
    assert_eq!(
        backend.map(memory.handle, &[agent]),
        Err(MemoryError::BadAgent { agent })
    );
}

#[test]
fn a_mapping_that_is_interrupted_goes_on_where_it_stopped() {
    let fake = Fake::new("gfx942", &FakeGpu::GFX942);
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let memory = backend.allocate(&request(HOST, 0x1000, host())).unwrap();
    fake.kernel().interrupt_map_after = Some(1);
    fake.kernel().log.clear();
    backend
        .map(memory.handle, &[AgentId(1), AgentId(2)])
        .unwrap();
    let kernel = fake.kernel();
    let maps = kernel
        .log
        .iter()
        .filter(|name| **name == "MAP_MEMORY_TO_GPU");
    assert_eq!(maps.count(), 2);
    let bo = kernel.bos.values().last().unwrap();
    assert_eq!(bo.mapped.len(), 2);
}

#[test]
fn registered_memory_has_an_address_of_its_own_on_gpus_at_the_same_offset_in_its_page() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let mut bytes = vec![0u8; 20_000];
    let address = NonNull::new(bytes.as_mut_ptr()).unwrap();
    // SAFETY: `bytes` lives until the registration has ended.
    let memory = unsafe { backend.register_host(address, 20_000, host(), &[GPU]) }.unwrap();
    let start = address.as_ptr().addr() as u64;
    assert_ne!(memory.gpu_va, start);
    assert_eq!(memory.gpu_va & 4095, start & 4095);
    assert_eq!(memory.host, Some(address));
    {
        let kernel = fake.kernel();
        let (_, bo) = kernel
            .mapping_at(FakeGpu::GFX90A.id, memory.gpu_va & !4095)
            .unwrap();
        assert_eq!(bo.host, start & !4095);
        assert!(bo.host + bo.size >= start + 20_000);
    }
    free(&backend, memory.handle).unwrap();
    bytes[0] = 1;
    drop(backend);
    fake.kernel().assert_clean();
}

struct Ring {
    page: Allocation,
    ring: Allocation,
}

fn ring<B: Memory>(backend: &B, agent: AgentId, host: BankId, packets: u64) -> Ring {
    let block = |size| {
        let memory = backend
            .allocate(&request(host, size, queue_flags()))
            .unwrap();
        backend.map(memory.handle, &[agent]).unwrap();
        memory
    };
    Ring {
        page: block(4096),
        ring: block(packets * 64),
    }
}

fn wish(ring: &Ring, agent: AgentId, kind: QueueKind) -> QueueRequest {
    QueueRequest {
        agent,
        kind,
        ring: ring.ring.gpu_va,
        ring_bytes: ring.ring.size,
        write_index: ring.page.gpu_va + 0x38,
        read_index: ring.page.gpu_va + 0x80,
        descriptor: ring.page.gpu_va,
        priority: QueuePriority::Normal,
        error_event: None,
    }
}

/// The driver behind the fake refuses any other size of any buffer, as Linux 6.12 does.
#[test]
fn compute_queues_have_the_buffers_that_the_kernel_insists_on() {
    let machines: [(&str, &[FakeGpu], u32); 4] = [
        ("gfx90a", &[FakeGpu::GFX90A], 2),
        ("gfx942", &FakeGpu::GFX942, 1),
        ("gfx1100", &[FakeGpu::GFX1100], 1),
        ("apu", &[FakeGpu::APU], 1),
    ];
    for (machine, gpus, agent) in machines {
        for minor in [11, 17] {
            let fake = Fake::new(machine, gpus);
            fake.kernel().minor = minor;
            let backend = KfdBackend::open(fake.clone()).unwrap();
            let agent = AgentId(agent);
            let memory = ring(&backend, agent, HOST, 4096);
            let queue = backend
                .create_queue(&wish(&memory, agent, QueueKind::Compute))
                .unwrap_or_else(|error| panic!("{machine}, 1.{minor}: {error}"));
            let kernel = fake.kernel();
            let made = kernel.queues.values().next().unwrap();
            assert_eq!((made.kind, made.percentage, made.priority), (2, 100, 7));
            drop(kernel);
            backend.destroy_queue(queue.handle).unwrap();
            assert_eq!(
                backend.destroy_queue(queue.handle),
                Err(QueueCreateError::NoQueue(queue.handle))
            );
            drop(backend);
            fake.kernel().assert_clean();
        }
    }
}

#[test]
fn what_the_host_wrote_to_queue_memory_is_there_when_the_kernel_s_pages_replace_it() {
    let fake = Fake::new("gfx1100", &[FakeGpu::GFX1100]);
    let backend = KfdBackend::open(fake).unwrap();
    let memory = backend
        .allocate(&request(HOST, 0x2000, queue_flags()))
        .unwrap();
    let words = memory.host.unwrap().cast::<u64>();
    // SAFETY: mapped for 0x2000 bytes before and after.
    unsafe {
        words.add(1000).write(42);
        backend.map(memory.handle, &[AgentId(1)]).unwrap();
        assert_eq!(words.add(1000).read(), 42);
    }
}

#[test]
fn memory_that_a_queue_needs_cannot_be_freed_or_unmapped_until_the_queue_is_gone() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let memory = ring(&backend, GPU, HOST, 64);
    let queue = backend
        .create_queue(&wish(&memory, GPU, QueueKind::Compute))
        .unwrap();
    for handle in [memory.ring.handle, memory.page.handle] {
        let user = "a queue";
        assert_eq!(
            free(&backend, handle),
            Err(MemoryError::InUse { handle, user })
        );
        assert_eq!(
            backend.unmap(handle, &[GPU]),
            Err(MemoryError::InUse { handle, user })
        );
    }
    backend.destroy_queue(queue.handle).unwrap();
    free(&backend, memory.ring.handle).unwrap();
    free(&backend, memory.page.handle).unwrap();
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn a_queue_whose_buffers_are_no_whole_mappings_is_refused_by_name() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let memory = ring(&backend, GPU, HOST, 128);
    let good = wish(&memory, GPU, QueueKind::Compute);
    let cases = [
        (
            "ring",
            QueueRequest {
                ring: good.ring + 4096,
                ring_bytes: 4096,
                ..good
            },
        ),
        (
            "ring",
            QueueRequest {
                ring_bytes: 4096,
                ..good
            },
        ),
        (
            "write index",
            QueueRequest {
                write_index: good.ring + 8,
                ..good
            },
        ),
        (
            "read index",
            QueueRequest {
                read_index: 0x1234_5000,
                ..good
            },
        ),
    ];
    for (what, request) in cases {
        match backend.create_queue(&request) {
            Err(QueueCreateError::BadAddress { what: named, .. }) => assert_eq!(named, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let bytes = 3 * 4096;
    assert_eq!(
        backend
            .create_queue(&QueueRequest {
                ring_bytes: bytes,
                ..good
            })
            .unwrap_err(),
        QueueCreateError::BadRingSize { bytes }
    );
    let cpu = QueueRequest { agent: CPU, ..good };
    assert!(matches!(
        backend.create_queue(&cpu),
        Err(QueueCreateError::NoSuchKind { .. })
    ));
    // None of the failures holds on to anything.
    free(&backend, memory.ring.handle).unwrap();
    free(&backend, memory.page.handle).unwrap();
}

#[test]
fn doorbells_of_a_gpu_are_one_mapping_and_each_queue_has_its_register() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let registers: Vec<_> = (0..3)
        .map(|_| {
            let memory = ring(&backend, GPU, HOST, 64);
            let kind = QueueKind::Compute;
            match backend
                .create_queue(&wish(&memory, GPU, kind))
                .unwrap()
                .doorbell
            {
                Doorbell::Mmio(register) => register,
                Doorbell::Callback => panic!("a register is there"),
            }
        })
        .collect();
    let at = |n: usize| registers[n].as_ptr().addr();
    assert_eq!((at(1) - at(0), at(2) - at(0)), (8, 16));
    let kernel = fake.kernel();
    let pages = kernel
        .bos
        .values()
        .filter(|bo| bo.flags.contains(AllocFlags::DOORBELL));
    assert_eq!(pages.count(), 1);
}

#[test]
fn priorities_masks_and_activity_reach_the_driver() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let memory = ring(&backend, GPU, HOST, 64);
    let request = QueueRequest {
        priority: QueuePriority::High,
        ..wish(&memory, GPU, QueueKind::Compute)
    };
    let queue = backend.create_queue(&request).unwrap().handle;
    assert_eq!(fake.kernel().queues[&0].priority, 15);
    backend.set_cu_mask(queue, &[0xff, 0, 0, 1]).unwrap();
    assert_eq!(fake.kernel().queues[&0].mask, [0xff, 0, 0, 1]);
    assert!(backend.set_cu_mask(queue, &[]).is_err());
    let update = QueueUpdate {
        active: false,
        priority: QueuePriority::Low,
    };
    backend.update_queue(queue, &update).unwrap();
    let kernel = fake.kernel();
    assert_eq!(
        (kernel.queues[&0].percentage, kernel.queues[&0].priority),
        (0, 0)
    );
}

#[test]
fn sdma_queues_need_no_save_area() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let memory = ring(&backend, GPU, HOST, 0x4000);
    backend
        .create_queue(&wish(&memory, GPU, QueueKind::Sdma))
        .unwrap();
    assert_eq!(fake.kernel().queues[&0].kind, 1);
    assert_eq!(fake.kernel().queues[&0].buffers.len(), 3);
}

#[test]
fn mailboxes_are_slots_of_one_page_that_all_gpus_reach() {
    let fake = Fake::new("gfx942", &FakeGpu::GFX942);
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let fault = backend.create_event(EventKind::MemoryFault).unwrap();
    let first = backend.create_event(EventKind::Signal).unwrap();
    let second = backend.create_event(EventKind::Signal).unwrap();
    assert_eq!(backend.mailbox(fault), 0);
    assert_eq!(backend.mailbox(second) - backend.mailbox(first), 8);
    let slot: *const u64 = std::ptr::with_exposed_provenance(backend.mailbox(first) as usize);
    // SAFETY: the page is mapped while the backend lives.
    assert_eq!(unsafe { slot.read() }, u64::MAX);
    let kernel = fake.kernel();
    let page = &kernel.bos[&kernel.event_page.unwrap()];
    assert_eq!((page.mapped.len(), page.size), (2, 0x8000));
    drop(kernel);
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn events_work_without_gpus() {
    let fake = Fake::new("cpu", &[]);
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let event = backend.create_event(EventKind::Signal).unwrap();
    assert_eq!(backend.mailbox(event), 0);
    backend.set_event(event).unwrap();
    let outcome = backend.wait_events(&[event], WaitMode::Any, Timeout::Never, &mut |_| {});
    assert_eq!(outcome, Ok(EventOutcome::Raised));
    let outcome = backend.wait_events(&[event], WaitMode::Any, Timeout::Poll, &mut |_| {});
    assert_eq!(outcome, Ok(EventOutcome::TimedOut));
    backend.destroy_event(event).unwrap();
    assert_eq!(
        backend.destroy_event(event),
        Err(EventError::NoEvent(event))
    );
    assert_eq!(backend.set_event(event), Err(EventError::NoEvent(event)));
}

#[test]
fn a_wait_lasts_until_its_deadline_and_no_shorter() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let event = backend.create_event(EventKind::Signal).unwrap();
    let start = backend.now();
    let deadline = start + 7_300_000;
    let outcome = backend.wait_events(&[event], WaitMode::Any, Timeout::At(deadline), &mut |_| {});
    assert_eq!(outcome, Ok(EventOutcome::TimedOut));
    assert!(backend.now() >= deadline);
}

#[test]
fn a_sleeper_is_woken_and_one_whose_event_is_destroyed_is_told() {
    let fake = Fake::gfx90a();
    let backend = Arc::new(KfdBackend::open(fake).unwrap());
    let event = backend.create_event(EventKind::Signal).unwrap();
    let other = backend.create_event(EventKind::Signal).unwrap();
    let sleep = |events: Vec<EventId>| {
        let backend = backend.clone();
        thread::spawn(move || {
            backend.wait_events(&events, WaitMode::Any, Timeout::Never, &mut |_| {})
        })
    };
    let sleeper = sleep(vec![event, other]);
    thread::sleep(Duration::from_millis(20));
    backend.set_event(other).unwrap();
    assert_eq!(sleeper.join().unwrap(), Ok(EventOutcome::Raised));
    let sleeper = sleep(vec![event]);
    thread::sleep(Duration::from_millis(20));
    backend.destroy_event(event).unwrap();
    assert_eq!(sleeper.join().unwrap(), Err(EventError::Destroyed(event)));
}

#[test]
fn interruptions_do_not_end_a_wait() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let event = backend.create_event(EventKind::Signal).unwrap();
    for errno in [4, 11] {
        fake.inject(Some(fake::Fault {
            after: 0,
            errno,
            times: 3,
        }));
        let start = Instant::now();
        let deadline = backend.now() + 5_000_000;
        let outcome =
            backend.wait_events(&[event], WaitMode::Any, Timeout::At(deadline), &mut |_| {});
        assert_eq!(outcome, Ok(EventOutcome::TimedOut));
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert!(fake.fault_happened());
    }
}

#[test]
fn faults_and_resets_come_with_their_facts() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let memory = backend.create_event(EventKind::MemoryFault).unwrap();
    let hardware = backend.create_event(EventKind::HardwareException).unwrap();
    let gpu = u64::from(FakeGpu::GFX90A.id);
    fake.kernel()
        .raise(memory.0, [1, 1 << 32, 0x7000_1000, gpu]);
    fake.kernel()
        .raise(hardware.0, [1 | 5 << 32, 1 | gpu << 32, 0, 0]);
    let mut reports = Vec::new();
    let all = [memory, hardware];
    let outcome = backend.wait_events(&all, WaitMode::Any, Timeout::Poll, &mut |report| {
        reports.push(report);
    });
    assert_eq!(outcome, Ok(EventOutcome::Raised));
    let fault = MemoryFaultInfo {
        address: 0x7000_1000,
        not_present: true,
        imprecise: true,
        ..MemoryFaultInfo::default()
    };
    let reset = HardwareEvent {
        reset_kind: 1,
        cause: 5,
        memory_lost: true,
    };
    assert_eq!(
        reports,
        [
            EventReport::Memory(GPU, fault),
            EventReport::Hardware(GPU, reset)
        ]
    );
}

#[test]
fn when_all_events_are_taken_the_limit_is_named() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let error = loop {
        if let Err(error) = backend.create_event(EventKind::Signal) {
            break error;
        }
    };
    assert_eq!(error, EventError::NoneLeft { limit: 4095 });
}

#[test]
fn a_counter_s_frequency_is_told_by_the_device_or_measured() {
    for told in [true, false] {
        let fake = Fake::gfx90a();
        fake.kernel().frequency_is_told = told;
        let backend = KfdBackend::open(fake).unwrap();
        thread::sleep(Duration::from_millis(15));
        let frequency = backend.device_frequency(GPU);
        assert!(
            (99_000_000..=101_000_000).contains(&frequency),
            "{frequency}"
        );
        let counters = backend.counters(GPU);
        assert_eq!(counters.device, counters.system / 10);
        assert_eq!(backend.device_frequency(CPU), 1_000_000_000);
    }
}

#[test]
fn code_is_forgotten_through_a_queue_of_the_backend_s_own() {
    let fake = Fake::gfx90a();
    let backend = Arc::new(KfdBackend::open(fake.clone()).unwrap());
    let client = {
        let backend = backend.clone();
        thread::spawn(move || {
            backend.invalidate_code(GPU).unwrap();
            backend.invalidate_code(GPU).unwrap();
        })
    };
    // A packet processor that takes whatever was published.
    let index = |address: u64| -> &AtomicU64 {
        // SAFETY: the queue's page is mapped while the backend lives.
        unsafe { &*std::ptr::with_exposed_provenance(address as usize) }
    };
    while !client.is_finished() {
        let kernel = fake.kernel();
        for queue in kernel.queues.values() {
            let write = index(queue.write_pointer).load(Ordering::Acquire);
            index(queue.read_pointer).store(write, Ordering::Release);
        }
        drop(kernel);
        thread::yield_now();
    }
    client.join().unwrap();
    let kernel = fake.kernel();
    assert_eq!(kernel.queues.len(), 1);
    assert_eq!(
        index(kernel.queues[&0].write_pointer).load(Ordering::Relaxed),
        2
    );
    let (_, ring) = kernel
        .bos
        .iter()
        .find(|(handle, _)| Some(*handle) == kernel.queues[&0].buffers.get(2))
        .unwrap();
    // SAFETY: the ring is mapped at its GPU address.
    let packet = unsafe {
        std::slice::from_raw_parts(
            std::ptr::with_exposed_provenance::<u32>(ring.va as usize),
            16,
        )
    };
    assert_eq!(packet[0], 0x0001_0000);
    assert_eq!(packet[1], 0xc002_3f00);
    assert_eq!(packet[4..6], [0x0080_0007, 0xa]);
    drop(kernel);
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn host_writes_are_flushed_through_a_register_that_is_mapped_once() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let own = fake.kernel().bos.len();
    backend.flush_host_writes(CPU);
    assert_eq!(fake.kernel().bos.len(), own);
    backend.flush_host_writes(GPU);
    backend.flush_host_writes(GPU);
    {
        let kernel = fake.kernel();
        assert_eq!(kernel.bos.len(), own + 1);
        let page = kernel.bos.values().last().unwrap();
        assert!(page.flags.contains(AllocFlags::MMIO_REMAP));
        // SAFETY: the register's page is mapped at its GPU address while the backend lives.
        let word = unsafe { std::ptr::with_exposed_provenance::<u32>(page.va as usize).read() };
        assert_eq!(word, 1);
    }
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn what_the_driver_says_about_a_queue_is_reported_once() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let event = backend.create_event(EventKind::Signal).unwrap();
    let memory = ring(&backend, GPU, HOST, 64);
    let request = QueueRequest {
        error_event: Some(event),
        ..wish(&memory, GPU, QueueKind::Compute)
    };
    let queue = backend.create_queue(&request).unwrap();
    {
        let mut kernel = fake.kernel();
        let area = kernel.bos[&kernel.queues[&0].buffers[4]].va;
        let header: *const ContextSaveAreaHeader = std::ptr::with_exposed_provenance(area as usize);
        // SAFETY: the save area is mapped, and its header names a word of the backend's that lives as long.
        unsafe {
            let header = header.read();
            assert_eq!(header.err_event_id, event.0);
            let reasons: *mut u64 =
                std::ptr::with_exposed_provenance_mut(header.err_payload_addr as usize);
            reasons.write(1 << 17);
        }
        kernel.raise(event.0, [0; 4]);
    }
    let mut reports = Vec::new();
    for _ in 0..2 {
        backend.set_event(event).unwrap();
        let _ = backend.wait_events(&[event], WaitMode::Any, Timeout::Poll, &mut |report| {
            reports.push(report);
        });
    }
    assert_eq!(
        reports,
        [EventReport::Queue(
            queue.handle,
            QueueStatus::InvalidCodeObject
        )]
    );
}

#[test]
fn what_an_old_kernel_lacks_is_said_with_the_version_that_has_it() {
    let fake = Fake::gfx90a();
    fake.kernel().minor = 4;
    let backend = KfdBackend::open(fake.clone()).unwrap();
    assert_eq!(backend.xnack_mode(), XnackMode::Off);
    let log = fake.kernel().log.clone();
    assert!(!log.contains(&"SET_XNACK_MODE"), "it is not asked for");
    assert_eq!(
        backend.runtime_enable(0, RuntimeMode::ENABLE),
        Err(NotSupported("RUNTIME_ENABLE before KFD 1.13"))
    );
    let contiguous = MemoryFlags::WRITABLE | MemoryFlags::CONTIGUOUS;
    assert_eq!(
        backend
            .allocate(&request(VRAM, 4096, contiguous))
            .unwrap_err(),
        MemoryError::NotSupported("contiguous memory before KFD 1.16")
    );
    backend.allocate(&request(VRAM, 1 << 20, host())).unwrap();
    assert_eq!(
        backend.available(VRAM).unwrap(),
        (64 << 30) - (1 << 20),
        "counted here, since the driver does not tell"
    );
    assert!(!backend.has_trap_handler(GPU));
    let new = KfdBackend::open(Fake::gfx90a()).unwrap();
    assert!(new.has_trap_handler(GPU));
    assert_eq!(new.runtime_enable(0, RuntimeMode::ENABLE), Ok(Ok(0)));
}

#[test]
fn memory_of_the_driver_s_own_is_exported_and_a_user_pointer_is_not() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let vram = backend.allocate(&request(VRAM, 4096, host())).unwrap();
    let fd = backend.export_dmabuf(vram.handle).unwrap();
    assert!(fd > 0);
    let memory = backend.allocate(&request(HOST, 4096, host())).unwrap();
    backend.map(memory.handle, &[GPU]).unwrap();
    assert!(backend.export_dmabuf(memory.handle).is_err());
    let old = Fake::gfx90a();
    old.kernel().minor = 11;
    let backend = KfdBackend::open(old).unwrap();
    let vram = backend.allocate(&request(VRAM, 4096, host())).unwrap();
    assert_eq!(
        backend.export_dmabuf(vram.handle),
        Err(MemoryError::NotSupported("dmabuf export before KFD 1.12"))
    );
}
