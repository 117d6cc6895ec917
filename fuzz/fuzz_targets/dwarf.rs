//! Source lines from debug information.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::dwarf::check(data));
