use crate::fake::{Fake, GPU};
use crate::{soon, stepped, threaded};
use rukh_core::backend::{AgentId, MemoryFlags, Timeout};
use rukh_core::loader::kernarg::{Explicit, Grid, Hidden, KernargError};
use rukh_core::loader::{ExternalVariable, LoadError, Scope};
use rukh_core::mem::{Address, PoolFlags};
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{
    Dispatch, DispatchError, Program, ProgramError, Queue, QueueConfig, QueueError, Runtime,
    RuntimeConfig,
};
use std::sync::Arc;

/// `tests/data/linked.cl`, compiled.
static LINKED: &[u8] = include_bytes!("../data/linked-gfx90a-v4.co");
static WRONG: &[u8] = include_bytes!("../data/linked-gfx942-v4.co");

const EXTERNAL: [ExternalVariable<'static>; 1] = [ExternalVariable {
    name: "external",
    scope: Scope::Program,
    address: 0x1234_5000,
    is_const: false,
}];

fn program(rt: &Arc<Runtime<Fake>>) -> Arc<Program<Fake>> {
    rt.load_program_with(GPU, LINKED, &EXTERNAL).unwrap()
}

fn queue(rt: &Arc<Runtime<Fake>>) -> Queue<Fake> {
    let config = QueueConfig {
        size: 64,
        ..QueueConfig::default()
    };
    rt.create_queue(GPU, config).unwrap()
}

const GRID: Grid = Grid::new([256, 1, 1], [64, 1, 1]);

#[test]
fn code_goes_to_executable_device_memory_and_leaves_it() {
    let (fake, rt) = stepped();
    let before = fake.held().0;
    let program = program(&rt);
    assert_eq!(
        program.kernel_names().collect::<Vec<_>>(),
        ["empty", "touch"]
    );
    let primes = program.variable("primes").unwrap();
    assert_eq!(primes.size, 16);
    let mut values = [0u8; 16];
    let to = Address::from(values.as_mut_ptr());
    unsafe { rt.copy(to, Address(primes.address), 16) }.unwrap();
    assert_eq!(values, [2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0]);
    let base = rt.pointer_info(Address(primes.address)).agent_base;
    assert!(
        fake.flags_at(base.0)
            .unwrap()
            .contains(MemoryFlags::EXECUTABLE)
    );
    assert_eq!(
        fake.code_invalidations
            .load(std::sync::atomic::Ordering::Relaxed),
        1
    );
    // A kernel keeps its code.
    let kernel = program.kernel("touch.kd").unwrap();
    assert_eq!(kernel.name(), "touch");
    drop(program);
    assert_eq!(fake.held().0, before + 1);
    drop(kernel);
    assert_eq!(fake.held().0, before);
}

#[test]
fn code_that_cannot_be_loaded_leaves_nothing() {
    let (fake, rt) = stepped();
    let before = fake.held();
    let refused = |agent, bytes| rt.load_program(agent, bytes).unwrap_err();
    assert!(matches!(
        refused(GPU, LINKED),
        ProgramError::Load(LoadError::VariableUndefined { .. })
    ));
    assert!(matches!(
        refused(GPU, WRONG),
        ProgramError::Load(LoadError::IncompatibleIsa { .. })
    ));
    assert!(matches!(
        refused(GPU, &LINKED[..100]),
        ProgramError::CodeObject(_)
    ));
    assert_eq!(
        refused(AgentId(0), LINKED),
        ProgramError::NoIsa { agent: AgentId(0) }
    );
    assert_eq!(
        refused(AgentId(5), LINKED),
        ProgramError::NoAgent { agent: AgentId(5) }
    );
    assert_eq!(fake.held(), before);
}

#[test]
fn a_dispatch_carries_the_arguments_to_the_kernel() {
    for (_, rt) in [threaded(), stepped()] {
        let queue = queue(&rt);
        let kernel = program(&rt).kernel("touch").unwrap();
        let pool = rt.find_pool(GPU, PoolFlags::COARSE).unwrap().id;
        let out = rt.create_buffer(pool, 8, &[]).unwrap();
        for _ in 0..200 {
            let completion = rt
                .dispatch(
                    &queue,
                    &kernel,
                    &Dispatch::new(GRID),
                    &[
                        Explicit::Bytes(&out.address().0.to_le_bytes()),
                        Explicit::DynamicLds(256),
                        Explicit::Bytes(&[1]),
                        Explicit::Bytes(&[0; 16]),
                    ],
                )
                .unwrap();
            completion.wait(soon(&rt)).unwrap();
            assert!(completion.is_done());
        }
        // The fake's kernel adds the 8 bytes after the pointer: the offset of the dynamic group memory, 0,
        // and the character.
        let mut sum = [0u8; 8];
        out.read(0, &mut sum).unwrap();
        assert_eq!(u64::from_le_bytes(sum), 200 << 32);
    }
}

