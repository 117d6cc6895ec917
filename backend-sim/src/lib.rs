//! A deterministic software AMD GPU that executes real AMDGPU machine code, as a backend of the Rukh HSA runtime.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod exec;
pub mod isa;
