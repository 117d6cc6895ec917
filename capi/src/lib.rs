//! The C ABI of the Rukh HSA runtime: libhsa-runtime64.so.1.

pub mod abi;
