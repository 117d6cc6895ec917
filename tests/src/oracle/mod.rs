//! What must hold for any input, as functions from bytes: the fuzz targets call them with what
//! the fuzzer finds, ordinary tests with a fixed number of seeded cases.
//!
//! An oracle panics when the code under test breaks its promise; it returns when all is well,
//! whether the input was accepted or refused.

pub mod aql;
mod bed;
pub mod code_object;
pub mod elf;
pub mod input;
pub mod isa;
pub mod kernel_descriptor;
pub mod kernels;
pub mod metadata;
pub mod mutate;
pub mod pm4;
pub mod queue;
pub mod relocation;
mod ring;
pub mod rng;
pub mod sdma;
pub mod signal;
pub mod topology;
