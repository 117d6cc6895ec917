//! Shared virtual memory and dmabufs, through the KFD backend over the software GPU's KFD face: kernels say what they reach.

use core::ptr::NonNull;
use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::*;
use rukh_core::mem::PoolFlags;
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::Kernel;
use rukh_tests::conformance::{KfdFactory, World};

type Backend = KfdBackend<KfdFace>;

const PAGE: usize = 4096;
const WORDS: usize = 3 * PAGE / 4;
const SHAPE: ([u32; 3], [u16; 3]) = ([WORDS as u32, 1, 1], [64, 1, 1]);

/// Memory of the process's own.
struct Pages(NonNull<u8>, usize);

impl Pages {
    fn new(pages: usize) -> Self {
        Self::map(pages * PAGE, libc::MAP_ANONYMOUS | libc::MAP_PRIVATE, -1)
    }

    fn map(size: usize, flags: i32, fd: i32) -> Self {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), size, access, flags, fd, 0) };
        assert_ne!(at, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Self(NonNull::new(at.cast()).unwrap(), size)
    }

    fn address(&self) -> u64 {
        self.0.addr().get() as u64
    }

    fn words(&mut self) -> &mut [f32] {
        // SAFETY: mapped, aligned to pages, and written by no device while this is used: kernels are waited for.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_ptr().cast(), self.1 / 4) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), self.1) };
    }
}

fn world(gpus: &'static str) -> World<Backend> {
    World::start(&KfdFactory::new(gpus)).unwrap()
}

/// Adds `a` and `b` to `to` on a GPU; what the queue ends as.
fn add(world: &World<Backend>, gpu: AgentId, to: u64, a: u64, b: u64) -> Result<(), QueueStatus> {
    let queue = world.queue_of(gpu, 64).unwrap();
    let kernel: Kernel<Backend> = world.kernel(gpu, "vector_add", "vector_add").unwrap();
    let (a, b, to) = (a.to_le_bytes(), b.to_le_bytes(), to.to_le_bytes());
    let count = (WORDS as u32).to_le_bytes();
    let work = world
        .prepare(&queue, &kernel, SHAPE, &[&a, &b, &to, &count])
        .unwrap();
    work.send(world, &queue).unwrap();
    match work.wait(world, &queue) {
        Ok(()) => Ok(()),
        Err(_) => Err(world.wait_stopped(&queue).unwrap()),
    }
}

fn allow(world: &World<Backend>, pages: &Pages, gpu: AgentId, access: SvmAccess) {
    let attribute = SvmAttribute::Access(gpu, access);
    let backend = world.runtime.backend();
    backend
        .set_svm(pages.address(), pages.1 as u64, &[attribute])
        .unwrap();
}

fn access(world: &World<Backend>, at: u64, size: u64, gpu: AgentId) -> SvmAccess {
    let mut ask = [SvmAttribute::Access(gpu, SvmAccess::Any)];
    world.runtime.backend().svm(at, size, &mut ask).unwrap();
    match ask {
        [SvmAttribute::Access(_, access)] => access,
        other => panic!("{other:?}"),
    }
}

#[test]
fn kernels_reach_the_processs_own_memory_where_they_may() {
    for gpus in ["gfx90a", "gfx942", "gfx1100"] {
        let world = world(gpus);
        let (mut a, mut b, mut to) = (Pages::new(3), Pages::new(3), Pages::new(3));
        for (i, (a, b)) in a.words().iter_mut().zip(b.words()).enumerate() {
            (*a, *b) = (i as f32, 0.5);
        }
        allow(&world, &a, world.gpu, SvmAccess::Any);
        allow(&world, &b, world.gpu, SvmAccess::InPlace);
        allow(&world, &to, world.gpu, SvmAccess::InPlace);
        let run = |to: &Pages| add(&world, world.gpu, to.address(), a.address(), b.address());
        run(&to).unwrap();
        for (i, sum) in to.words().iter().enumerate() {
            assert_eq!(*sum, i as f32 + 0.5, "{gpus}: {i}");
        }
        // Reading alone: the same kernel faults at the first store.
        let read_only = [SvmAttribute::Set(SvmFlags::GPU_READ_ONLY)];
        let backend = world.runtime.backend();
        backend
            .set_svm(to.address(), 3 * PAGE as u64, &read_only)
            .unwrap();
        let fault = run(&to);
        assert!(
            matches!(fault, Err(QueueStatus::MemoryFault { address })
                if address & !0xfff == to.address()),
            "{gpus}: {fault:?}"
        );
    }
}

