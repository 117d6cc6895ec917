//! The backend of core's guide under the conformance suite, waiting by interrupts and by looking: what a reader starts from
//! keeps the promises that the guide names. Its device executes no code, so that the chapters that need kernels are not
//! among these.

#[allow(dead_code, reason = "the program's main is not run here")]
#[path = "../../core/examples/tiny_backend.rs"]
mod example;

use example::Tiny;
use rukh_core::backend::{
    AgentId, BankId, Clock, EventId, EventKind, EventOutcome, Events, Memory, MemoryError,
    MemoryFlags, MemoryHandle, MemoryRequest, Timeout, WaitMode,
};
use rukh_core::runtime::RuntimeConfig;
use rukh_tests::conformance::{self, Factory};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
struct Tinies {
    interrupts: bool,
}

impl Factory for Tinies {
    type Backend = Tiny;

    fn make(&self) -> Tiny {
        Tiny::new(self.interrupts)
    }

    fn config(&self) -> RuntimeConfig {
        RuntimeConfig::threaded()
    }
}

const INTERRUPTS: Tinies = Tinies { interrupts: true };
const POLLING: Tinies = Tinies { interrupts: false };

/// What a device without a processor, caches and links can be held to.
fn is_for_it(chapter: &str, test: &str) -> bool {
    match chapter {
        "signals" | "events" | "clock" => true,
        "memory" => !matches!(test, "locked_memory_is_known_until_the_last_unlock"),
        "topology" => matches!(
            test,
            "agents_are_numbered_in_order_cpus_first"
                | "an_agent_out_of_range_is_refused"
                | "answers_do_not_change"
                | "every_gpu_has_an_isa_that_core_knows"
                | "links_join_agents_that_exist"
        ),
        "queues" => !matches!(test, "priorities_and_masks_can_be_set"),
        "dispatch" => matches!(
            test,
            "a_barrier_and_waits_for_all" | "empty_dependencies_are_met"
        ),
        "lifecycle" => matches!(
            test,
            "a_runtime_starts_and_ends_again_and_again" | "what_clients_leave_behind_is_given_back"
        ),
        _ => false,
    }
}

macro_rules! those_for_it {
    ({ $name:ident, $factory:expr } $($chapter:ident { $($test:ident)* })*) => {
        #[test]
        fn $name() {
            let mut count = 0;
            $($(if is_for_it(stringify!($chapter), stringify!($test)) {
                conformance::run(stringify!($chapter), stringify!($test), &$factory);
                count += 1;
            })*)*
            assert!(count > 50, "{count}");
        }
    };
}
rukh_tests::conformance_tests! { [those_for_it] by_interrupts, INTERRUPTS }
rukh_tests::conformance_tests! { [those_for_it] by_looking, POLLING }

/// What tells sleeping from looking: the thread comes back once, when the interrupt came, and not before.
#[test]
fn a_wait_by_interrupts_sleeps_until_there_is_one() {
    let backend = INTERRUPTS.make();
    let event = backend.create_event(EventKind::Signal).unwrap();
    let wait = |timeout| backend.wait_events(&[event], WaitMode::Any, timeout, &mut |_| {});
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(Timeout::At(backend.now() + 60_000_000_000)));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiter.is_finished(), "it came back without an interrupt");
        backend.set_event(event).unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(EventOutcome::Raised));
    });
}

#[test]
fn arguments_without_sense_are_refused() {
    let backend = POLLING.make();
    for id in [0, 31, 32, 63, 64, u32::MAX] {
        let event = EventId(id);
        assert!(backend.set_event(event).is_err());
        assert!(backend.destroy_event(event).is_err());
        assert_eq!(backend.mailbox(event), 0);
    }
    let event = backend.create_event(EventKind::Signal).unwrap();
    let twice = backend.wait_events(&[event; 3], WaitMode::All, Timeout::Poll, &mut |_| {});
    assert_eq!(twice, Ok(EventOutcome::TimedOut));
    let request = |agent, size, align| MemoryRequest {
        bank: BankId {
            agent: AgentId(agent),
            index: 0,
        },
        size,
        align,
        flags: MemoryFlags::HOST_ACCESS,
    };
    for (size, align) in [(0, 4096), (1, 4096), (4096, 0), (4096, 3), (4096, 1 << 63)] {
        let refused = backend.allocate(&request(0, size, align));
        assert!(
            matches!(refused, Err(MemoryError::BadSize { .. })),
            "{size} {align}"
        );
    }
    let refused = backend.allocate(&request(7, 4096, 4096));
    assert!(matches!(refused, Err(MemoryError::NoBank { .. })));
    let refused = backend.allocate(&request(0, !4095, 4096));
    assert!(matches!(refused, Err(MemoryError::OutOfMemory { .. })));
    let nothing = MemoryHandle(4096);
    assert!(backend.map(nothing, &[AgentId(1)]).is_err());
    // SAFETY: it is no memory.
    assert!(unsafe { backend.free(nothing) }.is_err());
}
