//! PM4 commands: parsed, and executed on a small device.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::pm4::check(data));
