//! Every call of the driver failing in turn: typed errors, nothing left, nothing hung.

mod fake;

use fake::{Fake, FakeGpu, Fault};
use rukh_backend_linux_kfd::sys::LinuxPort;
use rukh_backend_linux_kfd::{KfdBackend, OpenError};
use rukh_core::backend::*;
use rukh_core::kfd::{KfdPort, Mapping, Protection};
use std::ptr::NonNull;
use std::sync::Arc;

fn fake() -> Fake {
    Fake::new("gfx942", &FakeGpu::GFX942)
}

/// What a client sees of errors: none is empty, and none is lost.
#[derive(Default)]
struct Errors(Vec<String>);

impl Errors {
    fn note<T>(&mut self, result: Result<T, impl std::error::Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty());
                self.0.push(text);
                None
            }
        }
    }
}

/// A client that uses a part of everything and goes on after errors, as far as what it has allows.
fn client(backend: &KfdBackend<Fake>, bytes: &mut [u8], errors: &mut Errors) {
    let agents: Vec<AgentId> = (0..backend.agent_count()).map(AgentId).collect();
    let gpus: Vec<AgentId> = agents
        .iter()
        .copied()
        .filter(|&a| matches!(backend.agent(a).unwrap().kind, AgentKind::Gpu(_)))
        .collect();
    let host = MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE;
    let memory = |agent, size, flags| MemoryRequest {
        bank: BankId { agent, index: 0 },
        size,
        align: 4096,
        flags,
    };
    let cpu = AgentId(0);
    let mut held = Vec::new();
    for kind in [EventKind::MemoryFault, EventKind::Signal, EventKind::Signal] {
        if let Some(event) = errors.note(backend.create_event(kind)) {
            held.push(event);
        }
    }
    let shared = errors.note(backend.allocate(&memory(cpu, 0x4000, host)));
    if let Some(shared) = &shared {
        errors.note(backend.map(shared.handle, &gpus));
        errors.note(backend.unmap(shared.handle, &gpus[..gpus.len().min(1)]));
    }
    if let Some(address) = NonNull::new(bytes.as_mut_ptr()) {
        // SAFETY: the bytes outlive the backend.
        let locked = unsafe { backend.register_host(address, bytes.len() as u64, host, &gpus) };
        if let Some(locked) = errors.note(locked) {
            // SAFETY: nobody uses the registration.
            errors.note(unsafe { backend.free(locked.handle) });
        }
    }
    for &gpu in &gpus {
        let vram = errors.note(backend.allocate(&memory(gpu, 0x10000, host)));
        if let Some(vram) = vram {
            errors.note(backend.map(vram.handle, &gpus));
            // SAFETY: nobody uses it.
            errors.note(unsafe { backend.free(vram.handle) });
        }
        let page = errors.note(backend.allocate(&memory(cpu, 4096, host | MemoryFlags::QUEUE)));
        let ring = errors.note(backend.allocate(&memory(cpu, 4096, host | MemoryFlags::QUEUE)));
        let (Some(page), Some(ring)) = (page, ring) else {
            continue;
        };
        errors.note(backend.map(page.handle, &[gpu]));
        errors.note(backend.map(ring.handle, &[gpu]));
        let queue = errors.note(backend.create_queue(&QueueRequest {
            agent: gpu,
            kind: QueueKind::Compute,
            ring: ring.gpu_va,
            ring_bytes: 4096,
            write_index: page.gpu_va + 56,
            read_index: page.gpu_va + 128,
            descriptor: page.gpu_va,
            priority: QueuePriority::Normal,
            error_event: held.last().copied(),
        }));
        if let Some(queue) = queue {
            let update = QueueUpdate {
                active: true,
                priority: QueuePriority::High,
            };
            errors.note(backend.update_queue(queue.handle, &update));
            errors.note(backend.set_cu_mask(queue.handle, &[u32::MAX]));
            errors.note(backend.destroy_queue(queue.handle));
        }
        // SAFETY: no queue uses it, or it is refused.
        errors.note(unsafe { backend.free(ring.handle) });
    }
    if let Some(&event) = held.last() {
        errors.note(backend.set_event(event));
        errors.note(backend.wait_events(&held, WaitMode::Any, Timeout::Poll, &mut |_| {}));
        errors.note(backend.destroy_event(event));
    }
    if let Some(shared) = shared {
        // SAFETY: nobody uses it.
        errors.note(unsafe { backend.free(shared.handle) });
    }
}

/// Runs the client with one fault; gives whether the fault happened.
fn run(fault: Fault, during_drop: bool) -> bool {
    let fake = fake();
    fake.inject(Some(fault));
    let mut bytes = vec![0u8; 10_000];
    let mut errors = Errors::default();
    if let Some(backend) = errors.note::<_>(KfdBackend::open(fake.clone())) {
        let mut skipped = 0;
        backend.skipped(&mut |_| skipped += 1);
        assert!(skipped + backend.agent_count() <= 3);
        client(&backend, &mut bytes, &mut errors);
        let happened = fake.fault_happened();
        if !during_drop {
            fake.inject(None);
        }
        drop(backend);
        if !during_drop {
            fake.kernel().assert_clean();
        }
        let kernel = fake.kernel();
        assert!(kernel.files.is_empty(), "files are closed whatever failed");
        assert_eq!(
            kernel.mapped_bytes, 0,
            "addresses are given back whatever failed"
        );
        return happened;
    }
    let kernel = fake.kernel();
    kernel.assert_clean();
    true
}

