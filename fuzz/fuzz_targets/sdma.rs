//! SDMA packets: parsed, and executed on a small device.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::sdma::check(data));
