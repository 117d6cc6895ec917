//! Handles and messages of shared memory.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::ipc::check(data));
