//! Instruction decode and text; the first byte chooses the processor.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rukh_tests::oracle::isa::check(data));
