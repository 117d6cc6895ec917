//! Memory that host and devices share.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rukh_core::backend::{AgentId, Backend, Memory};
use rukh_core::mem::{Address, AllocFlags, PointerKind, PoolFlags, PoolId, Segment};
use rukh_core::runtime::AllocError;

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Failure, Outcome, World};

const NONE: AllocFlags = AllocFlags::empty();

pub(super) fn fresh_memory_of_every_pool_reads_as_zero<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for pool in world.pools() {
        // Twice, so that the second may get what the first has dirtied.
        for _ in 0..2 {
            let buffer = world.runtime.create_buffer(pool, 10_000, &[])?;
            let mut bytes = vec![0xaa; 10_000];
            buffer.read(0, &mut bytes)?;
            ensure!(bytes.iter().all(|&byte| byte == 0), "pool {}", pool.0);
            buffer.write(0, &[0xff; 10_000])?;
        }
    }
    Ok(())
}

pub(super) fn allocations_are_aligned_and_apart<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut ranges = Vec::new();
    let mut buffers = Vec::new();
    for id in world.pools() {
        let align = world.runtime.pool(id).map_or(0, |pool| pool.align);
        ensure!(align >= 4096 && align.is_power_of_two());
        for size in [1, 4096, 4097, 1 << 20] {
            let buffer = world.runtime.create_buffer(id, size, &[])?;
            let address = buffer.address().0;
            ensure!(
                address != 0 && address.is_multiple_of(align),
                "{address:#x}"
            );
            ranges.push((address, address + size));
            buffers.push(buffer);
        }
    }
    ranges.sort_unstable();
    ensure!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    Ok(())
}

pub(super) fn sizes_are_rounded_up_to_granules<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    // What a host has left changes by itself.
    let device = |id: &PoolId| {
        let pool = world.runtime.pool(*id);
        pool.is_some_and(|pool| pool.bank.agent != world.cpu)
    };
    for id in world.pools().into_iter().filter(device) {
        let granule = world.runtime.pool(id).map_or(0, |pool| pool.granule);
        let before = world.runtime.available(id)?;
        let buffer = world.runtime.create_buffer(id, granule + 1, &[])?;
        ensure_eq!(
            world.runtime.pointer_info(buffer.address()).size,
            granule + 1
        );
        let taken = before - world.runtime.available(id)?;
        ensure!(taken >= 2 * granule || taken == 0, "{taken} of {granule}");
    }
    Ok(())
}

pub(super) fn impossible_sizes_are_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for id in world.pools() {
        let max = world.runtime.pool(id).map_or(0, |pool| pool.max_allocation);
        ensure_matches!(
            world.runtime.allocate(id, 0, NONE),
            Err(AllocError::ZeroSize)
        );
        for size in [max + 1, u64::MAX - 4095, u64::MAX] {
            ensure_matches!(
                world.runtime.allocate(id, size, NONE),
                Err(AllocError::TooLarge { pool, size: s, max: m })
                    if (*pool, *s, *m) == (id, size, max)
            );
        }
    }
    Ok(())
}

pub(super) fn only_pools_that_allow_it_are_allocated_from<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pools = world.runtime.agents().iter().flat_map(|agent| &agent.pools);
    let mut count = 0;
    for pool in pools {
        count += 1;
        if pool.segment == Segment::Group {
            ensure_matches!(
                world.runtime.allocate(pool.id, 4096, NONE),
                Err(AllocError::NotAllocatable { pool: p }) if *p == pool.id
            );
        }
    }
    for id in [PoolId(count), PoolId(u32::MAX)] {
        ensure_matches!(
            world.runtime.allocate(id, 4096, NONE),
            Err(AllocError::NoPool { pool }) if *pool == id
        );
        ensure_matches!(world.runtime.available(id), Err(AllocError::NoPool { .. }));
    }
    Ok(())
}

pub(super) fn only_the_start_of_an_allocation_frees_it_and_only_once<F: Factory>(
    factory: &F,
) -> Outcome {
    let world = World::start(factory)?;
    // SAFETY: nobody uses the memory of this test, and most addresses are none.
    let free = |address| unsafe { world.runtime.free(address) };
    let pool = world.pool(world.gpu, PoolFlags::COARSE)?;
    let address = world.runtime.allocate(pool, 8192, NONE)?;
    let local = 0u64;
    let wild = [
        Address::NULL,
        Address(u64::MAX),
        Address(8),
        address.offset(1),
        address.offset(4096),
        Address::from(&raw const local),
    ];
    for bad in wild {
        ensure_matches!(
            free(bad),
            Err(AllocError::UnknownAddress { address }) if *address == bad
        );
    }
    free(address)?;
    ensure_matches!(free(address), Err(AllocError::UnknownAddress { .. }));
    Ok(())
}

