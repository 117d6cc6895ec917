//! Bad packets and bad kernels: the exact status, and nothing else is disturbed.
//!
//! Statuses are those that ROCr's clients see: hsa_status_t of the queue's error callback.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rukh_core::backend::{Backend, Clock};
use rukh_core::loader::kernarg::{Explicit, Grid, Hidden};
use rukh_core::loader::{CodeObject, Place};
use rukh_core::mem::{AllocFlags, PoolFlags};
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{Dispatch, DispatchError, Queue, QueueConfig, QueueError, QueueFailure};
use rukh_core::wire::aql::{
    AmdFormat, BarrierPacket, BarrierValuePacket, Header, KernelDispatchPacket, PACKET_SIZE,
    PacketType,
};

use super::failure::{ensure, ensure_eq, ensure_matches};
use super::{Factory, Failure, Outcome, Prepared, VectorAdd, World};

/// An address of no memory.
const NOWHERE: u64 = 0x1234_5000;
const PAGE: u64 = 4096;

/// A queue whose errors are kept.
struct Victim<B: Backend + 'static> {
    queue: Queue<B>,
    failures: Arc<Mutex<Vec<QueueFailure>>>,
}

impl<B: Backend + 'static> Victim<B> {
    fn new(world: &World<B>) -> Outcome<Self> {
        let failures: Arc<Mutex<Vec<QueueFailure>>> = Arc::default();
        let sink = failures.clone();
        let config = QueueConfig {
            size: 64,
            error_callback: Some(Box::new(move |failure| {
                sink.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(failure);
            })),
            ..QueueConfig::default()
        };
        Ok(Self {
            queue: world.runtime.create_queue(world.gpu, config)?,
            failures,
        })
    }

    fn failures(&self) -> Vec<QueueFailure> {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Has a queue stop by what `send` sends to it, and checks all that must hold then. What `send`
/// gives is kept until the end.
fn stops<B: Backend + 'static, T>(
    world: &World<B>,
    expected: QueueStatus,
    send: impl FnOnce(&Queue<B>) -> Outcome<T>,
) -> Outcome<T> {
    let victim = Victim::new(world)?;
    let bystander = world.queue()?;
    VectorAdd::new(world, &bystander, 100, 64)?.run(world, &bystander)?;

    let kept = send(&victim.queue)?;
    ensure_eq!(world.wait_stopped(&victim.queue)?, expected);

    // The callback comes once, with the same status and the queue's id.
    let end = Instant::now() + Duration::from_secs(20);
    while victim.failures().is_empty() && Instant::now() < end {
        world.runtime.poll();
        world.runtime.backend().relax();
    }
    let failure = QueueFailure {
        status: expected,
        queue: victim.queue.address(),
        id: victim.queue.id(),
    };
    ensure_eq!(victim.failures(), [failure]);

    // The queue takes nothing more; the other one, and new ones, work.
    let claim = victim.queue.try_claim().map(|claim| claim.index());
    ensure_matches!(claim, Err(QueueError::Stopped(status)) if *status == expected);
    if world.faults_stop_the_agent && matches!(expected, QueueStatus::MemoryFault { .. }) {
        // Who waits for the other one is told, too: nothing more comes of it.
        ensure_eq!(world.wait_stopped(&bystander)?, expected);
    } else {
        ensure_eq!(bystander.status(), None);
        VectorAdd::new(world, &bystander, 300, 64)?.run(world, &bystander)?;
        let fresh = world.queue()?;
        VectorAdd::new(world, &fresh, 300, 64)?.run(world, &fresh)?;
    }
    world.runtime.poll();
    ensure_eq!(victim.failures().len(), 1);
    Ok(kept)
}

