//! The conformance suite on devices that are malicious or broken: garbage in indices, signals, queues, packets and mailboxes of events,
//! completions that come twice or never, reports of faults that never were. Whatever a device writes, calls end in time, with
//! a result or a typed error; nothing panics, leaks, or touches memory that is not there.

use rukh_tests::conformance::{KfdFactory, Malice, SimFactory, run_with_malice};

macro_rules! hostile {
    ({ $name:ident, $factory:expr, $malices:expr, $seeds:expr } $($chapter:ident { $($test:ident)* })*) => {
        mod $name {
            use super::*;
            $(#[test]
            fn $chapter() {
                for malice in $malices {
                    for seed in $seeds {
                        $(run_with_malice(stringify!($chapter), stringify!($test), &$factory, malice, seed);)*
                    }
                }
            })*
        }
    };
}
rukh_tests::conformance_tests! { [hostile] stepped, SimFactory::step("gfx90a,gfx1100", 5), Malice::ALL, 0..2 }

// Where devices run beside the client, in real time: what goes wrong there goes wrong at any moment. All kinds at
// once, and the one that leaves everything waiting; doorbells of the KFD face are registers, which nobody can keep from
// it.
rukh_tests::conformance_tests! {
    [hostile] threads, SimFactory::threads("gfx90a,gfx1100"), [Malice::Everything, Malice::NeverCompletes], [3]
}
rukh_tests::conformance_tests! {
    [hostile] kfd_face, KfdFactory::new("gfx90a,gfx1100"), [Malice::Everything], [4]
}

#[test]
fn each_kind_of_malice_does_something() {
    let factory = SimFactory::step("gfx90a", 1);
    for malice in Malice::ALL {
        // What is reported is reported to those who sleep, and a dispatch step by step is over before.
        let (chapter, test) = match malice {
            Malice::Reports => ("signals", "a_wait_ends_in_time"),
            _ => ("dispatch", "a_completion_signal_falls_by_one"),
        };
        let acts: u64 = (0..8)
            .map(|seed| run_with_malice(chapter, test, &factory, malice, seed))
            .sum();
        assert_ne!(acts, 0, "{malice:?}");
    }
}
