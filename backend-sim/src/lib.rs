//! A deterministic software AMD GPU that executes real AMDGPU machine code, as a backend of the Rukh HSA runtime.
//!
//! In the order that one dispatch travels:
//!
//! - [`mem`]: simulated memory, translated and checked for every access.
//! - [`isa`]: instructions, from bytes.
//! - [`exec`]: executes decoded instructions on wavefronts.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod exec;
pub mod isa;
pub mod mem;
mod sync;