/// The same for a vector addition whose packet was spoiled: it must not have run.
fn spoiled<B: Backend + 'static>(
    world: &World<B>,
    expected: QueueStatus,
    spoil: impl FnOnce(&mut KernelDispatchPacket),
) -> Outcome {
    let sum = stops(world, expected, |queue| {
        let mut sum = VectorAdd::new(world, queue, 200, 64)?;
        spoil(&mut sum.work.packet);
        sum.work.send(world, queue)?;
        Ok(sum)
    })?;
    ensure_eq!(sum.work.value(), 1, "the completion signal was touched");
    sum.check_untouched()
}

/// The same for a packet of these bytes, of which 56 to 63 become the completion signal.
fn raw<B: Backend + 'static>(
    world: &World<B>,
    expected: QueueStatus,
    bytes: &[(usize, u8)],
) -> Outcome {
    let signal = world.runtime.create_signal(1)?;
    let mut packet = [0; PACKET_SIZE];
    packet[56..].copy_from_slice(&signal.handle().0.to_le_bytes());
    for &(at, byte) in bytes {
        packet[at] = byte;
    }
    stops(world, expected, |queue| {
        queue.claim(world.deadline())?.publish_packet(&packet);
        Ok(())
    })?;
    ensure_eq!(signal.load(Default::default()), 1);
    Ok(())
}

/// The same for a kernel of `fault.c` with these arguments.
fn faulting<B: Backend + 'static>(
    world: &World<B>,
    expected: QueueStatus,
    kernel: &str,
    arguments: &[&[u8]],
) -> Outcome {
    let kernel = world.kernel(world.gpu, "fault", kernel)?;
    let work = stops(world, expected, |queue| {
        let shape = ([64, 1, 1], [64, 1, 1]);
        let mut work = world.prepare(queue, &kernel, shape, arguments)?;
        // Calls need a stack.
        work.packet.private_segment_size = work.packet.private_segment_size.max(256);
        work.send(world, queue)?;
        Ok(work)
    })?;
    ensure_eq!(work.value(), 1, "the completion signal was touched");
    Ok(())
}

const fn fault(address: u64) -> QueueStatus {
    QueueStatus::MemoryFault {
        address: address & !(PAGE - 1),
    }
}

pub(super) fn no_dimensions_stop_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    spoiled(&world, QueueStatus::IncompatibleArguments, |packet| {
        packet.setup = 0
    })
}

pub(super) fn an_empty_group_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    spoiled(&world, QueueStatus::InvalidArgument, |packet| {
        packet.workgroup_size[0] = 0;
    })
}

pub(super) fn a_group_that_is_too_large_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for size in [[1025, 1, 1], [1024, 2, 1], [u16::MAX; 3], [11, 11, 11]] {
        spoiled(&world, QueueStatus::InvalidArgument, |packet| {
            packet.setup = 3;
            packet.workgroup_size = size;
        })?;
    }
    Ok(())
}

pub(super) fn an_empty_grid_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for dimension in 0..3 {
        spoiled(&world, QueueStatus::InvalidArgument, |packet| {
            packet.setup = 3;
            packet.grid_size[dimension] = 0;
        })?;
    }
    Ok(())
}

pub(super) fn too_much_group_memory_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let gpu = world.runtime.agent(world.gpu).and_then(|agent| agent.gpu());
    let lds = gpu.map_or(0, |gpu| gpu.lds_bytes);
    for bytes in [lds + 1, u32::MAX] {
        spoiled(&world, QueueStatus::InvalidAllocation, |packet| {
            packet.group_segment_size = bytes;
        })?;
    }
    let queue = world.queue()?;
    let mut sum = VectorAdd::new(&world, &queue, 200, 64)?;
    sum.work.packet.group_segment_size = lds;
    sum.run(&world, &queue)
}

pub(super) fn a_kernel_object_that_is_none_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let zeros = world.device(world.gpu, 4096)?;
    let kernel = world.kernel(world.gpu, "vector_add", "vector_add")?;
    let object = kernel.info().kernel_object;
    for address in [0, NOWHERE, object + 4, u64::MAX - 63, zeros.address().0] {
        spoiled(&world, QueueStatus::InvalidCodeObject, |packet| {
            packet.kernel_object = address;
        })?;
    }
    Ok(())
}

