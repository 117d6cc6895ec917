//! Kernels of random code and of valid instructions with random operands; see the oracle for the first bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::kernels::check(data));
