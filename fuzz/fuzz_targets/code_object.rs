//! Code-object parsing, loading, linking.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::code_object::check(data));