pub(super) fn a_pointer_is_known_from_its_first_to_its_last_byte<F: Factory>(
    factory: &F,
) -> Outcome {
    let world = World::start(factory)?;
    for id in world.pools() {
        let owner = world.runtime.pool(id).map(|pool| pool.owner);
        let buffer = world.runtime.create_buffer(id, 5000, &[])?;
        for offset in [0, 1, 4999] {
            let info = world.runtime.pointer_info(buffer.address().offset(offset));
            ensure_eq!(info.kind, PointerKind::Hsa);
            ensure_eq!((info.agent_base, info.size), (buffer.address(), 5000));
            ensure_eq!((info.owner, info.pool), (owner, Some(id)));
        }
        world
            .runtime
            .set_user_data(buffer.address().offset(77), 42)?;
        ensure_eq!(world.runtime.pointer_info(buffer.address()).user_data, 42);
        let address = buffer.address();
        ensure_eq!(
            world.runtime.pointer_info(address.offset(u64::MAX)).kind,
            PointerKind::Unknown
        );
        drop(buffer);
        ensure_eq!(
            world.runtime.pointer_info(address).kind,
            PointerKind::Unknown
        );
    }
    Ok(())
}

pub(super) fn copies_arrive_between_all_pools<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let bytes: Vec<u8> = (0..9000u32).map(|i| (i * 7) as u8).collect();
    for from in world.pools() {
        for to in world.pools() {
            let source = world.runtime.create_buffer(from, 9000, &[])?;
            let target = world.runtime.create_buffer(to, 9000, &[])?;
            source.write(0, &bytes)?;
            // SAFETY: both ranges lie in buffers that nobody else uses.
            unsafe {
                world
                    .runtime
                    .copy(target.address().offset(3), source.address().offset(1), 8000)
            }?;
            let mut out = vec![0; 9000];
            target.read(0, &mut out)?;
            ensure_eq!(out[3..8003], bytes[1..8001], "pool {} to {}", from.0, to.0);
            ensure!(out[..3] == [0; 3] && out[8003..] == [0; 997]);
        }
    }
    Ok(())
}

pub(super) fn copies_that_leave_an_allocation_are_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let a = world.device(world.gpu, 4096)?;
    let b = world.shared(100)?;
    let ranges = [(4000, 97), (0, 4097), (0, u64::MAX), (4095, u64::MAX - 1)];
    for (offset, size) in ranges {
        let from = a.address().offset(offset);
        // SAFETY: refused before a byte is touched; that is what is tested.
        let out = unsafe { world.runtime.copy(b.address(), from, size) };
        ensure_matches!(out, Err(AllocError::OutOfRange { .. }));
        // SAFETY: as above.
        let back = unsafe { world.runtime.copy(from, b.address(), size) };
        ensure_matches!(back, Err(AllocError::OutOfRange { .. }));
    }
    ensure_matches!(a.write(4090, &[0; 7]), Err(AllocError::OutOfRange { .. }));
    ensure_matches!(
        a.read(u64::MAX, &mut [0; 2]),
        Err(AllocError::OutOfRange { .. })
    );
    Ok(())
}

pub(super) fn fills_store_words<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let buffer = world.device(world.gpu, 4096)?;
    // SAFETY: the range lies in a buffer that nobody else uses.
    unsafe {
        world
            .runtime
            .fill(buffer.address().offset(4), 0x1234_5678, 10)
    }?;
    let mut words = [0; 48];
    buffer.read(0, &mut words)?;
    ensure_eq!(words[..4], [0; 4]);
    ensure!(
        words[4..44]
            .chunks(4)
            .all(|word| word == [0x78, 0x56, 0x34, 0x12])
    );
    ensure_eq!(words[44..], [0; 4]);
    // SAFETY: refused before a byte is touched.
    let out = unsafe { world.runtime.fill(buffer.address(), 1, 1025) };
    ensure_matches!(out, Err(AllocError::OutOfRange { .. }));
    // SAFETY: as above.
    let out = unsafe { world.runtime.fill(buffer.address(), 1, u64::MAX / 2) };
    ensure_matches!(out, Err(AllocError::OutOfRange { .. }));
    Ok(())
}

pub(super) fn access_is_given_to_agents_that_exist<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pool = world.pool(world.cpu, PoolFlags::FINE)?;
    let buffer = world.runtime.create_buffer(pool, 4096, &[])?;
    let accessible = || world.runtime.pointer_info(buffer.address()).accessible;
    buffer.allow_access(&[world.gpu, world.gpu])?;
    ensure!(accessible().contains(&world.gpu));
    let bad = AgentId(99);
    ensure_matches!(
        buffer.allow_access(&[world.gpu, bad]),
        Err(AllocError::NoAgent { agent }) if *agent == bad
    );
    ensure!(
        accessible().contains(&world.gpu),
        "a refused call changes nothing"
    );
    buffer.allow_access(&[])?;
    ensure!(!accessible().contains(&world.gpu));
    ensure_matches!(
        world.runtime.allow_access(&[world.gpu], Address(16)),
        Err(AllocError::UnknownAddress { .. })
    );
    Ok(())
}