#[test]
fn access_that_is_taken_away_is_gone() {
    let world = world("gfx90a,gfx90a");
    let gpus: Vec<AgentId> = world.gpus().map(|agent| agent.id).collect();
    let (a, to) = (Pages::new(3), Pages::new(3));
    for gpu in &gpus {
        allow(&world, &a, *gpu, SvmAccess::Any);
        allow(&world, &to, *gpu, SvmAccess::Any);
    }
    let run = |gpu| add(&world, gpu, to.address(), a.address(), a.address());
    run(gpus[0]).unwrap();
    run(gpus[1]).unwrap();
    // The middle page, of one GPU.
    let middle = to.address() + PAGE as u64;
    let none = [SvmAttribute::Access(gpus[0], SvmAccess::None)];
    let backend = world.runtime.backend();
    backend.set_svm(middle, PAGE as u64, &none).unwrap();
    run(gpus[1]).unwrap();
    let fault = run(gpus[0]);
    assert!(
        matches!(fault, Err(QueueStatus::MemoryFault { address }) if address & !0xfff == middle),
        "{fault:?}"
    );
    let told = |at, pages| access(&world, at, pages * PAGE as u64, gpus[0]);
    assert_eq!(told(to.address(), 1), SvmAccess::Any);
    assert_eq!(told(middle, 1), SvmAccess::None);
    assert_eq!(told(to.address(), 3), SvmAccess::None);
    assert_eq!(told(middle + PAGE as u64, 1), SvmAccess::Any);
}

#[test]
fn attributes_are_told_as_they_were_set() {
    let world = world("gfx90a");
    let backend = world.runtime.backend();
    let pages = Pages::new(4);
    let (at, size) = (pages.address(), 4 * PAGE as u64);
    let ask = || {
        let mut ask = [
            SvmAttribute::Preferred(SvmLocation::Host),
            SvmAttribute::Prefetch(SvmLocation::Host),
            SvmAttribute::Set(SvmFlags::empty()),
            SvmAttribute::Granularity(0),
        ];
        backend.svm(at, size, &mut ask).unwrap();
        ask
    };
    let flags = SvmFlags::HOST_ACCESS | SvmFlags::COHERENT;
    assert_eq!(
        ask(),
        [
            SvmAttribute::Preferred(SvmLocation::Undefined),
            SvmAttribute::Prefetch(SvmLocation::Undefined),
            SvmAttribute::Set(flags),
            SvmAttribute::Granularity(9),
        ]
    );
    let gpu = SvmLocation::Agent(world.gpu);
    let set = [
        SvmAttribute::Preferred(gpu),
        SvmAttribute::Prefetch(gpu),
        SvmAttribute::Set(SvmFlags::GPU_EXECUTABLE),
        SvmAttribute::Clear(SvmFlags::COHERENT),
        SvmAttribute::Granularity(12),
    ];
    backend.set_svm(at, size, &set).unwrap();
    assert_eq!(
        ask(),
        [
            SvmAttribute::Preferred(gpu),
            SvmAttribute::Prefetch(gpu),
            SvmAttribute::Set(SvmFlags::HOST_ACCESS | SvmFlags::GPU_EXECUTABLE),
            SvmAttribute::Granularity(12),
        ]
    );
    // Of two ranges what they have in common, and the finer granularity.
    let part = [
        SvmAttribute::Preferred(SvmLocation::Host),
        SvmAttribute::Granularity(3),
    ];
    backend.set_svm(at, PAGE as u64, &part).unwrap();
    assert_eq!(
        ask(),
        [
            SvmAttribute::Preferred(SvmLocation::Undefined),
            SvmAttribute::Prefetch(gpu),
            SvmAttribute::Set(SvmFlags::HOST_ACCESS | SvmFlags::GPU_EXECUTABLE),
            SvmAttribute::Granularity(3),
        ]
    );
}

#[test]
fn what_is_no_memory_of_the_processs_has_no_attributes() {
    let world = world("gfx90a");
    let backend = world.runtime.backend();
    let ask = |at: u64, size: u64| backend.set_svm(at, size, &[SvmAttribute::Granularity(1)]);
    // Below what Linux maps for anybody. Pages that were given back may be another thread's by now.
    let (address, size) = (0x4000, 2 * PAGE as u64);
    assert_eq!(
        ask(address, size),
        Err(SvmError::BadRange { address, size })
    );
    // Device memory is a device's, and its addresses are taken.
    let memory = world.device(world.gpu, size).unwrap();
    let answer = ask(memory.address().0, PAGE as u64);
    assert!(
        matches!(
            answer,
            Err(SvmError::BadRange { .. } | SvmError::Os { errno: 98, .. })
        ),
        "{answer:?}"
    );
}

