//! KFD topology trees, through the reader and through a backend that opens over them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::topology::check(data));
