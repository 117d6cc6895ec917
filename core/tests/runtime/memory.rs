use crate::fake::{GPU, VRAM};
use crate::stepped;
use rukh_core::backend::{AgentId, MemoryError, MemoryFlags, Timeout};
use rukh_core::mem::{Address, AllocFlags, PointerKind, PoolFlags, PoolId};
use rukh_core::runtime::{AllocError, QueueConfig};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn what_a_pool_does_not_give_is_refused_with_the_reason() {
    let (_, rt) = stepped();
    let vram = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    let lds = rt.agent(GPU).unwrap().pools.last().unwrap().id;
    let none = AllocFlags::empty();
    assert_eq!(rt.allocate(vram, 0, none), Err(AllocError::ZeroSize));
    assert_eq!(
        rt.allocate(vram, VRAM + 1, none),
        Err(AllocError::TooLarge {
            pool: vram,
            size: VRAM + 1,
            max: VRAM
        })
    );
    assert_eq!(
        rt.allocate(vram, u64::MAX, none),
        Err(AllocError::TooLarge {
            pool: vram,
            size: u64::MAX,
            max: VRAM
        })
    );
    assert_eq!(
        rt.allocate(lds, 64, none),
        Err(AllocError::NotAllocatable { pool: lds })
    );
    assert!(matches!(
        rt.allocate(PoolId(99), 64, none),
        Err(AllocError::NoPool { .. })
    ));
}

#[test]
fn an_allocation_is_reached_by_its_owner_and_whom_it_is_shared_with() {
    let (fake, rt) = stepped();
    let pool = rt.find_pool(AgentId(0), PoolFlags::KERNARG).unwrap().id;
    let address = rt.allocate(pool, 100, AllocFlags::EXECUTABLE).unwrap();
    assert!(!fake.is_mapped(address.0, GPU));
    assert!(
        fake.flags_at(address.0)
            .unwrap()
            .contains(MemoryFlags::EXECUTABLE | MemoryFlags::UNCACHED | MemoryFlags::HOST_ACCESS)
    );
    rt.allow_access(&[GPU, GPU], address.offset(50)).unwrap();
    assert!(fake.is_mapped(address.0, GPU));
    let info = rt.pointer_info(address.offset(99));
    assert_eq!(info.kind, PointerKind::Hsa);
    assert_eq!((info.agent_base, info.size), (address, 100));
    assert_eq!(info.accessible, [AgentId(0), GPU]);
    rt.allow_access(&[], address).unwrap();
    assert!(!fake.is_mapped(address.0, GPU));
    assert_eq!(
        rt.allow_access(&[AgentId(7)], address),
        Err(AllocError::NoAgent { agent: AgentId(7) })
    );
    assert_eq!(
        rt.pointer_info(address.offset(100)).kind,
        PointerKind::Unknown
    );
    unsafe { rt.free(address) }.unwrap();
    assert_eq!(
        unsafe { rt.free(address) },
        Err(AllocError::UnknownAddress { address })
    );
}

#[test]
fn whoever_asked_is_called_once_before_memory_goes() {
    let (_, rt) = stepped();
    let pool = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    let address = rt.allocate(pool, 4096, AllocFlags::empty()).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    for key in [1, 2] {
        let calls = calls.clone();
        let callback = Box::new(move |base: Address| {
            calls.fetch_add(base.0, Ordering::Relaxed);
        });
        rt.on_free(address.offset(8), key, callback).unwrap();
    }
    assert_eq!(rt.cancel_on_free(address, 2), Ok(true));
    assert_eq!(rt.cancel_on_free(address, 2), Ok(false));
    unsafe { rt.free(address) }.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), address.0);
}

#[test]
fn a_live_ring_is_not_the_clients_to_free() {
    let (fake, rt) = stepped();
    let config = QueueConfig {
        size: 64,
        ..QueueConfig::default()
    };
    let queue = rt.create_queue(GPU, config).unwrap();
    let ring = Address(queue.amd_queue().hsa_queue.base_address);
    assert!(unsafe { rt.free(ring) }.is_err());
    drop(queue.claim(Timeout::Poll).unwrap());
    while fake.progress() {}
    assert_eq!(queue.read_index(rukh_core::signal::MemoryOrder::Acquire), 1);
}

#[test]
fn locked_memory_has_another_address_on_agents_and_counts() {
    let (fake, rt) = stepped();
    let mut bytes = vec![7u8; 8192];
    let host = NonNull::new(bytes.as_mut_ptr()).unwrap();
    let first = unsafe { rt.lock(host, 8192, &[]) }.unwrap();
    assert_ne!(first.0, host.as_ptr() as u64);
    assert!(fake.is_mapped(first.0, GPU));
    let inner = unsafe { rt.lock(host.add(100), 50, &[GPU]) }.unwrap();
    assert_eq!(inner, first.offset(100));
    let outside = unsafe { rt.lock(host.add(8000), 500, &[]) };
    assert!(matches!(outside, Err(AllocError::OutOfRange { .. })));

    let info = rt.pointer_info(Address::from(host.as_ptr()));
    assert_eq!(info.kind, PointerKind::Locked);
    assert_eq!(
        (info.agent_base, info.host_base.0),
        (first, host.as_ptr() as u64)
    );
    // Copies take either address.
    let mut out = [0u8; 16];
    unsafe { rt.copy(Address::from(out.as_mut_ptr()), first.offset(20), 16) }.unwrap();
    assert_eq!(out, [7; 16]);

    rt.unlock(Address::from(host.as_ptr())).unwrap();
    assert_eq!(rt.pointer_info(first).kind, PointerKind::Locked);
    rt.unlock(Address::from(host.as_ptr())).unwrap();
    assert_eq!(rt.pointer_info(first).kind, PointerKind::Unknown);
    assert!(rt.unlock(Address::from(host.as_ptr())).is_err());
}

#[test]
fn copies_and_fills_stay_inside_what_they_start_in() {
    let (_, rt) = stepped();
    let pool = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    let buffer = rt.create_buffer(pool, 64, &[]).unwrap();
    unsafe { rt.fill(buffer.address(), 0x0102_0304, 16) }.unwrap();
    let mut out = [0u8; 64];
    buffer.read(0, &mut out).unwrap();
    assert_eq!(out[..8], [4, 3, 2, 1, 4, 3, 2, 1]);
    buffer.write(60, &[9; 4]).unwrap();
    assert!(matches!(
        buffer.write(61, &[9; 4]),
        Err(AllocError::OutOfRange { .. })
    ));
    let beyond = unsafe { rt.fill(buffer.address(), 0, 17) };
    assert!(matches!(beyond, Err(AllocError::OutOfRange { .. })));
    let absurd = unsafe { rt.fill(buffer.address(), 0, u64::MAX / 2) };
    assert!(matches!(absurd, Err(AllocError::OutOfRange { .. })));
}

#[test]
fn what_the_backend_says_reaches_the_client() {
    let (fake, rt) = stepped();
    fake.fail_allocations_after(0);
    let pool = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
    assert!(matches!(
        rt.allocate(pool, 4096, AllocFlags::empty()),
        Err(AllocError::Backend(MemoryError::OutOfMemory { .. }))
    ));
}