/// Memory of an agent's, with numbers in it.
fn numbers(world: &World<Backend>, gpu: AgentId) -> Allocation {
    let bank = world.pool(gpu, PoolFlags::COARSE).unwrap();
    let bank = world.runtime.pool(bank).unwrap().bank;
    let allocation = world
        .runtime
        .backend()
        .allocate(&MemoryRequest {
            bank,
            size: 3 * PAGE as u64,
            align: PAGE as u64,
            flags: MemoryFlags::HOST_ACCESS | MemoryFlags::WRITABLE,
        })
        .unwrap();
    let host = allocation.host.unwrap().cast::<f32>();
    for i in 0..WORDS {
        // SAFETY: within the allocation, which is new and no device uses yet.
        unsafe { host.add(i).write(i as f32) };
    }
    allocation
}

#[test]
fn a_dmabuf_is_the_same_bytes_for_another_gpu_another_process_and_the_host() {
    for gpus in ["gfx90a,gfx90a", "gfx942,gfx1100"] {
        let world_a = world(gpus);
        let gpu = world_a.gpus().last().unwrap().id;
        assert_ne!(gpu, world_a.gpu);
        let memory = numbers(&world_a, world_a.gpu);
        let backend = world_a.runtime.backend();
        let dmabuf = backend.export_dmabuf(memory.handle).unwrap();
        // SAFETY: a descriptor that nobody else has.
        let dmabuf =
            unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(dmabuf) };
        let fd = std::os::fd::AsRawFd::as_raw_fd(&dmabuf);
        let mut host = Pages::map(3 * PAGE, libc::MAP_SHARED, fd);
        assert_eq!(host.words()[WORDS - 1], (WORDS - 1) as f32);

        // Another driver's process: nothing is shared with the first one but the descriptor.
        let world_b = world(gpus);
        for (world, gpu) in [(&world_a, gpu), (&world_b, gpu), (&world_b, world_b.gpu)] {
            let imported = world.runtime.backend().import_dmabuf(gpu, fd).unwrap();
            assert_eq!(imported.size, 3 * PAGE as u64);
            assert_ne!(imported.gpu_va, memory.gpu_va);
            let at = imported.gpu_va;
            let before = host.words()[7];
            add(world, gpu, at, at, at).unwrap();
            assert_eq!(host.words()[7], 2.0 * before, "{gpus}");
            // SAFETY: nobody uses it any more.
            unsafe { world.runtime.backend().free(imported.handle) }.unwrap();
        }
        let last = memory.host.unwrap().cast::<f32>();
        // SAFETY: the last number of the allocation; kernels have ended.
        let last = unsafe { last.add(WORDS - 1).read() };
        assert_eq!(last, 8.0 * (WORDS - 1) as f32);

        // The bytes stay as long as somebody has them.
        // SAFETY: nobody uses it any more.
        unsafe { backend.free(memory.handle) }.unwrap();
        drop(world_a);
        assert_eq!(host.words()[1], 8.0);
        let imported = world_b.runtime.backend().import_dmabuf(gpu, fd).unwrap();
        drop((dmabuf, host));
        let at = imported.gpu_va;
        let to = world_b.shared(3 * PAGE as u64).unwrap();
        add(&world_b, gpu, to.address().0, at, at).unwrap();
        let mut sum = [0; 4];
        to.read(4, &mut sum).unwrap();
        assert_eq!(f32::from_le_bytes(sum), 16.0);
    }
}

#[test]
fn what_is_no_dmabuf_is_not_imported() {
    let world = world("gfx90a");
    let backend = world.runtime.backend();
    let file = std::fs::File::open("/dev/null").unwrap();
    for fd in [std::os::fd::AsRawFd::as_raw_fd(&file), 999_999] {
        let answer = backend.import_dmabuf(world.gpu, fd);
        assert!(
            matches!(answer, Err(MemoryError::NotShared { descriptor }) if descriptor == fd),
            "{fd}: {answer:?}"
        );
    }
    // A file that says it is one, whose size anybody can change.
    // SAFETY: a name that ends with a zero byte.
    let fake = unsafe { libc::memfd_create(c"rukh-dmabuf:7275:1".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: a descriptor of ours.
    assert_eq!(unsafe { libc::ftruncate(fake, PAGE as i64) }, 0);
    let answer = backend.import_dmabuf(world.gpu, fake);
    assert!(
        matches!(answer, Err(MemoryError::NotShared { .. })),
        "{answer:?}"
    );
    // SAFETY: as above.
    unsafe { libc::close(fake) };
}
