//! Addresses and memory apart.

use rukh_core::backend::{AgentId, Backend, HeapKind, MemoryAccess, MemoryError};
use rukh_core::mem::{Address, PointerKind, Pool, PoolFlags, RangeError, VirtualMemoryId};
use rukh_core::runtime::VirtualError;
use std::os::fd::{FromRawFd, OwnedFd};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Outcome, World};

/// Bytes of a piece of memory.
const PIECE: u64 = 64 << 10;
const ALL: MemoryAccess = MemoryAccess::all();

/// Whether the backend has it; otherwise it says so, to everything.
fn has<B: Backend + 'static>(world: &World<B>) -> Outcome<bool> {
    if world.runtime.has_virtual_memory() {
        return Ok(true);
    }
    ensure_matches!(
        world.runtime.reserve_addresses(PIECE, 0, Address::NULL),
        Err(VirtualError::Backend(MemoryError::NotSupported(_)))
    );
    Ok(false)
}

fn pool<B: Backend + 'static>(world: &World<B>, agent: AgentId) -> Outcome<Pool> {
    let flags = if agent == world.cpu {
        PoolFlags::FINE
    } else {
        PoolFlags::COARSE
    };
    let id = world.pool(agent, flags)?;
    let pool = world.runtime.pool(id).copied();
    pool.ok_or_else(|| super::Failure::Broken("a pool without a pool".into()))
}

fn write<B: Backend + 'static>(world: &World<B>, to: Address, floats: &[f32]) -> Outcome {
    // SAFETY: both are valid, and nobody else uses them.
    unsafe {
        world
            .runtime
            .copy(to, Address::from(floats.as_ptr()), floats.len() as u64 * 4)
    }?;
    Ok(())
}

fn read<B: Backend + 'static>(world: &World<B>, from: Address, count: usize) -> Outcome<Vec<f32>> {
    let mut floats = vec![0f32; count];
    let to = Address::from(floats.as_mut_ptr());
    // SAFETY: both are valid, and nobody else uses them.
    unsafe { world.runtime.copy(to, from, count as u64 * 4) }?;
    Ok(floats)
}

/// Doubles what is there, on a GPU.
fn double<B: Backend + 'static>(world: &World<B>, at: Address, count: u32) -> Outcome {
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "vector_add", "vector_add")?;
    let address = at.0.to_le_bytes();
    let shape = ([count, 1, 1], [64, 1, 1]);
    let arguments: [&[u8]; 4] = [&address, &address, &address, &count.to_le_bytes()];
    let work = world.prepare(&queue, &kernel, shape, &arguments)?;
    work.send(world, &queue)?;
    work.wait(world, &queue)
}

/// Device memory and host memory, one after the other, with access of the GPU and of the host.
pub(super) fn kernels_reach_memory_where_it_is_mapped<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    if !has(&world)? {
        return Ok(());
    }
    let runtime = &world.runtime;
    let align = 1 << 21;
    let at = runtime.reserve_addresses(4 * PIECE, align, Address::NULL)?;
    ensure!(at.0.is_multiple_of(align), "{at}");
    ensure_eq!(runtime.pointer_info(at).kind, PointerKind::Reserved);
    let first = runtime.create_memory(&pool(&world, world.gpu)?, PIECE, false)?;
    let second = runtime.create_memory(&pool(&world, world.cpu)?, PIECE, true)?;
    runtime.map_memory(at, PIECE, first)?;
    runtime.map_memory(at.offset(PIECE), PIECE, second)?;
    ensure_eq!(runtime.access(at, world.gpu)?, MemoryAccess::empty());
    // The host does not reach device memory everywhere, and says so.
    let private = pool(&world, world.gpu)?.heap == HeapKind::VramPrivate;
    let everybody = [(world.gpu, ALL), (world.cpu, ALL)];
    let who = if private {
        ensure_matches!(
            runtime.set_access(at, PIECE, &everybody),
            Err(VirtualError::Backend(MemoryError::NotSupported(_)))
        );
        ensure_eq!(runtime.access(at, world.gpu)?, MemoryAccess::empty());
        &everybody[..1]
    } else {
        &everybody[..]
    };
    runtime.set_access(at, PIECE, who)?;
    runtime.set_access(at.offset(PIECE), PIECE, &everybody)?;
    ensure_eq!(runtime.access(at.offset(PIECE + 9), world.gpu)?, ALL);
    let info = runtime.pointer_info(at.offset(PIECE + 9));
    ensure_eq!(
        (info.kind, info.agent_base),
        (PointerKind::Virtual, at.offset(PIECE))
    );

    let middle = at.offset(PIECE - 512);
    ensure_eq!(read(&world, middle, 256)?, vec![0f32; 256]);
    let floats: Vec<f32> = (0..256u16).map(f32::from).collect();
    let doubled: Vec<f32> = floats.iter().map(|float| 2.0 * float).collect();
    write(&world, middle, &floats)?;
    double(&world, middle, 256)?;
    ensure_eq!(read(&world, middle, 256)?, doubled);

    // The same memory elsewhere, where nobody has access yet.
    let other = at.offset(3 * PIECE);
    runtime.map_memory(other, PIECE, first)?;
    ensure_eq!(runtime.access(other, world.gpu)?, MemoryAccess::empty());
    runtime.set_access(other, PIECE, who)?;
    ensure_eq!(
        read(&world, other.offset(PIECE - 512), 128)?,
        doubled[..128]
    );
    for memory in [first, second] {
        runtime.release_memory(memory)?;
    }
    // SAFETY: nobody uses it.
    unsafe {
        runtime.unmap_memory(at, 2 * PIECE)?;
        ensure_eq!(
            read(&world, other.offset(PIECE - 512), 128)?,
            doubled[..128]
        );
        runtime.unmap_memory(other, PIECE)?;
    }
    runtime.free_addresses(at, 4 * PIECE)?;
    Ok(())
}