pub(super) fn an_unknown_packet_type_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for kind in [6, 77, 255] {
        raw(&world, QueueStatus::InvalidPacketFormat, &[(0, kind)])?;
    }
    Ok(())
}

pub(super) fn an_unknown_vendor_format_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for format in [0, 3, 0x7f, 0xff] {
        raw(
            &world,
            QueueStatus::InvalidPacketFormat,
            &[(0, 0), (2, format)],
        )?;
    }
    Ok(())
}

pub(super) fn an_agent_dispatch_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let kind = PacketType::AgentDispatch.bits();
    raw(&world, QueueStatus::InvalidPacketFormat, &[(0, kind)])
}

pub(super) fn an_unknown_condition_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let signal = world.runtime.create_signal(1)?;
    stops(&world, QueueStatus::InvalidPacketFormat, |queue| {
        let packet = BarrierValuePacket {
            header: Header::new(PacketType::VendorSpecific),
            amd_format: AmdFormat::BarrierValue.bits(),
            signal: signal.handle().0,
            condition: 4,
            completion_signal: signal.handle().0,
            ..BarrierValuePacket::default()
        };
        queue.claim(world.deadline())?.publish_packet(&packet);
        Ok(())
    })?;
    ensure_eq!(signal.load(Default::default()), 1);
    Ok(())
}

pub(super) fn an_unknown_instruction_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let mut code = world.code_object(world.gpu, "vector_add")?.to_vec();
    let at = entry(&code, "vector_add.kd")?;
    // SOPP with the highest opcode, which no generation has.
    code[at..at + 4].copy_from_slice(&0xbfff_0000u32.to_le_bytes());
    let program = world.runtime.load_program(world.gpu, &code)?;
    let kernel = program
        .kernel("vector_add")
        .ok_or_else(|| Failure::Broken("the kernel is gone".into()))?;
    let sum = stops(&world, QueueStatus::IllegalInstruction, |queue| {
        let sum = VectorAdd::with(&world, queue, &kernel, 200, 64)?;
        sum.work.send(&world, queue)?;
        Ok(sum)
    })?;
    ensure_eq!(sum.work.value(), 1);
    sum.check_untouched()
}

/// Where in the file a kernel's first instruction is.
fn entry(code: &[u8], symbol: &str) -> Outcome<usize> {
    let file = CodeObject::parse(code)?;
    let place = file
        .kernels()
        .find_map(|(kernel, descriptor)| match kernel.place {
            Place::Address(address) if kernel.name == symbol => descriptor.entry(address),
            _ => None,
        });
    let segment = place.and_then(|address| Some((address, file.segments().find(address, 4)?)));
    let (address, segment) = segment.ok_or_else(|| Failure::Broken(format!("no {symbol}")))?;
    let offset = (address - segment.address) as usize;
    let base = segment.data.as_ptr().addr() - code.as_ptr().addr();
    Ok(base + offset)
}

pub(super) fn a_trap_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let out = world.device(world.gpu, 4096)?;
    let address = out.address().0.to_le_bytes();
    faulting(&world, QueueStatus::Exception, "fault_trap", &[&address])
}

pub(super) fn a_store_to_nowhere_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for address in [0u64, 16, NOWHERE + 8, 0x7fff_ffff_f000] {
        let arguments: [&[u8]; 2] = [&address.to_le_bytes(), &1u32.to_le_bytes()];
        faulting(&world, fault(address), "fault_store", &arguments)?;
    }
    Ok(())
}

pub(super) fn a_load_from_nowhere_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let out = world.device(world.gpu, 4096)?;
    let arguments: [&[u8]; 2] = [&NOWHERE.to_le_bytes(), &out.address().0.to_le_bytes()];
    faulting(&world, fault(NOWHERE), "fault_load", &arguments)
}

