//! ABI structures as typed views.

pub mod kernel_descriptor;
