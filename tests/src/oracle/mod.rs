//! What must hold for any input, as functions from bytes: the fuzz targets call them with what
//! the fuzzer finds, ordinary tests with a fixed number of seeded cases.
//!
//! An oracle panics when the code under test breaks its promise; it returns when all is well,
//! whether the input was accepted or refused.

pub mod aql;
mod bed;
pub mod c_api;
pub mod code_object;
pub mod dwarf;
pub mod elf;
pub mod input;
pub mod ipc;
pub mod isa;
pub mod kernel_descriptor;
pub mod kernels;
pub mod kfd;
pub mod metadata;
pub mod mutate;
pub mod pm4;
pub mod queue;
pub mod relocation;
mod ring;
pub mod rng;
pub mod sdma;
mod shape;
pub mod signal;
pub mod topology;

/// An oracle.
pub type Check = fn(&[u8]);

/// The fuzz targets by name, each with its oracle: what `fuzz/fuzz_targets` has a file of and `fuzz/seeds` inputs for.
pub const TARGETS: [(&str, Check); 16] = [
    ("aql_packet", aql::check),
    ("c_api", c_api::check),
    ("code_object", code_object::check),
    ("ipc", ipc::check),
    ("dwarf", dwarf::check),
    ("isa", isa::check),
    ("kernel_descriptor", kernel_descriptor::check),
    ("kernels", kernels::check),
    ("kfd", kfd::check),
    ("metadata", metadata::check),
    ("pm4", pm4::check),
    ("queue", queue::check),
    ("relocation", relocation::check),
    ("sdma", sdma::check),
    ("signal", signal::check),
    ("topology", topology::check),
];
