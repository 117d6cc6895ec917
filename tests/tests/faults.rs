//! What the software GPU says about a fault beyond what hardware can: the exact address, the allocation
//! next to it, when it was freed, the instruction and the kernel.

use rukh_backend_sim::SimBackend;
use rukh_backend_sim::device::FaultCause;
use rukh_backend_sim::mem::{Access, FaultReason};
use rukh_core::mem::{AllocFlags, PoolFlags};
use rukh_core::queue::QueueStatus;
use rukh_tests::conformance::{Outcome, Prepared, SimFactory, World};

const FACTORIES: [SimFactory; 3] = [
    SimFactory::threads("gfx90a"),
    SimFactory::threads("gfx1100"),
    SimFactory::step("gfx90a", 9),
];

/// Runs a kernel of `fault.c` on a queue, which stops; gives why, and the dispatch.
fn fault(
    world: &World<SimBackend>,
    kernel: &str,
    arguments: &[&[u8]],
    before: impl FnOnce() -> Outcome,
) -> Outcome<(QueueStatus, u64, Prepared<SimBackend>)> {
    let queue = world.queue()?;
    let kernel = world.kernel(world.gpu, "fault", kernel)?;
    let shape = ([256, 1, 1], [64, 1, 1]);
    let work = world.prepare(&queue, &kernel, shape, arguments)?;
    before()?;
    work.send(world, &queue)?;
    let status = world.wait_stopped(&queue)?;
    Ok((status, kernel.info().kernel_object, work))
}

fn each(test: impl Fn(&World<SimBackend>) -> Outcome) {
    for factory in FACTORIES {
        let world = World::start(&factory).unwrap_or_else(|failure| panic!("{failure}"));
        test(&world).unwrap_or_else(|failure| panic!("{factory:?}: {failure}"));
    }
}

#[test]
fn a_store_past_the_end_names_the_address_the_kernel_and_the_allocation() {
    each(|world| {
        let victim = world.device(world.gpu, 8192)?;
        let base = victim.address().0;
        let bad = base + 8192 + 20;
        let arguments: [&[u8]; 2] = [&bad.to_le_bytes(), &1u32.to_le_bytes()];
        let (status, kernel_object, work) = fault(world, "fault_store", &arguments, || Ok(()))?;
        let address = bad & !4095;
        assert_eq!(status, QueueStatus::MemoryFault { address });
        assert_eq!(work.value(), 1, "the completion signal was touched");

        let reports = world.runtime.backend().last_faults();
        let [report] = &reports[..] else {
            panic!("{reports:?}");
        };
        assert_eq!((report.agent, report.packet), (world.gpu, 0));
        let FaultCause::Wave(wave) = &report.cause else {
            panic!("{report:?}");
        };
        assert_eq!(wave.kernel_object, kernel_object);
        assert_eq!((wave.group, wave.wave), ([0; 3], 0));
        let code = kernel_object..kernel_object + (1 << 16);
        assert!(code.contains(&wave.pc), "{:#x}", wave.pc);
        let memory = report.memory().expect("a memory fault");
        assert_eq!((memory.address, memory.len), (bad, 4));
        assert_eq!(memory.access, Access::Write);
        assert_eq!(memory.reason, FaultReason::NotMapped);
        let near = memory.nearest.expect("something is mapped");
        assert_eq!((near.base, near.size, near.distance), (base, 8192, 21));
        assert!(
            report.to_string().contains(&format!("{bad:#x}")),
            "{report}"
        );
        Ok(())
    });
}

#[test]
fn a_load_of_freed_memory_says_when_it_was_freed() {
    each(|world| {
        let pool = world.pool(world.gpu, PoolFlags::COARSE)?;
        let out = world.device(world.gpu, 4096)?;
        let victim = world.runtime.allocate(pool, 4096, AllocFlags::empty())?;
        let bad = victim.0 + 8;
        let arguments: [&[u8]; 2] = [&bad.to_le_bytes(), &out.address().0.to_le_bytes()];
        // SAFETY: the host does not use it; that a kernel does is what is tested.
        let free = || Ok(unsafe { world.runtime.free(victim) }?);
        let (status, ..) = fault(world, "fault_load", &arguments, free)?;
        assert_eq!(status, QueueStatus::MemoryFault { address: victim.0 });
        let reports = world.runtime.backend().last_faults();
        let memory = reports[0].memory().expect("a memory fault");
        assert_eq!((memory.address, memory.access), (bad, Access::Read));
        let freed = memory.freed.expect("it was freed");
        assert_eq!((freed.base, freed.size), (victim.0, 4096));
        assert!(reports[0].to_string().contains("freed"), "{}", reports[0]);
        Ok(())
    });
}

#[test]
fn an_atomic_to_memory_of_the_host_says_that_it_is_not_mapped_to_the_agent() {
    each(|world| {
        let pool = world.pool(world.cpu, PoolFlags::COARSE)?;
        let victim = world.runtime.create_buffer(pool, 4096, &[])?;
        let bad = victim.address().0;
        let arguments: [&[u8]; 2] = [&bad.to_le_bytes(), &1u32.to_le_bytes()];
        fault(world, "fault_atomic", &arguments, || Ok(()))?;
        let reports = world.runtime.backend().last_faults();
        let memory = reports[0].memory().expect("a memory fault");
        assert_eq!(memory.access, Access::ReadWrite);
        assert_eq!(memory.reason, FaultReason::OtherAgent);
        let near = memory.nearest.expect("it is there");
        assert_eq!((near.base, near.distance), (bad, 0));
        Ok(())
    });
}
