//! Calls of the KFD face, in sequences.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::kfd::check(data));
