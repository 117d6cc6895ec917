//! The conformance suite on a system that runs out of things: one call after another is made to fail, in
//! every test. Whatever fails is a typed error: nothing panics, leaks or hangs.

use rukh_tests::conformance::{SimFactory, run_with_faults, run_with_random_faults};

macro_rules! every_call_may_fail {
    ({ $factory:expr } $($chapter:ident { $($test:ident)* })*) => {
        mod every_call_may_fail {
            use super::*;
            $(#[test]
            fn $chapter() {
                $(run_with_faults(stringify!($chapter), stringify!($test), &$factory);)*
            })*
        }
    };
}
rukh_tests::conformance_tests! { [every_call_may_fail] SimFactory::step("gfx1100,gfx90a", 3) }

macro_rules! calls_fail_at_random {
    ({ $factory:expr } $($chapter:ident { $($test:ident)* })*) => {
        mod calls_fail_at_random {
            use super::*;
            $(#[test]
            fn $chapter() {
                for seed in 0..3 {
                    $(run_with_random_faults(stringify!($chapter), stringify!($test), &$factory, seed);)*
                }
            })*
        }
    };
}
rukh_tests::conformance_tests! { [calls_fail_at_random] SimFactory::threads("gfx90a") }
