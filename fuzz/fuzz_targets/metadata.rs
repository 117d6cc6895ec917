//! Notes, MessagePack and the metadata of kernels.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::metadata::check(data));
