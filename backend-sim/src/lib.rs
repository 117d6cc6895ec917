//! A deterministic software AMD GPU that executes real AMDGPU machine code, as a backend of the Rukh HSA runtime.

#![no_std]

pub mod exec;
