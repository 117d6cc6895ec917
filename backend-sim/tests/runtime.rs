//! The runtime of core on simulated devices: queues, signals, scratch, and what faults come to.

use rukh_backend_sim::device::FaultCause;
use rukh_backend_sim::{Mode, SimBackend, SimConfig};
use rukh_core::backend::{AgentId, Timeout};
use rukh_core::loader::kernarg::{self, Explicit, Grid, Hidden};
use rukh_core::loader::{CodeObject, Place};
use rukh_core::mem::{Address, AllocFlags, PoolFlags};
use rukh_core::queue::QueueStatus;
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig, WaitOutcome};
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{FenceScope, Header, KernelDispatchPacket, PacketType};
use rukh_core::wire::signal::Condition;
use std::sync::Arc;

const GPU: AgentId = AgentId(1);
const HOST: AgentId = AgentId(0);

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!("data/vector_add-", $name, ".co"))
    };
}

type SimRuntime = Arc<Runtime<SimBackend>>;

fn runtime(profiles: &str, mode: Mode) -> SimRuntime {
    let config = SimConfig::parse(profiles).expect("profiles").mode(mode);
    let backend = Arc::new(SimBackend::new(config).expect("a system"));
    let threads = matches!(mode, Mode::Threads { .. });
    let config = if threads {
        RuntimeConfig::threaded()
    } else {
        RuntimeConfig::default()
    };
    Runtime::new(backend, config).expect("a runtime")
}

fn modes() -> [Mode; 3] {
    [
        Mode::Threads { workers: 2 },
        Mode::Threads { workers: 1 },
        Mode::Step { seed: 11 },
    ]
}

fn allocate(runtime: &SimRuntime, agent: AgentId, bytes: u64, flags: AllocFlags) -> Address {
    let wanted = if agent == HOST {
        PoolFlags::FINE
    } else {
        PoolFlags::COARSE
    };
    let pool = runtime.find_pool(agent, wanted).expect("a pool").id;
    let address = runtime.allocate(pool, bytes, flags).expect("memory");
    runtime.allow_access(&[GPU], address).expect("access");
    address
}

fn write(to: Address, bytes: &[u8]) {
    // SAFETY: tests write what they have allocated, and no device uses it meanwhile.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
}

fn read_f32(from: Address, index: usize) -> f32 {
    // SAFETY: tests read what they have allocated, and no device uses it meanwhile.
    unsafe { from.as_ptr().cast::<f32>().add(index).read_volatile() }
}

/// A loaded vector_add with its arguments for `count` elements.
struct VectorAdd {
    packet: KernelDispatchPacket,
    result: Address,
}

fn prepare(runtime: &SimRuntime, object: &[u8], count: u32) -> VectorAdd {
    let code = CodeObject::parse(object).expect("a code object");
    let metadata = code.metadata().expect("notes").expect("metadata");
    let kernel = metadata.kernel("vector_add").expect("kernels").expect("it");
    let size = code.segments().size();
    let base = allocate(runtime, GPU, size, AllocFlags::EXECUTABLE);
    let base = base.0 - code.segments().base();
    for segment in code.segments().as_slice() {
        write(Address(base + segment.address), segment.data);
    }
    let (symbol, _) = code
        .kernels()
        .find(|(symbol, _)| symbol.name == kernel.symbol)
        .expect("its symbol");
    let Place::Address(descriptor) = symbol.place else {
        panic!("{:?}", symbol.place);
    };
    let bytes = u64::from(count) * 4;
    let [a, b, result] =
        [HOST, GPU, HOST].map(|agent| allocate(runtime, agent, bytes, AllocFlags::empty()));
    let values = |scale: f32| -> Vec<u8> {
        (0..count)
            .flat_map(|i| (i as f32 * scale).to_le_bytes())
            .collect()
    };
    write(a, &values(0.5));
    write(b, &values(2.0));
    let grid = Grid::new([count, 1, 1], [64, 1, 1]);
    let mut block = [0u8; 512];
    let explicit = [
        Explicit::Bytes(&a.0.to_le_bytes()),
        Explicit::Bytes(&b.0.to_le_bytes()),
        Explicit::Bytes(&result.0.to_le_bytes()),
        Explicit::Bytes(&count.to_le_bytes()),
    ];
    let filled = kernarg::fill(&kernel, &grid, &explicit, &Hidden::default(), &mut block)
        .expect("arguments");
    let kernarg = allocate(runtime, HOST, filled.size as u64, AllocFlags::empty());
    write(kernarg, &block[..filled.size]);
    VectorAdd {
        packet: KernelDispatchPacket {
            header: Header::new(PacketType::KernelDispatch)
                .acquire(FenceScope::System)
                .release(FenceScope::System),
            setup: 1,
            workgroup_size: [64, 1, 1],
            grid_size: [count, 1, 1],
            private_segment_size: kernel.private_segment_fixed_size,
            group_segment_size: filled.group_segment_size,
            kernel_object: base + descriptor,
            kernarg_address: kernarg.0,
            ..Default::default()
        },
        result,
    }
}