pub(super) fn locked_memory_is_known_until_the_last_unlock<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut bytes = vec![7u8; 10_000];
    let host = NonNull::from(&mut bytes[10]);
    let address = Address::from(host.as_ptr());
    // SAFETY: the vector stays until after the last unlock.
    let agent = unsafe { world.runtime.lock(host, 5000, &[]) }?;
    let check = || -> Outcome {
        let info = world.runtime.pointer_info(agent);
        ensure_eq!(info.kind, PointerKind::Locked);
        ensure_eq!((info.host_base, info.size), (address, 5000));
        ensure!(info.accessible.contains(&world.gpu));
        Ok(())
    };
    check()?;
    // SAFETY: as above.
    let again = unsafe { world.runtime.lock(host, 5000, &[world.gpu]) }?;
    ensure_eq!(again, agent);
    world.runtime.unlock(address)?;
    check()?;
    world.runtime.unlock(address)?;
    ensure_eq!(world.runtime.pointer_info(agent).kind, PointerKind::Unknown);
    ensure_matches!(
        world.runtime.unlock(address),
        Err(AllocError::UnknownAddress { .. })
    );
    // SAFETY: refused.
    let nothing = unsafe { world.runtime.lock(host, 0, &[]) };
    ensure_matches!(nothing, Err(AllocError::ZeroSize));
    Ok(())
}

pub(super) fn what_is_allocated_is_not_available<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pool = world.pool(world.gpu, PoolFlags::COARSE)?;
    let all = world.runtime.available(pool)?;
    ensure!(
        world
            .runtime
            .pool(pool)
            .is_some_and(|pool| all <= pool.size)
    );
    let size = 16 << 20;
    let buffer = world.runtime.create_buffer(pool, size, &[])?;
    ensure!(world.runtime.available(pool)? <= all - size);
    // What is left cannot be had twice.
    let left = world.runtime.available(pool)?;
    ensure_matches!(
        world.runtime.allocate(pool, left + 4096, NONE),
        Err(AllocError::Backend(_) | AllocError::TooLarge { .. })
    );
    drop(buffer);
    ensure_eq!(world.runtime.available(pool)?, all);
    Ok(())
}

pub(super) fn callbacks_come_before_an_allocation_goes<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let buffer = world.shared(4096)?;
    let calls = Arc::new(AtomicU32::new(0));
    let base = buffer.address();
    for (key, weight) in [(1, 1), (2, 10), (3, 100)] {
        let calls = calls.clone();
        let runtime = Arc::downgrade(&world.runtime);
        let call = move |address| {
            let known = runtime.upgrade().is_some();
            if address == base && known {
                calls.fetch_add(weight, Ordering::SeqCst);
            }
        };
        world.runtime.on_free(base.offset(8), key, Box::new(call))?;
    }
    ensure!(world.runtime.cancel_on_free(base, 2)?);
    ensure!(!world.runtime.cancel_on_free(base, 2)?);
    ensure_eq!(calls.load(Ordering::SeqCst), 0);
    drop(buffer);
    ensure_eq!(calls.load(Ordering::SeqCst), 101);
    Ok(())
}

pub(super) fn many_threads_allocate_and_free<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pools = world.pools();
    let churn = |thread: u64| -> Outcome {
        for round in 0..50 {
            let pool = pools[(thread + round) as usize % pools.len()];
            let size = 1 + (thread * 7919 + round * 104_729) % 20_000;
            let buffer = world.runtime.create_buffer(pool, size, &[world.gpu])?;
            buffer.write(size - 1, &[thread as u8])?;
            let mut byte = [0];
            buffer.read(size - 1, &mut byte)?;
            ensure_eq!(u64::from(byte[0]), thread);
        }
        Ok(())
    };
    in_threads(4, churn)
}

pub(super) fn a_live_ring_cannot_be_freed_by_its_address<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let ring = Address(queue.amd_queue().hsa_queue.base_address);
    for address in [ring, Address(queue.address())] {
        // SAFETY: refused, or the test fails before anything uses it.
        let freed = unsafe { world.runtime.free(address) };
        ensure_matches!(freed, Err(AllocError::UnknownAddress { .. }));
    }
    let done = world.barrier(&queue, &[])?;
    world.wait_for(&done, &queue)?;
    let page = page_size(&**world.runtime.backend());
    ensure!(ring.0.is_multiple_of(page));
    Ok(())
}

fn page_size<B: Backend + ?Sized>(backend: &B) -> u64 {
    Memory::page_size(backend)
}

/// Runs the function on several threads, with their numbers.
pub(super) fn in_threads(count: u64, body: impl Fn(u64) -> Outcome + Sync) -> Outcome {
    let body = &body;
    let run = move |number| body(number).map_err(|failure| failure.to_string());
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        for thread in threads {
            match thread.join() {
                Ok(outcome) => outcome.map_err(Failure::Broken)?,
                Err(_) => return Err(Failure::Broken("a thread panicked".into())),
            }
        }
        Ok(())
    })
}
