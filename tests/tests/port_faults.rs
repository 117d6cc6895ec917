//! The conformance suite over the KFD backend while its system refuses: every kind of call, in every plausible way. What
//! fails is a typed error or a device skipped with its reason; nothing hangs, and the face is left with nothing.
//!
//! `RUKH_TEST_MODE` chooses how many: `full` every fault at the first, middle and last call of its kind, `default` some
//! for each test, otherwise a few. `RUKH_TEST_SEED` chooses which.

use rukh_tests::conformance::run_with_port_faults;

fn most() -> Option<usize> {
    match std::env::var("RUKH_TEST_MODE").as_deref() {
        Ok("full") => None,
        Ok("default") => Some(12),
        _ => Some(3),
    }
}

fn seed() -> u64 {
    let seed = std::env::var("RUKH_TEST_SEED").ok();
    seed.map_or(1, |seed| seed.parse().expect("RUKH_TEST_SEED is a number"))
}

macro_rules! chapters {
    ({ $name:ident $gpus:literal } $($chapter:ident { $($test:ident)* })*) => {
        mod $name {
            $(#[test]
            fn $chapter() {
                let mut runs = 0;
                $(runs += super::run_with_port_faults(
                    stringify!($chapter),
                    stringify!($test),
                    $gpus,
                    super::most(),
                    super::seed(),
                );)*
                println!("{} with {}: {runs} faults", stringify!($chapter), $gpus);
                assert_ne!(runs, 0);
            })*
        }
    };
}
rukh_tests::conformance_tests! { [chapters] one_gpu "gfx90a" }
rukh_tests::conformance_tests! { [chapters] two_gpus "gfx1100,gfx942" }