#[test]
fn a_dispatch_that_cannot_be_is_refused_before_it_is_sent() {
    let (_, rt) = stepped();
    let queue = queue(&rt);
    let program = program(&rt);
    let (touch, empty) = (
        program.kernel("touch").unwrap(),
        program.kernel("empty").unwrap(),
    );
    assert!(program.kernel("none").is_none());
    let grid = |grid, group| Dispatch::new(Grid::new(grid, group));
    let refused =
        |kernel, dispatch: Dispatch| rt.dispatch(&queue, kernel, &dispatch, &[]).unwrap_err();
    assert!(matches!(
        refused(&touch, grid([1, 1, 1], [1, 1, 1])),
        DispatchError::Arguments(KernargError::Count { expected: 4, .. })
    ));
    assert!(matches!(
        refused(&empty, grid([0, 1, 1], [1, 1, 1])),
        DispatchError::Arguments(KernargError::Grid { .. })
    ));
    assert_eq!(
        refused(&empty, grid([2048, 1, 1], [2048, 1, 1])),
        DispatchError::GroupTooLarge {
            items: 2048,
            max: 1024
        }
    );
    let lds = Dispatch {
        hidden: Hidden {
            dynamic_lds: 70_000,
            ..Hidden::default()
        },
        ..grid([1, 1, 1], [1, 1, 1])
    };
    assert_eq!(
        refused(&empty, lds),
        DispatchError::GroupMemory {
            bytes: 70_000,
            max: 65536
        }
    );
    let raw = rt.dispatch_raw(&queue, &touch, &Dispatch::new(GRID), &[0; 7]);
    assert!(matches!(
        raw,
        Err(DispatchError::ArgumentBytes { given: 7, .. })
    ));
    use rukh_core::signal::MemoryOrder;
    assert_eq!(queue.write_index(MemoryOrder::Relaxed), 0);
}

#[test]
fn a_dispatch_that_nobody_waits_for_keeps_what_it_needs() {
    let (fake, rt) = stepped();
    let queue = queue(&rt);
    let kernel = program(&rt).kernel("empty").unwrap();
    let held = fake.held().0;
    let code = Arc::downgrade(kernel.program());
    drop(
        rt.dispatch(&queue, &kernel, &Dispatch::new(GRID), &[])
            .unwrap(),
    );
    drop(kernel);
    assert!(code.upgrade().is_some());
    while fake.progress() {}
    // The next dispatch, or the end of the queue, finds it complete.
    drop(queue);
    assert!(code.upgrade().is_none());
    assert!(fake.held().0 < held);
}

#[test]
fn waiting_for_a_kernel_of_a_queue_that_stopped_is_an_error() {
    for (fake, rt) in [threaded(), stepped()] {
        let queue = queue(&rt);
        let kernel = program(&rt).kernel("empty").unwrap();
        let mut broken = [0u8; 64];
        broken[0] = 99;
        queue.claim(soon(&rt)).unwrap().publish_packet(&broken);
        let completion = rt.dispatch(&queue, &kernel, &Dispatch::new(GRID), &[]);
        // With a thread the queue may have stopped already.
        match completion {
            Ok(completion) => assert_eq!(
                completion.wait(soon(&rt)),
                Err(QueueError::Stopped(QueueStatus::InvalidPacketFormat))
            ),
            Err(error) => assert_eq!(
                error,
                DispatchError::Queue(QueueError::Stopped(QueueStatus::InvalidPacketFormat))
            ),
        }
        drop((queue, kernel));
        drop(rt);
        assert_eq!(fake.held(), (0, 0, 0));
    }
}

#[test]
fn a_destroyed_queue_ends_waits_for_its_kernels() {
    let (fake, rt) = stepped();
    let queue = queue(&rt);
    let kernel = program(&rt).kernel("empty").unwrap();
    let completion = rt
        .dispatch(&queue, &kernel, &Dispatch::new(GRID), &[])
        .unwrap();
    drop(queue);
    assert_eq!(
        completion.wait(Timeout::Never),
        Err(QueueError::Stopped(QueueStatus::Destroyed))
    );
    drop((completion, kernel, rt));
    assert_eq!(fake.held(), (0, 0, 0));
}

#[test]
fn argument_memory_is_used_again() {
    let fake = Fake::step();
    let rt = Runtime::new(
        fake.clone(),
        RuntimeConfig {
            kernarg_bytes: 4096,
            ..RuntimeConfig::default()
        },
    )
    .unwrap();
    let queue = queue(&rt);
    let kernel = program(&rt).kernel("touch").unwrap();
    let size = kernel.info().kernarg_segment_size as usize;
    let send = || rt.dispatch_raw(&queue, &kernel, &Dispatch::new(GRID), &vec![0; size]);
    for _ in 0..1000 {
        send().unwrap().wait(soon(&rt)).unwrap();
    }
    // Held completions hold their arguments, until there is no room.
    let mut held = Vec::new();
    let refused = loop {
        match send() {
            Ok(completion) => held.push(completion),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, DispatchError::Memory(_)), "{refused}");
    assert!(held.len() > 5);
    drop(held);
    while fake.progress() {}
    assert!(send().is_ok());
}
