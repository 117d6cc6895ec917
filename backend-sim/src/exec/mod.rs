//! Execution of decoded instructions on wavefronts.

pub mod valu;