pub(super) fn an_atomic_to_nowhere_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let arguments: [&[u8]; 2] = [&NOWHERE.to_le_bytes(), &1u32.to_le_bytes()];
    faulting(&world, fault(NOWHERE), "fault_atomic", &arguments)
}

pub(super) fn an_access_behind_an_allocation_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for buffer in [world.device(world.gpu, PAGE)?, world.shared(PAGE)?] {
        for address in [buffer.address().0 + PAGE, buffer.address().0 - 4] {
            let arguments: [&[u8]; 2] = [&address.to_le_bytes(), &1u32.to_le_bytes()];
            faulting(&world, fault(address), "fault_store", &arguments)?;
        }
    }
    Ok(())
}

pub(super) fn an_access_to_freed_memory_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pool = world.pool(world.gpu, PoolFlags::COARSE)?;
    let kernel = world.kernel(world.gpu, "fault", "fault_store")?;
    let address = world.runtime.allocate(pool, PAGE, AllocFlags::empty())?;
    let work = stops(&world, fault(address.0), |queue| {
        let arguments: [&[u8]; 2] = [&address.0.to_le_bytes(), &1u32.to_le_bytes()];
        let shape = ([64, 1, 1], [64, 1, 1]);
        let work: Prepared<_> = world.prepare(queue, &kernel, shape, &arguments)?;
        // SAFETY: the host does not use it; that a device does is what is tested.
        unsafe { world.runtime.free(address) }?;
        work.send(&world, queue)?;
        Ok(work)
    })?;
    ensure_eq!(work.value(), 1);
    Ok(())
}

pub(super) fn an_access_to_memory_of_others_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let pool = world.pool(world.cpu, PoolFlags::COARSE)?;
    let mut buffers = vec![world.runtime.create_buffer(pool, PAGE, &[])?];
    for other in world
        .gpus()
        .map(|agent| agent.id)
        .filter(|&id| id != world.gpu)
    {
        buffers.push(world.device(other, PAGE)?);
    }
    for buffer in &buffers {
        let address = buffer.address().0;
        let arguments: [&[u8]; 2] = [&address.to_le_bytes(), &1u32.to_le_bytes()];
        faulting(&world, fault(address), "fault_store", &arguments)?;
        // With permission it is fine.
        buffer.allow_access(&[world.gpu])?;
        let queue = world.queue()?;
        let kernel = world.kernel(world.gpu, "fault", "fault_store")?;
        let shape = ([64, 1, 1], [64, 1, 1]);
        let work = world.prepare(&queue, &kernel, shape, &arguments)?;
        work.send(&world, &queue)?;
        work.wait(&world, &queue)?;
        let mut word = [0; 4];
        buffer.read(0, &mut word)?;
        ensure_eq!(word, [1, 0, 0, 0]);
    }
    Ok(())
}

pub(super) fn a_call_into_data_stops_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let data = world.device(world.gpu, PAGE)?;
    for address in [data.address().0 + 64, NOWHERE] {
        faulting(
            &world,
            fault(address),
            "fault_call",
            &[&address.to_le_bytes()],
        )?;
    }
    Ok(())
}

pub(super) fn arguments_that_are_nowhere_stop_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    for address in [0, NOWHERE] {
        spoiled(&world, fault(address), |packet| {
            packet.kernarg_address = address
        })?;
    }
    Ok(())
}

pub(super) fn signals_that_are_nowhere_stop_the_queue<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    // The kernel runs, but its completion can be told nobody.
    stops(&world, fault(NOWHERE), |queue| {
        let mut sum = VectorAdd::new(&world, queue, 200, 64)?;
        sum.work.packet.completion_signal = NOWHERE;
        sum.work.send(&world, queue)?;
        Ok(sum)
    })?;
    stops(&world, fault(NOWHERE), |queue| {
        let mut packet = BarrierPacket {
            header: Header::new(PacketType::BarrierAnd),
            ..BarrierPacket::default()
        };
        packet.dep_signal[3] = NOWHERE;
        queue.claim(world.deadline())?.publish_packet(&packet);
        Ok(())
    })
}