const ERRNOS: [i32; 9] = [1, 4, 5, 11, 12, 14, 16, 22, 28];

#[test]
fn whatever_call_fails_once_nothing_is_left() {
    for errno in ERRNOS {
        let mut after = 0;
        while run(
            Fault {
                after,
                errno,
                times: 1,
            },
            false,
        ) {
            after += 1;
        }
        assert!(after > 100, "{after} calls are made");
    }
}

#[test]
fn a_driver_that_fails_from_some_moment_on_hangs_nothing() {
    for errno in [4, 5, 16] {
        for after in (0..400).step_by(7) {
            run(
                Fault {
                    after,
                    errno,
                    times: u32::MAX,
                },
                true,
            );
        }
    }
}

#[test]
fn a_child_process_is_told_to_open_its_own() {
    use std::os::unix::process::CommandExt;
    let fake = Fake::gfx90a();
    let backend = Arc::new(KfdBackend::open(fake).unwrap());
    let event = backend.create_event(EventKind::Signal).unwrap();
    assert!(!backend.kfd().inherited());
    let inherited = backend.clone();
    let mut command = std::process::Command::new("true");
    // SAFETY: the closure runs in the forked child: it loads one word and returns constants, no allocation, no lock.
    unsafe {
        command.pre_exec(move || {
            let request = MemoryRequest {
                bank: BankId {
                    agent: AgentId(0),
                    index: 0,
                },
                size: 4096,
                align: 4096,
                flags: MemoryFlags::WRITABLE,
            };
            let told = inherited.kfd().inherited()
                && matches!(
                    inherited.allocate(&request),
                    Err(MemoryError::NotSupported(_))
                )
                && matches!(
                    inherited.wait_events(&[event], WaitMode::Any, Timeout::Never, &mut |_| {}),
                    Err(EventError::NotSupported(_))
                )
                && matches!(
                    inherited.invalidate_code(AgentId(2)),
                    Err(QueueCreateError::NotSupported(_))
                );
            if told {
                Ok(())
            } else {
                Err(std::io::Error::from_raw_os_error(71))
            }
        });
    }
    assert!(command.status().unwrap().success());
    assert!(!backend.kfd().inherited(), "the parent goes on");
}

/// The driver's mappings are not in a child. What a child has put where one was is its own.
#[test]
fn a_child_process_that_gives_memory_back_unmaps_nothing_of_its_own() {
    use std::os::unix::process::CommandExt;
    const SIZE: usize = 1 << 16;
    let backend = Arc::new(KfdBackend::open(Fake::gfx90a()).unwrap());
    let gpu = (0..backend.agent_count())
        .map(AgentId)
        .find(|&id| matches!(backend.agent(id).unwrap().kind, AgentKind::Gpu(_)))
        .unwrap();
    let (mut index, mut banks) = (None, 0);
    backend.memory_banks(gpu, &mut |bank| {
        if bank.heap == HeapKind::VramPublic {
            index = Some(banks);
        }
        banks += 1;
    });
    let request = MemoryRequest {
        bank: BankId {
            agent: gpu,
            index: index.unwrap(),
        },
        size: SIZE as u64,
        align: 4096,
        flags: MemoryFlags::WRITABLE | MemoryFlags::HOST_ACCESS,
    };
    let memory = backend.allocate(&request).unwrap();
    let place = memory.host.unwrap().as_ptr().expose_provenance();
    let inherited = backend.clone();
    let mut command = std::process::Command::new("true");
    // SAFETY: the closure runs in the forked child. It takes a lock that nobody holds, and frees memory, which the C
    // library allows there.
    unsafe {
        command.pre_exec(move || {
            let mapping = Mapping {
                file: None,
                offset: 0,
                size: SIZE,
                protection: Protection::ReadWrite,
                fixed: NonNull::new(core::ptr::with_exposed_provenance_mut(place)),
            };
            let own = LinuxPort
                .map(&mapping)
                .map_err(|error| std::io::Error::from_raw_os_error(error.errno()))?;
            own.write_volatile(7);
            let given = inherited.free(memory.handle);
            // Fatal if it is not there any more.
            match (given, own.read_volatile()) {
                (Ok(()), 7) => Ok(()),
                _ => Err(std::io::Error::from_raw_os_error(71)),
            }
        });
    }
    assert!(command.status().unwrap().success());
    // SAFETY: nobody uses it.
    unsafe { backend.free(memory.handle) }.unwrap();
}

#[test]
fn what_keeps_a_user_out_is_named() {
    let fake = Fake::gfx90a();
    for (errno, error) in [
        (2, OpenError::NoDevice),
        (13, OpenError::NoPermission { errno: 13 }),
    ] {
        fake.kernel().refuse.insert("/dev/kfd".into(), errno);
        assert_eq!(KfdBackend::open(fake.clone()).unwrap_err(), error);
    }
}
