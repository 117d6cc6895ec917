//! Calls of the C library, in sequences.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::c_api::check(data));