pub(super) fn the_helper_refuses_what_the_device_would<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "vector_add", "vector_add")?;
    let (pointer, count) = ([0; 8], [0; 4]);
    let pointer = Explicit::Bytes(&pointer);
    let full = [pointer, pointer, pointer, Explicit::Bytes(&count)];
    let dispatch = |grid, group, lds| Dispatch {
        hidden: Hidden {
            dynamic_lds: lds,
            ..Hidden::default()
        },
        ..Dispatch::new(Grid::new(grid, group))
    };
    let send = |how: &Dispatch, arguments: &[Explicit<'_>]| {
        let sent = world.runtime.dispatch(&queue, &kernel, how, arguments);
        sent.map(|_| ())
    };
    let fine = dispatch([64, 1, 1], [64, 1, 1], 0);
    ensure_matches!(send(&fine, &full[..3]), Err(DispatchError::Arguments(_)));
    ensure_matches!(send(&fine, &[pointer; 4]), Err(DispatchError::Arguments(_)));
    for (grid, group) in [([0, 1, 1], [64, 1, 1]), ([64, 1, 1], [0, 1, 1])] {
        let how = dispatch(grid, group, 0);
        ensure_matches!(send(&how, &full), Err(DispatchError::Arguments(_)));
    }
    ensure_matches!(
        send(&dispatch([64, 64, 1], [64, 64, 1], 0), &full),
        Err(DispatchError::GroupTooLarge { items: 4096, .. })
    );
    ensure_matches!(
        send(&dispatch([64, 1, 1], [64, 1, 1], 1 << 20), &full),
        Err(DispatchError::GroupMemory { bytes, .. }) if *bytes == 1 << 20
    );
    ensure_matches!(
        world
            .runtime
            .dispatch_raw(&queue, &kernel, &fine, &[0; 3])
            .map(|_| ()),
        Err(DispatchError::ArgumentBytes { given: 3, .. })
    );
    ensure_eq!(queue.write_index(Default::default()), 0);
    VectorAdd::new(&world, &queue, 100, 64)?.run(&world, &queue)
}

pub(super) fn a_huge_grid_can_be_abandoned<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let queue = world.queue()?;
    let mut sum = VectorAdd::new(&world, &queue, 200, 64)?;
    sum.work.packet.setup = 3;
    sum.work.packet.workgroup_size = [1, 1, 1];
    sum.work.packet.grid_size = [u32::MAX, u32::MAX, 1];
    sum.work.send(&world, &queue)?;
    for _ in 0..100 {
        world.runtime.backend().relax();
    }
    // Either the device works on it, or refuses it; the host is not held up.
    let before = world.runtime.backend().now();
    drop(queue);
    let waited = world.runtime.backend().now() - before;
    ensure!(waited < 10_000_000_000, "{waited} ns");
    ensure_eq!(sum.work.value(), 1);
    let other = world.queue()?;
    VectorAdd::new(&world, &other, 200, 64)?.run(&world, &other)
}

pub(super) fn packets_behind_a_failed_one_do_not_run<F: Factory>(factory: &F) -> Outcome {
    let world = World::start(factory)?;
    let (bad, behind) = stops(&world, QueueStatus::InvalidAllocation, |queue| {
        let mut bad = VectorAdd::new(&world, queue, 200, 64)?;
        bad.work.packet.group_segment_size = u32::MAX;
        let mut behind = VectorAdd::new(&world, queue, 200, 64)?;
        behind.work.packet.header = behind.work.packet.header.barrier(true);
        let mut batch = queue.claim_batch(2, world.deadline())?;
        ensure!(batch.push(&bad.work.packet) && batch.push(&behind.work.packet));
        drop(batch);
        Ok((bad, behind))
    })?;
    for sum in [&bad, &behind] {
        ensure_eq!(sum.work.value(), 1);
        sum.check_untouched()?;
    }
    Ok(())
}
