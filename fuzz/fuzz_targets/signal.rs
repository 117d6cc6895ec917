//! Operations on signals, against a model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::signal::check(data));
