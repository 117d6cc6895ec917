//! Kernel descriptors: read, and dispatched on a small device.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::kernel_descriptor::check(data));
