//! A deterministic software AMD GPU that executes real AMDGPU machine code, as a backend of the Rukh HSA runtime.
//!
//! In the order that a dispatch takes:
//!
//! - [`mem`]: the address map, and the only place that touches simulated memory.
//! - [`exec`]: executes decoded instructions on wavefronts.
//! - [`isa`]: machine code to instructions: the one instruction list.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod exec;
pub mod isa;
pub mod mem;