pub(super) fn what_cannot_be_mapped_is_refused<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    if !has(&world)? {
        return Ok(());
    }
    let runtime = &world.runtime;
    let range = |answer| match answer {
        Err(VirtualError::Range(error)) => Some(error),
        _ => None,
    };
    for (size, align) in [(0, 0), (100, 0), (PIECE, 100), (PIECE, 3 << 12)] {
        let reserved = runtime.reserve_addresses(size, align, Address::NULL);
        ensure_matches!(
            range(reserved.map(drop)),
            Some(RangeError::Unaligned { .. })
        );
    }
    let at = runtime.reserve_addresses(2 * PIECE, 0, Address::NULL)?;
    let memory = runtime.create_memory(&pool(&world, world.gpu)?, PIECE, false)?;
    let none = VirtualMemoryId(u64::MAX);
    ensure_matches!(
        range(runtime.map_memory(at, PIECE, none)),
        Some(RangeError::NoMemory { .. })
    );
    ensure_matches!(
        range(runtime.map_memory(at, 2 * PIECE, memory)),
        Some(RangeError::WrongSize { .. })
    );
    ensure_matches!(
        range(runtime.map_memory(at.offset(2 * PIECE), PIECE, memory)),
        Some(RangeError::NotReserved { .. })
    );
    runtime.map_memory(at, PIECE, memory)?;
    ensure_matches!(
        range(runtime.map_memory(at.offset(4096), PIECE, memory)),
        Some(RangeError::Overlap { .. })
    );
    ensure_matches!(
        range(runtime.set_access(at, 2 * PIECE, &[(world.gpu, ALL)])),
        Some(RangeError::NotMapped { .. })
    );
    ensure_matches!(
        range(runtime.free_addresses(at, 2 * PIECE)),
        Some(RangeError::InUse { .. })
    );
    ensure!(
        runtime
            .set_access(at, PIECE, &[(AgentId(99), ALL)])
            .is_err()
    );
    ensure!(runtime.allow_access(&[world.gpu], at).is_err());
    // SAFETY: refused.
    unsafe {
        ensure!(runtime.free(at).is_err());
        ensure_matches!(
            range(runtime.unmap_memory(at, 4096)),
            Some(RangeError::Partial { .. })
        );
    }
    // What is left goes with the runtime.
    Ok(())
}

pub(super) fn memory_is_had_again_by_its_descriptor<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    if !has(&world)? {
        return Ok(());
    }
    let runtime = &world.runtime;
    ensure!(runtime.import_memory(-1).is_err());
    let at = runtime.reserve_addresses(2 * PIECE, 0, Address::NULL)?;
    let memory = runtime.create_memory(&pool(&world, world.gpu)?, PIECE, false)?;
    let descriptor = runtime.export_memory(memory)?;
    let imported = runtime.import_memory(descriptor);
    // SAFETY: made for this process, and nobody else knows of it.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let imported = imported?;
    ensure_eq!(runtime.memory_properties(imported)?.size, PIECE);
    runtime.map_memory(at, PIECE, memory)?;
    runtime.map_memory(at.offset(PIECE), PIECE, imported)?;
    runtime.release_memory(memory)?;
    runtime.set_access(at, 2 * PIECE, &[(world.gpu, ALL)])?;
    write(&world, at, &[3.0; 64])?;
    double(&world, at.offset(PIECE), 64)?;
    ensure_eq!(read(&world, at, 64)?, vec![6.0; 64]);
    Ok(())
}
