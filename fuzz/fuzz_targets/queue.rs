//! The queue protocol with a producer that keeps to nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::queue::check(data));
