//! Conformance suite, golden kernels and clients of the Rukh HSA runtime.

pub mod conformance;
pub mod golden;
pub mod history;
pub mod oracle;
