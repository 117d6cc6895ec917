//! Shared virtual memory, dmabufs and what the backend does not use, over a driver that keeps books.

mod fake;

use fake::{Fake, FakeGpu};
use rukh_backend_linux_kfd::KfdBackend;
use rukh_core::backend::*;

const CPU: AgentId = AgentId(0);
/// Of gfx90a's tree.
const GPU: AgentId = AgentId(2);
const RANGE: (u64, u64) = (0x7000_0000, 0x4000);

#[test]
fn attributes_that_were_set_are_told_again() {
    let fake = Fake::gfx90a();
    fake.kernel().has_svm = true;
    let backend = KfdBackend::open(fake).unwrap();
    let (at, size) = RANGE;
    let set = [
        SvmAttribute::Preferred(SvmLocation::Agent(GPU)),
        SvmAttribute::Prefetch(SvmLocation::Agent(CPU)),
        SvmAttribute::Access(GPU, SvmAccess::InPlace),
        SvmAttribute::Set(SvmFlags::GPU_EXECUTABLE),
        SvmAttribute::Clear(SvmFlags::COHERENT),
        SvmAttribute::Granularity(12),
    ];
    backend.set_svm(at, size, &set).unwrap();
    let mut told = [
        SvmAttribute::Preferred(SvmLocation::Undefined),
        SvmAttribute::Prefetch(SvmLocation::Undefined),
        SvmAttribute::Access(GPU, SvmAccess::None),
        SvmAttribute::Set(SvmFlags::empty()),
        SvmAttribute::Granularity(0),
    ];
    backend.svm(at, size, &mut told).unwrap();
    assert_eq!(
        told,
        [
            SvmAttribute::Preferred(SvmLocation::Agent(GPU)),
            SvmAttribute::Prefetch(SvmLocation::Host),
            SvmAttribute::Access(GPU, SvmAccess::InPlace),
            SvmAttribute::Set(SvmFlags::HOST_ACCESS | SvmFlags::GPU_EXECUTABLE),
            SvmAttribute::Granularity(12),
        ]
    );
    // Another range is as it was.
    let mut other = [SvmAttribute::Access(GPU, SvmAccess::Any)];
    backend.svm(at + 0x10_0000, size, &mut other).unwrap();
    assert_eq!(other, [SvmAttribute::Access(GPU, SvmAccess::None)]);
}

#[test]
fn ranges_and_agents_that_are_none_are_refused() {
    let fake = Fake::gfx90a();
    fake.kernel().has_svm = true;
    let backend = KfdBackend::open(fake).unwrap();
    for (address, size) in [
        (0x7000_0001, 4096),
        (0x7000_0000, 0),
        (0x7000_0000, 4095),
        (!0xfff, 8192),
    ] {
        assert_eq!(
            backend.set_svm(address, size, &[]),
            Err(SvmError::BadRange { address, size })
        );
    }
    let none = AgentId(9);
    let place = SvmAttribute::Preferred(SvmLocation::Agent(none));
    let refused = Err(SvmError::BadAgent { agent: none });
    assert_eq!(backend.set_svm(RANGE.0, RANGE.1, &[place]), refused);
    let access = SvmAttribute::Access(CPU, SvmAccess::Any);
    assert_eq!(
        backend.set_svm(RANGE.0, RANGE.1, &[access]),
        Err(SvmError::BadAgent { agent: CPU })
    );
    let many = vec![SvmAttribute::Granularity(1); 5000];
    assert!(matches!(
        backend.set_svm(RANGE.0, RANGE.1, &many),
        Err(SvmError::Os { errno: 22, .. })
    ));
}

#[test]
fn a_kernel_without_device_private_pages_is_said_to_have_no_shared_memory() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let mut ask = [SvmAttribute::Granularity(0)];
    let answer = backend.svm(RANGE.0, RANGE.1, &mut ask);
    assert!(
        matches!(answer, Err(SvmError::NotSupported(_))),
        "{answer:?}"
    );
    assert_eq!(ask, [SvmAttribute::Granularity(0)]);
    let old = Fake::gfx90a();
    old.kernel().minor = 4;
    let backend = KfdBackend::open(old).unwrap();
    assert_eq!(
        backend.set_svm(RANGE.0, RANGE.1, &[]),
        Err(SvmError::NotSupported(
            "shared virtual memory before KFD 1.5"
        ))
    );
}