fn config() -> QueueConfig {
    QueueConfig {
        size: 256,
        ..QueueConfig::default()
    }
}

fn soon(runtime: &SimRuntime) -> Timeout {
    use rukh_core::backend::Clock;
    Timeout::At(runtime.backend().now() + 20_000_000_000)
}

#[test]
fn dispatches_complete_on_signals() {
    for mode in modes() {
        for (profile, object) in [
            ("gfx90a", &object!("gfx90a-O2-v5")[..]),
            ("gfx90a", object!("gfx90a-O0-v5")),
            ("gfx1100", object!("gfx1100-O2-v5")),
            ("gfx1100", object!("gfx1100w64-O0-v4")),
        ] {
            let runtime = runtime(profile, mode);
            let queue = runtime.create_queue(GPU, config()).expect("a queue");
            let add = prepare(&runtime, object, 1000);
            for _ in 0..5 {
                let signal = runtime.create_signal(1).expect("a signal");
                let packet = KernelDispatchPacket {
                    completion_signal: signal.handle().0,
                    ..add.packet
                };
                queue
                    .claim(soon(&runtime))
                    .expect("a slot")
                    .publish_packet(&packet);
                let outcome = signal
                    .wait(Condition::Eq, 0, soon(&runtime))
                    .expect("a wait");
                assert_eq!(
                    outcome,
                    WaitOutcome::Met(0),
                    "{profile} {mode:?} scratch {} {:?} {:?} inactive {:?} tmpring {:?}",
                    add.packet.private_segment_size,
                    queue.status(),
                    runtime.backend().last_faults(),
                    queue.amd_queue().queue_inactive_signal,
                    queue.amd_queue().compute_tmpring_size
                );
                assert_eq!(read_f32(add.result, 999), 999.0 * 2.5);
            }
            for i in 0..1000 {
                assert_eq!(read_f32(add.result, i), i as f32 * 2.5);
            }
        }
    }
}

#[test]
fn many_dispatches_fill_the_ring_and_are_counted_by_one_signal() {
    for mode in modes() {
        let runtime = runtime("gfx90a", mode);
        let config = QueueConfig {
            size: 64,
            ..QueueConfig::default()
        };
        let queue = runtime.create_queue(GPU, config).expect("a queue");
        let add = prepare(&runtime, object!("gfx90a-O2-v5"), 64);
        let count = 1000;
        let signal = runtime.create_signal(count).expect("a signal");
        for _ in 0..count {
            let packet = KernelDispatchPacket {
                completion_signal: signal.handle().0,
                ..add.packet
            };
            queue
                .claim(soon(&runtime))
                .expect("a slot")
                .publish_packet(&packet);
        }
        let outcome = signal
            .wait(Condition::Eq, 0, soon(&runtime))
            .expect("a wait");
        assert_eq!(outcome, WaitOutcome::Met(0), "{mode:?}");
    }
}

#[test]
fn a_fault_stops_its_queue_with_a_status_and_no_other() {
    for mode in modes() {
        let runtime = runtime("gfx90a", mode);
        let bad = runtime.create_queue(GPU, config()).expect("a queue");
        let good = runtime.create_queue(GPU, config()).expect("a queue");
        let add = prepare(&runtime, object!("gfx90a-O2-v5"), 64);
        let signal = runtime.create_signal(1).expect("a signal");
        let packet = KernelDispatchPacket {
            workgroup_size: [2048, 1, 1],
            completion_signal: signal.handle().0,
            ..add.packet
        };
        bad.claim(soon(&runtime))
            .expect("a slot")
            .publish_packet(&packet);
        let failure = runtime.signal(bad.failure_signal()).expect("a signal");
        let hint = rukh_core::runtime::WaitHint::Blocked;
        let outcome = failure
            .wait(Condition::Eq, 1, soon(&runtime), hint)
            .expect("a wait");
        assert_eq!(outcome, WaitOutcome::Met(1), "{mode:?}");
        assert_eq!(bad.status(), Some(QueueStatus::InvalidArgument), "{mode:?}");
        assert_eq!(signal.load(MemoryOrder::Acquire), 1);
        assert!(matches!(
            runtime.backend().last_faults()[0].cause,
            FaultCause::Packet(_)
        ));
        let packet = KernelDispatchPacket {
            completion_signal: signal.handle().0,
            ..add.packet
        };
        good.claim(soon(&runtime))
            .expect("a slot")
            .publish_packet(&packet);
        let outcome = signal
            .wait(Condition::Eq, 0, soon(&runtime))
            .expect("a wait");
        assert_eq!(outcome, WaitOutcome::Met(0), "{mode:?}");
    }
}
