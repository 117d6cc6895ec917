//! What the KFD backend asks of the system, counted over the face: held to numbers, so that none grows unseen.

use std::collections::BTreeMap;
use std::sync::Arc;

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::fault::{FaultPort, PortCall, PortFaults};
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::kfd::uapi::IOCTLS;
use rukh_core::mem::PoolFlags;
use rukh_core::runtime::{QueueConfig, Runtime, RuntimeConfig};
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{BarrierPacket, Header, PacketType};

type Backend = KfdBackend<FaultPort<KfdFace>>;

/// Ioctls by name.
type Counts = BTreeMap<&'static str, u64>;

fn counts(faults: &PortFaults) -> Counts {
    let name = |call| match call {
        PortCall::Kfd(nr) => IOCTLS.iter().find(|i| i.nr == nr).map(|i| i.name),
        PortCall::Drm(_) => Some("DRM"),
        _ => None,
    };
    let ioctls = faults.counts();
    ioctls
        .filter_map(|(call, n)| Some((name(call)?, n)))
        .collect()
}

/// What came on top.
fn since(before: &Counts, after: &Counts) -> Counts {
    let grown = after
        .iter()
        .map(|(&name, &n)| (name, n - before.get(name).unwrap_or(&0)));
    grown.filter(|(_, n)| *n != 0).collect()
}

struct Meter {
    faults: Arc<PortFaults>,
    backend: Arc<Backend>,
    opened: Counts,
}

impl Meter {
    fn open(gpus: &str) -> Self {
        let faults = Arc::new(PortFaults::new(None));
        let port = FaultPort::new(KfdFace::parse(gpus).unwrap(), faults.clone());
        let backend = Arc::new(KfdBackend::open(port).unwrap());
        let opened = counts(&faults);
        Self {
            faults,
            backend,
            opened,
        }
    }

    fn runtime(&self) -> Arc<Runtime<Backend>> {
        Runtime::new(self.backend.clone(), RuntimeConfig::default()).unwrap()
    }

    /// What these calls ask for.
    fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Counts) {
        let before = counts(&self.faults);
        let value = work();
        (value, since(&before, &counts(&self.faults)))
    }
}

fn expect(what: &str, counts: &Counts, expected: &[(&str, u64)]) {
    let counts: Vec<_> = counts.iter().map(|(&name, &n)| (name, n)).collect();
    assert_eq!(counts, expected, "ioctls {what}");
}

#[test]
fn opening_costs_five_ioctls_and_six_for_each_gpu() {
    for (gpus, n) in [("gfx90a", 1), ("gfx90a,gfx942,gfx1100", 3)] {
        expect(
            "to open",
            &Meter::open(gpus).opened,
            &[
                ("ACQUIRE_VM", n),
                ("ALLOC_MEMORY_OF_GPU", n),
                ("DRM", n),
                ("GET_CLOCK_COUNTERS", n),
                ("GET_PROCESS_APERTURES_NEW", 2),
                ("GET_VERSION", 1),
                ("MAP_MEMORY_TO_GPU", n),
                ("RUNTIME_ENABLE", 1),
                ("SET_TRAP_HANDLER", n),
                ("SET_XNACK_MODE", 1),
            ],
        );
    }
}

#[test]
fn a_runtime_costs_its_events_and_one_block_of_signals() {
    let meter = Meter::open("gfx90a");
    let (_runtime, counts) = meter.during(|| meter.runtime());
    // Six events, the page that their mailboxes lie in, and a block of signals.
    expect(
        "to start a runtime",
        &counts,
        &[
            ("ALLOC_MEMORY_OF_GPU", 2),
            ("CREATE_EVENT", 6),
            ("MAP_MEMORY_TO_GPU", 2),
        ],
    );
}

#[test]
fn signals_cost_nothing() {
    let meter = Meter::open("gfx90a");
    let runtime = meter.runtime();
    let (_signals, counts) = meter.during(|| {
        let signals = (0..500).map(|_| runtime.create_signal(1).unwrap());
        signals.collect::<Vec<_>>()
    });
    expect("for 500 signals", &counts, &[]);
}

#[test]
fn an_allocation_costs_two_ioctls_and_its_end_two_each_time() {
    let meter = Meter::open("gfx90a");
    let runtime = meter.runtime();
    let gpu = runtime.gpu_ids().next().unwrap();
    let pool = runtime.find_pool(gpu, PoolFlags::COARSE).unwrap().id;
    for _ in 0..20 {
        let (buffer, made) = meter.during(|| runtime.create_buffer(pool, 1 << 20, &[]).unwrap());
        expect(
            "to allocate",
            &made,
            &[("ALLOC_MEMORY_OF_GPU", 1), ("MAP_MEMORY_TO_GPU", 1)],
        );
        let ((), freed) = meter.during(|| drop(buffer));
        expect(
            "to free",
            &freed,
            &[("FREE_MEMORY_OF_GPU", 1), ("UNMAP_MEMORY_FROM_GPU", 1)],
        );
    }
}

#[test]
fn a_queue_costs_the_same_each_time() {
    let meter = Meter::open("gfx90a");
    let runtime = meter.runtime();
    let gpu = runtime.gpu_ids().next().unwrap();
    let make = || runtime.create_queue(gpu, QueueConfig::default()).unwrap();
    // The first one maps the doorbells.
    let first = make();
    for _ in 0..10 {
        let (queue, made) = meter.during(make);
        // The queue's page, its ring, the end-of-pipe buffer, the context save area.
        expect(
            "to create a queue",
            &made,
            &[
                ("ALLOC_MEMORY_OF_GPU", 4),
                ("CREATE_QUEUE", 1),
                ("MAP_MEMORY_TO_GPU", 4),
            ],
        );
        let ((), ended) = meter.during(|| drop(queue));
        expect(
            "to destroy a queue",
            &ended,
            &[
                ("DESTROY_QUEUE", 1),
                ("FREE_MEMORY_OF_GPU", 4),
                ("UNMAP_MEMORY_FROM_GPU", 4),
            ],
        );
    }
    drop(first);
}

/// Publishing enters the system not once; neither does waiting for a value that is there before the waiter sleeps.
#[test]
fn publishing_costs_nothing() {
    let meter = Meter::open("gfx90a");
    let runtime = meter.runtime();
    let gpu = runtime.gpu_ids().next().unwrap();
    let queue = runtime.create_queue(gpu, QueueConfig::default()).unwrap();
    let signal = runtime.create_signal(1000).unwrap();
    let packet = BarrierPacket {
        header: Header::new(PacketType::BarrierAnd).barrier(true),
        completion_signal: signal.handle().0,
        ..BarrierPacket::default()
    };
    let ((), counts) = meter.during(|| {
        for _ in 0..1000 {
            let claim = loop {
                if let Ok(claim) = queue.try_claim() {
                    break claim;
                }
            };
            claim.publish_packet(&packet);
        }
        while signal.load(MemoryOrder::Acquire) != 0 {
            std::hint::spin_loop();
        }
    });
    expect("to run 1000 packets", &counts, &[]);
}