#[test]
fn memory_of_others_is_mapped_and_given_back() {
    let fake = Fake::new("gfx942", &FakeGpu::GFX942);
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let gpus: Vec<AgentId> = (0..backend.agent_count())
        .map(AgentId)
        .filter(|id| matches!(backend.agent(*id).unwrap().kind, AgentKind::Gpu(_)))
        .collect();
    let bank = BankId {
        agent: gpus[0],
        index: 0,
    };
    let memory = backend
        .allocate(&MemoryRequest {
            bank,
            size: 0x8000,
            align: 4096,
            flags: MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE,
        })
        .unwrap();
    let descriptor = backend.export_dmabuf(memory.handle).unwrap();
    let before = fake.kernel().bos.len();
    let imported = backend.import_dmabuf(gpus[1], descriptor).unwrap();
    assert_eq!(imported.size, 0x8000);
    assert!(imported.host.is_none() && imported.gpu_va != memory.gpu_va);
    {
        let kernel = fake.kernel();
        let bo = kernel
            .bos
            .values()
            .find(|bo| bo.va == imported.gpu_va)
            .unwrap();
        assert_eq!(bo.mapped.len(), 1);
    }
    // SAFETY: nobody uses either any more.
    unsafe {
        backend.free(imported.handle).unwrap();
        assert_eq!(fake.kernel().bos.len(), before);
        backend.free(memory.handle).unwrap();
    }
    for wrong in [-1, descriptor + 1000] {
        assert!(matches!(
            backend.import_dmabuf(gpus[1], wrong),
            Err(MemoryError::NotShared { .. })
        ));
    }
    assert!(matches!(
        backend.import_dmabuf(CPU, descriptor),
        Err(MemoryError::BadAgent { .. })
    ));
}

#[test]
fn host_memory_comes_from_the_node_of_its_bank() {
    let fake = Fake::gfx90a();
    let backend = KfdBackend::open(fake.clone()).unwrap();
    let request = |node, flags| MemoryRequest {
        bank: BankId {
            agent: AgentId(node),
            index: 0,
        },
        size: 0x3000,
        align: 4096,
        flags: flags | MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE,
    };
    let (loose, strict) = (MemoryFlags::empty(), MemoryFlags::NO_SUBSTITUTE);
    for (node, flags) in [(0, loose), (1, loose), (1, strict)] {
        let memory = backend.allocate(&request(node, flags)).unwrap();
        let placed = fake.kernel().placed.pop();
        assert_eq!(placed, Some((0x3000, node, flags == strict)));
        // SAFETY: nobody uses it.
        unsafe { backend.free(memory.handle) }.unwrap();
    }
    // A container that forbids placing costs who insists, and nobody else.
    fake.kernel().refuse_placing = Some(1);
    let memory = backend.allocate(&request(1, loose)).unwrap();
    // SAFETY: nobody uses it.
    unsafe { backend.free(memory.handle) }.unwrap();
    let refused = backend.allocate(&request(1, strict)).unwrap_err();
    assert_eq!(
        refused,
        MemoryError::Os {
            call: "mbind",
            size: 0x3000,
            errno: 1
        }
    );
    drop(backend);
    fake.kernel().assert_clean();
}

#[test]
fn what_is_not_used_of_the_driver_says_so_by_name() {
    let backend = KfdBackend::open(Fake::gfx90a()).unwrap();
    let names = [
        backend.allocate_gws(QueueHandle(1), 1).err(),
        backend.smi_events(GPU).err(),
        backend.debug_trap(1, 0).err(),
    ];
    let names = names.map(|error| error.unwrap().to_string());
    for (name, call) in names
        .iter()
        .zip(["ALLOC_QUEUE_GWS", "SMI_EVENTS", "DBG_TRAP"])
    {
        assert!(name.contains(call), "{name}");
    }
}
